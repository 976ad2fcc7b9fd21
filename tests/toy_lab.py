"""Small tables in the form of a lab, for the tests: importable by worker processes."""

import os
import time
from pathlib import Path

import numpy as np

from okbook.tables import Table


def sample_mean(row, column, repeat, seed):
    "The mean of `column` draws from the distribution `row`."
    rng = np.random.default_rng(seed)
    draws = rng.random(int(column)) if row == "uniform" else rng.beta(2, 2, int(column))
    return draws.mean()


def slow_mean(row, column, repeat, seed):
    "The same, slowly; every finished computation is noted in the file TOY_LOG."
    value = sample_mean(row, column, repeat, seed)
    time.sleep(0.02)
    with open(Path(os.environ["TOY_LOG"]), "a") as log:
        log.write(f"{row},{column},{repeat}\n")
    return value


SHAPE = {"rows": ["uniform", "beta"], "columns": ["10", "1000"], "repeats": 5}
TABLE = Table(
    "toy-means",
    **SHAPE,
    compute=sample_mean,
    slice=[("uniform", "10", 0), ("beta", "1000", 4)],
)
SLOW = Table(
    "toy-slow", **SHAPE | {"repeats": 15}, compute=slow_mean, slice=[("beta", "10", 14)]
)
TABLES = [TABLE, SLOW]
