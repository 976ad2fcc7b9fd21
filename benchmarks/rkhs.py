"""Speed of okbook.rkhs beside the formulas as they are printed, in one run: ``python
benchmarks/rkhs.py``.

The peers are the source's equation (9) by ``numpy.linalg.solve``, once for each set of
penalties and each fold; bare ``scipy.linalg.cho_factor`` and ``cho_solve``; and fitting
again without each example. Data are random points and vectors: only the sizes count.
One thread. Ratios are the peer's seconds over okbook's, medians over pairs of runs, one
of each after the other; where the peer would take hours, a sample of its calls is
timed, and the line says so. Nothing here gates a test. With ``--store`` the figures go
to ``benchmarks/rkhs.csv``, which the book's page on speed shows.
"""

import argparse
import statistics

import numpy as np
import scipy.linalg as sla

# first: it sets the number of threads before numpy is there
from measure import (
    in_a_process_of_its_own,
    median_seconds,
    pairs,
    peak_gigabytes,
    report,
    store,
    timed,
)  # isort: skip
from sklearn.model_selection import KFold

from okbook.core import RBFKernel, feature_space_losses
from okbook.core.scores import labelled_draws
from okbook.rkhs import (
    OutputKernelRidge,
    OutputKernelRidgeCV,
    SemiSupervisedOutputKernelRidge,
    leave_one_out_losses,
)
from okbook.rkhs.semi_estimators import smoothed_cv_losses
from okbook.rkhs.semi_supervised import SmoothedSpectrum, graph_smoothers, kernel_factor

INPUTS = RBFKernel(sigma=3.0)
OUTPUTS = RBFKernel(sigma=4.0)
BETA2 = 0.001
LAMS, LAM2S = np.logspace(-4, 2, 7), np.r_[0.0, np.logspace(-5, 0, 6)]


def points(n, seed=0):
    "Inputs of ten numbers, and outputs of twenty that depend on them."
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    return X, np.tanh(X @ rng.normal(size=(10, 20))) + 0.3 * rng.normal(size=(n, 20))


def smoothed_problem(n):
    "Gram matrix of all nodes, and the smoother of the graph that it is, for one beta2."
    K = INPUTS.gram(points(n)[0])
    (M,) = graph_smoothers(K - np.diag(K.diagonal()), "diffusion", [BETA2])
    return K, M


def folds(draw):
    return list(KFold(5).split(draw))


def whole_grid(K, M, draws, K_out):
    """Losses of the grid for each draw of the labelled nodes, and the spectrum that
    served them all."""
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], M)
    return np.array([one_draw(spectrum, draw, K_out) for draw in draws]), spectrum


def one_draw(spectrum, draw, K_out):
    return smoothed_cv_losses(
        spectrum, draw, K_out[np.ix_(draw, draw)], LAMS, LAM2S, folds(draw)
    )


def by_formula_9(K, KM, labelled, queries, lam, lam2):
    """Weights of the labelled outputs at the queries: eq-rrsn-9, one matrix of all
    nodes to solve with."""
    A = 2.0 * lam2 * KM
    A[:, labelled] += K[:, labelled]
    A[np.diag_indices_from(A)] += lam
    U = np.zeros((len(K), len(labelled)))
    U[labelled, np.arange(len(labelled))] = 1.0
    return K[queries] @ np.linalg.solve(A.T, U)


