"""Missing values, categories, counted leaves and sizes of bootstrap samples."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from sklearn.utils import get_tags

from okbook.ensembles import OutputKernelBoosting, RandomizedTreeClassifier
from okbook.trees import (
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
    export_text,
    plot_tree,
    split_score,
)


def same_nodes(ours, theirs):
    "Assert that a tree is scikit-learn's, node for node, whatever their numbers."
    pairs, n = [(0, 0)], 0
    while pairs:
        a, b = pairs.pop()
        n += 1
        assert ours.n_node_samples[a] == theirs.n_node_samples[b]
        assert (ours.feature[a] < 0) == (theirs.children_left[b] < 0)
        if ours.feature[a] >= 0:
            assert ours.feature[a] == theirs.feature[b]
            assert ours.threshold[a] == pytest.approx(theirs.threshold[b], rel=1e-6)
            assert ours.missing_left[a] == theirs.missing_go_to_left[b]
            pairs += [
                (ours.children_left[a], theirs.children_left[b]),
                (ours.children_right[a], theirs.children_right[b]),
            ]
    assert n == ours.node_count == theirs.node_count


def data(seed, n=80, p=4, share=0.2):
    "Real inputs with missing values, and two real outputs that depend on them."
    draw = np.random.RandomState(seed)
    X = draw.normal(size=(n, p)).astype(np.float32)
    Y = X[:, :2] + 0.5 * draw.normal(size=(n, 2))
    X[draw.rand(n, p) < share] = np.nan
    return X, Y


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_missing_values_go_where_those_of_scikit_learn_go(seed, splitter):
    X, Y = data(seed, share=[0.0, 0.05, 0.3, 0.7][seed % 4])
    rules = {
        "min_samples_leaf": [5, 8][seed % 2],
        "max_features": [None, 2][seed // 2 % 2],
        "random_state": seed,
        "splitter": splitter,
    }
    weight = np.random.RandomState(seed).rand(len(X)) if seed % 3 == 0 else None
    theirs = DecisionTreeRegressor(**rules).fit(X, Y, weight)
    ours = OutputKernelTree(**rules).fit(X, Y, weight)
    same_nodes(ours.tree_, theirs.tree_)
    Z = data(seed + 100, share=0.5)[0]
    assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-9)
    gram = OutputKernelTree("precomputed", **rules).fit(X, Y @ Y.T, weight)
    same_nodes(gram.tree_, theirs.tree_)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_classes_and_missing_values(seed, splitter):
    X, Y = data(seed)
    y = (Y[:, 0] > 0).astype(int) + (Y[:, 1] > 0.3)
    rules = {"min_samples_leaf": 6, "random_state": seed, "splitter": splitter}
    theirs = DecisionTreeClassifier(**rules).fit(X, y)
    ours = OutputKernelTree("dirac", **rules).fit(X, y)
    same_nodes(ours.tree_, theirs.tree_)


@pytest.mark.parametrize("seed", range(4))
def test_missing_values_that_training_had_not_go_to_the_larger_child(seed):
    X, Y = data(seed, share=0)
    Z = data(seed + 50, share=0.5)[0]
    for splitter in ("best", "random"):
        rules = {"min_samples_leaf": 4, "random_state": seed, "splitter": splitter}
        theirs = DecisionTreeRegressor(**rules).fit(X, Y)
        ours = OutputKernelTree(**rules).fit(X, Y)
        same_nodes(ours.tree_, theirs.tree_)
        assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-9)


def test_a_column_without_values_and_one_that_tells_by_what_is_missing():
    X = np.full((40, 2), np.nan)
    X[::2, 1] = 3.0
    y = np.arange(40) % 2.0
    tree = OutputKernelTree().fit(X, y)
    assert_array_equal(tree.predict(X), y)
    assert_array_equal(tree.tree_.feature, [1, -1, -1])
    assert np.isinf(tree.tree_.threshold[0])
    assert tree.predict([[1.0, -1e30], [1.0, np.nan]]).tolist() == [0.0, 1.0]
    assert "x[1] is missing" in export_text(tree)


@pytest.mark.parametrize("leaves", [2, 3, 7, 20, 1000])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_counted_leaves_are_those_of_scikit_learn(leaves, splitter):
    for seed, share in ((0, 0.0), (1, 0.0), (2, 0.3), (3, 0.1)):
        X, Y = data(seed, n=150, share=share)
        rules = {
            "max_leaf_nodes": leaves,
            "min_samples_leaf": 5,
            "max_features": [None, 2][seed % 2],
            "random_state": seed,
            "splitter": splitter,
        }
        theirs = DecisionTreeRegressor(**rules).fit(X, Y)
        ours = OutputKernelTree(**rules).fit(X, Y)
        same_nodes(ours.tree_, theirs.tree_)
        assert ours.get_n_leaves() <= leaves
        gram = OutputKernelTree("precomputed", **rules).fit(X, Y @ Y.T)
        same_nodes(gram.tree_, theirs.tree_)


@pytest.mark.parametrize("max_samples", [None, 30, 0.4, 1.5])
def test_forests_draw_as_many_examples_as_scikit_learn(max_samples):
    X, Y = data(5, n=100, share=0.2)
    how = {"n_estimators": 5, "min_samples_leaf": 4, "random_state": 3}
    how |= {"max_samples": max_samples, "max_features": 2}
    for weight in (None, np.random.RandomState(0).randint(1, 4, len(X)).astype(float)):
        theirs = RandomForestRegressor(**how).fit(X, Y, weight)
        ours = OutputKernelRandomForest(**how).fit(X, Y, weight)
        for a, b in zip(ours.estimators_, theirs.estimators_):
            same_nodes(a.tree_, b.tree_)
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    theirs = ExtraTreesRegressor(bootstrap=True, **how).fit(X, Y)
    ours = OutputKernelExtraTrees(bootstrap=True, **how).fit(X, Y)
    for a, b in zip(ours.estimators_, theirs.estimators_):
        same_nodes(a.tree_, b.tree_)
    with pytest.raises(ValueError, match="max_samples needs bootstrap=True"):
        OutputKernelExtraTrees(max_samples=10).fit(X, Y)


def best_subset(groups, K):
    "The largest gain of all splits of the groups, by eq-ok3-3."
    kinds, most = np.unique(groups), -np.inf
    for bits in range(1, 2 ** (len(kinds) - 1)):
        left = np.isin(groups, kinds[[bool(bits >> k & 1) for k in range(len(kinds))]])
        most = max(most, split_score(K, left))
    return most


@pytest.mark.parametrize("seed", range(8))
def test_no_set_of_categories_is_better_for_one_output_or_two_classes(seed):
    draw = np.random.RandomState(seed)
    groups = draw.randint(0, 6, 40).astype(float)
    groups[draw.rand(40) < 0.1] = np.nan  # one more category
    y = np.where(np.isnan(groups), 1.0, np.nan_to_num(groups) % 3) + draw.normal(
        size=40
    )
    codes = np.nan_to_num(groups, nan=6.0)
    for kernel, outputs in (("linear", y), ("dirac", (y > 1).astype(int))):
        tree = OutputKernelTree(kernel, max_depth=1, categorical_features=[0])
        tree.fit(groups[:, None], outputs)
        grown = tree.tree_
        assert np.isnan(grown.threshold[0])
        children = grown.impurity[1:] @ grown.n_node_samples[1:] / 40
        expected = best_subset(codes, tree.gram_)
        assert_allclose(grown.impurity[0] - children, expected, rtol=1e-9)
        found = split_score(tree.gram_, tree.apply(groups[:, None]) == 1)
        assert_allclose(found, expected, rtol=1e-9)


def test_the_order_is_a_heuristic_for_several_outputs_and_rarely_loses_much():
    share = []
    for seed in range(30):
        draw = np.random.RandomState(seed)
        groups = draw.randint(0, 6, 40)
        Y = draw.normal(size=(6, 3))[groups] + 0.3 * draw.normal(size=(40, 3))
        tree = OutputKernelTree(max_depth=1, categorical_features=[0])
        tree.fit(groups[:, None], Y)
        found = split_score(tree.gram_, tree.apply(groups[:, None]) == 1)
        share.append(found / best_subset(groups, tree.gram_))
    assert max(share) <= 1 + 1e-9
    assert 0.7 < min(share) < 1 - 1e-9 and np.mean(share) > 0.95


def frame():
    "A data frame with a category, a number and missing values of both."
    draw = np.random.RandomState(0)
    town = draw.choice(["Liège", "Gent", "Namur"], 60)
    size = draw.rand(60)
    price = 3 * (town == "Gent") + size
    X = pd.DataFrame({"size": size, "town": pd.Categorical(town)})
    X.loc[:5, "town"] = None
    X.loc[3:9, "size"] = None
    return X, price


@pytest.mark.parametrize("given", ["from_dtype", ["town"], [1], [False, True]])
def test_categories_of_a_data_frame(given):
    X, y = frame()
    tree = OutputKernelTree(categorical_features=given, min_samples_leaf=3)
    tree.fit(X, y)
    assert tree.is_categorical_.tolist() == [False, True]
    text = export_text(tree)
    assert "town in {Gent}" in text and "missing" in text
    assert list(tree.feature_names_in_) == ["size", "town"]
    # an unknown category is a missing one
    new = pd.DataFrame({"size": [0.5, 0.5], "town": ["Oostende", None]})
    assert tree.predict(new)[0] == tree.predict(new)[1]
    # as a table without names
    if given == [1]:
        plain = OutputKernelTree(categorical_features=[1], min_samples_leaf=3)
        plain.fit(X.to_numpy(object), y)
        assert_array_equal(plain.predict(X.to_numpy(object)), tree.predict(X))
    again = pickle.loads(pickle.dumps(tree))
    assert_array_equal(again.predict(X), tree.predict(X))
    assert plot_tree(tree) is not None
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(X[["town", "size"]])


def test_the_order_of_categories_says_nothing():
    X, y = frame()
    other = X.assign(town=X["town"].cat.rename_categories({"Gent": "z", "Namur": "a"}))
    ours, theirs = OutputKernelTree().fit(X, y), OutputKernelTree().fit(other, y)
    assert_allclose(ours.predict(X), theirs.predict(other))
    for a, b in zip(np.sort(ours.tree_.impurity), np.sort(theirs.tree_.impurity)):
        assert a == pytest.approx(b, abs=1e-12)


def test_a_category_that_a_node_has_not_seen_goes_to_the_larger_child():
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 2], [1, 2]])
    tree = OutputKernelTree(categorical_features=[1]).fit(X, [0.0, 0.0, 1.0, 9.0, 9.0])
    grown = tree.tree_
    node = np.flatnonzero((grown.feature == 1) & (grown.n_node_samples == 3))[0]
    assert grown.left_categories[node].tolist() == [True, False, True, True]


@pytest.mark.parametrize("name", ["wrong", 2, -1, 0.5])
def test_columns_that_are_not_there_are_named(name):
    X, y = frame()
    with pytest.raises(ValueError, match="categorical_features must be a mask"):
        OutputKernelTree(categorical_features=[name]).fit(X, y)


@pytest.mark.parametrize("model", [OutputKernelRandomForest, OutputKernelExtraTrees])
def test_forests_on_a_data_frame(model):
    X, y = frame()
    forest = model(n_estimators=20, random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.7
    assert forest.apply(X).shape == (60, 20)
    assert_allclose(forest.feature_importances_.sum(), 1.0)
    assert get_tags(forest).input_tags.allow_nan
    forest = model(n_estimators=20, bootstrap=True, oob_score=True, random_state=0)
    assert forest.fit(X, y).oob_score_ > 0.3


def test_boosting_on_a_data_frame():
    X, y = frame()
    model = OutputKernelBoosting(n_estimators=30, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7


def test_pruning_keeps_the_sides():
    X, Y = data(1)
    X = np.column_stack([X, np.arange(80) % 5])
    whole = OutputKernelTree(categorical_features=[4]).fit(X, Y)
    pruned = OutputKernelTree(categorical_features=[4], ccp_alpha=0.05).fit(X, Y)
    t = pruned.tree_
    assert 1 < t.node_count < whole.tree_.node_count
    assert len(t.missing_left) == len(t.left_categories) == t.node_count
    # each training example falls in the leaf that it was put in
    leaf = pruned.apply(X)
    for node in np.flatnonzero(t.feature < 0):
        rows = t.samples[t.start[node] : t.stop[node]]
        assert_array_equal(leaf[rows], node)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("leaves", [None, 12])
def test_queries_go_where_the_training_examples_went(splitter, leaves):
    for seed in range(5):
        X, Y = data(seed)
        X[:, 3] = np.round(2 * X[:, 3]) + 6
        tree = OutputKernelTree(
            splitter=splitter,
            max_leaf_nodes=leaves,
            categorical_features=[3],
            random_state=seed,
        ).fit(X, Y)
        t, leaf = tree.tree_, tree.apply(X)
        for node in np.flatnonzero(t.feature < 0):
            assert_array_equal(leaf[t.samples[t.start[node] : t.stop[node]]], node)


def best_test(X, y, criterion):
    "The least weighted impurity of the children, over all tests on one column."
    values, gone, best = np.unique(X[~np.isnan(X)]), np.isnan(X), np.inf
    for cut in values:
        for left in (X <= cut, (X <= cut) | gone):
            if 0 < left.sum() < len(y):
                loss = 0.0
                for side in (left, ~left):
                    p = np.bincount(y[side]) / side.sum()
                    p = p[p > 0]
                    impurity = {"gini": 1 - p @ p, "entropy": -p @ np.log2(p)}
                    loss += side.mean() * impurity[criterion]
                best = min(best, loss)
    return best


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_randomized_trees_send_missing_values_to_the_better_side(n_classes, criterion):
    for seed in range(30):
        draw = np.random.RandomState(seed)
        x = np.round(draw.normal(size=40) * [1, 5, 100][seed % 3], 1)
        y = np.where(x > 0, draw.randint(0, n_classes, 40), 0)
        x[draw.rand(40) < 0.3] = np.nan
        tree = RandomizedTreeClassifier(criterion, max_depth=1).fit(x[:, None], y)
        leaf = tree.apply(x[:, None])
        found = 0.0
        for node in np.unique(leaf):
            p = np.bincount(y[leaf == node]) / (leaf == node).sum()
            assert_allclose(
                p[p > 0], tree.tree_.value[node][tree.tree_.value[node] > 0]
            )
            p = p[p > 0]
            impurity = {"gini": 1 - p @ p, "entropy": -p @ np.log2(p)}[criterion]
            found += (leaf == node).mean() * impurity
        assert_allclose(found, best_test(x, y, criterion), atol=1e-9)


def test_randomized_trees_with_missing_values_are_scikit_learns():
    for seed in range(10):
        X, Y = data(seed)
        y = (Y[:, 0] + Y[:, 1] > 0).astype(int)
        rules = {"min_samples_leaf": 7, "criterion": "gini"}
        # no ties, and no rounding
        weight = np.random.RandomState(seed).randint(1, 50, 80).astype(float)
        theirs = DecisionTreeClassifier(random_state=0, **rules).fit(X, y, weight)
        ours = RandomizedTreeClassifier(**rules).fit(X, y, weight)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_randomized_trees_with_missing_values_fit_and_prune():
    X, Y = data(3, n=200)
    y = Y[:, 0] > 0
    tree = RandomizedTreeClassifier(n_best=5, random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.95
    pruned = RandomizedTreeClassifier(confidence=0.25).fit(X, y)
    assert len(pruned.tree_.missing_left) == pruned.tree_.node_count
    assert get_tags(tree).input_tags.allow_nan
