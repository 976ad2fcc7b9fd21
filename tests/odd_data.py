"""What happens to odd data: calls taken from the examples of the docstrings, with one
array replaced by an odd one at a time.

Each public docstring has an example that runs. While it runs, the calls of public
functions and methods are recorded with their arguments, and the fitted estimators are
asked for everything else they can do with the same data. Each recorded call is valid;
each array in it is then replaced by every variant below, and the outcome is judged.
"""

import copy
import doctest
import functools
import importlib
import inspect
import io
import itertools
import linecache
import os
import pkgutil
import tempfile
import warnings
import zlib
from contextlib import redirect_stdout

import numba
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import okbook

ROOMS = ("core", "trees", "rkhs", "forest_kernel", "mkl", "ensembles")
PACKAGES = tuple(f"okbook.{room}." for room in ROOMS)
HOT = numba.core.dispatcher.Dispatcher  # loops that take what others have checked
COMPILED = {
    okbook.core.rounding.sum_rounding
}  # is compiled into such loops by its name


FOLDER = tempfile.TemporaryDirectory()


# The calls


def lasting(value):
    """A file in the folder of an example that is over, in one that lasts."""
    if isinstance(value, str) and os.path.dirname(value) and len(value) < 200:
        return os.path.join(FOLDER.name, os.path.basename(value))
    return value


class Call:
    """A valid call: a function, or a method with its owner as it was before."""

    def __init__(self, name, function, args, kwargs):
        self.name, self.function = name, function
        self.args, self.kwargs = [*map(lasting, args)], kwargs

    def places(self):
        """Where its arrays are: keys of `args` or `kwargs`, with the index inside a
        list of arrays, or None."""
        start = 1 if "." in self.name else 0
        for key, value in [*enumerate(self.args), *self.kwargs.items()]:
            if not (isinstance(key, int) and key < start):
                if is_array(value):
                    yield key, None
                elif type(value) in (list, tuple) and value and is_array(value[0]):
                    yield key, 0

    def argument(self, key):
        """The name of the argument at a place."""
        names = list(inspect.signature(self.function).parameters)
        return key if isinstance(key, str) else names[min(key, len(names) - 1)]

    def at(self, place):
        """The array at a place."""
        key, index = place
        value = (self.kwargs if isinstance(key, str) else self.args)[key]
        return value if index is None else value[index]

    def run(self, place=None, value=None):
        """The result, with the array at a place replaced, and all arguments after."""
        args, kwargs = copy.deepcopy((list(self.args), self.kwargs))
        np.random.seed(0)  # noqa: NPY002
        if place is not None:
            key, index = place
            into = kwargs if isinstance(key, str) else args
            if index is None:
                into[key] = value
            else:
                items = [*into[key]]
                items[index] = value
                into[key] = type(into[key])(items)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with redirect_stdout(io.StringIO()):
                result = self.function(*args, **kwargs)
                if inspect.isgenerator(result):
                    result = list(result)
        rough = [w for w in caught if issubclass(w.category, RuntimeWarning)]
        return result, [str(w.message) for w in rough], (args, kwargs)


def is_array(value):
    """Whether a value is an array, or a list that becomes one."""
    if sp.issparse(value) or isinstance(value, pd.DataFrame):
        return True
    if isinstance(value, list) and value:
        try:
            value = np.asarray(value)
        except ValueError:
            return False
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype != object


def modules():
    """The public modules of the rooms."""
    for info in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if info.name.startswith(PACKAGES):
            yield importlib.import_module(info.name)


def public_objects():
    """The public functions and classes of the rooms, by their dotted names."""
    for module in modules():
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if callable(value) and value.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", value


def public_methods(owner):
    """Names of the public methods that a class has from this package."""
    for base in owner.__mro__:
        if base.__module__.startswith("okbook"):
            for name, value in vars(base).items():
                if inspect.isfunction(value) and not name.startswith("_"):
                    yield base, name, value


