"""Machines on learnt kernels: scikit-learn's checks, three forms of kernels, oracles
of the weights, every message."""

import pickle
import re
import threading
import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from contract import parametrize_with_checks
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from okbook.core import (
    FunctionKernel,
    GramKernel,
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
    centered_alignment,
)
from okbook.core.checks import check_class_weight
from okbook.mkl import (
    AlignmentMKL,
    BestKernel,
    KernelCombiner,
    PairProblem,
    TwoStageMKL,
    UniformMKL,
    alignment_weights,
    combine_grams,
    lam_max,
    make_regularizer,
    solve_cvxpy,
    standardize_gram,
)

MACHINES = [
    UniformMKL(C=(0.1, 1)),
    BestKernel(C=1),
    AlignmentMKL(C=1),
    AlignmentMKL(method="independent", C=1),
    TwoStageMKL(lam=(0.1, 0.001), C=(1, 10)),
    TwoStageMKL(regularizer="sparse-corr", lam=0.01, C=1),
]
BLOCKS = [(RBFKernel(sigma=1.0), [m]) for m in range(4)] + [("linear", [0, 1, 2, 3])]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[::3], y[::3], X[1::3], y[1::3]


def stack_of(A, B):
    "The kernels of BLOCKS as a stack, a row an example of A."
    grams = [RBFKernel(sigma=1.0).gram(A[:, [m]], B[:, [m]]) for m in range(4)] + [
        A @ B.T
    ]
    return np.stack(grams, axis=1)


@parametrize_with_checks(MACHINES)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_three_forms_of_kernels_are_one(iris, machine):
    """Functions on columns, a stack of Gram matrices, and kernels that look numbers
    up: one machine."""
    X, y, X_new, _ = iris
    by_blocks = clone(machine).set_params(kernels=BLOCKS).fit(X, y)
    by_stack = clone(machine).set_params(kernels="precomputed").fit(stack_of(X, X), y)
    assert_allclose(
        by_blocks.weights_, by_stack.weights_, atol=1e-3 * by_stack.weights_.max()
    )
    assert by_blocks.C_ == by_stack.C_
    both = (by_blocks.predict(X_new), by_stack.predict(stack_of(X_new, X)))
    assert np.mean(both[0] == both[1]) >= 0.98
    everything = np.concatenate([X, X_new])
    tables = [
        GramKernel(K) for K in np.swapaxes(stack_of(everything, everything), 0, 1)
    ]
    looked_up = clone(machine).set_params(kernels=tables).fit(np.arange(len(X)), y)
    assert_allclose(
        looked_up.weights_, by_stack.weights_, atol=1e-3 * by_stack.weights_.max()
    )
    assert np.mean(looked_up.predict(len(X) + np.arange(len(X_new))) == both[1]) >= 0.98


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_the_second_stage(iris, machine):
    """eq-mkl-2: SVC on the sum with weights that add up to one, of centred and
    scaled Gram matrices."""
    X, y, X_new, _ = iris
    fitted = clone(machine).set_params(kernels=BLOCKS).fit(X, y)
    shares = fitted.weights_ / fitted.weights_.sum()
    K = sum(
        s * standardize_gram(G)
        for s, G in zip(shares, np.swapaxes(stack_of(X, X), 0, 1))
    )
    assert np.trace(K) / len(K) == pytest.approx(1.0)
    assert_allclose(fitted.cross_gram(X), K, atol=1e-5)
    svm = SVC(C=fitted.C_, kernel="precomputed").fit(K, y)
    assert_array_equal(fitted.predict(X_new), svm.predict(fitted.cross_gram(X_new)))
    again = pickle.loads(pickle.dumps(fitted))
    assert_allclose(
        again.decision_function(X_new), fitted.decision_function(X_new), atol=1e-12
    )


