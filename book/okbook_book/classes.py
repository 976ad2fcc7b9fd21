"""The class edition: ``python -m okbook_book.classes``, or ``make class``.

Sphinx reads the notebooks of the book once more, with all their cells, and `Builder`
writes each as two plain notebooks: the student's, with the statements of the exercises,
their stubs and their tests, and the teacher's, with the solutions. Roles, references,
citations and macros are resolved (`plain`), since JupyterLab, Colab and VS Code know
none of them. The slides are made by `slides`, the sheets that are marked by
`assignments`.

The launch buttons on the pages of the book lead to the branch ``class`` of the
repository, to which ``make publish-class`` sends all but the teacher's folder.
"""

import io
import itertools
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import yaml
from jupyter_book.config import get_final_config
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.util.docutils import docutils_namespace, patch_docutils

from . import directives, execute, exercises, fingerprint, folds, project, quiz
from .plain import Code, Markdown, Text, box
from .project import ROOT

CLASS = ROOT / "_build" / "class"
BRANCH = "class"  # where the students' notebooks are published
README = """# The class edition of okbook

`student` has the notebooks that a class fills in, one a page of [the book]({book}),
and `slides` the slides of each session (open `slides/index.html` in a browser). They
are made from the sources by `make class`; changes belong there.
"""
# Reference pages and those on how the book is made; a link to them leads to the
# published book.
LEFT_OUT = re.compile(r"nbs/(9[0-4]|\D)\w*")
SETUP = """# What this notebook needs, installed where it is absent (in Colab, say).
import importlib.util

if importlib.util.find_spec("okbook") is None:
    %pip install --quiet "okbook[all] @ git+{repository}"
%config InlineBackend.figure_format = "retina"
okbook_style = {style}
"""
# Stands in the first cell, too: a test of the class edition runs inside of it.
TEST = '''

import base64
import functools
import zlib

import numpy as np


def okb_copy(value):
    if type(value) in (list, tuple):
        return type(value)(map(okb_copy, value))
    return value.copy() if type(value) is np.ndarray else value


def okb_same(a, b):
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(okb_same, a, b))
    if type(a) is np.ndarray:
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    return a is b


def okb_array(value):
    "What was returned, with lists of numbers as arrays."
    if type(value) is tuple:
        return tuple(map(okb_array, value))
    try:
        found = np.array(value) if type(value) is list and value else None
    except ValueError:  # rows of different lengths
        return value
    return value if found is None or found.dtype.kind not in "biufc" else found


def okb_shapes(value):
    "What is told of the shapes of arrays."
    parts = value if type(value) is tuple else (value,)
    shapes = [str(part.shape) for part in parts if type(part) is np.ndarray]
    return f" of shape {' and '.join(shapes)}" if shapes else ""


class okb_test:
    """Test functions: on copies of arrays and lists, and telling what was returned.
    A test sees lists of numbers as arrays, and accepts numbers that are rounded to
    float32, by up to 6e-8 of their size."""

    def __init__(self, *names):
        self.names, self.last, self.inside = names, None, 0

    def __enter__(self):
        for name in self.names:
            assert name in globals(), f"{name} is not defined: run the answer's cell"
        self.answers = {name: globals()[name] for name in self.names}
        globals().update({n: self.watched(n, f) for n, f in self.answers.items()})

    def __exit__(self, kind, error, traceback):
        globals().update(self.answers)
        if error and self.last:
            name, found = self.last
            shown = " ".join(repr(found).split())[:100]
            told = f"{name} returned {shown}{okb_shapes(found)}"
            error.args = (f"{told}: {error}" if str(error) else told,)

    def watched(self, name, answer):
        @functools.wraps(answer, updated=())
        def call(*args, **named):
            self.last = None
            copies = okb_copy(args)
            self.inside += 1
            try:
                found = answer(*copies, **named)
            finally:
                self.inside -= 1
            if not okb_same(args, copies):
                raise AssertionError(f"the argument was changed by {name}")
            found = found if self.inside else okb_array(found)
            self.last = name, found
            return found

        return call


def okb_unpacked(test):
    "Run a test that is not to be read."
    code = zlib.decompress(base64.b64decode(test)).decode()
    exec(compile(code, "the test", "exec"), globals())
'''
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
USE_STYLE = re.compile(r'plt\.style\.use\("\.\./book/okbook\.mplstyle"\)')
MEASURED = re.compile(r'Path\("\.\./(benchmarks/\w+\.csv)"\)')
NOTEBOOK = re.compile(r"\]\((\w+)\.ipynb\)")
ROLE = re.compile(
    r"\{\{?(?:ref|eq|numref|prf:ref|doc|term|cite(?::[tp])?)\}\}?`[^`{}\n]+`"
)
BOX = re.compile(r"```\{\{?(\w+)\}\}?\n(.*?)\n```", re.S)


