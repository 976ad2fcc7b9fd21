"""First page of okbook.rkhs: naive formulas, scikit-learn as oracle, leaving out;
estimator checks; every message."""

import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.linalg as sla
from contract import parametrize_with_checks
from exact import exactly, solved_exactly
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okbook.core import GramKernel, center_gram, diffusion_gram
from okbook.core.scores import check_grid
from okbook.rkhs import (
    KernelDependencyEstimation,
    OutputKernelRidge,
    OutputKernelRidgeCV,
    RKHSFunction,
    block_gram,
    default_lam_grid,
    leave_one_out_losses,
    operator_ridge,
    ridge_factor,
    ridge_path,
    ridge_weights,
    times_identity,
)
from okbook.rkhs.leave_one_out import gram_eigh, output_directions, project_weights

MODELS = [OutputKernelRidge, OutputKernelRidgeCV, KernelDependencyEstimation]


def data(n=30, p=2, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.c_[np.sin(X), X[:, :1] ** 2][:, :d] + 0.1 * rng.normal(size=(n, d))


def turning(A, B):
    """The kernel of a turning hand times an RBF: an operator-valued kernel whose
    blocks are not symmetric."""
    angle = np.subtract.outer(np.ravel(A), np.ravel(B))
    turn = np.stack(
        [np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1
    )
    return np.exp(-(angle**2))[:, :, None, None] * turn.reshape(*angle.shape, 2, 2)


# --- sections 3 and 4 of RRSN, for operator-valued kernels ---


@pytest.mark.parametrize("seed", range(5))
def test_reproducing_property(seed):
    "eq-rrsn-1 and thm-rrsn-1, with random sums over random points."
    rng = np.random.default_rng(seed)
    h = RKHSFunction(turning, rng.normal(size=7), rng.normal(size=(7, 2)))
    x, y = rng.normal(size=1), rng.normal(size=(1, 2))
    assert_allclose(h.inner(RKHSFunction(turning, x, y)), (h(x) @ y.T).item())
    g = RKHSFunction(turning, rng.normal(size=4), rng.normal(size=(4, 2)))
    assert_allclose(h.inner(g), g.inner(h))
    assert h.inner(h) > 0
    size = np.linalg.norm(h(x)) ** 2
    assert size <= h.inner(h) * np.linalg.norm(
        turning(x, x)[0, 0], 2
    )  # evaluation is continuous


@pytest.mark.parametrize("seed", range(5))
def test_representer(seed):
    """thm-rrsn-2: eq-rrsn-3 with the coefficients of eq-rrsn-4 minimises eq-rrsn-2,
    against all other functions."""
    rng = np.random.default_rng(seed)
    X, Y, lam = rng.normal(size=9), rng.normal(size=(9, 2)), 10.0 ** rng.uniform(-3, 1)
    h = operator_ridge(turning, X, Y, lam)
    criterion = lambda f: np.sum((f(X) - Y) ** 2) + lam * f.inner(f)
    assert_allclose(Y - h(X), lam * h.coefficients, atol=1e-10)  # eq-rrsn-4
    assert_allclose(criterion(h), lam * np.vdot(Y, h.coefficients))
    for _ in range(5):
        g = RKHSFunction(turning, rng.normal(size=6), rng.normal(size=(6, 2)))
        assert_allclose(
            criterion(h + g), criterion(h) + np.sum(g(X) ** 2) + lam * g.inner(g)
        )  # eq-rrsn-2


def test_linear_equations_by_numpy():
    """eq-rrsn-4 as printed, a loop over blocks, with the order of arguments that
    chapter 2 proves right."""
    rng = np.random.default_rng(0)
    X, Y, lam = rng.normal(size=5), rng.normal(size=(5, 2)), 0.1
    system = np.zeros((10, 10))
    for j in range(5):
        for i in range(5):
            block = turning(X[[j]], X[[i]])[0, 0] + lam * (i == j) * np.eye(2)
            system[2 * j : 2 * j + 2, 2 * i : 2 * i + 2] = block
    expected = np.linalg.solve(system, Y.ravel()).reshape(5, 2)
    assert_allclose(operator_ridge(turning, X, Y, lam).coefficients, expected)


def test_times_identity():
    """eq-rrsn-5: positive semi-definite, and operator_ridge with it is thm-rrsn-3
    and KernelRidge."""
    X, Y = data()
    kernel = times_identity("rbf", 3, {"gamma": 0.5})
    G = block_gram(kernel, X)
    assert_allclose(G, np.kron(rbf_kernel(X, gamma=0.5), np.eye(3)))
    assert np.linalg.eigvalsh(G).min() > -1e-10
    h = operator_ridge(kernel, X, Y, 0.1)
    C = Y.T @ np.linalg.inv(
        rbf_kernel(X, gamma=0.5) + 0.1 * np.eye(30)
    )  # thm-rrsn-3, as printed
    assert_allclose(h.coefficients, C.T)
    ours = OutputKernelRidge(input_kernel_params={"gamma": 0.5}, lam=0.1).fit(X, Y)
    assert_allclose(ours.predict(X[:4] + 1), h(X[:4] + 1))
    assert_allclose(
        ours.predict(X),
        KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, Y).predict(X),
    )


def test_order_of_arguments():
    """Definition 1 and eq-rrsn-1 as printed do not fit together: the space would
    have a negative squared norm."""
    E = np.eye(2)
    unit = lambda A, B: np.einsum("ix,jy->ijxy", E[np.asarray(A)], E[np.asarray(B)])
    G = block_gram(unit, [0, 1])
    assert_allclose(np.linalg.eigvalsh(G), [0, 0, 0, 2], atol=1e-12)
    swapped = block_gram(lambda A, B: unit(A, B).transpose(1, 0, 2, 3), [0, 1])
    assert_allclose(np.linalg.eigvalsh(swapped), [-1, 1, 1, 1])


# --- leave one out ---


def problems():
    rng = np.random.default_rng(0)
    X, Y = data(n=60, p=3, d=3)
    copies = np.repeat(X[:20], 3, axis=0)  # a singular Gram matrix
    graph = np.triu(rng.random((60, 60)) < 0.1, 1)
    outputs = {
        "linear": Y @ Y.T,
        "rbf": rbf_kernel(Y, gamma=1.0),
        "identity": np.eye(60),
        "diffusion": diffusion_gram((graph | graph.T).astype(float), 1.0),
    }
    inputs = {
        "rbf": rbf_kernel(X, gamma=0.3),
        "narrow": rbf_kernel(X, gamma=30.0),
        "wide": rbf_kernel(X, gamma=0.01),
        "copies": rbf_kernel(copies, gamma=0.3),
        "linear": X @ X.T,
        "identity": np.eye(60),
    }
    return [
        pytest.param(K, Ky, id=f"{a}-{b}")
        for a, K in inputs.items()
        for b, Ky in outputs.items()
    ]


@pytest.mark.parametrize(("K", "K_out"), problems())
def test_leave_one_out_is_leaving_out(K, K_out):
    """thm-rkhs-loo over a grid, for output kernels of any rank, against refits
    without each example."""
    lams = np.logspace(-5, 3, 17)
    fast = leave_one_out_losses(K, K_out, lams)
    slow = np.empty_like(fast)
    for a, lam in enumerate(lams):
        for i in range(len(K)):
            rest = np.arange(len(K)) != i
            w = np.linalg.solve(
                K[np.ix_(rest, rest)] + lam * np.eye(rest.sum()), K[rest, i]
            )
            slow[a, i] = (
                w @ K_out[np.ix_(rest, rest)] @ w - 2 * w @ K_out[rest, i] + K_out[i, i]
            )
    assert_allclose(fast, slow, atol=1e-8 * K_out.diagonal().mean(), rtol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_paths_and_leaving_out_have_the_digits_that_the_condition_leaves(seed):
    """eq-rkhs-path, eq-rkhs-loo in exact arithmetic, up to a condition of 1e12; outputs
    of low and of full rank, kernels of low rank, near the identity and smooth."""
    rng, n = np.random.default_rng(seed), 26
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    K = [rbf_kernel(X, gamma=0.01), X @ X.T, np.eye(n) + 1e-6 * rbf_kernel(X)][seed % 3]
    K_out = [rbf_kernel(Y, gamma=5.0), Y @ Y.T][seed % 2]
    K_cross = K[:4] + 1e-3 * rng.normal(size=(4, n))
    lams = 10.0 ** rng.uniform(-11, 2, size=3)
    losses = leave_one_out_losses(K, K_out, lams)
    for lam, W, loss in zip(lams, ridge_path(K, K_cross, lams), losses, strict=True):
        with localcontext(prec=60):
            unit = np.eye(n, dtype=int).astype(object)
            inverse = solved_exactly(exactly(K) + Decimal(lam) * unit, unit)
            weights = (exactly(K_cross) @ inverse).astype(float)
            squares = (inverse @ exactly(K_out) @ inverse.T).diagonal()
            left_out = (squares / inverse.diagonal() ** 2).astype(float)
        digits = 10 * n * 2.0**-53 * (1 + np.linalg.norm(K, 2) / lam)
        assert_allclose(loss, left_out, rtol=digits + 1e-9)
        scale = np.linalg.norm(weights, axis=1, keepdims=True)
        assert (np.abs(W - weights) <= digits * scale).all()


def test_leave_one_out_of_scikit_learn():
    """KernelRidge under LeaveOneOut, and the results that RidgeCV stores, where
    outputs are vectors."""
    X, Y = data(n=40)
    lams = np.logspace(-3, 2, 6)
    fast = leave_one_out_losses(rbf_kernel(X, gamma=0.5), Y @ Y.T, lams)
    for row, lam in zip(fast, lams):
        left_out = cross_val_predict(
            KernelRidge(kernel="rbf", gamma=0.5, alpha=lam), X, Y, cv=LeaveOneOut()
        )
        assert_allclose(row, np.sum((left_out - Y) ** 2, axis=1), atol=1e-8, rtol=1e-8)
    ridge = RidgeCV(alphas=lams, fit_intercept=False, store_cv_results=True).fit(X, Y)
    stored = ridge.cv_results_.sum(axis=1).T  # examples, targets, ridges
    assert_allclose(
        leave_one_out_losses(X @ X.T, Y @ Y.T, lams), stored, atol=1e-10, rtol=1e-8
    )


@pytest.mark.parametrize("width", [0.02, 0.2, 2.0])
def test_leave_one_out_is_stable(width):
    """The far and near pairs of the fast form against the slow sum, row by row, over
    twelve decades."""
    rng = np.random.default_rng(1)
    X, Y = rng.random((150, 2)), rng.random((150, 2))
    K, K_out, lams = (
        rbf_kernel(X, gamma=0.5 / width**2),
        rbf_kernel(Y, gamma=50.0),
        np.logspace(-7, 5, 40),
    )
    s, Q = sla.eigh(K)
    A, D = Q.T @ K_out @ Q, lams[:, None] / (np.maximum(s, 0) + lams[:, None])
    slow = np.array(
        [
            np.einsum("ia,ab,ib->i", Q * d, A, Q * d, optimize=True) / (Q**2 @ d) ** 2
            for d in D
        ]
    )
    assert_allclose(leave_one_out_losses(K, K_out, lams), slow, rtol=1e-9)


def test_distant_ridges_are_apart():
    """thm-rkhs-near needs groups of at most three decades, also if only two ridges are
    given."""
    rng = np.random.default_rng(1)
    K, K_out = (
        rbf_kernel(rng.random((150, 2))),
        rbf_kernel(rng.random((150, 2)), gamma=50.0),
    )
    lams = np.array([1e-7, 1e5])
    s, Q = sla.eigh(K)
    A, D = Q.T @ K_out @ Q, lams[:, None] / (np.maximum(s, 0) + lams[:, None])
    slow = [np.einsum("ia,ab,ib->i", Q * d, A, Q * d) / (Q**2 @ d) ** 2 for d in D]
    assert_allclose(leave_one_out_losses(K, K_out, lams), slow, rtol=1e-9)
    assert_allclose(leave_one_out_losses(K, K_out, lams[::-1]), slow[::-1], rtol=1e-9)


def test_leave_one_out_with_a_great_mean():
    "eq-rkhs-peel: what the outputs have in common costs no digits."
    X, Y = data(n=50)
    K, lams = rbf_kernel(X, gamma=0.1), np.logspace(-6, 2, 9)
    Y = Y + 1e4
    slow = np.empty((9, 50))
    for a, lam in enumerate(lams):
        R = np.linalg.inv(K + lam * np.eye(50))
        slow[a] = np.sum((R @ Y / np.diag(R)[:, None]) ** 2, axis=1)
    assert_allclose(leave_one_out_losses(K, Y @ Y.T, lams), slow, rtol=1e-5)


def test_cv_chooses_the_least():
    X, Y = data()
    model = OutputKernelRidgeCV(input_kernel_params={"gamma": 0.5}).fit(X, Y)
    assert model.loo_losses_.shape == model.lam_grid_.shape == (50,)
    assert model.best_loss_ == model.loo_losses_.min()
    assert model.lam_ == model.lam_grid_[model.loo_losses_.argmin()]
    plain = OutputKernelRidge(input_kernel_params={"gamma": 0.5}, lam=model.lam_).fit(
        X, Y
    )
    assert_allclose(model.predict(X), plain.predict(X), atol=1e-12)
    tie = OutputKernelRidgeCV(input_kernel="linear", lam_grid=[1.0, 2.0]).fit(
        np.zeros((4, 1)), Y[:4]
    )  # nothing to learn
    assert tie.lam_ == 2.0


# --- the estimators ---


@parametrize_with_checks(
    [
        cls(output_kernel=kernel)
        for cls in MODELS
        for kernel in ("linear", "rbf", "dirac")
    ]
    + [KernelDependencyEstimation(n_components=2, center=True)],
    expected_failed_checks=lambda estimator: (
        {
            f"check_sample_weight_equivalence_on_{kind}_data": "a copy is left out"
            for kind in ("dense", "sparse")
        }
        if isinstance(estimator, OutputKernelRidgeCV)
        else {}
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", MODELS)
def test_copies_and_tools(cls):
    X, Y = data()
    model = cls(output_kernel="rbf", output_kernel_params={"sigma": 1.0}).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X))
    assert_array_equal(clone(model).fit(X, Y).predict(X), model.predict(X))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), cls()),
        {f"{cls.__name__.lower()}__output_kernel": ["linear"]},
    )
    assert search.fit(X, Y).best_score_ > 0.3


