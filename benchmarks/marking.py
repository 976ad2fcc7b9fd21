"""What marking a class costs: ``python benchmarks/marking.py``.

A sheet of five exercises of one page is written, handed in by sixty students whose
answers are right, wrong, empty or constant, and marked by one ``nbgrader autograde``.
Told are the processor's seconds of it and of its kernels, one thread each. ``--week
week3`` marks a week's sheet, which has a notebook for each of its pages.
"""

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import nbformat

# before nbgrader starts its kernels: it sets the number of threads
from measure import report  # isort: skip
from okbook_book import assignments, exercises, project

PAGE = "01_trees"
KINDS = ("solution", "wrong", "stub", "right", "constant")


def answers(nb, label, stub):
    "An answer of each kind to an exercise, in turns and without an end."
    exercise = exercises.exercises(nb)[label]
    own = exercises.functions(nb, exercise)
    constant = [f"def {name}(*args, **named):\n    return 0.5" for name in own]
    found = {kind: exercises.sources(nb, exercise, kind) for kind in KINDS}
    found["constant"] = ["\n\n\n".join(constant)]
    return itertools.cycle([(found[kind] or [stub])[0] for kind in KINDS])


def nbgrader(course, *words):
    "Run nbgrader in a course."
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "nbgrader", *words]
    subprocess.run(command, cwd=course, env=os.environ | {"PATH": path}, check=True)


def seconds():
    "Of the processor, of the processes that have ended."
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def hand_in(course, name, pages, students):
    "What the students of a class hand in."
    for page, nb in pages.items():
        read = course / "release" / name / f"{page}.ipynb"
        released = nbformat.read(read, as_version=4)
        asked = {
            cell.metadata["nbgrader"]["grade_id"].removesuffix("-answer"): cell
            for cell in released.cells
            if cell.metadata["nbgrader"]["grade_id"].endswith("-answer")
        }
        given = {label: answers(nb, label, c.source) for label, c in asked.items()}
        for n, its in enumerate(given.values()):  # no two exercises in step
            for _ in range(n):
                next(its)
        for student in range(students):
            for label, cell in asked.items():
                cell.source = next(given[label])
            folder = course / "submitted" / f"student{student}" / name
            folder.mkdir(parents=True, exist_ok=True)
            nbformat.write(released, folder / f"{page}.ipynb")


def mark(course, week, students):
    "Write a sheet, hand it in, and mark it: notebooks, exercises and seconds."
    pages = {path.stem: nb for path, nb in project.notebooks()}
    of = {PAGE: [*exercises.exercises(pages[PAGE])][:5]}
    name, chosen = assignments.chosen(week) if week else ("sheet", of)
    folder = course / "source" / name
    folder.mkdir(parents=True)
    (course / "nbgrader_config.py").write_text(assignments.CONFIG, encoding="utf8")
    for page, labels in chosen.items():
        text = defaultdict(lambda: "Text.")
        made = assignments.sheet(page, pages[page], labels, text)
        nbformat.write(made, folder / f"{page}.ipynb")
    nbgrader(course, "generate_assignment", name)
    hand_in(course, name, {page: pages[page] for page in chosen}, students)
    start = seconds()
    nbgrader(course, "autograde", name)
    return len(chosen), sum(map(len, chosen.values())), seconds() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--week", help="a week of the plan, in place of five exercises")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as course:
        sheets, asked, took = mark(Path(course), given.week, given.students)
    work = f"marking {asked} exercises on {sheets} page{'s' * (sheets > 1)}"
    wanted = "below 600" if given.students == 60 else ""
    report(work, given.students, took, wanted=wanted)


if __name__ == "__main__":
    main()
