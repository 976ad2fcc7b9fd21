"""Ridge regression with weights of the examples and an intercept: thm-rkhs-intercept,
prop-rkhs-weighted-loo, and the end of a grid."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV

from okbook.core import LinearKernel
from okbook.core.scores import GridEndWarning, warn_at_end
from okbook.forest_kernel import ForestKernelSVC
from okbook.mkl import AlignmentMKL, BestKernel, TwoStageMKL, UniformMKL
from okbook.rkhs import (
    BipartiteRidgeCV,
    CovarianceRidgeCV,
    KernelDependencyEstimation,
    LinkPredictorCV,
    MultiTaskRidgeCV,
    OutputKernelRidge,
    OutputKernelRidgeCV,
    SemiSupervisedOutputKernelRidgeCV,
    leave_one_out_losses,
)

RBF = {"input_kernel_params": {"gamma": 0.3}}


def data(seed, n=30, offset=0.0):
    draw = np.random.default_rng(seed)
    X, W = draw.normal(size=(n, 3)), draw.uniform(0.1, 3.0, size=n)
    Y = np.c_[X[:, 0] ** 2, np.sin(X[:, 1])] + 0.1 * draw.normal(size=(n, 2)) + offset
    return X, Y, W


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_is_scikit_learns_ridge(weighted, offset):
    "thm-rkhs-intercept, eq-rkhs-intercept; offsets of inputs and outputs cost nothing."
    X, Y, weight = data(0, offset=offset)
    weight = weight if weighted else None
    ours = OutputKernelRidge(input_kernel="linear", lam=0.7, center=True)
    ours.fit(X + offset, Y, sample_weight=weight)
    theirs = Ridge(alpha=0.7).fit(X, Y - offset, sample_weight=weight)
    found = ours.predict(X[:9] + offset)
    tol = 1e-9 + 1e-14 * offset  # what is given has no more digits
    assert_allclose(found - offset, theirs.predict(X[:9]), rtol=0, atol=10 * tol)
    assert_allclose(ours.weights(X[:9] + offset).sum(axis=1), 1.0, rtol=1e-10)


def test_weights_are_scikit_learns():
    X, Y, weight = data(1)
    weight[:4] = 0.0
    ours = OutputKernelRidge(lam=0.2, **RBF).fit(X, Y, sample_weight=weight)
    theirs = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.2)
    assert_allclose(ours.predict(X), theirs.fit(X, Y, weight).predict(X), rtol=1e-9)
    assert not ours.weights(X)[:, :4].any()


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "dirac"])
def test_copies_and_absent_examples(kernel, center):
    "A whole weight is a number of copies; doubled weights are half the ridge."
    X, Y, _ = data(2)
    y = (Y[:, 0] > 0.5).astype(int) if kernel == "dirac" else Y
    counts = np.random.default_rng(2).integers(0, 4, size=30)
    settings = {"output_kernel": kernel, "center": center, **RBF}
    ours = OutputKernelRidge(lam=0.2, **settings).fit(X, y, sample_weight=counts)
    rows = np.repeat(np.arange(30), counts)
    again = OutputKernelRidge(lam=0.2, **settings).fit(X[rows], y[rows])
    double = OutputKernelRidge(lam=0.4, **settings).fit(X, y, sample_weight=2 * counts)
    assert_allclose(ours.losses(X, y), again.losses(X, y), atol=1e-9)
    assert_allclose(ours.weights(X), double.weights(X), atol=1e-9)
    summed = np.zeros((30, 30))
    np.add.at(summed.T, rows, again.weights(X).T)
    assert_allclose(ours.weights(X), summed, atol=1e-9)


def test_minimises_the_criterion():
    "eq-rkhs-weighted, by a search that knows nothing of the theorem."
    X, Y, weight = data(3, n=8, offset=5.0)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))

    def criterion(z):
        c, b = z[:16].reshape(8, 2), z[16:]
        rest = K @ c + b - Y
        return weight @ (rest**2).sum(axis=1) + 0.5 * np.sum(c * (K @ c))

    z = minimize(criterion, np.zeros(18), tol=1e-14, options={"gtol": 1e-9}).x
    model = OutputKernelRidge(lam=0.5, center=True, **RBF)
    model.fit(X, Y, sample_weight=weight)
    assert_allclose(model.predict(X), K @ z[:16].reshape(8, 2) + z[16:], rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_leave_one_out(center, weighted):
    "prop-rkhs-weighted-loo, eq-rkhs-weighted-loo, against the fits."
    X, Y, weight = data(4, n=15)
    K, K_out = X @ X.T + 1.0, np.exp(-((Y[:, None] - Y) ** 2).sum(axis=2))
    weight = weight if weighted else None
    lams = [1e-2, 1.0, 30.0]
    found = leave_one_out_losses(K, K_out, lams, sample_weight=weight, center=center)
    for row, lam in zip(found, lams):
        for i in range(15):
            rest = np.delete(np.arange(15), i)
            model = OutputKernelRidge(
                input_kernel="precomputed",
                output_kernel="precomputed",
                lam=lam,
                center=center,
            ).fit(
                K[np.ix_(rest, rest)],
                K_out[np.ix_(rest, rest)],
                sample_weight=None if weight is None else weight[rest],
            )
            w = model.weights(K[[i]][:, rest])[0]
            loss = K_out[i, i] - 2 * w @ K_out[i, rest]
            loss += w @ K_out[np.ix_(rest, rest)] @ w
            assert_allclose(row[i], loss, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_choice_is_scikit_learns(offset):
    X, Y, weight = data(5, offset=offset)
    lams = np.logspace(-3, 3, 13)
    ours = OutputKernelRidgeCV(input_kernel="linear", lam_grid=lams, center=True)
    ours.fit(X, Y, sample_weight=weight)
    theirs = RidgeCV(lams).fit(X, Y, sample_weight=weight)
    assert ours.lam_ == theirs.alpha_
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    unseen = np.r_[weight, 0.0, 0.0]
    X, Y = np.r_[X, [[9.0] * 3] * 2], np.r_[Y, [[7.0, 7.0]] * 2]
    again = OutputKernelRidgeCV(input_kernel="linear", lam_grid=lams, center=True)
    assert again.fit(X, Y, sample_weight=unseen).lam_ == ours.lam_
    assert_allclose(again.loo_losses_, ours.loo_losses_, rtol=1e-6)


def test_outputs_far_from_the_origin():
    "An offset of 1e4: an error of .08 with an intercept, and a larger one without."
    draw = np.random.default_rng(6)
    X = draw.uniform(-3, 3, size=(200, 1))
    y = np.sin(X[:, 0]) + 0.25 * draw.normal(size=200) + 1e4
    settings = {"input_kernel_params": {"gamma": 1.0}}
    with pytest.warns(UserWarning, match="lam_grid"):  # and this is a sign of it
        without = OutputKernelRidgeCV(**settings).fit(X[:100], y[:100])
    model = OutputKernelRidgeCV(center=True, **settings).fit(X[:100], y[:100])
    errors = [np.mean((m.predict(X[100:]) - y[100:]) ** 2) for m in (model, without)]
    assert errors[0] < 0.1 < errors[1]


@pytest.mark.parametrize("n_components", [None, 1, 2])
def test_principal_components_with_an_intercept(n_components):
    "Separate ridge regressions of the principal coordinates, each with an intercept."
    X, Y, weight = data(7, offset=100.0)
    model = KernelDependencyEstimation(
        input_kernel="linear", lam=0.4, n_components=n_components, center=True
    ).fit(X, Y, sample_weight=weight)
    mean = np.average(Y, axis=0, weights=weight)
    axes = np.linalg.svd((Y - mean) * np.sqrt(weight)[:, None])[2][:n_components]
    ridge = Ridge(alpha=0.4).fit(X, (Y - mean) @ axes.T, sample_weight=weight)
    there = ridge.predict(X).reshape(30, -1) @ axes
    assert_allclose(model.predict(X), mean + there, rtol=1e-9)


@pytest.mark.parametrize(
    "weight, said",
    [
        (2.0, r"sample_weight must have shape \(n,\) = \(30,\).* got shape \(\)"),
        (np.ones((30, 1)), r"got shape \(30, 1\)"),
        (np.ones(29), r"got shape \(29,\)"),
        (-np.ones(30), "sample_weight"),
        (np.zeros(30), "sample_weight"),
    ],
)
@pytest.mark.parametrize("cls", [OutputKernelRidge, OutputKernelRidgeCV])
def test_weights_that_are_none(cls, weight, said):
    X, Y, _ = data(8)
    with pytest.raises(ValueError, match=said):
        cls().fit(X, Y, sample_weight=weight)


def test_left_out_examples_have_a_weight():
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        leave_one_out_losses(np.eye(2), np.eye(2), [1.0], sample_weight=[1.0, 0.0])


def test_of_one_example_nothing_is_left():
    X, Y, _ = data(8)
    with pytest.raises(ValueError, match="two examples of positive weight"):
        OutputKernelRidgeCV(center=True).fit(X, Y, sample_weight=np.eye(30)[0])


def network(seed=9, n=24):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, 2))
    A = ((X[:, None] - X) ** 2).sum(axis=2) < 0.8
    np.fill_diagonal(A, False)
    return X, A


@pytest.mark.parametrize(
    "make",
    [
        lambda grid: OutputKernelRidgeCV(lam_grid=grid, **RBF),
        lambda grid: MultiTaskRidgeCV(lam_grid=grid, **RBF),
        lambda grid: CovarianceRidgeCV(lam_grid=grid, **RBF),
        lambda grid: SemiSupervisedOutputKernelRidgeCV(
            lam_grid=grid, lam2_grid=[0.0], **RBF
        ),
        lambda grid: LinkPredictorCV(
            lam_grid=grid, lam2_grid=[0.0], beta_grid=[1.0], width_grid=False
        ),
    ],
)
def test_the_end_of_a_grid_is_told(make):
    X, Y, _ = data(9)
    far, linked = np.array([1e4, 1e5, 1e6]), isinstance(make([1.0]), LinkPredictorCV)
    X, Y = network() if linked else (X, Y)
    with pytest.warns(UserWarning, match=r"lam_grid, .* at an end of the grid") as told:
        make(far).fit(X, Y)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make([1e-2, 1e4]).fit(X, Y)  # has no inside


@pytest.mark.parametrize("size", [1e-60, 1e60])
@pytest.mark.parametrize(
    "method",
    [OutputKernelRidgeCV, MultiTaskRidgeCV, CovarianceRidgeCV, BipartiteRidgeCV],
)
def test_a_default_grid_is_no_argument(method, size):
    "What makes it too large or too small is named, and not a grid that nobody gave."
    X, Y, _ = data(9)
    message = "The default lam_grid follows {0}, .*: multiply {0} by a constant"
    with pytest.raises(ValueError, match=message.format("X")):
        method(input_kernel="linear").fit(size * X, Y)
    if method is OutputKernelRidgeCV:
        for kernel in ("linear", "rbf"):
            model = method(input_kernel=kernel)
            with pytest.raises(ValueError, match=message.format("sample_weight")):
                model.fit(X, Y, sample_weight=np.full(len(X), size**2))
        with pytest.raises(ValueError, match=message.format("X")):
            method(input_kernel="linear").fit(size * X, Y, np.ones(len(X)))
    if method is BipartiteRidgeCV:
        columns = size * np.arange(1.0, Y.shape[1] + 1)[:, None]
        with pytest.raises(ValueError, match=message.format("columns")):
            method("linear", columns=columns, column_kernel="linear").fit(X, Y)


@pytest.mark.parametrize("machine", [UniformMKL, BestKernel, AlignmentMKL, TwoStageMKL])
def test_machines_tell_the_end_of_a_grid(machine):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 2))
    y = X[:, 0] + 0.3 * X[:, 1] > 0.7  # few: where C vanishes, all are False
    model = machine([LinearKernel()], scoring="balanced_accuracy")
    with pytest.warns(GridEndWarning, match="value of C, .* at an end") as told:
        model.set_params(C=[1e-6, 1e-4, 1e-1]).fit(X, y)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(C=[1e-8, 1e-7, 1e-6]).fit(X, y)  # all the same


def test_the_lam_of_two_stages_at_an_end_is_told():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 2))
    model = TwoStageMKL(
        [(LinearKernel(), [0]), (LinearKernel(), [1])],
        regularizer="l1",
        lam=[1e3, 1e2, 1e-3],  # at the first two no kernel is used
        C=1.0,
    )
    with pytest.warns(GridEndWarning, match="value of lam, .* at an end"):
        model.fit(X, X[:, 0] > 0)


def test_forest_machine_tells_the_end_of_a_grid():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(90, 2))
    y = X[:, 0] > 0.7
    model = ForestKernelSVC(C=[1e-9, 1e-8, 1.0], random_state=0)
    with pytest.warns(GridEndWarning, match="value of C, .* at an end"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(C=[1e-9, 1e-8, 1e-7]).fit(X, y)  # all the same


def test_an_end_that_is_no_better_is_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_at_end([1.0, 2.0, 3.0], 1.0, "C", [0.9, 0.9, 0.8])
        warn_at_end([3.0, 2.0, 1.0], 3.0, "C", [0.9, 0.9, 0.8])
        warn_at_end([1.0, 2.0, 3.0], 3.0, "C", [0.1, 0.3, 0.1 + 0.2])
    with pytest.warns(GridEndWarning, match="value of C, 1, is at an end"):
        warn_at_end([3.0, 2.0, 1.0], 1.0, "C", [0.7, 0.8, 0.9])


def test_what_is_an_end():
    with pytest.warns(UserWarning, match=r"1e\+03, is .* from 0.1 to 1e\+03"):
        warn_at_end([1e3, 0.1, 1.0], 1e3, "lam_grid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_at_end([0.0, 1.0, 2.0], 0.0, "lam2_grid")  # nothing lies below
        warn_at_end([1.0, 2.0, 2.0], 2.0, "lam_grid")
        warn_at_end([1.0, 2.0, 3.0], 2.0, "lam_grid")


@pytest.mark.filterwarnings("ignore:The best value of")
@pytest.mark.parametrize("output_kernel", ["linear", "dirac", "rbf", "hamming"])
@pytest.mark.parametrize("center", [False, True])
def test_few_features_change_nothing(output_kernel, center):
    """prop-rkhs-few-features, eq-rkhs-few-weights, eq-rkhs-few-loo: the same numbers as
    from Gram matrices, with weights of zero, features that are sums of others, and
    examples that nearly decide a coefficient alone."""
    lams = np.logspace(-3, 3, 5)
    for seed in range(20):
        draw = np.random.default_rng(seed)
        n = int(draw.integers(24, 60))
        X = draw.normal(size=(n, 3)) + (0.0, 0.0, 5.0)
        X = np.c_[X, X @ draw.normal(size=(3, 2))] if seed % 2 else X
        X[0] *= 10.0 ** draw.integers(0, 2)
        Y = {
            "dirac": draw.integers(0, 3, n),
            "hamming": draw.integers(0, 2, (n, 4)),
        }.get(output_kernel, X[:, :2] ** 2 + draw.normal(size=(n, 2)))
        weight = (
            None if seed % 3 == 0 else draw.integers(0, 3, n) + 0.5 * (seed % 3 - 1)
        )
        how = {
            "output_kernel": output_kernel,
            "center": center,
            "lam_grid": lams,
            "input_kernel": "linear",
        }
        few = OutputKernelRidgeCV(**how).fit(X, Y, sample_weight=weight)
        K = X @ X.T
        many = OutputKernelRidgeCV(**how | {"input_kernel": "precomputed"})
        many.fit(K, Y, sample_weight=weight)
        assert few.activations(X).shape[1] == X.shape[1] + center < n
        assert_allclose(few.loo_losses_, many.loo_losses_, rtol=1e-6)
        assert few.lam_ == many.lam_
        scale = 1e-8 * np.abs(many.weights(K)).max()
        assert_allclose(few.weights(X), many.weights(K), atol=scale)
        if output_kernel == "linear":
            assert_allclose(few.predict(X), many.predict(K), rtol=1e-7, atol=1e-7)
        # its factor is that of the Gram matrix, computed when asked for
        assert_allclose(few.factor_[0].shape, (n, n))


def test_no_gram_matrix_of_few_features():
    "Fit, choice of the ridge and prediction need memory for n p numbers, not n n."
    draw = np.random.default_rng(0)
    X = draw.normal(size=(4000, 5))
    Y = X @ draw.normal(size=(5, 2)) + draw.normal(size=(4000, 2))
    model = OutputKernelRidgeCV(input_kernel="linear", center=True)
    tracemalloc.start()
    model.fit(X, Y).predict(X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 0.1 * 8 * 4000**2


@pytest.mark.filterwarnings("ignore:The best value of")
@pytest.mark.parametrize("output_kernel", ["linear", "rbf"])
@pytest.mark.parametrize("center", [False, True])
def test_an_example_that_decides_a_coefficient_alone(output_kernel, center):
    """The only one of its category: without it, its feature is unknown and the others
    tell nothing, however small the ridge."""
    draw = np.random.default_rng(0)
    labels = np.r_[np.repeat([0, 1, 2], 9), 3]
    Y = draw.normal(size=(28, 2)) + 10.0
    lams = [1e-18, 1e-9, 1.0]
    how = {"output_kernel": output_kernel, "center": center, "lam_grid": lams}
    onehot = np.equal.outer(labels, np.arange(4)).astype(float)
    model = OutputKernelRidgeCV(input_kernel="linear", **how).fit(onehot, Y)
    expected = []
    for lam in lams:
        each = []
        for i in range(28):
            rest = np.arange(28) != i
            one = OutputKernelRidge(
                input_kernel="linear",
                output_kernel=output_kernel,
                center=center,
                lam=max(lam, 1e-12),
            )
            one.fit(onehot[rest], Y[rest])
            each.append(one.losses(onehot[[i]], Y[[i]])[0])
        expected.append(np.mean(each))
    assert_allclose(model.loo_losses_, expected, rtol=1e-6)


def test_features_that_are_sums_of_others_at_a_ridge_of_nothing():
    "The solution of least norm, which a factor of the Gram matrix would refuse."
    draw = np.random.default_rng(0)
    X = draw.normal(size=(50, 3))
    X, Y = np.c_[X, X @ draw.normal(size=(3, 3))], draw.normal(size=(50, 2))
    model = OutputKernelRidge(input_kernel="linear", lam=1e-30).fit(X, Y)
    assert_allclose(model.predict(X), X @ (np.linalg.pinv(X) @ Y), rtol=1e-9)
    nothing = OutputKernelRidge(input_kernel="linear").fit(np.zeros((9, 2)), np.ones(9))
    assert_array_equal(nothing.predict([[1.0, 2.0]]), [0.0])
