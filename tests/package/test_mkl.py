"""Oracles of the theory of okbook.mkl: pairs, regularisers, duality; and every
message."""

import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, nnls
from sklearn.datasets import make_blobs

from okbook.core import RBFKernel, alignment, center_gram, centered_alignment, is_psd
from okbook.mkl import (
    PairProblem,
    Regularizer,
    lam_max,
    make_regularizer,
    pair_labels,
    solve_cvxpy,
    solve_newton,
    standardize_gram,
)
from okbook.mkl.duality import dual_value, duality_gap, optimality_conditions
from okbook.mkl.pairs import (
    _moments,
    _pack_upper,
    _Part,
    gram_moments,
    nonnegative_quadratic,
    pair_correlations,
)

TERMS = ["l2", "l1", "l2-corr", "l1-corr", "sparse-corr"]


def sample(n=30, p=6, classes=3, seed=0):
    """Centred and scaled Gram matrices of single features of blobs, and the classes;
    some features are noise."""
    X, y = make_blobs(n, p, centers=classes, cluster_std=3.0, random_state=seed)
    X[:, p // 2 :] = np.random.default_rng(seed).normal(size=(n, p - p // 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.array(
        [standardize_gram(RBFKernel(sigma=1.0).gram(X[:, m])) for m in range(p)]
    ), y


@pytest.fixture(scope="module")
def data():
    return sample()


def root(Q):
    values, vectors = np.linalg.eigh(Q)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


# Pairs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 2, 6, 37])
def test_pairs_by_brute_force(p, dtype, monkeypatch):
    monkeypatch.setattr("okbook.core.scale._THREAD_ENTRIES", 0)
    rng = np.random.default_rng(p)
    kernels = np.array([B @ B.T for B in rng.normal(size=(p, 9, 4))]).astype(dtype)
    kernels = 0.5 * (kernels + kernels.transpose(0, 2, 1))
    y = np.array(list("abcabcabc"))
    problem = PairProblem(kernels, y, n_jobs=2)
    pairs = list(itertools.combinations_with_replacement(range(9), 2))
    assert_array_equal(
        problem.Z,
        np.array([[K[i, j] for K in kernels] for i, j in pairs], dtype=np.float32),
    )
    assert_array_equal(problem.t, [1.0 if y[i] == y[j] else -1.0 for i, j in pairs])
    assert_array_equal(problem.t, pair_labels(y))
    assert (
        problem.Z.flags.c_contiguous
        and problem.Z.dtype == problem.t.dtype == problem.w.dtype == np.float32
    )
    mu = rng.random(p)
    hinges = [
        max(0.0, 1 - t * mu @ z)
        for t, z in zip(problem.t.astype(float), problem.Z.astype(float))
    ]
    assert_allclose(
        problem.loss(mu), np.mean(hinges), rtol=1e-6
    )  # eq-mkl-1: one over n (n + 1) / 2
    assert len(hinges) == 9 * 10 // 2


def test_sources_of_kernels(data, monkeypatch):
    monkeypatch.setattr("okbook.core.scale._THREAD_ENTRIES", 0)
    grams, y = data
    whole = PairProblem(grams, y)
    for kernels in (list(grams), iter(grams), (K.T for K in grams), grams.tolist()):
        problem = PairProblem(kernels, y, n_kernels=len(grams), n_jobs=2)
        assert_array_equal(problem.Z, whole.Z)
        assert_allclose(problem.correlations_, whole.correlations_)
    assert_allclose(PairProblem(grams, y, check_psd=False).Z, whole.Z)


def test_order_of_kernels_and_of_examples(data):
    grams, y = data
    order, rows = (
        np.random.default_rng(0).permutation(len(grams)),
        np.random.default_rng(1).permutation(len(y)),
    )
    first = PairProblem(grams, y)
    other = PairProblem(grams[order][:, rows][:, :, rows], y[rows])
    mu = np.linspace(0.1, 1, len(grams))
    assert_allclose(other.loss(mu[order]), first.loss(mu), rtol=1e-6)
    assert_allclose(other.correlations_, first.correlations_[np.ix_(order, order)])
    for name in TERMS:
        a, b = (
            make_regularizer(name, problem.correlations_) for problem in (first, other)
        )
        assert_allclose(b.value(mu[order]), a.value(mu))
        weights = solve_cvxpy(first, a, 0.1).mu
        assert_allclose(solve_cvxpy(other, b, 0.1).mu, weights[order], atol=2e-3)


