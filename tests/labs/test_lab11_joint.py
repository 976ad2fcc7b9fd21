"""Lab 11, beyond the source: what selects is training data, what is compared is the
same task, and what the features of the seam are."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from okbook.core import output_kernel_loss
from okbook.labs import ok3_image_completion as eight, ok3_reproduction as lab


@pytest.fixture(scope="module")
def small_task():
    "A quarter of the stand-in: 25 images of each digit."
    task = eight.digits_completion()
    keep = np.concatenate([np.flatnonzero(task.target == d)[:25] for d in range(10)])
    return replace(
        task, top=task.top[keep], bottom=task.bottom[keep], target=task.target[keep]
    )


def test_features_of_the_seam_by_a_loop(small_task):
    "Each column: the last line above, the first line below."
    features = lab.seam_features(small_task, [3, 150], [3, 7, 60])
    for i, a in enumerate((3, 150)):
        for j, b in enumerate((3, 7, 60)):
            top = small_task.top[a].reshape(small_task.shape)[-1]
            bottom = small_task.bottom[b].reshape(small_task.shape)[0]
            np.testing.assert_allclose(features[i, j], -((top - bottom) ** 2))


@pytest.mark.parametrize("row", lab.MARGINS)
def test_no_test_output_is_used(small_task, row, monkeypatch):
    "Other outputs of the test part, the same predictions: at both sizes."
    monkeypatch.setattr(lab, "WIDTHS", (3.5,))
    monkeypatch.setattr(lab, "PENALTIES", (0.3, 1.0))
    for size in ("200", "800"):
        train, test = eight.split(small_task.target, size, 0)
        bottom = small_task.bottom.copy()
        bottom[test] = np.random.default_rng(0).normal(size=bottom[test].shape)
        other = replace(small_task, bottom=bottom)
        assert not np.allclose(other.gram[test], small_task.gram[test])
        other.gram[np.ix_(train, train)] = small_task.gram[np.ix_(train, train)]
        other.__dict__.pop("loss", None)
        chosen = [
            lab.complete_by_margin(task, train, test, **lab.MARGINS[row])
            for task in (small_task, other)
        ]
        np.testing.assert_array_equal(*chosen)
        assert set(chosen[0]) <= set(train)


def test_it_learns_and_is_certified(small_task):
    "The hinge bounds half the loss on the training images (prop-joint-bound)."
    train, _ = eight.split(small_task.target, "800", 0)
    again = lab.complete_structured(small_task, train, train, 1.5, 30.0)
    assert (again == train).mean() > 0.9
    error = small_task.loss[train, again].mean()
    by_core = output_kernel_loss(
        small_task.bottom[train],
        small_task.bottom[again],
        "rbf",
        {"sigma": small_task.sigma},
    )
    np.testing.assert_allclose(error, by_core)
    with pytest.warns(ConvergenceWarning):
        lab.structured_svm(np.eye(9), np.eye(9), np.arange(9), 9.0, max_iter=1)


def test_larger_parts_select_on_one_fifth(monkeypatch):
    "With 800 images the inner folds learn from 160 of them."
    task, seen = eight.digits_completion(), []

    def method(task, fit, held, sigma, C):
        seen.append((len(fit), len(held)))
        return np.full(len(held), fit[0])

    for size in ("200", "800"):
        train, test = eight.split(task.target, size, 0)
        lab.complete_by_margin(task, train, test, method=method)
    grid = len(lab.WIDTHS) * len(lab.PENALTIES)
    small, large = seen[: 5 * grid + 1], seen[5 * grid + 1 :]
    assert set(small[:-1]) == {(160, 40)} and small[-1] == (200, 800)
    assert set(large[:-1]) == {(160, 640)} and large[-1] == (800, 200)
