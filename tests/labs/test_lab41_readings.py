"""The readings of the numbers of kernels: the walk, the choices, what is stored."""

import numpy as np
import pytest
from lab_tools import check_cells

from okbook.labs import mkl_reproduction as lab
from okbook.mkl import PairProblem, make_regularizer


@pytest.fixture(scope="module")
def toy():
    X = np.random.default_rng(1).normal(size=(30, 4))
    X[:15, 0] += 2
    X -= X.mean(axis=0)
    return PairProblem([np.outer(x, x) / (x @ x / 30) for x in X.T], np.arange(30) < 15)


@pytest.mark.parametrize("name", ["l1", "l2", "l2-corr"])
def test_a_threshold_ends_the_walk_at_a_point_of_it(toy, name):
    "eq-mklsolve-sgd: each stop is the walk of fewer steps; thresholds count."
    term = make_regularizer(name, toy.correlations_)
    drawn = np.random.default_rng(0).integers(0, toy.n_pairs, 600)
    found = lab.walk(toy, term, 1e-3, drawn, curved=False)
    whole = [lab.walk(toy, term, 1e-3, drawn[:k], False)[0] for k in range(601)]
    assert (found[0] == whole[-1]).all()
    for end in found:
        assert any((end == step).all() for step in whole)
    if name == "l1":  # its gradient is 0.001 where the pair's margin is met
        assert not (found[1] == found[0]).all()


def test_readings_are_the_product_of_the_open_choices():
    assert len(lab.READINGS) == np.prod([len(choices) for choices in lab.OPEN.values()])
    assert list(lab.READINGS[lab.MAIN].values()) == [c[0] for c in lab.OPEN.values()]
    assert set(lab.FULL) < set(lab.SURVIVORS) < set(lab.READINGS)
    for name in lab.FULL:
        changed = [
            point
            for point, choice in lab.READINGS[name].items()
            if choice != lab.READINGS[lab.MAIN][point]
        ]
        assert len(changed) == 1


def test_choices_of_lam():
    losses, first = [0.9, 0.501, 0.5, 0.8], [0.4, 0.5, 0.6, 0.7]
    chosen = [lab.choose_lam(losses, choice, first) for choice in lab.CHOICES]
    assert chosen == [2, 0, 1]


@pytest.mark.parametrize("table", lab.TABLES, ids=lambda table: table.id)
def test_stored(table):
    check_cells(table)
