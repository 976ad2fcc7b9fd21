r"""A certified bound is refuted by a single feasible point beyond it.

The claims of the solvers of optimisation problems, and of the certificates that they
return.

Certificates are particularly easy to test. A certificate states that *no* weights have
an objective below $(1 - g)$ times the one that was found, so any weights with a lower
objective refute it, however they were found.

The oracle is an interior-point method of cvxpy on the problem as it is printed, or
quadratic programming by another route. Its answer need not be exact: as long as its
weights are feasible, their objective is an upper bound on the optimum, and this is
sufficient to refute a false certificate.

The oracle computes the objective with its own code, pair by pair.

Two kinds of answer would make a check pass although nothing is tested. The first is a
refusal: a solver that rejected every problem would never be wrong. The judges of this
module therefore decide themselves, before they call the package, whether a problem
deserves to be refused, because a kernel is zero or a class has a single member. Such a
problem is passed over, and every other error counts as a disagreement.

The second is a warning that a solver has stopped short of its tolerance. It is accepted
where a threshold of the dual problem, which is proportional to $\lambda$, is below
$10^{-10}$ of the sum over pairs with which it is compared. Elsewhere the independent
checker of ch-mkl-certificates has to find a gap wider than the tolerance, too, and
rounding has to explain it: the values of the kernels in single precision move the
objective by more than the tolerance, or the kernels differ in size by a factor of more
than $10^8$. A warning without such a reason, or a wide gap without a warning, is a
disagreement.

Finally, a bound that is not a number must not count as a bound that holds. The function
`beyond` computes by how much a bound is exceeded and, unlike `max(0.0, x)`, returns NaN
if $x$ is NaN.
"""

import warnings
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

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
    identical,
)
from okbook.forest_kernel import linear_svm, separating_hyperplane, target_alignment
from okbook.forest_kernel.hyperplanes import best_intercept
from okbook.mkl import (
    GroupRegularizer,
    KernelCombiner,
    PairProblem,
    PowerRegularizer,
    Regularizer,
    alignment_weights,
    check_certificate,
    check_path,
    combine_grams,
    lam_max,
    learn_gram,
    machine_value,
    make_regularizer,
    mkl_path,
    pair_labels,
    solve_cvxpy,
    solve_newton,
    solve_norm,
    solve_sgd,
    solve_stochastic,
    standardize_gram,
)
from okbook.mkl.duality import duality_gap, optimality_conditions
from okbook.mkl.pairs import (
    REGULARIZERS,
    gram_moments,
    nonnegative_quadratic,
    pair_correlations,
)
from okbook.mkl.path import evaluate_many
from okbook.mkl.semidefinite import learn_gram_weights
from okbook.mkl.solvers import SmoothedLoss, smoothed_dual
from okbook.rkhs import MaximumMarginRegression
from okbook.rkhs.decomposable import margin_dual, margin_objectives
from okbook.rkhs.networks import local_svms, pairwise_svm

# The checks of certificates.
CERTIFICATES = Claims()
# The unit of rounding in single precision.
SINGLE = float(np.finfo(np.float32).eps)


# The problem on pairs
#
# The problems have up to five kernels on up to nine examples. The kernels are linear
# kernels on single columns, which have rank one; some are repeated, and their units
# differ by factors of up to $10^{12}$. The objective is that of eq-mkl-1, with the
# values of the kernels in single precision, as the package stores them.
#
# Smoothed losses and their dual variables, the duality gap, and the two sides of the
# optimality conditions have formulas that the oracle evaluates pair by pair. The
# duality gap has to lie in the interval that the checker computes from the same weights
# and dual variables.
#
# From $2^{15}$ pairs on, `mkl_path` works differently: it begins on a sample of the
# pairs, lets one pass over all pairs serve all values of $\lambda$, and closes the
# remaining gaps on working sets. The check `mkl-large` draws 256 to 300 examples, so
# that this part of the solver runs, and paths from $\lambda = 10$ to $10^{-6}$, a few
# values in any order, or values so large or so small that no kernel is selected or only
# rounding is left. For problems of this size cvxpy is too slow. However, the weights
# found for one $\lambda$ are feasible for every other, and so are those of Newton's
# method without a path; each of them bounds each optimum from above, and none may
# contradict a dual value.
#
# Semidefinite programs are judged by their duals. For weights that are not negative,
# minimum and maximum can be exchanged: the value of the learnt combination equals the
# largest value of $\sum_i \alpha_i - \frac n2 \max_m \alpha^\top G_m \alpha /
# \operatorname{tr} K_m$ over the dual variables of the machine, which is a program with
# quadratic constraints. For a matrix that is learnt freely the last term is $\frac n2
# \|\alpha\|^2$.


def _draw_pairs(rng):
    "Columns, kernels as mixtures of them, classes, and what to minimise."
    n, d = draw_size(rng, 4, 9), draw_size(rng, 1, 4)
    X = draw_matrix(rng, n, d, scaled=False)
    y = draw_classes(rng, n, 2, at_least=2)
    X[:, 0] += y * rng.normal()
    mix = np.eye(d)
    if rng.random() < 0.4:
        mix = rng.dirichlet(np.ones(d), size=draw_size(rng, 1, 12))
    name = str(rng.choice([*REGULARIZERS, "units", "single precision"]))
    far = 13 if name == "units" else 7
    units = np.ones(len(mix))
    if rng.random() < (0.8 if name == "units" else 0.2):
        units = 10.0 ** rng.integers(1 - far, far, len(mix))
    return {
        "X": X,
        "mix": mix,
        "y": y,
        "units": units,
        "name": name,
        "lam": float(10.0 ** rng.integers(-5, 2)),
        "balanced": bool(rng.random() < 0.3),
    }


_PAIRS = {"X": "nd", "mix": "pd", "y": "n", "units": "p"}


def _has_classes(y):
    "Whether there are two classes or more, each with two members."
    counts = np.unique(y, return_counts=True)[1]
    return len(counts) > 1 and counts.min() > 1


def _pair_problem(X, mix, y, units, name, balanced, lam=1.0):
    "The problem, and its regulariser."
    if not (units > 0).all() or not _has_classes(y) or not lam > 0:
        raise PassedOver("no units, no regulariser, or a class with one member")
    X = X - X.mean(axis=0)
    if (mix < 0).any():
        raise PassedOver("no mixture")
    grams = [unit * (X * m) @ X.T for m, unit in zip(mix, units)]
    if not all(np.float32(K).any() for K in grams):
        raise PassedOver("a kernel is zero")
    problem = PairProblem(grams, y, pair_weight="balanced" if balanced else None)
    if name == "units":  # in which the units cancel
        return problem, Regularizer(np.zeros(len(units)), np.diag(units**2)), grams
    if name == "single precision":
        Q = problem.correlations_.astype(np.float32)
        return problem, make_regularizer("l2-corr", Q), grams
    return problem, make_regularizer(name, problem.correlations_), grams


def _objective(grams, y, balanced, regularizer, lam, mu):
    "The objective of eq-mkl-1, pair by pair."
    n, pairs = len(y), []
    for i in range(n):
        for j in range(i, n):
            t = 1.0 if y[i] == y[j] else -1.0
            z = np.array([float(np.float32(K[i, j])) for K in grams])
            pairs.append((t, max(0.0, 1.0 - t * float(mu @ z))))
    same = sum(t > 0 for t, _ in pairs)
    loss = 0.0
    for t, slack in pairs:
        equal = 0.5 / (same if t > 0 else len(pairs) - same)
        loss += slack * (equal if balanced else 1.0 / len(pairs))
    return 0.5 * lam * _penalty(regularizer, mu) + loss


