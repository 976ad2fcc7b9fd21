"""Exercises: how they stand in the notebooks, and what the book makes of them.

The statement is a Markdown cell between ``{exercise-start}`` and ``{exercise-end}``,
whose class has the level (`LEVELS`), and ``proof`` or ``report`` (`WRITTEN`) where no
program grades the answer. Code cells name their part in a first line, ``#| stub
ex-name``: a ``stub`` to fill, the ``solution``, the ``test`` that judges an answer, and
answers that CI judges, ``wrong`` and ``right``. The solution stands between
``{solution-start}`` and ``{solution-end}``; if its cells have the tag ``teacher``, the
book does not print it, and says so.
"""

import ast
import base64
import json
import re
import zlib
from dataclasses import dataclass, field
from textwrap import indent, wrap

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from . import project

LEVELS = ("warm-up", "standard", "hard", "project")
WRITTEN = ("proof", "report")
PARTS = ("stub", "solution", "test", "wrong", "right")
START = re.compile(
    r"^```\{exercise-start\} *(?P<title>.*)\n(?P<options>(?::\w+:.*\n)*)", re.M
)
END = re.compile(r"^```\{exercise-end\}", re.M)
SOLUTION = re.compile(r"^```\{solution-start\} *(\S+)", re.M)
SOLUTION_END = re.compile(r"^```\{solution-end\}", re.M)
PACKED = "# Packed, for it computes the answer; its message says what is wrong."
WITHOUT = "\n{.okb-without}\nThe solution is in the teacher's edition.\n\n"


@dataclass
class Exercise:
    "An exercise of a notebook; cells are counted from 0."

    label: str
    title: str
    classes: list
    cell: int  # of the statement
    statement: str
    parts: dict = field(default_factory=dict)  # by kind: the numbers of the cells
    solution: list = field(default_factory=list)  # the cells between start and end
    printed: bool = True

    @property
    def level(self):
        return next((c for c in self.classes if c in LEVELS), None)

    @property
    def written(self):
        "Whether a reader grades the answer, by a rubric."
        return any(kind in self.classes for kind in WRITTEN)


def part(source):
    "The part of an exercise that a code cell is, and whose: ('stub', 'ex-name')."
    found = project.split(source)[0]
    return next(((kind, found[kind]) for kind in PARTS if kind in found), None)


def options(found):
    "The options of a directive, such as ``label`` and ``class``."
    return dict(re.findall(r"^:(\w+): *(.*?) *$", found, re.M))


def exercises(nb):
    "The exercises of a notebook (a dict), by label, in their order."
    found, inside = {}, None
    for n, cell in enumerate(nb["cells"]):
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", ())
        if cell["cell_type"] == "code":
            if its := part(source):
                exercise = found.setdefault(its[1], Exercise(its[1], "", [], n, ""))
                exercise.parts.setdefault(its[0], []).append(n)
            if inside:
                inside.solution.append(n)
            continue
        for event in sorted(
            [
                *START.finditer(source),
                *SOLUTION.finditer(source),
                *SOLUTION_END.finditer(source),
            ],
            key=lambda match: match.start(),
        ):
            if event.re is START:
                given = options(event["options"])
                end = END.search(source, event.end())
                text = source[event.end() : end.start() if end else None]
                found[given.get("label", f"cell {n}")] = Exercise(
                    given.get("label", f"cell {n}"),
                    event["title"].strip(),
                    given.get("class", "").split(),
                    n,
                    text.partition("```\n")[2] or text,
                )
            elif event.re is SOLUTION:
                inside = found.get(event[1])
                if inside:
                    inside.printed = "teacher" not in tags
            else:
                if inside:
                    inside.solution.append(n)
                inside = None
        if inside:
            inside.solution.append(n)
    return found


def announce(nb):
    "Say below a statement that its solution is not printed; `nb` is changed in place."
    for exercise in exercises(nb).values():
        if exercise.printed:
            continue
        cell = nb["cells"][exercise.cell]
        source = "".join(cell["source"])
        start = source.index(f":label: {exercise.label}\n")
        if end := END.search(source, start):
            cell["source"] = source[: end.start()] + WITHOUT + source[end.start() :]
    return nb


def top_imports(source):
    "The import statements at the top level of a piece of code."
    kinds = ast.Import | ast.ImportFrom
    return [ast.unparse(n) for n in ast.parse(source).body if isinstance(n, kinds)]


def sources(nb, exercise, kind):
    "The cells of an exercise's part, without their ``#|`` lines."
    cells = [nb["cells"][n] for n in exercise.parts.get(kind, ())]
    return [project.split("".join(c["source"]))[1].rstrip("\n") for c in cells]


def functions(nb, exercise):
    "The names that an answer has to define: those of the stub."
    stub = "\n".join(sources(nb, exercise, "stub"))
    return [node.name for node in ast.parse(stub).body if hasattr(node, "name")]


def judging(test, functions, packed=False):
    """A test as the class edition runs it: inside of `okb_test`, of its first cell.
    Many tests compute the answer; those of solutions that are withheld are `packed`."""
    judged = [json.dumps(f) for f in functions if re.search(rf"\b{f}\b", test)]
    if packed:
        code = base64.b64encode(zlib.compress(test.encode(), 9)).decode()
        lines = "\n".join(f'    "{line}"' for line in wrap(code, 80))
        test = f"okb_unpacked(\n{lines}\n)"
    source = f"with okb_test({', '.join(judged)}):\n" + indent(test, "    ")
    return f"{PACKED}\n{source}" if packed else source


class Levels(SphinxPostTransform):
    "The title of an exercise shows its level."

    default_priority = 400  # after sphinx-exercise has made the title
    formats = ("html",)

    def run(self, **kwargs):
        for node in self.document.findall(nodes.Admonition):
            if "exercise" in node.get("classes", ()) and len(node):
                marks = [c for c in (*LEVELS, *WRITTEN) if c in node["classes"]]
                if marks:
                    text = ", ".join(marks)
                    badge = nodes.inline("", text, classes=["okb-level"])
                    node[0] += [nodes.Text(" "), badge]
                    # these classes mean something else to the theme
                    node["classes"] = [c for c in node["classes"] if c not in marks]


def setup(app):
    app.add_post_transform(Levels)
