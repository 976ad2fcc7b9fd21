"""Large problems: files read in place, batches under a limit, inputs that are not
copied, the same trees on a cluster."""

import gc
import threading
import tracemalloc
import weakref

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from okbook.core import (
    GramKernel,
    OutputKernelKNN,
    OutputKernelMixin,
    RBFKernel,
    predict_in_batches,
    write_gram,
)
from okbook.core.scale import map_in_threads, map_row_blocks
from okbook.rkhs import OutputKernelRidge
from okbook.trees import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
)

RNG = np.random.default_rng(0)


def peak_bytes(compute):
    "What a computation allocates at its peak, and its result."
    tracemalloc.start()
    try:
        result = compute()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


# A Gram matrix in a file


@pytest.mark.parametrize("max_memory", [24, 24 * 49, 24 * 64**2, 2**28])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_make_the_matrix(tmp_path, max_memory, dtype):
    Y = RNG.standard_normal((31, 3))
    K = write_gram(
        RBFKernel(2.0), Y, tmp_path / "K.npy", dtype=dtype, max_memory=max_memory
    )
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(K, RBFKernel(2.0).gram(Y, Y), atol=4 * eps, strict=False)
    assert isinstance(K, np.memmap) and K.dtype == dtype and (K == K.T).all()
    with pytest.raises(ValueError, match="read-only"):
        K[0, 0] = 2.0


def test_a_kernel_on_objects_is_written(tmp_path):
    words = ["one", "two", "three", "eleven", "seven"]

    def letters(a, b):
        return np.array([[len({*p} & {*q}) for q in b] for p in a], dtype=float)

    K = write_gram(letters, words, tmp_path / "K.npy", max_memory=100)
    np.testing.assert_array_equal(K, letters(words, words))


def test_each_value_is_computed_once(tmp_path):
    seen = []

    def kernel(a, b):
        seen.append(len(a) * len(b))
        return np.asarray(a)[:, None] * np.asarray(b)[None, :]

    write_gram(kernel, np.arange(40.0), tmp_path / "K.npy", max_memory=24 * 16)
    tiles = [size for size in seen if size == 16]
    assert len(tiles) == 10 * 11 / 2 and sum(seen) < 0.6 * 40**2 + 100


def test_writing_keeps_to_its_limit(tmp_path):
    Y = RNG.standard_normal((2000, 5))
    whole, _ = peak_bytes(lambda: RBFKernel().gram(Y, Y))
    peak, K = peak_bytes(
        lambda: write_gram("rbf", Y, tmp_path / "K.npy", max_memory=2e6)
    )
    assert peak < 4e6 < 32e6 <= whole and K.shape == (2000, 2000)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dtype": "int64"}, "The 'dtype' parameter"),
        ({"max_memory": 0}, "max_memory"),
        ({"Y": [[np.nan]]}, "NaN"),
        ({"kernel": "no such kernel"}, "kernel"),
    ],
)
def test_bad_input_is_refused_before_a_file_is_written(tmp_path, options, message):
    arguments = {"kernel": "rbf", "Y": [[0.0], [1.0]], "file": tmp_path / "K.npy"}
    with pytest.raises(ValueError, match=message):
        write_gram(**arguments | options)
    assert not list(tmp_path.iterdir())


def test_estimators_read_the_file_in_place(tmp_path):
    "The ensemble allocates less than the matrix: its workspace is a third of it."
    X, Y = RNG.standard_normal((6000, 4)), RNG.standard_normal((6000, 3))
    K = write_gram("rbf", Y, tmp_path / "K.npy")
    options = {"n_estimators": 2, "min_samples_leaf": 50, "random_state": 0}
    in_place = OutputKernelExtraTrees(output_kernel="precomputed", **options)
    peak, _ = peak_bytes(lambda: in_place.fit(X, K))
    assert peak < K.nbytes
    copied = OutputKernelExtraTrees(output_kernel="precomputed", **options)
    copied.fit(X, np.array(K))
    assert np.array_equal(in_place.decode(X[:50]), copied.decode(X[:50]))
    by_index = OutputKernelRidge(output_kernel=GramKernel(K)).fit(X, np.arange(6000))
    assert by_index.kernel_.K_.base is not None  # a view


