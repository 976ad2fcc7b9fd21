"""Oracles of okbook.trees on random input, scikit-learn's checks, and every message."""

import pickle

import numpy as np
import pandas as pd
import pytest
from contract import parametrize_with_checks
from joblib import parallel_config
from numba import typeof, types
from numba.core.event import Event
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils._param_validation import InvalidParameterError

from okbook.core import (
    GramKernel,
    LinearKernel,
    RBFKernel,
    diffusion_gram,
    gram as checks,
)
from okbook.trees import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
    _splits,
    export_text,
    growth,
    nodes,
    plot_tree,
    prune_tree,
    split_score,
)
from okbook.trees.forest import bootstrap_counts, mean_weights, out_of_bag_weights
from okbook.trees.growth import resolve_max_features, resolve_min_samples, search_form
from okbook.trees.nodes import decision_paths, find_leaves, node_weights, tree_leaves

ENSEMBLES = [OutputKernelBagging, OutputKernelRandomForest, OutputKernelExtraTrees]
MODELS = [OutputKernelTree, *ENSEMBLES]
PEERS = [
    DecisionTreeRegressor,
    RandomForestRegressor,
    RandomForestRegressor,
    ExtraTreesRegressor,
]


def few(cls, *args, **kwargs):
    "A model that is quick to fit."
    return cls(
        *args,
        **({"n_estimators": 5} if hasattr(cls(), "n_estimators") else {}),
        **kwargs,
    )


def problem(seed):
    """Random inputs of many shapes, with ties and constant columns; whole-number
    outputs; weights; parameters."""
    rng = np.random.default_rng(seed)
    n, p, d = rng.integers(5, 120), rng.integers(1, 8), rng.integers(1, 9)
    X = rng.normal(size=(n, p)) if seed % 2 else rng.integers(0, 6, size=(n, p))
    X = X.astype(np.float32)
    if seed % 3 == 0:
        X[:, 0] = 1.0
    Y = rng.integers(0, 20, size=(n, d)).astype(float)
    weight = None if seed % 4 else rng.integers(0, 4, size=n).astype(float)
    params = {
        "random_state": seed,
        "max_features": None if seed % 5 else max(1, int(np.sqrt(p))),
        "min_samples_leaf": 1 + seed % 2,
        "max_depth": None if seed % 7 else 4,
    }
    return X, Y, weight, params


def gain(X, Y, weight, members, feature, threshold):
    "Decrease of the weighted variance, from the definition."
    left = members[X[members, feature] <= threshold]
    right = members[X[members, feature] > threshold]
    return sum(
        sign * scatter(Y, weight, part)
        for sign, part in ((1, members), (-1, left), (-1, right))
    )


def scatter(Y, weight, members):
    w = weight[members]
    return (
        float(w @ ((Y[members] - w @ Y[members] / w.sum()) ** 2).sum(axis=1))
        if len(members)
        else 0.0
    )


def assert_same_tree(ours, theirs, X, Y, weight):
    """Node for node the same features, thresholds and leaves.

    Where two splits of a node have exactly the same gain, scikit-learn's choice is an
    accident of rounding: there the gains must agree to the last digits, and the nodes
    after it, which see another random stream, are not compared. Whether that happened.
    """
    t, s = ours.tree_, theirs.tree_
    weight = np.ones(len(X)) if weight is None else weight
    todo = [(0, 0)]
    while todo:
        a, b = todo.pop()
        members = t.samples[t.start[a] : t.stop[a]]
        assert t.n_node_samples[a] == s.n_node_samples[b]
        assert_allclose(t.weighted_n_node_samples[a], s.weighted_n_node_samples[b])
        assert (t.feature[a] < 0) == (s.feature[b] < 0)
        if t.feature[a] < 0:
            continue
        if t.feature[a] == s.feature[b] and t.threshold[a] == s.threshold[b]:
            todo += [
                (t.children_right[a], s.children_right[b]),
                (t.children_left[a], s.children_left[b]),
            ]
            continue
        one = gain(X, Y, weight, members, t.feature[a], t.threshold[a])
        other = gain(X, Y, weight, members, s.feature[b], s.threshold[b])
        assert_allclose(one, other, rtol=1e-10)
        return True
    return False


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_linear_kernel_is_scikit_learns_regression_tree(splitter):
    """eq-ok3-3, eq-ok3-6, eq-ok3-7: the same tree, and the same predictions, on a
    hundred random problems."""
    peer = DecisionTreeRegressor if splitter == "best" else ExtraTreeRegressor
    ties = 0
    for seed in range(100):
        X, Y, weight, params = problem(seed)
        theirs = peer(**params).fit(X, Y, sample_weight=weight)
        ours = OutputKernelTree(splitter=splitter, **params).fit(
            X, Y, sample_weight=weight
        )
        found = assert_same_tree(ours, theirs, X, Y, weight)
        ties += found
        if not found:
            assert_array_equal(ours.apply(X), theirs.apply(X))
            assert_array_equal(
                ours.decision_path(X).toarray(), theirs.decision_path(X).toarray()
            )
            assert_allclose(
                ours.predict(X), theirs.predict(X).reshape(Y.shape), atol=1e-12
            )
            assert_allclose(
                ours.tree_.impurity, theirs.tree_.impurity * Y.shape[1], atol=1e-9
            )
            assert_allclose(
                ours.feature_importances_, theirs.feature_importances_, atol=1e-12
            )
    assert ties <= 10


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_dirac_kernel_is_scikit_learns_classification_tree(splitter):
    "The Gini tree, with its probabilities."
    peer = DecisionTreeClassifier if splitter == "best" else ExtraTreeClassifier
    ties = 0
    for seed in range(100):
        X, Y, weight, params = problem(seed)
        y = np.array(list("abcdefg"))[(Y[:, 0] % (2 + seed % 6)).astype(int)]
        if len(set(y if weight is None else y[weight > 0])) < 2 or (
            weight is not None and len(set(y)) != len(set(y[weight > 0]))
        ):
            continue
        theirs = peer(**params).fit(X, y, sample_weight=weight)
        ours = OutputKernelTree("dirac", splitter=splitter, **params).fit(
            X, y, sample_weight=weight
        )
        found = assert_same_tree(
            ours, theirs, X, np.equal.outer(y, np.unique(y)).astype(float), weight
        )
        ties += found
        if not found:
            assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
            assert_array_equal(ours.classes_, theirs.classes_)
    assert ties <= 40


