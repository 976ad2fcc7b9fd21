"""Oracles of the five rivals of link prediction: naive formulas, nothing leaked,
scikit-learn's checks, messages."""

import pickle
import tracemalloc
from functools import partial

import numpy as np
import pytest
from contract import parametrize_with_checks
from grouped_links import Grouped
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from toy_network import block, network as toy_network

from okbook.core import (
    LinearKernel,
    RBFKernel,
    center_gram,
    diffusion_gram,
    graph_laplacian,
)
from okbook.rkhs import (
    EMKernelCompletion,
    KernelCCALinks,
    LocalModelSVM,
    MetricLinks,
    PairwiseKernelSVM,
)
from okbook.rkhs.networks import (
    canonical_directions,
    centred_eigh,
    completed_form,
    local_svms,
    pairwise_svm,
    short_link_directions,
)

network = partial(toy_network, n=40)
RBF = {"input_kernel_params": {"sigma": 0.3}, "threshold": 0.0}
MODELS = [
    EMKernelCompletion(**RBF),
    PairwiseKernelSVM(**RBF),
    LocalModelSVM(tol=1e-7, **RBF),
    KernelCCALinks(n_components=4, **RBF),
    MetricLinks(n_components=4, **RBF),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


# The interface


@each_model
def test_scores_are_symmetric_and_those_of_new_nodes_agree(model):
    X, A, labelled = network()
    model = clone(model).fit(X, block(A, labelled), labelled)
    S, new = model.score_pairs(), np.setdiff1d(np.arange(40), labelled)
    assert S.shape == (40, 40)
    assert_array_equal(S, S.T, strict=True)
    if not isinstance(model, EMKernelCompletion):  # which knows the nodes of fit better
        assert_allclose(
            model.score_pairs(X[new]), block(S, new), atol=1e-6
        )  # eq-nets-form
        assert_allclose(model.score_pairs(None, X[new]), S[:, new], atol=1e-6)
    assert_allclose(
        model.score_pairs(X[new[:3]], X[new]), model.score_pairs(X[new])[:3], atol=1e-6
    )
    links = model.predict()
    assert links.dtype == bool and not links.diagonal().any()
    assert_array_equal(links, (S > 0) & ~np.eye(40, dtype=bool))
    assert model.curves(None, A).n_pairs == 25 * 15 + 15 * 14 // 2
    assert model.curves(None, A).roc_auc > 0.7
    assert_allclose(
        model.score(X[new], block(A, new)), model.curves(X[new], block(A, new)).roc_auc
    )


@each_model
def test_inputs_may_be_a_gram_matrix(model):
    X, A, labelled = network()
    K, new = RBFKernel(sigma=0.3).gram(X), np.random.default_rng(1).random((5, 2))
    see = clone(model).fit(X, block(A, labelled), labelled)
    feel = (
        clone(model)
        .set_params(input_kernel="precomputed", input_kernel_params=None)
        .fit(K, block(A, labelled), labelled)
    )
    assert_allclose(feel.score_pairs(), see.score_pairs(), atol=1e-6)
    assert_allclose(
        feel.score_pairs(RBFKernel(sigma=0.3).gram(new, X)),
        see.score_pairs(new),
        atol=1e-6,
    )


@each_model
def test_links_of_held_out_nodes_enter_no_fit(model):
    X, A, labelled = network(1)
    A_l, folds = block(A, labelled), list(KFold(3).split(np.arange(25)))

    class Folds:
        def split(self, nodes):
            return folds

    fitted = clone(model).set_params(threshold="f1", cv=Folds()).fit(X, A_l, labelled)
    assert np.isfinite(fitted.threshold_) and len(fitted.cv_curves_) == 3
    for (kept, held), curve in zip(folds, fitted.cv_curves_):
        alone = clone(model).fit(X, block(A_l, kept), labelled[kept])
        S = block(alone.score_pairs(), labelled)
        above = np.triu_indices(len(held), 1)
        scores = np.r_[S[np.ix_(held, kept)].ravel(), block(S, held)[above]]
        truth = np.r_[A_l[np.ix_(held, kept)].ravel(), block(A_l, held)[above]]
        assert_allclose(curve.roc_auc, roc_auc_score(truth, scores), atol=1e-9)


@each_model
def test_grid_search_over_node_numbers(model):
    X, A, _ = network()
    numbered = clone(model).set_params(graph=A)
    (train, test), nodes = next(iter(KFold(3).split(X))), np.arange(40)
    alone = clone(model).fit(X, block(A, train), train)
    S, above = alone.score_pairs(), np.triu_indices(len(test), 1)
    one, both = S[np.ix_(test, train)], block(S, test)
    if isinstance(
        model, EMKernelCompletion
    ):  # in a search it has not seen the test nodes
        alone = clone(model).fit(X[train], block(A, train))
        one, both = alone.score_pairs(None, X[test]).T, alone.score_pairs(X[test])
    truth = np.r_[A[np.ix_(test, train)].ravel(), block(A, test)[above]]
    expected = roc_auc_score(truth, np.r_[one.ravel(), both[above]])
    assert_allclose(
        cross_val_score(numbered, X, nodes, cv=[(train, test)]), [expected], atol=1e-9
    )
    search = GridSearchCV(
        numbered,
        {"input_kernel_params": [{"sigma": 0.2}, {"sigma": 0.5}]},
        cv=3,
        error_score="raise",
    )
    assert 0.5 < search.fit(X, nodes).best_score_ <= 1.0


@each_model
def test_pipeline_pickle_clone(model):
    X, A, labelled = network()
    fitted = clone(model).fit(X, block(A, labelled), labelled)
    before = pickle.dumps(fitted)
    again = pickle.loads(before)
    assert_allclose(again.score_pairs(X[:5]), fitted.score_pairs(X[:5]), atol=1e-12)
    assert pickle.dumps(fitted) == before and not hasattr(clone(fitted), "threshold_")
    pipe = make_pipeline(StandardScaler(), clone(model)).fit(X, A)
    assert pipe.predict(X).shape == (40, 40)


@each_model
def test_a_network_without_links_and_one_with_all(model):
    X, _, labelled = network()
    rule = clone(model).set_params(threshold="f1")
    with pytest.warns(UserWarning, match="no link"):
        rule.fit(X, np.zeros((25, 25)), labelled)
    assert rule.threshold_ == np.inf and not rule.predict().any()
    rule.fit(X, 1 - np.eye(25), labelled)
    assert rule.threshold_ == -np.inf and np.isfinite(rule.score_pairs()).all()


# The em projection


def test_em_is_a_descent_to_a_stationary_point():
    X, A, labelled = network()
    model = EMKernelCompletion(max_iter=20000, tol=1e-13, **RBF).fit(
        X, block(A, labelled), labelled
    )
    assert (np.diff(model.divergences_) < 1e-9).all()  # thm-nets-em
    K, U = diffusion_gram(block(A, labelled), 1.0), model.node_coordinates_[labelled]

    def half_likelihood(b):
        M = (U * b) @ U.T
        R = np.linalg.solve(M, K)
        return 0.5 * (R.trace() - np.linalg.slogdet(R)[1] - len(K))

    b = model.eigenvalues_
    assert_allclose(half_likelihood(b), model.divergences_[-1], rtol=1e-8)
    start = half_likelihood(b)
    for j in np.argsort(b)[-5:]:
        for factor in (0.99, 1.01):
            other = b.copy()
            other[j] *= factor
            assert half_likelihood(other) > start - 1e-6  # eq-nets-round
    assert_allclose(
        block(model.score_pairs(), labelled), K, atol=1e-7
    )  # eq-nets-completion


def test_em_shares_one_eigenvalue_among_the_small():
    X, A, labelled = network()
    s = np.linalg.eigvalsh(RBFKernel(sigma=0.3).gram(X))
    floor = float(0.5 * (s[20] + s[21]) / s.mean())
    model = EMKernelCompletion(floor=floor, max_iter=3, **RBF).fit(
        X, block(A, labelled), labelled
    )
    b = model.eigenvalues_
    assert (b[:21] == b[0]).all() and len(np.unique(b[20:])) == 20
    assert model.n_iter_ == 3 and len(model.divergences_) == 4


def test_em_does_not_depend_on_the_basis_of_a_null_space():
    X, A, labelled = network()
    K = LinearKernel().gram(X)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    one = EMKernelCompletion("precomputed", threshold=0.0).fit(
        K, block(A, labelled), labelled
    )
    two = EMKernelCompletion("linear", threshold=0.0).fit(
        X @ Q, block(A, labelled), labelled
    )
    assert_allclose(one.score_pairs(), two.score_pairs(), atol=1e-8)


def test_completed_form_is_the_e_step():
    rng = np.random.default_rng(0)
    V, b = np.linalg.qr(rng.normal(size=(7, 7)))[0], rng.uniform(1.0, 2.0, 7)
    v, G = np.array([5, 0, 2]), rng.normal(size=(3, 3))
    M, G = (V * b) @ V.T, G + G.T
    Q = M + M[:, v] @ G @ M[v]  # eq-nets-estep
    assert_allclose(V @ completed_form(V[v], b, G) @ V.T, Q, atol=1e-12)


# Maps


def test_directions_solve_their_problems():
    X, A, _ = network(n=20)
    K, K_out = RBFKernel(sigma=0.3).gram(X), diffusion_gram(A, 1.0)
    s, Q = centred_eigh(K)
    C, C_out = center_gram(K), center_gram(K_out)
    assert_allclose((Q * s) @ Q.T, C, atol=1e-8)
    coef, rho = canonical_directions(s, Q, K_out, 0.5, 0.2)
    norms = coef.T @ (C @ C + 0.5 * C) @ coef
    assert_allclose(norms, np.eye(len(rho)), atol=1e-8)
    for k in range(3):  # the best function in the other space for this one
        gamma = np.linalg.solve(C_out + 0.2 * np.eye(20), C @ coef[:, k])
        value = coef[:, k] @ C @ C_out @ gamma
        value /= np.sqrt(gamma @ (C_out @ C_out + 0.2 * C_out) @ gamma)
        assert_allclose(value, rho[k], atol=1e-8)  # eq-nets-cca
    coef, quotients = short_link_directions(s, Q, A, 0.5)
    f, L = C @ coef, np.diag(A.sum(axis=1)) - A
    assert_allclose(f.T @ f, np.eye(len(quotients)), atol=1e-6)
    found = f.T @ L @ f + 0.5 * coef.T @ C @ coef
    assert_allclose(found[:5, :5], np.diag(quotients)[:5, :5], atol=1e-6)
    assert (np.diff(quotients) >= 0).all()  # thm-nets-metric
    with pytest.raises(ValueError, match="have the same inputs"):
        centred_eigh(np.ones((3, 3)))


# Machines


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_machines_with_balanced_classes(class_weight):
    X, A, _ = network(n=16)
    K, (i, j) = RBFKernel(sigma=0.3).gram(X), np.triu_indices(16, 1)
    model = PairwiseKernelSVM(
        C=0.7, bias=0.0, class_weight=class_weight, tol=1e-9, max_iter=9000, **RBF
    ).fit(X, A)
    K_pairs = (
        K[np.ix_(i, i)] * K[np.ix_(j, j)] + K[np.ix_(i, j)] * K[np.ix_(j, i)]
    )  # eq-nets-pairwise
    y = np.where(A[i, j] > 0, 1, -1)
    svc = SVC(kernel="precomputed", C=0.35, tol=1e-9, class_weight=class_weight)
    svc.fit(np.kron([[1, -1], [-1, 1]], K_pairs), np.r_[y, -y])
    if class_weight is None:
        expected = (
            svc.decision_function(np.hstack([K_pairs, -K_pairs])) - svc.intercept_
        )
        assert_allclose(
            model.score_pairs()[i, j], expected, atol=1e-5
        )  # eq-nets-machine
    assert model.primal_ - model.dual_ <= 1e-9 * model.primal_  # eq-nets-dual
    local = LocalModelSVM(C=2.0, class_weight=class_weight, tol=1e-9, **RBF).fit(X, A)
    for a in range(16):
        others = np.delete(np.arange(16), a)
        if A[a].any():
            svc = SVC(kernel="precomputed", C=2.0, tol=1e-9, class_weight=class_weight)
            svc.fit(K[np.ix_(others, others)], A[a, others])
            expected = svc.decision_function(K[:, others])
            assert_allclose(
                K @ local.coef_[a] + local.intercept_[a], expected, atol=1e-5
            )  # eq-nets-local
        else:
            assert local.intercept_[a] == -1.0 and not local.coef_[a].any()


def test_local_machines_with_no_link_and_with_all():
    K, A = RBFKernel(sigma=0.3).gram(network(n=5)[0]), np.zeros((5, 5), dtype=bool)
    A[0, 1:4] = A[1:4, 0] = A[1, 2] = A[2, 1] = True
    A[0, 4] = A[4, 0] = True
    coef, intercept = local_svms(K, A)
    assert intercept[0] == 1.0 and not coef[0].any()
    A[4] = A[:, 4] = False
    coef, intercept = local_svms(K, A)
    assert intercept[4] == -1.0 and not coef[4].any()


def test_a_labelled_node_asks_its_own_machine():
    X, A, labelled = network()
    model = LocalModelSVM(lam=0.5, **RBF).fit(X, block(A, labelled), labelled)
    K = RBFKernel(sigma=0.3).gram(X, X[labelled])
    F = K @ model.coef_.T + model.intercept_
    W = K @ np.linalg.inv(K[labelled] + 0.5 * np.eye(25))
    W[labelled] = np.eye(25)
    expected = 0.5 * (W @ F.T + F @ W.T)
    assert_allclose(model.score_pairs(), expected, atol=1e-8)  # eq-nets-local


def test_functions_have_mean_zero_on_the_labelled_nodes():
    X, A, labelled = network()
    for model in MODELS[3:]:
        model = clone(model).fit(X, block(A, labelled), labelled)
        assert_allclose(
            model.node_coordinates_[labelled, :4].mean(axis=0), np.zeros(4), atol=1e-8
        )


def test_pairs_are_never_laid_out():
    rng, l = np.random.default_rng(0), 200
    X, A = rng.random((l, 2)), np.triu(rng.random((l, l)) < 0.05, 1).astype(float)
    model = PairwiseKernelSVM(C=0.01, tol=0.5).fit(X, A + A.T)  # compiled
    tracemalloc.start()
    model.fit(X, A + A.T)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        peak < 20 * 8 * l**2
    )  # some matrices between nodes; one between pairs would be 10,000 times as large


