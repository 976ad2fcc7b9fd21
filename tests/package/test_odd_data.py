"""Odd data, for estimators, kernels and the functions of the faces: an error that says
what came, or a finite result that a clean copy of the same numbers gives, too.

The calls are those of the docstrings' examples, see `odd_data`.
"""

import functools
import os
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sklearn.base
from numpy.testing import assert_allclose, assert_array_equal
from odd_data import (
    Call,
    judge,
    outcomes,
    record_calls,
)
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

import okbook
from okbook.core import (
    OutputKernelKNN,
    RBFKernel,
    TanimotoKernel,
    checks,
)
from okbook.core.checks import check_finite, check_square, is_finite, validate_data
from okbook.ensembles import AdaBoost, DecisionStump, RandomizedTreeClassifier
from okbook.forest_kernel import ForestKernel, ForestKernelSVC
from okbook.mkl import TwoStageMKL
from okbook.rkhs import MultiTaskRidge, OutputKernelRidge
from okbook.trees import OutputKernelRandomForest, OutputKernelTree

ODD = (np.nan, np.inf, -np.inf)
BAD = ("raw", "nan", "warned", "silent", "other", "changed")
# What a user calls with arrays of their own, beside estimators and kernels.
DOORS = {
    "alignment",
    "alignment_matrix",
    "alignment_weights",
    "bias_variance",
    "center_gram",
    "centered_alignment",
    "check_gram",
    "check_psd",
    "feature_space_measure",
    "feature_space_variance",
    "is_psd",
    "kappa_error",
    "kernel_graph",
    "kernel_polarization",
    "knn_graph",
    "machine_value",
    "max_margin_weights",
    "mean_direction",
    "mean_mcc",
    "normalize_gram",
    "output_kernel_loss",
    "pr_auc",
    "roc_auc",
    "separating_hyperplane",
    "split_score",
    "squared_distances",
    "standardize_gram",
    "stress_layout",
    "target_alignment",
    "vote_margins",
    "vote_moments",
    "vote_shares",
}
# Their results are not finite by definition: the attribute threshold_ of the link
# predictors, the threshold of a stump that has nothing to split, a tree or an example
# without out-of-bag votes.
NOT_FINITE = {
    "AdaBoost.fit",
    "DecisionStump.fit",
    "LinkPredictor.fit",
    "LinkPredictorCV.fit",
}
# They use only the length of X or y, pass objects on to a function of the caller, or
# take sequences of any length, or graphs.
TAKES_ANYTHING = {
    "SimilarityKernel.fit",
    "SimilarityKernel.gram",
    "FunctionKernel.gram",
    "SpectrumKernel.gram",
    "GlobalAlignmentKernel.gram",
    "SubsequenceKernel.gram",
    "WeisfeilerLehmanKernel.gram",
}
# The forest decides about missing values; scikit-learn's take them.
MISSING = ("ForestKernel",)
# Trees send missing values of X to one side; the search among neighbours, ridge and all
# others refuse them.
TREES = (
    "Bagging",
    "OutputKernelBagging",
    "OutputKernelBoosting",
    "OutputKernelExtraTrees",
    "OutputKernelRandomForest",
    "OutputKernelTree",
    "RandomizedTreeClassifier",
)


# Every eighth variant is tried, of these calls, which take long, every 24th; all of
# them with OKBOOK_ALL_CASES=1, some ten minutes.
SLOW = {
    "AdaBoost.fit",
    "AlignmentMKL.fit",
    "BestKernel.fit",
    "ForestKernelSVC.fit",
    "LinkPredictorCV.fit",
    "TwoStageMKL.fit",
    "UniformMKL.fit",
}


def allowed(name, argument, variant, verdict):
    """Whether a verdict is what the docstring promises."""
    if name in TAKES_ANYTHING:
        return True
    if verdict == "nan" and name in NOT_FINITE:
        return True
    if verdict == "other" and name == "KernelCCALinks.fit":
        return variant == "float32"  # directions of nearly equal correlations
    missing = variant in ("nan", "all nan", "object none")
    taken = name.startswith(MISSING) or (argument[0] == "X" and name.startswith(TREES))
    return verdict in ("silent", "nan") and missing and taken