def _penalty(regularizer, mu):
    "The term R, as its equation is printed."
    if isinstance(regularizer, PowerRegularizer):
        return sum(float(m) ** regularizer.exponent for m in mu)
    if isinstance(regularizer, GroupRegularizer):
        groups = [mu[regularizer.members == g] for g in set(regularizer.members)]
        return sum(np.sqrt(len(group) * (group @ group)) for group in groups)
    A, c = regularizer.quadratic, regularizer.linear
    return c @ mu + mu @ A @ mu


def _interior_point(grams, y, balanced, regularizer, lam):
    "Feasible weights near the optimum, by cvxpy in units of its own."
    from okbook._extras import cvxpy as cp

    upper = np.triu_indices(len(y))
    t = np.where(y[upper[0]] == y[upper[1]], 1.0, -1.0)
    Z = np.array([K.astype(np.float32)[upper] for K in grams], dtype=float).T
    size = np.abs(Z).max(axis=0)
    w = np.full(len(t), 1.0 / len(t))
    if balanced:
        w = np.where(t > 0, 0.5 / (t > 0).sum(), 0.5 / (t < 0).sum())
    mu = cp.Variable(len(size), nonneg=True)
    if isinstance(regularizer, PowerRegularizer):
        R = cp.sum(cp.power(cp.multiply(mu, 1.0 / size), regularizer.exponent))
    elif isinstance(regularizer, GroupRegularizer):
        groups = [regularizer.members == g for g in set(regularizer.members)]
        R = sum(np.sqrt(g.sum()) * cp.norm(mu[g] / size[g]) for g in groups)
    else:
        A = regularizer.quadratic / size / size[:, None]
        quadratic = cp.quad_form(mu, cp.psd_wrap(0.5 * (A + A.T)))
        R = (regularizer.linear / size) @ mu + quadratic
    loss = w @ cp.pos(1.0 - cp.multiply(t, (Z / size) @ mu))
    cp.Problem(cp.Minimize(0.5 * lam * R + loss)).solve(solver="CLARABEL")
    if mu.value is None:
        raise PassedOver("the oracle has found nothing")
    return np.maximum(mu.value, 0.0) / size


def _promise(found, problem, regularizer, lam, grams, y, balanced):
    "What a solver promises, against the oracle's weights."
    weights = _interior_point(grams, y, balanced, regularizer, lam)
    told = grams, y, balanced, regularizer, lam
    value = _objective(*told, found.mu)
    best = min(_objective(*told, weights), _objective(*told, 0.0 * found.mu), value)
    promised = (1.0 - found.gap) * found.objective
    allowed, size = 32 * SINGLE, max(1.0, value)
    # An objective is rounded upwards, by some units of double precision a pair.
    margins = np.abs(problem.margins(found.mu)).max()
    outward = max(size, EPS / SINGLE * problem.n_pairs * margins)
    checks = [
        compare(found.objective, value, allowed, outward, "objective"),
        compare(beyond(promised - best), 0.0, allowed, size, "certificate"),
        identical((found.mu >= 0).all(), True, "weights are not negative"),
    ]
    a = found.get("a")
    if a is not None:
        checks += [compare(beyond(found.dual - best), 0.0, allowed, 1.0, "dual")]
    if a is not None and isinstance(regularizer, Regularizer):
        checked = check_certificate(problem, regularizer, lam, found.mu, a)
        below = beyond(min(checked.gap[0], 1.0) - found.gap)  # 1 promises nothing
        checks += [
            compare(below, 0.0, 1e-9, 1.0, "gap, says the checker"),
            *_intervals(checked, value, best),
        ]
    return checks


def _intervals(checked, value, best):
    "The checker's intervals against an objective and an upper bound of the optimum."
    size, low = max(1.0, value), checked.objective[0]
    outside = beyond([low - value, value - checked.objective[1]])
    return [
        compare(outside, 0.0, 32 * SINGLE, size, "checker's objective"),
        compare(
            beyond(checked.optimum[0] - best),
            0.0,
            32 * SINGLE,
            1.0,
            "checker's optimum",
        ),
        identical((np.diff([checked.gap, checked.dual]) >= 0).all(), True, "ends"),
    ]


# Units of the kernels that are further apart than this leave too few digits of a sum,
# and so do thresholds of the dual problem below this part of the sums over pairs.
_FAR, _NO_THRESHOLD = 1e8, 1e-10


def _solved(solve):
    "The result of a solver, and how often it warns that it has stopped short."
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = solve()
    return found, sum(issubclass(w.category, ConvergenceWarning) for w in said)


def _endings(problem, regularizer, lams, found, ends, n_warnings, tol):
    """A solver stops at its tolerance, or warns. It may warn only if a threshold is
    next to nothing, or if the checker, too, sees a gap that is wider, and rounding
    explains it: the values of the kernels, which are in single precision, move the
    objective by more, or units are far apart."""
    wide = [not one.gap <= tol for one in found]
    checks = [identical(n_warnings, sum(wide), "warnings")]
    size = np.abs(problem.Z)
    sizes = size.max(axis=0)
    far = sizes.max() > _FAR * sizes.min()
    for lam, one, end in zip(lams, found, ends):
        # no dual variables at all prove a bound of zero
        checks.append(compare(beyond(one.gap - 1.0), 0.0, 1e-9, 1.0, "gap above one"))
        if not one.gap <= tol:
            moved = SINGLE * (problem.w @ (size @ one.mu))
            hard = end[1] > tol and (far or moved > tol * one.objective)
            on = one.mu > 0
            slopes = 0.5 * lam * regularizer.gradient(one.mu) / (problem.w @ size)
            needed = hard or slopes[on].min(initial=np.inf) < _NO_THRESHOLD
            checks.append(identical(needed, True, "a needless warning"))
    return checks


def _smoothed_duals(problem, mu, delta, held=None):
    "The dual variables of a smoothed loss, pair by pair (eq-mklsolve-smooth, held)."
    if mu is None:  # nothing is proved but a bound of zero
        return np.zeros(problem.n_pairs)
    u = 1.0 - problem.t * (problem.Z.astype(float) @ mu)
    share = np.clip(u / delta + 0.5, 0.0, 1.0)
    if held is not None:
        there, width, working = held
        rest = np.setdiff1d(np.arange(len(share)), working)
        share[rest] = (_smoothed_duals(problem, there, width) / problem.w)[rest]
    return problem.w * share


@CERTIFICATES.add(
    "pairs-values",
    "margins, loss, adjoint and labels of pairs (eq-mkl-1)",
    "loops over pairs",
    "16 p units of single precision of the largest term",
    draw=lambda rng: _draw_pairs(rng) | {"mu": np.abs(rng.normal(size=12))},
    axes=_PAIRS,
)
def _judge_pairs(X, mix, y, units, name, lam, balanced, mu):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    mu = mu[: len(grams)] / units
    ours = problem.objective(mu, regularizer, lam)
    theirs = _objective(grams, y, balanced, regularizer, lam, mu)
    upper = np.triu_indices(len(y))
    t = [1.0 if y[i] == y[j] else -1.0 for i, j in zip(*upper)]
    rows = np.array(
        [
            [t[q] * float(np.float32(K[i, j])) for K in grams]
            for q, (i, j) in enumerate(zip(*upper))
        ]
    )
    a = problem.w.astype(float) * (np.arange(len(t)) % 3)
    size = max(1.0, np.abs(rows * mu).sum(axis=1).max())
    return [
        compare(ours, theirs, 64 * SINGLE, max(size, theirs), "objective"),
        compare(problem.margins(mu), rows @ mu, 16 * SINGLE, size, "margins"),
        compare(
            problem.adjoint(a) / units,
            a @ rows / units,
            64 * SINGLE,
            np.abs(rows / units).max(),
            "adjoint",
        ),
        identical(pair_labels(y), t, "labels"),
    ]


