"""Speed and memory of okbook.forest_kernel beside its peers, in one run: ``python
benchmarks/forest_kernel.py``.

The Gram matrix of a forest of 300 trees on bootstrap samples, grown pure, on the 4601
messages of Spambase where they are at hand (OKBOOK_DATA), and on random inputs of the
same sizes where they are not; two threads. Its peers: the leaves of scikit-learn,
one-hot encoded, times their transpose (by OneHotEncoder, and by a CSR matrix made by
hand), and ``proximity_counts`` of quantile-forest, where that is installed. Each round
runs all of them one after the other; the ratio is the median over rounds of the fastest
peer to okbook.

The linear machine on the leaf map, from ten thousand to a million rows: 100 trees of at
most 1,000 leaves, each size in a process of its own. Nothing here gates a test. With
``--store`` the figures go to ``benchmarks/forest_kernel.csv``, which the book's page on
speed shows.
"""

import argparse
import statistics
import tracemalloc

import numpy as np
import scipy.sparse as sp

# first: it sets the number of threads before numpy is there
# isort: skip
from measure import in_a_process_of_its_own, peak_gigabytes, report, store, timed
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import OneHotEncoder

from okbook.datasets import DatasetNotFound, load_uci
from okbook.forest_kernel import ForestKernel, linear_svm


def messages(n=4601):
    "Inputs and classes of Spambase, or random ones."
    try:
        data = load_uci("spambase", download=False)
        return np.asarray(data.data, dtype=np.float32)[:n], data.target[:n], "Spambase"
    except (
        DatasetNotFound
    ):  # the sizes are what counts; a damaged file still is an error
        rng = np.random.default_rng(0)
        X = rng.exponential(size=(n, 57)) * (rng.random((n, 57)) < 0.3)
        return (
            X.astype(np.float32),
            X[:, :10].sum(axis=1) + rng.normal(size=n) > 3,
            "random inputs",
        )


def encoded(nodes):
    "The leaf map by scikit-learn's encoder, times its transpose."
    Z = OneHotEncoder(dtype=np.float32).fit_transform(nodes)
    return (Z @ Z.T).toarray()


def by_hand(nodes):
    "The leaf map as a CSR matrix made by hand, times its transpose."
    n, n_trees = nodes.shape
    columns = nodes + np.concatenate([[0], np.cumsum(nodes.max(axis=0) + 1)[:-1]])
    triple = (
        np.ones(n * n_trees, dtype=np.float32),
        columns.ravel(),
        np.arange(0, n * n_trees + 1, n_trees),
    )
    Z = sp.csr_array(triple)
    return (Z @ Z.T).toarray()


def quantile_forest_peer(X, y, forest):
    "The counts of quantile-forest, as a function, or None where it is not installed."
    try:
        from quantile_forest import RandomForestQuantileRegressor
    except ImportError:
        print("quantile-forest is not installed: pip install quantile-forest")
        return None
    params = {
        "max_features": forest.max_features,
        "min_samples_leaf": 1,
        "random_state": 0,
        "n_jobs": 2,
    }
    peer = RandomForestQuantileRegressor(300, **params).fit(
        X, np.asarray(y, dtype=float)
    )
    return lambda: peer.proximity_counts(X, return_sorted=False)


