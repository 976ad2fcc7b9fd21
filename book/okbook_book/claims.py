"""The list of the statements that the pages have tried to refute.

What ``okbook.core.refute`` returns is shown as a line of text. These lines are
collected from the outputs of the executed cells when a page is read, and
``{claims-index}`` makes a table of them: nothing is written twice, and what is listed
has run.
"""

import re
from dataclasses import dataclass

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

LINE = re.compile(
    r"^(?:survived|refuted by (?P<failures>[\d,]+) of) (?P<tries>[\d,]+) cases "
    r"\(seed (?P<seed>\d+)\): (?P<claim>.+)$",
    re.M,
)
HEAD = ("Page", "Statement", "Cases tried", "Counterexamples among them", "Seed")


@dataclass(frozen=True)
class Tried:
    "A statement that a cell has tried to refute."

    claim: str
    tries: int
    failures: int
    seed: int


def read_lines(text):
    "The results in a text, as `Refutation` prints them."
    return [
        Tried(
            m["claim"].strip(),
            *(int((m[k] or "0").replace(",", "")) for k in ("tries", "failures")),
            int(m["seed"]),
        )
        for m in LINE.finditer(text)
    ]


def collect(app, doctree):
    "Keep what the cells of a page have shown, each result once."
    shown = [
        one
        for output in doctree.findall(nodes.container)
        if "cell_output" in output["classes"]
        for block in output.findall(nodes.literal_block)
        for one in read_lines(block.astext())
    ]
    if shown:
        _kept(app.env)[app.env.docname] = list(dict.fromkeys(shown))


def _kept(env):
    if not hasattr(env, "okbook_claims"):
        env.okbook_claims = {}
    return env.okbook_claims


def forget(app, env, docname):
    _kept(env).pop(docname, None)


def merge(app, env, docnames, other):
    found = _kept(other)
    _kept(env).update({name: found[name] for name in docnames if name in found})


class claims_index_node(nodes.General, nodes.Element):
    "Stands for the table until all pages have been read."


class ClaimsIndex(SphinxDirective):
    "Table of all statements that a page has tried to refute, and how often."

    def run(self):
        return [claims_index_node()]


def summary(kept):
    "What the list holds, in one sentence."
    every = [one for page in kept.values() for one in page]
    refuted = sum(one.failures > 0 for one in every)
    return (
        f"{len(kept)} pages try {len(every)} statements on "
        f"{sum(one.tries for one in every):,} cases: {refuted} are refuted, and "
        f"{len(every) - refuted} survive."
    )


def _row(cells):
    entries = (
        nodes.entry(
            "", cell if isinstance(cell, nodes.Node) else nodes.paragraph("", cell)
        )
        for cell in cells
    )
    return nodes.row("", *entries)


def _table(app, fromdoc, kept):
    rows = []
    for page in sorted(kept):
        title = app.env.titles[page].astext() if page in app.env.titles else page
        for one in kept[page]:
            link = make_refnode(app.builder, fromdoc, page, "", nodes.Text(title))
            count = f"{one.failures:,}" if one.failures else "none"
            cells = one.claim, f"{one.tries:,}", count, str(one.seed)
            rows.append(_row([nodes.paragraph("", "", link), *cells]))
    group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in (22, 48, 10, 14, 6)))
    group["cols"] = len(HEAD)
    group += [nodes.thead("", _row(HEAD)), nodes.tbody("", *rows)]
    return nodes.container("", nodes.table("", group), classes=["wide"])


def resolve(app, doctree, fromdoc):
    kept = _kept(app.env)
    for node in list(doctree.findall(claims_index_node)):
        said = nodes.paragraph("", summary(kept))
        node.replace_self([said, _table(app, fromdoc, kept)] if kept else [said])


def always_outdated(app, env, added, changed, removed):
    "The list depends on all pages, so its page is read again at every build."
    return [d for d in env.found_docs if d.endswith("/claims")]


def setup(app):
    app.add_node(claims_index_node)
    app.add_directive("claims-index", ClaimsIndex)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", resolve)
    app.connect("env-get-outdated", always_outdated)
