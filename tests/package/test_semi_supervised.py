"""Semi-supervised ridge regression against the naive formula (9) of RRSN, and every
message."""

import copy
import pickle
import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse as sp
from contract import parametrize_with_checks
from exact import exactly, solved_exactly
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okbook.core import LinearKernel, RBFKernel
from okbook.rkhs import (
    OutputKernelRidge,
    SemiSupervisedOutputKernelRidge,
    SemiSupervisedOutputKernelRidgeCV,
    kernel_graph,
    knn_graph,
)
from okbook.rkhs.semi_estimators import (
    extend_factor,
    kernel_remainder,
    search_penalties,
    smoothed_cv_losses,
)
from okbook.rkhs.semi_supervised import (
    SmoothedSpectrum,
    check_graph,
    check_labelled,
    graph_smoothers,
    kernel_factor,
)

SMOOTHERS = ["laplacian", "diffusion", "diffusion-graph"]
RATES = [(0.01, 0.01), (1.0, 0.0), (0.01, 10.0), (100.0, 1e-4)]


def problem(seed, linear=False):
    """Random nodes, the Gram matrix of their inputs (singular if linear), a graph,
    and the labelled nodes."""
    rng = np.random.default_rng(seed)
    n, l = rng.integers(20, 70), rng.integers(2, 15)
    X = rng.normal(size=(n, 3))
    W = RBFKernel(sigma=1.0).gram(X) - np.eye(n)
    K = LinearKernel().gram(X) if linear else RBFKernel(sigma=2.0).gram(X)
    return X, K, W, rng.permutation(n)[:l]


def naive(K, M, labelled, lam, lam2):
    """The matrix B of eq-rrsn-9, by an inverse; the weights at all nodes are the
    columns of B K."""
    n = len(K)
    U = np.eye(n)[labelled]
    return U @ np.linalg.inv(K @ U.T @ U + lam * np.eye(n) + 2 * lam2 * K @ M)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("seed", range(3))
def test_one_spectrum_gives_the_naive_solution(seed, smoother, linear):
    """eq-rrsn-9, dense and sparse graph, regular and singular Gram matrix, all
    penalties."""
    X, K, W, labelled = problem(seed, linear)
    R, _ = kernel_factor(K)
    assert_allclose(R @ R.T, K, atol=1e-12, strict=True)
    (M,) = graph_smoothers(W, smoother, [0.3])
    (operator,) = graph_smoothers(sp.coo_array(W), smoother, [0.3])
    for lam, lam2 in RATES:
        expected = (naive(K, M, labelled, lam, lam2) @ K).T
        for form in (M, operator, lambda A: M @ A):
            spectrum = SmoothedSpectrum(R, form)
            assert_allclose(
                spectrum.weights(labelled, lam, lam2), expected, atol=1e-9, strict=True
            )
        G = spectrum.gram(lam, lam2)
        part = spectrum.gram(lam, lam2, labelled, [0, 3])
        assert_allclose(part, G[np.ix_(labelled, [0, 3])], atol=1e-12, strict=True)
        some = spectrum.weights(labelled, lam, lam2, [4, 2])
        assert_allclose(some, expected[[4, 2]], atol=1e-9, strict=True)


def test_the_graph_of_the_kernel_is_read():
    fit = SemiSupervisedOutputKernelRidge(input_kernel="precomputed", lam2=1.0).fit
    with pytest.warns(UserWarning, match="The graph has no edge"):
        fit(np.eye(4), [1.0, 2.0], labelled=[0, 1])
    apart = SemiSupervisedOutputKernelRidge(input_kernel="precomputed")
    with pytest.warns(UserWarning, match="The graph has no edge") as told:
        list(apart.spectra(np.eye(4), [1.0]))
    assert len(told) == 1  # read once
    K = np.exp(-np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))))
    K[0, 1] += 1e-6
    with pytest.raises(ValueError, match="The graph must be symmetric"):
        fit(K, [1.0, 2.0], labelled=[0, 1])
    huge = {"graph": 1e250 * (np.ones((6, 6)) - np.eye(6)), "lam2": 1e100}
    for n_landmarks in (None, 4):
        model = SemiSupervisedOutputKernelRidge(**huge, n_landmarks=n_landmarks)
        with pytest.raises(ValueError, match="overflows"):
            model.fit(np.arange(6.0)[:, None], [1.0, 1.0], labelled=[0, 1])


@pytest.mark.parametrize("n_splits", [2, 5, 9])
def test_holdout_weights_are_those_of_a_fit_without_the_fold(n_splits):
    X, K, W, labelled = problem(0)
    labelled = np.arange(len(X))[3:12]
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], next(graph_smoothers(W)))
    splits = list(KFold(n_splits, shuffle=True, random_state=0).split(labelled))
    for lam, lam2 in RATES:
        held = spectrum.holdout_weights(labelled, lam, lam2, splits)
        for (train, test), weights in zip(splits, held, strict=True):
            expected = spectrum.weights(labelled[train], lam, lam2, labelled[test])
            assert_allclose(weights, expected, atol=1e-10, strict=True)


