"""Mathematics is set when the book is built, by KaTeX: no page needs a script for it.

``make env`` puts Node, from its wheel, and KaTeX, from npm, into the environment. One
Node sets the formulas of a build, line by line. A formula is HTML for the eye, and
MathML for screen readers; one that KaTeX cannot read is a warning, which stops the
build.
"""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

KATEX = Path(sys.prefix, "node_modules", "katex", "dist")
STYLE = "katex/katex.min.css"  # in _static, with its fonts beside it
PROGRAM = """
const [, katex, macros] = process.argv;
const { renderToString } = require(katex);
require("readline").createInterface({ input: process.stdin }).on("line", line => {
  const [tex, displayMode] = JSON.parse(line);
  const options = { displayMode, macros: JSON.parse(macros), strict: false };
  let said;
  try { said = [renderToString(tex, options), null]; }
  catch (error) { said = [null, error.message]; }
  console.log(JSON.stringify(said));
});
"""
# What must not begin a line after a formula, and what keeps it from it (word joiner).
CLOSING = tuple(".,;:!?)]}’”…%–")
JOINER = "\u2060"


@cache
def started(macros):
    "The Node that knows these macros."
    return subprocess.Popen(
        [Path(sys.prefix, "bin", "node"), "-e", PROGRAM, KATEX / "katex.js", macros],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf8",
    )


@cache
def set_formula(tex, display, macros):
    "HTML of a formula and None, or None and what is wrong with it."
    node = started(macros)
    node.stdin.write(json.dumps([tex, display]) + "\n")
    node.stdin.flush()
    return json.loads(node.stdout.readline())


def wrapped(node):
    "The text of a block; one with several lines and no environment of its own splits."
    tex = node.astext().strip()
    lines = r"\\" in tex and not (node["nowrap"] or tex.startswith(r"\begin"))
    return rf"\begin{{split}}{tex}\end{{split}}" if lines else tex


def append(translator, node, tex, display):
    macros = json.dumps(translator.config.katex_macros)
    found, wrong = set_formula(tex, display, macros)
    if wrong:
        logging.getLogger(__name__).warning(wrong, location=node)
    translator.body.append(found or translator.encode(tex))


def visit_math(self, node):
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate"))
    append(self, node, node.astext(), False)
    self.body.append("</span>")
    raise nodes.SkipNode


def visit_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math notranslate"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    append(self, node, wrapped(node), True)
    self.body.append("</div>\n")
    raise nodes.SkipNode


class JoinClosing(SphinxPostTransform):
    "A full stop after a formula does not begin a line of its own."

    default_priority = 900
    formats = ("html",)

    def run(self):
        for node in list(self.document.findall(nodes.math)):
            parent, place = node.parent, node.parent.index(node) + 1
            after = parent[place] if place < len(parent) else None
            if isinstance(after, nodes.Text) and after.startswith(CLOSING):
                parent[place] = nodes.Text(JOINER + after)


def choose(app, config):
    config.html_math_renderer = "katex"


def copy_style(app, exception):
    if exception is None and app.builder.format == "html":
        target = Path(app.outdir, "_static", STYLE).parent
        target.mkdir(exist_ok=True)
        shutil.copyfile(KATEX / "katex.min.css", target / "katex.min.css")
        ignored = shutil.ignore_patterns("*.ttf", "*.woff")
        shutil.copytree(
            KATEX / "fonts", target / "fonts", dirs_exist_ok=True, ignore=ignored
        )


def setup(app):
    app.add_config_value("katex_macros", {}, "env")
    app.add_html_math_renderer("katex", (visit_math, None), (visit_block, None))
    app.connect("config-inited", choose)
    app.add_css_file(STYLE)
    app.add_post_transform(JoinClosing)
    app.connect("build-finished", copy_style)
