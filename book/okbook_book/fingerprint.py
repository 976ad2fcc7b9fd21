"""Fingerprints of what a built book depends on.

`surroundings` covers what a notebook's outputs depend on besides its own cells: the
package, the stored tables and benchmarks, the locked requirements, the figure style,
how cells are marked, and the data. It names the cache of executed notebooks.
`reads_data` tells which notebooks depend on the data. `everything` adds all sources of
the book. It is written into the built book, so that a test can tell whether that book
was made from the sources at hand.
"""

import ast
import hashlib
import os
import sys
from functools import cache
from pathlib import Path

import pooch

from .project import ROOT, docname, notebooks, split

STAMP = "sources.sha256"
DRAWING = (
    "book/okbook.mplstyle",
    "book/okbook_book/night.py",
    "book/okbook_book/startup.py",
)
PASSING = {
    "__pycache__",
    ".hypothesis",
    ".ipynb_checkpoints",
    "_modidx.py",
    ".lock",
}  # come and go, and nothing depends on them


def _files(*patterns):
    found = {p for pattern in patterns for p in ROOT.glob(pattern) if p.is_file()}
    made = ROOT / "nbs" / "api"  # the build writes the pages of the API there
    return sorted(
        p for p in found if not PASSING & set(p.parts) and made not in p.parents
    )


def _hash(files):
    digest = hashlib.sha256(sys.version.encode())
    for path in files:
        digest.update(
            path.relative_to(ROOT).as_posix().encode()
            + b"\0"
            + path.read_bytes()
            + b"\0"
        )
    return digest


def _data():
    """Names, sizes and times of the data files: reading them all would take longer
    than it is worth."""
    folders = [
        Path(f) for f in (os.environ.get("OKBOOK_DATA"), pooch.os_cache("okbook")) if f
    ]
    files = [(str(f), p) for f in folders for p in sorted(f.rglob("*")) if p.is_file()]
    return repr(
        [(f, p.name, p.stat().st_size, p.stat().st_mtime_ns) for f, p in files]
    ).encode()


def _marks():
    """Tags and directives decide which cells run, and jupyter-cache does not look at
    them."""

    cells = [
        c for _, nb in notebooks() for c in nb["cells"] if c["cell_type"] == "code"
    ]
    return repr(
        [(c["metadata"], split("".join(c["source"]))[0]) for c in cells]
    ).encode()


def surroundings():
    "Two fingerprints: of the data, and of all else."
    stored = _files("tables/**/*.*", "benchmarks/*.csv")
    digest = _hash(_files("okbook/**/*.*", "requirements.lock", *DRAWING) + stored)
    digest.update(_marks())
    return hashlib.sha256(_data()).hexdigest(), digest.hexdigest()


def reads_data(path, notebook):
    """Whether a notebook is okbook.datasets, or imports it by way of any module: if
    not, the data cannot change it."""
    from .equations import chapters

    sources = [
        "".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"
    ]
    todo, seen = [name for source in sources for name in _imported(source)], set()
    todo += [
        module for module, (page, _) in chapters().items() if page == docname(path)
    ]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            files = (
                (ROOT / name.replace(".", "/")).with_suffix(".py"),
                ROOT / name.replace(".", "/") / "__init__.py",
            )
            for path in filter(Path.is_file, files):
                package = (
                    name if path.name == "__init__.py" else name.rpartition(".")[0]
                )
                todo += _imported(path.read_text(encoding="utf8"), package)
    return "okbook.datasets" in seen


@cache
def _imported(source, package=""):
    """The modules of okbook that a piece of code may import, at its top or inside of
    functions; relative to a package."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import | ast.ImportFrom)
            else []
        )
        if isinstance(node, ast.ImportFrom):
            up = (
                package.split(".")[: len(package.split(".")) + 1 - node.level]
                if node.level
                else []
            )
            base = ".".join([*up, *filter(None, [node.module])])
            names = [base, *(f"{base}.{name}" for name in names)]
        found |= {
            ".".join(name.split(".")[:k])
            for name in names
            for k in range(1, name.count(".") + 2)
        }
    return {name for name in found if name.split(".")[0] == "okbook"}


def everything():
    digest = _hash(
        _files("nbs/**/*.*", "book/**/*.*", "tests/**/*.py", "_config.yml", "_toc.yml")
    )
    digest.update("".join(surroundings()).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    print(everything())
