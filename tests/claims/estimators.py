"""Changes that are irrelevant to the problem must not change the answer.

The claims of what all estimators have in common.

Each estimator serves as its own oracle. The order of the examples, of the columns and
of the queries, the number of threads, pickling, and the precision in which the same
numbers are stored do not belong to the problem, so the answers before and after such a
change have to be the same. Such *metamorphic relations* need no second program.

If the same operations are done in the same order, the answers have to agree to the last
bit. If a sum is taken in another order they agree up to rounding, and a tree may then
choose the other one of two splits that separate the training examples in the same way;
its answers are therefore compared at the training examples.
"""

import pickle

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from claims.claim import (
    Claims,
    PassedOver,
    compare,
    draw_classes,
    draw_matrix,
    draw_size,
    draw_weights,
    identical,
)
from okbook.core import OutputKernelKNN
from okbook.ensembles import (
    AdaBoost,
    Bagging,
    DecisionStump,
    OutputKernelBoosting,
    RandomizedTreeClassifier,
)
from okbook.forest_kernel import ForestKernel, ForestKernelSVC
from okbook.mkl import (
    AlignmentMKL,
    BestKernel,
    KernelCombiner,
    TwoStageMKL,
    UniformMKL,
)
from okbook.rkhs import (
    BipartiteRidge,
    BipartiteRidgeCV,
    CovarianceRidge,
    CovarianceRidgeCV,
    EMKernelCompletion,
    KernelCCALinks,
    KernelDependencyEstimation,
    LinkPredictor,
    LinkPredictorCV,
    LocalModelSVM,
    MaximumMarginRegression,
    MetricLinks,
    MultiTaskRidge,
    MultiTaskRidgeCV,
    OutputKernelRidge,
    OutputKernelRidgeCV,
    PairwiseKernelSVM,
    SemiSupervisedOutputKernelRidge,
    SemiSupervisedOutputKernelRidgeCV,
    StructuredSVM,
)
from okbook.trees import (
    OutputKernelBagging,
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
)

# The checks of estimators.
ESTIMATORS = Claims()


# The estimators
#
# Every estimator of the package belongs to one of four groups, according to its
# outputs: vectors, classes, classes with several kernels, or the links of a network.
# All are small, so that an attempt takes milliseconds. A test compares this list with
# the public estimators of the package, so that none is forgotten.


