"""Speed of predictions beside scikit-learn: ``python benchmarks/predict.py``.

Many queries, and one, of forests, boosting, AdaBoost, nearest neighbours and kernel
ridge regression; the peers are scikit-learn's estimators of the same names, with the
same parameters, and the script stops if their predictions differ by more than what
ties explain: a twentieth of their variance. Then what has no peer: decoding with a
kernel without features, beside the same model's weights; fits, searches and Gram
matrices that are more than a prediction asks for; sizes of pickles; memory of 100,000
queries. Random inputs; one thread; processor time. Ratios are the peer's seconds over
okbook's, medians over pairs of runs, one of each after the other. Nothing here gates a
test. With ``--store`` the figures go to ``benchmarks/predict.csv``, which the book's
page on speed shows.
"""

import argparse
import pickle
import tracemalloc

# first: it sets the number of threads before numpy is there
from measure import pairs, report, store, timed  # isort: skip

from time import process_time

import numpy as np
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import okbook as ok
from okbook.core import decode_weights


def problem(n, q, p=10, seed=0):
    "Inputs, two real outputs, three classes, and queries."
    rng = np.random.default_rng(seed)
    X, queries = rng.normal(size=(n, p)), rng.normal(size=(q, p))
    Y = np.sin(X[:, :2]) + 0.3 * rng.normal(size=(n, 2))
    classes = (Y.sum(axis=1) > 0).astype(int) + (X[:, 2] > 0)
    return X, Y, classes, queries


def both(work, n, ours, peer, queries, repeats, wanted="not slower"):
    "Many queries, and one."
    one = queries[:1]
    for model in (ours, peer):
        model.predict(one)
    found, expected = ours.predict(queries), peer.predict(queries)
    apart, size = np.mean((found * 1.0 - expected) ** 2), np.var(expected * 1.0)
    assert apart <= 0.05 * size, f"{work}: {apart:.3g} apart, of {size:.3g}"
    calls = (lambda: ours.predict(queries)), (lambda: peer.predict(queries))
    title = f"{work}, {len(queries):,} queries"
    pairs(title, n, *calls, repeats, wanted, clock=process_time)
    calls = (lambda: ours.predict(one)), (lambda: peer.predict(one))
    pairs(f"{work}, one query", n, *calls, 20 * repeats, wanted, clock=process_time)


def forests(n, q, repeats):
    X, Y, classes, queries = problem(n, q)
    for leaf in (1, 5, 50, 200):
        how = {"n_estimators": 100, "min_samples_leaf": leaf, "random_state": 0}
        ours = ok.OutputKernelRandomForest(max_features=None, **how).fit(X, Y)
        peer = RandomForestRegressor(**how).fit(X, Y)
        both(f"forest of 100 trees, leaves of {leaf}", n, ours, peer, queries, repeats)
        ours = ok.OutputKernelRandomForest("dirac", **how).fit(X, classes)
        peer = RandomForestClassifier(**how).fit(X, classes)
        name = f"forest of 100 trees, classes, leaves of {leaf}"
        both(name, n, ours, peer, queries, repeats)


def boosting(n, q, repeats):
    X, Y, classes, queries = problem(n, q)
    ours = ok.OutputKernelBoosting(random_state=0).fit(X, Y[:, 0])
    peer = GradientBoostingRegressor(random_state=0).fit(X, Y[:, 0])
    both("boosting, 100 trees of depth three", n, ours, peer, queries, repeats)
    ours = ok.AdaBoost(n_estimators=200).fit(X, classes > 1)
    stump = DecisionTreeClassifier(max_depth=1)
    peer = AdaBoostClassifier(stump, n_estimators=200).fit(X, classes > 1)
    both("AdaBoost, 200 stumps", n, ours, peer, queries, repeats)


def neighbours(n, q, repeats):
    for p in (5, 50):
        X, Y, _, queries = problem(n, q, p)
        ours = ok.OutputKernelKNN(5).fit(X, Y)
        peer = KNeighborsRegressor(5, algorithm="brute").fit(X, Y)
        name = f"five nearest neighbours, {p} features, peer: brute force"
        both(name, n, ours, peer, queries, repeats)


