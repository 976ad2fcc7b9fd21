"""What is learnt from graphs, folds and pairs, against systems solved in full.

The claims of semi-supervised regression, of what spreads over a graph, of kernels that
couple the outputs, of tables with two sides, of the choice of penalties, of the methods
for networks, and of structured support vector machines.

The code of these chapters shares one decomposition among all nodes, folds and settings.
The oracle shares nothing: it solves the system that the source prints, fits again for
each fold and each setting, and computes the exponential of a Laplacian by another
algorithm.
"""

import itertools
from fractions import Fraction

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import KFold

from claims.claim import (
    EPS,
    Claims,
    PassedOver,
    Tie,
    compare,
    draw_matrix,
    draw_size,
    identical,
)
from claims.closed_forms import (
    _RIDGE,
    _draw_ridge,
    as_fractions,
    solve_exactly,
)
from okbook.core import graph_laplacian
from okbook.rkhs import (
    BipartiteRidge,
    BipartiteRidgeCV,
    CovarianceRidgeCV,
    LinkPredictor,
    NodeFold,
    OutputKernelRidge,
    OutputKernelRidgeCV,
    PairFold,
    SemiSupervisedOutputKernelRidge,
    SemiSupervisedOutputKernelRidgeCV,
    WeightedRBFKernel,
    knn_graph,
    label_propagation,
    link_propagation,
)
from okbook.rkhs.decomposable import (
    covariance_cv_losses,
    covariance_dual,
    decomposable_dual,
    decomposable_loo,
)
from okbook.rkhs.folds import diffusion_factor, round_scores
from okbook.rkhs.joint import (
    cutting_plane,
    loss_augmented_decode,
    restricted_dual,
    structured_svm,
)
from okbook.rkhs.link_operators import (
    leave_one_out_ridges,
    leave_one_out_squares,
    ridge_by_column,
)
from okbook.rkhs.networks import (
    canonical_directions,
    centred_eigh,
    completed_form,
    em_projection,
    short_link_directions,
)
from okbook.rkhs.search import grid_areas
from okbook.rkhs.semi_estimators import search_penalties, smoothed_cv_losses
from okbook.rkhs.semi_supervised import SmoothedSpectrum, graph_smoothers, kernel_factor

# The checks of graphs and networks, of the choice of penalties, and of joint kernels.
NETWORKS = Claims()


# Semi-supervised ridge regression
#
# ch-rkhs-semi never forms the matrix that the source inverts, $K_x U^\top U + \lambda_1
# I + 2 \lambda_2 K_x L$, which is not even symmetric. The oracle inverts it, in
# rational arithmetic. Some problems contain repeated nodes, so that $K_x$ is singular,
# and the graph may have no edges.


def _symmetric(edges):
    "The adjacency whose entries above the diagonal are given."
    return np.triu(edges, 1) + np.triu(edges, 1).T


def _laplacian(A):
    "Degrees on the diagonal, minus the weights beside it."
    return np.diag(A.sum(axis=1)) - A


def _draw_semi(rng):
    "Nodes in feature space, a graph, and which nodes are labelled."
    n, d = draw_size(rng, 2, 7), draw_size(rng, 1, 4)
    X = draw_matrix(rng, n + 2, d, scaled=False)
    labelled = rng.random(n) < 0.5
    labelled[rng.integers(n)] = True
    edges = (rng.random((n, n)) < rng.choice([0.2, 0.6])).astype(float)
    if rng.random() < 0.5:
        edges *= rng.random((n, n))
    return {
        "X": X[:n],
        "Q": X[n:],
        "edges": edges,
        "labelled": labelled,
        "ridge": float(10.0 ** rng.integers(-5, 2)),
        "smooth": float(rng.choice([0.0, 1e-4, 1e-2, 1.0])),
    }


_SEMI = {"X": "nd", "Q": "qd", "edges": "nn", "labelled": "n"}


def _printed_inverse(X, Q, W, labelled, lam, lam2):
    "B of eq-rrsn-9 by fractions, with its weights at nodes and queries."
    n, L = len(X), _laplacian(W)
    K, exact = X @ X.T, as_fractions
    U = np.eye(n)[labelled]
    A = exact(K) @ exact(U.T @ U) + Fraction(lam) * exact(np.eye(n))
    A = A + 2 * Fraction(lam2) * (exact(K) @ exact(L))
    B = solve_exactly(A.T, U.T).T
    condition = np.linalg.cond(np.array(A, dtype=float))
    return B @ K, B @ (X @ Q.T), condition * np.abs(B).max() * np.abs(K).max()


@NETWORKS.add(
    "semi-supervised",
    "semi-supervised ridge (eq-rrsn-6, 7, 8, 9; thm-rrsn-4, 5)",
    "the printed inverse in rational arithmetic",
    "1e-9, or 256 n eps times the condition number of the printed matrix",
    draw=_draw_semi,
    axes=_SEMI,
)
def _judge_semi(X, Q, edges, labelled, ridge, smooth):
    if len(X) < 2 or labelled.sum() < 2 or not ridge > 0 or not X.any():
        raise PassedOver("too few labelled nodes")
    W = _symmetric(edges)
    K = X @ X.T
    size = K.trace() / len(K)
    lam, lam2 = ridge * size, smooth
    nodes, queries, growth = _printed_inverse(X, Q, W, labelled, lam, lam2)
    (M,) = graph_smoothers(W)
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], M)
    ours = spectrum.weights(np.flatnonzero(labelled), lam, lam2)
    dual = spectrum.dual(np.flatnonzero(labelled), lam, lam2)
    model = SemiSupervisedOutputKernelRidge(
        input_kernel="linear", lam=lam, lam2=lam2, graph=W
    )
    model.fit(X, np.zeros(labelled.sum()), labelled=labelled)
    tolerance = max(1e-9, 256 * len(K) * EPS * growth)
    return [
        compare(ours, nodes.T, tolerance, 1.0, "weights at the nodes"),
        compare(K @ dual, nodes.T, tolerance, 1.0, "nodes by the dual"),
        compare(model.transduction_weights_, nodes.T, tolerance, 1.0, "nodes of fit"),
        compare(
            model.weights(Q),
            queries.T,
            tolerance,
            max(1.0, np.abs(queries).max()),
            "weights at unseen nodes",
        ),
    ]


@NETWORKS.add(
    "semi-supervised-none",
    "without smoothness it is ridge regression",
    "OutputKernelRidge on the labelled nodes",
    "1e-9, or 64 n eps over the ridge",
    draw=_draw_semi,
    axes=_SEMI,
)
def _judge_semi_none(X, Q, edges, labelled, ridge, smooth):
    if labelled.sum() < 2 or not ridge > 0 or not X.any():
        raise PassedOver("too few labelled nodes")
    W = _symmetric(edges)
    lam, y = ridge * np.square(X).sum() / len(X), np.zeros(labelled.sum())
    ours = SemiSupervisedOutputKernelRidge(
        input_kernel="linear", lam=lam, lam2=0.0, graph=W
    )
    ours = ours.fit(X, y, labelled=labelled).weights(Q)
    theirs = (
        OutputKernelRidge(input_kernel="linear", lam=lam).fit(X[labelled], y).weights(Q)
    )
    tolerance = max(1e-9, 64 * len(X) * EPS * (1 + 1 / ridge))
    return compare(ours, theirs, tolerance, max(1.0, np.abs(theirs).max()))