def test_general_outputs():
    """eq-ok3-3: real outputs, where two gains are equal only if two questions part a
    small node alike."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(150, 6)).astype(np.float32), rng.normal(size=(150, 3))
        theirs = DecisionTreeRegressor(min_samples_leaf=8, random_state=seed).fit(X, Y)
        ours = OutputKernelTree(min_samples_leaf=8, random_state=seed).fit(X, Y)
        assert assert_same_tree(ours, theirs, X, Y, None) is False
        assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_both_forms_of_the_search_grow_the_same_tree(splitter):
    """Gram matrix (double, single precision, read-only) and factor: eq-trees-gain in
    two ways."""
    for seed in range(60):
        X, Y, weight, params = problem(seed)
        K = Y @ Y.T
        frozen = K.copy()
        frozen.flags.writeable = False
        fits = [
            OutputKernelTree(splitter=splitter, **params).fit(
                X, Y, sample_weight=weight
            )
        ]
        for gram in (K, K.astype(np.float32), frozen):
            model = OutputKernelTree("precomputed", splitter=splitter, **params)
            fits.append(model.fit(X, gram, sample_weight=weight))
        for other in fits[1:]:
            for a, b in zip(fits[0].tree_[:3], other.tree_[:3]):
                assert_array_equal(a, b)
            assert_array_equal(fits[0].tree_.samples, other.tree_.samples)


@pytest.mark.parametrize("rank", [3, 20])
def test_a_gram_matrix_of_small_rank_is_factored_and_gives_the_same_trees(rank):
    rng = np.random.default_rng(rank)
    X, F = rng.normal(size=(300, 5)), rng.normal(size=(300, rank))
    for splitter in ("best", "random"):
        low = OutputKernelTree("precomputed", splitter=splitter, random_state=0).fit(
            X, F @ F.T
        )
        high = OutputKernelTree(splitter=splitter, random_state=0).fit(X, F)
        assert_array_equal(low.tree_.feature, high.tree_.feature)
        assert_array_equal(low.tree_.threshold, high.tree_.threshold)


def test_weights_count_as_repetitions():
    rng = np.random.default_rng(0)
    X, Y, times = (
        rng.normal(size=(60, 4)),
        rng.normal(size=(60, 2)),
        rng.integers(0, 4, size=60),
    )
    kernel = {
        "output_kernel": "rbf",
        "output_kernel_params": {"sigma": 2.0},
        "random_state": 0,
    }
    weighted = OutputKernelTree(**kernel).fit(X, Y, sample_weight=times)
    repeated = OutputKernelTree(**kernel).fit(
        X.repeat(times, axis=0), Y.repeat(times, axis=0)
    )
    assert_allclose(weighted.tree_.threshold, repeated.tree_.threshold)
    assert_allclose(weighted.tree_.impurity, repeated.tree_.impurity, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [RBFKernel(sigma=1.5), lambda A, B: (1 + A @ B.T) ** 2]
)
def test_score_of_a_node_by_brute_force(kernel):
    """eq-ok3-11 and eq-ok3-3: the variance of every node, and the best split of
    every node, from the definition."""
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 3)).astype(np.float32), rng.normal(size=(40, 2))
    model = OutputKernelTree(kernel, min_samples_leaf=2, random_state=0).fit(X, Y)
    K, t = model.gram_, model.tree_

    def variance(members):
        return np.mean(K[members, members]) - np.mean(
            [[K[i, j] for j in members] for i in members]
        )

    for node in range(t.node_count):
        members = t.samples[t.start[node] : t.stop[node]]
        assert_allclose(t.impurity[node], variance(members), atol=1e-12)
        if t.feature[node] >= 0:
            scores = {}
            for f in range(3):
                for cut in np.unique(X[members, f])[:-1]:
                    left, right = (
                        members[X[members, f] <= cut],
                        members[X[members, f] > cut],
                    )
                    if min(len(left), len(right)) >= 2:
                        parts = len(left) * variance(left) + len(right) * variance(
                            right
                        )
                        scores[f, cut] = variance(members) - parts / len(members)
            f, go = t.feature[node], X[members, t.feature[node]] <= t.threshold[node]
            assert_allclose(
                scores[f, X[members[go], f].max()], max(scores.values()), atol=1e-12
            )


@pytest.mark.parametrize(
    "ours, peer",
    [
        (OutputKernelBagging(), RandomForestRegressor(max_features=1.0)),
        (OutputKernelRandomForest(), RandomForestRegressor(max_features="sqrt")),
        (OutputKernelExtraTrees(), ExtraTreesRegressor()),
        (
            OutputKernelExtraTrees(max_features="sqrt", bootstrap=True),
            ExtraTreesRegressor(max_features="sqrt", bootstrap=True),
        ),
    ],
)
@pytest.mark.parametrize("weights", [None, "random"])
def test_ensembles_are_scikit_learns_tree_for_tree(ours, peer, weights):
    "eq-ok3-15 with the linear kernel."
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(90, 6)), rng.integers(0, 20, size=(90, 2)).astype(float)
    weights = None if weights is None else rng.uniform(0.5, 2.0, size=90)
    params = {"n_estimators": 8, "min_samples_leaf": 4, "random_state": 5}
    ours = clone(ours).set_params(**params).fit(X, Y, sample_weight=weights)
    peer = clone(peer).set_params(**params).fit(X, Y, sample_weight=weights)
    assert_allclose(ours.predict(X), peer.predict(X))
    assert_array_equal(ours.apply(X), peer.apply(X))
    paths, pointers = peer.decision_path(X)
    assert_array_equal(ours.decision_path(X)[0].toarray(), paths.toarray())
    assert_array_equal(ours.decision_path(X)[1], pointers)
    total = sum(
        t.tree_.compute_feature_importances(normalize=False)
        * t.tree_.weighted_n_node_samples[0]
        for t in peer
    )
    assert_allclose(ours.feature_importances_, total / total.sum())


INPUTS = {
    "many": lambda rng: rng.normal(size=(6000, 5)),
    "rounded": lambda rng: rng.normal(size=(400, 30)).round(1),
    "few ones": lambda rng: rng.random((300, 400)) < 0.01,
    "few zeros": lambda rng: rng.random((300, 400)) > 0.01,
    "around a value": lambda rng: (
        rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.2)
    ),
    "one input": lambda rng: rng.normal(size=(40, 1)),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("form", ["factor", "gram"])
@pytest.mark.parametrize("peer", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_few_of_many_features_sorted_listed_and_copied(kind, form, peer):
    """scikit-learn's trees, where the examples of a node are sorted by bits or by
    insertion (eq-trees-sorting), where only those that differ from the most frequent
    value are listed, and where nodes are copied."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = INPUTS[kind](rng).astype(np.float32)
        X, Y = (X[:200] if form == "gram" else X), rng.normal(size=(6000, 3))
        Y, weight = Y[: len(X)], rng.integers(0, 3, size=len(X)).astype(float)
        splitter = "best" if peer is DecisionTreeRegressor else "random"
        for w in (None, weight):
            how = {"max_features": "sqrt", "random_state": seed}
            theirs = peer(**how).fit(X, Y, sample_weight=w)
            ours = OutputKernelTree(splitter=splitter, **how)
            if form == "gram":
                ours.set_params(output_kernel="precomputed")
                wide = np.hstack([Y - Y.mean(axis=0), 1e-5 * np.eye(len(X))])
                ours.fit(X, wide @ wide.T, sample_weight=w)
            else:
                ours.fit(X, Y, sample_weight=w)
            assert_same_tree(ours, theirs, X, Y, w)


