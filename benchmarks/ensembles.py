"""Speed of okbook.ensembles beside scikit-learn, in one run: ``python
benchmarks/ensembles.py``.

AdaBoost of 200 stumps on the 4601 messages of Spambase where they are at hand
(OKBOOK_DATA), and on random inputs of the same sizes where they are not; its peer is
scikit-learn's ``AdaBoostClassifier``. The script stops if the two differ in a stump, a
threshold, or, but for rounding, a weight. Then boosted trees of depth three, and growth
with the number of examples, of features and of rounds, on random inputs without equal
values. One thread. Ratios are the peer's seconds over okbook's, medians over pairs of
runs, one of each after the other. Nothing here gates a test. With ``--store`` the
figures go to ``benchmarks/ensembles.csv``, which the book's page on speed shows.
"""

import argparse

# first: it sets the number of threads before numpy is there
from measure import pairs, store  # isort: skip

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from okbook.datasets import DatasetNotFound, load_uci
from okbook.ensembles import AdaBoost, RandomizedTreeClassifier


def messages():
    "Inputs and classes of Spambase, or random ones."
    try:
        data = load_uci("spambase", download=False)
        print("Spambase")
        return np.asarray(data.data, dtype=float), data.target
    except (
        DatasetNotFound
    ):  # the sizes are what counts; a damaged file still is an error
        print("random inputs")
        return points(4601, 57)


def points(n, p, seed=0):
    """Random inputs without equal values, and a class that hangs on ten of them and
    on chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, :10].sum(axis=1) + 2.0 * rng.normal(size=n) > 0


def check_same(ours, theirs):
    "The same stumps, and the same weights; scikit-learn's are twice ours."
    trees = [peer.tree_ for peer in theirs.estimators_]
    assert [h.feature_ for h in ours.estimators_] == [tree.feature[0] for tree in trees]
    assert [h.threshold_ for h in ours.estimators_] == [
        tree.threshold[0] for tree in trees
    ]
    np.testing.assert_allclose(
        2.0 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-8
    )


def stumps(X, y, T, repeats):
    "The work of the promise, and the proof that it is the same work."
    ours, theirs = (
        AdaBoost(n_estimators=T),
        AdaBoostClassifier(n_estimators=T, random_state=0),
    )
    check_same(ours.fit(X, y), theirs.fit(X, y))
    what = f"AdaBoost, {T} stumps, {X.shape[1]} features, identical output"
    pairs(
        what,
        len(X),
        lambda: ours.fit(X, y),
        lambda: theirs.fit(X, y),
        repeats,
        "15 times faster",
    )
    pairs(
        f"the same: votes of {T} stumps",
        len(X),
        lambda: ours.predict(X),
        lambda: theirs.predict(X),
        repeats,
        "",
    )


def trees(X, y, T, repeats):
    "Trees of depth three, on features that are sorted once."
    ours = AdaBoost(RandomizedTreeClassifier("gini", max_depth=3), n_estimators=T)
    theirs = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=T, random_state=0
    )
    np.testing.assert_allclose(
        2.0 * ours.fit(X, y).estimator_weights_,
        theirs.fit(X, y).estimator_weights_,
        rtol=1e-8,
    )
    what = (
        f"AdaBoost, {T} trees of depth three, {X.shape[1]} features, the same weights"
    )
    pairs(what, len(X), lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeats, "")


def growth(fixed, factors, repeats):
    """Seconds against the number of examples, of features and of rounds, the other
    two being fixed."""
    for what in fixed:
        rest = ", ".join(
            f"{value} {name}" for name, value in fixed.items() if name != what
        )
        for factor in factors:
            one_size(
                f"growth in {what}: {rest}",
                what,
                fixed | {what: fixed[what] * factor},
                repeats,
            )


def one_size(work, what, size, repeats):
    X, y = points(size["examples"], size["features"])
    ours = AdaBoost(n_estimators=size["rounds"])
    theirs = AdaBoostClassifier(n_estimators=size["rounds"], random_state=0)
    pairs(
        work, size[what], lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeats, ""
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it runs"
    )
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep the figures in benchmarks/ensembles.csv",
    )
    args = parser.parse_args()
    if args.quick:
        stumps(*points(500, 57), 20, repeats=3)
        trees(*points(500, 57), 10, repeats=3)
        growth({"examples": 200, "features": 10, "rounds": 10}, [1, 2, 4], repeats=1)
    else:
        X, y = messages()
        stumps(X, y, 200, repeats=9)
        trees(X, y, 100, repeats=3)
        growth(
            {"examples": 1000, "features": 20, "rounds": 50},
            [1, 2, 4, 8, 16, 32],
            repeats=3,
        )
        if args.store:
            store(__file__)
