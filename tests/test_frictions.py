"""What stood in an engineer's way, tried again: the number is that of the finding.

Each test does what was tried when the friction was found.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.svm import SVC

import okbook
from okbook.core import InputKernelMixin, Kernel, OutputKernelMixin
from okbook.forest_kernel import ForestKernel, ForestKernelSVC
from okbook.mkl import (
    AlignmentMKL,
    BestKernel,
    KernelCombiner,
    TwoStageMKL,
    UniformMKL,
)
from okbook.rkhs import OutputKernelRidge

RNG = np.random.default_rng(0)
BOTH_KERNELS = [
    getattr(okbook, name)
    for name in okbook.__all__
    if isinstance(getattr(okbook, name), type)
    and issubclass(getattr(okbook, name), OutputKernelMixin)
    and issubclass(getattr(okbook, name), InputKernelMixin)
    and issubclass(getattr(okbook, name), BaseEstimator)
    and getattr(okbook, name) not in (InputKernelMixin, OutputKernelMixin)
]


@pytest.mark.parametrize("cls", BOTH_KERNELS)
def test_4_two_kernels_are_told_apart_by_name(cls):
    "Nobody sets the input kernel where they meant that of the outputs."
    parameters = inspect.signature(cls).parameters
    for name in ("input_kernel", "output_kernel"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(TypeError, match="positional"):
        cls(5, "tanimoto")


def test_4_there_are_such_estimators():
    assert len(BOTH_KERNELS) >= 9


def mixed_table(n=60):
    frame = pd.DataFrame(RNG.standard_normal((n, 2)), columns=["a", "b"])
    frame["kind"] = RNG.choice(["x", "y", "z"], n)
    frame["size"] = RNG.choice(["s", "l"], n)
    return frame, np.where((frame.a > 0) ^ (frame.kind == "x"), "yes", "no")


@pytest.mark.filterwarnings("error::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("cls", [TwoStageMKL, UniformMKL, KernelCombiner])
def test_1_dirac_takes_a_list_of_columns(cls):
    "A list of one is that column, and of several columns the rows are compared."
    X, y = mixed_table()
    options = {} if cls is KernelCombiner else {"C": 1.0}

    def gram(columns, table=X):
        model = cls([("dirac", columns), ("rbf", ["a", "b"])], **options)
        answer = "transform" if cls is KernelCombiner else "decision_function"
        return getattr(model.fit(table, y), answer)(table[10:20])

    assert_array_equal(gram(["kind"]), gram("kind"))
    both = X.assign(both=X["kind"] + X["size"])
    names = ["a", "b", "both"]
    assert_array_equal(gram(["kind", "size"]), gram("both", both[names]))


def test_12_kernels_have_names_and_selectors_as_in_a_column_transformer():
    X, y = mixed_table()
    numbers = make_column_selector(dtype_include=float)
    kernels = [
        ("kinds", "dirac", ["kind"]),
        ("numbers", "rbf", numbers),
        ("linear", ["a", "b"]),
        ("linear", ["b"]),
    ]
    table = X[["a", "b", "kind"]]
    model = KernelCombiner(kernels, lam=0.01).fit(table, y)
    assert list(model.named_weights_) == [
        "kinds",
        "numbers",
        "linear(a, b)",
        "linear(b)",
    ]
    assert_array_equal(list(model.named_weights_.values()), model.weights_)
    plain = [("dirac", "kind"), ("rbf", ["a", "b"]), *kernels[2:]]
    same = KernelCombiner(plain, lam=0.01).fit(table, y)
    assert_array_equal(same.transform(table), model.transform(table))
    frame = clone(model).set_output(transform="pandas").fit(table, y).transform(table)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert "set_output" not in dir(TwoStageMKL())  # a classifier transforms nothing
    default = UniformMKL(C=1).fit(X[["a", "b"]], y)
    assert len(default.named_weights_) == 6
    with pytest.raises(ValueError, match="'k' stands at 0 and at 1"):
        UniformMKL([("k", "rbf", ["a"]), ("k", "rbf", ["b"])]).fit(X, y)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be"):
        UniformMKL([("k", "rbf", ["a"], 3)]).fit(X, y)


@pytest.mark.parametrize("cls", [UniformMKL, TwoStageMKL, BestKernel, AlignmentMKL])
def test_13_probabilities(cls):
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    model = cls(["rbf", "linear"], C=1.0, probability=True).fit(X[:120], y[:120])
    found = model.predict_proba(X[120:])
    assert_allclose(found.sum(axis=1), 1.0)
    plain = clone(model).set_params(probability=False).fit(X[:120], y[:120])
    assert not hasattr(plain, "predict_proba")
    assert_array_equal(plain.predict(X[120:]), model.predict(X[120:]))
    assert log_loss(y[120:], found) < 0.85 * np.log(3)
    assert np.mean(model.classes_[found.argmax(axis=1)] == y[120:]) > 0.55


def test_13_weights_of_classes():
    "A weight is as good as repeating the examples of the class in the machine."
    X, y = make_classification(150, n_classes=3, n_informative=4, random_state=0)
    forest = ForestKernel(RandomForestClassifier(20, max_depth=3, random_state=0))
    weights = {0: 1.0, 1: 3.0, 2: 0.5}
    model = ForestKernelSVC(forest, C=0.01, class_weight=weights, tol=1e-8).fit(X, y)
    K = model.kernel_.gram()
    for label, dual in enumerate(model.dual_coef_):
        limit = 0.01 * np.vectorize(weights.get)(y)
        signs = np.where(y == label, 1, -1)
        assert (signs * dual <= limit * (1 + 1e-9)).all()
        machine = SVC(kernel="precomputed", tol=1e-8).fit(K, signs, limit)
        f = K @ dual + model.intercept_[label]
        assert_allclose(f, machine.decision_function(K), atol=1e-5)
    many = ForestKernelSVC(forest, C=0.01, class_weight="balanced").fit(X, y)
    rare = ForestKernelSVC(forest, C=0.01, class_weight={0: 30.0}).fit(X, y)
    assert np.mean(rare.predict(X) == 0) > np.mean(many.predict(X) == 0)
    with pytest.raises(ValueError, match="class_weight needs solver"):
        ForestKernelSVC(forest, solver="linear", class_weight="balanced").fit(X, y)


def test_3_a_subclass_of_kernel_is_not_a_kernel_by_inheritance():
    class Negative(Kernel):
        def _gram(self, A, B):
            return -np.abs(A - B.T) - 1

    X, y = RNG.standard_normal((20, 2)), RNG.standard_normal(20)
    for side in ({"output_kernel": Negative()}, {"input_kernel": Negative()}):
        with pytest.raises(ValueError, match="positive semi-definite"):
            OutputKernelRidge(**side).fit(X[:, :1], y)
