"""Oracles of bagging and randomised trees on random input, scikit-learn's checks,
and every message."""

import pickle

import numpy as np
import pytest
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaincinv
from scipy.stats import chisquare, norm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from okbook.ensembles import (
    AdaBoost,
    Bagging,
    DecisionStump,
    OutputKernelBoosting,
    RandomizedTreeClassifier,
    bias_variance,
    margins,
    vote_shares,
)
from okbook.ensembles.adaboost import boost_step, staged_votes
from okbook.ensembles.bagging import Bootstrap, bootstrap_sample, out_of_bag_shares
from okbook.ensembles.kernel_boosting import shrink_residuals
from okbook.ensembles.tree import pessimistic_errors, sort_features
from okbook.ensembles.weak_learners import best_stump, sort_stump_examples
from okbook.trees.growth import FactorOutputs

WEIGHTED = "check_sample_weight_equivalence_on_dense_data"
MODELS = [
    RandomizedTreeClassifier(),
    RandomizedTreeClassifier("gini", max_features="sqrt", n_best=20, confidence=0.25),
    Bagging(n_estimators=5, oob_score=True),
    Bagging(RandomizedTreeClassifier(n_best=20), n_estimators=5, bootstrap=False),
    Bagging(LogisticRegression(), n_estimators=3),
    Bagging(KNeighborsClassifier(3), n_estimators=3),
]


def failures(model):
    """Checks that random draws cannot pass: an example of weight 2 is not drawn, or
    counted, like two examples."""
    if isinstance(model, Bagging) and model.bootstrap:
        return {
            WEIGHTED: "a sample of n, drawn by weight, is not a sample of the "
            "repeated examples"
        }
    if isinstance(model, RandomizedTreeClassifier) and model.n_best > 1:
        return {WEIGHTED: "pruning scales the weights to the number of examples"}
    return {}


@parametrize_with_checks(MODELS, expected_failed_checks=failures)
def test_scikit_learn(estimator, check):
    check(estimator)


