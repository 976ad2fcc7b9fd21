"""Trees are compared with all possible splits at every node, and with other packages.

The claims of trees and of the ensembles that are made of them.

Their oracles are of two kinds. Scikit-learn grows the same trees where the output
kernel is linear or the Dirac kernel; for any other kernel, all possible splits of a
node are tried by the definition of the score, with explicit vectors.

A tree is a discrete object, and two correct programs may grow different ones as soon as
two splits are equally good. A difference between trees is therefore examined at the
first node where it occurs: if both splits have the same score, up to rounding, the
attempt counts as a tie, and otherwise as a disagreement.
"""

from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, norm
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)

from claims.claim import (
    EPS,
    Claims,
    PassedOver,
    Tie,
    compare,
    draw_classes,
    draw_matrix,
    draw_size,
    draw_weights,
    identical,
)
from okbook._types import Array
from okbook.core import OutputKernelKNN
from okbook.ensembles import OutputKernelBoosting, RandomizedTreeClassifier
from okbook.ensembles.tree import pessimistic_errors
from okbook.trees import (
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
    split_score,
    weakest_links,
)
from okbook.trees.export import node_prototypes
from okbook.trees.forest import out_of_bag_weights
from okbook.trees.nodes import impurity_decreases, node_depths

# The checks of trees.
TREES = Claims()


# All splits of a node
#
# The function below lists the splits of a node with their scores, from the definition:
# the variance of the node, minus the mean variance of the two children. As in scikit-
# learn, inputs are in single precision, and two values that differ by less than
# $10^{-7}$ count as equal.


def all_splits(X: Array, Phi: Array, weight: Array) -> list[tuple[int, float, float]]:
    "Feature, threshold and score (eq-ok3-3) of all splits of a node."
    found = []
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature].astype(np.float32))
        for low, high in zip(values[:-1], values[1:]):
            if high > low + np.float32(1e-7):
                threshold = 0.5 * float(low) + 0.5 * float(high)
                score = _score(Phi, X[:, feature] <= threshold, weight)
                found.append((feature, threshold, float(score)))
    return found


def _variance(Phi, weight):
    "The weighted mean squared distance to the mean (eq-ok3-6)."
    share = weight / weight.sum()
    return float(share @ np.square(Phi - share @ Phi).sum(axis=1))


def _score(Phi, left, weight):
    "What a split removes of the variance (eq-ok3-3)."
    score = _variance(Phi, weight)
    for side in (left, ~left):
        if side.any():
            part = weight[side].sum() / weight.sum()
            score -= part * _variance(Phi[side], weight[side])
    return score


_EQUAL = 1e-9  # of the variance of all outputs: splits so close are equally good


def _draw_node(rng, least=2, scaled=False):
    "Inputs in single precision, outputs as vectors, and weights."
    n, p, d = draw_size(rng, least, 12), draw_size(rng, 1, 3), draw_size(rng, 1, 3)
    X = draw_matrix(rng, n, p, scaled).astype(np.float32).astype(float)
    return {
        "X": X,
        "Phi": draw_matrix(rng, n, d, False),
        "weight": draw_weights(rng, n),
    }


_NODE = {"X": "np", "Phi": "nd", "weight": "n"}


def _unit(Phi):
    "Outputs in units of the largest entry."
    return Phi / (np.abs(Phi).max() or 1.0)


def _members(tree, node):
    "The examples of a node."
    return tree.samples[tree.start[node] : tree.stop[node]]


# One tree
#
# A node of an output-kernel tree has to be split by one of its best splits, and it may
# be a leaf only if its outputs are all equal or its inputs are. The first check
# examines every node of a tree that was given only a Gram matrix; the next ones compare
# the same tree with scikit-learn's.
#
# What is done with a grown tree is compared with enumeration. A tree of depth three has
# at most 26 pruned subtrees, so that the subtree of least cost can be found by trying
# all of them, and the path of pruned trees is the lower envelope of their costs, which
# are straight lines in the cost of a leaf. Half of the costs that are tried lie exactly
# at a link, where two subtrees are equally good and the smaller one is asked for. The
# pessimistic errors of C4.5 are found by bisection, from the equation that defines the
# limit and not from its solution, for confidences up to one half, beyond which the
# limit would not be pessimistic any more. The leaf of a query is found by answering the
# questions one after the other, and its weights by counting which examples get the same
# answers.


@TREES.add(
    "split-score",
    "score of a split (eq-ok3-3, 4, 6, 9, 11)",
    "variances of explicit vectors",
    "256 n d eps of the largest squared norm",
    draw=lambda rng: _draw_node(rng) | {"cut": int(rng.integers(1, 9))},
    axes=_NODE,
)
def _judge_split_score(X, Phi, weight, cut):
    left = np.arange(len(Phi)) % 9 < cut
    if not 0 < weight[left].sum() < weight.sum():
        raise PassedOver("an empty child")
    ours = split_score(Phi @ Phi.T, left, weight)
    scale = np.square(Phi).sum(axis=1).max() or 1.0
    return compare(ours, _score(Phi, left, weight), 256 * Phi.size * EPS, scale)


