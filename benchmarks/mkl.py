"""Speed of okbook.mkl's Newton solver beside cvxpy, the source's method and MKLpy:
``python benchmarks/mkl.py``.

The kernels are the 69 of lab 41 where its data are found, and otherwise 69 Gaussian
kernels of random points in five classes. One thread. The measure of the first table is
a plain pass over the pairs: a product with the array and one with its transpose by
BLAS, or one fused pass of okbook, whichever is faster. Single solves and the path run
from the array of pairs; beside MKLpy everything from the Gram matrices in memory to the
weights counts, each side in a process of its own. MKLpy is left out where it cannot be
imported (it needs torch and cvxopt; put its folder on PYTHONPATH). Nothing here gates a
test.
With ``--store`` the figures go to ``benchmarks/mkl.csv``, which the book's page on
speed shows.
"""

import argparse
import importlib.util
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

# first: it is there before numpy
import numpy as np
from measure import (
    in_a_process_of_its_own,
    median_seconds,
    pairs,
    peak_gigabytes,
    report,
    store,
    timed,
)  # isort: skip

from okbook.core import RBFKernel
from okbook.mkl import (
    PairProblem,
    lam_max,
    make_regularizer,
    mkl_path,
    solve_cvxpy,
    solve_newton,
    solve_sgd,
    standardize_gram,
)
from okbook.mkl.solvers import SmoothedLoss

NAMES = ("l2", "l1", "l2-corr", "l1-corr")
P = 69


