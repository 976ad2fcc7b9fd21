"""Oracles, scikit-learn's checks and faults of okbook.ensembles, the part on
AdaBoost."""

import importlib
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from contract import parametrize_with_checks
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from okbook.datasets import DatasetNotFound, load_uci
from okbook.ensembles import AdaBoost, DecisionStump, RandomizedTreeClassifier
from okbook.ensembles.adaboost import (
    agreement,
    boost_step,
    staged_votes,
    vote_probabilities,
)
from okbook.ensembles.tree import sort_features
from okbook.ensembles.weak_learners import best_stump, sort_stump_examples

assert_allclose, assert_array_equal = (
    np.testing.assert_allclose,
    np.testing.assert_array_equal,
)


def sample(n=150, p=4, n_classes=2, seed=0, noise=0.2):
    "Points without ties, whose class hangs on all columns."
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X.sum(axis=1) + 0.5 * X[:, 0] * X[:, 1]
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    noisy = rng.random(n) < noise
    X = X.astype(np.float32).astype(float)  # as scikit-learn reads them
    return X, np.where(noisy, rng.integers(0, n_classes, n), y)


def assert_same_stumps(ours, theirs, X):
    "Stump for stump, alpha for alpha, vote for vote."
    assert [h.feature_ for h in ours.estimators_] == [
        e.tree_.feature[0] for e in theirs.estimators_
    ]
    assert_allclose(
        [h.threshold_ for h in ours.estimators_],
        [e.tree_.threshold[0] for e in theirs.estimators_],
    )
    assert_same_votes(ours, theirs, X)


def assert_same_votes(ours, theirs, X):
    T = len(ours.estimators_)
    assert_allclose(
        2.0 * ours.estimator_weights_, theirs.estimator_weights_[:T], rtol=1e-8
    )  # eq-ada-alpha, eq-ada-samme
    assert_allclose(
        ours.estimator_errors_, theirs.estimator_errors_[:T], rtol=1e-8
    )  # eq-ada-epsilon
    assert_allclose(
        theirs.estimator_weights_[T:], 0.0, atol=1e-12
    )  # it goes on where an error is 1/2 but for rounding
    assert_array_equal(ours.predict(X), theirs.predict(X))
    for mine, other in zip(ours.staged_predict(X), theirs.staged_predict(X)):
        assert_array_equal(mine, other)
    if len(ours.classes_) == 2:  # scikit-learn's is a mean, and counts each vote twice
        assert_allclose(
            2.0 * ours.decision_function(X) / ours.estimator_weights_.sum(),
            theirs.decision_function(X),
            atol=1e-8,
        )


# scikit-learn's discrete AdaBoost


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_equals_scikit_learn_stump_for_stump(seed, n_classes):
    """On continuous inputs, where no two tests are equally good but by the rarest
    chance."""
    X, y = sample(n_classes=n_classes, seed=seed)
    weight = np.random.default_rng(seed).exponential(size=len(y))
    for sample_weight in (None, weight):
        ours = AdaBoost(n_estimators=40).fit(X, y, sample_weight)
        theirs = AdaBoostClassifier(n_estimators=40, random_state=seed).fit(
            X, y, sample_weight
        )
        assert_same_stumps(ours, theirs, X)


def test_equals_scikit_learn_on_spambase():
    """The work of benchmarks/ensembles.py: many equal values, but none of the 200
    rounds has a tie of two features."""
    try:
        data = load_uci("spambase", download=False)
    except DatasetNotFound as missing:
        pytest.skip(str(missing))
    X, y = np.asarray(data.data, dtype=float), data.target
    ours = AdaBoost(n_estimators=200).fit(X, y)
    theirs = AdaBoostClassifier(n_estimators=200, random_state=0).fit(X, y)
    assert_same_stumps(ours, theirs, X[:100])
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_equals_scikit_learn_on_tumours():
    X, y = load_breast_cancer(return_X_y=True)
    ours = AdaBoost(n_estimators=50).fit(X, y)
    theirs = AdaBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    assert_same_stumps(ours, theirs, X)