def problem(seed):
    """Random inputs of many shapes, with ties and constant columns; classes;
    weights; parameters."""
    rng = np.random.default_rng(seed)
    n, p, k = rng.integers(8, 200), rng.integers(1, 8), 2 + seed % 4
    X = (
        rng.normal(size=(n, p))
        if seed % 2
        else rng.integers(0, 6, size=(n, p)).astype(float)
    )
    if seed % 3 == 0:
        X[:, 0] = 1.0
    y = np.array(list("dabce"))[rng.integers(0, k, n)]
    y[:k] = list("dabce")[:k]
    weight = [
        None,
        rng.random(n),
        rng.integers(0, 4, n).astype(float),
        rng.random(n) + 0.5,
    ][seed // 2 % 4]
    if weight is not None:
        weight[:k] = 1.0
    params = {
        "criterion": ("entropy", "gini")[seed % 2],
        "min_samples_leaf": 1 + seed % 3,
        "max_depth": None if seed % 5 else 4,
    }
    return X, y, weight, params


def impurity(shares, criterion):
    if criterion == "gini":
        return 1 - (shares**2).sum()
    return -(shares[shares > 0] * np.log2(shares[shares > 0])).sum()


def gain(X, codes, weight, members, feature, threshold, criterion):
    "The decrease of the impurity, from the definition."
    total = 0.0
    left = X[members, feature] <= threshold
    for sign, part in ((1, members), (-1, members[left]), (-1, members[~left])):
        mass = np.bincount(codes[part], weights=weight[part])
        total += sign * mass.sum() * impurity(mass / mass.sum(), criterion)
    return total


def assert_same_tree(ours, theirs, X, codes, weight, criterion):
    """Node for node the same tests; whether two tests of a node were equally good,
    where scikit-learn draws lots.

    There the two gains must agree to the last digits, and the nodes below are not
    compared.
    """
    t, s = ours.tree_, theirs.tree_
    X = X.astype(np.float32)
    todo, ties = [(0, 0, np.flatnonzero(weight))], 0
    while todo:
        a, b, members = todo.pop()
        assert s.n_node_samples[b] == len(members)
        assert_allclose(t.weighted_n_node_samples[a], s.weighted_n_node_samples[b])
        assert_allclose(t.value[a], s.value[b, 0], atol=1e-12)
        if (
            t.feature[a] < 0
            # scikit-learn splits some nodes of one class, whose impurity it rounds
            # above zero
        ):
            assert s.feature[b] < 0 or len(set(codes[members])) == 1
            ties += s.feature[b] >= 0
            continue
        if t.feature[a] == s.feature[b] and t.threshold[a] == s.threshold[b]:
            left = X[members, t.feature[a]] <= t.threshold[a]
            todo += [
                (t.children_right[a], s.children_right[b], members[~left]),
                (a + 1, s.children_left[b], members[left]),
            ]
            continue
        one = gain(X, codes, weight, members, t.feature[a], t.threshold[a], criterion)
        other = gain(X, codes, weight, members, s.feature[b], s.threshold[b], criterion)
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        ties += 1
    return ties


def test_plain_tree_is_scikit_learns():
    "eq-vote-gain: on a hundred problems, with ties, weights and constant columns."
    ties = 0
    for seed in range(100):
        X, y, weight, params = problem(seed)
        codes = np.unique(y, return_inverse=True)[1]
        ours = RandomizedTreeClassifier(**params).fit(X, y, weight)
        theirs = DecisionTreeClassifier(**params, random_state=seed).fit(X, y, weight)
        full = np.ones(len(X)) if weight is None else weight
        found = assert_same_tree(ours, theirs, X, codes, full, params["criterion"])
        ties += found > 0
        if not found:
            assert_array_equal(ours.apply(X), theirs.apply(X))
            assert_array_equal(ours.predict(X), theirs.predict(X))
            assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
            assert_allclose(
                ours.feature_importances_, theirs.feature_importances_, atol=1e-9
            )
            assert (
                ours.get_depth() == theirs.get_depth()
                and ours.get_n_leaves() == theirs.get_n_leaves()
            )
    assert ties < 75


def test_no_ties_no_difference():
    """eq-vote-gain: continuous inputs and weights, large leaves: the same tree to
    the last node."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y, weight = (
            rng.normal(size=(500, 5)).astype(np.float32),
            rng.integers(0, 2 + seed % 3, 500),
            rng.random(500) + 0.1,
        )
        params = dict(criterion=("entropy", "gini")[seed % 2], min_samples_leaf=12)
        ours = RandomizedTreeClassifier(**params).fit(X, y, weight)
        theirs = DecisionTreeClassifier(**params, random_state=seed).fit(X, y, weight)
        inner = ours.tree_.feature >= 0
        assert_array_equal(
            ours.tree_.feature[inner], theirs.tree_.feature[theirs.tree_.feature >= 0]
        )
        assert_array_equal(
            ours.tree_.threshold[inner],
            theirs.tree_.threshold[theirs.tree_.feature >= 0],
        )
        queries = rng.normal(size=(300, 5))
        assert_allclose(
            ours.predict_proba(queries), theirs.predict_proba(queries), atol=1e-12
        )


def test_counts_are_repeats():
    """A weight that is a whole number stands for so many equal examples; weight 0
    for none."""
    for seed in range(20):
        X, y, _, params = problem(2 * seed + 1)
        counts = np.random.default_rng(seed).integers(0, 4, len(X))
        counts[:5] = 1
        params["min_samples_leaf"] = 1
        one = RandomizedTreeClassifier(**params).fit(X, y, counts)
        other = RandomizedTreeClassifier(**params).fit(
            np.repeat(X, counts, axis=0), np.repeat(y, counts)
        )
        for name in set(one.tree_._fields) - {"n_samples"}:
            assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name))


def test_whole_weights_and_others_grow_one_tree():
    """The table of x log x changes no digit: weights 1, 2, 3 and the same times 0.5
    give one tree."""
    for seed in range(20):
        X, y, _, params = problem(seed)
        weight = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
        one, half = (
            RandomizedTreeClassifier(**params).fit(X, y, w)
            for w in (weight, weight * 0.5)
        )
        if not np.array_equal(
            one.tree_.feature, half.tree_.feature
        ):  # two tests that rounding tells apart
            codes = np.unique(y, return_inverse=True)[1]
            a = np.flatnonzero(
                one.tree_.feature[: len(half.tree_.feature)]
                != half.tree_.feature[: len(one.tree_.feature)]
            )
            assert len(a) and len(codes)
            continue
        assert_allclose(one.tree_.value, half.tree_.value, atol=1e-12)


def all_tests(X, codes, weight):
    "All tests of a root with their gains, the best first."
    found = []
    for f in range(X.shape[1]):
        values = np.unique(X[:, f])
        for low, high in zip(values, values[1:]):
            cut = np.float64(low) / 2 + np.float64(high) / 2
            score = gain(X, codes, weight, np.arange(len(X)), f, cut, "entropy")
            found.append((-score, f, cut))
    return sorted(found)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_of_the_best_tests(classes):
    """thm-vote-boundary does not hold for the second best: all tests take part, each
    of the 20 best as often."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    codes = rng.integers(0, classes, 60)
    weight = rng.random(60) + 0.5  # so that no two tests are equally good
    best = all_tests(X, codes, weight)
    allowed = {(f, cut): 0 for _, f, cut in best[:20]}
    assert best[20][0] - best[19][0] > 1e-9  # no tie at the edge
    for seed in range(2000):
        tree = (
            RandomizedTreeClassifier(n_best=20, max_depth=1, random_state=seed)
            .fit(X, codes, weight)
            .tree_
        )
        allowed[tree.feature[0], tree.threshold[0]] += (
            1  # a KeyError for any other test
        )
    assert chisquare(list(allowed.values())).pvalue > 1e-4
    every = (
        RandomizedTreeClassifier(n_best=10**4, max_depth=1, random_state=0)
        .fit(X, codes, weight)
        .tree_
    )
    assert (every.feature[0], every.threshold[0]) in {(f, cut) for _, f, cut in best}


def test_few_attributes_at_a_node():
    "m attributes, drawn among those that vary, each as often; the best test on them."
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(80), rng.normal(size=(80, 5))])
    codes = rng.integers(0, 2, 80)
    alone = {
        f: min(t for t in all_tests(X, codes, np.ones(80)) if t[1] == f)
        for f in range(1, 6)
    }
    counts = dict.fromkeys(alone, 0)
    for seed in range(1000):
        tree = (
            RandomizedTreeClassifier(max_features=1, max_depth=1, random_state=seed)
            .fit(X, codes)
            .tree_
        )
        f = int(tree.feature[0])
        assert tree.threshold[0] == alone[f][2]
        counts[f] += 1
    assert chisquare(list(counts.values())).pvalue > 1e-4
    ranks = sorted(alone, key=lambda f: alone[f])
    pairs = [
        int(
            RandomizedTreeClassifier(max_features=2, max_depth=1, random_state=s)
            .fit(X, codes)
            .tree_.feature[0]
        )
        for s in range(1000)
    ]
    shares = np.array([4, 3, 2, 1, 0]) / 10  # of two drawn, the better one wins
    assert ranks[4] not in pairs
    assert (
        chisquare([pairs.count(f) for f in ranks[:4]], shares[:4] * 1000).pvalue > 1e-4
    )
    deep = RandomizedTreeClassifier(max_features=1, random_state=0).fit(X, codes)
    assert (
        deep.score(X, codes) == 1.0
    )  # constants, known from above, are never asked about