# Batches


def labels(n):
    return RNG.integers(3, size=n)


MODELS = {
    "ridge": OutputKernelRidge(lam=0.1, output_kernel="dirac"),
    "trees": OutputKernelExtraTrees(
        output_kernel="dirac", n_estimators=5, random_state=0
    ),
    "neighbours": OutputKernelKNN(output_kernel="dirac"),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("method", ["predict", "decode", "predict_proba"])
def test_batches_give_the_same(model, method):
    X, Q = RNG.standard_normal((60, 3)), RNG.standard_normal((101, 3))
    model.fit(X, labels(60))
    expected = getattr(model, method)(Q)
    for queries in (1, 7, 101, 1000):
        limit = 24 * 60 * queries
        found = predict_in_batches(model, Q, method=method, max_memory=limit)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, strict=True)


def test_objects_stay_in_a_list():
    X, words = np.eye(4), ["a", "ab", "abc", "b"]

    def same(a, b):
        return np.array([[float(p == q) for q in b] for p in a])

    model = OutputKernelRidge(output_kernel=same).fit(X, words)
    found = predict_in_batches(model, X, ["b", "a", "c"], max_memory=24 * 7)
    assert isinstance(found, list) and found == list(model.predict(X, ["b", "a", "c"]))


class RidgeByWeights(OutputKernelRidge):
    "Ridge regression that knows nothing but its weights."

    activations = OutputKernelMixin.activations
    contributions = OutputKernelMixin.contributions


def test_a_limit_is_kept():
    X = RNG.standard_normal((1000, 5))
    model = RidgeByWeights(lam=0.1, output_kernel="dirac").fit(X, labels(1000))
    Q = RNG.standard_normal((8000, 5))
    whole, expected = peak_bytes(lambda: model.predict(Q))
    for limit in (2e6, 8e6, 32e6):
        peak, found = peak_bytes(lambda: predict_in_batches(model, Q, max_memory=limit))
        assert peak < limit + 1e6 < whole and np.array_equal(found, expected)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_memory": 23 * 60}, "A single query needs 1440 bytes"),
        ({"max_memory": -1}, "max_memory"),
        ({"method": "fit"}, "The 'method' parameter"),
        ({"method": "predict_proba", "candidates": [0, 1]}, "no candidates"),
        ({"X": np.empty((0, 3))}, "minimum of 1"),
    ],
)
def test_bad_batches_are_refused(options, message):
    X = RNG.standard_normal((60, 3))
    model = OutputKernelRidge(lam=0.1, output_kernel="dirac").fit(X, labels(60))
    with pytest.raises(ValueError, match=message):
        predict_in_batches(**{"model": model, "X": X} | options)


# Inputs that are not copied


@pytest.fixture
def large(tmp_path):
    "A memory-mapped array of 40 MB."
    path = tmp_path / "X.npy"
    np.save(path, RNG.standard_normal((100_000, 100), dtype=np.float32))
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("mapped", [False, True])
def test_extra_trees_copy_no_inputs(large, mapped):
    X = large if mapped else np.array(large)
    y = np.asarray(X[:, 0], dtype=float) > 0
    model = OutputKernelExtraTrees(
        output_kernel="dirac", n_estimators=1, max_depth=6, random_state=0
    )
    model.fit(X[:500], y[:500])  # compiles
    fitting, _ = peak_bytes(lambda: model.fit(X, y))
    narrow = np.ascontiguousarray(X[:, :2])
    outputs, _ = peak_bytes(lambda: model.fit(narrow, y))  # and weights, and nodes
    assert fitting - outputs < 0.05 * large.nbytes
    model.fit(X, y).apply(X[:500])  # compiles
    predicting, _ = peak_bytes(lambda: model.apply(X))
    assert predicting < 0.1 * large.nbytes
    whole = X[:2000].astype(int)  # these are converted
    converted, _ = peak_bytes(lambda: model.apply(whole))
    assert converted > X[:2000].nbytes