def is_class_page(docname):
    "Whether a page is a notebook that a class opens."
    return not LEFT_OUT.fullmatch(docname) and (ROOT / f"{docname}.ipynb").exists()


def config():
    "The settings of the book, as Jupyter Book gives them to Sphinx."
    none = {"latex_individualpages": False}  # which Jupyter Book asks for
    return get_final_config(
        user_yaml=ROOT / "_config.yml", cli_config=none, sourcedir=ROOT
    )[0]


def set_up():
    "The first cell of a notebook."
    repository = project.book()["repository"]["url"]
    return SETUP.format(repository=repository, style=style()) + TEST


def style():
    "The style of the figures as a dictionary in Python, for a screen."
    lines = (ROOT / "book" / "okbook.mplstyle").read_text(encoding="utf8").splitlines()
    pairs = dict(line.split(": ", 1) for line in lines if line and line[0] != "#")
    pairs = {key: value.strip('"') for key, value in pairs.items()}
    pairs["figure.dpi"] = str(int(pairs["figure.dpi"]) // 2)  # shown twice as fine
    del pairs["savefig.bbox"]  # the same size for all figures of a page
    body = "".join(f"    {key!r}: {value!r},\n" for key, value in pairs.items())
    return "{\n" + body + "}"


# What Sphinx reads


def as_class(text, skip=()):
    """A notebook's JSON as the class edition parses it: as the book's, but with the
    cells that the book leaves out, and each code cell with what it is in its metadata.
    """
    source = json.loads(text)
    its = {
        n: {
            "role": kind,
            "exercise": exercise.label,
            "functions": exercises.functions(source, exercise),
            "packed": not exercise.printed,
        }
        for exercise in exercises.exercises(source).values()
        for kind, cells in exercise.parts.items()
        for n in cells
    }
    out = []
    for n, cell in enumerate(source["cells"]):
        tags = set(cell["metadata"].get("tags", ()))
        if cell["cell_type"] == "markdown":
            cell["metadata"]["tags"] = sorted(tags - {"remove-cell"})
            out.append(cell)
            continue
        found, code = project.split("".join(cell["source"]))
        if not code.strip():
            continue
        tags |= set(directives.tags(found, skip))
        cell["source"] = code
        cell["metadata"] = {
            "mystnb": {
                k: v
                for k, v in cell["metadata"].get("mystnb", {}).items()
                if k == "figure" and not {"remove-cell", "skip-execution"} & tags
            },
            "okbook": its.get(n, {"role": "code"}),
            "folded": is_folded(code, tags),
            "skipped": "skip-execution" in tags,
            "id": cell["id"],
        }
        # a figure has its number and its caption where a cell shows something
        shown = {"output_type": "display_data", "data": {"text/plain": "."}}
        figure = cell["metadata"]["mystnb"].get("figure")
        cell["outputs"] = [shown | {"metadata": {}}] if figure else []
        out.append(cell)
        roles = [
            m[0].replace("{{", "{").replace("}}", "}") for m in ROLE.finditer(code)
        ]
        if roles:
            cell["metadata"]["roles"] = len(roles)
            paragraphs = [f"{{.okb-role}}\n{role}" for role in roles]
            out.append(
                {
                    "cell_type": "markdown",
                    "id": f"roles-{n}",
                    "metadata": {},
                    "source": "\n\n".join(paragraphs),
                }
            )
    return json.dumps(source | {"cells": out})


def source_read(app, docname, content):
    notebook = Path(app.env.doc2path(docname)).suffix == ".ipynb"
    if notebook and app.config.okbook_edition == "class":
        content[0] = as_class(content[0], app.config.nbdev_skip_flags)


def is_folded(code, tags):
    "Whether a cell is closed when the notebook is opened: as in the book."
    return (
        bool(tags & {"remove-cell", "remove-input"}) or folds.is_hidden(code, tags)[1]
    )


# What Sphinx writes


class ClassBuilder(Builder):
    "Writes the student's and the teacher's notebook of each page."

    name = "okbook-class"
    format = "ipynb"
    epilog = ""

    def init(self):
        self.macros = self.config.katex_macros
        self.book = project.published()
        self.setup = set_up()

    def get_outdated_docs(self):
        return self.env.found_docs

    def get_target_uri(self, docname, typ=None):
        if is_class_page(docname):
            return docname.rpartition("/")[2] + ".ipynb"
        return f"{self.book}/{docname}.html"

    def get_relative_uri(self, from_, to, typ=None):
        return self.get_target_uri(to)

    def prepare_writing(self, docnames):
        pass

    def write_doc(self, docname, doctree):
        if is_class_page(docname):
            pieces = Markdown(
                self.macros, lambda *a: self.number(docname, *a), self.link(docname)
            )
            found = list(pieces.pieces(doctree))
            write(docname, with_roles(found, pieces.roles), self)

    def number(self, docname, node, kind):
        "The number of a figure, a theorem or an exercise; empty if it has none."
        numbers = self.env.toc_fignumbers.get(docname, {}).get(kind, {})
        found = next((numbers[i] for i in node["ids"] if i in numbers), ())
        return ".".join(map(str, found))

    def link(self, docname):
        "A link to another notebook has no anchor: JupyterLab has headings only."
        own = self.get_target_uri(docname)

        def address(node):
            page, _, anchor = node.get("refuri", "").partition("#")
            if not page or page == own:
                return None
            return f"{page}#{anchor}" if anchor and "://" in page else page

        return address


def with_roles(pieces, roles):
    "The pieces of a page, with the roles in its code resolved, in their order."
    roles = iter(roles)
    for piece in pieces:
        if isinstance(piece, Code):
            if "roles" in piece.what:
                piece.source = ROLE.sub(lambda _: next(roles), piece.source)
            piece.source = BOX.sub(
                lambda m: box("warning", f"**{m[1].capitalize()}.** {m[2]}"),
                piece.source,
            )
            piece.source = self_contained(piece.source)
        yield piece


def self_contained(source):
    "The source of a cell that needs no other file of the project."
    source = USE_STYLE.sub("plt.style.use(okbook_style)", source)
    held = MEASURED.sub(
        lambda m: f'StringIO("""{(ROOT / m[1]).read_text(encoding="utf8")}""")', source
    )
    return source if held == source else f"from io import StringIO\n\n{held}"


ALONE = {"exercise", "quiz", "caption", "theorem"}
EDITIONS = {
    "student": "the student's notebook of [a page of the book]({}). Where a cell says "
    "`# your code`, replace the dots; the cell below it judges the answer",
    "teacher": "the teacher's notebook of [a page of the book]({}), with all solutions",
}


def to_book(text):
    "A text whose links to notebooks lead to the pages of the book."
    return NOTEBOOK.sub(rf"]({project.published()}/nbs/\1.html)", text)


def write(docname, pieces, builder):
    "Write the notebooks of a page."
    pieces = list(pieces)
    name = docname.rpartition("/")[2]
    for piece in pieces:
        if isinstance(piece, Text) and piece.kind == "quiz":
            path = CLASS / "teacher" / "quizzes" / f"{name}.gift"
            path.write_text(quiz.gift(name, to_book(piece.source)), encoding="utf8")
    for edition, said in EDITIONS.items():
        said = said.format(f"{builder.book}/{docname}.html")
        note = Text(f"This is {said}.")
        kept = [p for p in pieces if is_kept(p, edition)]
        cells = [
            setup_cell(builder.setup),
            *cells_of([kept[0], note, *kept[1:]], edition),
        ]
        notebook = nbformat.v4.new_notebook(cells=cells)
        notebook.metadata["kernelspec"] = KERNEL
        notebook.metadata["okbook"] = {"page": name, "edition": edition}
        nbformat.validate(notebook)
        nbformat.write(notebook, CLASS / edition / f"{name}.ipynb")


def is_kept(piece, edition):
    "Whether an edition has a piece: a student does not get what solves an exercise."
    hidden = {"wrong", "right"} | ({"solution"} if edition == "student" else set())
    return piece.role not in hidden


def setup_cell(source):
    cell = nbformat.v4.new_code_cell(source.rstrip("\n"), id="setup")
    cell.metadata = {"okbook": {"role": "setup"}, "jupyter": {"source_hidden": True}}
    return cell


def cells_of(pieces, edition):
    "The pieces as cells: text runs on until a heading, a box or code."
    group, count = [], itertools.count()

    def ended():
        text = "\n\n".join(piece.source for piece in group)
        cell = nbformat.v4.new_markdown_cell(text, id=f"text-{next(count)}")
        if group[0].exercise:
            cell.metadata["okbook"] = {
                "exercise": group[0].exercise,
                "role": group[0].role,
            }
        group.clear()
        return cell

    for piece in pieces:
        if isinstance(piece, Code) and piece.what["skipped"]:
            piece = Text(f"```python\n{piece.source}\n```")
        last = group[-1] if group else None
        if last and (
            isinstance(piece, Code)
            or piece.kind == "heading"
            or {piece.kind, last.kind} & ALONE
            or (piece.exercise, piece.role) != (last.exercise, last.role)
        ):
            yield ended()
        if isinstance(piece, Text):
            group.append(piece)
        else:
            yield code_cell(piece, edition)
    if group:
        yield ended()


def code_cell(piece, edition):
    judging = piece.role == "test" and edition == "student"
    if judging:
        its = piece.what["okbook"]
        test = exercises.judging(piece.source, its["functions"], its["packed"])
        piece = replace(piece, source=test)
    cell = nbformat.v4.new_code_cell(piece.source.rstrip("\n"), id=piece.what["id"])
    if piece.exercise:
        cell.metadata["okbook"] = {"exercise": piece.exercise, "role": piece.role}
    if piece.what["folded"] and piece.role not in ("stub", "test"):
        cell.metadata["jupyter"] = {"source_hidden": True}
    if judging:
        # it fails until the answer is right, and what stands below it runs all the same
        cell.metadata["tags"] = ["raises-exception"]
    return cell


# The build


def contents():
    "The table of contents without the pages of the API, which take long."
    toc = project.contents()
    for part in toc["parts"]:
        part["chapters"] = [c for c in part["chapters"] if c["file"] != "nbs/api"]
    path = CLASS / "_toc.yml"
    path.write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf8")
    return str(path)


def build():
    "Write the notebooks of the class edition."
    for edition in EDITIONS:
        shutil.rmtree(CLASS / edition, ignore_errors=True)
        (CLASS / edition).mkdir(parents=True)
    (CLASS / "teacher" / "quizzes").mkdir()
    overrides = config() | {
        "okbook_edition": "class",
        "nb_execution_mode": "off",
        "nb_mime_priority_overrides": [[ClassBuilder.name, "text/plain", 1]],
        "external_toc_path": contents(),
        "external_toc_exclude_missing": True,
    }
    said = io.StringIO()  # the book's own build says what is wrong with the sources
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=ROOT,
            confdir=None,
            outdir=CLASS,
            doctreedir=CLASS / ".doctrees",
            buildername=ClassBuilder.name,
            confoverrides=overrides,
            status=None,
            warning=said,
        )
        app.build()
    return said.getvalue()