@pytest.mark.parametrize("cls", MODELS)
def test_gram_matrices_are_enough(cls):
    "On either side or on both: the same weights and the same predicted kernel."
    X, Y = data()
    K, K_out, cross = (
        rbf_kernel(X, gamma=0.5),
        rbf_kernel(Y, gamma=1.0),
        rbf_kernel(X + 0.3, X, gamma=0.5),
    )
    seeing = cls(
        input_kernel="rbf",
        input_kernel_params={"gamma": 0.5},
        output_kernel="rbf",
        output_kernel_params={"gamma": 1.0},
    ).fit(X, Y)
    blind = cls(input_kernel="precomputed", output_kernel="precomputed").fit(K, K_out)
    assert_allclose(blind.predict_gram(cross), seeing.predict_gram(X + 0.3), atol=1e-9)
    by_index = cls(input_kernel="precomputed", output_kernel=GramKernel(K_out)).fit(
        K, np.arange(len(K))
    )
    assert_allclose(by_index.weights(cross), blind.weights(cross))


@pytest.mark.parametrize("cls", MODELS)
def test_defaults(cls):
    """The same in all three: the ridge, and pre-images among all training outputs,
    also those of zero weight."""
    X, Y = data()
    ridge = {"lam_grid": [1e3]} if cls is OutputKernelRidgeCV else {"lam": 1e3}
    model = cls(input_kernel="precomputed", output_kernel=lambda a, b: a @ b.T, **ridge)
    query = np.eye(30)[[0]]  # its point is close to the origin, on the way to Y[0]
    nearest = np.argmin(np.sum(Y**2, axis=1))
    assert nearest != 0
    assert_array_equal(model.fit(np.eye(30), Y).predict(query)[0], Y[nearest])
    if cls is not OutputKernelRidgeCV:
        small = OutputKernelRidge(lam=1e-3).fit(X, Y)
        assert_allclose(cls().fit(X, Y).weights(X), small.weights(X), atol=1e-12)