@NETWORKS.add(
    "semi-supervised-holdout",
    "held-out weights in closed form (eq-semi-holdout)",
    "fitting again without the fold",
    "1e-8, or 1024 n eps over the ridge",
    draw=_draw_semi,
    axes=_SEMI,
)
def _judge_holdout(X, Q, edges, labelled, ridge, smooth):
    nodes = np.flatnonzero(labelled)
    if len(nodes) < 2 or not ridge > 0 or not X.any():
        raise PassedOver("too few labelled nodes")
    W = _symmetric(edges)
    lam = ridge * np.square(X).sum() / len(X)
    (M,) = graph_smoothers(W)
    spectrum = SmoothedSpectrum(kernel_factor(X @ X.T)[0], M)
    half = np.arange(len(nodes)) % 2 == 0
    splits = [(np.flatnonzero(half), np.flatnonzero(~half))]
    (ours,) = spectrum.holdout_weights(nodes, lam, smooth, splits)
    theirs = spectrum.weights(nodes[half], lam, smooth, queries=nodes[~half])
    tolerance = max(1e-8, 1024 * len(nodes) * EPS / ridge)
    return compare(ours, theirs, tolerance, max(1.0, np.abs(theirs).max()))


# What spreads over a graph
#
# Labels and links that spread minimise a sum of squares, whose gradient is zero: one
# linear equation for each node, or for each pair of nodes. The package solves the first
# system on the components that have a label, and the second by conjugate gradients in
# the eigenvectors of the Laplacian. The oracle solves the first in rational arithmetic;
# the second it writes down as a Kronecker product, with a row for each pair, and takes
# the shortest solution, which is zero where nothing is known.


def _draw_spread(rng):
    "A graph, labelled nodes and the links between them, and what a difference costs."
    problem = _draw_semi(rng)
    n = len(problem["X"])
    return {
        "edges": problem["edges"],
        "links": rng.integers(0, 2, size=(n, n)).astype(float),
        "labelled": problem["labelled"],
        "mu": float(10.0 ** rng.uniform(-3, 2)),
        "kept": int(rng.integers(1, n + 1)),
    }


_SPREAD = {"edges": "nn", "links": "nn", "labelled": "n"}


@NETWORKS.add(
    "label-propagation",
    "labels that spread over a graph (eq-spread-labels, eq-spread-matrix)",
    "the equations of the nodes that a label reaches, in rational arithmetic",
    "32 n eps times the condition number",
    draw=_draw_spread,
    axes=_SPREAD,
)
def _judge_labels(edges, links, labelled, mu, kept):
    if not labelled.any():
        raise PassedOver("no label")
    W, n = _symmetric(edges), len(edges)
    nodes = np.flatnonzero(labelled)
    near = np.linalg.matrix_power((W > 0) + np.eye(n), n) > 0
    reached = np.flatnonzero(near[:, nodes].any(axis=1))
    exact, own = as_fractions, np.ix_(reached, reached)
    A = exact(np.diag(1.0 * labelled)) + Fraction(mu) * exact(W.sum(1) * np.eye(n) - W)
    theirs = np.zeros((n, len(nodes)))
    theirs[reached] = solve_exactly(A[own], np.eye(n)[np.ix_(reached, nodes)])
    tolerance = 32 * n * EPS * np.linalg.cond(A[own].astype(float))
    return compare(label_propagation(W, labelled, mu), theirs, tolerance, 1.0)


@NETWORKS.add(
    "link-propagation",
    "links that spread over the pairs of a graph (eq-spread-links)",
    "a Kronecker system with a row for each pair of nodes, or of eigenvectors",
    "the residual that was asked for, over the least eigenvalue; 256 n eps times the "
    "condition number",
    draw=_draw_spread,
    axes=_SPREAD,
)
def _judge_links(edges, links, labelled, mu, kept):
    if not labelled.any() or not 0 < kept <= len(edges):
        raise PassedOver("no label, or no eigenvector")
    W, known, n = _symmetric(edges), _symmetric(links), len(edges)
    L, J, eye = _laplacian(W), np.diag(1.0 * labelled), np.eye(n)
    nu, Q = np.linalg.eigh(L)
    if kept < n and nu[kept] - nu[kept - 1] <= 1e-4 * nu[-1]:
        raise Tie("two eigenvectors are equally smooth")
    Q = np.kron(Q[:, :kept], Q[:, :kept])
    H = Q.T @ (np.kron(J, J) + mu * (np.kron(L, eye) + np.kron(eye, L))) @ Q
    right, sizes = Q.T @ (J @ known @ J).ravel(), np.linalg.eigvalsh(H)
    if not sizes[-1] > 1e-9:
        raise PassedOver("nothing is known in these coordinates")
    least = sizes[sizes > 1e-9 * sizes[-1]].min()
    theirs = Q @ np.linalg.pinv(H, rcond=1e-9, hermitian=True) @ right
    nodes, tol = np.flatnonzero(labelled), 1e-11
    ours = link_propagation(W, known[np.ix_(nodes, nodes)], nodes, mu, kept, tol)
    length = np.linalg.norm(right)
    tolerance = (tol * length + 256 * n * EPS * sizes[-1] * length / least) / least
    return [
        compare(ours, theirs.reshape(n, n), tolerance, 1.0, "scores"),
        identical(ours, ours.T, "symmetry"),
    ]


# Kernels that couple the outputs
#
# For $\mathcal K(x, x') = k(x, x') A$ the coefficients solve a Sylvester equation,
# which ch-rkhs-beyond diagonalises. The oracle solves the same equation as one large
# linear system with a Kronecker product.


def _draw_tasks(rng):
    return _draw_ridge(rng) | {"T": draw_matrix(rng, 3, draw_size(rng, 1, 3), False)}


@NETWORKS.add(
    "multi-task",
    "ridge regression with a decomposable kernel (eq-beyond-loo)",
    "a Kronecker system, and fitting again without each example",
    "1024 n eps times the condition number",
    draw=_draw_tasks,
    axes={"X": "nd", "Q": "qd", "Y": "ne"},
)
def _judge_tasks(X, Q, Y, ridge, T):
    if not ridge > 0 or not T.any() or len(X) < 2:
        raise PassedOver("nothing to do")
    Y = np.c_[Y, Y, Y][:, :3] / (np.abs(Y).max() or 1.0)
    K, A, n = X @ X.T, T @ T.T, len(X)
    G = np.kron(K, A)
    lam = ridge * (np.trace(G) or 1.0)

    def solve(kept):
        system = np.kron(K[np.ix_(kept, kept)], A) + lam * np.eye(3 * len(kept))
        return sla.solve(system, Y[kept].ravel(), assume_a="pos").reshape(-1, 3)

    C = solve(np.arange(n))
    tolerance = 1024 * n * EPS * (1 + ridge) / ridge
    losses = []
    for i in range(n):
        kept = np.flatnonzero(np.arange(n) != i)
        losses.append(np.square(K[i, kept] @ solve(kept) @ A - Y[i]).sum())
    loo = decomposable_loo(K, A, Y, [lam])
    return [
        compare(decomposable_dual(K, A, Y, lam), C, tolerance, None, "dual"),
        compare(loo, [np.mean(losses)], tolerance, max(max(losses), 1.0), "loo"),
    ]


