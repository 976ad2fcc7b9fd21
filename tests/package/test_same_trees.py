"""Trees that are scikit-learn's node for node up to ties, and what follows where many
questions are equally good: fractions tell whether two are a tie.

The outputs of iris are tenths, which no binary number is: two gains that are equal for
tenths differ by their rounding. All other ties are ties of the numbers themselves."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import datasets
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from okbook.ensembles import AdaBoost, OutputKernelBoosting, RandomizedTreeClassifier
from okbook.trees import (
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
)


def exact_gain(Y, left):
    "The decrease of the sum of squares, for rows of fractions."
    gain = Fraction(0)
    for column in np.reshape(Y, (len(Y), -1)).T:
        values = [Fraction(float(value)) for value in column]
        mean = sum(values) / len(values)
        moved = sum(v - mean for v, is_left in zip(values, left) if is_left)
        m = int(left.sum())
        gain += moved**2 * Fraction(len(Y), m * (len(Y) - m))
    return gain


def first_differences(ours, theirs, X, Y):
    """Nodes where two trees part, of those that they have in common: the exact gains of
    both questions, and the rounding of the sums that they are computed from."""
    pairs, parted = [(0, 0, np.arange(len(X)))], []
    while pairs:
        a, b, rows = pairs.pop()
        if ours.feature[a] < 0:  # and so does scikit-learn, unless for its rounding
            assert theirs.children_left[b] < 0 or (Y[rows] == Y[rows[0]]).all()
            continue
        assert theirs.children_left[b] >= 0
        ours_left = X[rows, ours.feature[a]] <= ours.threshold[a]
        theirs_left = X[rows, theirs.feature[b]] <= theirs.threshold[b]
        if (ours_left == theirs_left).all():
            pairs += [
                (ours.children_left[a], theirs.children_left[b], rows[ours_left]),
                (ours.children_right[a], theirs.children_right[b], rows[~ours_left]),
            ]
        else:
            gains = exact_gain(Y[rows], ours_left), exact_gain(Y[rows], theirs_left)
            size = 2.0 * (len(rows) + 8) * 2.0**-53 * np.square(Y[rows]).sum()
            parted.append((*gains, Fraction(size)))
    return parted


def problems():
    for seed in range(4):
        X, y = datasets.make_friedman1(120, random_state=seed)
        yield f"friedman {seed}", X, y, {}
        yield f"friedman {seed}, rounded", X.round(1), y.round(), {}
    X, y = datasets.load_diabetes(return_X_y=True)
    yield "diabetes", X[:150], y[:150], {}
    for load in (datasets.load_iris, datasets.load_wine):
        X, y = load(return_X_y=True)
        yield load.__name__, X, y, {"output_kernel": "dirac"}
        yield f"{load.__name__}, inputs", X[:, :2], X[:, 2:], {}


@pytest.mark.parametrize(
    "X, Y, how", [pytest.param(*p[1:], id=p[0]) for p in problems()]
)
@pytest.mark.parametrize("seed", range(3))
def test_each_first_difference_is_a_tie(X, Y, how, seed):
    X = X.astype(np.float32)  # as scikit-learn rounds it
    peer = DecisionTreeClassifier if how else DecisionTreeRegressor
    ours = OutputKernelTree(**how, random_state=seed).fit(X, Y).tree_
    theirs = peer(random_state=seed).fit(X, Y).tree_
    outputs = np.equal.outer(Y, np.unique(Y)).astype(float) if how else Y
    for one, other, rounding in first_differences(ours, theirs, X, outputs):
        assert abs(one - other) <= (rounding if np.shape(Y) == (150, 2) else 0)


def test_a_difference_that_is_no_tie_is_found():
    X, y = datasets.make_friedman1(60, random_state=0)
    X = X.astype(np.float32)
    ours = OutputKernelTree(max_depth=2).fit(X, y).tree_
    theirs = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[:, ::-1], y).tree_
    worse = DecisionTreeRegressor(max_depth=2, max_features=1, random_state=0)
    assert not first_differences(ours, ours, X, y)
    assert theirs.node_count == ours.node_count
    parted = first_differences(ours, worse.fit(X, y).tree_, X, y)
    assert parted and any(one > other + rounding for one, other, rounding in parted)


KERNELS = {
    "linear": float,
    "rbf": float,
    "dirac": int,
    "laplacian": float,
    "polynomial": lambda bit: [1.0, bit],
    "tanimoto": lambda bit: [1.0, bit, 1.0 - bit],
    "hamming": lambda bit: [1, bit],
    "spectrum": lambda bit: ("red", "green")[bit],
}


def parity(n_bits, copies):
    points = np.array(list(product([0, 1], repeat=n_bits)))
    points = np.repeat(points, copies, axis=0)
    return points.astype(float), points.sum(axis=1) % 2


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("n_bits", range(1, 7))
def test_parity_is_learnt(kernel, n_bits):
    "No question gains anything before the last bit, and all are asked."
    for copies in [1, 2, 3, 5, 7] if n_bits > 3 else range(1, 31):
        X, bits = parity(n_bits, copies)
        if kernel == "precomputed":
            Y = np.array([[1.0, 0.3], [0.3, 1.0]])[np.ix_(bits, bits)]
        else:
            Y = [KERNELS[kernel](int(bit)) for bit in bits]
            Y = Y if kernel == "spectrum" else np.array(Y)
        tree = OutputKernelTree(kernel, random_state=0).fit(X, Y)
        assert tree.get_n_leaves() == 2**n_bits
        leaves = tree.apply(X)
        assert all(len(set(bits[leaves == leaf])) == 1 for leaf in set(leaves))


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 3.0, 1e-6, 1e9])
def test_parity_with_weights(weight):
    X, bits = parity(3, 1)
    tree = OutputKernelTree("rbf").fit(X, bits.astype(float), np.full(8, weight))
    assert tree.get_n_leaves() == 8


def test_random_questions_learn_parity():
    X, bits = parity(3, 3)
    forest = OutputKernelExtraTrees(
        "rbf", n_estimators=30, max_features=1, random_state=0
    ).fit(X, bits.astype(float))
    assert {tree.get_n_leaves() for tree in forest.estimators_} == {8}


@pytest.mark.parametrize("kernel", ["linear", "rbf", "dirac"])
def test_equal_outputs_are_never_split(kernel):
    "Below other nodes, whose sums are inherited."
    draw = np.random.default_rng(0)
    for _ in range(20):
        groups = draw.integers(4, size=60)
        y = groups if kernel == "dirac" else draw.normal(size=4)[groups] * 1e3 + 1e6
        X = np.c_[groups, draw.normal(size=60)]
        tree = OutputKernelTree(kernel, random_state=0).fit(X, y)
        assert tree.get_n_leaves() == len(np.unique(y))
        assert_array_equal(tree.predict(X), y)


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelTree(),
        OutputKernelTree("rbf"),
        OutputKernelTree("dirac"),
        OutputKernelTree(splitter="random", random_state=0),
        OutputKernelTree(max_leaf_nodes=50),
        OutputKernelExtraTrees(n_estimators=10, random_state=0),
        OutputKernelExtraTrees("dirac", n_estimators=10, random_state=0),
        OutputKernelRandomForest(bootstrap=False, n_estimators=3, random_state=0),
        RandomizedTreeClassifier(random_state=0),
    ],
    ids=str,
)
def test_pure_leaves_predict_their_own_value(model):
    "150 of 150 on iris, to the last digit, so that a score of classes takes them."
    X, y = datasets.load_iris(return_X_y=True)
    X, keep = np.unique(X, axis=0, return_index=True)  # the same flower twice
    assert_array_equal(model.fit(X, y[keep]).predict(X), y[keep])
    assert accuracy_score(y[keep], model.predict(X)) == 1.0
    for move in (1e6, 1 / 3):
        if "dirac" not in str(model) and "Randomized" not in str(model):
            moved = y[keep] + move
            assert_array_equal(model.fit(X, moved).predict(X), moved)


@pytest.mark.parametrize("value", [1.0, 1 / 3, 1e6 + 0.1, -1e-9])
def test_boosting_returns_a_constant(value):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = OutputKernelBoosting(n_estimators=20, random_state=0)
    assert_array_equal(model.fit(X, np.full(30, value)).predict(X), value)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-10, 2.0**40])
def test_trees_need_no_scaling(unit):
    "Nanometres in metres: what the quick start says of trees."
    X, y = datasets.load_iris(return_X_y=True)
    models = (
        OutputKernelTree("dirac", max_depth=4),
        OutputKernelRandomForest("dirac", n_estimators=5, random_state=0),
        RandomizedTreeClassifier(random_state=0),
        AdaBoost(n_estimators=10),
    )
    for model in models:
        one = model.fit(X, y).predict(X)
        assert_array_equal(model.fit(X * unit, y).predict(X * unit), one)


def test_unix_times_are_told_apart():
    draw = np.random.default_rng(0)
    times = 1.7e9 + np.arange(300.0)
    y = draw.normal(size=300)
    assert OutputKernelTree().fit(times[:, None], y).get_n_leaves() == 300
