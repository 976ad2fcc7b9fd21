"""Certificates against exact rational arithmetic, a search for false ones, and mutants
that must be caught."""

import warnings
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

import okbook.mkl.pairs as pairs
from okbook.labs import (
    forest_reproduction as forest,
    mkl_protein_localisation as proteins,
)
from okbook.mkl import (
    PairProblem,
    Regularizer,
    certificate,
    check_certificate,
    check_path,
    lam_max,
    make_regularizer,
    mkl_path,
    solve_cvxpy,
    solve_newton,
    solve_sgd,
    standardize_gram,
)
from okbook.mkl.duality import dual_value, duality_gap, relative_gap
from okbook.mkl.pairs import sum_error
from okbook.mkl.solvers import smoothed_dual
from okbook.tables import read_cells

TABLES = Path(__file__).parents[2] / "tables"

NAMES = ("l2", "l1", "l2-corr", "l1-corr", "sparse-corr")


# A solver that stops short says so: here the question is what it proves.
stops_short = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


# --- exact arithmetic ---


def fractions(array):
    "The numbers of an array, exactly."
    array = np.asarray(array, dtype=float)
    return [fractions(row) for row in array] if array.ndim else Fraction(float(array))


def solve_exactly(A, b):
    "Solve A x = b by elimination; None if A is singular."
    n, rows = len(b), [list(row) + [value] for row, value in zip(A, b)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k])]
    return [row[-1] for row in rows]


def exact_conjugate(u, B):
    """The largest u'x - x'Bx/2 over x >= 0: the best of the stationary points of all
    faces, among which the maximum is."""
    best = Fraction(0)
    for size in range(1, len(u) + 1):
        for on in combinations(range(len(u)), size):
            x = solve_exactly([[B[i][j] for j in on] for i in on], [u[i] for i in on])
            if x is not None and min(x) >= 0:
                best = max(best, sum(u[i] * xi for i, xi in zip(on, x)) / 2)
    return best


def exact_values(problem, regularizer, lam, mu, a):
    "Objective and dual value, as the equations of the chapter define them."
    Z, t, w = (fractions(part) for part in (problem.Z, problem.t, problem.w))
    c, A = fractions(regularizer.linear), fractions(regularizer.quadratic)
    mu, a, lam, p = fractions(mu), fractions(a), Fraction(float(lam)), len(c)
    a = [min(max(value, Fraction(0)), most) for value, most in zip(a, w)]
    margins = [tq * sum(x * y for x, y in zip(z, mu)) for tq, z in zip(t, Z)]
    R = sum(x * y for x, y in zip(c, mu))
    R += sum(mu[i] * A[i][j] * mu[j] for i in range(p) for j in range(p))
    objective = lam * R / 2 + sum(x * max(1 - s, 0) for x, s in zip(w, margins))
    v = [sum(x * tq * z[m] for x, tq, z in zip(a, t, Z)) for m in range(p)]
    on = [m for m in range(p) if A[m][m]]
    s = min(
        [Fraction(1)]
        + [lam * c[m] / (2 * v[m]) for m in range(p) if not A[m][m] and v[m] > 0]
    )
    u = [s * v[m] - lam * c[m] / 2 for m in on]
    B = [[lam * A[i][j] for j in on] for i in on]
    return objective, s * sum(a) - exact_conjugate(u, B)


def contains(interval, value):
    return Fraction(float(interval[0])) <= value <= Fraction(float(interval[1]))


def centred(rng, n, twins=False, p=None):
    "Kernels of rank one or two, some of which agree with the labels."
    y = np.arange(n) % 2
    p = int(rng.integers(1, 5)) if p is None else p
    kernels = []
    for _ in range(p):
        F = rng.normal(size=(n, int(rng.integers(1, 3))))
        F += (rng.random() < 0.5) * 0.8 * (2 * y - 1)[:, None]
        F -= F.mean(axis=0)
        kernels.append(F @ F.T)
    if twins:
        kernels[-1] = kernels[0]
    return np.array(kernels), y