def grid(n, n_labelled, n_draws, n_cells, seed=0):
    """A whole grid with one eigendecomposition, beside formula (9) for each of its
    cells, folds and draws."""
    draws = [
        draw
        for draw, _ in labelled_draws(n, n_labelled / n, n_draws, random_state=seed)
    ]
    (K, M), K_out = smoothed_problem(n), OUTPUTS.gram(points(n)[1])
    seconds, (losses, spectrum) = timed(lambda: whole_grid(K, M, draws, K_out))
    product, KM = timed(lambda: K @ M)
    rng, spent, gaps = np.random.default_rng(seed), [], []
    for _ in range(n_cells):
        d, i, j = (
            rng.integers(n_draws),
            rng.integers(len(LAMS)),
            rng.integers(len(LAM2S)),
        )
        draw, cell = draws[d], []
        G = K_out[np.ix_(draw, draw)]
        ours = spectrum.holdout_weights(draw, LAMS[i], LAM2S[j], folds(draw))
        for (train, test), W in zip(folds(draw), ours):
            one, naive = timed(
                lambda: by_formula_9(K, KM, draw[train], draw[test], LAMS[i], LAM2S[j])
            )
            spent.append(one)
            gaps.append(np.abs(W - naive).max())
            blocks = G[np.ix_(train, train)], G[np.ix_(test, train)], np.ones(len(test))
            cell.append(feature_space_losses(naive, *blocks))
        gaps.append(abs(np.concatenate(cell).mean() - losses[d, i, j]))
    solves, solve = losses.size * 5, statistics.mean(spent)
    grid = (
        f"{len(LAMS) * len(LAM2S)} penalties, 5 folds, {n_draws} draws of "
        f"{n_labelled} labelled"
    )
    for peer, total in (
        ("(9) for each", solves * (product + solve)),
        ("the same, K L once", product + solves * solve),
    ):
        report(
            f"{grid}; peer: {peer}",
            n,
            seconds,
            total,
            total / seconds,
            wanted="100 times faster",
        )
    report(
        f"greatest difference of weights and losses, in {len(spent)} of {solves} "
        f"solutions",
        n,
        max(gaps),
        unit="",
        wanted="under 1e-8",
    )


def single_fit(n, n_queries, repeats):
    """Fit and decode, beside nothing but the kernels, scipy's Cholesky
    factorisation, and the nearest output."""
    X, Y = points(n + n_queries)
    train, queries = slice(n), slice(n, None)
    outputs = dict(output_kernel=OUTPUTS)

    def ours():
        return (
            OutputKernelRidge(input_kernel=INPUTS, lam=0.1, **outputs)
            .fit(X[train], Y[train])
            .predict(X[queries])
        )

    def bare():
        K, K_out = INPUTS.gram(X[train]), OUTPUTS.gram(Y[train])
        K[np.diag_indices(n)] += 0.1
        factor = sla.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        W = sla.cho_solve(
            factor, INPUTS.gram(X[queries], X[train]).T, check_finite=False
        ).T
        return Y[train][np.argmin(K_out.diagonal() - 2.0 * (W @ K_out), axis=1)]

    np.testing.assert_array_equal(ours(), bare())
    pairs(
        f"one fit, {n_queries} queries decoded; peer: bare cho_factor, cho_solve",
        n,
        ours,
        bare,
        repeats,
        f"{1 / 1.2:.2f} or more",
    )


def leave_one_out(n, n_lams, repeats, n_left_out=10):
    """All ridges by the closed form, beside as many plain fits, and beside fits
    without some of the examples."""
    X, Y = points(n)
    K, lams = INPUTS.gram(X), np.logspace(-6, 3, n_lams)
    for name, outputs in (
        ("rank 20", dict(output_kernel="linear")),
        ("full rank", dict(output_kernel=OUTPUTS)),
    ):
        pairs(
            f"leave-one-out, {n_lams} ridges, outputs of {name}; peer: {n_lams} fits",
            n,
            lambda: OutputKernelRidgeCV(
                input_kernel=INPUTS, lam_grid=lams, **outputs
            ).fit(X, Y),
            lambda: OutputKernelRidge(input_kernel=INPUTS, **outputs).fit(X, Y),
            repeats,
            "1 or more",
            times=n_lams,
        )
        K_out = OutputKernelRidge(input_kernel=INPUTS, **outputs).fit(X, Y).gram_
        losses, gap, spent = leave_one_out_losses(K, K_out, lams), 0.0, []
        for i in np.random.default_rng(0).choice(n, n_left_out, replace=False):
            rest = np.delete(np.arange(n), i)
            for k, lam in enumerate(lams):
                one, loss = timed(lambda: without(i, rest, X, Y, K_out, outputs, lam))
                spent.append(one)
                gap = max(gap, abs(losses[k, i] - loss))
        report(
            f"the same by {n_lams * n} fits, of which {len(spent)} timed",
            n,
            "",
            n_lams * n * statistics.mean(spent),
        )
        report(
            f"greatest difference of losses, outputs of {name}",
            n,
            gap,
            unit="",
            wanted="under 1e-8",
        )