_VECTORS = {
    "OutputKernelRidge": OutputKernelRidge(lam=0.1, output_kernel="rbf"),
    "OutputKernelRidgeCV": OutputKernelRidgeCV(output_kernel="rbf"),
    "KernelDependencyEstimation": KernelDependencyEstimation(lam=0.1, n_components=2),
    "SemiSupervisedOutputKernelRidge": SemiSupervisedOutputKernelRidge(lam=0.1),
    "SemiSupervisedOutputKernelRidgeCV": SemiSupervisedOutputKernelRidgeCV(
        lam_grid=[0.1, 1.0], lam2_grid=[0.0, 0.01], cv=3
    ),
    "MultiTaskRidge": MultiTaskRidge(lam=0.1),
    "BipartiteRidge": BipartiteRidge(lam=0.1),
    "BipartiteRidgeCV": BipartiteRidgeCV(lam_grid=[0.1, 1.0], leave_out="pairs"),
    "MultiTaskRidgeCV": MultiTaskRidgeCV(),
    "CovarianceRidge": CovarianceRidge(lam=0.1),
    "CovarianceRidgeCV": CovarianceRidgeCV(lam_grid=[0.1, 1.0], cv=3),
    "OutputKernelKNN": OutputKernelKNN(2, output_kernel="rbf"),
    "OutputKernelTree": OutputKernelTree(random_state=0),
    "OutputKernelBagging": OutputKernelBagging(n_estimators=3, random_state=0),
    "OutputKernelRandomForest": OutputKernelRandomForest(
        "rbf", n_estimators=3, random_state=0
    ),
    "OutputKernelExtraTrees": OutputKernelExtraTrees(
        "rbf", n_estimators=3, random_state=0
    ),
    "OutputKernelBoosting": OutputKernelBoosting(n_estimators=3, random_state=0),
}
_CLASSES = {
    "MaximumMarginRegression": MaximumMarginRegression(),
    "StructuredSVM": StructuredSVM(),
    "OutputKernelTree dirac": OutputKernelTree("dirac", random_state=0),
    "RandomizedTreeClassifier": RandomizedTreeClassifier(random_state=0),
    "DecisionStump": DecisionStump(),
    "AdaBoost": AdaBoost(n_estimators=4, random_state=0),
    "Bagging": Bagging(n_estimators=4, random_state=0),
    "ForestKernel": ForestKernel(ExtraTreesClassifier(4, random_state=0)),
    "ForestKernelSVC": ForestKernelSVC(
        ForestKernel(ExtraTreesClassifier(4, random_state=0)), C=1.0, random_state=0
    ),
}
_KERNELS = ["linear", ("rbf", [0])]
_SEVERAL = {
    "KernelCombiner": KernelCombiner(_KERNELS, random_state=0),
    "TwoStageMKL": TwoStageMKL(_KERNELS, lam=0.01, C=1.0, random_state=0),
    "UniformMKL": UniformMKL(_KERNELS, C=1.0),
    "UniformMKL default": UniformMKL(C=1.0),
    "BestKernel": BestKernel(_KERNELS, C=1.0),
    "AlignmentMKL": AlignmentMKL(_KERNELS, C=1.0),
}
_LINKS = {
    "LinkPredictor": LinkPredictor(threshold=0.1),
    "LinkPredictorCV": LinkPredictorCV(  # one setting: a tie may go either way
        lam_grid=[0.1],
        lam2_grid=[0.01],
        beta_grid=[1.0],
        width_grid=False,
        threshold=0.1,
        cv=2,
        warm_start=True,
        random_state=0,
    ),
    "EMKernelCompletion": EMKernelCompletion(threshold=0.1),
    "KernelCCALinks": KernelCCALinks(n_components=2, threshold=-0.5),
    "MetricLinks": MetricLinks(n_components=2, threshold=-0.5),
    "PairwiseKernelSVM": PairwiseKernelSVM(),
    "LocalModelSVM": LocalModelSVM(),
}
_ALL = _VECTORS | _CLASSES | _SEVERAL | _LINKS
_FORESTS = (
    "OutputKernelBagging",
    "OutputKernelRandomForest",
    "OutputKernelExtraTrees",
    "Bagging",
    "ForestKernel",
)
_OF_TREES = ("Tree", "Forest", "Bagging", "Stump", "AdaBoost")
# Without random choices, and without folds, which follow the order of the examples.
_WHOLE = (
    "OutputKernelRidge",
    "OutputKernelRidgeCV",
    "SemiSupervisedOutputKernelRidge",
    "MultiTaskRidge",
    "CovarianceRidge",
    "LinkPredictor",
)
_GREEDY = (
    "OutputKernelTree",
    "OutputKernelBoosting",
    "RandomizedTreeClassifier",
    "AdaBoost",
)
# Data on which some of them have nothing to learn.
_REFUSALS = (
    "same point",
    "same inputs",
    "is zero",
    "All labelled nodes",
    "n_features",
    "one class",
    "has one member",
    "leaves nothing to boost",
)


def _draw_inputs(rng, n, smooth):
    "Inputs of n examples, and of three queries."
    p = draw_size(rng, 1, 3)
    X = rng.normal(size=(n + 3, p)) if smooth else draw_matrix(rng, n + 3, p, False)
    X = X.astype(np.float32).astype(float)
    return {"X": X[:n], "Q": X[n:], "order": rng.random(n)}


def _draw_outputs(rng, name, n, smooth):
    "Outputs of n examples, of the kind that an estimator learns."
    if name in _LINKS:
        return {"edges": np.triu(rng.random((n, n)) < 0.4, 1) * 1.0}
    if name in _VECTORS:
        Phi = rng.normal(size=(n, 2)) if smooth else draw_matrix(rng, n, 2, False)
        return {"Phi": Phi}
    return {"y": draw_classes(rng, n, 2, 4 if name == "ForestKernelSVC" else 3)}


def _draw_data(names, smooth=False):
    "A function that draws an estimator, and data for it."

    def draw(rng):
        name = str(rng.choice(names))
        n = draw_size(rng, 8, 14)
        problem = {"name": name} | _draw_inputs(rng, n, smooth)
        return problem | _draw_outputs(rng, name, n, smooth)

    return draw


# So many estimators of one attempt are pickled: each has its turn in a short run, too.
_TOGETHER = 6


def _draw_several(rng):
    "Several estimators, the same inputs for all, and outputs of every kind."
    n, names = draw_size(rng, 8, 14), [*_ALL]
    problem = {"names": rng.choice(names, _TOGETHER, replace=False)}
    problem |= _draw_inputs(rng, n, smooth=True)
    for name in ("LinkPredictor", "OutputKernelRidge", "ForestKernelSVC"):
        problem |= _draw_outputs(rng, name, n, smooth=True)
    return problem


