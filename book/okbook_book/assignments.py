"""Marked sheets: ``python -m okbook_book.assignments``, or ``make assignments``.

An assignment is a week of the course's plan (the warm-ups of its pages, and what is
done at home), a page, or a list of exercises. It becomes nbgrader's source notebooks,
one for each page that it draws on: each exercise has its statement, a cell for the
answer, the visible test, the same test with other seeds, hidden, and where it asks for
words a cell that is marked by hand, below the solution and its rubric. The first cell
of a notebook defines what an answer may use of the page.
"""

import argparse
import ast
import itertools
import re
import shutil
import symtable
from collections import defaultdict
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from . import classes, directives, exercises, project

PLAN = project.ROOT / "nbs" / "70_course.md"
# Of a test; the same on other seeds counts as much again.
POINTS = {"warm-up": 1, "standard": 2, "hard": 3, "project": 4}
# The row of a project's table of points: `a` and `b` pass their tests (1 and 2).
TESTED = re.compile(r"^\| (.*) pass their tests \((.*?)\)", re.M)
ASKS = re.compile(
    r"\?|\b(?:show that|prove|explain|conclude|describe|derive|deduce|discuss|by hand"
    r"|compare|find seven|make a table|check (?:that|the))\b",
    re.I,
)
COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8}
COUNTS |= {"ten": 10} | {str(n): n for n in range(30)}
TITLE = re.compile(r"^# (.*)", re.M)
# Methods that change their objects, and functions that pass on what they are given.
FITS = {"fit", "partial_fit"}
PASSING = {"items", "values", "zip", "enumerate", "reversed"}
COUNT = rf"\b({'|'.join(COUNTS)})"
CONFIG = r"""# How nbgrader marks the sheets that `make assignments` writes.
import os

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    DeduplicateIds,
    OverwriteCells,
    OverwriteKernelspec,
)

for name in ("OMP_NUM_THREADS", "OKBOOK_OFFLINE"):  # for the kernels that it starts
    os.environ.setdefault(name, "1")

c = get_config()
c.CourseDirectory.course_id = "okbook"
c.ClearSolutions.code_stub = {"python": ""}  # the stub stands above the solution
c.ClearSolutions.text_stub = "*Your answer:*"
c.ClearMarkScheme.enforce_metadata = False  # the rubric stands above the answer
c.OverwriteCells.add_missing_cells = True


class Complete(OverwriteCells):
    # Adds what is missing behind the nearest cell that is there, where nbgrader asks
    # for the cell just before it, and drops the marks of copied cells.

    def preprocess_cell(self, cell, resources, number):
        cell, resources = super().preprocess_cell(cell, resources, number)
        if "grade_id" not in cell.metadata.get("nbgrader", {}):
            cell.metadata.pop("nbgrader", None)
        return cell, resources

    def add_missing_grade_cells(self, nb, resources):
        source = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in source.grade_cells}
        answers = {cell.name for cell in source.solution_cells}
        place = 0
        for cell in source.source_cells:
            here = [c.metadata.get("nbgrader", {}).get("grade_id") for c in nb.cells]
            if cell.name in here:
                place = here.index(cell.name) + 1
            elif cell.name in points:
                own = points[cell.name], cell.name in answers
                nb.cells.insert(place, self.missing_cell_transform(cell, *own))
                place += 1
        return nb, resources


c.Autograde.sanitize_preprocessors = [
    *(ClearOutput, DeduplicateIds, OverwriteKernelspec, Complete, CheckCellMetadata)
]
# Seconds for a cell. The first one imports, and what is not yet compiled is compiled.
c.Execute.timeout_func = lambda cell: 1800 if "okb_kept" in cell.source else 120
c.Execute.startup_timeout = 600
c.Execute.iopub_timeout = 120  # nbgrader's 4 are too few on a busy machine
c.ZipCollectApp.strict = True  # a renamed notebook is skipped, and said to be
# Files as Moodle ("Ada Lovelace_123_assignsubmission_file_/01_trees.ipynb") and Canvas
# ("lovelaceada_LATE_123_456_01_trees.ipynb") name them. The student is the name alone,
# as a late sheet and the next sheet have other numbers.
c.FileNameCollectorPlugin.named_regexp = (
    r".*/(?P<student_id>[^/]+?)(?:_LATE)?_\d+_(?:assignsubmission_file[_/]+|\d+_)"
    r"(?P<file_id>\w+?)(?:-\d+|-Copy\d+| ?\(\d+\))*\.ipynb"
)
"""
# Runs in the kernel of a student's notebook, before and after the answers.
GUARD = """
import builtins
import types
import warnings


def okb_meaning(name):
    "What a function or a module means now, by its name with dots."
    owner, _, last = name.rpartition(".")
    if owner:
        return vars(okb_kept[owner]).get(last)
    return globals().get(last, vars(builtins).get(last))


def okb_check(*names):
    "Has something been replaced that a test uses? It is put back."
    warnings.simplefilter("ignore")  # nbgrader takes a warning for an error
    names = [name for name in names if name in okb_kept]
    changed = [name for name in names if okb_meaning(name) is not okb_kept[name]]
    # After `from numpy import *`, sum is numpy's.
    starred = {n for n in changed if okb_meaning(n) is okb_numpy.get(n, okb_numpy)}
    for name in changed:
        owner, _, last = name.rpartition(".")
        (vars(okb_kept[owner]) if owner else globals())[last] = okb_kept[name]
    changed = ", ".join(sorted({*changed} - starred))
    assert not changed, f"replaced, although the test uses it: {changed}"


def okb_keep(names):
    for name in names:
        owner = name.rpartition(".")[0]
        if not owner or isinstance(okb_kept.get(owner), types.ModuleType):
            found = okb_meaning(name)
            if callable(found) or isinstance(found, types.ModuleType):
                okb_kept[name] = found


okb_kept, okb_numpy = {}, dict(vars(np))
okb_keep(%r)
"""
# A package may have a function of the name of its module: `import_module` tells them
# apart, `import ... as` does not.
MODULE = """okb_page = importlib.import_module("okbook.{0}")
globals().update({{k: v for k, v in vars(okb_page).items() if k[:2] != "__"}})"""


