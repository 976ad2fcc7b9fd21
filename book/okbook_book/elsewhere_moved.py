"""Move the inputs of all experiments by one unit in the last place: `install`, from the
``sitecustomize`` of a process.

Inputs are the arrays that `okbook.datasets` and `sklearn.datasets` load or make, and
what a generator of NumPy draws from a continuous distribution. Whether a number goes up
or down depends on its value only: what was equal stays equal, a symmetric matrix
symmetric. Zero, which has no last place to speak of, stays zero, and so do the codes of
the categorical columns of `okbook.datasets.load_uci`, which are names.
"""

import copy
import functools
import importlib.abc
import sys
import types

import numpy as np
from scipy import sparse

DRAWS = (
    *(
        "random",
        "uniform",
        "normal",
        "standard_normal",
        "multivariate_normal",
        "beta",
        "gamma",
        "standard_gamma",
    ),
    *(
        "exponential",
        "standard_exponential",
        "chisquare",
        "dirichlet",
        "laplace",
        "standard_t",
        "lognormal",
    ),
)


def moved(value):
    """The same with each of its floating-point numbers moved, inside containers too;
    what is no number is left alone."""
    if isinstance(value, float | np.floating):
        return type(value)(_moved(np.array([value]))[0])
    if isinstance(value, np.ndarray):
        return _moved(value) if value.dtype in (np.float32, np.float64) else value
    if sparse.issparse(value):
        value = value.copy()
        value.data = moved(value.data)
        return value
    if isinstance(value, dict):
        new = copy.copy(value)  # a Bunch stays a Bunch
        new.update((key, moved(entry)) for key, entry in value.items())
        if "categories" in value:
            codes = [name in value["categories"] for name in value["feature_names"]]
            new["data"][:, codes] = value["data"][:, codes]
        return new
    if type(value) in (list, tuple):
        return type(value)(map(moved, value))
    return value


def _moved(array):
    bits = (
        np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").astype(np.uint64)
    )
    up = (bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(
        63
    ) == 1  # a multiplicative hash: its leading bit
    return np.where(
        array == 0,
        array,
        np.nextafter(array, np.where(up, np.inf, -np.inf).astype(array.dtype)),
    )


class Generator(np.random.Generator):
    "NumPy's, with moved draws."

    def __reduce__(self):
        return Generator, (self.bit_generator,)

    def spawn(self, n_children):
        return [Generator(child.bit_generator) for child in super().spawn(n_children)]


def _draw(name):
    draw = getattr(np.random.Generator, name)
    return functools.wraps(draw)(
        lambda self, *args, **kwargs: moved(draw(self, *args, **kwargs))
    )


for _name in DRAWS:
    setattr(Generator, _name, _draw(_name))


def default_rng(seed=None):
    "NumPy's, but its draws are moved."
    if isinstance(seed, Generator):
        return seed
    return Generator(_default_rng(seed).bit_generator)


_default_rng = np.random.default_rng


def _loader(load):
    @functools.wraps(load)
    def wrapper(*args, **kwargs):
        found = load(*args, **kwargs)
        # okbook.datasets compares what it reads with its registry, and is wrapped
        # itself
        return (
            found
            if sys._getframe(1).f_globals.get("__name__") == "okbook.datasets"
            else moved(found)
        )

    return wrapper


def wrap(module):
    "Wrap all that a module loads or makes."
    for name, function in list(vars(module).items()):
        if name.startswith(("load_", "make_", "fetch_")) and isinstance(
            function, types.FunctionType
        ):
            setattr(module, name, _loader(function))


class Finder(importlib.abc.MetaPathFinder):
    "Wraps the modules that provide inputs when they are imported."

    def find_spec(self, name, path, target=None):
        if name not in ("okbook.datasets", "sklearn.datasets"):
            return None
        specs = (
            finder.find_spec(name, path, target)
            for finder in sys.meta_path
            if finder is not self
        )
        spec = next(filter(None, specs), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                wrap(module)

            spec.loader.exec_module = exec_module
        return spec


def install():
    np.random.default_rng = default_rng
    sys.meta_path.insert(0, Finder())
