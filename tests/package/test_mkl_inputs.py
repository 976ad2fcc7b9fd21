"""What kernel machines take: Gram matrices in any order of axes, data with an offset, a
kernel that is constant; and what they refuse, in words of the user's."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from okbook.core import LinearKernel, RBFKernel
from okbook.mkl import (
    AlignmentMKL,
    BestKernel,
    KernelCombiner,
    TwoStageMKL,
    UniformMKL,
)

MACHINES = [UniformMKL, BestKernel, AlignmentMKL, TwoStageMKL]


def problem(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int), rng


def grams(X, Z):
    return [kernel.gram(X, Z) for kernel in (LinearKernel(), RBFKernel(sigma=1.0))]


@pytest.mark.parametrize("cls", [*MACHINES, KernelCombiner])
def test_gram_matrices_in_any_order(cls):
    X, y, _ = problem()
    queries = problem(7, seed=1)[0]
    K, K_new = grams(X, X), grams(queries, X)
    native = cls("precomputed").fit(np.stack(K, axis=1), y)
    predict = "transform" if cls is KernelCombiner else "decision_function"
    right = getattr(native, predict)(np.stack(K_new, axis=1))
    for given, new in (
        (K, K_new),
        (tuple(K), tuple(K_new)),
        (np.array(K), np.array(K_new)),
        (np.array(K), np.stack(K_new, axis=1)),
    ):
        model = cls("precomputed").fit(given, y)
        assert_array_equal(model.weights_, native.weights_)
        assert_allclose(getattr(model, predict)(new), right)
    two = getattr(cls("precomputed").fit(K, y), predict)([k[:2] for k in K_new])
    assert_allclose(two, right[:2])  # as many queries as kernels


def test_as_many_kernels_as_examples():
    "A cube: an array has the examples first, as documented, and a list the kernels."
    X, y, rng = problem(6)
    y[:] = [0, 1, 0, 1, 0, 1]
    K = [RBFKernel(sigma=s).gram(X) for s in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)]
    weights = [
        AlignmentMKL("precomputed", C=1.0).fit(given, y).weights_
        for given in (K, np.stack(K, axis=1))
    ]
    assert_array_equal(*weights)


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("kernels", [None, ["linear", "rbf"]])
def test_an_offset_costs_nothing(cls, kernels):
    "Numbers of ten binary digits, moved by a million: the same machine."
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1024, (40, 3)) / 1024
    y = (X[:, 0] > 0.5).astype(int)
    if kernels:
        kernels = ["linear", RBFKernel(sigma=0.5)]
    found = [
        cls(kernels).fit(X + offset, y).decision_function(X[:9] + offset)
        for offset in (0.0, 2.0**20)
    ]
    assert_allclose(*found, atol=1e-6)


@pytest.mark.parametrize("cls", [*MACHINES, KernelCombiner])
def test_a_constant_kernel_is_named(cls):
    X, y, _ = problem()
    X[:, 2] = 4.2
    kernels = [("position", "rbf", [0, 1]), ("colour", "rbf", [2])]
    with pytest.raises(ValueError, match=r"kernels\[1\], colour, .*same point"):
        cls(kernels).fit(X, y)


@pytest.mark.parametrize("cls", MACHINES)
def test_a_kernel_that_is_constant_in_a_fold(cls):
    X, y, _ = problem()
    X[:, 2] = 0.0
    X[0, 2] = 1.0
    model = cls([("rbf", [0, 1]), ("linear", [2])], C=[0.1, 1.0, 10.0]).fit(X, y)
    assert model.score(X, y) > 0.8 and np.isfinite(model.scores_).all()


def test_a_class_too_small_for_the_folds():
    X, _, _ = problem()
    y = np.r_[np.zeros(38), 1, 1].astype(int)
    with pytest.raises(ValueError, match="Class 1 has 2 members, too few for 2 folds"):
        TwoStageMKL(["rbf", "linear"]).fit(X, y)
    TwoStageMKL(["rbf", "linear"], lam=1e-3, C=1.0).fit(X, y)


@pytest.mark.parametrize("cls", MACHINES)
def test_missing_values_are_those_of_X(cls):
    X, y, _ = problem()
    X[3, 1] = np.nan
    for kernels in (None, ["rbf"], ["linear"]):
        with pytest.raises(ValueError, match=r"X contains NaN"):
            cls(kernels).fit(X, y)


@pytest.mark.parametrize("cls", MACHINES)
def test_sparse_inputs_are_refused(cls):
    X, y, _ = problem()
    for kernels in (None, ["rbf"]):
        with pytest.raises(TypeError, match="[Ss]parse"):
            cls(kernels).fit(sp.csr_array(X), y)


@pytest.mark.parametrize("cls", [*MACHINES, KernelCombiner])
def test_gram_matrices_that_nobody_announced(cls):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"2 matrices of 40 x 40.*precomputed"):
        cls().fit(grams(X, X), y)