def test_infinite_dimensional_outputs():
    """thm-rrsn-3 never looks at the outputs: the weights are the same for every
    output kernel."""
    X, Y = data()
    fitted = [
        OutputKernelRidge(output_kernel=k).fit(X, Y).weights(X)
        for k in ("linear", "rbf", "laplacian")
    ]
    assert_array_equal(fitted[0], fitted[1])
    assert_array_equal(fitted[0], fitted[2])
    expected = rbf_kernel(X, gamma=0.5) @ np.linalg.inv(
        rbf_kernel(X, gamma=0.5) + 1e-3 * np.eye(30)
    )
    model = OutputKernelRidge(
        input_kernel_params={"gamma": 0.5}, output_kernel="rbf"
    ).fit(X, Y)
    assert_allclose(model.weights(X), expected, atol=1e-9)


def test_ridge_path():
    "eq-rkhs-path: the weights of each ridge."
    X, _ = data()
    K, cross = rbf_kernel(X, gamma=0.5), rbf_kernel(X + 1, X, gamma=0.5)
    for lam, W in zip([0.01, 1.0], ridge_path(K, cross, [0.01, 1.0])):
        assert_allclose(W, np.linalg.solve(K + lam * np.eye(30), cross.T).T, atol=1e-10)
    for lams in ([1.0, -1.0], [0.0]):
        with pytest.raises(ValueError, match=f"lams == {lams[-1]}, must be > 0.0"):
            next(ridge_path(K, cross, lams))