def regularizers(rng, problem):
    "Of all kinds: named, in single precision, with entries of both signs, mixed."
    p, Q = problem.n_kernels, problem.correlations_
    for name in NAMES:
        yield make_regularizer(name, Q)
    yield make_regularizer("l2-corr", Q.astype(np.float32))
    M = rng.integers(-2, 3, size=(p, p)).astype(float)
    yield Regularizer(rng.random(p), M @ M.T + np.eye(p))
    flat = np.diag((np.arange(p) % 2).astype(float))
    yield Regularizer(np.full(p, 0.5), flat)
    scale = 10.0 ** rng.uniform(-6, 6, p)
    yield Regularizer(0.1 * scale, Q * scale * scale[:, None])


@stops_short
@pytest.mark.parametrize("seed", range(12))
def test_intervals_contain_the_exact_values(seed):
    """thm-cert-check and thm-pairs-bound, in exact rational arithmetic: optimal and
    random weights and dual variables, the latter out of their box by rounding, too."""
    rng = np.random.default_rng(seed)
    problem = PairProblem(
        *centred(rng, 6, twins=seed % 2),
        pair_weight=(None, "balanced")[seed % 2],
        check_psd=False,
    )
    for term in regularizers(rng, problem):  # eq-pairs-dual, eq-mkl-1
        lam = 10.0 ** rng.uniform(-5, 2)
        found = solve_newton(problem, term, lam, tol=1e-4)
        random = problem.w * rng.random(problem.n_pairs)
        above = problem.w.astype(float) * (1 + 1e-9)
        outside = np.where(rng.random(problem.n_pairs) < 0.5, -1e-12, above)
        weights = rng.random(problem.n_kernels) * (rng.random(problem.n_kernels) < 0.6)
        for mu, a in (
            (found.mu, found.a),
            (weights, random),
            (weights, random.astype(np.float32)),
            (weights, outside),
        ):
            objective, dual = exact_values(problem, term, lam, mu, a)
            checked = check_certificate(problem, term, lam, mu, a)
            assert contains(checked.objective, objective)
            assert contains(checked.dual, dual)
            assert contains(checked.gap, (objective - dual) / objective)
            ours = certificate(problem, term, lam, mu, a)
            assert Fraction(ours.objective) >= objective and Fraction(ours.dual) <= dual
            assert_allclose(ours.objective, float(objective), rtol=1e-8, atol=1e-11)
            assert_allclose(ours.dual, float(dual), rtol=1e-6, atol=1e-8)
            assert np.ptp(checked.gap) <= 1e-6 * (1.0 + abs(checked.gap[1]))
        assert Fraction(found.gap) >= (
            1
            - exact_values(problem, term, lam, found.mu, found.a)[1]
            / Fraction(found.objective)
        )


