"""Lab 11: the protocol of OK3 section 3.1, its stored tables, and that no test image is ever learnt from."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from okbook.labs import ok3_image_completion as lab
from okbook.tables import compare, read_cells, read_paper

TABLES = Path(__file__).parents[1] / "tables"
LEARNERS = [row for row in lab.METHODS if row not in ("Base", "Lower bound")]


@pytest.fixture(scope="module")
def small_task():
    "A quarter of the stand-in: 25 images of each digit."
    task = lab.digits_completion()
    keep = np.sort(np.concatenate([np.flatnonzero(task.target == digit)[:25] for digit in range(10)]))
    return replace(task, top=task.top[keep], bottom=task.bottom[keep], target=task.target[keep])


@pytest.fixture(scope="module")
def table1():
    return compare(lab.TABLE, TABLES / lab.TABLE.id)


def test_rows_without_freedom_agree_with_the_paper(table1):
    "Base error and lower bound (eq-ok3-14), and k-NN, which is not random either."
    fixed = table1[table1["row"].isin(["Base", "Lower bound", "k-NN"])]
    assert len(fixed) == 6
    np.testing.assert_allclose(fixed["ours"].to_numpy(), fixed["paper"].to_numpy(), atol=1e-3, rtol=0, strict=True)


def test_printed_numbers():
    paper = read_paper(TABLES / "ok3-table1")
    assert paper["Base", "200"] == (1.0945, 0.0125)
    assert paper["Lower bound", "800"] == (0.3584, 0.0118)
    assert len(paper) == 16


def test_every_cell_is_inside_two_deviations_of_the_paper(table1):
    "And those outside of one are the three that the lab discusses, under 'Where we differ'."
    away = (table1["ours"] - table1["paper"]).abs() / table1["paper_sd"]
    assert away.max() < 2
    discussed = {("OK3 single tree", "800"), ("OK3 bagging", "200"), ("OK3 extra-trees", "200")}
    assert set(table1[away > 1][["row", "column"]].itertuples(index=False, name=None)) == discussed


def test_order_of_the_methods(table1):
    "The paper's conclusions, in our numbers."
    for size in lab.TABLE.columns:
        ours = table1[table1["column"] == size].set_index("row")["ours"]
        assert ours.idxmin() == "Lower bound"
        assert ours.drop("Lower bound").idxmin() == "KDE RBF"
        assert ours["OK3 extra-trees"] < ours["OK3 bagging"] < ours["OK3 single tree"] < ours["Base"]


def test_importances_are_shares():
    stored = read_cells(TABLES / lab.FIGURE1.id)
    shares = np.array([value for value, _ in stored.values()])
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(), 1.0, atol=1e-9)


@pytest.mark.parametrize("size", lab.TABLE.columns)
def test_folds(size):
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 10):
        target = rng.permutation(np.repeat(np.arange(n_classes), 20))
        folds = [lab.split(target, size, fold) for fold in range(5)]
        for train, test in folds:
            np.testing.assert_array_equal(np.union1d(train, test), np.arange(len(target)), strict=True)
            assert len(np.intersect1d(train, test)) == 0
            assert len(np.unique(np.bincount(target[train]))) == 1
            assert len(train) == len(target) * (1 if size == "200" else 4) // 5
        small = [train if size == "200" else test for train, test in folds]
        np.testing.assert_array_equal(np.sort(np.concatenate(small)), np.arange(len(target)), strict=True)
        for digit in range(n_classes):  # the original order: no image of a later part precedes one of an earlier part
            order = np.concatenate([part[target[part] == digit] for part in small])
            np.testing.assert_array_equal(order, np.flatnonzero(target == digit), strict=True)


def test_inner_selection_sees_the_training_part_only():
    target = np.tile(np.arange(5), 30)
    train, test = lab.split(target, "800", 2)
    seen = []

    def errors(fit, held):
        seen.append((fit, held))
        return {"a": len(seen), "b": 0.5}

    assert lab.select_by_inner_folds(errors, target, train) == "b"
    assert len(seen) == 5
    for fit, held in seen:
        assert len(np.intersect1d(np.union1d(fit, held), test)) == 0
        assert len(np.intersect1d(fit, held)) == 0
    np.testing.assert_array_equal(np.sort(np.concatenate([held for _, held in seen])), train, strict=True)


def test_selection_takes_the_first_among_equals():
    assert lab.select_by_inner_folds(lambda fit, held: {1: 0.0, 5: 0.0}, np.zeros(10), np.arange(10)) == 1


@pytest.mark.parametrize("row", LEARNERS)
def test_no_method_sees_the_test_outputs(small_task, row):
    "Change every test output, and the outputs of nothing else: the predictions stay."
    method, options = lab.METHODS[row]
    options = {name: min(value, 10) if name == "n_estimators" else value for name, value in options.items()}
    train, test = lab.split(small_task.target, "200", 1)
    bottom = small_task.bottom.copy()
    bottom[test] = np.random.default_rng(0).uniform(-1, 1, bottom[test].shape)
    predictions = [method(task, train, test, 0, **options) for task in (small_task, replace(small_task, bottom=bottom))]
    np.testing.assert_array_equal(*predictions, strict=True)
    assert set(predictions[0]) <= set(train)


@pytest.mark.parametrize("row", list(lab.METHODS))
def test_no_method_beats_the_bound(small_task, row):
    method, options = lab.METHODS[row]
    options = {name: min(value, 10) if name == "n_estimators" else value for name, value in options.items()}
    error = lab.completion_error(small_task, method, options, "800", 0, seed=0)
    assert error >= lab.completion_error(small_task, *lab.METHODS["Lower bound"], "800", 0, seed=0)
    assert 0 <= error <= 2


def test_cells_are_pure(small_task, monkeypatch):
    monkeypatch.setattr(lab, "usps_completion", lambda: small_task)
    for row in ("KDE linear", "OK3 single tree"):
        assert lab.compute_cell(row, "200", 0, seed=3) == lab.compute_cell(row, "200", 0, seed=3)


def test_without_the_file_the_stand_in_runs(small_task):
    assert lab.digits_completion().top.shape == (1000, 32)
    assert lab.digits_completion().shape == (4, 8)
    assert os.environ.get("OKBOOK_OFFLINE") == "1"  # nothing is downloaded in a test