@pytest.mark.parametrize("model", [OutputKernelRidge, KernelDependencyEstimation])
def test_a_ridge_may_be_a_large_integer(model):
    X, Y = data()
    one, two = (model(lam=lam).fit(X, Y).predict(X) for lam in (10**30, 1e30))
    assert_array_equal(one, two, strict=True)
    with pytest.raises(ValueError, match="lam must be .* too large"):
        model(lam=10**400).fit(X, Y)


@pytest.mark.parametrize("center", [False, True])
def test_weston_whole_is_cortes(center):
    """thm-rkhs-meet: with all directions kept the predicted points are the same;
    cut, the loss is eq-rkhs-truncation."""
    X, Y = data()
    settings = dict(
        input_kernel_params={"gamma": 0.5}, lam=0.1, center=center, output_kernel="rbf"
    )
    cortes = KernelDependencyEstimation(**settings).fit(X, Y)
    weston = KernelDependencyEstimation(n_components=30, **settings).fit(X, Y)
    assert_allclose(weston.predict_gram(X), cortes.predict_gram(X), atol=1e-9)
    if not center:
        assert_allclose(
            cortes.weights(X),
            OutputKernelRidge(**{k: settings[k] for k in settings if k != "center"})
            .fit(X, Y)
            .weights(X),
            atol=1e-12,
        )
    cut = KernelDependencyEstimation(n_components=3, **settings).fit(X, Y)
    U, eigenvalues = output_directions(cortes.gram_, center=center)
    K = rbf_kernel(X, gamma=0.5)
    gap, b = (
        cut.weights(X) - cortes.weights(X),
        sla.cho_solve(cortes.factor_, center_gram(K) if center else K).T,
    )
    distance = np.einsum("qi,ij,qj->q", gap, cortes.gram_, gap)
    assert_allclose(distance, (b @ U[:, 3:]) ** 2 @ eigenvalues[3:], atol=1e-9)


