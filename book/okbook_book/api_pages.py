"""The pages of the API: one for each public class, function and exception.

The pages are written before Sphinx reads its sources, as small files in ``nbs/api``
that hold little more than autodoc's directives. A package has a page with summary
tables, in the order of the book's pages; it stands under the API in the sidebar. The
pages of the objects are linked from there, from the book's cells and from the index.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective
from sphinx_external_toc.api import Document, FileItem, TocTree

from . import docstrings, equations, project
from .api import link_labels
from .equations import chapters, face, refer
from .project import ROOT

FOLDER = "nbs/api"
KINDS = {
    "class": "autoclass",
    "exception": "autoexception",
    "function": "autofunction",
}


@dataclass(frozen=True)
class Public:
    "A public object: the package that shows it, its name, its module, and itself."

    package: str
    name: str
    module: str
    value: object

    @property
    def qualname(self):
        return f"{self.package}.{self.name}"

    @property
    def docname(self):
        return f"{FOLDER}/{self.qualname}"

    @property
    def function(self):
        "What was written: compiled functions and decorated ones hide it."
        return inspect.unwrap(getattr(self.value, "py_func", self.value))

    @property
    def kind(self):
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function"

    @property
    def summary(self):
        "The first sentence of the docstring."
        return first_sentence(inspect.getdoc(self.function) or "")

    @property
    def line(self):
        "Where in its module an object is defined."
        return definitions(self.module)[self.name]


def first_sentence(text):
    "The first sentence of a text's first paragraph, on one line."
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    found = re.match(r"(.*?[^.A-Z\s][.!?][)\"']?)(?=\s+[A-Z`:\"(]|$)", paragraph)
    return found[1] if found else paragraph


@cache
def source_lines(module):
    return Path(sys.modules[module].__file__).read_text(encoding="utf8").splitlines()


@cache
def definitions(module):
    "The names that a module defines, and the line of each."
    out = {}
    for node in ast.parse("\n".join(source_lines(module))).body:
        for name in docstrings.defined(ast.unparse(node)):
            out.setdefault(name, node.lineno)
    return out


@cache
def packages():
    """The packages that show names, in the order of the book: each with its public
    objects, in the order of their source."""
    import okbook

    found = {}
    for info in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if info.name.startswith(("okbook._", "okbook.cli", "okbook.labs")):
            continue  # no interface
        module = importlib.import_module(info.name)
        if names := getattr(module, "__all__", None):
            package = found.setdefault(face(info.name), {})
            for name in names:
                value = getattr(module, name)
                if not info.ispkg:
                    package.setdefault(
                        name, Public(face(info.name), name, info.name, value)
                    )
    shown = {
        package: sorted(
            (
                entry
                for name, entry in entries.items()
                if name in importlib.import_module(package).__all__
            ),
            key=lambda entry: (_page(entry.module), entry.line),
        )
        for package, entries in found.items()
    }
    return dict(sorted(shown.items(), key=lambda item: _page(item[1][0].module)))


def _page(module):
    "The page that a module comes from, as it sorts in the book."
    return chapters()[module][0]


def _heading(text, line="="):
    return [text, line * len(text), ""]


def _table(rows, widths, head):
    out = [
        ".. list-table::",
        "   :header-rows: 1",
        f"   :widths: {widths}",
        "   :class: api-summary",
        "",
    ]
    for row in [head, *rows]:
        for i, cell in enumerate(row):
            out.append(f"   {'*' if not i else ' '} - {cell}")
    return [*out, ""]


def _link(entry):
    role = {"class": "class", "exception": "exc", "function": "func"}
    return f":py:{role[entry.kind]}:`{entry.name} <{entry.qualname}>`"


def object_page(entry):
    out = [":orphan:", "", *_heading(entry.name)]
    out += [f".. api-place:: {entry.qualname}", ""]
    out += [f".. {KINDS[entry.kind]}:: {entry.qualname}", ""]
    return [*out, f".. api-source:: {entry.qualname}", ""]


def package_page(package, entries):
    module = importlib.import_module(package)
    out = [*_heading(package), f".. api-place:: {package}", ""]
    out += [f".. py:module:: {package}", f"   :synopsis: {_synopsis(module)}", ""]
    out += [*inspect.getdoc(module).splitlines(), ""]
    for page in dict.fromkeys(entry.module for entry in entries):
        here = [entry for entry in entries if entry.module == page]
        rows = [(_link(e), link_labels(e.summary)) for e in here]
        out += [f".. api-chapter:: {page}", ""]
        out += _table(rows, "34 66", ("Name", "What it is"))
    return out


def _synopsis(module):
    return first_sentence(inspect.getdoc(module) or "")


def sources():
    "All pages of the API that are generated, as docname -> text."
    out = {}
    for package, entries in packages().items():
        out[f"{FOLDER}/{package}"] = package_page(package, entries)
        out |= {e.docname: object_page(e) for e in entries}
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in out.items()}


def write_sources(srcdir):
    """Write what has changed, and nothing else: Sphinx reads again what is newer. Files
    of objects that are gone are removed."""
    wanted = {Path(srcdir, f"{name}.rst"): text for name, text in sources().items()}
    folder = Path(srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf8") != text:
            path.write_text(text, encoding="utf8")


def add_pages(app, config):
    """Put the packages under the API in the site's map. The pages of the objects are
    not in it; sphinx-external-toc excludes such files unless told otherwise."""
    if "nbs/api" not in config.external_site_map:
        return
    write_sources(app.srcdir)
    names = [f"{FOLDER}/{name}" for name in packages()]
    site = config.external_site_map
    site["nbs/api"].subtrees.append(TocTree([FileItem(name) for name in names]))
    for name in names:
        site[name] = Document(name)
    config.exclude_patterns = [
        pattern
        for pattern in config.exclude_patterns
        if not pattern.startswith(f"{FOLDER}/")
    ]


def name_project(app, config):
    "The name and the version of the package, for the inventory ``objects.inv``."
    package = project.package()
    config.project = package["lib_name"]
    config.version = config.release = package["version"]


@cache
def find(qualname):
    package, _, name = qualname.rpartition(".")
    return next(e for e in packages()[package] if e.name == name)


class place_node(nodes.General, nodes.Element):
    "Stands for the line that says where in the API and in the book an object is."


class chapter_node(nodes.General, nodes.Element):
    "Stands for the name of the page of the book that a module comes from."


class Place(SphinxDirective):
    required_arguments = 1

    def run(self):
        return [place_node(of=self.arguments[0])]


class Chapter(SphinxDirective):
    required_arguments = 1

    def run(self):
        module = self.arguments[0]
        section = nodes.rubric("", "", classes=["api-chapter"])
        section += chapter_node(of=module)
        return [section]


def _summary(columns, rows):
    "A summary table of rows that are nodes, from the widths of its columns by name."
    head = [nodes.entry("", nodes.paragraph("", name)) for name in columns]
    widths = (nodes.colspec(colwidth=width) for width in columns.values())
    group = nodes.tgroup("", *widths, cols=len(columns))
    group += [nodes.thead("", nodes.row("", *head)), nodes.tbody("", *rows)]
    return nodes.table("", group, classes=["api-summary", "colwidths-given"])


class Source(SphinxDirective):
    """The source of an object, folded; its docstring is cut to what it says first,
    because the whole of it stands above."""

    required_arguments = 1

    def run(self):
        entry = find(self.arguments[0])
        self.env.note_dependency(sys.modules[entry.module].__file__)
        lines, _ = inspect.getsourcelines(entry.function)
        text = docstrings.fold("".join(lines))[0].rstrip()
        block = nodes.literal_block(text, text, language="python")
        opening = '<details class="api-source"><summary>Source</summary>'
        return [
            nodes.raw("", opening, format="html"),
            block,
            nodes.raw("", "</details>", format="html"),
        ]


def anchor_cells(app, doctree):
    "Give each cell that exports something an anchor for every name that it defines."
    page = app.env.docname
    modules = equations.exports(page)
    if not modules:
        return
    anchors = app.env.get_domain("std").anonlabels
    for cell in doctree.findall(nodes.container):
        if "tag_export" in cell["classes"]:
            names = [
                name
                for block in cell.findall(nodes.literal_block)
                if "cell_input" in block.parent["classes"]
                for name in docstrings.defined(block.astext())
            ]
            for name in names:
                anchor = f"def-{name}"
                cell["ids"].append(anchor)
                for module in modules:
                    anchors.setdefault(cell_label(module, name), (page, anchor))


def cell_label(module, name):
    """The label of the cell that defines a name of a module.

    It names the module and not its package: a definition that moves to another page of
    the package would lose its label, where both pages are read again, with the old one.
    """
    return f"def-{module}.{name}"


def list_members(app, doctree):
    "A table of what a class has, before the descriptions of its members."
    if not app.env.docname.startswith(f"{FOLDER}/"):
        return
    for desc in list(doctree.findall(addnodes.desc)):
        content = desc.next_node(addnodes.desc_content)
        members = [c for c in content.children if isinstance(c, addnodes.desc)]
        if desc["objtype"] != "class" or not members:
            continue
        entry = find(app.env.docname.rpartition("/")[2])
        rows = [_member_row(entry, member) for member in members]
        table = _summary({"Member": 30, "Summary": 70}, rows)
        place = content.index(members[0])
        content.insert(place, [nodes.rubric("", "Members"), table])


def _member_row(entry, member):
    signature = member.next_node(addnodes.desc_signature)
    name = signature["fullname"].rpartition(".")[2]
    link = nodes.reference(
        "", "", nodes.literal(name, name), internal=True, refid=signature["ids"][0]
    )
    said = nodes.paragraph()
    content = signature.parent.next_node(addnodes.desc_content)
    if first := content.next_node(nodes.paragraph):
        said += _first_sentence(first)
    if base := _inherited(entry.value, name):
        said += [nodes.Text(" From "), nodes.literal(base, base), nodes.Text(".")]
    cells = nodes.paragraph("", "", link), said
    return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def _first_sentence(paragraph):
    "The nodes of a paragraph up to the end of its first sentence."
    out = []
    for child in paragraph.children:
        if isinstance(child, nodes.Text) and (
            end := re.search(r"[^.A-Z\s][.!?][)\"']?(?=\s+[A-Z`\"(]|\s*$)", str(child))
        ):
            return [*out, nodes.Text(str(child)[: end.end()])]
        out.append(child.deepcopy())
    return out


def _inherited(cls, name):
    "The public base that a member comes from, if it is another class."
    for base in cls.__mro__:
        if name in vars(base):
            return None if base is cls or base.__name__[0] == "_" else base.__name__


def resolve(app, doctree, fromdoc):
    for node in list(doctree.findall(place_node)):
        node.replace_self(_place(app, fromdoc, node["of"]))
    for node in list(doctree.findall(chapter_node)):
        doc = chapters()[node["of"]][0]
        node.replace_self(_page_link(app, fromdoc, doc, ""))


def _page_link(app, fromdoc, doc, anchor):
    if doc not in app.env.titles:
        return nodes.Text(doc)
    title = nodes.Text(app.env.titles[doc].astext())
    return refer(app, fromdoc, doc, anchor, title)


def _place(app, fromdoc, qualname):
    "The way to an object from the API, its cell in the book, and its file."
    way = nodes.paragraph("", "", classes=["api-place"])
    way += refer(app, fromdoc, "nbs/api", "", nodes.Text("API"))
    if qualname in packages():
        return [way]
    package = qualname.rpartition(".")[0]
    link = refer(app, fromdoc, f"{FOLDER}/{package}", "", nodes.Text(package))
    way += [nodes.Text(" › "), link]
    entry = find(qualname)
    doc = chapters()[entry.module][0]
    anchors = app.env.get_domain("std").anonlabels
    page, anchor = anchors.get(cell_label(entry.module, entry.name), (doc, ""))
    derived = nodes.paragraph("", "Derived in ", classes=["derived-in"])
    derived += [_page_link(app, fromdoc, page, anchor), nodes.Text(". Source: ")]
    derived += [_file_link(app, entry), nodes.Text(".")]
    return [way, derived]


def _file_link(app, entry):
    path = Path(sys.modules[entry.module].__file__).relative_to(ROOT).as_posix()
    lines, first = inspect.getsourcelines(entry.function)
    theme = app.config.html_theme_options
    url = f"{theme['repository_url']}/blob/{theme['repository_branch']}/{path}"
    text = f"{path}, line {first}"
    return nodes.reference(
        "", text, refuri=f"{url}#L{first}-L{first + len(lines) - 1}", internal=False
    )


def no_source_buttons(app, pagename, templatename, context, doctree):
    "A generated page has no file to edit, to launch or to download."
    if pagename.startswith(f"{FOLDER}/"):
        context["header_buttons"] = [
            button
            for button in context.get("header_buttons", [])
            if button.get("label") not in ("launch-buttons", "download-buttons")
        ]
        context["sourcename"] = ""


class Packages(SphinxDirective):
    "The table of the packages, each with its classes."

    def run(self):
        rows = []
        for package, entries in packages().items():
            classes = [_link(e) for e in entries if e.kind == "class"]
            said = _synopsis(importlib.import_module(package))
            rows.append((f":py:mod:`{package}`", said, ", ".join(classes)))
        text = _table(rows, "24 34 42", ("Package", "What it holds", "Classes"))
        return self.parse_text_to_nodes("\n".join(text))


def setup(app):
    for node in (place_node, chapter_node):
        app.add_node(node)
    app.add_directive("api-place", Place)
    app.add_directive("api-chapter", Chapter)
    app.add_directive("api-source", Source)
    app.add_directive("api-packages", Packages)
    app.connect("config-inited", name_project)
    # after sphinx-external-toc has read _toc.yml
    app.connect("config-inited", add_pages, priority=950)
    app.connect("doctree-read", anchor_cells)
    app.connect("doctree-read", list_members)
    app.connect("doctree-resolved", resolve)
    app.connect("html-page-context", no_source_buttons, priority=900)