@pytest.mark.parametrize("name", ["l2", "l1", "l2-corr", "l1-corr", "sparse-corr"])
def test_the_first_stage(iris, name):
    "eq-mkl-1 within the certificate, against cvxpy; the weights of KernelCombiner."
    X, y, _, _ = iris
    options = {"regularizer": name, "lam": 0.02, "rho": 0.3}
    fitted = TwoStageMKL(BLOCKS, C=1, tol=1e-4, **options).fit(X, y)
    grams = [standardize_gram(G) for G in np.swapaxes(stack_of(X, X), 0, 1)]
    problem = PairProblem(grams, y)
    exact = solve_cvxpy(
        problem, make_regularizer(name, problem.correlations_, 0.3), 0.02
    )
    assert 0 <= fitted.gap_ <= 1e-4 and fitted.lam_ == 0.02
    assert_allclose(fitted.objective_, exact.objective, rtol=2e-4)
    alone = KernelCombiner(BLOCKS, tol=1e-4, **options).fit(X, y)
    assert_allclose(fitted.objective_, alone.objective_, rtol=2e-4)


def test_cross_validation_by_hand(iris):
    "A fold begins at the beginning; ties go to the largest lam and the smallest C."
    X, y, _, _ = iris
    lams, grid = [0.3, 0.03, 0.003], [0.1, 1.0, 10.0]
    fitted = TwoStageMKL(BLOCKS, regularizer="l1", lam=lams, C=grid, cv=4).fit(X, y)
    scores = np.zeros((3, 3))
    for train, held in StratifiedKFold(4).split(X, y):
        for a, lam in enumerate(lams):
            for b, C in enumerate(grid):
                one = TwoStageMKL(BLOCKS, regularizer="l1", lam=lam, C=C).fit(
                    X[train], y[train]
                )
                scores[a, b] += one.score(X[held], y[held]) / 4
    assert_allclose(fitted.scores_, scores, atol=0.03)
    best = np.unravel_index(fitted.scores_.argmax(), (3, 3))
    assert (fitted.lam_, fitted.C_) == (lams[best[0]], grid[best[1]])
    assert fitted.scores_[: best[0]].max(initial=0) < fitted.scores_.max()


@pytest.mark.parametrize("cv", [2, 3])
def test_threads_change_nothing(iris, cv, monkeypatch):
    "Each prepares some of the kernels; small matrices have one."
    X, y, _, _ = iris
    grams = [K.gram(X) for K in (LinearKernel(), RBFKernel(gamma=0.1))]
    for kernels, inputs in ((None, X), ("precomputed", grams)):
        one = TwoStageMKL(kernels, cv=cv).fit(inputs, y)
        monkeypatch.setattr("okbook.core.scale._THREAD_ENTRIES", 0)
        two = TwoStageMKL(kernels, cv=cv, n_jobs=2).fit(inputs, y)
        assert (two.lam_, two.C_) == (one.lam_, one.C_)
        assert_allclose(two.scores_, one.scores_, rtol=1e-12)
        assert_allclose(two.weights_, one.weights_, rtol=1e-6)
        assert_allclose(
            two.decision_function(inputs), one.decision_function(inputs), atol=1e-5
        )
        monkeypatch.undo()


def test_integers_are_not_rounded_in_folds():
    "Beyond 2**24 single precision has gaps: int32 went through it, int64 did not."
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    whole = [np.rint(X[:, : m + 1] * 20 + 25e3) for m in range(3)]
    stack = np.array([V @ V.T for V in whole])
    found = [
        TwoStageMKL("precomputed", scoring="average_precision")
        .fit(stack.astype(kind), y)
        .scores_
        for kind in (np.int64, np.uint32)
    ]
    assert_array_equal(*found)


def test_a_sum_of_kernels_has_the_wider_type():
    narrow, wide = np.full((2, 2), 1 / 3, np.float32), np.full((2, 2), 1 / 7)
    for kernels in ([narrow, wide], [wide, narrow]):
        K = combine_grams(kernels, [1.0, 1.0])
        assert_array_equal(K, kernels[0] + kernels[1])


