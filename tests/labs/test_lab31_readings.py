"""Lab 31, readings and ceiling: what was fixed before the first look, and that no
test class chooses anything but where the page says so."""

from itertools import combinations

import numpy as np
import pytest

from okbook.labs import forest_reproduction as lab
from okbook.labs.common import stored_values
from okbook.labs.forest_uci import parts


@pytest.fixture
def turned(monkeypatch):
    "A small task, and a function that turns the test classes of a split around."
    (X, y), task = lab.load_task("wdbc"), []
    rows = np.r_[:60, 400:460]
    X, y = X[rows, :6], (y[rows] == "M").astype(int)
    task = [X, y]
    forest = lab.source_forest
    monkeypatch.setattr(lab, "load_task", lambda name, one_hot=False: tuple(task))
    small = {"n_estimators": 15}
    monkeypatch.setattr(
        lab,
        "source_forest",
        lambda X, seed, **options: forest(X, seed, **options).set_params(**small),
    )
    cut = lab.cut_parts
    monkeypatch.setattr(lab, "cut_parts", lambda _, r, how: cut(y, r, how))
    monkeypatch.setattr(lab, "parts", lambda _, repeat: parts(y, repeat))

    def turn(repeat, how):
        test = cut(y, repeat, how)["test"]
        task[1] = y.copy()
        task[1][test] = 1 - y[test]
        lab.run_readings.cache_clear()

    lab.run_readings.cache_clear()
    yield turn
    lab.run_readings.cache_clear()


def test_the_product_of_choices():
    assert len(lab.READINGS) == 32 and len(lab.VOTES) == 4 and lab.N_FIRST == 5
    assert len(lab.MKL_READINGS) == 12
    first = next(iter(lab.READINGS.values()))
    assert first == tuple(choice[0] for choice in lab.CHOICES.values())


@pytest.mark.parametrize("how", lab.CHOICES["cut"])
def test_readings_see_no_test_class(turned, how):
    before = lab.run_readings("wdbc", 0, how, "codes")
    turned(0, how)
    after = lab.run_readings("wdbc", 0, how, "codes")
    for key, value in before.items():  # all that was right is wrong, and vice versa
        np.testing.assert_allclose(value + after[key], 1.0)


@pytest.mark.parametrize("way", lab.WAYS)
def test_ways_see_no_test_class(turned, way):
    def accuracy():
        return lab.compute_mkl_reading("Wdbc", way, "in [0, 1]", 0)

    before = accuracy()
    turned(0, "from all")
    np.testing.assert_allclose(before + accuracy(), 1.0)


@pytest.mark.parametrize("peer", lab.PEERS)
def test_peers_see_no_test_class(turned, peer):
    before = lab.peer_accuracy("wdbc", 0, peer)
    turned(0, "from all")
    np.testing.assert_allclose(before + lab.peer_accuracy("wdbc", 0, peer), 1.0)


def test_cuts():
    y = np.repeat([0, 1], [70, 30])
    for repeat in range(3):
        at = lab.cut_parts(y, repeat, "within classes")
        assert len(at["test"]) == 30 and y[at["test"]].sum() == 9
        assert sorted([*at["fit"], *at["held"]]) == sorted(at["train"])
        assert set(at["train"]).isdisjoint(at["test"])


def test_product_of_gaussians():
    "eq-uci-product, eq-uci-product-value, eq-uci-product-slope"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    signs = np.where(X[:, 0] ** 2 > 0.5, 1.0, -1.0)  # one variable of four matters
    K = lab.product_gram(X[:7], X[:9], np.array([1.0, 0.5, 0.0, 2.0]))
    for i, j in combinations(range(7), 2):
        squares = (X[i] - X[j]) ** 2
        np.testing.assert_allclose(
            K[i, j], np.exp(-squares @ np.array([1.0, 0.5, 0.0, 2.0]))
        )
    d = lab.learn_product(X, signs, C=10.0)
    assert d[0] > 2 * d[1:].max() and (d >= 0).all()


def test_first_look_of_the_quoted_column():
    "The survivors that were run in full are those that survived."
    found = stored_values(lab.MKL_READINGS_TABLE.id)
    paper = {"Sonar": 0.823, "Liver": 0.727, "Parkinsons": 0.926}
    paper |= {"Pima": 0.772, "Ionosphere": 0.93}

    def reaches(row, reading):
        values = found[row, reading]
        deviation = values.std(ddof=1) * np.sqrt(1 / len(values) + 1 / 20)
        return abs(values.mean() - paper[row]) <= 2 * deviation

    survive = [r for r in lab.MKL_READINGS if all(reaches(row, r) for row in paper)]
    assert set(lab.SURVIVORS) <= set(survive) and len(survive) == 2


@pytest.mark.parametrize("name", ["sonar", "german", "heart"])
def test_no_equal_rows_to_keep_together(require_dataset, name):
    "What moved these three cells is another draw of the splits."
    require_dataset(name)
    X = np.nan_to_num(lab.load_task(name)[0], nan=-1e30)
    assert len(np.unique(X, axis=0)) == len(X)