LEARNERS = [
    GaussianNB(),
    LogisticRegression(C=10.0),
    DecisionTreeClassifier(max_depth=2, random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_learner_equals_scikit_learn(learner, n_classes):
    X, y = sample(n_classes=n_classes, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = AdaBoost(learner, n_estimators=10, random_state=0).fit(X, y)
    assert_same_votes(
        ours, AdaBoostClassifier(learner, n_estimators=10, random_state=0).fit(X, y), X
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_sorted_once_equal_scikit_learn(n_classes):
    X, y = sample(300, 5, n_classes)
    ours = AdaBoost(RandomizedTreeClassifier("gini", max_depth=3), n_estimators=15).fit(
        X, y
    )
    peer = DecisionTreeClassifier(max_depth=3)
    assert_same_votes(
        ours, AdaBoostClassifier(peer, n_estimators=15, random_state=0).fit(X, y), X
    )


def test_trees_are_sorted_once(monkeypatch):
    made = []
    for name in ("bagging", "weak_learners"):
        module = importlib.import_module(f"okbook.ensembles.{name}")
        monkeypatch.setattr(
            module, "sort_features", lambda X: made.append(1) or sort_features(X)
        )
    X, y = sample()
    AdaBoost(RandomizedTreeClassifier(max_depth=2), n_estimators=5).fit(X, y)
    assert len(made) == 1
    AdaBoost(n_estimators=5).fit(X, y)
    assert len(made) == 2


# The stump


def best_by_hand(X, y, w, impurity):
    "Feature, threshold and value of the best test, by trying all."
    found = []
    for f in range(X.shape[1]):
        values = np.unique(X[:, f])
        for cut in (values[1:] + values[:-1]) / 2:
            left = X[:, f] <= cut
            mass = [
                np.bincount(y[side], w[side], y.max() + 1) for side in (left, ~left)
            ]
            found.append((sum(impurity(m) for m in mass), f, cut))
    return min(found, key=lambda test: test[0])


IMPURITIES = {
    "gini": lambda m: m.sum() - (m**2).sum() / m.sum(),
    "error": lambda m: m.sum() - m.max(),
}


@pytest.mark.parametrize("criterion", IMPURITIES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("decimals", [8, 0])
def test_stump_is_the_best_of_all_tests(criterion, n_classes, decimals):
    X, y = sample(60, 3, n_classes)
    X, w = X.round(decimals), np.random.default_rng(1).random(60)
    stump = DecisionStump(criterion).fit(X, y, w)
    least, feature, threshold = best_by_hand(X, y, w, IMPURITIES[criterion])
    assert_allclose(
        stump.threshold_, threshold, rtol=1e-6
    )  # eq-ada-gini, eq-ada-stumperror
    assert stump.feature_ == feature
    for side in range(2):
        inside = (X[:, feature] > threshold) == side
        assert_allclose(
            stump.proba_[side],
            np.bincount(y[inside], w[inside], n_classes) / w[inside].sum(),
        )


@pytest.mark.parametrize("criterion", IMPURITIES)
def test_leaves_of_the_best_stump(criterion):
    "eq-ada-leaf: the leaf of each example, and the shares of the classes there."
    X, y = sample(80, 4, 3)
    w = np.random.default_rng(3).dirichlet(np.ones(80))
    found = best_stump(sort_stump_examples(X, y, 3), w, criterion)
    column = X[:, found.feature]
    assert_array_equal(found.leaf, column > found.threshold)
    for side in (0, 1):
        mass = np.bincount(y[found.leaf == side], w[found.leaf == side], 3)
        assert_allclose(found.proba[side], mass / mass.sum())


def test_stump_equals_tree_of_depth_one():
    X, y = sample(100, 6, 3)
    w = np.random.default_rng(2).random(100)
    stump, theirs = (
        DecisionStump().fit(X, y, w),
        DecisionTreeClassifier(max_depth=1).fit(X, y, w),
    )
    tree = RandomizedTreeClassifier("gini", max_depth=1).fit(X, y, w)
    for other in (theirs, tree):
        assert_allclose(stump.predict_proba(X), other.predict_proba(X))
        assert (stump.feature_, stump.threshold_) == (
            other.tree_.feature[0],
            other.tree_.threshold[0],
        )


def test_of_equal_stumps_the_first():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    stump = DecisionStump().fit(np.column_stack([np.ones(4), x, x]), [0, 1, 0, 1])
    assert (stump.feature_, stump.threshold_) == (
        1,
        0.5,
    )  # as good as at 2.5, and as the third column
    wide = DecisionStump().fit(
        np.array([[0.0, 1, 1, 1, 1, 1, 2]]).T, [0, 0, 1, 0, 1, 1, 1]
    )
    assert wide.threshold_ == 0.5  # both tests stand beside the largest group


def test_examples_that_no_useful_test_separates_are_one_group():
    "thm-vote-boundary: equal values, and neighbours of one class."
    X, codes = np.array([[0.0], [1], [2], [3], [3], [4]]), np.array([0, 0, 1, 0, 1, 1])
    examples = sort_stump_examples(np.hstack([X, -X]), codes, 2)
    assert_array_equal(examples.ends, [2, 3, 5, 6, 7, 9, 10, 12])
    assert_array_equal(examples.offsets, [0, 4, 8])


def test_of_equal_stumps_of_three_classes_the_first():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 1, 2])
    for criterion in IMPURITIES:  # as good as at 2.5
        assert DecisionStump(criterion).fit(X, y).threshold_ == 0.5


@pytest.mark.parametrize("codes", [[0, 0, 1, 1], [0, 0, 1, 2]])
def test_a_leaf_without_weight_says_what_the_root_does(codes):
    "Weights of AdaBoost may underflow to zero."
    codes, w = np.array(codes), np.array([0.0, 0.4, 0.3, 0.3])
    examples = sort_stump_examples(np.array([[0.0], [1], [1], [1]]), codes, 3)
    for mirrored in (False, True):
        if mirrored:
            X = np.array([[1.0], [0], [0], [0]])
            examples = sort_stump_examples(X, codes, codes.max() + 1)
        found = best_stump(examples._replace(n_classes=codes.max() + 1), w)
        assert (found.feature, found.threshold) == (0, 0.5)
        assert_allclose(found.proba, [np.bincount(codes, w)] * 2)


def test_a_stump_of_a_constant_is_constant():
    with pytest.raises(ValueError, match="no better than chance"):
        AdaBoost().fit(np.ones((4, 2)), [0, 1, 0, 1])
    stump = DecisionStump().fit(np.ones((5, 2)), [0, 1, 0, 1, 1])
    assert stump.threshold_ == np.inf
    assert_array_equal(stump.predict(np.array([[0.0, 0.0], [9.0, 9.0]])), [1, 1])
    assert_allclose(stump.proba_, [[0.4, 0.6], [0.4, 0.6]])


@pytest.mark.parametrize("learner", [DecisionStump, RandomizedTreeClassifier])
def test_values_closer_than_single_precision_can_part(learner):
    X = 1.0 + np.array([[0.0], [1e-9], [5e-8], [1.0]])
    y = [0, 1, 1, 1]
    assert learner().fit(X, y).score(X, y) == 1.0
    assert learner().fit(1.7e9 + X, y).score(1.7e9 + X, y) == 0.75  # two are the same
    times = 1.7e9 + np.arange(50.0)[:, None]  # seconds
    half = np.arange(50) > 24
    assert learner().fit(times, half).score(times, half) == 1.0
    assert learner().fit(1e-12 * times, half).score(1e-12 * times, half) == 1.0
    assert AdaBoost(learner()).fit(times, half).score(times, half) == 1.0


# The notes' procedure


def by_the_notes(X, y, T, answers):
    "AdaBoost as the course notes print it; y and the answers are -1 and +1."
    m = len(y)
    w, H, kept = [1.0 / m] * m, np.zeros(m), []
    for _ in range(T):
        h = answers(X, y, np.array(w))
        eps = sum(w[i] for i in range(m) if h[i] != y[i])
        alpha = 0.5 * np.log((1 - eps) / eps)
        Z = sum(w[i] * np.exp(-alpha * y[i] * h[i]) for i in range(m))
        w = [w[i] * np.exp(-alpha * y[i] * h[i]) / Z for i in range(m)]
        H += alpha * h
        kept.append((eps, alpha, Z))
    return np.array(kept).T, np.array(w), H


def test_the_notes_word_for_word():
    X, y = sample(80)
    signs = 2 * y - 1
    (eps, alpha, Z), w, H = by_the_notes(
        X, signs, 12, lambda X, y, w: DecisionStump().fit(X, y, w).predict(X)
    )
    model = AdaBoost(n_estimators=12).fit(X, y)
    assert_allclose(model.estimator_errors_, eps)  # eq-ada-epsilon
    assert_allclose(model.estimator_weights_, alpha)  # eq-ada-alpha
    assert_allclose(model.normalizers_, Z)  # eq-ada-z
    assert_allclose(model.sample_weight_, w)  # eq-ada-weights
    assert_allclose(model.decision_function(X), H)  # eq-ada-vote
    assert_array_equal(model.predict(X), (H > 0).astype(int))
    assert_allclose(model.edges_, 1 - 2 * eps)
    assert_allclose(
        model.normalizers_.prod(), np.exp(-signs * H).mean()
    )  # eq-ada-unrolled
    assert np.mean(model.predict(X) != y) <= model.normalizers_.prod()  # eq-ada-bound


@pytest.mark.parametrize(
    "learner", [None, GaussianNB(), RandomizedTreeClassifier(max_depth=3)]
)
def test_the_real_form(learner):
    X, y = sample(80)
    model = AdaBoost(learner, n_estimators=8, form="real").fit(X, y)
    signs, w, total = 2.0 * y - 1.0, np.full(80, 1 / 80), 0.0
    for t, answer in enumerate(model.hypotheses(X)):
        h = clone(learner or DecisionStump()).fit(X, y, sample_weight=w)
        assert_allclose(answer, 2.0 * h.predict_proba(X)[:, 1] - 1.0, atol=1e-9)
        r = w @ (signs * answer)
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        Z = w @ np.exp(-alpha * signs * answer)
        assert_allclose(
            [model.edges_[t], model.estimator_weights_[t], model.normalizers_[t]],
            [r, alpha, Z],
        )  # eq-ada-real
        assert Z <= np.sqrt(1 - r**2) + 1e-12  # eq-ada-realbound
        w, total = w * np.exp(-alpha * signs * answer) / Z, total + alpha * answer
    assert_allclose(model.decision_function(X), total)
    assert_allclose(
        model.votes(X)[:, 1] - model.votes(X)[:, 0],
        total / model.estimator_weights_.sum(),
    )
    assert np.mean(model.predict(X) != y) <= model.normalizers_.prod()


def test_samme():
    """eq-ada-samme: the vote's loss is the product of the normalizers, with any
    number of classes."""
    X, y = sample(200, n_classes=4)
    model = AdaBoost(n_estimators=15).fit(X, y)
    votes = model.decision_function(X)
    assert_allclose(votes / model.estimator_weights_.sum(), model.votes(X))
    own = model.votes(X)[np.arange(200), y]
    loss = np.exp(2.0 * model.estimator_weights_.sum() * (1 / 4 - own))
    assert_allclose(model.normalizers_.prod(), loss.mean())
    assert np.mean(own <= 1 / 4) <= model.normalizers_.prod()  # eq-ada-sammebound
    proba = np.exp(2.0 * votes)
    assert_allclose(
        model.predict_proba(X), proba / proba.sum(axis=1, keepdims=True)
    )  # eq-ada-proba


def test_one_step():
    step = boost_step([0.1, 0.2, 0.3, 0.4], [1, 1, -1, 1])
    assert_allclose(step.alpha, 0.5 * np.log(0.7 / 0.3))
    assert_allclose(step.normalizer, 2 * np.sqrt(0.3 * 0.7))
    assert_allclose(step.weight @ [1, 1, -1, 1], 0.0, atol=1e-12)  # eq-ada-half
    for sign in (1, -1):
        step = boost_step([0.5, 0.5], [sign, sign])
        assert (step.alpha, step.normalizer, step.edge) == (sign * np.inf, 0.0, sign)


def test_agreement_by_hand():
    """eq-ada-agreement: signs for two classes, a guess is worth zero for more, and
    floats are turned to the side of the label."""
    codes = np.array([0, 1, 0, 1])
    assert_array_equal(agreement(np.array([0, 1, 1, 0]), codes), [1, 1, -1, -1])
    assert_array_equal(
        agreement(np.array([-1.0, 0.5, 0.5, 0.0]), codes), [1, 0.5, -0.5, 0]
    )
    for K in (2, 3, 7):
        guesses = [agreement(np.full(1, k), np.array([0]), K)[0] for k in range(K)]
        assert_allclose(sum(guesses), 0.0, atol=1e-12)


def test_votes_by_hand():
    "eq-ada-vote, eq-ada-proba: running sums, and what they say as log odds."
    answers, weights = np.array([[0, 1], [1, 1], [2, 0]]), [1.0, 2.0, 4.0]
    *_, last = staged_votes(answers, weights, 3)
    assert_array_equal(last, [[1, 2, 4], [4, 3, 0]])
    one, two = staged_votes(answers[:2] == 1, weights[:2])
    assert_array_equal(one, [-1, 1])
    assert_array_equal(two, [1, 3])
    real = list(staged_votes(np.array([[-0.5, 1.0]]), [2.0]))
    assert_array_equal(real, [[-1.0, 2.0]])
    proba = vote_probabilities(two)
    assert_allclose(0.5 * np.log(proba[:, 1] / proba[:, 0]), two)
    proba = vote_probabilities(last)
    odds = np.log(proba[:, 1:] / proba[:, :1])
    assert_allclose(odds, 2.0 * (last[:, 1:] - last[:, :1]))
    assert_allclose(proba.sum(axis=1), 1.0)


# Ends


def test_a_perfect_hypothesis_decides_alone():
    X, y = sample(60)
    perfect = AdaBoost(DecisionTreeClassifier(), n_estimators=9).fit(X, y)
    assert (
        perfect.stopping_reason_
        == "The hypothesis of round 1 makes no error on the training examples: it "
        "decides alone."
    )
    assert (
        perfect.estimator_weights_,
        perfect.estimator_errors_,
        perfect.normalizers_,
        perfect.edges_,
    ) == (
        1.0,
        0.0,
        0.0,
        1.0,
    )
    X_new = sample(100, seed=1)[0]
    late = AdaBoost(OneBadStart(), n_estimators=9).fit(X, y)
    assert "round 2" in late.stopping_reason_
    assert (
        len(late.estimators_) == 2
        and late.estimator_weights_[1] > late.estimator_weights_[0]
    )
    assert_array_equal(late.predict(X_new), late.estimators_[1].predict(X_new))
    assert_array_equal(late.predict(X), y)
    assert (
        np.isfinite(late.decision_function(X)).all()
        and np.isfinite(late.predict_proba(X)).all()
    )


class OneBadStart(DecisionTreeClassifier):
    "A stump for equal weights, a whole tree for others."

    def fit(self, X, y, sample_weight=None):
        return self.set_params(
            max_depth=1 if np.ptp(sample_weight) == 0 else None
        ).fit_tree(X, y, sample_weight)

    def fit_tree(self, X, y, sample_weight):
        return DecisionTreeClassifier.fit(self, X, y, sample_weight)


class Majority(DecisionStump):
    """Says the class of larger weight: no weak learner, as there are weights for
    which it is no better than chance."""

    def fit(self, X, y, sample_weight=None):
        super().fit(np.zeros_like(X), y, sample_weight)
        return self


class Abstains(DecisionStump):
    "A stump that does not know of the first ten examples it is asked."

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        proba[:10] = 0.5
        return proba


def test_abstentions_count_as_errors():
    X, y = sample(40, noise=0.0)
    model = AdaBoost(Abstains(), n_estimators=1, form="real").fit(X, y)
    wrong = model.hypotheses(X)[0] * (2 * y - 1) <= 0
    assert wrong[:10].all() and wrong.sum() < 40
    assert_allclose(model.estimator_errors_, wrong.mean())


def test_no_better_than_chance():
    X, y = sample(50)
    y[:30] = 1
    with pytest.warns(
        ConvergenceWarning,
        match="stops after 1 rounds. The hypothesis of round 2 is no better",
    ):
        model = AdaBoost(Majority(), n_estimators=9).fit(X, y)
    assert len(model.estimators_) == len(model.estimator_weights_) == 1
    assert model.stopping_reason_.startswith(
        "The hypothesis of round 2 is no better than chance (weighted error 0.5, chance"
    )
    assert_array_equal(model.predict(X), np.full(50, 1))
    xor = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), ["n", "y", "y", "n"]
    for form, found in (
        ("discrete", "weighted error 0.5, chance is 0.5"),
        ("real", "edge 0, chance is 0"),
    ):
        with pytest.raises(
            ValueError,
            match=rf"round 1 is no better than chance \({found}\).*DecisionStump",
        ):
            AdaBoost(form=form).fit(*xor)


def test_fewer_rounds_are_the_first_rounds():
    X, y = sample()
    long, short = (AdaBoost(n_estimators=T).fit(X, y) for T in (20, 7))
    for name in ("estimator_weights_", "estimator_errors_", "edges_", "normalizers_"):
        assert_array_equal(getattr(long, name)[:7], getattr(short, name))
    assert_allclose(
        list(long.staged_decision_function(X))[6], short.decision_function(X)
    )


# Weights, labels, inputs


def test_weights_are_repeats_and_zero_is_absence():
    X, y = sample(60)
    counts = np.random.default_rng(3).integers(0, 3, 60)
    for learner in (None, RandomizedTreeClassifier("gini", max_depth=2)):
        weighted = AdaBoost(learner, n_estimators=15).fit(X, y, counts)
        repeated = AdaBoost(learner, n_estimators=15).fit(
            X.repeat(counts, axis=0), y.repeat(counts)
        )
        assert_allclose(weighted.estimator_weights_, repeated.estimator_weights_)
        assert_array_equal(weighted.predict(X), repeated.predict(X))
        assert (weighted.sample_weight_[counts == 0] == 0).all() and np.isclose(
            weighted.sample_weight_.sum(), 1
        )


def test_labels_of_any_type():
    X, y = sample(n_classes=3)
    numbers = AdaBoost(n_estimators=5).fit(X, y)
    for names in (
        np.array(["a", "b", "c"]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([-5, 0, 7]),
    ):
        named = AdaBoost(n_estimators=5).fit(X, names[y])
        assert_array_equal(named.predict(X), names[numbers.predict(X)])
        assert_array_equal(named.classes_, names)
        assert_array_equal(named.hypotheses(X), numbers.hypotheses(X))
    flags = AdaBoost(n_estimators=5).fit(X, y > 0)
    assert flags.predict(X).dtype == bool


def test_sparse_inputs_and_gaps_where_the_learner_takes_them():
    rng = np.random.default_rng(4)
    counts = rng.poisson(1.0, size=(80, 6))
    y = counts[:, 0] > counts[:, 1]
    dense, sparse = (
        AdaBoost(MultinomialNB(), n_estimators=4).fit(X, y)
        for X in (counts, sp.csr_array(counts))
    )
    assert_allclose(
        dense.decision_function(counts), sparse.decision_function(sp.csr_array(counts))
    )
    with pytest.raises(TypeError, match="[Ss]parse"):
        AdaBoost().fit(sp.csr_array(counts), y)
    gaps = np.where(rng.random(counts.shape) < 0.1, np.nan, counts)
    AdaBoost(
        HistGradientBoostingClassifier(max_iter=2, max_depth=1), n_estimators=2
    ).fit(gaps, y).predict(gaps)
    with pytest.raises(ValueError, match="NaN"):
        AdaBoost().fit(gaps, y)


def test_resample_is_for_learners_without_weights():
    X, y = sample(120)
    for learner in (KNeighborsClassifier(5), LinearDiscriminantAnalysis()):
        with pytest.raises(
            ValueError,
            match=rf"{type(learner).__name__} takes no sample weights.*resample=True",
        ):
            AdaBoost(learner).fit(X, y)
        boosted = AdaBoost(learner, n_estimators=5, resample=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            boosted.fit(X, y)
            assert_array_equal(boosted.predict(X), clone(boosted).fit(X, y).predict(X))
        assert boosted.score(X, y) > 0.7
        rng, w = np.random.RandomState(0), np.full(120, 1 / 120)
        drawn = rng.choice(120, 120, p=w)
        assert_array_equal(
            boosted.estimators_[0].predict(X),
            clone(learner).fit(X[drawn], y[drawn]).predict(X),
        )


def test_tools():
    X, y = sample()
    search = GridSearchCV(
        make_pipeline(
            StandardScaler(), AdaBoost(RandomizedTreeClassifier(), random_state=0)
        ),
        {"adaboost__estimator__max_depth": [1, 2], "adaboost__n_estimators": [3, 5]},
    ).fit(X, y)
    model = AdaBoost(n_estimators=6).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-12)
    assert search.best_score_ > 0.6
    names = AdaBoost(n_estimators=2).fit(pandas_frame(X), y)
    assert list(names.feature_names_in_) == list("abcd")


def pandas_frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=list("abcd"))


# Bad input

X0, Y0 = sample(20)


@pytest.mark.parametrize(
    "params, message",
    [
        (
            {"n_estimators": 0},
            r"'n_estimators' .* an int in the range \[1, inf\). Got 0",
        ),
        ({"n_estimators": 1.5}, "'n_estimators' .* an int .* Got 1.5"),
        ({"form": "gentle"}, "'form' .* a str among .* Got 'gentle'"),
        ({"resample": "yes"}, "'resample' .* Got 'yes'"),
        ({"random_state": "seed"}, "'random_state' .* Got 'seed'"),
        ({"estimator": "stump"}, "'estimator' .* implementing 'fit' and 'predict'"),
        (
            {"estimator": DecisionStump("entropy")},
            "'criterion' parameter of DecisionStump .* Got 'entropy'",
        ),
        (
            {"estimator": RandomizedTreeClassifier(n_best=0)},
            "'n_best' parameter of RandomizedTreeClassifier .* Got 0",
        ),
        (
            {"estimator": KNeighborsClassifier()},
            "KNeighborsClassifier takes no sample weights",
        ),
        (
            {"estimator": make_pipeline(GaussianNB())},
            "Pipeline takes no sample weights",
        ),
        (
            {"estimator": Perceptron(), "form": "real"},
            "form='real' needs a weak learner with predict_proba: Perceptron has none",
        ),
    ],
)
def test_parameters_out_of_range(params, message):
    with pytest.raises(ValueError, match=message):
        AdaBoost(**params).fit(X0, Y0)


@pytest.mark.parametrize("model", [DecisionStump(), AdaBoost(n_estimators=3)])
def test_bad_data(model):
    with pytest.raises(
        ValueError, match=r"needs two classes or more: y has one class only, \['a'\]"
    ):
        model.fit(X0, ["a"] * 20)
    with pytest.raises(ValueError, match=r"one class only, \[0\]"):
        model.fit(X0, Y0, np.where(Y0 == 0, 1.0, 0.0))
    with pytest.raises(ValueError, match="20.*19"):
        model.fit(X0, Y0[:19])
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X0, X0[:, 0])
    with pytest.raises(NotFittedError):
        clone(model).predict(X0)
    with pytest.raises(ValueError, match="3 features.*4 features"):
        clone(model).fit(X0, Y0).predict(X0[:, :3])


@pytest.mark.parametrize(
    "weight, message",
    [
        (np.ones(9), r"sample_weight.shape == \(9,\), expected \(20,\)"),
        (np.r_[-1.0, np.ones(19)], "Negative values"),
        (np.zeros(20), "at least one non-zero number"),
        (np.full(20, np.nan), "NaN"),
    ],
)
@pytest.mark.parametrize("model", [DecisionStump(), AdaBoost(n_estimators=3)])
def test_bad_sample_weights(model, weight, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X0, Y0, weight)


def test_the_real_form_has_two_classes():
    X, y = sample(n_classes=3)
    with pytest.raises(
        ValueError, match="form='real' and 3 classes in y: take form='discrete'"
    ):
        AdaBoost(form="real").fit(X, y)


@parametrize_with_checks(
    [
        DecisionStump(),
        DecisionStump("error"),
        AdaBoost(n_estimators=10),
        AdaBoost(n_estimators=10, form="real"),
        AdaBoost(RandomizedTreeClassifier(max_depth=2), n_estimators=5, random_state=0),
        AdaBoost(DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_large_numbers_of_rounds_stay_finite():
    X, y = make_classification(100, 5, random_state=0)
    model = AdaBoost(n_estimators=1000).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all() and np.isclose(
        model.sample_weight_.sum(), 1.0
    )
    assert (model.estimator_errors_ < 0.5).all() and (
        model.estimator_weights_ > 0
    ).all()