def exact_weights(K, M, labelled, lam, lam2, K_cross):
    "eq-rrsn-9 as it is printed, with sixty digits, of matrices as they are given."
    with localcontext(prec=60):
        K, M, k = map(exactly, (K, M, K_cross))
        unit = np.eye(len(K), dtype=int).astype(object)
        V = np.diag(np.isin(np.arange(len(K)), labelled).astype(int)).astype(object)
        A = (V + 2 * Decimal(lam2) * M) @ K + Decimal(lam) * unit
        return (k @ solved_exactly(A, unit[:, labelled])).astype(float)


@pytest.mark.parametrize("spread", [1.0, 100.0, 1e4])
def test_digits_of_a_graded_kernel(spread):
    "A plain Cholesky factor of rows of uneven lengths would keep six digits fewer."
    rng = np.random.default_rng(0)
    X = (
        rng.integers(-9, 10, size=(8, 9))
        * np.round(np.geomspace(1, spread, 8))[:, None]
    )
    W = np.zeros((8, 8))
    for i in (0, 1, 2, 4, 5, 6):  # two paths
        W[i, i + 1] = W[i + 1, i] = 1.0
    K, M, labelled = X @ X.T, np.diag(W.sum(axis=1)) - W, [0, 5]
    lam = 1e-6 * np.trace(K) / 8
    exact = exact_weights(K, M, labelled, lam, 100.0, K)
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="linear", lam=lam, lam2=100.0, graph=W
    ).fit(X, [0.0, 1.0], labelled=labelled)
    assert_allclose(model.transduction_weights_, exact, rtol=0, atol=1e-11)


def ill_conditioned(rng):
    """Nodes with clones and near clones, or few dimensions; a kernel from local to
    nearly constant; points near the nodes and far away; penalties over many decades."""
    n, p = int(rng.integers(2, 15)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p))
    near = X[rng.integers(n)] + 10.0 ** -rng.integers(1, 10) * rng.normal(size=p)
    X_new = np.vstack([X[0], near, rng.normal(scale=4.0, size=(3, p))])
    X[-1] = [X[0], near, X[-1]][rng.integers(3)]
    kernel = [RBFKernel(sigma=10 ** rng.uniform(-1, 1.5)), LinearKernel()][
        int(rng.random() < 0.2)
    ]
    K, K_new = kernel.gram(X), kernel.gram(X_new, X)
    W = RBFKernel(sigma=10 ** rng.uniform(-1, 1)).gram(X)
    np.fill_diagonal(W, 0.0)
    labelled = rng.permutation(n)[: rng.integers(2, n + 1)]
    lam = 10 ** rng.uniform(-10, 2) * max(K.diagonal().max(), 1e-3)
    lam2 = 0.0 if rng.random() < 0.2 else 10 ** rng.uniform(-8, 4)
    return K, W, labelled, lam, lam2, K_new, kernel.diag(X_new)


def condition(K, M, lam, lam2):
    "eq-semi-condition."
    return 1 + np.linalg.norm(K, 2) * (1 + 2 * lam2 * np.linalg.norm(M, 2)) / lam


@pytest.mark.filterwarnings("ignore:The graph has no edge")
@pytest.mark.parametrize("seed", range(100))
def test_weights_at_any_point_have_the_digits_that_the_condition_leaves(seed):
    "eq-rrsn-9, eq-semi-condition, eq-semi-remainder, eq-semi-digits, thm-semi-digits."
    K, W, labelled, lam, lam2, K_new, k_new = ill_conditioned(
        np.random.default_rng(seed)
    )
    (M,) = graph_smoothers(W)
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="precomputed", lam=lam, lam2=lam2, graph=W
    )
    model.fit(K, np.eye(len(labelled)), labelled)
    queries, k_x = np.vstack([K, K_new]), np.r_[K.diagonal(), k_new]
    expected = exact_weights(K, M, labelled, lam, lam2, queries)
    bound = 10 * (1 + len(K)) * 2.0**-53 * condition(K, M, lam, lam2)
    scale = np.linalg.norm(model.dual_coef_, 2) * np.sqrt(k_x)
    assert np.linalg.norm(model.dual_coef_, 2) <= (1 + 1e-6 + bound) / np.sqrt(lam)
    errors = np.linalg.norm(model.weights(queries) - expected, axis=1)
    assert (errors <= bound * scale).all()
    at_nodes = model.transduction_weights_ - expected[: len(K)]
    assert (np.linalg.norm(at_nodes, axis=1) <= bound * scale[: len(K)]).all()
    # relative to the weights themselves, as long as there are digits
    if bound < 1e-8:
        sizes = max(np.linalg.norm(expected, axis=1))
        assert errors.max() <= 1e-9 * max(sizes, scale.max())