@TREES.add(
    "tree-best-splits",
    "every split is a best one (eq-ok3-3, 11), for any Gram matrix",
    "all splits of every node, by the definition",
    "the score of the split taken is the largest, to 1e-9 of the variance",
    draw=lambda rng: _draw_node(rng, scaled=True),
    axes=_NODE,
)
def _judge_best_splits(X, Phi, weight):
    Phi = _unit(Phi)
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    model = OutputKernelTree("precomputed").fit(X, Phi @ Phi.T, weight)
    tree, missed, total = model.tree_, [0.0], _variance(Phi, weight)
    for node in range(tree.node_count):
        inside = _members(tree, node)
        here = X[inside], Phi[inside], weight[inside]
        splits = all_splits(*here)
        best = max((score for *_, score in splits), default=0.0)
        if tree.feature[node] < 0:
            missed.append(best if splits and _variance(*here[1:]) > 1e-9 else 0.0)
        else:
            left = here[0][:, tree.feature[node]] <= tree.threshold[node]
            missed.append(best - _score(here[1], left, here[2]))
    variances = [
        _variance(Phi[i], weight[i])
        for i in (_members(tree, node) for node in range(tree.node_count))
    ]
    return [
        compare(max(missed), 0.0, _EQUAL, 1.0, "a better split"),
        compare(tree.impurity, variances, _EQUAL, 1.0, "variances of nodes"),
        compare(tree.weighted_n_node_samples[0], weight.sum(), 1e-12, what="weight"),
        compare(total, variances[0], _EQUAL, 1.0, "variance of the root"),
    ]


def _walk(ours, theirs, X, Phi, weight, must_be_best=True):
    """Where two trees differ first: a tie, or nothing if they are the same; a
    difference in score is returned."""
    todo = [(0, 0)]
    while todo:
        a, b = todo.pop()
        feature, other = ours.feature[a], theirs.feature[b]
        cuts = ours.threshold[a], theirs.threshold[b]
        if feature < 0 and other < 0:
            continue
        inside = _members(ours, a)
        here = X[inside], Phi[inside], weight[inside]
        if feature == other and abs(cuts[0] - cuts[1]) <= 1e-6 * abs(cuts[1]) + 1e-12:
            todo += [
                (ours.children_right[a], theirs.children_right[b]),
                (a + 1, theirs.children_left[b]),
            ]
            continue
        if _variance(*here[1:]) <= 1e-12:
            raise Tie("a node is pure up to rounding")
        scores = [
            _score(here[1], here[0][:, f] <= cut, here[2]) if f >= 0 else -np.inf
            for f, cut in ((feature, cuts[0]), (other, cuts[1]))
        ]
        if must_be_best:
            scores.append(max(score for *_, score in all_splits(*here)))
        if max(scores) - min(scores) <= _EQUAL:
            raise Tie("two splits are equally good")
        return compare(min(scores), max(scores), _EQUAL, 1.0, "score of a split")
    return compare(0.0, 0.0, _EQUAL, 1.0, "the same tree")


_RULES = ({}, {"max_depth": 2}, {"min_samples_leaf": 2}, {"min_samples_split": 5})


@TREES.add(
    "tree-linear",
    "linear kernel: regression tree (eq-ok3-5, 6, 7, 13, 16)",
    "scikit-learn's DecisionTreeRegressor, node for node",
    "1e-9 of the variance; ties are examined",
    draw=lambda rng: _draw_node(rng) | {"rule": int(rng.integers(len(_RULES)))},
    axes=_NODE,
)
def _judge_linear_tree(X, Phi, weight, rule):
    Phi, rules = _unit(Phi), _RULES[rule]
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    model = OutputKernelTree(**rules).fit(X, Phi, weight)
    peer = DecisionTreeRegressor(random_state=0, **rules).fit(X, Phi, weight)
    limited = "min_samples_leaf" in rules  # not all splits are allowed
    found = _walk(model.tree_, peer.tree_, X, Phi, weight, not limited)
    theirs = peer.predict(X).reshape(Phi.shape)
    return [
        found,
        compare(model.predict(X), theirs, 1e-9, 1.0, "predictions"),
        compare(model.weights(X) @ Phi, theirs, 1e-9, 1.0, "weights"),
        identical(model.apply(X), peer.apply(X), "leaves"),
    ]


@TREES.add(
    "tree-random",
    "random splits with the same seed",
    "scikit-learn's ExtraTreeRegressor, node for node",
    "1e-9 of the variance; ties are examined",
    draw=lambda rng: _draw_node(rng) | {"seed": int(rng.integers(1000))},
    axes=_NODE,
)
def _judge_random_tree(X, Phi, weight, seed):
    Phi = _unit(Phi)
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    model = OutputKernelTree(splitter="random", random_state=seed).fit(X, Phi, weight)
    peer = ExtraTreeRegressor(random_state=seed, max_features=None)
    peer.fit(X, Phi, weight)
    return _walk(model.tree_, peer.tree_, X, Phi, weight, must_be_best=False)


def _draw_labels(rng):
    n = draw_size(rng, 3, 12)
    X = (
        draw_matrix(rng, n, draw_size(rng, 1, 3), False)
        .astype(np.float32)
        .astype(float)
    )
    y = draw_classes(rng, n, int(rng.integers(2, 4)))
    return {"X": X, "y": y, "weight": draw_weights(rng, n)}


_LABELS = {"X": "np", "y": "n", "weight": "n"}


