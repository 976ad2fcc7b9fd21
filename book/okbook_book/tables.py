"""Numbers that do not break, and heads of tables that are none.

A number keeps its deviation, ``68.7 ± 0.9``, by no-break spaces, in tables and in
prose. An empty head, above the names of the rows, is a cell and not a head. So in the
tables of pandas, which are HTML already.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

DEVIATION = re.compile(r"(?<=[\d.)%]) *± *(?=[\d.])")
DAGGER = re.compile(r"(?<=\d) (?=†)")
VERBATIM = nodes.literal | nodes.literal_block | nodes.math | nodes.math_block


def unbroken(text):
    "A text in which no line ends between a number and its deviation or its dagger."
    return DAGGER.sub("\u00a0", DEVIATION.sub("\u00a0±\u00a0", text))


class Blank(nodes.entry):
    "A cell in the head of a table that heads nothing."


def visit(self, node):
    node.parent.column += 1 + node.get("morecols", 0)
    self.body.append(self.starttag(node, "td", "", CLASS="head"))


def depart(self, node):
    self.body.append("</td>\n")


class Tables(SphinxPostTransform):
    default_priority = 160
    formats = ("html",)

    def run(self, **kwargs):
        for text in list(self.document.findall(nodes.Text)):
            kept = unbroken(text)
            if kept != text and not isinstance(text.parent, VERBATIM):
                text.parent.replace(text, nodes.Text(kept))
        for html in self.document.findall(nodes.raw):
            kept = html.astext().replace("<th></th>", '<td class="head"></td>')
            html.children = [nodes.Text(kept)]
        for head in self.document.findall(nodes.thead):
            for entry in list(head.findall(nodes.entry)):
                if not entry.astext().strip() and not list(entry.findall(nodes.image)):
                    entry.replace_self(Blank("", *entry.children, **entry.attributes))


def setup(app):
    app.add_node(Blank, html=(visit, depart))
    app.add_post_transform(Tables)