class Recorder:
    """Wraps all public functions and methods, and keeps the outermost calls."""

    def __init__(self):
        self.depth, self.calls, self.undo = 0, [], []

    def wrap(self, name, function):
        @functools.wraps(function)
        def recorded(*args, **kwargs):
            if self.depth == 0:
                try:
                    kept = copy.deepcopy((args, kwargs))
                except Exception:
                    kept = None
            self.depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self.depth -= 1
            if self.depth == 0 and kept is not None:
                owner = f"{type(args[0]).__name__}." if "." in name else ""
                last = owner + name.rpartition(".")[2]
                self.calls.append(Call(last, function, *kept))
            return result

        return recorded

    def __enter__(self):
        everywhere = [
            m
            for n, m in sorted(__import__("sys").modules.items())
            if n.startswith("okbook.") and hasattr(m, "__all__")
        ]
        seen = set()
        for dotted, value in public_objects():
            if inspect.isclass(value):
                for base, name, function in public_methods(value):
                    if (base, name) not in seen:
                        seen.add((base, name))
                        self.undo.append((base, name, function))
                        setattr(
                            base, name, self.wrap(f"{base.__name__}.{name}", function)
                        )
            elif inspect.isfunction(value) and value not in COMPILED:
                new = self.wrap(dotted.rpartition(".")[2], value)
                for module in everywhere:
                    for name, other in list(vars(module).items()):
                        if other is value and name == value.__name__:
                            self.undo.append((module, name, value))
                            setattr(module, name, new)
        return self

    def __exit__(self, *_):
        for owner, name, value in reversed(self.undo):
            setattr(owner, name, value)


def examples():
    """The examples of all public docstrings."""
    finder, seen = doctest.DocTestFinder(recurse=False), set()
    for dotted, value in public_objects():
        members = [value]
        if inspect.isclass(value):
            members += [f for _, _, f in public_methods(value)]
        for member in members:
            if member.__doc__ and ">>>" in member.__doc__ and id(member) not in seen:
                seen.add(id(member))
                for test in finder.find(member, dotted, globs={}, module=False):
                    yield dotted, test


SHARED = {"X", "y", "X1", "X2", "Y", "sample_weight"}


def record_calls():
    """All valid calls, by the object whose example they come from."""
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    tests = list(examples())
    with Recorder() as recorder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, test in tests:
            runner = doctest.DocTestRunner(optionflags=options)
            runner.run(test, out=lambda text: None)
    calls = {}
    for call in recorder.calls:
        calls.setdefault(key_of(call), call)
        if call.name.endswith(".fit") and isinstance(call.args[0], BaseEstimator):
            for further in asked(call):
                calls.setdefault(key_of(further), further)
    return calls


def key_of(call):
    """Name and shapes, so that equal calls are made once."""
    kinds = [str(call.argument(key)) for key, _ in call.places()]
    if "." in call.name:
        model = call.args[0]
        kinds.append(str(getattr(model, "output_kernel", ""))[:20])
    return (call.name, *kinds)