def test_pair_weights_and_resampling(data):
    grams, y = data
    balanced = PairProblem(grams, y, pair_weight="balanced")
    same = balanced.t > 0
    assert_allclose([balanced.w[same].sum(), balanced.w[~same].sum()], 0.5, rtol=1e-6)
    for n_pairs in (2, 7, 100, 2000):  # the last one needs replacement
        problem = PairProblem(grams, y, n_pairs=n_pairs, random_state=3)
        assert problem.n_pairs == len(problem.Z) == len(problem.t) == n_pairs
        assert problem.t.sum() == n_pairs % 2
        assert_array_equal(problem.Z, balanced.Z[problem.pairs])
        assert_allclose(problem.correlations_, balanced.correlations_)
        assert_array_equal(
            problem.pairs, PairProblem(grams, y, n_pairs=n_pairs, random_state=3).pairs
        )
    drawn = PairProblem(grams, y, n_pairs=100, random_state=3).pairs
    assert len(set(drawn)) == 100  # without replacement while they last


def test_memory_is_one_and_a_half_times_the_pairs():
    n, p = 500, 40
    y = np.arange(n) % 3
    X = np.random.default_rng(0).normal(size=(n, 5)).astype(np.float32)
    PairProblem([np.eye(4)], [0, 0, 1, 1])  # compile
    K = (X @ X.T).astype(np.float32)
    K = 0.5 * (K + K.T)
    tracemalloc.start()
    problem = PairProblem((K for _ in range(p)), y, n_kernels=p, check_psd=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.5 * problem.Z.nbytes
    assert problem.Z.nbytes == 4 * p * n * (n + 1) // 2


def test_standardised():
    rng = np.random.default_rng(0)
    train, new = rng.normal(size=(20, 3)) + 5, rng.normal(size=(7, 3)) + 5
    K, cross = train @ train.T, new @ train.T
    moments = gram_moments(K)
    centred = train - train.mean(axis=0)
    size = np.mean((centred**2).sum(axis=1))
    assert_allclose(moments[1], size)
    assert_allclose(standardize_gram(K), center_gram(K) / size)
    assert_allclose(standardize_gram(K, moments), standardize_gram(K))
    assert_allclose(
        standardize_gram(cross, moments), (new - train.mean(axis=0)) @ centred.T / size
    )
    assert_allclose(
        standardize_gram(cross, gram_moments(K, center=False, scale=False)), cross
    )
    assert_allclose(
        standardize_gram(cross, gram_moments(K, center=False)), cross / np.trace(K) * 20
    )
    assert_allclose(
        standardize_gram(cross, gram_moments(K, scale=False)),
        (new - train.mean(axis=0)) @ centred.T,
        atol=1e-12,
    )
    assert standardize_gram(K.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="all training examples the same point"):
        gram_moments(np.full((4, 4), 3.0))
    for dtype in (">f8", ">f4", "f2", "i4", "O"):
        means, size = gram_moments(np.diag([1.0, 3.0]).astype(dtype))
        assert means.tolist() == [0.5, 1.5] and size == 1.0
    for wrong in (K[:, :4], cross):
        with pytest.raises(ValueError, match="K must be square: got shape"):
            standardize_gram(wrong)
    with pytest.raises(ValueError, match="2D array"):
        gram_moments(np.ones(5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "columns", "stack", "frozen"])
def test_a_part_is_standardised_where_it_is(layout, dtype):
    """What is read of a larger matrix is what a copy of the part would give."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) + 3
    K = (X @ X.T).astype(dtype, order="F" if layout == "columns" else "C")
    K.flags.writeable = layout != "frozen"
    if layout == "stack":
        K = np.stack([-K, K], axis=1)[:, 1]
    order = rng.permutation(30)  # a splitter need not sort
    train, held = order[:17], order[17:]
    square, across = _Part(K, train, train), _Part(K, held, train)
    assert square.shape == (17, 17) and across.shape == (13, 17)
    copy = K[np.ix_(train, train)]
    assert_array_equal(square.diagonal(), copy.diagonal())
    for options in ({}, {"center": False}, {"scale": False}):
        wanted = {"center": True, "scale": True} | options
        means, size = moments = _moments(square, **wanted)
        for one, other in zip(moments, gram_moments(copy, **options)):
            assert_array_equal(one, other)
        for part, rows in ((square, train), (across, held)):
            numbers = K[np.ix_(rows, train)].astype(np.float64)
            shift = numbers.mean(axis=1, keepdims=True) if means.any() else 0.0
            expected = (numbers - shift - means + means.mean()) / size
            for precision, digits in ((np.float32, 1e-6), (np.float64, 1e-13)):
                found = part.standardized(means, size, precision)
                assert found.dtype == precision
                assert_allclose(found, expected, rtol=0, atol=digits * np.ptp(numbers))
            if dtype == np.float64:
                assert_array_equal(
                    standardize_gram(K[np.ix_(rows, train)], moments), found
                )


def test_only_matrices_at_hand_are_read_ahead():
    """A generator may hand out the same array again and again."""
    rng, y = np.random.default_rng(0), np.arange(600) % 2
    vectors = rng.normal(size=(9, 600)).astype(np.float32)

    def reusing():
        K = np.empty((600, 600), np.float32)
        for x in vectors:
            yield np.multiply.outer(x, x, out=K)

    options = {"n_kernels": 9, "check_psd": False}
    alone = PairProblem(reusing(), y, **options)
    shared = PairProblem(reusing(), y, n_jobs=2, **options)
    at_hand = [np.outer(x, x) for x in vectors]
    listed = PairProblem(at_hand, y, n_jobs=2, **options)
    for other in (shared, listed):
        assert_array_equal(other.Z, alone.Z)
    for n_kernels in (8, 10):
        with pytest.raises(ValueError, match=f"n_kernels={n_kernels}"):
            PairProblem(reusing(), y, **options | {"n_kernels": n_kernels})


@pytest.mark.parametrize("n", [1, 15, 16, 17, 64, 82])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_entry_is_compared_with_the_transpose(n, dtype):
    """Strips of sixteen rows and sixty-four columns, and what is left of either: each
    entry in its turn is the only one that differs."""
    K = np.random.default_rng(n).normal(size=(n, n)).astype(dtype)
    K += K.T
    out = np.empty(n * (n + 1) // 2, np.float32)
    assert not _pack_upper(K, 0.0, out)
    assert_array_equal(out, K[np.triu_indices(n)].astype(np.float32))
    for i, j in np.ndindex(n, n):
        kept = K[i, j]
        K[i, j] += 1.0
        assert _pack_upper(K, 0.5, out) == (i != j)
        assert not _pack_upper(K, 1.5, out)
        for value in (np.nan, np.inf, -np.inf):
            K[i, j] = value
            assert _pack_upper(K, 1.5, out)
        K[i, j] = kept


@pytest.mark.parametrize("p", [1, 5, 63, 64, 69])
def test_columns_of_the_pairs_are_the_triangles(p, monkeypatch):
    """Groups of sixteen kernels, smaller groups and what is left of them."""
    monkeypatch.setattr("okbook.core.scale._THREAD_ENTRIES", 0)
    n, rng = 18, np.random.default_rng(p)
    rows, columns = np.triu_indices(n)
    grams = [B @ B.T for B in rng.normal(size=(p, n, n))]
    expected = np.column_stack([K[rows, columns] for K in grams]).astype(np.float32)
    for n_jobs in (1, 2):
        problem = PairProblem(grams, np.arange(n) % 3, n_jobs=n_jobs)
        assert_array_equal(problem.Z, expected)


def test_one_reading_sees_what_check_gram_sees():
    """What one reading does not find symmetric, check_gram refuses or accepts."""
    n = 150
    y, rng = np.arange(n) % 3, np.random.default_rng(0)
    K = RBFKernel(sigma=2.0).gram(rng.normal(size=(n, 4)))
    Z = PairProblem([K], y, check_psd=False).Z
    assert_array_equal(Z[:, 0], K[np.triu_indices(n)].astype(np.float32))
    for dtype in (np.float32, np.float64):
        for i, j in rng.integers(n, size=(20, 2)):
            if i == j:
                continue
            for value, message in {
                np.nan: "(?i)nan|inf",
                np.inf: "(?i)nan|inf",
                K[i, j] + 1e-3: "symmetric",
            }.items():
                bad = K.astype(dtype)
                bad[i, j] = value
                with pytest.raises(ValueError, match=message):
                    PairProblem([bad], y, check_psd=False)
            nearly = K.astype(dtype)
            nearly[i, j] += 1e-6
            PairProblem([nearly], y, check_psd=False)
        both = K.astype(dtype)
        both[3, 5] = both[5, 3] = both[140, 140] = np.inf
        with pytest.raises(ValueError, match="(?i)nan|inf"):
            PairProblem([both], y, check_psd=False)
    for same in (K.tolist(), np.asfortranarray(K), K[:, ::-1][:, ::-1]):
        assert_array_equal(PairProblem([same], y, check_psd=False).Z, Z)
    empty_row = np.zeros((n, n))
    empty_row[1, 1] = 1.0  # not zero, although its first row is
    PairProblem([empty_row], y, check_psd=False)
    with pytest.raises(ValueError, match="is zero"):
        PairProblem([np.zeros((n, n))], y, check_psd=False)


def test_correlations_are_alignments(data):
    grams, y = data
    upper = np.triu_indices(len(y))
    Q = pair_correlations(grams[:, *upper].T, len(y))
    assert_allclose(Q, [[alignment(K, L) for L in grams] for K in grams], atol=1e-12)
    assert_allclose(
        Q, [[centered_alignment(K, L) for L in grams] for K in grams], atol=1e-12
    )  # eq-pairs-q
    assert_allclose(PairProblem(grams, y).correlations_, Q, atol=1e-6)
    assert is_psd(Q) and Q.min() >= 0 and Q.max() == 1 and (Q.diagonal() == 1).all()
    scaled = grams * np.arange(1, 7)[:, None, None]
    assert_allclose(pair_correlations(scaled[:, *upper].T, len(y)), Q, atol=1e-12)
    with pytest.raises(ValueError, match="Kernel 1 is zero"):
        pair_correlations(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), 2)


# Regularisers


def test_the_four_terms():
    "The four terms of eq-mkl-1, from their definitions."
    Q = PairProblem(*sample()).correlations_
    mu = np.random.default_rng(0).random(6)
    expected = {
        "l2": mu @ mu,
        "l1": mu.sum(),
        "l2-corr": mu @ Q @ mu,
        "l1-corr": mu @ root(Q) @ np.ones(6),
        "sparse-corr": 0.5 * mu.sum() + 0.5 * mu @ Q @ mu,
    }
    for name, value in expected.items():
        term = make_regularizer(name, Q)
        assert_allclose(term.value(mu), value)
        steps = [
            (term.value(mu + h) - term.value(mu - h)) / 2e-6 for h in 1e-6 * np.eye(6)
        ]
        assert_allclose(term.gradient(mu), steps, rtol=1e-6)
    assert_allclose(
        make_regularizer("sparse-corr", Q, rho=0.2).value(mu),
        0.2 * mu.sum() + 0.8 * mu @ Q @ mu,
    )
    assert make_regularizer("l1", 6).value(mu) == make_regularizer("l1", Q).value(mu)


@pytest.mark.parametrize("p", [1, 3, 10])
def test_limits(p):
    mu, ones = np.random.default_rng(p).random(p), np.ones((p, p))
    assert_allclose(
        make_regularizer("l2-corr", np.eye(p)).value(mu),
        make_regularizer("l2", p).value(mu),
    )
    assert_allclose(
        make_regularizer("l1-corr", np.eye(p)).value(mu),
        make_regularizer("l1", p).value(mu),
    )
    assert_allclose(
        make_regularizer("l2-corr", ones).value(mu),
        make_regularizer("l1", p).value(mu) ** 2,
    )
    assert_allclose(
        make_regularizer("l1-corr", ones).value(mu),
        np.sqrt(p) * make_regularizer("l1", p).value(mu),
    )


@pytest.mark.parametrize("lam", [0.01, 0.1, 0.6])
def test_square_of_l1_has_the_same_path(data, lam):
    problem = PairProblem(*data)
    squared, plain = (
        Regularizer(np.zeros(6), np.ones((6, 6))),
        make_regularizer("l1", 6),
    )
    one = solve_cvxpy(problem, squared, lam)
    budget = one.mu.sum()
    other = solve_cvxpy(problem, plain, 2 * lam * budget)  # thm-pairs-path
    assert_allclose(
        problem.objective(one.mu, plain, 2 * lam * budget), other.objective, rtol=1e-6
    )
    back = lam * budget / other.mu.sum()
    assert_allclose(
        problem.objective(other.mu, squared, back),
        solve_cvxpy(problem, squared, back).objective,
        rtol=1e-6,
    )


def test_latent_variables_may_be_negative():
    "The erratum: 1' sqrt(Q) mu is no norm of sqrt(Q) mu."
    Q = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    latent = root(Q)[:, 0]
    r = np.sqrt(0.5)
    assert_allclose(latent[2], 0.5 * (0.5 * (np.sqrt(1 + r) + np.sqrt(1 - r)) - 1))
    assert latent[2] < 0 < latent.sum() < np.abs(latent).sum()


def test_negative_coefficient_is_refused():
    b = np.r_[np.full(3, np.sqrt(0.91 / 3)), 0.3]
    F = np.vstack(
        [np.repeat(np.eye(4)[:3], 50, axis=0), np.tile(b, (20, 1)), np.eye(4)[3:]]
    )
    assert root(F @ F.T).sum(axis=0)[-1] < -0.3
    with pytest.raises(ValueError, match="Kernel 170 has the linear coefficient -0.3"):
        make_regularizer("l1-corr", F @ F.T)
    make_regularizer("l2-corr", F @ F.T)  # has no such trouble


@pytest.mark.parametrize("p", [1, 2, 5, 15])
def test_nonnegative_quadratic(p):
    rng = np.random.default_rng(p)
    for rank in (1, p // 2 + 1, p, 2 * p):
        B, b = rng.random((rank, p)), rng.normal(size=rank)
        A, u = B.T @ B, B.T @ b
        value = lambda x, A=A, u=u: 0.5 * x @ A @ x - u @ x
        assert_allclose(
            value(nonnegative_quadratic(A, u)), value(nnls(B, b)[0]), atol=1e-9
        )
        u = rng.normal(size=p)  # not in the range of A
        x = nonnegative_quadratic(A, u)
        assert (
            x.min() >= 0 and (u - A @ x).max() <= 1e-7 and abs(x @ (u - A @ x)) <= 1e-6
        )
        again = nonnegative_quadratic(A, u, start=rng.random(p))
        assert_allclose(value(again, A, u), value(x, A, u), atol=1e-7)
    twins = nonnegative_quadratic(np.ones((2, 2)), np.array([1.0, 2.0]))
    assert_allclose(twins, [0, 2])
    with pytest.raises(ValueError, match=r"no finite minimum: A\[1, 1\] is 0"):
        nonnegative_quadratic(np.diag([1.0, 0.0]), np.ones(2))  # and does not hang
    flat = nonnegative_quadratic(np.zeros((1, 1)), np.array([-1.0]), start=np.ones(1))
    assert_allclose(flat, 0)


# Duality


@pytest.mark.parametrize("pair_weight", [None, "balanced"])
@pytest.mark.parametrize("lam", [0.003, 0.1, 1.0])
@pytest.mark.parametrize("name", TERMS)
def test_strong_duality_and_conditions(data, name, lam, pair_weight):
    problem = PairProblem(*data, pair_weight=pair_weight)
    term = make_regularizer(name, problem.correlations_)
    solved = solve_cvxpy(problem, term, lam)
    assert abs(solved.gap) <= 2e-5  # thm-pairs-dual
    margins, w, a = problem.margins(solved.mu).astype(float), problem.w, solved.a
    assert_allclose(a[margins < 1 - 1e-3], w[margins < 1 - 1e-3], rtol=1e-3)
    assert_allclose(a[margins > 1 + 1e-3], 0, atol=1e-3 * w.max())
    why = optimality_conditions(problem, term, lam, solved.mu, a)  # eq-pairs-kkt
    on = solved.mu > 1e-3
    assert (why.adjoint <= why.threshold + 1e-5).all()
    assert_allclose(why.adjoint[on], why.threshold[on], rtol=1e-3)
    assert_array_equal(why.selected, solved.mu > 0)


@pytest.mark.parametrize("name", TERMS)
def test_weak_duality(data, name):
    problem = PairProblem(*data)
    term = make_regularizer(name, problem.correlations_)
    rng = np.random.default_rng(0)
    for lam in (1e-3, 0.05, 2.0):
        least = solve_cvxpy(problem, term, lam).objective
        for _ in range(10):
            a, mu = (
                problem.w * rng.random(problem.n_pairs) ** 3,
                rng.random(6) * (rng.random(6) < 0.6),
            )
            assert dual_value(problem, term, lam, a) <= least + 1e-6
            assert (
                duality_gap(problem, term, lam, mu)
                >= problem.objective(mu, term, lam) - least - 1e-6
            )
        assert_allclose(
            dual_value(problem, term, lam, 5 + problem.w),
            dual_value(problem, term, lam, problem.w),
        )


def test_dual_of_l1_is_a_linear_program(data):
    """The greatest sum of dual variables whose adjoint exceeds no threshold:
    eq-pairs-duals."""
    problem = PairProblem(*data)
    for name in ("l1", "l1-corr"):
        term = make_regularizer(name, problem.correlations_)
        solved = solve_cvxpy(problem, term, 0.1)
        adjoint = (problem.Z * problem.t[:, None]).T.astype(float)
        box = [(0, w) for w in problem.w.astype(float)]
        program = linprog(
            -np.ones(problem.n_pairs), A_ub=adjoint, b_ub=0.05 * term.linear, bounds=box
        )
        assert_allclose(-program.fun, solved.objective, rtol=1e-6)


def test_conjugate_is_the_supremum(data):
    Q = PairProblem(*data).correlations_
    rng = np.random.default_rng(0)
    for name in TERMS:
        term = make_regularizer(name, Q)
        v = 0.3 * rng.normal(size=6)
        v *= term.scale_dual(v, 0.2)
        value, mu = term.conjugate(v, 0.2)
        tried = [
            v @ x - 0.1 * term.value(x)
            for x in rng.exponential(size=(200, 6)) * rng.random((200, 1))
        ]
        assert value >= max(0, *tried) - 1e-12
        assert_allclose(v @ mu - 0.1 * term.value(mu), value, atol=1e-12)
    assert make_regularizer("l1", 6).conjugate(np.ones(6), 1.0)[0] == np.inf
    scale = make_regularizer("l1", 6).scale_dual(np.full(6, 2.0), 1.0)
    assert 0.25 * (1 - 1e-14) < scale < 0.25  # what is scaled is feasible
    mixed = Regularizer([1.0, 0.0], np.diag([0.0, 1.0]))
    value = mixed.dual_value(1.0, np.array([1.0, 2.0]), 1.0)
    assert_allclose(value, 0.5 - 0.5, atol=1e-12)


@pytest.mark.parametrize("pair_weight", [None, "balanced"])
@pytest.mark.parametrize("name", ["l1", "l1-corr", "sparse-corr"])
def test_lam_max(data, name, pair_weight):
    problem = PairProblem(*data, pair_weight=pair_weight)
    term = make_regularizer(name, problem.correlations_)
    top = lam_max(problem, term)
    zero = np.zeros(6)
    assert (
        duality_gap(problem, term, 1.0001 * top, zero) <= 1e-6
    )  # certified, without a solver: prop-pairs-lammax
    assert duality_gap(problem, term, 0.9 * top, zero) > 1e-3
    assert not solve_cvxpy(problem, term, 1.01 * top).mu.any()
    assert solve_cvxpy(problem, term, 0.98 * top).mu.any()


def test_lam_max_of_curved_terms(data):
    grams, y = data
    problem = PairProblem(grams, y)
    assert (
        problem.adjoint(problem.w).min() > 0
    )  # centred kernels, equal weights: prop-pairs-lammax
    for name in ("l2", "l2-corr"):
        term = make_regularizer(name, problem.correlations_)
        assert lam_max(problem, term) == np.inf
        assert solve_cvxpy(problem, term, 1e3).mu.max() > 0
    constant = PairProblem(
        np.ones((2, 30, 30)), y
    )  # pairs of different classes outweigh those of one
    assert constant.adjoint(constant.w).max() < 0
    for name in ("l2", "l1"):
        term = make_regularizer(name, 2)
        assert lam_max(constant, term) == 0
        assert not solve_cvxpy(constant, term, 0.01).mu.any()


def test_kernels_without_negative_values_cannot_win():
    X, y = make_blobs(24, 2, centers=2, cluster_std=0.1, random_state=0)
    kernels = [RBFKernel(sigma=s).gram(X) for s in (0.5, 1.0, 3.0)]
    problem = PairProblem(kernels, y)
    floor = problem.w[problem.t < 0].sum()
    for mu in np.random.default_rng(0).exponential(size=(20, 3)):
        assert problem.loss(mu) >= floor - 1e-6  # prop-pairs-centre
    centred = PairProblem([standardize_gram(K) for K in kernels], y)
    assert solve_cvxpy(centred, make_regularizer("l2", 3), 1e-3).objective < 0.1 * floor


# Kernels that resemble each other


def test_equal_kernels(data):
    grams, y = data
    problem = PairProblem(np.concatenate([grams, grams[:1]]), y)
    shared = solve_cvxpy(problem, make_regularizer("l2", 7), 0.1).mu
    assert_allclose(shared[0], shared[-1], atol=1e-4)  # prop-pairs-group, part 1
    moved = np.r_[shared[0] + shared[-1], shared[1:-1], 0]
    for name in ("l1", "l2-corr", "l1-corr"):
        term = make_regularizer(name, problem.correlations_)
        assert_allclose(
            problem.objective(moved, term, 0.1),
            problem.objective(shared, term, 0.1),
            rtol=1e-5,
        )


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_grouping_bound(lam):
    grams, y = sample(p=8)
    grams = grams / np.linalg.norm(grams, axis=(1, 2), keepdims=True) * len(y)
    problem = PairProblem(grams, y)
    mu, Q = (
        solve_cvxpy(problem, make_regularizer("l2", 8), lam).mu,
        problem.correlations_,
    )
    gaps = np.abs(np.subtract.outer(mu, mu))
    bound = len(y) / lam * np.sqrt(2 * (1 - Q) / problem.n_pairs)
    assert (gaps <= bound + 1e-6).all()  # prop-pairs-group, part 1


def test_two_correlated_kernels():
    for rho, v2 in itertools.product((0.0, 0.5, 0.9), (0.3, 0.7, 0.95)):
        mu = make_regularizer("l2-corr", np.array([[1, rho], [rho, 1]])).conjugate(
            np.array([1, v2]), 2.0
        )[1]
        if v2 <= rho:
            assert_allclose(mu, [0.5, 0])
        else:
            assert_allclose(
                mu[0] - mu[1], (1 - v2) / (2 * (1 - rho))
            )  # eq-pairs-separation


# Bad input


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda K, y: ([K[0], K[1][:-1, :-1]], y),
            r"kernels\[1\] must have a row and a column for each of the 30",
        ),
        (
            lambda K, y: ([K[0], K[1][:-1]], y),
            r"kernels\[1\] .*square.*\(29, 30\)",
        ),
        (lambda K, y: ([K[0], np.triu(K[1])], y), r"kernels\[1\] .*symmetric"),
        (
            lambda K, y: ([K[0], -K[1]], y),
            r"kernels\[1\] .*positive semi-definite",
        ),
        (
            lambda K, y: ([K[0], np.where(K[1] > 1, np.nan, K[1])], y),
            r"kernels\[1\] .*(?:nan|NaN)",
        ),
        (lambda K, y: ([K[0], 0 * K[1]], y), r"kernels\[1\] is zero"),
        (lambda K, y: (K, y[:-1]), "each of the 29 labels"),
        (lambda K, y: (K, 0 * y), r"one class, \[0\]"),
        (lambda K, y: (K, np.r_[9, y[1:]]), "Class 9 has one member"),
        (lambda K, y: (K, np.linspace(0, 1, 30)), "Unknown label type: continuous"),
        (lambda K, y: ([], y), "at least one kernel"),
        (lambda K, y: (iter(K), y), "n_kernels with a generator"),
    ],
)
def test_bad_kernels_and_labels(data, change, message):
    with pytest.raises(ValueError, match=message):
        PairProblem(*change(*data))


def test_bad_parameters(data):
    grams, y = data
    for count, message in (
        (5, "more kernels than n_kernels=5"),
        (7, "There are 6 kernels, and n_kernels=7"),
    ):
        with pytest.raises(ValueError, match=message):
            PairProblem(iter(grams), y, n_kernels=count)
    for name, values in {
        "pair_weight": ["even", 1.0],
        "n_pairs": [1, 2.5, np.nan, np.inf],
        "n_kernels": [0, 6.0],
        "check_psd": ["no"],
        "n_jobs": [1.5],
        "random_state": ["zero", -1],
    }.items():
        for value in values:
            with pytest.raises(ValueError, match=f"The '{name}' parameter of PairProb"):
                PairProblem(grams, y, **{name: value})
    problem, term = PairProblem(grams, y), make_regularizer("l2", 6)
    for lam in (0, -1.0, np.inf, np.nan, "small"):
        for function in (solve_cvxpy, dual_value, optimality_conditions):
            rest = {
                solve_cvxpy: (),
                dual_value: (problem.w,),
                optimality_conditions: (np.zeros(6), problem.w),
            }[function]
            with pytest.raises(ValueError, match="The 'lam' parameter of .* must be"):
                function(problem, term, lam, *rest)


def test_bad_regularizers():
    with pytest.raises(
        ValueError, match="The 'name' parameter of make_regularizer must be"
    ):
        make_regularizer("l3", 4)
    for rho in (2, -0.1, np.nan, "half"):
        with pytest.raises(ValueError, match="The 'rho' parameter of make_regularizer"):
            make_regularizer("sparse-corr", np.eye(2), rho=rho)
    with pytest.raises(
        ValueError, match="l2-corr needs the correlations of the kernels: got Q=4"
    ):
        make_regularizer("l2-corr", 4)
    with pytest.raises(
        ValueError, match=r"as long as quadratic: got shapes \(2,\) and \(3, 3\)"
    ):
        Regularizer([1.0, 1.0], np.eye(3))
    with pytest.raises(ValueError, match="quadratic .*positive semi-definite"):
        Regularizer([1.0, 1.0], [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="a direction in which it is zero"):
        Regularizer([0.0, 0.0], [[1.0, -1.0], [-1.0, 1.0]])
    with pytest.raises(ValueError, match="Kernel 1 has the linear coefficient 0"):
        Regularizer([1.0, 0.0], np.zeros((2, 2)))
    assert repr(make_regularizer("l1", 3)) == "Regularizer('l1', 3 kernels)"


def test_quadratic_program_with_a_large_negative_entry():
    "An entry of u that is negative, in its unit or at all, hides no positive slope."
    for A, u in (
        (np.diag([1.0, 1e-30]), np.array([1.0, -1.0])),
        (np.eye(2), np.array([1.0, -1e12])),
        (np.eye(2), np.array([1e-6, -1e6])),
    ):
        x = nonnegative_quadratic(A, u)
        assert_allclose(x, np.array([u[0], 0.0]), rtol=1e-9, strict=True)


@pytest.mark.parametrize("unit", [1e-15, 1e-25])
def test_newton_with_a_kernel_in_another_unit(unit):
    y, gen = np.arange(40) % 2, np.random.default_rng(0)
    f, g = gen.normal(size=40) + 2.0 * y - 1.0, gen.normal(size=40)
    term = make_regularizer("l1", 2)
    problem = PairProblem([np.outer(f, f), unit * np.outer(g, g)], y)
    found = solve_newton(problem, term, 0.1)
    assert found.gap <= 1e-3 and found.objective == pytest.approx(0.3577, abs=1e-3)


def test_number_of_pairs_has_32_bits():
    with pytest.raises(ValueError, match=r"'n_pairs' parameter .* \[2, 2147483647\]"):
        PairProblem([np.eye(4)], [0, 0, 1, 1], n_pairs=10**30)
