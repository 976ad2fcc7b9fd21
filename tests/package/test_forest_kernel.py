"""Oracles of okbook.forest_kernel on random forests, scikit-learn's checks, and
every message."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from okbook.core import is_psd
from okbook.ensembles import Bagging, RandomizedTreeClassifier
from okbook.forest_kernel import (
    CentredForestKernel,
    ForestKernel,
    ForestKernelSVC,
    counting,
    hyperplanes,
    leaf_map,
    linear_svm,
    nearest_ancestor_gram,
    oob_accuracies,
    separability_bound,
    separating_hyperplane,
    shared_leaf_gram,
    target_alignment,
    vote_hyperplane,
)
from okbook.forest_kernel.ancestors import ancestor_map
from okbook.forest_kernel.counting import (
    _has_plain_trees,
    leaf_numbers,
    tree_shape,
)
from okbook.forest_kernel.hyperplanes import best_intercept, leaf_machines
from okbook.trees import OutputKernelExtraTrees, OutputKernelRandomForest

FORESTS = {
    "random forest": RandomForestClassifier(7, random_state=0),
    "best-first": RandomForestRegressor(7, max_leaf_nodes=9, random_state=0),
    "extra-trees": ExtraTreesRegressor(7, min_samples_leaf=4, random_state=0),
    "embedding": RandomTreesEmbedding(7, max_depth=4, random_state=0),
    "bagging": BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 7, max_features=2, random_state=0
    ),
    "boosting": GradientBoostingRegressor(n_estimators=7, random_state=0),
    "AdaBoost": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=7, random_state=0
    ),
    "votes": Bagging(n_estimators=7, random_state=0),
    "one randomized tree": RandomizedTreeClassifier(max_depth=4, random_state=0),
    "one tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "output kernel": OutputKernelRandomForest(
        "dirac", n_estimators=7, min_samples_leaf=3, random_state=0
    ),
}
ANCESTORS = [None, "size", "depth"]


@pytest.fixture(scope="module")
def data():
    return make_classification(
        90, 5, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0
    )


def members_of(forest):
    return np.ravel(np.array(getattr(forest, "estimators_", [forest]), dtype=object))


def path_of(tree, x):
    "Nodes from the root to the leaf, by asking the questions."
    t, node, path = tree.tree_, 0, [0]
    while t.children_left[node] >= 0:
        goes_left = np.float32(x[t.feature[node]]) <= t.threshold[node]
        node = int(t.children_left[node] if goes_left else t.children_right[node])
        path.append(node)
    return path


def slow_gram(forest, X1, X2, ancestor=None, weights=None, mask=None):
    "A double loop over pairs, from the definition: eq-forestk-kens and eq-forestk-nca."
    members = members_of(forest)
    columns = getattr(forest, "estimators_features_", [slice(None)] * len(members))
    weights = np.ones(len(members)) if weights is None else weights
    K = np.zeros((len(X1), len(X2)))
    for t, tree in enumerate(members):
        one, two = ([path_of(tree, x[columns[t]]) for x in X] for X in (X1, X2))
        size = tree.tree_.weighted_n_node_samples
        for i, a in enumerate(one):
            for j, b in enumerate(two):
                if mask is not None and not (mask[t, i] and mask[t, j]):
                    continue
                depth = max(d for d in range(min(len(a), len(b))) if a[d] == b[d])
                if a[-1] == b[-1]:
                    value = 1.0
                elif ancestor is None:
                    value = 0.0
                else:
                    value = 1.0 - (
                        size[a[depth]] / size[0] if ancestor == "size" else 0.5**depth
                    )
                K[i, j] += weights[t] * value
    return K


@pytest.mark.parametrize("ancestor", ANCESTORS)
@pytest.mark.parametrize("name", FORESTS)
def test_gram_and_feature_map_by_a_double_loop(data, name, ancestor, monkeypatch):
    "eq-forestk-kens, eq-forestk-nca."
    monkeypatch.setattr("okbook.core.scale._THREAD_ENTRIES", 0)
    X, y = data
    queries = np.random.default_rng(1).normal(size=(11, 5))
    for n_jobs in (None, 2):
        kernel = ForestKernel(FORESTS[name], ancestor=ancestor, n_jobs=n_jobs).fit(X, y)
        slow = slow_gram(kernel.forest_, X, X, ancestor)
        assert_allclose(kernel.gram(), slow, rtol=1e-6)
        assert_allclose(kernel.gram(X), slow, rtol=1e-6)
        assert_allclose(kernel.diag(), slow.diagonal())
        cross = slow_gram(kernel.forest_, queries, X, ancestor)
        assert_allclose(kernel.cross_gram(queries), cross, rtol=1e-6)
        assert_allclose(kernel.gram(queries, X), cross, rtol=1e-6)
    Z = kernel.transform(queries)
    assert sp.issparse(Z) and Z.format == "csr" and Z.dtype == np.float32
    assert_allclose((Z @ kernel.transform(X).T).toarray(), cross, atol=1e-5)
    assert (
        Z.shape[1]
        == len(kernel.get_feature_names_out())
        == len(set(kernel.get_feature_names_out()))
    )
    assert is_psd(slow)
    if ancestor is None:
        assert_array_equal(
            kernel.n_leaves_,
            [np.sum(m.tree_.children_left < 0) for m in members_of(kernel.forest_)],
        )


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_leaf_numbers_are_those_of_apply(seed, holes):
    """The threaded partition by a forest is scikit-learn's apply, missing values,
    ties and infinite depth included."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(300, 6)), rng.integers(1, 4)).astype(
        rng.choice([np.float32, np.float64])
    )
    y = rng.integers(0, 3, 300)
    queries = np.round(
        rng.normal(size=(9001, 6)), 2
    )  # more than two blocks, and not a multiple
    queries[::7, 2] = np.float32(X[0, 2])  # on a threshold, or close to one
    for data in (X, queries):
        data[rng.random(data.shape) < holes] = np.nan
    forests = [
        RandomForestClassifier(19, random_state=seed),
        RandomForestRegressor(19, max_leaf_nodes=9, random_state=seed),
        ExtraTreesClassifier(19, min_samples_leaf=3, random_state=seed),
        ExtraTreesRegressor(17, max_depth=1, random_state=seed),
        DecisionTreeClassifier(random_state=seed),
        DecisionTreeClassifier(
            max_depth=1, min_samples_leaf=200
        ),  # a root, and nothing below
        RandomTreesEmbedding(19, random_state=seed),
    ]
    for forest in forests:
        forest = forest.fit(X, y)
        assert _has_plain_trees(forest, queries)
        assert not _has_plain_trees(forest, sp.csr_array(queries))
        shapes = [tree_shape(tree) for tree in members_of(forest)]
        for given in (
            X,
            queries,
            queries[:1],
            pd.DataFrame(queries),
            np.asfortranarray(queries),
        ):
            expected = forest.apply(np.asarray(given)).reshape(len(given), -1)
            for n_jobs in (1, 2):
                found = leaf_numbers(forest, given, shapes, n_jobs)
                nodes = [shape.leaf[numbers] for shape, numbers in zip(shapes, found)]
                assert_array_equal(np.transpose(nodes), expected)