def asked(fit):
    """What a fitted estimator can be asked for with the data of its fit."""
    try:
        model = copy.deepcopy(fit.args[0])
        bound = inspect.signature(fit.function).bind(model, *fit.args[1:], **fit.kwargs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit.function(*bound.args, **bound.kwargs)
    except Exception:
        return
    data = {k: v for k, v in bound.arguments.items() if k in SHARED}
    seen = set()
    for _, name, function in public_methods(type(model)):
        wanted = list(inspect.signature(function).parameters.values())[1:]
        if name in seen or name in ("fit", "set_params", "get_params"):
            continue
        seen.add(name)
        needed = [p.name for p in wanted if p.default is p.empty and p.kind < 2]
        if needed and set(needed) <= {*data, "X1"} and "X" in data:
            values = [data["X" if p == "X1" else p] for p in needed]
            call = Call(
                f"{type(model).__name__}.{name}", function, (model, *values), {}
            )
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call.run()
            except Exception:
                continue
            yield call


# The variants


def dense(value):
    """A value as a float array where it holds numbers."""
    value = value.toarray() if sp.issparse(value) else np.asarray(value)
    return value.astype(float) if value.dtype.kind in "biuf" else value


def odd_numbers(A):
    """Variants of an array of numbers that may be refused."""
    one = lambda x: np.where(np.arange(A.size).reshape(A.shape) == 0, x, A)
    yield "nan", one(np.nan)
    yield "inf", one(np.inf)
    yield "-inf", one(-np.inf)
    yield "all nan", np.full(A.shape, np.nan)
    for x in (1e300, -1e300, 1e160, 1e-300):
        with np.errstate(over="ignore"):
            yield f"times {x:g}", A * x
    yield "one 1e300", one(1e300)
    yield "one -1e300", one(-1e300)
    yield "one 1e39", one(1e39)
    with np.errstate(over="ignore"):
        yield "float32 1e39", np.asarray(A * 1e39, dtype=np.float32)
        yield "float32 1e30", np.asarray(A * 1e30, dtype=np.float32)
        yield "float16", A.astype(np.float16)
    yield "constant", np.full(A.shape, A.flat[0])
    yield "zeros", np.zeros(A.shape)
    yield "bool", A > np.median(A)
    yield "complex", A + 1j
    masked = np.ma.array(A, mask=np.zeros(A.shape, bool))
    masked[(0,) * A.ndim] = np.ma.masked
    yield "masked", masked
    yield "object none", np.where(np.arange(A.size).reshape(A.shape) == 0, None, A)
    yield "words", np.full(A.shape, "word")
    yield "object words", np.full(A.shape, "word", dtype=object)
    yield from odd_shapes(A)
    if A.ndim == 2:
        yield "sparse", sp.csr_array(A)
        yield "sparse matrix", sp.csr_matrix(A)
        frame = pd.DataFrame(A, columns=[f"c{i}" for i in range(A.shape[1])])
        frame["word"] = "word"
        yield "frame of words", frame
        yield "no columns", A[:, :0]
        yield "a column more", np.c_[A, A[:, :1]]
        yield "a column less", A[:, 1:]


def odd_shapes(A):
    """Variants of any array in another shape."""
    yield "empty", A[:0]
    yield "one sample", A[:1]
    yield "longer", np.concatenate([A, A[:1]])
    yield "shorter", A[:-1]
    yield "ragged", [[1.0], [1.0, 2.0], *A.tolist()]
    yield "deeper", A[None]
    yield "a number", 1.0
    yield "None", None
    yield "a word", "word"
    yield "a dict", {"a": 1}


def same_numbers(A):
    """The same array, held otherwise: the same result, or a refusal."""
    readonly = A.copy()
    readonly.flags.writeable = False
    yield "read-only", readonly
    yield "column-major", np.asfortranarray(A)
    yield "strided", np.repeat(A, 2, axis=0)[::2]
    yield "reversed", np.ascontiguousarray(A[::-1])[::-1]
    yield "swapped bytes", A.astype(A.dtype.newbyteorder())
    if A.dtype.kind == "f":
        yield "object", A.astype(object)
        yield "list", A.tolist()
        for kind in (np.int64, np.float32):
            with np.errstate(invalid="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if (A.astype(kind) == A).all():
                    yield np.dtype(kind).name, A.astype(kind)


MUST_WORK = {"read-only", "column-major", "strided", "reversed", "swapped bytes"}


# The judgement


def numbers(value, depth=0):
    """All numbers in a result, as a list of arrays."""
    if sp.issparse(value):
        return [value.toarray()]
    if isinstance(value, (bool, np.bool_, str, bytes)) or value is None:
        return []
    if isinstance(value, (int, float, complex, np.number)):
        return [np.asarray(value)]
    if isinstance(value, pd.DataFrame):
        value = value.to_numpy()
    if isinstance(value, np.ndarray) and value.dtype == object:
        try:
            value = value.astype(float)
        except (TypeError, ValueError):
            return []
    if isinstance(value, np.ndarray):
        return [value] if value.dtype.kind in "iufc" else []
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in numbers(v, depth + 1)]
    if isinstance(value, dict):
        return [a for k in sorted(value, key=str) for a in numbers(value[k], depth + 1)]
    if depth < 4 and type(value).__module__.startswith("okbook"):
        return numbers(
            {k: v for k, v in getattr(value, "__dict__", {}).items()}, depth + 1
        )
    return []


def deliberate(error):
    """Whether an error was raised by a statement here or in scikit-learn that looked
    at the data, rather than by what happened later."""
    if not isinstance(error, (ValueError, TypeError, NotFittedError)):
        return False
    if type(error).__name__ == "LinAlgError":
        return False
    if str(error).endswith(("object is not iterable", "has no len()")):
        return True  # Python's own, and clear
    trace, frames = error.__traceback__, []
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    file, line = frames[-1]
    if any("sklearn/utils/" in f for f, _ in frames):
        return True
    if file.startswith("<doctest"):
        return True  # a function of the example, which is the caller's
    statement = linecache.getline(file, line).strip()
    return ("/okbook/" in file or "sklearn" in file) and statement.startswith("raise")


def judge(call, place, variant, value, clean=None):
    """One of `refused`, `raw`, `nan`, `warned`, `other`, `changed`, `fine`, with a
    word on it; `clean`: the result that must come out."""
    before = copy.deepcopy(value)
    try:
        result, rough, after = call.run(place, value)
    except Exception as error:
        text = f"{type(error).__name__}: {str(error)[:140]}"
        if variant in MUST_WORK:
            return "raw", f"must work: {text}"
        return ("refused" if deliberate(error) else "raw"), text
    if not same(before, value):
        return "changed", "the argument is another one afterwards"
    found = numbers(result)
    if not all(np.isfinite(a).all() for a in found):
        if not clean_is_finite(call):
            return "fine", ""
        return "nan", "the result is not finite"
    if rough:
        return "warned", rough[0]
    if clean is not None:
        expected = numbers(clean)
        close = len(found) == len(expected) and all(
            a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-7)
            for a, b in zip(found, expected)
        )
        if not close:
            return "other", "another result"
    elif variant in REFUSED:
        return "silent", "taken without a word"
    return "fine", ""


