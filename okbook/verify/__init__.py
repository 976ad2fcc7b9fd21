"""Attempts to refute the claims of the book, on problems drawn at random.

``fuzz`` draws, judges and shrinks problems, and counts; the checks are in the modules
that its ``PAGES`` names.
"""

from .certificates import (
    CERTIFICATES,
    SINGLE,
)
from .closed_forms import (
    CLOSED_FORMS,
    as_fractions,
    solve_exactly,
)
from .estimators import (
    ESTIMATORS,
)
from .fuzz import (
    Check,
    CheckList,
    Counterexample,
    Difference,
    EPS,
    HEAD,
    LARGEST_TOLERANCE,
    Outcome,
    PAGES,
    PassedOver,
    Record,
    Run,
    Tie,
    attempt,
    beyond,
    case_rng,
    compare,
    draw_classes,
    draw_matrix,
    draw_size,
    draw_weights,
    find_checks,
    format_table,
    identical,
    judge_problem,
    n_ties,
    read_run,
    run_checks,
    shrink,
    store_run,
    table_rows,
)
from .networks import (
    NETWORKS,
)
from .trees import (
    TREES,
    all_splits,
)
from .votes import (
    VOTES,
)

__all__ = [
    "CERTIFICATES",
    "CLOSED_FORMS",
    "Check",
    "CheckList",
    "Counterexample",
    "Difference",
    "EPS",
    "ESTIMATORS",
    "HEAD",
    "LARGEST_TOLERANCE",
    "NETWORKS",
    "Outcome",
    "PAGES",
    "PassedOver",
    "Record",
    "Run",
    "SINGLE",
    "TREES",
    "Tie",
    "VOTES",
    "all_splits",
    "as_fractions",
    "attempt",
    "beyond",
    "case_rng",
    "compare",
    "draw_classes",
    "draw_matrix",
    "draw_size",
    "draw_weights",
    "find_checks",
    "format_table",
    "identical",
    "judge_problem",
    "n_ties",
    "read_run",
    "run_checks",
    "shrink",
    "solve_exactly",
    "store_run",
    "table_rows",
]