def _one_hot(y, weight=None):
    "Labels as vectors; there must be two among those that have weight."
    kept = y if weight is None else y[weight > 0]
    if len(np.unique(kept)) < 2 or set(kept.tolist()) != set(y.tolist()):
        raise PassedOver("a class is missing")
    return np.equal.outer(y, np.unique(y)).astype(float)


@TREES.add(
    "tree-dirac",
    "Dirac kernel: classification tree",
    "scikit-learn's Gini tree, node for node",
    "1e-9; ties are examined",
    draw=_draw_labels,
    axes=_LABELS,
)
def _judge_dirac_tree(X, y, weight):
    Phi = _one_hot(y, weight)
    model = OutputKernelTree("dirac").fit(X, y, weight)
    peer = DecisionTreeClassifier(random_state=0).fit(X, y, weight)
    found = _walk(model.tree_, peer.tree_, X, Phi, weight)
    ours = model.predict_proba(X)
    return [found, compare(ours, peer.predict_proba(X), 1e-9, 1.0, "shares")]


def _impurity(Phi, weight, by):
    "Gini's index or the entropy of the shares of classes."
    p = Phi.T @ weight / weight.sum()
    return 1.0 - p @ p if by == "gini" else -np.sum(p * np.log2(p + (p == 0)))


def _judge_gains(tree, X, Phi, weight, by):
    """Whether each node of a classification tree has a best test and the shares of its
    examples; and what each feature gains, summed over the nodes."""
    kept, missed, gained = weight > 0, [0.0], np.zeros(X.shape[1])
    X, Phi, weight = X[kept], Phi[kept], weight[kept]

    def gain(inside, left):
        parts = [(inside, 1.0), (inside[left], -1.0), (inside[~left], -1.0)]
        return (
            sum(
                sign * weight[rows].sum() * _impurity(Phi[rows], weight[rows], by)
                for rows, sign in parts
                if len(rows)
            )
            / weight.sum()
        )

    todo, ours, theirs = [(0, np.arange(len(X)))], [], []
    while todo:
        node, inside = todo.pop()
        values, feature = X[inside], tree.feature[node]
        cuts = all_splits(values, Phi[inside], weight[inside])
        best = max(
            (gain(inside, values[:, f] <= cut) for f, cut, _ in cuts), default=0.0
        )
        total = Phi[inside].T @ weight[inside]
        ours.append([*tree.value[node], tree.weighted_n_node_samples[node]])
        theirs.append([*(total / total.sum()), total.sum()])
        if feature < 0:
            pure = _impurity(Phi[inside], weight[inside], by) < 1e-9
            missed.append(0.0 if pure or not cuts else best + 1.0)
        else:
            left = values[:, feature] <= tree.threshold[node]
            missed.append(best - gain(inside, left))
            gained[feature] += gain(inside, left)
            todo += [
                (node + 1, inside[left]),
                (tree.children_right[node], inside[~left]),
            ]
    found = [
        compare(max(missed), 0.0, _EQUAL, 1.0, "a better split"),
        compare(ours, theirs, 1e-12, max(1.0, weight.sum()), "shares and weights"),
    ]
    return found, gained


def _shares(decreases):
    "Importances: what each feature removes, as a part of what all remove."
    return decreases / (decreases.sum() or 1.0)


@TREES.add(
    "tree-randomized",
    "classification tree of chapter 05, by Gini and entropy (eq-vote-gain)",
    "all splits of every node, by the definition",
    "the gain of the split taken is the largest, to 1e-9",
    draw=lambda rng: _draw_labels(rng) | {"by": str(rng.choice(["gini", "entropy"]))},
    axes=_LABELS,
)
def _judge_vote_tree(X, y, weight, by):
    Phi = _one_hot(y, weight)
    model = RandomizedTreeClassifier(by, random_state=0).fit(X, y, weight)
    found, gained = _judge_gains(model.tree_, X, Phi, weight, by)
    ours = model.feature_importances_
    return [*found, compare(ours, _shares(gained), _EQUAL, 1.0, "importances")]


def _subtrees(tree, cost, node=0):
    "Cost and number of leaves of every pruned subtree."
    yield cost[node], 1
    if tree.feature[node] >= 0:
        for a, k in _subtrees(tree, cost, node + 1):
            for b, m in _subtrees(tree, cost, tree.children_right[node]):
                yield a + b, k + m


# Trees that are pruned; with a seed, so that ties are broken alike.
_WHOLE = {"max_depth": 3, "random_state": 0}


def _whole_tree(X, Phi, weight):
    "A tree that is not pruned; loss and leaves of its pruned subtrees."
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    whole = OutputKernelTree(**_WHOLE).fit(X, Phi, weight).tree_
    part = whole.weighted_n_node_samples / weight.sum()
    return whole, np.transpose(list(_subtrees(whole, part * whole.impurity)))


