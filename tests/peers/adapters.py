"""okbook's estimators and scores under scikit-learn's names.

An adapter has the signature of its peer and the code of ours: a subclass that only
translates parameters. What okbook has not is not imitated: a test that asks for it ends
as `NotApplicable`, which says what it was.

This is also the plugin of pytest for the process in which a peer's tests run: ours take
the place of theirs before the tests are collected, and what came of each is written
down.
"""

import functools
import importlib
import inspect
import json
import os

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn import ensemble, kernel_ridge, metrics, neighbors, svm, tree
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from okbook.core import OutputKernelKNN, PairwiseKernel, pr_auc, roc_auc
from okbook.ensembles import AdaBoost, Bagging
from okbook.ensembles.adaboost import vote_probabilities
from okbook.mkl import UniformMKL
from okbook.rkhs import OutputKernelRidge
from okbook.trees import (
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
    Tree,
)
from okbook.trees.forest import out_of_bag_weights
from okbook.trees.nodes import decision_paths, node_depths, node_weights, tree_leaves

ANY = object()  # a parameter of speed, or one that a mixin below passes on
OUTCOMES = {}  # of the tests, by their names
OURS = {}  # the adapters by their packages and names
REACHED = set()  # what of ours a test has called


class NotApplicable(BaseException):
    "A test asks for what okbook has not; no `except Exception` of a test hides it."


def refuse(name, value):
    raise NotApplicable(f"{name}={value!r:.40}")


def is_same(value, other):
    "Whether two parameters say the same: 1 is a number of examples, 1.0 is all."
    return type(value) is type(other) and np.array_equal(value, other)


def adapter(theirs, ours, fixed, renamed=None, same=None):
    """A subclass of `ours` with the parameters of `theirs`, and those of ours that the
    peer has not, `fixed`. `renamed` says what ours calls a parameter, `same` which
    values of one mean what ours does always."""
    renamed, same = renamed or {}, same or {}
    peer = inspect.signature(theirs.__init__).parameters
    known = inspect.signature(ours.__init__).parameters
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in fixed.items()
    ]
    signature = inspect.Signature([*peer.values(), *more])

    def __init__(self, *args, **kwargs):
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    @functools.wraps(ours.fit)
    def fit(self, *args, **kwargs):
        REACHED.add(ours.__name__)
        for name in list(peer)[1:]:
            value = getattr(self, name)
            if is_same(value, "deprecated"):
                setattr(self, name, known[name].default)
            elif name in renamed:
                setattr(self, renamed[name], value)
            elif name not in known and same.get(name) is not ANY:
                allowed = same.get(name, (peer[name].default,))
                if not any(is_same(value, one) for one in allowed):
                    refuse(name, value)
            elif name == "oob_score" and callable(value):
                refuse(name, value)
        return ours.fit(self, *args, **kwargs)

    __init__.__signature__ = signature
    made = {"__init__": __init__, "fit": fit, "__module__": __name__}
    return type(theirs.__name__, (ours,), made)


def answers(W, model):
    "What weights of the examples say: means of numbers, or shares of classes."
    if hasattr(model, "classes_"):
        return W @ np.equal.outer(model.outputs_, model.classes_).astype(float)
    return W @ model.outputs_


class PeerTree(Tree):
    "A tree that tells what a ``tree_`` of scikit-learn tells."

    n_outputs = property(lambda self: self.value.shape[1])
    n_classes = property(lambda self: np.array([self.value.shape[2]]))
    capacity = property(lambda self: self.node_count)

    @classmethod
    def of(cls, model):
        leaf = model.tree_.feature < 0
        told = cls(*model.tree_)._replace(
            feature=np.where(leaf, -2, model.tree_.feature),
            threshold=np.where(leaf, -2.0, model.tree_.threshold),
        )
        value = answers(node_weights(told, np.arange(told.node_count)), model)
        with_classes = hasattr(model, "classes_")
        value = value if with_classes else value.reshape(told.node_count, -1)
        told.value = value[:, None] if with_classes else value[:, :, None]
        return told

    @property
    def max_depth(self):
        return node_depths(self).max()

    @property
    def n_leaves(self):
        return int((self.feature < 0).sum())

    def apply(self, X):
        return tree_leaves(self, X.toarray() if issparse(X) else X)

    def decision_path(self, X):
        return decision_paths(self, self.apply(X))