@CERTIFICATES.add(
    "pairs-correlations",
    "correlations of kernels (eq-pairs-q)",
    "sums over all entries of two matrices",
    "32 units of single precision",
    draw=_draw_pairs,
    axes=_PAIRS,
)
def _judge_correlations(X, mix, y, units, name, lam, balanced):
    problem, _, grams = _pair_problem(X, mix, y, units, "l2", balanced)
    theirs = [
        [np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L)) for L in grams]
        for K in grams
    ]
    return compare(pair_correlations(problem.Z, len(y)), theirs, 32 * SINGLE, 1.0)


@CERTIFICATES.add(
    "mkl-newton",
    "Newton's method keeps its promise (eq-mkl-1, thm-pairs-dual)",
    "cvxpy, and the checker of certificates",
    "32 units of single precision: that of the kernels",
    draw=_draw_pairs,
    axes=_PAIRS,
)
def _judge_newton(X, mix, y, units, name, lam, balanced):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    found, said = _solved(lambda: solve_newton(problem, regularizer, lam, tol=1e-4))
    ends = check_certificate(problem, regularizer, lam, found.mu, found.a).gap
    return [
        *_promise(found, problem, regularizer, lam, grams, y, balanced),
        *_endings(problem, regularizer, [lam], [found], [ends], said, 1e-4),
    ]


@CERTIFICATES.add(
    "mkl-others",
    "the certificates of the other solvers",
    "cvxpy, and the checker of certificates",
    "32 units of single precision: that of the kernels",
    draw=lambda rng: (
        _draw_pairs(rng)
        | {"seed": int(rng.integers(100)), "sgd": bool(rng.random() < 0.5)}
    ),
    axes=_PAIRS,
)
def _judge_others(X, mix, y, units, name, lam, balanced, seed, sgd):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    if sgd:
        found = solve_sgd(problem, regularizer, lam, max_iter=200, random_state=seed)
    else:
        try:
            found = solve_cvxpy(problem, regularizer, lam)
        except RuntimeError as error:  # the interior-point method has no weights
            raise PassedOver("cvxpy finds no weights") from error
    return _promise(found, problem, regularizer, lam, grams, y, balanced)


@CERTIFICATES.add(
    "mkl-stochastic",
    "the certificates of stochastic gradients (eq-mkl-1, thm-pairs-dual)",
    "cvxpy, and the checker of certificates",
    "32 units of single precision: that of the kernels",
    draw=lambda rng: (
        _draw_pairs(rng)
        | {
            "method": str(rng.choice(["constant", "decreasing", "averaged", "svrg"])),
            "batch": int(rng.choice([1, 16])),
            "delta": float(rng.choice([0.0, 0.1])),
            "seed": int(rng.integers(100)),
        }
    ),
    axes=_PAIRS,
)
def _judge_stochastic(
    X, mix, y, units, name, lam, balanced, method, batch, delta, seed
):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    options = {"passes": 50.0, "batch_size": batch, "delta": delta or None}
    found, said = _solved(
        lambda: solve_stochastic(
            problem, regularizer, lam, method, random_state=seed, **options
        )
    )
    return [
        *_promise(found, problem, regularizer, lam, grams, y, balanced),
        identical(said, int(not found.gap <= 1e-3), "warnings"),
    ]


@CERTIFICATES.add(
    "mkl-norms",
    "powers and groups as regularisers (eq-mklnorm-power, eq-mklnorm-group)",
    "cvxpy, and the objective pair by pair",
    "32 units of single precision: that of the kernels; no warning if they are alike",
    draw=lambda rng: (
        (problem := _draw_pairs(rng))
        | {
            "exponent": float(rng.choice([0.0, 1.1, 1.5, 2.0, 3.0, 10.0])),
            "groups": rng.integers(0, 3, len(problem["units"])),
        }
    ),
    axes=_PAIRS | {"groups": "p"},
)
def _judge_norms(X, mix, y, units, name, lam, balanced, exponent, groups):
    problem, _, grams = _pair_problem(X, mix, y, units, "l2", balanced, lam)
    regularizer = GroupRegularizer(groups)
    if exponent:
        regularizer = PowerRegularizer(exponent, len(grams))
    found, said = _solved(lambda: solve_norm(problem, regularizer, lam, max_iter=50))
    sizes = np.abs(problem.Z).max(axis=0)
    alike = sizes.max() < 100 * min(1.0, sizes.min()) and lam >= 1e-3
    # near 1 the dual value is a very high power; of an optimum of zero a gap is no part
    mild = not 0.0 < exponent < 1.5 and found.objective > 1e-6
    return [
        *_promise(found, problem, regularizer, lam, grams, y, balanced),
        identical(said, int(not found.gap <= 1e-3), "warnings"),
        identical(bool(said and alike and mild), False, "a needless warning"),
    ]


@CERTIFICATES.add(
    "mkl-checker",
    "the checker of certificates, on any weights and dual variables",
    "cvxpy, and the objective pair by pair",
    "32 units of single precision: that of the kernels",
    draw=lambda rng: _draw_pairs(rng) | {"seed": int(rng.integers(1000))},
    axes=_PAIRS,
)
def _judge_checker(X, mix, y, units, name, lam, balanced, seed):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    rng, told = np.random.default_rng(seed), (grams, y, balanced, regularizer, lam)
    weights = _interior_point(*told)
    mu = weights * rng.choice([0.0, 0.5, 1.0, 2.0], len(weights))
    a = problem.w * rng.choice([0.0, 0.5, 1.0], len(problem.w))
    checked = check_certificate(problem, regularizer, lam, mu, a)
    value = _objective(*told, mu)
    best = min(value, _objective(*told, weights), 1.0)
    gap = (value - best) / value  # the gap cannot be less
    short = compare(beyond(gap - checked.gap[1]), 0.0, 32 * SINGLE, 1.0, "gap")
    return [short, *_intervals(checked, value, best)]


@CERTIFICATES.add(
    "mkl-path",
    "every lam of a path keeps its promise, and check_path says so (thm-cert-check)",
    "cvxpy, and the checker with dual variables computed here",
    "32 units of single precision: that of the kernels; of the checker's ends 1e-9, or "
    "p + 2 eps times the largest margin, over the width and the objective",
    draw=_draw_pairs,
    axes=_PAIRS,
)
def _judge_path(X, mix, y, units, name, lam, balanced):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    lams = [lam, 10 * lam, 0.3 * lam]
    path, said = _solved(lambda: mkl_path(problem, regularizer, lams, tol=1e-4))
    ends = check_path(problem, regularizer, lams, path)
    checks = _endings(problem, regularizer, lams, path, ends, said, 1e-4)
    for found, one, end in zip(path, lams, ends):
        checks += _promise(found, problem, regularizer, one, grams, y, balanced)
        below = beyond(end[0] - found.gap)
        checks.append(compare(below, 0.0, 1e-9, 1.0, "gap, says check_path"))
        if found.mu.any():
            a = _smoothed_duals(problem, *found.proof)
            theirs = check_certificate(problem, regularizer, one, found.mu, a).gap
            seen, width, _ = found.proof  # rounding of margins, over the width
            size = 0.0 if seen is None else np.abs(problem.Z @ seen).max()
            near = (len(grams) + 2) * EPS * size / width / found.objective
            checks.append(
                compare(end, theirs, max(1e-9, near), 1.0, "ends of check_path")
            )
    return checks