@pytest.mark.parametrize("forest", [OutputKernelRandomForest, OutputKernelBagging])
def test_forests_with_drawn_thresholds_copy_none(large, forest):
    y = np.asarray(large[:, 0], dtype=float) > 0
    model = forest(
        output_kernel="dirac",
        splitter="random",
        n_estimators=1,
        max_depth=4,
        random_state=0,
    )
    model.fit(large[:500], y[:500])
    peak, _ = peak_bytes(lambda: model.fit(large, y))
    narrow = np.ascontiguousarray(large[:, :2])
    outputs, _ = peak_bytes(lambda: model.fit(narrow, y))
    assert peak - outputs < 0.05 * large.nbytes


# Threads


def test_few_rows_are_one_block():
    blocks = lambda *args: map_row_blocks(lambda a, b: (int(a), int(b)), *args)
    assert blocks(10, 2, 6) == [(0, 10)] and blocks(0, 2, 6) == [(0, 0)]
    assert blocks(12, 2, 6) == [(0, 6), (6, 12)]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_threads_keep_the_order_and_end_early(n_jobs):
    read, done = [], []

    def work(item):
        if item == 30:
            raise KeyError("thirty")
        done.append(item)
        return item

    items = (read.append(i) or i for i in range(1000))
    found = []
    with pytest.raises(KeyError, match="thirty"):
        for item in map_in_threads(work, items, n_jobs):
            found.append(item)
    assert found == list(range(30)) and len(read) < 100
    assert len(done) < 100


def test_who_asks_for_results_is_one_of_the_threads():
    """Two threads are the caller and one more: while that one is busy, the caller makes
    the other calls."""
    seen, others = {}, threading.Event()

    def work(item):
        seen[item] = threading.get_ident()
        if item:
            others.set()
        else:
            assert others.wait(60)
        return item

    assert list(map_in_threads(work, range(6), 2)) == list(range(6))
    assert threading.get_ident() in seen.values() and len(set(seen.values())) == 2


def test_the_first_error_in_the_order_of_the_items_is_raised():
    """Also if a later call has failed before."""
    failed = threading.Event()

    def work(item):
        if item == 0:
            assert failed.wait(60)
        if item == 1:
            failed.set()
        raise ValueError(f"item {item}")

    for _ in range(20):
        failed.clear()
        with pytest.raises(ValueError, match="item 0"):
            list(map_in_threads(work, range(3), 2))


class Item:
    "What can be asked whether it is still there."


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_items_are_let_go(n_jobs):
    """A call that has been made keeps its item no longer, and an error neither: items
    may be Gram matrices."""
    seen = []

    def items():
        for _ in range(60):
            item = Item()
            seen.append(weakref.ref(item))
            yield item

    alive = lambda: sum(there() is not None for there in seen)  # noqa: E731
    for _ in map_in_threads(lambda item: 0, items(), n_jobs):
        assert alive() <= 4 * n_jobs + 1

    def fail(item):
        raise ValueError("no")

    gc.disable()
    try:
        with pytest.raises(ValueError, match="no"):
            list(map_in_threads(fail, items(), n_jobs))
        assert alive() == 0
    finally:
        gc.enable()


# A cluster


@pytest.mark.parametrize(
    "forest", [OutputKernelExtraTrees, OutputKernelRandomForest, OutputKernelBagging]
)
def test_two_workers_grow_the_same_trees(dask_scheduler, forest):
    from distributed import Client

    X, Y = RNG.standard_normal((80, 4)), RNG.standard_normal((80, 2))
    model = forest(output_kernel="rbf", n_estimators=6, random_state=0, n_jobs=2)
    alone = model.fit(X, Y).estimators_
    with Client(dask_scheduler) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        with joblib.parallel_config(backend="dask"):
            grown = model.fit(X, Y).estimators_
    for one, other in zip(alone, grown, strict=True):
        for a, b in zip(one.tree_, other.tree_, strict=True):
            np.testing.assert_array_equal(a, b)
    assert sp.issparse(model.weights(X))
