"""Tables of leaves: predictions from them are those of the weights, whatever the
ensemble."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okbook.core import decode_weights, predicted_gram
from okbook.ensembles import OutputKernelBoosting
from okbook.trees import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
)

RNG = np.random.default_rng(0)
X, Y, Q = RNG.normal(size=(60, 3)), RNG.normal(size=(60, 2)), RNG.normal(size=(40, 3))
TIES = np.round(Y)  # equal outputs, so that candidates tie


@pytest.mark.parametrize("options", [{}, {"max_depth": 2}, {"ccp_alpha": 0.05}])
def test_pre_images_of_leaves_are_those_of_the_queries(options):
    "eq-ok3-14: bit for bit, with ties, weights, pruning and a tree of one leaf."
    weight = RNG.integers(0, 3, 60)
    for y, kernel in ((Y, "rbf"), (TIES, "rbf"), (TIES, "polynomial")):
        for sample_weight in (None, weight):
            tree = OutputKernelTree(kernel, random_state=0, **options)
            K = tree.fit(X, y, sample_weight).gram_
            right = decode_weights(tree.weights(Q), K, K.diagonal(), support=True)
            for some in (slice(3), slice(None), slice(None)):  # some leaves are known
                assert_array_equal(tree.decode(Q[some]), right[some])
    one = OutputKernelTree("rbf", min_samples_leaf=31).fit(X, Y)
    assert len(set(one.decode(Q))) == 1


MODELS = [
    OutputKernelTree("rbf", min_samples_leaf=3, random_state=0),
    OutputKernelExtraTrees("rbf", n_estimators=7, random_state=0),
    OutputKernelBagging("rbf", n_estimators=7, random_state=0),
    OutputKernelRandomForest("rbf", n_estimators=7, random_state=0),
    OutputKernelBoosting("rbf", n_estimators=7, random_state=0, subsample=0.7),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_prediction_is_a_mean_of_rows(model):
    "eq-lookup-mean: bootstraps, where weights are no kernel, included."
    W = model.fit(X, Y).weights(Q)
    values, reached = RNG.normal(size=(60, 4)), model.activations(Q)
    assert_allclose(reached @ model.contributions(values), W @ values, atol=1e-12)
    K = model.gram_
    s, U = np.linalg.eigh(K)
    points = reached @ model.contributions(U * np.sqrt(np.maximum(s, 0)))
    assert_allclose(points @ points.T, predicted_gram(W, W, K), atol=1e-9)


def test_the_mean_of_trees_is_no_mean_over_leaves():
    """Mutants: a mean over the examples of all leaves together, and leaves without
    the weights of the bootstrap."""
    model = OutputKernelBagging(n_estimators=5, min_samples_leaf=8, random_state=0)
    W, values = model.fit(X, Y).weights(Q).toarray(), RNG.normal(size=(60, 2))
    right = model.activations(Q) @ model.contributions(values)
    together = (W > 0) @ values / (W > 0).sum(axis=1, keepdims=True)
    assert np.abs(together - right).max() > 0.01
    unweighted = np.zeros_like(right)
    for member in model.estimators_:
        mine = member.weights(Q).toarray() > 0
        unweighted += mine @ values / mine.sum(axis=1, keepdims=True) / 5
    assert np.abs(unweighted - right).max() > 0.01


@pytest.mark.parametrize("seed", range(20))
def test_the_loss_bounds_the_error_of_the_kernel(seed):
    "eq-lookup-bound: outputs of any norm, weights of any forest."
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(12, 3)) * rng.exponential(size=(12, 1))
    W = rng.exponential(size=(2, 12)) * rng.integers(0, 2, (2, 12))
    phi = rng.normal(size=(2, 3))
    hat = W @ Phi
    losses = np.sum((hat - phi) ** 2, axis=1)
    error = abs(hat[0] @ hat[1] - phi[0] @ phi[1])
    bound = np.sqrt(losses[0] * (phi[1] @ phi[1]))
    bound += np.sqrt(losses[1] * (hat[0] @ hat[0]))
    assert error <= bound + 1e-9