@CERTIFICATES.add(
    "mkl-combiner",
    "objective and gap of KernelCombiner, with every solver",
    "cvxpy",
    "32 units of single precision: that of the kernels",
    draw=lambda rng: (
        _draw_pairs(rng) | {"solver": str(rng.choice(["newton", "cvxpy", "sgd"]))}
    ),
    axes=_PAIRS,
)
def _judge_combiner(X, mix, y, units, name, lam, balanced, solver):
    name = name if name in REGULARIZERS else "l2"
    if not _has_classes(y) or not lam > 0:
        raise PassedOver("no regulariser, or a class with one member")
    grams = []
    for x in X.T:
        x = x - x.mean()
        if not np.square(x).mean() > 1e-6 * np.square(X).mean():
            raise PassedOver("a constant column")
        grams.append(np.outer(x, x) / np.square(x).mean())
    columns = [("linear", [m]) for m in range(X.shape[1])]
    weighing = "balanced" if balanced else None
    model = KernelCombiner(
        columns, name, lam, solver=solver, pair_weight=weighing, random_state=0
    )
    model.fit(X, y)
    problem = PairProblem(grams, y, pair_weight=weighing)
    regularizer = make_regularizer(name, problem.correlations_)
    told = grams, y, balanced, regularizer, lam
    value, best = (
        _objective(*told, mu) for mu in (model.weights_, _interior_point(*told))
    )
    promised = (1.0 - model.gap_) * model.objective_
    tolerance = 512 * SINGLE  # the kernels are rounded after other operations
    return [
        compare(model.objective_, value, tolerance, max(1.0, value), "objective"),
        compare(beyond(promised - best), 0.0, tolerance, max(1.0, value), "gap"),
        identical(model.gap_ >= -1e-6, True, "sign of the gap"),
    ]


@CERTIFICATES.add(
    "mkl-lam-max",
    "the lam from which all weights are zero",
    "the solution just above and just below it",
    "one part in a thousand of lam",
    draw=_draw_pairs,
    axes=_PAIRS,
)
def _judge_lam_max(X, mix, y, units, name, lam, balanced):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, "l1", balanced)
    top = lam_max(problem, regularizer)
    told = grams, y, balanced, regularizer
    if not top > 0:
        ours = _interior_point(*told, 1e-3)
        better = beyond(1.0 - _objective(*told, 1e-3, ours))
        return compare(better, 0.0, 1e-6, 1.0, "no kernel helps")
    above, below = (_interior_point(*told, top * f) for f in (1.001, 0.9))
    gain = [
        beyond(1.0 - _objective(*told, top * f, mu))
        for f, mu in ((1.001, above), (0.9, below))
    ]
    return [
        compare(gain[0], 0.0, 1e-6, 1.0, "above"),
        identical(gain[1] > 0, True, "below"),
    ]


def _draw_smoothed(rng):
    "Weights and widths, and a problem on pairs."
    problem = _draw_pairs(rng)
    return problem | {
        "mus": np.abs(rng.normal(size=(3, 12))) * rng.choice([0.0, 0.1, 1.0], (3, 1)),
        "deltas": 10.0 ** rng.uniform(-3, 0.5, 3),
        "held": bool(rng.random() < 0.5),
    }


@CERTIFICATES.add(
    "mkl-smoothed",
    "smoothed losses, and the dual variables they suggest (eq-mklsolve-smooth, held)",
    "the formula, pair by pair",
    "64 p eps times the largest term over the width",
    draw=_draw_smoothed,
    axes=_PAIRS,
)
def _judge_smoothed(X, mix, y, units, name, lam, balanced, mus, deltas, held):
    problem, _, grams = _pair_problem(X, mix, y, units, "l2", balanced)
    if not (deltas > 0).all() or (mus < 0).any():
        raise PassedOver("no widths, or no weights")
    mus = mus[:, : len(grams)] / units
    loss, rows = SmoothedLoss.of_problem(problem), problem.Z * problem.t[:, None]
    rows, w = rows.astype(float), problem.w.astype(float)
    many, checks = evaluate_many(loss, mus, deltas), []
    for point, mu, delta in zip(many, mus, deltas):
        u = 1.0 - rows @ mu
        a, hinge = _smoothed_duals(problem, mu, delta), np.maximum(u, 0.0)
        smooth = np.where(  # the integral of the slope, piece by piece
            np.abs(u) < 0.5 * delta, np.square(u + 0.5 * delta) / (2.0 * delta), hinge
        )
        size = 1.0 + np.abs(rows * mu).sum(axis=1).max()
        allowed = 64 * len(mu) * EPS * size * max(1.0, 1.0 / delta)
        here, scale = loss.evaluate(mu, delta), np.abs(rows / units).max() or 1.0
        near = np.flatnonzero(np.abs(u) < (0.5 - 2.0 * allowed) * delta)
        checks.append(identical(np.isin(near, point.near[0]).all(), True, "near"))
        for one, which in ((point, "many"), (here, "one")):
            sums = [one.loss, one.smooth, one.total, one.smoothing_error]
            theirs = [w @ hinge, w @ smooth, a.sum(), w @ hinge - a @ u]
            checks += [
                compare(sums, theirs, allowed, size, f"sums, {which}"),
                compare(
                    one.adjoint / units,
                    a @ rows / units,
                    allowed,
                    scale,
                    f"adjoint, {which}",
                ),
            ]
    working = np.arange(0, len(w), 2)
    other = (mus[1], float(deltas[1]), working) if held else None
    ours = smoothed_dual(problem, mus[0], float(deltas[0]), other)
    theirs = _smoothed_duals(problem, mus[0], deltas[0], other)
    return [*checks, compare(ours, theirs, 1e-9, w.max(), "dual variables")]


@CERTIFICATES.add(
    "mkl-gap",
    "the duality gap, and the sides of the conditions (thm-pairs-dual, eq-pairs-kkt)",
    "the checker of certificates, and the formulas pair by pair",
    "a unit of single precision, from above 1e-4: it is a bound; 1e-9 of the formulas",
    draw=lambda rng: _draw_smoothed(rng) | {"given": bool(rng.random() < 0.5)},
    axes=_PAIRS,
)
def _judge_gap(X, mix, y, units, name, lam, balanced, mus, deltas, held, given):
    problem, regularizer, grams = _pair_problem(X, mix, y, units, name, balanced, lam)
    if not (deltas > 0).all() or (mus < 0).any():
        raise PassedOver("no widths, or no weights")
    mu = mus[0, : len(grams)] / units
    rows, w = (problem.Z * problem.t[:, None]).astype(float), problem.w.astype(float)
    u = 1.0 - rows @ mu
    a = w * np.heaviside(u, 0.5)
    size = 1.0 + np.abs(rows * mu).sum(axis=1).max()
    if given:
        a = _smoothed_duals(problem, mu, deltas[0])
    elif np.abs(u).min() < 64 * SINGLE * size:
        a = w * np.heaviside(1.0 - problem.margins(mu), 0.5)
    gap = duality_gap(problem, regularizer, lam, mu, a if given else None)
    checked = check_certificate(problem, regularizer, lam, mu, a)
    least, most = checked.objective - checked.dual[::-1]
    value = checked.objective[1] + np.abs(checked.dual).max()
    sides = optimality_conditions(problem, regularizer, lam, mu, a)
    c, A, scale = regularizer.linear, regularizer.quadratic, np.abs(rows).max(axis=0)
    slope = 0.5 * lam * (c + 2.0 * np.array([row @ mu for row in A]))
    steep = 0.5 * lam * (c + 2.0 * np.abs(A) @ mu) + 1e-300
    return [
        compare(beyond(least - gap), 0.0, SINGLE, value, "gap, from below"),
        compare(beyond(gap - most), 0.0, 1e-4, value, "gap, from above"),
        compare(sides.adjoint / scale, a @ rows / scale, 1e-9, 1.0, "adjoint"),
        compare(sides.threshold / steep, slope / steep, 1e-12, 1.0, "threshold"),
        identical(sides.selected, mu > 0, "selected"),
    ]