def grams(rounds):
    "The Gram matrix beside its peers: from the inputs, and from the leaves."
    X, y, source = messages()
    n = len(X)
    print(f"n = {n}, p = {X.shape[1]}, {source}", flush=True)
    forest = RandomForestClassifier(300, max_features=8, random_state=0, n_jobs=2).fit(
        X, y
    )
    kernel = ForestKernel(FrozenEstimator(forest), n_jobs=2).fit(X)
    nodes = forest.apply(X)
    counts = quantile_forest_peer(X, y, forest)
    np.testing.assert_array_equal(kernel.gram(), by_hand(nodes))
    work = {
        "okbook, leaves": kernel.gram,
        "okbook, inputs": lambda: kernel.gram(X),
        "OneHotEncoder, leaves": lambda: encoded(nodes),
        "CSR by hand, leaves": lambda: by_hand(nodes),
        "OneHotEncoder, inputs": lambda: encoded(forest.apply(X)),
        "CSR by hand, inputs": lambda: by_hand(forest.apply(X)),
    } | ({"quantile-forest, inputs": counts} if counts else {})
    table = [
        {name: timed(function)[0] for name, function in work.items()}
        for _ in range(rounds)
    ]
    median = {name: statistics.median(row[name] for row in table) for name in work}
    for name, seconds in median.items():
        if not name.startswith("okbook"):
            ours = "okbook, " + name.split(", ")[1]
            ratio = statistics.median(row[name] / row[ours] for row in table)
            report(
                f"Gram matrix of 300 trees, {name.replace(', ', ', from the ')}",
                n,
                median[ours],
                seconds,
                ratio,
            )
    for start in ("leaves", "inputs"):
        peers = [
            name
            for name in work
            if name.endswith(start) and not name.startswith("okbook")
        ]
        best = [min(row[name] for name in peers) for row in table]
        ratio = statistics.median(
            b / row[f"okbook, {start}"] for b, row in zip(best, table)
        )
        wanted = "3 times faster"
        what = (
            f"Gram matrix of 300 trees, from the {start}; the fastest peer of "
            f"each round"
        )
        report(
            what,
            n,
            median[f"okbook, {start}"],
            statistics.median(best),
            ratio,
            wanted=wanted,
        )
    tracemalloc.start()
    kernel.gram()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    whole = 4 * n * n / 1e6
    report(
        "Gram matrix: memory besides the leaves; peer: n x n numbers",
        n,
        peak,
        whole,
        peak / whole,
        "MB",
        "1",
    )
    report("the leaves of 300 trees", n, kernel.leaves_.nbytes / 1e6, unit="MB")


def rows_and_classes(n, seed=0):
    """Synthetic rows: 20 numbers, a class that hangs on eight of them and on their
    products, and 5 % of noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20), dtype=np.float32)
    y = (
        X[:, 0] * X[:, 1]
        + X[:, 2] * X[:, 3]
        + np.abs(X[:, 4])
        - np.abs(X[:, 5])
        + X[:, 6]
        - X[:, 7]
        > 0
    )
    return X, y ^ (rng.random(n) < 0.05)


def one_size(n):
    """Train the linear machine on n rows, in this process: seconds of each step,
    passes, memory, accuracy."""
    X, y = rows_and_classes(n)
    grown = RandomForestClassifier(
        100, max_leaf_nodes=1000, max_samples=min(n, 20_000), n_jobs=2, random_state=0
    )
    forest = timed(lambda: grown.fit(X, y))
    linear_svm(
        sp.eye_array(4, format="csr", dtype=np.float32), [0, 0, 1, 1]
    )  # compiled before the clock starts
    ForestKernel(FrozenEstimator(grown)).fit_transform(X[:100])
    kernel = ForestKernel(FrozenEstimator(grown), normalize=True)
    mapped = timed(lambda: kernel.fit_transform(X))
    Z = mapped[1]
    trained = timed(lambda: linear_svm(Z, y, C=0.1, tol=1e-3, random_state=0))
    machine, peak = trained[1], peak_gigabytes()
    X_new, y_new = rows_and_classes(20_000, seed=1)
    right = np.mean(
        (kernel.transform(X_new) @ machine.coef + machine.intercept > 0) == y_new
    )
    print(
        forest[0],
        mapped[0],
        trained[0],
        machine.n_epochs,
        peak,
        right,
        grown.score(X_new, y_new),
    )


def million(sizes):
    """Seconds against n, where a Gram matrix of a million rows would take 8 TB in
    double precision."""
    for n in sizes:
        figures = in_a_process_of_its_own(__file__, "--one-size", str(n))
        forest, mapped, trained, passes, peak, right, vote = figures
        report("linear: forest of 100 trees, each on 20,000 rows at most", n, forest)
        report("linear: leaf map", n, mapped)
        report("linear: training to a duality gap of 0.001", n, trained)
        report("linear: passes", n, passes, unit="")
        report(
            "linear: peak memory; peer: Gram matrix, double precision",
            n,
            peak,
            8e-9 * n * n,
            unit="GB",
            wanted="8",
        )
        report(
            "linear: accuracy on new rows; peer: the forest's vote",
            n,
            right,
            vote,
            unit="",
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds of all peers (default: 7)"
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=[10_000, 30_000, 100_000, 300_000, 1_000_000],
    )
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep the figures in benchmarks/forest_kernel.csv",
    )
    parser.add_argument("--one-size", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_size:
        one_size(args.one_size)
    else:
        grams(args.rounds)
        million(args.sizes)
        if args.store:
            store(__file__)
