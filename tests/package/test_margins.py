"Oracles, certificates and bad input of the page on margins."

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import cohen_kappa_score
from sklearn.tree import DecisionTreeClassifier

from okbook.ensembles import (
    AdaBoost,
    Bagging,
    boosting_margin_bound,
    c_bound,
    kappa_error,
    margin_bound,
    margins,
    max_margin_weights,
    vote_alignment,
    vote_margins,
    vote_moments,
)
from okbook.forest_kernel import target_alignment
from okbook.mkl.pairs import pair_correlations

assert_allclose = partial(np.testing.assert_allclose, strict=True)


def draw(n_classes, T=7, n=30, seed=0):
    "Random hypotheses that are right more often than not."
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return np.where(
        rng.random((T, n)) < 0.5, y, rng.integers(n_classes, size=(T, n))
    ), y


def slow_margins(H, y, weights):
    "eq-margin-classes, one example at a time."
    found = []
    for i, own in enumerate(y):
        share = {
            c: sum(w for w, h in zip(weights, H[:, i]) if h == c) / sum(weights)
            for c in {*y, *H.ravel()}
        }
        found.append(share.pop(own) - max(share.values()))
    return np.array(found)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_margins_from_their_definition(n_classes):
    H, y = draw(n_classes)
    weights = np.random.default_rng(1).random(len(H))
    expected = slow_margins(H, y, weights)  # eq-margin-classes
    assert_allclose(vote_margins(H, y, weights), expected)
    names = np.array(["ash", "birch", "cedar", "date", "elm"])
    assert_allclose(vote_margins(names[H], names[y], 3.0 * weights), expected)
    if n_classes == 2:  # eq-margin-def, for labels and for real votes
        S, s = 2 * H - 1, 2 * y - 1
        assert_allclose(vote_margins(S, s, weights), s * (weights @ S) / weights.sum())
        assert_allclose(vote_margins(0.5 * S, s, weights), 0.5 * expected)


def test_margins_of_one_class_only():
    assert_allclose(vote_margins([[1, 1], [1, 1]], [1, 1]), np.ones(2))
    assert_allclose(vote_margins([["a", "b"]], ["b", "b"]), np.array([-1.0, 1.0]))
    found = max_margin_weights([[1, 1], [1, 1]], [1, 1])
    assert found.margin == pytest.approx(1.0) and found.edge == pytest.approx(1.0)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("make", [AdaBoost, Bagging])
def test_margins_of_a_fitted_ensemble(load, make):
    X, y = load(return_X_y=True)
    names = load().target_names[y]
    model = make(n_estimators=15, random_state=0).fit(X[::2], names[::2])
    found = margins(model, X[1::2], names[1::2])
    weights = getattr(model, "estimator_weights_", np.ones(len(model.estimators_)))
    predicted = np.array([tree.predict(X[1::2]) for tree in model.estimators_])
    if predicted.dtype.kind != "U":
        predicted = model.classes_[predicted.astype(int)]
    assert_allclose(found, slow_margins(predicted, names[1::2], weights))
    assert (
        np.array_equal(found > 0, model.predict(X[1::2]) == names[1::2])
        or (found == 0).any()
    )
    strangers = margins(model, X[1::2], np.full(len(names[1::2]), "unknown"))
    assert (strangers < 0).all()  # a class that got no votes


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_largest_margin_by_linprog(n_classes, seed):
    H, y = draw(n_classes, seed=seed)
    found, T = max_margin_weights(H, y), len(H)
    wrong = [(i, c) for i in range(len(y)) for c in range(n_classes) if c != y[i]]
    A = np.array([1.0 * (H[:, i] == y[i]) - (H[:, i] == c) for i, c in wrong])
    bounds = [(0, None)] * T + [(None, None)]
    one = np.r_[np.ones(T), 0.0][None]
    best = linprog(
        np.r_[np.zeros(T), -1.0],
        np.c_[-A, np.ones(len(A))],
        np.zeros(len(A)),
        one,
        [1.0],
        bounds,
    )
    assert found.margin == pytest.approx(-best.fun, abs=1e-9)  # eq-margin-primal
    assert found.edge == pytest.approx(found.margin, abs=1e-9)  # eq-margin-dual: no gap
    assert vote_margins(H, y, found.weights).min() == pytest.approx(
        found.margin, abs=1e-12
    )
    assert found.weights.min() >= 0 and found.weights.sum() == pytest.approx(1.0)
    assert found.examples.min() >= 0 and found.examples.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_largest_margin_by_force(seed):
    H, y = draw(2, T=3, n=6, seed=seed)
    steps = 60
    grid = np.array(
        [
            (a, b, steps - a - b)
            for a, b in product(range(steps + 1), repeat=2)
            if a + b <= steps
        ]
    )
    best = max(vote_margins(H, y, w).min() for w in grid)
    found = max_margin_weights(H, y).margin
    assert best - 1e-12 <= found <= best + 4 / steps
    if (
        found > 0
        # every distribution on the examples has a hypothesis with that edge: weak
        # learnability
    ):
        d = np.random.default_rng(seed).dirichlet(np.ones(6), size=500)
        assert (d @ np.where(H == y, 1, -1).T).max(axis=1).min() >= found - 1e-12