# What is set


def plan():
    "Of each week of the course its pages, and the exercises to be done at home."
    row = r"^\| (\d+) \|[^|]*\| \{minutes\}`(.*?)` \|[^|]*\|([^|]*)"
    rows = re.findall(row, PLAN.read_text(encoding="utf8"), re.M)
    return {
        f"week{week}": (pages.split(), re.findall(r"`(ex-[\w-]+)`", home))
        for week, pages, home in rows
    }


def chosen(word):
    "The name of an assignment, and by page the labels of its exercises."
    pages = {path.stem: nb for path, nb in project.notebooks()}
    name, _, listed = word.partition("=")
    weeks = plan()
    of, labels = weeks.get(name, ([] if listed else [name], listed.split(",")))
    found = {}
    for page, nb in pages.items():
        its = exercises.exercises(nb)
        found[page] = [
            label
            for label, exercise in its.items()
            if label in labels
            or (page in of and (name not in weeks or exercise.level == "warm-up"))
        ]
    found = {page: its for page, its in found.items() if its}
    missing = set(labels) - {label for its in found.values() for label in its} - {""}
    if missing or not found:
        said = ", ".join(sorted(missing)) or word
        raise SystemExit(f"no week, page or exercise of this name: {said}")
    return name, found


# What an answer may use of its page


def scopes(table):
    yield table
    for child in table.get_children():
        yield from scopes(child)


