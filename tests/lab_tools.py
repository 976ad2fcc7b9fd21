"""What the tests of several labs need: stored values, read without the functions of the
labs, and the corrections of several tests and of overlapping splits, by hand."""

from pathlib import Path

import numpy as np
from scipy.stats import t as student

from okbook.tables import read_cells

TABLES = Path(__file__).parents[1] / "tables"


def stored(table_id):
    "Row and column of a table to the stored values, in the order of the repeats."
    found = {}
    for key, (value, _) in sorted(read_cells(TABLES / table_id).items()):
        found.setdefault((key.row, key.column), []).append(value)
    assert found, f"nothing is stored of {table_id}"
    return {where: np.array(values) for where, values in found.items()}


def stored_whole(table):
    "The stored values of a table, of which every row and column is there."
    found = stored(table.id)
    assert found.keys() == {(key.row, key.column) for key in table.keys()}
    return found


def check_cells(table):
    "Every cell of a table is stored, and no other."
    cells = read_cells(TABLES / table.id)
    assert len(cells) > 0 and set(cells) == set(table.keys())


def holm_by_hand(p):
    "Holm's p-values, one by one."
    order, worst, found = sorted(range(len(p)), key=lambda k: p[k]), 0.0, [0.0] * len(p)
    for step, k in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - step) * p[k]))
        found[k] = worst
    return found


def corrected_by_hand(values, ratio):
    "Mean, half of the corrected 95 % interval and its p, after Nadeau and Bengio."
    values = np.asarray(values, float)
    scale = np.sqrt((1 / len(values) + ratio) * values.var(ddof=1))
    freedom = len(values) - 1
    return (
        values.mean(),
        student.ppf(0.975, freedom) * scale,
        2 * student.sf(abs(values.mean()) / scale, freedom),
    )