def _draw_large(rng):
    "Many pairs: what makes the kernels, and a path."
    lams = np.geomspace(10.0, 1e-6, draw_size(rng, 11, 14))
    kind = rng.integers(4)
    if kind == 1:
        lams = 10.0 ** rng.uniform(-6, 2, draw_size(rng, 1, 4))
    elif kind == 2:  # from where no kernel is selected to where rounding is all
        lams = 10.0 ** rng.uniform(-24, 6, draw_size(rng, 2, 6))
    return {
        "n": int(rng.integers(256, 301)),
        "ranks": rng.integers(1, 4, rng.integers(2, 7)),
        "seed": int(rng.integers(10**6)),
        "lams": lams,
        "name": str(rng.choice([*REGULARIZERS])),
        "balanced": bool(rng.random() < 0.3),
        "signal": float(rng.choice([0.0, 0.5, 3.0])),
    }


@CERTIFICATES.add(
    "mkl-large",
    "a path on many pairs: rounds, samples and working sets (eq-mklsolve-held, shift)",
    "the weights of every other lam and of one Newton solution, and check_path",
    "32 units of single precision: that of the kernels",
    draw=_draw_large,
    axes={"ranks": "p", "lams": "l"},
)
def _judge_large(n, ranks, seed, lams, name, balanced, signal):
    if n < 256 or (ranks < 1).any() or not (lams > 0).all():
        raise PassedOver("few pairs, a kernel of rank zero, or no regulariser")
    rng = np.random.default_rng(seed)
    y, grams = rng.integers(0, 2, n), []
    for rank in ranks:
        V = rng.normal(size=(n, rank))
        V[:, 0] += signal * rng.random() * y
        V -= V.mean(axis=0)
        grams.append(V @ V.T / np.square(V).sum() * n)
    problem = PairProblem(grams, y, pair_weight="balanced" if balanced else None)
    regularizer = make_regularizer(name, problem.correlations_)
    path, said = _solved(lambda: mkl_path(problem, regularizer, lams))
    ends = check_path(problem, regularizer, lams, path)
    upper = np.triu_indices(n)
    t = np.where(y[upper[0]] == y[upper[1]], 1.0, -1.0)
    rows = np.array([t * np.float32(K[upper]) for K in grams]).T
    w = np.full(len(t), 1.0 / len(t))
    if balanced:
        w = np.where(t > 0, 0.5 / (t > 0).sum(), 0.5 / (t < 0).sum())
    c, A = regularizer.linear, regularizer.quadratic
    alone = solve_newton(problem, regularizer, lams[seed % len(lams)])
    mus = [one.mu for one in path] + [alone.mu, 0.0 * alone.mu]
    losses = np.array([w @ np.maximum(0.0, 1.0 - rows @ mu) for mu in mus])
    terms = np.array([0.5 * (c @ mu + mu @ A @ mu) for mu in mus])
    checks = _endings(problem, regularizer, lams, path, ends, said, 1e-3)
    for k, (one, lam, end) in enumerate(zip(path, lams, ends)):
        values = lam * terms + losses
        size, promised = max(1.0, values[k]), (1.0 - one.gap) * one.objective
        checks += [
            compare(one.objective, values[k], 32 * SINGLE, size, "objective"),
            compare(beyond(promised - values.min()), 0.0, 32 * SINGLE, size, "bound"),
            compare(beyond(one.dual - values.min()), 0.0, 32 * SINGLE, size, "dual"),
            compare(beyond(end[0] - one.gap), 0.0, 1e-9, 1.0, "gap, says check_path"),
            identical((one.mu >= 0).all(), True, "weights are not negative"),
        ]
    one = path[seed % len(lams)]
    apart = beyond([one.dual - alone.objective, alone.dual - one.objective])
    size = max(1.0, one.objective)
    return [*checks, compare(apart, 0.0, 32 * SINGLE, size, "Newton's method alone")]


def _machine_of_gram(F, t, C):
    "The value of a machine with the kernels F[m] F[m]' (the largest quadratic form)."
    from okbook._extras import cvxpy as cp

    a, most = cp.Variable(len(t), nonneg=True), cp.Variable()
    forms = [cp.sum_squares(f.T @ cp.multiply(t, a)) <= most for f in F]
    program = cp.Problem(
        cp.Maximize(cp.sum(a) - 0.5 * most), [*forms, t @ a == 0.0, a <= C]
    )
    return program.solve(solver="CLARABEL"), a.value


@CERTIFICATES.add(
    "mkl-semidefinite",
    "learnt Gram matrices, and the value of a machine (eq-mklsdp-value, problem)",
    "cvxpy on the maximum over dual variables, with quadratic constraints",
    "1e-5 of the value; 1e-3 where cvxpy solves a semidefinite program",
    draw=lambda rng: {
        "X": draw_matrix(rng, n := draw_size(rng, 4, 6), draw_size(rng, 1, 3), False),
        "y": draw_classes(rng, n, 2, at_least=2),
        "C": float(10.0 ** rng.integers(-1, 2)),
        "nonnegative": bool(rng.random() < 0.7),
    },
    axes={"X": "nd", "y": "n"},
)
def _judge_semidefinite(X, y, C, nonnegative):
    n = len(y)
    if len(np.unique(y)) != 2 or not _has_classes(y) or not C > 0:
        raise PassedOver("a class with one member")
    sizes = np.square(X).sum(axis=0)
    if not sizes.min(initial=np.inf) > 1e-6 * max(1.0, sizes.max()):
        raise PassedOver("a kernel is zero")
    t = np.where(y == y.max(), 1.0, -1.0)
    F = [x[:, None] * np.sqrt(n / (x @ x)) for x in X.T]  # of trace n
    grams = [f @ f.T for f in F]
    value, alpha = machine_value(grams[0], y, C)
    theirs, _ = _machine_of_gram(F[:1], t, C)
    free, mixed = learn_gram(y, C), learn_gram_weights(grams, y, C, nonnegative)
    ball, _ = _machine_of_gram([np.sqrt(n) * np.eye(n)], t, C)
    mixture, _ = _machine_of_gram(F, t, C)
    K = combine_grams(grams, mixed.mu)
    again = machine_value(K, y, C)[0]
    known = [
        compare(value, theirs, 1e-5, what="value of a machine"),
        compare(t @ alpha, 0.0, 1e-6, C, "constraint of the machine"),
        compare(free.value, ball, 1e-4, 10 * ball, "value of a free matrix"),
        compare(machine_value(free.K, y, C)[0], ball, 1e-4, 10 * ball, "free matrix"),
        compare(np.trace(free.K), n, 1e-6, what="trace of the free matrix"),
        compare(np.trace(K), n, 1e-6, what="trace of the combination"),
        compare(again, mixed.value, 1e-4, 10 * mixture, "value of the combination"),
        compare(beyond(ball - again), 0.0, 1e-4, 10 * ball, "below a free matrix"),
        compare(beyond(again - mixture), 0.0, 1e-4, 10 * mixture, "not the least"),
    ]
    if nonnegative:
        known.append(compare(again, mixture, 1e-4, 10 * mixture, "value of weights"))
        known.append(compare(beyond(-mixed.mu), 0.0, 1e-6, 1.0, "sign"))
    return known