def test_every_training_margin_is_bounded_by_the_product():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoost(n_estimators=60).fit(X, y)
    theta = np.linspace(-0.2, 0.6, 81)
    for t in (1, 5, 20, 60):
        found = vote_margins(model.hypotheses(X)[:t], y, model.estimator_weights_[:t])
        share = (found <= theta[:, None]).mean(axis=1)
        bound = boosting_margin_bound(
            model.estimator_weights_[:t], model.normalizers_[:t], theta
        )
        assert (share <= bound + 1e-12).all()  # eq-margin-product


def test_product_for_the_alphas_of_adaboost():
    eps = np.random.default_rng(0).uniform(0.05, 0.45, size=12)
    alphas, normalizers = 0.5 * np.log((1 - eps) / eps), 2 * np.sqrt(eps * (1 - eps))
    for theta in (-0.3, 0.0, 0.1, 0.5):
        expected = np.prod(
            2 * np.sqrt(eps ** (1 - theta) * (1 - eps) ** (1 + theta))
        )  # eq-margin-epsilon
        assert boosting_margin_bound(alphas, normalizers, theta) == pytest.approx(
            expected
        )
    assert boosting_margin_bound([1.0, 2.0], [0.5, 0.0]) == 0.0


def test_margin_bound_is_its_formula():
    theta, m, C, delta = 0.3, 10_000, 500, 0.01
    N = np.arange(1.0, 5001.0)
    inner = (np.log(N) + 2 * np.log(N + 1) + N * np.log(C) - np.log(delta)) / (2 * m)
    best = (2 * np.exp(-N * theta**2 / 8) + np.sqrt(inner)).min()
    assert best <= margin_bound(theta, m, C, delta) <= 1.001 * best  # eq-margin-bound
    assert margin_bound([[0.1, 0.2]], m, C).shape == (1, 2)
    falls = [margin_bound(0.3, m, C) for m in (10**3, 10**4, 10**5, 10**6)]
    assert (np.diff(falls) < 0).all()


def test_margin_bound_holds_where_the_truth_is_known():
    """Eight hypotheses, the points of {0, 1, ..., 7} with known probabilities: no
    sample breaks the bound."""
    rng = np.random.default_rng(0)
    H, y = draw(2, T=8, n=8, seed=3)
    for _ in range(20):
        drawn = rng.integers(8, size=5000)
        weights = max_margin_weights(H[:, drawn[:200]], y[drawn[:200]]).weights
        found = vote_margins(H, y, weights)
        for theta in (0.2, 0.5):
            assert (found <= 0).mean() <= (found[drawn] <= theta).mean() + margin_bound(
                theta, 5000, 8
            )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_kappa_is_cohens(n_classes):
    H, y = draw(n_classes)
    found = kappa_error(H, y)
    assert len(found.kappa) == len(H) * (len(H) - 1) // 2
    for (a, b), kappa, error in zip(found.pairs, found.kappa, found.error):
        assert kappa == pytest.approx(cohen_kappa_score(H[a], H[b]))  # eq-margin-kappa
        assert error == pytest.approx(((H[a] != y).mean() + (H[b] != y).mean()) / 2)
    assert_allclose(found.errors, (H != y).mean(axis=1))
    constant = kappa_error([["a", "a"], ["a", "a"], ["b", "b"]], ["a", "b"])
    assert constant.kappa.tolist() == [1.0, 0.0, 0.0]