def _draw_threads(rng):
    "A forest, and one time in three trees and examples for more than one thread."
    if rng.random() > 1 / 3:
        return _draw_data(_FORESTS)(rng) | {"n_trees": 4}
    name, n = str(rng.choice(_FORESTS)), int(rng.integers(130, 200))
    problem = {"name": name, "n_trees": int(rng.integers(17, 40))}
    return problem | _draw_inputs(rng, n, True) | _draw_outputs(rng, name, n, True)


_DATA = {
    "X": "np",
    "Q": "qp",
    "Phi": "nd",
    "y": "n",
    "edges": "nn",
    "order": "n",
    "names": "k",
}


def _fit(name, X, outputs, weight=None, **params):
    "The fitted estimator."
    if len(X) < 8 or (name not in _VECTORS and len(np.unique(outputs)) < 2):
        raise PassedOver("too few examples")
    model = clone(_ALL[name]).set_params(**params)
    return model.fit(X, outputs) if weight is None else model.fit(X, outputs, weight)


def _outputs(Phi=None, y=None, edges=None):
    "The outputs, whichever there are."
    if edges is not None:
        A = np.triu(edges, 1)
        return A + A.T
    return y if Phi is None else Phi


def _answers(model, X, train):
    "All answers of an estimator to some inputs."
    if hasattr(model, "score_pairs"):
        return [np.asarray(model.score_pairs(X, train)), model.predict(X, train)]
    methods = ("weights", "decision_function", "predict_proba", "transform", "predict")
    found = []
    for method in methods:
        if hasattr(model, method):
            said = getattr(model, method)(X)
            found.append(said.toarray() if sp.issparse(said) else np.asarray(said))
    return found


def _bits(name):
    "No tolerance for what is made of trees, and rounding for products by BLAS."
    return 0.0 if any(part in name for part in _OF_TREES) else 1e-12


def _same(ours, theirs, tolerance=0.0):
    "Compare all answers: the numbers up to a tolerance, classes exactly."
    checks = []
    for a, b in zip(ours, theirs, strict=True):
        if tolerance and a.dtype.kind == "f":
            size = max(1.0, np.abs(b).max(initial=0.0))
            checks.append(compare(a, b, tolerance, size))
        else:
            checks.append(identical(a, b))
    return checks


# Equality to the last bit
#
# The first checks change nothing that affects the order of the operations. An attempt
# to pickle takes six different estimators, because otherwise a short run would reach
# only a few of them. For the check of threads one problem in three has more than 16
# trees and more than 128 examples: ensembles hand their trees to threads in batches,
# and a Gram matrix is filled in blocks of rows, so that a small problem is a single
# task and never reaches a second thread.


