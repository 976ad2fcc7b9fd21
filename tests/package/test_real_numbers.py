"""Numbers as people have them: any offset and any spread, against exact arithmetic.

A problem is drawn with a spread of 1e-6 to 1e6 and an offset of up to 1e6 spreads; what
the package answers is compared with fractions, which have no rounding.
"""

import os
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.base import BaseEstimator, clone

import okbook as ok
from okbook import core
from okbook.drawing import strongest_links
from okbook.rkhs import choose_threshold
from okbook.rkhs.links import curve_areas

CASES = int(os.environ.get("OKBOOK_CASES", 500))  # more of them: a search by hand
SEEDS = range(CASES // 25)


def draw(seed, n=12, d=2):
    "Points, their spread, and their offset."
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-6, 6)
    offset = spread * rng.choice([-1, 1], d) * 10.0 ** rng.uniform(0, 6, d)
    return rng, offset + spread * rng.random((n, d))


def exact(array):
    "The same numbers as fractions."
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def squares(A, B):
    "Exact squared distances between rows."
    return np.array([[((a - b) ** 2).sum() for b in exact(B)] for a in exact(A)])


@pytest.mark.parametrize("seed", SEEDS)
def test_distances(seed):
    rng, A = draw(seed, 15)
    near = A[:5] + 1e-9 * np.ptp(A, axis=0) * rng.standard_normal((5, 2))
    for a, b in ((A, A), (near, A)):
        found, right = core.rounding.vector_distances(a, b), squares(a, b)
        assert (abs(exact(found) - right) <= right * Fraction(1e-9)).all()
        columns, found = core.rounding.nearest_vectors(
            a, core.rounding.VectorSet.of(b), 3
        )
        right = np.take_along_axis(right, columns, axis=1)
        assert (abs(exact(found) - right) <= right * Fraction(1e-9)).all()
    found = core.rounding.vector_distances(A, A)
    assert_array_equal(found, found.T)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("more", [0, 20])
def test_last_digits_of_rbf_outputs_decide_no_split(seed, more):
    """Outputs on a grid and a far one: whichever way the coordinates are moved, turned
    or ordered, the gains of symmetric splits are ties."""
    rng = np.random.default_rng(seed)
    side, d, step = rng.integers(3, 8), rng.integers(1, 4), rng.uniform(0.1, 1)
    grid = np.stack(np.meshgrid(*[np.arange(side)] * d), -1).reshape(-1, d) * step
    Y = np.r_[grid, np.full((1, d), 10.0 ** rng.uniform(1.5, 4))]
    Y = np.c_[Y, np.zeros((len(Y), more))]
    X = np.arange(len(Y))[:, None]
    sigma = step * rng.choice([1.0, 2.0, 4.0])
    tree = ok.OutputKernelTree("rbf", output_kernel_params={"sigma": sigma})
    first, *others = (clone(tree).fit(X, y).tree_ for y in (Y, Y[:, ::-1], -Y))
    for other in others:
        assert_array_equal(first.feature, other.feature)
        assert_array_equal(first.threshold, other.threshold)