def test_machines_that_do_not_converge_say_so():
    X, A, _ = network()
    with pytest.warns(
        ConvergenceWarning, match="After 1 visits to all pairs the duality gap"
    ):
        PairwiseKernelSVM(C=100.0, max_iter=1, **RBF).fit(X, A)
    K = RBFKernel(sigma=0.3).gram(X)
    with pytest.warns(ConvergenceWarning, match="After 2 visits"):
        S, primal, dual, n_iter = pairwise_svm(K, A > 0, C=100.0, max_iter=2)
    assert n_iter == 2 and dual < primal
    with pytest.warns(ConvergenceWarning, match="After 40000 steps a machine violates"):
        local_svms(RBFKernel(sigma=3.0).gram(X), A > 0, C=1e9, tol=1e-15)


# scikit-learn


class CompletedGrouped(Grouped):
    "The answers for the nodes of fit."

    def predict(self, X):
        return (
            self._coordinates(X) @ self.form_ @ self.node_coordinates_.T
            > self.threshold_
        )


class GroupedEM(CompletedGrouped, EMKernelCompletion):
    pass


class GroupedPairs(CompletedGrouped, PairwiseKernelSVM):
    pass


class GroupedLocal(CompletedGrouped, LocalModelSVM):
    pass


class GroupedCCA(CompletedGrouped, KernelCCALinks):
    pass


