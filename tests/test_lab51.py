"""Lab 51: folds and false labels, tests over many data sets, stored tables, and that no test label is learnt from."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, wilcoxon
from sklearn.metrics import accuracy_score

from okbook.datasets import load_uci
from okbook.labs import votes_noise as lab
from okbook.labs import votes_noise_protocol as protocol
from okbook.tables import check_slice, read_cells

TABLES = Path(__file__).parents[1] / "tables"


# The protocol


@pytest.mark.parametrize("n", [195, 351])
def test_folds(n):
    y = (np.arange(n) % 3 == 0).astype(int)
    seen = set()
    for repeat in range(2):
        parts = [protocol.fold(y, 10 * repeat + which) for which in range(10)]
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(n), strict=True)
        for train, test in parts:
            np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(n), strict=True)
            assert abs(y[test].sum() - y.sum() / 10) < 1 and abs(len(test) - n / 10) < 2
        seen |= {np.sort(test).tobytes() for _, test in parts}
    assert len(seen) == 20
    np.testing.assert_array_equal(protocol.fold(y, 3)[0], protocol.fold(y, 3)[0])


@pytest.mark.parametrize("percent", protocol.NOISE)
def test_noise_is_the_share_it_says(percent):
    y = np.random.default_rng(0).integers(0, 2, 187)
    before = y.copy()
    assert np.sum(protocol.with_noise(y, percent) != y) == round(187 * percent / 100)
    np.testing.assert_array_equal(y, before)  # a copy is turned around


def test_noise_is_drawn_from_the_whole_training_part():
    "The training part is in random order: false labels are spread over rows and classes."
    y = protocol.load_task("wdbc")[1]
    false = np.zeros(len(y))
    for number in range(40):
        train, _ = protocol.fold(y, number)
        false[train[protocol.with_noise(y[train], 20) != y[train]]] += 1
    expected = 40 * 0.9 * 0.2
    assert abs(false[y == 0].mean() - expected) < 0.7 and abs(false[y == 1].mean() - expected) < 0.7
    assert false.max() < expected + 6 * np.sqrt(expected)


@pytest.mark.parametrize("method", protocol.METHODS)
def test_learners_are_those_of_the_protocol(method):
    machine = protocol.learner(method, seed=3)
    tree = machine if method == "tree" else machine.estimator
    params = tree.get_params()
    assert (params["criterion"], params["min_samples_leaf"], params["confidence"]) == ("entropy", 2, 0.25)
    assert params["n_best"] == (20 if method == "stochastic" else 1) and params["max_features"] is None
    assert machine.random_state == 3
    if method != "tree":
        assert machine.n_estimators == 200
    if method in ("bagging", "stochastic"):
        assert machine.bootstrap == (method == "bagging")


@pytest.fixture
def small(monkeypatch):
    "A task whose labels can be set, with few hypotheses."
    X, y = protocol.load_task("wdbc")
    task = [X[::4, :8], y[::4].copy()]
    monkeypatch.setattr(protocol, "N_HYPOTHESES", 15)
    monkeypatch.setattr(protocol, "load_task", lambda name: tuple(task))
    return task


@pytest.mark.parametrize("method", protocol.METHODS)
@pytest.mark.parametrize("noise", [0, 20])
def test_no_test_label_is_learnt_from(small, method, noise, monkeypatch):
    "Turn all test labels around: the predictions stay, so the error e becomes 1 - e."
    y = small[1].copy()
    train, test = protocol.fold(y, 4)
    monkeypatch.setattr(protocol, "fold", lambda _, number: (train, test))  # the same parts, turned or not
    before, _ = protocol.run_fold("small", 4, method, seed=0, noise=noise)
    small[1] = y.copy()
    small[1][test] = 1 - y[test]
    after, _ = protocol.run_fold("small", 4, method, seed=0, noise=noise)
    assert after == pytest.approx(1 - before)


@pytest.mark.parametrize("method", protocol.METHODS)
def test_false_labels_are_learnt_and_true_ones_judge(small, method):
    "All labels false: the errors are those of the opposite answers."
    train, test = protocol.fold(small[1], 0)
    machine = protocol.learner(method, seed=0).fit(small[0][train], 1 - small[1][train])
    expected = 1 - accuracy_score(small[1][test], machine.predict(small[0][test]))
    assert protocol.run_fold("small", 0, method, seed=0, noise=100)[0] == pytest.approx(expected)
    assert expected > 0.5


def test_size_keeps_the_first_of_the_training_part(small):
    X, y = small
    train, test = protocol.fold(y, 2)
    tree = protocol.learner("tree", seed=0).fit(X[train[:60]], y[train[:60]])
    assert protocol.run_fold("small", 2, "tree", seed=0, size=60)[0] == np.mean(tree.predict(X[test]) != y[test])


def test_adaboost_with_nothing_to_begin_with(small):
    "Half of each class, and no test that tells them apart: the tree answers alone."
    small[0], small[1] = np.ones((200, 2)), np.arange(200) % 2
    train, _ = protocol.fold(small[1], 0)
    assert protocol.learner("tree", seed=0).fit(small[0][train], small[1][train]).get_n_leaves() == 1
    error, n_asking = protocol.run_fold("small", 0, "AdaBoost", seed=0)
    assert error == 0.5 and n_asking == 0


def test_missing_answers_are_between_no_and_yes(require_dataset):
    require_dataset("vote")
    X, y = protocol.load_task("vote")
    raw = load_uci("vote")
    np.testing.assert_array_equal(X[np.isnan(raw.data)], 0.5)
    np.testing.assert_array_equal(X[~np.isnan(raw.data)], raw.data[~np.isnan(raw.data)])
    assert X.shape == (435, 16) and set(y) == {0, 1}


# The tests over many data sets


def test_compare_ranks():
    "eq-noise-friedman, by hand and by scipy."
    errors = np.random.default_rng(1).random((12, 4))
    found = lab.compare_ranks(errors)
    n, k = errors.shape
    ranks = rankdata(errors, axis=1).mean(axis=0)
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    np.testing.assert_allclose(found["ranks"], ranks)
    assert found["chi2"] == pytest.approx(chi2) == friedmanchisquare(*errors.T).statistic  # eq-noise-friedman
    assert found["F"] == pytest.approx((n - 1) * chi2 / (n * (k - 1) - chi2))


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_difference(k, q):
    "eq-noise-nemenyi, with the quantiles that Demsar prints."
    found = lab.compare_ranks(np.random.default_rng(k).random((14, k)))
    assert found["cd"] == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), abs=1e-3)  # eq-noise-nemenyi


def test_compare_ranks_when_all_agree():
    found = lab.compare_ranks([[1, 2, 3]] * 5)
    assert found["ranks"].tolist() == [1, 2, 3] and found["F"] == np.inf and found["p"] == 0


def test_compare_ranks_keeps_its_level():
    "Equal methods: one comparison in twenty is called significant."
    rng = np.random.default_rng(0)
    alarms = np.mean([lab.compare_ranks(rng.random((12, 4)))["p"] < 0.05 for _ in range(1000)])
    assert 0.03 < alarms < 0.075


def test_holm():
    np.testing.assert_allclose(lab.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(lab.holm([0.5, 0.9]), [1, 1])
    assert lab.holm([]).shape == (0,)
    rng = np.random.default_rng(0)
    alarms = np.mean([lab.holm(rng.random(3)).min() < 0.05 for _ in range(4000)])
    assert 0.035 < alarms < 0.065  # of three true hypotheses none is rejected, in 95 of 100 cases


def test_judge():
    down = -np.arange(1.0, 13)
    found = lab.judge({"down": down, "up": -down, "neither": down * np.resize([1, -1], 12)})
    assert [one["verdict"] for one in found.values()] == ["supported", "contradicted", "not supported"]
    assert found["down"]["p"] == wilcoxon(down).pvalue == 2 / 2**12
    assert found["down"]["holm"] == pytest.approx(3 * 2 / 2**12)
    assert (found["up"]["agree"], found["up"]["disagree"]) == (0, 12) and found["up"]["mean"] == 6.5
    assert lab.judge({"all equal": np.zeros(12)})["all equal"]["verdict"] == "not supported"


def test_chain_and_conclude():
    rng = np.random.default_rng(0)
    base = rng.random(12)
    errors = {"a": base, "b": base + rng.uniform(0.01, 0.02, 12), "c": base + rng.uniform(0.03, 0.04, 12)}
    assert lab.conclude(lab.chain(errors, "abc")) == "supported"
    assert lab.conclude(lab.chain(errors, "acb")) == "contradicted"
    assert list(lab.chain(errors, "abc")) == ["a > b", "a > c", "b > c"]
    errors["b"] = base + rng.normal(0, 0.001, 12)
    assert lab.conclude(lab.chain(errors, "abc")) == "not supported"


def test_slopes():
    sizes = [50, 100, 200, 400]
    slopes = lab.slope_per_doubling(sizes, np.outer([0, 1, 2, 3], [1.0, -2.0]) + 7)
    np.testing.assert_allclose(slopes, [1.0, -2.0], strict=True)


# The tables


def test_what_needs_no_file_agrees():
    embedded = replace(lab.TABLE, slice=[("Wdbc", column, 3) for column in ("tree, 10 %", "bagging, 0 %")])
    check_slice(embedded, TABLES / lab.TABLE.id)


def test_keys_come_repetition_by_repetition():
    for table in lab.TABLES:
        keys = table.keys()
        assert all(one.repeat // 10 <= other.repeat // 10 for one, other in pairwise(keys))
        assert len(keys) == len(set(keys))
        for row in table.rows:
            assert {key.repeat for key in keys if key.row == row} == set(range(10 * table.times[row]))


def test_sizes_are_smaller_than_the_training_parts(require_dataset):
    require_dataset(*lab.UCI)
    for row, name in lab.DATASETS.items():
        assert len(protocol.load_task(name)[1]) == lab.N_EXAMPLES[row]
        train, _ = protocol.fold(protocol.load_task(name)[1], 0)
        sizes = {lab.SIZE_COLUMNS[column]["size"] for where, column in lab.SIZE.cells if where == row}
        assert sizes and max(sizes) < len(train) and abs(len(train) - 0.9 * lab.N_EXAMPLES[row]) < 2


def test_what_the_page_says():
    "Noise costs AdaBoost most of the votes, and bagging is ahead of it with a fifth of the labels false."
    stored, mean = read_cells(TABLES / "votes-noise"), {}
    for (row, column, _), (value, _) in stored.items():
        mean.setdefault((row, column), []).append(value)
    mean = {key: np.mean(values) for key, values in mean.items()}
    rise = {
        method: np.mean([mean[row, f"{method}, 20 %"] - mean[row, f"{method}, 0 %"] for row in lab.DATASETS])
        for method in lab.METHODS[1:]
    }
    assert max(rise, key=rise.get) == "AdaBoost"
    errors = {method: [mean[row, f"{method}, 20 %"] for row in lab.DATASETS] for method in lab.METHODS}
    assert lab.chain(errors, ("bagging", "AdaBoost"))["bagging > AdaBoost"]["verdict"] == "supported"
