"""Chapter 0 against outside oracles, on random input; what bad input gets;
scikit-learn's own checks."""

import doctest
import functools
import inspect
import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import metrics
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from okbook import (
    OutputKernelRandomForest,
    OutputKernelRidge,
    OutputKernelTree,
    core,
)
from okbook.core import (
    DiffusionKernel,
    DiracKernel,
    FunctionKernel,
    GramKernel,
    HammingKernel,
    LinearKernel,
    OutputKernelKNN,
    OutputKernelMixin,
    PolynomialKernel,
    RBFKernel,
    TanimotoKernel,
    check_gram,
    check_kernel,
    decode_weights,
    diffusion_gram,
    feature_space_losses,
    feature_space_variance,
    gram,
    is_psd,
    output_kernel_loss,
    pivoted_cholesky,
    predictor,
)

SEEDS = range(5)
VECTOR_KERNELS = [
    LinearKernel(),
    PolynomialKernel(degree=2, gamma=0.5, coef0=0.3),
    RBFKernel(sigma=1.3),
    TanimotoKernel(),
    check_kernel("laplacian"),
]


class Given(OutputKernelMixin, BaseEstimator):
    "The queries are the weights: any linear predictor."

    def __init__(
        self, output_kernel="linear", output_kernel_params=None, candidates="support"
    ):
        self.output_kernel, self.output_kernel_params, self.candidates = (
            output_kernel,
            output_kernel_params,
            candidates,
        )

    def fit(self, X, y):
        self._fit_outputs(y, n_samples=len(X))
        return self

    def weights(self, X):
        return X


def shared_letters(Y1, Y2):
    return np.array([[len(set(a) & set(b)) for b in Y2] for a in Y1], dtype=float)