def test_the_forest_checks_the_inputs(data):
    X, y = data
    endless = np.where(np.arange(5) == 2, np.inf, X)
    for forest in (
        RandomForestClassifier(3),
        RandomTreesEmbedding(3),
        DecisionTreeClassifier(),
    ):
        for given in (forest, FrozenEstimator(clone(forest).fit(X, y))):
            with pytest.raises(ValueError, match="contains infinity"):
                ForestKernel(given).fit(X, y).transform(endless)


@pytest.mark.parametrize("ancestor", ANCESTORS)
def test_weights_normalisation_and_out_of_bag(data, ancestor):
    X, y = data
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    weights = np.random.default_rng(0).uniform(size=30)
    weights[3] = 0.0
    kernel = ForestKernel(
        forest, ancestor=ancestor, oob=True, tree_weights=weights
    ).fit(X, y)
    mask = np.ones((30, len(X)), dtype=bool)
    for row, chosen in zip(mask, kernel.forest_.estimators_samples_):
        row[chosen] = False
    slow = slow_gram(kernel.forest_, X, X, ancestor, weights, mask)
    assert_allclose(kernel.gram(), slow, rtol=1e-5, atol=1e-6)
    assert_allclose(kernel.diag(), slow.diagonal())
    Z = clone(kernel).fit_transform(X, y)
    assert_allclose((Z @ Z.T).toarray(), slow, atol=1e-5)
    cosine = ForestKernel(
        forest, ancestor=ancestor, oob=True, tree_weights=weights, normalize=True
    ).fit(X, y)
    root = np.sqrt(slow.diagonal())
    assert_allclose(cosine.gram(), slow / np.outer(root, root), rtol=1e-5, atol=1e-6)
    assert_allclose(cosine.diag(), np.ones(len(X)))
    Z = cosine.transform()
    assert_allclose((Z @ Z.T).toarray(), cosine.gram(), atol=1e-5)
    plain = slow_gram(
        kernel.forest_, X[:5], X, ancestor, weights
    )  # given inputs have been seen by no tree
    assert_allclose(kernel.gram(X[:5], X), plain, rtol=1e-5)
    assert_allclose(cosine.gram(X[:5], X), plain / weights.sum(), rtol=1e-5)


def test_out_of_bag_of_okbooks_forests(data):
    X, y = data
    forest = OutputKernelRandomForest("dirac", n_estimators=25, random_state=0).fit(
        X, y
    )
    peer = RandomForestClassifier(25, random_state=0).fit(
        X, y
    )  # the same bootstrap samples
    ours, theirs = (
        ForestKernel(FrozenEstimator(f), oob=True).fit(X, y) for f in (forest, peer)
    )
    left_out = [k.leaves_ == np.iinfo(k.leaves_.dtype).max for k in (ours, theirs)]
    assert left_out[0].any()
    assert_array_equal(*left_out)


def test_breimans_proximity(data):
    "With normalize=True and no out-of-bag restriction: the share of the trees."
    X, y = data
    kernel = ForestKernel(RandomForestClassifier(20, random_state=0)).fit(X, y)
    normal = clone(kernel).set_params(normalize=True).fit(X, y)
    assert_allclose(normal.gram(), kernel.gram() / 20)
    leaves = kernel.forest_.apply(X)
    assert_array_equal(
        kernel.gram(), (leaves[:, None, :] == leaves[None, :, :]).sum(axis=2)
    )


def test_large_leaf_numbers_and_blocks(monkeypatch):
    "More leaves than 16 bits can number, and inputs that come in several blocks."
    X = np.random.default_rng(0).normal(size=(70_000, 2))
    kernel = ForestKernel(ExtraTreesRegressor(2, max_features=1, random_state=0)).fit(
        X, np.arange(70_000.0)
    )
    assert kernel.leaves_.dtype == np.uint32 and kernel.n_leaves_.max() > 2**16
    some = np.r_[:50, 65_500:65_550]
    assert_array_equal(kernel.gram(X[some]), 2.0 * np.eye(100))
    assert_array_equal(kernel.leaves_[:, some], leaf_numbers(kernel.forest_, X[some]))
    Z = kernel.transform(X[some])
    assert_allclose((Z @ Z.T).toarray(), 2.0 * np.eye(100))