def test_compiling_is_announced_once(caplog):
    "What numba compiles beside the search, and what comes later, is silent."
    announce = growth._FirstFit()
    for function in (nodes._find_leaves, growth.grow, growth.grow):
        announce.on_start(Event("numba:compile", "START", {"dispatcher": function}))
    assert [r.name for r in caplog.records] == ["okbook"]
    assert "compiles its tree search" in caplog.text


def test_out_of_bag_score_is_scikit_learns():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    y = np.round(10 * X[:, 0] + rng.normal(size=120))
    params = {
        "n_estimators": 30,
        "min_samples_leaf": 4,
        "random_state": 0,
        "oob_score": True,
    }
    ours = OutputKernelBagging(**params).fit(X, y)
    peer = RandomForestRegressor(max_features=1.0, **params).fit(X, y)
    assert_allclose(ours.oob_score_, peer.oob_score_)
    assert_allclose(ours.oob_loss_, np.mean((y - peer.oob_prediction_) ** 2))
    labels = np.where(y > 0, "up", "down")
    ours = OutputKernelBagging("dirac", **params).fit(X, labels)
    peer = RandomForestClassifier(max_features=None, **params).fit(X, labels)
    assert_allclose(ours.oob_score_, peer.oob_score_)


def test_out_of_bag_score_is_the_same_however_the_outputs_are_given():
    """Vectors, a kernel function, indices of a Gram matrix, the matrix itself; of
    vectors no n x n matrix is made."""
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(60, 3)), rng.integers(-4, 5, size=(60, 2)).astype(float)
    K = Y @ Y.T
    params = {
        "n_estimators": 40,
        "min_samples_leaf": 3,
        "random_state": 0,
        "oob_score": True,
    }
    vectors = OutputKernelBagging("linear", **params).fit(X, Y)
    assert vectors._training_gram.kept is None
    assert (
        OutputKernelBagging("dirac", **params)
        .fit(X, Y[:, 0].astype(str))
        ._training_gram.kept
        is None
    )
    for kernel, y in (
        (lambda A, B: A @ B.T, Y),
        (GramKernel(K), np.arange(60)),
        ("precomputed", K),
    ):
        other = OutputKernelBagging(kernel, **params).fit(X, y)
        assert_allclose(
            [other.oob_loss_, other.oob_score_], [vectors.oob_loss_, vectors.oob_score_]
        )


def test_out_of_bag_examples_that_every_tree_has_seen():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    with pytest.warns(UserWarning, match="more trees are needed"):
        OutputKernelBagging(n_estimators=2, oob_score=True, random_state=0).fit(X, y)


@pytest.mark.parametrize("cls", MODELS)
def test_weights_and_predicted_kernel_by_brute_force(cls):
    "eq-ok3-16, eq-ok3-17, eq-ok3-19, eq-ok3-20, eq-ok3-21 by double sums over leaves."
    rng = np.random.default_rng(4)
    X, Y, Q = (
        rng.normal(size=(50, 4)),
        rng.normal(size=(50, 3)),
        rng.normal(size=(7, 4)),
    )
    model = few(
        cls,
        "rbf",
        output_kernel_params={"sigma": 1.0},
        min_samples_leaf=3,
        random_state=0,
    ).fit(X, Y)
    trees = [model] if cls is OutputKernelTree else model.estimators_
    W = np.zeros((7, 50))
    for tree in trees:
        t = tree.tree_
        for q, leaf in enumerate(tree.apply(Q)):
            inside = t.samples[t.start[leaf] : t.stop[leaf]]
            W[q, inside] += t.weight[inside] / t.weight[inside].sum() / len(trees)
    assert_allclose(model.weights(Q).toarray(), W, atol=1e-14)
    assert_allclose(model.weights(Q).sum(axis=1), np.ones(7))
    K = RBFKernel(sigma=1.0).gram(Y)
    double = [
        [sum(a[i] * b[j] * K[i, j] for i in range(50) for j in range(50)) for b in W]
        for a in W
    ]
    assert_allclose(model.predict_gram(Q), np.array(double), atol=1e-12)
    nearest = [
        min(np.flatnonzero(w), key=lambda c: K[c, c] - 2 * w @ K[:, c]) for w in W
    ]  # eq-ok3-18
    assert_allclose(model.predict(Q), Y[nearest])
    everywhere = [min(range(50), key=lambda c: K[c, c] - 2 * w @ K[:, c]) for w in W]
    assert_allclose(model.predict(Q, candidates="train"), Y[everywhere])
    given = rng.normal(size=(9, 3))
    chosen = [
        min(
            range(9),
            key=lambda c: 1 - 2 * w @ RBFKernel(sigma=1.0).gram(Y, given)[:, c],
        )
        for w in W
    ]
    assert_array_equal(model.decode(Q, candidates=given), chosen)