def ridge(n, q, repeats):
    X, Y, _, queries = problem(n, q)
    params = {"gamma": 0.05}
    ours = ok.OutputKernelRidge(input_kernel_params=params, lam=1.0).fit(X, Y)
    peer = KernelRidge(kernel="rbf", gamma=0.05).fit(X, Y)
    both("kernel ridge regression", n, ours, peer, queries, repeats)


def linear(n, repeats):
    "Few features of the inputs: the choice of the ridge."
    X, Y, _, _ = problem(n, 1, 20)
    lams = np.logspace(-3, 3, 7)
    ours = ok.OutputKernelRidgeCV(input_kernel="linear", lam_grid=lams, center=True)
    peer = RidgeCV(alphas=lams)
    calls = (lambda: ours.fit(X, Y)), (lambda: peer.fit(X, Y))
    calls[0](), calls[1]()
    assert ours.lam_ == peer.alpha_
    name = "fit and choice of seven ridges, 20 features, peer: RidgeCV"
    pairs(name, n, *calls, 4 * repeats, "3 times slower", clock=process_time)


def strings(n, repeats):
    "Substrings of up to three letters, and words that are candidates."
    rng = np.random.default_rng(0)
    letters = list("ACDEFGHIKLMNPQRSTVWY")
    texts = ["".join(rng.choice(letters, 300)) for _ in range(1000)]
    kernel = ok.SpectrumKernel(normalize=False)

    def peer():
        count = CountVectorizer(analyzer="char", ngram_range=(1, 3), lowercase=False)
        F = count.fit_transform(texts)
        return (F @ F.T).toarray()

    assert (kernel.gram(texts) == peer()).all()
    calls, wanted = ((lambda: kernel.gram(texts)), peer), "twice as fast"
    title = "spectrum of strings of 300, peer: CountVectorizer"
    pairs(title, 1000, *calls, repeats, wanted, clock=process_time)
    some = [rng.choice(letters[:8], rng.integers(4, 12)) for _ in range(2 * n)]
    words = np.array(["".join(word) for word in some])
    X = rng.normal(size=(n, 10))
    how = {"output_kernel": "spectrum", "candidates": words}
    how["input_kernel_params"] = {"gamma": 0.1}
    model = ok.OutputKernelRidge(lam=0.1, **how).fit(X, words[:n])
    model.predict(X[:1])
    K, diag = model.kernel_.gram(words[:n], words), model.kernel_.diag(words)

    def by_weights():
        return decode_weights(model.weights(X[:1]), K, diag)

    assert (model.decode(X[:1]) == by_weights()).all()
    calls = (lambda: model.decode(X[:1])), by_weights
    name = f"one query, {2 * n:,} words as candidates, peer: weights"
    pairs(name, n, *calls, 4 * repeats, "10 ms", clock=process_time)
    again = pickle.loads(pickle.dumps(model))
    report(
        "the same, the first after unpickling", n, timed(lambda: again.decode(X[:1]))[0]
    )


def trees(n, q, repeats):
    "What scikit-learn's trees do besides."
    X, Y, _, queries = problem(n, q)
    ours = ok.OutputKernelTree(random_state=0).fit(X, Y[:, 0])
    peer = DecisionTreeRegressor(random_state=0).fit(X, Y[:, 0])
    both("one tree", n, ours, peer, queries, repeats)
    given = {
        "decision_path": (queries,),
        "cost_complexity_pruning_path": (X, Y[:, 0]),
        "get_depth": (),
    }
    for name, data in given.items():
        calls = [lambda m=m: getattr(m, name)(*data) for m in (ours, peer)]
        calls[0]()
        pairs(name, n, *calls, repeats, "not slower", clock=process_time)


def out_of_bag(n, n_trees, repeats):
    "What ``oob_score`` adds to the fit of a forest."
    X, Y, _, _ = problem(n, 1)
    how = {"n_estimators": n_trees, "bootstrap": True, "random_state": 0}
    kinds = (ok.OutputKernelRandomForest, RandomForestRegressor)
    added = []
    for kind in kinds:
        seconds = [
            [
                timed(lambda: kind(oob_score=oob, **how).fit(X, Y), process_time)[0]
                for _ in range(repeats)
            ]
            for oob in (False, True)
        ]
        added.append(np.median(seconds[1]) - np.median(seconds[0]))
    name = f"what oob_score adds to a forest of {n_trees} trees"
    report(name, n, *added, added[1] / added[0], wanted="not slower")