def test_missing_and_categorical_inputs(data):
    X, y = data
    X = X.copy()
    X[::7, 0] = np.nan
    model = ForestKernelSVC(
        ForestKernel(RandomForestClassifier(10, random_state=0)), random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.8
    kernel = ForestKernel(RandomForestClassifier(10, random_state=0)).fit(X, y)
    leaves = kernel.forest_.apply(X)
    assert_array_equal(
        kernel.gram(), (leaves[:, None, :] == leaves[None, :, :]).sum(axis=2)
    )
    ours = ForestKernel(OutputKernelExtraTrees(n_estimators=3, random_state=0))
    assert ours.fit(X, y).gram().shape == (len(X), len(X))
    frame = pd.DataFrame({"a": X[:, 1], "b": np.where(X[:, 2] > 0, "yes", "no")})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    chain = make_pipeline(encoder, clone(model)).fit(frame, y)
    assert chain.predict(frame.assign(b="never seen")).shape == y.shape
    named = clone(model).fit(frame[["a"]], y)
    assert_array_equal(named.feature_names_in_, ["a"])
    assert_array_equal(named.kernel_.feature_names_in_, ["a"])


def test_sparse_inputs(data):
    X, y = data
    X = np.where(np.abs(X) < 1, 0.0, X)
    kernel = ForestKernel(ExtraTreesClassifier(8, random_state=0))
    assert_array_equal(
        clone(kernel).fit(sp.csr_array(X), y).gram(sp.csr_array(X)),
        clone(kernel).fit(X, y).gram(X),
    )


def test_a_frozen_forest_is_taken_as_it_is(data):
    X, y = data
    forest = RandomForestClassifier(9, random_state=3).fit(X, y)
    kernel = ForestKernel(FrozenEstimator(forest)).fit(X)
    assert_array_equal(kernel.gram(), ForestKernel(clone(forest)).fit(X, y).gram())
    search = GridSearchCV(
        ForestKernelSVC(ForestKernel(FrozenEstimator(forest)), random_state=0),
        {"C": [0.1, 1.0], "kernel__oob": [False]},
    )
    assert search.fit(X, y).best_score_ > 0.8


def test_pipeline_grid_search_and_pickle(data):
    X, y = data
    chain = make_pipeline(
        StandardScaler(),
        ForestKernelSVC(ForestKernel(RandomForestClassifier(10, random_state=0))),
    )
    grid = {
        "forestkernelsvc__kernel__normalize": [False, True],
        "forestkernelsvc__C": [1.0, (1.0, 10.0)],
    }
    search = GridSearchCV(
        chain.set_params(forestkernelsvc__random_state=0), grid, cv=3
    ).fit(X, y)
    copy = pickle.loads(pickle.dumps(search))
    assert_array_equal(copy.predict(X), search.predict(X))
    features = make_pipeline(
        ForestKernel(RandomForestClassifier(20, random_state=0)),
        LinearSVC(C=0.01, random_state=0),
    )
    assert features.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("n_classes", [2, 6])
def test_a_saved_machine_is_small_and_the_same(n_classes):
    "600 rows of noise, on which trees are largest."
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(600, 20)), draw.integers(n_classes, size=600)
    X[draw.random(X.shape) < 0.05] = np.nan
    names = [f"column {j}" for j in range(20)]
    model = ForestKernelSVC(C=1.0, random_state=0).fit(
        pd.DataFrame(X, columns=names), y
    )
    saved = pickle.dumps(model)
    assert len(saved) < 5e6
    copy, new = (
        pickle.loads(saved),
        pd.DataFrame(draw.normal(size=(99, 20)), columns=names),
    )
    assert_array_equal(copy.coef_, model.coef_)
    assert_array_equal(copy.decision_function(new), model.decision_function(new))
    again = pickle.loads(pickle.dumps(copy))
    assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert_array_equal(again.kernel_.gram(new), model.kernel_.gram(new))
    with pytest.raises(ValueError, match="feature names"):
        copy.predict(new[names[::-1]])
    assert hasattr(model.kernel_.forest_, "predict")  # which was not saved


@pytest.mark.parametrize(
    "kernel",
    [
        ForestKernel(RandomForestClassifier(5, random_state=0), ancestor="size"),
        ForestKernel(RandomForestClassifier(5, random_state=0), ancestor="depth"),
        ForestKernel(RandomForestClassifier(5, random_state=0), oob=True),
        ForestKernel(ExtraTreesRegressor(5, random_state=0, max_leaf_nodes=9)),
        ForestKernel(DecisionTreeClassifier(random_state=0)),
        ForestKernel(GradientBoostingClassifier(n_estimators=5, random_state=0)),
        ForestKernel(
            BaggingClassifier(
                DecisionTreeClassifier(), 5, max_features=0.5, random_state=0
            )
        ),
        ForestKernel(OutputKernelRandomForest("dirac", n_estimators=5, random_state=0)),
    ],
)
def test_any_saved_machine_is_the_same(kernel, data):
    X, y = data
    model = ForestKernelSVC(kernel, C=1.0, random_state=0).fit(X[::2], y[::2])
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    sparse = sp.csr_array(X)
    if get_tags(model).input_tags.sparse:
        assert_array_equal(copy.predict(sparse), model.predict(sparse))


def test_the_default_forest_is_the_sources():
    X, y = make_classification(60, 34, random_state=0)
    forest = ForestKernel(random_state=0).fit(X, y).forest_
    assert (forest.n_estimators, forest.max_features, forest.bootstrap) == (
        300,
        6,
        True,
    )  # the root of 34 is 5.83


def test_the_default_forest_follows_the_law_of_scikit_learns():
    # 600 trees of each: the mean size, and the Gram matrix, within four deviations
    X, y = make_classification(150, 8, flip_y=0.2, random_state=0)
    theirs = RandomForestClassifier(600, max_features=3, random_state=1)
    ours = clone(ForestKernel(random_state=0).fit(X, y).forest_)
    ours.set_params(n_estimators=600, random_state=1)
    kernels = [ForestKernel(forest).fit(X, y) for forest in (ours, theirs)]
    sizes = [kernel.n_leaves_ for kernel in kernels]
    error = np.sqrt(sum(np.var(size) for size in sizes) / 600)
    assert abs(np.mean(sizes[0]) - np.mean(sizes[1])) < 4 * error
    p, q = (kernel.gram() / 600.0 for kernel in kernels)
    assert np.all(abs(p - q) < 6 * np.sqrt((p + q) / 600.0) + 0.01)