def test_the_sum_of_a_machine_is_that_of_combine_grams():
    "To the last digit; a kernel without a weight does not count, an overflow is told."
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(24, 3))
    y = np.arange(24) % 2
    Z[:, 1] += 4 * y
    stack = np.array([np.outer(z, z) for z in Z.T])
    found = KernelCombiner("precomputed", regularizer="l2", lam=0.1).fit(stack, y)
    standard = [standardize_gram(K, M) for K, M in zip(stack, found.moments_)]
    K = combine_grams(standard, found.weights_)
    assert_array_equal(found.transform(stack), K)
    queries = np.moveaxis(stack, 0, 1)[:4].copy()
    queries[:, 0] = 1.7e308
    best = BestKernel("precomputed", C=1, cv=2).fit(stack, y)
    assert best.best_index_ == 1
    with np.errstate(over="ignore"):
        assert_array_equal(best.predict(queries), y[:4])
        with pytest.raises(ValueError, match="sum of the kernels overflows"):
            found.transform(queries)


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        PairProblem([np.eye(4)], [0, 0, 1, 1], n_jobs=0)


def test_best_kernel_is_a_grid_search(iris):
    X, y, _, _ = iris
    fitted = BestKernel(BLOCKS, C=(1, 10)).fit(X, y)
    for m, block in enumerate(BLOCKS):
        search = GridSearchCV(UniformMKL([block]), {"C": [1, 10]}, cv=3).fit(X, y)
        assert_allclose(
            search.cv_results_["mean_test_score"], fitted.scores_[m], atol=1e-9
        )
    assert (
        fitted.best_index_
        == fitted.scores_.max(axis=1).argmax()
        == fitted.weights_.argmax()
    )
    assert fitted.weights_.sum() == 1


