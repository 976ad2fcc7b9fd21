"""Semi-supervised ridge regression against the naive formula (9) of RRSN, and every message."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from okbook.core import LinearKernel, RBFKernel
from okbook.rkhs import SmoothedSpectrum, check_graph, check_labelled, graph_smoothers, kernel_factor, knn_graph

SMOOTHERS = ["laplacian", "diffusion", "diffusion-graph"]
RATES = [(0.01, 0.01), (1.0, 0.0), (0.01, 10.0), (100.0, 1e-4)]


def problem(seed, linear=False):
    "Random nodes, the Gram matrix of their inputs (singular if linear), a graph, and the labelled nodes."
    rng = np.random.default_rng(seed)
    n, l = rng.integers(20, 70), rng.integers(2, 15)
    X = rng.normal(size=(n, 3))
    W = RBFKernel(sigma=1.0).gram(X) - np.eye(n)
    K = LinearKernel().gram(X) if linear else RBFKernel(sigma=2.0).gram(X)
    return X, K, W, rng.permutation(n)[:l]


def naive(K, M, labelled, lam1, lam2):
    "The matrix B of eq-rrsn-9, by an inverse; the weights at all nodes are the columns of B K."
    n = len(K)
    U = np.eye(n)[labelled]
    return U @ np.linalg.inv(K @ U.T @ U + lam1 * np.eye(n) + 2 * lam2 * K @ M)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("seed", range(3))
def test_one_spectrum_gives_the_naive_solution(seed, smoother, linear):
    "eq-rrsn-9, dense and sparse graph, regular and singular Gram matrix, all penalties."
    X, K, W, labelled = problem(seed, linear)
    R, _ = kernel_factor(K)
    assert_allclose(R @ R.T, K, atol=1e-12, strict=True)
    (M,) = graph_smoothers(W, smoother, [0.3])
    (operator,) = graph_smoothers(sp.coo_array(W), smoother, [0.3])
    for lam1, lam2 in RATES:
        expected = (naive(K, M, labelled, lam1, lam2) @ K).T
        for form in (M, operator, lambda A: M @ A):
            spectrum = SmoothedSpectrum(R, form)
            assert_allclose(spectrum.weights(labelled, lam1, lam2), expected, atol=1e-9, strict=True)
        G = spectrum.gram(lam1, lam2)
        part = spectrum.gram(lam1, lam2, labelled, [0, 3])
        assert_allclose(part, G[np.ix_(labelled, [0, 3])], atol=1e-12, strict=True)
        some = spectrum.weights(labelled, lam1, lam2, [4, 2])
        assert_allclose(some, expected[[4, 2]], atol=1e-9, strict=True)


@pytest.mark.parametrize("n_splits", [2, 5, 9])
def test_holdout_weights_are_those_of_a_fit_without_the_fold(n_splits):
    X, K, W, labelled = problem(0)
    labelled = np.arange(len(X))[3:12]
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], next(graph_smoothers(W)))
    splits = list(KFold(n_splits, shuffle=True, random_state=0).split(labelled))
    for lam1, lam2 in RATES:
        held = spectrum.holdout_weights(labelled, lam1, lam2, splits)
        for (train, test), weights in zip(splits, held, strict=True):
            expected = spectrum.weights(labelled[train], lam1, lam2, labelled[test])
            assert_allclose(weights, expected, atol=1e-10, strict=True)


def test_zero_gram_matrix():
    spectrum = SmoothedSpectrum(kernel_factor(np.zeros((4, 4)))[0], np.eye(4))
    assert_allclose(spectrum.weights([1, 2], 1.0, 1.0), np.zeros((4, 2)), strict=True)


def test_spectrum_refuses_what_is_no_smoother():
    with pytest.raises(ValueError, match="must be positive semi-definite: R'MR has the eigenvalue -1"):
        SmoothedSpectrum(np.eye(2), np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match="must be symmetric"):
        SmoothedSpectrum(np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]))


@pytest.mark.parametrize("rates", [(0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), ("1", 1.0)])
def test_lam1_must_be_positive(rates):
    with pytest.raises(ValueError, match="lam1 must be a number, positive: got"):
        SmoothedSpectrum(np.eye(2), np.eye(2)).gram(*rates)


@pytest.mark.parametrize("lam2", [-1e-9, np.inf, None])
def test_lam2_must_not_be_negative(lam2):
    with pytest.raises(ValueError, match="lam2 must be a number, zero or positive: got"):
        SmoothedSpectrum(np.eye(2), np.eye(2)).weights([0], 1.0, lam2)


@pytest.mark.parametrize(
    "labelled, message",
    [
        ([], "No node is labelled"),
        (np.zeros(5, bool), "No node is labelled"),
        ([1, 5], "must index 5 nodes: got 1 to 5"),
        ([-1, 2], "must index 5 nodes: got -1 to 2"),
        ([1, 3, 1], "must name a node once, but 1 is there 2 times"),
        (np.ones(4, bool), r"must have shape \(5,\), like X: got \(4,\)"),
        ([[0, 1]], r"vector of indices or a mask of type bool: got shape \(1, 2\)"),
        ([0.0, 1.0], "type float64"),
    ],
)
def test_labelled_is_checked(labelled, message):
    with pytest.raises(ValueError, match=message):
        check_labelled(labelled, 5)


def test_labelled_keeps_its_order():
    assert check_labelled([3, 0], 5).tolist() == [3, 0]
    assert check_labelled(None, 3).tolist() == [0, 1, 2]
    assert check_labelled([False, True, True], 3).tolist() == [1, 2]


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize(
    "entries, message",
    [
        ([[0, 1, 0], [1, 0, 1]], r"must be square, a row and a column for each node: got \(2, 3\)"),
        ([[0, 1.0], [2.0, 0]], "must be symmetric"),
        ([[0, -1.0], [-1.0, 0]], "must not be negative: the least is -1"),
        ([[1.0, 1.0], [1.0, 0]], "must have a zero diagonal"),
        ([[0, np.nan], [np.nan, 0]], "NaN or infinity"),
    ],
)
def test_graph_is_checked(form, entries, message):
    with pytest.raises(ValueError, match=message):
        check_graph(form(entries))


def test_graph_of_another_size():
    with pytest.raises(ValueError, match=r"got \(2, 2\), n_nodes=3"):
        check_graph(np.zeros((2, 2)), n_nodes=3)


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_a_graph_without_edges_warns(form):
    with pytest.warns(UserWarning, match="The graph has no edge"):
        check_graph(form(np.zeros((3, 3))))


def test_smoothers_are_checked():
    with pytest.raises(ValueError, match="smoother must be 'laplacian', 'diffusion' or 'diffusion-graph': got 'heat'"):
        next(graph_smoothers(1.0 - np.eye(2), "heat"))
    with pytest.raises(ValueError, match="must not be negative"):
        next(graph_smoothers(1.0 - np.eye(2), "diffusion", [-1.0]))


def test_knn_graph():
    A = knn_graph(np.array([[0.0], [1.0], [3.0], [3.5]]), 1).toarray()
    assert A.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    with pytest.raises(ValueError, match="from 1 to 2 for 3 nodes: got 3"):
        knn_graph(np.zeros((3, 1)), 3)