class TellLogarithms:
    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class TellStages(TellLogarithms):
    def staged_predict_proba(self, X):
        yield from map(vote_probabilities, self.staged_decision_function(X))


class TellTree(TellLogarithms):
    "Fitted trees that tell what scikit-learn's tell."

    n_classes_ = property(lambda self: len(self.classes_))

    def fit(self, X, *args, **kwargs):
        super().fit(X, *args, **kwargs)
        if getattr(self, "oob_score", False):
            trees = [member.tree_ for member in self.estimators_]
            W, _ = out_of_bag_weights(trees, X.toarray() if issparse(X) else X)
            name = "decision_function" if is_classifier(self) else "prediction"
            setattr(self, f"oob_{name}_", answers(W, self))
        for member in getattr(self, "estimators_", [self]):
            member.tree_ = PeerTree.of(member)
        return self

    def __len__(self):
        return len(self.estimators_)


class Neighbours:
    "The parameter ``weights`` of the peer has the name of a method of ours."

    def _checked_weights(self, X):
        check_is_fitted(self)
        return OutputKernelKNN.weights(self, X)


class FitKernel:
    "A kernel on the inputs with scikit-learn's parameters of it."

    def kernel_of(self, X):
        takes = {
            "rbf": ["gamma"],
            "laplacian": ["gamma"],
            "sigmoid": ["gamma", "coef0"],
        }
        takes["poly"] = takes["polynomial"] = ["gamma", "degree", "coef0"]
        if callable(self.kernel) or self.kernel == "precomputed":
            return self.kernel
        params = {name: getattr(self, name) for name in takes.get(self.kernel, [])}
        if is_same(params.get("gamma"), "scale"):
            X = X.toarray() if issparse(X) else np.asarray(X)
            params["gamma"] = 1.0 / (X.shape[1] * X.var() or 1.0)
        return PairwiseKernel(self.kernel, params)


class FitRidge(FitKernel):
    def fit(self, X, y, **kwargs):
        self.input_kernel = self.kernel_of(X)
        return super().fit(X, y, **kwargs)


class FitMachine(FitKernel, TellLogarithms):
    "The machine of one kernel, neither centred nor scaled."

    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None:
            refuse("sample_weight", sample_weight)
        kernel = self.kernel_of(X)
        self.kernels = kernel if isinstance(kernel, str) else [kernel]
        return super().fit(self.stack(X), y)

    def stack(self, X):
        if is_same(self.kernel, "precomputed"):
            return refuse("sparse", X) if issparse(X) else np.asarray(X)[:, None]
        return X

    def predict(self, X):
        return super().predict(self.stack(X))

    def decision_function(self, X):
        return super().decision_function(self.stack(X))

    # what scikit-learn's machine tells, ours holds
    support_ = property(lambda self: self.machine_.support_)
    dual_coef_ = property(lambda self: self.machine_.dual_coef_)
    intercept_ = property(lambda self: self.machine_.intercept_)
    n_support_ = property(lambda self: self.machine_.n_support_)
    n_iter_ = property(lambda self: self.machine_.n_iter_)


def put(package, name, ours, fixed, *mixins, **how):
    "Make an adapter, which can be pickled: it is a name of this module."
    made = adapter(getattr(package, name), ours, fixed, **how)
    if mixins:
        made = type(name, (*mixins, made), {"__module__": __name__})
        made.fit = functools.wraps(ours.fit)(made.fit)
    globals()[name] = OURS[package.__name__, name] = made