@pytest.mark.parametrize("seed", range(4))
def test_alignment_by_cvxpy(seed):
    """thm-mklmach-alignment: least squares on pairs, and no combination is better
    aligned."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 2, 25)
    kernels = [
        standardize_gram(B @ B.T)
        for B in rng.normal(size=(6, 25, 5)) + 0.7 * y[None, :, None]
    ]
    T = np.where(np.equal.outer(y, y), 1.0, -1.0)
    v = cp.Variable(6, nonneg=True)
    cp.Problem(
        cp.Minimize(cp.sum_squares(np.reshape(kernels, (6, -1)).T @ v - T.ravel()))
    ).solve(solver="CLARABEL")
    joint = alignment_weights(kernels, y)
    assert_allclose(joint, v.value / np.linalg.norm(v.value), atol=1e-5)

    def cosine(mu):
        return centered_alignment(np.tensordot(mu, kernels, 1), T)

    assert all(cosine(rng.uniform(size=6)) <= cosine(joint) + 1e-12 for _ in range(50))
    alone = [max(0.0, centered_alignment(K, T)) for K in kernels]
    assert_allclose(
        alignment_weights(kernels, y, "independent"),
        alone / np.linalg.norm(alone),
        atol=1e-9,
    )
    copies = alignment_weights([*kernels, kernels[0]], y)
    assert_allclose(
        np.tensordot(copies, [*kernels, kernels[0]], 1)
        / np.linalg.norm(copies[:6] + np.r_[copies[6], np.zeros(5)]),
        np.tensordot(joint, kernels, 1),
        atol=1e-6,
    )
    for method in ("joint", "independent"):  # no square of 1e-300 counts as nothing
        same = alignment_weights(1e-300 * np.array(kernels), y, method)
        assert_allclose(same, alignment_weights(kernels, y, method), atol=1e-12)
    far = np.array([1e-9, 1.0, 1e5, 1.0, 1e300, 1e-300])[:, None, None] * kernels
    assert_allclose(alignment_weights(far, y, "independent"), same, atol=1e-12)
    weights = alignment_weights(far, y)
    assert np.isfinite(weights).all() and weights[4] < 1e-200
    with pytest.raises(ValueError, match=r"kernels\[1\] is zero"):
        alignment_weights([np.eye(2), np.zeros((2, 2))], [0, 1])


def test_copies_do_not_move_the_combined_regulariser(iris):
    """thm-mklmach-beyond: the sum of the copies' weights is that of the one; l2 does
    not have this."""
    X, y, _, _ = iris
    moved = {}
    for name in ("sparse-corr", "l2"):
        options = {"regularizer": name, "lam": 0.05, "C": 1, "tol": 1e-6}
        once = TwoStageMKL(BLOCKS, **options).fit(X, y).weights_
        many = TwoStageMKL([BLOCKS[3]] * 6 + BLOCKS, **options).fit(X, y).weights_
        together = many[6:] + np.r_[0, 0, 0, many[:6].sum(), 0]
        moved[name] = np.abs(together - once).max() / once.max()
    assert moved["sparse-corr"] < 0.02 < 0.1 < moved["l2"]


def test_pipeline_grid_search_and_other_scores(iris):
    X, y, X_new, y_new = iris
    pipe = make_pipeline(
        StandardScaler(),
        TwoStageMKL(BLOCKS, lam=0.01, C=1, scoring="f1_macro"),
    )
    search = GridSearchCV(
        pipe, {"twostagemkl__regularizer": ["l1", "sparse-corr"]}, cv=2
    ).fit(X, y)
    assert search.score(X_new, y_new) > 0.8
    balanced = TwoStageMKL(
        BLOCKS,
        pair_weight="balanced",
        n_pairs=200,
        random_state=0,
        class_weight="balanced",
    )
    assert balanced.fit(X, y).score(X_new, y_new) > 0.8


def test_inputs_that_are_not_vectors():
    words = ["cat", "cot", "coat", "dog", "dig", "dug", "cut", "dag"] * 2
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1] * 2)
    letters = FunctionKernel(lambda A, B: [[len({*a} & {*b}) for b in B] for a in A])
    ends = FunctionKernel(lambda A, B: [[float(a[0] == b[0]) for b in B] for a in A])
    fitted = TwoStageMKL([letters, ends], lam=0.01, C=(1, 10)).fit(words, y)
    assert_array_equal(fitted.predict(["coot", "doge"]), [0, 1])


def test_small_classes():
    "A class of two members can be learnt from, also where a fold leaves one of them."
    X, y = make_blobs([12, 12, 2], 3, random_state=0)
    fitted = TwoStageMKL(lam=(0.1, 0.01), C=(1, 10)).fit(X, y)
    assert fitted.scores_.shape == (2, 2) and set(fitted.classes_) == {0, 1, 2}


def test_all_weights_zero(iris):
    """Legitimate for a large lam: returned, with a warning that says which lam would
    admit a kernel."""
    X, y, X_new, _ = iris
    grams = [standardize_gram(G) for G in np.swapaxes(stack_of(X, X), 0, 1)]
    problem = PairProblem(grams, y)
    limit = lam_max(problem, make_regularizer("l1", 5))
    with pytest.warns(
        UserWarning, match=f"all weights are zero.*lam below lam_max={limit:.3g}"
    ):
        fitted = TwoStageMKL(BLOCKS, regularizer="l1", lam=1.01 * limit, C=1).fit(X, y)
    assert not fitted.weights_.any() and len(np.unique(fitted.predict(X_new))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            TwoStageMKL(BLOCKS, regularizer="l1", lam=0.9 * limit, C=1)
            .fit(X, y)
            .weights_.any()
        )
    with pytest.warns(UserWarning, match="No kernel has a positive alignment"):
        T = np.where(np.equal.outer(y, y), 1.0, -1.0)
        against = 1.01 * np.linalg.eigvalsh(T)[-1] * np.eye(50) - T
        AlignmentMKL("precomputed", C=1, center=False).fit(
            np.stack([against, against], axis=1), y
        )


@pytest.mark.parametrize(
    "machine",
    [UniformMKL(C=1), BestKernel(C=1), AlignmentMKL(C=1), TwoStageMKL(C=1)],
)
def test_bad_input(iris, machine):
    X, y, X_new, _ = iris
    with pytest.raises(ValueError, match="one class"):
        machine.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="has one member"):
        machine.fit(X, np.r_[y[:-1], 7])
    with pytest.raises(ValueError, match="requires y"):
        machine.fit(X, None)
    with pytest.raises(ValueError, match="C == 0, must be > 0"):
        clone(machine).set_params(C=(1, 0)).fit(X, y)
    with pytest.raises(ValueError, match="at least one kernel"):
        clone(machine).set_params(kernels=[]).fit(X, y)
    given = clone(machine).set_params(kernels="precomputed")
    stack = stack_of(X, X)
    with pytest.raises(ValueError, match=r"\(n, p, n_train\).*got \(50, 4\)"):
        given.fit(X, y)
    with pytest.raises(ValueError, match="different sizes"):
        given.fit([np.eye(2), np.eye(3)] + [np.eye(2)] * 2, [0, 0, 1, 1])
    for wrong, message in (
        (np.triu(np.ones((50, 50))), r"kernels\[1\].*symmetric"),
        (-np.eye(50), r"kernels\[1\].*positive semi-definite"),
        (np.full((50, 50), np.nan), "(?i)nan"),
        (np.ones((50, 50)), "cannot be centred"),
    ):
        bad = stack.copy()
        bad[:, 1] = wrong
        with pytest.raises(ValueError, match=message):
            given.fit(bad, y)
    fitted = clone(given).fit(stack, y)
    with pytest.raises(ValueError, match="5 kernels with 50 training examples"):
        fitted.predict(stack_of(X_new, X)[:, :4])
    with pytest.raises(ValueError, match="features"):
        clone(machine).set_params(kernels=[LinearKernel(), RBFKernel()]).fit(
            X, y
        ).predict(X_new[:, :3])


def test_bad_parameters(iris):
    X, y, _, _ = iris
    for lam, message in (
        (0, "The 'lam' parameter of TwoStageMKL must be"),
        (np.nan, "The 'lam' parameter of TwoStageMKL must be"),
        ([0.1, -1.0], "lam == -1.0, must be > 0"),
        ([0.1, np.inf], "lam contains NaN or infinity"),
        ([], "lam must be a sequence of numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            TwoStageMKL(lam=lam).fit(X, y)
    for name, value in {
        "regularizer": "l3",
        "C": 0.0,
        "cv": "three",
        "scoring": "goodness",
        "center": "yes",
        "class_weight": "even",
        "pair_weight": "even",
        "n_pairs": 1,
        "rho": 1.5,
        "tol": -1e-3,
        "n_jobs": 0.5,
        "random_state": "zero",
    }.items():
        with pytest.raises(ValueError, match=f"The '{name}' parameter of TwoStageMKL"):
            TwoStageMKL(**{name: value}).fit(X, y)
    for call in (AlignmentMKL(method="best").fit, alignment_weights):
        arguments = (X, y) if call != alignment_weights else ([X @ X.T], y, "best")
        with pytest.raises(ValueError, match="The 'method' parameter of"):
            call(*arguments)
    with pytest.raises(ValueError, match="for each of the 3 labels"):
        alignment_weights([np.eye(2)], [0, 1, 1])


def test_reversed_columns_are_refused_and_not_mispredicted():
    "Names are kept through the choice of C and lam; no warning stands for an error."
    X, y = load_iris(return_X_y=True, as_frame=True)
    for machine in MACHINES:
        model = clone(machine).fit(X[::3], y[::3])
        assert model.feature_names_in_.tolist() == X.columns.tolist()
        with pytest.raises(ValueError, match="must be in the same order as they were"):
            model.predict(X[X.columns[::-1]])


@pytest.mark.parametrize("model", MACHINES[:2], ids=repr)
@pytest.mark.parametrize(
    "weights, message",
    [
        ({0: np.nan, 1: 1.0}, "positive finite numbers: 0 has nan"),
        ({0: np.inf}, "0 has inf"),
        ({0: 0, 1: 0}, "0 has 0"),
        ({0: 10**400}, "0 has 1000"),
        ({1: -1.0}, "1 has -1.0"),
        ({0: "a"}, "0 has 'a'"),
        ({3: 1.0}, r"key 3, which is no class: the classes are \[0, 1, 2\]"),
    ],
)
def test_class_weights_are_positive_numbers_for_classes(iris, model, weights, message):
    X, y, _, _ = iris
    with pytest.raises(ValueError, match=f"class_weight .*{message}"):
        clone(model).set_params(class_weight=weights).fit(X, y)


def test_class_weight_has_three_forms():
    for weights in (None, "balanced", {"a": 1}, {"a": np.float32(2), "b": True}, {}):
        check_class_weight(weights, ["a", "b"])
    for weights in ("even", ["a"], 2.0, np.ones(2)):
        with pytest.raises(ValueError, match="a dictionary, 'balanced' or None"):
            check_class_weight(weights, ["a", "b"])


@pytest.mark.parametrize("C", [1, (0.1, 1)])
@pytest.mark.parametrize("model", MACHINES[:5], ids=repr)
def test_kernels_beyond_single_precision(model, C):
    y = np.arange(20) % 2
    grams = [1e39 * np.equal.outer(y, y), np.eye(20)]
    stack = np.swapaxes(np.array(grams), 0, 1)
    model = clone(model).set_params(
        kernels="precomputed", C=C, center=False, scale=False
    )
    with pytest.raises(ValueError, match=r"kernels\[0\] has an entry beyond 3.4e\+38"):
        model.fit(stack, y)


METHODS = [UniformMKL, BestKernel, AlignmentMKL, TwoStageMKL, KernelCombiner]


@pytest.mark.parametrize("machine", METHODS)
@pytest.mark.parametrize("scale", [1e-155, 1e-160, 1e-170])
def test_small_inputs_are_named(machine, scale):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.repeat([0, 1], 20)
    for kernels in (None, ["linear"], [("linear", [0])]):
        with pytest.raises(ValueError, match="underflows: .*of X is .*Multiply X by"):
            machine(kernels).fit(X * scale, y)


@pytest.mark.parametrize("machine", METHODS)
@pytest.mark.parametrize("kernel", ["polynomial", "cosine"])
def test_kernels_far_from_the_origin(machine, kernel):
    "The digits that an offset costs are told, and no machine takes them for a fault."
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] += 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        machine([kernel]).fit(X + 100.0, y)
    for offset in (2.0**17, 2.0**20):
        with pytest.warns(UserWarning, match=rf"kernels\[0\], {kernel}, loses its dig"):
            machine([kernel]).fit(X + offset, y)
    with pytest.raises(ValueError, match="the same point but for its rounding"):
        machine(["cosine"]).fit(X + 1e7, y)
    K = PolynomialKernel(gamma=0.5).gram(X + 2.0**20)
    standard = standardize_gram(K)
    assert_array_equal(standard, standard.T)
    PairProblem([standard], y, check_psd=False)


def test_rounding_of_a_centred_kernel_is_not_more_than_is_told():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], 20)
    X = np.round(X * 1024) / 1024
    for power in (17, 20):
        there = X + 2.0**power
        F = np.vectorize(Fraction, otypes=[object])(there)
        K = (F @ F.T / 2 + 1) ** 3  # in fractions
        K = K - K.mean(axis=0) - (K.mean(axis=1) - K.mean())[:, None]
        right = (K / (K.trace() / 40)).astype(float)
        with pytest.warns(UserWarning) as told:
            (found,) = UniformMKL([PolynomialKernel(gamma=0.5)])._training_grams(
                there, y
            )
        bound = float(re.search(r"up to (\S+) of", str(told[0].message))[1])
        assert np.abs(found - right).max() < 2 * bound


def test_probabilities_are_asked_for_before_the_fit():
    X, y = load_iris(return_X_y=True)
    model = UniformMKL(C=1.0).fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="not available when fitted with"):
        model.predict_proba(X)


@pytest.mark.parametrize("model", [UniformMKL(), AlignmentMKL(), TwoStageMKL()])
def test_all_kernels_may_be_constant_in_one_fold(model):
    X, y = np.zeros((30, 3)), np.arange(30) % 2
    X[4] = 1, 2, 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a weight of zero is told
        assert set(model.fit(X, y).predict(X)) <= {0, 1}
    assert model.weights_.any()


def test_a_scorer_returns_a_number_and_runs_where_the_fit_does():
    """Machines are trained by threads; a scorer sees the settings of the caller."""
    rng = np.random.default_rng(0)
    X, y, threads = rng.normal(size=(900, 2)), np.arange(900) % 2, set()

    def scorer(machine, K, y):
        threads.add(threading.get_ident())
        return machine.score(K, y)

    options = {"lam": (0.1, 0.01), "C": 1.0, "cv": 2, "n_jobs": 2}
    TwoStageMKL(["linear", "rbf"], scoring=scorer, **options).fit(X, y)
    assert threads == {threading.get_ident()}
    for answer in ([0.5, 0.5], "good", 1j):
        with pytest.raises(ValueError, match="scoring=.* cannot score"):
            TwoStageMKL(["rbf"], scoring=lambda *given: answer, **options).fit(
                X[:20], y[:20]
            )
