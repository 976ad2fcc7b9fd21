"""Readings of the tables of RRSN: what chooses their parameters."""

import numpy as np
import pytest
from lab_tools import check_cells

from okbook.labs import rrsn_reproduction as lab

ALL = lab.TABLES


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.id)
def test_every_cell_is_stored_and_no_other(table):
    check_cells(table)


@pytest.fixture
def nodes():
    "A small network, its kernel and a few settings."
    rng = np.random.default_rng(0)
    D = np.abs(np.subtract.outer(*[rng.normal(size=60)] * 2))
    A, K = ((D < 0.5) & (D > 0)).astype(float), np.exp(-(D**2))
    grids = {"lam": (0.1, 1.0), "lam2": (0.1, 1.0), "beta": (1.0,), "beta2": (0.1, 1.0)}
    return lab.Nodes(A, K, grids, supervised=False)


def test_a_search_reads_no_link_of_an_unlabelled_node(nodes):
    labelled = np.arange(25)
    inside = np.zeros(60, bool)
    inside[labelled] = True
    A = np.where(np.outer(inside, inside), nodes.adjacency, 1 - nodes.adjacency)
    np.fill_diagonal(A, 0.0)
    other = lab.Nodes(A, nodes.gram, nodes.grids, supervised=False)
    for mine, theirs in zip(nodes.search(labelled, 1), other.search(labelled, 1)):
        if isinstance(mine, list):
            assert mine == theirs
        else:
            np.testing.assert_array_equal(mine, theirs)


def test_the_times_of_the_smoother_matter(nodes):
    "The smoother is the diffusion kernel: a Laplacian would not see beta2."
    setting = {"lam": 0.1, "lam2": 1.0, "beta": 1.0}
    areas = [
        nodes.areas(np.arange(25), setting | {"beta2": beta2}, ["any"])["any"]
        for beta2 in (0.1, 1.0)
    ]
    assert areas[0] != areas[1]
