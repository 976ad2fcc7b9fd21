"""Oracles of decomposable kernels and of maximum margin regression on random input,
scikit-learn's checks, messages."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg as sla
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from okbook.core import GramKernel, center_gram, normalize_gram, roc_auc
from okbook.rkhs import (
    CovarianceRidge,
    CovarianceRidgeCV,
    KernelDependencyEstimation,
    LinkPredictor,
    MaximumMarginRegression,
    MultiTaskRidge,
    MultiTaskRidgeCV,
    OutputKernelRidge,
    operator_ridge,
)
from okbook.rkhs.decomposable import (
    covariance_cv_losses,
    covariance_dual,
    decomposable_dual,
    decomposable_loo,
    margin_objectives,
)

SMALL = {"lam_grid": (0.1, 1.0), "cv": 2}
CHECKED = [
    MultiTaskRidge(),
    MultiTaskRidgeCV(),
    *(CovarianceRidge(output_kernel=kernel) for kernel in ("linear", "rbf", "dirac")),
    *(
        CovarianceRidgeCV(output_kernel=kernel, **SMALL)
        for kernel in ("linear", "rbf", "dirac")
    ),
    *(
        MaximumMarginRegression(output_kernel=kernel)
        for kernel in ("dirac", "linear", "rbf")
    ),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def low_rank(rng, n, rank):
    "A Gram matrix of that rank, and a factor."
    R = rng.normal(size=(n, rank))
    return R @ R.T, R


def problem(seed):
    "Gram matrices, singular for even seeds, and outputs."
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 15)), int(rng.integers(1, 6))
    K, _ = low_rank(rng, n, n + 3 if seed % 2 else max(1, n // 2))
    A, _ = low_rank(rng, d, d + 3 if seed % 2 else max(1, d // 2))
    return rng, K, A, rng.normal(size=(n, d)), float(10 ** rng.uniform(-2, 1))


@pytest.mark.parametrize("seed", range(20))
def test_sylvester_is_the_kronecker_system(seed):
    "eq-beyond-sylvester, eq-beyond-kronecker: with K and A of full rank or not."
    rng, K, A, Y, lam = problem(seed)
    C = decomposable_dual(K, A, Y, lam)
    assert_allclose(K @ C @ A + lam * C, Y, atol=1e-9)
    long = np.linalg.solve(np.kron(A, K) + lam * np.eye(Y.size), Y.ravel(order="F"))
    assert_allclose(C, long.reshape(Y.shape, order="F"), atol=1e-8)
    if seed % 2:
        inverse = np.linalg.inv(A)
        assert_allclose(
            C, sla.solve_sylvester(K, lam * inverse, Y @ inverse), atol=1e-6
        )


def test_any_operator_valued_kernel():
    """thm-beyond-ridge: the theorem of the chapter, for a kernel that is not the
    identity."""
    rng = np.random.default_rng(0)
    X, Y, (A, _) = rng.normal(size=(9, 2)), rng.normal(size=(9, 3)), low_rank(rng, 3, 2)
    h = operator_ridge(
        lambda P, R: np.multiply.outer(rbf_kernel(P, R, gamma=0.5), A), X, Y, 0.2
    )
    model = MultiTaskRidge(
        input_kernel_params={"gamma": 0.5}, lam=0.2, task_gram=A
    ).fit(X, Y)
    new = rng.normal(size=(4, 2))
    assert_allclose(model.predict(new), h(new), atol=1e-9)
    null = sla.null_space(A)
    assert_allclose(
        model.predict(new) @ null, np.zeros((4, 1)), atol=1e-9
    )  # thm-beyond-norm


@pytest.mark.parametrize("seed", range(6))
def test_leave_one_out(seed):
    "eq-beyond-loo: by leaving out."
    rng, K, A, Y, lam = problem(seed)
    left = []
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        C = decomposable_dual(K[np.ix_(rest, rest)], A, Y[rest], lam)
        left.append(np.sum((Y[i] - K[i, rest] @ C @ A) ** 2))
    assert_allclose(decomposable_loo(K, A, Y, [lam]), [np.mean(left)], rtol=1e-7)


def test_multi_task_ridge_is_kernel_ridge():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    for y in (Y, Y[:, 0]):
        oracle = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.3).fit(X, y)
        ours = MultiTaskRidge(input_kernel_params={"gamma": 0.5}, lam=0.3).fit(X, y)
        assert_allclose(ours.predict(X), oracle.predict(X), atol=1e-9)
        assert_allclose(ours.score(X, y), oracle.score(X, y))
        K = rbf_kernel(X, gamma=0.5)
        assert_allclose(
            MultiTaskRidge("precomputed", lam=0.3).fit(K, y).predict(K),
            ours.predict(X),
            atol=1e-9,
        )
    assert MultiTaskRidgeCV().fit(X, Y).loo_losses_.shape == (50,)
    assert (
        MultiTaskRidgeCV("precomputed").fit(np.zeros((30, 30)), Y).lam_ > 0
    )  # a kernel that says nothing


@pytest.mark.parametrize("seed", range(8))
def test_covariance_of_the_outputs(seed):
    "eq-beyond-weights: the Sylvester equation, and vectors with A written down."
    rng, K, _, Y, lam = problem(seed)
    shrinkage = float(rng.random())
    moment, K_out = Y.T @ Y, Y @ Y.T
    B = covariance_dual(K, K_out, lam, shrinkage)
    M = shrinkage * np.eye(len(K)) + (1 - shrinkage) * K_out / np.linalg.norm(K_out, 2)
    Z = (
        np.linalg.solve(np.kron(M, K) + lam * np.eye(K.size), np.eye(len(K)).ravel())
        .reshape(K.shape)
        .T
    )
    assert_allclose(B, Z @ M, atol=1e-7)
    A = shrinkage * np.eye(len(moment)) + (1 - shrinkage) * moment / np.linalg.norm(
        moment, 2
    )
    assert_allclose(K @ B @ Y, K @ decomposable_dual(K, A, Y, lam) @ A, atol=1e-8)


def test_covariance_between_two_models_of_the_chapter():
    """Shrinkage 1 is ordinary ridge regression; eigenvalues 1 and 0 of A are kernel
    dependency estimation with p directions."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(25, 3)), rng.normal(size=(25, 4))
    params = dict(input_kernel_params={"gamma": 0.5}, lam=0.3)
    one = CovarianceRidge(shrinkage=1.0, output_kernel="rbf", **params).fit(X, Y)
    assert_allclose(
        one.weights(X),
        OutputKernelRidge(output_kernel="rbf", **params).fit(X, Y).weights(X),
        atol=1e-9,
    )
    U = np.linalg.eigh(Y.T @ Y)[1][:, -2:]
    kept = MultiTaskRidge(task_gram=U @ U.T, **params).fit(X, Y)
    kde = KernelDependencyEstimation(
        n_components=2, output_kernel="linear", **params
    ).fit(X, Y)
    assert_allclose(kept.predict(X), kde.predict(X), atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "dirac"])