@NETWORKS.add(
    "covariance-ridge",
    "ridge with the outputs' covariance (eq-beyond-weights)",
    "a Kronecker system on explicit outputs",
    "4096 n eps times the condition number",
    draw=_draw_ridge,
    axes=_RIDGE,
)
def _judge_covariance(X, Q, Y, ridge):
    K, n = X @ X.T, len(X)
    if not ridge > 0 or n < 2 or not Y.any() or not X.any():
        raise PassedOver("nothing to do")
    shrinkage, Y = 0.3, Y / np.abs(Y).max()
    C = Y.T @ Y
    top = np.linalg.eigvalsh(C)[-1]
    if not top > 1e-6:
        raise PassedOver("the outputs do not vary")
    A = shrinkage * np.eye(Y.shape[1]) + (1 - shrinkage) * C / top
    lam = ridge * K.trace()
    system = np.kron(K, A) + lam * np.eye(n * Y.shape[1])
    dual = sla.solve(system, Y.ravel(), assume_a="pos").reshape(Y.shape)
    theirs = Q @ X.T @ dual @ A
    ours = Q @ X.T @ covariance_dual(K, Y @ Y.T, lam, shrinkage) @ Y
    tolerance = 4096 * n * EPS * (1 + ridge) / ridge
    return compare(ours, theirs, max(tolerance, 1e-10), max(np.abs(theirs).max(), 1.0))


# The choice of penalties
#
# A penalty is chosen by the losses of examples that are held out. These losses are
# computed from a single eigendecomposition, and the oracle solves the linear system of
# each fold instead, as the source prints it. A wrong sign in the choice would leave all
# losses as they are, so the checks also demand that the loss of the chosen penalty is
# the least of those that the oracle has found.


def _draw_choice(rng):
    "Inputs and outputs in feature space, a grid of ridges, and two folds."
    n, d = draw_size(rng, 4, 8), draw_size(rng, 1, 3)
    return {
        "X": draw_matrix(rng, n, d, scaled=False),
        "Y": draw_matrix(rng, n, draw_size(rng, 1, 3), scaled=False),
        "grid": 10.0 ** rng.uniform(-4, 1, size=draw_size(rng, 1, 4)),
        "fold": rng.permutation(np.arange(n) % 2 == 0),
    }


_CHOICE = {"X": "nd", "Y": "ne", "grid": "g", "fold": "n"}


def _choice_problem(X, Y, grid, fold):
    "The Gram matrix of scaled inputs, scaled outputs, the splits, and a tolerance."
    if not (grid > 0).all() or min(fold.sum(), (~fold).sum()) < 2 or not X.any():
        raise PassedOver("nothing to choose from")
    X, Y = X / np.abs(X).max(), Y / (np.abs(Y).max() or 1.0)
    first, second = np.flatnonzero(fold), np.flatnonzero(~fold)
    tolerance = 4096 * len(X) * EPS * (1 + np.square(X).sum() / grid.min())
    return X @ X.T, Y, [(first, second), (second, first)], max(tolerance, 1e-10)


def _least(losses, chosen, tolerance, scale):
    "The loss of the choice is the least one."
    return compare(losses[chosen], losses.min(), 2 * tolerance, scale, "choice")


@NETWORKS.add(
    "ridge-choice",
    "the ridge of the least leave-one-out loss (eq-rkhs-loo)",
    "fitting again without each example, for each ridge",
    "1e-10 of the squared outputs, or 4096 n eps times the condition number",
    draw=_draw_choice,
    axes=_CHOICE,
)
def _judge_ridge_choice(X, Y, grid, fold):
    K, Y, _, tolerance = _choice_problem(X, Y, grid, fold)
    n, losses = len(K), np.zeros(len(grid))
    for g, i in itertools.product(range(len(grid)), range(n)):
        kept = np.flatnonzero(np.arange(n) != i)
        A = K[np.ix_(kept, kept)] + grid[g] * np.eye(n - 1)
        losses[g] += np.square(sla.solve(A, K[kept, i]) @ Y[kept] - Y[i]).sum() / n
    model = OutputKernelRidgeCV(input_kernel="precomputed", lam_grid=grid).fit(K, Y)
    chosen, scale = np.flatnonzero(grid == model.lam_)[0], max(losses.max(), 1.0)
    weights = sla.solve(K + grid[chosen] * np.eye(n), K).T
    return [
        compare(model.loo_losses_, losses, tolerance, scale, "losses"),
        compare(model.best_loss_, losses.min(), tolerance, scale, "least loss"),
        _least(losses, chosen, tolerance, scale),
        compare(model.weights(K), weights, tolerance, 1.0, "weights"),
    ]


@NETWORKS.add(
    "covariance-choice",
    "ridge and shrinkage of the least loss held out (eq-beyond-covariance)",
    "a Kronecker system of the explicit outputs of each fold",
    "1e-10 of the squared outputs, or 4096 n eps times the condition number",
    draw=lambda rng: (
        _draw_choice(rng)
        | {"shrinkages": rng.choice([0.03, 0.3, 1.0], draw_size(rng, 1, 2), False)}
    ),
    axes=_CHOICE | {"shrinkages": "s"},
)
def _judge_covariance_choice(X, Y, grid, fold, shrinkages):
    K, Y, splits, tolerance = _choice_problem(X, Y, grid, fold)
    if not (shrinkages > 0).all() or not Y.any():
        raise PassedOver("no shrinkage")
    losses, (n, e) = np.zeros((len(grid), len(shrinkages))), Y.shape
    for (g, s), (train, test) in itertools.product(np.ndindex(losses.shape), splits):
        C = Y[train].T @ Y[train]
        A = (1 - shrinkages[s]) * C / (np.linalg.eigvalsh(C)[-1] or 1.0)
        A += shrinkages[s] * np.eye(e)
        system = np.kron(K[np.ix_(train, train)], A)
        system += grid[g] * np.eye(len(system))
        dual = np.linalg.solve(system, Y[train].ravel()).reshape(-1, e)
        held = K[np.ix_(test, train)] @ dual @ A
        losses[g, s] += np.square(held - Y[test]).sum() / n
    ours = covariance_cv_losses(K, Y @ Y.T, grid, shrinkages, splits)
    model = CovarianceRidgeCV(
        input_kernel="precomputed", lam_grid=grid, shrinkage_grid=shrinkages, cv=splits
    ).fit(K, Y)
    best, scale = model.best_params_, max(losses.max(), 1.0)
    chosen = list(grid).index(best["lam"]), list(shrinkages).index(best["shrinkage"])
    return [
        compare(ours, losses, tolerance, scale, "losses"),
        compare(model.best_loss_, losses.min(), tolerance, scale, "least loss"),
        _least(losses, chosen, tolerance, scale),
    ]