def without(i, rest, X, Y, K_out, outputs, lam):
    "Loss of example i under the model that has not seen it."
    model = OutputKernelRidge(input_kernel=INPUTS, lam=lam, **outputs).fit(
        X[rest], Y[rest]
    )
    w = model.weights(X[[i]])
    return feature_space_losses(
        w, K_out[np.ix_(rest, rest)], K_out[[i]][:, rest], K_out[[i], [i]]
    )[0]


def grid_seconds(spectrum, n_labelled, K_out):
    return median_seconds(lambda: one_draw(spectrum, np.arange(n_labelled), K_out), 3)


def growth(sizes, labelled, n_labelled, n):
    "Seconds against the number of nodes, and against the number of labelled ones."
    K_out = OUTPUTS.gram(points(max(*sizes, n))[1])
    for size in sizes:
        K, M = smoothed_problem(size)
        report(
            "growth: the spectrum, once",
            size,
            median_seconds(lambda: SmoothedSpectrum(kernel_factor(K)[0], M), 3),
        )
        spectrum = SmoothedSpectrum(kernel_factor(K)[0], M)
        report(
            f"growth: 49 penalties x 5 folds, {n_labelled} labelled",
            size,
            grid_seconds(spectrum, n_labelled, K_out),
        )
        KM, nodes = K @ M, np.arange(n_labelled)
        one = median_seconds(
            lambda: by_formula_9(K, KM, nodes, nodes[:20], 0.1, 0.1), 3
        )
        report("growth: formula (9), once", size, "", one)
    K, M = smoothed_problem(n)
    spectrum = SmoothedSpectrum(kernel_factor(K)[0], M)
    for l in labelled:
        report(
            f"growth in l: 49 penalties x 5 folds, N = {n}",
            l,
            grid_seconds(spectrum, l, K_out),
        )


def large(n, n_landmarks, n_labelled):
    "A sparse graph of many nodes and a Nystrom factor, in a process of its own."
    seconds, peak = in_a_process_of_its_own(
        __file__, "--large", *map(str, (n, n_landmarks, n_labelled))
    )
    report(
        f"semi-supervised fit, sparse graph, {n_landmarks} landmarks, {n_labelled} "
        f"labelled",
        n,
        seconds,
    )
    report("its peak memory", n, peak, unit="GB", wanted="under 24 GB")


def one_large(n, n_landmarks, n_labelled):
    X, Y = points(n)
    model = SemiSupervisedOutputKernelRidge(
        input_kernel=INPUTS, lam=0.1, lam2=0.1, graph="knn", n_landmarks=n_landmarks
    )
    seconds, _ = timed(
        lambda: model.fit(X, Y[:n_labelled], labelled=np.arange(n_labelled))
    )
    print(seconds, peak_gigabytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it runs"
    )
    parser.add_argument(
        "--store", action="store_true", help="keep the figures in benchmarks/rkhs.csv"
    )
    parser.add_argument("--large", type=int, nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.large:
        one_large(*args.large)
    elif args.quick:
        grid(300, 30, 2, n_cells=2)
        single_fit(300, 50, repeats=3)
        leave_one_out(100, 50, repeats=3, n_left_out=2)
        growth([100, 200], [20, 40], 20, 200)
        large(2000, 50, 50)
    else:
        grid(2026, 101, 10, n_cells=6)
        single_fit(2000, 400, repeats=15)
        leave_one_out(1000, 50, repeats=7)
        growth([250, 500, 1000, 2000, 4000], [25, 50, 100, 200, 400, 800], 100, 2000)
        large(50000, 500, 500)
        if args.store:
            store(__file__)