def test_covariance_cross_validation(kernel):
    """The losses of the grid are those of the fitted models; a Gram matrix of
    outputs gives the same."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(24, 2))
    Y = rng.integers(3, size=24) if kernel == "dirac" else rng.normal(size=(24, 3))
    folds = KFold(4, shuffle=True, random_state=0)
    grid = dict(lam_grid=[0.1, 1.0, 10.0], shrinkage_grid=[0.0, 0.5, 1.0])
    model = CovarianceRidgeCV(cv=folds, output_kernel=kernel, **grid).fit(X, Y)
    for i, lam in enumerate(sorted(grid["lam_grid"])[::-1]):
        for j, shrinkage in enumerate(grid["shrinkage_grid"]):
            one = CovarianceRidge(lam=lam, shrinkage=shrinkage, output_kernel=kernel)
            losses = [one.fit(X[a], Y[a]).losses(X[b], Y[b]) for a, b in folds.split(X)]
            assert_allclose(
                model.cv_losses_[i, j], np.concatenate(losses).mean(), rtol=1e-8
            )
    assert model.best_loss_ == model.cv_losses_.min()
    blind = CovarianceRidgeCV(cv=folds, output_kernel="precomputed", **grid).fit(
        X, model.gram_
    )
    assert blind.best_params_ == model.best_params_
    assert_allclose(blind.weights(X), model.weights(X), atol=1e-12)


def test_outputs_at_the_origin():
    X = np.arange(6.0)[:, None]
    assert_array_equal(CovarianceRidge().fit(X, np.zeros(6)).predict(X), np.zeros(6))
    assert (
        covariance_cv_losses(
            np.eye(4), np.zeros((4, 4)), [1.0], [0.5], [([0, 1], [2, 3])]
        )
        == 0.0
    )


def unit(K, center):
    "Gram matrix of the outputs as unit vectors, eq-beyond-unit."
    return normalize_gram(center_gram(K) if center else K, tol=1e-12)


def reference(Q, C):
    "Projected gradient to death."
    alpha, step = np.zeros(len(Q)), 1.0 / max(np.linalg.norm(Q, 2), 1e-300)
    for _ in range(20_000):
        alpha = np.clip(alpha + step * (1 - Q @ alpha), 0, C)
    return alpha


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("center", [False, True])
def test_margin_reaches_the_optimum(seed, center):
    """thm-beyond-margin, eq-beyond-gap: the optimum of another method, the
    conditions, the certificate."""
    rng, K, _, Y, _ = problem(seed)
    C = float(10 ** rng.uniform(-2, 1))
    model = MaximumMarginRegression(
        input_kernel="precomputed",
        C=C,
        center=center,
        tol=1e-9,
        output_kernel="linear",
        max_iter=100_000,
    ).fit(K, Y)
    Q = K * unit(Y @ Y.T, center)
    assert model.primal_ - model.dual_ <= 2e-9 * model.primal_
    assert_allclose(model.dual_, margin_objectives(Q, reference(Q, C), C)[1], rtol=1e-4)
    g = 1 - Q @ model.alpha_
    assert model.alpha_.min() >= 0 and model.alpha_.max() <= C
    slack = 1e-3
    assert (model.alpha_[g > slack] == C).all() and (
        model.alpha_[g < -slack] <= 1e-3 * C
    ).all()
    rough = MaximumMarginRegression(
        input_kernel="precomputed", C=C, center=center, tol=0.1, output_kernel="linear"
    ).fit(K, Y)
    difference = rough.alpha_ - model.alpha_
    assert (
        0.5 * difference @ Q @ difference <= rough.primal_ - rough.dual_ + 1e-6
    )  # eq-beyond-gap
    assert rough.primal_ - rough.dual_ <= 0.1 * rough.primal_ + 1e-12


def test_margin_weights():
    "eq-beyond-margin-weights: from explicit unit vectors."
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    for center in (False, True):
        model = MaximumMarginRegression(center=center, output_kernel="linear").fit(X, Y)
        V = Y - Y.mean(axis=0) if center else Y
        V = V / np.linalg.norm(V, axis=1, keepdims=True)
        new = rng.normal(size=(4, 2))
        K_new = model.input_kernel_.gram(new, X)
        assert_allclose(model.predict(new), (K_new * model.alpha_) @ V, atol=1e-10)
        assert_allclose(unit(Y @ Y.T, center), V @ V.T, atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_margin_is_the_support_vector_machine(C):
    "eq-beyond-margin with y = +-1."
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0.7, 1.0, -1.0)
    oracle = LinearSVC(
        loss="hinge", C=C, fit_intercept=False, tol=1e-9, max_iter=1_000_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        oracle.fit(X, y)
    ours = MaximumMarginRegression(
        input_kernel="linear",
        C=C,
        tol=1e-8,
        output_kernel="linear",
        center=False,
        max_iter=10_000,
    )
    assert_allclose(ours.fit(X, y).predict(X), oracle.decision_function(X), atol=2e-3)
    names = np.where(y > 0, "yes", "no")
    two = MaximumMarginRegression(
        input_kernel="linear", C=C, tol=1e-8, max_iter=10_000
    ).fit(X, names)
    clear = np.abs(ours.predict(X)) > 1e-3
    assert_array_equal(two.predict(X)[clear] == "yes", ours.predict(X)[clear] > 0)


def test_margin_with_an_explicit_intercept_kernel_is_close_to_svc():
    "The kernel plus a large constant has an intercept that costs next to nothing."
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.3)
    oracle = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(K, y).decision_function(K)
    model = MaximumMarginRegression(
        input_kernel="precomputed",
        tol=1e-9,
        max_iter=100_000,
        output_kernel="linear",
        center=False,
    )
    assert_allclose(model.fit(K + 300.0, y).predict(K + 300.0), oracle, atol=0.02)


def test_small_C_is_parzens_window():
    "All coefficients at C: the mean of the kernel over each class."
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(3, size=40)
    model = MaximumMarginRegression(C=1e-3, center=False).fit(X, y)
    assert_array_equal(model.alpha_, np.full(40, 1e-3))


def test_output_at_the_origin_has_no_weight():
    X, Y = np.arange(5.0)[:, None], np.array([[1.0, 0], [0, 1], [0, 0], [1, 1], [2, 0]])
    model = MaximumMarginRegression(output_kernel="linear", center=False).fit(X, Y)
    assert (model.weights(X)[:, 2] == 0).all() and np.isfinite(model.weights(X)).all()
    assert np.isinf(model.lengths_[2]) and model.alpha_[2] == model.C


def test_margin_warns_when_stopped_early():
    rng = np.random.default_rng(0)
    with pytest.warns(
        ConvergenceWarning, match="duality gap is .* of the criterion, above tol=1e-09"
    ):
        MaximumMarginRegression(C=100.0, tol=1e-9, max_iter=1).fit(
            rng.normal(size=(50, 2)), np.arange(50) % 2
        )


def test_unit_outputs_centred():
    "Equal classes, centred, are the corners of a regular simplex."
    y = np.repeat(np.arange(4), 5)
    K = np.equal.outer(y, y).astype(float)
    assert_allclose(unit(K, center=True), np.where(K > 0, 1, -1 / 3), atol=1e-12)
    model = MaximumMarginRegression(input_kernel="precomputed").fit(np.eye(20), y)
    assert_allclose(model.lengths_**2, center_gram(K).diagonal(), atol=1e-12)


@pytest.mark.parametrize(
    "model, message",
    [
        (MultiTaskRidge(lam=0), "The 'lam' parameter .* Got 0"),
        (MultiTaskRidge(lam="1"), "The 'lam' parameter .* Got '1'"),
        (
            MultiTaskRidge(task_gram=np.eye(3)),
            r"one row for each of the 2 outputs: got shape \(3, 3\)",
        ),
        (
            MultiTaskRidge(task_gram=[[0, 1], [1, 0]]),
            "task_gram .*positive semi-definite",
        ),
        (MultiTaskRidge(task_gram=[[1, 2], [0, 1]]), "task_gram .*symmetric"),
        (MultiTaskRidgeCV(lam_grid=[]), "lam_grid must be a sequence of numbers"),
        (
            MultiTaskRidgeCV(lam_grid=[1.0, -1.0]),
            "lam_grid == -1.0, must be > 0.0",
        ),
        (CovarianceRidge(lam=np.nan), "The 'lam' parameter .* Got nan"),
        (
            CovarianceRidge(shrinkage=-0.1),
            "The 'shrinkage' parameter .* Got -0.1",
        ),
        (
            CovarianceRidgeCV(shrinkage_grid=[2.0]),
            "shrinkage_grid == 2.0, must be <= 1.0",
        ),
        (
            CovarianceRidge(input_kernel="precomputed"),
            "The Gram matrix X .*square",
        ),
        (
            MaximumMarginRegression(C=0, output_kernel="rbf"),
            "The 'C' parameter .* Got 0",
        ),
        (
            MaximumMarginRegression(tol=-1, output_kernel="rbf"),
            "The 'tol' parameter .* Got -1",
        ),
        (
            MaximumMarginRegression(max_iter=None, output_kernel="rbf"),
            "The 'max_iter' parameter .* Got None",
        ),
        (
            MaximumMarginRegression(max_iter=2.5, output_kernel="rbf"),
            "The 'max_iter' parameter .* Got 2.5",
        ),
    ],
)
def test_messages(model, message):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        model.fit(rng.normal(size=(10, 3)), rng.normal(size=(10, 2)))


@pytest.mark.parametrize(
    "weight",
    [-np.ones(10), np.full(10, np.nan), np.ma.masked_equal(np.arange(10), 3)],
    ids=["negative", "nan", "masked"],
)
def test_weights_of_a_score_are_checked(weight):
    X = np.random.default_rng(0).normal(size=(10, 3))
    model = MultiTaskRidge().fit(X, X)
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(X, X[::-1], sample_weight=weight)


@pytest.mark.parametrize(
    "model",
    CHECKED,
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'output_kernel', '')}",
)
def test_a_good_citizen(model):
    """Clone, pickle, pipeline, grid search; a second fit gives the same, but for
    where BLAS starts in memory."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    once, again = (
        clone(model).fit(X, y),
        pickle.loads(pickle.dumps(clone(model).fit(X, y))),
    )
    assert_allclose(once.predict(X), again.predict(X), atol=1e-9)
    name = next(p for p in ("lam", "C", "lam_grid") if p in model.get_params())
    values = [(0.1, 0.2), (1.0, 2.0)] if name == "lam_grid" else [0.1, 1.0]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(model)),
        {f"{type(model).__name__.lower()}__{name}": values},
    )
    assert np.isfinite(search.fit(X, y).best_score_)


def test_cross_validation_of_gram_matrices():
    "A kernel over indices on the outputs, a Gram matrix of the inputs."
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 3))
    kernel = GramKernel(rbf_kernel(Y))
    for model in (
        CovarianceRidge(input_kernel="precomputed", output_kernel=kernel),
        MaximumMarginRegression(input_kernel="precomputed", output_kernel=kernel),
    ):
        assert np.isfinite(
            cross_val_score(model, rbf_kernel(X), np.arange(30), cv=3)
        ).all()


def test_links_with_a_margin():
    "LinkPredictor takes the weights of any model."
    rng = np.random.default_rng(0)
    place = rng.random((60, 2))
    links = (rbf_kernel(place, gamma=1.0) > np.exp(-0.04)).astype(float) - np.eye(60)
    for model in (
        MaximumMarginRegression(input_kernel_params={"gamma": 20.0}),
        CovarianceRidge(input_kernel_params={"gamma": 20.0}),
    ):
        predictor = LinkPredictor(model, random_state=0).fit(
            place[:30], links[:30, :30]
        )
        scores = predictor.score_pairs(place[30:])
        assert roc_auc(links[30:, 30:], scores) > 0.8
