"""Lab 11, boosting: a row beyond the source, chosen without a look at a test image, shown in the table."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from okbook.labs import ok3_boosting as lab
from okbook.labs import ok3_image_completion as eight
from okbook.tables import compare, read_paper

ROOT = Path(__file__).parents[1]
STORED = ROOT / "tables" / lab.TABLE.id


@pytest.fixture(scope="module")
def small_task():
    "A quarter of the stand-in: 25 images of each digit."
    task = eight.digits_completion()
    keep = np.sort(np.concatenate([np.flatnonzero(task.target == digit)[:25] for digit in range(10)]))
    return replace(task, top=task.top[keep], bottom=task.bottom[keep], target=task.target[keep])


def quick(row):
    "A method, with little to choose from and few rounds."
    method, options = lab.METHODS[row]
    options = {name: min(value, 10) if name == "n_estimators" else value for name, value in options.items()}
    return method, options or {"depths": (2, 3), "rounds": (5, 10)}


def test_the_source_prints_no_number():
    assert read_paper(STORED) == {}


def test_same_folds_and_same_trees_as_the_paper():
    "The row differs from that of extra-trees in how the trees are put together, and in their depth."
    assert (lab.TABLE.columns, lab.TABLE.repeats) == (eight.TABLE.columns, eight.TABLE.repeats)
    assert lab.BOOSTING["n_estimators"] == max(lab.ROUNDS) == eight.EXTRA_TREES["n_estimators"]
    assert lab.BOOSTING["min_samples_split"] == eight.EXTRA_TREES["min_samples_split"]
    assert lab.BOOSTING["splitter"] == eight.EXTRA_TREES["model"]().splitter


@pytest.mark.parametrize("row", list(lab.METHODS))
def test_no_method_sees_the_test_outputs(small_task, row):
    "Change every test output, and the outputs of nothing else: the predictions stay."
    method, options = quick(row)
    train, test = eight.split(small_task.target, "200", 1)
    bottom = small_task.bottom.copy()
    bottom[test] = np.random.default_rng(0).uniform(-1, 1, bottom[test].shape)
    predictions = [method(task, train, test, 0, **options) for task in (small_task, replace(small_task, bottom=bottom))]
    np.testing.assert_array_equal(*predictions, strict=True)
    assert set(predictions[0]) <= set(train)


@pytest.mark.parametrize("row", list(lab.METHODS))
def test_no_method_beats_the_bound(small_task, row):
    error = eight.completion_error(small_task, *quick(row), "800", 0, seed=0)
    assert eight.completion_error(small_task, *eight.METHODS["Lower bound"], "800", 0, seed=0) <= error <= 2


def test_a_grid_is_made_of_shorter_fits(small_task):
    "eq-kboost-forward: each number of rounds is the fit with that many trees."
    train, _ = eight.split(small_task.target, "800", 0)
    fit, held = train[::2], train[1::2]
    grid = lab.boosting_errors(small_task, fit, held, seed=3, depths=(2, None), rounds=(4, 9))
    assert set(grid) == {(2, 4), (2, 9), (None, 4), (None, 9)}
    for (depth, rounds), error in grid.items():
        options = lab.BOOSTING | {"max_depth": depth, "n_estimators": rounds}
        chosen = eight.complete_by_trees(small_task, fit, held, 3, **options)
        np.testing.assert_allclose(error, small_task.loss[held, chosen].mean(), rtol=1e-12)


def test_cells_are_pure(small_task, monkeypatch):
    monkeypatch.setattr(lab, "usps_completion", lambda: small_task)
    row = "depth 6, half the examples a tree"
    assert lab.compute_cell(row, "200", 0, seed=3) == lab.compute_cell(row, "200", 0, seed=3)


def test_page_11_shows_the_row():
    "Marked as beyond the source."
    cells = json.loads((ROOT / "nbs" / "11_image_completion.ipynb").read_text(encoding="utf-8"))["cells"]
    showing = [text for text in ("".join(cell["source"]) for cell in cells) if "beyond the source" in text]
    assert any("ok3_boosting" in "".join(cell["source"]) for cell in cells)
    assert any("to_markdown" in text for text in showing)
    assert "lab-ok3-boosting" in " ".join("".join(cell["source"]) for cell in cells)


def test_conclusions():
    "What the lab's prose says of the stored numbers."
    ours = compare(lab.TABLE, STORED).set_index(["row", "column"])["ours"]
    others = compare(eight.TABLE, ROOT / "tables" / eight.TABLE.id).set_index(["row", "column"])["ours"]
    for size in lab.TABLE.columns:
        assert others["Lower bound", size] < ours["OK3 boosting", size] < others["OK3 bagging", size]
        assert others["KDE RBF", size] < ours["OK3 boosting", size]
        plain = ours["depth 6, 100 rounds", size]
        apart = {row: abs(ours[row, size] - plain) for row in list(lab.METHODS)[1:]}
        assert max(apart, key=apart.get) == "depth 6, no shrinkage" and ours["depth 6, no shrinkage", size] > plain
        assert ours["depth 6, best thresholds", size] > plain
    assert ours["OK3 boosting", "200"] < others["OK3 extra-trees", "200"]
    assert others["OK3 extra-trees", "800"] < ours["OK3 boosting", "800"]
    assert ours["depth 6, 100 rounds", "800"] < ours["OK3 boosting", "800"] < ours["depth 3, 100 rounds", "800"]