@pytest.mark.parametrize("seed", SEEDS)
def test_rbf(seed):
    _, A = draw(seed)
    sigma = float(np.ptp(A[:, 0]))
    right = squares(A, A) / Fraction(sigma) ** 2
    K = core.RBFKernel(sigma=sigma).gram(A)
    assert_allclose(K, np.exp(-right.astype(float) / 2), rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours(seed):
    rng, A = draw(seed, 30)
    queries = np.r_[A, draw(seed, 5)[1] + 1e-7 * np.ptp(A) * rng.random((5, 2))]
    D = squares(queries, A)
    for k in (1, 4):
        W = ok.OutputKernelKNN(k).fit(A, np.arange(30.0)).weights(queries)
        chosen = W.indices.reshape(-1, k)
        right = [sorted(range(30), key=lambda i: (row[i], i))[:k] for row in D]
        for row, found, best in zip(D, chosen, right):
            farthest = max(row[i] for i in found)
            assert farthest <= max(row[i] for i in best) * Fraction(1 + 1e-9)
    own = ok.OutputKernelKNN(1).fit(A, np.arange(30.0)).predict(A)
    assert_array_equal(own, np.arange(30.0))


def weights(rng, n, q, kind):
    W = rng.random((q, n)) * (rng.random((q, n)) < 0.4)
    W[:, 0] += W.sum(axis=1) == 0
    if kind == "means":
        W /= W.sum(axis=1, keepdims=True)
    return sp.csr_array(W)


class Given(core.OutputKernelMixin, BaseEstimator):
    "A method whose weights are given."

    def __init__(
        self,
        W=None,
        output_kernel="linear",
        output_kernel_params=None,
        candidates="support",
    ):
        self.W = W
        self.output_kernel = output_kernel
        self.output_kernel_params = output_kernel_params
        self.candidates = candidates

    def fit(self, X, y):
        self.n_features_in_ = 1
        self._fit_outputs(y, n_samples=len(y))
        return self

    def weights(self, X):
        return self.W


def distances_to(W, Y, C):
    "Exact squared distances of the predicted points to candidates."
    points = exact(W.toarray()) @ exact(Y)
    return np.array([[((p - c) ** 2).sum() for c in exact(C)] for p in points])


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kind", ["means", "sums"])
@pytest.mark.parametrize("seed", SEEDS)
def test_decoding(seed, kind, dense):
    rng, Y = draw(seed, 20)
    W = weights(rng, 20, 15, kind)
    model = Given(W.toarray() if dense else W).fit(None, Y)
    X, C = np.zeros((15, 1)), Y[:7] + 0.01 * np.ptp(Y, axis=0)
    # what the weights' own rounding may move, far below any digit of the data
    moved = Fraction(float(np.abs(Y).max())) * Fraction(1e-14)
    for candidates in ("support", "train", C):
        among = Y if isinstance(candidates, str) else C
        D = distances_to(W, Y, among)
        if isinstance(candidates, str) and candidates == "support":
            D = np.where(W.toarray() != 0, D, Fraction(10) ** 40)
        chosen = model.decode(X, candidates)
        for row, found in zip(D, chosen):
            least = min(row)
            slack = least * Fraction(2e-9) + moved * Fraction(float(least) ** 0.5)
            assert row[found] <= least + slack
    D = distances_to(W, Y, Y)
    order, scores = model.rank(X, "train", k=5)
    for row, found, score in zip(D, order, scores):
        right = np.array([float(row[i]) for i in found])
        slack = 1e-9 * right + 4 * float(moved) * right**0.5
        assert (np.abs(score + right) <= slack).all()
        assert (np.diff(right) >= -slack[1:]).all()


@pytest.mark.parametrize("kind", ["means", "sums"])
@pytest.mark.parametrize("seed", SEEDS)
def test_losses_and_scores(seed, kind):
    rng, Y = draw(seed, 20)
    W, truth = weights(rng, 20, 9, kind), draw(seed, 9)[1] + 0.3 * np.ptp(Y, axis=0)
    X, model = np.zeros((9, 1)), Given(W).fit(None, Y)
    given = exact(W.toarray())
    if kind == "means":  # as which weights are taken whose sum is one up to rounding
        given = given / given.sum(axis=1, keepdims=True)
    right = ((given @ exact(Y) - exact(truth)) ** 2).sum(axis=1)
    assert_allclose(model.losses(X, truth), right.astype(float), rtol=1e-9)
    assert_allclose(model.loss(X, truth), float(right.mean()), rtol=1e-9)
    centred = exact(truth) - exact(truth).mean(axis=0)
    score = 1 - right.sum() / (centred**2).sum()
    assert_allclose(model.score(X, truth), float(score), rtol=1e-9, atol=1e-9)
    assert_allclose(
        core.output_kernel_loss(truth, Y[:9]),
        float(((exact(truth) - exact(Y[:9])) ** 2).sum(axis=1).mean()),
        rtol=1e-9,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_outputs_are_predicted_exactly(seed):
    rng, Y = draw(seed, 12)
    Y[:] = Y[0]
    W = weights(rng, 12, 30, "means")
    assert_array_equal(Given(W).fit(None, Y).predict(np.zeros((30, 1))), Y[[0] * 30])


def score_vectors():
    "Truth and scores with ties, offsets and extreme scales."
    rng = np.random.default_rng(0)
    for case in range(CASES):
        n = rng.integers(4, 40)
        truth, scores = rng.integers(0, 2, n), rng.standard_normal(n)
        truth[:2] = 0, 1
        scores = np.round(scores, rng.integers(0, 3)) if case % 3 == 0 else scores
        scores = scores * 10.0 ** rng.integers(-300, 300) if case % 2 else scores
        scores = scores + rng.choice([0.0, -1e6, 1.7e9]) if case % 5 else scores
        yield truth, scores


def test_curves_are_those_of_scikit_learn():
    "To the last digit: only the order of the user's own scores counts."
    for truth, scores in score_vectors():
        assert core.roc_auc(truth, scores) == metrics.roc_auc_score(truth, scores)
        areas = (
            metrics.roc_auc_score(truth, scores),
            metrics.average_precision_score(truth, scores),
        )
        assert core.pr_auc(truth, scores) == areas[1]
        assert_allclose(curve_areas(truth > 0, scores), areas, rtol=1e-14)


def test_thresholds_are_between_scores():
    "The best F1 of all thresholds on scikit-learn's curve, with the fewest links."
    for truth, scores in score_vectors():
        called = scores > choose_threshold(truth > 0, scores)
        precision, recall, thresholds = metrics.precision_recall_curve(truth, scores)
        with np.errstate(invalid="ignore"):
            f1 = (2 * precision * recall / (precision + recall))[:-1]
        best = thresholds[f1 > np.nanmax(f1) - 1e-14].max()
        assert_array_equal(called, scores >= best)


def test_whole_numbers_keep_their_digits():
    "Unix nanoseconds exceed 2^53: as floats, scores in one interval of 256 are tied."
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    late = rng.integers(0, 1000, 200) + 60 * truth
    for start in (1_700_000_000_000_000_000, np.uint64(2**63 + 2**62)):
        scores = late.astype(np.asarray(start).dtype) + start
        assert core.roc_auc(truth, scores) == metrics.roc_auc_score(truth, late)
        right = metrics.average_precision_score(truth, late)
        assert core.pr_auc(truth, scores) == right
        assert core.pr_auc(truth.tolist(), scores.tolist()) == right
        called = late > choose_threshold(truth, late)
        assert_array_equal(scores > choose_threshold(truth, scores), called)
    low = 2**62
    assert choose_threshold([0, 1], [low, low + 1]) == low  # no float is between them
    largest = [-1.0e308, -1.2e308, -1.7e308]
    assert choose_threshold([1, 1, 0], largest) == pytest.approx(-1.45e308)


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("method", [ok.KernelCCALinks, ok.MetricLinks])
def test_links_of_nodes_that_are_moved(method, offset):
    """Functions with mean zero know of no offset, if the kernel does not. A polynomial
    kernel does; far away it is a linear one, and its noise has no functions."""
    rng = np.random.default_rng(0)
    X, queries = rng.integers(0, 1024, (40, 3)) / 1024, rng.random((5, 3))
    queries = np.round(1024 * queries) / 1024
    D = squares(X[:30], X[:30]).astype(float)
    A = (D < np.quantile(D, 0.15)) & ~np.eye(30, dtype=bool)
    model = method("linear", threshold=-1.0)
    here, there = (
        clone(model).fit(X + move, A, labelled=np.arange(30)) for move in (0.0, offset)
    )
    right = here.score_pairs(queries, X)
    assert_allclose(there.score_pairs(), here.score_pairs(), atol=1e-12)
    found = there.score_pairs(queries + offset, X + offset)
    assert_allclose(found, right, atol=1e-12)
    single = (np.float32(X[:30] + 8.0), np.float32(queries + 8.0))
    found = clone(model).fit(single[0], A).score_pairs(single[1], single[0])
    assert_allclose(found, right[:, :30], atol=1e-3)
    model.set_params(input_kernel="polynomial", input_kernel_params={"degree": 2})
    model.fit(X + offset, A, labelled=np.arange(30))
    assert model.coef_.shape == (30, 3)
    assert np.abs(model.score_pairs(queries + offset, X + offset)).max() < 10.0


def test_the_best_pairs_are_sorted_exactly():
    "Of equals the first; neither an offset nor a scale makes two different ones equal."
    for case, (_, scores) in enumerate(score_vectors()):
        m = int((1 + np.sqrt(1 + 8 * len(scores))) / 2)
        pairs = np.argwhere(np.triu(np.ones((m, m)), 1))
        given = scores[: len(pairs)]
        A = np.zeros((m, m))
        A[tuple(pairs.T)] = A[tuple(pairs[:, ::-1].T)] = given
        right = sorted(range(len(pairs)), key=lambda i: -Fraction(float(given[i])))
        k = case % len(pairs) + 1
        assert_array_equal(strongest_links(A, A == A, k), pairs[right[:k]])


@pytest.mark.parametrize(
    "estimator",
    [
        ok.OutputKernelTree(random_state=0),
        ok.OutputKernelRandomForest(n_estimators=5, random_state=0),
        ok.OutputKernelExtraTrees(n_estimators=5, random_state=0),
        ok.OutputKernelBoosting(n_estimators=5, random_state=0),
        ok.OutputKernelKNN(3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_inputs_and_outputs_that_are_moved(estimator):
    """Numbers of 20 binary digits, moved by a million of their units: each operation on
    them is exact, so that only what the method does with them can lose digits."""
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 1024, (60, 3)) / 1024, rng.integers(0, 1024, (60, 2)) / 1024
    queries = rng.integers(0, 1024, (20, 3)) / 1024
    one = clone(estimator).fit(X, Y)
    for scale in (2.0**-20, 1.0, 2.0**20):
        moved = (queries + 2.0**20) * scale
        other = clone(estimator).fit((X + 2.0**20) * scale, (Y + 2.0**20) * scale)
        assert_allclose(
            other.predict(moved) / scale - 2.0**20, one.predict(queries), atol=1e-8
        )
        assert_array_equal(other.decode(moved, "train"), one.decode(queries, "train"))


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_ridge_on_inputs_that_are_moved(scale):
    rng = np.random.default_rng(0)
    X, queries = rng.integers(0, 1024, (60, 3)) / 1024, rng.random((20, 3))
    model = ok.OutputKernelRidge(
        lam=0.1, input_kernel="rbf", input_kernel_params={"sigma": scale}
    ).fit((X + 2.0**20) * scale, rng.random((60, 2)))
    moved = (queries + 2.0**20) * scale

    def kernel(A):
        return np.exp(-0.5 * squares(A, (X + 2.0**20) * scale).astype(float) / scale**2)

    K = kernel((X + 2.0**20) * scale)
    right = np.linalg.solve(K + 0.1 * np.eye(60), kernel(moved).T).T
    assert_allclose(model.weights(moved), right, atol=1e-9)


def rbf(method, **params):
    "A method whose weights are of either sign and do not sum to one."
    return method(input_kernel="rbf", input_kernel_params={"sigma": 0.5}, **params)


WITH_TABLES = [
    ok.OutputKernelTree(max_depth=3),
    ok.OutputKernelBagging(n_estimators=5, random_state=0),
    ok.OutputKernelRandomForest(n_estimators=5, random_state=0),
    ok.OutputKernelExtraTrees(n_estimators=5, random_state=0),
    ok.OutputKernelBoosting(n_estimators=5, random_state=0),
    rbf(ok.OutputKernelRidge, lam=1e-6),
    rbf(ok.OutputKernelRidge, lam=1e-6, center=True),
    rbf(ok.OutputKernelRidgeCV, lam_grid=[1e-6]),
    rbf(ok.CovarianceRidge, lam=1e-6),
    rbf(ok.KernelDependencyEstimation, lam=1e-6),
    rbf(ok.SemiSupervisedOutputKernelRidge, lam=1e-6),
]


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("scale", [1e-100, 1e-15, 1e-12, 1.0, 1e6])
@pytest.mark.parametrize("estimator", WITH_TABLES, ids=str)
def test_tables_of_contributions(estimator, scale, offset):
    """What is computed from tables agrees with the method's own predictions, for
    outputs of any unit, and for a mean of a thousand spreads."""
    rng = np.random.default_rng(0)
    X, queries = rng.random((60, 2)), rng.random((40, 2))
    t, truth = scale * (offset + rng.standard_normal((2, 60)))
    truth = truth[:40]
    model = clone(estimator).fit(X, t)
    predicted = model.predict(queries).ravel()
    right = (predicted - truth) ** 2
    assert_allclose(
        model.losses(queries, truth), right, rtol=1e-5, atol=1e-5 * right.mean()
    )
    r2 = 1 - right.sum() / ((truth - truth.mean()) ** 2).sum()
    assert_allclose(model.score(queries, truth), r2, rtol=1e-5)
    D = np.abs(np.subtract.outer(predicted, t))
    nearest = D.argmin(axis=1)
    assert_array_equal(model.decode(queries, "train"), nearest)
    assert_array_equal(model.decode(queries, t), nearest)
    assert_array_equal(model.predict(queries, t).ravel(), t[nearest])
    order, scores = model.rank(queries, "train", k=3)
    assert_array_equal(order, np.argsort(D, axis=1)[:, :3])
    right = np.sort(D, axis=1)[:, :3] ** 2
    assert_allclose(-scores, right, rtol=1e-4, atol=1e-5 * scale**2)


@pytest.mark.parametrize("far", [1e4, 1e5])
def test_a_far_candidate_makes_no_ties(far):
    "The rounding of one candidate's number says nothing of two others."
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 2)), rng.random((60, 2))
    Y[-1] = far
    K = (Y @ Y.T + 1) ** 3
    own, diag = np.arange(60), K.diagonal()
    for W in (np.eye(60), sp.eye_array(60, format="csr")):
        for support in (False, True):
            assert_array_equal(core.decode_weights(W, K, diag, support), own)
        assert_array_equal(core.decode_weights(W, K[:, ::-1], diag[::-1]), own[::-1])
    params = {"degree": 3, "gamma": 1.0, "coef0": 1.0}
    for estimator in (
        ok.OutputKernelTree(),
        ok.OutputKernelRandomForest(n_estimators=5, random_state=0),
        ok.OutputKernelKNN(3),
        ok.OutputKernelBagging(n_estimators=5, random_state=0),
        rbf(ok.OutputKernelRidge, lam=1e-3),
        ok.OutputKernelBoosting(n_estimators=5, random_state=0),
    ):
        model = clone(estimator).set_params(
            output_kernel="polynomial", output_kernel_params=params
        )
        W = model.fit(X, Y).weights(X[:15])
        W = exact(W.toarray() if sp.issparse(W) else W)
        D = exact(diag) - 2 * W @ exact(K)
        sure = [i for i, row in enumerate(D) if gap(row) > 1e-9]
        assert len(sure) > 10
        right = D[sure].argmin(axis=1)
        for candidates in ("train", Y):
            chosen = model.decode(X[:15], candidates)
            assert_array_equal(chosen[sure], right)
            chosen = model.rank(X[:15], candidates, k=1)[0].ravel()
            assert_array_equal(chosen[sure], right)


def gap(row):
    "How much more than the least number the second is, to the size of both."
    least, second = sorted(row)[:2]
    return (second - least) / (abs(least) + abs(second))


def exact_kernel(kernel, a, b, d):
    "A value of a kernel in decimal arithmetic."
    ab, aa, bb = ((x * y).sum() for x, y in ((a, b), (a, a), (b, b)))
    if isinstance(kernel, core.LinearKernel):
        return ab
    if isinstance(kernel, core.PolynomialKernel):
        return (ab / d + Decimal(kernel.coef0)) ** kernel.degree
    if isinstance(kernel, core.TanimotoKernel):
        return ab / (aa + bb - ab)
    return (-(aa + bb - 2 * ab) * Decimal(1.0 / d)).exp()


@pytest.mark.parametrize("d", [1, 16, 17, 300])
@pytest.mark.parametrize(
    "kernel",
    [
        core.LinearKernel(),
        core.PolynomialKernel(degree=1),
        core.PolynomialKernel(degree=4),
        core.TanimotoKernel(),
        core.RBFKernel(),
    ],
    ids=str,
)
def test_operations_of_a_value(kernel, d):
    """The rounding of a value is within what the kernel says, for vectors whose sums
    lose as much as they can: one coordinate is large, and comes first or last."""
    rng = np.random.default_rng(d)
    Y = rng.standard_normal((12, d)) * 10.0 ** rng.uniform(-3, 1, (12, 1))
    Y[:4] = 10.0 ** rng.uniform(-3, 0, (4, 1))
    Y[[0, 1], 0] = Y[[2, 3], -1] = 1.0
    with localcontext() as context:
        context.prec = 60
        A = np.vectorize(Decimal, otypes=[object])(Y)
        right = np.array([[exact_kernel(kernel, a, b, d) for b in A] for a in A])
        found = np.vectorize(Decimal, otypes=[object])(kernel.gram(Y))
        error = abs(found - right).astype(float)
        own = np.abs(right.diagonal().astype(float))
    bound = core.rounding.sum_rounding(kernel.n_terms(Y), np.sqrt(np.outer(own, own)))
    assert (error <= bound).all()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(
    "d, rest", [(784, 0.01), (784, 0.03), (784, 0.001), (2000, 0.003), (3000, 0.003)]
)
def test_the_order_of_columns_decides_nothing(d, rest, mirrored):
    "Two vectors are as far from zero as each other: the first is found."
    u = np.full(d, rest)
    u[0] = 1.0
    width = {"sigma": float(np.sqrt(u @ u / 2.0))}
    far = np.full(d, 100.0)
    Z, zero = np.array([u, u[::-1], far, -far]), np.zeros((1, d))
    if mirrored:
        Z = Z[:, ::-1]
    model = ok.OutputKernelKNN(1, input_kernel="rbf", input_kernel_params=width)
    assert model.fit(Z, [0.0, 1.0, 2.0, 3.0]).predict(zero) == 0.0
    model = ok.OutputKernelKNN(1, output_kernel="rbf", output_kernel_params=width)
    model.fit([[0.0], [9.0]], np.vstack([zero, far]))
    assert_array_equal(model.decode([[0.0]], Z), [0])
    order, _ = model.rank([[0.0]], Z, k=2)
    assert_array_equal(order, [[0, 1]])


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_directions_of_outputs_that_are_moved(offset):
    "Centred maximum margin regression knows the outputs from their mean alone."
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 3)), rng.integers(0, 1024, (40, 2)) / 1024
    one, other = (
        ok.rkhs.MaximumMarginRegression(
            C=10.0, tol=1e-9, max_iter=10**6, output_kernel="linear"
        ).fit(X, Y + move)
        for move in (0.0, 2.0 ** np.round(np.log2(offset)))
    )
    assert_allclose(other.primal_, one.primal_, rtol=1e-8)
    assert_allclose(other.lengths_, one.lengths_, rtol=1e-6)
    weights = one.weights(X)
    assert_allclose(other.weights(X), weights, atol=1e-3 * np.abs(weights).max())
