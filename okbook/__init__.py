"""Output-kernel learning: put a kernel where others put a vector.

The modules are generated from the notebooks of the course book in ``nbs/``; each is
loaded on first use, so that ``import okbook`` costs nothing.
"""

__version__ = "0.1.0"

import importlib
import pkgutil

__all__ = [
    "__version__",
    *sorted(
        m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")
    ),
]


def __getattr__(name):
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