# --- bad input ---

X, Y = data()
BAD = [
    (OutputKernelRidge(lam=0.0), X, Y, "The 'lam' parameter .* Got 0.0"),
    (OutputKernelRidge(lam=-1), X, Y, "The 'lam' parameter .* Got -1"),
    (OutputKernelRidge(lam="1"), X, Y, "The 'lam' parameter .* Got '1'"),
    (OutputKernelRidge(lam=np.nan), X, Y, "The 'lam' parameter .* Got nan"),
    (OutputKernelRidge(lam=np.inf), X, Y, "The 'lam' parameter .* Got inf"),
    (
        KernelDependencyEstimation(n_components=0),
        X,
        Y,
        "The 'n_components' parameter .* Got 0",
    ),
    (
        KernelDependencyEstimation(n_components=1.5),
        X,
        Y,
        "The 'n_components' parameter .* Got 1.5",
    ),
    (
        KernelDependencyEstimation(center=None),
        X,
        Y,
        "The 'center' parameter .* Got None",
    ),
    (
        OutputKernelRidgeCV(lam_grid=[]),
        X,
        Y,
        "lam_grid must be a sequence of numbers: got \\[\\]",
    ),
    (
        OutputKernelRidgeCV(lam_grid=[1.0, 0.0]),
        X,
        Y,
        "lam_grid == 0.0, must be > 0.0",
    ),
    (
        OutputKernelRidgeCV(lam_grid=0.1),
        X,
        Y,
        "The 'lam_grid' parameter .* Got 0.1",
    ),
    (
        OutputKernelRidge(input_kernel="precomputed"),
        -np.eye(30),
        Y,
        "The Gram matrix X .*positive semi-definite",
    ),
    (
        OutputKernelRidge(input_kernel="precomputed"),
        X,
        Y,
        r"The Gram matrix X .*square.*got shape \(30, 2\)",
    ),
    (
        OutputKernelRidge(
            input_kernel="sigmoid", input_kernel_params={"gamma": 1.0, "coef0": -2.0}
        ),
        X,
        Y,
        "positive semi-definite",
    ),
    (OutputKernelRidge(input_kernel="nonsense"), X, Y, "Unknown kernel 'nonsense'"),
    (
        OutputKernelRidge(output_kernel="precomputed"),
        X,
        -np.eye(30),
        "The Gram matrix y must be positive",
    ),
    (
        OutputKernelRidge(candidates="all"),
        X,
        Y,
        "The 'candidates' parameter .* Got 'all'",
    ),
    (
        OutputKernelRidge(),
        X,
        Y[:7],
        "inconsistent numbers of samples: X has n_samples=30, y has 7",
    ),
]