@functools.cache
def recorded():
    return record_calls()


@pytest.mark.filterwarnings("ignore")
def test_odd_data():
    found, n_cases, names = [], 0, {*okbook.__all__, *DOORS}
    for call in recorded().values():
        if call.name.split(".")[0] not in names:
            continue
        every = 24 if call.name in SLOW else 8
        every = 1 if "OKBOOK_ALL_CASES" in os.environ else every
        for argument, variant, verdict, word in outcomes(call, every):
            n_cases += 1
            if verdict in BAD and not allowed(call.name, argument, variant, verdict):
                found.append(f"{call.name}({argument}): {variant}: {verdict}: {word}")
    assert n_cases > 1000
    assert not found, f"{len(found)} of {n_cases}:\n" + "\n".join(found)


def test_a_fit_validates_its_parameters_once(monkeypatch):
    counts, validate = Counter(), sklearn.base.validate_parameter_constraints

    def counted(constraints, params, caller_name):
        counts[caller_name] += 1
        validate(constraints, params, caller_name=caller_name)

    monkeypatch.setattr(sklearn.base, "validate_parameter_constraints", counted)
    tried = set()
    for call in recorded().values():
        name, _, method = call.name.partition(".")
        if method == "fit" and name in okbook.__all__ and name not in tried:
            counts.clear()
            call.function(*call.args, **call.kwargs)
            assert counts[name] <= 1, name
            tried.add(name)
    assert len(tried) > 30


# The cases of the issue


X = np.random.default_rng(0).normal(size=(20, 3))
Y = X[:, 0] + 1.0
WORDS = ["red", "blue"] * 10


def test_inputs_that_overflow():
    with pytest.raises(ValueError, match=r"overflows: the largest entry .*e\+300"):
        OutputKernelRidge(input_kernel="linear").fit(X * 1e300, Y)
    # far away the RBF kernel is zero, and a linear prediction of this size is a number
    far = OutputKernelRidge(input_kernel="rbf").fit(X * 1e300, Y)
    assert_allclose(far.weights(X * 1e300), np.eye(len(X)) / (1 + far.lam))
    for kernel in "linear", "rbf":
        model = OutputKernelRidge(input_kernel=kernel).fit(X, Y)
        assert np.isfinite(model.predict(X * 1e306)).all()


@pytest.mark.parametrize("d", [3, 16, 17, 40])
def test_one_row_that_is_far_leaves_the_others(d):
    A = np.random.default_rng(d).normal(size=(6, d))
    near = RBFKernel(sigma=3.0).gram(A)
    for far in (1e154, 1e200, 1e307):
        B = np.r_[A, np.full((1, d), far)]
        K = RBFKernel(sigma=3.0).gram(B)
        assert_allclose(K[:-1, :-1], near, rtol=1e-12)
        assert_array_equal(K[-1], np.eye(7)[-1])


@pytest.mark.parametrize(
    "model",
    [OutputKernelTree(), OutputKernelRandomForest(n_estimators=2), OutputKernelKNN()],
)
def test_outputs_that_overflow(model):
    with pytest.raises(ValueError, match=r"overflows: the largest entry .*e\+160"):
        model.fit(X, Y * 1e160)


@pytest.mark.parametrize("words", [WORDS, np.array(WORDS), np.array(WORDS, object)])
@pytest.mark.parametrize("model", [OutputKernelTree(), OutputKernelRidge()])
def test_words_need_another_kernel(model, words):
    with pytest.raises(ValueError, match=r"strings.*'dirac'.*f\(Y1, Y2\).*GramKernel"):
        model.fit(X, words)
    clone(model).set_params(output_kernel="dirac").fit(X, words)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_tanimoto_has_no_scale(scale):
    kernel, A = TanimotoKernel(), np.abs(X)
    assert_allclose(kernel.gram(A * scale), kernel.gram(A), strict=True)
    assert_allclose(kernel.diag(A * scale), kernel.diag(A), strict=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_stacks_of_kernels(bad):
    K = np.stack([RBFKernel(sigma=s).gram(X) for s in (1.0, 3.0)], axis=1)
    model = TwoStageMKL(kernels="precomputed").fit(K, np.sign(X[:, 0]))
    odd = K[:2].copy()
    odd[0, 0, 0] = bad
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="NaN|infinity"):
            method(odd)
    masked = np.ma.array(K[:2], mask=K[:2] > 0.99)
    with pytest.raises(ValueError, match="masked entries"):
        model.predict(masked)


