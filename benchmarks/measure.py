"""What the benchmarks share: clocks, ratios against a peer pair by pair, peak
memory, and the table they print."""

import csv
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

FIELDS = ("work", "n", "okbook", "peer", "ratio", "unit", "wanted")
ROWS = []


def report(work, n, okbook, peer="", ratio="", unit="s", wanted=""):
    "Print a figure, and keep it."
    ROWS.append(dict(zip(FIELDS, (work, n, okbook, peer, ratio, unit, wanted))))
    shown = [
        f"{value:.4g}" if isinstance(value, float) else str(value)
        for value in (okbook, peer, ratio)
    ]
    print(
        f"{work:66s} N = {n:6d}  {shown[0]:>8s} {unit:3s} {shown[1]:>8s} "
        f"{shown[2]:>6s}   wanted: {wanted}",
        flush=True,
    )


def timed(function, clock=time.perf_counter):
    "Seconds of a call, and its result."
    start = clock()
    result = function()
    return clock() - start, result


def median_seconds(function, repeats):
    return statistics.median(timed(function)[0] for _ in range(repeats))


def pairs(work, n, ours, peer, repeats, wanted, times=1, clock=time.perf_counter):
    """Median seconds of both (the peer's taken `times` over), and the median ratio,
    pair by pair."""
    rows = [
        (timed(ours, clock)[0], times * timed(peer, clock)[0]) for _ in range(repeats)
    ]
    a, b = (statistics.median(column) for column in zip(*rows))
    report(work, n, a, b, statistics.median(y / x for x, y in rows), wanted=wanted)


def peak_gigabytes():
    "Peak memory of this process alone (Linux)."
    return (
        int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1])
        / 1e6
    )


def in_a_process_of_its_own(script, *options):
    "The numbers that the script prints when it is run with these options."
    out = subprocess.run(
        [sys.executable, script, *options], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(float, out.split()))


def store(script):
    "Keep the figures in a csv beside the script."
    with open(Path(script).with_suffix(".csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ROWS)
