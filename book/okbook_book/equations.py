"""The index of the sources' equations: where derived, what implements it, what tests
it.

Everything is read from the sources, nothing is written twice:

- a *page* is the notebook (or Markdown file) that labels the equation, ``$$ ... $$
  (eq-ok3-11)``, or a theorem, ``:label: thm-rrsn-4``;
- a *function* is any function, class or method of the package whose docstring names the
  label;
- a *test* is a cell that is not exported, or a function in ``tests/``, that names the
  label and asserts something.
"""

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

from docutils import nodes
from sphinx.errors import NoUri
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from . import project
from .project import ROOT, docname, notebooks

SOURCES = {
    "ok3": "OK3",
    "rrsn": "RRSN",
    "votes": "Votes",
    "forest": "Forest",
    "mkl": "MKL",
}
LABEL = re.compile(rf"(?<![\w-])(?:eq|thm)-(?:{'|'.join(SOURCES)})-\w+(?:-\w+)*")
DEFINED = re.compile(rf"(?:\$\$\s*\(|^:label:\s*)({LABEL.pattern})\)?\s*$", re.M)
EXPORTS = re.compile(r"^#\s*\|\s*(?:default_exp|export)\s+([\w.]+)\s*$", re.M)
ASSERTS = re.compile(r"\bassert\w*\b|\btest_\w+\(|pytest\.raises|\bcheck_\w+\(")


def name(label):
    "What a label is called in print: ``eq-ok3-11`` is 'OK3 eq. 11'."
    kind, key, number = label.split("-", 2)
    return f"{SOURCES[key]} {'eq.' if kind == 'eq' else 'thm.'} {number}"


def sort_key(label):
    kind, key, number = label.split("-", 2)
    digits = re.match(r"\d*", number)[0]
    return list(SOURCES).index(key), kind, int(digits or 0), number


@dataclass
class Entry:
    pages: list = field(default_factory=list)  # Sphinx document names
    functions: list = field(default_factory=list)  # dotted names
    tests: list = field(
        default_factory=list
    )  # (text, document or None, anchor or None)

    @property
    def missing(self):
        return [
            what for what in ("pages", "functions", "tests") if not getattr(self, what)
        ]


def labels(text):
    "The labels named in `text`, each once, in order."
    return list(dict.fromkeys(LABEL.findall(text)))


def is_test(source):
    return bool(LABEL.search(source) and ASSERTS.search(source))


def cell_anchor(nb, n):
    return "cell-" + str(nb["cells"][n].get("id", n))


def _is_exported(source):
    return bool(re.search(r"^\s*#\s*\|\s*export", source, re.M))


