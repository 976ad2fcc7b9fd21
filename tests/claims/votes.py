"""Votes are counted one by one, and so are the leaves that two inputs share.

The claims of the forest kernel and of votes.

Most of its oracles count: a vote, a margin and a value of the forest kernel are all
sums over hypotheses, and the package computes them by other means, in batches of trees
and rows, through sparse matrices or by closed formulas. The examples are drawn as those
of trees, and ties are treated in the same way.
"""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, log

import numpy as np
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import cohen_kappa_score
from sklearn.tree import DecisionTreeClassifier

from claims.claim import (
    EPS,
    Claims,
    PassedOver,
    Tie,
    beyond,
    compare,
    draw_classes,
    draw_matrix,
    draw_size,
    draw_weights,
    identical,
)
from claims.trees import (
    _EQUAL,
    _LABELS,
    _draw_labels,
    _judge_gains,
    _one_hot,
    all_splits,
)
from okbook.ensembles import (
    AdaBoost,
    Bagging,
    RandomizedTreeClassifier,
    bias_variance,
    boosting_margin_bound,
    c_bound,
    kappa_error,
    margin_bound,
    margins,
    max_margin_weights,
    vote_alignment,
    vote_margins,
    vote_moments,
    vote_shares,
)
from okbook.ensembles.adaboost import boost_step
from okbook.ensembles.bagging import out_of_bag_shares
from okbook.ensembles.tree import MAX_SEED
from okbook.ensembles.weak_learners import best_stump, sort_stump_examples
from okbook.forest_kernel import (
    CentredForestKernel,
    ForestKernel,
    feature_space_measure,
    kernel_polarization,
    mean_direction,
    oob_accuracies,
    separability_bound,
    vote_hyperplane,
)

# The checks of votes and of the kernels of forests.
VOTES = Claims()


# Kernels of forests
#
# The forests of this section are scikit-learn's, and so are their leaves and decision
# paths. Two inputs share a leaf or they do not, which is all that the kernel eq-
# forestk-kens needs; for the kernel of nearest common ancestors (eq-forestk-nca) the
# oracle intersects the two decision paths and takes the deepest node. The Gram matrix
# of one set of inputs with itself is computed in the package by another branch than
# that of two sets, as only one half of it is filled and the other copied; therefore
# both are compared, as are those between inputs and queries. One forest in three has
# more than 16 trees and more than 64 inputs, so that trees and rows do not fit into one
# batch, and the leaves are found by one thread or by two.
#
# A centred tree of depth $m$ in $p$ dimensions chooses one of $p^m$ sequences of
# coordinates along the path of an input. The oracle goes through all of them, halves
# the cells in rational arithmetic, and counts the sequences for which two points stay
# together, whereas eq-forestk-centred sums multinomial coefficients. The measures of
# ch-forest-quality are computed from vectors, with a Gram matrix nowhere; their error
# bound is tried on all hyperplanes perpendicular to the line through the means.


def _draw_forest(rng):
    """Labelled examples, queries and a forest; in every third case so many that leaves
    and rows are worked off in several batches."""
    problem, many = _draw_labels(rng), rng.random() < 1 / 3
    if many:
        n, p = int(rng.integers(65, 80)), problem["X"].shape[1]
        X = draw_matrix(rng, n, p, False).astype(np.float32).astype(float)
        y, weight = draw_classes(rng, n, 2), draw_weights(rng, n)
        problem = {"X": X, "y": y, "weight": weight}
    q = draw_size(rng, 1, 70 if many else 6)
    Q = draw_matrix(rng, q, problem["X"].shape[1], False)
    return problem | {
        "Q": Q.astype(np.float32).astype(float),
        "seed": int(rng.integers(1000)),
        "trees": int(rng.integers(17, 20)) if many else int(rng.integers(1, 6)),
        "jobs": int(rng.integers(1, 3)),
        "unit": bool(rng.random() < 0.5),
        "equal": bool(rng.random() < 0.5),
    }


_FOREST = _LABELS | {"Q": "qp"}
_SINGLE = 8 * float(np.finfo(np.float32).eps)


def _compare_grams(kernel, X, Q, both, single=_SINGLE):
    "All Gram matrices of a kernel with those between inputs and queries together."
    n, F, G = len(X), kernel.transform(X), kernel.transform(Q)
    own, cross, scale = both[:n, :n], both[n:, :n], both.max()
    return [
        compare(kernel.gram(X), own, single, scale, "Gram matrix of one set"),
        compare(kernel.gram(X, X), own, single, scale, "Gram matrix of two sets"),
        compare(kernel.gram(), own, single, scale, "Gram matrix of the training set"),
        compare(kernel.gram(X, Q), cross.T, single, scale, "inputs and queries"),
        compare(kernel.cross_gram(Q), cross, single, scale, "queries"),
        compare((F @ F.T).toarray(), own, single, scale, "map"),
        compare((G @ F.T).toarray(), cross, single, scale, "map of queries"),
        compare(kernel.diag(X), np.diag(own), single, scale, "diagonal"),
    ]