# Quadratic programs and machines
#
# Non-negative weights are solutions of quadratic programs, which scipy's `nnls` solves
# as least-squares problems with a factor of the matrix. For the support vector machines
# of the book the oracle is scikit-learn's `SVC`: its weights are feasible, so their
# objective bounds the optimum from above, and a dual value beyond it must be wrong.
#
# The check `nonnegative-units` measures the variables of a quadratic program in units
# that are up to $10^{30}$ apart. This does not change its solution, which the oracle
# computes in units in which all columns have length one. The linear term may also push
# some of the variables to zero with great force, so that the others are small beside
# it.
#
# The values of a machine depend on rounding where features are large or a slack is
# expensive: with features near $10^6$, a gap of zero may be an error of rounding. The
# check `linear-svm-exact` computes primal and dual value of the returned machine in
# rational arithmetic. The numbers of the machine are taken as they are, except that the
# dual variables of the class with the larger sum are shrunk until both sums are equal.
# The reported primal value may not be below the exact one, and the reported dual value
# not above it.
#
# Maximum margin regression is judged in two ways. Its dual value has to agree with the
# optimum in both directions, since the dual variables are optimal to $10^{-6}$; and the
# predictions that its weights yield have to equal the function itself, a sum of output
# directions whose criterion is evaluated explicitly.


@CERTIFICATES.add(
    "nonnegative",
    "minimum of a quadratic form over weights that are not negative",
    "scipy.optimize.nnls on a factor",
    "1e-8 of the value, or 1e3 p eps times the condition number",
    draw=lambda rng: {
        "F": draw_matrix(rng, 8, draw_size(rng, 1, 5), False),
        "target": rng.normal(size=8),
        "ridge": float(rng.choice([0.0, 1e-6, 1e-2])),
    },
    axes={"F": "rp", "target": "r"},
)
def _judge_nonnegative(F, target, ridge):
    if not F.any(axis=0).all() or ridge < 0:
        raise PassedOver("a kernel is zero")
    p = F.shape[1]
    A, u = F.T @ F + ridge * np.eye(p), F.T @ target
    theirs, _ = nnls(np.r_[F, np.sqrt(ridge) * np.eye(p)], np.r_[target, np.zeros(p)])
    x = nonnegative_quadratic(A, u)
    values = [u @ v - 0.5 * v @ A @ v for v in (x, theirs)]
    scale = target @ target or 1.0
    slopes = np.maximum(u - A @ x, 0.0).max()
    steep = slopes / np.sqrt(np.diag(A).max() * scale)
    return [
        compare(*values, 1e-8, scale, "value"),
        compare(steep, 0.0, 1e-5, 1.0, "slopes"),
        identical((x >= 0).all(), True, "sign"),
    ]


@CERTIFICATES.add(
    "nonnegative-units",
    "the same in units far apart: they do not change the solution",
    "scipy.optimize.nnls on the columns in units of their own",
    "1e-8 of the value; 1e-5 of the slopes",
    draw=lambda rng: {
        "F": draw_matrix(rng, 8, p := draw_size(rng, 2, 5), False),
        "target": rng.normal(size=8),
        "powers": rng.integers(-15, 16, p),
        "push": np.where(rng.random(p) < 0.3, 10.0 ** rng.integers(3, 16, p), 0.0),
    },
    axes={"F": "rp", "target": "r", "powers": "p", "push": "p"},
)
def _judge_units(F, target, powers, push):
    sizes = np.sqrt(np.square(F).sum(axis=0))
    if not sizes.min(initial=np.inf) > 0 or (push < 0).any():
        raise PassedOver("a kernel is zero")
    F, units = F / sizes, 10.0**powers
    A, u, kept = F.T @ F, F.T @ target - push, push == 0
    theirs = np.zeros(len(u))
    if kept.any():
        theirs[kept], _ = nnls(F[:, kept], target)
    if (A @ theirs - u)[~kept].min(initial=0.0) < 0:
        raise PassedOver("what is pushed away helps nevertheless")
    x = nonnegative_quadratic(A * units * units[:, None], u * units) * units
    values = [(u @ v - 0.5 * v @ A @ v) for v in (x, theirs)]
    scale = target @ target or 1.0
    steep = beyond(u - A @ x) / np.sqrt(scale)
    return [
        compare(*values, 1e-8, scale, "value"),
        compare(steep, 0.0, 1e-5, 1.0, "slopes"),
        identical((x >= 0).all(), True, "sign"),
    ]


@CERTIFICATES.add(
    "alignment-weights",
    "weights of largest alignment, and by single ones (thm-mklmach-alignment)",
    "scipy.optimize.nnls on the matrices as long vectors; the optimality conditions",
    "1e-7 of the alignment, and of the slopes",
    draw=lambda rng: (
        _draw_pairs(rng) | {"method": str(rng.choice(["joint", "independent"]))}
    ),
    axes=_PAIRS,
)
def _judge_alignment_weights(X, mix, y, units, name, lam, balanced, method):
    X = X - X.mean(axis=0)
    sizes = np.square(X).sum(axis=0)
    if not sizes.min(initial=1.0) > 1e-6 or len(np.unique(y)) < 2:
        raise PassedOver("a kernel is zero")
    grams = [np.outer(x, x) for x in X.T]
    T = np.where(np.equal.outer(y, y), 1.0, -1.0)
    theirs, _ = nnls(np.array(grams).reshape(len(grams), -1).T, T.ravel())

    def cosine(v):
        K = combine_grams(grams, v)
        return np.sum(K * T) / np.sqrt(np.sum(K * K) * T.size) if v.any() else 0.0

    ours = alignment_weights(grams, y, method)
    if method == "joint":
        # nnls may end before the largest alignment: then ours must be a solution itself
        K = combine_grams(grams, ours)
        rest = T - np.sum(K * T) / (np.sum(K * K) or 1.0) * K
        slopes = [np.sum(G * rest) / np.linalg.norm(G) for G in grams]
        short = beyond(cosine(theirs) - cosine(ours))
        found = [
            compare(short, 0.0, 1e-7, 1.0, "alignment"),
            compare(beyond(slopes), 0.0, 1e-7, len(T), "slope"),
        ]
    else:
        cosines = [cosine(e) for e in np.eye(len(grams))]
        if abs(max(cosines)) < 1e-12:
            raise PassedOver("the largest alignment is zero, but for rounding")
        single = np.array([beyond(c) for c in cosines])
        single /= np.linalg.norm(single) or 1.0
        found = [compare(ours, single, 1e-7, 1.0, "single alignments")]
    if len(np.unique(y)) == 2 and theirs.any():
        K = combine_grams(grams, theirs)
        found.append(compare(target_alignment(K, y), cosine(theirs), 1e-9, 1.0, "kta"))
    return found


@CERTIFICATES.add(
    "standardize",
    "centred and scaled kernels",
    "explicit vectors, of training examples and of queries",
    "256 n d eps over the part that varies",
    draw=lambda rng: {
        "X": draw_matrix(rng, draw_size(rng, 2, 8), d := draw_size(rng, 1, 3)),
        "Q": draw_matrix(rng, 3, d),
    },
    axes={"X": "nd", "Q": "qd"},
    refusals=("same point",),
)
def _judge_standardize(X, Q):
    moments = gram_moments(X @ X.T)
    P = X - X.mean(axis=0)
    size = np.square(P).sum(axis=1).mean()
    loss = 256 * X.size * EPS * np.square(X).sum(axis=1).max() / size
    theirs, queries = P @ P.T / size, (Q - X.mean(axis=0)) @ P.T / size
    far = max(1.0, np.square(Q).max() / np.square(X).max())
    return [
        compare(standardize_gram(X @ X.T), theirs, loss, 1.0, "training"),
        compare(
            standardize_gram(Q @ X.T, moments),
            queries,
            loss * far,
            max(1.0, np.abs(queries).max()),
            "queries",
        ),
    ]


