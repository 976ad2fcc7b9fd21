"""Lab 21: random networks by the protocol of RRSN 6.3, the stored tables; no unknown
link is ever learnt from."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import permutation_test
from sklearn.kernel_ridge import KernelRidge

from okbook.core import diffusion_gram
from okbook.labs import rrsn_networks as lab
from okbook.labs.common import sign_flip_test
from okbook.rkhs import LinkPredictorCV
from okbook.tables import read_cells, read_paper

TABLES = Path(__file__).parents[2] / "tables"
SMALL = {
    "lam_grid": (0.01, 1.0),
    "lam2_grid": (0.0, 0.1),
    "beta_grid": (0.1, 1.0),
    "beta2_grid": (1e-3, 1e-1),
}


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


def taken(table, row, column):
    "The stored values of a cell, one a draw."
    cells = read_cells(TABLES / table.id)
    return np.array([cells[row, column, repeat][0] for repeat in range(lab.N_DRAWS)])


def gains(first, second, rates=lab.RATES):
    "The second less the first (each a table and a row), draw by draw, for each column."
    columns = [" ".join(key) for key in product(lab.AREAS, lab.DENSITIES, rates)]
    return {
        column: taken(*second, column) - taken(*first, column) for column in columns
    }


def significant(differences):
    """How many differences are above zero after Holm's correction: thresholds 0.05 /
    m, 0.05 / (m - 1), ..."""
    p = sorted(sign_flip_test(d) for d in differences)
    passed = [value < 0.05 / (len(p) - i) for i, value in enumerate(p)]
    return passed.index(False) if False in passed else len(passed)


SUPERVISED = (lab.TABLE, "supervised")
READINGS = {
    "table": (SUPERVISED, (lab.TABLE, "semi-supervised")),
    "grid": (
        SUPERVISED,
        (lab.SENSITIVITY, "semi-supervised, beta2 on the grid of beta"),
    ),
    "shared": tuple(
        (lab.SENSITIVITY, f"{method}, shared parameters") for method in lab.METHODS
    ),
    "hidden": tuple(
        (lab.SENSITIVITY, f"{method}, selected on hidden pairs")
        for method in lab.METHODS
    ),
    "laplacian": (SUPERVISED, (lab.SENSITIVITY, "semi-supervised, Laplacian")),
}


@pytest.mark.parametrize(
    "table", [lab.TABLE, lab.SENSITIVITY, lab.PAIRS], ids=lambda table: table.id
)
def test_stored_values_are_areas(table):
    cells = read_cells(TABLES / table.id)
    assert len(cells) == len(table.keys()) > 0
    assert all(0 < value <= 1 for value, _ in cells.values())


def test_the_source_prints_no_number():
    assert lab.TABLES
    for table in lab.TABLES:
        assert (TABLES / table.id / "ours.csv").is_file()
        assert read_paper(TABLES / table.id) == {}


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


@pytest.mark.parametrize(
    "setting", [*lab.METHODS.values(), lab.VARIANTS["supervised, centred"][0]]
)
def test_no_method_sees_an_unknown_link(small, monkeypatch, setting):
    """Change every link that is not between two labelled nodes, inputs held: the
    predictions stay."""
    network, labelled = setting.network("0.03", 0), lab.draw_labelled("20", 0)
    rng = np.random.default_rng(0)
    other = np.triu(rng.random((80, 80)) < 0.5, 1)
    other = (other | other.T).astype(float)
    other[np.ix_(labelled, labelled)] = network.adjacency[np.ix_(labelled, labelled)]
    points = []
    for A in (network.adjacency, other):
        monkeypatch.setattr(
            lab, "sample_network", lambda *args, A=A: replace(network, adjacency=A)
        )
        lab._searching.cache_clear()
        lab._searched.cache_clear()
        points.append(lab._searched(setting, "0.03", "20", 0)[1])
    np.testing.assert_array_equal(*points, strict=True)
    assert (network.adjacency != other).any()


def test_cells_are_pure(small):
    "In any order, kept eigendecompositions or not."
    setting, of = lab.METHODS["semi-supervised"], ("auc-pr", "0.03", "20")
    first = lab.compute_setting(setting, *of, 1)
    lab._searching.cache_clear()
    lab._searched.cache_clear()
    lab.compute_setting(setting, *of, 0)
    assert lab.compute_setting(setting, *of, 1) == first


def test_supervised_is_ridge_regression_on_the_labelled_nodes(small):
    "scikit-learn's, on the explicit coordinates of the diffusion kernel (eq-rrsn-10)."
    setting = lab.METHODS["supervised"]
    network, labelled = setting.network("0.03", 2), lab.draw_labelled("20", 2)
    A = network.adjacency[np.ix_(labelled, labelled)]
    model = (
        setting.predictor(network)
        .set_params(random_state=2)
        .fit(network.inputs, A, labelled)
    )
    K_y = diffusion_gram(A, model.best_params_["beta"])
    theta, U = np.linalg.eigh(K_y)
    Y = U * np.sqrt(np.maximum(theta, 0))
    ridge = KernelRidge(
        alpha=model.best_params_["lam"], kernel="rbf", gamma=0.5 / network.sigma**2
    )
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
    at = np.all(
        [
            results[0][f"param_{name[:-5]}"] == value[0]
            for name, value in chosen.items()
        ],
        axis=0,
    )
    assert at.sum() == 1 and means[at][0] == means.max()
    for draw in range(3):
        tried = lab._searched(setting, "0.03", "20", draw)[0]
        assert (
            len(tried["param_lam"]) == 1
            and tried["param_lam"][0] == chosen["lam_grid"][0]
        )


def test_settings_make_the_searches_they_name():
    network = lab.Network(np.zeros((2, 2)), np.zeros((2, 1)), 1.0, 0.5)
    for setting, _ in lab.VARIANTS.values():
        model = setting.predictor(network)
        assert (
            isinstance(model, LinkPredictorCV)
            and model.criterion == setting.select
            and model.pairs == setting.pairs
        )
        assert model.estimator.smoother == setting.smoother
        assert (tuple(model.lam2_grid) == (0.0,)) == setting.supervised


def test_sign_flip_test_is_scipys_permutation_test():
    for seed in range(5):
        d = np.random.default_rng(seed).normal(0.3, size=9)
        other = permutation_test(
            (d,),
            np.mean,
            permutation_type="samples",
            alternative="greater",
            n_resamples=np.inf,
        )
        np.testing.assert_allclose(sign_flip_test(d), other.pvalue)
        both = permutation_test((d,), np.sum, permutation_type="samples")
        np.testing.assert_allclose(sign_flip_test(d, two_sided=True), both.pvalue)
    assert sign_flip_test(np.ones(10)) == 2**-10
    assert sign_flip_test(np.zeros(4)) == 1.0
    with pytest.raises(ValueError, match=r"1 to 20 numbers: got shape \(21,\)"):
        sign_flip_test(np.ones(21))


def test_the_claims():
    """Gain in one cell of twelve, loss in one; not growing; not gone. Two other
    readings show the pattern."""
    early = {
        name: {c: d for c, d in gains(*pair).items() if not c.endswith(" 20")}
        for name, pair in READINGS.items()
    }
    gained = {name: significant(found.values()) for name, found in early.items()}
    lost = {
        name: significant([-d for d in found.values()]) for name, found in early.items()
    }
    assert gained == {"table": 1, "grid": 3, "shared": 8, "hidden": 0, "laplacian": 0}
    assert lost == {"table": 1, "grid": 0, "shared": 3, "hidden": 0, "laplacian": 4}
    growing = {
        name: significant(
            [found[f"{area} 0.03 5"] - found[f"{area} 0.01 5"] for area in lab.AREAS]
        )
        for name, found in early.items()
    }
    assert growing == {"table": 0, "grid": 2, "shared": 2, "hidden": 1, "laplacian": 2}
    for name, number in {"table": 0, "grid": 2, "shared": 5}.items():
        gain = gains(*READINGS[name])
        late = [
            [gain[f"{area} {density} {rate}"] for rate in ("5", "20")]
            for area in lab.AREAS
            for density in lab.DENSITIES
        ]
        p = np.array([sign_flip_test(five - twenty) for five, twenty in late])
        order, passed = p.argsort(), np.zeros(6, bool)
        for i, at in enumerate(order):
            if p[at] >= 0.05 / (6 - i):
                break
            passed[at] = True
        assert (
            sum(ok and twenty.mean() < 0.01 for ok, (_, twenty) in zip(passed, late))
            == number
        )


def test_where_the_other_readings_gain():
    for name in ("grid", "shared"):
        gain = gains(*READINGS[name])
        for density in ("0.01", "0.02"):  # at 10 %, only in the densest network
            assert max(gain[f"{area} {density} 10"].mean() for area in lab.AREAS) < 0.01
        assert min(gain[f"{area} 0.03 10"].mean() for area in lab.AREAS) > 0.02
    shared = gains(*READINGS["shared"])
    assert (
        shared["auc-pr 0.01 20"].mean() > shared["auc-pr 0.01 5"].mean()
    )  # the exception
    assert max(d.mean() for d in gains(*READINGS["laplacian"]).values()) < 1e-3
    for density in ("0.01", "0.02"):
        column = f"auc-roc {density} 5"
        assert (
            gains(*READINGS["table"])[column].mean()
            < -0.09
            < -0.02
            < gains(*READINGS["hidden"])[column].mean()
        )


def test_pairs_of_two_kinds():
    """Over pairs without a label the semi-supervised areas vary twice as much, and
    are lower at two densities."""
    for area, density in product(lab.AREAS, lab.DENSITIES):
        column = f"{area} {density} 5"
        cells = {
            (method, kind): taken(lab.PAIRS, f"{method}, {kind}", column)
            for method in lab.METHODS
            for kind in lab.KINDS
        }
        one, both = (
            cells["semi-supervised", kind] - cells["supervised", kind]
            for kind in lab.KINDS
        )
        assert significant([-one]) == 0
        if density != "0.03":
            assert both.mean() < 0
        if area == "auc-roc":
            spread = [cells[method, "both"].std(ddof=1) for method in lab.METHODS]
            assert spread[1] > 2 * spread[0]


def test_the_trap():
    """A small beta2 with lam2 above lam: low areas over pairs without a label,
    which the folds do not expect."""
    found = {
        column: np.array(
            [
                taken(lab.CHOICES, f"semi-supervised {density}", column)
                for density in lab.DENSITIES
            ]
        )
        for column in lab.CHOICES.columns
    }
    trapped = (found["lam2"] > found["lam"]) & (found["beta2"] <= 1e-3)
    assert 5 <= trapped.sum() <= 25
    assert found["both"][trapped].mean() < found["both"][~trapped].mean() - 0.1
    assert found["folds"][trapped].mean() > 0.9
    for method, density in product(
        lab.METHODS, lab.DENSITIES
    ):  # the searches are those of the tables
        any_pair = taken(lab.CHOICES, f"{method} {density}", "any")
        np.testing.assert_allclose(
            any_pair, taken(lab.TABLE, method, f"auc-roc {density} 5"), rtol=1e-3
        )
        for kind in lab.KINDS:
            areas = taken(lab.PAIRS, f"{method}, {kind}", f"auc-roc {density} 5")
            np.testing.assert_allclose(
                taken(lab.CHOICES, f"{method} {density}", kind), areas, rtol=1e-3
            )


def test_what_the_mean_does():
    """A fifth of the predictions at 5 %, at every density; the gain without it is
    largest at 0.03 and gone at 20 %."""
    dropped = {}
    for row in lab.MEAN.rows:
        dropped[row] = taken(lab.MEAN, row, "last") - taken(lab.MEAN, row, "all")
        share = taken(lab.MEAN, row, "share").mean()
        assert 0.15 < share < 0.3 if row.endswith(" 5") else share < 0.05
        area = taken(lab.TABLE, "supervised", f"auc-roc {row}")
        np.testing.assert_allclose(taken(lab.MEAN, row, "all"), area, rtol=1e-3)
        if row.endswith(" 5"):
            assert sign_flip_test(dropped[row]) < 0.05
            assert (
                taken(lab.MEAN, row, "middle").mean()
                < 0.62
                < taken(lab.MEAN, row, "last").mean() - 0.1
            )
        else:
            assert abs(dropped[row].mean()) < 0.01
    assert max(dropped, key=lambda row: dropped[row].mean()) == "0.03 5"
    degrees = [
        taken(lab.MEAN, f"{density} 5", "correlation").mean()
        for density in lab.DENSITIES
    ]
    assert degrees == sorted(degrees)


def test_subtracting_the_mean():
    """Most of the gain of the grid of beta at density 0.03, and no difference that
    ten draws can tell."""
    diffused = gains(*READINGS["grid"], rates=("5",))
    centred = gains(SUPERVISED, (lab.SENSITIVITY, "supervised, centred"), rates=("5",))
    gaps = [diffused[column] - centred[column] for column in diffused]
    assert significant([sign * gap for gap in gaps for sign in (1, -1)]) == 0
    assert (
        min(
            centred[f"{area} 0.03 5"].mean() / diffused[f"{area} 0.03 5"].mean()
            for area in lab.AREAS
        )
        > 0.5
    )


def test_what_the_criterion_decides():
    """Two criteria agree on the graphs of the tables; half and twice their time
    changes the gain of the grid of beta."""
    for row in lab.DENSITIES:
        for name in ("beta", "sigma"):
            ours, other = (
                taken(lab.INPUTS, row, f"{name}, {how}")
                for how in ("entropy", "variance")
            )
            assert ours[0] == other[0]
        for area in lab.AREAS:
            diffusion, gaussian = (
                taken(lab.INPUTS, row, f"{kernel}, {area}")
                for kernel in ("diffusion kernel", "input kernel")
            )
            assert (diffusion > gaussian + 0.05).all()
        assert taken(lab.INPUTS, row, "sigma, entropy").max() < 0.1
        standard = taken(lab.INPUTS, row, "sigma, standardised")
        assert 5.7 < standard.min() and standard.max() < 20
        half, plain, twice = (
            gains(
                (lab.SENSITIVITY, f"supervised{change}") if change else SUPERVISED,
                (
                    lab.SENSITIVITY,
                    f"semi-supervised, beta2 on the grid of beta{change}",
                ),
                rates=("5",),
            )[f"auc-roc {row} 5"].mean()
            for change in (", half the time", "", ", twice the time")
        )
        assert half > plain > twice and twice < 0.01
    printed = gains(
        *((lab.SENSITIVITY, f"{method}, sigma = 5.7") for method in lab.METHODS),
        rates=("5",),
    )
    for column, d in printed.items():
        assert d.mean() < 0 if " 0.01 " in column else sign_flip_test(d) < 0.025
