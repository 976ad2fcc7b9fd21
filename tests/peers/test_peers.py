"""The tests of peers, as they are installed, judge our estimators.

Each module runs in a process of its own, in which our estimators have the peer's names
(`adapters.py`). A test that passes has called ours; one that never calls ours says
nothing (`elsewhere`); one that asks for what okbook has not does not apply (`lacks`).
`differences.toml` says why: for each missing parameter, and for each test that fails.
All else that fails, and what is listed and passes, is an error.

``make peers`` runs the modules whole, and counts; ``make test-peers`` leaves out those
of other estimators and of criteria that okbook has not.
"""

import collections
import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LISTED = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8"))
KINDS = ["passed", "not applicable", "by design", "wrong", "elsewhere"]


def run(module, whole=False):
    "The outcome of each test of a module."
    outcomes = HERE.parents[1] / "_build" / "peers" / f"{module}.json"
    outcomes.parent.mkdir(parents=True, exist_ok=True)
    outcomes.unlink(missing_ok=True)
    how = LISTED["modules"][module]
    path = [HERE, HERE.parents[1], *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    setting = {
        "PYTHONPATH": os.pathsep.join(map(str, filter(None, path))),
        "PEERS_PACKAGES": how["packages"],
        "PEERS_OUTCOMES": str(outcomes),
    }
    options = f"-q --tb no -c {os.devnull} -p no:cacheprovider -p adapters -n 0"
    command = [sys.executable, "-m", "pytest", *options.split(), "--pyargs", module]
    if not whole and "leave_out" in how:
        command += ["-k", f"not ({how['leave_out']})"]
    told = subprocess.run(
        command, env=os.environ | setting, capture_output=True, text=True
    )
    assert told.returncode in (0, 1), told.stdout + told.stderr
    return json.loads(outcomes.read_text(encoding="utf-8"))


def is_listed(name, entry):
    "Whether an entry lists a test; of the characters, only * is special."
    patterns = (pattern.replace("[", "[[]") for pattern in entry["tests"])
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def judge(module, outcomes):
    "The kind of each test, and what is wrong with the test or with the list."
    entries = [e for e in LISTED["differs"] if e["module"] == module]
    kinds, used, complaints = {}, set(), []
    for name, came in outcomes.items():
        listed = [i for i, e in enumerate(entries) if is_listed(name, e)]
        fits = [i for i in listed if entries[i]["came"] in came]
        if came.startswith("lacks "):
            kinds[name] = "not applicable"
            if came.split()[1].split("=")[0] not in LISTED["lacks"]:
                complaints.append(f"{name}: {came} (of no known parameter)")
        elif came in ("passed", "elsewhere"):
            kinds[name] = came
            if listed:
                complaints.append(f"{name}: listed, but {came}")
        elif fits:
            used.update(fits)
            kinds[name] = entries[fits[0]]["kind"]
        else:
            kinds[name] = "wrong"
            complaints.append(f"{name}: {came}")
    spare = [e["tests"] for i, e in enumerate(entries) if i not in used]
    return kinds, complaints, spare


@pytest.mark.parametrize("module", LISTED["modules"])
def test_peers(module):
    if importlib.util.find_spec(module.split(".")[0]) is None:
        pytest.skip(f"{module} is not installed")
    _, complaints, _ = judge(module, run(module))
    assert not complaints, "\n".join(complaints)


def main():
    "All modules, whole: what came of them, and whether it is what is listed."
    total, failed = collections.Counter(), False
    print(f"{'':45}{'tried':>7}", *(f"{kind:>15}" for kind in KINDS))
    for module in LISTED["modules"]:
        kinds, complaints, spare = judge(module, run(module, whole=True))
        complaints += [f"listed, and differs no more: {tests}" for tests in spare]
        counts = collections.Counter(kinds.values())
        total, failed = total + counts, failed or bool(complaints)
        print_counts(module, counts)
        for complaint in complaints:
            print("   ", complaint)
    print_counts("all", total)
    return failed


def print_counts(name, counts):
    print(f"{name:45}{counts.total():7}", *(f"{counts[kind]:15}" for kind in KINDS))


if __name__ == "__main__":
    sys.exit(main())