class GroupedMetric(CompletedGrouped, MetricLinks):
    pass


CHECKED = [c(threshold=0.0) for c in (GroupedEM, GroupedPairs, GroupedLocal)]
CHECKED += [
    c(threshold=-0.5) for c in (GroupedCCA, GroupedMetric)
]  # no distance is half by rounding alone


@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Messages


@pytest.mark.parametrize(
    "model, message",
    [
        (EMKernelCompletion(beta=-1.0), r"'beta' .* float in the range \[0.0, inf\)"),
        (EMKernelCompletion(floor=0.0), r"'floor' .* float in the range \[1e-100, "),
        (EMKernelCompletion(tol=np.nan), "'tol' .* Got nan"),
        (EMKernelCompletion(max_iter=0), "'max_iter' .* Got 0"),
        (
            EMKernelCompletion(cv=26),
            "cv must be from 2 to the number of labelled nodes",
        ),
        (PairwiseKernelSVM(C=-1.0), "'C' .* Got -1.0"),
        (PairwiseKernelSVM(bias=np.inf), "'bias' .* Got inf"),
        (PairwiseKernelSVM(class_weight="even"), "'class_weight' .* Got 'even'"),
        (LocalModelSVM(lam=0.0), "'lam' .* Got 0.0"),
        (LocalModelSVM(threshold="recall"), "'threshold' .* Got 'recall'"),
        (LocalModelSVM(threshold=np.inf), "'threshold' .* Got inf"),
        (KernelCCALinks(n_components=0), "'n_components' .* Got 0"),
        (KernelCCALinks(lam2=0.0), "'lam2' .* Got 0.0"),
        (MetricLinks(lam=np.nan), "'lam' .* Got nan"),
        (LocalModelSVM(cv="five"), "'cv' .* Got 'five'"),
        (PairwiseKernelSVM(cv="five", threshold=0.1), "'cv' .* Got 'five'"),
    ],
)
def test_bad_parameters(model, message):
    X, A, labelled = network()
    with pytest.raises(ValueError, match=message):
        model.fit(X, block(A, labelled), labelled)


