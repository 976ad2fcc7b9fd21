"""Run the notebooks, the stored slices and the tests as other machines would: ``python
-m okbook_book.elsewhere``.

The last bit of a floating-point sum depends on the processor: OpenBLAS chooses its
kernel by it, NumPy its SIMD loops, LLVM its instructions. Each setting below makes this
machine compute as another one would; what must not change then is every test, every
cell that asserts something, and every cell of a slice of a stored table. The last
setting is another reader's machine, on which the data is: with it the pages must tell
what they tell without.

Each part runs in processes of its own, whose environment is that of the setting, and
leaves what it found in ``_build/elsewhere/<setting>-<part>.json``, a list of ``{where,
status, said, seconds}``. The status is ``passed`` or ``failed``, or ``no data`` for a
cell of a table whose data is not here. Notebooks are executed without data, unless
``--data`` is given, and kept in ``_build/elsewhere/<setting>-notebooks``; under
``data`` they are those of the book's cache, as far as it has them.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import execute
from .project import ROOT

OUT = ROOT / "_build" / "elsewhere"
PARTS = ("slices", "notebooks", "tests")
USUAL = {
    "OMP_NUM_THREADS": "1",
    "OKBOOK_OFFLINE": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
TWO = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "2"
)
CHANGED = {
    "NPY_DISABLE_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_NUM_THREADS",
    "OKBOOK_MOVED",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
}


@dataclass(frozen=True)
class Setting:
    "One way of computing: what it is called, and the environment that brings it about."

    name: str
    environment: dict = field(default_factory=dict)

    def full(self, out=OUT, data=True):
        """The environment of the processes that run under this setting, with the
        data at hand or with none; nothing of another setting is left in it."""
        usual = {k: v for k, v in os.environ.items() if k not in CHANGED} | USUAL
        first = [str(_moving(out))] if "OKBOOK_MOVED" in self.environment else []
        if "NUMBA_CPU_NAME" in self.environment:
            usual["NUMBA_CACHE_DIR"] = str(out / "numba")
        usual["PYTHONPATH"] = execute.python_path(usual, *first)
        return usual | ({} if data else execute.WITHOUT_DATA) | self.environment


DATA = Setting("data")


def _moving(out):
    "A folder which, on the path of a process, moves the inputs of what it computes."
    folder = out / "moved"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(
        "from okbook_book import elsewhere_moved\n\nelsewhere_moved.install()\n"
    )
    return folder


def settings():
    "All settings that this machine can take on, by their numbers."
    simd = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    found = {
        1: Setting("native"),
        4: Setting("threads", TWO),
        5: Setting("moved", {"OKBOOK_MOVED": "1"}),
    }
    if platform.machine() in ("x86_64", "AMD64"):
        old = {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic"}
        found[2] = Setting("haswell", {"OPENBLAS_CORETYPE": "Haswell"})
        found[3] = Setting(
            "old", old | ({"NPY_DISABLE_CPU_FEATURES": " ".join(simd)} if simd else {})
        )
        found[6] = Setting("zen", {"OPENBLAS_CORETYPE": "Zen"})
        if "X86_V4" in simd:
            found[7] = Setting("skylakex", {"OPENBLAS_CORETYPE": "SkylakeX"})
    if os.environ.get("OKBOOK_DATA"):
        found[8] = DATA
    return dict(sorted(found.items()))


def run_tests(environment, target, chosen):
    "Run the tests that need no browser, and write down which of them failed."
    report = target.with_suffix(".xml")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not browser",
        f"--junitxml={report}",
    ]
    command += [
        f"--numprocesses={execute.workers(environment)}",
        "--dist=worksteal",
        *chosen,
    ]
    ended = subprocess.run(command, cwd=ROOT, env=environment).returncode
    results = _tests(report) if report.exists() else []
    if ended and not any(r["status"] == "failed" for r in results):
        results.append(
            {
                "where": "pytest",
                "status": "failed",
                "said": f"it ended with {ended}",
                "seconds": 0,
            }
        )
    target.write_text(json.dumps(results, indent=1), encoding="utf8")


def _tests(report):
    "What a JUnit file says of each test that was not skipped."
    results = []
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [e for e in case if e.tag in ("failure", "error")]
        if wrong or case.find("skipped") is None:
            where = f"{case.get('classname')}::{case.get('name')}"
            said = (wrong[0].get("message") or "").splitlines()[:3] if wrong else []
            seconds = float(case.get("time", 0))
            status = "failed" if wrong else "passed"
            results.append(
                {
                    "where": where,
                    "status": status,
                    "said": " ".join(said),
                    "seconds": seconds,
                }
            )
    return results


def run(setting, part, chosen=(), out=OUT, data=True):
    "Run one part under one setting; what became of each cell or test."
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{setting.name}-{part}.json"
    target.unlink(missing_ok=True)
    if part == "tests":
        run_tests(setting.full(out, data), target, chosen)
    else:
        command = [
            sys.executable,
            "-m",
            "okbook_book.elsewhere_inside",
            "texts" if (setting, part) == (DATA, "notebooks") else part,
            str(target),
            *chosen,
        ]
        ended = subprocess.run(
            command, cwd=ROOT, env=setting.full(out, data)
        ).returncode
        if ended:
            raise SystemExit(
                f"elsewhere: {part} under setting {setting.name!r} ended with {ended}"
            )
    if results := json.loads(target.read_text(encoding="utf8")):
        return results
    raise SystemExit(f"elsewhere: there are no {part} that match {' '.join(chosen)}")


def table(results):
    """All that ran in the settings, as a Markdown table; `results` is {setting:
    [{where, status, said}]}."""
    lines = ["| | " + " | ".join(results) + " |", "|:--|" + ":--|" * len(results)]
    found = {name: {r["where"]: r for r in cells} for name, cells in results.items()}
    for where in dict.fromkeys(r["where"] for cells in results.values() for r in cells):
        entries = [_entry(cells.get(where)) for cells in found.values()]
        lines.append(f"| {_cell(where)} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def _entry(result):
    if result is None:
        return "–"
    words = {"passed": "agrees", "failed": f"**differs**: {_cell(result['said'])}"}
    return words.get(result["status"], result["status"])


def _cell(text):
    return text.replace("|", r"\|").replace("\n", " ")


def report(found):
    """Say what failed where, and how slices fared; `found` is {(setting, part):
    results}. Returns how much failed."""
    failures = 0
    for (name, part), results in found.items():
        wrong = [r for r in results if r["status"] == "failed"]
        failures += len(wrong)
        passed, seconds = (
            sum(r["status"] == "passed" for r in results),
            sum(r["seconds"] for r in results),
        )
        print(
            f"\n{part} under {name}: {passed} passed, {len(wrong)} failed, "
            f"{seconds:.0f} s of work"
        )
        for r in wrong:
            print(f"  {r['where']}: {r['said']}")
    if slices := {
        name: results for (name, part), results in found.items() if part == "slices"
    }:
        print("\n" + table(slices))
    return failures


def main(arguments=None):
    known = settings()
    parser = argparse.ArgumentParser(
        prog="elsewhere", description=__doc__.partition("\n")[0]
    )
    names = ", ".join(f"{number} {setting.name}" for number, setting in known.items())
    usual = [number for number in known if number < 6]
    number = {
        "nargs": "+",
        "type": int,
        "choices": known,
        "default": usual,
        "metavar": "N",
    }
    parser.add_argument(
        "--settings", **number, help=f"which of: {names}; the first five otherwise"
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=PARTS,
        help="all, unless some are named",
    )
    parser.add_argument(
        "--notebooks",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="such as '05*': all otherwise",
    )
    parser.add_argument(
        "--tables",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="such as 'votes-*': all otherwise",
    )
    parser.add_argument(
        "--tests",
        nargs="+",
        default=[],
        metavar="PATH",
        help="what pytest is to run: all otherwise",
    )
    parser.add_argument(
        "--data",
        action="store_true",
        help="execute the notebooks with the data at hand, too",
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, help="the folder for the results"
    )
    args = parser.parse_args(arguments)
    chosen, found = (
        {"slices": args.tables, "notebooks": args.notebooks, "tests": args.tests},
        {},
    )
    for n in args.settings:
        for part in args.parts:
            start = time.perf_counter()
            print(
                f"\n{part} under ({n}) {known[n].name}: {known[n].environment}",
                flush=True,
            )
            data = args.data or part != "notebooks" or known[n] == DATA
            found[known[n].name, part] = run(
                known[n], part, chosen[part], args.out, data
            )
            print(f"{time.perf_counter() - start:.0f} s", flush=True)
    failures = report(found)
    print(f"\n{failures} failed" if failures else "\nAll agree.")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
