"""Every parameter of every estimator, given every wrong value, is refused by name.

What is wrong follows from the declaration of a parameter: a value that satisfies none
of its constraints. What a declaration cannot say (what a dictionary of kernel
parameters or a grid may hold) stands in tables here. Whatever a declaration allows must
be accepted, or refused by name: there is no raw error from inside, no warning of a
floating-point error, and no result that is not finite.
"""

import importlib
import inspect
import pkgutil
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    generate_valid_param,
    make_constraint,
)

import okbook
from okbook.core import FeatureKernel, GramKernel, Kernel, ObjectKernel, RBFKernel
from okbook.forest_kernel import ForestKernel
from okbook.rkhs import OutputKernelRidge, SemiSupervisedOutputKernelRidge

# ---------------------------------------------------------------- the estimators


def estimators():
    """All public estimators: classes with ``fit`` of all modules, each once."""
    for info in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", []):
            cls = getattr(module, name)
            if (
                inspect.isclass(cls)
                and issubclass(cls, BaseEstimator)
                and hasattr(cls, "fit")
                and cls.__module__ == info.name
                and cls not in (Kernel, ObjectKernel, FeatureKernel)  # abstract
            ):
                yield cls


# where scikit-learn's validate_params keeps what it was given
CONSTRAINTS = "_skl_parameter_constraints"
ESTIMATORS = {cls.__name__: cls for cls in estimators()}

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(16, 3))
LABELS = np.tile(["a", "b"], 8)
NUMBERS = np.column_stack([X[:, 0] + X[:, 1], X[:, 2]])
NEAR = np.linalg.norm(X[:, None] - X[None], axis=2)
LINKS = (NEAR < np.median(NEAR)).astype(float) - np.eye(16)

# what kernels on other things than vectors are tried on
OBJECTS = {
    **dict.fromkeys(
        ("DiracKernel", "CachedKernel", "SpectrumKernel", "SubsequenceKernel"), LABELS
    ),
    **dict.fromkeys(("AutoKernel", "JaccardKernel"), [{"a"}, {"b"}] * 8),
    "WeisfeilerLehmanKernel": [LINKS, LINKS[:8, :8]],
    "GlobalAlignmentKernel": [NUMBERS[:5], NUMBERS[:8]],
}

SMALL_FOREST = RandomForestClassifier(3, random_state=0)

# what makes a fit small
CHEAP = {
    "n_estimators": 3,
    "max_iter": 20,
    "cv": 2,
    "n_neighbors": 3,
    "n_components": 2,
    "lam_grid": [0.1, 1.0],
    "lam2_grid": [0.0, 0.1],
    "beta_grid": [1.0],
    "shrinkage_grid": [0.1, 0.5],
    "random_state": 0,
    "solver": "newton",
}
# what a class needs besides, so that each of its parameters is looked at
NEEDED = {
    "GramKernel": {"K": np.eye(16)},
    "WeightedRBFKernel": {"column_weights": [1.0, 0.5, 0.0]},
    "DiffusionKernel": {"adjacency": LINKS},
    "SimilarityKernel": {"similarity": "linear"},
    "CachedKernel": {"kernel": "spectrum", "objects": ["a", "b"]},
    "FunctionKernel": {"func": lambda A, B: np.ones((len(A), len(B)))},
    "ForestKernel": {"forest": SMALL_FOREST},
    "ForestKernelSVC": {
        "C": [1.0, 10.0],
        "kernel": ForestKernel(SMALL_FOREST),
        "solver": "auto",
    },
    "BipartiteRidge": {"columns": X[:3]},
    "BipartiteRidgeCV": {"columns": X[:3], "leave_out": "both"},
    "KernelCombiner": {"kernels": ["linear", "rbf"]},
    "UniformMKL": {"C": [1.0, 10.0], "kernels": ["linear", "rbf"]},
    "BestKernel": {"C": [1.0, 10.0], "kernels": ["linear", "rbf"]},
    "AlignmentMKL": {"C": [1.0, 10.0], "kernels": ["linear", "rbf"]},
    "TwoStageMKL": {
        "C": [1.0, 10.0],
        "kernels": ["linear", "rbf"],
        "lam": [0.1, 0.01],
        "solver": None,
    },
    "OutputKernelBoosting": {"n_iter_no_change": 2, "validation_fraction": 0.3},
}


