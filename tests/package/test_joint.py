"""Oracles of the structured support vector machine on random input, adversarial
input, messages."""

import pickle
import warnings
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from okbook.core import GramKernel
from okbook.rkhs import StructuredSVM
from okbook.rkhs.joint import (
    cutting_plane,
    loss_augmented_decode,
    restricted_dual,
    structured_svm,
)

CHECKED = [
    StructuredSVM(output_kernel=kernel, max_iter=50)
    for kernel in ("dirac", "linear", "rbf")
]


def problem(seed, degenerate=False):
    """Features of inputs, of candidates and of pairs, and right outputs; degenerate:
    equal inputs, equal candidates, a candidate at the origin, no joint features."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    R, Phi = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    psi, truth = rng.normal(size=(n, m, 1)), rng.integers(0, m, n)
    if degenerate:
        R[1], Phi[0], psi = R[0], 0.0, psi[..., :0]
        Phi[-1] = Phi[-2]
    return R, Phi, psi, truth, float(10 ** rng.uniform(-1.5, 1))


def by_cvxpy(R, Phi, psi, truth, C, one_slack):
    "The criterion with all constraints written out, loss and score as defined."
    n, m = psi.shape[:2]
    W, v = cp.Variable((2, 2)), cp.Variable(max(1, psi.shape[2]))

    def violation(i, c):
        t = truth[i]
        score = [
            R[i] @ W @ Phi[k]
            - 0.5 * Phi[k] @ Phi[k]
            + (psi[i, k] @ v if psi.size else 0.0)
            for k in (t, c)
        ]
        return 0.5 * np.sum((Phi[t] - Phi[c]) ** 2) + score[1] - score[0]

    norm = 0.5 * cp.sum_squares(W) + 0.5 * cp.sum_squares(v)
    if one_slack:
        xi = cp.Variable()
        rules = [
            xi >= sum(violation(i, c[i]) for i in range(n))
            for c in product(range(m), repeat=n)
        ]
    else:
        xi = cp.Variable(n, nonneg=True)
        rules = [xi[i] >= violation(i, c) for i in range(n) for c in range(m)]
    program = cp.Problem(cp.Minimize(norm + C * cp.sum(xi)), rules)
    return program.solve(solver="CLARABEL"), W.value


@pytest.mark.parametrize("degenerate", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_all_constraints_written_out(seed, degenerate):
    "eq-joint-nslack and eq-joint-oneslack, prop-joint-slacks, thm-joint-dual."
    R, Phi, psi, truth, C = problem(seed, degenerate)
    features = psi if psi.size else None
    found = structured_svm(R @ R.T, Phi @ Phi.T, truth, C, features, tol=1e-8)
    for one_slack in (False, True):
        value, W = by_cvxpy(R, Phi, psi, truth, C, one_slack)
        assert_allclose(found.primal, value, rtol=1e-5, atol=1e-7)
        assert found.dual <= value + 1e-6 * abs(value) + 1e-7
        away = R.T @ found.dual_coef @ Phi - W
        assert np.abs(away).max() < 1e-2 * (1 + np.abs(W).max())


@pytest.mark.parametrize("seed", range(5))
def test_a_dual_point_of_one_form_is_one_of_the_other(seed):
    "prop-joint-slacks: marginals, and back by the product of the marginals."
    rng = np.random.default_rng(seed)
    n, m, C = 3, 3, 1.7
    tuples = list(product(range(m), repeat=n))
    alpha = rng.exponential(size=len(tuples))
    alpha *= C / alpha.sum()
    beta = np.zeros((n, m))
    for weight, c in zip(alpha, tuples):
        beta[range(n), c] += weight
    assert_allclose(beta.sum(axis=1), np.full(n, C))
    again = np.array(
        [C * np.prod([beta[i, c[i]] / C for i in range(n)]) for c in tuples]
    )
    Psi, Delta, truth = rng.normal(size=(n, m, 4)), rng.random((n, m)), [0, 1, 2]
    steps = Psi[range(n), truth][:, None] - Psi
    w, b = np.einsum("ic,icp->p", beta, steps), np.sum(beta * Delta)
    for weights in (alpha, again):
        a_t = np.array([steps[range(n), c].sum(axis=0) for c in tuples])
        b_t = np.array([Delta[range(n), c].sum() for c in tuples])
        assert_allclose(weights @ a_t, w, atol=1e-12)
        assert_allclose(weights @ b_t, b)


@pytest.mark.parametrize("C", [0.003, 0.3])
def test_crammer_and_singer(C):
    """The Dirac kernel: the objective of LIBLINEAR, and its scores. (Two wrong classes
    may
    have equal scores at the optimum, so that predictions are no oracle.)"""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 80)
    X = rng.normal(size=(80, 3)) + np.eye(4)[y][:, :3]
    svc = LinearSVC(
        C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-7, max_iter=10**5
    ).fit(X, y)
    own = X @ svc.coef_.T
    margins = 1.0 - np.equal.outer(y, range(4)) + own - own[np.arange(80), y][:, None]
    theirs = 0.5 * np.sum(svc.coef_**2) + C * margins.max(axis=1).sum()
    ours = StructuredSVM(input_kernel="linear", C=C, tol=1e-5).fit(X, y)
    assert_allclose(ours.primal_, theirs, rtol=1e-4)
    assert ours.dual_ <= theirs * (1 + 1e-9)
    scores = ours.weights(X) @ np.equal.outer(y, range(4)).astype(float)
    assert_allclose(scores, own, atol=1e-2 * np.abs(own).max())


def test_what_the_hinge_must_not_be():
    """Mutants of the loss-augmented search differ where the kernel's diagonal is not
    constant: without the half norms of the score, and with the whole loss."""
    rng = np.random.default_rng(0)
    Phi, f = rng.normal(size=(5, 2)), rng.normal(size=(40, 2))
    K, F, truth = Phi @ Phi.T, f @ Phi.T, rng.integers(0, 5, 40)
    right = loss_augmented_decode(F, K, truth)[0]
    loss = np.diag(K)[truth][:, None] + np.diag(K) - 2 * K[truth]
    own = F[np.arange(40), truth][:, None]
    written = (
        0.5 * loss + (F - 0.5 * np.diag(K)) - (own - 0.5 * np.diag(K)[truth][:, None])
    )
    assert_array_equal(right, written.argmax(axis=1))
    for mutant in (0.5 * loss + F - own, loss + F - own):
        assert (right != mutant.argmax(axis=1)).any()


def test_the_dual_value_of_any_weights_is_a_lower_bound():
    "thm-joint-dual, 1 and 3: planes, weights and points at random."
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b, C = rng.normal(size=(6, 3)), rng.uniform(0, 2, 6), rng.uniform(0.1, 3)
        a[0], b[0] = 0.0, 0.0
        alpha = rng.exponential(size=6) * rng.integers(0, 2, 6) + 1e-9
        alpha *= C / alpha.sum()
        w_alpha, w = alpha @ a, rng.normal(size=3)
        primal = lambda w: 0.5 * w @ w + C * np.max(b - a @ w)
        dual = alpha @ b - 0.5 * w_alpha @ w_alpha
        assert primal(w) >= dual + 0.5 * np.sum((w - w_alpha) ** 2) - 1e-9
        best = restricted_dual(a @ a.T, b, C, tol=1e-12)
        star = best @ a
        assert 0.5 * np.sum((w - star) ** 2) <= primal(w) - primal(star) + 1e-6
        assert best @ b - 0.5 * star @ star >= dual - 1e-9


@pytest.mark.parametrize("start", [None, [1.0, 0.0, 3.0, 0.0], [1e-300, 1, 1, 1]])
def test_the_small_program_from_any_start(start):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 2)), rng.random(4)  # of rank two
    start = None if start is None else np.array(start)
    alpha = restricted_dual(a @ a.T, b, 2.0, start, tol=1e-10)
    value = alpha @ b - 0.5 * alpha @ a @ a.T @ alpha
    assert_allclose(alpha.sum(), 2.0)
    oracle = restricted_dual(a @ a.T, b, 2.0, tol=1e-10)
    assert_allclose(value, oracle @ b - 0.5 * oracle @ a @ a.T @ oracle, rtol=1e-8)


def test_it_warns_and_bounds_when_it_stops_short():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    full = StructuredSVM(C=10.0, output_kernel="rbf", tol=1e-4).fit(X, Y)
    for planes in (1, 3, 9):
        short = StructuredSVM(C=10.0, output_kernel="rbf", tol=1e-4, max_iter=planes)
        with pytest.warns(ConvergenceWarning, match=f"After {planes} cutting planes"):
            short.fit(X, Y)
        assert short.n_iter_ == planes
        assert short.dual_ <= full.primal_ and full.dual_ <= short.primal_


def test_nothing_to_learn():
    "Equal outputs, a kernel that says nothing, a wide tolerance: no division by zero."
    X = np.arange(6.0)[:, None]
    same = StructuredSVM(output_kernel="linear").fit(X, np.ones(6))
    assert same.primal_ == 0.0 and same.n_iter_ == 1
    mute = StructuredSVM(input_kernel="precomputed").fit(np.zeros((6, 6)), [0, 1] * 3)
    assert_allclose(mute.primal_, mute.dual_)
    wide = StructuredSVM(tol=2.0).fit(X, [0, 1] * 3)
    assert_array_equal(wide.weights(X), np.zeros((6, 6)))


def test_separable_outputs_have_no_loss():
    "prop-joint-bound: with a large penalty all training outputs are decoded."
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(10, 2))
    params = {"input_kernel_params": {"sigma": 0.3}, "output_kernel": "rbf"}
    model = StructuredSVM(C=1e4, tol=0.01, **params).fit(X, Y)
    assert_array_equal(model.decode(X), np.arange(10))
    blind = StructuredSVM(C=1e4, tol=0.01, **params | {"output_kernel": "precomputed"})
    K = rbf_kernel(Y, gamma=0.5)
    model.set_params(output_kernel_params={"gamma": 0.5}).fit(X, Y)
    assert_allclose(blind.fit(X, K).weights(X), model.weights(X), atol=1e-2)


def test_a_plane_may_be_dense_or_sparse():
    "cutting_plane without kernels: a support vector machine in its own features."
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(30, 2)), np.sign(rng.normal(size=30))

    def separate(w):
        active = s * (X @ w) < 1
        return (s[active] @ X[active])[None], float(active.sum())

    found = cutting_plane(separate, 2, C=0.1, tol=1e-6)
    svc = LinearSVC(C=0.1, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    assert_allclose(found.coef, svc.fit(X, s).coef_[0], atol=1e-2)


@pytest.mark.parametrize(
    "model, message",
    [
        (StructuredSVM(C=0), "The 'C' parameter .* Got 0"),
        (StructuredSVM(tol=-1), "The 'tol' parameter .* Got -1"),
        (StructuredSVM(max_iter=0), "The 'max_iter' parameter .* Got 0"),
        (StructuredSVM(input_kernel="precomputed"), "The Gram matrix X .*square"),
        (StructuredSVM(candidates=[]), "candidates must be"),
    ],
)
def test_messages(model, message):
    rng = np.random.default_rng(0)
    model.set_params(output_kernel="rbf")
    with pytest.raises(ValueError, match=message):
        model.fit(rng.normal(size=(10, 3)), rng.normal(size=(10, 2)))


@pytest.mark.parametrize("model", CHECKED, ids=lambda model: model.output_kernel)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_good_citizen(model):
    "Clone, pickle, pipeline, grid search, candidates that were not in training."
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 3
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    once = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    assert_allclose(once.predict(X), again.predict(X), atol=1e-9)
    assert set(once.predict(X, candidates=[1, 2])) <= {1, 2}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(model)), {"structuredsvm__C": [0.1, 1.0]}
    )
    assert np.isfinite(search.fit(X, y).best_score_)


def test_cross_validation_of_gram_matrices():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(24, 2)), rng.normal(size=(24, 3))
    model = StructuredSVM(
        input_kernel="precomputed", output_kernel=GramKernel(rbf_kernel(Y))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = cross_val_score(model, rbf_kernel(X), np.arange(24), cv=3)
    assert np.isfinite(scores).all()


def lines(w):
    "The highest of four lines at w."
    a, b = np.array([[1.0], [2.0], [-1.0], [0.0]]), np.array([1.0, 1.5, 0.2, 0.0])
    t = int(np.argmax(b - a @ w))
    return a[[t]], b[t]


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"separate": None}, "'separate' .* Got None"),
        ({"separate": lambda w: None}, r"a pair \(a, b\): got None"),
        ({"separate": lambda w: (np.ones(1), 1.0)}, r"shape \(1, 1\) .* shape \(1,\)"),
        ({"separate": lambda w: (np.ones((1, 3)), 1.0)}, r"got shape \(1, 3\)"),
        ({"separate": lambda w: (np.ones((1, 1)) * 1j, 1.0)}, "type complex128"),
        ({"separate": lambda w: (np.ones((1, 1)), np.nan)}, "the offset nan"),
        ({"separate": lambda w: (np.full((1, 1), np.nan), 1.0)}, "finite numbers"),
        ({"separate": lambda w: (np.ones((1, 1)), np.ones(2))}, "its offset of one"),
        ({"metric": 5}, "'metric' .* Got 5"),
        ({"metric": lambda c: np.ones(3)}, r"metric must return 1 .* shape \(3,\)"),
        ({"metric": lambda c: "a"}, "metric must return 1 numbers"),
        ({"C": 10**400}, "C must be .* too large"),
    ],
)
def test_what_is_called_is_checked(changed, message):
    given = {"separate": lines, "n_coef": 1, "C": 1.0, **changed}
    with pytest.raises((TypeError, ValueError), match=message):
        cutting_plane(**given)


def test_the_number_of_planes_is_an_integer():
    with pytest.warns(ConvergenceWarning, match="^After 1 cutting planes"):
        found = cutting_plane(lines, True, C=100.0, max_iter=True)
    assert type(found.n_iter) is int and found.coef.shape == (1,)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"H": [[0.0, 1.0], [0.0, 1.0]]}, "H .*symmetric"),
        ({"H": -np.eye(2)}, "H .*positive semi-definite"),
        ({"alpha": [1e308, 1e308]}, "The sum of alpha overflows"),
        ({"alpha": [-1.0, -1.0]}, "alpha must have a positive entry"),
        ({"C": 10**400}, "C must be .* too large"),
    ],
)
def test_the_small_program_is_checked(changed, message):
    with pytest.raises(ValueError, match=message):
        restricted_dual(**{"H": np.eye(2), "b": [1.0, 2.0], "C": 1.0, **changed})


@pytest.mark.parametrize("name", ["K_x", "K_y"])
def test_both_gram_matrices_are_checked(name):
    given = {"K_x": np.eye(2), "K_y": np.eye(2), "truth": np.array([0, 1]), "C": 1.0}
    for bad, message in (
        ([[1.0, 5.0], [0.0, 1.0]], "symmetric"),
        (-np.eye(2), "positive semi-definite"),
    ):
        with pytest.raises(ValueError, match=f"{name} .*{message}"):
            structured_svm(**{**given, name: bad})
