"""numpydoc lint of every public object, with the checks that pyproject.toml names."""

import importlib
import inspect
import pkgutil
import sys
import tomllib
from pathlib import Path

from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import okbook

ROOT = Path(__file__).parents[2]
CHECKS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "numpydoc_validation"
]["checks"]
IGNORED = set(CHECKS) - {"all"}


def public_objects():
    """Dotted names of the public functions, classes, methods and properties of the
    package, each once."""
    seen = set()
    for info in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        if info.name.startswith("okbook.labs.") and info.name != "okbook.labs.common":
            continue  # one notebook calls what is there
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", []):
            obj = getattr(module, name)
            if (
                inspect.isclass(obj) or inspect.isfunction(obj)
            ) and obj.__module__ == info.name:
                yield f"{info.name}.{name}"
                own = [
                    c
                    for c in getattr(obj, "__mro__", ())
                    if c.__module__.startswith("okbook")
                ]
                for member, value in {
                    m: v for c in reversed(own) for m, v in vars(c).items()
                }.items():
                    value = getattr(value, "fget", None) or getattr(value, "fn", value)
                    new = inspect.isfunction(value) and value not in seen
                    new = new and (
                        value.__doc__ or not inspect.getdoc(getattr(obj, member))
                    )  # else inherited
                    if (
                        new
                        and not member.startswith("_")
                        and not issubclass(obj, tuple)
                    ):
                        seen.add(value)
                        yield f"{info.name}.{name}.{member}"


def is_tuple(name):
    module, _, attribute = name.rpartition(".")
    obj = getattr(sys.modules.get(module), attribute, None)
    return inspect.isclass(obj) and issubclass(obj, tuple)


def faults(name):
    ignored = IGNORED | (
        {"PR01"} if is_tuple(name) else set()
    )  # its fields are attributes
    return [
        f"{name}: {code}: {text}"
        for code, text in validate(name)["errors"]
        if code not in ignored
    ]


def test_docstrings():
    names = list(public_objects())
    found = [fault for name in names for fault in faults(name)]
    assert len(names) > 400 and not found, "\n".join(found)


def test_a_fault_is_noticed(monkeypatch):
    monkeypatch.setattr(okbook.rkhs.OutputKernelRidge, "__doc__", "no summary")
    assert any(
        "GL08" in f or "SS03" in f for f in faults("okbook.rkhs.OutputKernelRidge")
    )


def test_every_estimator_has_an_example():
    lacking = []
    for name in public_objects():
        module, _, attribute = name.rpartition(".")
        obj = getattr(sys.modules.get(module), attribute, None)
        if inspect.isclass(obj) and issubclass(obj, BaseEstimator):
            lacking += [] if ">>>" in (obj.__doc__ or "") else [name]
    assert not lacking


def test_estimators_inside_packages_are_seen():
    assert "okbook.rkhs.ridge.OutputKernelRidge" in set(public_objects())