@pytest.mark.filterwarnings("ignore:The graph has no edge")
@pytest.mark.parametrize("seed", range(60))
def test_a_gram_matrix_in_single_precision_loses_no_digits(seed):
    "eq-semi-indefinite: rounded to float32 it has negative eigenvalues."
    K, W, labelled, lam, lam2, K_new, k_new = ill_conditioned(
        np.random.default_rng(seed)
    )
    K, K_new = (A.astype(np.float32).astype(float) for A in (K, K_new))
    (M,) = graph_smoothers(W)
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="precomputed", lam=lam, lam2=lam2, graph=W
    )
    model.fit(K, np.eye(len(labelled)), labelled)
    R, _ = kernel_factor(K)
    left = np.linalg.norm(K - R @ R.T, 2) * (1 + 2 * lam2 * np.linalg.norm(M, 2))
    if left > 0.9 * lam and model._left is not None:
        if np.linalg.eigvalsh(K[np.ix_(labelled, labelled)])[0] > -lam:
            return  # K may still be solved, or RR' in its place
        K_used = R @ R.T
    else:
        K_used = K
    nodes = exact_weights(K_used, M, labelled, lam, lam2, K_used)
    bound = 10 * (1 + len(K)) * 2.0**-53 * condition(K, M, lam, lam2)
    scale = np.linalg.norm(model.dual_coef_, 2) * np.sqrt(K.diagonal())
    gap = np.linalg.norm(model.transduction_weights_ - nodes, axis=1)
    assert (gap <= bound * scale).all()
    if K_used is K:
        queries, k_x = np.vstack([K, K_new]), np.r_[K.diagonal(), k_new]
        expected = exact_weights(K, M, labelled, lam, lam2, queries)
        scale = np.linalg.norm(model.dual_coef_, 2) * np.sqrt(k_x)
        errors = np.linalg.norm(model.weights(queries) - expected, axis=1)
        assert (errors <= bound * scale).all()


@pytest.mark.parametrize("lam", [1e-5, 1e-3, 1.0])
def test_in_single_precision_no_smoothness_is_ridge_regression(lam):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(120, 2)), rng.normal(size=(20, 2))
    K, K_new = (RBFKernel(sigma=1.0).gram(A, X).astype(np.float32) for A in (X, new))
    ridge = OutputKernelRidge(input_kernel="precomputed", lam=lam).fit(K, X[:, 0])
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="precomputed", lam=lam, lam2=0.0, graph="knn"
    )
    expected = ridge.weights(K_new)
    found = model.fit(K, X[:, 0]).weights(K_new)
    assert len(model.landmarks_) < 100
    tolerance = 120 * 2.0**-53 * (1 + np.linalg.norm(K, 2) / lam)
    assert_allclose(found, expected, rtol=0, atol=tolerance * abs(expected).max())


@pytest.mark.filterwarnings("ignore:The graph has no edge")
@pytest.mark.parametrize("seed", range(40))
def test_without_smoothness_unseen_nodes_get_the_weights_of_ridge_regression(seed):
    K, W, labelled, lam, _, K_new, k_new = ill_conditioned(np.random.default_rng(seed))
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="precomputed", lam=lam, lam2=0.0, graph=W
    )
    model.fit(K, np.eye(len(labelled)), labelled)
    ridge = OutputKernelRidge(input_kernel="precomputed", lam=lam)
    ridge.fit(K[np.ix_(labelled, labelled)], np.eye(len(labelled)))
    bound = 10 * (1 + len(K)) * 2.0**-53 * (1 + np.linalg.norm(K, 2) / lam)
    scale = np.linalg.norm(model.dual_coef_, 2) * np.sqrt(k_new)
    gap = model.weights(K_new) - ridge.weights(K_new[:, labelled])
    assert (np.linalg.norm(gap, axis=1) <= bound * scale).all()


@pytest.mark.parametrize("seed", range(40))
def test_holdout_weights_have_the_digits_that_the_condition_leaves(seed):
    "eq-semi-holdout against eq-rrsn-9 in exact arithmetic."
    rng = np.random.default_rng(seed)
    K, W, labelled, lam, lam2, _, _ = ill_conditioned(rng)
    (M,) = graph_smoothers(W)
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], M)
    train, test = np.split(rng.permutation(len(labelled)), [len(labelled) // 2])
    (found,) = spectrum.holdout_weights(labelled, lam, lam2, [(train, test)])
    nodes = exact_weights(K, M, labelled[train], lam, lam2, K)
    bound = 10 * (1 + len(K)) * 2.0**-53 * condition(K, M, lam, lam2)
    error = np.linalg.norm(found - nodes[labelled[test]])
    assert error <= bound * np.linalg.norm(nodes)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_the_coefficients_are_residuals(smoother, form):
    "eq-semi-dual, thm-semi-dual; and a spectrum can be pickled."
    X, K, W, labelled = problem(3)
    (M,) = graph_smoothers(W, smoother, [0.3])
    (given,) = graph_smoothers(form(W), smoother, [0.3])
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], given)
    spectrum = pickle.loads(pickle.dumps(spectrum))
    for lam, lam2 in RATES:
        B = naive(K, M, labelled, lam, lam2)
        assert_allclose(spectrum.dual(labelled, lam, lam2), B.T, atol=1e-7 / lam)


@pytest.mark.parametrize("lam", [1e-2, 1e-8])
def test_a_kernel_of_low_rank_needs_its_landmarks_only(lam):
    "What is left of the kernel values is rounding, and counts as zero."
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(14, 3)), rng.normal(size=(9, 3))
    labelled, lam2 = np.array([2, 5, 6, 11]), 0.1
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="linear", lam=lam, lam2=lam2, graph="knn"
    )
    model.fit(X, np.eye(4), labelled)
    assert len(model.landmarks_) == 3 and len(model.others_) == 11
    K_others = new @ X[model.others_].T
    rows = extend_factor(model._landmark_factor, new @ X[model.landmarks_].T)
    assert not kernel_remainder(rows, model._other_rows, K_others).any()
    assert (kernel_remainder(rows, model._other_rows, K_others + 1e-9) > 0.9e-9).all()
    M = next(graph_smoothers(knn_graph(X, 10).toarray()))
    T = X[labelled].T @ X[labelled] + 2 * lam2 * X.T @ M @ X + lam * np.eye(3)
    expected = new @ np.linalg.solve(T, X[labelled].T)
    assert_allclose(model.weights(new), expected, rtol=1e-9, atol=1e-9)