@pytest.mark.parametrize("model", [OutputKernelRidge(), MultiTaskRidge()])
def test_masked_entries_are_missing(model):
    hole = np.ma.array(X, mask=np.zeros(X.shape, bool))
    model.fit(hole, Y)  # nothing is masked
    hole[0, 0] = np.ma.masked
    with pytest.raises(ValueError, match="X has 1 masked entries of 60"):
        model.fit(hole, Y)
    with pytest.raises(ValueError, match="X has 1 masked entries of 60"):
        model.fit(X, Y).predict(hole)
    outputs = np.ma.array(Y, mask=Y > Y.mean())
    with pytest.raises(ValueError, match="y has .* masked entries of 20"):
        model.fit(X, outputs)


def test_forests_may_take_missing_values_but_no_masks():
    y, hole = np.sign(X[:, 0]), X.copy()
    hole[0, 0] = np.nan
    model = ForestKernelSVC().fit(hole, y)
    assert np.isfinite(model.decision_function(hole)).all()
    with pytest.raises(ValueError, match="masked"):
        model.predict(np.ma.array(X, mask=np.isnan(hole)))


DATES = np.array(["2020-01-01", "2021-01-01"] * 10, dtype="M8[s]")
NO_DATES = np.where(np.arange(20) == 3, np.datetime64("NaT"), DATES)
FRAME = pd.DataFrame({"a": pd.date_range("2020", periods=20, tz="UTC"), "b": 1.0})


@pytest.mark.parametrize(
    ("dates", "kind"),
    [
        (np.c_[DATES, DATES], "datetime64"),
        (np.c_[NO_DATES], "datetime64"),
        (np.c_[DATES - DATES[0]], "timedelta64"),
        ([[1.0, date] for date in DATES], "datetime64"),
        (np.c_[DATES.astype(object)], "datetime"),
        (FRAME, "datetime64.*UTC"),
        (pd.DataFrame({"a": X[:, 0], "b": pd.NaT}), "datetime64"),
    ],
)
@pytest.mark.parametrize("model", [OutputKernelTree(), OutputKernelRidge()])
def test_dates_are_no_numbers(model, dates, kind):
    message = f"holds dates or durations, of type {kind}.*, where numbers are expected"
    with pytest.raises(ValueError, match=f"X {message}"):
        model.fit(dates, Y)
    with pytest.raises(ValueError, match=f"X {message}"):
        model.fit(X[:, : np.shape(dates)[1]], Y).predict(dates)
    with pytest.raises(ValueError, match=f"y {message}"):
        model.fit(X, dates)
    with pytest.raises(ValueError, match=f"K {message}"):
        check_square(dates)


def test_dates_are_labels_unless_one_is_missing():
    classifier = OutputKernelTree(output_kernel="dirac")
    for dates in (DATES, pd.Series(DATES), DATES - DATES[0]):
        assert classifier.fit(X, dates).score(X, dates) == 1.0
    assert DecisionStump().fit(X, DATES).classes_.dtype == DATES.dtype
    for model in (classifier, DecisionStump()):
        for dates in (NO_DATES, pd.Series(NO_DATES), NO_DATES - DATES[0]):
            with pytest.raises(ValueError, match="y has 1 missing labels of 20"):
                model.fit(X, dates)


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ({1}, TypeError, "argument must be .*, not 'set'"),
        (len, TypeError, "argument must be .*, not 'builtin_function"),
        (10**400, ValueError, "int too large"),
    ],
)
@pytest.mark.parametrize("model", [OutputKernelTree(), MultiTaskRidge()])
def test_what_is_no_number_is_named(model, entry, error, message):
    rows = [[entry, 1.0]] * 20
    for odd in (rows, np.array(rows, dtype=object), pd.DataFrame(rows, dtype=object)):
        with pytest.raises(error, match=rf"X(\[0\])? must be an array: .*{message}"):
            model.fit(odd, Y)
        with pytest.raises(error, match=rf"X(\[0\])? must be an array: .*{message}"):
            model.fit(X[:, :2], Y).predict(odd)
    if entry is len or entry == 10**400:  # of the others the error tells more
        with pytest.raises(error, match=f"y must be an array: .*{message}"):
            model.fit(X, [entry] * 20)