def simple(body):
    "Statements in their order, with those inside of loops and branches."
    for node in body:
        heads = [(n.optional_vars, n.context_expr) for n in getattr(node, "items", ())]
        if isinstance(node, ast.For):
            heads = [(node.target, node.iter)]
        elif isinstance(node, ast.If | ast.While):
            heads = [(None, node.test)]
        elif not isinstance(node, ast.With | ast.Try):
            yield node
            continue
        for target, value in heads:
            head = ast.Assign([target], value) if target else ast.Expr(value)
            yield ast.copy_location(head, node)
        for part in ("body", "orelse", "finalbody"):
            yield from simple(getattr(node, part, ()))
        for handler in getattr(node, "handlers", ()):
            yield from simple(handler.body)


def called(node):
    "The names of the functions and methods that a piece of code calls."
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return {getattr(f, "attr", getattr(f, "id", "")) for f in calls}


def owner(node):
    "The name whose object `a.b`, `a[i]` is a part of."
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return getattr(node, "id", "")


def changed(statement, parts):
    """What a call of `fit` changes: its object, and that of which this is a part
    (`parts`, by name), as in ``for model in models: model.fit(X)``."""
    if isinstance(statement, ast.Assign) and called(statement.value) <= PASSING:
        whole = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        for target in statement.targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    parts[node.id] = whole
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr in FITS:
            if name := owner(node):
                found |= {name} | parts.get(name, set())
    return found


def names(source):
    "The names that code defines or changes, and those that it takes from elsewhere."
    defined, read, later, parts = set(), set(), set(), {}
    for statement in simple(ast.parse(source).body):
        top, *inner = scopes(symtable.symtable(ast.unparse(statement), "", "exec"))
        symbols = {s.get_name(): s for s in top.get_symbols() if not s.is_imported()}
        now = {k for k, s in symbols.items() if s.is_assigned() or s.is_namespace()}
        reads = {k for k, s in symbols.items() if s.is_referenced()}
        for node in ast.walk(statement):
            if isinstance(getattr(node, "ctx", None), ast.Store):  # a.b = 1, a["b"] = 1
                now |= {owner(node)} & symbols.keys()
        if isinstance(statement, ast.AugAssign):
            reads |= now
        now |= changed(statement, parts)
        read |= reads - defined
        defined |= now
        later |= {s.get_name() for t in inner for s in t.get_symbols() if s.is_global()}
    return defined, read | (later - defined)


