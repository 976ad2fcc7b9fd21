"""Speed and memory of okbook.trees beside scikit-learn, in one run: ``python
benchmarks/trees.py``.

The work is the image completion of OK3 (N digits, 128 pixels of the top half, an RBF
kernel on the bottom half) where the USPS digits are at hand (OKBOOK_DATA), and random
images of the same sizes where they are not. A second part has vectors as outputs, and
few of many inputs are tried, as scikit-learn's forests do; its clock is that of the
processor. One thread unless said. Every ratio is the
median over pairs of runs, one of each peer after the other, so that a drift of the
machine touches both. Nothing here gates a test. With ``--store`` the figures go to
``benchmarks/trees.csv``, which the book's page on speed shows.
"""

import argparse
import pickle
import statistics
import time

import numpy as np

# first: it sets the number of threads before numpy is there
from measure import (
    in_a_process_of_its_own,
    median_seconds,
    pairs,
    peak_gigabytes,
    report,
    store,
    timed,
)  # isort: skip
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from okbook.core import RBFKernel
from okbook.datasets import DatasetNotFound, load_usps
from okbook.trees import (
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
)

SIGMA = 7.0711


def images(n, seed=0):
    "Top halves, bottom halves, and where they come from."
    try:
        data, source = (
            np.asarray(load_usps(subset="train", download=False).data),
            "USPS digits",
        )
    except (
        DatasetNotFound
    ):  # the sizes are what counts; a damaged file still is an error
        data, source = None, "random images"
    if data is None or n > len(data):
        rng = np.random.default_rng(seed)
        data = np.tanh(rng.normal(size=(n, 12)) @ rng.normal(size=(12, 256)))
        source = "random images"
    return (
        np.ascontiguousarray(data[:n, :128], dtype=np.float32),
        np.ascontiguousarray(data[:n, 128:]),
        source,
    )


def side_by_side(n, repeats):
    "The rows of the table that have a peer."
    X, Y, source = images(n)
    print(f"N = {n}, p = {X.shape[1]}, {source}", flush=True)
    K = RBFKernel(sigma=SIGMA).gram(Y)
    values, vectors = np.linalg.eigh(K)
    full = np.ascontiguousarray(
        vectors * np.sqrt(np.maximum(values, 0.0))
    )  # the N-column feature map of K
    low = np.ascontiguousarray(full[:, -50:])
    K50 = low @ low.T
    trees = {"n_estimators": 100, "max_features": "sqrt", "random_state": 0}
    OutputKernelExtraTrees("precomputed", n_estimators=1).fit(
        X, K
    )  # compiled before the clock starts
    OutputKernelExtraTrees("precomputed", n_estimators=1).fit(X, K50)
    OutputKernelTree("precomputed", max_depth=1).fit(X, K)
    pairs(
        "100 extra-trees, rank-50 output kernel; both: 50 columns",
        n,
        lambda: OutputKernelExtraTrees("linear", **trees).fit(X, low),
        lambda: ExtraTreesRegressor(**trees).fit(X, low),
        4 * repeats + 1,
        "5 times faster",
    )
    pairs(
        "the same, okbook from the Gram matrix (checked and factored)",
        n,
        lambda: OutputKernelExtraTrees("precomputed", **trees).fit(X, K50),
        lambda: ExtraTreesRegressor(**trees).fit(X, low),
        2 * repeats + 1,
        "",
    )
    pairs(
        "one tree, best splits on all features, full rank; peer: N columns",
        n,
        lambda: OutputKernelTree("precomputed", random_state=0).fit(X, K),
        lambda: DecisionTreeRegressor(random_state=0).fit(X, full),
        repeats,
        "10 times faster",
    )
    pairs(
        "100 extra-trees, full-rank Gram matrix; peer: N columns",
        n,
        lambda: OutputKernelExtraTrees("precomputed", **trees).fit(X, K),
        lambda: ExtraTreesRegressor(**trees).fit(X, full),
        repeats,
        "20 times faster",
    )


def vectors(n, p, d, binary=False, seed=0):
    "Inputs and outputs of a sum of steps, or binary inputs (1 % ones) and classes."
    rng = np.random.default_rng(seed)
    if binary:
        return (rng.random((n, p)) < 0.01).astype(np.float32), np.eye(d)[
            rng.integers(d, size=n)
        ]
    X = rng.normal(size=(n, p)).astype(np.float32)
    Y = np.tanh(X @ rng.normal(size=(p, d)) / np.sqrt(p))
    return X, Y + 0.3 * rng.normal(size=(n, d))


