"""Numbers: of pages, and of the equations, theorems, exercises, figures and tables on
them.

- A page has its number from its file's name: ``03_forest_kernel`` is Chapter 3,
  ``03_forest_kernel_1_hyperplanes`` Section 3.1, ``11_image_completion`` Lab 11; the
  appendices, whose names begin with 9, have letters in the order of the table of
  contents. A page for a class has a name that begins with 7: ``71_project_letters`` is
  Project 1, and the course, ``70_course``, has no number, like the pages for engineers,
  whose names begin with 6.
  The number stands in the page's title, and so wherever the title is shown.
  ``{ref}`` to a page shows 'Chapter 3', to a section of another page 'The estimator in
  Chapter 3', and ``{doc}`` 'Chapter 3, Kernels from random forests'.
- What stands on the pages is counted by chapter, lab or appendix, over all its pages:
  the seventh equation of chapter 3 is '(3.7)', whether it stands on page 3 or 3.1.
- Equations of a source wear the source's own number: ``eq-ok3-11`` shows '(OK3 eq. 11)'
  in the margin.
"""

import re
from collections import Counter
from dataclasses import dataclass

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.domains.math import MathDomain
from sphinx.domains.std import StandardDomain
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import docname_join
from sphinx.util.nodes import make_refnode

from .equations import LABEL, name

FILE = re.compile(r"(?:.*/)?(\d)(\d)_(?:.*?_(\d+)_)?")
PRACTICE = "6"  # how to use the package: read in any order
CLASS = "7"  # the course, and projects


@dataclass(frozen=True)
class Number:
    kind: str  # Chapter, Lab, Project or Appendix
    main: str  # '3', '11', 'P1' or 'B': what the numbers on the page begin with
    page: str  # '3' or '3.1'

    @property
    def heading(self):
        "As the title begins with it: '3.1', but 'Lab 11' and 'Project 1'."
        return self.name if self.kind in ("Lab", "Project") else self.page

    @property
    def name(self):
        "As prose calls it: 'Chapter 3', 'Section 3.1', 'Lab 11', 'Project 1'."
        section = self.kind == "Chapter" and self.page != self.main
        page = self.page.removeprefix("P") if self.kind == "Project" else self.page
        return f"{'Section' if section else self.kind} {page}"


def page_number(docname, order):
    """The `Number` of a page, or None; `order` has the documents as the table of
    contents has them."""
    found = FILE.match(docname)
    if not found or found[1] == PRACTICE:
        return None
    first, second, further = found.groups()
    if first == CLASS:
        return None if second == "0" else Number("Project", f"P{second}", f"P{second}")
    if first == "0":
        kind, main = "Chapter", second
    elif first == "9":
        digits = [m[1] + m[2] for m in map(FILE.match, order) if m and m[1] == "9"]
        letter = list(dict.fromkeys(digits)).index(first + second)
        kind, main = "Appendix", chr(ord("A") + letter)
    else:
        kind, main = "Lab", first + second
    return Number(kind, main, f"{main}.{further}" if further else main)


def toc_order(app):
    "All documents of the table of contents, from the first page to the last."
    site = app.config.external_site_map

    def walk(file):
        suffix = next((s for s in app.config.source_suffix if file.endswith(s)), "")
        yield file.removesuffix(suffix)
        for child in site[file].child_files() if file in site else ():
            yield from walk(child)

    return list(walk(site.root.docname))


def number_pages(app, env, added, changed, removed):
    "Number all pages; those whose number has changed are read again."
    old, order = getattr(env, "page_numbers", {}), toc_order(app)
    env.page_numbers = {d: page_number(d, order) for d in order}
    return [d for d in env.found_docs if old.get(d) != env.page_numbers.get(d)]


def page_name(env, docname, title=None):
    "'Chapter 3, Kernels from random forests', from the page's title node."
    number = env.page_numbers.get(docname)
    text = (title or env.titles[docname]).astext()
    if number is None:
        return text
    return f"{number.name}, {text.removeprefix(number.heading).lstrip()}"


def is_heading(env, docname, text):
    return any(r.astext() == text for r in env.tocs[docname].findall(nodes.reference))


class NumberInTitle(SphinxTransform):
    "Begin the title of a page with its number."

    default_priority = 500

    def apply(self):
        number = self.env.page_numbers.get(self.env.docname)
        title = next(self.document.findall(nodes.title), None)
        if number and title is not None:
            shown = nodes.inline("", number.heading, classes=["page-number"])
            title[:0] = [shown, nodes.Text(" ")]


