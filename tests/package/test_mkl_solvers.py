"""Solvers of okbook.mkl: cvxpy as oracle, certificates, symmetries, random problems;
the estimator and its messages."""

import pickle
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from okbook.core import GramKernel, LinearKernel, RBFKernel
from okbook.mkl import (
    KernelCombiner,
    PairProblem,
    Regularizer,
    check_certificate,
    lam_max,
    machines,
    make_regularizer,
    mkl_path,
    path as paths,
    solve_cvxpy,
    solve_newton,
    solve_sgd,
    solvers,
    standardize_gram,
)
from okbook.mkl.duality import dual_value
from okbook.mkl.path import _importances, _ShiftedLoss, _working_set_loss, evaluate_many
from okbook.mkl.solvers import (
    SmoothedLoss,
    _draw_pairs,
    newton_step,
    next_width,
    secant_search,
    smoothed_dual,
    smoothed_hessian,
    smoothed_hinge,
)

NAMES = ("l2", "l1", "l2-corr", "l1-corr", "sparse-corr")
BLOCKS = [("rbf", [0]), ("rbf", [1]), ("rbf", [2, 3]), "linear"]


def stack(seed, n=14, p=4, twins=False):
    "Gram matrices, some of them informative, and classes of two members at least."
    rng = np.random.default_rng(seed)
    y = np.r_[0, 0, 1, 1, rng.integers(0, 2, n - 4)]
    X = rng.normal(size=(n, p)) + y[:, None] * rng.random(p)
    kernels = [
        standardize_gram(RBFKernel(gamma=10.0 ** rng.uniform(-2, 1)).gram(X[:, m]))
        for m in range(p)
    ]
    return np.array(kernels[:-1] + kernels[:1] if twins else kernels), y


def term_of(problem, name):
    return make_regularizer(name, problem.correlations_)


def iris(half=slice(None, None, 2)):
    X, y = load_iris(return_X_y=True)
    return X[half], y[half]


# --- Newton's method ---


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lam", [0.5, 0.02, 1e-4])
def test_agrees_with_cvxpy_within_the_certificates(seed, lam):
    """eq-mkl-1: objective, bound and dual variables; random kernels, two of them equal
    in half of the problems."""
    problem = PairProblem(
        *stack(seed, n=10 + seed, p=2 + seed, twins=seed % 2),
        pair_weight=(None, "balanced")[seed % 2],
    )
    for name in NAMES:
        term = term_of(problem, name)
        exact = solve_cvxpy(problem, term, lam)
        for tol in (1e-3, 1e-6):
            found = solve_newton(problem, term, lam, tol=tol)
            assert 0.0 <= found.gap <= tol and (found.mu >= 0.0).all()
            assert found.dual <= exact.objective * (1 + 1e-6)  # a bound is a bound
            assert found.objective <= exact.objective * (1 + tol + 1e-6)
            assert_allclose(
                found.objective, problem.objective(found.mu, term, lam), rtol=1e-6
            )
            assert_allclose(
                dual_value(problem, term, lam, found.a),
                found.dual,
                rtol=2e-4,
                atol=1e-6,
            )


@pytest.mark.parametrize("seed", range(4))
def test_gap_is_never_negative_on_the_way(seed):
    """thm-mklsolve-errors: each point proves a gap that holds; the best of them only
    gets better."""
    problem = PairProblem(*stack(seed, n=20, p=6))
    for name in NAMES:
        trace = solve_newton(
            problem, term_of(problem, name), 10.0 ** -(seed + 1), tol=1e-5
        ).trace
        assert (
            (trace[:, 1] >= -1e-12).all()
            and (np.diff(trace[:, 1]) <= 1e-12).all()
            and (np.diff(trace[:, 0]) > 0).all()
        )


@pytest.mark.parametrize("name", NAMES)
def test_order_and_scale_of_kernels(name):
    """Weights follow the order of kernels; a common scale s moves to lam: s^2 for
    quadratic terms, s for linear ones."""
    kernels, y = stack(3, n=16, p=5)
    problem = PairProblem(kernels, y)
    term, order = term_of(problem, name), np.array([3, 0, 4, 1, 2])
    mu = solve_newton(problem, term, 0.02, tol=1e-8).mu
    shuffled = PairProblem(kernels[order], y)
    again = solve_newton(shuffled, term_of(shuffled, name), 0.02, tol=1e-8)
    assert_allclose(again.mu, mu[order], atol=1e-3 * mu.max())
    if name != "sparse-corr":  # a mixture has no scale of its own
        larger = PairProblem(2.0 * kernels, y)
        lam = 0.02 * (4.0 if term.curved.all() else 2.0)
        assert_allclose(
            2.0 * solve_newton(larger, term, lam, tol=1e-8).mu,
            mu,
            atol=1e-3 * mu.max(),
        )


def test_one_kernel_in_other_units():
    "For R1 with coefficients c, kernel m times s is kernel m with c_m / s."
    kernels, y = stack(5, n=16, p=4)
    scaled = kernels * np.array([1.0, 3.0, 1.0, 0.5])[:, None, None]
    factors = np.array([1.0, 3.0, 1.0, 0.5])
    one = solve_newton(
        PairProblem(kernels, y),
        Regularizer(np.ones(4), np.zeros((4, 4))),
        0.02,
        tol=1e-8,
    )
    other = solve_newton(
        PairProblem(scaled, y), Regularizer(factors, np.zeros((4, 4))), 0.02, tol=1e-8
    )
    assert_allclose(other.objective, one.objective, rtol=1e-6)
    assert_allclose(other.mu * factors, one.mu, atol=1e-3 * one.mu.max())