def test_pessimistic_errors():
    """eq-vote-pessimistic: exact for no error, near the binomial limit else, and
    C4.5's numbers."""
    for n in (1, 3, 10, 100):
        exact = n * betaincinv(1, n, 0.75)
        assert_allclose(pessimistic_errors(n, 0.0), exact, rtol=1e-12)
    for n in (20, 50, 200, 1000):
        for e in range(1, n // 2, max(1, n // 20)):
            exact = n * betaincinv(e + 1, n - e, 0.75) - e
            assert_allclose(pessimistic_errors(n, e), exact, rtol=0.08)
    half = pessimistic_errors(10.0, 0.5)
    assert_allclose(half, (pessimistic_errors(10, 0) + pessimistic_errors(10, 1)) / 2)
    assert_allclose(pessimistic_errors(5.0, 4.8), 0.67 * 0.2)
    U = (5 + pessimistic_errors(40, 5, 0.1)) / 40
    assert_allclose((40 * U - 5.5) / np.sqrt(40 * U * (1 - U)), norm.isf(0.1))
    for confidence in (0.5, 0.6, 0.9):  # a lower limit
        U = (10 + pessimistic_errors(100, 10, confidence)) / 100
        z = (100 * U - 10.5) / np.sqrt(100 * U * (1 - U))
        assert_allclose(z, norm.isf(confidence), atol=1e-12)
    for n, e, confidence in (
        (0, 0, 0.25),
        (5, -1, 0.25),
        (5, 1, 1.0),
        (np.nan, 1, 0.5),
    ):
        with pytest.raises(ValueError, match="must be a float in the range"):
            pessimistic_errors(n, e, confidence)


def pruned(tree, node, scale, confidence):
    "Errors and number of leaves below a node after pruning, by recursion."
    mass = tree.value[node] * tree.weighted_n_node_samples[node] * scale
    total, wrong = mass.sum(), mass.sum() - mass.max()
    leaf = wrong + pessimistic_errors(total, max(wrong, 0.0), confidence)
    if tree.feature[node] < 0:
        return leaf, 1
    one, other = (
        pruned(tree, child, scale, confidence)
        for child in (node + 1, tree.children_right[node])
    )
    below = one[0] + other[0]
    return (leaf, 1) if leaf <= below + 0.1 else (below, one[1] + other[1])


def test_pruning():
    """eq-vote-pessimistic: a direct recursion prunes alike; what is left is a part
    of the tree; weights scale."""
    for seed in range(40):
        X, y, weight, params = problem(seed)
        confidence = (0.25, 0.05, 0.5)[seed % 3]
        whole = RandomizedTreeClassifier(**params).fit(X, y, weight)
        small = RandomizedTreeClassifier(**params, confidence=confidence).fit(
            X, y, weight
        )
        scale = len(X) / (len(X) if weight is None else weight.sum())
        assert small.get_n_leaves() == pruned(whole.tree_, 0, scale, confidence)[1]
        t, s, todo = whole.tree_, small.tree_, [(0, 0)]
        while todo:
            a, b = todo.pop()
            assert_array_equal(t.value[a], s.value[b])
            if s.feature[b] >= 0:
                assert (t.feature[a], t.threshold[a]) == (s.feature[b], s.threshold[b])
                todo += [(a + 1, b + 1), (t.children_right[a], s.children_right[b])]
            else:
                assert s.threshold[b] == 0 and s.children_right[b] == -1
    X, y = make_classification(400, flip_y=0.3, random_state=0)
    sizes = [
        RandomizedTreeClassifier(confidence=c).fit(X, y).get_n_leaves()
        for c in (0.01, 0.25, 0.9)
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    one, other = (
        RandomizedTreeClassifier(confidence=0.25).fit(X, y, np.full(400, w))
        for w in (1.0, 1 / 400)
    )
    assert_array_equal(one.tree_.feature, other.tree_.feature)


def test_sorted_features():
    """Values and codes give the columns back; many values need
    wider codes."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.integers(-3, 3, 200),
            rng.normal(size=200),
            np.full(200, 7.0),
            np.where(rng.random(200) < 0.5, 0.0, -0.0),
        ]
    )
    columns = sort_features(X)
    assert columns.ranks.dtype == np.uint16 and columns.offsets.tolist() == [
        0,
        6,
        206,
        207,
        208,
    ]
    for f in range(4):
        assert_array_equal(
            columns.values[columns.offsets[f] + columns.ranks[f]], X[:, f]
        )
        assert_array_equal(columns.X[f][columns.order[f]], np.sort(X[:, f]))
    wide = np.arange(70000.0)[:, None]
    y = (wide[:, 0] % 20000 < 10000).astype(int)
    assert sort_features(wide).ranks.dtype == np.uint32
    tree = RandomizedTreeClassifier().fit(wide, y)
    assert tree.score(wide, y) == 1.0 and tree.get_n_leaves() == 7
    other = DecisionTreeClassifier(criterion="entropy").fit(wide, y)
    assert_array_equal(
        tree.tree_.threshold[tree.tree_.feature >= 0],
        other.tree_.threshold[other.tree_.feature >= 0],
    )


def test_neighbouring_floats():
    """Half way between two neighbours is one of them in single precision: the
    threshold still parts them."""
    x = np.float32(1.0)
    X = np.array([[x], [np.nextafter(x, np.float32(2))]], dtype=np.float32)
    tree = RandomizedTreeClassifier().fit(X, [0, 1])
    assert_array_equal(tree.predict(X), [0, 1])
    huge = np.array([[3.0e38], [3.4e38]])
    assert_array_equal(
        RandomizedTreeClassifier().fit(huge, [0, 1]).predict(huge), [0, 1]
    )


def test_sampling():
    "eq-vote-left: the rows, their number, their law, and the part that is left out."
    X = np.zeros((50, 1))
    for size, drawn_rows in ((None, 50), (20, 20), (0.5, 25)):
        splits = list(Bootstrap(size, random_state=1, n_splits=4).split(X))
        assert len(splits) == 4
        for drawn, left in splits:
            assert drawn.shape == (drawn_rows,)
            assert_array_equal(left, np.setdiff1d(np.arange(50), drawn))
    many = Bootstrap(random_state=0, n_splits=2000)
    counts = np.zeros(50)
    shares = []
    for drawn, left in many.split(X):
        counts += np.bincount(drawn, minlength=50)
        shares.append(len(left) / 50)
    assert chisquare(counts).pvalue > 1e-4
    assert abs(np.mean(shares) - (1 - 1 / 50) ** 50) < 4 * np.std(shares) / np.sqrt(
        2000
    )
    again = list(Bootstrap(random_state=0, n_splits=3).split(X))
    for (a, _), (b, _) in zip(again, many.split(X)):
        assert_array_equal(a, b)
    data, labels = load_iris(return_X_y=True)
    scores = cross_val_score(
        KNeighborsClassifier(1), data, labels, cv=Bootstrap(random_state=0, n_splits=5)
    )
    assert len(scores) == 5 and scores.min() > 0.85


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_votes_by_hand(n_jobs):
    "eq-vote-shares, eq-vote-bagging: one tree for each sample, a count, a sign."
    X, y = load_breast_cancer(return_X_y=True)
    labels, train, test = (
        np.array(["no", "yes"])[y],
        slice(0, None, 2),
        slice(1, None, 2),
    )
    model = Bagging(n_estimators=25, oob_score=True, n_jobs=n_jobs, random_state=3).fit(
        X[train], labels[train]
    )
    peer = DecisionTreeClassifier(criterion="entropy")
    said = np.array(
        [
            peer.fit(X[train][rows], y[train][rows]).predict(X[test])
            for rows in model.estimators_samples_
        ]
    )
    ours = model.hypotheses(X[test])
    assert (
        ours == said
    ).mean() > 0.97  # equally good tests, of which scikit-learn draws one
    trees = [
        RandomizedTreeClassifier().fit(X[train][rows], y[train][rows])
        for rows in model.estimators_samples_
    ]
    said = np.array([tree.predict(X[test]) for tree in trees])
    assert_array_equal(ours, said)
    shares = np.column_stack([1 - said.mean(axis=0), said.mean(axis=0)])
    assert_allclose(model.votes(X[test]), shares)
    assert_array_equal(model.predict_proba(X[test]), model.votes(X[test]))
    sign = np.sign((2 * said - 1).sum(axis=0))
    assert_array_equal(model.predict(X[test]), np.where(sign > 0, "yes", "no"))
    votes = np.zeros((len(X[train]), 2))
    for tree, rows in zip(trees, model.estimators_samples_):
        for i in np.setdiff1d(np.arange(len(votes)), rows):
            votes[i, tree.predict(X[train][[i]])[0]] += 1
    assert_allclose(
        model.oob_decision_function_, votes / votes.sum(axis=1, keepdims=True)
    )
    assert model.oob_score_ == (votes.argmax(axis=1) == y[train]).mean()


def test_votes_of_continuous_trees_are_scikit_learns():
    """eq-vote-shares: where no two tests are equally good, the votes of
    scikit-learn's trees, to the last one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 3, 400)
    tree = RandomizedTreeClassifier(min_samples_leaf=12)
    model = Bagging(tree, n_estimators=10, random_state=0).fit(X, y)
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        counts = np.bincount(rows, minlength=400)
        peer = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=12).fit(
            X, y, counts
        )
        codes = np.arange(400)
        found = assert_same_tree(member, peer, X, y, counts.astype(float), "entropy")
        assert found or (member.predict(X) == peer.predict(X)).all() and len(codes)


def test_any_learner():
    """One that takes weights gets counts, one that does not gets the drawn rows;
    each gets a seed of its own."""
    X, y = load_iris(return_X_y=True)
    labels = np.array(["c", "a", "b"])[y]
    codes = np.unique(labels, return_inverse=True)[1]
    model = Bagging(
        LogisticRegression(max_iter=500), n_estimators=4, random_state=0
    ).fit(X, labels)
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        counts = np.bincount(rows, minlength=150)
        peer = LogisticRegression(max_iter=500).fit(
            X[counts > 0], codes[counts > 0], counts[counts > 0]
        )
        assert_allclose(member.coef_, peer.coef_)
    model = Bagging(KNeighborsClassifier(1), n_estimators=4, random_state=0).fit(
        X, labels
    )
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        assert_array_equal(
            member.predict(X),
            KNeighborsClassifier(1).fit(X[rows], codes[rows]).predict(X),
        )
    assert set(model.predict(X)) == {"a", "b", "c"}
    model = Bagging(
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1)),
        n_estimators=4,
    ).fit(X, y)
    seeds = {
        member.get_params()["decisiontreeclassifier__random_state"]
        for member in model.estimators_
    }
    assert len(seeds) == 4