@pytest.mark.parametrize(("model", "X", "y", "message"), BAD)
def test_messages(model, X, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.weights(X)


def test_messages_of_the_functions():
    X, Y = data()
    with pytest.raises(
        ValueError, match=r"of one shape: got \(30, 30\) and \(29, 29\)"
    ):
        leave_one_out_losses(np.eye(30), np.eye(29), [1.0])
    with pytest.raises(ValueError, match=r"of one shape: got \(30, 2\) and \(30, 30\)"):
        leave_one_out_losses(X, np.eye(30), [1.0])
    with pytest.raises(
        ValueError,
        match=r"shape \(len\(A\), len\(B\), d, d\), here \(30, 30, d, d\): got "
        r"shape \(30, 30\)",
    ):
        block_gram(rbf_kernel, X)
    with pytest.raises(
        ValueError, match=r"one vector for each of the 30 points: got shape \(29, 3\)"
    ):
        RKHSFunction(times_identity("rbf", 3), X, Y[1:])
    with pytest.raises(
        ValueError,
        match=r"Y must have one row for each of the 30 inputs, 60 numbers: got "
        r"shape \(30, 3\)",
    ):
        operator_ridge(times_identity("rbf", 2), X, Y, 1.0)
    with pytest.raises(ValueError, match="positive semi-definite"):
        operator_ridge(lambda A, B: -times_identity("rbf", 3)(A, B), X, Y, 1.0)
    with pytest.raises(
        ValueError, match=r"plus lam=0.5 times the identity is not positive definite"
    ):
        ridge_factor(-np.eye(2), 0.5)
    for lam in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"lam == {lam}, must be"):
            ridge_factor(np.eye(2), lam)
    for lam in ("1", None):
        with pytest.raises(TypeError, match="lam must be an instance of float"):
            ridge_factor(np.eye(2), lam)