@pytest.mark.parametrize("seed", range(10))
def test_bound_of_the_conjugate_needs_no_maximiser(seed, monkeypatch):
    """thm-pairs-bound: whatever weights an active-set method returns, the value is no
    less than the supremum, and equal to it at the maximiser."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 5))
    G = rng.random((p, int(rng.integers(1, 4))))
    term = Regularizer(0.1 * rng.random(p), (G @ G.T).astype(np.float32))
    v, lam = rng.normal(size=p) + 0.5, 10.0 ** rng.uniform(-3, 3)
    c, A = fractions(term.linear), fractions(term.quadratic)
    u = [x - Fraction(lam) * y / 2 for x, y in zip(fractions(v), c)]
    exact = exact_conjugate(u, [[Fraction(lam) * x for x in row] for row in A])
    value, mu = term.conjugate(v, lam)
    assert Fraction(value) >= exact
    assert_allclose(value, float(exact), rtol=1e-5, atol=1e-12)  # A is rounded
    for _ in range(20):
        poor = mu * rng.exponential(size=p) + rng.random(p) * (rng.random(p) < 0.5)
        monkeypatch.setattr(pairs, "nonnegative_quadratic", lambda *_, x=poor: x)
        assert Fraction(term.conjugate(v, lam)[0]) >= exact


def test_sum_error_is_a_bound():
    "eq-pairs-gamma: sums that cancel, in several orders."
    rng = np.random.default_rng(0)
    for n in (3, 50, 2000):
        x, y = rng.normal(size=(2, n)) * 10.0 ** rng.uniform(-8, 8, n)
        exact = sum(a * b for a, b in zip(fractions(x), fractions(y)))
        size = float(sum(abs(a * b) for a, b in zip(fractions(x), fractions(y))))
        for order in (slice(None), slice(None, None, -1), rng.permutation(n)):
            for total in (x[order] @ y[order], sum(x[order] * y[order])):
                assert abs(float(Fraction(float(total)) - exact)) <= sum_error(n) * size


# --- a search for false certificates ---


def in_units(ratio, n=12):
    "Two kernels in units a factor apart, and the regulariser in which units cancel."
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    x -= x.mean(axis=0)
    y = np.arange(n) % 2
    x[:, 0] += 0.3 * (2 * y - 1)
    x -= x.mean(axis=0)
    K = np.array([np.outer(column, column) for column in x.T])
    scale = np.array([1.0, ratio])
    return (
        PairProblem(K * scale[:, None, None], y, check_psd=False),
        Regularizer(np.zeros(2), np.diag(scale**2)),
    )


@pytest.mark.parametrize("power", np.r_[-18:19:3, 11.5, 17.3])
def test_units_apart(power):
    """The exercise ex-pairs-scale, in which units cancel: the same gap is promised and
    the same objective is reached, in any units."""
    plain = solve_newton(*in_units(1.0), 0.1, tol=1e-6)
    problem, term = in_units(10.0**power)
    found = solve_newton(problem, term, 0.1)
    assert found.gap <= 1e-3 and found.dual <= plain.objective
    assert found.objective <= plain.objective * (1 + 1e-3)
    checked = check_certificate(problem, term, 0.1, found.mu, found.a)
    assert checked.gap[0] <= found.gap and checked.gap[1] <= 1e-3


@stops_short
@pytest.mark.parametrize("first", range(0, 150, 30))
def test_single_precision(first):
    "Correlations in single precision, kernels of low rank, a small lam."
    for seed in range(first, first + 30):
        rng = np.random.default_rng(seed)
        p, r = int(rng.integers(10, 60)), int(rng.integers(1, 4))
        base, y = centred(rng, 16, p=r)
        problem = PairProblem(
            np.tensordot(rng.dirichlet(np.ones(r), size=p), base, 1), y, check_psd=False
        )
        rounded = make_regularizer("l2-corr", problem.correlations_.astype(np.float32))
        exact = make_regularizer("l2-corr", problem.correlations_)
        found = solve_newton(problem, rounded, 1e-5)
        best = problem.objective(
            solve_newton(problem, exact, 1e-5, tol=1e-4).mu, rounded, 1e-5
        )
        assert found.dual <= min(best * (1 + 1e-9), found.objective)
        checked = check_certificate(problem, rounded, 1e-5, found.mu, found.a)
        assert checked.gap[0] <= found.gap <= 1e-3


def families(rng):
    "Problems on which certificates have been false, or might be."
    n = 2 * int(rng.integers(3, 10))
    y = np.arange(n) % 2
    p = int(rng.choice([1, 2, 3, 8]))
    K, _ = centred(rng, n, twins=rng.random() < 0.5, p=p)
    kind = rng.choice(["plain", "units", "near", "tiny", "rank"])
    if kind == "near":  # duplicates, but for the last digits
        K = K[:1] * (1.0 + 1e-7 * rng.random((p, 1, 1)))
    elif kind == "tiny":
        K *= 10.0 ** rng.integers(-30, 31, size=(p, 1, 1)).astype(float)
    elif kind == "rank":
        K = np.tensordot(rng.dirichlet([1.0, 1.0], size=p), K[[0, -1]], 1)
    problem = PairProblem(K, y, check_psd=False)
    if kind in ("units", "tiny"):
        sizes = np.sqrt(np.mean(problem.Z.astype(float) ** 2, axis=0))
        if kind == "units":
            sizes = 10.0 ** rng.uniform(-9, 9, p)
            problem = PairProblem(K * sizes[:, None, None], y, check_psd=False)
        Q, units = problem.correlations_, sizes * sizes[:, None]
        terms = [
            Regularizer(sizes, np.zeros((p, p))),
            Regularizer(np.zeros(p), Q * units),
            Regularizer(0.5 * sizes, 0.5 * Q.astype(np.float32) * units),
        ]
    else:
        Q = problem.correlations_
        names = rng.choice(NAMES, size=2, replace=False)
        terms = [make_regularizer(name, Q) for name in names]
        terms.append(make_regularizer("l2-corr", Q.astype(np.float32)))
    return kind, problem, terms


@stops_short
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_search_for_a_false_certificate(first):
    """thm-pairs-bound: what is promised is true by the checker, and by every objective
    that anybody has reached; and the checker agrees with the solver."""
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        kind, problem, terms = families(rng)
        for term in terms:
            lam = 10.0 ** rng.choice([-9, -6, -3, -1, 0, 2, 6])
            tols = (1e-2, 1e-4, 1e-7)
            every = [solve_newton(problem, term, lam, tol=tol) for tol in tols]
            every += mkl_path(problem, term, [10 * lam, lam])[1:]
            reached = min(
                check_certificate(
                    problem, term, lam, one.mu, np.zeros(problem.n_pairs)
                ).objective[1]
                for one in every
            )
            for found in every:
                assert 0.0 <= found.gap and found.dual <= reached, (seed, kind, lam)
                if "a" in found:
                    checked = check_certificate(problem, term, lam, found.mu, found.a)
                    assert checked.gap[0] <= found.gap, (seed, kind, lam)
                    assert checked.dual[1] >= found.dual, (seed, kind, lam)


# --- what must be caught ---


def maximiser_only(self, v, lam, start=None):
    "The conjugate as it was: its value at a numerical maximiser."
    u = v - 0.5 * lam * self.linear
    x = np.where(u > 1e-11 * u.max(), u / (lam * self.quadratic.diagonal()), 0.0)
    return float(u @ x - 0.5 * lam * x @ self.quadratic @ x), x


def test_checker_catches_a_lower_bound_of_the_conjugate(monkeypatch):
    "The defect of old, on the units example: a false gap is refuted by the interval."
    problem, term = in_units(1e12)
    second, y = np.zeros(2), np.arange(12) % 2
    alone = PairProblem([gram_of(problem, 1)], y, check_psd=False)
    found = solve_newton(alone, Regularizer([0.0], [[1e24]]), 0.1, tol=1e-6)
    second[1] = found.mu[0]
    honest = certificate(problem, term, 0.1, second, found.a).gap
    monkeypatch.setattr(Regularizer, "conjugate", maximiser_only)
    promised = certificate(problem, term, 0.1, second, found.a).gap
    checked = check_certificate(problem, term, 0.1, second, found.a)
    assert promised < 1e-3 < 0.1 < checked.gap[0] <= honest


def gram_of(problem, m):
    "A Gram matrix from its upper triangle."
    K = np.zeros((problem.n, problem.n))
    K[np.triu_indices(problem.n)] = problem.Z[:, m]
    return np.triu(K) + np.triu(K, 1).T


LIES = {
    "weights moved": lambda f, p: (f.mu * 1.02, f.a),
    "weight dropped": lambda f, p: (np.where(f.mu == f.mu.max(), 0.0, f.mu), f.a),
    "duals moved": lambda f, p: (f.mu, 0.98 * f.a),
    "duals permuted": lambda f, p: (f.mu, np.minimum(f.a[::-1], p.w)),
    "all duals at their end": lambda f, p: (f.mu, p.w),
    "no duals": lambda f, p: (f.mu, 0.0 * f.a),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", NAMES)
def test_checker_catches_lies(name, lie):
    "A gap that was promised for other weights or dual variables is refuted."
    problem = PairProblem(*centred(np.random.default_rng(3), 14, p=3))
    term = make_regularizer(name, problem.correlations_)
    found = solve_newton(problem, term, 0.05, tol=1e-5)
    assert found.mu.any()
    checked = check_certificate(problem, term, 0.05, *LIES[lie](found, problem))
    assert checked.gap[0] > 1e-5 >= found.gap


@pytest.mark.parametrize("part", [0.5, 0.99])
def test_a_negative_gap_raises(monkeypatch, part):
    "A conjugate that is too small makes the bound exceed the objective: no clipping."
    exact = Regularizer.conjugate

    def too_small(self, v, lam, start=None):
        value, mu = exact(self, v, lam, start)
        return part * value, mu

    problem = PairProblem(*centred(np.random.default_rng(3), 14, p=3))
    term = make_regularizer("l2-corr", problem.correlations_)
    monkeypatch.setattr(Regularizer, "conjugate", too_small)
    with pytest.raises(ArithmeticError, match="contradict each other"):
        solve_newton(problem, term, 0.05, tol=1e-9)
    with pytest.raises(ArithmeticError, match="contradict each other"):
        mkl_path(problem, term, [0.05], tol=1e-9)
    for objective, dual in ((1.0, 1.0 + 1e-15), (1.0, np.nan)):
        with pytest.raises(ArithmeticError, match="contradict each other"):
            relative_gap(objective, dual)
    for objective in (np.nan, np.inf):  # no upper bound is no contradiction
        with pytest.raises(ValueError, match="The objective overflows"):
            relative_gap(objective, 0.0)
    assert relative_gap(2.0, 2.0) == 0.0 and relative_gap(1.0, -np.inf) == np.inf


# --- what is refused ---


def test_regularisers_in_single_precision():
    "Converted, made exactly symmetric, and refused only where rounding is no excuse."
    rng = np.random.default_rng(0)
    G = rng.random((40, 3))
    Q = G @ G.T
    Q /= np.sqrt(np.outer(Q.diagonal(), Q.diagonal()))
    rough = Q.astype(np.float32)
    rough[0, 1] = np.nextafter(rough[0, 1], np.float32(2))
    assert np.linalg.eigvalsh(rough.astype(float))[0] < -1e-9
    term = Regularizer(np.zeros(40), rough)
    assert term.quadratic.dtype == float
    assert np.array_equal(term.quadratic, term.quadratic.T)
    units = 10.0 ** rng.uniform(-8, 8, 40)
    Regularizer(np.zeros(40), Q * units * units[:, None])  # units hide nothing
    bad = Q.copy()
    bad[0, 1] = bad[1, 0] = 1.01  # indefinite by a percent, in the smallest unit
    units[:2] = 1e-8
    with pytest.raises(ValueError, match="its diagonal scaled to one it has an eigen"):
        Regularizer(np.zeros(40), bad * units * units[:, None])
    for A in ([[-1e-3, 0], [0, 1]], [[0.0, 0.1], [0.1, 1.0]]):
        with pytest.raises(ValueError, match="its row 0 is not zero"):
            Regularizer([1.0, 1.0], A)
    with pytest.raises(ValueError, match="linear must not be negative"):
        Regularizer([1.0, -0.1], np.eye(2))


def test_kernels_beyond_single_precision():
    for factor in (1e39, 1e-39):
        with pytest.raises(ValueError, match=r"kernels\[1\] has a largest entry"):
            PairProblem([np.eye(4), factor * np.eye(4)], [0, 0, 1, 1])
    PairProblem([1e38 * np.eye(4), 1e-37 * np.eye(4)], [0, 0, 1, 1])


def test_bad_certificates_are_refused():
    problem = PairProblem([np.eye(4), np.ones((4, 4))], [0, 0, 1, 1])
    term, w = make_regularizer("l2", 2), problem.w
    for mu in ([1.0], [1.0, -1e-9], [np.nan, 1.0], [np.inf, 1.0]):
        for function in (check_certificate, certificate):
            with pytest.raises(ValueError, match="mu must|must not be|mu contains"):
                function(problem, term, 1.0, np.array(mu), w)
    for a in (w[1:], np.where(w > 0, np.nan, w), 1.001 * w, -0.001 * w):
        with pytest.raises(ValueError, match="a must be 10 numbers between 0"):
            check_certificate(problem, term, 1.0, np.zeros(2), a)
    for a in (w[1:], np.where(w > 0, np.nan, w)):
        with pytest.raises(
            ValueError,
            match="a must be a vector of 10|a contains NaN|dual_value: a must",
        ):
            dual_value(problem, term, 1.0, a)
    for lam in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="'lam' parameter of check_certificate"):
            check_certificate(problem, term, lam, np.zeros(2), w)
    term.quadratic = np.array([[1.0, 0.5], [0.4, 1.0]])
    with pytest.raises(ValueError, match="no such certificates"):
        check_certificate(problem, term, 1.0, np.zeros(2), w)
    for A in ([[1.0, 2.0], [2.0, 1.0]], [[1.0, -1.0], [-1.0, 1.0]]):
        term.quadratic = np.array(A)
        with pytest.raises(ValueError, match="not positive semi-definite"):
            check_certificate(problem, term, 1.0, np.zeros(2), w)


def test_cvxpy_says_where_it_fails():
    "lam so large that cvxpy finds nothing, or so small that it stops far away."
    x = np.random.default_rng(0).normal(size=(12, 2))
    problem = PairProblem([np.outer(c, c) for c in x.T], np.arange(12) % 2)
    for lam in (1e-12, 1e12, 1e15):
        for name in ("l1", "l2"):
            term = make_regularizer(name, 2)
            best = solve_newton(problem, term, lam, tol=0.1)
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    found = solve_cvxpy(problem, term, lam)
            except RuntimeError as error:
                assert "cvxpy fin" in str(error) and "at lam=1e+1" in str(error)
                continue
            told = [one for one in caught if one.category is ConvergenceWarning]
            assert (found.gap > 1e-3) == (len(told) == 1)
            assert found.dual <= best.objective and best.dual <= found.objective
    for solver in (solve_cvxpy, solve_newton, solve_sgd):
        with pytest.raises(ValueError, match="The 'tol' parameter of solve_"):
            solver(problem, term, 0.1, tol=-1)


def twenty(scale=1.0):
    "Twenty examples of two classes, and a kernel that separates them beside a unit."
    y = np.arange(20) % 2
    t = 2.0 * y - 1.0
    return PairProblem([scale * (np.outer(t, t) + np.eye(20)), np.eye(20)], y)


def test_what_overflows_is_no_contradiction():
    problem, square = twenty(), make_regularizer("l2", 2)
    for call in (
        lambda: certificate(problem, square, 0.1, [1e200, 1e200], problem.w),
        lambda: duality_gap(problem, square, 0.1, [1e300, 0.0]),
        lambda: solve_sgd(problem, square, 1e-160, random_state=0),
    ):
        with pytest.raises(ValueError, match="The objective overflows"):
            call()
    with pytest.raises(ValueError, match="weights overflow: steps of the length inf"):
        solve_sgd(problem, square, 1e-320, random_state=0)
    with pytest.raises(ValueError, match=r"mu0, must be 2 numbers from 0 to 1e\+100"):
        solve_newton(problem, make_regularizer("l1", 2), 0.1, mu0=[1e300, 1e300])
    with pytest.raises(ValueError, match="quadratic term underflows: .* has 1e-300"):
        check_certificate(problem, square, 1e-300, [0.0, 0.0], problem.w)


@pytest.mark.parametrize("lam", [1e-15, 1e-20, 1e-27, 1e-60])
@pytest.mark.filterwarnings("ignore:The relative duality gap")
def test_dual_variables_of_zero_prove_zero(lam):
    """thm-pairs-dual: D(0) = 0, whatever the rounding, so that the gap is never above
    1, and the proof of a solution yields the dual variables of its bound."""
    problem, term = twenty(), make_regularizer("l2", 2)
    assert dual_value(problem, term, lam, np.zeros(problem.n_pairs)) == 0.0
    found = [solve_newton(problem, term, lam), mkl_path(problem, term, [lam])[0]]
    for one, ends in zip(found, check_path(problem, term, [lam, lam], found)):
        assert one.gap <= 1.0 and one.dual >= 0.0
        assert_allclose(ends, [one.gap, one.gap], rtol=1e-9)
    assert_allclose(found[0].a, smoothed_dual(problem, *found[0].proof), atol=1e-15)


def test_a_path_is_checked_by_its_proof_where_all_weights_are_zero():
    "Just below lam_max zero weights may close the gap, and a = w proves less."
    y, gen = np.arange(260) % 2, np.random.default_rng(0)
    x = gen.normal(size=260) + 2.0 * y - 1.0, gen.normal(size=260)
    problem = PairProblem([standardize_gram(np.outer(f, f)) for f in x], y)
    term = make_regularizer("l1", 2)
    lams = lam_max(problem, term) * np.array(
        [0.9999, 0.999, 0.99, 0.98, 0.97, 0.95, 0.9, 0.8, 0.6, 0.5]
    )
    found = mkl_path(problem, term, lams, tol=1e-2)
    assert not found[3].mu.any() and found[-1].mu.any()
    ends = check_path(problem, term, lams, found)
    gaps = np.array([one.gap for one in found])
    assert_allclose(ends, np.c_[gaps, gaps], atol=1e-9)
    nothing = Bunch(mu=np.zeros(2))  # known to be optimal, and not solved for
    top = [1.0001 * lam_max(problem, term)]
    assert_allclose(check_path(problem, term, top, [nothing]), 0.0, atol=1e-9)


@pytest.mark.parametrize("tol", [1, 1.0, np.inf, -0.1])
def test_a_relative_gap_of_one_is_no_tolerance(tol):
    problem, term = twenty(), make_regularizer("l2", 2)
    for solve in (solve_newton, solve_cvxpy):
        with pytest.raises(ValueError, match="The 'tol' parameter of solve_"):
            solve(problem, term, 0.1, tol=tol)
    with pytest.raises(ValueError, match="The 'tol' parameter of mkl_path"):
        mkl_path(problem, term, [0.1], tol=tol)


# --- what is stored ---


def test_a_path_keeps_what_proves_its_gaps():
    "The dual variables of a path are computed from the proof it returns."
    problem = PairProblem(*centred(np.random.default_rng(5), 14, p=3))
    for name in NAMES:
        term, lams = make_regularizer(name, problem.correlations_), [0.3, 0.03, 1e-3]
        for lam, found in zip(lams, mkl_path(problem, term, lams)):
            a = smoothed_dual(problem, *found.proof)
            assert (0 <= a).all() and (a <= problem.w).all()
            assert_allclose(dual_value(problem, term, lam, a), found.dual, rtol=1e-9)
            checked = check_certificate(problem, term, lam, found.mu, a)
            assert_allclose(checked.gap[1], found.gap, atol=1e-9)
            alone = solve_newton(problem, term, lam)
            assert_allclose(smoothed_dual(problem, *alone.proof), alone.a, atol=1e-12)


@pytest.mark.parametrize(
    "table", [forest.CERTIFICATES_TABLE, proteins.CHECKS, proteins.RIVALS_CHECKS]
)
def test_every_stored_solution_keeps_its_promise(table):
    "thm-cert-check: both ends of each stored interval are within what was promised."
    stored = read_cells(TABLES / table.id)
    assert set(stored) == set(table.keys())
    for (row, column, repeat), (upper, *_) in stored.items():
        if column.endswith("upper"):
            lower = stored[row, column.replace("upper", "lower"), repeat][0]
            tol = next(
                (t for name, t in proteins.CHECKED.items() if name in column), 1e-3
            )
            if table is not proteins.CHECKS:
                tol = 1e-3  # also of the column "path" of the noisy kernels
            assert lower <= upper <= tol and upper - lower <= 0.011 * tol


@pytest.mark.parametrize("row", ["l1", "sparse-corr"])
def test_the_checked_problem_is_that_of_the_machine(row):
    "The solutions that are checked are those of the machines of the stored table."
    load, width = proteins.NOISY_SETS["wine"]
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:160]
    X, kernels = proteins.with_noise(X[rows], width, rng)
    machine = clone(proteins.RIVALS[row]).set_params(kernels=kernels)
    machine.fit(X[:80], y[rows][:80])
    grams = [standardize_gram(k.gram(X[:80, columns])) for k, columns in kernels]
    problem = PairProblem(grams, y[rows][:80], check_psd=False)
    term = make_regularizer(row, problem.correlations_)
    weights = [mkl_path(problem, term, [lam])[0].mu for lam in (0.1, 0.01, 0.001)]
    shares = [one / one.sum() for one in weights]
    own = machine.weights_ / machine.weights_.sum()
    assert min(np.abs(share - own).max() for share in shares) < 1e-9