def test_a_saved_default_machine_takes_missing_values(data):
    X, y = (part.copy() for part in data)
    model = ForestKernelSVC(random_state=0).fit(X[::2], y[::2])
    saved = pickle.dumps(model)
    X[::3, 0] = np.nan
    assert_array_equal(
        pickle.loads(saved).decision_function(X), model.decision_function(X)
    )
    forest = model.kernel_.forest_
    assert len(saved) < 0.5 * len(pickle.dumps(forest))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(
    "options", [{}, {"normalize": True}, {"ancestor": "size"}, {"oob": True}]
)
def test_one_machine_by_three_solvers(C, options):
    """eq-forestk-p1 and eq-forestk-p2: Gram matrix, leaf map and coordinate ascent
    have the same decision values."""
    X, y = make_moons(120, noise=0.35, random_state=0)
    kernel = ForestKernel(RandomForestClassifier(40, random_state=0), **options).fit(
        X, y
    )
    Phi = kernel.transform()
    ours = linear_svm(Phi, y, C, tol=1e-9, max_epochs=20_000, random_state=0)
    on_gram = SVC(C=C, kernel="precomputed", tol=1e-8).fit(
        kernel.gram().astype(float), y
    )
    on_map = SVC(C=C, kernel="linear", tol=1e-8).fit(Phi.astype(float), y)
    assert ours.primal - ours.dual <= 1e-9 * ours.primal
    signs = 2.0 * y - 1.0
    v = Phi.T @ (np.bincount(on_gram.support_, on_gram.dual_coef_[0], minlength=len(y)))
    assert_allclose(
        0.5 * v @ v - np.abs(on_gram.dual_coef_).sum(), -ours.dual, rtol=1e-6
    )
    reference = (
        on_gram.decision_function(kernel.gram().astype(float)) - on_gram.intercept_
    )
    assert_allclose(Phi @ ours.coef, reference, atol=2e-4 * np.abs(reference).max())
    assert_allclose(
        on_map.decision_function(Phi.astype(float)) - on_map.intercept_,
        reference,
        atol=1e-4,
    )
    loss = lambda b: np.maximum(0, 1 - signs * (Phi @ ours.coef + b)).sum()
    assert loss(ours.intercept) <= loss(on_gram.intercept_[0]) * (1 + 1e-3) + 1e-4
    models = [
        ForestKernelSVC(clone(kernel), C=C, solver=s, tol=1e-5).fit(X, y)
        for s in ("gram", "linear")
    ]
    values = [model.decision_function(X) for model in models]
    if (np.abs(models[0].dual_coef_) < C * (1 - 1e-6)).any() and (
        np.abs(models[0].dual_coef_) > C * 1e-6
    ).any():
        assert_allclose(*values, atol=1e-2 * np.abs(values[0]).max())


def test_linear_svm_by_cvxpy():
    "eq-forestk-p1: the primal value, by a general solver."
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    Phi = sp.random_array((40, 12), density=0.4, rng=rng, format="csr")
    y = np.where(Phi.sum(axis=1) + 0.5 * rng.normal(size=40) > 2.3, 1, -1)
    for C in (0.1, 1.0, 10.0):
        w, b = cp.Variable(12), cp.Variable()
        value = 0.5 * cp.sum_squares(w) + C * cp.sum(
            cp.pos(1 - cp.multiply(y, Phi.toarray() @ w + b))
        )
        best = cp.Problem(cp.Minimize(value)).solve()
        ours = linear_svm(Phi, y, C, tol=1e-8, max_epochs=20_000, random_state=0)
        assert_allclose(ours.primal, best, rtol=1e-5)
        assert_allclose(ours.coef, w.value, atol=1e-3)
        assert (
            ours.dual <= best * (1 + 1e-6)
            and (ours.alpha >= 0).all()
            and (ours.alpha <= C).all()
        )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 10_000.0])
@pytest.mark.parametrize("depth", [1, 3, 5, None])
@pytest.mark.parametrize("seed", range(2))
def test_the_linear_machine_on_impure_forests(depth, C, seed):
    """eq-forestk-proximal, eq-forestk-newton, eq-forestk-eliminated: a feasible alpha
    with the value ``dual``, its w, and a gap that LIBSVM's optimum lies in."""
    X, y = make_classification(
        200, 10, n_informative=4, flip_y=0.15, class_sep=0.7, random_state=seed
    )
    grown = RandomForestClassifier(30, max_depth=depth, random_state=seed)
    kernel = ForestKernel(grown).fit(X, y)
    Phi, K, signs = kernel.transform(), kernel.gram().astype(float), 2.0 * y - 1.0
    found = linear_svm(Phi, y, C, random_state=seed)
    alpha = found.alpha
    assert (alpha >= 0).all() and (alpha <= C).all()
    assert_allclose(alpha @ signs, 0.0, atol=1e-12 * max(alpha.sum(), 1.0))
    dual = alpha.sum() - 0.5 * (alpha * signs) @ K @ (alpha * signs)
    assert_allclose(found.dual, dual, rtol=1e-8)
    assert_allclose(found.coef, Phi.T @ (alpha * signs), rtol=0, atol=1e-12)
    slacks = np.maximum(0.0, 1.0 - signs * (Phi @ found.coef + found.intercept)).sum()
    primal = 0.5 * found.coef @ found.coef + C * slacks
    assert_allclose(found.primal, primal, rtol=1e-10)
    assert found.primal - found.dual <= 1e-3 * found.primal
    reference = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, signs)
    best = np.zeros(len(y))
    best[reference.support_] = np.abs(reference.dual_coef_[0])
    value = best.sum() - 0.5 * (best * signs) @ K @ (best * signs)
    assert found.dual <= value * (1 + 1e-5) + 1e-9
    assert value <= found.primal * (1 + 1e-9)


@pytest.mark.parametrize("rows", [7, 40])
def test_the_newton_step_solves_its_system(rows):
    "eq-forestk-newton by LAPACK on the whole matrix; both eliminations."
    rng = np.random.default_rng(rows)
    P, sigma, w, b = rng.normal(size=(rows, 20)), 0.3, rng.normal(size=20), 1.7
    one = np.ones(rows)
    whole = np.block(
        [
            [np.eye(20) + P.T @ P / sigma, (P.T @ one / sigma)[:, None]],
            [(one @ P / sigma)[None], np.array([[rows / sigma]])],
        ]
    )
    expected = np.linalg.solve(whole, -np.append(w, b))
    step = hyperplanes._newton_direction(sp.csr_array(P), sigma, w, b)
    assert_allclose(np.append(*step), expected, rtol=1e-8, atol=1e-10)


def test_large_problems_take_passes_only(monkeypatch):
    monkeypatch.setattr(hyperplanes, "_NEWTON_ROWS", 10)
    X, y = make_classification(100, 5, flip_y=0.3, random_state=0)
    grown = RandomForestClassifier(20, max_depth=2, random_state=0)
    Phi = ForestKernel(grown).fit(X, y).transform()
    with pytest.warns(ConvergenceWarning, match="stopped after 150 passes"):
        found = linear_svm(Phi, y, C=100.0, max_epochs=150, random_state=0)
    assert found.n_newton == 0 and found.n_epochs == 150
    monkeypatch.undo()
    again = linear_svm(Phi, y, C=100.0, max_epochs=1000, random_state=0)
    assert 0 < again.n_newton < again.n_epochs
    assert found.dual <= again.primal and again.dual <= found.primal


