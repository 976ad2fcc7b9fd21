"""Marked sheets: what is written of all exercises, and one sheet from nbgrader's source
to its gradebook, with answers that are right, wrong, copied, endless or deceive."""

import ast
import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

import nbformat
import numpy as np
import pytest

from okbook_book import assignments, classes, exercises
from okbook_book.project import notebooks, plain

PAGES = {path.stem: nb for path, nb in notebooks()}
FOUND = {name: exercises.exercises(nb) for name, nb in PAGES.items()}
PAGE = "01_trees"
LABELS = [f"ex-trees-{name}" for name in ("variance", "means", "pairs", "median")]


def raw(page):
    "Statements and solutions as they stand in the sources."
    nb, found = PAGES[page], defaultdict(str)
    for label, exercise in FOUND[page].items():
        cells = [nb["cells"][n] for n in exercise.solution]
        texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
        found[label, "statement"] = exercise.statement
        found[label, "solution"] = "\n\n".join(texts)
    return found


def test_a_week_is_what_the_plan_hands_in():
    weeks = assignments.plan()
    assert list(weeks) == [f"week{n}" for n in range(1, 13)]
    for week, (pages, labels) in weeks.items():
        found = assignments.chosen(week)[1]
        handed = [label for its in found.values() for label in its]
        assert set(labels) <= set(handed) and set(pages) >= set(found), week
        rest = set(handed) - set(labels)
        assert all(
            FOUND[p][m].level == "warm-up" for p in found for m in rest & {*found[p]}
        )


def test_pages_and_chosen_exercises():
    assert assignments.chosen(PAGE) == (PAGE, {PAGE: list(FOUND[PAGE])})
    found = assignments.chosen("mine=ex-trees-median,ex-core-area")
    wanted = {"00_core_2_scores": ["ex-core-area"], PAGE: ["ex-trees-median"]}
    assert found == ("mine", wanted)
    for word in ("week13", "mine=ex-core-area,ex-none"):
        with pytest.raises(SystemExit, match="week13|ex-none"):
            assignments.chosen(word)


def test_what_fits_a_model_defines_it():
    source = "for name, m in models.items():\n    m.fit(X)\nbest.fit(X)"
    assert {"models", "best"} <= assignments.names(source)[0]
    assert assignments.names("model = Tree(kernel).fit(X)")[0] == {"model"}
    assert assignments.names("A.B[np.ix_(rows, rows)] = 0.0")[0] == {"A"}


def test_every_rubric_has_points():
    for page in PAGES:
        for (label, kind), text in raw(page).items():
            if kind == "solution" and "**Rubric.**" in text:
                points = assignments.rubric_points(text)
                assert 2 < points < 16, label
                said = re.search(r"Rubric\.\*\*[^:]*?(\w+) points:", text)
                if said:
                    assert assignments.COUNTS[said[1].lower()] == points, label


@pytest.mark.parametrize("page", [name for name in PAGES if FOUND[name]])
def test_every_exercise_becomes_cells(page):
    cells = assignments.sheet(page, PAGES[page], list(FOUND[page]), raw(page)).cells
    names = [cell.metadata["nbgrader"]["grade_id"] for cell in cells]
    assert len(names) == len(set(names)) and names[:2] == ["title", "page"]
    for label, exercise in FOUND[page].items():
        assert f"{label}-statement" in names
        assert (f"{label}-seen-1" in names) == bool(exercise.parts)
        if exercise.parts:
            assert cells[names.index(f"{label}-seen-1")].metadata["nbgrader"]["points"]
        if exercise.written or "?" in exercise.statement:
            assert names[names.index(label) - 1] == f"{label}-rubric"
            marks = cells[names.index(label)].metadata["nbgrader"]
            rubric = cells[names.index(f"{label}-rubric")].source
            assert not marks["grade"] or "**Rubric.**" in rubric


@pytest.mark.parametrize("page", [name for name in PAGES if "_project_" in name])
def test_a_project_has_the_points_of_its_page(page):
    cells = assignments.sheet(page, PAGES[page], list(FOUND[page]), raw(page)).cells
    assert sum(cell.metadata["nbgrader"].get("points", 0) for cell in cells) == 20


@pytest.mark.parametrize(
    "file, student, page",
    [
        ("Ada Lovelace_12_assignsubmission_file_/01_trees.ipynb", "Ada Lovelace", PAGE),
        (
            "Ada Lovelace_13_assignsubmission_file/01_trees (1).ipynb",
            "Ada Lovelace",
            PAGE,
        ),
        (
            "Bo_2_assignsubmission_file_05_ensembles_2_bagging.ipynb",
            "Bo",
            "05_ensembles_2_bagging",
        ),
        ("lovelaceada_LATE_123_456_01_trees-2.ipynb", "lovelaceada", PAGE),
        ("lovelaceada_123_456_01_trees-Copy1.ipynb", "lovelaceada", PAGE),
    ],
)
def test_names_of_files(file, student, page):
    (name,) = re.findall(r"named_regexp = \((.*?)^\)", assignments.CONFIG, re.M | re.S)
    match = re.match(ast.literal_eval(f"({name})"), f"/archive/{file}")
    assert match["student_id"] == student and match["file_id"] == page


