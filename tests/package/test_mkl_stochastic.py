"""Stochastic gradients on pairs: their solutions against Newton's method and cvxpy,
their certificates, and what they count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from okbook.core import RBFKernel
from okbook.mkl import (
    PairProblem,
    certificate,
    make_regularizer,
    solve_cvxpy,
    solve_newton,
    solve_stochastic,
    standardize_gram,
)
from okbook.mkl.stochastic import _proximal

METHODS = ("constant", "decreasing", "averaged", "svrg")
NAMES = ("l2", "l1", "l2-corr", "l1-corr", "sparse-corr")
pytestmark = pytest.mark.filterwarnings("ignore:The relative duality gap")


@pytest.fixture(scope="module")
def problem():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(40, 6))
    X[:20, :2] += 1.5
    kernel = RBFKernel(sigma=1.0)
    grams = [standardize_gram(kernel.gram(x[:, None])) for x in X.T]
    return PairProblem(grams, np.arange(40) < 20, pair_weight="balanced")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch_size", [1, 16])
def test_variance_reduction_finds_the_solution(problem, name, batch_size):
    term = make_regularizer(name, problem.correlations_)
    found = solve_stochastic(
        problem, term, 0.03, "svrg", 2e4, batch_size, tol=1e-5, random_state=0
    )
    assert found.gap <= 1e-5
    for solve in (solve_newton, solve_cvxpy):
        oracle = solve(problem, term, 0.03, tol=1e-6)
        assert_allclose(found.objective, oracle.objective, rtol=1.1e-5)
        assert_allclose(found.mu, oracle.mu, atol=0.03 * oracle.mu.max())


@pytest.mark.parametrize("method", METHODS)
def test_certificates_are_true(problem, method):
    "No objective lies below a dual value, and what is returned proves it again."
    for name in NAMES:
        term = make_regularizer(name, problem.correlations_)
        found = solve_stochastic(problem, term, 0.03, method, 20, random_state=1)
        least = solve_newton(problem, term, 0.03, tol=1e-7)
        assert found.dual <= least.objective
        assert found.objective >= least.dual
        again = certificate(problem, term, 0.03, found.mu, found.a)
        assert again.gap == found.gap
        assert found.mu.min() >= 0 and found.gap < 1


def test_gaps_in_order(problem):
    "Constant steps stall; variance reduction does not (thm-mklsgd-linear)."
    term = make_regularizer("l2", 6)
    gaps = [
        solve_stochastic(problem, term, 0.1, m, 500, 4, 1e-6, random_state=0).gap
        for m in METHODS
    ]
    assert gaps[3] <= 1e-6 < min(gaps[1:3]) and max(gaps[1:3]) < gaps[0]


def test_a_fixed_width_leaves_its_smoothing_error(problem):
    term = make_regularizer("l2", 6)
    wide, narrow = (
        solve_stochastic(problem, term, 0.1, passes=2000, tol=1e-6, delta=d).gap
        for d in (1.0, 0.25)
    )
    assert 1e-5 < narrow < 0.25 * wide


@pytest.mark.parametrize("method", METHODS)
def test_passes_are_pairs_read(problem, method):
    term = make_regularizer("l1", 6)
    found = solve_stochastic(problem, term, 0.01, method, 12, 8, 0.0, random_state=0)
    drawn = found.n_iter * 8 / problem.n_pairs
    anchors = len(found.trace) if method == "svrg" else 0
    assert_allclose(found.n_passes, drawn + anchors)
    assert found.n_passes <= 12 + 1e-9
    assert (np.diff(found.trace, axis=0) * [1, -1] >= -1e-15).all()
    again = solve_stochastic(problem, term, 0.01, method, 12, 8, 0.0, random_state=0)
    np.testing.assert_array_equal(again.mu, found.mu)


def test_a_wide_gap_warns(problem):
    with pytest.warns(ConvergenceWarning, match="passes at lam=0.001"):
        solve_stochastic(problem, make_regularizer("l1", 6), 1e-3, passes=3)


@pytest.mark.parametrize("bad", [{"lam": 0}, {"method": "sag"}, {"delta": -1.0}])
def test_parameters_are_checked(problem, bad):
    with pytest.raises(ValueError, match="parameter of solve_stochastic"):
        solve_stochastic(problem, make_regularizer("l1", 6), **{"lam": 0.1, **bad})


def test_a_proximal_step_does_not_pass_the_optimum():
    "The example on paper: half of lambda R is mu^2, the loss has the slope -2."
    assert_allclose(_proximal(2.0, 1.0, 0.0, 2.0), 2 / 3)
    mu = 0.0
    for length in (1.0, 100.0, 0.1):
        new = _proximal(mu + 2.0 * length, length, 0.0, 2.0)
        assert mu < new < 1.0
        mu = new


def test_what_is_not_charged(problem):
    "Plain steps are charged for what they draw, though each epoch has a certificate."
    term = make_regularizer("l2", 6)
    found = solve_stochastic(problem, term, 0.1, "averaged", 8, random_state=0)
    assert len(found.trace) > 8
    assert_allclose(found.n_passes, found.n_iter * 16 / problem.n_pairs)