def many(n=270, p=5, seed=0):
    "More pairs than the rough start needs to be worth it."
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p)) + 0.5 * y[:, None] * (np.arange(p) < 2)
    return PairProblem(
        [standardize_gram(RBFKernel(sigma=1.0).gram(X[:, m])) for m in range(p)],
        y,
        check_psd=False,
    )


@pytest.mark.parametrize("name", NAMES)
def test_rough_start_and_threads(name):
    """The rough start changes the cost and not the answer; threads change nothing
    but rounding."""
    problem = many()
    assert problem.n_pairs > 2**15
    term = term_of(problem, name)
    found = solve_newton(problem, term, 0.01)
    warm = solve_newton(problem, term, 0.01, mu0=found.mu)
    cold = solve_newton(problem, term, 0.01, mu0=np.full(5, 0.1))
    for other in (warm, cold):
        assert (
            abs(other.objective - found.objective) <= 1e-3 * found.objective
            and other.gap <= 1e-3
        )
    problem.n_jobs = 2
    threads = solve_newton(problem, term, 0.01)
    assert_allclose(threads.mu, found.mu, rtol=1e-6, atol=1e-9)
    assert found.n_passes < 20


def test_small_lam_and_no_lam_at_all():
    problem = many()
    for name in ("l1", "l2"):
        term = term_of(problem, name)
        for lam in (1e-6, 1e-9):
            assert solve_newton(problem, term, lam).gap <= 1e-3
    for lam in (0.0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises(ValueError, match="The 'lam' parameter of solve_newton"):
            solve_newton(problem, term, lam)
    for mu0 in (np.ones(4), -np.ones(5), [np.nan] * 5):
        with pytest.raises(ValueError, match="must be 5 numbers|mu0 contains NaN"):
            solve_newton(problem, term, 0.1, mu0=mu0)


def test_zero_is_the_optimum_from_lam_max_on():
    "prop-pairs-lammax, seen from the solver."
    problem = PairProblem(*stack(1, n=30, p=4))
    for name in ("l1", "l1-corr", "sparse-corr"):
        term = term_of(problem, name)
        top = lam_max(problem, term)
        above, below = (
            solve_newton(problem, term, top * factor, tol=1e-7)
            for factor in (1.001, 0.95)
        )
        assert not above.mu.any() and above.gap <= 1e-7 and below.mu.any()


def test_warns_with_the_gap_and_shows_its_steps(capsys):
    problem = PairProblem(*stack(2, n=30, p=6))
    term = term_of(problem, "l1")
    with pytest.warns(
        ConvergenceWarning,
        match=r"relative duality gap is .* after 2 steps at lam=0\.001",
    ):
        found = solve_newton(problem, term, 1e-3, tol=1e-9, max_iter=2, verbose=1)
    assert found.n_iter == 2 and found.gap > 1e-9
    assert capsys.readouterr().out.count("relative gap") == 3 == len(found.trace)


def test_smoothed_hinge_bounds():
    "eq-mklsolve-smooth, eq-mklsolve-bounds, at random margins and widths."
    rng = np.random.default_rng(0)
    for delta in 10.0 ** rng.uniform(-4, 1, 20):
        u = rng.normal(size=500)
        loss, share = smoothed_hinge(1.0 - u, delta)
        above = loss - np.maximum(u, 0.0)
        assert (above >= -1e-12).all() and (above <= delta / 8 + 1e-12).all()
        assert_allclose(above[np.abs(u) > delta / 2], 0.0, atol=1e-12)
        debt = np.maximum(u, 0.0) - share * u
        assert (debt >= -1e-12).all() and (
            debt <= delta / 16 + 1e-12
        ).all()  # thm-mklsolve-errors


def test_pass_by_brute_force(monkeypatch):
    """eq-mklsolve-smooth, eq-mklsolve-errors and eq-pairs-adjoint for one point, and
    for many in one pass, in plain numpy."""
    monkeypatch.setattr("okbook.core.scale._THREAD_ENTRIES", 0)
    problem = PairProblem(*stack(6, n=20, p=4), pair_weight="balanced", n_jobs=2)
    loss = SmoothedLoss.of_problem(problem)
    Z, t, w = (part.astype(float) for part in (problem.Z, problem.t, problem.w))
    mus = np.random.default_rng(0).random((5, 4)) * 0.5
    deltas = np.array([0.01, 0.1, 0.5, 1.0, 4.0])
    many = evaluate_many(loss, mus, deltas)
    assert loss.passes == 5.0
    for mu, delta, together in zip(mus, deltas, many):
        one = loss.evaluate(mu, delta)
        u = 1.0 - t * (Z @ mu)
        smooth, share = smoothed_hinge(1.0 - u, delta)
        expected = {
            "loss": w @ np.maximum(u, 0.0),
            "smooth": w @ smooth,
            "total": w @ share,
            "smoothing_error": w @ (np.maximum(u, 0.0) - share * u),
            "adjoint": Z.T @ (w * share * t),
        }
        for name, value in expected.items():
            for point in (one, together):
                assert_allclose(getattr(point, name), value, rtol=1e-6, atol=1e-9)
        assert_allclose(one.margins, 1.0 - u, atol=1e-6)
        assert together.margins is None and together.delta == delta
        inside = np.abs(u) < delta / 2
        hessian = (Z[inside].T * w[inside]) @ Z[inside] / delta
        assert_allclose(loss.hessian(one), hessian, rtol=1e-5, atol=1e-9)
    assert loss.passes == 10.0


def test_hessian_of_a_sample_has_the_weight_of_all():
    """eq-mklsolve-hessian: of many pairs in the zone some, evenly spread, stand for
    all."""
    rng = np.random.default_rng(0)
    Z, w = rng.normal(size=(40_000, 2)), rng.random(40_000)
    margins = np.full(40_000, 1.0)
    few, exact = (smoothed_hessian(Z, w, margins, 0.5, n) for n in (2**13, 40_000))
    assert_allclose(exact, (Z.T * w) @ Z / 0.5)
    assert 0 < np.abs(few - exact).max() < 0.05 * exact.max()
    ones = smoothed_hessian(np.ones((40_000, 1)), w, margins, 0.5)
    assert_allclose(ones, w.sum() / 0.5)
    assert not smoothed_hessian(Z, w, margins + 0.3, 0.5).any()  # nobody is inside


def test_shifted_sample_is_the_whole_at_its_origin():
    "eq-mklsolve-shift: value and gradient there, and a linear function elsewhere."
    problem = many()
    loss, sample = (
        SmoothedLoss.of_problem(problem),
        SmoothedLoss.of_problem(problem, 16),
    )
    origin, mu, delta = np.full(5, 0.1), np.full(5, 0.3), 0.5
    full, few = loss.evaluate(origin, delta), sample.evaluate(origin, delta)
    shifted = _ShiftedLoss(sample, full)
    here, there = shifted.evaluate(origin, delta), shifted.evaluate(mu, delta)
    for name in ("loss", "smooth", "total", "adjoint"):
        for point in (here, shifted.start):
            assert_allclose(getattr(point, name), getattr(full, name), rtol=1e-12)
    elsewhere = sample.evaluate(mu, delta)
    slope = (full.adjoint - few.adjoint) @ (mu - origin)
    for name in ("loss", "smooth"):
        level = getattr(full, name) - getattr(few, name)
        expected = getattr(elsewhere, name) + level - slope
        assert_allclose(getattr(there, name), expected, rtol=1e-12)
    half = shifted.evaluate(0.5 * (origin + mu), delta)
    value, descent = shifted.between(here, there, 0.5, delta)
    assert_allclose(value, half.smooth, rtol=1e-12)
    assert_allclose(descent, half.adjoint @ (mu - origin), rtol=1e-12)


def test_next_width():
    "eq-mklsolve-width, and its three limits."
    width = partial(next_width, objective=0.5, tol=1e-2)
    assert_allclose(width(1.0, 6e-3, 7e-3), np.sqrt(0.3 * 1e-2 * 0.5 / 6e-3))
    assert width(1.0, 1e-3, 0.01001) == 1.0  # too early
    assert width(1.0, 1.0, 1.0) == 0.2
    assert width(2.0, 1e-9, 1e-9) == 2.0


def test_newton_step_is_optimal_for_its_model():
    "eq-mklsolve-newton: the conditions of the quadratic model over weights >= 0."
    rng = np.random.default_rng(0)
    for _ in range(20):
        B = rng.normal(size=(6, 5))
        H, mu = B.T @ B, rng.random(5) * (rng.random(5) < 0.7)
        adjoint, threshold = rng.normal(size=5), rng.random(5)
        after = newton_step(H, mu, adjoint, threshold)
        slope = H @ (after - mu) + threshold - adjoint
        assert after.min() >= 0 and slope.min() > -1e-8 and abs(slope @ after) < 1e-8


@pytest.mark.parametrize(
    "x, z, y",
    [
        ([-0.1, -0.1, -0.8, -0.8, -0.1, 1.6, -0.1], [0, 0, 0, 1, 1, 1, 1], "0111001"),
        ([-0.9, -0.9, -0.9, -1.5, -0.9, -1.5, 0.4], [0, 1, 0, 0, 1, 1, 0], "0011110"),
        ([-0.5, -0.5, -0.4, 0.3, -0.5, -0.4, -0.4], [0, 0, 0, 1, 1, 0, 0], "1001010"),
    ],
)
def test_two_slacks_do_not_take_turns(x, z, y):
    """A kernel with small values comes in with a large slack, and its large weight
    allows a small one, which takes it out again: some gaps stayed at a half."""
    X = np.array([x, 0.05 * np.array(z)])
    X -= X.mean(axis=1, keepdims=True)
    problem = PairProblem([np.outer(x, x) for x in X], list(map(int, y)))
    found = solve_newton(problem, make_regularizer("l1", 2), 1e-4, tol=1e-4)
    assert found.gap <= 1e-4


def test_secants_and_bisections():
    "A convex function whose slope changes its sign where it is told."
    for root in (1e-4, 0.2, 0.77, 0.999):
        for power in (1, 3, 9):
            found = secant_search(lambda x: np.sign(x - root) * abs(x - root) ** power)
            assert found <= root
            assert (root - found) ** power <= 0.01 * root**power


def test_silent_by_default(capsys):
    problem = PairProblem(*stack(2, n=30, p=6))
    term = term_of(problem, "l1")
    solve_newton(problem, term, 1e-3)
    mkl_path(problem, term, [0.1, 0.01])
    assert not capsys.readouterr().out
    mkl_path(problem, term, [0.1, 0.01], verbose=1)
    assert "relative gap" in capsys.readouterr().out


# --- path and stochastic gradient ---


@pytest.mark.parametrize("name", NAMES)
def test_path_is_as_good_as_single_solves(name):
    problem = PairProblem(*stack(7, n=24, p=6))
    term, lams = term_of(problem, name), [1e-3, 1.0, 0.03, 0.1, 1e-2]
    for lam, found in zip(lams, mkl_path(problem, term, lams)):
        alone = solve_newton(problem, term, lam)
        assert (
            found.gap <= 1e-3
            and abs(found.objective - alone.objective) <= 1e-3 * alone.objective
        )
        assert_allclose(
            problem.objective(found.mu, term, lam), found.objective, rtol=1e-6
        )
    assert mkl_path(problem, term, []) == []
    for lams, message in {
        (0.1, -1.0): "lam == -1.0, must be > 0",
        (0.1, np.nan): "lam contains NaN or infinity",
        (np.inf,): "lam contains NaN or infinity",
    }.items():
        with pytest.raises(ValueError, match=message):
            mkl_path(problem, term, lams)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_path_of_many_pairs(name, tol):
    """eq-mklsolve-shift: one pass for many lams, samples that are shifted, and
    Newton's method where they are at an end."""
    problem = many()
    term, lams = (
        term_of(problem, name),
        np.array([1e-4, 0.3, 0.1, 0.03, 0.01, 1e-3, 3.0]),
    )
    assert mkl_path(problem, term, []) == []
    path = mkl_path(problem, term, lams, tol=tol)
    for lam, found in zip(lams, path):
        alone = solve_newton(problem, term, lam, tol=tol)
        assert 0.0 <= found.gap <= tol and (found.mu >= 0.0).all()
        assert abs(found.objective - alone.objective) <= tol * alone.objective
        assert_allclose(
            problem.objective(found.mu, term, lam), found.objective, rtol=1e-6
        )
        assert len(found.trace) == found.n_iter + 1 and found.n_passes >= 1.0
    again = solve_newton(problem, term, lams[0], tol=tol, mu0=path[0].mu)
    assert_allclose(
        dual_value(problem, term, lams[0], again.a), again.dual, rtol=2e-4, atol=1e-6
    )


@pytest.mark.parametrize("build", ["few", "many", "near_copies"])
def test_no_pass_is_left_out(build, monkeypatch):
    """Over the lams of a path, and in single solutions, n_passes adds up to all that
    has been read: samples, importances, shifts, common passes and working sets."""
    if build == "few":
        problem = PairProblem(*stack(7, n=24, p=6))
    else:
        problem = {"many": many, "near_copies": near_copies}[build]()
    read, kinds = [], set()

    def counting(name, parts):
        original = getattr(paths, name, None) or getattr(SmoothedLoss, name)

        def counted(loss, *args):
            read.append(parts(loss, *args))
            kinds.add(name)
            return original(loss, *args)

        return counted

    one, each = lambda loss, *_: loss.share, lambda loss, mus, *_: len(mus)
    monkeypatch.setattr(SmoothedLoss, "evaluate", counting("evaluate", one))
    for name, parts in {"evaluate_many": each, "_importances": lambda _: 1.0}.items():
        monkeypatch.setattr(paths, name, counting(name, parts))
    lams = np.geomspace(0.1, 1e-4, 24)
    for name in ("l1", "l2"):
        term = term_of(problem, name)
        for tol in (1e-3, 1e-6):
            read.clear()
            path = mkl_path(problem, term, lams, tol=tol)
            assert_allclose(sum(found.n_passes for found in path), sum(read))
            for found in path:
                assert (np.diff(found.trace[:, 0]) >= 0.0).all()
                assert found.trace[-1, 0] == found.n_passes
            read.clear()
            alone = solve_newton(problem, term, 1e-3, tol=tol)
            assert_allclose(alone.n_passes, sum(read))
            read.clear()
            again = solve_newton(problem, term, 1e-3, tol=tol, mu0=alone.mu)
            assert_allclose(again.n_passes, sum(read))
    assert len(kinds) == (1 if build == "few" else 3)


def near_copies(seed=0, n=260, p=6):
    """Gram matrices close to the identity, which differ on few pairs, and one more:
    their weights can be exchanged until those pairs, far from the kink, reach it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    kernels = [RBFKernel(gamma=0.1).gram(rng.normal(size=(n, 3)) + y[:, None])]
    for _ in range(p - 1):
        groups = rng.integers(0, n // 3, n)
        kernels.append(np.eye(n) + 0.2 * (groups[:, None] == groups))
    return PairProblem([standardize_gram(K) for K in kernels], y)


@pytest.mark.parametrize("name", ("l2", "l1", "l2-corr", "l1-corr"))
@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize("build", [many, near_copies])
def test_bounds_of_working_sets_are_proved(build, name, tol):
    """prop-mklsolve-held: each gap is closed, and the bound is that of dual variables
    in their intervals, which the proof names and an independent program checks."""
    problem = build()
    assert problem.n_pairs >= solvers._MANY_PAIRS
    top = 0.3 if name.startswith("l2") else lam_max(problem, term_of(problem, name))
    term, lams = term_of(problem, name), 0.9 * top * np.geomspace(1.0, 1e-4, 8)
    path, wrong = mkl_path(problem, term, lams, tol=tol), 0
    for lam, found in zip(lams, path):
        assert 0.0 <= found.gap <= tol
        a = smoothed_dual(problem, *found.proof)
        assert (a >= 0.0).all() and (a <= problem.w).all()
        assert_allclose(dual_value(problem, term, lam, a), found.dual, rtol=1e-6)
        checked = check_certificate(problem, term, lam, found.mu, a)
        assert checked.gap[0] - 1e-9 <= found.gap <= checked.gap[1] + 1e-6
        assert found.dual <= checked.dual[1] * (1.0 + 1e-9)
        best = solve_newton(problem, term, lam, tol=1e-7).objective
        assert found.dual <= best <= found.objective * (1.0 + 1e-7)
        mu, delta, held = found.proof
        if held is not None:  # a mutant: the held pairs move with the working set
            moved = dual_value(problem, term, lam, smoothed_dual(problem, mu, delta))
            wrong += abs(moved - found.dual) > 1e-6 * found.dual
    if tol == 1e-3 and name in ("l1", "l1-corr"):
        assert wrong > 0


def test_held_pairs_keep_their_dual_variables():
    """eq-mklsolve-held: for any weights, any width and any working set, the sums are
    those of the dual variables that the proof names."""
    problem, rng = many(), np.random.default_rng(0)
    loss, term = SmoothedLoss.of_problem(problem), make_regularizer("l1", 5)
    loss.importance = _importances(problem)
    mus, deltas = 0.4 * rng.random((6, 5)), 0.1 + rng.random(6)
    best = solve_newton(problem, term, 0.01, tol=1e-6).objective
    sizes = loss.importance / problem.w
    for mu, delta, full in zip(mus, deltas, evaluate_many(loss, mus, deltas)):
        rows, margins, signed = full.near
        alone = loss.evaluate(mu, delta)
        reach = np.maximum(0.5, paths._NEAR * sizes) * delta
        assert_array_equal(rows, np.flatnonzero(np.abs(1.0 - alone.margins) < reach))
        assert_allclose(margins, alone.margins[rows], atol=1e-12)
        there = smoothed_dual(problem, mu, delta)
        assert_allclose(signed, (there * problem.t)[rows], atol=1e-14)
        shifted = _working_set_loss(loss, full)
        for name in ("loss", "smooth", "total", "adjoint", "smoothing_error"):
            ours, theirs = getattr(shifted.start, name), getattr(full, name)
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        other, width = mu + 0.3 * rng.random(5), delta * (0.5 + rng.random())
        point = shifted.evaluate(other, width)
        a = smoothed_dual(problem, other, width, point.held)
        outside = np.setdiff1d(np.arange(len(a)), rows)
        assert_array_equal(a[outside], there[outside])
        assert_allclose(point.total, a.sum(), rtol=1e-9)
        assert_allclose(point.adjoint, problem.adjoint(a), rtol=1e-7, atol=1e-10)
        assert term.dual_value(point.total, point.adjoint, 0.01) <= best


@pytest.mark.parametrize("broken", ["no pair beyond the zone", "no pair at all"])
def test_where_held_pairs_must_move_all_pairs_take_over(broken, monkeypatch):
    """Working sets that hold too many pairs close no small gap: common passes and
    Newton's method on all pairs do."""
    problem = near_copies()
    term, lams = make_regularizer("l1", 6), [1e-2, 1e-3, 1e-4]
    monkeypatch.setattr(paths, "_NEAR", 0.0)
    if broken == "no pair at all":
        monkeypatch.setattr(paths, "_ZONE", 0.0)
    path = mkl_path(problem, term, lams, tol=1e-5)
    assert max(found.gap for found in path) <= 1e-5
    assert any(found.proof[2] is None for found in path)  # a bound from all pairs
    assert all(len(found.trace) == found.n_iter + 1 for found in path)


def test_pairs_are_drawn_by_their_importance():
    """eq-mklsolve-importance: each pair with its probability, the large ones always;
    sums over those drawn estimate sums over all."""
    problem = near_copies()
    Z, w = np.abs(problem.Z.astype(float)), problem.w.astype(float)
    importance = _importances(problem)
    expected = 0.5 * w * (1.0 + np.mean(Z / (w @ Z), axis=1))
    assert_allclose(importance, expected, rtol=1e-6)
    assert_allclose(importance.sum(), 1.0, rtol=1e-6)
    n = problem.n_pairs // 16
    drawn, factors = _draw_pairs(importance, n)
    assert len(drawn) <= n + 1 and (np.diff(drawn) > 0).all()
    assert_allclose(factors, np.maximum(1.0, 1.0 / (n * importance[drawn])))
    assert set(np.flatnonzero(n * importance >= 1.0)) <= set(drawn)
    assert (w[drawn] * factors) @ Z[drawn] == pytest.approx(w @ Z, rel=0.1)
    squares, even = w @ Z**2, [slice(k, None, 16) for k in range(16)]
    error = np.abs((w[drawn] * factors) @ Z[drawn] ** 2 / squares - 1.0).max()
    errors = [np.abs(16 * w[k] @ Z[k] ** 2 / squares - 1.0).max() for k in even]
    assert error < 0.5 * np.mean(errors)  # these miss what few pairs hold
    assert len(_draw_pairs(np.empty(0), 4)[0]) == 0


def test_path_from_zero_to_a_small_lam():
    """After weights of zero, where all margins are alike, the first step would be a
    million times too long."""
    x = np.array([-2.0, -1.0, 1.0, 2.0])
    problem = PairProblem([np.outer(x, x) / 2.5, np.eye(4)], [0, 0, 1, 1])
    for lams in ([2.0, 0.1], [1.0, 0.1], [2.0, 1e-5]):
        path = mkl_path(problem, make_regularizer("l1", 2), lams)
        assert all(found.gap <= 1e-3 for found in path) and path[1].mu.any()
    problem = many()
    term = make_regularizer("l1", 5)
    path = mkl_path(
        problem, term, lam_max(problem, term) * np.array([4.0, 2.0, 1.1, 0.1])
    )
    assert [found.mu.any() for found in path] == [False, False, False, True]


def test_search_cuts_a_step_that_is_far_too_long():
    """The slope changes its sign after a millionth of the way, and hardly changes
    after it."""

    found = secant_search(lambda x: min(1.0, (x - 1e-6) * 1e7))
    assert 0.9e-6 <= found <= 1e-6
    assert secant_search(lambda x: x + 0.1) == 0.0  # uphill from the start
    seen = []
    secant_search(lambda x: seen.append(x) or x - 0.3)
    assert len(seen) == 3  # a line needs one secant


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stochastic_gradient_step_by_step():
    "eq-mklsolve-sgd, in plain numpy."
    problem = PairProblem(*stack(4, n=12, p=3))
    for name in ("l2", "l1"):
        term, lam = term_of(problem, name), 0.05
        found = solve_sgd(problem, term, lam, max_iter=50, batch_size=2, random_state=1)
        rng, edges, mu = (
            np.random.RandomState(1),
            np.cumsum(problem.w, dtype=float),
            np.zeros(3),
        )
        for k, q in enumerate(
            np.searchsorted(
                edges[:-1], edges[-1] * rng.random_sample((50, 2)), side="right"
            ),
            1,
        ):
            tz = (problem.t[q, None] * problem.Z[q]).astype(float)
            gradient = 0.5 * lam * term.gradient(mu) - (
                tz * (tz @ mu < 1.0)[:, None]
            ).mean(axis=0)
            mu = np.maximum(
                mu - gradient / (lam * k if name == "l2" else np.sqrt(k)), 0.0
            )
        assert_allclose(found.mu, mu, rtol=1e-10)
        assert found.stopped == "max_iter" and found.n_iter == 50
        assert_allclose(found.n_passes, 100 / problem.n_pairs)


def test_stochastic_gradient_stops_at_zero_weights():
    """Components of the gradient that push a zero weight further down do not count:
    above lam_max no step moves, and the mean gradient is zero at once."""
    problem = PairProblem([np.eye(4)], [0, 0, 1, 1])
    found = solve_sgd(problem, make_regularizer("l1", 1), 3.0, random_state=0)
    assert found.stopped == "tol" and found.n_iter == 1000 and not found.mu.any()


def test_stochastic_gradient_stops_and_repeats():
    problem = PairProblem(*stack(4, n=12, p=3))
    term = term_of(problem, "l2")
    with pytest.warns(
        ConvergenceWarning,
        match=r"relative duality gap is .* at lam=0\.1, where epochs .* not tol=0\.001",
    ):
        one, same, other = (
            solve_sgd(problem, term, 0.1, random_state=s) for s in (0, 0, 1)
        )
    assert_array_equal(one.mu, same.mu)
    assert (one.mu != other.mu).any()
    assert one.stopped == "epochs" and one.n_iter == 100 * problem.n_pairs
    assert (
        solve_sgd(
            problem, term, 0.1, max_iter=3000, epochs=1000, tol=10.0, random_state=0
        ).n_iter
        == 1000
    )
    exact = solve_newton(problem, term, 0.1)
    assert one.objective >= exact.dual and one.dual <= exact.objective


@pytest.mark.parametrize("name", ["l2", "l1"])
@pytest.mark.parametrize("least", [-4, -6])
def test_a_path_whose_sample_falls_below_zero(name, least):
    """eq-mklsolve-shift: the linear shift of a sample can make its objective negative
    where one kernel separates the classes. The sample is left then."""
    n, gen = 256, np.random.default_rng(0)
    y = np.arange(n) % 2
    x = 4.0 * (2.0 * y - 1.0) + 0.3 * gen.normal(size=n)
    kernels = [np.outer(x, x) / 16, np.outer(*[gen.normal(size=n)] * 2)]
    problem, term = PairProblem(kernels, y, check_psd=False), make_regularizer(name, 2)
    lams = np.logspace(0, least, 22)
    for lam, found in zip(lams, mkl_path(problem, term, lams)):
        assert found.gap <= 1e-3
        alone = solve_newton(problem, term, lam)
        assert_allclose(found.objective, alone.objective, rtol=2e-3)


def test_width_where_the_objective_is_negative():
    "A fifth of the last, the least: no gap is a tolerable part of the objective."
    assert next_width(0.4, 1e-3, gap=1e-3, objective=-0.1, tol=1e-3) == 0.2 * 0.4


# --- the estimator ---


@parametrize_with_checks([KernelCombiner(), KernelCombiner(regularizer="l1", lam=1e-4)])
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="All weights are zero")
        check(estimator)