@each_model
@pytest.mark.parametrize(
    "A, message",
    [
        (np.zeros((25, 24)), r"square adjacency matrix: got shape \(25, 24\)"),
        (np.triu(np.ones((25, 25)), 1), "symmetric"),
        (np.ones((25, 25)), "diagonal"),
        (np.eye(25) - np.ones((25, 25)), "must not be negative"),
        (
            np.ones((24, 24)) - np.eye(24),
            r"adjacency matrix of the 25 labelled nodes.* got shape \(24, 24\)",
        ),
    ],
)
def test_bad_networks(model, A, message):
    X, _, labelled = network()
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, A, labelled)


def test_weights_of_links_are_links():
    X, A, _ = network()
    one, other = (MetricLinks(**RBF).fit(X, B).score_pairs() for B in (A, 0.3 * A))
    assert_allclose(one, other)


def test_a_normalised_laplacian_is_that_of_the_known_network():
    "The completed block of labelled nodes is near the diffusion kernel that was given."
    rng = np.random.default_rng(5)
    A = np.triu(rng.random((12, 12)) < 0.4, 1).astype(float)
    A += A.T
    X = rng.normal(size=(16, 20))
    models = [
        EMKernelCompletion("linear", beta=0.7, normalized=n, threshold=0.0).fit(
            X, A, np.arange(12)
        )
        for n in (False, True)
    ]
    for model, normalized in zip(models, (False, True), strict=True):
        L = graph_laplacian(A, normalized)
        assert_allclose(model.score_pairs()[:12, :12], expm(-0.7 * L), atol=1e-6)