def is_link_method(cls):
    return hasattr(cls, "score_pairs")


def make(cls, **params):
    """An estimator that is quick to fit."""
    accepted = inspect.signature(cls).parameters
    own = {**CHEAP, **NEEDED.get(cls.__name__, {})}
    own = {k: v for k, v in own.items() if k in accepted and v is not None}
    return cls(**{**own, **params})


def use(model):
    """Fit an estimator and ask it for all that it predicts; a list of arrays."""
    cls = type(model)
    if issubclass(cls, Kernel):
        if cls.__name__ in ("GramKernel", "DiffusionKernel"):
            Y = np.arange(16)
        else:
            Y = OBJECTS.get(cls.__name__, X)
        model = model.fit(X, LABELS) if cls is ForestKernel else model.fit(Y)
        return [model.gram(Y), model.diag(Y)]
    if is_link_method(cls):
        y = np.arange(16) if getattr(model, "graph", None) is not None else LINKS
        model.fit(X, y, np.arange(16))
        return [model.score_pairs(), *([model.predict()] * hasattr(model, "predict"))]
    if hasattr(cls, "predict_gram"):
        kernel = model.output_kernel
        y = NUMBERS
        if isinstance(kernel, str) and kernel == "dirac":
            y = LABELS
        if isinstance(kernel, str) and kernel in ("precomputed", "diffusion"):
            y = np.eye(16)
        if isinstance(kernel, GramKernel):
            y = np.arange(16)
        model.fit(X, y)
        if model.kernel_ is None:
            return [model.predict_gram(X), model.decode(X)]
        return [model.predict_gram(X), model.predict(X)]
    inputs = X
    if isinstance(getattr(model, "kernels", None), str):
        inputs = np.eye(16)[:, None] * np.ones((1, 2, 1))
    numeric = hasattr(cls, "task_gram") or "MultiTask" in cls.__name__
    bipartite = cls.__name__.startswith("Bipartite")
    model.fit(inputs, X if bipartite else NUMBERS if numeric else LABELS)
    methods = ("predict", "transform", "decision_function", "gram")
    found = []
    for name in methods:
        if hasattr(model, name):
            found.append(getattr(model, name)(inputs))
    assert found, f"{cls.__name__} has nothing to ask for"
    return found


# ---------------------------------------------------------------- the values


class Unknown:
    """An object of no known type."""


def a_function():
    """A function without arguments."""


# what anyone may give to any parameter
VALUES = {
    "an object": Unknown(),
    "a class": Unknown,
    "a function": a_function,
    "None": None,
    "an empty dict": {},
    "a misspelt key": {"sgma": 1.0},
    "a string": "no such value",
    "an empty string": "",
    "bytes": b"rbf",
    "a number as a string": "1",
    "nan": np.nan,
    "nan in single precision": np.float32("nan"),
    "inf": np.inf,
    "-inf": -np.inf,
    "1e308": 1e308,
    "5e-324": 5e-324,
    "-1": -1,
    "-0.5": -0.5,
    "zero": 0,
    "0.0": 0.0,
    "2.5": 2.5,
    "a complex number": 1j,
    "a boolean": True,
    "a list of strings": ["a", "b"],
    "an empty list": [],
    "an empty array": np.empty(0),
    "an empty matrix": np.empty((0, 3)),
    "a ragged list": [[1.0], [1.0, 2.0]],
    "a list of None": [None, 1.0],
    "a list of objects": [Unknown()],
    "a grid with nan": [1.0, np.nan],
    "a grid with inf": [1.0, np.inf],
    "a grid with a negative value": [1.0, -1.0],
    "a grid with strings": [1.0, "a"],
    "a grid with 1e308": [1.0, 1e308],
    "a grid with 5e-324": [1.0, 5e-324],
    "a grid in two dimensions": [[0.5, 1.0], [0.5, 1.0]],
    "a matrix with nan": np.full((16, 16), np.nan),
    "an asymmetric matrix": np.triu(np.ones((16, 16))),
    "a set": {1.0, 2.0},
    "a tuple of two": (1.0, 2.0),
    "a slice": slice(3),
    "a generator": (i for i in range(3)),
}