def test_a_zero_kernel_predicts_zero():
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="precomputed", lam=0.5, graph=1 - np.eye(3)
    )
    model.fit(np.zeros((3, 3)), [1.0, 2.0], [0, 2])
    assert model.dual_coef_.shape == (0, 2)
    assert_allclose(model.predict(np.zeros((2, 3))), np.zeros(2), strict=True)
    # kernel values that no kernel has: the equations are solved all the same
    B = exact_weights(np.zeros((3, 3)), np.zeros((3, 3)), [0, 2], 0.5, 0.0, np.eye(3))
    alone = model.set_params(lam2=0.0).fit(np.zeros((3, 3)), [1.0, 2.0], [0, 2])
    assert_allclose(alone.weights(np.eye(3)), B, strict=True)


@pytest.mark.parametrize("size", [1e-30, 1e-8, 1.0, 1e8, 1e30])
@pytest.mark.parametrize("inputs", [1e-30, 1.0, 1e30])
def test_smoothers_of_any_size_are_taken_or_refused(size, inputs):
    """What counts as rounding is measured by what was given: a Laplacian that the
    constant factor of a kernel hides is no indefinite matrix."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 20):
        W = rng.random((n, n)) * (1 - np.eye(n))
        W = W + W.T
        L = np.diag(W.sum(axis=1)) - W
        basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
        for R in (np.ones((n, 1)), 1 / 3 * np.ones((n, 2)), basis, np.zeros((n, 0))):
            for M in (L, np.zeros((n, n)), L @ L, sp.csr_array(L), lambda A: L @ A):
                M = size * M if not callable(M) else lambda A: size * (L @ A)
                theta = SmoothedSpectrum(np.sqrt(inputs) * R, M).theta
                assert (theta >= 0).all() and len(theta) == R.shape[1]
        if n > 1:
            bad = (basis * np.r_[np.ones(n - 1), -1e-6]) @ basis.T
            with pytest.raises(ValueError, match="positive semi-definite"):
                SmoothedSpectrum(np.sqrt(inputs) * basis, size * bad)
            skew = np.eye(n) + 1e-4 * np.triu(np.ones((n, n)), 1)
            with pytest.raises(ValueError, match="symmetric"):
                SmoothedSpectrum(np.sqrt(inputs) * basis, size * skew)


def test_zero_gram_matrix():
    spectrum = SmoothedSpectrum(kernel_factor(np.zeros((4, 4)))[0], np.eye(4))
    assert_allclose(spectrum.weights([1, 2], 1.0, 1.0), np.zeros((4, 2)), strict=True)


def test_spectrum_refuses_what_is_no_smoother():
    with pytest.raises(
        ValueError, match="positive semi-definite: R'MR has the eigenvalue -1"
    ):
        SmoothedSpectrum(np.eye(2), np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match="symmetric"):
        SmoothedSpectrum(np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]))


@pytest.mark.parametrize(
    "rates", [(0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (np.inf, 1.0)]
)
def test_lam_must_be_positive(rates):
    with pytest.raises(ValueError, match="lam == .*, must be"):
        SmoothedSpectrum(np.eye(2), np.eye(2)).gram(*rates)


@pytest.mark.parametrize("lam2", [-1e-9, np.inf, np.nan])
def test_lam2_must_not_be_negative(lam2):
    with pytest.raises(ValueError, match="lam2 == .*, must be"):
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


@pytest.mark.parametrize("labelled", [None, [0, 1]])
@pytest.mark.parametrize("n", [2.5, "a", None, -1])
def test_the_number_of_nodes_is_checked(labelled, n):
    with pytest.raises((TypeError, ValueError), match="n_nodes"):
        check_labelled(labelled, n)


@pytest.mark.parametrize("beta", [1e-5, 1e-7, 1e-12, 1e-17, 1e-100, 0.0])
def test_a_short_diffusion_on_a_sparse_graph(beta):
    "What moves hardly at all is not the difference of what is and what was."
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((12, 12)), 1)
    W, R = W + W.T, rng.normal(size=(12, 3))
    sparse, dense = (
        SmoothedSpectrum(R, next(graph_smoothers(graph, "diffusion-graph", [beta])))
        for graph in (sp.csr_array(W), W)
    )
    assert_allclose(sparse.theta, dense.theta, rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("unit", [1e-17, 1e-163, 1e-200, 1e-300])
def test_the_unit_of_the_graph_may_be_tiny(unit, form):
    "The squares of such numbers are zero."
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((12, 12)), 1)
    for R in (np.ones((12, 3)), rng.normal(size=(12, 3))):
        small, plain = (
            SmoothedSpectrum(R, next(graph_smoothers(form((W + W.T) * scale))))
            for scale in (unit, 1.0)
        )
        assert_allclose(small.theta / unit, plain.theta, rtol=1e-9, atol=1e-9)
        with pytest.raises(ValueError, match="M .*symmetric"):
            SmoothedSpectrum(np.eye(12), form(W * unit))


def test_numbers_whose_squares_are_none():
    X = np.random.default_rng(0).normal(size=(24, 2))
    with pytest.raises(ValueError, match="squared distance of nodes overflows: .* X"):
        knn_graph(X * 1e300, 3)
    far, near = (knn_graph(A, 3, "manhattan").toarray() for A in (X * 1e300, X))
    assert_array_equal(far, near)
    with pytest.raises(ValueError, match="R'MR overflows: the largest entry of R"):
        SmoothedSpectrum(X * 1e160, np.eye(24))


def test_a_ridge_too_small_is_named():
    X = np.random.default_rng(0).normal(size=(9, 2))
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="linear", lam=1e-17, lam2=0.0, graph="knn", n_neighbors=2
    )
    with pytest.raises(ValueError, match="^lam=1e-17 is too small .* lam2=0"):
        model.fit(X, np.arange(9.0))


@pytest.mark.parametrize("n_landmarks", [None, 2])
def test_a_kernel_that_is_zero_at_all_nodes(n_landmarks):
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="linear", n_landmarks=n_landmarks, graph="knn", n_neighbors=2
    )
    model.fit(np.zeros((5, 2)), np.arange(5.0))
    assert_array_equal(model.weights(np.ones((1, 2))), np.zeros((1, 5)), strict=True)
    assert_array_equal(model.predict(np.ones((1, 2))), [0.0])


def test_penalties_may_be_large_integers():
    X = np.random.default_rng(0).normal(size=(12, 2))
    for name in ("lam", "lam2", "beta2"):
        one, two = (
            SemiSupervisedOutputKernelRidge(smoother="diffusion")
            .set_params(**{name: value})
            .fit(X, X)
            for value in (10**30, 1e30)
        )
        assert_array_equal(one.predict(X), two.predict(X), strict=True)


def test_labelled_keeps_its_order():
    assert check_labelled([3, 0], 5).tolist() == [3, 0]
    assert check_labelled(None, 3).tolist() == [0, 1, 2]
    assert check_labelled([False, True, True], 3).tolist() == [1, 2]


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize(
    "entries, message",
    [
        (
            [[0, 1, 0], [1, 0, 1]],
            r"square, a row and a column for each node: got \(2, 3\)",
        ),
        ([[0, 1.0], [2.0, 0]], "symmetric"),
        ([[0, -1.0], [-1.0, 0]], "must not be negative: the least is -1"),
        ([[1.0, 1.0], [1.0, 0]], "must have a zero diagonal"),
        ([[0, np.nan], [np.nan, 0]], "(?i)nan"),
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
    with pytest.raises(
        ValueError,
        match="The 'smoother' parameter of graph_smoothers .* Got 'heat'",
    ):
        next(graph_smoothers(1.0 - np.eye(2), "heat"))
    with pytest.raises(ValueError, match="betas == -1.0, must be >= 0.0"):
        next(graph_smoothers(1.0 - np.eye(2), "diffusion", [-1.0]))


def test_kernel_graph():
    K = RBFKernel(sigma=1.0).gram(np.arange(4.0)[:, None])
    assert_allclose(kernel_graph(K), K - np.eye(4), strict=True)
    assert K[0, 0] == 1.0  # a copy
    with pytest.raises(ValueError, match="must not be negative: the least is -1"):
        kernel_graph(np.array([[1.0, -1.0], [-1.0, 1.0]]))


def test_search_takes_the_first_of_equals():
    rng = np.random.default_rng(0)
    R, K = rng.normal(size=(12, 3)), np.eye(6)
    (M,) = graph_smoothers(1.0 - np.eye(12))
    splits = list(KFold(3).split(K))
    grids = [1.0, 1.0], [0.1, 0.1], splits
    losses, best, spectrum = search_penalties(R, [M, M], np.arange(6), K, *grids)
    assert losses.shape == (2, 2, 2) and best == (0, 0, 0)
    assert_allclose(losses[1], losses[0], strict=True)
    one = smoothed_cv_losses(SmoothedSpectrum(R, M), np.arange(6), K, *grids)
    assert_allclose(losses[0], one, strict=True)
    better = [100.0 * np.eye(12), np.zeros((12, 12))], np.arange(6), R[:6] @ R[:6].T
    losses, best, spectrum = search_penalties(R, *better, [1e-3], [1.0], splits)
    assert best == (1, 0, 0) and losses[best] == losses.min()
    assert_allclose(spectrum.theta, np.zeros(3), strict=True)


def test_fit_spectrum_is_fit():
    "The decompositions made before, for two draws of the labelled nodes."
    model, X, Y, labelled = model_and_data(12, smoother="diffusion-graph")
    betas = [0.1, 1.0]
    for beta, spectrum in zip(betas, model.spectra(X, betas), strict=True):
        for known in (labelled, labelled[::-1]):
            copied = copy.copy(model).set_params(lam=0.3, lam2=1e-3, beta2=beta)
            copied.fit_spectrum(spectrum, Y, known)
            fitted = clone(copied).fit(X, Y, known)
            assert_allclose(
                copied.transduction_weights_, fitted.transduction_weights_, atol=1e-9
            )
            assert_allclose(copied.weights(X + 0.1), fitted.weights(X + 0.1), atol=1e-7)
    with pytest.raises(ValueError, match="The 'lam' parameter"):
        copied.set_params(lam=0.0).fit_spectrum(spectrum, Y, labelled)
    with pytest.raises(ValueError, match="needs lam2"):
        copied.set_params(lam=0.3, lam2=None).fit_spectrum(spectrum, Y, labelled)


def test_extend_factor():
    "eq-semi-unseen: the rows of a factor, at nodes that it has and at others."
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(9, 4)), rng.normal(size=(3, 4))
    R, marks = kernel_factor(X @ X.T)
    assert_allclose(extend_factor(R[marks], X @ X[marks].T), R, atol=1e-10)
    rows = extend_factor(R[marks], new @ X[marks].T)
    assert_allclose(rows @ R.T, new @ X.T, atol=1e-10)


def test_knn_graph():
    A = knn_graph(np.array([[0.0], [1.0], [3.0], [3.5]]), 1).toarray()
    assert A.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    with pytest.raises(ValueError, match="n_neighbors == 3, must be <= 2"):
        knn_graph(np.zeros((3, 1)), 3)


MODELS = [SemiSupervisedOutputKernelRidge, SemiSupervisedOutputKernelRidgeCV]


SMALL = {"lam_grid": [0.001, 0.1], "lam2_grid": [0.0, 0.01]}


@parametrize_with_checks(
    [
        SemiSupervisedOutputKernelRidge(output_kernel=kernel)
        for kernel in ("linear", "rbf", "dirac")
    ]
    + [
        SemiSupervisedOutputKernelRidgeCV(output_kernel=kernel, **SMALL)
        for kernel in ("linear", "dirac")
    ]
    + [SemiSupervisedOutputKernelRidge(n_landmarks=60, smoother="diffusion-graph")]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def model_and_data(seed, **params):
    "A model on 40 nodes of which 8 are labelled, and what belongs to it."
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    labelled = rng.permutation(40)[:8]
    Y = np.c_[np.sin(X[labelled, 0]), X[labelled, 1] ** 2]
    return (
        SemiSupervisedOutputKernelRidge(input_kernel_params={"sigma": 1.0}, **params),
        X,
        Y,
        labelled,
    )


@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("graph", ["kernel", "knn", "given", "sparse"])
def test_estimator_is_the_naive_formula_at_seen_and_unseen_nodes(graph, smoother):
    "eq-rrsn-7, eq-rrsn-9."
    W = knn_graph(np.random.default_rng(5).normal(size=(40, 2)), 3)
    form = {"given": W.toarray(), "sparse": W}.get(graph, graph)
    model, X, Y, labelled = model_and_data(
        0, lam=0.01, lam2=0.1, smoother=smoother, beta2=0.5, graph=form
    )
    model.fit(X, Y, labelled)
    K = RBFKernel(sigma=1.0).gram(X)
    edges = {"kernel": K - np.eye(40), "knn": knn_graph(X, 10).toarray()}.get(
        graph, W.toarray()
    )
    (M,) = graph_smoothers(edges, smoother, [0.5])
    B = naive(K, M, labelled, 0.01, 0.1)
    X_new = np.random.default_rng(1).normal(size=(7, 2))
    assert_allclose(model.transduction_weights_, (B @ K).T, atol=1e-8, strict=True)
    assert_allclose(
        model.weights(X), model.transduction_weights_, atol=1e-8, strict=True
    )
    assert_allclose(
        model.weights(X_new),
        (B @ RBFKernel(sigma=1.0).gram(X, X_new)).T,
        atol=1e-8,
        strict=True,
    )
    assert_allclose(model.predict(X_new), model.weights(X_new) @ Y, strict=True)


def test_without_smoothness_it_is_ridge_regression_on_the_labelled_nodes():
    model, X, Y, labelled = model_and_data(1, lam=0.1, lam2=0.0)
    oracle = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X[labelled], Y)
    assert_allclose(
        model.fit(X, Y, labelled).predict(X), oracle.predict(X), atol=1e-9, strict=True
    )


def test_mask_indices_and_order():
    model, X, Y, labelled = model_and_data(2)
    mask = np.zeros(40, bool)
    mask[labelled] = True
    by_index = clone(model).fit(X, Y, labelled).predict(X)
    by_mask = clone(model).fit(X, Y[np.argsort(labelled)], mask).predict(X)
    assert_allclose(by_mask, by_index, atol=1e-9, strict=True)
    everything = clone(model).fit(X, X).predict(X)
    assert_allclose(
        clone(model).fit(X, X, np.arange(40)).predict(X), everything, strict=True
    )


@pytest.mark.parametrize("cls", MODELS)
def test_gram_matrices_are_enough(cls):
    "Precomputed on both sides, for the kernel graph and for neighbours."
    _, X, Y, labelled = model_and_data(3)
    X_new = np.random.default_rng(1).normal(size=(5, 2))
    kernel = RBFKernel(sigma=1.0)
    for graph in ("kernel", "knn"):
        seeing = cls(input_kernel=kernel, graph=graph, output_kernel="rbf").fit(
            X, Y, labelled
        )
        blind = cls(
            input_kernel="precomputed", graph=graph, output_kernel="precomputed"
        )
        blind.fit(kernel.gram(X), RBFKernel().gram(Y), labelled)
        K_new = kernel.gram(X_new, X)
        assert_allclose(
            blind.predict_gram(K_new),
            seeing.predict_gram(X_new),
            atol=1e-8,
            strict=True,
        )
        assert_array_equal(blind.decode(K_new), seeing.decode(X_new))


def test_landmarks_of_full_rank_change_nothing_and_few_are_a_kernel_of_their_own():
    model, X, Y, labelled = model_and_data(4, lam=0.01, lam2=0.1, graph="knn")
    exact = clone(model).fit(X, Y, labelled)
    full = clone(model).set_params(n_landmarks=40).fit(X, Y, labelled)
    assert_allclose(full.weights(X), exact.weights(X), atol=1e-6, strict=True)
    few = clone(model).set_params(n_landmarks=6).fit(X, Y, labelled)
    assert few.dual_coef_.shape == (6, 8)
    kernel, marks = RBFKernel(sigma=1.0), few.landmarks_
    C = kernel.gram(X, X[marks])
    nystrom = C @ np.linalg.solve(C[marks], C.T)
    B = naive(
        nystrom, next(graph_smoothers(knn_graph(X, 10))).toarray(), labelled, 0.01, 0.1
    )
    assert_allclose(few.transduction_weights_, (B @ nystrom).T, atol=1e-8, strict=True)
    assert_allclose(few.weights(X), few.transduction_weights_, atol=1e-8, strict=True)
    blind = clone(few).set_params(
        input_kernel="precomputed", input_kernel_params=None, graph=knn_graph(X, 10)
    )
    assert_allclose(
        blind.fit(kernel.gram(X), Y, labelled).weights(kernel.gram(X)),
        few.weights(X),
        atol=1e-8,
        strict=True,
    )


@pytest.mark.parametrize("smoother", SMOOTHERS)
def test_cv_equals_a_loop_over_fits(smoother):
    _, X, Y, labelled = model_and_data(5)
    lams, lam2s, betas = [0.01, 0.1], [0.0, 0.01, 1.0], [0.1, 1.0]
    params = dict(
        input_kernel_params={"sigma": 1.0},
        smoother=smoother,
        output_kernel="rbf",
        output_kernel_params={"sigma": 0.5},
    )
    cv = KFold(4, shuffle=True, random_state=0)
    model = SemiSupervisedOutputKernelRidgeCV(
        lam_grid=lams, lam2_grid=lam2s, beta2_grid=betas, cv=cv, **params
    )
    model.fit(X, Y, labelled)
    losses = np.zeros_like(model.cv_losses_)
    assert losses.shape == (1 if smoother == "laplacian" else 2, 2, 3)
    for b, i, j in np.ndindex(losses.shape):
        one = SemiSupervisedOutputKernelRidge(
            lam=lams[i], lam2=lam2s[j], beta2=betas[b], **params
        )
        parts = [
            one.fit(X, Y[train], labelled[train]).losses(X[labelled[test]], Y[test])
            for train, test in cv.split(labelled)
        ]
        losses[b, i, j] = np.concatenate(parts).mean()
    assert_allclose(model.cv_losses_, losses, atol=1e-9, strict=True)
    b, i, j = np.unravel_index(losses.argmin(), losses.shape)
    one = SemiSupervisedOutputKernelRidge(
        lam=lams[i], lam2=lam2s[j], beta2=betas[b], **params
    )
    assert_allclose(
        one.fit(X, Y, labelled).weights(X), model.weights(X), atol=1e-9, strict=True
    )
    assert model.best_loss_ == pytest.approx(losses.min())


@pytest.mark.parametrize("cls", MODELS)
def test_clone_pickle_grid_search(cls):
    _, X, Y, labelled = model_and_data(6)
    model = cls(graph="knn", output_kernel="rbf", input_kernel_params={"sigma": 1.0})
    fitted = clone(model).fit(X, Y, labelled)
    again = pickle.loads(pickle.dumps(fitted))
    assert_allclose(again.predict_gram(X), fitted.predict_gram(X), strict=True)
    grid = {"n_neighbors": [3, 5], "input_kernel": [RBFKernel(0.5), RBFKernel(1.0)]}
    search = GridSearchCV(
        clone(model).set_params(input_kernel_params=None), grid, cv=2
    ).fit(X, np.sin(X))
    assert search.best_estimator_.labelled_.tolist() == list(range(40))
    piped = make_pipeline(StandardScaler(), model).fit(
        X, Y, **{f"{cls.__name__.lower()}__labelled": labelled}
    )
    assert piped.predict(X).shape == (40, 2)


def test_classes_decode_and_probabilities():
    X = np.r_[np.linspace(0, 1, 20), np.linspace(2, 3, 20)][:, None]
    for cls in MODELS:
        model = cls(
            input_kernel_params={"sigma": 0.2},
            graph="knn",
            n_neighbors=2,
            output_kernel="dirac",
        )
        model = model if cls is MODELS[0] else model.set_params(cv=2)
        model.fit(X, ["a", "a", "b", "b"], [0, 3, 36, 39])
        assert model.predict([[0.9], [2.1]]).tolist() == ["a", "b"]
        assert_allclose(model.predict_proba(X).sum(axis=1), np.ones(40), strict=True)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"lam": 0.0}, "The 'lam' parameter .* Got 0.0"),
        ({"lam2": -1.0}, "The 'lam2' parameter .* Got -1.0"),
        ({"lam2": np.nan}, "The 'lam2' parameter .* Got nan"),
        ({"lam2": np.inf}, "The 'lam2' parameter .* Got inf"),
        ({"beta2": -1.0}, "The 'beta2' parameter .* Got -1.0"),
        ({"smoother": "heat"}, "The 'smoother' parameter"),
        (
            {"graph": "ring"},
            "The 'graph' parameter .* Got 'ring'",
        ),
        ({"graph": np.zeros((3, 3))}, r"square, .* got \(3, 3\), n_nodes=40"),
        (
            {"graph": "knn", "n_neighbors": 40},
            "n_neighbors == 40, must be <= 39",
        ),
        ({"n_landmarks": 0}, "The 'n_landmarks' parameter .* Got 0"),
        ({"n_neighbors": 0}, "The 'n_neighbors' parameter .* Got 0"),
        (
            {"input_kernel": "linear", "input_kernel_params": None},
            "graph='kernel' takes .* the least is .* graph='knn'",
        ),
    ],
)
def test_parameters_are_checked(params, message):
    model, X, Y, labelled = model_and_data(7)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, Y, labelled)


def test_grids_and_splits_are_checked():
    _, X, Y, labelled = model_and_data(8)
    cls = SemiSupervisedOutputKernelRidgeCV
    for params, message in [
        ({"lam_grid": [1.0, 0.0]}, "lam_grid == 0.0, must be > 0.0"),
        ({"lam_grid": 0.1}, "The 'lam_grid' parameter .* Got 0.1"),
        ({"lam2_grid": []}, "lam2_grid must be a sequence of numbers"),
        ({"lam2_grid": [0.0, -1.0]}, "lam2_grid == -1.0, must be >= 0.0"),
        (
            {"smoother": "diffusion", "beta2_grid": [1.0, -1.0]},
            "beta2_grid == -1.0, must be >= 0.0",
        ),
        (
            {"cv": ShuffleSplit(2, test_size=0.3, train_size=0.3)},
            "A split must use all 8 labelled nodes: got 2 and 3",
        ),
        ({"cv": 9}, "greater than the number of samples"),
    ]:
        with pytest.raises(ValueError, match=message):
            cls(**params).fit(X, Y, labelled)


@pytest.mark.parametrize("cls", MODELS)
def test_data_are_checked(cls):
    _, X, Y, labelled = model_and_data(9)
    with pytest.raises(
        ValueError, match="y must hold the outputs of the 8 labelled nodes: got 7"
    ):
        cls().fit(X, Y[:7], labelled)
    with pytest.raises(ValueError, match="No node is labelled"):
        cls().fit(X, Y[:0], np.zeros(40, bool))
    with pytest.raises(ValueError, match="at least two training examples"):
        cls().fit(X, Y[:1], labelled[:1])
    indefinite = RBFKernel(sigma=1.0).gram(X) - 0.5 * np.eye(40)
    with pytest.raises(ValueError, match="The Gram matrix X .*positive semi-definite"):
        cls(input_kernel="precomputed").fit(indefinite, Y, labelled)
    with pytest.raises(ValueError, match="symmetric"):
        cls(graph=np.triu(np.ones((40, 40)), 1)).fit(X, Y, labelled)


def test_a_graph_without_edges_warns_and_leaves_the_supervised_solution():
    model, X, Y, labelled = model_and_data(
        10, lam=0.1, lam2=1.0, graph=sp.csr_array((40, 40))
    )
    with pytest.warns(UserWarning, match="The graph has no edge"):
        model.fit(X, Y, labelled)
    oracle = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X[labelled], Y)
    assert_allclose(model.predict(X), oracle.predict(X), atol=1e-9, strict=True)


def test_no_output_of_an_unlabelled_node_is_read():
    """Other outputs of the labelled nodes change the prediction; there are no others
    to change."""
    model, X, Y, labelled = model_and_data(11)
    W = model.fit(X, Y, labelled).transduction_weights_
    assert_allclose(
        clone(model).fit(X, 3 * Y, labelled).transduction_weights_, W, strict=True
    )


@pytest.mark.parametrize("smoother", ["laplacian", "diffusion-graph"])
def test_landmarks_and_a_sparse_graph_never_form_a_square_matrix(smoother):
    X = np.random.default_rng(12).normal(size=(4000, 2))
    params = dict(
        input_kernel_params={"sigma": 1.0},
        graph="knn",
        n_landmarks=30,
        smoother=smoother,
        beta2=0.1,
    )
    tracemalloc.start()
    model = SemiSupervisedOutputKernelRidge(**params).fit(X, X[:20], np.arange(20))
    model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.25 * 8 * 4000**2


def test_the_gram_matrix_of_the_inputs_is_computed_once():
    X, shapes = np.random.default_rng(0).random((40, 2)), []

    def kernel(A, B):
        shapes.append((len(A), len(B)))
        return RBFKernel(sigma=0.5).gram(A, B)

    SemiSupervisedOutputKernelRidge(input_kernel=kernel, graph="kernel").fit(
        X, X[:10], np.arange(10)
    )
    assert shapes.count((40, 40)) == 1