@TREES.add(
    "tree-pruning",
    "smallest subtree of least cost (eq-trees-prune), between links and at them",
    "all pruned subtrees",
    "1e-9 of the variance; equal costs count as ties",
    draw=lambda rng: (
        _draw_node(rng)
        | {
            "alpha": float(rng.choice([1e-4, 1e-3, 0.02, 0.2])),
            "at_link": bool(rng.random() < 0.5),
        }
    ),
    axes=_NODE,
)
def _judge_pruning(X, Phi, weight, alpha, at_link):
    Phi = _unit(Phi)
    if not alpha > 0:
        raise PassedOver("nothing to prune for")
    whole, (losses, leaves) = _whole_tree(X, Phi, weight)
    links = [cost for cost, *_ in weakest_links(whole) if cost > 1e-6]
    if at_link and links:  # the nearest cost at which two subtrees are equally good
        alpha = min(links, key=lambda cost: abs(cost - alpha))
    pruned = OutputKernelTree(**_WHOLE, ccp_alpha=alpha).fit(X, Phi, weight).tree_
    leaf = pruned.feature < 0
    loss = (pruned.weighted_n_node_samples * pruned.impurity)[leaf].sum() / weight.sum()
    costs = losses + alpha * leaves
    least = costs.min()
    near = set(leaves[costs <= least + 1e-9])
    found = compare(loss + alpha * leaf.sum(), least, _EQUAL, 1.0, "cost")
    if len(near) > 1 and found.error <= found.tolerance:
        exact = set(leaves[costs <= least + 1e-13])
        if leaf.sum() != min(near) and (near != exact or leaf.sum() not in near):
            raise Tie("two subtrees cost the same up to rounding")
    return [found, compare(leaf.sum(), min(near), 0.0, 1.0, "number of leaves")]


@TREES.add(
    "pruning-path",
    "the path of pruned trees: all that are best for some cost (eq-trees-link)",
    "the lower envelope of the costs of all pruned subtrees",
    "1e-9 of the variance; links closer than 1e-6 count as one",
    draw=_draw_node,
    axes=_NODE,
)
def _judge_pruning_path(X, Phi, weight):
    Phi = _unit(Phi)
    _, (losses, leaves) = _whole_tree(X, Phi, weight)
    path = OutputKernelTree(**_WHOLE).cost_complexity_pruning_path(X, Phi, weight)
    alphas, found = path.ccp_alphas, []
    falls = -np.diff(alphas).min(initial=0.0)
    found.append(compare(falls, 0.0, 1e-9, 1.0, "order of the links"))
    ends = np.append(alphas, 2.0 * alphas[-1] + 1.0)
    for start, stop, loss in zip(ends, ends[1:], path.impurities):
        costs = losses + start * leaves
        same = np.abs(losses - loss) <= 1e-9
        least = costs[same].min(initial=np.inf)
        found.append(compare(least, costs.min(), _EQUAL, 1.0, "cost at a link"))
        if stop - start > 1e-6:  # between two links one of them is the best
            best = losses[np.argmin(losses + (start + stop) / 2 * leaves)]
            found.append(compare(loss, best, _EQUAL, 1.0, "loss between links"))
    return found


def _added_errors(n, e, gamma):
    "Errors that C4.5 adds, from the equations that define them, by bisection."

    def limit(excess):
        "Where an increasing function of a rate becomes positive."
        top = 1.0 - 1e-15
        return brentq(excess, 0.0, top, xtol=1e-14) if excess(top) > 0 else 1.0

    none = n * limit(lambda u: np.log(gamma) - n * np.log1p(-u))
    if e < 1:
        return none + (e and e * (_added_errors(n, 1.0, gamma) - none))
    if e + 0.5 >= n:
        return 0.67 * (n - e)
    z = norm.isf(gamma)
    half = lambda u: n * u - z * np.sqrt(n * u * (1 - u)) - e - 0.5
    return n * limit(half) - e


@TREES.add(
    "pessimistic",
    "pessimistic errors of C4.5 (eq-vote-pessimistic, eq-vote-normal)",
    "the binomial limit and its normal approximation, by bisection",
    "1e-6",
    draw=lambda rng: {
        "n": int(rng.integers(1, 200)),
        "quarters": int(rng.integers(0, 4 ** rng.integers(1, 5))),
        "hundredths": int(rng.integers(1, 51)),
    },
)
def _judge_pessimistic(n, quarters, hundredths):
    errors, gamma = quarters / 4, hundredths / 100
    if n < 1 or errors > n or not 0 < hundredths <= 50:
        raise PassedOver("out of range")
    theirs = _added_errors(n, errors, gamma)
    found = [compare(pessimistic_errors(n, errors, gamma), theirs, 1e-6, max(1.0, n))]
    if not errors:
        law = lambda p: binom.cdf(0, n, p) - gamma
        limit = n * brentq(law, 1e-12, 1 - 1e-12, xtol=1e-13)
        found.append(compare(theirs, limit, 1e-6, max(1.0, limit), "binomial law"))
    return found


def _draw_noisy(rng):
    "Labels that hardly depend on the inputs, so that there is something to prune."
    n = draw_size(rng, 6, 30)
    return {
        "X": draw_matrix(rng, n, draw_size(rng, 1, 2), False).astype(np.float32),
        "y": draw_classes(rng, n, int(rng.integers(2, 4))),
        "weight": draw_weights(rng, n),
        "hundredths": int(rng.integers(5, 51)),
        "by": str(rng.choice(["gini", "entropy"])),
    }


