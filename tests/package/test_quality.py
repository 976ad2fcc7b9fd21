"""Quality of a kernel: measures against features written out, and what they refuse."""

import numpy as np
import pytest

from okbook.core import centered_alignment, feature_space_variance
from okbook.forest_kernel import (
    feature_space_measure,
    kernel_polarization,
    mean_direction,
    target_alignment,
)


def problem(seed, n=12, d=3):
    "Points of two classes, their Gram matrix and their signs."
    rng = np.random.default_rng(seed)
    y = np.r_[1, -1, rng.choice([-1, 1], n - 2)]
    points = rng.standard_t(3, size=(n, d)) + rng.uniform(0, 3) * (y > 0)[:, None]
    return points, points @ points.T, y


@pytest.mark.parametrize("seed", range(20))
def test_against_features(seed):
    "eq-quality-polarization, eq-quality-projection, eq-quality-fsm"
    points, K, y = problem(seed)
    total = (points * y[:, None]).sum(axis=0)
    np.testing.assert_allclose(kernel_polarization(K, y), total @ total)
    np.testing.assert_allclose(
        kernel_polarization(K, y),
        len(y) * np.linalg.norm(K) * target_alignment(K, y),
    )
    line = points[y > 0].mean(axis=0) - points[y < 0].mean(axis=0)
    np.testing.assert_allclose(mean_direction(K, y), points @ line)
    along = points @ line / np.linalg.norm(line)
    spread = along[y > 0].std() + along[y < 0].std()
    np.testing.assert_allclose(
        feature_space_measure(K, y), spread / np.linalg.norm(line)
    )


@pytest.mark.parametrize("seed", range(20))
def test_alignment_bounds_the_measure(seed):
    "eq-quality-chain: also for matrices of full rank, and for the classes exchanged."
    _, K, y = problem(seed, d=20)
    aligned = centered_alignment(K, np.outer(y, y))
    measure = feature_space_measure(K, y)
    assert aligned <= 1 / (1 + measure**2) + 1e-12
    np.testing.assert_allclose(feature_space_measure(K, -y), measure)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100, 1e300])
def test_scale_cancels(scale):
    _, K, y = problem(0)
    np.testing.assert_allclose(
        feature_space_measure(scale * K, y), feature_space_measure(K, y)
    )


def test_single_precision_is_kept_where_it_was_given():
    """The entries are rounded, the sums of them are not."""
    _, K, y = problem(0)
    single = K.astype(np.float32)
    double = single.astype(float)
    for measure in (feature_space_measure, mean_direction):
        np.testing.assert_array_equal(measure(single, y), measure(double, y))
    assert feature_space_variance(single) == feature_space_variance(double)


def test_what_cannot_be_measured():
    for K in (np.zeros((4, 4)), np.ones((4, 4)), 1e300 * np.ones((4, 4))):
        assert feature_space_measure(K, [0, 1, 0, 1]) == np.inf
    for measure in (feature_space_measure, kernel_polarization, mean_direction):
        with pytest.raises(ValueError, match="Two classes are needed"):
            measure(np.eye(3), [0, 0, 0])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            measure(np.eye(3), [0, 1])