def test_a_machine_that_has_not_converged_says_so():
    rng = np.random.default_rng(0)
    Phi, y = sp.csr_array(rng.normal(size=(60, 2))), rng.integers(0, 2, size=60)
    with pytest.warns(
        ConvergenceWarning, match="stopped after 20 passes at a duality gap"
    ):
        linear_svm(Phi, y, C=1e4, max_epochs=20)


def test_centred_forests_by_simulation():
    "eq-forestk-centred: thm-forestk-centred."
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5, 3))
    X[1] = X[0] + 0.02

    def share(x, z, depth):
        low, high = np.zeros(3), np.ones(3)
        for _ in range(depth):
            j = rng.integers(3)
            middle = (low[j] + high[j]) / 2
            if (x[j] < middle) != (z[j] < middle):
                return False
            (high if x[j] < middle else low)[j] = middle
        return True

    K = CentredForestKernel(depth=3).gram(X)
    simulated = np.array(
        [[np.mean([share(x, z, 3) for _ in range(1000)]) for z in X] for x in X]
    )
    assert_allclose(simulated, K, atol=0.06)
    assert_allclose(CentredForestKernel(depth=0).gram(X), np.ones((5, 5)))
    assert_allclose(CentredForestKernel(depth=3).diag(X), K.diagonal())
    with pytest.raises(ValueError, match="unit cube"):
        CentredForestKernel().gram(X + 1)
    with pytest.raises(
        ValueError, match=r"an int in the range \[0, 50\]. Got -1 instead"
    ):
        CentredForestKernel(depth=-1).gram(X)


def test_more_classes():
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    labels = np.array(["b", "a", "c"])[y]
    kernel = ForestKernel(
        FrozenEstimator(RandomForestClassifier(30, random_state=0).fit(X, labels))
    )
    for solver in ("gram", "linear"):
        model = ForestKernelSVC(kernel, C=1.0, solver=solver).fit(X, labels)
        assert model.decision_function(X).shape == (150, 3)
        assert model.score(X, labels) > 0.95
        for row, label in enumerate(model.classes_):
            alone = ForestKernelSVC(kernel, C=1.0, solver=solver).fit(
                X, labels == label
            )
            assert_allclose(
                alone.coef_[0], model.coef_[row], atol=0.05 * np.abs(model.coef_).max()
            )


def test_the_choice_of_C(data):
    "The source's protocol: 70 parts to learn, 30 to validate; then all."
    X, y = data
    kernel = ForestKernel(RandomForestClassifier(20, random_state=0))
    model = ForestKernelSVC(kernel, random_state=0).fit(X, y)
    assert model.validation_scores_.shape == (4,)
    assert (
        model.C_ == np.array([1, 10, 100, 10000])[np.argmax(model.validation_scores_)]
    )
    fixed = ForestKernelSVC(kernel, C=model.C_, random_state=0).fit(X, y)
    assert_array_equal(fixed.coef_, model.coef_)
    assert not hasattr(fixed, "validation_scores_")
    whole = ForestKernelSVC(kernel, validation_forest="whole", random_state=0).fit(X, y)
    assert (
        whole.validation_scores_.max() >= model.validation_scores_.max()
    )  # the forest has seen the answers
    out = ForestKernelSVC(
        clone(kernel).set_params(oob=True), validation_forest="whole", random_state=0
    ).fit(X, y)
    assert out.validation_scores_.max() < 1.0


def test_alignment(data):
    "eq-forestk-kta by its definition; eq-forestk-sum: the identity for sums."
    X, y = data
    grams = [
        ForestKernel(RandomForestClassifier(3, random_state=s))
        .fit(X, y)
        .gram()
        .astype(float)
        for s in range(2)
    ]
    signs = np.where(y == 1, 1.0, -1.0)
    for K in grams:
        double = sum(
            signs[i] * signs[j] * K[i, j] for i in range(90) for j in range(90)
        )
        assert_allclose(target_alignment(K, y), double / (90 * np.sqrt((K**2).sum())))
    norm = np.linalg.norm
    total = norm(grams[0] + grams[1])
    parts = sum(norm(K) / total * target_alignment(K, y) for K in grams)
    assert_allclose(target_alignment(grams[0] + grams[1], y), parts)
    with pytest.raises(ValueError, match="each of the 90 labels: got shape"):
        target_alignment(np.eye(3), y)
    with pytest.raises(ValueError, match="contains infinity"):
        target_alignment(np.inf * np.ones((90, 90)), y)
    assert target_alignment(0.0 * grams[0], y) == 0.0
    for factor in (1e-300, 1e300):
        assert_allclose(
            target_alignment(factor * grams[0], y), target_alignment(grams[0], y)
        )


def test_one_pure_tree_separates(data):
    "thm-forest-1, thm-forest-2."
    X, y = data
    pure = DecisionTreeClassifier(random_state=0).fit(X, y)
    stumps = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y)
    Z = ForestKernel(FrozenEstimator(pure)).fit(X).transform(X)
    w, b = separating_hyperplane(Z, y)
    assert ((Z @ w + b) * (2 * y - 1) >= 1 - 1e-7).all()
    both = sp.hstack([Z, ForestKernel(FrozenEstimator(stumps)).fit(X).transform(X)])
    assert separating_hyperplane(both, y) is not None
    assert (
        separating_hyperplane(
            ForestKernel(FrozenEstimator(stumps)).fit(X).transform(X), y
        )
        is None
    )


@pytest.mark.parametrize("name", ["random forest", "one tree", "bagging"])
def test_votes_are_hyperplanes(data, name):
    "thm-forest-3: the vote and the weighted vote."
    X, y = data
    forest = clone(FORESTS[name]).fit(X, y)
    queries = np.random.default_rng(2).normal(size=(300, 5))
    Z = ForestKernel(FrozenEstimator(forest)).fit(X).transform(queries)
    members = members_of(forest)
    columns = getattr(forest, "estimators_features_", [slice(None)] * len(members))
    votes = np.array(
        [2.0 * m.predict(queries[:, c]) - 1.0 for m, c in zip(members, columns)]
    )
    probabilities = np.array(
        [m.predict_proba(queries[:, c])[:, 1] for m, c in zip(members, columns)]
    )
    votes[probabilities == 0.5] = 0.0
    assert_allclose(Z @ vote_hyperplane(forest), votes.sum(axis=0))
    weights = np.random.default_rng(3).uniform(size=len(members))
    assert_allclose(Z @ vote_hyperplane(forest, weights), weights @ votes, atol=1e-12)
    with pytest.raises(ValueError, match="classify into two classes"):
        vote_hyperplane(RandomForestRegressor(2).fit(X, y))