def page_names(nb, labels):
    """The code that defines what answers may use: the names of the page's module, its
    imports, and those of its cells on which the exercises build: what their statements,
    figures, stubs and solutions mention."""
    found, skip = exercises.exercises(nb), project.book()["sphinx"]["config"]
    inside = {n for e in found.values() for n in e.solution}
    inside |= {n for e in found.values() for cells in e.parts.values() for n in cells}
    module, imports, code, runs, figures = None, {}, {}, [], {}
    for n, cell in enumerate(nb["cells"]):
        if cell["cell_type"] != "code":
            continue
        marks, source = project.split("".join(cell["source"]))
        module = marks.get("default_exp", module)
        code[n] = source, *names(project.plain(source))
        tags = {*cell["metadata"].get("tags", ())}
        tags |= {*directives.tags(marks, skip["nbdev_skip_flags"])}
        if n in inside:
            continue
        imports |= dict.fromkeys(exercises.top_imports(project.plain(source)))
        if not {"export", "skip-execution"} & tags:
            runs.append(n)
        figures[cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")] = n
    kept = set()
    for label in labels:
        exercise = found[label]
        words = " ".join(re.findall(r"`([^`]+)`", exercise.statement))
        stub = [code[n][0] for n in exercise.parts.get("stub", ())]
        nodes = ast.walk(ast.parse("\n".join(stub)))
        wanted = set(re.findall(r"[A-Za-z_]\w*", words))
        wanted -= {node.arg for node in nodes if isinstance(node, ast.arg)}
        cells = {figures[word] for word in words.split() if word in figures}
        cells |= {n for kind in exercise.parts for n in exercise.parts[kind]}
        for n in cells | {n for n in exercise.solution if n in code}:
            wanted |= code[n][2]
        for n in reversed(runs):
            if n < exercise.cell and code[n][1] & wanted:
                kept.add(n)
                wanted |= code[n][2]
    parts = [MODULE.format(module) if module else "", "\n".join(imports)]
    parts += [classes.self_contained(code[n][0]).strip() for n in sorted(kept)]
    return "\n\n\n".join(filter(None, parts))


# What is written


def other_seeds(test):
    "The same test on other draws."
    return re.sub(
        r"default_rng\((\d+)\)", lambda m: f"default_rng({int(m[1]) + 7919})", test
    )


def relied_on(test, own):
    "What a test takes from elsewhere: np, np.linalg, np.linalg.norm; but for `own`."
    kinds = ast.Attribute | ast.Name
    chains = {ast.unparse(n) for n in ast.walk(ast.parse(test)) if isinstance(n, kinds)}
    roots = names(test)[1] - own
    chains = {name for name in chains if re.fullmatch(r"[\w.]+", name)}
    return sorted(name for name in chains if name.partition(".")[0] in roots)


def helpers():
    "What a notebook's first cell defines for its tests."
    return sorted(n for n in names(classes.TEST)[0] if n.startswith("okb_"))


def rubric_points(text):
    "How many points a rubric gives; 0 if there is none."
    rubric = re.search(r"\*\*Rubric\.\*\* (.*)", text)
    if not rubric:
        return 0
    if told := re.match(COUNT + r" of the 20 points", rubric[1], re.I):
        return COUNTS[told[1]]
    if parts := re.findall(r"\((\d+)\)|: (\d+) points?\b", rubric[1]):
        return sum(int(one or other) for one, other in parts)
    if told := re.search(COUNT + r" points?[^:.;]*: \d for\b", rubric[1], re.I):
        return COUNTS[told[1].lower()]
    parts = re.findall(COUNT + r"(?: points?)? for\b", rubric[1], re.I)
    return sum(COUNTS[part.lower()] for part in parts)


def project_points(nb):
    "By function, what a project's table of points gives for passing the tests."
    text = "\n".join("".join(c["source"]) for c in nb["cells"])
    found = {}
    for functions, told in TESTED.findall(text):
        points = itertools.cycle(map(int, re.findall(r"\d+", told)))
        found |= zip(re.findall(r"`(\w+)`", functions), points)
    return found


def marked(cell, name, **what):
    "A cell with what nbgrader is to know of it."
    cell.id = re.sub(r"\W", "-", name)
    kinds = {"grade": False, "solution": False, "task": False} | what
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": name,
        "locked": not kinds["solution"],
        **kinds,
    }
    return cell


def hidden(source, kind="HIDDEN TESTS"):
    return f"### BEGIN {kind}\n{source}\n### END {kind}"


def exercise_cells(nb, exercise, text, told):
    """The cells of an exercise on a sheet; `text` has its statement and its solution,
    `told` the points of a project."""
    label, points = exercise.label, 0 if told else POINTS[exercise.level]
    yield marked(new_markdown_cell(text[label, "statement"]), f"{label}-statement")
    if exercise.parts:
        own = exercises.functions(nb, exercise)
        stub, known = (
            "\n\n\n".join(exercises.sources(nb, exercise, kind))
            for kind in ("stub", "solution")
        )
        answer = f"{stub}\n{hidden(known, 'SOLUTION')}"
        yield marked(new_code_cell(answer), f"{label}-answer", solution=True)
        tests = exercises.sources(nb, exercise, "test")
        packed = not exercise.printed
        rounds = {"seen": [exercises.judging(test, own, packed) for test in tests]}
        if (others := [*map(other_seeds, tests)]) != tests:
            rounds["hidden"] = [exercises.judging(test, own) for test in others]
        total = sum(told.get(name, 0) for name in own) or 2 * points
        marks = {"grade": True, "points": total / len(rounds) / len(tests)}
        for kind, number in itertools.product(rounds, range(len(tests))):
            test, plain = rounds[kind][number], tests[number]
            relied = relied_on(f"{plain}\n{', '.join(helpers())}", {*own})
            check = f"okb_check({', '.join(map(repr, relied))})"
            source = f"{hidden(check)}\n{test}"
            if kind == "hidden":
                test = f"{check}\n{test}"
                source = f"# The same test on other draws.\n{hidden(test)}"
            name = f"{label}-{kind}-{number + 1}"
            yield marked(new_code_cell(source), name, **marks)
    solution = text[label, "solution"]
    given = rubric_points(solution)
    if given or exercise.written or ASKS.search(exercise.statement):
        points = given or points
        asked = "" if exercise.written else ": what is asked above besides the function"
        worth = f" ({points} point{'s' * (points > 1)})" if points else ""
        head = f"**In words{asked}**{worth}"
        if points and not given:
            one = "1 point for the answer" + (" with its reason" if points == 1 else "")
            more = f", {points - 1} for its reason" if points > 1 else ""
            solution += f"\n\n**Rubric.** {one}{more}."
        head += "\n\n" + hidden(solution, "MARK SCHEME")
        yield marked(new_markdown_cell(head), f"{label}-rubric")
        marks = {"solution": True}
        marks |= {"grade": True, "points": points} if points else {}
        yield marked(new_markdown_cell(solution), label, **marks)