def test_pruning_is_scikit_learns():
    for seed in range(15):
        X, Y, weight, params = problem(2 * seed + 1)
        params["min_samples_leaf"] = 5
        ours, peer = OutputKernelTree(**params), DecisionTreeRegressor(**params)
        if assert_same_tree(clone(ours).fit(X, Y), clone(peer).fit(X, Y), X, Y, None):
            continue
        path, theirs = (
            ours.cost_complexity_pruning_path(X, Y),
            peer.cost_complexity_pruning_path(X, Y),
        )
        d = Y.shape[1]
        assert_allclose(path.ccp_alphas, theirs.ccp_alphas * d, atol=1e-9)
        assert_allclose(path.impurities, theirs.impurities * d, atol=1e-9)
        for alpha in theirs.ccp_alphas[1::3] * 1.0001:
            ours.set_params(ccp_alpha=alpha * d).fit(X, Y)
            peer.set_params(ccp_alpha=alpha).fit(X, Y)
            assert (
                ours.get_n_leaves() == peer.get_n_leaves()
                and ours.get_depth() == peer.get_depth()
            )
            assert_allclose(ours.predict(X), peer.predict(X).reshape(Y.shape))


def test_min_impurity_decrease_is_scikit_learns():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 9, size=100).astype(float)
    for least in (0.0, 0.1, 0.5):
        ours = OutputKernelTree(min_impurity_decrease=least, random_state=0).fit(X, y)
        peer = DecisionTreeRegressor(min_impurity_decrease=least, random_state=0).fit(
            X, y
        )
        assert_array_equal(ours.apply(X), peer.apply(X))


@pytest.mark.parametrize("cls, peer", list(zip(MODELS, PEERS)))
def test_fractions_of_the_examples_are_rounded_up(cls, peer):
    """As scikit-learn rounds them: 0.11 of 60 examples are 7, in a leaf and in a node
    to be split."""
    rng = np.random.default_rng(16)
    X, Y = rng.normal(size=(60, 3)), rng.integers(0, 20, size=(60, 2)).astype(float)
    params = {"random_state": 0, "max_features": 1.0}
    for name in ("min_samples_leaf", "min_samples_split"):
        found = []
        for least in (6, 7, 0.11):
            ours = few(cls, **params | {name: least}).fit(X, Y)
            theirs = few(peer, **params | {name: least}).fit(X, Y)
            assert_array_equal(ours.apply(X), theirs.apply(X))
            found.append(ours.apply(X))
        assert_array_equal(found[1], found[2])
        assert (np.asarray(found[0]) != found[1]).any()


def test_numbers_from_parameters():
    for n in range(2, 40):
        for part in (0.05, 0.11, 0.5, 1.0):
            assert resolve_min_samples(part, n, 1) == max(1, int(np.ceil(part * n)))
    assert resolve_min_samples(0.001, 10, 2) == 2 and resolve_min_samples(3, 10, 2) == 3
    sizes = {"sqrt": 4, "log2": 4, None: 19, 0.3: 5, 0.01: 1, 30: 19, 7: 7}
    for max_features, number in sizes.items():
        assert resolve_max_features(max_features, 19) == number


def test_sequences_as_outputs():
    """Any objects, with a callable kernel: here words, compared by the letters they
    share."""
    words = ["tree", "tree", "treat", "bread", "bread", "broad", "trees", "break"]
    shared = lambda A, B: np.array(
        [[float(len(set(a) & set(b))) for b in B] for a in A]
    )
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [0.3], [1.3]])
    model = OutputKernelTree(shared, max_depth=1).fit(X, words)
    assert model.predict([[0.0], [1.3]])[0].startswith("tre") and model.predict(
        [[1.3]]
    ) == ["bread"]
    assert (
        few(OutputKernelExtraTrees, shared, random_state=0).fit(X, words).predict(X)
        == words
    )


@pytest.mark.parametrize("cls", MODELS)
def test_a_graph_is_learned_from_its_gram_matrix(cls):
    rng = np.random.default_rng(6)
    A = np.triu(rng.uniform(size=(30, 30)) < 0.2, 1).astype(float)
    A += A.T
    X = rng.normal(size=(30, 4))
    by_name = few(
        cls, "diffusion", output_kernel_params={"beta": 0.5}, random_state=0
    ).fit(X, A)
    by_gram = few(cls, "precomputed", random_state=0).fit(
        X, diffusion_gram(A, beta=0.5)
    )
    by_index = few(cls, GramKernel(diffusion_gram(A, beta=0.5)), random_state=0).fit(
        X, np.arange(30)
    )
    assert_allclose(by_name.predict_gram(X), by_gram.predict_gram(X))
    assert_allclose(by_name.predict_gram(X), by_index.predict_gram(X))
    assert np.linalg.eigvalsh(by_name.predict_gram(X)).min() > -1e-10


def test_scikit_learns_tools_work():
    rng = np.random.default_rng(7)
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    K = RBFKernel(sigma=1.0).gram(Y)
    search = GridSearchCV(
        make_pipeline(
            StandardScaler(), OutputKernelTree(GramKernel(K), random_state=0)
        ),
        {"outputkerneltree__max_depth": [1, 3]},
    )
    search.fit(X, np.arange(60))
    direct = cross_val_score(
        OutputKernelTree(RBFKernel(sigma=1.0), max_depth=1, random_state=0), X, Y, cv=5
    )
    assert_allclose(search.cv_results_["mean_test_score"][0], direct.mean())


# Threads, memory, precision