def explicit(K):
    """Feature vectors of a Gram matrix, by its eigenvalues: another way than that of
    the package."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


# scikit-learn's contract


@parametrize_with_checks(
    [
        OutputKernelKNN(),
        OutputKernelKNN(output_kernel="dirac"),
        OutputKernelKNN(output_kernel=DiracKernel()),
        OutputKernelKNN(input_kernel="rbf", input_kernel_params={"gamma": 0.1}),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_broken_contract_is_named():
    class Forgetful(OutputKernelKNN):
        def fit(self, X, y):
            self.n_neighbors = 3
            return super().fit(X, y)

    @parametrize_with_checks([Forgetful()])
    def judge(estimator, check):
        check(estimator)

    with pytest.raises(AssertionError, match="check_estimators_overwrite_params"):
        judge(Forgetful())

    better = {"check_fit2d_1sample": "it is no longer wrong"}

    @parametrize_with_checks(
        [OutputKernelKNN()], expected_failed_checks=lambda _: better
    )
    def strict(estimator, check):
        check(estimator)

    with pytest.raises(AssertionError, match="1sample: expected to fail, and passes"):
        strict(OutputKernelKNN())


def documented_estimator():
    "The class that the docstring of the mixin shows."
    example = doctest.DocTestParser().get_doctest(
        OutputKernelMixin.__doc__, {}, "mixin", None, 0
    )
    names = {"__name__": __name__}
    for step in example.examples:
        exec(step.source, names)
    return names["KernelRegression"]


KernelRegression = documented_estimator()  # here, so that it can be pickled


@parametrize_with_checks([KernelRegression(), KernelRegression(output_kernel="dirac")])
def test_the_documented_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_documented_estimator_is_kernel_regression():
    rng = np.random.default_rng(0)
    X, queries, Y = rng.random((30, 2)), rng.random((5, 2)), rng.random((30, 3))
    K = np.exp(-(metrics.pairwise_distances(queries, X) ** 2))
    expected = K @ Y / K.sum(axis=1, keepdims=True)
    model = KernelRegression().fit(X, Y)
    assert_allclose(model.predict(queries), expected, strict=True)
    source = inspect.cleandoc(OutputKernelMixin.__doc__)
    lines = [x for x in source.splitlines() if x.startswith("...")]
    assert len(lines) <= 15  # it is promised to be short


def test_tags_follow_the_kernel():
    assert is_regressor(OutputKernelKNN()) and is_regressor(
        OutputKernelKNN(output_kernel=shared_letters)
    )
    assert is_classifier(OutputKernelKNN(output_kernel="dirac")) and is_classifier(
        OutputKernelKNN(output_kernel=DiracKernel())
    )
    assert hasattr(OutputKernelKNN(output_kernel="dirac"), "predict_proba")
    assert not hasattr(OutputKernelKNN(), "predict_proba")


def test_before_fit():
    for method in ("predict", "decode", "weights", "predict_gram"):
        with pytest.raises(NotFittedError):
            getattr(OutputKernelKNN(), method)(np.zeros((2, 2)))
    with pytest.raises(NotFittedError):
        OutputKernelKNN().gram_  # noqa: B018


@pytest.mark.parametrize("shape", [(30,), (30, 1), (30, 3)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_outputs_keep_their_shape(shape, kernel):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OutputKernelKNN(3, output_kernel=kernel).fit(X, y)
    assert model.predict(X[:4]).shape == (4, *shape[1:])


def test_a_column_of_labels_is_flattened_with_a_warning():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbab"))
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = OutputKernelKNN(1, output_kernel="dirac").fit(X, y[:, None])
    assert_array_equal(model.predict(X), y)


def test_pandas():
    X = pd.DataFrame(
        np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"]
    )
    words = pd.Series(["cat", "dog"] * 10, index=np.arange(20)[::-1])
    model = OutputKernelKNN(1, output_kernel=shared_letters).fit(X, words)
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    assert_array_equal(model.predict(X), words.to_numpy())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"a": "z"}))


def test_pipeline_and_search_over_the_kernel():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    pipeline = make_pipeline(
        StandardScaler(), OutputKernelKNN(output_kernel=RBFKernel(sigma=1.0))
    )
    grid = {
        "outputkernelknn__output_kernel__sigma": [0.1, 1.0],
        "outputkernelknn__n_neighbors": [1, 5],
    }
    assert GridSearchCV(pipeline, grid, error_score="raise").fit(X, y).best_score_ > 0.3


def test_precomputed_inputs_are_sliced_on_both_sides():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    by_gram = cross_val_score(
        OutputKernelKNN(3, input_kernel="precomputed"), X @ X.T, y, error_score="raise"
    )
    assert_allclose(by_gram, cross_val_score(OutputKernelKNN(3), X, y), strict=True)


def test_search_on_a_gram_matrix_equals_search_on_the_outputs():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    kernel = RBFKernel(sigma=1.0)
    by_outputs = cross_val_score(OutputKernelKNN(3, output_kernel=kernel), X, Y)
    for given in (
        GramKernel(kernel.gram(Y)),
        GramKernel(np.asfortranarray(kernel.gram(Y))),
    ):
        by_gram = cross_val_score(
            OutputKernelKNN(3, output_kernel=given),
            X,
            np.arange(50),
            error_score="raise",
        )
        assert_allclose(by_gram, by_outputs, strict=True)


def test_a_pickle_holds_no_gram_matrix_that_can_be_computed_again():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((300, 3)), rng.standard_normal((300, 2))
    model = OutputKernelKNN(3, output_kernel="rbf").fit(X, Y)
    before = model.predict(X)
    assert model.gram_ is model.gram_
    assert len(pickle.dumps(model)) < 300 * 300 * 8 / 10
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), before, strict=True)
    assert_allclose(again.gram_, model.gram_, strict=True)
    given = OutputKernelKNN(3, output_kernel="precomputed").fit(X, model.gram_)
    assert_array_equal(
        pickle.loads(pickle.dumps(given)).gram_, model.gram_, strict=True
    )


def test_prediction_changes_no_attribute():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    model = OutputKernelKNN(3, output_kernel="rbf").fit(X, Y)
    before = dict(model.__dict__)
    model.predict(X), model.score(X, Y), model.predict_gram(X)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is value for name, value in before.items())


# Kernels


@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_against_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    A, B = (
        rng.standard_normal((rng.integers(1, 30), 4)),
        rng.standard_normal((rng.integers(1, 30), 4)),
    )
    expected = {
        LinearKernel(): pairwise.linear_kernel(A, B),
        PolynomialKernel(2, 0.7, 0.2): pairwise.polynomial_kernel(
            A, B, degree=2, gamma=0.7, coef0=0.2
        ),
        PolynomialKernel(): pairwise.polynomial_kernel(A, B),
        RBFKernel(): pairwise.rbf_kernel(A, B),
        RBFKernel(gamma=0.3): pairwise.rbf_kernel(A, B, gamma=0.3),
        RBFKernel(sigma=0.8): pairwise.rbf_kernel(A, B, gamma=1 / (2 * 0.8**2)),
        check_kernel("chi2"): None,
        check_kernel("cosine"): pairwise.cosine_similarity(A, B),
    }
    for kernel, K in expected.items():
        if K is not None:
            assert_allclose(kernel.gram(A, B), K, rtol=1e-10, atol=1e-12, strict=True)
            assert_allclose(
                kernel(A), kernel.gram(A, A), rtol=1e-10, atol=1e-7, strict=True
            )


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (70, 3), (40,)])
def test_diagonal_and_positive_semi_definiteness(kernel, shape):
    "A kernel is a scalar product: eq-ok3-10, its Gram matrices have feature vectors."
    Y = np.random.default_rng(0).standard_normal(shape)
    K = kernel.fit(Y).gram(Y)
    assert K.shape == (len(Y), len(Y))
    assert_allclose(kernel.diag(Y), K.diagonal(), rtol=1e-12, strict=True)
    assert_allclose(
        explicit(K) @ explicit(K).T, K, atol=1e-8 * K.max(), strict=True
    )  # only if PSD
    assert is_psd(K)


def test_tanimoto_on_zero_vectors():
    Y = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 2.0]])
    K = TanimotoKernel().gram(Y)
    assert_array_equal(K[:2, :2], np.ones((2, 2)))
    assert_array_equal(K[:2, 2:], np.zeros((2, 2)))


def test_integers_and_lists_are_numbers():
    assert_array_equal(LinearKernel().gram([1, 2], [3]), [[3.0], [6.0]])
    assert (
        RBFKernel(sigma=1.0).gram(np.array([0, 1], dtype=np.int8)).dtype == np.float64
    )
    assert (
        RBFKernel(sigma=1.0).gram(np.ones((2, 2), dtype=np.float32)).dtype == np.float64
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_diffusion_against_the_matrix_exponential(seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((25, 25)) < 0.2, 1).astype(float) * rng.random((25, 25))
    A = A + A.T
    L = np.diag(A.sum(axis=1)) - A
    assert_allclose(diffusion_gram(A, 0.7), sla.expm(-0.7 * L), atol=1e-12, strict=True)
    assert_allclose(
        diffusion_gram(sp.csr_array(A), 0.7),
        sla.expm(-0.7 * L),
        atol=1e-12,
        strict=True,
    )
    from scipy.sparse.csgraph import laplacian

    assert_allclose(
        core.graph_laplacian(A, normalized=True),
        laplacian(A, normed=True),
        atol=1e-12,
        strict=True,
    )


def test_three_ways_to_give_a_graph():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((30, 30)) < 0.2, 1).astype(float)
    A, X = A + A.T, rng.standard_normal((30, 2))
    by_name = OutputKernelKNN(
        3, output_kernel="diffusion", output_kernel_params={"beta": 0.5}
    ).fit(X, A)
    by_kernel = OutputKernelKNN(3, output_kernel=DiffusionKernel(0.5)).fit(X, A)
    by_nodes = OutputKernelKNN(3, output_kernel=DiffusionKernel(0.5, A)).fit(
        X, np.arange(30)
    )
    for model in (by_kernel, by_nodes):
        assert_allclose(
            model.predict_gram(X), by_name.predict_gram(X), atol=1e-12, strict=True
        )
        assert_array_equal(model.decode(X), by_name.decode(X), strict=True)
    assert_array_equal(by_nodes.predict(X), by_name.decode(X), strict=True)
    grid = {"output_kernel__beta": [0.1, 1.0]}
    GridSearchCV(by_nodes, grid, error_score="raise").fit(X, np.arange(30))


# Gram matrices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_gram_matrix_is_never_copied(dtype, order):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 3))
    K = np.array(RBFKernel(sigma=1.0).gram(X), dtype=dtype, order=order)
    model = OutputKernelKNN(3, output_kernel="precomputed").fit(X, K)
    assert (
        np.shares_memory(model.gram_, K)
        and model.gram_.dtype == dtype
        and model.gram_.flags.c_contiguous
    )
    assert_array_equal(K, K.T)
    kernel = GramKernel(K)
    searched = clone(OutputKernelKNN(3, output_kernel=kernel)).fit(X, np.arange(800))
    assert searched.output_kernel is not kernel and searched.output_kernel.K is K
    assert np.shares_memory(searched.gram_, K)
    tracemalloc.start()
    check_gram(K, psd=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < K.nbytes


def test_a_read_only_memory_map_will_do(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    K = RBFKernel(sigma=1.0).gram(X)
    np.save(tmp_path / "K.npy", K)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    model, plain = (
        OutputKernelKNN(5, output_kernel="precomputed").fit(X, G) for G in (mapped, K)
    )
    assert_array_equal(model.decode(X), plain.decode(X), strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 60, 200])
def test_rounding_is_accepted_and_indefiniteness_refused(dtype, n):
    rng = np.random.default_rng(n)
    for Y in (
        rng.standard_normal((n, 2)),
        rng.standard_normal((n, n)),
        np.ones((n, 1)),
        1e3 + rng.random((n, 2)),
    ):
        K = LinearKernel().gram(Y).astype(dtype)
        assert is_psd(K) and is_psd(K, max_exact=max(2, n // 3))
        scale = K.diagonal().mean()
        v = rng.standard_normal(n)
        worse = K - (
            2 * np.linalg.eigvalsh(K.astype(float))[-1] + 0.01 * scale
        ) * np.outer(v, v).astype(dtype) / (v @ v)
        assert not is_psd(worse) and not is_psd(worse, max_exact=max(2, n // 3))


def test_the_lowest_eigenvalue_decides():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((50, 50)))[0]
    for lowest, psd in (
        (1e-3, True),
        (0.0, True),
        (-1e-9, True),
        (-1e-3, False),
        (-1.0, False),
    ):
        values = np.r_[lowest, np.linspace(0.5, 2, 49)]
        K = (U * values) @ U.T
        assert is_psd((K + K.T) / 2) is psd
    assert is_psd(np.zeros((4, 4))) and not is_psd(np.array([[0.0, 1.0], [1.0, 0.0]]))


@pytest.mark.parametrize("max_exact", [3000, 60])
@pytest.mark.parametrize("dtype, lowest", [(np.float64, 1e-6), (np.float32, 4e-6)])
def test_the_tolerance_for_rounding(dtype, lowest, max_exact):
    """Of the mean of the diagonal: 1e-6, or four roots of n units of rounding; within
    a factor of three on both sides."""
    rng, n = np.random.default_rng(0), 70
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    for factor, psd in ((0.3, True), (3.0, False)):
        values = np.r_[np.linspace(0.9, 1.1, n - 1), 0.0]
        values[-1] = -factor * lowest * values.mean()
        K = (U * values) @ U.T
        K = ((K + K.T) / 2).astype(dtype)
        assert is_psd(K, max_exact=max_exact) is psd
        if psd:
            check_gram(K)
        elif max_exact == 3000:
            with pytest.raises(ValueError, match="positive semi-definite"):
                check_gram(K)
    assert is_psd(K, tol=1e-4)


def test_the_diagonal_is_looked_at_first():
    K = np.diag([1.0, 1.0, -3e-6])
    assert "diagonal" in gram._indefinite(K)
    assert gram._indefinite(np.diag([1.0, 1.0, -3e-7])) is None
    with pytest.raises(ValueError, match="A must be .* diagonal goes down to -3e-06"):
        core.check_psd(K, name="A")


def test_the_tolerance_for_symmetry():
    "Five digits of the largest entry; tiles far from the diagonal are compared, too."
    K = np.eye(600) + 1.0
    for place in ((1, 3), (2, 500), (599, 0)):
        for gap, fine in ((1e-5, True), (4e-5, False)):
            other = K.copy()
            other[place] += gap
            if fine:
                assert check_gram(other) is other
            else:
                i, j = sorted(place)
                with pytest.raises(ValueError, match=rf"entry \({i}, {j}\) is"):
                    check_gram(other)


def test_a_factor_is_recognised():
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((60, 4))
    K = Phi @ Phi.T
    direction = rng.standard_normal(60)
    direction /= np.linalg.norm(direction)
    size = K.diagonal().mean()
    assert core.gram.is_factor(Phi, K) and not core.gram.is_factor(Phi[:, :3], K)
    for part, same in ((1e-10, True), (1e-6, False)):
        moved = K - part * size * np.outer(direction, direction)
        assert core.gram.is_factor(Phi, moved) is same
    flat = np.full((400, 400), 1 / 400)  # the norm is that of whole products
    assert not core.gram.is_factor(np.eye(400), np.eye(400) + 3e-8 * flat)


@pytest.mark.parametrize("seed", SEEDS)
def test_pivoted_cholesky(seed):
    rng = np.random.default_rng(seed)
    n, rank = rng.integers(2, 120), rng.integers(1, 20)
    Y = rng.standard_normal((n, rank))
    K = Y @ Y.T
    Phi, pivots, residual = pivoted_cholesky(K)
    assert Phi.shape == (n, min(n, rank)) and len(set(pivots)) == len(pivots)
    assert_allclose(Phi @ Phi.T, K, atol=1e-8 * np.trace(K), strict=True)
    d = Phi.shape[1] // 2 + 1
    Phi, pivots, residual = pivoted_cholesky(K, max_rank=d)
    E = K - Phi @ Phi.T
    assert_allclose(np.trace(E), residual, atol=1e-9 * np.trace(K))
    assert (
        np.linalg.norm(E, 2) <= residual + 1e-9
        and np.abs(E).max() <= E.diagonal().max() + 1e-9
    )
    assert residual >= np.linalg.eigvalsh(K)[:-d].sum() - 1e-9 * np.trace(K)
    assert_allclose(
        pivoted_cholesky(lambda j: K[:, j], diag=K.diagonal(), max_rank=d)[0],
        Phi,
        strict=True,
    )
    reference = sla.lapack.dpstrf(K, lower=1)  # LAPACK's own, complete
    assert_array_equal(pivots[: min(d, 3)], reference[1][: min(d, 3)] - 1)


def test_pivoted_cholesky_stops_at_the_tolerance_and_at_zero():
    K = np.diag([4.0, 2.0, 1.0, 0.5, 0.0])
    assert pivoted_cholesky(K, tol=0.1)[0].shape == (5, 3)
    assert pivoted_cholesky(K, tol=0.0)[0].shape == (5, 4)
    assert pivoted_cholesky(np.zeros((3, 3)))[0].shape == (3, 0)
    assert pivoted_cholesky(np.eye(200, dtype=np.float32))[0].shape == (200, 200)


def test_centring_against_scikit_learn():
    from sklearn.preprocessing import KernelCenterer

    K = RBFKernel(sigma=1.0).gram(np.random.default_rng(0).standard_normal((20, 3)))
    assert_allclose(
        core.center_gram(K), KernelCenterer().fit_transform(K), atol=1e-14, strict=True
    )
    assert (
        core.alignment(K, 3 * K) == pytest.approx(1) and core.alignment(K, 0 * K) == 0
    )
    assert_allclose(
        core.normalize_gram(np.diag([4.0, 0.0])), np.diag([1.0, 0.0]), strict=True
    )


def test_normalised_gram_matrices():
    K = np.array([[4.0, 1.0, 1e-9], [1.0, 1.0, 0.0], [1e-9, 0.0, 1e-14]])
    K_unit, norms = core.normalize_gram(K, tol=1e-12, return_norms=True)
    assert_array_equal(norms, [2.0, 1.0, np.inf])
    assert_allclose(K_unit, [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 0]])
    assert_allclose(core.normalize_gram(K)[2, 2], 1.0)
    assert core.normalize_gram(K.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("n", [3, 90])
def test_alignment_of_several_kernels(n):
    rng = np.random.default_rng(0)
    grams = [RBFKernel().gram(rng.standard_normal((n, 2))) for _ in range(4)]
    grams = [core.center_gram(K) for K in grams] + [np.zeros((n, n))]
    Q = core.alignment_matrix(grams)
    each = [[core.alignment(A, B) for B in grams] for A in grams]
    assert_allclose(Q, each, atol=1e-14, strict=True)
    assert_array_equal(Q.diagonal(), [1, 1, 1, 1, 0])
    assert_array_equal(Q, Q.T)
    multiples = core.alignment_matrix([k * grams[0] for k in range(1, 30)])
    assert_allclose(multiples, np.ones((29, 29)), rtol=1e-14)
    assert multiples.max() == 1.0
    single = core.alignment_matrix(np.array(grams, dtype=np.float32))
    assert single.dtype == np.float64
    assert_allclose(single, Q, atol=1e-5)


def test_alignment_is_one_of_square_matrices():
    wide = np.ones((3, 4))
    square = r"must be square: got shape \(3, 4\)"
    stack = r"kernels must have the shape \(p, n, n\): got \(2, 3, 4\)"
    for call, message in (
        (lambda: core.alignment(wide, wide), f"K1 {square}"),
        (lambda: core.alignment(np.eye(3), wide), f"K2 {square}"),
        (lambda: core.alignment(np.eye(3), np.eye(4)), r"inconsistent .* \[3, 4\]"),
        (lambda: core.centered_alignment(wide, wide), f"K {square}"),
        (
            lambda: core.centered_alignment(np.eye(3), np.eye(4)),
            r"inconsistent .* \[3, 4\]",
        ),
        (lambda: core.alignment_matrix([wide, wide]), stack),
        (lambda: core.alignment_matrix(np.ones((2, 3, 4))), stack),
        (
            lambda: core.alignment_matrix([np.eye(3), np.eye(4)]),
            "kernels must be an array: .* inhomogeneous",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_alignments_in_blocks_of_rows():
    "More entries than fit into one block."
    grams = np.random.default_rng(0).random((2, 2100, 2100), dtype=np.float32)
    A, B = grams.astype(float)
    expected = (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())
    assert_allclose(core.alignment_matrix(grams)[0, 1], expected, rtol=1e-12)


def test_a_kernel_of_ones_own_is_checked_unless_it_claims_a_theorem():
    class Negative(core.Kernel):
        def _gram(self, A, B):
            return -np.abs(A - B.T) - 1.0

    class Claimed(Negative):
        always_psd = True

    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    with pytest.raises(ValueError, match="The Gram matrix of the kernel must be pos"):
        OutputKernelKNN(2, output_kernel=Negative()).fit(X, y)
    OutputKernelKNN(2, output_kernel=Claimed()).fit(X, y)
    with pytest.raises(ValueError, match="The Gram matrix of the kernel must be pos"):
        Given(FunctionKernel(lambda A, B: -np.outer(A, B))).fit(X, y)
    for kernel in [*VECTOR_KERNELS[:4], DiracKernel(), GramKernel(np.eye(2))]:
        assert kernel.always_psd
    assert not check_kernel("rbf").__class__.__mro__[1].always_psd  # Kernel itself


@pytest.mark.parametrize("dtype", [int, bool, str, object])
def test_hamming_kernel(dtype):
    "Against scipy's distance, with labels in fit that are not all of the queries."
    rng = np.random.default_rng(0)
    Y1, Y2 = (rng.integers(0, 2 + (dtype is not bool), (n, 6)) for n in (30, 20))
    expected = 1 - cdist(Y1, Y2, "hamming")
    if dtype is not bool:  # a label that fit has not seen
        Y2[3], expected[:, 3] = 7, 0.0
    Y1, Y2 = Y1.astype(dtype), Y2.astype(dtype)
    kernel = HammingKernel().fit(Y1)
    assert_allclose(kernel.gram(Y1, Y2), expected, strict=True)
    Phi1, Phi2 = kernel.features(Y1), kernel.features(Y2)
    assert_allclose(Phi1 @ Phi2.T, expected, atol=1e-15, strict=True)
    assert_allclose(kernel.diag(Y1), np.ones(30), strict=True)


@pytest.mark.parametrize(
    "estimator", [OutputKernelTree, OutputKernelRandomForest, OutputKernelRidge]
)
def test_hamming_as_output_kernel(estimator):
    "Half of the squared distance of two predictions is the Hamming loss."
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    Y = np.array(["no", "yes", "?"])[(X > 0).astype(int) + (X > 1)]
    model = estimator(output_kernel="hamming").fit(X[:60], Y[:60])
    predicted = model.predict(X[60:])
    assert {*map(tuple, predicted)} <= {*map(tuple, Y)}
    loss = output_kernel_loss(Y[60:], predicted, "hamming")
    assert_allclose(loss, 2 * np.mean(predicted != Y[60:]))
    assert loss < 0.6


@pytest.mark.parametrize(
    ("Y1", "Y2", "said"),
    [
        ([[0.5, 1.5]], None, "Unknown label type: continuous"),
        ([[1, 2]], [["a", "b"]], "Labels must be of one kind"),
        ([[1, 2]], [[1, 2, 3]], "must have as many columns"),
        ([[np.nan, 2]], None, "Y has 1 missing labels of 2"),
    ],
)
def test_hamming_refuses(Y1, Y2, said):
    with pytest.raises(ValueError, match=said):
        HammingKernel().gram(Y1, Y2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, "wide"])
@pytest.mark.parametrize(
    "kernel, name",
    [
        (RBFKernel(), "sigma"),
        (RBFKernel(), "gamma"),
        (PolynomialKernel(), "gamma"),
        (PolynomialKernel(), "coef0"),
        (PolynomialKernel(), "degree"),
        (DiffusionKernel(adjacency=1 - np.eye(3)), "beta"),
    ],
)
def test_parameters_of_kernels_are_finite_and_of_the_right_sign(kernel, name, value):
    kernel = clone(kernel).set_params(**{name: value})
    for call in (kernel.fit, lambda: kernel.gram([0, 1]), lambda: kernel.diag([0, 1])):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
            call()


# Losses and pre-images


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_loss_is_a_squared_distance(kernel, seed):
    "eq-ok3-8, with explicit features, against eq-ok3-12, from the kernel."
    rng = np.random.default_rng(seed)
    y, guess = rng.standard_normal((2, 70, 3))
    Phi = explicit(kernel.gram(np.vstack([y, guess])))
    assert_allclose(
        output_kernel_loss(y, guess, kernel),
        ((Phi[:70] - Phi[70:]) ** 2).sum(axis=1).mean(),
        rtol=1e-9,
        atol=1e-12,
    )


def random_weights(rng, q, n, kind):
    W = rng.standard_normal((q, n)) * (rng.random((q, n)) < 0.3)
    W[0] = 0  # a query without any weight
    return sp.csr_array(W) if kind == "sparse" else W


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", SEEDS)
def test_decoding_by_brute_force(kind, dtype, seed):
    "eq-ok3-14 and eq-ok3-18: the nearest candidate, in explicit features."
    rng = np.random.default_rng(seed)
    n, q = rng.integers(2, 60), 12
    K = PolynomialKernel(degree=2).gram(rng.standard_normal((n, 3))).astype(dtype)
    W = random_weights(rng, q, n, kind)
    dense, Phi = (
        np.asarray(W.todense()) if kind == "sparse" else W,
        explicit(K.astype(float)),
    )
    for support in (True, False):
        found = decode_weights(W, K, K.diagonal(), support=support)
        for w, chosen in zip(dense, found):
            distance = ((w @ Phi - Phi) ** 2).sum(axis=1)
            allowed = (w != 0) if support and w.any() else np.ones(n, dtype=bool)
            assert (
                allowed[chosen] and distance[chosen] <= distance[allowed].min() + 1e-4
            )


def test_among_equals_the_first():
    K = np.ones((4, 4))
    W = np.array([[0, 0.5, 0.5, 0], [0.25] * 4])
    for weights in (W, sp.csr_array(W)):
        assert_array_equal(
            decode_weights(weights, K, K.diagonal(), support=True), [1, 0]
        )
        assert_array_equal(decode_weights(weights, K, K.diagonal()), [0, 0])
    unsorted = sp.csr_array(
        (np.full(2, 0.5), np.array([2, 1]), np.array([0, 2])), shape=(1, 4)
    )
    assert_array_equal(decode_weights(unsorted, K, K.diagonal(), support=True), [1])


def test_decoding_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    K, W = (
        LinearKernel().gram(rng.standard_normal((30, 4))),
        rng.standard_normal((17, 30)),
    )
    whole = [decode_weights(W, K, K.diagonal(), support) for support in (False, True)]
    norms = feature_space_losses(W, K, np.zeros((17, 30)), np.zeros(17))
    blocks = predictor._blocks
    monkeypatch.setattr(
        predictor, "_blocks", lambda rows, columns: blocks(rows, columns, budget=100)
    )
    assert len(predictor._blocks(17, 30)) == 6
    for support, expected in enumerate(whole):
        assert_array_equal(decode_weights(W, K, K.diagonal(), bool(support)), expected)
    assert_allclose(feature_space_losses(W, K, np.zeros((17, 30)), np.zeros(17)), norms)


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=str)
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_all_that_follows_from_the_weights(kernel, kind):
    """eq-ok3-12, eq-ok3-21 and eq-ok3-11 in explicit features; with the outputs, and
    with their Gram matrix only."""
    rng = np.random.default_rng(0)
    n, q = 40, 9
    Y, truth = rng.standard_normal((n, 3)), rng.standard_normal((q, 3))
    W = random_weights(rng, q, n, kind)
    dense = np.asarray(W.todense()) if kind == "sparse" else W
    K = kernel.gram(np.vstack([Y, truth]))
    Phi = explicit(K)
    losses = ((dense @ Phi[:n] - Phi[n:]) ** 2).sum(axis=1)
    model = Given(kernel).fit(np.eye(n), Y)
    assert_allclose(model.losses(W, truth), losses, atol=1e-8, strict=True)
    assert_allclose(
        model.predict_gram(W), dense @ K[:n, :n] @ dense.T, atol=1e-8, strict=True
    )
    assert_allclose(
        model.predict_gram(W[:2], W),
        dense[:2] @ K[:n, :n] @ dense.T,
        atol=1e-8,
        strict=True,
    )
    variance = ((Phi[n:] - Phi[n:].mean(axis=0)) ** 2).sum(axis=1).mean()
    assert_allclose(feature_space_variance(kernel.gram(truth)), variance)
    assert_allclose(model.score(W, truth), 1 - losses.mean() / variance)
    blind = Given("precomputed").fit(np.eye(n), kernel.gram(Y))
    assert_allclose(
        blind.losses(W, K[n:, :n], diag=K.diagonal()[n:]),
        losses,
        atol=1e-8,
        strict=True,
    )
    assert_allclose(blind.loss(W, K[n:, :n], diag=K.diagonal()[n:]), losses.mean())
    assert_array_equal(blind.decode(W), model.decode(W, "support"))
    assert_array_equal(blind.decode(W, "train"), model.decode(W, "train"))
    assert_array_equal(blind.decode(W, [3, 5, 8]), model.decode(W, Y[[3, 5, 8]]))


def test_sample_weights_count_in_score_and_loss():
    rng = np.random.default_rng(0)
    Y, truth, W = (
        rng.standard_normal((20, 2)),
        rng.standard_normal((8, 2)),
        rng.random((8, 20)),
    )
    repeats = rng.integers(1, 4, 8)
    for kernel in ("linear", "rbf"):
        model = Given(kernel).fit(np.eye(20), Y)
        for method in (model.loss, model.score):
            weighted = method(W, truth, sample_weight=repeats)
            assert_allclose(
                weighted,
                method(
                    np.repeat(W, repeats, axis=0), np.repeat(truth, repeats, axis=0)
                ),
            )
    expected = metrics.r2_score(
        truth, W @ Y, sample_weight=repeats, multioutput="variance_weighted"
    )
    assert_allclose(Given().fit(np.eye(20), Y).score(W, truth, repeats), expected)


def test_sample_weights_count_in_the_accuracy():
    rng = np.random.default_rng(0)
    y, truth, W = rng.choice([0, 1], 20), rng.choice([0, 1], 8), rng.random((8, 20))
    y[:2] = 0, 1
    repeats = 2 ** np.arange(8)
    model = Given("dirac").fit(np.eye(20), y)
    expected = metrics.accuracy_score(truth, model.predict(W), sample_weight=repeats)
    assert_allclose(model.score(W, truth, sample_weight=repeats), expected)
    assert abs(expected - model.score(W, truth)) > 0.01  # the weights matter


WEIGHTS = [1.0, 2.0, 3.0]
BAD_WEIGHTS = {
    "contains NaN": [1.0, np.nan, 1.0],
    "contains infinity": [1.0, np.inf, 1.0],
    "weights overflows.*1e.308": [1e308, 1e308, 1.0],
    "not be negative: the least is -100": [1.0, 2.0, -100.0],
    "1 masked entries of 3": np.ma.array(WEIGHTS, mask=[True, False, False]),
    "Complex data not supported": np.array(WEIGHTS) + 1j,
    r"shape \(n,\) = \(3,\), .*: got shape \(2,\)": WEIGHTS[:2],
    r"shape \(n,\) = \(3,\), .*: got shape \(3, 1\)": [[w] for w in WEIGHTS],
    r"shape \(n,\) = \(3,\), .*: got shape \(3, 2\)": np.ones((3, 2)),
    r"shape \(n,\) = \(3,\), .*: got shape \(3, 0\)": np.ones((3, 0)),
    r"shape \(n,\) = \(3,\), .*: got shape \(\)": 2.0,
    "must not be all zero": [0.0, 0.0, 0.0],
    r"must hold numbers: got sample_weight\[0\] = 'a'": ["a", "b", "c"],
}


@pytest.mark.parametrize("message", BAD_WEIGHTS)
def test_bad_weights_of_a_mean(message):
    weight, W, y = BAD_WEIGHTS[message], np.eye(3), np.array([0, 1, 1])
    model, classifier = Given().fit(W, y), Given("dirac").fit(W, y)
    losses, K = model.losses(W, y + 1), np.eye(3)
    for method in (
        lambda: model.loss(W, y + 1, sample_weight=weight),
        lambda: model.score(W, y + 1, sample_weight=weight),
        lambda: classifier.score(W, y, sample_weight=weight),
        lambda: core.checks.check_sample_weight(weight, 3),
        lambda: core.feature_space_r2(losses, 1.0, weight),
        lambda: feature_space_variance(K, weight),
    ):
        with pytest.raises(ValueError, match="sample_weight") as caught:
            method()
        shaped = "must have the shape (n,)"  # where the shape is declared
        assert re.search(message, str(caught.value)) or shaped in str(caught.value)


# What underflows: tiny outputs, under kernels that are powers of them, tiny Gram
# matrices, and tiny inputs where a kernel compares them.
TINY = 1e-170 * np.arange(1.0, 7.0)


@pytest.mark.parametrize(
    ("params", "X", "y", "name"),
    [
        ({}, np.eye(6), TINY, "y"),
        ({}, np.eye(6), np.c_[TINY, np.zeros(6)], "y"),
        ({}, np.eye(6), 1e-140 + 1e23 * TINY, "y"),  # differences of 1e-147
        (
            {"output_kernel": "polynomial", "output_kernel_params": {"coef0": 0.0}},
            np.eye(6),
            1e70 * TINY,
            "y",
        ),
        ({"output_kernel": "precomputed"}, np.eye(6), 1e-300 * np.eye(6), "y"),
        ({}, TINY[:, None], np.arange(6.0), "X"),
        ({"input_kernel": "linear"}, TINY[:, None], np.arange(6.0), "X"),
        (
            {"input_kernel": "poly", "input_kernel_params": {"coef0": 0.0}},
            1e70 * TINY[:, None],
            np.arange(6.0),
            "X",
        ),
        ({"input_kernel": "precomputed"}, 1e-300 * np.eye(6), np.arange(6.0), "X"),
    ],
)
def test_what_underflows_is_refused(params, X, y, name):
    model = OutputKernelKNN(2, **params)
    with pytest.raises(ValueError, match=f"underflows: .* of {name} is .* Multiply"):
        model.fit(X, y)
    X, y = (1e100 * X, y) if name == "X" else (X, 1e100 * y)
    model.fit(X, y)  # as the message says


def test_constant_tiny_outputs_are_no_underflow():
    X = np.arange(6.0)[:, None]
    for y in (np.full(6, 1e-170), np.zeros(6), 1.0 + TINY):
        assert_array_equal(OutputKernelKNN(2).fit(X, y).predict(X), y, strict=True)


MISSING = [None, np.nan, pd.NA, pd.NaT, np.float32("nan"), np.datetime64("NaT")]


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kind", [list, pd.Series, "object array"])
def test_missing_labels_are_counted(missing, kind):
    y = ["b", missing, "a", "a", missing, "b"]
    if kind == "object array":
        y = np.array(y, dtype=object)
    else:
        y = kind(y)
    X = np.eye(6)
    message = r"y has 2 missing labels of 6, the first is y\[1\] = .*: leave their rows"
    for call in (
        lambda: OutputKernelKNN(2, output_kernel="dirac").fit(X, y),
        lambda: core.predictor.check_labels(y, "Method"),
        lambda: core.checks.validate_data(OutputKernelKNN(2), X, y),
        lambda: core.checks.check_array(y, input_name="y", dtype=None, ensure_2d=False),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_missing_numbers_are_named():
    for missing in (None, np.nan, pd.NA):
        for y in ([1.0, missing, 2.0], pd.Series([1.0, missing, 2.0], dtype=object)):
            with pytest.raises(ValueError, match="y contains NaN|y has 1 missing valu"):
                OutputKernelKNN(2).fit(np.eye(3), y)


def test_weights_of_a_mean_are_floats():
    assert core.checks.check_sample_weight(None, 3) is None
    for weight in ([1, 0, 2], np.array([1, 0, 2], np.int8), pd.Series([1, 0, 2])):
        found = core.checks.check_sample_weight(weight, 3)
        assert_array_equal(found, [1.0, 0.0, 2.0], strict=True)


@pytest.mark.parametrize(
    ("diag", "message"),
    [
        (np.ones(3) + 1j, "Complex data not supported: diag"),
        ([1.0, -2.0, 1.0], "diag must hold .* not negative: the least is -2"),
        (np.ma.array(np.ones(3), mask=[0, 1, 0]), "diag has 1 masked entries"),
        ([1.0, np.nan, 1.0], "diag contains NaN"),
        ([[1.0], [1.0, 2.0]], "diag must be an array: .* inhomogeneous"),
        (None, r"got shapes \(3, 3\) and \(\)"),
    ],
)
def test_bad_diagonals_of_true_outputs(diag, message):
    model = Given("precomputed").fit(np.eye(3), np.eye(3))
    assert_allclose(
        model.losses(np.eye(3), np.eye(3), diag=[1, 1 - 1e-12, 1]), 0, 0, 1e-9
    )
    for method in (model.losses, model.loss):
        with pytest.raises(ValueError, match=message):
            method(np.eye(3), np.eye(3), diag=diag)


def test_negative_votes_have_no_probability():
    y = ["a", "b", "c"]
    W = np.array([[1.5, -1.0, 0.5], [-1.0, -2.0, 4.0], [0.0, 0.0, 0.0]])
    model = Given("dirac").fit(np.eye(3), y)
    for weights in (W, sp.csr_array(W)):
        P = model.predict_proba(weights)
        assert_allclose(P, [[0.75, 0, 0.25], [0, 0, 1], [1 / 3] * 3], strict=True)
    assert_array_equal(model.predict(W), ["a", "c", "a"])
    votes = np.array([[0.2, 0.8], [-1.0, 3.0]])
    assert_allclose(
        core.predictor.class_probabilities(votes), [[0.2, 0.8], [0, 1]], strict=True
    )


def test_variance_in_feature_space():
    "eq-ok3-11: weights are repetitions; what is left of equal outputs is zero."
    rng = np.random.default_rng(0)
    Y, repeats = rng.standard_normal((20, 3)) + 5, rng.integers(1, 4, 20)
    K, K_repeated = Y @ Y.T, np.repeat(Y, repeats, axis=0) @ np.repeat(Y, repeats, 0).T
    expected = np.repeat(Y, repeats, axis=0).var(axis=0).sum()
    assert_allclose(feature_space_variance(K, repeats), expected)
    assert_allclose(feature_space_variance(K_repeated), expected)
    assert_allclose(predictor._total_variance(Y, repeats), expected)
    assert_allclose(
        feature_space_variance(K, diag=K.diagonal() + 1),
        feature_space_variance(K) + 1,
    )
    same = np.full((7, 7), 0.1) + 1e-16 * rng.standard_normal((7, 7))
    assert feature_space_variance(same) == 0.0
    assert predictor._total_variance(np.full((7, 2), 0.1)) == 0.0
    assert feature_space_variance([[1.0, 1.0], [1.0, 1.0 + 1e-8]]) > 0


def test_the_mean_loss_in_units_of_the_variance():
    assert core.feature_space_r2([1.0, 3.0], 4.0) == 0.5
    assert core.feature_space_r2([1.0, 3.0], 4.0, [1, 0]) == 0.75
    assert core.feature_space_r2([0.0, 0.0], 0.0) == 1.0
    assert core.feature_space_r2([1e-13, 0.0], 0.0, rounding=1e-12) == 1.0
    assert core.feature_space_r2([1e-11, 0.0], 0.0, rounding=1e-12) == 0.0
    assert isinstance(core.feature_space_r2([0.0], 0.0), float)


def test_dirac_is_one_hot_regression():
    rng = np.random.default_rng(0)
    y, truth = rng.choice(["a", "b", "c"], 30), rng.choice(["a", "b", "new"], 10)
    W = rng.random((10, 30))
    W /= W.sum(axis=1, keepdims=True)
    model = Given("dirac").fit(np.eye(30), y)
    K = DiracKernel().gram(np.r_[y, truth])
    Phi = explicit(K)
    assert_allclose(
        model.losses(W, truth), ((W @ Phi[:30] - Phi[30:]) ** 2).sum(axis=1), atol=1e-10
    )
    assert_allclose(
        model.predict_proba(W),
        W @ (y[:, None] == np.array(["a", "b", "c"])),
        strict=True,
    )
    assert_array_equal(model.predict(W), model.predict(W, candidates=["a", "b", "c"]))
    assert_array_equal(model.predict(W), model.predict(W, candidates="train"))
    assert model.score(W, truth) == metrics.accuracy_score(truth, model.predict(W))
    assert_allclose(
        model.predict_proba(-W), np.full((10, 3), 1 / 3), strict=True
    )  # no class has any weight


def test_linear_predictions_are_exact_unless_candidates_are_given():
    rng = np.random.default_rng(0)
    Y, W = rng.standard_normal((20, 2)), rng.random((6, 20))
    model = Given().fit(np.eye(20), Y)
    assert_allclose(model.predict(W), W @ Y, strict=True)
    assert_allclose(
        clone(model).set_params(candidates="train").fit(np.eye(20), Y).predict(W),
        W @ Y,
        strict=True,
    )
    nearest = metrics.pairwise_distances_argmin(W @ Y, Y)
    assert_array_equal(model.predict(W, candidates="train"), Y[nearest])
    assert_array_equal(Given(candidates=Y).fit(np.eye(20), Y).predict(W), Y[nearest])


def test_objects_come_back_as_they_came():
    words = ["cat", "coat", "dog", "fog"]
    W = np.array([[0.6, 0.4, 0, 0], [0, 0, 0.4, 0.6]])
    for outputs in (
        words,
        tuple(words),
        np.array(words),
        np.array(words, dtype=object),
    ):
        model = Given(shared_letters).fit(np.eye(4), outputs)
        predicted = model.predict(W)
        assert isinstance(predicted, np.ndarray) == isinstance(outputs, np.ndarray)
        assert list(predicted) == list(np.array(words)[model.decode(W)])
    assert model.predict(W, candidates=["boat", "frog"])[1] == "frog"
    sets = [frozenset(word) for word in words]
    assert (
        Given(shared_letters)
        .fit(np.eye(4), sets)
        .predict(np.eye(4), candidates="train")
        != words
    )
    ragged = [[1, 2], [3], [1, 2, 3], [4]]
    assert Given(shared_letters).fit(np.eye(4), ragged).predict(np.eye(4)) == ragged


def test_neighbours_in_the_space_of_an_input_kernel():
    rng = np.random.default_rng(0)
    X, queries, y = (
        rng.standard_normal((50, 3)),
        rng.standard_normal((20, 3)),
        rng.standard_normal(50),
    )
    kernel = PolynomialKernel(degree=2)
    Phi = explicit(kernel.gram(np.vstack([X, queries])))
    expected = KNeighborsRegressor(4).fit(Phi[:50], y).predict(Phi[50:])
    for inputs in ("polynomial", kernel, lambda A, B: kernel.gram(A, B)):
        params = {"degree": 2} if inputs == "polynomial" else None
        model = OutputKernelKNN(4, input_kernel=inputs, input_kernel_params=params).fit(
            X, y
        )
        assert_allclose(model.predict(queries), expected, strict=True)
    blind = OutputKernelKNN(4, input_kernel="precomputed").fit(kernel.gram(X), y)
    assert_allclose(blind.predict(kernel.gram(queries, X)), expected, strict=True)


def test_gram_matrix_of_the_inputs():
    """What estimators that need all of it share: the matrix in fit, and its rows for
    queries."""

    class Inputs(core.InputKernelMixin, BaseEstimator):
        def __init__(self, input_kernel=None, input_kernel_params=None):
            self.input_kernel, self.input_kernel_params = (
                input_kernel,
                input_kernel_params,
            )

    rng = np.random.default_rng(0)
    X, queries, kernel = (
        rng.standard_normal((30, 3)),
        rng.standard_normal((5, 3)),
        RBFKernel(sigma=0.5),
    )
    G, cross = kernel.gram(X), kernel.gram(queries, X)
    for model in (
        Inputs("rbf", {"sigma": 0.5}),
        Inputs(kernel),
        Inputs(lambda A, B: kernel.gram(A, B)),
    ):
        assert_allclose(model._fit_inputs(X), G, strict=True)
        assert_allclose(model._cross_gram(queries), cross, strict=True)
        assert model.X_ is X and not model.__sklearn_tags__().input_tags.pairwise
    assert_allclose(Inputs()._fit_inputs(X), X @ X.T, strict=True)
    given = Inputs("precomputed")
    assert (
        given._fit_inputs(G) is G
        and given._cross_gram(cross) is cross
        and given.__sklearn_tags__().input_tags.pairwise
    )
    assert given.X_ is None and given.input_kernel_ is None
    with pytest.raises(
        ValueError,
        match="The Gram matrix of the input kernel .*positive semi-definite",
    ):
        Inputs(lambda A, B: -A @ B.T)._fit_inputs(X)
    with pytest.raises(ValueError, match="The Gram matrix X .*positive semi-definite"):
        given._fit_inputs(-G)
    with pytest.raises(ValueError, match="no parameters: got input_kernel_params"):
        Inputs("precomputed", {"sigma": 1.0})._fit_inputs(G)


def test_constant_inputs_and_constant_outputs():
    rng = np.random.default_rng(0)
    X, y = np.ones((10, 2)), rng.standard_normal(10)
    assert_allclose(
        OutputKernelKNN(3).fit(X, y).predict(X), np.full(10, y[:3].mean()), strict=True
    )
    for kernel in ("linear", "rbf"):
        model = OutputKernelKNN(3, output_kernel=kernel).fit(
            rng.standard_normal((10, 2)), np.full(10, 2.5)
        )
        assert_array_equal(model.predict(X), np.full(10, 2.5))
        assert (
            model.score(X, np.full(10, 2.5)) == 1.0
            and model.score(X, np.full(10, 2.0)) == 0.0
        )


# Scores and folds


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_against_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, scores = (
        np.r_[0, 1, rng.integers(0, 2, 60)],
        rng.integers(0, 12, 62) / 7.0,
    )  # with ties
    assert_allclose(core.roc_auc(truth, scores), metrics.roc_auc_score(truth, scores))
    assert_allclose(
        core.pr_auc(truth, scores), metrics.average_precision_score(truth, scores)
    )
    precision, recall, _ = metrics.precision_recall_curve(truth, scores)
    assert_allclose(
        core.pr_auc(truth, scores, trapezoid=True), metrics.auc(recall, precision)
    )
    y_true, y_pred = rng.choice(list("abcde"), (2, 40))
    labels = np.union1d(y_true, y_pred)
    one_by_one = [metrics.matthews_corrcoef(y_true == c, y_pred == c) for c in labels]
    assert_allclose(core.mean_mcc(y_true, y_pred), np.mean(one_by_one))
    assert core.mean_mcc(["a", "b"], ["a", "b"]) == 1.0
    assert core.mean_mcc(["a", "a"], ["a", "b"]) == 0.0  # a class without a variance


def test_links_of_a_matrix_count_once_and_where_the_mask_says():
    rng = np.random.default_rng(0)
    truth = np.triu(rng.random((20, 20)) < 0.3, 1)
    truth, scores = truth | truth.T, rng.random((20, 20))
    scores = scores + scores.T
    mask = np.zeros((20, 20), dtype=bool)
    mask[:, 12:] = True  # pairs with at least one new node
    i, j = np.triu_indices(20, 1)
    new = j >= 12
    expected = metrics.roc_auc_score(truth[i[new], j[new]], scores[i[new], j[new]])
    assert_allclose(core.roc_auc(truth, scores, mask), expected)
    assert_allclose(core.roc_auc(truth, scores, mask.T), expected)
    assert_allclose(core.roc_auc(truth[i, j], scores[i, j], new), expected)


def test_vertical_mean_on_a_grid_of_all_rates_keeps_the_area():
    rng = np.random.default_rng(0)
    curves = []
    for _ in range(3):
        truth = np.r_[0, 1, rng.integers(0, 2, 50)]
        curves.append(metrics.roc_curve(truth, truth + rng.standard_normal(52))[:2])
    fine = np.linspace(0, 1, 20001)
    grid, mean, sd = core.vertical_roc(curves, fine)
    assert_array_equal(grid, fine, strict=True)
    assert_allclose(
        np.trapezoid(mean, grid),
        np.mean([metrics.auc(*curve) for curve in curves]),
        atol=1e-3,
    )
    assert sd[-1] == 0 and mean[-1] == 1
    assert_allclose(
        core.vertical_roc(iter(curves))[0], np.linspace(0, 1, 101), strict=True
    )


def test_vertical_mean_between_the_points_of_a_curve():
    "Straight lines between points; on a vertical piece the highest point."
    rng, grid = np.random.default_rng(0), np.linspace(0, 1, 23)
    curves = []
    for m in (3, 6, 9):
        inner = np.sort(rng.random((2, m)), axis=1)
        curves.append([np.r_[0, one, 1] for one in inner])
    each = [np.interp(grid, fpr, tpr) for fpr, tpr in curves]
    _, mean, sd = core.vertical_roc(curves, grid)
    assert_allclose(mean, np.mean(each, axis=0), strict=True)
    assert_allclose(sd, np.std(each, axis=0), atol=1e-15, strict=True)
    step = [([0, 0.5, 0.5, 0.5, 1], [0, 0.1, 0.4, 0.6, 1])]
    assert_allclose(core.vertical_roc(step, [0.25, 0.5, 0.75])[1], [0.05, 0.6, 0.8])


def test_ordered_folds():
    y = np.array(list("bababbabaabbb"))
    folds = list(core.StratifiedOrderFold(3).split(y, y))
    assert_array_equal(
        np.sort(np.concatenate([test for _, test in folds])), np.arange(13)
    )
    for label, runs in (
        ("a", [[1, 3], [6, 8], [9]]),
        ("b", [[0, 2, 4], [5, 7, 10], [11, 12]]),
    ):
        for (_, test), run in zip(folds, runs):
            assert_array_equal(test[y[test] == label], run)
    reverse = core.StratifiedOrderFold(3, reverse=True)
    for (train, test), (small, large) in zip(folds, reverse.split(y, y)):
        assert_array_equal(small, test)
        assert_array_equal(large, train)
    scores = cross_val_score(
        OutputKernelKNN(1, output_kernel="dirac"), np.zeros((13, 1)), y, cv=reverse
    )
    assert reverse.get_n_splits() == len(scores) == 3


def test_repeated_holdout_and_labelled_draws():
    y = np.repeat([0, 1], [20, 80])
    for stratify in (False, True):
        splits = list(
            core.repeated_holdout(4, stratify=stratify, random_state=0).split(y, y)
        )
        assert [len(test) for _, test in splits] == [30] * 4
        assert not stratify or all(y[test].mean() == 0.8 for _, test in splits)
    draws = core.scores.labelled_draws(50, 0.1, 3, random_state=0)
    assert [len(labelled) for labelled, _ in draws] == [5] * 3
    again = core.scores.labelled_draws(50, 0.1, 3, random_state=0)
    assert all(
        np.array_equal(a, b) for one, two in zip(draws, again) for a, b in zip(one, two)
    )
    assert not np.array_equal(draws[0][0], draws[1][0])


# What bad input gets: one error, which says what was expected and what came

X6 = np.random.default_rng(0).standard_normal((6, 2))
GOOD = RBFKernel(sigma=1.0).gram(X6)


def changed(i, j, value):
    K = GOOD.copy()
    K[i, j] = value
    return K


BAD_GRAMS = {
    "not square": (
        np.ones((6, 5)),
        r"square.*got shape \(6, 5\).*GramKernel\(K\)",
    ),
    "a vector": (np.ones(6), r"square.*got shape \(6,\)"),
    "not symmetric": (
        changed(1, 4, 0.5),
        r"symmetric, but entry \(1, 4\) is 0\.5 and entry \(4, 1\) is",
    ),
    "NaN": (changed(2, 2, np.nan), r"entry \(2, 2\) is nan"),
    "infinity": (
        changed(2, 3, np.inf),
        r"entry \(2, 3\) is inf",
    ),
    "complex": (GOOD + 0j, "Complex data not supported.*complex128"),
    "two infinities": (np.where(GOOD == 1, np.inf, GOOD), "(?i)nan|inf"),
    "indefinite": (
        1 - np.eye(6),
        "positive semi-definite, but it has an eigenvalue of -1 or less",
    ),
    "negative diagonal": (
        GOOD - 2 * np.eye(6),
        "positive semi-definite, but its diagonal goes down to -1",
    ),
    "distances": (
        core.squared_distances(GOOD),
        "positive semi-definite, but it has an eigenvalue",
    ),
    "another length": (
        np.eye(5),
        "inconsistent numbers of samples: X has n_samples=6, y has 5",
    ),
}


@pytest.mark.parametrize("case", BAD_GRAMS)
@pytest.mark.parametrize("way", ["precomputed", "GramKernel"])
def test_bad_gram_matrices(case, way):
    K, expected = BAD_GRAMS[case]
    if way == "precomputed":
        with pytest.raises(ValueError, match=expected):
            OutputKernelKNN(2, output_kernel="precomputed").fit(X6, K)
    elif case != "another length":
        with pytest.raises(ValueError, match=expected):
            OutputKernelKNN(2, output_kernel=GramKernel(K)).fit(X6, np.arange(6))


@pytest.mark.parametrize(
    "params, y, error, expected",
    [
        ({}, None, ValueError, "requires y to be passed, but the target y is None"),
        (
            {},
            np.ones(5),
            ValueError,
            "inconsistent numbers of samples: X has n_samples=6, y has 5",
        ),
        ({}, np.r_[np.ones(5), np.nan], ValueError, "Input y contains NaN"),
        ({}, np.r_[np.ones(5), np.inf], ValueError, "Input y contains infinity"),
        ({}, np.ones(6) + 1j, ValueError, "Complex data not supported"),
        ({}, np.ones((6, 2, 2)), ValueError, "dim 3"),
        ({}, list("abcdef"), ValueError, "a kernel on vectors"),
        (
            {"n_neighbors": 7},
            X6,
            ValueError,
            "n_neighbors <= n_samples_fit, but n_neighbors = 7, n_samples_fit = 6",
        ),
        (
            {"n_neighbors": 0},
            X6,
            ValueError,
            r"'n_neighbors' parameter .* range \[1, inf\)\. Got 0",
        ),
        (
            {"n_neighbors": 2.5},
            X6,
            ValueError,
            "'n_neighbors' parameter of OutputKernelKNN must be an int .* Got 2.5",
        ),
        (
            {"candidates": "leaf"},
            X6,
            ValueError,
            "'candidates' parameter .* must be a str among .* Got 'leaf'",
        ),
        (
            {"candidates": 3},
            X6,
            ValueError,
            "'candidates' parameter .* or an array-like. Got 3",
        ),
        (
            {"output_kernel_params": 3},
            X6,
            ValueError,
            "'output_kernel_params' parameter .* Got 3",
        ),
        (
            {"input_kernel": 3},
            X6,
            ValueError,
            "'input_kernel' parameter .* Got 3",
        ),
        (
            {"input_kernel_params": 3},
            X6,
            ValueError,
            "'input_kernel_params' parameter .* Got 3",
        ),
        (
            {"output_kernel": "dirac"},
            X6[:, 0],
            ValueError,
            "Unknown label type: continuous",
        ),
        (
            {"output_kernel": "gauss"},
            X6,
            ValueError,
            "Unknown kernel 'gauss': expected a kernel, a callable",
        ),
        ({"output_kernel": 3}, X6, ValueError, "'output_kernel' parameter .* Got 3"),
        (
            {"output_kernel": ["rbf"]},
            X6,
            ValueError,
            r"'output_kernel' parameter .* Got \['rbf'\]",
        ),
        (
            {"output_kernel": "rbf", "output_kernel_params": {"sigma": 1, "gamma": 1}},
            X6,
            ValueError,
            "not both",
        ),
        (
            {"output_kernel": "rbf", "output_kernel_params": {"sigma": 0}},
            X6,
            ValueError,
            r"'sigma' parameter of RBFKernel must be a float in the range \[1e-150, ",
        ),
        (
            {"output_kernel": "rbf", "output_kernel_params": {"width": 1}},
            X6,
            ValueError,
            "has the key 'width', .* 'rbf': it has gamma, sigma",
        ),
        (
            {"output_kernel": PolynomialKernel(1.5)},
            X6,
            ValueError,
            "'degree' parameter of PolynomialKernel must be an int .* Got 1.5",
        ),
        (
            {"output_kernel": RBFKernel(), "output_kernel_params": {"sigma": 1}},
            X6,
            ValueError,
            "has its own parameters",
        ),
        (
            {"output_kernel": "precomputed", "output_kernel_params": {"beta": 1}},
            GOOD,
            ValueError,
            "has no parameters: got",
        ),
        (
            {"output_kernel": "diffusion"},
            GOOD - 1,
            ValueError,
            "weights of a graph must not be negative",
        ),
        (
            {"output_kernel": "diffusion", "output_kernel_params": {"beta": -1}},
            GOOD,
            ValueError,
            r"'beta' parameter of diffusion_gram must be a float .* Got -1",
        ),
        (
            {"output_kernel": "diffusion"},
            np.eye(6)[:5],
            ValueError,
            "adjacency matrix .*square.*(5, 6)",
        ),
        (
            {
                "output_kernel": "sigmoid",
                "output_kernel_params": {"gamma": 1, "coef0": -1},
            },
            X6,
            ValueError,
            "semi-definite",
        ),
        (
            {"output_kernel": GramKernel(GOOD)},
            np.arange(6) / 2,
            ValueError,
            "wants a vector or a column of integers, such as np.ar",
        ),
        (
            {"output_kernel": GramKernel(GOOD)},
            np.arange(1, 7),
            ValueError,
            r"shape \(6, 6\): got 1 to 6",
        ),
        (
            {"output_kernel": GramKernel(GOOD)},
            GOOD,
            ValueError,
            r"got shape \(6, 6\) and type float64",
        ),
        (
            {"output_kernel": shared_letters},
            {"a": 1},
            TypeError,
            "must be a sequence of outputs.*got dict",
        ),
        (
            {"output_kernel": shared_letters},
            iter("abcdef"),
            TypeError,
            "must be a sequence of outputs",
        ),
        (
            {"output_kernel": lambda A, B: np.zeros(3)},
            list("abcdef"),
            ValueError,
            r"of shape \(6, 6\).*got \(3,\)",
        ),
        (
            {"output_kernel": lambda A, B: np.full((6, 6), np.nan)},
            list("abcdef"),
            ValueError,
            "contains NaN",
        ),
        (
            {"output_kernel": lambda A, B: 1 - np.eye(6)},
            list("abcdef"),
            ValueError,
            "positive semi-definite",
        ),
        (
            {"output_kernel": lambda A, B: np.tri(6)},
            list("abcdef"),
            ValueError,
            "symmetric",
        ),
    ],
)
def test_bad_outputs_and_parameters(params, y, error, expected):
    with pytest.raises(error, match=expected):
        OutputKernelKNN(**{"n_neighbors": 2, **params}).fit(X6, y)


@pytest.mark.parametrize("kernel", ["linear", "dirac", "precomputed"])
def test_one_sample(kernel):
    with pytest.raises(ValueError, match="1 sample.*minimum of 2"):
        OutputKernelKNN(1, output_kernel=kernel).fit(X6[:1], np.ones((1, 1)))
    with pytest.raises(
        ValueError, match="at least two training examples: got n_samples=1"
    ):
        Given(kernel).fit(X6[:1], np.ones((1, 1)))


def test_bad_inputs():
    model = OutputKernelKNN(2).fit(X6, X6)
    for X in (X6, X6[:3]):
        bad = X.copy()
        bad[1, 1] = np.nan
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.predict(bad)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        OutputKernelKNN(2).fit(np.where(X6 == X6[1, 1], np.nan, X6), X6)
    with pytest.raises(ValueError, match="3 features.*expecting 2"):
        model.predict(np.ones((1, 3)))
    with pytest.raises(ValueError, match="The Gram matrix X .*square"):
        OutputKernelKNN(2, input_kernel="precomputed").fit(X6, X6)


def test_what_a_gram_matrix_alone_cannot_give():
    model = OutputKernelKNN(2, output_kernel="precomputed").fit(X6, GOOD)
    with pytest.raises(
        ValueError, match=r"only the Gram matrix.*predict_gram\(X\).*decode\(X\)"
    ):
        model.predict(X6)
    with pytest.raises(ValueError, match="gives no score: use loss"):
        model.score(X6, GOOD)
    for y, diag in ((GOOD, None), (GOOD[:, :3], np.ones(6)), (GOOD, np.ones(5))):
        with pytest.raises(
            ValueError,
            match=r"of shape \(6, 6\), and diag = the k\(y, y\), of shape \(6,\): got",
        ):
            model.loss(X6, y, diag=diag)
    with pytest.raises(ValueError, match="wants a vector or a column of integers"):
        model.decode(X6, candidates=[0.5])


def test_bad_candidates():
    model = OutputKernelKNN(2, output_kernel="rbf").fit(X6, X6)
    for candidates, error, expected in (
        (3, TypeError, "'support', 'train' or a sequence of outputs: got int"),
        ([], ValueError, "got an empty one"),
        ("all", ValueError, "got 'all'"),
        (np.ones((4, 3)), ValueError, r"as many columns: got \(1, 2\) and \(1, 3\)"),
        (["a", "b"], ValueError, "a kernel on vectors"),
        ([[np.nan, 1.0]], ValueError, "Input candidates contains NaN"),
        (np.array(1.0), TypeError, "got an array of no dimension"),
        (list, TypeError, "sequence of outputs: got type"),
        ({1: 2.0}, ValueError, "candidates must be an array: got {1: 2.0}"),
        (sp.csr_array((0, 2)), ValueError, "got an empty one"),
    ):
        for method in (
            model.predict,
            model.decode,
            model.rank,
            functools.partial(core.predict_in_batches, model),
        ):
            with pytest.raises(error, match=expected):
                method(X6, candidates=candidates)
    for candidates in (np.array(1.0), list, X6[:5], 5, sp.csr_array(X6)):
        with pytest.raises(ValueError, match="per_query=True needs candidates"):
            model.predict(X6, candidates=candidates, per_query=True)


def test_candidates_may_be_sparse_where_outputs_may():
    model = OutputKernelKNN(2, output_kernel="rbf").fit(X6, X6)
    for candidates in (sp.csr_array(X6), sp.coo_array(X6)):
        for method in (
            model.predict,
            model.decode,
            functools.partial(core.predict_in_batches, model),
        ):
            expected = method(X6, candidates=X6)
            assert_array_equal(method(X6, candidates=candidates), expected, strict=True)


def test_candidates_in_a_list_for_a_function_of_arrays():
    def product(A, B):
        return np.asarray(A) @ np.asarray(B).T

    model = OutputKernelKNN(2, output_kernel=product).fit(X6, X6)
    expected = model.predict(X6, candidates=X6)
    assert_array_equal(model.predict(X6, candidates=X6.tolist()), expected)
    for bad, error in ((sp.csr_array(X6), ValueError), (X6[:, :1], ValueError)):
        with pytest.raises(error, match="candidates must be outputs like those of fit"):
            model.predict(X6, candidates=bad)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (
            FunctionKernel(lambda A, B: A @ B.T, {"q": 1}),
            "kernel_params has the key 'q'",
        ),
        (FunctionKernel(lambda A: A @ A.T), "func must be a function"),
        (core.PairwiseKernel(kernel_params={"gama": 1}), "the key 'gama'"),
        (core.PairwiseKernel(kernel_params={"gamma": "a"}), "'gamma' parameter"),
        (
            core.PairwiseKernel(kernel_params={"gamma": 10**400}),
            "gamma must be a finite",
        ),
        (
            core.PairwiseKernel(kernel_params={"gamma": np.nan}),
            "gamma must be a finite",
        ),
        (RBFKernel(gamma=10**400), "gamma must be a finite number"),
        (PolynomialKernel(degree=10**400), "degree must be a finite number"),
    ],
)
def test_parameters_are_checked_without_fit(kernel, message):
    for method in (kernel.gram, kernel.diag, kernel.fit):
        with pytest.raises(ValueError, match=message):
            method(X6)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ([0, 1, 2], np.array(["2020", "2021", "2022"], dtype="M8[s]")),
        (["a", "b", "c"], np.array(["2020", "2021", "2022"], dtype="M8[s]")),
        (np.arange(3).astype("m8[s]"), np.arange(3).astype("M8[s]")),
        (["a", "b", "c"], [0, 1, 2]),
    ],
)
def test_labels_of_two_kinds(known, new):
    for a, b in ((known, new), (new, known)):
        with pytest.raises(ValueError, match="Labels must be of one kind"):
            Given("dirac").fit(np.eye(3), a).loss(np.eye(3), b)


def test_bad_weights_of_an_estimator():
    with pytest.raises(
        ValueError,
        match=r"must have 6 columns, one for each training output: got shape \(2, 5\)",
    ):
        Given().fit(X6, X6).predict(np.ones((2, 5)))
    with pytest.raises(NotImplementedError, match="must define weights"):
        OutputKernelMixin().weights(X6)
    with pytest.raises(NotImplementedError):
        core.Kernel().gram(X6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: check_kernel("rbf", 5),
            TypeError,
            "output_kernel_params must be a dict",
        ),
        (
            lambda: output_kernel_loss([1.0], [1.0], "rbf", 5),
            TypeError,
            "^kernel_params must be a dict",
        ),
        (lambda: core.vertical_roc(5), TypeError, "curves must be pairs"),
        (lambda: core.vertical_roc([]), ValueError, "curves must hold one"),
        (lambda: core.vertical_roc([5]), ValueError, "A curve must be two .* got 5"),
        (lambda: core.vertical_roc([([0], ["a"])]), ValueError, "A curve must be two"),
        (
            lambda: core.scores.check_folds(3, 5),
            TypeError,
            "y must have an entry .* got 5",
        ),
        (
            lambda: core.pr_auc(np.eye(3), np.eye(3), mask=[0, 1, 1]),
            ValueError,
            r"mask must have the shape of truth and scores, \(3, 3\): got \(3,\)",
        ),
        (
            lambda: core.decoding_accuracy(KNeighborsRegressor().fit(X6, X6), X6, X6),
            TypeError,
            "estimator with an output kernel: got KNeighborsRegressor",
        ),
        (lambda: core.decoding_accuracy(5, X6, X6), TypeError, "5 is not an estimator"),
        (
            lambda: core.top_k_decoding_accuracy(
                Given("precomputed").fit(np.eye(2), np.eye(2)), np.eye(2), [0, 1]
            ),
            ValueError,
            "estimator was given only the Gram matrix",
        ),
        (
            lambda: core.make_psd(np.full((3, 3), 1e308)),
            ValueError,
            "spectrum.*overflows",
        ),
    ],
)
def test_bad_arguments_of_functions_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_half_the_largest_similarities():
    S = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert_allclose(core.make_psd(1.5e308 * S) / 1.5e308, core.make_psd(S), atol=1e-12)


def test_bad_scores_and_folds():
    for call, expected in (
        (
            lambda: output_kernel_loss([1.0], [1.0, 2.0]),
            "inconsistent numbers of samples",
        ),
        (
            lambda: core.roc_auc([1, 1], [0.1, 0.2]),
            "both classes: got 2 positives of 2",
        ),
        (
            lambda: core.pr_auc(np.eye(3), np.eye(3)),
            "both classes: got 0 positives of 3",
        ),
        (
            lambda: core.roc_auc([0, 1, 2], [0.1, 0.4, 0.8]),
            r"two values, such as 0 and 1: got \[0. 1. 2.\]",
        ),
        (lambda: core.roc_auc([1, 0], [0.1]), r"of one shape: got \(2,\) and \(1,\)"),
        (
            lambda: core.roc_auc(np.ones((2, 3)), np.ones((2, 3))),
            "two vectors or two square matrices",
        ),
        (
            lambda: list(core.StratifiedOrderFold(3).split("aab", list("aab"))),
            "n_splits=3 cannot be greater than .* smallest class, 1",
        ),
        (
            lambda: list(core.StratifiedOrderFold(1).split("aabb", list("aabb"))),
            "n_splits == 1, must be >= 2",
        ),
        (lambda: core.scores.labelled_draws(10, 0.01, 2), "labels 0"),
        (lambda: pivoted_cholesky(lambda j: GOOD[j]), "needs its diagonal"),
        (
            lambda: DiffusionKernel().gram([0], [0]),
            "adjacency matrix of a graph: got None",
        ),
        (
            lambda: LinearKernel().gram(np.ones((2, 3)), np.ones((2, 4))),
            r"got \(2, 3\) and \(2, 4\)",
        ),
    ):
        with pytest.raises(ValueError, match=expected):
            call()


def test_function_kernels_have_a_diagonal_and_parameters():
    kernel = FunctionKernel(
        lambda A, B, power: shared_letters(A, B) ** power, {"power": 2}
    )
    words = ["abc", "ab", "d"] * 20
    assert_array_equal(kernel.diag(words), [9.0, 4.0, 1.0] * 20, strict=True)
    assert isinstance(check_kernel(kernel.func, {"power": 2}), FunctionKernel)