class NumberedStandardDomain(StandardDomain):
    "References to pages say which chapter, lab or appendix they lead to."

    def process_doc(self, env, docname, document):
        super().process_doc(env, docname, document)
        section = next(document.findall(nodes.section), None)
        for label, (doc, anchor, _) in list(self.labels.items()):
            if doc == docname and section is not None and anchor in section["ids"]:
                self.labels[label] = doc, anchor, page_name(env, doc, section[0])

    def resolve_xref(self, env, fromdoc, builder, typ, target, node, contnode):
        if not node.get("refexplicit"):
            doc, anchor, text = self.labels.get(target, (None, None, None))
            number = env.page_numbers.get(doc)
            if typ == "ref" and number and text == page_name(env, doc):
                return self.build_reference_node(
                    fromdoc, builder, doc, anchor, number.name, typ, reftitle=text
                )
            if (
                typ == "ref"
                and number
                and doc != fromdoc
                and is_heading(env, doc, text)
            ):
                text = f"{text} in {number.name}"
                return self.build_reference_node(
                    fromdoc, builder, doc, anchor, text, typ
                )
            doc = docname_join(node.get("refdoc", fromdoc), target)
            if typ == "doc" and env.page_numbers.get(doc):
                text = page_name(env, doc)
                shown = nodes.inline("", text, classes=["doc"])
                return make_refnode(builder, fromdoc, doc, None, shown)
        return super().resolve_xref(env, fromdoc, builder, typ, target, node, contnode)


class NumberedMathDomain(MathDomain):
    def note_equation(self, docname, labelid, location=None):
        super().note_equation(docname, labelid, location)
        if LABEL.fullmatch(labelid):
            self.equations[labelid] = (docname, name(labelid))


class NumberInMargin(SphinxPostTransform):
    "Equations show the number that they have been given after all pages were read."

    default_priority = 10

    def run(self):
        equations = self.env.get_domain("math").equations
        for node in self.document.findall(nodes.math_block):
            if node.get("label") in equations:
                node["number"] = equations[node["label"]][1]


def kind_of(env, node):
    "What Sphinx counts this node as (figure, theorem, displaymath), or None."
    for domain in env.domains.values():
        kind = domain.get_enumerable_node_type(node)
        if kind and (domain.name != "std" or domain.get_numfig_title(node)):
            return kind
    return None


def assign_numbers(self, env):
    """Count figures, theorems and the like by chapter, in place of Sphinx's own count;
    the pages that show another number than before are written again."""
    order = [d for d in env.page_numbers if d in env.found_docs]
    equations = env.get_domain("math").equations
    counts, numbers, wanted = Counter(), {}, {}
    env.toc_fignumbers = {}
    for doc in order + sorted(env.found_docs - set(order)):
        page = env.page_numbers.get(doc)
        prefix = (page.main,) if page else ()
        wanted[doc] = set()
        for node in env.get_doctree(doc).findall(nodes.Element):
            if isinstance(node, pending_xref):
                wanted[doc].add(node.get("reftarget"))
                continue
            kind = None if isinstance(node, nodes.section) else kind_of(env, node)
            label = node.get("label") if kind == "displaymath" else None
            if label in equations and not LABEL.fullmatch(label):
                counts[prefix, kind] += 1
                number = ".".join((*prefix, str(counts[prefix, kind])))
                equations[label] = (doc, number)
                numbers[label] = number
                wanted[doc].add(label)
            elif kind not in (None, "displaymath") and node["ids"]:
                counts[prefix, kind] += 1
                number = (*prefix, counts[prefix, kind])
                kinds = env.toc_fignumbers.setdefault(doc, {})
                kinds.setdefault(kind, {})[node["ids"][0]] = number
                numbers.update(dict.fromkeys(node["ids"], number))
                wanted[doc].update(node["ids"])
    # the titles of all pages stand in each page's sidebar
    shown = {
        doc: (env.page_numbers, {label: numbers.get(label) for label in labels})
        for doc, labels in wanted.items()
    }
    old, env.numbers_shown = getattr(env, "numbers_shown", {}), shown
    return [doc for doc in shown if shown[doc] != old.get(doc)]


def setup(app):
    TocTreeCollector.assign_figure_numbers = assign_numbers
    app.add_domain(NumberedMathDomain, override=True)
    app.add_domain(NumberedStandardDomain, override=True)
    app.add_transform(NumberInTitle)
    app.add_post_transform(NumberInMargin)
    app.connect("env-get-outdated", number_pages)