@pytest.mark.parametrize("cls", ENSEMBLES)
def test_workers_do_not_change_the_result(cls):
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(400, 5)), rng.normal(size=(400, 4))
    K = RBFKernel(sigma=1.0).gram(Y)
    one = few(cls, "precomputed", random_state=0).fit(X, K)
    two = few(cls, "precomputed", random_state=0, n_jobs=2).fit(X, K)
    with parallel_config(
        backend="loky", n_jobs=2
    ):  # worker processes, which see a read-only memory map
        processes = few(cls, "precomputed", random_state=0).fit(X, K)
    for other in (two, processes):
        assert_array_equal(one.weights(X).toarray(), other.weights(X).toarray())


@pytest.mark.parametrize("form", ["gram", "factor"])
def test_trees_do_not_depend_on_how_inputs_are_stored(form, monkeypatch):
    """Large nodes read a second copy of small inputs, a feature at a time."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(300, 7)), rng.normal(size=(300, 4))
    X[:, 2], X[:, 3] = 1.0, X[:, 3].round()
    outputs = (RBFKernel().gram(Y), "precomputed") if form == "gram" else (Y, "linear")
    model = OutputKernelExtraTrees(outputs[1], n_estimators=3, random_state=0)
    kept = model.fit(X, outputs[0]).estimators_
    monkeypatch.setattr("okbook.trees.growth._BY_FEATURE", 0)
    in_place = clone(model).fit(np.asfortranarray(X), outputs[0]).estimators_
    for one, other in zip(kept, in_place):
        for a, b in zip(one.tree_, other.tree_):
            assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_gram_matrix_is_not_copied():
    X, F = (
        np.random.default_rng(9).normal(size=(100, 2)),
        np.random.default_rng(9).normal(size=(100, 100)),
    )
    K = (F @ F.T).astype(np.float32)
    model = OutputKernelExtraTrees("precomputed", n_estimators=3, random_state=0).fit(
        X, K
    )
    assert np.shares_memory(model.gram_, K)
    assert model.gram_.dtype == np.float32


def test_the_search_keeps_what_it_reads_alive():
    """A Gram matrix that may not be written to is neither copied nor written to, and
    lives as long as the views of it."""
    F = np.random.default_rng(9).normal(size=(100, 100))
    K = F @ F.T
    before = K.copy()
    K.flags.writeable = False
    outputs = search_form(None, None, lambda: K)
    read = outputs.weighted_by(np.ones(100), False).gram
    assert np.shares_memory(read, K) and not read.flags.writeable
    assert read.base is K
    OutputKernelExtraTrees("precomputed", n_estimators=3).fit(F[:, :2], K)
    assert_array_equal(K, before)
    assert (
        K.copy().flags.writeable
        and not search_form(
            None, None, lambda: before.T.copy().T
        ).gram.flags.f_contiguous
    )


@pytest.mark.parametrize("cls", MODELS)
def test_a_gram_matrix_of_zeros_is_one_leaf(cls):
    "Its factor has no column, with weights or without."
    X = np.random.default_rng(17).normal(size=(100, 2))
    weight = np.arange(100.0)
    for sample_weight in (None, weight):
        model = few(cls, "precomputed", random_state=0)
        model.fit(X, np.zeros((100, 100)), sample_weight)
        assert_array_equal(model.apply(X), np.zeros_like(model.apply(X)))


def test_pruning_leaves_the_whole_tree_alone():
    X, Y, _, _ = problem(1)
    whole = OutputKernelTree(random_state=0).fit(X, Y).tree_
    before = [column.copy() for column in whole]
    for alpha in (0.0, 0.1, 1e9):
        pruned = prune_tree(whole, alpha)
        for column, old in zip(whole, before):
            assert_array_equal(column, old)
    assert pruned.node_count == 1


def test_memory_of_an_ensemble_is_that_of_its_nodes():
    rng = np.random.default_rng(10)
    X, Y = rng.normal(size=(500, 4)), rng.normal(size=(500, 50))
    sizes = []
    for n_estimators in (10, 60):
        model = OutputKernelExtraTrees(
            "rbf", n_estimators=n_estimators, max_features=1, random_state=0
        ).fit(X, Y)
        sizes.append(len(pickle.dumps(model)))
        nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    assert (sizes[1] - sizes[0]) / 50 < 60 * nodes / 60


def test_pickle_and_clone():
    rng = np.random.default_rng(11)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    for cls in MODELS:
        model = few(cls, "rbf", random_state=0).fit(X, Y)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(model.predict(X), again.predict(X))
        assert_array_equal(model.predict(X), clone(model).fit(X, Y).predict(X))


# Text and drawing


def test_export_text():
    X, y = (
        np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [3.0, 7.0]]),
        np.array([0.0, 0.0, 4.0, 5.0]),
    )
    tree = OutputKernelTree(max_depth=2, random_state=0, max_features=2).fit(
        X[:, :1], y
    )
    text = export_text(tree, feature_names=["size"])
    assert "|--- size <= 1.50" in text and "n = 2, variance = 0.00: 0.00" in text
    assert "(and below)" in export_text(tree, max_depth=1)
    assert "example" in export_text(OutputKernelTree("precomputed").fit(X, np.eye(4)))
    with pytest.raises(ValueError, match="must have 1 entries: got 2"):
        export_text(tree, feature_names=["a", "b"])
    with pytest.raises(TypeError, match="one of estimators_"):
        export_text(few(OutputKernelBagging).fit(X, y))


def test_plot_tree_draws_images_in_the_leaves():
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(12)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 6))
    tree = OutputKernelTree(max_depth=2, random_state=0).fit(X, Y)
    ax = plot_tree(tree, output_shape=(2, 3))
    assert len(ax.child_axes) == tree.get_n_leaves()
    leaf = np.flatnonzero(tree.tree_.feature < 0)[0]
    inside = tree.tree_.samples[tree.tree_.start[leaf] : tree.tree_.stop[leaf]]
    assert_allclose(
        ax.child_axes[0].images[0].get_array(), Y[inside].mean(axis=0).reshape(2, 3)
    )
    drawn = []
    plot_tree(
        tree,
        max_depth=1,
        draw=lambda inset, output: drawn.append(output),
        ax=plt.figure().subplots(),
    )
    assert len(drawn) == 2
    plt.close("all")


# Bad input

X0 = np.random.default_rng(13).normal(size=(10, 2))
Y0 = np.random.default_rng(13).normal(size=(10, 3))


@pytest.mark.parametrize("cls", MODELS)
def test_bad_data(cls):
    model = few(cls)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X0 == X0.max(), np.inf, X0), Y0)
    with pytest.raises(
        ValueError, match=r"at least two training examples.*n_samples=1"
    ):
        model.fit(X0[:1], Y0[:1])
    with pytest.raises(ValueError, match="10.*9"):
        model.fit(X0, Y0[:9])
    with pytest.raises(NotFittedError):
        model.predict(X0)
    fitted = few(cls).fit(X0, Y0)
    with pytest.raises(ValueError, match="3 features.*2 features"):
        fitted.predict(np.ones((2, 3)))


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize(
    "gram, message",
    [
        (np.ones((10, 9)), r"square.*\(10, 9\)"),
        (np.triu(np.ones((10, 10))), "symmetric"),
        (-np.eye(10), "positive semi-definite"),
        (np.where(np.eye(10) > 0, np.nan, 0.0), "(?i)nan"),
    ],
)
def test_a_gram_matrix_that_is_not_one(cls, gram, message):
    with pytest.raises(ValueError, match=message):
        few(cls, "precomputed").fit(X0, gram)


@pytest.mark.parametrize("cls", MODELS)
def test_a_factor_that_leaves_no_trace_does_not_hide_negative_eigenvalues(cls):
    "Matrices large enough that a factor is tried before the eigenvalues are looked at."
    rng = np.random.default_rng(14)
    X, (u, v) = rng.normal(size=(100, 2)), rng.normal(size=(2, 100))
    low_rank = np.outer(u, u) - 0.5 * np.outer(v, v)
    swaps = np.kron(
        np.eye(50), [[0.0, 1.0], [1.0, 0.0]]
    )  # its diagonal is zero: the empty factor leaves nothing
    almost = RBFKernel(sigma=1.0).gram(X[:, :1])  # of low rank, but for one pair
    almost[3, 70] = almost[70, 3] = almost[3, 70] - 0.1
    for K in (low_rank, swaps, almost):
        with pytest.raises(
            ValueError, match="The Gram matrix y .*positive semi-definite, but"
        ):
            few(cls, "precomputed").fit(X, K)
        with pytest.raises(
            ValueError,
            match="The Gram matrix of the kernel .*positive semi-definite, but",
        ):
            few(
                cls,
                lambda A, B, K=K: K[
                    np.ix_(A.ravel().astype(int), B.ravel().astype(int))
                ],
            ).fit(X, np.arange(100.0))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_of_a_split_is_what_it_removes_of_the_variance(weighted):
    "eq-ok3-3: weighted sums of squares about the means, in explicit features."
    rng = np.random.default_rng(17)
    Y, left = rng.normal(size=(40, 3)), rng.random(40) < 0.3
    weight = rng.integers(1, 5, 40).astype(float) if weighted else np.ones(40)

    def scatter(rows):
        mean = np.average(Y[rows], axis=0, weights=weight[rows])
        return weight[rows] @ ((Y[rows] - mean) ** 2).sum(axis=1)

    removed = scatter(np.full(40, True)) - scatter(left) - scatter(~left)
    score = split_score(Y @ Y.T, left, weight if weighted else None)
    assert_allclose(score, removed / weight.sum(), rtol=1e-10)


@pytest.mark.parametrize("cls", MODELS)
def test_an_exact_factor_is_proof_enough(cls, monkeypatch):
    rng = np.random.default_rng(15)
    X, Y = rng.normal(size=(100, 2)), rng.normal(size=(100, 3))
    expected = few(cls, random_state=0).fit(X, Y)
    monkeypatch.setattr(
        checks,
        "_cholesky_succeeds",
        lambda K, shift: pytest.fail("the matrix was factorised again"),
    )
    given = few(cls, "precomputed", random_state=0).fit(X, Y @ Y.T)
    assert_array_equal(given.apply(X), expected.apply(X))


@pytest.mark.parametrize("cls", MODELS)
def test_rounding_is_not_indefiniteness(cls):
    K = Y0 @ Y0.T
    K -= 1e-12 * np.trace(K) * np.eye(10)
    assert np.linalg.eigvalsh(K).min() < 0
    few(cls, "precomputed").fit(X0, K)


@pytest.mark.parametrize("cls", MODELS)
def test_no_pre_image_from_a_gram_matrix_alone(cls):
    model = few(cls, "precomputed").fit(X0, Y0 @ Y0.T)
    with pytest.raises(ValueError, match="only the Gram matrix.*predict_gram"):
        model.predict(X0)
    assert model.decode(X0).shape == (10,)


@pytest.mark.parametrize("cls", MODELS)
def test_candidates_and_kernels_of_a_wrong_kind(cls):
    model = few(cls, "rbf").fit(X0, Y0)
    with pytest.raises(TypeError, match="sequence of outputs.*int"):
        model.predict(X0, candidates=3)
    with pytest.raises(ValueError, match=r"as many columns.*\(1, 3\) and \(1, 2\)"):
        model.predict(X0, candidates=Y0[:, :2])
    with pytest.raises(ValueError, match=r"\(10, 10\).*\(3, 3\)"):
        few(cls, lambda A, B: np.eye(3)).fit(X0, Y0)


@pytest.mark.parametrize("cls", MODELS)
def test_one_class_is_one_leaf(cls):
    model = few(cls, "dirac").fit(X0, ["a"] * 10)
    trees = [model] if cls is OutputKernelTree else model.estimators_
    assert [tree.get_n_leaves() for tree in trees] == [1] * len(trees)
    assert_array_equal(model.predict(X0), ["a"] * 10)
    assert_array_equal(model.predict_proba(X0), np.ones((10, 1)))


@pytest.mark.parametrize("cls", MODELS)
def test_constant_inputs_and_outputs(cls):
    flat = few(cls, random_state=0).fit(np.ones((10, 2)), Y0)
    trees = [flat] if cls is OutputKernelTree else flat.estimators_
    assert all(tree.get_n_leaves() == 1 and tree.get_depth() == 0 for tree in trees)
    assert_array_equal(flat.feature_importances_, np.zeros(2))
    for kernel in ("linear", "rbf"):
        same = few(cls, kernel, random_state=0).fit(X0, np.full(10, 0.1))
        assert_allclose(same.predict(X0), np.full(10, 0.1))
        assert_array_equal(same.feature_importances_, np.zeros(2))


@pytest.mark.parametrize(
    "params, message",
    [
        ({"splitter": "worst"}, "The 'splitter' parameter of {} must be a str among"),
        ({"max_features": "all"}, "The 'max_features' parameter of {} must be"),
        ({"max_features": 0}, r"'max_features' .* in the range \[1, inf\).* Got 0"),
        ({"max_features": 1.5}, "'max_features' .* Got 1.5"),
        ({"max_depth": 0}, r"'max_depth' .* in the range \[1, inf\).* Got 0"),
        ({"min_samples_split": 1}, r"'min_samples_split' .* range \[2, inf\).* Got 1"),
        ({"min_samples_leaf": 0.0}, r"'min_samples_leaf' .* \(0.0, 1.0\].* Got 0.0"),
        ({"min_samples_leaf": np.nan}, "'min_samples_leaf' .* Got nan"),
        ({"min_impurity_decrease": -1}, r"'min_impurity_decrease' .* \[0.0, inf\)"),
        ({"min_impurity_decrease": np.inf}, "'min_impurity_decrease' .* Got inf"),
        ({"ccp_alpha": np.nan}, "'ccp_alpha' .* Got nan"),
        ({"output_kernel_params": 3}, "'output_kernel_params' .* Got 3"),
        (
            {"candidates": "leaf"},
            "'candidates' parameter .* Got 'leaf'",
        ),
    ],
)
@pytest.mark.parametrize("cls", MODELS)
def test_parameters_out_of_range(cls, params, message):
    with pytest.raises(ValueError, match=message.format(cls.__name__)):
        few(cls, **params).fit(X0, Y0)


def test_parameters_of_ensembles():
    with pytest.raises(
        InvalidParameterError, match=r"'n_estimators' .* range \[1, inf\).* Got 0"
    ):
        OutputKernelBagging(n_estimators=0).fit(X0, Y0)
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap=True"):
        OutputKernelExtraTrees(oob_score=True).fit(X0, Y0)


@pytest.mark.parametrize(
    "weight, message",
    [
        (np.ones(9), r"shape \(n,\) = \(10,\), one weight for each .* \(9,\)"),
        (np.ones((10, 1)), r"got shape \(10, 1\)"),
        (np.ones((10, 2)), r"got shape \(10, 2\)"),
        (2.0, r"got shape \(\)"),
        (np.full(10, -1.0), "not be negative"),
        (np.zeros(10), "not be all zero"),
        (np.full(10, np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_sample_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        OutputKernelTree().fit(X0, Y0, sample_weight=weight)


def checked_models():
    for kernel in ("linear", "dirac", LinearKernel()):
        yield from (few(cls, kernel, random_state=0) for cls in MODELS)


def known_failures(model):
    if getattr(model, "bootstrap", False):
        reason = (
            "a bootstrap sample of weighted examples is not one of repeated "
            "examples (as in scikit-learn's forests)"
        )
        name = "check_sample_weight_equivalence_on_{}_data"
        return {name.format(kind): reason for kind in ("dense", "sparse")}
    return {}


@parametrize_with_checks(list(checked_models()), expected_failed_checks=known_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def _holds_an_array(numba_type):
    "Whether a value of this type is an array, or a tuple with one."
    if isinstance(numba_type, types.BaseTuple):
        return any(_holds_an_array(member) for member in numba_type.types)
    return not isinstance(numba_type, (types.Number, types.Boolean, types.NoneType))


def test_the_search_returns_numbers_only():
    """Its functions count no references to arrays, so that one that returned an array
    would give away what it does not own."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 4))
    for form in (Y, Y @ Y.T + np.eye(60)):
        for splitter in ("best", "random"):
            for weight in (None, rng.integers(0, 3, 60)):
                kernel = "linear" if form is Y else "precomputed"
                OutputKernelTree(kernel, splitter=splitter).fit(X, form, weight)
    compiled = [f for f in vars(_splits).values() if hasattr(f, "overloads")]
    returned = [o.signature.return_type for f in compiled for o in f.overloads.values()]
    assert len(compiled) > 20 and len(returned) > 3
    assert not any(map(_holds_an_array, returned))
    assert _holds_an_array(typeof((np.ones(1), 1.0)))


