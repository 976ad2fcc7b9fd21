"""The pages of the API: one for each public class, function and exception.

Autosummary writes them before Sphinx reads its sources, from the list of packages in
``nbs/api.md`` and the template ``book/templates/api.rst``, as small files in
``nbs/api``. A package has a page with summary tables, in the order of the book's pages;
it stands under the API in the sidebar. The pages of the objects are linked from there,
from the book's cells and from the index.
"""

import importlib
import inspect
import re
from functools import cache
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.ext.autosummary import Autosummary
from sphinx.ext.autosummary.generate import generate_autosummary_docs
from sphinx.util.docutils import SphinxDirective

from . import docstrings, equations, project
from .equations import chapters
from .project import ROOT

INDEX = "nbs/api"


def write_sources(app):
    """Write what has changed, and nothing else: Sphinx reads again what is newer. Files
    of objects that are gone are removed."""
    if INDEX not in app.config.external_site_map:
        return
    packages = generate_autosummary_docs([f"{app.srcdir}/{INDEX}.md"], app=app)
    objects = generate_autosummary_docs([*map(str, packages)], app=app)
    for path in {*Path(app.srcdir, INDEX).glob("*.rst")} - {*packages, *objects}:
        path.unlink()


def name_project(app, config):
    "The name and the version of the package, for the inventory ``objects.inv``."
    package = project.package()
    config.project = package["lib_name"]
    config.version = config.release = package["version"]


@cache
def find(qualname):
    "A package, or a public object as it was written: decorated functions hide it."
    package, _, name = qualname.rpartition(".")
    return inspect.unwrap(getattr(importlib.import_module(package), name))


@cache
def source(qualname):
    "The lines of an object, and the number of the first in its file."
    return inspect.getsourcelines(find(qualname))


def page(qualname):
    "The page of the book that an object comes from."
    return chapters()[find(qualname).__module__][0]


def order(qualname):
    "Where in the book an object comes from."
    return page(qualname), source(qualname)[1]


class Summary(Autosummary):
    """The packages, each with its classes; or the names of one, which are not in the
    sidebar, in a table for each page of the book that they come from."""

    def run(self):
        if self.env.docname == INDEX:
            return super().run()
        del self.options["toctree"]
        package, out = self.env.ref_context["py:module"], []
        found = sorted((f"{package}.{name}" for name in self.content), key=order)
        for doc, names in groupby(found, page):
            self.content = [name.rpartition(".")[2] for name in names]
            title = f".. rubric:: :doc:`/{doc}`\n   :class: api-chapter"
            out += [*self.parse_text_to_nodes(title), *super().run()]
        return out

    def get_items(self, names):
        items = []
        for *shown, said, name in super().get_items(names):
            self.env.note_dependency(inspect.getfile(find(name)))
            items.append((*shown, f"{said} {classes(name)}", name))
        return items


def classes(package):
    "Links to the classes of a package."
    names = [f"{package}.{name}" for name in getattr(find(package), "__all__", ())]
    found = [name for name in sorted(names, key=order) if inspect.isclass(find(name))]
    return ", ".join(f":py:obj:`~{name}`" for name in found)


class Place(SphinxDirective):
    "Where an object stands in the book, and its file."

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        module, theme = find(name).__module__, self.config.html_theme_options
        file = Path(inspect.getfile(find(name))).relative_to(ROOT).as_posix()
        lines, first = source(name)
        url = f"{theme['repository_url']}/blob/{theme['repository_branch']}/{file}"
        cell = cell_label(module, name.rpartition(".")[2])
        return self.parse_text_to_nodes(
            ".. rst-class:: derived-in\n\n"
            f"Derived in :doc:`/{page(name)}` (:ref:`the cell <{cell}>`). Source: "
            f"`{file}, line {first} <{url}#L{first}-L{first + len(lines) - 1}>`__."
        )


class Source(SphinxDirective):
    """The source of an object, folded; its docstring is cut to what it says first,
    because the whole of it stands above."""

    required_arguments = 1

    def run(self):
        text = docstrings.fold("".join(source(self.arguments[0])[0]))[0].rstrip()
        opening = '<details class="api-source"><summary>Source</summary>'
        return [
            nodes.raw("", opening, format="html"),
            nodes.literal_block(text, text, language="python"),
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
    Sphinx looks for labels in small letters.
    """
    return f"def-{module}.{name}".lower()


def list_members(app, doctree):
    "A table of what a class has, before the descriptions of its members."
    if not app.env.docname.startswith(f"{INDEX}/"):
        return
    for desc in list(doctree.findall(addnodes.desc)):
        content = desc.next_node(addnodes.desc_content)
        members = [c for c in content.children if isinstance(c, addnodes.desc)]
        if desc["objtype"] != "class" or not members:
            continue
        cls = find(app.env.docname.rpartition("/")[2])
        rows = [_member_row(cls, member) for member in members]
        group = nodes.tgroup("", nodes.colspec(), nodes.colspec(), cols=2)
        group += nodes.tbody("", *rows)
        table = nodes.table("", group, classes=["autosummary"])
        place = content.index(members[0])
        content.insert(place, [nodes.rubric("", "Members"), table])


def _member_row(cls, member):
    signature = member.next_node(addnodes.desc_signature)
    name = signature["fullname"].rpartition(".")[2]
    link = nodes.reference(
        "", "", nodes.literal(name, name), internal=True, refid=signature["ids"][0]
    )
    said = nodes.paragraph()
    content = signature.parent.next_node(addnodes.desc_content)
    if first := content.next_node(nodes.paragraph):
        said += _first_sentence(first)
    if base := _inherited(cls, name):
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


def no_source_buttons(app, pagename, templatename, context, doctree):
    "A generated page has no file to edit, to launch or to download."
    if pagename.startswith(f"{INDEX}/"):
        context["header_buttons"] = [
            button
            for button in context.get("header_buttons", [])
            if button.get("label") not in ("launch-buttons", "download-buttons")
        ]
        context["sourcename"] = ""


def setup(app):
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("autosummary", Summary, override=True)
    app.add_directive("api-place", Place)
    app.add_directive("api-source", Source)
    app.connect("config-inited", name_project)
    app.connect("builder-inited", write_sources)
    app.connect("doctree-read", anchor_cells)
    app.connect("doctree-read", list_members)
    app.connect("html-page-context", no_source_buttons, priority=900)