@VOTES.add(
    "forest-kernel",
    "kernel of a forest and its map (eq-forestk-kens, eq-forestk-map)",
    "equal leaves of scikit-learn's forest, counted",
    "8 eps of single precision, of the summed weights",
    draw=_draw_forest,
    axes=_FOREST,
)
def _judge_forest_kernel(X, y, weight, Q, seed, trees, jobs, unit, equal):
    _one_hot(y)
    if trees < 1 or jobs < 1:
        raise PassedOver("no trees")
    forest = ExtraTreesClassifier(trees, random_state=seed, max_depth=3).fit(X, y)
    votes = np.ones(trees) if equal else np.arange(1.0, trees + 1.0)
    how = {"normalize": unit, "tree_weights": votes, "n_jobs": jobs}
    kernel = ForestKernel(FrozenEstimator(forest), **how).fit(X, y)
    leaf = forest.apply(np.r_[X, Q])
    theirs = (leaf[:, None] == leaf[None]) @ votes
    theirs = theirs / votes.sum() if unit else theirs
    found = _compare_grams(kernel, X, Q, theirs)
    sizes = np.diff(kernel.transform(X).indptr)
    return [*found, identical(sizes, np.full(len(X), trees), "leaves of an example")]


@VOTES.add(
    "forest-ancestors",
    "kernel of nearest common ancestors and its map (eq-forestk-nca)",
    "the paths of scikit-learn's trees: the deepest node on both",
    "32 eps of single precision",
    draw=lambda rng: (
        _draw_forest(rng) | {"ancestor": str(rng.choice(["size", "depth"]))}
    ),
    axes=_FOREST,
)
def _judge_ancestors(X, y, weight, Q, seed, trees, jobs, unit, equal, ancestor):
    _one_hot(y)
    if trees < 1 or jobs < 1:
        raise PassedOver("no trees")
    forest = ExtraTreesClassifier(trees, random_state=seed, max_depth=4).fit(X, y)
    votes = np.ones(trees) if equal else np.arange(1.0, trees + 1.0)
    how = {"normalize": unit, "tree_weights": votes, "n_jobs": jobs}
    kernel = ForestKernel(FrozenEstimator(forest), ancestor=ancestor, **how).fit(X, y)
    both = np.r_[X, Q].astype(np.float32)
    theirs = np.zeros((len(both), len(both)))
    for tree, vote in zip(forest.estimators_, votes):
        passed = tree.decision_path(both).toarray().astype(bool)
        depth = np.zeros(passed.shape[1])
        for node, (a, b) in enumerate(
            zip(tree.tree_.children_left, tree.tree_.children_right)
        ):
            if a >= 0:
                depth[[a, b]] = depth[node] + 1
        common = passed[:, None] & passed[None]
        last = np.where(common, depth, -1.0).argmax(axis=2)
        part = tree.tree_.weighted_n_node_samples / len(X)
        value = 1 - part if ancestor == "size" else 1 - 0.5**depth
        value[tree.tree_.children_left < 0] = 1.0
        theirs += vote * value[last]
    theirs = theirs / votes.sum() if unit else theirs
    return _compare_grams(kernel, X, Q, theirs, 4 * _SINGLE)


@VOTES.add(
    "forest-kernel-oob",
    "kernel of the trees that have seen neither input, and accuracies of trees",
    "samples and leaves of scikit-learn's forest, counted one by one",
    "8 eps of single precision",
    draw=_draw_forest,
    axes=_FOREST,
    refusals=("normalize=True divides", "no example is out-of-bag"),
)
def _judge_kernel_oob(X, y, weight, Q, seed, trees, jobs, unit, equal):
    _one_hot(y)
    if trees < 1 or jobs < 1:
        raise PassedOver("no trees")
    trees += 4  # so that most examples are left out of some sample
    forest = RandomForestClassifier(trees, random_state=seed, max_depth=3).fit(X, y)
    votes = np.ones(trees) if equal else np.arange(1.0, trees + 1.0)
    how = {"normalize": unit, "tree_weights": votes, "n_jobs": jobs, "oob": True}
    kernel = ForestKernel(FrozenEstimator(forest), **how)
    leaf, theirs = forest.apply(X), np.zeros((len(X), len(X)))
    squares, counted = np.zeros(len(X)), []
    for t, (member, rows) in enumerate(
        zip(forest.estimators_, forest.estimators_samples_)
    ):
        out = np.array([i not in set(rows.tolist()) for i in range(len(X))])
        squares += votes[t] * out
        mates = np.equal.outer(leaf[:, t], leaf[:, t])
        theirs += votes[t] * mates * np.outer(out, out)
        ballots = member.tree_.value[leaf[:, t], 0].argmax(axis=1)
        right = forest.classes_[ballots] == y
        counted.append(right[out].mean() if out.any() else np.nan)
    found = [compare(oob_accuracies(forest, X, y), counted, 1e-12, 1.0, "accuracies")]
    F = kernel.fit_transform(X, y)
    if unit:
        theirs = theirs / np.sqrt(np.outer(squares, squares))
    return [
        *found,
        compare(kernel.gram(), theirs, _SINGLE, what="Gram matrix"),
        compare((F @ F.T).toarray(), theirs, _SINGLE, what="map"),
        compare(kernel.diag(), np.diag(theirs), _SINGLE, what="diagonal"),
    ]


