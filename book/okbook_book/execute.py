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


def execute(path, notebook, timeout):
    "The notebook with its outputs and the seconds that it took, or None if it failed."
    result = single_nb_execution(
        notebook, cwd=str(path.parent), allow_errors=False, timeout=timeout, meta_override=True
    )
    return notebook, None if result.err else result.time


def main():
    config = yaml.safe_load((fingerprint.ROOT / "_config.yml").read_text(encoding="utf8"))
    skip, timeout = config["sphinx"]["config"]["nbdev_skip_flags"], config["execute"]["timeout"]
    cache = get_cache(pages.cache_folder(fingerprint.ROOT / "_build"))
    known, start = {record.hashkey for record in cache.list_cache_records()}, time.perf_counter()
    todo = {}
    for path, _ in equations.notebooks():
        notebook = nbformat.reads(directives.as_built(path.read_text(encoding="utf8"), skip), as_version=4)
        if cache.create_hashed_notebook(notebook)[1] not in known:
            todo[path] = notebook
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        jobs = {pool.submit(execute, path, notebook, timeout): path for path, notebook in todo.items()}
        for job in as_completed(jobs):
            notebook, seconds = job.result()
            name = equations.docname(jobs[job])
            if seconds is None:
                print(f"{name}: failed, the build will say why", flush=True)
                continue
            print(f"{name}: {seconds:.1f} s", flush=True)
            bundle = CacheBundleIn(notebook, str(jobs[job]), data={"execution_seconds": seconds})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    print(f"{len(todo)} notebooks executed in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
