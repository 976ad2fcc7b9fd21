"""Fingerprints of what a built book depends on.

`surroundings` covers what a notebook's outputs depend on besides its own cells: the package, the stored tables
and benchmarks, the data, the locked requirements, the figure style, and how cells are marked. It names the cache of
executed notebooks.
`everything` adds all sources of the book. It is written into the built book, so that a test can tell
whether that book was made from the sources at hand.
"""

import hashlib
import os
import sys
from pathlib import Path

import pooch

ROOT = Path(__file__).parents[2]
STAMP = "sources.sha256"
PASSING = {"__pycache__", ".ipynb_checkpoints", "_modidx.py", ".lock"}  # come and go, and nothing depends on them


def _files(*patterns):
    found = {p for pattern in patterns for p in ROOT.glob(pattern) if p.is_file()}
    return sorted(p for p in found if not PASSING & set(p.parts))


def _hash(files):
    digest = hashlib.sha256(sys.version.encode())
    for path in files:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest


def _data():
    "Names, sizes and times of the data files: reading them all would take longer than it is worth."
    folders = [Path(f) for f in (os.environ.get("OKBOOK_DATA"), pooch.os_cache("okbook")) if f]
    files = [(str(f), p) for f in folders for p in sorted(f.rglob("*")) if p.is_file()]
    return repr([(f, p.name, p.stat().st_size, p.stat().st_mtime_ns) for f, p in files]).encode()


def _marks():
    "Tags and directives decide which cells run, and jupyter-cache does not look at them."
    from .directives import split
    from .equations import notebooks

    cells = [c for _, nb in notebooks() for c in nb["cells"] if c["cell_type"] == "code"]
    return repr([(c["metadata"], split("".join(c["source"]))[0]) for c in cells]).encode()


def surroundings():
    stored = _files("tables/**/*.*", "benchmarks/*.csv")
    digest = _hash(_files("okbook/**/*.*", "requirements.lock", "book/okbook.mplstyle") + stored)
    digest.update(_data() + _marks())
    return digest.hexdigest()


def everything():
    digest = _hash(_files("nbs/**/*.*", "book/**/*.*", "tests/**/*.py", "_config.yml", "_toc.yml"))
    digest.update(surroundings().encode())
    return digest.hexdigest()


if __name__ == "__main__":
    print(everything())