@NETWORKS.add(
    "semi-choice",
    "penalties of the least loss on held-out nodes (eq-semi-holdout, eq-rrsn-9)",
    "the printed system of each fold, whose other nodes have no label",
    "1e-9 of the squared outputs, or 4096 n eps times the condition numbers",
    draw=lambda rng: (
        (problem := _draw_choice(rng))
        | {
            "grid": 10.0 ** rng.uniform(-2, 1, size=len(problem["grid"])),
            "edges": (rng.random((len(problem["X"]) + 1,) * 2) < 0.5).astype(float),
            "new": draw_matrix(rng, 1, problem["X"].shape[1], False),
            "smooths": rng.choice([0.0, 0.01, 1.0], draw_size(rng, 1, 2), False),
        }
    ),
    axes=_CHOICE | {"new": "ud", "smooths": "s"},
)
def _judge_semi_choice(X, Y, grid, fold, edges, new, smooths):
    K, Y, splits, _ = _choice_problem(X, Y, grid, fold)
    X = np.r_[X, new] / np.abs(X).max()
    K, n = X @ X.T, len(Y)
    N = len(K)
    W = _symmetric(edges[:N, :N])
    L = _laplacian(W)
    losses, worst = np.zeros((len(grid), len(smooths))), 1.0
    for (g, s), (train, test) in itertools.product(np.ndindex(losses.shape), splits):
        U = np.eye(N)[train]
        A = K @ U.T @ U + grid[g] * np.eye(N) + 2 * smooths[s] * K @ L
        B = np.linalg.solve(A.T, U.T).T
        worst = max(worst, np.linalg.cond(A) * np.abs(B).max() * np.abs(K).max())
        losses[g, s] += np.square((B @ K[:, test]).T @ Y[train] - Y[test]).sum() / n
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], L)
    given = np.arange(n), Y @ Y.T, grid, smooths, splits
    ours = smoothed_cv_losses(spectrum, *given)
    search, best, _ = search_penalties(kernel_factor(K)[0], [L], *given)
    model = SemiSupervisedOutputKernelRidgeCV(
        input_kernel="precomputed", graph=W, cv=splits, lam_grid=grid, lam2_grid=smooths
    ).fit(K, Y, labelled=np.arange(n))
    named = model.best_params_
    chosen = list(grid).index(named["lam"]), list(smooths).index(named["lam2"])
    scale, tolerance = max(losses.max(), 1.0), max(1e-9, 4096 * N * EPS * worst)
    return [
        compare(ours, losses, tolerance, scale, "losses"),
        compare(search[0], losses, tolerance, scale, "losses of the search"),
        _least(losses, best[1:], tolerance, scale),
        _least(losses, chosen, tolerance, scale),
    ]


# Tables with two sides
#
# A table whose rows and columns are both described is one regression on its cells, and
# the kernel of two cells is a product. The oracle forms the Gram matrix of all cells,
# an explicit Kronecker product, and fits again without each cell, row, column or block
# of folds. A ridge for each column of the outputs is the special case in which the
# columns have nothing in common: there the oracle solves one system for each column.


def _draw_table(rng):
    "Rows and columns in feature space, the last of each not in the table, and ridges."
    n, q = draw_size(rng, 2, 5), draw_size(rng, 2, 4)
    return {
        "X": draw_matrix(rng, n, d := draw_size(rng, 1, 3), False),
        "Z": draw_matrix(rng, q, e := draw_size(rng, 1, 3), False),
        "new": draw_matrix(rng, 2, d, False),
        "late": draw_matrix(rng, 2, e, False),
        "Y": draw_matrix(rng, n, q, scaled=False),
        "grid": 10.0 ** rng.uniform(-5, 1, size=draw_size(rng, 1, 4)),
    }


_TABLE = {"X": "nd", "Z": "qe", "new": "ud", "late": "ve", "Y": "nq", "grid": "g"}


def _table_problem(X, Z, Y, grid):
    "Rows, columns and table of size one, the ridges in their units, and a tolerance."
    if not (grid > 0).all() or not X.any() or not Z.any():
        raise PassedOver("no ridge, or nothing is described")
    X, Z, Y = (A / (np.abs(A).max() or 1.0) for A in (X, Z, Y))
    lams = grid * np.square(X).sum() * np.square(Z).sum()
    tolerance = 1024 * Y.size * EPS * (1.0 + 1.0 / grid.min())
    return X, Z, Y, lams, tolerance


@NETWORKS.add(
    "bipartite-ridge",
    "cells of a table, and of new rows and columns "
    "(eq-twosides-solution, eq-twosides-predict)",
    "a Kronecker system with a row for each cell",
    "1024 eps for each cell, times the condition number",
    draw=_draw_table,
    axes=_TABLE,
)
def _judge_table(X, Z, new, late, Y, grid):
    X, Z, Y, (lam, *_), tolerance = _table_problem(X, Z, Y, grid)
    if len(X) < 2:
        raise PassedOver("one row")
    M = np.kron(X @ X.T, Z @ Z.T) + lam * np.eye(Y.size)
    C = np.linalg.solve(M, Y.ravel()).reshape(Y.shape)
    K, G = new @ X.T, late @ Z.T
    model = BipartiteRidge("linear", columns=Z, column_kernel="linear", lam=lam)
    model.fit(X, Y)
    size = np.abs(K) @ np.abs(C)
    return [
        compare(model.dual_coef_, C, tolerance, None, "dual"),
        compare(
            model.predict(new),
            K @ C @ Z @ Z.T,
            tolerance,
            (size @ np.abs(Z @ Z.T)).max() or 1.0,
            "new rows",
        ),
        compare(
            model.predict(new, late),
            K @ C @ G.T,
            tolerance,
            (size @ np.abs(G.T)).max() or 1.0,
            "new rows and columns",
        ),
    ]


def _held_out(shape, leave_out):
    "Which cells are predicted together, and from which others: pairs of tables."
    rows, columns = np.indices(shape)
    if leave_out != "both":
        cells = np.arange(rows.size).reshape(shape)
        part = {"pairs": cells, "rows": rows, "columns": columns}[leave_out]
        return [(part == number, part != number) for number in np.unique(part)]
    folds = KFold(2, shuffle=True, random_state=0)
    sides = [[test for _, test in folds.split(range(size))] for size in shape]
    return [
        (
            np.isin(rows, i) & np.isin(columns, j),
            ~np.isin(rows, i) & ~np.isin(columns, j),
        )
        for i, j in itertools.product(*sides)
    ]


@NETWORKS.add(
    "bipartite-choice",
    "the ridge of the least loss of cells, each without itself, its row, its column or "
    "its folds (eq-twosides-loo)",
    "fitting again without them, as a Kronecker system",
    "1024 eps of the squared cells for each cell, times the condition number",
    draw=lambda rng: (
        _draw_table(rng)
        | {"leave_out": str(rng.choice(["pairs", "rows", "columns", "both"]))}
    ),
    axes=_TABLE,
)
def _judge_table_choice(X, Z, new, late, Y, grid, leave_out):
    X, Z, Y, lams, tolerance = _table_problem(X, Z, Y, grid)
    if len(X) < 2 or len(Z) < 2:
        raise PassedOver("nothing is left")
    K, G, losses = X @ X.T, Z @ Z.T, []
    M, y = np.kron(K, G), Y.ravel()
    for lam in lams:
        left = y.copy()
        for out, seen in _held_out(Y.shape, leave_out):
            (out,), (seen,) = np.nonzero(out.ravel()), np.nonzero(seen.ravel())
            system = M[np.ix_(seen, seen)] + lam * np.eye(len(seen))
            left[out] -= M[np.ix_(out, seen)] @ np.linalg.solve(system, y[seen])
        losses.append(np.mean(left**2))
    model = BipartiteRidgeCV(
        "precomputed",
        columns=G,
        column_kernel="precomputed",
        lam_grid=lams,
        leave_out=leave_out,
        cv=2,
        random_state=0,
    ).fit(K, Y)
    losses, chosen = np.array(losses), np.flatnonzero(lams == model.lam_)[0]
    scale = max(losses.max(), 1.0)
    return [
        compare(model.losses_, losses, tolerance, scale, "losses"),
        _least(losses, chosen, tolerance, scale),
    ]