def test_leaves_are_looked_for_only_in_what_is_a_tree():
    "No memory outside of the arrays is read, whatever they hold."
    X = np.zeros((2, 1), np.float32)
    good = np.array([2, -1, -1]), np.array([0, -1, -1]), np.array([0.5, 0, 0])
    assert_array_equal(find_leaves(X, *map(list, good)), [1, 1])
    for right, feature, threshold in [
        ([10**9, -1, -1], [0, -1, -1], [0.5, 0, 0]),
        ([2, -1, -1], [10**9, -1, -1], [0.5, 0, 0]),
        ([0, -1, -1], [0, -1, -1], [0.5, 0, 0]),  # a cycle
        ([1, -1, -1], [0, -1, -1], [0.5, 0, 0]),
    ]:
        with pytest.raises(ValueError, match="does not fit X of 1 columns: node 0 of"):
            find_leaves(X, right, feature, threshold)
    with pytest.raises(ValueError, match="an entry for each node: got 3, 3 and 2"):
        find_leaves(X, good[0], good[1], [0.5, 0])
    Z = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
    tree = OutputKernelTree().fit(Z, Z[:, 1] + Z[:, 2]).tree_
    with pytest.raises(ValueError, match="does not fit X of 1 columns.*feature [12]"):
        tree_leaves(tree, Z[:, :1])
    for function, name in ((node_weights, "nodes"), (decision_paths, "leaves")):
        for wrong in (-1, tree.node_count, 10**9):
            with pytest.raises(ValueError, match=f"{name} must be indices of nodes"):
                function(tree, np.array([0, wrong]))