def test_figures_are_put_into_the_students_notebooks(tmp_path, monkeypatch):
    v4 = nbformat.v4
    image = v4.new_output("display_data", {"image/png": "eA==", "text/plain": "fig"})
    cells = [v4.new_code_cell(f"draw({n})", id=f"c{n}") for n in range(2)]
    read = v4.new_notebook(cells=[*cells, v4.new_markdown_cell("text")])
    (tmp_path / "student").mkdir()
    nbformat.write(read, tmp_path / "student" / "01_a.ipynb")
    said = v4.new_output("stream", text="said")
    cells[0].outputs = [said, image]
    executed = {Path("01_a.ipynb"): (read, []), Path("02_b.ipynb"): (read, [])}
    monkeypatch.setattr(classes.execute, "cached", lambda: executed)
    monkeypatch.setattr(classes, "CLASS", tmp_path)
    classes.add_figures()
    found = nbformat.read(tmp_path / "student" / "01_a.ipynb", as_version=4).cells
    assert found[0].outputs == [image] and not found[1].outputs


# Each week's sheet, by its own solutions

WHOLE = """
def okb_run_all():
    import json, sys

    for name, source in json.load(sys.stdin):
        try:
            exec(source, globals())
        except BaseException as error:
            print("lost", name, f"{type(error).__name__}: {error}", flush=True)

okb_run_all()
"""