@TREES.add(
    "tree-c45",
    "pruning of C4.5: a subtree stays if it promises 0.1 errors fewer (eq-vote-normal)",
    "the same tree, not pruned, and the rule from its leaves upwards",
    "the same nodes; promises that are equal to 1e-9 count as ties",
    draw=_draw_noisy,
    axes=_LABELS,
)
def _judge_c45(X, y, weight, hundredths, by):
    Phi, gamma, kept = _one_hot(y, weight), hundredths / 100, weight > 0
    if not 0 < gamma <= 0.5:
        raise PassedOver("no pessimist")
    X, y, Phi, weight = X[kept], y[kept], Phi[kept], weight[kept]
    how = {"criterion": by, "random_state": 0}
    whole = RandomizedTreeClassifier(**how).fit(X, y, weight).tree_
    model = RandomizedTreeClassifier(**how, confidence=gamma).fit(X, y, weight)
    mass = weight * len(y) / weight.sum()

    def prune(node, inside):
        "Errors promised by the best that becomes of a node, and its questions."
        counts = mass[inside] @ Phi[inside]
        n, wrong = counts.sum(), counts.sum() - counts.max()
        alone = wrong + _added_errors(n, 0.0 if wrong < 1e-9 else wrong, gamma)
        if whole.feature[node] < 0:
            return alone, [(-1, 0.0)]
        left = X[inside, whole.feature[node]] <= whole.threshold[node]
        a, first = prune(node + 1, inside[left])
        b, second = prune(whole.children_right[node], inside[~left])
        if abs(alone - a - b - 0.1) < 1e-9 * max(1.0, n):
            raise Tie("a leaf promises as much as a subtree")
        if alone <= a + b + 0.1:
            return alone, [(-1, 0.0)]
        return a + b, [(whole.feature[node], whole.threshold[node]), *first, *second]

    _, nodes = prune(0, np.arange(len(X)))
    features, thresholds = np.transpose(nodes)
    tree = model.tree_
    asked = tree.feature >= 0
    return [
        identical(tree.feature, features.astype(int), "questions"),
        identical(tree.threshold[asked], thresholds[features >= 0], "thresholds"),
    ]


def _decreases(tree, X, Phi):
    "What questions about each feature remove of the variance (eq-trees-importance)."
    total, weight = np.zeros(X.shape[1]), np.asarray(tree.weight, dtype=float)
    for node in np.flatnonzero(tree.feature >= 0):
        inside, f = _members(tree, node), tree.feature[node]
        left = X[inside, f] <= tree.threshold[node]
        total[f] += weight[inside].sum() * _score(Phi[inside], left, weight[inside])
    return total


@TREES.add(
    "tree-importance",
    "importances of a tree and of a forest (eq-trees-importance)",
    "scores of all nodes, from explicit vectors",
    "1e-9 of the variance",
    draw=_draw_node,
    axes=_NODE,
)
def _judge_importance(X, Phi, weight):
    Phi, p = _unit(Phi), X.shape[1]
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    model = OutputKernelTree().fit(X, Phi, weight)
    theirs = _decreases(model.tree_, X, Phi)
    ours = impurity_decreases(model.tree_, p)
    found = [compare(ours, theirs, _EQUAL, weight.sum(), "decreases")]
    if not theirs.sum() > 1e-6 * weight.sum():
        return found
    ours = model.feature_importances_
    found.append(compare(ours, _shares(theirs), 1e-9, 1.0, "tree"))
    forest = OutputKernelRandomForest(n_estimators=3, random_state=0)
    forest.fit(X, Phi, weight)
    total = sum(_decreases(tree.tree_, X, Phi) for tree in forest.estimators_)
    if total.sum() > 1e-6 * len(X):
        ours = forest.feature_importances_
        found.append(compare(ours, _shares(total), 1e-9, 1.0, "forest"))
    return found


def _path(tree, x):
    "The nodes that an input passes, one question after the other."
    node, passed = 0, [0]
    while tree.feature[node] >= 0:
        goes_left = x[tree.feature[node]] <= tree.threshold[node]
        node = node + 1 if goes_left else int(tree.children_right[node])
        passed.append(node)
    return passed


def _leaf_weights(tree, X, Q):
    "Weights of the examples in the prediction for queries: mates, counted one by one."
    W, leaves = np.zeros((len(Q), len(X))), [_path(tree, x)[-1] for x in X]
    for row, x in zip(W, Q):
        last = _path(tree, x)[-1]
        mates = [j for j in range(len(X)) if leaves[j] == last and tree.weight[j] > 0]
        row[mates] = tree.weight[mates] / tree.weight[mates].sum()
    return W


def _draw_queries(rng):
    "A node, the queries, and a seed."
    problem = _draw_node(rng)
    q, p = draw_size(rng, 1, 6), problem["X"].shape[1]
    Q = draw_matrix(rng, q, p, False).astype(np.float32).astype(float)
    return problem | {"Q": Q, "seed": int(rng.integers(1000))}


_QUERIES = _NODE | {"Q": "qp"}


