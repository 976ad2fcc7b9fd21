"""Powers and groups as regularisers: solutions against cvxpy, conjugates and proximal
steps against brute force, certificates."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from okbook._extras import cvxpy as cp
from okbook.core import RBFKernel
from okbook.mkl import (
    GroupRegularizer,
    PairProblem,
    PowerRegularizer,
    certificate,
    make_regularizer,
    solve_newton,
    solve_norm,
    standardize_gram,
)

assert_allclose = partial(np.testing.assert_allclose, strict=False)
TERMS = [
    *(PowerRegularizer(p, 6) for p in (1.1, 1.5, 2.0, 3.0, 10.0)),
    GroupRegularizer([0, 0, 1, 1, 2, 2]),
    GroupRegularizer(list("abbbcc")),
]


@pytest.fixture(scope="module")
def problem():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(36, 6))
    X[:18, :2] += 1.5
    kernel = RBFKernel(sigma=1.0)
    grams = [standardize_gram(kernel.gram(x[:, None])) for x in X.T]
    return PairProblem(grams, np.arange(36) < 18)


def penalty(term, mu):
    "The regulariser as it is written, for cvxpy."
    if isinstance(term, PowerRegularizer):
        return cp.sum(cp.power(mu, term.exponent))
    parts = [np.flatnonzero(term.members == g) for g in range(len(term.sizes))]
    return sum(np.sqrt(len(part)) * cp.norm(mu[part]) for part in parts)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("lam", [0.1, 0.01])
@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_the_solution_is_that_of_cvxpy(problem, term, lam):
    found = solve_norm(problem, term, lam, tol=1e-5)
    assert found.gap <= 1e-5
    mu = cp.Variable(6, nonneg=True)
    margins = (problem.Z.astype(float) * problem.t[:, None]) @ mu
    loss = problem.w.astype(float) @ cp.pos(1 - margins)
    program = cp.Problem(cp.Minimize(0.5 * lam * penalty(term, mu) + loss))
    program.solve(solver="CLARABEL")
    assert_allclose(found.objective, program.value, rtol=2e-5)
    assert found.dual <= program.value * (1 + 1e-6)
    assert_allclose(found.mu, mu.value, atol=0.01 * mu.value.max())


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_conjugate(term):
    "prop-mklnorm-power and prop-mklnorm-group: no weights gain more."
    draw = np.random.default_rng(1)
    for lam in (0.1, 2.0):
        v = draw.normal(size=6)
        v *= term.scale_dual(v, lam)
        value, best = term.conjugate(v, lam)
        assert np.isfinite(value)
        assert_allclose(v @ best - 0.5 * lam * term.value(best), value, rtol=1e-9)
        for _ in range(200):
            mu = best * draw.exponential(size=6) + draw.exponential() * draw.random(6)
            assert v @ mu - 0.5 * lam * term.value(mu) <= value + 1e-12
    groups = TERMS[-2]
    assert groups.conjugate(np.full(6, 0.5), 1.0)[0] == np.inf  # at the threshold
    assert groups.conjugate(np.full(6, 0.499), 1.0)[0] == 0.0


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_proximal(term):
    "prop-mklnorm-prox, and the step of a power."
    draw = np.random.default_rng(2)
    for step in (0.05, 1.0):
        x = draw.normal(size=6)

        def height(mu):
            return 0.5 * np.sum((mu - x) ** 2) + step * term.value(mu)

        found = term.proximal(x, step)
        options = {"ftol": 1e-14, "gtol": 1e-10}
        bounds = [(1e-12, None)] * 6
        other = minimize(height, np.maximum(x, 0.1), bounds=bounds, options=options)
        assert found.min() >= 0 and height(found) <= other.fun + 1e-9
        assert_allclose(found, other.x, atol=1e-3)


@pytest.mark.parametrize("p", [1.001, 1.1, 1.5, 3.0, 10.0])
def test_proximal_of_any_size(p):
    "eq-mklnorm-prox-power, between numbers that are 1e60 apart; at last there is none."
    draw, term = np.random.default_rng(2), PowerRegularizer(p, 200)
    for step in 10.0 ** draw.uniform(-30, 30, 20):
        x = 10.0 ** draw.uniform(-30, 10, 200)
        y = term.proximal(x, step)
        slope, seen = y + step * p * y ** (p - 1.0), y > 1e-290
        assert_allclose(slope[seen], x[seen], rtol=1e-13)
    least = term.proximal(np.array([8e-322, 0.0, -1.0]), 1e-8)
    assert least[0] <= 8e-322 and (least[1:] == 0.0).all()


def test_a_short_step_is_found():
    "Where the model's step is 1e5 times too long, two points took turns."
    X = np.array([[-0.3, 1, 1.3, 0.8], [-0.2, -1.2, 0.1, 0], [-0.5, 1.6, -1.5, 0.2]])
    grams = [np.outer(x, x) for x in X - X.mean(axis=1, keepdims=True)]
    problem = PairProblem(grams, [0, 1, 0, 1], pair_weight="balanced")
    found = solve_norm(problem, GroupRegularizer([0, 0, 1]), 0.1, max_iter=20)
    assert found.gap <= 1e-3


def test_two_is_the_squared_norm(problem):
    found = solve_norm(problem, PowerRegularizer(2, 6), 0.02, tol=1e-6)
    oracle = solve_newton(problem, make_regularizer("l2", 6), 0.02, tol=1e-6)
    assert_allclose(found.objective, oracle.objective, rtol=1e-6)
    assert_allclose(found.mu, oracle.mu, atol=1e-2 * oracle.mu.max())


def test_groups_of_one_are_the_sum(problem):
    found = solve_norm(problem, GroupRegularizer(range(6)), 0.02, tol=1e-6)
    oracle = solve_newton(problem, make_regularizer("l1", 6), 0.02, tol=1e-6)
    assert_allclose(found.objective, oracle.objective, rtol=1e-6)
    np.testing.assert_array_equal(found.mu > 1e-6, oracle.mu > 1e-6)


def test_weights_are_powers_of_the_correlations(problem):
    "eq-mklnorm-ratio, at the optimum."
    for p in (1.5, 4.0):
        found = solve_norm(problem, PowerRegularizer(p, 6), 0.1, tol=1e-7)
        v = np.maximum(problem.adjoint(found.a), 0.0)
        ratio = (v / v.max()) ** (1.0 / (p - 1.0))
        assert_allclose(found.mu / found.mu.max(), ratio, atol=0.02)


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_any_weights_have_a_certificate(problem, term):
    draw = np.random.default_rng(3)
    best = solve_norm(problem, term, 0.05, tol=1e-5)
    for _ in range(20):
        a = draw.random(problem.n_pairs) * problem.w
        found = certificate(problem, term, 0.05, draw.exponential(size=6), a)
        assert found.dual <= best.objective and best.dual <= found.objective


def test_what_is_refused(problem):
    with pytest.raises(ValueError, match="6 kernels|2 kernels"):
        solve_norm(problem, PowerRegularizer(2, 2), 0.1)
    with pytest.raises(ValueError, match="'exponent' parameter"):
        PowerRegularizer(1.0, 3)
    with pytest.raises(ValueError, match="solve_newton solves"):
        solve_norm(problem, make_regularizer("l1", 6), 0.1)
    with pytest.warns(ConvergenceWarning, match="after 1 steps"):
        solve_norm(problem, PowerRegularizer(1.2, 6), 1e-3, tol=1e-8, max_iter=1)


def test_a_group_without_positive_correlations_is_off():
    "prop-mklnorm-group, its first case: any weights lose, at least the regulariser."
    term, lam = GroupRegularizer([0, 0, 0]), 0.4
    draw = np.random.default_rng(3)
    for v in (np.array([-1.0, -0.1, 0.0]), np.zeros(3), -draw.random(3)):
        assert term.conjugate(v, lam)[0] == 0.0
        for mu in draw.random((50, 3)):
            assert v @ mu - 0.5 * lam * term.value(mu) <= -0.5 * lam * term.value(mu)


@pytest.mark.parametrize("p", [1.1, 1.5, 2.0, 4.0])
def test_the_proximal_step_of_a_power_solves_its_equation(p):
    "eq-mklnorm-prox-power."
    x = np.array([3.0, 0.5, 0.01, 0.0, -2.0])
    y = PowerRegularizer(p, 5).proximal(x, 0.7)
    assert (y[:3] > 0).all() and (y[3:] == 0).all()
    assert_allclose(y + 0.7 * p * y ** (p - 1.0), np.maximum(x, 0.0), rtol=1e-12)
