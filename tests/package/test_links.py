"""Oracles of link prediction on random networks: pairs counted, nothing leaked,
naive formulas, and every message."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from contract import parametrize_with_checks
from grouped_links import Grouped
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data
from toy_network import block, network

from okbook.core import OutputKernelKNN, RBFKernel, pr_auc, roc_auc
from okbook.rkhs import (
    KernelDependencyEstimation,
    LinkMixin,
    LinkPredictor,
    LinkPredictorCV,
    NodeFold,
    OutputKernelRidge,
    PairFold,
    SemiSupervisedOutputKernelRidge,
    choose_threshold,
    node_folds,
    node_pairs,
    pair_folds,
)
from okbook.rkhs.folds import round_scores
from okbook.rkhs.links import curve_areas
from okbook.rkhs.search import _best_setting
from okbook.trees import OutputKernelExtraTrees

RBF = {"input_kernel_params": {"sigma": 0.3}}
SEMI = SemiSupervisedOutputKernelRidge(lam=0.1, lam2=0.05, **RBF)
GRIDS = {
    "lam_grid": [0.01, 1.0],
    "lam2_grid": [0.0, 0.01, 0.3],
    "beta_grid": [0.3, 2.0],
    "beta2_grid": [0.1, 1.0],
}
DIFFUSED = SemiSupervisedOutputKernelRidge(smoother="diffusion-graph", **RBF)


# Pairs


def test_pairs_by_count():
    n, labelled = 23, np.random.default_rng(0).permutation(23)[:8]
    u, l = n - len(labelled), len(labelled)
    counts = {
        "any": u * l + u * (u - 1) // 2,
        "one": u * l,
        "both": u * (u - 1) // 2,
    }  # eq-links-count
    for kind, count in counts.items():
        mask = node_pairs(n, labelled, kind)
        assert mask.sum() == 2 * count and not mask.diagonal().any()
        assert_array_equal(mask, mask.T, strict=True)
        assert not block(mask, labelled).any()
    as_mask = np.isin(np.arange(n), labelled)
    assert_array_equal(node_pairs(n, as_mask), node_pairs(n, labelled), strict=True)
    with pytest.raises(
        ValueError, match="kind of pairs must be 'any', 'one' or 'both': got 'new'"
    ):
        node_pairs(n, labelled, "new")
    with pytest.raises(ValueError, match="3 is there 2 times"):
        node_pairs(n, [3, 4, 3])


def test_default_pairs_of_a_curve_are_never_both_labelled():
    X, A, labelled = network()
    model = LinkPredictor(SEMI, random_state=0).fit(X, block(A, labelled), labelled)
    curves = model.curves(None, A)
    l, u = len(labelled), len(X) - len(labelled)
    assert curves.n_pairs == u * l + u * (u - 1) // 2
    shuffled = A.copy()  # what the labelled nodes say to each other is not asked
    shuffled[np.ix_(labelled, labelled)] = 0.0
    assert model.curves(None, shuffled).roc_auc == curves.roc_auc
    upper = np.triu(node_pairs(len(X), labelled), 1)
    assert curves.n_edges == A[upper].sum() and curves.density == A[upper].mean()
    assert_allclose(
        curves.roc_auc, roc_auc_score(A[upper], model.score_pairs()[upper]), atol=1e-12
    )
    assert_allclose(
        curves.pr_auc,
        average_precision_score(A[upper], model.score_pairs()[upper]),
        atol=1e-12,
    )
    fpr, tpr, _ = roc_curve(A[upper], model.score_pairs()[upper])
    (
        assert_array_equal(curves.fpr, fpr, strict=True),
        assert_array_equal(curves.tpr, tpr, strict=True),
    )


@pytest.mark.parametrize(
    "cv", [5, 4, KFold(3), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)]
)
def test_pairs_of_the_folds_by_count(cv):
    X, A, labelled = network(n_labelled=22)
    model = LinkPredictor(SEMI, cv=cv, random_state=1).fit(
        X, block(A, labelled), labelled
    )
    splitter = KFold(cv, shuffle=True, random_state=1) if isinstance(cv, int) else cv
    sizes = [len(held) for _, held in splitter.split(np.arange(22))]
    assert [c.n_pairs for c in model.cv_curves_] == [
        h * (22 - h) + h * (h - 1) // 2 for h in sizes
    ]


def test_kinds_of_pairs_in_the_folds():
    X, A, labelled = network(n_labelled=25)
    A_l, sizes = block(A, labelled), {"any": 5 * 20 + 10, "one": 5 * 20, "both": 10}
    for pairs, size in sizes.items():
        model = LinkPredictor(SEMI, cv=KFold(5), pairs=pairs).fit(X, A_l, labelled)
        assert {c.n_pairs for c in model.cv_curves_} == {size}
        search = LinkPredictorCV(
            SEMI,
            cv=KFold(5),
            pairs=pairs,
            lam_grid=[0.1],
            lam2_grid=[0.05],
            beta_grid=[1.0],
        )
        search.fit(X, A_l, labelled)
        assert_allclose(
            search.best_score_,
            np.mean([c.roc_auc for c in model.cv_curves_]),
            atol=1e-9,
        )
        assert_allclose(search.threshold_, model.threshold_, atol=1e-9)
    for model in (LinkPredictor(pairs="two"), LinkPredictorCV(pairs="two")):
        with pytest.raises(ValueError, match="'pairs' parameter .* Got 'two'"):
            model.fit(X, A_l, labelled)
    with pytest.raises(ValueError, match="kind of pairs must be .*: got 'two'"):
        node_folds(A_l, kind="two")


def test_a_search_computes_what_it_needs(monkeypatch):
    """Pairs of two nodes held out need nothing of the others; a width is judged with
    every second ridge and one time."""
    X, A, labelled = network(n_labelled=25)
    A_l = block(A, labelled)
    folds = [NodeFold(A_l, np.arange(5), kind) for kind in ("both", "any")]
    E = folds[0].coordinates(np.exp(-cdist(X[labelled], X[labelled])))
    apart = E.copy()
    apart[:20] = np.nan
    both, whole = (fold.scores(E, 0.5) for fold in folds)
    assert_allclose(both, whole[-10:], rtol=1e-8, atol=1e-10)
    assert_allclose(folds[0].scores(apart, 0.5), both, rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match="E must have a row for each of the 25 nodes"):
        folds[0].scores(E[1:], 0.5)

    counts = {"coordinates": 0, "scores": 0}

    def counted(name, method, *given):
        counts[name] += 1
        return method(*given)

    for name in counts:
        method = partial(counted, name, getattr(NodeFold, name))
        monkeypatch.setattr(NodeFold, name, lambda *given, m=method: m(*given))
    model = LinkPredictorCV(lam2_grid=[0.0, 0.1], cv=KFold(5))
    model.set_params(lam_grid=[0.01, 0.1, 1.0], beta_grid=[0.1, 1.0], width_grid=[1.0])
    model.fit(X, A_l, labelled)
    n_kernels = 2  # columns as they are, and weighted
    assert counts["coordinates"] == 5 * (2 * n_kernels + 3 * 2 + 1)
    assert counts["scores"] == 5 * (2 * n_kernels + 3 * 2 * 2 + 1)


# Nothing is leaked


@pytest.mark.parametrize("seed", range(3))
def test_links_of_held_out_nodes_enter_neither_fit_nor_kernel(seed):
    X, A, labelled = network(seed)
    rng = np.random.default_rng(seed)
    A_l = block(A, labelled)
    kept, held = (
        np.sort(part) for part in np.split(rng.permutation(len(labelled)), [18])
    )
    poisoned = A_l.copy()  # every link of a held-out node is drawn anew
    noise = np.triu(rng.random(A_l.shape) < 0.5, 1)
    touching = np.isin(np.arange(len(labelled)), held)
    touching = touching[:, None] | touching
    poisoned[touching] = (noise + noise.T)[touching]
    one_fold = [(kept, held)]

    class OneFold:
        def split(self, X):
            return one_fold

    for estimator in (
        SEMI,
        OutputKernelRidge(lam=0.1, **RBF),
        OutputKernelExtraTrees(n_estimators=5, random_state=0),
    ):
        for network_ in (A_l, poisoned):
            model = LinkPredictor(estimator, cv=OneFold()).fit(X, network_, labelled)
            (curve,) = model.cv_curves_
            alone = LinkPredictor(estimator, threshold=0.0).fit(
                X, block(A_l, kept), labelled[kept]
            )
            E = alone.embed()[labelled]
            scores = np.r_[
                (E[held] @ E[kept].T).ravel(),
                (E[held] @ E[held].T)[np.triu_indices(len(held), 1)],
            ]
            scores = np.round(scores, 11)  # equal scores of trees, but for rounding
            truth = np.r_[
                network_[np.ix_(held, kept)].ravel(),
                block(network_, held)[np.triu_indices(len(held), 1)],
            ]
            assert_allclose(curve.roc_auc, roc_auc_score(truth, scores), atol=1e-12)
            assert_allclose(
                curve.pr_auc, average_precision_score(truth, scores), atol=1e-12
            )


def test_links_of_new_nodes_are_never_asked_for():
    X, A, labelled = network()
    one = LinkPredictorCV(DIFFUSED, **GRIDS, random_state=0).fit(
        X, block(A, labelled), labelled
    )
    swapped = np.r_[
        labelled, np.setdiff1d(np.arange(len(X)), labelled)
    ]  # labelled nodes first: another order
    two = LinkPredictorCV(DIFFUSED, **GRIDS, random_state=0).fit(
        X[swapped], block(A, labelled), np.arange(len(labelled))
    )
    assert one.best_params_ == two.best_params_
    assert_allclose(
        one.score_pairs()[np.ix_(swapped, swapped)], two.score_pairs(), atol=1e-8
    )


# Areas and thresholds


@pytest.mark.parametrize("seed", range(20))
def test_areas_are_scikit_learns_with_ties(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(5, 400))
    truth, scores = (
        rng.random(m) < rng.choice([0.02, 0.3]),
        rng.integers(0, rng.choice([3, 1000]), size=m) / 7.0,
    )
    truth[0], truth[1] = True, False
    expected = roc_auc_score(truth, scores), average_precision_score(truth, scores)
    found = curve_areas(truth, scores)
    assert_allclose(found, expected, atol=1e-12)  # eq-links-areas
    assert_allclose(found, (roc_auc(truth, scores), pr_auc(truth, scores)), atol=1e-12)


def test_rounding_ties_what_is_equal_and_nothing_else():
    scores = np.array([1.0, 0.3, 0.1 + 0.2, 0.3 + 1e-10, -0.2, -1e-14, 0.0])
    rounded = round_scores(scores)
    assert_allclose(rounded, scores, rtol=0.0, atol=2e-11)
    equal = np.equal.outer(rounded, rounded) & ~np.eye(7, dtype=bool)
    assert np.argwhere(np.triu(equal)).tolist() == [[1, 2], [5, 6]]
    assert_array_equal(round_scores(np.zeros(3)), np.zeros(3))


def test_areas_need_both_classes():
    assert np.isnan(curve_areas(np.zeros(3, bool), np.arange(3.0))).all()
    assert np.isnan(curve_areas(np.ones(3, bool), np.arange(3.0))).all()


@pytest.mark.parametrize(
    "rule, value", [("f1", f1_score), ("balanced", balanced_accuracy_score)]
)
@pytest.mark.parametrize("seed", range(10))
def test_thresholds_by_brute_force(rule, value, seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(60) < 0.2
    truth[:2] = True, False
    scores = rng.integers(0, 15, size=60) + 2.0 * truth
    theta = choose_threshold(truth, scores, rule)
    each = [
        value(truth, scores > t) for t in np.r_[-np.inf, np.unique(scores)[:-1]]
    ]  # eq-links-f1
    assert_allclose(value(truth, scores > theta), max(each), atol=1e-12)
    assert theta not in scores


def test_thresholds_of_one_class_and_of_neighbouring_numbers():
    assert choose_threshold([False, False], [1.0, 2.0]) == np.inf
    assert choose_threshold([True, True], [1.0, 2.0]) == -np.inf
    assert choose_threshold([True, False, True], [1.0, 1.0, 1.0]) == -np.inf
    assert choose_threshold([False, True], [1.0, np.nextafter(1.0, 2.0)]) == 1.0
    low, high = 0.0, np.nextafter(0.0, 1.0)
    assert choose_threshold([False, True], [low, high]) == low
    assert choose_threshold([False, True], [high, 2.0 * high]) == high  # not half way
    for args in (([True], [1.0, 2.0]), ([True], [1.0], "recall"), ([[True]], [[1.0]])):
        with pytest.raises(ValueError, match="one length and the rule|the shape"):
            choose_threshold(*args)


# The classifier


@pytest.mark.parametrize(
    "beta, lam, lam2", [(0.5, 0.1, 0.05), (3.0, 2.0, 0.0), (1.0, 1e-3, 1.0)]
)
def test_classifier_is_the_formula(beta, lam, lam2):
    X, A, labelled = network()
    n, l = len(X), len(labelled)
    K, U = RBFKernel(sigma=0.3).gram(X), np.eye(len(X))[labelled]
    L = np.diag((K - np.eye(n)).sum(axis=1)) - (K - np.eye(n))
    B = U @ np.linalg.inv(K @ U.T @ U + lam * np.eye(n) + 2 * lam2 * K @ L)  # eq-rrsn-9
    laplacian = np.diag(block(A, labelled).sum(axis=1)) - block(A, labelled)
    S = (
        K @ B.T @ sla.expm(-beta * laplacian) @ B @ K
    )  # eq-rrsn-10 before the threshold, eq-links-expanded
    semi = clone(SEMI).set_params(lam=lam, lam2=lam2)
    model = LinkPredictor(semi, beta=beta, threshold=0.1).fit(
        X, block(A, labelled), labelled
    )
    assert_allclose(model.score_pairs(), S, atol=1e-7)
    assert_array_equal(
        model.predict(), (S > 0.1) & ~np.eye(n, dtype=bool)
    )  # eq-rrsn-10
    assert_allclose(model.score_pairs(X[:7], X), S[:7], atol=1e-6)
    assert model.node_embedding_.shape == (n, l)


ESTIMATORS = [
    OutputKernelRidge(lam=0.1, **RBF),
    SEMI,
    KernelDependencyEstimation(lam=0.1, n_components=5, center=True, **RBF),
    OutputKernelExtraTrees(n_estimators=10, random_state=0),
    OutputKernelKNN(n_neighbors=3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_any_estimator_symmetric_and_without_diagonal(estimator):
    X, A, labelled = network()
    model = LinkPredictor(estimator, random_state=0).fit(
        X, sp.csr_array(block(A, labelled)), labelled
    )
    new = np.random.default_rng(1).random((9, 2))
    for nodes in (None, new):
        S, links = model.score_pairs(nodes), model.predict(nodes)
        (
            assert_array_equal(S, S.T, strict=True),
            assert_array_equal(links, links.T, strict=True),
        )
        assert links.dtype == bool and not links.diagonal().any()
        assert np.linalg.eigvalsh(S).min() > -1e-10  # a kernel
        assert_array_equal(links, (model.threshold_ < S) & ~np.eye(len(S), dtype=bool))
    assert_array_equal(model.predict(new, X), model.predict(X, new).T)
    assert_array_equal(model.predict_graph(new, block=4).toarray(), model.predict(new))
    gram = model.estimator_.predict_gram(new, X)  # what the estimator itself says
    assert_allclose(model.score_pairs(new, X), gram, atol=1e-10)
    assert model.curves(None, A).roc_auc > 0.75
    assert model.curves(new, block(A, np.arange(9))).n_pairs == 36


def test_a_network_is_completed():
    X, A, labelled = network()
    model = LinkPredictor(SEMI, random_state=0).fit(X, block(A, labelled), labelled)
    graph = model.predict_graph(block=7).toarray()
    assert_array_equal(block(graph, labelled), block(A, labelled) > 0)
    asked = node_pairs(len(X), labelled)
    assert_array_equal(graph[asked], model.predict()[asked])
    assert not graph.diagonal().any()


def test_order_of_the_labelled_nodes():
    X, A, labelled = network()
    mask = np.isin(np.arange(len(X)), labelled)
    one = LinkPredictor(SEMI, threshold=0.0).fit(X, block(A, labelled), labelled)
    two = LinkPredictor(SEMI, threshold=0.0).fit(
        X, block(A, np.flatnonzero(mask)), mask
    )
    assert_allclose(one.score_pairs(), two.score_pairs(), atol=1e-10)


def test_inputs_may_be_a_gram_matrix():
    X, A, labelled = network()
    K, new = RBFKernel(sigma=0.3).gram(X), np.random.default_rng(1).random((5, 2))
    K_new = RBFKernel(sigma=0.3).gram(new, X)
    for estimator in (SEMI, OutputKernelRidge(lam=0.1, **RBF)):
        blind = clone(estimator).set_params(
            input_kernel="precomputed", input_kernel_params=None
        )
        see = LinkPredictor(estimator, random_state=0).fit(
            X, block(A, labelled), labelled
        )
        feel = LinkPredictor(blind, random_state=0).fit(K, block(A, labelled), labelled)
        assert_allclose(feel.score_pairs(), see.score_pairs(), atol=1e-8)
        assert_allclose(feel.score_pairs(K_new), see.score_pairs(new), atol=1e-6)
        assert_allclose(feel.threshold_, see.threshold_, atol=1e-8)
        search = {
            "lam_grid": [0.1, 1.0],
            "lam2_grid": [0.05],
            "beta_grid": [1.0],
            "random_state": 0,
        }
        for X_, est in ((X, estimator), (K, blind)):
            model = LinkPredictorCV(est, **search).fit(X_, block(A, labelled), labelled)
            assert_allclose(
                model.score_pairs(X_[:3]), model.score_pairs()[:3, :3], atol=1e-6
            )


# The search


def naive_search(model, X, A_l, labelled):
    "Every setting and fold by LinkPredictor, each from the beginning."
    table = []
    for beta2 in model.beta2_grid:
        for lam in model.lam_grid:
            for lam2 in model.lam2_grid:
                if lam2 == 0 and beta2 != model.beta2_grid[0]:
                    continue
                for beta in model.beta_grid:
                    estimator = clone(model.estimator).set_params(
                        lam=lam, lam2=lam2, beta2=beta2
                    )
                    link = LinkPredictor(
                        estimator,
                        beta=beta,
                        cv=model.cv,
                        random_state=model.random_state,
                    )
                    curves = link.fit(X, A_l, labelled).cv_curves_
                    each = [[c.roc_auc for c in curves], [c.pr_auc for c in curves]]
                    table.append(
                        (
                            lam,
                            lam2,
                            beta,
                            beta2,
                            *np.mean(each, axis=1),
                            *np.std(each, axis=1),
                            link.threshold_,
                        )
                    )
    return np.array(table)


@pytest.mark.parametrize("criterion", ["roc_auc", "pr_auc"])
def test_search_is_the_naive_one(criterion):
    X, A, labelled = network(1)
    A_l = block(A, labelled)
    model = LinkPredictorCV(
        DIFFUSED, **GRIDS, criterion=criterion, cv=4, random_state=3
    ).fit(X, A_l, labelled)
    expected, results = naive_search(model, X, A_l, labelled), model.cv_results_
    for j, name in enumerate(["lam", "lam2", "beta", "beta2"]):
        assert_array_equal(results[f"param_{name}"], expected[:, j])
    for j, name in enumerate(
        ["mean_test_roc_auc", "mean_test_pr_auc", "std_test_roc_auc", "std_test_pr_auc"]
    ):
        assert_allclose(results[name], expected[:, 4 + j], atol=1e-8)
    best = model.best_index_
    means, (other,) = (
        results[f"mean_test_{criterion}"],
        {"roc_auc", "pr_auc"} - {criterion},
    )
    equals = np.flatnonzero(means > means.max() - 1e-12)
    assert best == equals[results[f"mean_test_{other}"][equals].argmax()]
    assert_allclose(model.threshold_, expected[best, -1], atol=1e-8)
    plain = LinkPredictor(
        clone(DIFFUSED).set_params(
            **{k: model.best_params_[k] for k in ("lam", "lam2", "beta2")}
        ),
        beta=model.best_params_["beta"],
        cv=4,
        random_state=3,
    ).fit(X, A_l, labelled)
    assert_allclose(model.score_pairs(), plain.score_pairs(), atol=1e-8)
    assert_allclose(
        model.score_pairs(X[:4] + 0.01), plain.score_pairs(X[:4] + 0.01), atol=1e-6
    )


def test_supervised_is_semi_supervised_without_smoothness():
    X, A, labelled = network(2)
    A_l, grids = block(A, labelled), {**GRIDS, "lam2_grid": [0.0], "random_state": 0}
    models = [
        LinkPredictorCV(DIFFUSED, **grids).fit(X, A_l, labelled),
        LinkPredictorCV(OutputKernelRidge(**RBF), **grids).fit(X, A_l, labelled),
        LinkPredictorCV(OutputKernelRidge(**RBF), **grids).fit(X[labelled], A_l),
    ]
    assert all(isinstance(model.estimator_, OutputKernelRidge) for model in models)
    assert models[0].best_params_ == models[1].best_params_ == models[2].best_params_
    assert_allclose(models[0].score_pairs(X), models[2].score_pairs(X), atol=1e-10)
    semi = clone(DIFFUSED).set_params(lam=models[0].best_params_["lam"], lam2=0.0)
    whole = LinkPredictor(
        semi, beta=models[0].best_params_["beta"], random_state=0
    ).fit(X, A_l, labelled)
    assert_allclose(whole.score_pairs(), models[0].score_pairs(), atol=1e-8)


def count_decompositions(monkeypatch):
    "A list that grows by one with every spectrum that is made."
    from okbook.rkhs import semi_estimators

    made, real = [], semi_estimators.SmoothedSpectrum
    monkeypatch.setattr(
        semi_estimators, "SmoothedSpectrum", lambda *args: made.append(1) or real(*args)
    )
    return made


def test_warm_start_keeps_the_decompositions_while_the_inputs_are_the_same(monkeypatch):
    made = count_decompositions(monkeypatch)
    X, A, _ = network()
    draws = [np.random.default_rng(i).permutation(len(X))[:25] for i in range(3)]
    warm = LinkPredictorCV(clone(DIFFUSED), **GRIDS, warm_start=True, random_state=0)
    for labelled in draws:
        warm.fit(X, block(A, labelled), labelled)
        assert len(made) == 2  # one for each beta2, once
    kept = len(made)
    cold = LinkPredictorCV(clone(DIFFUSED), **GRIDS, random_state=0).fit(
        X, block(A, labelled), labelled
    )
    assert_allclose(warm.score_pairs(), cold.score_pairs(), atol=1e-12)
    assert len(made) == kept + 2
    X[0] += 0.1  # in place: the same array, other inputs
    warm.fit(X, block(A, labelled), labelled)
    assert len(made) == kept + 4
    warm.set_params(estimator__input_kernel_params={"sigma": 0.5}).fit(
        X, block(A, labelled), labelled
    )
    assert len(made) == kept + 6
    assert "_kept" not in pickle.loads(pickle.dumps(warm)).__dict__


def test_warm_start_forgets_when_the_times_of_the_smoother_change(monkeypatch):
    made = count_decompositions(monkeypatch)
    X, A, labelled = network()
    A_l, search = block(A, labelled), {**GRIDS, "warm_start": True, "random_state": 0}
    model = LinkPredictorCV(clone(DIFFUSED), **search).fit(X, A_l, labelled)
    assert len(made) == 2
    for n_made, grid in ((4, [0.5, 4.0]), (6, [4.0, 0.5]), (7, [0.5]), (8, None)):
        model.set_params(beta2_grid=grid).fit(X, A_l, labelled)
        assert len(made) == n_made  # None: that of the estimator
        cold = clone(model).set_params(warm_start=False).fit(X, A_l, labelled)
        del made[n_made:]
        assert cold.best_params_ == model.best_params_
        assert_allclose(cold.score_pairs(), model.score_pairs(), atol=1e-12)
    model.set_params(estimator__beta2=4.0).fit(X, A_l, labelled)
    assert len(made) == 9 and set(model.cv_results_["param_beta2"]) == {4.0}
    for n_made, graph in ((10, "knn"), (11, A), (12, 2.0 * A), (12, 2.0 * A)):
        model.set_params(estimator__graph=graph).fit(X, A_l, labelled)
        assert len(made) == n_made


def test_the_best_setting_among_equals():
    means, nan = np.array([0.9, 0.8, 0.9 * (1 - 1e-13), 0.9 * (1 - 1e-8)]), np.nan
    assert _best_setting(means, np.array([0.1, 0.9, 0.2, 0.9])) == 2
    assert _best_setting(means, np.array([0.2, 0.9, 0.2 * (1 + 1e-13), 0.9])) == 0
    assert _best_setting(np.array([nan, 0.5, 0.5]), np.array([0.9, nan, 0.1])) == 2
    assert _best_setting(np.full(3, nan), np.full(3, nan)) == 0


def test_the_laplacian_has_one_time():
    X, A, labelled = network()
    grids = {"lam_grid": [0.1], "lam2_grid": [0.1], "beta2_grid": [0.1, 1.0]}
    model = LinkPredictorCV(SEMI, **grids).fit(X, block(A, labelled), labelled)
    assert set(model.cv_results_["param_beta2"]) == {0.1}


def test_folds_without_a_link_do_not_count():
    X, A, labelled = network()
    A_l = np.zeros((25, 25))
    A_l[0, 1] = A_l[1, 0] = 1.0
    model = LinkPredictorCV(SEMI, lam_grid=[0.1], random_state=0).fit(X, A_l, labelled)
    assert 1 <= len(model.cv_curves_) <= 2 and np.isfinite(model.best_score_)
    assert np.isfinite(model.threshold_)
    assert all(c.n_edges == 1 for c in model.cv_curves_)


@pytest.mark.parametrize("model", [LinkPredictor(SEMI), LinkPredictorCV(SEMI)])
def test_a_network_without_links_and_one_with_all(model):
    X, _, labelled = network()
    with pytest.warns(UserWarning, match="no link"):
        model.fit(X, np.zeros((25, 25)), labelled)
    assert model.threshold_ == np.inf and model.cv_curves_ == []
    assert not model.predict().any() and model.predict_graph().nnz == 0
    assert_allclose(
        model.factor_ @ model.factor_.T, np.eye(25), atol=1e-12
    )  # the prior: no node is like another
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, 1 - np.eye(25), labelled)
    assert len(caught) == isinstance(model, LinkPredictorCV)
    assert all("the first setting is taken" in str(w.message) for w in caught)
    assert model.threshold_ == -np.inf and model.predict().sum() == 60 * 59


# scikit-learn


def test_grid_search_and_cross_validation_over_node_numbers():
    X, A, _ = network()
    model = LinkPredictor(OutputKernelRidge(lam=0.1, **RBF), threshold=0.0, graph=A)
    search = GridSearchCV(
        model,
        {"beta": [0.3, 2.0], "estimator__lam": [0.01, 1.0]},
        cv=3,
        error_score="raise",
    )
    search.fit(X, np.arange(len(X)))
    train, test = next(iter(KFold(3).split(X)))
    best = search.best_estimator_
    plain = (
        clone(model)
        .set_params(graph=None, **search.best_params_)
        .fit(X[train], block(A, train))
    )
    scores = np.r_[
        plain.score_pairs(X[test], X[train]).ravel(),
        plain.score_pairs(X[test])[np.triu_indices(20, 1)],
    ]
    truth = np.r_[
        A[np.ix_(test, train)].ravel(), block(A, test)[np.triu_indices(20, 1)]
    ]
    expected = roc_auc_score(truth, scores)
    assert_allclose(
        cross_val_score(best, X, np.arange(len(X)), cv=[(train, test)]),
        [expected],
        atol=1e-12,
    )
    assert_allclose(
        plain.score(X[test], block(A, test)),
        plain.curves(X[test], block(A, test)).roc_auc,
    )


def test_the_search_takes_node_numbers_too():
    X, A, _ = network()
    model = LinkPredictorCV(SEMI, lam_grid=[0.01, 1.0], lam2_grid=[0.0], random_state=0)
    train, test = next(iter(KFold(3).split(X)))
    plain = clone(model).fit(X[train], block(A, train))
    one, both = plain.score_pairs(X[test], X[train]), plain.score_pairs(X[test])
    above = np.triu_indices(20, 1)
    truth = np.r_[A[np.ix_(test, train)].ravel(), block(A, test)[above]]
    expected = roc_auc_score(truth, np.r_[one.ravel(), both[above]])
    numbered = model.set_params(graph=A)
    found = cross_val_score(numbered, X, np.arange(60), cv=[(train, test)])
    assert_allclose(found, [expected], atol=1e-9)


def test_pipeline_pickle_clone():
    X, A, labelled = network()
    for model in (
        LinkPredictor(SEMI),
        LinkPredictorCV(SEMI, **GRIDS),
        LinkPredictor(ESTIMATORS[3]),
    ):
        model = clone(model).set_params(random_state=0)
        fitted = clone(model).fit(X, block(A, labelled), labelled)
        again = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(again.predict(X[:5]), fitted.predict(X[:5]))
        assert not hasattr(clone(fitted), "threshold_")
    pipe = make_pipeline(StandardScaler(), LinkPredictor(random_state=0)).fit(X, A)
    assert pipe.predict(X).shape == (60, 60) and 0.5 < pipe.score(X, A) <= 1.0


def test_prediction_changes_no_attribute():
    X, A, labelled = network()
    model = LinkPredictorCV(SEMI, **GRIDS).fit(X, block(A, labelled), labelled)
    before = pickle.dumps(model)
    (
        model.predict(),
        model.score_pairs(X[:3]),
        model.predict_graph(),
        model.curves(None, A),
        model.score(X, A),
    )
    assert pickle.dumps(model) == before


class SeenGrouped(Grouped):
    "The answers for the nodes of fit."

    def _set_embedding(self, estimator, X, factor):
        super()._set_embedding(estimator, X, factor)
        self.seen_ = X

    def predict(self, X):
        check_is_fitted(self)
        return super().predict(X, self.seen_)


class GroupedPredictor(SeenGrouped, LinkPredictor):
    pass


class GroupedPredictorCV(SeenGrouped, LinkPredictorCV):
    pass


class NearbyLinks(LinkMixin, BaseEstimator):
    "A method of one's own: linked are nodes that are near."

    def __init__(self, threshold=-0.5, graph=None):
        self.threshold, self.graph = threshold, graph

    def fit(self, X, y, labelled=None):
        self.seen_ = self._check_network(X, y, labelled)[0]
        self._set_threshold([], [])
        return self

    def score_pairs(self, X1=None, X2=None):
        check_is_fitted(self)
        X1, X2 = (
            self.seen_ if X is None else validate_data(self, X, reset=False)
            for X in (X1, X1 if X2 is None else X2)
        )
        return -cdist(X1, X2)


class GroupedNearby(SeenGrouped, NearbyLinks):
    pass


def test_a_method_of_ones_own():
    X, A, labelled = network()
    model = NearbyLinks().fit(X, block(A, labelled), labelled)
    near = cdist(X, X) < 0.5
    assert_array_equal(model.predict(), near & ~np.eye(60, dtype=bool))
    curves = model.curves(None, A)
    assert curves.roc_auc > 0.7 and curves.n_pairs == 25 * 35 + 35 * 34 // 2
    numbered = NearbyLinks(graph=A).fit(X[:40], np.arange(40))
    one, both = cdist(X[:40], X[40:]), cdist(X[40:], X[40:])
    above = np.triu_indices(20, 1)
    truth = np.r_[A[:40, 40:].ravel(), A[40:, 40:][above]]
    expected = roc_auc_score(truth, -np.r_[one.ravel(), both[above]])
    assert_allclose(numbered.score(X[40:], np.arange(40, 60)), expected, atol=1e-12)
    one, both = cdist(X[:30], X[30:]), cdist(X[30:], X[30:])  # ten of them are known
    above = np.triu_indices(30, 1)
    truth = np.r_[A[:30, 30:].ravel(), A[30:, 30:][above]]
    expected = roc_auc_score(truth, -np.r_[one.ravel(), both[above]])
    assert_allclose(numbered.score(X[30:], np.arange(30, 60)), expected, atol=1e-12)


@parametrize_with_checks(
    [
        GroupedPredictor(),
        GroupedPredictorCV(lam_grid=[0.1, 1.0], lam2_grid=[0.0, 0.1]),
        GroupedNearby(),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Messages

BAD = [
    (np.zeros((25, 24)), r"square adjacency matrix: got shape \(25, 24\)"),
    (np.arange(25), r"use LinkPredictor\(graph=A\) and y=np.arange"),
    (np.triu(np.ones((25, 25)), 1), "symmetric"),
    (np.ones((25, 25)), r"diagonal .* entry \(0, 0\) is 1"),
    (np.eye(25) - np.ones((25, 25)), "must not be negative: the least is -1"),
    (np.full((25, 25), np.nan), "NaN"),
    (
        np.ones((24, 24)) - np.eye(24),
        r"adjacency matrix of the 25 labelled nodes.* got shape \(24, 24\)",
    ),
]


@pytest.mark.parametrize("A, message", BAD)
@pytest.mark.parametrize("model", [LinkPredictor(SEMI), LinkPredictorCV(SEMI)])
def test_bad_networks(model, A, message):
    X, _, labelled = network()
    with pytest.raises(ValueError, match=message):
        model.fit(X, A, labelled)


@pytest.mark.parametrize(
    "labelled, message",
    [
        ([], "No node is labelled"),
        ([0, 1, 1], "1 is there 2 times"),
        ([0, 60], "60 nodes"),
        (np.ones(59, bool), r"\(60,\)"),
    ],
)
def test_bad_labelled_nodes(labelled, message):
    X, A, _ = network()
    with pytest.raises(ValueError, match=message):
        LinkPredictor(SEMI).fit(X, A[:3, :3], labelled)


@pytest.mark.parametrize(
    "model, message",
    [
        (LinkPredictor(beta=-1.0), r"'beta' .* float in the range \[0.0, inf\)"),
        (LinkPredictor(beta=np.nan), "'beta' .* Got nan"),
        (LinkPredictor(beta=np.inf), "'beta' .* Got inf"),
        (LinkPredictor(threshold="recall"), "'threshold' .* Got 'recall'"),
        (LinkPredictor(threshold=np.nan), "'threshold' .* Got nan"),
        (LinkPredictor(threshold=-np.inf), "'threshold' .* Got -inf"),
        (
            LinkPredictor(cv=26),
            "cv must be from 2 to the number of labelled nodes, n_samples=25",
        ),
        (LinkPredictor(cv=1), r"'cv' .* int in the range \[2, inf\)"),
        (LinkPredictor(cv="five", threshold=0.1), "'cv' .* Got 'five'"),
        (LinkPredictor(RBFKernel()), "'estimator' .* 'fit' and 'weights'"),
        (LinkPredictorCV(OutputKernelExtraTrees()), "'estimator' .*SemiSup"),
        (LinkPredictorCV(criterion="f1"), "'criterion' .* Got 'f1'"),
        (LinkPredictorCV(threshold=np.inf), "'threshold' .* Got inf"),
        (LinkPredictorCV(warm_start="yes"), "'warm_start' .* Got 'yes'"),
        (LinkPredictorCV(lam_grid=[0.0]), "lam_grid"),
        (LinkPredictorCV(lam_grid=[1.0, np.nan]), "lam_grid"),
        (LinkPredictorCV(lam2_grid=[-1.0]), "lam2_grid"),
        (LinkPredictorCV(beta_grid=[]), "beta_grid"),
        (LinkPredictorCV(beta_grid=[-1.0]), "beta_grid"),
        (LinkPredictorCV(beta2_grid=[np.inf]), "beta2_grid"),
    ],
)
def test_bad_parameters(model, message):
    X, A, labelled = network()
    with pytest.raises(ValueError, match=message):
        model.fit(X, block(A, labelled), labelled)


def test_bad_curves():
    X, A, labelled = network()
    model = LinkPredictor(SEMI, threshold=0.0).fit(X, block(A, labelled), labelled)
    with pytest.raises(
        ValueError, match=r"adjacency matrix of the 60 nodes: got shape \(25, 25\)"
    ):
        model.curves(None, block(A, labelled))
    with pytest.raises(ValueError, match="both classes: got 0 links among"):
        model.curves(None, np.zeros((60, 60)))
    with pytest.raises(ValueError, match="mask .*symmetric"):
        model.curves(None, A, np.triu(np.ones((60, 60), bool)))
    with pytest.raises(ValueError, match="Each fold must leave two"):
        LinkPredictor(cv=2).fit(X[:2], 1 - np.eye(2))


def test_a_mask_of_zeros_and_ones():
    X, A, labelled = network()
    model = LinkPredictor(SEMI, threshold=0.0).fit(X, block(A, labelled), labelled)
    mask = node_pairs(60, labelled)
    expected = model.curves(None, A, mask).roc_auc
    for form in (mask.astype(int), mask.astype(float), mask.tolist()):
        assert model.curves(None, A, form).roc_auc == expected
    for bad in (2 * mask, np.full((60, 60), np.nan), mask[:3], np.ma.array(A, mask=A)):
        with pytest.raises(ValueError, match="mask (must be symmetric|has)"):
            model.curves(None, A, bad)


@pytest.mark.parametrize("block_", [0, -1, 2.5, "a", None])
def test_blocks_of_a_predicted_graph(block_):
    X, A, labelled = network()
    model = LinkPredictor(SEMI, threshold=0.0).fit(X, block(A, labelled), labelled)
    with pytest.raises((TypeError, ValueError), match="block"):
        model.predict_graph(X, block=block_)


@pytest.mark.parametrize("model", [LinkPredictor(), LinkPredictorCV()])
def test_rows_of_several_lengths(model):
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="y must be an array: .* inhomogeneous"):
        model.fit(X, [[0, 1], [1]])
    with pytest.raises(ValueError, match="y must be a square adjacency"):
        model.fit(None, None)


CLIQUE = np.ones((6, 6)) - np.eye(6)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: node_folds(CLIQUE, cv=2.5), "'cv' .* Got 2.5"),
        (lambda: pair_folds(CLIQUE, None, cv="ab"), "'cv' .* Got 'ab'"),
        (lambda: node_folds(CLIQUE, random_state=-1), "'random_state' .* Got -1"),
        (lambda: pair_folds(CLIQUE, None, random_state=-1), "'random_state' .* -1"),
        (lambda: node_folds(CLIQUE, known=5), "known must be an array"),
        (lambda: node_folds(CLIQUE, known=CLIQUE[:2]), r"known .* shape \(2, 6\)"),
        (lambda: pair_folds(CLIQUE, CLIQUE * np.nan), "known .* not 0 and 1 only"),
        (lambda: pair_folds(CLIQUE * np.nan, None), "A contains NaN"),
        (lambda: NodeFold(CLIQUE[:3], [0]), r"A must be square: got shape \(3, 6\)"),
        (lambda: NodeFold(CLIQUE, [99]), r"held .* 0 to 5: got array\(\[99\]\)"),
        (lambda: NodeFold(CLIQUE, [-1]), "held must be a vector of numbers of nodes"),
        (lambda: NodeFold(CLIQUE, [0.5]), "held must be a vector of numbers of nodes"),
        (lambda: NodeFold(CLIQUE, [1, 1]), "held must name some of the 6 nodes"),
        (lambda: NodeFold(CLIQUE, range(6)), "held must name some of the 6 nodes"),
        (lambda: PairFold(CLIQUE, [0], [99]), r"cols .* 0 to 5: got array\(\[99\]\)"),
        (lambda: PairFold(CLIQUE, [0], [1, 2]), "one length: got 1 and 2"),
        (lambda: node_pairs(2.5, [0, 1]), "n_nodes must be an instance of int"),
    ],
)
def test_folds_are_checked(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_known_pairs_of_zeros_and_ones():
    one, two = (NodeFold(CLIQUE, [0, 1], known=K) for K in (CLIQUE, CLIQUE > 0))
    assert_array_equal(one.truth, two.truth, strict=True)


@pytest.mark.parametrize("power", [-500, 500])
def test_inputs_whose_distances_give_no_width(power):
    X, A, _ = network()
    with pytest.raises(ValueError, match="median distance of the inputs X is .*multip"):
        LinkPredictorCV(random_state=0).fit(X * 2.0**power, A)