def _draw_machine(rng):
    n = draw_size(rng, 3, 9)
    X = draw_matrix(rng, n, draw_size(rng, 1, 3), False)
    return {"X": X, "y": draw_classes(rng, n), "C": float(10.0 ** rng.integers(-2, 3))}


_MACHINE = {"X": "nd", "y": "n"}


def _hinge_objective(X, t, C, w, b):
    "The primal value of a support vector machine."
    return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - t * (X @ w + b)).sum()


@CERTIFICATES.add(
    "linear-svm",
    "linear SVM with its gap (eq-forestk-p1, p2; eq-mkl-2)",
    "scikit-learn's SVC, whose objective bounds the optimum",
    "1e-9 of the objective, and the gap that was asked for",
    draw=_draw_machine,
    axes=_MACHINE,
)
def _judge_linear_svm(X, y, C):
    if len(np.unique(y)) < 2 or not C > 0:
        raise PassedOver("one class")
    t = np.where(y == y.max(), 1.0, -1.0)
    found, said = _solved(
        lambda: linear_svm(sp.csr_array(X), y, C, tol=1e-4, random_state=0)
    )
    peer = SVC(C=C, kernel="linear", tol=1e-6).fit(X, y)
    theirs = _hinge_objective(X, t, C, peer.coef_[0], peer.intercept_[0])
    ours = _hinge_objective(X, t, C, found.coef, found.intercept)
    above = beyond(found.dual - min(ours, theirs))
    short = not found.primal - found.dual <= 1e-4 * found.primal
    checks = [
        identical(said, int(short), "warnings"),
        compare(found.primal, ours, 1e-9, what="primal value"),
        compare(above, 0.0, 1e-9, ours, "dual value"),
    ]
    if short and all(c.error <= c.tolerance for c in checks):
        raise PassedOver("it stops short, and says so")
    gap = beyond((ours - theirs) / ours - 1e-4)
    return [*checks, compare(gap, 0.0, 1e-6, 1.0, "gap")]


def _draw_exact(rng):
    "A machine whose features are large, or whose slacks weigh much."
    problem = _draw_machine(rng)
    scale, C = 10.0 ** rng.integers(0, 10), float(10.0 ** rng.integers(-2, 11))
    return problem | {"X": problem["X"] * scale, "C": C}


@CERTIFICATES.add(
    "linear-svm-exact",
    "the reported gap is no less than the exact one, at any scale (eq-forestk-p1, p2)",
    "both values in rational arithmetic",
    "none: the reported values allow for rounding",
    draw=_draw_exact,
    axes=_MACHINE,
)
def _judge_exact(X, y, C):
    if len(np.unique(y)) < 2 or not C > 0:
        raise PassedOver("one class")
    found, _ = _solved(
        lambda: linear_svm(sp.csr_array(X), y, C, max_epochs=150, random_state=0)
    )
    rows = [[Fraction(x) for x in row] for row in X.tolist()]
    w, b = [Fraction(x) for x in found.coef.tolist()], Fraction(found.intercept)
    t = [1 if label == y.max() else -1 for label in y]
    slacks = [
        max(Fraction(0), 1 - s * (sum(x * v for x, v in zip(row, w)) + b))
        for s, row in zip(t, rows)
    ]
    primal = sum(v * v for v in w) / 2 + Fraction(C) * sum(slacks)
    # the dual variables that rounding has left unbalanced, exactly balanced
    alpha = [Fraction(x) for x in found.alpha.tolist()]
    sums = {s: sum(a for a, label in zip(alpha, t) if label == s) for s in (1, -1)}
    least = min(sums.values())
    alpha = [a * least / sums[s] if a else a for a, s in zip(alpha, t)]
    v = [sum(a * s * x for a, s, x in zip(alpha, t, x)) for x in zip(*rows)]
    dual = sum(alpha) - sum(x * x for x in v) / 2
    size = float(primal)
    box = all(0 <= a <= Fraction(C) for a in alpha)
    return [
        identical(box, True, "the dual variables are feasible"),
        compare(
            beyond(float(primal - Fraction(found.primal))), 0.0, 0.0, size, "primal"
        ),
        compare(beyond(float(Fraction(found.dual) - dual)), 0.0, 0.0, size, "dual"),
    ]


@CERTIFICATES.add(
    "intercept",
    "the intercept of least hinge loss (lem-forestk-intercept)",
    "the loss at all of its corners",
    "1e-12 of the scores",
    draw=lambda rng: {
        "scores": draw_matrix(rng, n := draw_size(rng, 2, 9), 1)[:, 0],
        "y": draw_classes(rng, n),
    },
    axes={"scores": "n", "y": "n"},
)
def _judge_intercept(scores, y):
    if len(np.unique(y)) < 2:
        raise PassedOver("one class")
    t = np.where(y > 0, 1.0, -1.0)

    def loss(b):
        return np.maximum(0.0, 1.0 - t * (scores + b)).sum()

    least = min(loss(b) for b in t - scores)
    scale = len(scores) * (1.0 + np.abs(scores).max())
    return compare(loss(best_intercept(scores, t)), least, 1e-12, scale)


@CERTIFICATES.add(
    "separable",
    "a hyperplane, or none (thm-forest-1, 2)",
    "a common point of the two convex hulls: one of the two exists",
    "1e-6 of the margins",
    draw=_draw_machine,
    axes=_MACHINE,
)
def _judge_separable(X, y, C):
    if len(np.unique(y)) < 2:
        raise PassedOver("one class")
    X = X / (np.abs(X).max() or 1.0)
    t = np.where(y == y.max(), 1.0, -1.0)
    found = separating_hyperplane(X, y)
    # the point of the hulls' difference that is least in the largest coordinate
    n, d = X.shape
    difference, ones = (t[:, None] * X).T, np.ones((d, 1))
    hulls = linprog(
        np.r_[np.zeros(n), 1.0],
        np.r_[np.c_[difference, -ones], np.c_[-difference, -ones]],
        np.zeros(2 * d),
        np.c_[[(t > 0) * 1.0, (t < 0) * 1.0], np.zeros((2, 1))],
        [1.0, 1.0],
    )
    if 0 < hulls.fun < 1e-6:
        raise Tie("the hulls all but touch")
    answer = identical(found is None, hulls.fun < 1e-9, "separable")
    if found is None:
        return answer
    w, b = found
    short = beyond(1.0 - t * (X @ w + b))
    return [answer, compare(short, 0.0, 1e-6, 1.0, "margins")]