def test_three_ways_to_give_kernels():
    X, y = iris()
    blocks = KernelCombiner(BLOCKS, "l1", 0.01, tol=1e-6).fit(X, y)
    raw = [
        RBFKernel().gram(X[:, [0]]),
        RBFKernel().gram(X[:, [1]]),
        RBFKernel().gram(X[:, 2:]),
        X @ X.T,
    ]
    given = KernelCombiner("precomputed", "l1", 0.01, tol=1e-6).fit(
        np.swapaxes(raw, 0, 1), y
    )
    looked_up = KernelCombiner([GramKernel(K) for K in raw], "l1", 0.01, tol=1e-6).fit(
        np.arange(len(X)), y
    )
    for other in (given, looked_up):
        assert_allclose(other.weights_, blocks.weights_, atol=1e-6)
    assert given.transform(np.swapaxes(raw, 0, 1)[:3]).shape == (3, len(X))
    assert_allclose(
        given.transform(np.swapaxes(raw, 0, 1)), blocks.transform(X), atol=1e-6
    )
    assert_allclose(
        looked_up.transform(np.arange(5)), blocks.transform(X[:5]), atol=1e-6
    )


def test_new_examples_are_centred_and_scaled_like_the_training_examples():
    X, y = iris()
    model = KernelCombiner(["linear"], lam=0.01).fit(X, y)
    mean = X.mean(axis=0)
    size = ((X - mean) ** 2).sum(axis=1).mean()
    new = iris(slice(1, None, 2))[0]
    assert_allclose(
        model.transform(new),
        model.weights_[0] * (new - mean) @ (X - mean).T / size,
        atol=1e-9,
    )
    plain = KernelCombiner(["linear"], lam=0.01, center=False, scale=False).fit(
        X - mean, y
    )
    assert_allclose(
        plain.transform(new), plain.weights_[0] * new @ (X - mean).T, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["newton", "sgd", "cvxpy"])