def test_dietterichs_ensemble():
    """Without samples each hypothesis sees all examples, and only the random tests
    inside the trees make them differ."""
    X, y = load_breast_cancer(return_X_y=True)
    model = Bagging(
        RandomizedTreeClassifier(n_best=20),
        n_estimators=20,
        bootstrap=False,
        random_state=0,
    ).fit(X, y)
    said = model.hypotheses(X)
    assert (said == y).all()  # perfect trees
    assert len({tuple(tree.tree_.feature[:3]) for tree in model.estimators_}) > 10
    assert all(
        np.array_equal(rows, np.arange(len(X))) for rows in model.estimators_samples_
    )
    same = Bagging(n_estimators=3, bootstrap=False).fit(X, y).estimators_
    assert_array_equal(same[0].tree_.threshold, same[2].tree_.threshold)


def test_weights_of_bagging():
    """Examples are drawn in proportion to their weights; without samples the learner
    gets them."""
    X, y = load_iris(return_X_y=True)
    weight = np.where(np.arange(150) % 3 == 0, 0.0, 1.0 + np.arange(150) % 2)
    model = Bagging(n_estimators=300, random_state=0).fit(X, y, weight)
    counts = sum(np.bincount(rows, minlength=150) for rows in model.estimators_samples_)
    assert counts[weight == 0].sum() == 0
    assert (
        chisquare(
            counts[weight > 0], weight[weight > 0] / weight.sum() * counts.sum()
        ).pvalue
        > 1e-4
    )
    plain = Bagging(n_estimators=1, bootstrap=False).fit(X, y, weight).estimators_[0]
    assert_array_equal(
        plain.tree_.threshold,
        RandomizedTreeClassifier().fit(X, y, weight).tree_.threshold,
    )
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        Bagging(KNeighborsClassifier(), bootstrap=False).fit(X, y, weight)