@TREES.add(
    "tree-paths",
    "leaves of queries, and the nodes above them, in trees and forests",
    "the questions, answered one after the other",
    "the same nodes",
    draw=_draw_queries,
    axes=_QUERIES,
)
def _judge_paths(X, Phi, weight, Q, seed):
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    forest = OutputKernelExtraTrees(n_estimators=3, random_state=seed)
    together, ends = forest.fit(X, Phi, weight).decision_path(Q)
    leaves, found = forest.apply(Q), []
    sizes = [len(member.tree_.feature) for member in forest.estimators_]
    found.append(identical(ends, np.cumsum([0, *sizes]), "columns"))
    for t, member in enumerate(forest.estimators_):
        tree, theirs = member.tree_, np.zeros((len(Q), sizes[t]))
        paths = [_path(tree, x) for x in Q]
        for row, path in zip(theirs, paths):
            row[path] = 1.0
        last = [path[-1] for path in paths]
        columns = slice(ends[t], ends[t + 1])
        found += [
            identical(leaves[:, t], last, "leaves"),
            identical(together.toarray()[:, columns] * 1.0, theirs, "forest"),
            identical(member.decision_path(Q).toarray() * 1.0, theirs, "tree"),
            identical(node_depths(tree)[last], theirs.sum(axis=1) - 1, "depths"),
        ]
    return found


@TREES.add(
    "tree-lookup",
    "tabulated leaves, their pre-images and prototypes (eq-lookup-mean, eq-ok3-14)",
    "leaf mates, counted one by one; distances to all candidates",
    "1e-9 of the largest entry; of pre-images the distances are compared",
    draw=lambda rng: _draw_queries(rng) | {"all": bool(rng.random() < 0.5)},
    axes=_QUERIES,
)
def _judge_lookup(X, Phi, weight, Q, seed, all):
    Phi = _unit(Phi)
    if len(X) < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    forest = OutputKernelRandomForest(n_estimators=3, random_state=seed)
    forest.fit(X, Phi, weight)
    trees = [member.tree_ for member in forest.estimators_]
    W = np.mean([_leaf_weights(tree, X, Q) for tree in trees], axis=0)
    table = forest.contributions(Phi)
    K = np.exp(-np.square(Phi[:, None] - Phi[None]).sum(axis=2) / Phi.shape[1])
    one = OutputKernelTree("rbf", max_depth=2).fit(X, Phi, weight)
    linear = OutputKernelTree(max_depth=2).fit(X, Phi, weight)
    points = forest.activations(Q) @ table
    found = [compare(points, W @ Phi, 1e-9, 1.0, "table")]
    decoded = one.decode(Q, candidates="train" if all else "support")
    chosen = dict(zip(one.apply(Q), decoded))
    near = node_prototypes(one, np.arange(one.tree_.node_count))
    means = node_prototypes(linear, np.arange(linear.tree_.node_count))
    for node in range(one.tree_.node_count):
        inside = _members(one.tree_, node)
        w = weight[inside] / weight[inside].sum()
        apart = 1.0 - 2.0 * w @ K[inside]  # the distance, but for a constant
        place = np.flatnonzero((near[node] == Phi).all(axis=1))[0]
        least = apart[inside].min()
        found.append(compare(apart[place], least, 1e-9, 1.0, "prototype"))
        if node in chosen:
            least = apart.min() if all else least
            found.append(compare(apart[chosen[node]], least, 1e-9, 1.0, "pre-image"))
    for node in range(linear.tree_.node_count):
        inside = _members(linear.tree_, node)
        mean = weight[inside] @ Phi[inside] / weight[inside].sum()
        found.append(compare(means[node], mean, 1e-9, 1.0, "mean"))
    return found


# Ensembles
#
# With the same seed, the ensembles of ch-trees-ensembles are equal to scikit-learn's,
# tree for tree, since they draw from the same generator in the same order, with weights
# of the examples and without. Their weights are the mean of the leaf memberships (eq-
# ok3-17), which the oracle counts one by one. It does the same out of the bag, where an
# example is predicted only by those trees whose sample does not contain it; the samples
# themselves are drawn again by numpy.
#
# Boosting computes its weights in two ways, from the last tree to the first (eq-kboost-
# back) and stage by stage (eq-kboost-forward). The oracle uses neither: it keeps the
# residuals as a matrix, whose rows say how a residual is combined from the training
# outputs, and multiplies it in each round by the matrix of leaf memberships. Moreover,
# each stage has to be equal to the result of a fit with fewer trees.


@TREES.add(
    "forest",
    "random forests and extra-trees, weighted too (eq-ok3-15, 16, 17, 18)",
    "scikit-learn's, tree for tree",
    "1e-9; ties are examined",
    draw=lambda rng: (
        _draw_node(rng, 3)
        | {
            "seed": int(rng.integers(1000)),
            "extra": bool(rng.random() < 0.5),
            "weighted": bool(rng.random() < 0.7),
        }
    ),
    axes=_NODE,
)
def _judge_forest(X, Phi, weight, seed, extra, weighted):
    Phi, n = _unit(Phi), len(X)
    if n < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    kinds = (
        (OutputKernelExtraTrees, ExtraTreesRegressor)
        if extra
        else (OutputKernelRandomForest, RandomForestRegressor)
    )
    how = {"n_estimators": 3, "random_state": seed, "max_features": "sqrt"}
    given = weight if weighted else None
    model, peer = (kind(**how).fit(X, Phi, given) for kind in kinds)
    for mine, other in zip(model.estimators_, peer.estimators_):
        tree = mine.tree_
        counts = np.asarray(tree.weight, float)
        found = _walk(tree, other.tree_, X, Phi, counts, False)
        if found.error > found.tolerance:
            return found
    ours, theirs = model.predict(X), peer.predict(X).reshape(Phi.shape)
    W = np.mean([tree.weights(X).toarray() for tree in model.estimators_], axis=0)
    return [
        compare(ours, theirs, 1e-9, 1.0, "predictions"),
        compare(model.weights(X).toarray(), W, 1e-12, 1.0, "weights"),
    ]