# what is wrong though the types of a declaration allow it
BAD_GRIDS = {
    "an empty list",
    "an empty array",
    "an empty matrix",
    "a ragged list",
    "a list of None",
    "a list of objects",
    "a list of strings",
    "a grid with nan",
    "a grid with inf",
    "a grid with a negative value",
    "a grid with strings",
    "a grid in two dimensions",
    "a matrix with nan",
    "an asymmetric matrix",
}
BAD_MATRICES = BAD_GRIDS | {"a tuple of two"}
BAD_STRINGS = {"a string", "an empty string", "a number as a string"}


def no_arguments():
    """A kernel that takes no outputs."""


class NotAnEstimator:
    """The methods of many estimators, but not their parameters."""

    def fit(self, X, y=None, sample_weight=None):
        raise AssertionError("not to be fitted")

    predict = weights = gram = transform = split = fit


BAD_KERNELS = {
    "a class of kernels": (RBFKernel, ""),
    "a function": (a_function, ""),
    "a kernel of another shape": (lambda A, B: np.ones(3), "shape"),
    "a kernel of nan": (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
    "a kernel of strings": (lambda A, B: "abc", "kernel"),
    "a kernel with a negative width": (RBFKernel(sigma=-1.0), "sigma"),
    "a kernel with a width of nan": (RBFKernel(sigma=np.nan), "sigma"),
}
# a kernel, parameters that are wrong for it, and what the message must name
BAD_KERNEL_PARAMS = {
    "a misspelt key": ("rbf", {"sgma": 1.0}, "sgma"),
    "a key that is no name": ("rbf", {1: 2.0}, "1"),
    "a negative value": ("rbf", {"sigma": -1.0}, "sigma"),
    "a value of nan": ("rbf", {"sigma": np.nan}, "sigma"),
    "a value of inf": ("rbf", {"gamma": np.inf}, "gamma"),
    "a string for a number": ("rbf", {"sigma": "wide"}, "sigma"),
    "two of one thing": ("rbf", {"sigma": 1.0, "gamma": 1.0}, "sigma"),
    "a float for an int": ("polynomial", {"degree": 2.5}, "degree"),
    "a key where there is none": ("linear", {"sigma": 1.0}, "sigma"),
    "a key of another kernel": ("tanimoto", {"degree": 2}, "degree"),
    "a misspelt key of scikit-learn's": ("laplacian", {"gama": 1.0}, "gama"),
    "nan for scikit-learn's": ("laplacian", {"gamma": np.nan}, "gamma"),
    "a string for scikit-learn's": ("laplacian", {"gamma": "a"}, "gamma"),
    "the data for scikit-learn's": ("laplacian", {"Y": 1.0}, "'Y'"),
    "a misspelt key of a function": (lambda A, B, c=1.0: A @ B.T, {"d": 1.0}, "'d'"),
    "a key of a kernel object": (RBFKernel(1.0), {"sigma": 1.0}, "sigma"),
    "a key of precomputed": ("precomputed", {"sigma": 1.0}, "sigma"),
    "a misspelt key of diffusion": ("diffusion", {"sgma": 1.0}, "sgma"),
    "nan for diffusion": ("diffusion", {"beta": np.nan}, "beta"),
}
# parameters that hold an estimator: what is wrong, and what the message must name
BAD_ESTIMATORS = {
    "a class of estimators": (DecisionTreeClassifier, ""),
    "the class that is wanted": (OutputKernelRidge, ""),
    "a class of kernels": (ForestKernel, ""),
    "a support vector machine": (SVC(C=-1.0), ("estimator", "kernel", "C")),
    "methods but no parameters": (NotAnEstimator(), ""),
    "an estimator with a negative parameter": (
        OutputKernelRidge(lam=-1.0),
        ("lam", "learner", "kernel", "forest"),
    ),
    "a forest kernel with nan": (
        ForestKernel(n_jobs=np.nan),
        ("n_jobs", "estimator", "forest"),
    ),
    "a smoother with nan": (
        SemiSupervisedOutputKernelRidge(lam2=np.nan),
        ("lam2", "learner", "kernel", "forest"),
    ),
}
ESTIMATOR_PARAMS = {"estimator", "forest", "kernel"}


def is_kernel(name):
    return name in ("input_kernel", "output_kernel", "kernels")


def is_grid(cls, name):
    several = cls.__name__ in ("ForestKernelSVC", "TwoStageMKL") or "MKL" in (
        cls.__name__ + cls.__module__.rpartition(".")[0].rpartition(".")[2].upper()
    )
    return name.endswith("_grid") or (name in ("C", "lam") and several)


def is_declared(cls, name, value):
    """Whether a value satisfies the declaration of a parameter."""
    constraints = cls._parameter_constraints.get(name, "no_validation")
    if isinstance(constraints, str):
        return True
    constraints = [make_constraint(constraint) for constraint in constraints]
    return any(constraint.is_satisfied_by(value) for constraint in constraints)


def wrong_contents(cls, name):
    """Values whose types are right and whose contents are wrong: a label, the
    parameters, and what the message must name."""
    if is_grid(cls, name):
        for label in sorted(BAD_GRIDS):
            yield label, {name: VALUES[label]}, name
    if name in ("graph", "task_gram", "tree_weights", "K", "adjacency"):
        for label in sorted(BAD_MATRICES):
            yield label, {name: VALUES[label]}, name
    if name == "candidates":
        for label in ("an empty list", "an empty array", "a list of objects"):
            yield label, {name: VALUES[label]}, name
        yield "candidates with nan", {name: [[1.0, np.nan]]}, name
    if is_kernel(name):
        listed = name == "kernels"
        for label, (kernel, word) in BAD_KERNELS.items():
            yield label, {name: [kernel] if listed else kernel}, word or name
        for label in BAD_STRINGS:
            yield label, {name: [VALUES[label]] if listed else VALUES[label]}, name
    if name == "kernels":
        yield "a kernel on no column", {name: [("rbf", [])]}, name
        yield "a kernel on an unknown column", {name: [("rbf", [7])]}, name
        yield "a kernel on a named column", {name: [("rbf", ["height"])]}, name
        yield "a tuple of three", {name: [("rbf", [0], 1)]}, name
        yield "an empty tuple", {name: [()]}, name
        for label in ("nan", "zero", "None", "an object", "an empty dict", "a set"):
            yield f"a list of {label}", {name: [VALUES[label]]}, name
    if name.endswith("kernel_params"):
        for label, (kernel, params, word) in BAD_KERNEL_PARAMS.items():
            if name == "kernel_params":  # those of a single kernel
                given = {name: params}
                if "key" not in label or cls.__name__ != "FunctionKernel":
                    continue
            else:
                given = {name.removesuffix("_params"): kernel, name: params}
                if name.startswith("input") and kernel == "diffusion":
                    continue
                if name.startswith("column") and kernel in ("diffusion", "precomputed"):
                    continue
                if is_link_method(cls) and kernel == "precomputed":
                    given = {**given}
            yield label, given, word
    if name in ESTIMATOR_PARAMS:
        for label, (value, word) in BAD_ESTIMATORS.items():
            yield label, {name: value}, word or name


def cases(cls):
    """A parameter, a label of the value, the parameters to set, whether they must be
    refused, and what the message must then name."""
    for name in inspect.signature(cls).parameters:
        bad = {}
        for label, params, word in wrong_contents(cls, name):
            bad[label] = params, word
        for label, value in VALUES.items():
            if label not in bad:
                wrong = not is_declared(cls, name, value)
                yield name, label, {name: value}, wrong, name
        for label, (params, word) in bad.items():
            yield name, label, params, True, word


def is_finite(found):
    """Whether an answer holds no nan and no infinity."""
    found = np.asarray(found)
    return found.dtype.kind not in "fc" or bool(np.isfinite(found).all())


def outcome(cls, params, word):
    """What becomes of an estimator with these parameters."""
    with warnings.catch_warnings(), joblib.parallel_config(backend="sequential"):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = use(make(cls, **params))
        except np.linalg.LinAlgError as error:  # which is a ValueError
            return "raw", f"{type(error).__name__}: {error}"
        except (ValueError, TypeError) as error:
            text = f"{type(error).__name__}: {error}"
            words = word if isinstance(word, tuple) else (word,)
            named = any(word in str(error) for word in words)
            return ("refused" if named else "nameless"), text
        except Exception as error:
            return "raw", f"{type(error).__name__}: {error}"
    if not all(map(is_finite, found)):
        return "not finite", ""
    return "accepted", ""


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """LIBSVM stops early, where it would not converge at all."""
    for module in ("okbook.forest_kernel.hyperplanes", "okbook.mkl.machines"):
        monkeypatch.setattr(f"{module}._MAX_STEPS", 1000)


def survey(cls):
    """All that is not as it should be."""
    for name, label, params, wrong, word in cases(cls):
        what, text = outcome(cls, params, word)
        good = what == "refused" or (what == "accepted" and not wrong)
        yield good, name, label, what, wrong, text


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_wrong_value_is_refused_by_name(name):
    found = [
        f"{parameter} = {label}: {what}. {text}"
        for good, parameter, label, what, _, text in survey(ESTIMATORS[name])
        if not good
    ]
    assert not found, "\n".join([f"{len(found)} of {name}:", *found])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_declared(name):
    cls = ESTIMATORS[name]
    declared = getattr(cls, "_parameter_constraints", {})
    assert set(declared) == set(inspect.signature(cls).parameters)
    assert not [k for k, v in declared.items() if isinstance(v, str)]


def valid_values(cls, name):
    """Of each constraint of a parameter the valid values that can be listed: options,
    an inner value of an interval and its closed ends, None, both booleans."""
    for constraint in map(make_constraint, cls._parameter_constraints[name]):
        if isinstance(constraint, StrOptions):
            shared = (
                name == "scoring" and cls.__name__ != "UniformMKL"
            )  # by four machines
            yield from sorted(constraint.options)[: 3 if shared else None]
        elif isinstance(constraint, Interval):
            yield generate_valid_param(constraint)
            ends = {"left": constraint.left, "right": constraint.right}
            for end, value in ends.items():
                if constraint.closed in (end, "both") and value is not None:
                    yield value
        elif constraint.is_satisfied_by(None):
            yield None
        elif constraint.is_satisfied_by(True) and not constraint.is_satisfied_by(2):
            yield from (True, False)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_declared_value_is_accepted(name):
    """An end of an interval that is refused must be refused for what it means here
    (more neighbours than examples), never for what the parameter may be."""
    cls, found = ESTIMATORS[name], []
    for parameter in inspect.signature(cls).parameters:
        for value in valid_values(cls, parameter):
            what, text = outcome(cls, {parameter: value}, parameter)
            refused = what == "refused" and "parameter of" not in text
            if not (what == "accepted" or refused):
                found.append(f"{parameter}={value!r}: {what}. {text}")
    assert not found, "\n".join([name, *found])


# ---------------------------------------------------------------- the functions


def functions():
    """All public functions that declare parameters."""
    for info in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", []):
            func = getattr(module, name)
            if inspect.isfunction(func) and func.__module__ == info.name:
                yield f"{info.name.removeprefix('okbook.')}.{name}", func


FUNCTIONS = dict(functions())
DECLARED = {k: f for k, f in FUNCTIONS.items() if hasattr(f, CONSTRAINTS)}


def a_valid_value(constraints):
    for constraint in map(make_constraint, constraints):
        if isinstance(constraint, StrOptions | Interval):
            value = generate_valid_param(constraint)
            unbounded = not constraint.is_satisfied_by(value)  # an end at infinity
            return constraint.left + 1 if unbounded else value
        for value in (None, True, 0, [1.0], (), {}, "a", len):
            if constraint.is_satisfied_by(value):
                return value
    raise NotImplementedError(constraints)


@pytest.mark.parametrize("name", DECLARED)
def test_functions_refuse_wrong_values_by_name(name):
    """Before they look at the data, which are None here."""
    func = DECLARED[name]
    declared, found = getattr(func, CONSTRAINTS), []
    names = [k for k in inspect.signature(func).parameters if k in declared]
    assert set(names) == set(declared)
    signature = inspect.signature(func).parameters.values()
    data = {
        p.name: None
        for p in signature
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    valid = {k: a_valid_value(declared[k]) for k in names}
    for parameter in names:
        constraints = [make_constraint(c) for c in declared[parameter]]
        for label, value in VALUES.items():
            if any(c.is_satisfied_by(value) for c in constraints):
                continue
            try:
                func(**{**data, **valid, parameter: value})
            except InvalidParameterError as error:
                if repr(parameter) in str(error):
                    continue
                found.append(f"{parameter} = {label}: {error}")
            except Exception as error:
                found.append(f"{parameter} = {label}: {type(error).__name__} {error}")
            else:
                found.append(f"{parameter} = {label}: accepted")
    assert not found, "\n".join([name, *found])


# numbers and switches that are no part of the data
SCALARS = {
    *("lam", "lam2", "C", "tol", "bias", "rho", "delta", "theta", "confidence"),
    *("max_iter", "max_steps", "max_rank", "n_steps", "max_exact", "epochs"),
    *("batch_size", "max_epochs", "n_values", "n_vectors", "n_components", "n_draws"),
    *("n_repeats", "test_size", "stratify", "normalized", "return_norms", "balanced"),
    *("trapezoid", "shrinkage", "ccp_alpha", "random_state", "normalize", "method"),
}
# functions that leave such a parameter to what they call
CHECKED_INSIDE = {
    ("rkhs.folds.node_folds", "random_state"): "KFold",
    ("rkhs.folds.pair_folds", "random_state"): "KFold",
    ("ensembles.bagging.bootstrap_sample", "random_state"): "check_random_state",
    ("rkhs.ridge.ridge_factor", "lam"): "check_penalty",
    ("rkhs.operators.operator_ridge", "lam"): "check_penalty",
    ("mkl.duality.certificate", "lam"): "dual_value",
    ("mkl.duality.duality_gap", "lam"): "dual_value",
    ("mkl.pairs.nonnegative_quadratic", "max_steps"): "a step of solve_newton",
    ("mkl.solvers.smoothed_hinge", "delta"): "a step of solve_newton",
    ("mkl.solvers.smoothed_dual", "delta"): "a step of solve_newton",
    ("mkl.duality.warn_of_gap", "tol"): "its callers have declared it",
    ("mkl.solvers.smoothed_hessian", "delta"): "a step of solve_newton",
    ("mkl.solvers.secant_search", "max_steps"): "a step of solve_newton",
    ("mkl.solvers.next_width", "delta"): "a step of solve_newton",
    ("mkl.solvers.next_width", "tol"): "a step of solve_newton",
}


def test_scalars_of_functions_are_declared():
    lacking = []
    for name, func in FUNCTIONS.items():
        if name.startswith(("labs.", "tables.", "datasets", "drawing", "cli")):
            continue
        for parameter in SCALARS & set(inspect.signature(func).parameters):
            declared = parameter in getattr(func, CONSTRAINTS, {})
            if not declared and (name, parameter) not in CHECKED_INSIDE:
                lacking.append(f"{name}({parameter})")
    assert not lacking, "\n".join(lacking)