@pytest.mark.parametrize("kernel", ["linear", "dirac", "rbf"])
def test_weights_may_be_a_series_or_read_only(kernel):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(24, 3)), np.linspace(1.0, 2.0, 24)
    y = np.arange(24) % 3 if kernel == "dirac" else rng.normal(size=24)
    known = OutputKernelTree(kernel).fit(X, y, w)
    locked = w.copy()
    locked.flags.writeable = False
    for given in (pd.Series(w), locked, np.repeat(w, 2)[::2], list(w)):
        found = OutputKernelTree(kernel).fit(X, y, sample_weight=given)
        assert_allclose(found.predict(X), known.predict(X))
        path = OutputKernelTree(kernel).cost_complexity_pruning_path(X, y, given)
        assert len(path.ccp_alphas) > 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_common_factor_of_the_weights_makes_no_difference(model, kernel):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(24, 3)), np.linspace(1.0, 2.0, 24)
    y = X @ rng.normal(size=3)
    options = {"max_depth": 2, "random_state": 0, "candidates": "train"}
    predict = lambda w: few(model, kernel, **options).fit(X, y, w).predict(X)
    for factor in (1e100, 1e160, 1e300, 1e-100, 1e-300):
        assert_allclose(predict(factor * w), predict(w), rtol=0, atol=1e-12)
    assert_array_equal(predict(2.0**900 * w), predict(w))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ma.array(np.ones(6), mask=[1, 0, 0, 0, 0, 0]), "1 masked entries"),
        (np.arange(6).astype("M8[D]"), r"sample_weight holds dates.* datetime64\[D\]"),
        (list("abcdef"), "sample_weight must hold numbers"),
        ([[1, 2], [1], 1, 1, 1, 1], "sample_weight must be an array: .* inhomogeneous"),
        (np.ones((6, 2)), r"got shape \(6, 2\)"),
        (np.r_[1e-200, np.ones(5)], "differ by more than a factor of 2e.60"),
    ],
)
def test_weights_that_are_none_are_refused(weight, message):
    with pytest.raises((TypeError, ValueError), match=message):
        OutputKernelTree().fit(np.eye(6), np.arange(6.0), sample_weight=weight)