def lost(made):
    "The cells of a sheet that fail where all solutions are in their places."
    cells = [(c.metadata["nbgrader"]["grade_id"], c) for c in made.cells]
    code = [(name, plain(c.source)) for name, c in cells if c.cell_type == "code"]
    done = subprocess.run(
        [sys.executable, "-c", WHOLE],
        input=json.dumps(code),
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return re.findall("^lost (.*)$", done.stdout, re.M)


@pytest.mark.sweep
@pytest.mark.parametrize("week", assignments.plan())
def test_solutions_of_a_week_have_all_points(week):
    for page, labels in assignments.chosen(week)[1].items():
        made, found = (
            assignments.sheet(page, PAGES[page], labels, raw(page)),
            FOUND[page],
        )
        tested = [m for m in labels if found[m].parts]
        levels = [assignments.POINTS[found[label].level] for label in tested]
        marks = [c.metadata["nbgrader"] for c in made.cells if c.cell_type == "code"]
        assert sum(its.get("points", 0) for its in marks) == 2 * sum(levels)
        assert lost(made) == [], page


def test_what_fails_or_replaces_a_helper_is_noticed():
    wrong, deceiving = LABELS[:2]
    made = assignments.sheet(PAGE, PAGES[PAGE], LABELS[:2], raw(PAGE))
    for cell in made.cells:
        cell.source = cell.source.replace("- block.mean()", "- 2 * block.mean()")
        if cell.metadata["nbgrader"]["grade_id"] == f"{deceiving}-answer":
            cell.source += "\nokb_array = lambda value: value"
    first, second, third = lost(made)
    assert first.startswith(f"{wrong}-seen-1 AssertionError: node_variance returned")
    assert second.startswith(f"{wrong}-hidden-1 AssertionError: node_variance returned")
    assert third.startswith(f"{deceiving}-seen-1 AssertionError: replaced")
    assert third.endswith("okb_array")


def test_links_to_notebooks_lead_to_the_book():
    told = classes.to_book("[a](02_rkhs.ipynb), [b](https://e.org/x.ipynb)")
    assert re.fullmatch(r"\[a\]\(https?:.*/nbs/02_rkhs\.html\), .*x\.ipynb\)", told)


def test_functions_of_numpy_may_have_the_names_of_pythons():
    space = {"np": np}
    exec(assignments.GUARD % ["sum", "np.isclose"], space)
    exec("from numpy import *", space)
    space["okb_check"]("sum", "np.isclose")
    assert space["sum"] is sum
    space["sum"] = lambda values: 0
    with pytest.raises(AssertionError, match="replaced.*: sum$"):
        space["okb_check"]("sum", "np.isclose")
    assert space["sum"] is sum


# One sheet through nbgrader


def nbgrader(course, *words, status=0):
    "Run nbgrader in a course; what it says."
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=course,
        env=os.environ | {"PATH": path, "HOME": str(course)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr[-3000:]
    return done.stderr


def answers():
    "By student and exercise the source of the answer; None deletes all that is marked."
    nb, found = PAGES[PAGE], FOUND[PAGE]
    right = {m: exercises.sources(nb, found[m], "solution")[0] for m in LABELS}
    variance, means, pairs, median = LABELS
    (test,) = exercises.sources(nb, found[variance], "test")
    space, copied = {}, []
    exec(f"import numpy as np\n{right[variance]}", space)
    own = space["node_variance"]
    space["node_variance"] = lambda *a: copied.append(float(own(*a))) or copied[-1]
    exec(test, space)
    doubled = exercises.sources(nb, found[pairs], "wrong")[0]
    fixed = f"known = iter({copied})\n\n\ndef node_variance(K, members):\n"
    return {
        "Ada Lovelace_1": right,
        "Bo_2": right | {pairs: doubled},
        "Cy_3": {variance: f"{fixed}    return next(known)", means: "def f(x)\n"},
        "Di_4": {pairs: f"{doubled}\n\n\nnp.isclose = lambda *a: True", median: None},
        "Ed_5": {variance: "while True:\n    pass", means: right[means]},
        "Fay_6": {},
        "Gil_7": {variance: right[variance], means: "import os\n\nos._exit(0)"},
        "Hal_LATE_8": right | {median: None},
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    "A course whose only sheet has been written, handed in by eight, and marked."
    course = tmp_path_factory.mktemp("course")
    folder = course / "source" / "sheet"
    folder.mkdir(parents=True)
    made = assignments.sheet(PAGE, PAGES[PAGE], LABELS, raw(PAGE))
    nbformat.write(made, folder / f"{PAGE}.ipynb")
    patience = assignments.CONFIG.replace("else 120", "else 8")
    (course / "nbgrader_config.py").write_text(patience)
    nbgrader(course, "generate_assignment", "sheet")
    archive = course / "downloaded" / "sheet" / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "all.zip", "w") as file:
        for student, its in answers().items():
            notebook = released(course)
            handed_in(notebook, its)
            name = f"{student}_assignsubmission_file_{PAGE}.ipynb"
            file.writestr(name, nbformat.writes(notebook))
        other = "Jo_10_assignsubmission_file_my_answers.ipynb"  # is skipped
        file.writestr(other, nbformat.writes(released(course)))
    assert "8 files collected, 1 files skipped" in nbgrader(
        course, "zip_collect", "sheet"
    )
    nbgrader(course, "autograde", "sheet", status=1)  # for Gil's kernel is gone
    nbgrader(course, "generate_feedback", "sheet")
    nbgrader(course, "export")
    return course


def released(course):
    return nbformat.read(course / "release" / "sheet" / f"{PAGE}.ipynb", as_version=4)


def handed_in(notebook, its):
    "Fill a student's notebook."
    for cell in list(notebook.cells):
        for label, source in its.items():
            name = cell.metadata["nbgrader"]["grade_id"].removeprefix(f"{label}-")
            if name == "answer" and source:
                cell.source = source
            if name in ("seen-1", "hidden-1", "rubric", label) and source is None:
                notebook.cells.remove(cell)
    if None in its.values():  # somebody has split a cell, and copied one from elsewhere
        for name in (f"{LABELS[1]}-answer", "ex-elsewhere-answer"):
            cell = nbformat.from_dict(notebook.cells[2] | {"id": f"a-{name}"})
            cell.metadata["nbgrader"] |= {"grade_id": name}
            notebook.cells.insert(3, cell)


def test_what_students_get(course):
    cells = {c.metadata["nbgrader"]["grade_id"]: c for c in released(course).cells}
    text = "\n".join(cell.source for cell in cells.values())
    assert "# your code" in cells["ex-trees-pairs-answer"].source
    assert "Rubric" not in text and "np.mean(D) / 2" not in text
    assert "okb_kept" not in text and "default_rng(3)" in text and "7922" not in text
    assert cells["ex-trees-pairs"].source == "*Your answer:*"
    assert not [name for name, cell in cells.items() if not cell.source.strip()]


def test_points(course):
    with open(course / "grades.csv", encoding="utf8") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {float(row["max_score"]) for row in rows.values()} == {20}
    points = {name.partition("_")[0]: float(r["score"]) for name, r in rows.items()}
    # Cy has the visible test of a warm-up; the rubrics' eight points are given by hand
    assert points == {
        "Ada Lovelace": 12,
        "Bo": 8,
        "Cy": 1,
        "Di": 0,
        "Ed": 2,
        "Fay": 0,
        "Gil": 0,
        "Hal": 8,
    }


def test_feedback(course):
    pages = {p.parts[-3]: p for p in (course / "feedback").glob(f"*/sheet/{PAGE}.html")}
    assert len(pages) == 7
    said = {name[:2]: path.read_text(encoding="utf8") for name, path in pages.items()}
    assert "replaced, although the test uses it: np.isclose" in said["Di"]
    assert "KeyboardInterrupt" in said["Ed"] and "Rubric" in said["Fa"]