@NETWORKS.add(
    "link-operators",
    "a ridge for each column or frequency (eq-linkop-loo, thm-linkop-ridges)",
    "fitting again without each example, column by column",
    "1e-10 of the squared outputs, or 4096 n eps times the condition number",
    draw=lambda rng: (
        (problem := _draw_choice(rng))
        | {"nu": np.sort(rng.integers(0, 3, problem["Y"].shape[1])).astype(float)}
    ),
    axes=_CHOICE | {"nu": "e"},
)
def _judge_operators(X, Y, grid, fold, nu):
    K, Y, ((first, second), _), tolerance = _choice_problem(X, Y, grid, fold)
    n, losses = len(K), np.zeros((len(grid), len(nu)))
    for (g, e), i in itertools.product(np.ndindex(losses.shape), range(n)):
        kept = np.flatnonzero(np.arange(n) != i)
        A = K[np.ix_(kept, kept)] + grid[g] * np.eye(n - 1)
        losses[g, e] += np.square(np.linalg.solve(A, Y[kept, e]) @ K[kept, i] - Y[i, e])
    scale, ridges = max(losses.max(), 1.0), leave_one_out_ridges(K, Y, grid, nu)
    checks = []
    for frequency in np.unique(nu):
        own = nu == frequency
        chosen, sums = list(grid).index(ridges[own][0]), losses[:, own].sum(axis=1)
        checks += [
            identical(np.ptp(ridges[own]), 0.0, "one ridge for a frequency"),
            _least(sums, chosen, n * tolerance, len(nu) * scale),
        ]
    own, cross = K[np.ix_(first, first)], K[np.ix_(second, first)]
    theirs = np.transpose(
        [
            cross @ np.linalg.solve(own + ridge * np.eye(len(first)), y)
            for ridge, y in zip(ridges, Y[first].T)
        ]
    )
    ours = ridge_by_column(own, cross, Y[first], ridges)
    size = max(np.abs(theirs).max(), 1.0)
    return [
        *checks,
        compare(
            leave_one_out_squares(K, Y, grid), losses, n * tolerance, scale, "losses"
        ),
        compare(ours, theirs, tolerance, size, "predictions"),
    ]


# Graphs, folds and scores of links
#
# The diffusion kernel of a network is computed from the eigenvectors of its Laplacian,
# or, for a sparse network, by a truncated series of products; the oracle is the Padé
# approximation of `scipy.linalg.expm`. A fold of nodes or pairs is judged by removing
# it from the network, computing the diffusion kernel of what is left, and fitting ridge
# regression again. The pairs are enumerated by loops, in the order that the
# documentation promises.


def _draw_network(rng):
    "A network with inputs of its nodes."
    n = draw_size(rng, 4, 8)
    edges = (rng.random((n, n)) < rng.choice([0.3, 0.6])).astype(float)
    return {
        "X": draw_matrix(rng, n, draw_size(rng, 1, 3), False),
        "edges": edges * rng.choice([1.0, 0.5]),
        "beta": float(rng.choice([0.0, 0.1, 1.0, 3.0])),
    }


_NETWORK = {"X": "nd", "edges": "nn"}


@NETWORKS.add(
    "smoothers",
    "smoothers of a dense and of a sparse graph, and a factor of the diffusion kernel "
    "(eq-semi-laplacian, eq-links-diffusion, eq-links-factor)",
    "scipy.linalg.expm of minus beta times the Laplacian",
    "1e-11 n (1 + beta |L|): eigenvectors, or a truncated series",
    draw=_draw_network,
    axes=_NETWORK,
)
def _judge_smoothers(X, edges, beta):
    A = _symmetric(edges)
    L = _laplacian(A)
    kernel, eye = sla.expm(-beta * L), np.eye(len(A))
    tolerance = 1e-11 * len(A) * (1 + beta * np.abs(L).max())
    wanted = {"laplacian": L, "diffusion": kernel, "diffusion-graph": eye - kernel}
    found = []
    for name, theirs in wanted.items():
        for graph in (A, sp.csr_array(A)):
            (M,) = graph_smoothers(graph, name, betas=[beta])
            size = max(1.0, np.abs(L).max())
            found.append(compare(M @ eye, theirs, tolerance, size, name))
    F = diffusion_factor(*np.linalg.eigh(L), beta)
    return [*found, compare(F @ F.T, kernel, tolerance, 1.0, "factor")]


def _fold_scores(G, A, kept, beta, known=False):
    """Ridge regression with penalty one from the nodes kept to the diffusion kernel of
    their network: the predicted kernel of all nodes, those kept known or predicted."""
    own = G[np.ix_(kept, kept)] + np.eye(len(kept))
    W = np.linalg.solve(own, G[kept]).T
    if known:
        W[kept] = np.eye(len(kept))
    return W @ sla.expm(-beta * _laplacian(A[np.ix_(kept, kept)])) @ W.T


@NETWORKS.add(
    "folds",
    "scores of held-out nodes and of hidden pairs (eq-links-ridge, eq-links-fold)",
    "fitting again on what is left of the network, and scipy.linalg.expm",
    "1e-9: scores are rounded to 1e-11 of the largest",
    draw=lambda rng: (
        (problem := _draw_network(rng))
        | {
            "held": rng.permutation(np.arange(len(problem["X"])) < 2),
            "hidden": rng.random((len(problem["X"]),) * 2) < 0.3,
            "kind": str(rng.choice(["any", "one", "both"])),
        }
    ),
    axes=_NETWORK | {"held": "n", "hidden": "nn"},
)
def _judge_folds(X, edges, beta, held, hidden, kind):
    if held.sum() < 2 or (~held).sum() < 2:
        raise PassedOver("a fold without pairs")
    A, X = _symmetric(edges), X / (np.abs(X).max() or 1.0)
    G, (out,), (kept,) = X @ X.T, np.nonzero(held), np.nonzero(~held)
    S, pairs = _fold_scores(G, A, kept, beta), []
    if kind != "both":
        pairs += itertools.product(out, kept)
    if kind != "one":
        pairs += itertools.combinations(out, 2)
    fold = NodeFold(A, out, kind)
    tolerance = 1e-9 * (1 + beta * A.sum())
    found = [
        identical(fold.truth, [A[pair] > 0 for pair in pairs], "links"),
        compare(
            fold.scores(fold.coordinates(G), beta),
            [S[pair] for pair in pairs],
            tolerance,
            max(1.0, np.abs(S).max()),
            "scores of nodes",
        ),
    ]
    rows, cols = np.nonzero(np.triu(hidden, 1))
    if len(rows):
        left = A.copy()
        left[rows, cols] = left[cols, rows] = 0.0
        S = _fold_scores(G, left, np.arange(len(A)), beta)[rows, cols]
        fold = PairFold(A, rows, cols)
        ours = fold.scores(fold.coordinates(G), beta)
        found += [
            identical(fold.truth, A[rows, cols] > 0, "hidden links"),
            compare(ours, S, tolerance, max(1.0, np.abs(S).max()), "scores of pairs"),
        ]
    return found


