"""Lab 21: random networks by the protocol of RRSN 6.3, the stored tables; no unknown link is ever learnt from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import permutation_test
from sklearn.kernel_ridge import KernelRidge

from okbook.core import diffusion_gram
from okbook.labs import rrsn_networks as lab
from okbook.rkhs import LinkPredictorCV
from okbook.tables import read_cells, read_paper

TABLES = Path(__file__).parents[1] / "tables"
SMALL = {"lam1_grid": (0.01, 1.0), "lam2_grid": (0.0, 0.1), "beta_grid": (0.1, 1.0), "beta2_grid": (1e-3, 1e-1)}


@pytest.fixture
def small(monkeypatch):
    "The protocol with graphs of 80 nodes and a grid of a few settings."
    monkeypatch.setattr(lab, "N_NODES", 80)
    monkeypatch.setattr(lab, "GRIDS", SMALL)
    monkeypatch.setattr(lab, "N_DRAWS", 3)
    caches = (lab.sample_network, lab._searching, lab._searched, lab._shared_grids)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("table", lab.TABLES, ids=lambda table: table.id)
def test_stored_values_are_areas(table):
    assert all(0 < value <= 1 for value, _ in read_cells(TABLES / table.id).values())


def test_the_source_prints_no_number():
    assert all(read_paper(TABLES / table.id) == {} for table in lab.TABLES)


def test_graphs_are_nested_and_of_the_right_density():
    sparse, dense = (lab.erdos_renyi(300, p, random_state=3) for p in (0.05, 0.2))
    assert (sparse <= dense).all()
    for A, p in ((sparse, 0.05), (dense, 0.2)):
        np.testing.assert_array_equal(A, A.T, strict=True)
        assert set(np.unique(A)) == {0.0, 1.0} and not A.diagonal().any()
        n_pairs = 300 * 299 / 2
        assert abs(A.sum() / 2 - p * n_pairs) < 4 * np.sqrt(p * (1 - p) * n_pairs)
    assert (lab.erdos_renyi(50, 0.5, 0) != lab.erdos_renyi(50, 0.5, 1)).any()


def test_kernel_pca_keeps_all_of_a_kernel_or_a_share_of_it():
    A = lab.erdos_renyi(60, 0.1, random_state=0)
    X, beta = lab.diffusion_inputs(A, variance=1 - 1e-12)
    K = diffusion_gram(A, beta)
    C = np.eye(60) - 1 / 60
    np.testing.assert_allclose(X @ X.T, C @ K @ C, atol=1e-9)
    part, _ = lab.diffusion_inputs(A, variance=0.5)
    assert part.shape[1] < X.shape[1]
    np.testing.assert_allclose(part, X[:, : part.shape[1]], atol=1e-9)


def test_criterion_of_information_is_least_at_both_ends():
    "eq-links-information"
    A = lab.erdos_renyi(80, 0.08, random_state=0)
    _, beta = lab.diffusion_inputs(A)
    middle = lab.kernel_entropy(diffusion_gram(A, beta))
    assert middle > 2 * lab.kernel_entropy(diffusion_gram(A, 1e-3))
    assert middle > lab.kernel_entropy(diffusion_gram(A, 30.0))
    assert middle <= np.log(100)
    assert lab.diffusion_inputs(A, stretch=2.0)[1] == 2.0 * beta


def test_draws_are_shared_and_nested():
    for draw in range(3):
        five, ten, twenty = (set(lab.draw_labelled(rate, draw)) for rate in lab.RATES)
        assert (len(five), len(ten), len(twenty)) == (35, 70, 140)
        assert five < ten < twenty
    assert set(lab.draw_labelled("5", 0)) != set(lab.draw_labelled("5", 1))


@pytest.mark.parametrize("setting", [*lab.METHODS.values(), lab.VARIANTS["supervised, centred"][0]])
def test_no_method_sees_an_unknown_link(small, monkeypatch, setting):
    "Change every link that is not between two labelled nodes, inputs held: the predictions stay."
    network, labelled = setting.network("0.03", 0), lab.draw_labelled("20", 0)
    rng = np.random.default_rng(0)
    other = np.triu(rng.random((80, 80)) < 0.5, 1)
    other = (other | other.T).astype(float)
    other[np.ix_(labelled, labelled)] = network.adjacency[np.ix_(labelled, labelled)]
    points = []
    for A in (network.adjacency, other):
        monkeypatch.setattr(lab, "sample_network", lambda *args, A=A: replace(network, adjacency=A))
        lab._searching.cache_clear()
        lab._searched.cache_clear()
        points.append(lab._searched(setting, "0.03", "20", 0)[1])
    np.testing.assert_array_equal(*points, strict=True)
    assert (network.adjacency != other).any()


def test_cells_are_pure(small):
    "In any order, kept eigendecompositions or not."
    setting, column = lab.METHODS["semi-supervised"], "auc-pr 0.03 20"
    first = lab.compute_setting(setting, column, 1)
    lab._searching.cache_clear()
    lab._searched.cache_clear()
    lab.compute_setting(setting, column, 0)
    assert lab.compute_setting(setting, column, 1) == first


def test_supervised_is_ridge_regression_on_the_labelled_nodes(small):
    "scikit-learn's, on the explicit coordinates of the diffusion kernel (eq-rrsn-10)."
    setting = lab.METHODS["supervised"]
    network, labelled = setting.network("0.03", 2), lab.draw_labelled("20", 2)
    A = network.adjacency[np.ix_(labelled, labelled)]
    model = setting.predictor(network).set_params(random_state=2).fit(network.inputs, A, labelled)
    K_y = diffusion_gram(A, model.best_params_["beta"])
    theta, U = np.linalg.eigh(K_y)
    Y = U * np.sqrt(np.maximum(theta, 0))
    ridge = KernelRidge(alpha=model.best_params_["lam1"], kernel="rbf", gamma=0.5 / network.sigma**2)
    E = ridge.fit(network.inputs[labelled], Y).predict(network.inputs)
    np.testing.assert_allclose(E @ E.T, model.score_pairs(), atol=1e-8)
    centred = replace(setting, centred=True)
    points = lab._searched(centred, "0.03", "20", 2)[1]
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)


def test_shared_parameters_are_the_best_in_the_mean(small):
    setting = lab.Setting(shared=True)
    chosen = lab._shared_grids(setting, "0.03", "20")
    alone = replace(setting, shared=False)
    results = [lab._searched(alone, "0.03", "20", draw)[0] for draw in range(3)]
    means = np.mean([r["mean_test_roc_auc"] for r in results], axis=0)
    at = np.all([results[0][f"param_{name[:-5]}"] == value[0] for name, value in chosen.items()], axis=0)
    assert at.sum() == 1 and means[at][0] == means.max()
    for draw in range(3):
        tried = lab._searched(setting, "0.03", "20", draw)[0]
        assert len(tried["param_lam1"]) == 1 and tried["param_lam1"][0] == chosen["lam1_grid"][0]


def test_settings_make_the_searches_they_name():
    network = lab.Network(np.zeros((2, 2)), np.zeros((2, 1)), 1.0, 0.5)
    for setting, _ in lab.VARIANTS.values():
        model = setting.predictor(network)
        assert isinstance(model, LinkPredictorCV) and model.criterion == setting.select and model.pairs == setting.pairs
        assert model.estimator.smoother == setting.smoother
        assert (tuple(model.lam2_grid) == (0.0,)) == setting.supervised


def test_sign_flip_test_is_scipys_permutation_test():
    for seed in range(5):
        d = np.random.default_rng(seed).normal(0.3, size=9)
        other = permutation_test((d,), np.mean, permutation_type="samples", alternative="greater", n_resamples=np.inf)
        np.testing.assert_allclose(lab.sign_flip_test(d), other.pvalue)
    assert lab.sign_flip_test(np.ones(10)) == 2**-10
    assert lab.sign_flip_test(np.zeros(4)) == 1.0
    with pytest.raises(ValueError, match=r"1 to 20 numbers: got shape \(21,\)"):
        lab.sign_flip_test(np.ones(21))
