"""What is refused as indefinite, at every scale; clip, flip and shift against convex
programs, matrix functions and each other."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

from okbook.core import (
    GramKernel,
    LinearKernel,
    OutputKernelKNN,
    RBFKernel,
    SimilarityKernel,
    check_gram,
    graph_laplacian,
    is_psd,
    make_psd,
)
from okbook.rkhs import OutputKernelRidge, kernel_graph
from okbook.rkhs.leave_one_out import output_directions
from okbook.rkhs.networks import centred_eigh
from okbook.rkhs.semi_supervised import check_graph

SCALES = [1e-30, 1e-20, 1e-9, 1.0, 1e9, 1e20, 1e30]
METHODS = ["clip", "flip", "shift"]


def symmetric(seed, n=8):
    "A random symmetric matrix, with eigenvalues of both signs."
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", SCALES)
def test_the_check_of_a_gram_matrix_has_no_unit(scale, dtype):
    rng = np.random.default_rng(0)
    for n, rank in ((1, 1), (1, 0), (2, 1), (30, 3), (30, 30), (60, 1), (300, 5)):
        Phi = rng.normal(size=(n, rank))
        K = (scale * (Phi @ Phi.T)).astype(dtype)
        check_gram(K)
        check_gram(np.zeros_like(K))
        unit = sla.qr(rng.normal(size=(n, n)))[0][:, 0]
        largest = sla.eigvalsh(K.astype(float))[-1]
        part = 1e-6 if dtype == np.float64 else 1e-4
        if n >= 30 and rank <= 5:  # the largest is several times the mean diagonal
            outside = unit - Phi @ np.linalg.lstsq(Phi, unit, rcond=None)[0]
            outside /= np.linalg.norm(outside)
            bad = K.astype(float) - part * largest * np.outer(outside, outside)
            with pytest.raises(ValueError, match="okbook.core.make_psd"):
                check_gram(bad.astype(dtype))
    with pytest.raises(ValueError, match="clips, flips or shifts.*SimilarityKernel"):
        check_gram(scale * np.array([[0.0, 1.0], [1.0, 0.0]], dtype=dtype))
    with pytest.raises(ValueError, match="positive semi-definite"):
        check_gram(np.array([[-scale]], dtype=dtype))


@pytest.mark.parametrize("scale", SCALES)
def test_symmetry_is_measured_by_the_whole_matrix(scale):
    "Noise in a tile where all entries are noise is no fault; a difference is."
    A = np.zeros((600, 600))
    A[0, 1] = A[1, 0] = 1.0
    A[5, 400] = 1e-17
    check_gram(scale * A, psd=False)
    A[5, 400] = 1e-4
    with pytest.raises(ValueError, match="symmetric"):
        check_gram(scale * A, psd=False)
    A[5, 400] = np.nan
    with pytest.raises(ValueError, match="(?i)nan"):
        check_gram(scale * A, psd=False)


@pytest.mark.parametrize("scale", SCALES)
def test_weights_of_edges_that_rounding_made_negative_are_zero(scale):
    A = scale * np.array([[0.0, 1.0, -1e-16], [1.0, 0.0, 0.5], [-1e-16, 0.5, 0.0]])
    positive = np.maximum(A, 0.0)
    assert_allclose(graph_laplacian(A), graph_laplacian(positive), rtol=0)
    assert_allclose(kernel_graph(A), positive, rtol=0)
    assert_allclose(check_graph(A), positive, rtol=0)
    assert_allclose(check_graph(sp.csr_array(A)).toarray(), positive, rtol=0)
    A[0, 2] = A[2, 0] = -1e-6 * scale
    for check in (graph_laplacian, kernel_graph, check_graph):
        with pytest.raises(ValueError, match="must not be negative"):
            check(A)


@pytest.mark.parametrize("scale", SCALES)
def test_what_centring_leaves_of_a_constant_is_rounding(scale):
    K = np.full((7, 7), 0.3 * scale)
    with pytest.raises(ValueError, match="have the same inputs"):
        centred_eigh(K)
    assert output_directions(K, center=True)[0].shape == (7, 0)
    X = np.random.default_rng(0).normal(size=(7, 2))
    K = scale * (1e3 + X @ X.T)
    assert len(centred_eigh(K)[0]) == output_directions(K, center=True)[0].shape[1] == 2


@pytest.mark.parametrize("seed", range(3))
def test_clip_is_the_nearest(seed):
    "eq-core-nearest, thm-core-spectrum: convex programs in two norms."
    S = symmetric(seed, 5)
    for norm, equal in (("fro", True), (2, False)):
        nearest = cp.Variable((5, 5), PSD=True)
        difference = nearest - S
        distance = cp.norm(difference, "fro") if equal else cp.sigma_max(difference)
        problem = cp.Problem(cp.Minimize(distance))
        problem.solve(solver=cp.CLARABEL)
        assert_allclose(np.linalg.norm(make_psd(S) - S, norm), problem.value, rtol=1e-5)
        if equal:
            assert_allclose(make_psd(S), nearest.value, atol=1e-4)
    shifted = np.linalg.norm(make_psd(S, "shift") - S, 2)
    assert_allclose(shifted, problem.value, rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_three_by_other_ways(seed):
    "eq-core-spectrum, thm-core-spectrum."
    S = symmetric(seed)
    clip, flip, shift = (make_psd(S, method) for method in METHODS)
    assert_allclose(flip, sla.sqrtm(S @ S).real, atol=1e-7)
    assert_allclose(clip, (S + sla.sqrtm(S @ S).real) / 2, atol=1e-7)
    assert_allclose(shift - np.diag(shift.diagonal()), S - np.diag(S.diagonal()))
    least = -np.linalg.eigvalsh(S)[0]
    assert_allclose(shift.diagonal() - S.diagonal(), np.full(8, least))
    for K in (clip, flip, shift):
        assert_allclose(K, K.T, atol=1e-12)
        assert np.linalg.eigvalsh(K)[0] > -1e-13
    for smaller in (0.9, 0.999):  # no smaller multiple of the identity will do
        assert np.linalg.eigvalsh(S + smaller * least * np.eye(8))[0] < 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", SCALES)
def test_a_gram_matrix_stays_and_the_change_has_no_unit(method, scale):
    rng = np.random.default_rng(0)
    Phi, S = rng.normal(size=(9, 4)), symmetric(1, 9)
    row = rng.normal(size=(2, 9))
    for K in (Phi @ Phi.T, np.zeros((3, 3)), np.eye(1)):
        assert_allclose(make_psd(scale * K, method), scale * K, atol=1e-13 * scale)
    K, K_cross = make_psd(S, method, row)
    large, large_cross = make_psd(scale * S, method, scale * row)
    assert_allclose(large, scale * K, atol=1e-12 * scale)
    assert_allclose(large_cross, scale * K_cross, atol=1e-12 * scale)
    check_gram(large)
    # a row in the span of a singular Gram matrix stays as it is
    inside = rng.normal(size=(3, 4)) @ Phi.T
    assert_allclose(make_psd(Phi @ Phi.T, method, inside)[1], inside, atol=1e-12)
    signs = {"clip": 0.0, "flip": 2.0, "shift": 0.0}
    assert_allclose(make_psd([[-2.0]], method), [[signs[method]]], atol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_new_objects_by_the_matrix_as_it_is_written(method):
    "eq-core-spectrum-map, eq-core-new-rows, prop-core-new-rows."
    whole = symmetric(3, 14)
    S, row = whole[:10, :10], whole[10:, :10]
    values, U = np.linalg.eigh(S)
    signs = {"clip": values > 0, "flip": np.sign(values), "shift": np.ones(10)}[method]
    K, K_cross = make_psd(S, method, row)
    assert_allclose(K_cross, row @ U @ np.diag(signs.astype(float)) @ U.T, atol=1e-12)
    kernel = SimilarityKernel(lambda a, b: whole[np.ix_(a, b)], method)
    kernel.fit(np.arange(10))
    known, new = np.arange(10), np.arange(10, 14)
    assert_allclose(kernel.gram(known), K, atol=1e-12)
    assert_allclose(kernel.gram(known.copy()), K, atol=1e-12)
    assert_allclose(kernel.gram(new, known), K_cross, atol=1e-12)
    assert_allclose(kernel.gram(known[3:5], known), K[3:5], atol=1e-12)
    everything = kernel.gram(np.arange(14))
    assert_allclose(kernel.diag(np.arange(14)), everything.diagonal(), atol=1e-12)
    assert_allclose(kernel.eigenvalues_, values, atol=1e-12)
    assert kernel.always_psd is (method != "shift")
    if kernel.always_psd:
        assert is_psd(everything)
        coordinates = U[:, signs != 0] / np.sqrt(np.abs(values[signs != 0]))
        phi = whole[:, :10] @ coordinates  # eq-core-new-rows
        assert_allclose(everything, phi @ phi.T, atol=1e-9)
    else:
        assert_allclose(everything, whole + kernel.shift_ * np.eye(14), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_kernel_does_not_depend_on_the_order_of_the_objects(method):
    whole, rng = symmetric(4, 12), np.random.default_rng(0)
    order = rng.permutation(9)
    kernels = [
        SimilarityKernel(lambda a, b: whole[np.ix_(a, b)], method).fit(objects)
        for objects in (np.arange(9), order)
    ]
    one, other = (kernel.gram(np.arange(12)) for kernel in kernels)
    assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_an_estimator_with_a_similarity_is_that_with_the_changed_matrix(method):
    "For unseen queries, too; the map is learnt from the training inputs alone."
    rng = np.random.default_rng(0)
    X, X_new, Y = rng.normal(size=(20, 3)), rng.normal(size=(6, 3)), rng.normal(size=20)
    params = {"gamma": 1.0, "coef0": -1.0}
    kernel = SimilarityKernel("sigmoid", method, params)
    with pytest.raises(ValueError, match="make_psd"):
        OutputKernelRidge(
            input_kernel="sigmoid", input_kernel_params=params, lam=0.1
        ).fit(X, Y)
    model = OutputKernelRidge(input_kernel=kernel, lam=0.1).fit(X, Y)
    S, S_new = (np.tanh(A @ X.T - 1.0) for A in (X, X_new))
    K, K_new = make_psd(S, method, S_new)
    oracle = OutputKernelRidge(input_kernel="precomputed", lam=0.1).fit(K, Y)
    assert_allclose(model.predict(X_new), oracle.predict(K_new), rtol=1e-8, strict=True)
    assert_allclose(model.predict(X), oracle.predict(K), rtol=1e-8, strict=True)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X_new), model.predict(X_new), rtol=1e-10)
    search = GridSearchCV(
        OutputKernelRidge(input_kernel=kernel, lam=0.1),
        {"input_kernel__method": METHODS, "lam": [0.1, 1.0]},
        cv=KFold(3),
        error_score="raise",
    ).fit(X, Y)
    train, test = next(KFold(3).split(X))
    K, K_test = make_psd(S[np.ix_(train, train)], method, S[np.ix_(test, train)])
    fold = OutputKernelRidge(input_kernel="precomputed", lam=0.1).fit(K, Y[train])
    found = search.cv_results_["split0_test_score"][2 * METHODS.index(method)]
    assert_allclose(found, fold.score(K_test, Y[test]), rtol=1e-8)


def edits(A, B):
    "Minus the number of places in which two words of equal length differ."
    return [[-float(sum(a != b for a, b in zip(x, y))) for y in B] for x in A]


@pytest.mark.parametrize("method", METHODS)
def test_words_as_outputs(method):
    words = ["tree", "trek", "fret", "tray", "bray", "play", "flay", "flat"]
    X = np.arange(8.0)[:, None]
    model = OutputKernelKNN(1, output_kernel=SimilarityKernel(edits, method))
    assert list(model.fit(X, words).predict(X)) == words
    with pytest.raises(ValueError, match="make_psd"):
        OutputKernelKNN(1, output_kernel=edits).fit(X, words)
    assert clone(model).output_kernel.method == method


@pytest.mark.parametrize(
    "objects", [["a", "b", "a"], [[1], [2], [1]], [{1: 2}, {}, {1: 2}]]
)
def test_shift_knows_equal_objects(objects):
    kernel = SimilarityKernel(lambda A, B: -np.ones((len(A), len(B))), "shift")
    K = kernel.fit(objects).gram(objects)
    same = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    assert_allclose(kernel.shift_, 3.0)
    assert_allclose(K, 3.0 * same - 1.0)
    assert is_psd(K)
    arrays = [np.array(2000 * [i]) for i in (1.0, 2.0, 1.0)]
    arrays[2][1000] = 5.0
    assert_allclose(kernel.fit(arrays).gram(arrays), 3.0 * np.eye(3) - 1.0)
    rows = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]])
    assert_allclose(kernel.fit(rows).gram(rows), K)


def test_what_is_no_similarity_is_refused():
    with pytest.raises(ValueError, match="S .*symmetric"):
        make_psd([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"a column for each of the 2 .* \(1, 3\)"):
        make_psd(np.eye(2), "clip", np.ones((1, 3)))
    with pytest.raises(ValueError, match="'method' parameter of make_psd"):
        make_psd(np.eye(2), "square")
    with pytest.raises(ValueError, match="S .*(?:nan|NaN)"):
        make_psd([[np.nan, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="(?i)nan"):
        make_psd(np.eye(2), "clip", [[np.nan, 1.0]])
    with pytest.raises(ValueError, match="'method' parameter of SimilarityKernel"):
        SimilarityKernel("rbf", "square").fit(np.eye(2))
    with pytest.raises(ValueError, match="similarity matrix .*symmetric"):
        SimilarityKernel(lambda A, B: np.triu(np.ones((len(A), len(B))))).fit([1, 2])
    with pytest.raises(ValueError, match="fitted on objects"):
        SimilarityKernel("rbf").fit()
    with pytest.raises(NotFittedError):
        SimilarityKernel("rbf").gram(np.eye(2))
    assert SimilarityKernel(RBFKernel()).fit(np.eye(2)).check([[1.0]]).shape == (1, 1)


def test_a_kernel_that_is_one_is_not_changed():
    X, new = np.random.default_rng(0).normal(size=(2, 9, 3))
    for kernel in (LinearKernel(), RBFKernel(sigma=2.0)):
        for method in METHODS:
            made = SimilarityKernel(kernel, method).fit(X)
            assert_allclose(made.gram(new, X), kernel.gram(new, X), atol=1e-9)
    given = GramKernel(make_psd(symmetric(0))).fit()
    assert given.gram([0, 1]).shape == (2, 2)