@pytest.mark.parametrize("model", MODELS)
def test_tools(model):
    "clone, pickle, seeds, GridSearchCV, Pipeline, strings."
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    X = StandardScaler().fit_transform(X)
    one = clone(model).set_params(random_state=1).fit(X, y)
    again = pickle.loads(
        pickle.dumps(clone(model).set_params(random_state=1).fit(X, y))
    )
    assert_array_equal(one.predict_proba(X), again.predict_proba(X))
    assert one.score(X, y) > 0.85 and set(one.predict(X)) == set(y)
    tree = isinstance(model, RandomizedTreeClassifier)
    grid = {"max_depth": [1, 3]} if tree else {"n_estimators": [2, 4]}
    search = GridSearchCV(clone(model).set_params(random_state=0), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    seeded = clone(model).set_params(random_state=2)
    assert make_pipeline(StandardScaler(), seeded).fit(X, y).score(X, y) > 0.85


BAD_TREES = [
    ({"criterion": "mse"}, "'criterion' .* a str among .* Got 'mse'"),
    ({"n_best": 0}, r"'n_best' .* an int in the range \[1, inf\). Got 0"),
    ({"n_best": 1.5}, "'n_best' .* an int"),
    ({"max_depth": 0}, "'max_depth' .* an int in the range"),
    ({"max_features": "all"}, "'max_features' .* Got 'all'"),
    ({"max_features": 0}, "'max_features' .* Got 0"),
    ({"max_features": 1.5}, "'max_features' .* Got 1.5"),
    ({"min_samples_leaf": 0}, "'min_samples_leaf' .* Got 0"),
    ({"min_samples_leaf": np.nan}, "'min_samples_leaf' .* Got nan"),
    (
        {"confidence": 1.0},
        r"'confidence' .* in the range \(0.0, 1.0\) or None. Got 1.0",
    ),
    ({"confidence": np.nan}, "'confidence' .* Got nan"),
    ({"confidence": "high"}, "'confidence' .* Got 'high'"),
    ({"random_state": "seed"}, "'random_state' .* Got 'seed'"),
]


@pytest.mark.parametrize("params, message", BAD_TREES)
def test_bad_parameters_of_a_tree(params, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        RandomizedTreeClassifier(**params).fit(X, y)
    with pytest.raises(ValueError, match=message):
        Bagging(RandomizedTreeClassifier(**params), n_estimators=2).fit(X, y)


@pytest.mark.parametrize(
    "params, message",
    [
        (
            {"n_estimators": 0},
            r"'n_estimators' .* in the range \[1, 2147483647\). Got 0",
        ),
        ({"n_estimators": np.inf}, "'n_estimators' .* an int"),
        ({"estimator": "tree"}, "'estimator' .* implementing 'fit' and 'predict'"),
        ({"oob_score": "yes"}, "'oob_score' .* 'yes'"),
        ({"bootstrap": 2}, "'bootstrap' .* Got 2"),
        ({"n_jobs": "all"}, "'n_jobs' .* Got 'all'"),
        (
            {"oob_score": True, "bootstrap": False},
            "oob_score=True needs bootstrap=True",
        ),
    ],
)
def test_bad_parameters_of_votes(params, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        Bagging(**params).fit(X, y)


def test_bad_parameters_of_a_bootstrap():
    X = np.zeros((5, 1))
    for size in (0, 0.0, 1.5, np.nan, "half"):
        with pytest.raises(
            ValueError, match="'n_samples' parameter of bootstrap_sample"
        ):
            next(Bootstrap(size).split(X))
    with pytest.raises(ValueError, match="n_splits == 0, must be >= 1"):
        next(Bootstrap(n_splits=0).split(X))
    with pytest.raises(ValueError, match="'n' parameter"):
        bootstrap_sample(0)


@pytest.mark.parametrize("model", [RandomizedTreeClassifier(), Bagging(n_estimators=2)])
def test_bad_data(model):
    """One class, negative weights, weights of another length, missing values, words;
    and nothing is fitted after."""
    X, y = load_iris(return_X_y=True)
    weight = np.ones(150)
    weight[3] = -2.0
    for arguments, message in [
        (
            (X, np.zeros(150)),
            r"needs two classes or more: y has one class only, \[0.0\]",
        ),
        ((X, np.full(150, "a")), r"y has one class only, \['a'\]"),
        ((X, y, weight), "Negative values in data passed to `sample_weight`"),
        ((X, y, np.zeros(150)), "at least one non-zero number"),
        ((X, y, np.full(150, np.nan)), "Input sample_weight contains NaN"),
        ((X, y, np.full(150, np.inf)), "Input sample_weight contains infinity"),
        ((X, y, np.ones(7)), r"sample_weight.shape == \(7,\), expected \(150,\)"),
        ((X, y[:-1]), "inconsistent numbers of samples"),
        ((np.where(X > 4, np.inf, X), y), "infinity"),
        ((X[0], y), "Expected 2D array"),
        ((X, y + 0.5), "Unknown label type"),
    ]:
        new = clone(model)
        with pytest.raises(ValueError, match=message):
            new.fit(*arguments)
        with pytest.raises(NotFittedError):
            new.predict(X)
    with pytest.raises(ValueError, match="is expecting 4 features"):
        clone(model).fit(X, y).predict(X[:, :3])


def test_shares_by_hand():
    """eq-vote-shares: counts, or sums of weights, in the order of the codes, also of a
    class that nobody votes for."""
    said = np.array([[0, 2], [2, 2], [2, 0], [0, 0]])
    assert_array_equal(vote_shares(said, 3), [[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]])
    weights = [1.0, 2.0, 3.0, 4.0]
    expected = [[0.5, 0.0, 0.5], [0.7, 0.0, 0.3]]
    assert_allclose(vote_shares(said, 3, weights), expected)
    assert_allclose(vote_shares(said.tolist(), 3, 7 * np.array(weights)), expected)


def test_out_of_bag_shares_by_hand():
    "Each example is judged by those hypotheses alone that it has no weight for."
    X, codes = np.arange(4.0, dtype=np.float32)[:, None], np.array([0, 1, 2, 0])
    weights = [np.array(w, float) for w in ([1, 1, 1, 0], [0, 1, 2, 1], [2, 1, 1, 0])]
    trees = [RandomizedTreeClassifier().fit(X, codes, w) for w in weights]
    found = out_of_bag_shares(trees, X, weights, 3)
    assert_array_equal(found[0], [0, 1, 0])  # the second tree knows 1, 2 and 3 only
    assert_array_equal(found[3], [0, 0, 1])
    assert np.isnan(found[1:3]).all()


def test_an_example_that_all_have_seen():
    "It has no out-of-bag votes, and does not count."
    X, y = load_iris(return_X_y=True)
    model = Bagging(n_estimators=1, oob_score=True, random_state=0).fit(X, y)
    seen = np.unique(model.estimators_samples_[0])
    assert (
        np.isnan(model.oob_decision_function_[seen]).all()
        and 0.8 < model.oob_score_ <= 1.0
    )
    assert not np.isnan(np.delete(model.oob_decision_function_, seen, axis=0)).any()


# Bias and variance


def all_pairs(answers, proba):
    "Probability of an error, of the best class's error, and q, query by query."
    wrong = np.array(
        [
            np.mean([1 - proba[x, answer] for answer in answers[:, x]])
            for x in range(len(proba))
        ]
    )
    return wrong, 1 - proba.max(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("definition", ["breiman", "kohavi-wolpert"])
def test_bias_variance_adds_up_to_the_error(n_classes, definition):
    "eq-vote-breiman and eq-vote-kohavi, the latter from pairs of answers and labels."
    rng = np.random.default_rng(n_classes)
    answers = rng.integers(n_classes, size=(9, 50))
    proba = rng.dirichlet(np.ones(n_classes), size=50)
    found = bias_variance(answers, proba, definition)
    wrong, noise = all_pairs(answers, proba)
    assert_allclose(found.noise + found.bias + found.variance, wrong)
    assert all((part >= -1e-12).all() for part in found.values())
    if definition == "breiman":
        assert_allclose(found.noise, noise)
        assert not ((found.bias > 0) & (found.variance > 0)).any()
        for x in range(50):
            main = np.bincount(answers[:, x], minlength=n_classes).argmax()
            part = "bias" if main != proba[x].argmax() else "variance"
            assert found[part][x] == pytest.approx(wrong[x] - noise[x])
    else:
        apart = [(one != other) for one in answers for other in answers]
        assert_allclose(found.variance, np.mean(apart, axis=0) / 2)


def test_an_unbiased_learner_may_have_several_best_classes():
    "Where two classes are equally probable, either main prediction is a best one."
    found = bias_variance([[0, 1], [0, 1]], [[0.5, 0.5], [0.5, 0.5]])
    assert_allclose(found.bias, [0, 0])
    assert_allclose(found.variance, [0, 0], atol=1e-12)


def test_bias_variance_refuses():
    with pytest.raises(ValueError, match="codes of 2 classes"):
        bias_variance([[0, 2]], [[1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(ValueError, match="must be probabilities"):
        bias_variance([[0, 1]], [[1.0, 0.0], [0.5, 0.6]])
    with pytest.raises(ValueError, match="definition"):
        bias_variance([[0]], [[1.0, 0.0]], "domingos")


EYE, CODES = np.eye(4), np.array([0, 1, 0, 1])


def sorted_examples():
    "Four sorted examples."
    return sort_stump_examples(EYE, CODES, 2)


def small_vote():
    "A fitted ensemble."
    return Bagging(n_estimators=3, random_state=0).fit(EYE, CODES)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vote_shares([[0, 7]], 2), "codes of 2 classes: got 0 to 7"),
        (lambda: vote_shares([[0, 1]], 2, [-1.0]), "weights must be numbers, none"),
        (lambda: vote_shares([[0, 1]], 0), "n_classes == 0"),
        (lambda: boost_step([0.5, 0.5], [1, -1], np.nan), "n_classes must be an inst"),
        (lambda: boost_step([0.5, 0.5], [1, -1], 1), "n_classes == 1"),
        (lambda: bootstrap_sample(5, p=[0.5, 0.5]), "p must hold 5 probabilities"),
        (lambda: bootstrap_sample(2, p=[0.5, 0.6]), "a sum of 1.1"),
        (lambda: bootstrap_sample(2, random_state=-1), "'random_state' parameter"),
        (lambda: list(staged_votes([[0, 7]], [1.0], 3)), "codes of 3 classes: got 0"),
        (lambda: list(staged_votes([[0, 1], [0]], [1, 1])), "vectors of one length"),
        (lambda: list(staged_votes([[0, 1]], [1.0], np.nan)), "n_classes must be"),
        (lambda: sort_stump_examples(EYE, 9 * CODES, 2), "from 0 to 1: got 0 to 9"),
        (lambda: best_stump("examples", np.ones(4)), "must be StumpExamples"),
        (
            lambda: best_stump(sorted_examples(), np.ones(3)),
            "each of the 4 examples: got 3",
        ),
        (lambda: best_stump(sorted_examples(), -np.ones(4)), "must not be negative"),
        (
            lambda: best_stump(sorted_examples(), np.ones(4), "entropy"),
            "criterion must be",
        ),
        (lambda: margins(small_vote(), EYE, [None] * 4), "y has 4 missing labels"),
        (
            lambda: out_of_bag_shares(
                small_vote().estimators_, EYE, [np.zeros(4)] * 3, 1
            ),
            "n_classes must be the number of classes",
        ),
        (
            lambda: RandomizedTreeClassifier().fit_sorted(
                sort_features(EYE), 10**7 * CODES, 2, np.ones(4), 0
            ),
            "codes must be classes from 0 to 1",
        ),
        (
            lambda: RandomizedTreeClassifier().fit_sorted(
                sort_features(EYE), CODES, 2, np.ones(3), 0
            ),
            "each of the 4 examples: got 4 and 3",
        ),
        (
            lambda: shrink_residuals(
                FactorOutputs.of(np.eye(4)), CODES + 10**8, np.ones(4), 0.5, 1
            ),
            "leaf must hold numbers of 1 leaves",
        ),
        (
            lambda: shrink_residuals(
                FactorOutputs.of(np.eye(4)), CODES[:3], np.ones(3), 0.5, 2
            ),
            "each of the 4 residuals: got 3",
        ),
    ],
)
def test_functions_say_what_they_are_given(call, message):
    "No memory outside of the arrays is read, and no share is made up."
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_huge_limits_of_a_tree_are_no_limits():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    predict = lambda **options: (
        RandomizedTreeClassifier(random_state=0, **options).fit(X, y).predict(X)
    )
    assert_array_equal(predict(max_depth=10**30), predict())
    assert_array_equal(predict(n_best=10**30), predict(n_best=120))
    assert len(np.unique(predict(min_samples_leaf=10**30))) == 1
    with pytest.raises(ValueError, match="'n_estimators' parameter of Bagging"):
        Bagging(n_estimators=10**30).fit(X, y)
    ours = {"n_estimators": 5, "random_state": 0}
    patient = OutputKernelBoosting(n_iter_no_change=10**30, **ours).fit(X, X[:, 0])
    assert len(patient.trees_) == 5


@pytest.mark.parametrize(
    "learner", [None, DecisionTreeClassifier(random_state=0), DecisionStump()], ids=str
)
def test_bagging_takes_the_missing_values_that_its_learner_takes(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(80) < 0.2, 1] = np.nan
    model = Bagging(learner, n_estimators=10, random_state=0)
    if isinstance(learner, DecisionStump):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, y)
    else:
        assert model.fit(X, y).score(X, y) > 0.95


def weighted_example():
    draw = np.random.default_rng(0)
    X = draw.random((60, 3))
    y = (X[:, 0] + 0.3 * draw.normal(size=60) > 0.5).astype(int)
    return X, y, draw.random(60)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("confidence", [None, 0.25])
@pytest.mark.parametrize("power", [-900, -600, 512, 1000])
def test_the_unit_of_the_weights_does_not_matter(criterion, confidence, power):
    "Squares of the weights leave the range of doubles, the weights do not."
    X, y, weight = weighted_example()
    unit = 2.0**power
    how = {"criterion": criterion, "confidence": confidence, "random_state": 0}
    for w in (np.ones(60), weight):
        first = RandomizedTreeClassifier(**how).fit(X, y, w).tree_
        again = RandomizedTreeClassifier(**how).fit(X, y, w * unit).tree_
        assert_array_equal(again.feature, first.feature)
        assert_array_equal(again.threshold, first.threshold)
        assert_allclose(again.value, first.value)
        mass = first.weighted_n_node_samples * unit
        assert_allclose(again.weighted_n_node_samples, mass)


@pytest.mark.parametrize(
    "make", [AdaBoost, Bagging, DecisionStump, RandomizedTreeClassifier]
)
def test_weights_whose_sum_overflows(make):
    X, y, weight = weighted_example()
    with pytest.raises(ValueError, match="sum of the weights overflows.*sample_weight"):
        make().fit(X, y, 1e308 * weight)