def random_task(n, seed=0):
    """Gram matrices of random points in five classes, in groups that resemble each
    other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    groups = [
        rng.normal(size=(n, 10)) + rng.normal(size=(5, 10))[y] * 0.6 * rng.random()
        for _ in range(8)
    ]
    blocks = (
        groups[m % 8] + rng.uniform(0.2, 1.5) * rng.normal(size=(n, 10))
        for m in range(P)
    )
    return (RBFKernel(sigma=4.0).gram(X) for X in blocks), y


def protein_task(n):
    "Gram matrices of lab 41, if its data are there."
    from okbook.datasets import load_proteins
    from okbook.labs.mkl_protein_localisation import protein_kernels

    data = load_proteins({541: "psortPos", 1444: "psortNeg_like"}[n])
    kernels = protein_kernels(data.sequences, data.neglog10_evalues, data.genome_bits)
    return (np.asarray(K) for _, K in kernels), data.target


def task(n):
    "Gram matrices one at a time, classes, and where they come from."
    try:
        return *protein_task(n), "proteins"
    except (KeyError, OSError):
        return *random_task(n), "random points"


def solve_each(problem, n, lams):
    """Each regulariser, for a moderate and for small lam, in units of a hundred
    plain passes."""
    mu, a = (
        np.full(P, 0.1, dtype=np.float32),
        np.ones(problem.n_pairs, dtype=np.float32),
    )
    loss = SmoothedLoss.of_problem(problem)
    blas = median_seconds(lambda: (problem.Z @ mu, problem.Z.T @ a), 7)
    fused = median_seconds(lambda: loss.evaluate(mu.astype(float), 0.2), 7)
    report("a plain pass; peer: BLAS, two products", n, fused, blas, blas / fused)
    plain, Q = min(blas, fused), problem.correlations_
    for name in NAMES:
        for lam in lams:
            regularizer, seconds = make_regularizer(name, Q), []
            for _ in range(3):
                spent, found = timed(lambda: solve_newton(problem, regularizer, lam))
                seconds.append(spent)
            second, work = (
                statistics.median(seconds),
                f"{name}, lam {lam:g}: relative gap 1e-3",
            )
            report(
                f"{work}; peer: 100 plain passes",
                n,
                second,
                100 * plain,
                100 * plain / second,
                wanted="1 or more",
            )
            report(
                f"{name}, lam {lam:g}: its gap",
                n,
                found.gap,
                unit="",
                wanted="1e-3 or less",
            )
            report(
                f"{name}, lam {lam:g}: its passes",
                n,
                float(found.n_passes),
                unit="",
                wanted="100 or less",
            )


def path_each(problem, n, n_lams=20):
    "A path beside single solves for the same values of lam: CPU seconds."
    for name in NAMES:
        regularizer = make_regularizer(name, problem.correlations_)
        top = min(lam_max(problem, regularizer), 0.1)
        lams = top * np.geomspace(1.0, 1e-3, n_lams)
        path = mkl_path(problem, regularizer, lams)
        assert max(found.gap for found in path) <= 1e-3
        pairs(
            f"{name}: path of {n_lams} lams; peer: 5 single solves",
            n,
            lambda: mkl_path(problem, regularizer, lams),
            lambda: [solve_newton(problem, regularizer, lam) for lam in lams],
            3,
            "1 or more",
            times=5 / n_lams,
            clock=time.process_time,
        )


def sgd_each(problem, n, lam):
    "The source's method: when it stops, and how far from the optimum."
    for name in NAMES:
        regularizer = make_regularizer(name, problem.correlations_)
        seconds, found = timed(
            lambda: solve_sgd(problem, regularizer, lam, random_state=0)
        )
        ours, best = timed(lambda: solve_newton(problem, regularizer, lam))
        work = (
            f"{name}, lam {lam:g}; peer: the source's SGD, stopped by {found.stopped}"
        )
        report(work, n, ours, seconds, seconds / ours)
        gap = (found.objective - best.dual) / found.objective
        report(
            f"{name}, lam {lam:g}: its gap; peer: the SGD's true gap",
            n,
            best.gap,
            gap,
            gap / best.gap,
            unit="",
        )


def beside_cvxpy(n, lam, files):
    "The problem as it is written, by Clarabel."
    ours, peer = (
        one_process(n, files, side, "l2", str(lam)) for side in ("newton", "cvxpy")
    )
    work = f"l2, {n * (n + 1) // 2:,} pairs"
    report(
        f"{work}; peer: cvxpy, Clarabel",
        n,
        ours[0],
        peer[0],
        peer[0] / ours[0],
        wanted="100 times faster",
    )
    report(
        f"{work}: peak memory; peer: cvxpy",
        n,
        ours[1],
        peer[1],
        peer[1] / ours[1],
        unit="GB",
    )
    report(
        f"{work}: objective; peer: cvxpy",
        n,
        ours[2],
        peer[2],
        ours[2] / peer[2],
        unit="",
        wanted="1, to 1e-3",
    )


def beside_mklpy(n, files, method, repeats, faster, smaller):
    """From Gram matrices to weights, one class against the others. Both libraries find
    the matrices in memory, MKLpy in double precision; for its peak memory okbook reads
    them one at a time."""
    if importlib.util.find_spec("MKLpy") is None:
        print(f"MKLpy cannot be imported: {method} is left out.")
        return
    rows = [  # one of each after the other, as in measure.pairs
        (
            one_process(n, files, "weights", "l1", "0.001")[0],
            *one_process(n, files, "mklpy", method, "0"),
        )
        for _ in range(repeats)
    ]
    ours, theirs, peak = (statistics.median(column) for column in zip(*rows))
    memory = one_process(n, files, "streamed", "l1", "0.001")[1]
    work = f"from {P} Gram matrices to weights; peer: {method}"
    ratio = statistics.median(row[1] / row[0] for row in rows)
    report(work, n, ours, theirs, ratio, wanted=faster)
    work = f"its peak memory; peer: {method}"
    report(work, n, memory, peak, peak / memory, unit="GB", wanted=smaller)


def memory(n, files):
    "The peak of a solution beyond what the process had before it saw a Gram matrix."
    seconds, peak, _, before = one_process(n, files, "streamed", "l2", "0.001")
    size = 4e-9 * P * n * (n + 1) / 2
    work = "peak memory beyond the Gram matrix of the moment; peer: the array of pairs"
    report(work, n, peak - before, size, size / (peak - before), "GB", "0.67 or more")


def one_process(n, files, side, name, lam):
    return in_a_process_of_its_own(
        __file__, "--one", side, name, lam, str(n), str(files[n])
    )


def read(file, n):
    "Gram matrices from a file, one at a time."
    with open(file, "rb") as stream:
        for _ in range(P):
            yield np.fromfile(stream, dtype=np.float32, count=n * n).reshape(n, n)


def build(kernels, y):
    return PairProblem(kernels, y, n_kernels=P, check_psd=False, n_jobs=1)


def again(work):
    """Median seconds of five calls after a first one, which loads what a library loads
    when it is needed; those of the first where it takes long."""
    first = timed(work)[0]
    return first if first > 5.0 else median_seconds(work, 5)


def one(side, name, lam, n, file):
    """One solution in this process: seconds, and where one was made to measure memory,
    the peak, the objective and the memory before."""
    y = np.load(f"{file}.npy")
    if side == "mklpy":
        return one_mklpy(name, n, file, y == y[0])
    if side in ("weights", "streamed"):
        y = y == y[0]
    regularizer = make_regularizer(name, P)
    if side == "weights":
        kernels = list(read(file, n))
        return print(again(lambda: solve_newton(build(kernels, y), regularizer, lam)))
    warm = PairProblem(
        [np.eye(6), np.ones((6, 6))], [0, 0, 0, 1, 1, 1], n_jobs=1
    )  # compiled functions are loaded
    solve_newton(warm, make_regularizer(name, 2), lam)
    before, problem = peak_gigabytes(), build(read(file, n), y)
    solver, unit = solve_newton, 1.0
    if (
        side == "cvxpy"
    ):  # the sum over pairs, not the mean: Clarabel takes a third of the steps
        solver, unit = solve_cvxpy, float(problem.n_pairs)
        problem.w = problem.w * np.float32(unit)
    seconds, found = timed(lambda: solver(problem, regularizer, unit * lam))
    print(seconds, peak_gigabytes(), found.objective / unit, before)


def one_mklpy(method, n, file, y):
    """MKLpy's weights; its list of Gram matrices in double precision is there before
    the clock starts."""
    import MKLpy.algorithms
    import torch

    torch.set_num_threads(1)
    grams = [torch.from_numpy(K.astype(np.float64)) for K in read(file, n)]
    target = torch.from_numpy(y.astype(np.int64))
    learner = getattr(MKLpy.algorithms, method)
    seconds = again(lambda: learner().combine_kernels(grams, target))
    print(seconds, peak_gigabytes())


def write(folder, n, n_first=None):
    """The Gram matrices of a task (of its first examples, after shuffling), centred
    and scaled, in a file."""
    kernels, y, origin = task(n)
    rows = np.random.default_rng(0).permutation(n)[: n_first or n]
    file = Path(folder) / f"grams{len(rows)}"
    with open(file, "wb") as stream:
        for K in kernels:
            standardize_gram(K[np.ix_(rows, rows)].astype(np.float64)).astype(
                np.float32
            ).tofile(stream)
    np.save(f"{file}.npy", y[rows])
    print(f"{P} kernels of {len(rows)} {origin}", flush=True)
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a small size, to see that it runs"
    )
    parser.add_argument(
        "--store", action="store_true", help="keep the figures in benchmarks/mkl.csv"
    )
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        side, name, lam, n, file = args.one
        one(side, name, float(lam), int(n), file)
        raise SystemExit
    small, large, written = (60, 150, 120) if args.quick else (541, 1444, 432)
    with tempfile.TemporaryDirectory() as folder:
        files = {
            small: write(folder, small),
            large: write(folder, large),
            written: write(folder, large, written),
        }
        problem = build(read(files[large], large), np.load(f"{files[large]}.npy"))
        solve_each(problem, large, (1e-2, 1e-4, 1e-6))
        path_each(problem, large)
        sgd_each(problem, large, 1e-3)
        del problem
        memory(large, files)
        beside_mklpy(small, files, "EasyMKL", 5, "1 or more", "")
        beside_mklpy(small, files, "CKA", 1, "30 times faster", "3 or more")
        beside_mklpy(large, files, "EasyMKL", 3, "3 times faster", "10 or more")
        beside_cvxpy(written, 1e-3, files)
    if args.store and not args.quick:
        store(__file__)
