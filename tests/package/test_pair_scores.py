"""The three scores of a pair of nodes, against the formulas of their page."""

import numpy as np
import pytest
from sklearn.base import clone

from okbook.core import diffusion_gram
from okbook.rkhs import LinkPredictor, LinkPredictorCV, NodeFold, OutputKernelRidge

SCORES = ("product", "cosine", "cosine_known")


@pytest.fixture
def village():
    "Points, a network of near points, and the labelled ones."
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    near = np.linalg.norm(X[:, None] - X, axis=2) < 0.8
    A = (near & ~np.eye(40, dtype=bool)).astype(float)
    return X, A, np.sort(rng.choice(40, 25, replace=False))


def ridge():
    return OutputKernelRidge(input_kernel_params={"sigma": 0.7}, lam=0.3)


def by_hand(X, A, labelled, beta, similarity):
    "eq-pairscores-product, eq-pairscores-cosine, eq-pairscores-both"
    K = diffusion_gram(A[np.ix_(labelled, labelled)], beta)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    G = np.exp(-squares / (2 * 0.7**2))
    inner = G[np.ix_(labelled, labelled)] + 0.3 * np.eye(len(labelled))
    W = np.linalg.solve(inner, G[labelled]).T
    if similarity == "cosine_known":
        W[labelled] = np.eye(len(labelled))
    S = W @ K @ W.T
    if similarity == "product":
        return S
    lengths = np.sqrt(S.diagonal())
    return S / np.outer(lengths, lengths)


@pytest.mark.parametrize("similarity", SCORES)
def test_scores_are_the_formulas(village, similarity):
    X, A, labelled = village
    A_l = A[np.ix_(labelled, labelled)]
    model = LinkPredictor(ridge(), similarity=similarity, random_state=0)
    model.fit(X, A_l, labelled)
    wanted = by_hand(X, A, labelled, 1.0, similarity)
    np.testing.assert_allclose(model.score_pairs(), wanted, rtol=1e-9, atol=1e-12)
    links, new = model.predict(), ~np.isin(np.arange(40), labelled)
    unknown = np.logical_or.outer(new, new)
    graph = model.predict_graph().toarray()
    np.testing.assert_array_equal(graph[unknown], links[unknown])
    late = X[:5] + 0.01  # nodes that are added have predicted points
    scores = model.score_pairs(late, X[:3])
    assert scores.shape == (5, 3)
    if similarity != "product":
        assert np.abs(scores).max() <= 1 + 1e-12
        alone = model.score_pairs(late).diagonal()
        np.testing.assert_allclose(alone, 1.0, rtol=1e-12)


@pytest.mark.parametrize("similarity", SCORES)
def test_folds_use_the_score(village, similarity):
    X, A, labelled = village
    A = A[np.ix_(labelled, labelled)]
    X, held = X[labelled], np.arange(0, 25, 4)
    fold = NodeFold(A, held)
    kept = fold.nodes[: fold.n_kept]
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    E = fold.coordinates(np.exp(-squares / (2 * 0.7**2)) / 0.3)
    S = by_hand(X, A, kept, 0.5, similarity)[np.ix_(held, fold.nodes)]
    found = fold.scores(E, 0.5, similarity)
    np.testing.assert_allclose(found, fold.pairs(S), rtol=1e-8, atol=1e-10)
    # The links of the nodes held out enter nothing.
    other = A.copy()
    other[held] = 1 - other[held]
    other[:, held] = other[held].T
    np.fill_diagonal(other, 0)
    again = NodeFold(other, held).scores(E, 0.5, similarity)
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("similarity", SCORES)
def test_the_search_is_that_of_single_fits(village, similarity):
    X, A, labelled = village
    A_l = A[np.ix_(labelled, labelled)]
    search = LinkPredictorCV(
        ridge(),
        lam_grid=[0.03, 0.3, 3.0],
        lam2_grid=[0.0],
        beta_grid=[0.5, 1.0],
        similarity=similarity,
        random_state=0,
    ).fit(X, A_l, labelled)
    areas = []
    tried = search.cv_results_
    for lam, beta in zip(tried["param_lam"], tried["param_beta"]):
        one = LinkPredictor(
            clone(ridge()).set_params(lam=lam),
            beta=beta,
            similarity=similarity,
            random_state=0,
        ).fit(X, A_l, labelled)
        areas.append(np.mean([fold.roc_auc for fold in one.cv_curves_]))
    found = search.cv_results_["mean_test_roc_auc"]
    np.testing.assert_allclose(found, areas, rtol=1e-9)
    assert search.best_score_ == found.max()


def test_a_length_merges_rows_and_orders_none(village):
    "prop-pairscores-row"
    X, A, labelled = village
    A_l = A[np.ix_(labelled, labelled)]
    plain, unit = (
        LinkPredictor(ridge(), similarity=s, threshold=0.0).fit(X, A_l, labelled)
        for s in ("product", "cosine")
    )
    lengths = np.linalg.norm(plain.embed(), axis=1)
    S, C = plain.score_pairs() / lengths, unit.score_pairs()
    np.testing.assert_array_equal(S.argsort(axis=1), C.argsort(axis=1))


def test_one_smoothing_or_two(village):
    "prop-pairscores-known"
    X, A, labelled = village
    G = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.7**2))
    inner = G[np.ix_(labelled, labelled)]
    H = inner @ np.linalg.inv(inner + 0.3 * np.eye(25))
    K = diffusion_gram(A[np.ix_(labelled, labelled)], 1.0)
    model = LinkPredictor(ridge(), threshold=0.0)
    model.fit(X, A[np.ix_(labelled, labelled)], labelled)
    new = np.setdiff1d(np.arange(40), labelled)
    known = model.embed()[new] @ model.factor_.T
    W = np.linalg.solve(inner + 0.3 * np.eye(25), G[np.ix_(labelled, new)]).T
    np.testing.assert_allclose(known, W @ K, rtol=1e-9, atol=1e-12)
    twice = model.score_pairs()[np.ix_(new, labelled)]
    np.testing.assert_allclose(twice, known @ H, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("make", [LinkPredictor, LinkPredictorCV])
def test_what_is_refused(village, make):
    X, A, _ = village
    with pytest.raises(ValueError, match="similarity"):
        make(similarity="euclidean").fit(X, A)
    for inputs, pairs in ((None, "any"), (X, "known")):
        with pytest.raises(ValueError, match="needs inputs X.*Otherwise take 'cosine'"):
            make(similarity="cosine_known", pairs=pairs).fit(inputs, A)
    make(similarity="cosine", random_state=0).fit(None, A)