@TREES.add(
    "forest-samples",
    "bootstrap samples are drawn by the weights (eq-ok3-18)",
    "the draws made again by numpy, and leaf mates counted with them",
    "the same counts; 1e-12 for weights",
    draw=lambda rng: (
        _draw_node(rng, 3)
        | {"seed": int(rng.integers(1000)), "weighted": bool(rng.random() < 0.7)}
    ),
    axes=_NODE,
)
def _judge_forest_samples(X, Phi, weight, seed, weighted):
    Phi, n = _unit(Phi), len(X)
    if n < 2 or not weight.sum() > 0:
        raise PassedOver("too few examples")
    model = OutputKernelRandomForest(n_estimators=3, random_state=seed)
    model.fit(X, Phi, weight if weighted else None)
    W, found = np.zeros((n, n)), []
    for member in model.estimators_:
        draw, counts = np.random.RandomState(member.random_state), np.zeros(n)
        odds = weight / weight.sum() if weighted else None
        rows = draw.randint(0, n, n) if odds is None else draw.choice(n, n, p=odds)
        np.add.at(counts, rows, 1.0)
        found.append(identical(member.tree_.weight * 1.0, counts, "sample"))
        W += _leaf_weights(member.tree_._replace(weight=counts), X, X) / 3
    return [*found, compare(model.weights(X).toarray(), W, 1e-12, 1.0, "weights")]


@TREES.add(
    "forest-oob",
    "weights, loss and score out of the bag (eq-ok3-12, 15)",
    "leaf mates of the trees that have not seen an example, counted one by one",
    "1e-9",
    draw=lambda rng: (
        _draw_node(rng, 4)
        | {
            "seed": int(rng.integers(1000)),
            "kernel": str(rng.choice(["linear", "rbf"])),
        }
    ),
    axes=_NODE,
)
def _judge_out_of_bag(X, Phi, weight, seed, kernel):
    Phi, n = _unit(Phi), len(X)
    if n < 2:
        raise PassedOver("too few examples")
    model = OutputKernelRandomForest(kernel, n_estimators=5, random_state=seed)
    model.set_params(oob_score=True).fit(X, Phi)
    W, cast = np.zeros((n, n)), np.zeros(n)
    for member in model.estimators_:
        unseen = member.tree_.weight == 0
        W[unseen] += _leaf_weights(member.tree_, X, X[unseen])
        cast += unseen
    out = np.flatnonzero(cast)
    if not len(out):
        raise PassedOver("all trees have seen all examples")
    W[out] /= cast[out, None]
    trees = [member.tree_ for member in model.estimators_]
    ours, left_out = out_of_bag_weights(trees, X)
    K = Phi @ Phi.T
    if kernel == "rbf":
        K = np.exp(-np.square(Phi[:, None] - Phi[None]).sum(axis=2) / Phi.shape[1])
    losses = K.diagonal() - 2.0 * (W * K).sum(axis=1) + ((W @ K) * W).sum(axis=1)
    among = K[np.ix_(out, out)]
    variance = among.trace() / len(out) - among.mean()
    found = [
        compare(ours.toarray(), W, 1e-12, 1.0, "weights"),
        identical(left_out, cast > 0, "examples left out"),
        compare(model.oob_loss_, losses[out].mean(), 1e-9, 1.0, "loss"),
    ]
    if variance > 1e-6:
        score = 1.0 - losses[out].mean() / variance
        found.append(compare(model.oob_score_, score, 1e-9, 1 / variance, "score"))
    return found


@TREES.add(
    "forest-weights",
    "weights of a forest, and its kernel (eq-ok3-16, 17, 19, 20, 21)",
    "leaf memberships, counted one by one",
    "1e-12",
    draw=lambda rng: _draw_node(rng, 3) | {"seed": int(rng.integers(1000))},
    axes=_NODE,
)
def _judge_forest_weights(X, Phi, weight, seed):
    Phi, n = _unit(Phi), len(X)
    if n < 2:
        raise PassedOver("too few examples")
    model = OutputKernelExtraTrees("rbf", n_estimators=3, random_state=seed).fit(X, Phi)
    theirs = np.zeros((n, n))
    for tree in model.estimators_:
        leaf = tree.apply(X)
        for i in range(n):
            mates = [j for j in range(n) if leaf[j] == leaf[i]]
            theirs[i, mates] += 1 / len(mates) / 3
    K = np.exp(-np.square(Phi[:, None] - Phi[None]).sum(axis=2) / Phi.shape[1])
    return [
        compare(model.weights(X).toarray(), theirs, 1e-12, 1.0, "weights"),
        compare(model.predict_gram(X), theirs @ K @ theirs.T, 1e-12, 1.0, "kernel"),
    ]