def forest_kernel(n, repeats):
    X, _, classes, _ = problem(n, 1)
    calls = (
        lambda: ok.ForestKernel(random_state=0).fit_transform(X, classes),
        lambda: RandomForestClassifier(300, random_state=0).fit(X, classes),
    )
    calls[0](), calls[1]()
    name = "a forest's kernel, fitted and computed, peer: scikit-learn's forest alone"
    pairs(name, n, *calls, repeats, "twice as fast", clock=process_time)


def sets(n, repeats):
    "Sets of 30 of 1,000 things; a product in single precision counts what they share."
    rng = np.random.default_rng(0)
    some = [rng.choice(1000, 30, replace=False) for _ in range(n)]
    given, F = [frozenset(s.tolist()) for s in some], np.zeros((n, 1000), np.float32)
    for row, s in zip(F, some):
        row[s] = 1.0
    for kernel in (ok.JaccardKernel(), ok.IntersectionKernel()):
        name = f"{type(kernel).__name__} of sets of 30, peer: one product"
        calls = (lambda: kernel.gram(given)), (lambda: F @ F.T)
        pairs(name, n, *calls, repeats, "2 times slower", clock=process_time)


def one_setting(n, repeats):
    "A tenth of the nodes labelled; the graph is the kernel, and has all edges."
    X, Y, _, _ = problem(n, 1)
    labelled = np.arange(n // 10)
    model = ok.SemiSupervisedOutputKernelRidge(
        input_kernel_params={"gamma": 0.1}, lam=0.1, lam2=0.01
    )
    A = np.cov(X) + np.eye(n)
    calls = (lambda: model.fit(X, Y[labelled], labelled)), (lambda: cholesky(A))
    calls[0]()
    name = "semi-supervised fit at one setting, peer: one Cholesky factorisation"
    pairs(name, n, *calls, repeats, "4 times slower", clock=process_time)


def searches():
    "A choice of all parameters of a link predictor; ten links a node."
    for n, inputs, wanted in ((500, 0, 10), (1000, 0, 90), (800, 1, 15)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 10))
        near = np.exp(-cdist(X[:, :2], X[:, :2], "sqeuclidean"))
        A = np.triu(rng.random((n, n)) < near * 10 / near.sum(axis=1).mean(), 1)
        A, X = (A | A.T).astype(float), X if inputs else None
        seconds, _ = timed(lambda: ok.LinkPredictorCV().fit(X, A), process_time)
        name = "with ten features" if inputs else "without features"
        report(f"LinkPredictorCV, {name}", n, seconds, wanted=f"{wanted} s")


def pickles():
    X, Y, _, _ = problem(2000, 1)
    model = ok.OutputKernelRidge().fit(X, Y)
    size = len(pickle.dumps(model)) / 1e6
    report("pickle of ridge regression", 2000, size, unit="MB", wanted="1 MB")
    X, _, classes, _ = problem(600, 1)
    model = ok.ForestKernelSVC(random_state=0).fit(X, classes)
    size = len(pickle.dumps(model)) / 1e6
    report("pickle of ForestKernelSVC", 600, size, unit="MB", wanted="5 MB")


def memory(n, q):
    "What NumPy allocates at most while many queries are answered."
    X, Y, _, queries = problem(n, q)
    how, used = {"n_estimators": 100, "min_samples_leaf": 50, "random_state": 0}, []
    for model in (
        ok.OutputKernelRandomForest(max_features=None, **how),
        RandomForestRegressor(**how),
    ):
        model.fit(X, Y).predict(queries[:1])
        tracemalloc.start()
        model.predict(queries)
        used.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    name = f"peak memory of {q:,} queries of 100 trees, leaves of 50"
    report(name, n, *used, used[1] / used[0], "MB", "not more")