def words(n=20):
    "A number and a word, as a frame, an array and a list."
    frame = pd.DataFrame({"size": np.arange(n) / n, "hue": ["red", "blue"] * (n // 2)})
    return frame, frame.to_numpy(), frame.to_numpy().tolist()


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (OutputKernelTree(), r'astype\("category"\), .* in categorical_features'),
        (OutputKernelTree(categorical_features=[0]), "in categorical_features"),
        (RandomizedTreeClassifier(), "encode .* as OneHotEncoder does"),
        (MultiTaskRidge(), "encode .* as OneHotEncoder does"),
    ],
)
def test_words_among_the_inputs_are_named_with_a_remedy(model, remedy):
    y = np.arange(20) % 2
    for odd in words():
        frame = isinstance(odd, pd.DataFrame)
        where = r"X\['hue'\]\[0\]" if frame else r"X\[0, [01]\]"
        with pytest.raises(ValueError, match=f"must hold numbers: .*{where} = 'red'"):
            model.fit(odd, y)
        with pytest.raises(ValueError, match=f"must hold numbers: .*{remedy}"):
            model.fit(odd, y)
        with pytest.raises(ValueError, match="must hold numbers: .*'red'"):
            clone(model).fit(X[:, :2], y).predict(np.asarray(odd, dtype=object))


def test_words_and_numbers_in_one_column_of_categories():
    y, mixed = np.arange(20.0), ["a", 1] * 10
    frame = pd.DataFrame({"size": y, "hue": pd.Categorical(mixed)})
    message = r"must hold categories that are all words or all numbers: got 'a' and 1"
    for given, odd in (("from_dtype", frame), ([1], frame), ([1], frame.to_numpy())):
        with pytest.raises(ValueError, match=message):
            OutputKernelTree(categorical_features=given).fit(odd, y)


@pytest.mark.parametrize("model", [OutputKernelTree(), RandomizedTreeClassifier()])
@pytest.mark.parametrize("missing", [pd.NA, None, np.nan])
@pytest.mark.parametrize("dtype", [object, "Float64"])
def test_all_that_is_missing_is_nan_to_a_tree(model, missing, dtype):
    y = np.arange(20) % 2
    values = pd.Series(np.sin(np.arange(20.0)), dtype=dtype)
    values[3] = missing
    frame = pd.DataFrame({"size": values, "age": np.cos(np.arange(20.0))})
    plain = np.c_[np.sin(np.arange(20.0)), np.cos(np.arange(20.0))]
    plain[3, 0] = np.nan
    expected = clone(model).fit(plain, y).predict(plain)
    for odd in (frame, frame.astype(object), frame.to_numpy(object)):
        kept = odd.copy()
        assert_array_equal(clone(model).fit(odd, y).predict(odd), expected)
        assert str(odd) == str(kept)  # the user's own
    hued = frame.assign(hue=pd.Categorical(["a", "b"] * 10))
    OutputKernelTree().fit(hued, y).predict(hued)


@pytest.mark.parametrize(
    "model", [MultiTaskRidge(), DecisionStump(), AdaBoost(), OutputKernelKNN()]
)
def test_who_takes_nan_is_said(model):
    odd = X.copy()
    odd[0, 0] = np.nan
    message = "^Input X contains NaN, which .* does not take: .*OutputKernelTree"
    with pytest.raises(ValueError, match=message):
        model.fit(odd, np.arange(20) % 2)
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.arange(20) % 2).predict(odd)


