"""Tables of results, whose cells can be computed anywhere, and checked by anybody.

``cells`` has tables, their cells and how they are stored, ``runs`` runs, comparisons
and checks, ``ledger`` every printed number beside ours.
"""

from .cells import (
    CellError,
    Table,
    TableDamaged,
    TableError,
    TableMixed,
    compute_cell,
    read_cells,
    read_paper,
    read_run,
    read_table,
)
from .ledger import (
    read_ledger,
    select_cells,
)
from .runs import (
    CellMismatch,
    TableBusy,
    check_cells,
    compare,
    draw_cells,
    find,
    find_tables,
    rerun,
    run,
    show,
)

__all__ = [
    "CellError",
    "CellMismatch",
    "Table",
    "TableBusy",
    "TableDamaged",
    "TableError",
    "TableMixed",
    "check_cells",
    "compare",
    "compute_cell",
    "draw_cells",
    "find",
    "find_tables",
    "read_cells",
    "read_ledger",
    "read_paper",
    "read_run",
    "read_table",
    "rerun",
    "run",
    "select_cells",
    "show",
]
