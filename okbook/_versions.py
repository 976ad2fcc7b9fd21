"""The versions behind ``okbook.show_versions``."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from . import __version__

NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
EXTRAS = {
    "mkl": ("cvxpy",),
    "tables": ("pandas", "pooch", "tqdm"),
    "plots": ("matplotlib",),
    "dask": ("distributed",),
}


def describe_versions():
    """The lines that ``okbook.show_versions`` prints.

    Returns
    -------
    str
        A name and a version a line.
    """
    lines = [
        f"okbook: {__version__}",
        f"python: {platform.python_version()} ({sys.executable})",
        f"system: {platform.platform()}, {os.cpu_count()} processors",
        *(f"{name}: {_version(name) or 'missing'}" for name in NEEDED),
    ]
    for extra, names in EXTRAS.items():
        missing = f"missing: pip install 'okbook[{extra}]'"
        lines += [f"{name}: {_version(name) or missing}" for name in names]
    cache = os.environ.get("NUMBA_CACHE_DIR", "beside the modules, or the user's")
    return "\n".join([*lines, f"cache of Numba: {cache}"])


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