def test_out_of_bag_accuracies(data):
    X, y = data
    for name in ("random forest", "bagging"):
        forest = clone(FORESTS[name]).fit(X, y)
        columns = getattr(forest, "estimators_features_", [slice(None)] * 7)
        for t, (tree, chosen) in enumerate(
            zip(forest.estimators_, forest.estimators_samples_)
        ):
            out = [i for i in range(90) if i not in set(chosen)]
            hits = np.mean(
                [tree.predict(X[[i]][:, columns[t]])[0] == y[i] for i in out]
            )
            assert_allclose(oob_accuracies(forest, X, y)[t], hits)


def test_bound_in_the_log_scale():
    "thm-forest-4, by exact fractions where they can be had."
    from fractions import Fraction
    from math import comb, log

    for n, trees, tenths in [(3, 1, 6), (10, 5, 7), (100, 31, 8), (7, 10, 3)]:
        p = Fraction(tenths, 10)
        one = sum(
            comb(trees, i) * p**i * (1 - p) ** (trees - i)
            for i in range(trees // 2 + 1, trees + 1)
        )
        assert_allclose(
            separability_bound(n, trees, float(p)), n * log(one), rtol=1e-10
        )
    p = Fraction(9, 10)
    fails = sum(
        comb(401, i) * p**i * (1 - p) ** (401 - i) for i in range(201)
    )  # about 1e-68
    assert fails < 1e-60
    assert_allclose(
        separability_bound(100_000, 401, 0.9), float(-100_000 * fails), rtol=1e-9
    )
    assert separability_bound(100_000, 101, 0.3) < -1e5
    assert (
        separability_bound(5, 3, 1.0) == 0.0
        and separability_bound(5, 3, 0.0) == -np.inf
    )
    for *wrong, name in [
        (0, 1, 0.5, "n"),
        (1, 0, 0.5, "n_trees"),
        (1, 1, 1.5, "p"),
        (1, 1, np.nan, "p"),
    ]:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of separab"):
            separability_bound(*wrong)


def test_bad_input(data, monkeypatch):
    X, y = data
    kernel = ForestKernel(RandomForestClassifier(5, random_state=0))
    with pytest.raises(NotFittedError):
        ForestKernel(FrozenEstimator(RandomForestClassifier())).fit(X, y)
    with pytest.raises(NotFittedError):
        kernel.gram()
    with pytest.raises(NotFittedError):
        kernel.transform(X)
    with pytest.raises(ValueError, match="X has 3 features, but .* expecting 5"):
        ForestKernel(FrozenEstimator(clone(kernel.forest).fit(X, y))).fit(X[:, :3], y)
    fitted = clone(kernel).fit(X, y)
    for ask in (fitted.gram, fitted.transform, fitted.cross_gram, fitted.diag):
        with pytest.raises(
            ValueError, match="X has 4 features, but ForestKernel is expecting 5"
        ):
            ask(X[:, :4])
    with pytest.raises(ValueError, match="y holds one class"):
        ForestKernelSVC(kernel).fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="y has 3"):
        linear_svm(sp.eye_array(3), [0, 1, 2])
    with pytest.raises(
        ValueError,
        match=r"which is 0 for \d+ examples: every tree that counts has seen them",
    ):
        ForestKernel(
            RandomForestClassifier(2, random_state=0), oob=True, normalize=True
        ).fit(X, y).gram()
    for forest in (
        ExtraTreesClassifier(5),
        RandomTreesEmbedding(5),
        DecisionTreeClassifier(),
    ):
        with pytest.raises(ValueError, match="bootstrap=True"):
            ForestKernel(forest, oob=True).fit(X, y)
    with pytest.raises(ValueError, match="grown on, 90: got 40"):
        ForestKernel(FrozenEstimator(clone(kernel.forest).fit(X, y)), oob=True).fit(
            X[:40]
        )
    with pytest.raises(ValueError, match="decision trees is needed"):
        ForestKernel(HistGradientBoostingClassifier(max_iter=2)).fit(X, y)
    for weights in (np.ones(4), -np.ones(5), np.zeros(5), [np.nan] * 5):
        with pytest.raises(ValueError, match="a number for each of the 5 trees"):
            clone(kernel).set_params(tree_weights=weights).fit(X, y)
    with pytest.raises(ValueError, match="The 'ancestor' parameter of ForestKernel"):
        clone(kernel).set_params(ancestor="nearest").fit(X, y)
    for C in [(0, 1), 0.0, -1.0, np.nan, np.inf, (1.0, np.nan), (1.0, np.inf), []]:
        with pytest.raises(ValueError, match=r"\bC\b|minimum of 1 is required"):
            ForestKernelSVC(kernel, C=C).fit(X, y)
    for name, wrong in {
        "solver": "fast",
        "validation_forest": "none",
        "validation_size": 1.0,
        "tol": np.nan,
        "kernel": "forest",
    }.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter of ForestKernelSVC"):
            ForestKernelSVC(**{"kernel": kernel, name: wrong}).fit(X, y)
    for name, wrong in {"C": np.inf, "tol": 0.0, "max_epochs": 0}.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter of linear_svm"):
            linear_svm(sp.eye_array(2), [0, 1], **{name: wrong})


