"""himalaya's kernel ridge regression and ours give the same numbers, where it is
installed (`make peers`). Its packages hold no tests, so that none of them can judge us.

Nor do those of MKLpy 0.6. It is not installed beside us: its machines, kernels and
measures import torch and cvxopt, neither of which our locked environment has (the
chapter on speed tells how to compare by hand).
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from okbook.rkhs import OutputKernelRidge, OutputKernelRidgeCV, leave_one_out_losses

kernel_ridge = pytest.importorskip("himalaya.kernel_ridge")
HOW = {"gamma": 0.2}


def problem(n=40):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n, 4))
    return X, np.tanh(X @ draw.normal(size=(4, 3))) + 0.1 * draw.normal(size=(n, 3))


@pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])
def test_the_same_predictions(alpha):
    X, Y = problem()
    theirs = kernel_ridge.KernelRidge(alpha=alpha, kernel="rbf", kernel_params=HOW)
    ours = OutputKernelRidge(lam=alpha, input_kernel_params=HOW)
    assert_allclose(
        ours.fit(X[:30], Y[:30]).predict(X[30:]),
        theirs.fit(X[:30], Y[:30]).predict(X[30:]),
        rtol=1e-6,
    )


def test_the_same_predictions_with_an_intercept():
    X, Y = problem()
    Y = Y + 100.0
    theirs = kernel_ridge.KernelRidge(
        alpha=0.5, kernel="linear", fit_intercept=True, warn=False
    )
    ours = OutputKernelRidge(lam=0.5, input_kernel="linear", center=True)
    assert_allclose(
        ours.fit(X[:30], Y[:30]).predict(X[30:]),
        theirs.fit(X[:30], Y[:30]).predict(X[30:]),
        rtol=1e-6,
    )


def test_the_same_choice():
    "Leave-one-out by their folds, of which there are as many as examples."
    X, Y = problem()
    grid = np.logspace(-3, 2, 11)
    theirs = kernel_ridge.KernelRidgeCV(
        alphas=grid, kernel="rbf", kernel_params=HOW, cv=len(X)
    ).fit(X, Y.mean(axis=1))
    ours = OutputKernelRidgeCV(lam_grid=grid, input_kernel_params=HOW)
    assert_allclose(ours.fit(X, Y.mean(axis=1)).lam_, theirs.best_alphas_)
    y = Y.mean(axis=1)
    losses = leave_one_out_losses(
        ours.input_kernel_.gram(X), np.multiply.outer(y, y), [ours.lam_]
    )
    assert_allclose(losses.mean(), -theirs.cv_scores_.max(), rtol=1e-4)