# what cannot have a meaning
REFUSED = {
    "nan",
    "inf",
    "-inf",
    "all nan",
    "masked",
    "complex",
    "ragged",
    "object none",
}


def clean_is_finite(call):
    """Whether the call gives finite numbers with its own arguments."""
    if not hasattr(call, "finite"):
        call.finite = all(np.isfinite(a).all() for a in numbers(call.run()[0]))
    return call.finite


def same(a, b):
    """Whether two arguments are the same, nan equal to nan."""
    if sp.issparse(a):
        a, b = a.toarray(), b.toarray()
    if isinstance(a, np.ma.MaskedArray):
        a, b = a.filled(0), b.filled(0)
    if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
        return np.array_equal(a, b, equal_nan=True)
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and bool(np.all(a == b))
    if isinstance(a, pd.DataFrame):
        return a.equals(b)
    return a == b


def outcomes(call, every=1):
    """Place, variant, verdict and word on it, for all variants of all arrays, or for
    every second, third and so on, from another one on for each call."""
    count = itertools.count(zlib.crc32(call.name.encode()) % every)
    for place in call.places():
        A = dense(call.at(place))
        if A.size == 0:
            continue
        if A.dtype.kind == "f":
            odd = odd_numbers(A)
        else:
            odd = [
                *odd_shapes(A),
                ("numbers", np.arange(A.size, dtype=float).reshape(A.shape)),
            ]
        for variant, value in odd:
            if next(count) % every:
                continue
            verdict, word = judge(call, place, variant, value)
            yield call.argument(place[0]), variant, verdict, word
        original = call.at(place)
        held = np.asarray(original) if not sp.issparse(original) else None
        if held is None or held.dtype.kind not in "biuf":
            continue
        try:
            clean = call.run(place, held)[0]
        except Exception as error:
            yield call.argument(place[0]), "array", "raw", f"{error}"[:100]
            continue
        for variant, value in same_numbers(held):
            if next(count) % every:
                continue
            yield (
                call.argument(place[0]),
                variant,
                *judge(call, place, variant, value, clean),
            )