def few_of_many(repeats):
    "Ensembles on vectors, which try few of many inputs at a node: CPU seconds."
    rows = (
        ("random forest", 50_000, 30, 10, 20, "3 times faster"),
        ("random forest", 2_000, 128, 50, 100, "3 times faster"),
        ("random forest, binary inputs,", 350, 3_703, 6, 100, "2 times faster"),
        ("random forest, binary inputs,", 350, 3_703, 6, 8, "1.4 times faster"),
        ("extra-trees", 50_000, 30, 10, 20, "4 times faster"),
    )
    for name, n, p, d, trees, wanted in rows:
        X, Y = vectors(n, p, d, "binary" in name)
        how = {"n_estimators": trees, "max_features": "sqrt", "random_state": 0}
        ours, peer = (
            (OutputKernelExtraTrees, ExtraTreesRegressor)
            if name == "extra-trees"
            else (OutputKernelRandomForest, RandomForestRegressor)
        )
        ours("linear", n_estimators=1, max_features="sqrt").fit(X[:100], Y[:100])
        pairs(
            f"{trees} trees: {name} {p} inputs, {d} outputs, max_features sqrt",
            n,
            lambda: ours("linear", **how).fit(X, Y),
            lambda: peer(**how).fit(X, Y),
            repeats,
            wanted,
            clock=time.process_time,
        )


def decoding_and_memory(n):
    "Decoding 400 queries, and what a fitted ensemble weighs beside scikit-learn's."
    X, Y, _ = images(n + 400)
    model = OutputKernelExtraTrees(
        "rbf",
        output_kernel_params={"sigma": SIGMA},
        max_features="sqrt",
        random_state=0,
    )
    model.fit(X[:n], Y[:n])
    model.predict(X[n : n + 2])
    seconds = median_seconds(lambda: model.predict(X[n:]), 7)
    report("decode 400 queries of the 100 trees", n, seconds, wanted="under 0.1 s")
    given = OutputKernelExtraTrees(
        "precomputed", max_features="sqrt", random_state=0
    ).fit(X[:n], model.gram_)
    small = ExtraTreesRegressor(
        n_estimators=2, max_features="sqrt", random_state=0
    ).fit(X[:n], model.gram_)
    alone, whole, peer = (
        len(pickle.dumps(fitted)) / 1e6 for fitted in (model, given, small)
    )
    peer *= 50  # two trees of the hundred
    report(
        "memory of the 100 trees and the outputs; peer: N columns",
        n,
        alone,
        peer,
        peer / alone,
        "MB",
        "under 50 MB",
    )
    report(
        "the same with the given Gram matrix",
        n,
        whole,
        peer,
        peer / whole,
        "MB",
        "under 50 MB",
    )


def threads(n, repeats):
    "Two threads against one."
    X, Y, _ = images(n)
    K = RBFKernel(sigma=SIGMA).gram(Y)
    fit = lambda jobs: (
        lambda: OutputKernelExtraTrees(
            "precomputed", max_features="sqrt", random_state=0, n_jobs=jobs
        ).fit(X, K)
    )
    fit(2)()
    rows = [(timed(fit(1))[0], timed(fit(2))[0]) for _ in range(2 * repeats + 1)]
    ratio = statistics.median(one / two for one, two in rows)
    one, two = (statistics.median(column) for column in zip(*rows))
    report(
        "100 extra-trees, full-rank Gram matrix: 2 threads; peer: 1 thread",
        n,
        two,
        one,
        ratio,
        wanted="1.7 times faster",
    )


def growth(sizes):
    """Gram matrix only, single precision, two threads: seconds and peak memory, each
    size in a process of its own."""
    points = []
    for n in sizes:
        seconds, peak = in_a_process_of_its_own(__file__, "--one-size", str(n))
        points.append((n, seconds))
        report(
            "growth: 100 extra-trees, float32 Gram matrix, 2 threads",
            n,
            seconds,
            wanted="completes",
        )
        report(
            "growth: peak memory", n, peak, unit="GB", wanted="under 8 GB at N = 20000"
        )
    slope = np.polyfit(*np.log(np.array(points)).T, 1)[0]
    print(f"growth: seconds ~ N^{slope:.2f}")


def one_size(n):
    X, Y, _ = images(n)
    K = np.empty((n, n), dtype=np.float32)
    for start in range(0, n, 1000):
        K[start : start + 1000] = RBFKernel(sigma=SIGMA).gram(
            Y[start : start + 1000], Y
        )
    for start in range(0, n, 1000):  # exactly symmetric, as a Gram matrix is
        block = K[start : start + 1000, start:]
        K[start:, start : start + 1000] = block.T
    model = OutputKernelExtraTrees(
        "precomputed", max_features="sqrt", n_jobs=2, random_state=0
    )
    OutputKernelExtraTrees("precomputed", n_estimators=1).fit(
        X[:100], np.ascontiguousarray(K[:100, :100])
    )
    seconds, _ = timed(lambda: model.fit(X, K))
    print(seconds, peak_gigabytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--n", type=int, default=2000, help="number of training images (default: 2000)"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="pairs of runs (default: 3)"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[1250, 2500, 5000, 10000, 20000]
    )
    parser.add_argument(
        "--store", action="store_true", help="keep the figures in benchmarks/trees.csv"
    )
    parser.add_argument("--one-size", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_size:
        one_size(args.one_size)
    else:
        side_by_side(args.n, args.repeats)
        few_of_many(args.repeats)
        decoding_and_memory(args.n)
        threads(args.n, args.repeats)
        growth(args.sizes)
        if args.store:
            store(__file__)
