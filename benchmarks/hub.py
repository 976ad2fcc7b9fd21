"""A class that begins together: ``python benchmarks/hub.py --students 20``.

So many kernels run the imports of the first session and a first ensemble of twenty
trees at the same minute. Told are the seconds until the last has finished, the
processor's seconds of each, and the memory of all: what each has of its own, and its
part of what they share. ``--cold``: in an installation in which nothing is compiled.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import report

import okbook

STUDENT = """
import sys, time
import matplotlib.pyplot, numpy as np, pandas
from okbook.datasets import load_digits_halves
from okbook.trees import OutputKernelExtraTrees
bunch = load_digits_halves()
OutputKernelExtraTrees(n_estimators=20, random_state=0).fit(bunch.top, bunch.bottom)
print(time.process_time(), flush=True)
sys.stdin.read()
"""


def gigabytes(process):
    "Proportional set size (Linux): shared pages count in parts."
    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s*(\d+) kB", text, re.M)[1]) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--cold", action="store_true")
    given = parser.parse_args()
    students, cold = given.students, tempfile.TemporaryDirectory()
    if given.cold:
        omitted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(okbook.__path__[0], f"{cold.name}/okbook", ignore=omitted)

    def surroundings(student):
        own = {"PYTHONPATH": cold.name, "NUMBA_CACHE_DIR": f"{cold.name}/{student}"}
        return os.environ | (own if given.cold else {})

    begun = time.perf_counter()
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", STUDENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=surroundings(student),
        )
        for student in range(students)
    ]
    used = [float(kernel.stdout.readline()) for kernel in kernels]
    report("until the last has finished", students, time.perf_counter() - begun)
    report("processor, each", students, sum(used) / students)
    report("memory of all", students, sum(map(gigabytes, kernels)), unit="GB")
    for kernel in kernels:
        kernel.communicate()
    cold.cleanup()


if __name__ == "__main__":
    main()