def score(theirs, ours):
    "A score of ours, of two classes without weights, with the signature of theirs."
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def scored(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        REACHED.add(ours.__name__)
        (_, truth), (_, scores), *others = given.arguments.items()
        for name, value in others:
            if not np.array_equal(value, signature.parameters[name].default):
                refuse(name, value)
        if np.isin(truth, [0, 1]).all() or np.isin(truth, [-1, 1]).all():
            truth = np.equal(truth, 1)
        return ours(truth, scores)

    return scored


OUTPUTS = {"output_kernel_params": None, "candidates": "support"}
CRITERIA = {"criterion": ("gini", "squared_error")}
NEIGHBOURS = dict.fromkeys(["algorithm", "leaf_size", "n_jobs"], ANY)
NEIGHBOURS["weights"] = "uniform", None
NEIGHBOURS["metric"] = "minkowski", "euclidean", "l2"
KERNEL = dict.fromkeys(["kernel", "gamma", "degree", "coef0"], ANY)
SOLVER = dict.fromkeys(["cache_size", "random_state", "shrinking", "verbose"], ANY)
RIDGE = {"lam": 1.0, "center": False, "input_kernel": None, "input_kernel_params": None}
MACHINE = {"kernels": None, "center": False, "scale": False, "cv": 3, "scoring": None}

for kind, kernel in (("Classifier", "dirac"), ("Regressor", "linear")):
    fixed = {**OUTPUTS, "output_kernel": kernel}
    how = {"same": NEIGHBOURS}
    knn = {**fixed, "input_kernel": None, "input_kernel_params": None}
    put(neighbors, "KNeighbors" + kind, OutputKernelKNN, knn, Neighbours, **how)
    fixed["categorical_features"], how = None, {"same": CRITERIA}
    for name in "DecisionTree", "ExtraTree":
        put(tree, name + kind, OutputKernelTree, fixed, TellTree, **how)
    forest = {**fixed, "splitter": "best"}
    put(
        ensemble,
        "RandomForest" + kind,
        OutputKernelRandomForest,
        forest,
        TellTree,
        **how,
    )
    forest = {**fixed, "splitter": "random"}
    put(ensemble, "ExtraTrees" + kind, OutputKernelExtraTrees, forest, TellTree, **how)
fixed = {**OUTPUTS, "output_kernel": "linear", **RIDGE}
how = {"renamed": {"alpha": "lam"}, "same": KERNEL}
put(kernel_ridge, "KernelRidge", OutputKernelRidge, fixed, FitRidge, **how)
put(svm, "SVC", UniformMKL, MACHINE, FitMachine, same=KERNEL | SOLVER)
how = {"same": {"verbose": ANY}}
put(ensemble, "BaggingClassifier", Bagging, {}, TellLogarithms, **how)
fixed = {"form": "discrete", "resample": False}
put(ensemble, "AdaBoostClassifier", AdaBoost, fixed, TellStages)
for name, ours in (("roc_auc_score", roc_auc), ("average_precision_score", pr_auc)):
    OURS[metrics.__name__, name] = score(getattr(metrics, name), ours)


def pytest_configure(config):
    "Put ours in the place of theirs, for modules that are imported from now on."
    for (package, name), made in OURS.items():
        if package in os.environ["PEERS_PACKAGES"].split():
            setattr(importlib.import_module(package), name, made)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "setup":
        REACHED.clear()
    if call.when == "call" or report.failed:
        OUTCOMES[item.name] = outcome(call.excinfo)
    return report


def outcome(error):
    "What a test says of okbook."
    if error is None or error.errisinstance(pytest.skip.Exception):
        return "passed" if REACHED and error is None else "elsewhere"
    if error.errisinstance(NotApplicable):
        return f"lacks {error.value}"
    return f"failed {error.exconly()}"


def pytest_sessionfinish(session):
    with open(os.environ["PEERS_OUTCOMES"], "w", encoding="utf-8") as file:
        json.dump(OUTCOMES, file)
