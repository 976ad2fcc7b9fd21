"""Lab 22: co-authors by the protocol of RRSN 6.4, the stored tables; no unknown link is ever learnt from."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.special import xlogy
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances

from okbook.core import diffusion_gram
from okbook.labs import rrsn_coauthors as lab
from okbook.labs import rrsn_networks as lab21
from okbook.tables import read_cells, read_paper

TABLES = Path(__file__).parents[1] / "tables"
CACHES = (lab._searching, lab.search, lab._measured, lab.future_scores)


def clear():
    for cache in CACHES:
        cache.cache_clear()


@pytest.fixture
def small(monkeypatch):
    "A network of 90 authors in the place of both node sets, and a grid of a few settings; the network is returned."
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    D = euclidean_distances(X, squared=True)
    links = (D < np.quantile(D, 0.2)) & (D > 0)
    later = np.triu(links & (rng.random((90, 90)) < 0.3), 1)
    names = np.array([f"author {i}" for i in range(90)])
    network = lab.Network(names, links.astype(float), later | later.T, *lab.informative_gram(X))
    grids = {"lam1_grid": (0.01, 1.0), "lam2_grid": (0.0, 0.1), "beta_grid": (0.1, 1.0), "beta2_grid": (1e-3, 1e-1)}
    monkeypatch.setattr(lab, "GRIDS", grids)
    monkeypatch.setattr(lab, "load_network", lambda nodes="words", words="frequencies": network)
    clear()
    yield network
    clear()


@pytest.mark.parametrize("table", lab.TABLES, ids=lambda table: table.id)
def test_stored_values_are_areas(table):
    areas = [value for key, (value, _) in read_cells(TABLES / table.id).items() if "hits" not in key.column]
    assert all(0 < value <= 100 for value in areas)


def test_printed_cells_are_ours_to_run():
    printed = read_paper(TABLES / "rrsn-table1")
    assert set(printed) == {(row, column) for row in list(lab.METHODS)[:2] for column in lab.COLUMNS}
    assert printed["semi-supervised", "auc-roc 5"] == (75.9, 1.3)
    gains = [printed["semi-supervised", f"{area} 5"][0] - printed["supervised", f"{area} 5"][0] for area in lab.AREAS]
    np.testing.assert_allclose(gains, [4.8, 0.6])  # as the text says


def test_pairs_of_an_area_are_counted(require_dataset):
    "All pairs that are not both labelled, each once; for the later links, without the earlier ones."
    require_dataset("nips_coauthors")
    for nodes, n, n_edges, n_later in (("words", 1458, 2933, 151), ("1999", 1394, 2745, 95)):
        network = lab.load_network(nodes, "frequencies")
        assert len(network.names) == n and network.adjacency.sum() == 2 * n_edges and network.later.sum() == 2 * n_later
        for rate in lab.RATES:
            labelled = lab.draw_labelled(n, rate, 0)
            l = len(labelled)  # noqa: E741
            assert l == round(int(rate) * n / 100)
            pairs, links = lab.counted_pairs(network, labelled)
            known = int(network.adjacency[np.ix_(labelled, labelled)].sum()) // 2
            assert pairs.sum() == n * (n - 1) // 2 - l * (l - 1) // 2
            assert links[pairs].sum() == n_edges - known
            assert not pairs[np.ix_(labelled, labelled)].any() and not np.tril(pairs).any()
            after, late = lab.counted_pairs(network, labelled, later=True)
            kept = network.later[np.ix_(labelled, labelled)].sum() // 2
            assert late[after].sum() == n_later - kept and not (after & ~pairs).any()
            assert not (after & (network.adjacency > 0) & ~network.later).any()


def test_pairs_by_hand(small):
    labelled = lab.draw_labelled(90, "20", 0)
    inside = set(labelled.tolist())
    for later in (False, True):
        pairs, links = lab.counted_pairs(small, labelled, later)
        for i, j in combinations(range(90), 2):
            linked = small.adjacency[i, j] > 0
            counted = not {i, j} <= inside and (not later or small.later[i, j] or not linked)
            assert pairs[i, j] == counted and not pairs[j, i]
            assert not counted or links[i, j] == (small.later[i, j] if later else linked)


SETTINGS = [setting for setting in (*lab.METHODS.values(), *(s for s, _ in lab.VARIANTS.values())) if not setting.alone]


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_method_sees_an_unknown_link(small, monkeypatch, setting):
    "Change every link that is not between two labelled authors: parameters and predictions stay, to the last bit."
    labelled = lab.draw_labelled(90, "20", 0)
    other = np.triu(np.random.default_rng(0).random((90, 90)) < 0.5, 1)
    other = (other | other.T).astype(float)
    other[np.ix_(labelled, labelled)] = small.adjacency[np.ix_(labelled, labelled)]
    found = []
    for A in (small.adjacency, other):
        changed = replace(small, adjacency=A, later=A > 0)
        monkeypatch.setattr(lab, "load_network", lambda *args, changed=changed: changed)
        clear()
        found.append(lab.search(setting, "words", "20", 0))
    assert found[0][0] == found[1][0] and (small.adjacency != other).any()
    np.testing.assert_array_equal(found[0][1], found[1][1], strict=True)


def test_a_known_link_is_seen(small, monkeypatch):
    "The other way round: the test above can fail."
    labelled = lab.draw_labelled(90, "20", 0)
    before = lab.search(lab.METHODS["supervised"], "words", "20", 0)[1]
    other = small.adjacency.copy()
    i, j = labelled[:2]
    other[i, j] = other[j, i] = 1 - other[i, j]
    monkeypatch.setattr(lab, "load_network", lambda *args: replace(small, adjacency=other))
    clear()
    assert np.abs(lab.search(lab.METHODS["supervised"], "words", "20", 0)[1] - before).max() > 1e-6


def test_no_later_link_is_used_to_predict_it(small, monkeypatch):
    "The scores of the future depend on the network of 1999 and on the words only."
    early = small.adjacency * ~small.later
    scores = []
    for later in (small.later, ~small.later):
        monkeypatch.setattr(
            lab, "load_network", lambda *args, later=later: replace(small, adjacency=early, later=later)
        )
        clear()
        scores.append([lab.future_scores(row) for row in lab.FUTURE_ROWS])
    np.testing.assert_array_equal(*scores, strict=True)


def test_hits_by_hand(small, monkeypatch):
    early = small.adjacency * ~small.later
    monkeypatch.setattr(lab, "load_network", lambda *args: replace(small, adjacency=early))
    scores = lab.future_scores("number of co-authors")
    degree = early.sum(axis=1)
    np.testing.assert_array_equal(scores, np.outer(degree, degree))
    pairs = [(i, j) for i, j in combinations(range(90), 2) if not early[i, j]]
    ranked = sorted(pairs, key=lambda pair: -scores[pair])[:100]
    hits = sum(small.later[pair] for pair in ranked)
    assert lab.compute_future("number of co-authors", "hits 100", 0, 0) == hits
    truth, values = (np.array([matrix[pair] for pair in pairs]) for matrix in (small.later, scores))
    expected = [roc_auc_score(truth, values), average_precision_score(truth, values)]
    got = [lab.compute_future("number of co-authors", area, 0, 0) for area in lab.AREAS]
    np.testing.assert_allclose(got, 100 * np.array(expected))
    shared = lab.future_scores("common co-authors")
    i, j = pairs[7]
    among = [k for k in range(90) if early[i, k] and early[j, k]]
    np.testing.assert_allclose(shared[i, j], sum(1 / np.log(max(degree[k], 2)) for k in among))


def test_areas_are_scikit_learns(small):
    for later in ("", ", links after 1999"):
        points = lab.search(lab.METHODS["supervised"], "words", "10", 1)[1]
        pairs, links = lab.counted_pairs(small, lab.draw_labelled(90, "10", 1), bool(later))
        scores = (points @ points.T)[pairs]
        expected = [roc_auc_score(links[pairs], scores), average_precision_score(links[pairs], scores)]
        got = [lab.compute_cell("supervised", f"{area} 10{later}", 1, 0) for area in lab.AREAS]
        np.testing.assert_allclose(got, 100 * np.array(expected))


def test_cells_are_pure(small):
    "In any order, kept eigendecompositions or not."
    first = lab.compute_cell("semi-supervised", "auc-pr 20", 1, 0)
    clear()
    lab.compute_cell("semi-supervised, 1999", "auc-roc 10", 0, 0)
    assert lab.compute_cell("semi-supervised", "auc-pr 20", 1, 0) == first


def test_supervised_is_ridge_regression_on_the_labelled_authors(small):
    "scikit-learn's, on the explicit coordinates of the diffusion kernel (eq-rrsn-10)."
    labelled = lab.draw_labelled(90, "20", 2)
    chosen, points = lab.search(lab.METHODS["supervised"], "words", "20", 2)
    theta, U = np.linalg.eigh(diffusion_gram(small.adjacency[np.ix_(labelled, labelled)], chosen["beta"]))
    ridge = KernelRidge(alpha=chosen["lam1"], kernel="precomputed")
    ridge.fit(small.gram[np.ix_(labelled, labelled)], U * np.sqrt(np.maximum(theta, 0)))
    E = ridge.predict(small.gram[:, labelled])
    np.testing.assert_allclose(E @ E.T, points @ points.T, atol=1e-8)


def test_settings_make_the_searches_they_name():
    for setting, _ in lab.VARIANTS.values():
        model = setting.predictor()
        assert model.pairs == setting.pairs and model.estimator.smoother == setting.smoother
        assert (tuple(model.lam2_grid) == (0.0,)) == setting.supervised
        assert setting.beta2_grid in (None, model.beta2_grid)


def test_width_has_the_largest_entropy():
    "eq-links-information"
    X = np.random.default_rng(1).normal(size=(60, 4))
    K, sigma = lab.informative_gram(X)
    gaps = pdist(X)
    widths = lab21.FACTORS * np.sqrt(np.median(gaps**2))
    shares = [np.histogram(np.exp(-0.5 * (gaps / width) ** 2), bins=100, range=(0, 1))[0] / 1770 for width in widths]
    np.testing.assert_allclose(sigma, widths[np.argmin([np.sum(xlogy(share, share)) for share in shares])])
    np.testing.assert_allclose(K, np.exp(-(squareform(gaps) ** 2) / (2 * sigma**2)), atol=1e-12)
    sparse, _ = lab.informative_gram(csr_array(X))
    np.testing.assert_allclose(sparse, K, atol=1e-12)


def test_vectors_of_authors_by_hand():
    counts = csr_array(np.array([[1.0, 3, 0], [0, 2, 2], [0, 5, 0]]))
    np.testing.assert_array_equal(lab.author_vectors(counts, "counts").toarray(), counts.toarray())
    expected = [[0.25, 0.75, 0], [0, 0.5, 0.5], [0, 1, 0]]
    np.testing.assert_allclose(lab.author_vectors(counts).toarray(), expected)
    tfidf = lab.author_vectors(counts, "tf-idf").toarray()
    np.testing.assert_allclose(tfidf, [[1, 0, 0], [0, 0, 1], [0, 0, 0]])  # a word that all use says nothing
    with pytest.raises(ValueError, match="words must be 'frequencies', 'counts' or 'tf-idf': got 'binary'"):
        lab.author_vectors(counts, "binary")


def test_draws_are_nested():
    five, ten, twenty = (set(lab.draw_labelled(1458, rate, 3)) for rate in lab.RATES)
    assert (len(five), len(ten), len(twenty)) == (73, 146, 292) and five < ten < twenty