@pytest.mark.parametrize(
    "values, message",
    [
        ([], "lam_grid must be a sequence of numbers"),
        (1.0, "lam_grid must be a sequence of numbers: got 1.0"),
        ([[1.0]], "lam_grid must be a sequence of numbers"),
        (["1"], "lam_grid must be a sequence of numbers"),
        ([1.0, np.nan], "lam_grid contains NaN or infinity"),
        ([1.0, np.inf], "lam_grid contains NaN or infinity"),
        ([1.0, 0.0], "lam_grid == 0.0, must be > 0.0"),
        ([1, -2], "lam_grid == -2, must be > 0.0"),
    ],
)
def test_grids_are_checked(values, message):
    with pytest.raises(ValueError, match=message):
        check_grid(values, "lam_grid")
    with pytest.raises(ValueError, match=message):
        leave_one_out_losses(np.eye(3), np.eye(3), values)


def test_bounds_of_grids():
    assert check_grid([0, 1], "x", include_boundaries="left").dtype == np.float64
    assert_array_equal(
        check_grid((0.0, 1.0), "x", max_val=1.0, include_boundaries="both"), [0.0, 1.0]
    )
    with pytest.raises(ValueError, match="x == 1.5, must be <= 1.0"):
        check_grid([0.5, 1.5], "x", max_val=1.0, include_boundaries="both")
    with pytest.raises(ValueError, match="x == -0.1, must be >= 0.0"):
        check_grid([-0.1], "x", include_boundaries="left")


def test_default_ridges():
    K = np.diag([1.0, 3.0])
    assert_allclose(default_lam_grid(K), 2.0 * np.logspace(-6, 3, 50), strict=True)
    assert_allclose(default_lam_grid(np.zeros((2, 2)), 2), [1e-6, 1e3], strict=True)


def test_gram_eigh_has_no_negative_eigenvalue():
    X, _ = data()
    K = X @ X.T  # rank 2
    values, vectors = gram_eigh(K)
    assert values.min() == 0.0
    assert_allclose((vectors * values) @ vectors.T, K, atol=1e-12)


def test_weights_of_ridge_regression():
    "thm-rrsn-3: by an inverse, at queries."
    X, _ = data()
    K, cross = rbf_kernel(X, gamma=0.5), rbf_kernel(X[:7] + 1, X, gamma=0.5)
    W = ridge_weights(ridge_factor(K, 0.2), cross)
    assert_allclose(W, cross @ np.linalg.inv(K + 0.2 * np.eye(30)), atol=1e-12)


@pytest.mark.parametrize("center", [False, True])
def test_projected_weights(center):
    "eq-rkhs-weston, step by step with vectors."
    X, Y = data()
    mean = Y.mean(axis=0) if center else 0.0
    U, values = output_directions(Y @ Y.T, 2, center)
    axes = (Y - mean).T @ U / np.sqrt(values)  # the principal directions themselves
    W = np.random.default_rng(0).normal(size=(5, 30))
    point = mean + W @ ((Y - mean) @ axes) @ axes.T
    projected = project_weights(W, U, center)
    assert_allclose(projected @ Y, point, atol=1e-10)
    if center:
        assert_allclose(projected.sum(axis=1), np.ones(5))
    assert_array_equal(project_weights(W), W)