@pytest.mark.parametrize("ancestor", ANCESTORS)
def test_the_functions_are_the_kernel(data, ancestor):
    "eq-forestk-kens, eq-forestk-map, eq-forestk-nca: on leaf numbers, weighted."
    X, y = data
    forest = RandomForestClassifier(7, random_state=0).fit(X, y)
    weights = np.random.default_rng(0).uniform(size=7)
    shapes = [tree_shape(tree, ancestor) for tree in forest]
    A, B = (leaf_numbers(forest, part, shapes) for part in (X, X[:9]))
    slow = slow_gram(forest, X, X[:9], ancestor, weights)
    if ancestor is None:
        found = shared_leaf_gram(A, B, tree_weights=weights)
    else:
        found = nearest_ancestor_gram(shapes, A, B, tree_weights=weights)
    assert_allclose(found, slow, rtol=1e-5, atol=1e-6)
    n_leaves = [len(shape.leaf) for shape in shapes]
    Z = [leaf_map(part, n_leaves, tree_weights=weights) for part in (A, B)]
    if ancestor is not None:
        Z = [part @ ancestor_map(shapes) for part in Z]
    assert_allclose((Z[0] @ Z[1].T).toarray(), slow, rtol=1e-5, atol=1e-6)


def test_the_intercept_is_an_order_statistic():
    "lem-forestk-intercept: no other intercept has a smaller hinge loss."
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, signs = rng.normal(size=9), rng.permutation([-1.0] * 4 + [1.0] * 5)
        loss = lambda b: np.maximum(0, 1 - signs * (scores + b)).sum()
        best = loss(best_intercept(scores, signs))
        assert all(best <= loss(b) + 1e-12 for b in np.r_[signs - scores, -50, 50])


def test_machines_on_features_and_on_their_gram_matrix():
    "eq-forestk-p2, eq-forestk-leaves: w is the weighted sum of the features."
    X, codes = make_classification(
        90, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0
    )
    Phi = sp.csr_array(X)
    for K in (None, X @ X.T):
        coef, intercept, dual = leaf_machines(
            Phi, codes, 3, C=0.1, K=K, tol=1e-6, random_state=0
        )
        assert coef.shape == (3, X.shape[1]) and intercept.shape == (3,)
        assert_allclose(coef, dual @ X, atol=1e-12)
        assert (np.abs(dual) <= 0.1 + 1e-12).all()
        scores = coef @ X.T + intercept[:, None]
        signs = np.where(codes == np.arange(3)[:, None], 1, -1)
        free = (np.abs(dual) > 1e-6) & (np.abs(dual) < 0.1 - 1e-6)
        assert_allclose((signs * scores)[free], 1.0, atol=0.01)


def test_a_gram_matrix_too_large_for_memory(data, monkeypatch):
    X, y = data
    fitted = ForestKernel(RandomForestClassifier(5, random_state=0)).fit(X, y)
    with pytest.raises(
        MemoryError,
        match=r"1000000 x 1000000 in single precision takes 3,725.3 GiB.*linear",
    ):
        counting._check_memory(10**6, 10**6)
    monkeypatch.setattr(counting, "_free_memory", lambda: 4 * 90 * 90 - 1)
    with pytest.raises(MemoryError, match="90 x 90"):
        fitted.gram()
    assert fitted.gram(X[:5]).shape == (5, 5)


def small(**params):
    return RandomForestClassifier(5, random_state=0, **params)


@parametrize_with_checks(
    [
        ForestKernel(small()),
        ForestKernel(
            ExtraTreesRegressor(5, random_state=0), ancestor="size", normalize=True
        ),
        ForestKernel(RandomTreesEmbedding(5, random_state=0)),
        ForestKernelSVC(ForestKernel(small()), random_state=0),
        ForestKernelSVC(
            ForestKernel(small(), ancestor="depth"),
            C=1.0,
            solver="linear",
            random_state=0,
        ),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_class_weight_classifiers": "linear_svm has one C, and fit says so"}
        if getattr(estimator, "solver", None) == "linear"
        else {}
    ),
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_kernel_that_is_zero_has_no_alignment():
    assert target_alignment(np.zeros((4, 4)), [0, 1, 0, 1]) == 0.0


def exact_values(Phi, y, C, found):
    "Both values of a machine in rational arithmetic."
    number = lambda values: [Fraction(float(v)) for v in values]
    rows, w, alpha = (
        [number(row) for row in Phi],
        number(found.coef),
        number(found.alpha),
    )
    signs, (b, C) = [1 if label else -1 for label in y], number([found.intercept, C])
    own = [sum(a * s * v for a, s, v in zip(alpha, signs, c)) for c in zip(*rows)]
    scores = [sum(map(Fraction.__mul__, row, w)) + b for row in rows]
    slacks = sum(max(Fraction(0), 1 - s * f) for s, f in zip(signs, scores))
    return sum(v * v for v in w) / 2 + C * slacks, sum(alpha) - sum(
        v * v for v in own
    ) / 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e4, 1e10])
def test_the_gap_in_exact_arithmetic_is_not_larger(scale, C):
    for seed in range(27, 33):
        rng = np.random.default_rng(seed)
        Phi = rng.normal(size=(10, 8 if seed % 2 else 3)) * scale
        y = np.r_[0, 1, rng.integers(0, 2, 8)]
        options = {"tol": 1e-6, "max_epochs": 130, "random_state": 0}
        found = linear_svm(sp.csr_array(Phi), y, C, **options)
        primal, dual = exact_values(Phi, y, C, found)
        assert dual <= primal <= Fraction(found.primal)
        assert Fraction(found.dual) <= dual
        assert primal - dual <= Fraction(found.primal - found.dual)
        reported = (found.primal - found.dual) / found.primal
        assert reported <= 1.001 * float((primal - dual) / primal) + 1e-10


def test_a_gap_that_rounding_hides_is_warned_of():
    rng = np.random.default_rng(27)
    Phi = sp.csr_array(rng.normal(size=(10, 8)) * 1e6)
    y = np.r_[0, 1, rng.integers(0, 2, 8)]
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        linear_svm(Phi, y, 100.0, tol=1e-6, random_state=0)


def test_values_in_the_wrong_order_are_an_error(monkeypatch):
    "A w that is not that of the dual variables would be a bug."
    monkeypatch.setattr(hyperplanes, "_precise_slacks", lambda *_: -np.ones(4))
    Phi, y = sp.csr_array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    with pytest.raises(RuntimeError, match="below the dual value"):
        linear_svm(Phi, y, 0.01)


