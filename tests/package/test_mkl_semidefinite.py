"""Learning a Gram matrix in one semidefinite program, against the machine itself."""

import numpy as np
import pytest

from okbook.mkl import learn_gram, machine_value
from okbook.mkl.semidefinite import learn_gram_weights


@pytest.fixture(scope="module")
def kernels():
    rng = np.random.default_rng(3)
    y = np.repeat([-1.0, 1.0], [5, 7])
    return np.array([B @ B.T for B in rng.normal(size=(3, 12, 4)) + y[:, None] / 2]), y


def test_value_is_the_least_of_the_primal(kernels):
    "eq-mklsdp-value: strong duality, with the primal written out in cvxpy."
    import cvxpy as cp

    (K, *_), y = kernels
    root = np.linalg.cholesky(K + 1e-10 * np.eye(12))
    w, b = cp.Variable(12), cp.Variable()
    slack = cp.pos(1 - cp.multiply(y, root @ w + b))
    primal = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 0.3 * cp.sum(slack)))
    value, alpha = machine_value(K, y, C=0.3)
    assert value == pytest.approx(primal.solve(solver="CLARABEL"), rel=1e-5)
    assert alpha.min() >= 0 and alpha.max() <= 0.3 + 1e-9
    assert abs(alpha @ y) < 1e-8


@pytest.mark.parametrize("nonnegative", [False, True])
def test_program_is_the_machine_and_nothing_is_below(kernels, nonnegative):
    "thm-mklsdp-schur, on weights from a grid of all kernels."
    grams, y = kernels
    traces = grams.trace(axis1=1, axis2=2)
    found = learn_gram_weights(grams, y, C=2.0, nonnegative=nonnegative)
    combined = np.tensordot(found.mu, grams, 1)
    assert machine_value(combined, y, C=2.0)[0] == pytest.approx(found.value, rel=1e-5)
    assert found.mu @ traces == pytest.approx(12, rel=1e-6)
    for shares in np.random.default_rng(0).dirichlet(np.ones(3), 100):
        K = np.tensordot(12 * shares / traces, grams, 1)
        assert machine_value(K, y, C=2.0)[0] >= found.value * (1 - 1e-4)


def test_value_where_the_kernel_is_singular():
    "Programs without an inner point, which Clarabel left 1e-3 of their value early."
    for x, y in (
        ([0.55, 2.11, 1.71, -0.89, -0.01], [1, 1, 0, 1, 0]),
        ([-1.53, -1.12, 0.0019, -0.44, -0.64], [1, 0, 0, 1, 0]),
    ):
        K = 5.0 * np.outer(x, x) / np.dot(x, x)
        found = learn_gram_weights([K], y, C=0.1)
        assert found.mu == pytest.approx(1.0, rel=1e-6)
        assert found.value == pytest.approx(machine_value(K, y, C=0.1)[0], rel=1e-6)


def test_clarabel_is_tried_without_its_scaling(monkeypatch):
    import cvxpy as cp

    tried, solve = [], cp.Problem.solve

    def fails_at_first(program, **options):
        tried.append(options)
        if len(tried) == 1:
            raise cp.SolverError("no progress")
        return solve(program, **options)

    monkeypatch.setattr(cp.Problem, "solve", fails_at_first)
    assert learn_gram([0, 0, 1, 1]).value == pytest.approx(0.5, rel=1e-6)
    assert [options["equilibrate_enable"] for options in tried] == [True, False]
    tried.clear()  # a solver that was chosen is asked once
    with pytest.raises(ValueError, match="cvxpy finds no matrix: no progress"):
        learn_gram([0, 0, 1, 1], solver="SCS")
    assert tried == [{"solver": "SCS"}]


def test_swapping_the_classes_changes_nothing(kernels):
    "thm-mklsdp-free: the best matrix is a function of who is with whom."
    one, other = learn_gram([0, 0, 0, 1, 1]), learn_gram(["b", "b", "b", "a", "a"])
    np.testing.assert_allclose(one.K, other.K, atol=1e-3)
    assert one.value == pytest.approx(2 * 6 / 25, rel=1e-5)


def test_bad_input(kernels):
    grams, y = kernels
    with pytest.raises(ValueError, match="Two classes are needed, and y has 3"):
        learn_gram([0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="a row for each of the 12 labels"):
        learn_gram_weights([np.eye(11)], y)
    with pytest.raises(ValueError, match="one matrix or more"):
        learn_gram_weights([], y)
    with pytest.raises(ValueError, match="semi-definite"):
        learn_gram_weights([-np.eye(12)], y)


def test_value_of_a_matrix_beyond_single_precision():
    with pytest.raises(ValueError, match=r"K has a largest entry of 1e\+300"):
        machine_value(1e300 * np.eye(4), [0, 0, 1, 1])