def test_other_things_that_are_no_array_are_named():
    for model in (ForestKernel(), ForestKernelSVC()):
        with pytest.raises(ValueError, match="X must hold at least one example"):
            model.fit([], np.sign(X[:, 0]))
    with pytest.raises(ValueError, match="X must be an array: .* inhomogeneous"):
        MultiTaskRidge().fit([[1.0], [1.0, 2.0]], [1.0, 2.0])
    for model in (MultiTaskRidge(), DecisionStump()):
        with pytest.raises(ValueError, match="y must be an array: .* inhomogeneous"):
            model.fit(X[:2], [[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="^Expected 2D array"):  # scikit-learn's words
        MultiTaskRidge().fit(Y, Y)


# The tools themselves


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_finite_by_a_sum(size):
    a = np.full(size, 1e308)  # their sum is infinite
    assert is_finite(a) and check_finite(a, "a") is a
    for bad in ODD:
        assert not is_finite(np.r_[a, bad])
    assert not is_finite(np.r_[a, np.inf, -np.inf])


def mutant_raw(A):
    return {}["A"]


def mutant_nan(A):
    return np.asarray(A, dtype=float) * np.nan


def mutant_changes(A):
    A *= 2.0
    return 0.0


def mutant_takes_all(A):
    return 1.0


def mutant_looks_at_order(A):
    return float(A.flags.c_contiguous)


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (mutant_raw, "raw"),
        (mutant_nan, "nan"),
        (mutant_changes, "changed"),
        (mutant_takes_all, "silent"),
    ],
)
def test_the_judge_sees_mutants(function, verdict):
    call = Call(function.__name__, function, [np.eye(2)], {})
    call.finite = True
    odd = np.array([[np.nan, 1.0], [1.0, 2.0]])
    assert judge(call, (0, None), "nan", odd)[0] == verdict


def test_the_judge_compares_results():
    call = Call("f", mutant_looks_at_order, [np.eye(2)], {})
    odd = np.asfortranarray(np.eye(2) + np.eye(2)[::-1] * 2)
    assert judge(call, (0, None), "column-major", odd, 1.0)[0] == "other"


@pytest.mark.parametrize("dtype", [np.float64, [np.float64, np.float32], None])
@pytest.mark.parametrize("order", [None, "C"])
@pytest.mark.parametrize("finite", [True, "allow-nan"])
def test_queries_need_no_second_reading(dtype, order, finite, monkeypatch):
    """scikit-learn's checks take most of the time of one query. They are left out
    where they would return the same array, and nowhere else."""
    options = {"dtype": dtype, "order": order, "ensure_all_finite": finite}
    X = np.random.default_rng(0).normal(size=(5, 3))
    nan, infinite = X.copy(), X.copy()
    nan[2, 1], infinite[2, 1] = np.nan, np.inf
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    queries = [X, X[:1], np.asfortranarray(X), X[::-1], X.T, X[:, :2], X[:0], X[:, :0]]
    queries += [X[0], X[None], X.tolist(), frame, nan, infinite, X.astype(object)]
    queries += [X.astype(kind) for kind in (">f8", np.float32, np.float16, int, bool)]
    queries += [np.full((5, 3), 1e308), X.view(type("Sub", (np.ndarray,), {}))]

    def outcome(estimator, Q):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = validate_data(estimator, Q, reset=False, **options)
            except (TypeError, ValueError) as error:
                found = repr(error)
        return found, [str(warning.message) for warning in said]

    n_skipped = 0
    for fitted in (X, frame):
        estimator = DummyClassifier().fit(fitted, [0, 1, 0, 1, 0])
        for Q in queries:
            monkeypatch.undo()
            n_skipped += checks._is_read(estimator, Q, reset=False, **options)
            found, said = outcome(estimator, Q)
            monkeypatch.setattr(checks, "_is_read", lambda *_, **__: False)
            wanted, wanted_said = outcome(estimator, Q)
            assert said == wanted_said, Q
            if isinstance(wanted, str):
                assert found == wanted, Q
            else:
                assert type(found) is type(wanted)
                assert_array_equal(found, wanted, strict=True)
                assert (found is Q) == (wanted is Q)
    assert n_skipped >= 3  # or nothing was tested