def test_leaves_are_looked_up_only_in_what_has_them(data):
    "No memory outside of the arrays is read, whatever they hold."
    X, y = data
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    shapes = [tree_shape(tree, "size") for tree in forest]
    A = leaf_numbers(forest, X[:8], shapes)
    n_leaves = [len(shape.leaf) for shape in shapes]
    for wrong in (np.full((2, 8), 10**7), A.astype(int) - 10**3):
        with pytest.raises(ValueError, match="A must hold numbers of leaves: tree 0"):
            nearest_ancestor_gram(shapes, wrong)
        with pytest.raises(ValueError, match="B must hold numbers of leaves: tree 0"):
            nearest_ancestor_gram(shapes, A, wrong)
        with pytest.raises(ValueError, match="leaves must hold numbers of leaves"):
            leaf_map(wrong, n_leaves)
    with pytest.raises(ValueError, match="A must hold numbers of leaves, from 0: got"):
        shared_leaf_gram(A.astype(int) - 10**3)
    with pytest.raises(ValueError, match="each of the 8 trees: got 2"):
        nearest_ancestor_gram(shapes, A.T)
    for wrong in ([], "ab", [tuple(shape) for shape in shapes]):
        with pytest.raises(TypeError, match="shapes must be a list of TreeShape"):
            nearest_ancestor_gram(wrong, A)
        with pytest.raises(TypeError, match="shapes must be a list of TreeShape"):
            ancestor_map(wrong)
    first = shapes[0]
    for part in (
        {"parent": first.parent + 10**6},
        {"parent": np.zeros_like(first.parent)},  # a cycle
        {"last": first.last + 10**6},
        {"leaf": first.leaf - 10**6},
        {"value": first.value[:-1]},
    ):
        with pytest.raises(ValueError, match="shapes must be shapes of trees"):
            nearest_ancestor_gram([first._replace(**part), shapes[1]], A)
    with pytest.raises(ValueError, match="values that do not fall"):
        ancestor_map([first._replace(value=-first.value)])
    with pytest.raises(ValueError, match="shapes must be those of the trees"):
        leaf_numbers(forest, X, shapes[::-1])
    with pytest.raises(ValueError, match="tree must be one tree"):
        tree_shape(forest)
    with pytest.raises(ValueError, match="ancestor must be None, 'size' or 'depth'"):
        tree_shape(forest[0], "nearest")
    with pytest.raises(ValueError, match="each of the 2 trees: got 1"):
        vote_hyperplane(forest, [1.0])
    with pytest.raises(ValueError, match="inputs that the forest was grown on"):
        oob_accuracies(forest, X[:40], y[:40])


def test_leaf_numbers_of_two_types(data):
    "What is no leaf in one type is none in the other."
    X, y = data
    kernel = ForestKernel(RandomForestClassifier(5, random_state=0), oob=True)
    kernel = kernel.fit(X, y)
    short, wide = kernel.leaves_, kernel.leaves_.astype(np.uint32)
    wide[short == 2**16 - 1] = 2**32 - 1
    shapes = [tree_shape(tree, "size") for tree in kernel.forest_]
    for gram in (shared_leaf_gram, lambda *two: nearest_ancestor_gram(shapes, *two)):
        for two in ((short, wide), (wide, short)):
            assert_array_equal(gram(*two), gram(short, short))


def test_weights_that_single_precision_cannot_hold(data):
    for factor in (1e-300, 1e300):
        kernel = ForestKernel(FORESTS["random forest"], tree_weights=[factor] * 7)
        with pytest.raises(ValueError, match="single precision has room for"):
            kernel.fit(*data)


@pytest.mark.parametrize("solver", ["auto", "gram"])
def test_class_weights_are_positive_numbers(data, solver):
    X, y = data
    for weights in ({0: -1, 1: 1}, {0: np.nan, 1: 1}, {0: 0.0}, {"other": 1}):
        model = ForestKernelSVC(C=1.0, class_weight=weights, solver=solver)
        with pytest.raises(ValueError, match="class_weight (must hold|has the key)"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="codes must be classes from 0 to 2: got -5"):
        leaf_machines(sp.eye_array(4, format="csr"), np.array([0, 1, 2, -5]), 3, 1.0)
    with pytest.raises(ValueError, match="slack_weight must hold positive numbers"):
        leaf_machines(
            sp.eye_array(2, format="csr"),
            np.array([0, 1]),
            2,
            1.0,
            K=np.eye(2),
            slack_weight=np.array([1.0, -1.0]),
        )


def test_missing_classes_are_named(data):
    y = pd.Series(["a", pd.NA] * 45).astype("string")
    with pytest.raises(ValueError, match="y has 45 missing labels of 90"):
        ForestKernel(FORESTS["random forest"]).fit(data[0], y)


def test_no_rows_are_refused():
    X = np.arange(20.0)[:, None]
    model = ForestKernelSVC(random_state=0, C=1.0).fit(X, X[:, 0] > 9)
    with pytest.raises(ValueError, match="X must have one row or more"):
        model.predict(X[:0])


@pytest.mark.parametrize("ancestor", ["size", "depth"])
def test_which_functions_are_cheaper_with_ancestors(data, ancestor):
    "prop-accuracy-norms: squared norms of functions of one tree, by its leaves."
    X, y = data
    cheaper = []
    for tree in RandomForestClassifier(20, random_state=0).fit(X, y):
        shape = tree_shape(tree, ancestor)
        n_leaves = len(shape.leaf)
        G = nearest_ancestor_gram([shape], np.arange(n_leaves)[None]).astype(float)
        cost = np.linalg.inv(G)  # the leaves alone: the identity
        step = 1 - shape.value[shape.parent[shape.leaf]]
        assert np.linalg.eigvalsh(cost).max() <= 1.001 / step.min()
        assert (np.diag(cost) >= 1 - 1e-5).all()  # of single leaves
        for node, parent in enumerate(shape.parent):
            first, size = shape.first[node], shape.last[node] - shape.first[node]
            if parent < 0 or size == 1:
                continue
            f = np.zeros(n_leaves)
            f[first : first + size] = 1  # constant below the node
            own = shape.value[node] - shape.value[parent]
            assert f @ cost @ f <= 1.001 / own
            cheaper.append(f @ cost @ f < size)
            assert cheaper[-1] or size * own < 1.001  # large, with a step not small
            if size == 2:
                opposite = f.copy()
                opposite[first] = -1
                dear = opposite @ cost @ opposite
                assert_allclose(dear, 2 / step[first], rtol=1e-3)
                assert f @ cost @ f < dear
    assert any(cheaper) and not all(cheaper)