def launch(app, pagename, templatename, context, doctree):
    "Let the launch buttons open the student's notebook; other pages have none."
    for group in context.get("header_buttons", []):
        if group.get("label") != "launch-buttons":
            continue
        if not is_class_page(pagename):
            context["header_buttons"].remove(group)
            return
        name = pagename.rpartition("/")[2]
        branch = app.config.html_theme_options["repository_branch"]
        for button in group["buttons"]:
            button["url"] = (
                button["url"]
                .replace(f"/{branch}?urlpath=", f"/{BRANCH}?urlpath=")
                .replace(f"/blob/{branch}/", f"/blob/{BRANCH}/")
                .replace(f"{pagename}.ipynb", f"student/{name}.ipynb")
            )


def add_figures():
    """Put the figures of the book's last execution into the students' notebooks, for
    those who read before they run: Colab and VS Code show the code, and no drawing."""
    for path, (executed, _) in execute.cached().items():
        target = CLASS / "student" / path.name
        if not target.exists():
            continue
        drawn = {
            cell.id: [o for o in cell.outputs if "image/png" in o.get("data", {})]
            for cell in executed.cells
            if cell.cell_type == "code"
        }
        notebook = nbformat.read(target, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = drawn.get(cell.id, [])
        nbformat.write(notebook, target)


def main(figures=False):
    "Write the class edition, if its sources have changed."
    stamp, sources = CLASS / fingerprint.STAMP, fingerprint.everything()
    sources += " with figures" if figures else ""
    if stamp.exists() and stamp.read_text() == sources:
        return
    stamp.unlink(missing_ok=True)
    build()
    if figures:
        add_figures()
    shutil.copytree(ROOT / "binder", CLASS / "binder", dirs_exist_ok=True)
    (CLASS / "README.md").write_text(
        README.format(book=project.published()), encoding="utf8"
    )
    stamp.write_text(sources)
    counts = [len(list((CLASS / edition).glob("*.ipynb"))) for edition in EDITIONS]
    print(f"{counts[0]} notebooks for students, {counts[1]} for the teacher: {CLASS}")


def setup(app):
    app.add_builder(ClassBuilder)
    app.connect("source-read", source_read)
    app.connect("html-page-context", launch, priority=950)


if __name__ == "__main__":
    main(figures="--figures" in sys.argv)