def _draw_cube(rng):
    "Points of the unit cube, some of them on the cuts."
    n, q, p = draw_size(rng, 1, 5), draw_size(rng, 1, 5), draw_size(rng, 1, 3)
    A, B = (
        np.where(coin < 0.5, rng.random(coin.shape), rng.integers(0, 9, coin.shape) / 8)
        for coin in (rng.random((n, p)), rng.random((q, p)))
    )
    return {"A": A, "B": B, "depth": int(rng.integers(0, 5))}


@VOTES.add(
    "centred-kernel",
    "kernel of infinitely many centred trees (eq-forestk-centred)",
    "all sequences of coordinates, and the cells that they cut out, in fractions",
    "1e-12",
    draw=_draw_cube,
    axes={"A": "np", "B": "qp"},
)
def _judge_centred(A, B, depth):
    p = A.shape[1]

    def sides(x):
        "On which side of the centre of its cell a number is, halving by halving."
        low, high, found = Fraction(0), Fraction(1), []
        for _ in range(depth):
            middle = (low + high) / 2
            found.append(x >= middle)
            low, high = (middle, high) if x >= middle else (low, middle)
        return found

    ours, theirs = [], np.zeros((len(A), len(B)))
    left, right = ([[sides(Fraction(x)) for x in row] for row in M] for M in (A, B))
    trees = [Counter(path) for path in product(range(p), repeat=depth)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            together = [
                all(a[k][: cuts[k]] == b[k][: cuts[k]] for k in range(p))
                for cuts in trees
            ]
            theirs[i, j] = np.mean(together)
    kernel = CentredForestKernel(depth)
    ours = kernel.gram(A, B)
    return [
        compare(ours, theirs, 1e-12, 1.0, "share of the trees"),
        compare(kernel.diag(A), np.ones(len(A)), 1e-12, 1.0, "diagonal"),
    ]


@VOTES.add(
    "kernel-measures",
    "polarisation, mean direction, FSM and its bound (eq-quality-fsm, thm-quality-fsm)",
    "explicit vectors, and all hyperplanes across the line through the means",
    "64 n eps of the largest squared norm, over the squared distance of the means",
    draw=lambda rng: (
        lambda n: {
            "Phi": draw_matrix(rng, n, draw_size(rng, 1, 4), False),
            "y": draw_classes(rng, n),
        }
    )(draw_size(rng, 2, 12)),
    axes={"Phi": "nd", "y": "n"},
)
def _judge_measures(Phi, y):
    _one_hot(y)
    plus, K = y > 0, Phi @ Phi.T
    if not 0 < plus.sum() < len(y):
        raise PassedOver("one class")
    largest, small = K.diagonal().max() or 1.0, 64 * len(y) * EPS
    total = Phi[plus].sum(axis=0) - Phi[~plus].sum(axis=0)
    between = Phi[plus].mean(axis=0) - Phi[~plus].mean(axis=0)
    along, square = Phi @ between, between @ between
    polar = kernel_polarization(K, y)
    found = [
        compare(polar, total @ total, small, largest * len(y) ** 2, "polarisation"),
        compare(mean_direction(K, y), along, small, largest, "projections"),
    ]
    measure = feature_space_measure(K, y)
    if square < 1e-14 * largest:
        return [*found, compare(measure, np.inf, 0.0, 1.0, "equal means")]
    spread = (along[plus].std() + along[~plus].std()) / square
    tolerance = small * largest / square
    found.append(compare(measure, spread, tolerance, max(1.0, spread), "FSM"))
    errors = [
        max(np.mean(~right(along[plus], cut)), np.mean(right(along[~plus], cut)))
        for cut in along
        for right in (np.greater, np.greater_equal)
    ]
    broken = beyond(min(errors) - measure**2 / (1 + measure**2))
    return [*found, compare(broken, 0.0, max(1e-9, tolerance), 1.0, "the bound")]


@VOTES.add(
    "forest-hyperplane",
    "a vote is a hyperplane in leaf space (thm-forest-3)",
    "votes of scikit-learn's trees, counted",
    "1e-12; an even vote is a tie",
    draw=lambda rng: _draw_labels(rng) | {"seed": int(rng.integers(1000))},
    axes=_LABELS,
)
def _judge_hyperplane(X, y, weight, seed):
    y = (y > 0).astype(int)
    _one_hot(y)
    forest = ExtraTreesClassifier(3, random_state=seed, max_depth=2).fit(X, y)
    alpha = vote_hyperplane(forest)
    ours = ForestKernel(FrozenEstimator(forest)).fit(X, y).transform(X) @ alpha
    theirs = np.zeros(len(X))
    for tree in forest.estimators_:
        shares = tree.predict_proba(X)
        theirs += np.sign(shares[:, 1] - shares[:, 0])
    return compare(ours, theirs, 1e-6, 1.0)


@VOTES.add(
    "separability",
    "bound on the separability of a sample (thm-forest-4)",
    "the binomial sum in rational arithmetic",
    "1e-9 of the logarithm",
    draw=lambda rng: {
        "n": int(rng.integers(1, 50)),
        "trees": int(rng.integers(1, 40)),
        "thousandths": int(rng.integers(1, 1000)),
    },
)
def _judge_separability(n, trees, thousandths):
    if min(n, trees, thousandths) < 1:
        raise PassedOver("no examples or no trees")
    p = Fraction(thousandths, 1000)
    terms = [comb(trees, i) * p**i * (1 - p) ** (trees - i) for i in range(trees + 1)]
    above = sum(terms[trees // 2 + 1 :])
    inside = float(above) if above < Fraction(1, 2) else float(1 - above)
    theirs = n * (log(inside) if above < Fraction(1, 2) else np.log1p(-inside))
    return compare(separability_bound(n, trees, thousandths / 1000), theirs, 1e-9)


# Votes
#
# AdaBoost with stumps is compared with scikit-learn's, round by round, until the first
# tie. The identities on margins and diversity are compared with sums over examples and
# hypotheses, and the largest margin with an independently formulated linear program.
# The alignments of thm-margin-alignment are computed from the edges and products of
# voters, and compared with those of the Gram matrices themselves.
#
# The samples of bagging are judged by the trees that are grown on them: the class
# weights of every node have to be the sums over the drawn rows, repeated ones included,
# and every split has to be the best one for these sums. AdaBoost on samples is written
# anew, since no other package draws in the same order. The parts of an error, noise,
# bias and variance, are compared with the definition of probability: all pairs of an
# answer and a label are listed, and those that differ are counted.


@VOTES.add(
    "stump",
    "best stump by Gini and by error (eq-ada-gini, eq-ada-stumperror)",
    "all splits",
    "1e-9",
    draw=lambda rng: _draw_labels(rng) | {"by": str(rng.choice(["gini", "error"]))},
    axes=_LABELS,
)
def _judge_stump(X, y, weight, by):
    Phi = _one_hot(y)
    if not weight.sum() > 0:
        raise PassedOver("no weight")
    weight = weight / weight.sum()

    def badness(left):
        parts = [Phi[side].T @ weight[side] for side in (left, ~left)]
        if by == "error":
            return 1.0 - sum(part.max() for part in parts)
        return sum(p.sum() - (p @ p) / p.sum() for p in parts if p.sum() > 0)

    stump = best_stump(
        sort_stump_examples(X, np.unique(y, return_inverse=True)[1], Phi.shape[1]),
        weight,
        by,
    )
    sides = [badness(X[:, f] <= cut) for f, cut, _ in all_splits(X, Phi, weight + 1e-9)]
    theirs = min(sides, default=badness(np.ones(len(X), bool)))
    ours = badness(X[:, stump.feature] <= stump.threshold)
    return compare(ours, theirs, _EQUAL, 1.0)


@VOTES.add(
    "adaboost",
    "AdaBoost with stumps (eq-ada-alpha, epsilon, weights, samme)",
    "scikit-learn's AdaBoostClassifier, round by round",
    "1e-6 of the weights of the votes; ties are examined",
    draw=_draw_labels,
    axes=_LABELS,
    refusals=("no better than chance",),
)
def _judge_adaboost(X, y, weight):
    Phi = _one_hot(y, weight)
    ours = AdaBoost(n_estimators=4).fit(X, y, weight)
    theirs = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, y, weight)
    w, codes, found = weight / weight.sum(), Phi.argmax(axis=1), []
    for t, (mine, other) in enumerate(zip(ours.estimators_, theirs.estimators_)):
        kept = w > 0
        splits = all_splits(X[kept], Phi[kept], w[kept])
        best = sorted((score for *_, score in splits), reverse=True)
        if not splits or (len(best) > 1 and best[0] - best[1] <= _EQUAL):
            raise Tie("two stumps are equally good")
        cuts = [mine.threshold_, other.tree_.threshold[0]]
        found.append(identical(mine.feature_, other.tree_.feature[0], "feature"))
        found.append(compare(*cuts, 1e-6, max(1.0, abs(cuts[1])), "threshold"))
        p = Phi.T @ (
            w[:, None]
            * np.c_[X[:, mine.feature_] <= cuts[0], X[:, mine.feature_] > cuts[0]]
        )
        if (np.diff(np.sort(p, axis=0)[-2:], axis=0) < 1e-9).any():
            raise Tie("a leaf is undecided")
        wrong = mine.predict(X) != codes
        wrong = mine.classes_[mine.predict(X)] != codes if wrong.all() else wrong
        step = boost_step(
            w, np.where(wrong, -1.0 / (Phi.shape[1] - 1), 1.0), Phi.shape[1]
        )
        if not 1e-9 < w[wrong].sum() < 1 - 1 / Phi.shape[1] - 1e-9:
            break
        alpha = 2.0 * ours.estimator_weights_[t]
        found.append(compare(alpha, theirs.estimator_weights_[t], 1e-6, 1.0, "alpha"))
        found.append(compare(2.0 * step.alpha, alpha, 1e-6, 1.0, "step"))
        w = step.weight
    return found or [compare(0.0, 0.0, 1e-6)]


def _draw_votes(rng):
    "Hypotheses of several classes, their weights, and the truth."
    n, T, c = draw_size(rng, 1, 8), draw_size(rng, 1, 6), int(rng.integers(2, 4))
    y = draw_classes(rng, max(n, c), c)
    H = np.where(rng.random((T, len(y))) < 0.6, y, rng.integers(0, c, (T, len(y))))
    return {"H": H, "y": y, "votes": draw_weights(rng, T)}


_VOTES = {"H": "tn", "y": "n", "votes": "t"}


@VOTES.add(
    "votes",
    "shares and margins of votes (eq-vote-shares, eq-margin-def, classes)",
    "counting, vote by vote",
    "1e-12",
    draw=_draw_votes,
    axes=_VOTES,
)
def _judge_votes(H, y, votes):
    classes = np.unique(np.r_[H.ravel(), y])
    if len(classes) < 2 or not votes.sum() > 0 or len(np.unique(y)) < 2:
        raise PassedOver("one class")
    H, y = (np.searchsorted(classes, A) for A in (H, y))
    shares = (
        np.array(
            [
                [
                    sum(v for h, v in zip(H[:, i], votes) if h == c)
                    for c in range(len(classes))
                ]
                for i in range(len(y))
            ]
        )
        / votes.sum()
    )
    lead = [s[k] - np.delete(s, k).max() for s, k in zip(shares, y)]
    ours = vote_shares(H, len(classes), votes)
    found = [compare(ours, shares, 1e-12, 1.0, "shares")]
    if len(classes) == 2:
        found.append(
            compare(vote_margins(2 * H - 1, 2 * y - 1, votes), lead, 1e-12, 1.0)
        )
    return [*found, compare(vote_margins(H, y, votes), lead, 1e-12, 1.0, "margins")]


@VOTES.add(
    "diversity",
    "kappa and error of pairs (eq-margin-kappa)",
    "scikit-learn's cohen_kappa_score",
    "1e-12",
    draw=_draw_votes,
    axes=_VOTES,
)
def _judge_kappa(H, y, votes):
    if len(H) < 2:
        raise PassedOver("one hypothesis")
    found = kappa_error(H, y)
    theirs = [
        1.0 if (a == a[0]).all() and (b == a[0]).all() else cohen_kappa_score(a, b)
        for a, b in ((H[i], H[j]) for i, j in found.pairs)
    ]
    errors = [((H[i] != y).mean() + (H[j] != y).mean()) / 2 for i, j in found.pairs]
    return [
        compare(found.kappa, theirs, 1e-12, 1.0, "kappa"),
        compare(found.error, errors, 1e-12, 1.0, "error"),
    ]


@VOTES.add(
    "diversity-identity",
    "error of a vote: mean loss minus diversity (eq-vote-diversity)",
    "sums over all pairs of hypotheses",
    "1e-12",
    draw=_draw_votes,
    axes=_VOTES,
)
def _judge_diversity(H, y, votes):
    if not votes.sum() > 0:
        raise PassedOver("no votes")
    h, t = np.where(H > 0, 1.0, -1.0), np.where(y > 0, 1.0, -1.0)
    v = votes / votes.sum()
    margins = vote_margins(h, t, votes) if len(set(t)) > 1 else t * (v @ h)
    loss = np.mean((1 - margins) ** 2) / 4
    apart = np.array([[np.mean(a != b) for b in h] for a in h])
    errors = np.array([np.mean(a != t) for a in h])
    return compare(loss, v @ errors - 0.5 * v @ apart @ v, 1e-12, 1.0)


@VOTES.add(
    "margin-bound-boosting",
    "few small margins after boosting (eq-ada-z)",
    "the bound holds for the margins that are counted",
    "1e-9",
    draw=lambda rng: (
        _draw_labels(rng) | {"theta": float(rng.choice([0, 0.1, 0.3, 0.6]))}
    ),
    axes=_LABELS,
)
def _judge_margin_bound(X, y, weight, theta):
    y = (y > 0).astype(int)
    _one_hot(y)
    w, alphas, norms, H = np.full(len(y), 1 / len(y)), [], [], []
    for _ in range(4):
        peer = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, w)
        h = 2.0 * peer.predict(X) - 1
        step = boost_step(w, h * (2 * y - 1))
        if not np.isfinite(step.alpha) or step.alpha <= 1e-9:
            break
        w = step.weight
        alphas.append(step.alpha)
        norms.append(step.normalizer)
        H.append(h)
    if not H:
        raise PassedOver("no useful stump")
    bound = boosting_margin_bound(alphas, norms, theta)
    margins = (2 * y - 1) * (np.array(alphas) @ H) / sum(alphas)
    product = np.prod(norms) * np.exp(theta * sum(alphas))
    broken = beyond(np.mean(margins <= theta - 1e-9) - bound)
    return [
        compare(broken, 0.0, 1e-9, 1.0, "the bound"),
        compare(bound, product, 1e-9, what="its value"),
    ]


@VOTES.add(
    "largest-margin",
    "weights of largest margin (eq-margin-primal, dual)",
    "a linear program, written anew for scipy",
    "1e-6",
    draw=_draw_votes,
    axes=_VOTES,
)
def _judge_largest_margin(H, y, votes):
    h, t = np.where(H > 0, 1, -1), np.where(y > 0, 1, -1)
    if len(np.unique(t)) < 2:
        raise PassedOver("one class")
    M, (T, n) = h * t, h.shape
    # maximise rho over v >= 0 with sum 1 and v'M >= rho
    found = linprog(
        np.r_[np.zeros(T), -1.0],
        np.c_[-M.T, np.ones(n)],
        np.zeros(n),
        np.r_[np.ones(T), 0.0][None],
        [1.0],
        [(0, None)] * T + [(None, None)],
    )
    ours = max_margin_weights(h, t)
    return [
        compare(ours.margin, -found.fun, 1e-6, 1.0, "margin"),
        compare(ours.edge, -found.fun, 1e-6, 1.0, "edge"),
        compare((ours.weights @ M).min(), ours.margin, 1e-9, 1.0, "of the weights"),
    ]


@VOTES.add(
    "margin-bound",
    "generalisation bound by margins (eq-margin-bound)",
    "all sizes of the small vote up to 20,000",
    "the bound is at most 1 % above the best size, and never below",
    draw=lambda rng: {
        "theta": float(rng.choice([0.3, 0.5, 1.0])),
        "n": int(10 ** rng.integers(3, 8)),
        "H": int(rng.integers(2, 10**6)),
    },
)
def _judge_generalisation(theta, n, H):
    if n < 1 or H < 2 or not theta > 0.2:
        raise PassedOver("out of range")
    s = np.arange(1, 20001)
    capacity = np.log(s) + 2 * np.log(s + 1) + s * np.log(H) - np.log(0.05)
    theirs = (2 * np.exp(-s * theta**2 / 8) + np.sqrt(capacity / (2 * n))).min()
    ours = float(margin_bound(theta, n, H))
    low = beyond(theirs - ours) / theirs
    return [
        compare(low, 0.0, 1e-9, 1.0, "below"),
        compare(beyond(ours / theirs - 1.01), 0.0, 1e-9, 1.0, "above"),
    ]


@VOTES.add(
    "vote-alignment",
    "alignments of voters' kernels, and the C-bound (thm-margin-alignment)",
    "Gram matrices of the answers, multiplied out; undecided and wrong votes, counted",
    "1e-9",
    draw=_draw_votes,
    axes=_VOTES,
)
def _judge_alignments(H, y, votes):
    if not votes.sum() > 0:
        raise PassedOver("no votes")
    h, t = np.where(H > 0, 1, -1), np.where(y > 0, 1, -1)
    if len(np.unique(t)) < 2:
        raise PassedOver("one class")
    a, target = votes / votes.sum(), np.outer(t, t)

    def aligned(K):
        return np.sum(K * target) / np.sqrt(np.sum(K * K) * np.sum(target * target))

    edges, products = vote_moments(h, t)
    each = [np.outer(one, one) for one in h]
    whole = sum(weight * K for weight, K in zip(a, each))
    vote = a @ h
    lead = t * vote
    ours, bound = (f(edges, products, votes) for f in (vote_alignment, c_bound))
    weak = np.mean(lead <= 1e-12)
    found = [
        compare(edges, [1 - 2 * np.mean(one != t) for one in h], 1e-12, 1.0, "edges"),
        compare(
            products,
            [[1 - 2 * np.mean(one != two) for two in h] for one in h],
            1e-12,
            1.0,
            "products",
        ),
        compare(edges**2, [aligned(K) for K in each], 1e-9, 1.0, "each voter"),
        compare(ours, aligned(whole), 1e-9, 1.0, "sum of the voters"),
        compare(beyond(weak - bound), 0.0, 1e-9, 1.0, "the bound"),
    ]
    if lead.mean() > 1e-9:
        own = aligned(np.outer(vote, vote))
        found.append(compare(bound, 1 - own, 1e-9, 1.0, "kernel of the vote"))
        if np.ptp(edges) < 1e-12:
            broken = beyond(bound - 1 + aligned(whole))
            found.append(compare(broken, 0.0, 1e-9, 1.0, "equal edges"))
    elif lead.mean() < -1e-9:
        found.append(compare(bound, 1.0, 0.0, 1.0, "no bound"))
    return found


def _draw_answers(rng):
    "Answers to queries after several samples, and probabilities of classes."
    s, q, c = draw_size(rng, 1, 6), draw_size(rng, 1, 5), int(rng.integers(2, 4))
    odds = rng.random((q, c)) * rng.integers(0, 3, (q, c))
    odds[np.arange(q), rng.integers(0, c, q)] += 0.5
    return {"answers": rng.integers(0, c, (s, q)), "odds": odds}


@VOTES.add(
    "bias-variance",
    "noise, bias and variance add up to the error (eq-vote-breiman, eq-vote-kohavi)",
    "all pairs of answers and labels",
    "1e-12; where the main prediction is not unique, only the sum is compared",
    draw=_draw_answers,
    axes={"answers": "sq", "odds": "qc"},
)
def _judge_bias_variance(answers, odds):
    if not (odds.sum(axis=1) > 0).all() or answers.max() >= odds.shape[1]:
        raise PassedOver("no probabilities")
    proba = odds / odds.sum(axis=1, keepdims=True)
    classes, found = range(odds.shape[1]), []
    ours = {name: bias_variance(answers, proba, name) for name in _DEFINITIONS}
    for x, (given, p) in enumerate(zip(answers.T, proba)):
        error = np.mean([sum(p[c] for c in classes if c != h) for h in given])
        labels = sum(p[c] * p[d] for c in classes for d in classes if c != d)
        apart = np.mean([a != b for a in given for b in given])
        for name, parts in ours.items():
            total = parts.noise[x] + parts.bias[x] + parts.variance[x]
            found.append(compare(total, error, 1e-12, 1.0, f"sum, {name}"))
        theirs = [labels / 2, error - labels / 2 - apart / 2, apart / 2]
        mine = [ours["kohavi-wolpert"][part][x] for part in _PARTS]
        found.append(compare(mine, theirs, 1e-12, 1.0, "Kohavi and Wolpert"))
        counts = Counter(given.tolist()).most_common(2)
        if len(counts) == 1 or counts[0][1] > counts[1][1]:
            noise = 1 - p.max()
            biased = p[counts[0][0]] < p.max() - 1e-9
            theirs = [noise, (error - noise) * biased, (error - noise) * (not biased)]
            mine = [ours["breiman"][part][x] for part in _PARTS]
            found.append(compare(mine, theirs, 1e-12, 1.0, "Breiman"))
    return found


_DEFINITIONS = ("breiman", "kohavi-wolpert")
_PARTS = ("noise", "bias", "variance")


def _count_margins(said, codes, weights):
    "The share of the own class minus the largest share of another, vote by vote."
    total = np.zeros((len(codes), codes.max() + 1))
    for row, weight in zip(said, weights):
        for i, c in enumerate(row):
            total[i, c] += weight
    own = total[np.arange(len(codes)), codes]
    total[np.arange(len(codes)), codes] = -np.inf
    return (own - total.max(axis=1)) / np.sum(weights)


@VOTES.add(
    "bagging",
    "votes of bagging, of those out of the bag, and margins (eq-vote-shares)",
    "its hypotheses, counted one by one",
    "1e-12; an even vote is a tie",
    draw=lambda rng: _draw_labels(rng) | {"seed": int(rng.integers(1000))},
    axes=_LABELS,
)
def _judge_bagging(X, y, weight, seed):
    _one_hot(y)
    how = {"n_estimators": 5, "random_state": seed, "oob_score": True}
    model = Bagging(RandomizedTreeClassifier("gini"), **how).fit(X, y)
    c, n = len(model.classes_), len(X)
    votes, unseen = np.zeros((n, c)), np.zeros((n, c))
    drawn = [np.bincount(rows, minlength=n) for rows in model.estimators_samples_]
    answers = [np.asarray(tree.predict(X), dtype=int) for tree in model.estimators_]
    for said, counts in zip(answers, drawn):
        for i in range(n):
            votes[i, said[i]] += 1
            unseen[i, said[i]] += counts[i] == 0
    with np.errstate(invalid="ignore"):
        unseen = unseen / unseen.sum(axis=1, keepdims=True)
    ours = out_of_bag_shares(model.estimators_, X, np.array(drawn, float), c)
    lead = _count_margins(answers, np.searchsorted(model.classes_, y), np.ones(5))
    found = [
        compare(model.votes(X), votes / 5, 1e-12, 1.0, "votes"),
        compare(ours, unseen, 1e-12, 1.0, "out of the bag"),
        compare(margins(model, X, y), lead, 1e-12, 1.0, "margins"),
    ]
    first, second = np.sort(votes, axis=1)[:, ::-1][:, :2].T
    if (first == second).any():
        raise Tie("an even vote")
    said = model.classes_[votes.argmax(axis=1)]
    return [*found, identical(model.predict(X), said, "predictions")]


@VOTES.add(
    "bagging-samples",
    "each tree of bagging is learnt from its sample, repeated rows and all",
    "counts of the drawn rows, and all splits of every node with them",
    "the gain of the split taken is the largest, to 1e-9; the same counts",
    draw=lambda rng: (
        _draw_labels(rng)
        | {
            "seed": int(rng.integers(1000)),
            "by": str(rng.choice(["gini", "entropy"])),
            "weighted": bool(rng.random() < 0.5),
        }
    ),
    axes=_LABELS,
)
def _judge_bagging_samples(X, y, weight, seed, by, weighted):
    Phi, n = _one_hot(y), len(X)
    if not weight.sum() > 0:
        raise PassedOver("no weight")
    model = Bagging(RandomizedTreeClassifier(by), n_estimators=3, random_state=seed)
    model.fit(X, y, weight if weighted else None)
    found = []
    for tree, rows in zip(model.estimators_, model.estimators_samples_):
        counts = np.array([np.count_nonzero(rows == i) for i in range(n)], float)
        found += _judge_gains(tree.tree_, X, Phi, counts, by)[0]
        found.append(compare(counts.sum(), n, 0.0, 1.0, "size of a sample"))
        if weighted:
            foreign = counts[weight == 0].sum()
            found.append(compare(foreign, 0.0, 0.0, 1.0, "examples without weight"))
    return found


@VOTES.add(
    "adaboost-samples",
    "AdaBoost on samples drawn by its weights, round by round (eq-ada-vote)",
    "the algorithm written anew for scikit-learn's trees, and votes counted",
    "1e-9 of the weights of the votes; an even vote is a tie",
    draw=lambda rng: _draw_labels(rng) | {"seed": int(rng.integers(1000))},
    axes=_LABELS,
    refusals=("no better than chance",),
)
def _judge_resampling(X, y, weight, seed):
    _one_hot(y, weight)
    learner = DecisionTreeClassifier(max_depth=2, max_leaf_nodes=3)
    how = {"n_estimators": 4, "resample": True, "random_state": seed}
    ours, kept = AdaBoost(learner, **how).fit(X, y, weight), weight > 0
    codes = np.unique(y, return_inverse=True)[1]
    c, rng, w = codes.max() + 1, np.random.RandomState(seed), weight / weight.sum()
    inputs, truth, w = X[kept], codes[kept], w[kept]
    alphas, answers = [], []
    while len(alphas) < 4:
        for _ in range(100):  # samples of one class are drawn again
            rows = rng.choice(len(w), size=len(w), p=w)
            if np.ptp(truth[rows]):
                break
        else:
            raise PassedOver("a class is hardly ever drawn")
        counts = np.bincount(rows, minlength=len(w)).astype(float)
        seen = counts > 0
        tree = clone(learner).set_params(random_state=rng.randint(MAX_SEED))
        tree.fit(inputs[seen], truth[seen], sample_weight=counts[seen])
        wrong = tree.predict(inputs) != truth
        error = w[wrong].sum()
        if abs(error - 1 + 1 / c) < 1e-9:
            raise Tie("as good as chance, up to rounding")
        if error > 1 - 1 / c:
            break
        answers.append(tree.predict(X))
        if not wrong.any():
            alphas.append(1.0 + sum(alphas))
            break
        alphas.append(0.5 * (np.log((1 - error) / error) + np.log(c - 1)))
        w = w * np.exp(2.0 * alphas[-1] * wrong)
        w = w / w.sum()
    found = [
        compare(ours.estimator_weights_, alphas, 1e-9, max(alphas), "weights of votes"),
        identical(ours.hypotheses(X), answers, "hypotheses"),
    ]
    if found[0].error > found[0].tolerance:
        return found
    lead = _count_margins(answers, codes, alphas)
    found.append(compare(margins(ours, X, y), lead, 1e-9, 1.0, "margins"))
    votes, stages = np.zeros((len(X), c)), []
    for alpha, said in zip(alphas, answers):
        votes[np.arange(len(X)), said] += alpha
        first, second = np.sort(votes, axis=1)[:, ::-1][:, :2].T
        if (first - second < 1e-9).any():
            raise Tie("an even vote")
        stages.append(ours.classes_[votes.argmax(axis=1)])
    said = list(ours.staged_predict(X))
    found.append(identical(said, stages, "votes after each round"))
    return [*found, identical(ours.predict(X), stages[-1], "predictions")]
