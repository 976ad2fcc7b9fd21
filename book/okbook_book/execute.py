"""Execute the notebooks of the book, several at once, into the cache from which its build takes them.

The build alone would execute one after the other. A notebook that fails is not cached: the build runs it again, and
says why.
"""

import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution

from . import directives, equations, fingerprint, pages

# What a slow machine may need to start a kernel, and to pass on what a cell prints: nbclient allows 60 s and 4 s.
PATIENCE = {"startup_timeout": 300, "iopub_timeout": 60}


def execute(path, notebook, timeout, allow_errors=False):
    "The notebook with its outputs and the seconds that it took, or None if it failed; each cell has its own times."
    options = PATIENCE | {"meta_override": True, "record_timing": True}
    result = single_nb_execution(notebook, str(path.parent), timeout, allow_errors, **options)
    return notebook, None if result.err else result.time


def prepared():
    "What the book executes: the notebooks as the build sees them, by path, and the seconds that a cell may take."
    config = yaml.safe_load((fingerprint.ROOT / "_config.yml").read_text(encoding="utf8"))
    skip, timeout = config["sphinx"]["config"]["nbdev_skip_flags"], config["execute"]["timeout"]
    texts = {path: directives.as_built(path.read_text(encoding="utf8"), skip) for path, _ in equations.notebooks()}
    return {path: nbformat.reads(text, as_version=4) for path, text in texts.items()}, timeout


def several(notebooks, timeout, allow_errors=False):
    "Execute notebooks in as many processes as there are processors, four at most: path, notebook, seconds, as they end."
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        jobs = {pool.submit(execute, path, nb, timeout, allow_errors): path for path, nb in notebooks.items()}
        for job in as_completed(jobs):
            yield jobs[job], *job.result()


def main():
    notebooks, timeout = prepared()
    cache = get_cache(pages.cache_folder(fingerprint.ROOT / "_build"))
    known, start = {record.hashkey for record in cache.list_cache_records()}, time.perf_counter()
    todo = {path: nb for path, nb in notebooks.items() if cache.create_hashed_notebook(nb)[1] not in known}
    for path, notebook, seconds in several(todo, timeout):
        name = equations.docname(path)
        if seconds is None:
            print(f"{name}: failed, the build will say why", flush=True)
            continue
        print(f"{name}: {seconds:.1f} s", flush=True)
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    print(f"{len(todo)} notebooks executed in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
