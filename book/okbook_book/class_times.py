"""How long each page takes in class: ``make time-class``.

Each page of the teacher's edition runs from top to bottom in a kernel of its own, one
after the other, with two threads and an empty numba cache of its own. `--pages` limits
them by patterns; those above `LIMIT` seconds are marked.
"""

import argparse
import os
import tempfile
import time

import nbformat

from .classes import CLASS
from .execute import PATIENCE, WITHOUT_DATA
from .patterns import chosen

LIMIT = 60


def seconds(path):
    "How long a notebook takes, with a cold numba cache."
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as cold:
        environment = os.environ | WITHOUT_DATA
        environment |= {"NUMBA_CACHE_DIR": cold, "OMP_NUM_THREADS": "2"}
        client = NotebookClient(
            notebook,
            timeout=None,
            resources={"metadata": {"path": str(path.parent)}},
            **PATIENCE,
        )
        start = time.perf_counter()
        with client.setup_kernel(env=environment):
            for n, cell in enumerate(notebook.cells):
                client.execute_cell(cell, n)
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", nargs="*", default=["0*"], help="such as '02_*'")
    patterns = parser.parse_args().pages
    for path in sorted((CLASS / "teacher").glob("*.ipynb")):
        if chosen(path.stem, patterns):
            taken = seconds(path)
            mark = f"  more than {LIMIT} s" if taken > LIMIT else ""
            print(f"{taken:7.1f} s  {path.stem}{mark}", flush=True)


if __name__ == "__main__":
    main()