@ESTIMATORS.add(
    "pickle",
    "a pickled estimator gives the same answers",
    "itself before; several estimators an attempt",
    "trees bit for bit, else 1e-12: BLAS adds by where an array lies in memory",
    draw=_draw_several,
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_pickle(names, X, Q, order, edges, Phi, y):
    checks = []
    for name in names:
        given = {"edges": edges} if name in _LINKS else {"y": y}
        outputs = _outputs(**({"Phi": Phi} if name in _VECTORS else given))
        model = _fit(name, X, outputs)
        again = pickle.loads(pickle.dumps(model))
        checks += _same(_answers(again, Q, X), _answers(model, Q, X), _bits(name))
    return checks


@ESTIMATORS.add(
    "refit",
    "an estimator fitted again gives the same answers",
    "a clone that has seen other data before",
    "trees bit for bit, else 1e-12: BLAS adds by where an array lies in memory",
    draw=_draw_data([*_ALL]),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_refit(name, X, Q, order, **outputs):
    y = _outputs(**outputs)
    model, other = _fit(name, X, y), _fit(name, X[::-1], y)
    again = _answers(other.fit(X, y), Q, X)
    return _same(again, _answers(model, Q, X), _bits(name))


@ESTIMATORS.add(
    "threads",
    "two threads give the answers of one",
    "itself with n_jobs=1",
    "none: bit for bit",
    draw=_draw_threads,
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_threads(name, X, Q, order, n_trees, **outputs):
    y, kernel = _outputs(**outputs), name == "ForestKernel"
    params = {"forest__n_estimators" if kernel else "n_estimators": n_trees}
    one, two = (_fit(name, X, y, n_jobs=n_jobs, **params) for n_jobs in (1, 2))
    checks = _same(_answers(two, Q, X), _answers(one, Q, X))
    if kernel:
        checks += _same([two.gram(X), two.gram(Q, X)], [one.gram(X), one.gram(Q, X)])
    return checks


@ESTIMATORS.add(
    "threads-mkl",
    "two threads keep the promise of one: the same objective, up to the gap",
    "itself with n_jobs=1",
    "the larger of the two gaps, 1e-5 by the tolerance of the solver",
    draw=_draw_data(["KernelCombiner"]),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_threads_mkl(name, X, Q, order, **outputs):
    y = _outputs(**outputs)
    one, two = (_fit(name, X, y, n_jobs=n_jobs, tol=1e-5) for n_jobs in (1, 2))
    if max(one.gap_, two.gap_) > 1e-5:
        raise PassedOver("the solver warns that it has stopped short")
    return compare(two.objective_, one.objective_, 2e-5)


@ESTIMATORS.add(
    "frames",
    "columns of a data frame in another order: the same answers, or an error",
    "itself with the order of fit",
    "none: bit for bit",
    draw=_draw_data([*_ALL]),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_frames(name, X, Q, order, **outputs):
    from okbook._extras import pandas as pd

    if X.shape[1] < 2:
        raise PassedOver("one column")
    names = [f"x{m}" for m in range(X.shape[1])]
    frame, queries = (pd.DataFrame(A, columns=names) for A in (X, Q))
    model = _fit(name, frame, _outputs(**outputs))
    theirs = _answers(model, queries, frame)
    try:
        ours = _answers(model, queries[names[::-1]], frame[names[::-1]])
    except ValueError as error:
        said = "feature names" in str(error)
        return identical(said, True, "an error that names the feature names")
    return _same(ours, theirs)


# Equality up to rounding
#
# The remaining checks change the order of sums, or the shapes of the matrices that are
# multiplied.


@ESTIMATORS.add(
    "queries",
    "queries in another order, and one at a time",
    "itself with all queries at once",
    "1e-9: products of matrices of other shapes",
    draw=_draw_data([*_ALL], smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_queries(name, X, Q, order, **outputs):
    model = _fit(name, X, _outputs(**outputs))
    whole = _answers(model, Q, X)
    turned = [a[::-1] for a in _answers(model, Q[::-1], X)]
    single = zip(*(_answers(model, Q[i : i + 1], X) for i in range(len(Q))))
    one = [np.concatenate(parts) for parts in single]
    return [*_same(turned, whole, 1e-9), *_same(one, whole, 1e-9)]


@ESTIMATORS.add(
    "layout",
    "the same numbers in another layout: read-only, Fortran order, strides, a list",
    "itself with an array of contiguous rows",
    "1e-9: products of matrices in another order",
    draw=_draw_data([*_ALL], smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_layout(name, X, Q, order, **outputs):
    y = _outputs(**outputs)
    model, kinds = (
        _fit(name, X, y),
        [np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]],
    )
    kinds[0].flags.writeable = False
    whole, checks = _answers(model, Q, X), []
    for A in kinds:
        checks += _same(_answers(_fit(name, A, y), Q, X), whole, 1e-9)
    return [*checks, *_same(_answers(model, np.asfortranarray(Q), X), whole, 1e-9)]


@ESTIMATORS.add(
    "precision",
    "the same inputs in single precision",
    "itself with inputs in double precision",
    "5e-5: kernels may be computed in single precision; trees bit for bit",
    draw=_draw_data([*_ALL], smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_precision(name, X, Q, order, **outputs):
    y = _outputs(**outputs)
    X, Q = X.astype(np.float32).astype(float), Q.astype(np.float32).astype(float)
    single, queries = X.astype(np.float32), Q.astype(np.float32)
    tree = any(part in name for part in _OF_TREES)
    ours = _answers(_fit(name, single, y), queries, single)[:1]
    theirs = _answers(_fit(name, X, y), Q, X)[:1]
    return _same(ours, theirs, 0.0 if tree else 5e-5)


@ESTIMATORS.add(
    "columns",
    "columns in another order",
    "itself with the order reversed; trees at the training examples",
    "1e-7: sums in another order, at a ridge of 0.1",
    draw=_draw_data([*_WHOLE, *_GREEDY], smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_columns(name, X, Q, order, **outputs):
    y, weight = _outputs(**outputs), None
    if name in _GREEDY:
        Q, weight = X, 1.0 + order
    ours = _fit(name, X[:, ::-1], y, weight)
    theirs = _answers(_fit(name, X, y, weight), Q, X)[:1]
    return _same(_answers(ours, Q[:, ::-1], X[:, ::-1])[:1], theirs, 1e-7)


@ESTIMATORS.add(
    "rows",
    "training examples in another order",
    "itself with the order of the data; trees at the training examples",
    "1e-7: sums in another order, at a ridge of 0.1",
    draw=_draw_data([*_WHOLE, *_GREEDY], smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_rows(name, X, Q, order, **outputs):
    y, weight, turn = _outputs(**outputs), None, np.argsort(order, kind="stable")
    turned = y[np.ix_(turn, turn)] if name in _LINKS else y[turn]
    if name in _GREEDY:
        Q, weight = X, 1.0 + order
    other = _fit(name, X[turn], turned, None if weight is None else weight[turn])
    ours = _answers(other, Q, X[turn])[0]
    theirs = _answers(_fit(name, X, y, weight), Q, X)[0]
    if ours.ndim == 2 and ours.shape[1] == len(X):  # a column for each example
        ours = ours[:, np.argsort(turn)]
    return _same([ours], [theirs], 1e-7)


@ESTIMATORS.add(
    "repetitions",
    "a whole weight is a number of repetitions",
    "itself with repeated examples; at the training examples",
    "1e-9",
    draw=lambda rng: (
        _draw_data(_GREEDY, smooth=True)(rng) | {"times": rng.integers(0, 3, 14)}
    ),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_repetitions(name, X, Q, order, times, **outputs):
    y, times = _outputs(**outputs), times[: len(X)]
    X = rankdata(X, axis=0)  # thresholds do not depend on rounding
    many = np.repeat(np.arange(len(X)), times)
    if name == "OutputKernelBoosting" or len(np.unique(y[many])) < len(np.unique(y)):
        raise PassedOver("a class is missing, or weights are shares")
    kept = times > 0
    ours, theirs = _fit(name, X, y, times * 1.0), _fit(name, X[many], y[many])
    method = "predict_proba" if hasattr(ours, "predict_proba") else "predict"
    if name not in _VECTORS and len(many) < 2 * len(np.unique(y)):
        raise PassedOver("too few examples")
    return _same(
        [np.asarray(getattr(ours, method)(X[kept]))],
        [np.asarray(getattr(theirs, method)(X[kept]))],
        1e-9,
    )


@ESTIMATORS.add(
    "monotone",
    "a tree sees the order of a feature only",
    "itself with ranks in the place of values; at the training examples",
    "1e-9",
    draw=_draw_data(_GREEDY, smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_monotone(name, X, Q, order, **outputs):
    y, ranks, weight = (
        _outputs(**outputs),
        rankdata(X, axis=0, method="dense"),
        1.0 + order,
    )
    gaps = [np.diff(np.unique(column)).min(initial=1.0) for column in X.T]
    if min(gaps) < 1e-5:
        raise PassedOver("two values all but agree")
    ours = _answers(_fit(name, ranks, y, weight), ranks, ranks)[:1]
    return _same(ours, _answers(_fit(name, X, y, weight), X, X)[:1], 1e-9)


_WEIGHING = tuple(name for name in _VECTORS if hasattr(_VECTORS[name], "output_kernel"))


@ESTIMATORS.add(
    "gram-or-kernel",
    "outputs by a kernel, or by their Gram matrix: the same weights",
    "itself with output_kernel='precomputed'",
    "1e-7; trees at the training examples",
    draw=_draw_data(_WEIGHING, smooth=True),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_gram(name, X, Q, order, Phi):
    K = np.exp(-np.square(Phi[:, None] - Phi[None]).sum(axis=2) / Phi.shape[1])
    one = _fit(name, X, Phi, output_kernel="rbf")
    two = _fit(name, X, K, output_kernel="precomputed")
    ours, theirs = (model.weights(X) for model in (two, one))
    dense = [W.toarray() if sp.issparse(W) else W for W in (ours, theirs)]
    return _same(dense[:1], dense[1:], 1e-7)


@ESTIMATORS.add(
    "sample-weights",
    "weights times a constant are the same weights",
    "itself; at the training examples",
    "1e-9",
    draw=lambda rng: (
        _draw_data(_GREEDY, smooth=True)(rng)
        | {"weight": draw_weights(rng, 14), "power": int(rng.integers(-3, 4))}
    ),
    axes=_DATA,
    refusals=_REFUSALS,
)
def _judge_sample_weights(name, X, Q, order, weight, power, **outputs):
    y, weight = _outputs(**outputs), weight[: len(X)] * (1.0 + order)
    if name not in _VECTORS and len(np.unique(y[weight > 0])) < 2:
        raise PassedOver("a class is missing")
    if not (weight > 0).sum() >= 2:
        raise PassedOver("too few examples")
    one, two = (_fit(name, X, y, w) for w in (weight, weight * 2.0**power))
    kept = weight > 0
    return _same(_answers(two, X[kept], X)[:1], _answers(one, X[kept], X)[:1], 1e-9)
