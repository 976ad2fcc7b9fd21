"""A prediction from contributions is that of the weights, whatever the method and the
kernel, and needs neither the weights nor their memory."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import okbook as ok
from okbook.core import decode_weights
from okbook.trees.lookup import ReachedLeaves

TREES = [
    ok.OutputKernelTree(random_state=0),
    ok.OutputKernelRandomForest(n_estimators=7, random_state=0),
    ok.OutputKernelBagging(n_estimators=7, random_state=0, oob_score=True),
    ok.OutputKernelExtraTrees(n_estimators=7, random_state=0),
    ok.OutputKernelBoosting(n_estimators=7, random_state=0, subsample=0.8),
]
RIDGES = [
    ok.OutputKernelRidge(lam=0.1),
    ok.OutputKernelRidge(lam=0.1, center=True),
    ok.OutputKernelRidge(input_kernel="linear", lam=0.1, center=True),
    ok.OutputKernelRidgeCV(lam_grid=[0.01, 0.1, 1.0]),
    ok.OutputKernelRidgeCV(input_kernel="linear", lam_grid=[0.01, 0.1, 1.0]),
    ok.KernelDependencyEstimation(lam=0.1, n_components=3),
    ok.KernelDependencyEstimation(input_kernel="linear", lam=0.1, n_components=3),
    ok.CovarianceRidge(lam=0.1, shrinkage=0.5),
    ok.SemiSupervisedOutputKernelRidge(lam=0.1, lam2=0.01),
]
KERNELS = ["linear", "dirac", "rbf", "hamming"]


def problem(rng, kernel):
    n, q = rng.integers(12, 60), rng.integers(1, 30)
    X, Q = rng.normal(size=(n, 3)), rng.normal(size=(q, 3))
    offset = 10.0 ** rng.integers(-3, 6)
    if kernel == "dirac":
        return X, rng.integers(0, 3, n), Q
    if kernel == "hamming":
        return X, rng.integers(0, 2, (n, 4)), Q
    return X, offset + rng.normal(size=(n, 2)), Q


@pytest.mark.filterwarnings("ignore:The best value of", "ignore:.*in every bootstrap")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", TREES + RIDGES, ids=lambda m: type(m).__name__)
def test_predictions_are_those_of_the_weights(model, kernel):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, y, Q = problem(rng, kernel)
        model = clone(model).set_params(output_kernel=kernel)
        if "min_samples_leaf" in model.get_params():
            model.set_params(min_samples_leaf=int(rng.integers(1, 6)))
        W = model.fit(X, y).weights(Q)
        truth = y[rng.integers(0, len(y), len(Q))]
        scale = 1.0 + np.abs(y).max() if kernel == "linear" else 1.0
        found, expected = model.predict(Q), model._predict(W)
        if kernel == "linear":
            assert_allclose(found, expected, atol=1e-10 * scale)
        else:
            assert_array_equal(found, expected)
        losses = model._losses(W, truth)
        assert_allclose(model.losses(Q, truth), losses, rtol=1e-7, atol=1e-9)
        assert model.score(Q, truth) == pytest.approx(
            model._score(W, truth), rel=1e-8, abs=1e-9
        )
        K = model.gram_
        gram = (W @ K) @ W.T
        assert_allclose(model.predict_gram(Q), gram, atol=1e-9 * scale**2)
        if kernel == "dirac":
            shares = np.maximum(W @ np.equal.outer(y, model.classes_), 0.0)
            some = shares.any(axis=1)  # without an intercept all may be negative
            shares = shares[some] / shares[some].sum(axis=1, keepdims=True)
            assert_allclose(model.predict_proba(Q)[some], shares, atol=1e-9)
        if kernel == "rbf":
            right = decode_weights(W, K, K.diagonal())
            for _ in range(3):  # without a table, and with one
                assert_array_equal(model.decode(Q, "train"), right)
            right = decode_weights(W, K, K.diagonal(), support=True)
            for _ in range(3):
                assert_array_equal(model.decode(Q, "support"), right)
            some = y[:9] + 0.1
            right = decode_weights(W, *_columns(model, some))
            model.set_params(candidates=some)
            for _ in range(3):
                assert_array_equal(model.decode(Q), right)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict(Q), model.predict(Q))
        assert_array_equal(again.weights(Q) @ K, W @ K)


def _columns(model, candidates):
    "The kernel with candidates, and theirs with themselves."
    K = model.kernel_.gram(model.outputs_, candidates)
    return K, model.kernel_.diag(candidates)


@pytest.mark.filterwarnings("ignore:The best value of", "ignore:.*in every bootstrap")
@pytest.mark.parametrize("kernel", ["linear", "dirac", "hamming"])
@pytest.mark.parametrize("model", TREES + RIDGES, ids=lambda m: type(m).__name__)
def test_no_weights_are_computed(model, kernel, monkeypatch):
    "Where the outputs have features."
    X, y, Q = problem(np.random.default_rng(0), kernel)
    model = clone(model).set_params(output_kernel=kernel).fit(X, y)

    def refuse(X):
        raise AssertionError("weights were computed")

    monkeypatch.setattr(model, "weights", refuse)
    model.score(Q, y[np.arange(len(Q)) % len(y)])
    model.predict_gram(Q)
    if kernel != "hamming":
        model.predict(Q)
    if kernel == "dirac":
        model.predict_proba(Q)


def peak(function):
    function()
    tracemalloc.start()
    function()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


@pytest.mark.parametrize(
    ("model", "megabytes"),
    [
        (ok.OutputKernelRandomForest(n_estimators=10, min_samples_leaf=20), 4),
        (ok.OutputKernelBoosting(n_estimators=10), 4),
        (ok.OutputKernelRidge(input_kernel_params={"sigma": 1.0}), 40),
        (ok.OutputKernelKNN(5), 20),
    ],
    ids=lambda m: type(m).__name__,
)
def test_memory_of_many_queries(model, megabytes):
    """The weights of 50,000 queries would be 400 MB if they are dense, and 80 if each
    query had 200; the predictions are .8 MB."""
    rng = np.random.default_rng(0)
    X, Y, Q = (rng.normal(size=size) for size in ((1000, 3), (1000, 2), (50000, 3)))
    model.fit(X, Y)
    assert peak(lambda: model.predict(Q)) < megabytes


def test_a_query_reads_a_row_of_each_tree():
    "Rows that no query reaches may hold anything."
    rng = np.random.default_rng(0)
    X, Y, Q = (
        rng.normal(size=(300, 3)),
        rng.normal(size=(300, 2)),
        rng.normal(size=(1, 3)),
    )
    model = ok.OutputKernelRandomForest(n_estimators=20, random_state=0).fit(X, Y)
    reached = model.activations(Q)
    assert isinstance(reached, ReachedLeaves)
    table, rows = np.full((reached.shape[1], 2), np.nan), reached.rows()[0]
    assert len(rows) == 20
    table[rows] = model.contributions(Y)[rows]
    assert_allclose(reached @ table, model.predict(Q), atol=1e-14)


def test_trees_that_are_replaced_are_seen():
    X, Y, Q = problem(np.random.default_rng(3), "linear")
    model = ok.OutputKernelExtraTrees(n_estimators=9, random_state=0).fit(X, Y)
    before = model.predict(Q)
    model.estimators_ = model.estimators_[:4]
    found = model.predict(Q)
    assert_allclose(found, model._predict(model.weights(Q)), rtol=1e-12)
    assert np.abs(found - before).max() > 0
    assert_array_equal(
        model.fit(X, Y + 1.0).predict(Q), clone(model).fit(X, Y + 1.0).predict(Q)
    )


def test_a_table_that_is_too_large_is_not_made():
    X, Y, Q = problem(np.random.default_rng(3), "linear")
    model = ok.OutputKernelBagging(n_estimators=9, random_state=0).fit(X, Y)
    before = model.predict(Q)
    again = clone(model).fit(X, Y)
    again.table_size = 64
    assert_allclose(again.predict(Q), before, rtol=1e-12)
    assert not any(isinstance(t, np.ndarray) for t in again._tables.values())


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_give_the_same(n_jobs):
    rng = np.random.default_rng(0)
    X, Y, Q = (
        rng.normal(size=(300, 3)),
        rng.normal(size=(300, 2)),
        rng.normal(size=(9000, 3)),
    )
    model = ok.OutputKernelRandomForest(n_estimators=40, random_state=0, n_jobs=n_jobs)
    one = clone(model).set_params(n_jobs=1).fit(X, Y).predict(Q)
    assert_array_equal(model.fit(X, Y).predict(Q), one)


@pytest.mark.parametrize(
    "kernel", ["spectrum", "auto", ok.SpectrumKernel(2, False, False)]
)
@pytest.mark.parametrize(
    "model",
    [
        ok.OutputKernelRidge(lam=0.1),
        ok.OutputKernelRidge(lam=0.1, center=True),
        ok.OutputKernelRandomForest(n_estimators=5, random_state=0),
        ok.OutputKernelBoosting(n_estimators=5, random_state=0),
        ok.OutputKernelKNN(3),
        ok.OutputKernelTree(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_candidates_with_listed_features(model, kernel):
    """The scores are those of the kernel between outputs and candidates, also for a
    candidate none of whose features was seen, after unpickling, and for other
    candidates than those of the constructor."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, Q = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
        words = ["".join(rng.choice(list("abc"), rng.integers(2, 7))) for _ in X]
        among = [*words, "xyz", *("".join(rng.choice(list("abc"), 5)) for _ in X)] * 2
        model = clone(model).set_params(output_kernel=kernel, candidates=among)
        model.fit(X, words)
        W, known = model.weights(Q), model.kernel_
        right = decode_weights(W, known.gram(words, among), known.diag(among))
        assert isinstance(known._factors(*2 * [known._prepare(words)])[0], csr_array)
        for _ in range(2):
            assert_array_equal(model.decode(Q), right)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.decode(Q), right)
        assert list(again.predict(Q)) == [among[i] for i in right]
        some = among[5:]
        right = decode_weights(W, known.gram(words, some), known.diag(some))
        assert_array_equal(again.decode(Q, some), right)
        model.set_params(candidates=some)
        assert_array_equal(model.decode(Q), right)
        places, scores = model.rank(Q, k=2)
        assert_array_equal(places[:, 0], right)
        W = W.toarray() if hasattr(W, "toarray") else W
        size = np.sum((W @ known.gram(words)) * W, axis=1)[:, None]
        far = size - 2.0 * W @ known.gram(words, some) + known.diag(some)
        expected = -np.take_along_axis(far, places, axis=1)
        assert_allclose(scores, np.minimum(expected, 0.0), atol=1e-10)
