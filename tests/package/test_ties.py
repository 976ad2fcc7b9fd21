"""The last bit decides nothing: what is equal in exact arithmetic stays equal, however
a processor rounds.

Noise of a few units in the last place stands for other orders of summation. Each test
first makes sure that the noise would change an answer that is looked up with ``argmin``
or ``argmax``.
"""

import importlib
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from okbook.core import LinearKernel, OutputKernelKNN, decode_weights
from okbook.core.rounding import (
    UNIT,
    VectorSet,
    first_k_smallest,
    first_largest,
    first_smallest,
    nearest_vectors,
    order_up_to_ties,
)
from okbook.ensembles import AdaBoost, DecisionStump, RandomizedTreeClassifier
from okbook.trees import OutputKernelExtraTrees, OutputKernelTree


def shaken(values, rng, ulps=4):
    "The values, each moved by a few units in the last place."
    return values * (1.0 + 2.0**-52 * rng.integers(-ulps, ulps + 1, np.shape(values)))


# Comparisons


@pytest.mark.parametrize("seed", range(20))
def test_first_smallest_is_exact(seed):
    "Against rational arithmetic: sums of thirds and sevenths, in two orders."
    rng = np.random.default_rng(seed)
    terms = rng.integers(-3, 4, (200, 5, 4))
    exact = [[sum(Fraction(int(k), 21) for k in cell) for cell in row] for row in terms]
    order = rng.permutation(4)
    values = sum((terms / 21)[:, :, k] for k in order)
    smallest = [row.index(min(row)) for row in exact]
    largest = [row.index(max(row)) for row in exact]
    size = np.abs(terms / 21).sum(axis=2)
    assert_array_equal(first_smallest(values, 4, size=size), smallest)
    assert_array_equal(first_largest(values, 4, size=size), largest)
    assert_array_equal(first_smallest(values.T, 4, size=size.T, axis=0), smallest)


def test_some_answers_hang_on_the_last_bit():
    "The test above has something to find: argmin alone is wrong in some rows."
    rng = np.random.default_rng(0)
    values = rng.integers(1, 4, (500, 5)) / 7
    assert (shaken(values, rng).argmin(axis=1) != values.argmin(axis=1)).mean() > 0.1


def test_what_differs_is_not_equal():
    assert first_smallest([1.0 + 20 * UNIT, 1.0], 4) == 1
    assert first_smallest([1.0 + 4 * UNIT, 1.0], 4) == 0
    assert first_largest([1e-30, 2e-30], 4) == 1
    assert first_largest([0.0, 1e-17], 4) == 1
    # what is left of a sum, and a largest that is rounded
    assert first_largest([0.0, 1e-17], 4, size=[1.0, 1.0]) == 0
    assert first_largest([0.0, 1e-17], 4, size=[0.0, 1.0]) == 0
    assert (
        first_smallest([np.inf, 5.0, np.inf], 4) == 1
        and first_largest([-np.inf, 5.0], 4) == 1
    )
    assert (
        first_smallest([np.inf, np.inf], 4) == 0
        and first_largest([np.inf, 1.0, np.inf], 4) == 0
    )