def test_perfect_trees_have_margin_one():
    X, y = load_breast_cancer(return_X_y=True)
    trees = [
        DecisionTreeClassifier(max_features=3, splitter="random", random_state=s).fit(
            X, y
        )
        for s in range(9)
    ]
    H = [tree.predict(X) for tree in trees]
    assert_allclose(vote_margins(H, y), np.ones(len(y)))
    assert max_margin_weights(H, y).margin == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vote_margins([1, -1], [1, -1]), "Expected 2D array"),
        (lambda: vote_margins([[1, -1]], [1, -1, 1]), r"got \(1, 2\) and \(3,\)"),
        (lambda: vote_margins(np.empty((0, 2)), [1, -1]), r"\(0, 2\)"),
        (lambda: vote_margins([[0.5, -2.0]], [1, -1]), r"lie in \[-1, 1\]"),
        (
            lambda: vote_margins([[0.5, np.nan]], [1, -1]),
            "hypotheses has 1 missing",
        ),
        (lambda: vote_margins([[0.5, 0.1]], [1, 0]), "-1 or 1"),
        (lambda: vote_margins([[0, 1]], ["a", "b"]), "one kind"),
        (lambda: vote_margins([[0, 1]], [0, 1], [-1.0]), "none negative"),
        (lambda: vote_margins([[0, 1]], [0, 1], [0.0]), "one positive"),
        (
            lambda: vote_margins([[0, 1]], [0, 1], [1.0, 1.0]),
            "must be 1 numbers",
        ),
        (lambda: max_margin_weights([[0, 1]], [0, 1, 1]), r"got \(1, 2\) and \(3,\)"),
        (lambda: kappa_error([[0.5, 1.0]], [1, -1]), "needs labels"),
        (lambda: margin_bound(0.0, 100, 10), "'theta' .* Got 0.0"),
        (lambda: margin_bound(np.nan, 100, 10), "'theta' .* Got nan"),
        (lambda: margin_bound([0.1, -0.1], 100, 10), "theta must be positive"),
        (
            lambda: margin_bound([0.1, np.inf], 100, 10),
            "must be positive and finite",
        ),
        (lambda: margin_bound(0.1, 0, 10), "'n_examples' .* Got 0"),
        (lambda: margin_bound(0.1, np.inf, 10), "'n_examples' .* Got inf"),
        (lambda: margin_bound(0.1, 100, 0.5), "'n_hypotheses' .* Got 0.5"),
        (lambda: margin_bound(0.1, 100, 10, delta=1.0), "'delta' .* Got 1.0"),
        (lambda: margin_bound(0.1, 100, 10, delta=np.nan), "'delta' .* Got nan"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Alignment and the C-bound


@pytest.mark.parametrize("seed", range(5))
def test_alignment_and_c_bound_are_functions_of_two_arrays(seed):
    """thm-margin-alignment against Gram matrices, eq-margin-arrays against loops; the
    matrix of chapter 4 has the squared products."""
    rng = np.random.default_rng(seed)
    y, a = rng.permutation([0, 1] * 12), rng.dirichlet(np.ones(6))
    H = np.where(rng.random((6, 24)) < 0.8, y, 1 - y)
    edges, products = vote_moments(H, y)
    for s in range(6):
        assert edges[s] == pytest.approx(1 - 2 * np.mean(H[s] != y))
        for t in range(6):
            assert products[s, t] == pytest.approx(1 - 2 * np.mean(H[s] != H[t]))
    signs = 2.0 * H - 1
    total = sum(a[t] * np.outer(signs[t], signs[t]) for t in range(6))
    assert vote_alignment(edges, products, 3 * a) == pytest.approx(
        target_alignment(total, y)
    )  # eq-margin-alignment
    vote = a @ signs
    bound = c_bound(edges, products, 3 * a)
    assert bound == pytest.approx(
        1 - target_alignment(np.outer(vote, vote), y)
    )  # eq-margin-votekernel
    m = vote_margins(H, y, a)
    assert bound == pytest.approx(1 - m.mean() ** 2 / (m**2).mean())  # eq-margin-cbound
    assert (m <= 0).mean() <= bound
    upper = np.triu_indices(24)
    Z = np.stack([np.outer(h, h)[upper] for h in signs], axis=1)
    np.testing.assert_allclose(pair_correlations(Z, 24), products**2, atol=1e-12)


def test_equal_edges_bound_the_error_by_the_alignment_of_the_sum():
    "eq-margin-aligned: it holds with equal edges, and not without."
    rng, checked, violated = np.random.default_rng(0), 0, 0
    for _ in range(2000):
        T, n = rng.integers(1, 6), rng.integers(2, 9)
        wrong = rng.integers(0, (n + 1) // 2, size=T)
        for equal in (True, False):
            numbers = np.full(T, wrong[0]) if equal else wrong
            H = np.ones((T, n), dtype=int)
            for h, k in zip(H, numbers):
                h[rng.choice(n, k, replace=False)] = -1
            a = rng.dirichlet(np.ones(T))
            edges, products = vote_moments(H, np.ones(n, dtype=int))
            share = (a @ H <= 0).mean()
            aligned = 1 - vote_alignment(edges, products, a)
            assert share <= c_bound(edges, products, a) + 1e-12
            if equal:
                checked += 1
                assert c_bound(edges, products, a) <= aligned + 1e-12
            violated += share > aligned + 1e-9
    assert checked == 2000 and violated > 0


def test_c_bound_of_a_vote_that_is_wrong_on_average_is_one():
    assert c_bound(*vote_moments([[1, -1, -1]], [1, 1, 1])) == 1.0
    assert c_bound(*vote_moments([[1, -1]], [1, 1])) == 1.0
    for H, a in (  # in exact arithmetic all votes are even
        ([[-1], [1], [1]], [0.6, 0.5, 0.1]),
        ([[-1], [-1], [1], [1]], [0.3, 0.6, 0.5, 0.4]),
    ):
        assert c_bound(*vote_moments(H, [1]), a) == 1.0


def test_alignment_and_c_bound_refuse():
    with pytest.raises(ValueError, match="two classes: got 3 classes"):
        vote_moments([[0, 1, 2]], [0, 1, 2])
    with pytest.raises(ValueError, match="real-valued"):
        vote_moments([[0.5, -0.5]], [1, -1])
    arrays = vote_moments([[0, 1], [1, 1]], [0, 1])
    for function in (vote_alignment, c_bound):
        for weights in ([1.0, -0.1], [0.0, 0.0]):
            with pytest.raises(ValueError, match="weights must not be negative"):
                function(*arrays, weights)
        with pytest.raises(ValueError, match="products"):
            function(arrays[0], arrays[1][:1])