@NETWORKS.add(
    "link-similarity",
    "pairs by scalar product, cosine, or cosine with the known point "
    "(eq-pairscores-product, eq-pairscores-cosine, eq-pairscores-both)",
    "ridge regression on scipy.linalg.expm, divided by the lengths of the points",
    "1e-9 of the largest score, over the square of the shortest length",
    draw=lambda rng: (
        (problem := _draw_network(rng))
        | {
            "held": rng.permutation(np.arange(len(problem["X"])) < 2),
            "similarity": str(rng.choice(["product", "cosine", "cosine_known"])),
        }
    ),
    axes=_NETWORK | {"held": "n"},
)
def _judge_similarity(X, edges, beta, held, similarity):
    (out,), (kept,) = np.nonzero(held), np.nonzero(~held)
    if len(kept) < 2 or not len(out):
        raise PassedOver("no nodes to learn from, or none that are held out")
    A, X = _symmetric(edges), X / (np.abs(X).max() or 1.0)
    S = _fold_scores(X @ X.T, A, kept, beta, similarity == "cosine_known")
    tolerance = 1e-9 * (1 + beta * A.sum())
    if similarity != "product":
        squares = S.diagonal()
        if not squares.min() > 1e-4 * squares.max():
            raise PassedOver("a point without direction")
        tolerance *= squares.max() / squares.min()
        S = S / np.sqrt(np.outer(squares, squares))
    model = LinkPredictor(
        OutputKernelRidge(input_kernel="linear", lam=1.0),
        beta=beta,
        threshold=0.0,
        similarity=similarity,
    )
    model.fit(X, A[np.ix_(kept, kept)], kept)
    fold = NodeFold(A, out)
    pairs = [*itertools.product(out, kept), *itertools.combinations(out, 2)]
    size = max(1.0, np.abs(S).max())
    ours = fold.scores(fold.coordinates(X @ X.T), beta, similarity)
    return [
        compare(model.score_pairs(), S, tolerance, size, "scores"),
        compare(ours, [S[pair] for pair in pairs], tolerance, size, "of a fold"),
    ]


@NETWORKS.add(
    "grid-areas",
    "areas of a whole grid of settings, fold by fold (eq-links-areas)",
    "fitting again for each setting, and scikit-learn's areas",
    "1e-12; scores that are nearly equal are passed over as ties",
    draw=lambda rng: (
        _draw_network(rng)
        | {
            "lams": rng.choice([0.1, 1.0, 3.0], draw_size(rng, 1, 2), False),
            "smooths": rng.choice([0.0, 0.3], draw_size(rng, 1, 2), False),
            "betas": rng.choice([0.1, 0.7, 2.0], draw_size(rng, 1, 2), False),
            "times": rng.choice([0.5, 1.0], draw_size(rng, 1, 2), False),
        }
    ),
    axes=_NETWORK | {"lams": "l", "smooths": "s", "betas": "b", "times": "t"},
)
def _judge_grid_areas(X, edges, beta, lams, smooths, betas, times):
    A, X = _symmetric(edges), X / (np.abs(X).max() or 1.0)
    if not (lams > 0).all() or len(A) < 4:
        raise PassedOver("no ridge")

    def gram(lam, lam2, beta2):
        return X @ X.T / lam + lam2 * np.exp(-beta2 * np.square(X[:, None] - X).sum(2))

    parts = [np.flatnonzero(np.arange(len(A)) % 2 == i) for i in (0, 1)]
    folds = [NodeFold(A, part) for part in parts]
    if any(fold.truth.all() or not fold.truth.any() for fold in folds):
        raise PassedOver("a fold with one class")
    grids = {"lam": lams, "lam2": smooths, "beta": betas, "beta2": times}
    settings, areas = grid_areas(folds, grids, gram)
    wanted, theirs = [], []
    for time, lam, lam2, b in itertools.product(times, lams, smooths, betas):
        if lam2 == 0 and time != times[0]:
            continue
        wanted.append({"lam": lam, "lam2": lam2, "beta": b, "beta2": time})
        for out, kept in (parts, parts[::-1]):
            S = _fold_scores(gram(lam, lam2, time), A, kept, b)
            pairs = [*itertools.product(out, kept), *itertools.combinations(out, 2)]
            scores = np.array([S[pair] for pair in pairs]) / (np.abs(S).max() or 1.0)
            truth = [A[pair] > 0 for pair in pairs]
            ranked = np.sort(scores)
            near = (np.diff(ranked) < 1e-7) & ((ranked[1:] != 0) | (ranked[:-1] != 0))
            if near.any():  # equal ones may be so but for rounding; zeros are zeros
                raise Tie("two scores are nearly equal")
            theirs.append(
                [f(truth, scores) for f in (roc_auc_score, average_precision_score)]
            )
    theirs = np.reshape(theirs, (len(wanted), 2, 2))
    return [
        identical(settings == wanted, True, "settings"),
        compare(areas, theirs, 1e-12, 1.0, "areas"),
    ]


@NETWORKS.add(
    "network-inputs",
    "weighted Gaussian kernel, neighbours, and rounded scores",
    "the definition pair by pair; sorted distances; exact fractions",
    "256 d eps of the exponent; neighbours and rounding have to be the same",
    draw=lambda rng: {
        "X": rng.normal(size=(draw_size(rng, 2, 8), d := draw_size(rng, 1, 4))),
        "weights": rng.choice([0.0, 0.5, 1.0, 2.0], size=d),
        "sigma": float(rng.choice([0.5, 1.0, 10.0])),
        "k": int(rng.integers(1, 7)),
    },
    axes={"X": "nd", "weights": "d"},
)
def _judge_inputs(X, weights, sigma, k):
    n, k = len(X), min(k, len(X) - 1)
    if n < 2 or not sigma > 0 or k < 1:
        raise PassedOver("too little")
    apart = [
        [sum((w * (a - b)) ** 2 for w, a, b in zip(weights, x, z)) for z in X]
        for x in X
    ]
    exponent = np.array(apart) / (2 * sigma**2)
    kernel = WeightedRBFKernel(weights, sigma=sigma)
    size = np.square(X * weights).sum(axis=1).max() / sigma**2
    tolerance = 256 * X.shape[1] * EPS * (1 + size)
    distances = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    order, A = np.argsort(distances, axis=1), np.zeros((n, n))
    for i, row in enumerate(order):
        edge = distances[i, row[k]] - distances[i, row[k - 1]] if k < n - 1 else 1.0
        if edge < 1e-9:
            raise Tie("two neighbours are equally near")
        A[i, row[:k]] = A[row[:k], i] = 1.0
    step = Fraction(float(np.spacing(np.abs(X).max()))) * 2**16
    grid = [[float(round(Fraction(float(x)) / step) * step) for x in row] for row in X]
    return [
        compare(kernel.gram(X), np.exp(-exponent), tolerance, 1.0, "kernel"),
        identical(knn_graph(X, k).toarray(), A, "neighbours"),
        identical(round_scores(X), grid, "rounded scores"),
    ]


