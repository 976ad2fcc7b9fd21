"""Ensembles on a Gram matrix alone, in a file that is written by tiles and read in
place: seconds and memory, each size in a process of its own.

From the root of the repository: python benchmarks/scale.py --store
"""

import argparse
import os
import re
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from measure import in_a_process_of_its_own, peak_gigabytes, report, store, timed

from okbook.core import RBFKernel, predict_in_batches, write_gram
from okbook.trees import OutputKernelExtraTrees

TREES, SIGMA = 20, 3.0


class Watch:
    """The largest memory of this process that is its own: not the pages of the file,
    which the system may drop (Linux)."""

    def __enter__(self):
        self.most, self.done = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()
        return self

    def look(self):
        while not self.done.is_set():
            status = Path("/proc/self/status").read_text()
            own = int(re.search(r"RssAnon:\s*(\d+) kB", status)[1]) / 1e6
            self.most = max(self.most, own)
            time.sleep(0.05)

    def __exit__(self, *error):
        self.done.set()
        self.thread.join()


def data(n):
    "Inputs, and outputs that depend on them."
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 32)).astype(np.float32)
    Y = np.tanh(X[:, :8] @ rng.standard_normal((8, 6))) + 0.3 * rng.standard_normal(
        (n, 6)
    )
    return X, Y


def one_size(n):
    X, Y = data(n)
    model = OutputKernelExtraTrees(
        output_kernel="precomputed",
        n_estimators=TREES,
        max_features="sqrt",
        min_samples_leaf=5,
        random_state=0,
    )
    small = np.eye(100, dtype=np.float32)
    model.fit(X[:100], small).decode(X[:5])  # compiles the search
    with tempfile.TemporaryDirectory(dir=os.environ.get("OKBOOK_SCRATCH")) as folder:
        with Watch() as writing:
            written, K = timed(
                lambda: write_gram(RBFKernel(sigma=SIGMA), Y, f"{folder}/K.npy")
            )
        with Watch() as fitting:
            fitted, _ = timed(lambda: model.fit(X, K))
        with Watch() as predicting:
            decoded, _ = timed(
                lambda: predict_in_batches(model, X[:2000], method="decode")
            )
    print(written, writing.most, fitted, fitting.most, decoded, predicting.most)
    print(peak_gigabytes())


def growth(sizes):
    for n in sizes:
        figures = in_a_process_of_its_own(__file__, "--one-size", str(n))
        written, w, fitted, f, decoded, d, whole = figures
        matrix = 4e-9 * n * n
        report("the Gram matrix, written by tiles", n, written)
        report("its own memory; peer: the matrix", n, w, matrix, matrix / w, "GB")
        report(f"{TREES} extra-trees from the file, one thread", n, fitted)
        report("their own memory; peer: the matrix", n, f, matrix, matrix / f, "GB")
        report("2,000 queries decoded in batches", n, decoded)
        report("their own memory", n, d, unit="GB")
        report("peak with the pages of the file", n, whole, unit="GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[12500, 25000, 50000])
    parser.add_argument("--store", action="store_true", help="keep the figures")
    parser.add_argument("--one-size", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_size:
        one_size(args.one_size)
    else:
        growth(args.sizes)
        if args.store:
            store(__file__)