@pytest.mark.parametrize("model", MODELS)
def test_huge_limits_are_no_limits(model):
    X = np.random.default_rng(0).normal(size=(24, 3))
    predict = lambda **options: (
        few(model, random_state=0, **options).fit(X, X[:, 0]).predict(X)
    )
    assert_array_equal(predict(max_depth=10**30), predict())
    for name in ("min_samples_leaf", "min_samples_split"):
        assert_array_equal(predict(**{name: 10**30}), predict(**{name: 25}))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, X: export_text(t, decimals=-1), "'decimals' parameter"),
        (lambda t, X: export_text(t, max_depth=np.nan), "'max_depth' parameter"),
        (lambda t, X: plot_tree(t, ax="axes"), "'ax' parameter of plot_tree"),
        (lambda t, X: plot_tree(t, draw=3), "'draw' parameter of plot_tree"),
        (lambda t, X: bootstrap_counts(0, 5, np.ones(3)), "must hold 5 numbers"),
        (lambda t, X: bootstrap_counts(0, 5, np.zeros(5)), "must hold 5 numbers"),
        (lambda t, X: bootstrap_counts(0, 0), "'n_samples' parameter"),
        (lambda t, X: out_of_bag_weights([t.tree_], X[:5]), "must be the 24 inputs"),
        (lambda t, X: out_of_bag_weights([], X), "trees must be a list of trees"),
        (lambda t, X: mean_weights([]), "parts must hold the weights"),
    ],
)
def test_functions_say_what_they_are_given(call, message):
    X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
    tree = OutputKernelTree(max_depth=2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=message):
        call(tree, X)


def test_a_grower_takes_as_many_outputs_as_inputs():
    X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
    rules = growth.growth_rules(OutputKernelTree(), 24, 3)
    grower = growth.TreeGrower(X, growth.FactorOutputs.of(X[:3].astype(float)), rules)
    with pytest.raises(ValueError, match="each of the 24 inputs: got 3"):
        grower.grow(None, 0)


def test_features_of_two_values_are_sorted_as_others_are():
    "By counting in place of a sort, mixed with others, constant ones and all alone."
    rng = np.random.default_rng(0)
    for seed in range(200):
        n, p = int(rng.integers(1, 30)), int(rng.integers(1, 8))
        X = rng.integers(0, rng.integers(1, 4), (n, p)) * rng.choice([1.0, -2.5, 1e9])
        if seed % 3 == 0:
            X[:, 0] = rng.standard_normal(n)
        found = growth._sort_inputs(X)
        order = np.argsort(X, axis=0, kind="stable")
        assert_array_equal(np.argsort(found.place, axis=1).T, order)
        for f in range(p):
            values, counts = np.unique(X[:, f], return_counts=True)
            assert counts[values == found.usual[f]] == counts.max()
            begin, above, stop = found.bounds[f].astype(int)
            rare = order[X[order[:, f], f] != found.usual[f], f]
            assert_array_equal(found.rare[begin:stop], rare)
            assert above - begin == (X[:, f] < found.usual[f]).sum()


@pytest.mark.parametrize("kernel", ["linear", "dirac", "rbf"])
def test_a_single_column_that_must_not_be_written(kernel):
    "It lies in memory as its transpose does, so that no copy was made of it."
    X, y = np.arange(8.0)[:, None], np.repeat([0.0, 1.0], 4)
    frozen = X.copy()
    frozen.flags.writeable = False
    for model in (
        OutputKernelTree(kernel),
        OutputKernelExtraTrees(kernel, n_estimators=2, random_state=0),
    ):
        expected = model.fit(X, y).predict(X)
        assert_array_equal(model.fit(frozen, y).predict(frozen), expected)