# Embeddings and completion
#
# Two of the methods return functions, and not only the values of the criterion that
# these attain. Comparing the values alone would not notice wrong functions, so the
# criterion is evaluated at each function that is returned: for canonical correlation
# its best partner is found in closed form, for the embedding by short links the
# quotient is summed link by link. The completion of a kernel is compared, round by
# round, with the conditional distribution of a Gaussian, which is what eq-nets-estep
# abbreviates, and its divergence must not rise.


@NETWORKS.add(
    "canonical",
    "canonical correlations and their functions (thm-nets-cca, eq-nets-cca)",
    "a generalised eigenvalue problem of twice the size; the quotient of each function",
    "1e-7: square roots of eps",
    draw=lambda rng: {
        "X": draw_matrix(rng, n := draw_size(rng, 3, 7), 2, False),
        "Y": draw_matrix(rng, n, 2, False),
    },
    axes={"X": "nd", "Y": "ne"},
)
def _judge_canonical(X, Y):
    X, Y = (A / (np.abs(A).max() or 1.0) for A in (X, Y))
    P, R = X - X.mean(axis=0), Y - Y.mean(axis=0)
    if np.abs(P).max(initial=0) < 1e-3 or np.abs(R).max(initial=0) < 1e-3:
        raise PassedOver("no variance")
    lam, lam2, d, e = 0.7, 0.3, P.shape[1], R.shape[1]
    top = np.block([[np.zeros((d, d)), P.T @ R], [R.T @ P, np.zeros((e, e))]])
    own, other = P.T @ P + lam * np.eye(d), R.T @ R + lam2 * np.eye(e)
    theirs = sla.eigh(top, sla.block_diag(own, other), eigvals_only=True)[-1]
    coef, found = canonical_directions(*centred_eigh(X @ X.T), Y @ Y.T, lam, lam2)
    slopes = P.T @ coef  # a function of the inputs in each column
    cross = R.T @ P @ slopes
    # the best partner of a function has this share of it, by Cauchy and Schwarz
    shares = np.einsum("ei,ei->i", cross, np.linalg.solve(other, cross))
    return [
        compare(found.max(initial=0.0), max(theirs, 0.0), 1e-7, 1.0, "correlation"),
        compare(slopes.T @ own @ slopes, np.eye(len(found)), 1e-7, 1.0, "norms"),
        compare(shares, found**2, 1e-7, 1.0, "correlations of the functions"),
    ]


@NETWORKS.add(
    "short-links",
    "functions that change little along links (thm-nets-metric, eq-nets-metric)",
    "the quotient in feature space, as a generalised eigenvalue problem, and of each "
    "function link by link",
    "1e-7",
    draw=lambda rng: {
        "X": rng.normal(size=(n := draw_size(rng, 3, 7), 2)).round(rng.integers(0, 3)),
        "edges": (rng.random((n, n)) < 0.4).astype(float),
    },
    axes={"X": "nd", "edges": "nn"},
)
def _judge_short_links(X, edges):
    A = _symmetric(edges)
    P = X / (np.abs(X).max() or 1.0)
    P = P - P.mean(axis=0)
    if P.shape[1] and not np.linalg.svd(P, compute_uv=False)[-1] > 1e-2:
        raise PassedOver("the inputs span too little")
    lam = 0.5
    top = P.T @ graph_laplacian(A) @ P + lam * np.eye(P.shape[1])
    theirs = sla.eigh(top, P.T @ P, eigvals_only=True)
    coef, ours = short_link_directions(*centred_eigh(P @ P.T), A, lam)
    slopes = P.T @ coef
    values = P @ slopes
    along = sum(
        A[i, j] * np.square(values[i] - values[j]) / 2 for i, j in np.ndindex(A.shape)
    )
    quotients = along + lam * np.square(slopes).sum(axis=0)
    return [
        compare(ours, theirs, 1e-7, what="quotients"),
        compare(values.T @ values, np.eye(len(ours)), 1e-7, 1.0, "variances"),
        compare(quotients, ours, 1e-7, what="quotients of the functions"),
    ]