def decoding(n, q):
    "A kernel without features: pre-images from tables and from weights."
    X, Y, _, queries = problem(n, q)
    for leaf in (1, 50):
        model = ok.OutputKernelRandomForest(
            "rbf", min_samples_leaf=leaf, random_state=0
        )
        K = model.fit(X, Y).gram_
        for among in ("support", "train"):

            def by_weights(model=model, K=K, among=among):
                W = model.weights(queries)
                return decode_weights(W, K, K.diagonal(), support=among == "support")

            first, _ = timed(lambda: model.decode(queries, among), process_time)
            ours, found = timed(lambda: model.decode(queries, among), process_time)
            peer, expected = timed(by_weights, process_time)
            assert (found == expected).all()
            title = f"RBF outputs, leaves of {leaf}, among {among}, peer: weights"
            wanted = "15 times faster" if leaf > 1 else "not slower"
            report(title, n, ours, peer, peer / ours, wanted=wanted)
            report(f"{title}, the first call", n, first, peer, peer / first)


def two_threads(repeats):
    "Wall-clock time of two threads beside one; both processors must be idle."

    def beside(work, n, call, wanted):
        for jobs in (1, 2):
            call(jobs)
        pairs(work, n, lambda: call(2), lambda: call(1), repeats, wanted)

    for n, q in ((1000, 100), (1000, 1000), (1000, 10000), (20000, 10000)):
        X, Y, classes, queries = problem(n, q)
        for kernel, y in (("linear", Y), ("dirac", classes)):
            model = ok.OutputKernelRandomForest(kernel, random_state=0).fit(X, y)
            beside(
                f"{q:,} queries of 100 trees, {kernel}, two threads, peer: one",
                n,
                lambda jobs, model=model, queries=queries: model.set_params(
                    n_jobs=jobs
                ).predict(queries),
                "not slower" if q < 10000 else "1.6 times faster",
            )
    for n in (600, 2000):
        X, _, classes, _ = problem(n, 1)
        beside(
            "a forest's kernel, fitted and computed, two threads, peer: one",
            n,
            lambda jobs, X=X, classes=classes: ok.ForestKernel(
                random_state=0, n_jobs=jobs
            ).fit_transform(X, classes),
            "1.6 times faster",
        )
    for n in (300, 1000, 2000):
        X, _, classes, _ = problem(n, 1, 20)
        kernels = [np.outer(x, x) for x in X.T]
        beside(
            "two-stage MKL of 20 kernels, two threads, peer: one",
            n,
            lambda jobs, kernels=kernels, classes=classes: ok.TwoStageMKL(
                "precomputed", C=1.0, n_jobs=jobs
            ).fit(kernels, classes),
            "1.6 times faster",
        )


def small(repeats):
    "A fit and ten predictions, where only what is done once counts."
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), rng.normal(size=(60, 2))
    models = {
        "a tree": (ok.OutputKernelTree(), DecisionTreeRegressor()),
        "ridge": (
            ok.OutputKernelRidge(input_kernel_params={"gamma": 0.1}),
            KernelRidge(kernel="rbf", gamma=0.1),
        ),
        "five neighbours": (ok.OutputKernelKNN(5), KNeighborsRegressor(5)),
        "a forest of eight trees": (
            ok.OutputKernelRandomForest(n_estimators=8, max_features=None),
            RandomForestRegressor(n_estimators=8),
        ),
    }
    for name, both_models in models.items():
        calls = [lambda m=m: m.fit(X, Y).predict(X[:10]) for m in both_models]
        for call in calls:
            call()
        title, wanted = f"{name}, fit and ten predictions", "1.2 times slower"
        pairs(title, 60, *calls, 20 * repeats, wanted, clock=process_time)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for size in (1000, 20000):
        forests(size, 10000, options.repeats)
        boosting(size, 10000, options.repeats)
    trees(16000, 10000, options.repeats)
    neighbours(10000, 3000, options.repeats)
    ridge(4000, 2000, options.repeats)
    linear(1500, options.repeats)
    strings(3000, options.repeats)
    for size in (1000, 2000):
        decoding(size, 1000)
    out_of_bag(1000, 400, options.repeats)
    forest_kernel(2000, options.repeats)
    sets(3000, options.repeats)
    one_setting(4000, options.repeats)
    searches()
    pickles()
    memory(20000, 100_000)
    small(options.repeats)
    two_threads(options.repeats)
    if options.store:
        store(__file__)
