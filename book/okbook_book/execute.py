"""Execute the notebooks of the book, several at once, into the cache from which its
build takes them.

The build alone would execute one after the other. A notebook that fails is not cached:
the build runs it again, and says why. An output that cannot be shown ends the build
here, since a kernel prints its error and goes on.
"""

import contextlib
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import datetime
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution

from . import directives, fingerprint, pages, project
from .project import chosen

# What a slow machine may need to start a kernel, and to pass on what a cell prints:
# nbclient allows 60 s and 4 s.
PATIENCE = {"startup_timeout": 300, "iopub_timeout": 60}
# A reader who has no data: no folder is named, and the user's own cache, as pooch finds
# it, is another one.
WITHOUT_DATA = {
    "OKBOOK_DATA": "",
    "OKBOOK_OFFLINE": "1",
    "XDG_CACHE_HOME": str(project.ROOT / "_build" / "no-cache"),
}


def workers(environment):
    """How many processes fill the processors, four at most, when each of them computes
    with as many threads as its environment says: threads that wait for a processor
    spin, and take many times as long."""
    threads = int(environment.get("OMP_NUM_THREADS") or 1)
    return max(1, min(os.cpu_count() or 1, 4) // threads)


def python_path(environment, *first):
    "The path of processes that import the press, after some folders of their own."
    path = *first, str(project.ROOT / "book"), environment.get("PYTHONPATH")
    return os.pathsep.join(filter(None, path))


def drawing():
    "The environment of kernels that draw figures by night, too."
    return {
        "PYTHONSTARTUP": str(Path(__file__).with_name("startup.py").resolve()),
        "PYTHONPATH": python_path(os.environ),
    }


def execute(path, notebook, timeout, allow_errors=False):
    """The notebook with its outputs and the seconds that it took, or None if it
    failed; each cell has its own times."""
    options = PATIENCE | {"meta_override": True, "record_timing": True}
    result = single_nb_execution(
        notebook, str(path.parent), timeout, allow_errors, **options
    )
    return notebook, None if result.err else result.time


def prepared():
    """What the book executes: the notebooks as the build sees them, by path, and the
    seconds that a cell may take."""
    config = project.book()
    skip, timeout = (
        config["sphinx"]["config"]["nbdev_skip_flags"],
        config["execute"]["timeout"],
    )
    texts = {
        path: directives.as_built(path.read_text(encoding="utf8"), skip)
        for path, _ in project.notebooks()
    }
    return {
        path: nbformat.reads(text, as_version=4) for path, text in texts.items()
    }, timeout


def several(notebooks, timeout, allow_errors=False):
    """Execute notebooks, one a processor but four at most: path, notebook and
    seconds of each as it ends."""
    with ProcessPoolExecutor(workers(os.environ)) as pool:
        jobs = {
            pool.submit(execute, path, nb, timeout, allow_errors): path
            for path, nb in notebooks.items()
        }
        for job in as_completed(jobs):
            yield jobs[job], *job.result()


def borrow(cache, notebooks):
    "Copy what the same code made of these notebooks beside other data."
    folder = Path(cache.path)
    for sibling in folder.parent.glob(f"{folder.name.partition('-')[0]}-*"):
        other = get_cache(sibling)
        for path, notebook in notebooks.items() if sibling != folder else ():
            with contextlib.suppress(KeyError):
                bundle = other.get_cache_bundle(other.match_cache_notebook(notebook).pk)
                keep(cache, path, bundle.nb, **bundle.record.data)


def keep(cache, path, notebook, execution_seconds, cells=()):
    """Put an executed notebook into the cache, with the seconds that it took and
    those of its cells."""
    data = {"execution_seconds": execution_seconds, "cells": [*cells]}
    cache.cache_notebook_bundle(
        CacheBundleIn(notebook, str(path), data=data),
        check_validity=False,
        overwrite=True,
    )


def take_times(notebook):
    """The seconds that each executed cell took, taken out of its metadata: these are
    a part of a notebook's identity."""
    spans = [cell.metadata.pop("execution", {}) for cell in notebook.cells]
    ends = [
        (span["iopub.execute_input"], span["shell.execute_reply"])
        for span in spans
        if span
    ]
    return [
        (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
        for start, end in ends
    ]


def errors(notebook):
    """The errors among the outputs, but for cells that say they raise one: number of
    the cell, cell and output."""
    return [
        (n, cell, output)
        for n, cell in enumerate(notebook.cells)
        if "raises-exception" not in cell.metadata.get("tags", ())
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    ]


def missing(cache, notebooks):
    "Those of the notebooks that the cache has not got."
    known = {record.hashkey for record in cache.list_cache_records()}
    return {
        path: nb
        for path, nb in notebooks.items()
        if cache.create_hashed_notebook(nb)[1] not in known
    }


def cached(patterns=()):
    """The book's notebooks as they were executed last, or those named, and the seconds
    of their cells, by path; without those that fail."""
    cache = get_cache(pages.cache_folder(project.ROOT / "_build"))
    notebooks = {p: nb for p, nb in prepared()[0].items() if chosen(p.stem, patterns)}
    found = {
        path: notebooks[path]
        for path in notebooks.keys() - missing(cache, notebooks).keys()
    }
    merged = {path: cache.merge_match_into_notebook(nb) for path, nb in found.items()}
    return {
        path: (nb, cache.get_cache_record(pk).data.get("cells", []))
        for path, (pk, nb) in sorted(merged.items())
    }


def main(patterns=()):
    "Execute the notebooks of the book, or those named, as far as the cache lacks them."
    (notebooks, timeout), start = prepared(), time.perf_counter()
    cache = get_cache(pages.cache_folder(project.ROOT / "_build"))
    borrow(
        cache,
        {
            p: nb
            for p, nb in missing(cache, notebooks).items()
            if not fingerprint.reads_data(p, nb)
        },
    )
    todo = missing(
        cache, {p: nb for p, nb in notebooks.items() if chosen(p.stem, patterns)}
    )
    os.environ.update(drawing())
    unseen = {}
    for path, notebook, seconds in several(todo, timeout):
        name = project.docname(path)
        if seconds is None:
            print(f"{name}: failed, the build will say why", flush=True)
            continue
        print(f"{name}: {seconds:.1f} s", flush=True)
        if found := errors(notebook):
            unseen[name] = [f"{o.ename}: {o.evalue}" for *_, o in found]
            continue
        keep(cache, path, notebook, seconds, take_times(notebook))
    print(
        f"{len(todo)} notebooks executed in {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    if unseen:
        raise SystemExit(f"outputs that could not be shown: {unseen}")


if __name__ == "__main__":
    main()