def test_solvers_of_the_estimator(solver):
    X, y = iris(slice(None, None, 5))
    model = KernelCombiner(BLOCKS, "l2-corr", 0.01, solver=solver, random_state=0).fit(
        X, y
    )
    best = KernelCombiner(BLOCKS, "l2-corr", 0.01, tol=1e-6).fit(X, y)
    assert best.objective_ * (1 - 1e-6) <= model.objective_ <= 1.2 * best.objective_
    assert model.objective_ * (1 - model.gap_) <= best.objective_ * (1 + 1e-6)
    assert model.weights_.shape == (4,) and (solver == "cvxpy") == (
        model.n_iter_ is None
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("solver", ["newton", "sgd", "cvxpy"])
def test_reported_gap_is_primal_minus_dual(solver, name):
    """thm-pairs-dual by hand, in plain numpy: the gap is relative to the objective,
    once, whichever solver."""
    X, y = iris(slice(None, None, 5))
    lam, options = 0.1, {} if solver == "cvxpy" else {"max_iter": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KernelCombiner(
            BLOCKS, name, lam, solver=solver, tol=1e-9, random_state=0, **options
        ).fit(X, y)
    gaussian = RBFKernel().gram
    K = [gaussian(X[:, [0]]), gaussian(X[:, [1]]), gaussian(X[:, 2:]), X @ X.T]
    problem = PairProblem([standardize_gram(G) for G in K], y)
    term = term_of(problem, name)
    solve = {"newton": solve_newton, "sgd": solve_sgd, "cvxpy": solve_cvxpy}[solver]
    if solver == "newton":
        options["tol"] = 1e-9
    if solver == "sgd":
        options["random_state"] = np.random.RandomState(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve(problem, term, lam, **options)
    Z, t = problem.Z.astype(float), problem.t.astype(float)
    w, mu, a = np.full(len(t), 1.0 / len(t)), model.weights_, found.a.astype(float)
    linear, A = 0.5 * lam * term.linear, 0.5 * lam * term.quadratic
    primal = linear @ mu + mu @ A @ mu + w @ np.maximum(1.0 - t * (Z @ mu), 0.0)
    v = Z.T @ (a * t)
    if A.any():  # the supremum over weights, as least squares
        ridge = np.linalg.cholesky(2.0 * A + 1e-14 * np.eye(4))
        x = nnls(ridge.T, np.linalg.solve(ridge, v - linear))[0]
        dual = a.sum() - (v - linear) @ x + x @ A @ x
    else:  # feasible after scaling
        dual = a.sum() * min(1.0, (linear[v > 0] / v[v > 0]).min(initial=1.0))
    scale = 1e-6 if solver != "cvxpy" else 3e-7
    assert_allclose(model.objective_, primal, rtol=1e-6)
    assert_allclose(model.gap_, (primal - dual) / primal, rtol=1e-3, atol=scale)
    if solver != "cvxpy":
        assert model.gap_ > 1e-3  # far from the optimum, so that the figure is tested


def test_gap_of_cvxpy_is_not_divided_twice(monkeypatch):
    """Far from the optimum the relative gap is told from the absolute one, and from
    one that is divided by the objective again."""
    X, y = iris(slice(None, None, 5))
    options = {"max_iter": 3}
    exact = machines.solve_cvxpy

    def stopped_early(problem, term, lam, tol=1e-3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return exact(problem, term, lam, **options)

    monkeypatch.setattr(machines, "solve_cvxpy", stopped_early)
    model = KernelCombiner(BLOCKS, "l2", 1.0, solver="cvxpy").fit(X, y)
    problem, term = model._pair_problem(X, y, None)
    found = stopped_early(problem, term, 1.0)
    primal = problem.objective(model.weights_, term, 1.0)
    dual = dual_value(problem, term, 1.0, found.a)
    assert primal < 0.95 and primal - dual > 1e-3
    assert_allclose(model.gap_, (primal - dual) / primal, rtol=1e-6)


def test_cvxpy_is_imported_by_the_oracle_alone():
    code = "import sys, okbook.mkl; print('cvxpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "False", run.stderr


def test_clone_pickle_search_and_pipeline():
    X, y = iris()
    model = KernelCombiner(
        [RBFKernel(sigma=1.0), (LinearKernel(), [0, 1])],
        lam=0.01,
        n_pairs=500,
        random_state=0,
    )
    K = model.fit(X, y).transform(X)
    assert_allclose(clone(model).fit(X, y).transform(X), K, atol=1e-9)
    assert_allclose(pickle.loads(pickle.dumps(model)).transform(X), K, atol=1e-9)
    machine = make_pipeline(
        StandardScaler(), KernelCombiner(BLOCKS, lam=0.01), SVC(kernel="precomputed")
    )
    search = GridSearchCV(
        machine,
        {
            "kernelcombiner__regularizer": ["l1", "l2"],
            "kernelcombiner__lam": [0.1, 0.01],
        },
        cv=3,
    )
    assert search.fit(X, y).score(*iris(slice(1, None, 2))) > 0.9


def test_path_leaves_the_estimator_alone():
    X, y = iris()
    model = KernelCombiner(BLOCKS, "l1", tol=1e-6)
    path = model.path(X, y, [0.1, 0.01])
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert_allclose(
        path[1].mu, model.set_params(lam=0.01).fit(X, y).weights_, atol=1e-2
    )


def test_all_weights_zero():
    X, y = iris()
    with pytest.warns(
        UserWarning, match=r"All weights are zero: at lam=5 .* lam_max="
    ) as said:
        model = KernelCombiner(BLOCKS, "l1", 5.0).fit(X, y)
    assert (
        model.gap_ < 1e-6
        and not model.weights_.any()
        and not model.transform(X[:2]).any()
    )
    top = float(str(said[0].message).split("lam_max=")[1].rstrip("."))
    assert KernelCombiner(BLOCKS, "l1", 0.9 * top).fit(X, y).weights_.any()
    with pytest.warns(UserWarning, match="None agrees with the labels"):
        KernelCombiner(["linear"], lam=0.01, center=False).fit(
            np.ones((6, 1)), [0, 0, 1, 1, 2, 2]
        )


def cases():
    X, y = iris()
    square = np.swapaxes([X @ X.T, np.eye(len(X))], 0, 1)
    slanted = square.copy()
    slanted[0, 0, 1] += 1.0
    yield (
        KernelCombiner(solver="magic"),
        X,
        y,
        "The 'solver' parameter of KernelCombiner must be",
    )
    yield KernelCombiner(regularizer="l0"), X, y, "l0"
    yield KernelCombiner(lam=0.0), X, y, "The 'lam' parameter of KernelCombiner must be"
    yield KernelCombiner("linear"), X, y, "The 'kernels' parameter of KernelCombiner"
    yield KernelCombiner([]), X, y, "kernels must be None"
    yield KernelCombiner(["no such kernel"]), X, y, "Unknown kernel"
    yield KernelCombiner(), X, np.zeros(len(y)), "one class"
    yield KernelCombiner(), X, np.r_[y[:-1], 7], "one member"
    yield KernelCombiner(), X, y[:-1], "inconsistent numbers of samples"
    yield KernelCombiner(), X, None, "requires y to be passed"
    yield KernelCombiner("precomputed"), X, y, "list of p Gram matrices"
    yield KernelCombiner("precomputed"), square[:, :, :-1], y, "list of p Gram matrices"
    yield KernelCombiner("precomputed"), slanted, y, "symmetric"
    yield KernelCombiner("precomputed"), -square, y, "positive semi-definite"
    yield (
        KernelCombiner("precomputed"),
        np.where(square == square[0, 0, 0], np.nan, square),
        y,
        "(?i)nan",
    )
    yield (
        KernelCombiner([(RBFKernel(), [0])]),
        np.c_[np.ones(len(X)), X],
        y,
        "same point",
    )


@pytest.mark.parametrize("model, X, y, message", list(cases()))
def test_bad_input(model, X, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_other_shapes_at_prediction():
    X, y = iris()
    model = KernelCombiner("precomputed", lam=0.01).fit(
        np.swapaxes([X @ X.T, np.eye(len(X))], 0, 1), y
    )
    with pytest.raises(ValueError, match="2 kernels with 75 training examples"):
        model.transform(np.ones((3, 2, 7)))


def test_stochastic_gradient_takes_the_tolerance_of_the_estimator():
    X, y = iris(slice(None, None, 5))
    options = {"solver": "sgd", "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="not tol=1e-09"):
        KernelCombiner(BLOCKS, "l2", 10.0, tol=1e-9, **options).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loose = KernelCombiner(BLOCKS, "l2", 10.0, tol=0.9, **options).fit(X, y)
    assert 1e-3 < loose.gap_ <= 0.9 or loose.n_iter_ == 1000


def test_zero_weights_where_lam_max_is_infinite():
    X, y = iris(slice(None, None, 5))
    with pytest.warns(UserWarning, match="too small to tell. Choose a smaller lam or"):
        model = KernelCombiner(BLOCKS, "l2", 1e100).fit(X, y)
    assert not model.weights_.any()


@pytest.mark.parametrize("tol", [1, 1.5])
def test_the_tolerance_of_an_estimator_is_below_one(tol):
    X, y = iris(slice(None, None, 5))
    with pytest.raises(ValueError, match=r"'tol' parameter .* range \[0.0, 1.0\)"):
        KernelCombiner(BLOCKS, tol=tol).fit(X, y)
