"""A class that begins together: ``python benchmarks/hub.py --students 20``.

So many kernels run the imports of the first session and a first ensemble of twenty
trees at the same minute. Told are the seconds until the last has finished, the
processor's seconds of each, and the memory of all: what each has of its own, and its
part of what they share.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from measure import report

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
    students = parser.parse_args().students
    begun = time.perf_counter()
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", STUDENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(students)
    ]
    used = [float(kernel.stdout.readline()) for kernel in kernels]
    report("until the last has finished", students, time.perf_counter() - begun)
    report("processor, each", students, sum(used) / students)
    report("memory of all", students, sum(map(gigabytes, kernels)), unit="GB")
    for kernel in kernels:
        kernel.communicate()


if __name__ == "__main__":
    main()
