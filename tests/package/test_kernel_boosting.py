"""Oracles of OutputKernelBoosting: scikit-learn, two forms of the residuals, two
orders of the weights."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from okbook.core import GramKernel, RBFKernel
from okbook.ensembles import OutputKernelBoosting
from okbook.trees import OutputKernelTree


def problem(seed, n_outputs=None):
    "Inputs without ties, and outputs that depend on them."
    rng = np.random.default_rng(seed)
    n, p = rng.integers(40, 160), rng.integers(2, 6)
    X = rng.normal(size=(n, p))
    y = 2 * X[:, :1] + rng.normal(size=(n, n_outputs or 1))
    return X, y if n_outputs else y.ravel(), rng.normal(size=(30, p))


def parameters(seed):
    """All the parameters that the two have in common, at random. Leaves are not so
    small that two splits tie."""
    rng = np.random.default_rng(1000 + seed)
    return {
        "n_estimators": 15,
        "learning_rate": float(rng.choice([0.1, 0.5, 1.0])),
        "max_depth": int(rng.integers(1, 4)),
        "min_samples_leaf": 6,
        "subsample": float(rng.choice([0.5, 0.8, 1.0])),
        "max_features": [None, 1, 2][seed % 3],
        "n_iter_no_change": [None, 2, 5][rng.integers(3)],
        "random_state": seed,
    }


def outputs_of(kernel):
    "A problem for each kind of output."
    X, Y, queries = problem(3, n_outputs=2)
    y = {
        "linear": Y,
        "rbf": Y,
        "dirac": np.array(["a", "b", "c"])[(Y[:, 0] > 0) * 1 + (Y[:, 0] > 2)],
    }[kernel]
    return X, y, queries


@pytest.mark.parametrize("depth", [1, 3])
def test_linear_kernel_is_scikit_learns_gradient_boosting(depth):
    """A scalar output: the same predictions, losses and importances in every round
    (eq-kboost-step)."""
    for seed in range(10):
        X, y, queries = problem(seed)
        params = {
            "n_estimators": 40,
            "max_depth": depth,
            "min_samples_leaf": 6,
            "random_state": seed,
        }
        theirs = GradientBoostingRegressor(**params).fit(X, y)
        ours = OutputKernelBoosting(**params).fit(X, y)
        for one, other in zip(
            ours.staged_predict(queries), theirs.staged_predict(queries), strict=True
        ):
            assert_allclose(one, other, atol=1e-12, strict=True)
        assert_allclose(
            ours.predict(queries), theirs.predict(queries), atol=1e-12, strict=True
        )
        assert_allclose(
            ours.train_loss_[1:], theirs.train_score_, atol=1e-12, strict=True
        )
        assert_allclose(
            ours.feature_importances_,
            theirs.feature_importances_,
            atol=1e-12,
            strict=True,
        )


@pytest.mark.parametrize("seed", range(40))
def test_every_common_parameter_means_the_same(seed):
    """Subsamples, features, weights and early stopping follow scikit-learn's random
    stream."""
    X, y, queries = problem(seed)
    weight = (
        None if seed % 2 else np.random.default_rng(seed).uniform(0.5, 2.0, size=len(X))
    )
    theirs = GradientBoostingRegressor(**parameters(seed)).fit(
        X, y, sample_weight=weight
    )
    ours = OutputKernelBoosting(**parameters(seed)).fit(X, y, sample_weight=weight)
    assert ours.n_estimators_ == theirs.n_estimators_
    assert_allclose(
        ours.predict(queries), theirs.predict(queries), atol=1e-12, strict=True
    )
    assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, atol=1e-12, strict=True
    )


def test_pruned_trees_are_scikit_learns():
    X, y, queries = problem(0)
    params = {
        "n_estimators": 20,
        "max_depth": 3,
        "min_samples_leaf": 6,
        "ccp_alpha": 0.02,
        "random_state": 0,
    }
    theirs, ours = (
        GradientBoostingRegressor(**params).fit(X, y),
        OutputKernelBoosting(**params).fit(X, y),
    )
    assert_allclose(
        ours.predict(queries), theirs.predict(queries), atol=1e-12, strict=True
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "dirac"])
@pytest.mark.parametrize(
    "params", [{}, {"subsample": 0.6}, {"n_iter_no_change": 3}, {"splitter": "random"}]
)
def test_rows_and_gram_matrix_are_two_forms_of_one_fit(kernel, params):
    "eq-kboost-gram: from the outputs, and from their Gram matrix alone."
    X, y, queries = outputs_of(kernel)
    params = {
        "n_estimators": 20,
        "max_depth": 2,
        "min_samples_leaf": 5,
        "random_state": 0,
        **params,
    }
    rows = OutputKernelBoosting(kernel, **params).fit(X, y)
    gram = OutputKernelBoosting("precomputed", **params).fit(X, rows.gram_)
    assert_allclose(
        rows.weights(queries), gram.weights(queries), atol=1e-10, strict=True
    )
    assert_allclose(rows.train_loss_, gram.train_loss_, atol=1e-10, strict=True)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "dirac"])
def test_weights_backwards_are_the_weights_forwards(kernel):
    """eq-kboost-back against eq-kboost-forward; rows sum to one, and a stage is a
    shorter fit."""
    X, y, queries = outputs_of(kernel)
    params = {"subsample": 0.7, "max_depth": 3, "random_state": 0}
    model = OutputKernelBoosting(kernel, n_estimators=25, **params).fit(X, y)
    stages = list(model.staged_weights(queries))
    assert len(stages) == model.n_estimators_ == 25
    assert_allclose(stages[-1], model.weights(queries), atol=1e-13, strict=True)
    for W in stages:
        assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)
    shorter = OutputKernelBoosting(kernel, n_estimators=7, **params).fit(X, y)
    assert_allclose(stages[6], shorter.weights(queries), atol=1e-13, strict=True)


def test_weights_by_hand():
    """eq-kboost-step, written down with scikit-learn's trees: of every residual, its
    coefficients in the outputs."""
    X, Y, queries = problem(5, n_outputs=3)
    params = {"max_depth": 2, "min_samples_leaf": 5, "random_state": 0}
    A, W = np.eye(len(X)) - 1.0 / len(X), np.full((len(queries), len(X)), 1.0 / len(X))
    for _ in range(10):
        tree = DecisionTreeRegressor(**params).fit(X, A @ Y)
        leaves, reached = tree.apply(X), tree.apply(queries)
        means = {leaf: A[leaves == leaf].mean(axis=0) for leaf in set(leaves)}
        W = W + 0.3 * np.array([means[leaf] for leaf in reached])
        A = A - 0.3 * np.array([means[leaf] for leaf in leaves])
    model = OutputKernelBoosting(n_estimators=10, learning_rate=0.3, **params).fit(X, Y)
    assert_allclose(model.weights(queries), W, atol=1e-12, strict=True)
    assert_allclose(model.predict(queries), W @ Y, atol=1e-12, strict=True)


def test_one_tree_at_full_rate_is_a_tree():
    "The mean, and then what a tree adds to the mean."
    X, y, queries = outputs_of("rbf")
    kernel = {"output_kernel": "rbf", "max_depth": 3, "random_state": 0}
    tree = OutputKernelTree(**kernel).fit(X, y)
    boosted = OutputKernelBoosting(n_estimators=1, learning_rate=1.0, **kernel).fit(
        X, y
    )
    assert_allclose(
        boosted.weights(queries),
        tree.weights(queries).toarray(),
        atol=1e-12,
        strict=True,
    )


def test_losses_are_those_of_the_weights():
    "eq-kboost-risk: the losses on both parts, from the weights alone."
    X, y, _ = outputs_of("rbf")
    model = OutputKernelBoosting(
        "rbf", n_estimators=30, learning_rate=0.5, n_iter_no_change=3, random_state=0
    ).fit(X, y)
    used = model._prior > 0
    assert 0.85 < used.mean() < 0.92
    last = model.train_loss_[-1], model.validation_loss_[-1]
    assert_allclose(
        last, (model.loss(X[used], y[used]), model.loss(X[~used], y[~used])), rtol=1e-9
    )
    assert_allclose(
        model.validation_loss_[1:],
        model.staged_loss(X[~used], y[~used]),
        rtol=1e-9,
        strict=True,
    )
    assert (
        len(model.train_loss_) == len(model.validation_loss_) == model.n_estimators_ + 1
    )
    assert (
        model.weights(X)[:, ~used] == 0
    ).all()  # nothing was learnt from the part held out


def test_loss_falls_by_what_the_leaves_hold():
    """eq-kboost-descent: nu (2 - nu) times the mean squared norm of the leaves' mean
    residuals."""
    X, y, _ = outputs_of("rbf")
    for rate in (0.1, 1.0, 1.7):
        model = OutputKernelBoosting(
            "rbf", n_estimators=8, learning_rate=rate, random_state=0
        ).fit(X, y)
        A, leaves = np.eye(len(X)) - 1.0 / len(X), model.apply(X)
        for m in range(8):
            means = np.stack(
                [A[leaves[:, m] == leaf].mean(axis=0) for leaf in leaves[:, m]]
            )
            held = np.einsum("ij,jk,ik->i", means, model.gram_, means).mean()
            assert_allclose(
                model.train_loss_[m] - model.train_loss_[m + 1],
                rate * (2 - rate) * held,
                rtol=1e-9,
            )
            A -= rate * means


def test_examples_of_no_weight_are_not_there():
    X, y, queries = outputs_of("linear")
    weight = np.ones(len(X))
    weight[::4] = 0.0
    params = {
        "n_estimators": 10,
        "max_depth": 2,
        "min_samples_leaf": 4,
        "subsample": 0.8,
        "random_state": 0,
    }
    some = OutputKernelBoosting(**params).fit(X[weight > 0], y[weight > 0])
    all_of_them = OutputKernelBoosting(**params).fit(X, y, sample_weight=weight)
    assert_allclose(
        all_of_them.predict(queries), some.predict(queries), atol=1e-12, strict=True
    )


def test_stops_when_nothing_is_left():
    """Deep trees at full rate meet the training outputs at once; equal outputs need
    no tree."""
    X, y, queries = problem(1)
    model = OutputKernelBoosting(
        n_estimators=50, learning_rate=1.0, max_depth=None
    ).fit(X, y)
    assert model.n_estimators_ <= 3
    assert_allclose(model.predict(X), y, atol=1e-10)
    for kernel in ("linear", "rbf"):
        model = OutputKernelBoosting(kernel).fit(X, np.full(len(X), 2.0))
        assert model.n_estimators_ == 0 and len(model.train_loss_) == 1
        assert_allclose(
            model.predict(queries), np.full(len(queries), 2.0), rtol=1e-12, strict=True
        )
        assert_array_equal(model.feature_importances_, np.zeros(X.shape[1]))
        assert model.apply(queries).shape == (len(queries), 0)


def test_the_gram_matrix_that_was_given_is_left_alone():
    X, y, _ = problem(2)
    K = np.outer(y, y) + np.eye(len(y))
    before = K.copy()
    OutputKernelBoosting("precomputed", n_estimators=3).fit(X, K)
    assert_array_equal(K, before)
    K.flags.writeable = False
    frozen = OutputKernelBoosting("precomputed", n_estimators=3).fit(X, K)
    single = OutputKernelBoosting("precomputed", n_estimators=3).fit(
        X, K.astype(np.float32)
    )
    assert_allclose(frozen.weights(X), single.weights(X), atol=1e-5, strict=True)


def test_outputs_of_any_kind():
    "Words, with a kernel of our own: a list goes in, a list comes out."
    words = ["ab", "abc", "b", "bcd", "aab", "ccd"] * 5
    X = np.array(
        [[len(word), word.count("a"), word.count("c")] for word in words], dtype=float
    )

    def shared(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    model = OutputKernelBoosting(shared, n_estimators=30, learning_rate=0.5).fit(
        X, words
    )
    found = model.predict(X[:6])
    assert isinstance(found, list) and [set(word) for word in found] == [
        set(word) for word in words[:6]
    ]


def test_dirac_kernel_classifies():
    X, y, queries = outputs_of("dirac")
    model = OutputKernelBoosting("dirac", n_estimators=30).fit(X, y)
    assert set(model.predict(queries)) <= set("abc")
    assert model.score(X, y) > 0.9
    shares = model.predict_proba(queries)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(queries))


def test_scikit_learns_tools():
    X, Y, queries = outputs_of("rbf")
    model = OutputKernelBoosting("rbf", n_estimators=5, random_state=0)
    search = GridSearchCV(model, {"learning_rate": [0.001, 0.3]}, cv=3).fit(X, Y)
    assert search.best_params_["learning_rate"] == 0.3
    pipe = make_pipeline(StandardScaler(), clone(model)).fit(X, Y)
    again = pickle.loads(pickle.dumps(pipe))
    assert_array_equal(again.predict(queries), pipe.predict(queries))
    indices = np.arange(len(X))
    by_index = OutputKernelBoosting(
        GramKernel(RBFKernel().gram(Y)), n_estimators=5, random_state=0
    )
    assert_allclose(
        cross_val_score(by_index, X, indices, cv=3),
        cross_val_score(model, X, Y, cv=3),
        atol=1e-12,
    )


def test_memory_is_that_of_the_trees():
    "All trees share one array of weights."
    X, y, _ = problem(4)
    model = OutputKernelBoosting(n_estimators=5, subsample=0.5).fit(X, y)
    assert len({id(tree.weight) for tree in model.trees_}) == 1
    assert all(len(tree.samples) == len(X) // 2 for tree in model.trees_)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"learning_rate": 0.0}, r"'learning_rate' .* \(0.0, 2.0\].* Got 0.0"),
        ({"learning_rate": "fast"}, "'learning_rate' .* Got 'fast'"),
        ({"learning_rate": np.inf}, "'learning_rate' .* Got inf"),
        ({"learning_rate": np.nan}, "'learning_rate' .* Got nan"),
        ({"subsample": 1.5}, r"'subsample' .* \(0.0, 1.0\].* Got 1.5"),
        ({"n_estimators": 0}, r"'n_estimators' .* \[1, inf\).* Got 0"),
        ({"n_iter_no_change": 0}, r"'n_iter_no_change' .* \[1, inf\).* Got 0"),
        ({"tol": -1.0}, r"'tol' .* \[0.0, inf\).* Got -1.0"),
        ({"validation_fraction": 0}, r"'validation_fraction' .* \(0.0, 1.0\)"),
        ({"max_depth": 0}, r"'max_depth' .* \[1, inf\).* Got 0"),
        ({"splitter": "worst"}, "'splitter' .* Got 'worst'"),
        ({"candidates": "all"}, "'candidates' parameter .* Got 'all'"),
    ],
)
def test_bad_parameters(params, message):
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        OutputKernelBoosting(**params).fit(X, y)


def test_bad_input():
    X, y, queries = problem(0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OutputKernelBoosting().fit(X, y[:-1])
    with pytest.raises(ValueError, match="must not be negative"):
        OutputKernelBoosting().fit(X, y, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match="infinity"):
        OutputKernelBoosting().fit(np.where(X > 2, np.inf, X), y)
    with pytest.raises(ValueError, match="positive semi-definite"):
        OutputKernelBoosting("precomputed").fit(X, -np.eye(len(X)))
    with pytest.raises(NotFittedError):
        OutputKernelBoosting().predict(queries)
    model = OutputKernelBoosting("precomputed", n_estimators=2).fit(X, np.eye(len(X)))
    with pytest.raises(
        ValueError, match="A Gram matrix alone gives no loss of new outputs"
    ):
        model.staged_loss(X, y)


def checked_models():
    for kernel in ("linear", "dirac"):
        yield OutputKernelBoosting(kernel, n_estimators=5, learning_rate=0.5)
    yield OutputKernelBoosting(
        n_estimators=5, learning_rate=0.5, n_iter_no_change=2, subsample=0.8
    )


def known_failures(model):
    if model.subsample < 1:
        reason = (
            "a part of weighted examples is not one of repeated examples (as "
            "in scikit-learn's gradient boosting)"
        )
        equivalence = "check_sample_weight_equivalence_on_%s_data"
        return dict.fromkeys((equivalence % "dense", equivalence % "sparse"), reason)
    return {}


@parametrize_with_checks(list(checked_models()), expected_failed_checks=known_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("value", [1.0, 0.1, 1e6 / 3, -1e-9])
def test_a_constant_is_returned(value):
    X, _, queries = problem(0)
    model = OutputKernelBoosting(n_estimators=20, random_state=0)
    found = model.fit(X, np.full(len(X), value)).predict(queries)
    assert_array_equal(found, np.full(len(queries), value))


def test_one_class():
    X, _, queries = problem(0)
    model = OutputKernelBoosting("dirac").fit(X, ["a"] * len(X))
    assert_array_equal(model.predict(queries), ["a"] * len(queries))


def test_sparse_inputs_and_missing_values():
    X, y, queries = problem(0)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = OutputKernelBoosting(n_estimators=5, random_state=0)
    dense = model.fit(X, y).predict(queries)
    assert_array_equal(model.fit(sp.csr_array(X), y).predict(queries), dense)
    assert_array_equal(model.predict(sp.csr_array(queries)), dense)
    X[::3, 0] = np.nan
    assert np.isfinite(model.fit(X, y).predict(X)).all()
