"""Which output kernel for a tree: what the page says of sums and of widths."""

import numpy as np
import pytest

from okbook.core import RBFKernel, decode_weights
from okbook.trees import OutputKernelTree


def scores(K, X, rows):
    "The decrease of variance of each split of a node, times the number of examples."

    def scatter(part):
        block = K[np.ix_(part, part)]
        return np.trace(block) - block.sum() / len(part)

    found = {}
    for f, column in enumerate(X[rows].T):
        for cut in np.unique(column)[:-1]:
            left = rows[column <= cut], rows[column > cut]
            found[f, cut] = scatter(rows) - sum(map(scatter, left))
    return found


def splits(K, X):
    "The examples of each inner node of a tree, and those that it sends to the left."
    tree = OutputKernelTree("precomputed", random_state=0).fit(X, K).tree_
    found, ends = {}, [(0, np.arange(len(X)))]
    while ends:
        node, rows = ends.pop()
        if tree.children_left[node] < 0:
            continue
        left = X[rows, tree.feature[node]] <= tree.threshold[node]
        found[tuple(rows)] = tuple(rows[left])
        ends += [
            (tree.children_left[node], rows[left]),
            (tree.children_right[node], rows[~left]),
        ]
    return found


def test_a_large_multiple_decides_where_one_split_is_the_best():
    "ex-okchoice-mixture: where the tree of k2 stops or has ties, k1 decides."
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(20.0), (3, 1)), axis=1).T
    Z, kinds = rng.normal(size=(20, 2)), rng.integers(0, 3, 20)
    first, second = Z @ Z.T, (kinds[:, None] == kinds).astype(float)
    both, alone = splits(first + 1e6 * second, X), splits(second, X)
    clear = 0
    for rows, left in both.items():
        found = sorted(scores(second, X, np.array(rows)).values())
        if len(found) > 1 and found[-1] > max(found[-2], 0) + 1e-3:
            clear += rows in alone
            assert alone.get(rows, left) == left
    assert clear >= 3
    assert any(len(set(kinds[list(rows)])) == 1 for rows in both)  # pure for k2
    assert len(both) == len(X) - 1 > len(alone)


def test_thresholds_and_penalties_are_absolute():
    "prop-okchoice-tree: a factor of the kernel is a factor of these as well."
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    K = Z @ Z.T

    def leaves(factor, **options):
        tree = OutputKernelTree("precomputed", random_state=0, **options)
        return tree.fit(X, factor * K).get_n_leaves()

    assert leaves(1.0) == leaves(1024.0)
    for name in ("min_impurity_decrease", "ccp_alpha"):
        assert leaves(1.0, **{name: 0.02}) < leaves(1024.0, **{name: 0.02})
        assert leaves(1.0, **{name: 0.02}) == leaves(1024.0, **{name: 20.48})


@pytest.mark.parametrize("width, wanted", [(1.0, "kind"), (0.01, "single")])
def test_a_kernel_as_wide_as_a_kind_counts_kinds(width, wanted):
    "prop-okchoice-limits: a much narrower one counts each output for itself."
    y = np.array([0.0, 0.3, 0.5, 9.0])[:, None]  # three of one kind, one of another
    K = RBFKernel(sigma=width).gram(y)
    chosen = decode_weights(np.array([[0.2, 0.25, 0.2, 0.35]]), K, K.diagonal())[0]
    assert (chosen < 3) == (wanted == "kind")