@CERTIFICATES.add(
    "margin-regression",
    "maximum margin regression (eq-beyond-margin, dual)",
    "cvxpy on the dual problem",
    "1e-6 of the value",
    draw=_draw_machine,
    axes=_MACHINE,
)
def _judge_margin(X, y, C):
    from okbook._extras import cvxpy as cp

    if not C > 0:
        raise PassedOver("no penalty")
    t = np.where(y > 0, 1.0, -1.0)
    F = t[:, None] * np.c_[X / (np.abs(X).max() or 1.0), np.full(len(X), 0.5)]
    Q = F @ F.T
    alpha, _ = margin_dual(Q, C, tol=1e-6)
    primal, dual = margin_objectives(Q, alpha, C)
    a = cp.Variable(len(F))
    program = cp.Problem(
        cp.Maximize(cp.sum(a) - 0.5 * cp.sum_squares(F.T @ a)), [a >= 0, a <= C]
    )
    theirs = program.solve(solver="CLARABEL")
    return [
        compare(beyond(dual - theirs), 0.0, 1e-6, theirs, "bound"),
        compare(dual, theirs, 1e-5, theirs, "dual value"),
        compare(primal, theirs, 1e-5, theirs, "primal value"),
        identical(((alpha >= 0) & (alpha <= C)).all(), True, "box"),
    ]


@CERTIFICATES.add(
    "margin-weights",
    "predictions of maximum margin regression (eq-beyond-margin-weights)",
    "the function itself, a sum of unit outputs, and its criterion",
    "1e-9 of the outputs",
    draw=lambda rng: {
        "X": rng.normal(size=(n := draw_size(rng, 3, 9), draw_size(rng, 1, 3))),
        "Phi": draw_matrix(rng, n, draw_size(rng, 1, 3), False),
        "Q": rng.normal(size=(3, 1)) * np.ones(3),
        "C": float(10.0 ** rng.integers(-2, 3)),
        "center": bool(rng.random() < 0.5),
    },
    axes={"X": "nd", "Phi": "np"},
)
def _judge_margin_weights(X, Phi, Q, C, center):
    outputs = Phi - Phi.mean(axis=0) if center else Phi
    lengths = np.sqrt(np.square(outputs).sum(axis=1))
    size = max(lengths.max(), np.abs(Phi).max())  # centring may leave only rounding
    if not lengths.min() > 1e-3 * size or not C > 0 or len(X) < 2:
        raise PassedOver("an output has no direction")
    how = {"input_kernel_params": {"sigma": 1.0}, "output_kernel": "linear"}
    model = MaximumMarginRegression(C=C, center=center, max_iter=10**6, **how)
    model.fit(X, Phi)
    Q = Q[:, : X.shape[1]]

    def kernel(A):
        return np.exp(-0.5 * np.square(A[:, None] - X[None]).sum(axis=2))

    directions = outputs / lengths[:, None]
    h = (kernel(X) * model.alpha_) @ directions
    length = np.sum(
        kernel(X)
        * (
            (model.alpha_[:, None] * directions)
            @ (model.alpha_[:, None] * directions).T
        )
    )
    slacks = np.maximum(0.0, 1.0 - (h * directions).sum(axis=1))
    theirs = (kernel(Q) * model.alpha_) @ directions
    W = model.weights(Q)
    size = max(1e-300, (np.abs(W) @ np.abs(Phi)).max())
    return [
        compare(W @ Phi, theirs, 1e-9, size, "predictions"),
        compare(model.primal_, 0.5 * length + C * slacks.sum(), 1e-9, what="criterion"),
        compare(model.dual_, model.alpha_.sum() - 0.5 * length, 1e-9, what="bound"),
        compare(beyond(model.primal_ - model.dual_ - 1e-3 * model.primal_), 0.0, 1e-9),
    ]


@CERTIFICATES.add(
    "pairwise-svm",
    "support vector machine on pairs of nodes (eq-nets-primal, dual)",
    "cvxpy with the Gram matrix of all pairs",
    "1e-5 of the value, and the gap that was asked for",
    draw=lambda rng: {
        "X": draw_matrix(rng, n := draw_size(rng, 3, 5), 2, False),
        "edges": (rng.random((n, n)) < 0.4) * 1.0,
        "C": float(10.0 ** rng.integers(-2, 2)),
    },
    axes={"X": "nd", "edges": "nn"},
)
def _judge_pairwise(X, edges, C):
    from okbook._extras import cvxpy as cp

    l = len(X)
    if l < 2 or not C > 0:
        raise PassedOver("one node")
    X = X / (np.abs(X).max() or 1.0)
    A = np.triu(edges, 1) + np.triu(edges, 1).T > 0
    (S, primal, dual, _), said = _solved(
        lambda: pairwise_svm(X @ X.T, A, C, tol=1e-4, max_iter=200_000)
    )
    # explicit symmetric tensors, halved, and a constant
    pairs = [(a, b) for a in range(l) for b in range(a + 1, l)]
    tensors = [np.outer(X[a], X[b]) + np.outer(X[b], X[a]) for a, b in pairs]
    F = np.array([np.r_[np.sqrt(0.5) * T.ravel(), 1.0] for T in tensors])
    t = np.array([1.0 if A[a, b] else -1.0 for a, b in pairs])
    v = cp.Variable(F.shape[1])
    hinge = cp.sum(cp.pos(1.0 - cp.multiply(t, F @ v)))
    theirs = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v) + C * hinge))
    theirs = theirs.solve(solver="CLARABEL")
    w = F.T @ np.array([S[a, b] for a, b in pairs])
    value = 0.5 * w @ w + C * np.maximum(0.0, 1.0 - t * (F @ w)).sum()
    return [
        compare(primal, value, 1e-8, what="primal value"),
        identical(said, 0, "warnings"),
        compare(beyond(dual - theirs), 0.0, 1e-6, theirs, "dual value"),
        compare(beyond(value / theirs - 1.0 - 1e-4), 0.0, 1e-5, 1.0, "gap"),
    ]


def _violation(K, t, C, coef):
    "By how much the coefficients of a machine violate the conditions of optimality."
    alpha, values = t * coef, t - K @ coef
    rises = np.where(t > 0, alpha < C, alpha > 0)
    falls = np.where(t > 0, alpha > 0, alpha < C)
    return values[rises].max() - values[falls].min()


@CERTIFICATES.add(
    "local-svm",
    "a machine for each node (eq-nets-local)",
    "scikit-learn's SVC on the other nodes",
    "1e-3 of the objective, ten times what was asked for",
    draw=lambda rng: {
        "X": draw_matrix(rng, n := draw_size(rng, 3, 6), 2, False),
        "edges": (rng.random((n, n)) < 0.5) * 1.0,
        "C": float(10.0 ** rng.integers(-2, 2)),
    },
    axes={"X": "nd", "edges": "nn"},
)
def _judge_local(X, edges, C):
    if len(X) < 3 or not C > 0:
        raise PassedOver("two nodes")
    X = X / (np.abs(X).max() or 1.0)
    A, n = np.triu(edges, 1) + np.triu(edges, 1).T > 0, len(X)
    (coef, intercept), said = _solved(lambda: local_svms(X @ X.T, A, C, tol=1e-6))
    checks, worst = [], 0.0
    for a in range(n):
        kept = np.flatnonzero(np.arange(n) != a)
        t = np.where(A[a, kept], 1.0, -1.0)
        ours = _hinge_objective(X[kept], t, C, coef[a] @ X, intercept[a])
        theirs = 0.0  # one class: a constant
        if len(np.unique(t)) > 1:
            peer = SVC(C=C, kernel="linear", tol=1e-6).fit(X[kept], t)
            theirs = _hinge_objective(X[kept], t, C, peer.coef_[0], peer.intercept_[0])
            worst = max(worst, _violation(X[kept] @ X[kept].T, t, C, coef[a, kept]))
        checks.append(compare(beyond(ours - theirs), 0.0, 1e-4, 1.0 + theirs, f"{a}"))
    if abs(worst - 1e-6) > 1e-9:  # where examples nearly tie, the steps are tiny
        checks.append(identical(said, int(worst > 1e-6), "warnings"))
    return checks
