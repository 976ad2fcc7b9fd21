"""The libraries that only a part of the package uses, and the extras that bring them.

``from okbook._extras import pandas as pd`` does what ``import pandas as pd`` does, but
where the library is missing, the error says who needs it and what to install.
"""

import importlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # read by type checkers, and by the fingerprints of stored tables
    import cvxpy
    import pandas
    import pooch
    from matplotlib import pyplot
    from tqdm import tqdm

__all__ = ["MissingExtra", "cvxpy", "pandas", "pooch", "pyplot", "tqdm"]

# Of each name: the extra that brings it, its module, and the attribute of that.
_HOMES = {
    "cvxpy": ("mkl", "cvxpy", None),
    "pandas": ("tables", "pandas", None),
    "pooch": ("tables", "pooch", None),
    "pyplot": ("plots", "matplotlib.pyplot", None),
    "tqdm": ("tables", "tqdm", "tqdm"),
}


class MissingExtra(ImportError):
    """A library is not installed that comes with an extra of okbook."""

    def __init__(self, library, extra, who):
        message = f"{who} needs {library}: pip install 'okbook[{extra}]'"
        super().__init__(message, name=library)


class _NoBar:
    "Stands for a progress bar that is not shown; one that shall be shown needs tqdm."

    def __init__(self, iterable=(), *args, disable=False, **options):
        if not disable:
            raise MissingExtra("tqdm", "tables", f"The progress bar of {_caller()}")
        self._iterable = iterable

    def __iter__(self):
        return iter(self._iterable)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def update(self, n=1):
        pass

    def set_postfix_str(self, text="", refresh=True):
        pass


def _caller():
    "The module of ours that asks."
    return sys._getframe(2).f_globals.get("__name__", "okbook")


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    extra, module, attribute = _HOMES[name]
    library = module.partition(".")[0]
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != library:  # it is there, and broken
            raise
        if name == "tqdm":
            return _NoBar
        raise MissingExtra(library, extra, _caller()) from None
    return getattr(found, attribute) if attribute else found
