"""Tables of leaves: predictions from them are those of the weights, whatever the
ensemble, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from okbook.core import OutputKernelKNN, predicted_gram
from okbook.ensembles import OutputKernelBoosting
from okbook.trees import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
    decode_leaves,
    look_up,
    tabulate_leaves,
)

RNG = np.random.default_rng(0)
X, Y, Q = RNG.normal(size=(60, 3)), RNG.normal(size=(60, 2)), RNG.normal(size=(40, 3))
TIES = np.round(Y)  # equal outputs, so that candidates tie


@pytest.mark.parametrize("among", ["support", "train"])
@pytest.mark.parametrize("options", [{}, {"max_depth": 2}, {"ccp_alpha": 0.05}])
def test_pre_images_of_leaves_are_those_of_the_queries(options, among):
    "eq-ok3-14: bit for bit, with ties, weights, pruning and a tree of one leaf."
    weight = RNG.integers(0, 3, 60)
    for y, kernel in ((Y, "rbf"), (TIES, "linear"), (TIES, "rbf")):
        for sample_weight in (None, weight):
            tree = OutputKernelTree(kernel, random_state=0, **options)
            tree.fit(X, y, sample_weight)
            table = decode_leaves(tree, among)
            assert_array_equal(table[tree.apply(Q)], tree.decode(Q, candidates=among))
            assert_array_equal(table < 0, tree.tree_.feature >= 0)
    one = OutputKernelTree("rbf", min_samples_leaf=31).fit(X, Y)
    assert len(set(decode_leaves(one)[one.apply(Q)])) == 1


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelTree("rbf", min_samples_leaf=3, random_state=0),
        OutputKernelExtraTrees("rbf", n_estimators=7, random_state=0),
        OutputKernelBagging("rbf", n_estimators=7, random_state=0),
        OutputKernelRandomForest("rbf", n_estimators=7, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_prediction_is_a_mean_of_rows(model):
    "eq-lookup-mean: bootstraps, where weights are no kernel, included."
    W = model.fit(X, Y).weights(Q)
    values = RNG.normal(size=(60, 4))
    found = look_up(model, tabulate_leaves(model, values), Q)
    assert_allclose(found, W @ values, atol=1e-12)
    K = model.gram_
    s, U = np.linalg.eigh(K)
    points = look_up(model, tabulate_leaves(model, U * np.sqrt(np.maximum(s, 0))), Q)
    assert_allclose(points @ points.T, predicted_gram(W, W, K), atol=1e-9)


def test_the_mean_of_trees_is_no_mean_over_leaves():
    """Mutants: a mean over the examples of all leaves together, and leaves without
    the weights of the bootstrap."""
    model = OutputKernelBagging(n_estimators=5, min_samples_leaf=8, random_state=0)
    W, values = model.fit(X, Y).weights(Q).toarray(), RNG.normal(size=(60, 2))
    right = look_up(model, tabulate_leaves(model, values), Q)
    together = (W > 0) @ values / (W > 0).sum(axis=1, keepdims=True)
    assert np.abs(together - right).max() > 0.01
    unweighted = np.zeros_like(right)
    for member in model.estimators_:
        mine = member.weights(Q).toarray() > 0
        unweighted += mine @ values / mine.sum(axis=1, keepdims=True) / 5
    assert np.abs(unweighted - right).max() > 0.01


def test_what_is_refused():
    tree = OutputKernelTree().fit(X, Y)
    forest = OutputKernelBagging(n_estimators=3, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="tabulate_leaves"):
        decode_leaves(forest)
    with pytest.raises(ValueError, match="'support' or 'train': got 'all'"):
        decode_leaves(tree, "all")
    with pytest.raises(ValueError, match=r"60 rows, .* got shape \(59, 2\)"):
        tabulate_leaves(tree, Y[1:])
    with pytest.raises(ValueError, match="NaN"):
        tabulate_leaves(tree, np.full((60, 1), np.nan))
    with pytest.raises(ValueError, match="of 1 trees, the model has 3"):
        look_up(forest, tabulate_leaves(tree, Y), Q)
    with pytest.raises(TypeError, match="OutputKernelKNN"):
        tabulate_leaves(OutputKernelKNN().fit(X, Y), Y)
    boosted = OutputKernelBoosting(n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="OutputKernelBoosting"):
        tabulate_leaves(boosted, Y)


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