def scan_pages(index, root):
    for path in sorted((root / "nbs").rglob("*.md")):
        for label in DEFINED.findall(path.read_text(encoding="utf8")):
            index[label].pages.append(docname(path, root))
    for path, nb in notebooks(root):
        for n, cell in enumerate(nb["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                for label in DEFINED.findall(source):
                    index[label].pages.append(docname(path, root))
            elif (
                cell["cell_type"] == "code"
                and not _is_exported(source)
                and is_test(source)
            ):
                hidden = re.search(r"^\s*#\s*\|\s*hide\s*$", source, re.M)
                anchor = None if hidden else cell_anchor(nb, n)
                for label in labels(source):
                    index[label].tests.append(
                        (f"cell of {path.stem}", docname(path, root), anchor)
                    )


def _definitions(tree, prefix):
    "Functions, classes and methods below `tree` with their dotted names."
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{prefix}.{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node, f"{prefix}.{node.name}")


@cache
def face(module, root=ROOT):
    """Where readers import a module's names from: its package, if that shows names.

    The modules of ``okbook/rkhs/`` are shown by ``okbook.rkhs``; those of the labs
    are not shown by ``okbook.labs``, which has no ``__all__``.
    """
    package = module.rpartition(".")[0]
    init = root.joinpath(*package.split("."), "__init__.py")
    shows = package.count(".") and init.exists() and "__all__" in init.read_text()
    return package if shows else module


def scan_functions(index, root):
    for path in sorted((root / "okbook").rglob("*.py")):
        module = docname(path, root).replace("/", ".").removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf8"))
        for qualname, node in _definitions(tree, face(module, root)):
            for label in labels(ast.get_docstring(node) or ""):
                index[label].functions.append(qualname)


def scan_tests(index, root):
    for path in sorted((root / "tests").rglob("test_*.py")):
        file = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf8")
        for qualname, node in _definitions(ast.parse(text), path.stem):
            source = ast.get_source_segment(text, node)
            if qualname.rpartition(".")[2].startswith("test_") and is_test(source):
                for label in labels(source):
                    index[label].tests.append((f"{file}::{node.name}", None, None))


@cache
def equation_index(root=ROOT):
    "All labels of the book in the order of the sources, as a dict label -> Entry."
    index = defaultdict(Entry)
    scan_pages(index, root)
    scan_functions(index, root)
    scan_tests(index, root)
    return {label: index[label] for label in sorted(index, key=sort_key)}


@cache
def chapters(root=ROOT):
    """The notebook and label each module comes from: {'okbook.trees.tree':
    ('nbs/01_trees', 'ch-trees')}."""
    package, out = project.package(root)["lib_name"], {}
    for path, nb in notebooks(root):
        text = ["".join(c["source"]) for c in nb["cells"]]
        label = next((m[1] for t in text if (m := re.match(r"\(([\w-]+)\)=", t))), None)
        for t in text:
            for module in EXPORTS.findall(t):
                out.setdefault(f"{package}.{module}", (docname(path, root), label))
    return out


def exports(page, root=ROOT):
    "The modules that a notebook writes to."
    return [name for name, (doc, _) in chapters(root).items() if doc == page]


def _list(items):
    out = nodes.paragraph()
    for i, item in enumerate(items):
        out += [nodes.Text(", ")] if i else []
        out += item
    return out


def refer(app, fromdoc, doc, anchor, child):
    "A link to a page, or its text alone in an edition without that page."
    try:
        return make_refnode(app.builder, fromdoc, doc, anchor, child)
    except NoUri:
        return child


class equation_index_node(nodes.General, nodes.Element):
    "Stands for the table until all pages have been read."


class EquationIndex(SphinxDirective):
    """Table of a source's equations: ``{equation-index} ok3``, or of all sources
    without an argument."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        return [
            equation_index_node(
                keys=self.arguments[0].split() if self.arguments else list(SOURCES)
            )
        ]


def _text(text):
    return nodes.literal(text, text)


def _page_link(app, fromdoc, doc, label):
    title = app.env.titles[doc].astext() if doc in app.env.titles else doc
    if doc not in app.env.titles:
        return nodes.Text(title)
    equations = app.env.get_domain("math").equations
    anchor = f"equation-{label}" if label in equations else label
    return refer(app, fromdoc, doc, anchor, nodes.Text(title))


def _function_link(app, fromdoc, qualname):
    short = qualname.removeprefix("okbook.")
    known = app.env.get_domain("py").objects.get(qualname)
    if known:
        return refer(app, fromdoc, known.docname, known.node_id, _text(short))
    return _text(short)


def _test_link(app, fromdoc, text, doc, anchor):
    targets = app.env.get_domain("std").anonlabels
    if anchor in targets:
        return refer(app, fromdoc, *targets[anchor], nodes.Text(text))
    if doc in app.env.titles:
        return refer(app, fromdoc, doc, "", nodes.Text(f"{text} (hidden)"))
    return _text(text)


def _table(app, fromdoc, index):
    rows = []
    for label, entry in index.items():
        tests = list(dict.fromkeys(entry.tests))
        cells = [
            [nodes.paragraph("", name(label))],
            [
                _list(
                    _page_link(app, fromdoc, d, label)
                    for d in dict.fromkeys(entry.pages)
                )
            ],
            [
                _list(
                    _function_link(app, fromdoc, f)
                    for f in dict.fromkeys(entry.functions)
                )
            ],
            [_list(_test_link(app, fromdoc, *t) for t in tests)],
        ]
        rows.append(nodes.row("", *(nodes.entry("", *c) for c in cells)))
    head = nodes.row(
        "",
        *(
            nodes.entry("", nodes.paragraph("", h))
            for h in ("Equation", "Page", "Function", "Test")
        ),
    )
    group = nodes.tgroup(
        "", *(nodes.colspec(colwidth=w) for w in (15, 25, 30, 30)), cols=4
    )
    group += [nodes.thead("", head), nodes.tbody("", *rows)]
    return nodes.container(
        "", nodes.table("", group, classes=["equation-index"]), classes=["wide"]
    )


def resolve(app, doctree, fromdoc):
    for node in list(doctree.findall(equation_index_node)):
        index = {
            lab: e
            for lab, e in equation_index().items()
            if lab.split("-")[1] in node["keys"]
        }
        none = nodes.paragraph("", "The chapter of this source is not written yet.")
        node.replace_self(_table(app, fromdoc, index) if index else none)


def always_outdated(app, env, added, changed, removed):
    """The index depends on the package and the tests, so its page is read again at
    every build."""
    return [d for d in env.found_docs if d.endswith("/equations")]


def setup(app):
    app.add_node(equation_index_node)
    app.add_directive("equation-index", EquationIndex)
    app.connect("doctree-resolved", resolve)
    app.connect("env-get-outdated", always_outdated)