@NETWORKS.add(
    "completion",
    "em projections and the completed kernel "
    "(eq-nets-kl, eq-nets-estep, eq-nets-step, eq-nets-completed)",
    "Gaussian conditioning on full matrices, and the divergence, round by round",
    "1e-8, for matrices whose condition is below 1e4",
    draw=lambda rng: {
        "X": rng.normal(size=(n := draw_size(rng, 3, 6), n)),
        "F": rng.normal(size=(n, n)),
        "b": 10.0 ** rng.uniform(-1, 1, size=n),
        "labelled": rng.permutation(np.arange(n) < max(1, n // 2)),
        "rounds": int(rng.integers(1, 5)),
        "shared": int(rng.integers(1, 3)),
    },
    axes={"X": "nn", "F": "nn", "b": "n", "labelled": "n"},
)
def _judge_completion(X, F, b, labelled, rounds, shared):
    L, rest = np.flatnonzero(labelled), np.flatnonzero(~labelled)
    if not len(L) or not len(rest) or not (b > 0).all() or rounds < 1 or shared < 1:
        raise PassedOver("nothing to complete")
    V = np.linalg.eigh(X + X.T)[1]
    K = (F @ F.T / len(F) + 0.1 * np.eye(len(F)))[np.ix_(L, L)]
    groups = np.maximum(np.arange(len(b)) - shared + 1, 0)
    b = np.array([b[groups == g].mean() for g in groups])
    ours = em_projection(V[L], K, b, groups, max_iter=rounds, tol=1e-300)
    divergences = []
    for step in range(rounds + 1):
        M = (V * b) @ V.T
        own = M[np.ix_(L, L)]
        if np.linalg.cond(own) > 1e4:
            raise PassedOver("the model is nearly singular")
        gain = M[np.ix_(rest, L)] @ np.linalg.inv(own)
        logs = np.linalg.slogdet(own)[1] - np.linalg.slogdet(K)[1]
        divergences.append(0.5 * (np.trace(np.linalg.inv(own) @ K) - len(L) + logs))
        Q = np.zeros_like(M)
        Q[np.ix_(L, L)] = K
        Q[np.ix_(rest, L)], Q[np.ix_(L, rest)] = gain @ K, (gain @ K).T
        Q[np.ix_(rest, rest)] = (
            M[np.ix_(rest, rest)] - gain @ own @ gain.T + gain @ K @ gain.T
        )
        fallen = step and divergences[-2] - divergences[-1] < 1e-300 * len(K)
        if step == rounds or fallen:
            break
        variances = np.array([v @ Q @ v for v in V.T])
        b = np.array([variances[groups == g].mean() for g in groups])
    found, G, seen = ours
    size = max(1.0, np.abs(Q).max())
    completed = V @ completed_form(V[L], found, G) @ V.T
    m, top = min(len(seen), len(divergences)), max(1.0, divergences[0])
    return [
        compare(found, b, 1e-8, size, "eigenvalues"),
        compare(completed, Q, 1e-8, size, "completed kernel"),
        compare(seen[:m], divergences[:m], 1e-8, top, "divergences"),
        compare(np.diff(seen).max(initial=0.0), 0.0, 1e-9, top, "rise"),
    ]


# Structured support vector machines
#
# The last checks concern quadratic programs. The maximum of a concave function on a
# simplex lies in the interior of one of its faces, where the conditions of Lagrange are
# a linear system; with at most five planes there are thirty-one faces, and the oracle
# tries all of them. The structured support vector machine on two or three examples is
# given to a general solver as a program in the entries of the function itself, with a
# constraint for each candidate.


@NETWORKS.add(
    "augmented-decoding",
    "the candidate that violates the margin most (eq-joint-hinge)",
    "a loop over all candidates, in feature space",
    "1e-12; of whole numbers the first among equals",
    draw=lambda rng: {
        "P": rng.normal(size=(n := draw_size(rng, 1, 5), 2)).round(rng.choice([0, 9])),
        "Psi": rng.integers(-2, 3, size=(m := draw_size(rng, 1, 5), 2)).astype(float),
        "truth": rng.integers(0, m, size=n),
    },
    axes={"P": "nd", "Psi": "md", "truth": "n"},
)
def _judge_augmented(P, Psi, truth):
    truth, K = truth % len(Psi), Psi @ Psi.T
    violations = np.array(
        [[(P[i] - Psi[y]) @ (c - Psi[y]) for c in Psi] for i, y in enumerate(truth)]
    )
    rivals, hinges = loss_augmented_decode(P @ Psi.T, K, truth)
    size = max(1.0, np.abs(violations).max())
    found = [
        compare(hinges, violations.max(axis=1), 1e-12, size, "hinges"),
        compare(
            violations[np.arange(len(P)), rivals],
            violations.max(axis=1),
            1e-9,
            size,
            "violations of the rivals",
        ),
    ]
    if (np.rint(P) == P).all() and (np.rint(Psi) == Psi).all():
        found.append(identical(rivals, violations.argmax(axis=1), "rivals"))
    return found


def _best_on_simplex(H, b, C):
    """The maximum of b'a - a'Ha/2 over a >= 0 with sum C: on the face where it lies,
    the conditions of Lagrange hold; all faces are tried."""
    best, t = -np.inf, len(b)
    for size in range(1, t + 1):
        for face in map(list, itertools.combinations(range(t), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = H[np.ix_(face, face)], 0.0
            if np.linalg.cond(system) > 1e9:
                continue  # a smaller face has the same value
            a = np.linalg.solve(system, np.r_[b[face], C])[:size]
            if a.min() >= 0:
                best = max(best, b[face] @ a - 0.5 * a @ H[np.ix_(face, face)] @ a)
    return best


@NETWORKS.add(
    "cutting-planes",
    "the dual over few planes, and cutting planes (eq-joint-dual, eq-joint-oneslack)",
    "the conditions of Lagrange on each face of the simplex",
    "the gap that was asked for: 1e-9 of the dual's bound, 1e-6 of the criterion",
    draw=lambda rng: {
        "A": draw_matrix(rng, t := draw_size(rng, 1, 4), draw_size(rng, 1, 3), False),
        "b": np.abs(rng.normal(size=t)).round(int(rng.integers(0, 3))),
        "C": float(rng.choice([0.1, 1.0, 10.0])),
    },
    axes={"A": "td", "b": "t"},
)
def _judge_planes(A, b, C):
    if not C > 0 or (b < 0).any():
        raise PassedOver("no penalty")
    A, b = np.r_[np.zeros((1, A.shape[1])), A], np.r_[0.0, b]
    H = A @ A.T
    best = _best_on_simplex(H, b, C)
    alpha = restricted_dual(H, b, C)
    size = C * b.max() + 0.5 * C**2 * H.max() + 1e-300
    found = [
        compare(alpha.sum(), C, 1e-12, what="sum"),
        compare(min(alpha.min(), 0.0), 0.0, 1e-15, C, "signs"),
        compare(b @ alpha - 0.5 * alpha @ H @ alpha, best, 1e-8, size, "dual value"),
    ]

    def separate(scores):
        t = np.argmax(b - A @ scores)
        return A[[t]], b[t]

    if b.max() > 0:
        ours = cutting_plane(separate, A.shape[1], C, tol=1e-6)
        primal = 0.5 * ours.coef @ ours.coef + C * (b - A @ ours.coef).max()
        found += [
            compare(ours.primal, primal, 1e-10, size, "criterion"),
            compare(min(ours.primal - best, 0.0), 0.0, 1e-8, size, "above the minimum"),
            compare(max(ours.dual - best, 0.0), 0.0, 1e-8, size, "below the minimum"),
            compare(ours.primal, best, 2e-6, size, "minimum"),
        ]
    return found


@NETWORKS.add(
    "structured-svm",
    "structured support vector machine (eq-joint-primal, eq-joint-nslack)",
    "the quadratic program of explicit functions, by scipy's SLSQP",
    "1e-5: what the two iterations promise",
    draw=lambda rng: {
        "X": rng.normal(size=(n := draw_size(rng, 1, 3), 2)).round(1),
        "Psi": rng.integers(-1, 2, size=(m := draw_size(rng, 2, 3), 2)).astype(float),
        "truth": rng.integers(0, m, size=n),
        "extra": rng.normal(size=(n, m, 1)).round(1) * float(rng.choice([0.0, 1.0])),
        "C": float(rng.choice([0.1, 1.0])),
    },
    axes={"X": "nd", "Psi": "me", "truth": "n", "extra": "nmp"},
)
def _judge_structured(X, Psi, truth, extra, C):
    if not C > 0:
        raise PassedOver("no penalty")
    (n, d), e, truth = X.shape, Psi.shape[1], truth % len(Psi)

    def violations(w):
        "For each example and candidate, with the matrix and the joint slopes in w."
        slope, joint = w[: d * e].reshape(d, e), w[d * e :]
        F = X @ slope @ Psi.T + extra @ joint
        return np.array(
            [
                [
                    np.sum((Psi[y] - c) * Psi[y]) + F[i, j] - F[i, y]
                    for j, c in enumerate(Psi)
                ]
                for i, y in enumerate(truth)
            ]
        )

    p = d * e + extra.shape[2]
    start = np.r_[np.zeros(p), violations(np.zeros(p)).max(axis=1)]
    solved = minimize(
        lambda v: 0.5 * v[:p] @ v[:p] + C * v[p:].sum(),
        start,
        jac=lambda v: np.r_[v[:p], np.full(n, C)],
        constraints={
            "type": "ineq",
            "fun": lambda v: (v[p:, None] - violations(v[:p])).ravel(),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    if not solved.success:
        raise PassedOver("the quadratic program was not solved")
    ours = structured_svm(X @ X.T, Psi @ Psi.T, truth, C, extra, tol=1e-6)
    w = np.r_[(X.T @ ours.dual_coef @ Psi).ravel(), ours.feature_coef]
    primal = 0.5 * w @ w + C * violations(w).max(axis=1).sum()
    size = C * start[p:].sum() or 1.0
    return [
        compare(ours.primal, primal, 1e-9, size, "criterion"),
        compare(ours.primal, solved.fun, 1e-5, size, "minimum"),
        compare(max(ours.dual - solved.fun, 0.0), 0.0, 1e-5, size, "lower bound"),
    ]