def sheet(page, nb, labels, text):
    "The notebook of exercises of a page."
    found = exercises.exercises(nb)
    title = next(m[1] for c in nb["cells"] if (m := TITLE.search("".join(c["source"]))))
    address = f"{project.published()}/nbs/{page}.html"
    head = f"# Exercises: {title}\n\nThey belong to [a page of the book]({address})."
    told = project_points(nb)
    cells = [c for m in labels for c in exercise_cells(nb, found[m], text, told)]
    kept = {n for c in cells for n in re.findall(r"okb_check\((.*)\)", c.source)}
    kept = sorted({n for found in kept for n in ast.literal_eval(f"[{found}]")})
    code = [classes.set_up(), page_names(nb, labels), hidden(GUARD.strip() % kept)]
    first = marked(new_code_cell("\n\n".join(code)), "page", grade=True, points=0)
    first.metadata["jupyter"] = {"source_hidden": True}
    made = new_notebook(
        cells=[marked(new_markdown_cell(head), "title"), first, *cells],
        metadata={"kernelspec": classes.KERNEL},
    )
    nbformat.validate(made)
    return made


def texts(page):
    """The statements and solutions of a page, as the class edition has them. Links to
    its notebooks lead to the book instead."""
    teacher = nbformat.read(classes.CLASS / "teacher" / f"{page}.ipynb", as_version=4)
    found = defaultdict(str)
    for cell in teacher.cells:
        its = cell.metadata.get("okbook")
        if its and cell.cell_type == "markdown":
            key = its["exercise"], its["role"]
            found[key] = f"{found[key]}\n\n{classes.to_book(cell.source)}".strip()
    return found


def write(course, words):
    "Write assignments, and the configuration if there is none yet."
    course.mkdir(parents=True, exist_ok=True)
    config, pages = course / "nbgrader_config.py", dict(project.notebooks())
    pages = {path.stem: nb for path, nb in pages.items()}
    if not config.exists():
        config.write_text(CONFIG, encoding="utf8")
    for name, found in map(chosen, words):
        folder = course / "source" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        points = 0
        for page, labels in found.items():
            made = sheet(page, pages[page], labels, texts(page))
            points += sum(c.metadata["nbgrader"].get("points", 0) for c in made.cells)
            nbformat.write(made, folder / f"{page}.ipynb")
        print(f"{folder}: {sum(map(len, found.values()))} exercises, {points} points")


def main(args=None):
    "What `make assignments` runs."
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("course", type=Path, help="nbgrader's course folder")
    parser.add_argument("assignments", nargs="*", help="week3, 01_trees, two=ex-a,ex-b")
    given = parser.parse_args(args)
    write(given.course, given.assignments or plan())


if __name__ == "__main__":
    main()
