"""The examples run as a user runs them, and what they print is so."""

import os
import re
import subprocess
import sys

import pytest

from okbook_book.project import ROOT

FOLDER = ROOT / "examples"
# What is printed for okbook and for the baseline, and which of them is better.
MEASURED = {
    "complete_digits": (r"squared error ([\d.]+)", "baseline is smaller"),
    "diagnose_tumours": (r"balanced accuracy ([\d.]+)", "nearly the same"),
    "match_wines": (r"squared distance ([\d.]+)", "okbook is smaller"),
}


def test_each_script_is_known():
    scripts = {path.stem for path in FOLDER.glob("*.py")}
    assert scripts - {"serving"} == set(MEASURED)
    page = (ROOT / "nbs" / "64_gallery_16_service.ipynb").read_text()
    assert all(f"{name}.py" in page for name in MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_from_raw_data_to_a_service(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / f"{name}.py"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "the same predictions from another process" in done.stdout
    here, there = map(
        int, re.search(r"(\d+) MB here, (\d+) MB there", done.stdout).groups()
    )
    assert 50 < there < 1000 and 50 < here < 1500
    pattern, verdict = MEASURED[name]
    ours, baseline = map(float, re.findall(pattern, done.stdout))
    assert {
        "baseline is smaller": baseline < ours < 2 * baseline,
        "nearly the same": abs(ours - baseline) < 0.03 and ours > 0.9,
        "okbook is smaller": ours < baseline,
    }[verdict]
    assert not list(tmp_path.iterdir())  # nothing is left behind