@pytest.mark.parametrize("support", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_candidate_at_the_origin_is_as_near_as_another(support, sparse):
    """Its score is exactly zero, and that of the other one is rounded to a little
    less than zero, or not."""
    for angle in np.linspace(0.0, 3.0, 40):
        turn = np.array(
            [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        )
        Y = np.array([[0.0, 0.0], [1.0, 2.0], [-2.0, -2.0]]) @ turn
        W = np.array([[1.0, -2.0, -1.0]])
        K = Y @ Y.T
        W = sp.csr_array(W) if sparse else W
        assert decode_weights(W, K, K.diagonal(), support=support) == 0


def test_ties_do_not_chain():
    """Each number is a tie with the next one; the order joins those that are a tie with
    the first of a group, and no more."""
    values = 1.0 + 2.0**-50 * np.arange(9)
    error = np.full(9, 2.0**-50)
    for seed in range(20):
        place = np.random.default_rng(seed).permutation(9)
        order = order_up_to_ties(values[place], error)
        assert_array_equal(place[order] // 3, np.repeat(range(3), 3))
        assert all((np.diff(order[k : k + 3]) > 0).all() for k in (0, 3, 6))
        chosen = first_k_smallest(values[place][None], error[None], 3)[0]
        assert set(place[chosen]) <= set(range(5))


# Trees


def tied_problem(seed, n=60):
    "Inputs with columns that ask the same question, and outputs of few values."
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 3)).astype(float)
    X = np.c_[X, -X, X[:, [0]]]
    Y = np.eye(3)[rng.integers(0, 3, n)] / 3.0 + rng.integers(0, 2, (n, 1)) / 7.0
    return X, Y, rng


def same_tree(one, other):
    names = (
        ("children_right", "feature", "threshold")
        if hasattr(one, "children_right")
        else ("right", "feature", "threshold")
    )
    for name in names:
        assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("seed", range(10))
def test_output_kernel_trees(splitter, seed):
    X, Y, rng = tied_problem(seed)
    K = LinearKernel().fit(Y).gram(Y)
    noise = shaken(K, rng)
    noise = np.tril(noise) + np.tril(noise, -1).T
    how = {"splitter": splitter, "random_state": seed, "max_features": 4}
    tree = OutputKernelTree("precomputed", **how).fit(X, K).tree_
    same_tree(tree, OutputKernelTree("precomputed", **how).fit(X, noise).tree_)
    same_tree(tree, OutputKernelTree("linear", **how).fit(X, Y).tree_)  # by the factor


def test_forests_decode_alike():
    X, Y, rng = tied_problem(0, n=120)
    model = OutputKernelExtraTrees(
        "rbf", output_kernel_params={"sigma": 0.5}, n_estimators=20, random_state=0
    )
    chosen = [model.fit(X, outputs).decode(X + 0.4) for outputs in (Y, shaken(Y, rng))]
    assert_array_equal(*chosen)


# Classification trees, stumps and AdaBoost


@pytest.mark.parametrize(
    "how", [{}, {"criterion": "gini"}, {"n_best": 20}, {"confidence": 0.25}], ids=str
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classification_trees(how, n_classes):
    for seed in range(10):
        X, _, rng = tied_problem(seed)
        y, weight = rng.integers(0, n_classes, len(X)), rng.integers(1, 4, len(X)) / 7.0
        y[:n_classes] = range(n_classes)
        tree = RandomizedTreeClassifier(**how, random_state=seed).fit(X, y, weight)
        other = RandomizedTreeClassifier(**how, random_state=seed).fit(
            X, y, shaken(weight, rng)
        )
        same_tree(tree.tree_, other.tree_)
        assert_array_equal(tree.predict(X), other.predict(X))


@pytest.mark.parametrize("criterion", ["gini", "error"])
def test_stumps(criterion):
    for seed in range(20):
        X, _, rng = tied_problem(seed)
        y, weight = (
            rng.integers(0, 2 + seed % 2, len(X)),
            rng.integers(1, 4, len(X)) / 7.0,
        )
        y[:3] = [0, 1, 1 + seed % 2]
        one = DecisionStump(criterion).fit(X, y, weight)
        other = DecisionStump(criterion).fit(X, y, shaken(weight, rng))
        assert (one.feature_, one.threshold_) == (other.feature_, other.threshold_)
        assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.filterwarnings("ignore:Boosting stops")
@pytest.mark.parametrize(
    "learner",
    [None, RandomizedTreeClassifier(min_samples_leaf=2, confidence=0.25)],
    ids=str,
)
def test_adaboost(learner, monkeypatch):
    """Rounding in each round; a product of a BLAS in the place of the sum in order,
    as it was."""
    adaboost = importlib.import_module("okbook.ensembles.adaboost")
    exact_step = adaboost.boost_step
    for seed in range(10):
        X, _, rng = tied_problem(seed, n=100)
        y = (X[:, 0] + X[:, 1] + rng.integers(0, 4, len(X)) > 4).astype(int)
        monkeypatch.setattr(adaboost, "boost_step", exact_step)
        model = AdaBoost(learner, n_estimators=60, random_state=seed).fit(X, y)

        def rounded(weight, agreement, n_classes=2, rng=rng):
            step = exact_step(weight, agreement, n_classes)
            step.weight = shaken(step.weight, rng)
            return step

        monkeypatch.setattr(adaboost, "boost_step", rounded)
        other = AdaBoost(learner, n_estimators=60, random_state=seed).fit(X, y)
        assert len(model.estimators_) == len(other.estimators_)
        for h, g in zip(model.estimators_, other.estimators_):
            if learner is None:
                assert (h.feature_, h.threshold_) == (g.feature_, g.threshold_)
            else:
                same_tree(h.tree_, g.tree_)
        assert_array_equal(model.predict(X), other.predict(X))
        for a, b in zip(model.staged_predict(X), other.staged_predict(X)):
            assert_array_equal(a, b)


# Decoding and neighbours


@pytest.mark.parametrize("support", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_decoding(support, sparse):
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 3, (30, 2)) / 3.0  # many candidates occur several times
    W = rng.random((50, 30)) * (rng.random((50, 30)) < 0.5)
    K = Y @ Y.T
    found = []
    for move in (False, True):
        weights, gram = (shaken(W, rng), shaken(K, rng)) if move else (W, K)
        gram = np.tril(gram) + np.tril(gram, -1).T
        weights = sp.csr_array(weights) if sparse else weights
        found.append(decode_weights(weights, gram, gram.diagonal(), support=support))
    assert_array_equal(*found)


def test_neighbours():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3)) / 3.0
    Y, queries = rng.standard_normal((60, 2)), rng.integers(0, 3, (40, 3)) / 3.0
    for k in (1, 4, 7):
        W = OutputKernelKNN(k).fit(X, Y).weights(queries)
        distances = np.round(
            9 * ((queries[:, None] - X[None]) ** 2).sum(axis=2)
        ).astype(int)  # exact
        chosen = np.sort(np.argsort(distances, axis=1, kind="stable")[:, :k], axis=1)
        assert_array_equal(W.indices.reshape(40, k), chosen)


@pytest.mark.parametrize("seed", range(200))
def test_nearest_vectors(seed):
    "Points of a grid, of which many are equally far, with whole distances."
    rng = np.random.default_rng(seed)
    d, n, q = rng.integers(1, 5), rng.integers(1, 300), rng.integers(1, 150)
    A, B = rng.integers(-3, 4, (q, d)) + 1e6, rng.integers(-3, 4, (n, d)) + 1e6
    k, moved = rng.integers(1, n + 1), np.where(rng.random(q) < 0.5, 0.0, 0.3)
    D = np.square(A[:, None] - B).sum(axis=2)
    columns, distances = nearest_vectors(A, VectorSet.of(B), k, moved)
    right = first_k_smallest(D, 2.0 * moved[:, None] * np.sqrt(D), k)
    assert_array_equal(columns, right)
    assert_allclose(distances, np.take_along_axis(D, right, axis=1), rtol=1e-9)
