"""What a link leads to, for the cards of `book/static/okbook-previews.js`.

A page from the disk may not fetch another one, but it may load a script. So each page
that has equations, theorems, exercises, figures, references or terms is accompanied by
``_previews/<page>.js`` with the HTML of each, by anchor, as that page shows it, and
``_previews/pages.js`` lists these pages. Scripts are loaded when a link is looked at.
"""

import json
from pathlib import Path

from bs4 import BeautifulSoup

FOLDER = "_previews"
PAGES = "pages"  # the list
# where an anchor stands, by kind
TARGETS = {
    "equation": "div.math[id]",
    "theorem": "div.proof[id]:has(> section)",
    "exercise": "div.exercise[id]",
    "figure": "figure[id]",
    "reference": "div.citation[id]",
    "term": "dl.glossary > dt[id]",
}
UNWANTED = ".headerlink, .backrefs, button, script, .citation > .label"


def _anchors(element):
    "The anchors of an element: its own, and those of empty elements just before it."
    yield element["id"]
    before = element.find_previous_sibling()
    while before and before.name == "span" and before.get("id") and not before.contents:
        yield before["id"]
        before = before.find_previous_sibling()


def _parts(element):
    "What a card shows of a target: a term with its definition, all others whole."
    yield element
    if element.name == "dt":
        yield element.find_next_sibling("dd")


def _html(part):
    """The HTML of a part, without anchors, the looks of a box, and what is of use on
    its own page only."""
    copy = BeautifulSoup(str(part), "html.parser")
    for unwanted in copy.select(UNWANTED):
        unwanted.decompose()
    for element in copy.select("[id]"):
        if not element.find_parent("svg"):
            del element["id"]
    for title in copy.select("dt, .admonition-title"):
        title["class"] = "okb-title"
    root = copy.find()
    if root.name != "figure":
        root.name = "div"
    if "admonition" in root.get("class", ()):
        del root["class"]
    return str(copy)


def collect(body):
    "The previews of a page's body: HTML by anchor."
    soup = BeautifulSoup(body, "html.parser")
    return {
        anchor: "".join(map(_html, _parts(element)))
        for element in soup.select(", ".join(TARGETS.values()))
        for anchor in _anchors(element)
    }


def _write(app, name, *arguments):
    path = Path(app.outdir, FOLDER, f"{name}.js")
    path.parent.mkdir(parents=True, exist_ok=True)
    arguments = ",".join(json.dumps(a, ensure_ascii=False) for a in arguments)
    path.write_text(f"okbookPreviews({arguments});\n", encoding="utf8")


def write_page(app, pagename, templatename, context, doctree):
    """With each page, so that page and script never differ; late, when the body is as
    it will be written."""
    if app.builder.format != "html" or doctree is None:
        return
    if found := collect(context["body"]):
        _write(app, pagename, pagename, found)
    else:
        Path(app.outdir, FOLDER, f"{pagename}.js").unlink(missing_ok=True)


def write_list(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    pages, folder = [], Path(app.outdir, FOLDER)
    for path in sorted(folder.rglob("*.js")):
        page = path.relative_to(folder).with_suffix("").as_posix()
        if page in app.env.found_docs:
            pages.append(page)
        elif page != PAGES:
            path.unlink()  # of a page that is gone
    _write(app, PAGES, PAGES, pages)


def setup(app):
    app.add_js_file("okbook-previews.js", defer="defer")
    app.add_css_file("okbook-previews.css")
    app.connect("html-page-context", write_page, priority=990)
    app.connect("build-finished", write_list)