@TREES.add(
    "knn",
    "nearest neighbours with an output kernel",
    "distances to all examples",
    "1e-12; ties at the k-th distance are examined",
    draw=lambda rng: _draw_node(rng) | {"k": int(rng.integers(1, 4))},
    axes=_NODE,
)
def _judge_knn(X, Phi, weight, k):
    n = len(X)
    if n < 2 or not 1 <= k <= n:
        raise PassedOver("too few examples")
    W = OutputKernelKNN(k).fit(X, Phi).weights(X).toarray()
    apart = np.square(X[:, None] - X[None]).sum(axis=2)
    chosen = np.sort(np.where(W > 0, apart, np.inf), axis=1)[:, :k]
    scale = np.square(X).sum(axis=1).max() or 1.0
    return [
        compare(chosen, np.sort(apart, axis=1)[:, :k], 1e-9, scale, "distances"),
        compare(np.sort(W, axis=1)[:, -k:], np.full((n, k), 1 / k), 1e-12),
    ]


@TREES.add(
    "kernel-boosting",
    "boosted output-kernel trees (eq-kboost-step)",
    "residuals as explicit vectors, and trees of scikit-learn on them",
    "1e-8; a tie in any round counts as one",
    draw=lambda rng: _draw_node(rng, 3),
    axes=_NODE,
)
def _judge_boosting(X, Phi, weight):
    Phi = _unit(Phi)
    if len(X) < 3:
        raise PassedOver("too few examples")
    how = {"n_estimators": 3, "learning_rate": 0.5, "max_depth": 2}

    def ours(seed):
        model = OutputKernelBoosting(**how, random_state=seed).fit(X, Phi)
        return model.predict(X).reshape(Phi.shape)

    F = np.zeros_like(Phi) + Phi.mean(axis=0)
    for _ in range(3):
        tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, Phi - F)
        mine = OutputKernelTree(max_depth=2).fit(X, Phi - F).tree_
        _walk(mine, tree.tree_, X, Phi - F, np.ones(len(X)))
        F = F + 0.5 * tree.predict(X).reshape(Phi.shape)

    def theirs(seed):
        peer = GradientBoostingRegressor(
            criterion="squared_error", random_state=seed, **how
        )
        return peer.fit(X, Phi[:, 0]).predict(X)[:, None]

    found = []
    for fit in (ours, theirs) if Phi.shape[1] == 1 else (ours,):
        found.append(compare(fit(0), F, 1e-8, 1.0, fit.__name__))
        if found[-1].error > 1e-8 and any(
            np.allclose(fit(seed), F, atol=1e-8) for seed in range(1, 40)
        ):
            raise Tie("two features with the same gain: their order decides")
    return found


@TREES.add(
    "boosting-stages",
    "weights and losses after each tree (eq-kboost-forward, eq-kboost-back)",
    "residuals as a matrix, leaf mates counted; and fits with fewer trees",
    "1e-9",
    draw=lambda rng: (
        _draw_queries(rng)
        | {
            "kernel": str(rng.choice(["linear", "rbf"])),
            "rate": float(rng.choice([0.1, 0.5, 1.0])),
            "part": float(rng.choice([0.6, 1.0])),
        }
    ),
    axes=_QUERIES,
)
def _judge_stages(X, Phi, weight, Q, seed, kernel, rate, part):
    Phi, n = _unit(Phi), len(X)
    if np.count_nonzero(weight) < 2 or not (rate > 0 and part > 0):
        raise PassedOver("too few examples, or no step")
    how = {"learning_rate": rate, "max_depth": 2, "subsample": part}
    make = partial(OutputKernelBoosting, kernel, random_state=seed, **how)
    model = make(n_estimators=3).fit(X, Phi, weight)
    prior = weight / weight.sum()
    K = Phi @ Phi.T
    if kernel == "rbf":
        K = np.exp(-np.square(Phi[:, None] - Phi[None]).sum(axis=2) / Phi.shape[1])
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0.0))  # outputs as vectors, for any kernel
    A, W, V = np.eye(n) - prior, np.tile(prior, (len(Q), 1)), np.tile(prior, (n, 1))
    stages, losses, gained, found = [], [], np.zeros(X.shape[1]), []
    for m, tree in enumerate(model.trees_, 1):
        seen = np.zeros(n)
        seen[tree.samples] = tree.weight[tree.samples]
        tree = tree._replace(weight=seen)
        if len(tree.samples) and np.abs(A @ F).max() > 1e-6:
            gained += _decreases(tree, X, A @ F) / seen.sum()
        W = W + rate * _leaf_weights(tree, X, Q) @ A
        step = rate * _leaf_weights(tree, X, X) @ A
        V, A = V + step, A - step
        stages.append(W)
        losses.append(np.square(V @ F - F).sum(axis=1).mean())
        short = make(n_estimators=m).fit(X, Phi, weight).weights(Q)
        found.append(compare(short, W, 1e-9, 1.0, "fewer trees"))
    ours = np.reshape(list(model.staged_weights(Q)), (len(stages), *W.shape))
    theirs = np.reshape(stages, ours.shape)
    found += [
        compare(ours, theirs, 1e-9, 1.0, "stages"),
        compare(model.weights(Q), W, 1e-9, 1.0, "the last stage"),
        compare(model.staged_loss(X, Phi), losses, 1e-9, 1.0, "losses"),
    ]
    if gained.sum() > 1e-6:
        ours = model.feature_importances_
        found.append(compare(ours, _shares(gained), 1e-7, 1.0, "importances"))
    return found
