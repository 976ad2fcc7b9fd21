"""Slides from the built pages of the book: ``python -m okbook_book.slides``.

A chapter is one deck of at most `MOST` slides, in ``_build/class/slides``. They are
chosen from its pages: the title of each page with the sentence in which it is summed
up, ideas (the first paragraph of a section), figures, statements (definitions,
theorems), and the summary. A cell with the tag ``slide`` or a block with the class
``slide`` (a line ``{.slide}`` above it) is always chosen, ``no-slide`` never. reveal.js
comes with the package sphinx-revealjs, KaTeX's style with the book: nothing is
downloaded.
"""

import copy
import html
import importlib.util
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString

from . import project
from .mathematics import STYLE
from .project import HTML, ROOT

SLIDES = ROOT / "_build" / "class" / "slides"
STATIC = ROOT / "book" / "static"
MOST = 40  # slides of a chapter
LEAD = 420  # characters of an idea
SHARES = {"statement": 0.4, "figure": 0.35, "idea": 0.25}  # of a page's slides
APART = re.compile(r"exercise|summary|further-reading|references|quiz|questions")
UNWANTED = (
    ".headerlink, .copybtn, button, details, .okb-level, .running-time, "
    "div.cell_input, .toctree-wrapper"
)
STATEMENTS = "theorem proposition lemma corollary definition algorithm".split()
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="reveal.js/dist/reset.css">
<link rel="stylesheet" href="reveal.js/dist/reveal.css">
<link rel="stylesheet" href="katex/katex.min.css">
<link rel="stylesheet" href="slides.css">
<script defer src="reveal.js/dist/reveal.js"></script>
<script defer src="slides.js"></script>
</head>
<body>
<main class="reveal"><div class="slides">
{slides}
</div></main>
</body>
</html>
"""


@dataclass
class Slide:
    kind: str  # title, idea, statement, figure or summary
    content: str
    forced: bool = False


def clean(element):
    "A copy of an element that stands alone: without links into the book, or buttons."
    element = copy.copy(element)
    for unwanted in element.select(UNWANTED):
        unwanted.decompose()
    for section in element.find_all("section"):  # which reveal.js would take for slides
        section.name = "div"
    for link in element.find_all("a"):
        link.unwrap()
    for image in element.find_all("img"):
        image["src"] = image["src"].removeprefix("../")
        image["alt"] = image.get("alt", "")
    for part in [element, *element.find_all(id=True)]:
        if part.get("id") and not part.find_parent(class_="okb-movie"):
            if "okb-movie" not in part.get("class", ()):
                del part["id"]
    return element


def shortened(paragraph, limit=LEAD):
    "A copy of a paragraph that ends with a sentence, near `limit` characters."
    paragraph, length = copy.copy(paragraph), 0
    for part in list(paragraph.children):
        text = part if isinstance(part, NavigableString) else part.get_text()
        if length > limit:
            part.extract()
            continue
        if isinstance(part, NavigableString):
            for end in re.finditer(r"(?<=[a-z)\]]{2})[.?!](?= |$)", text):
                if length + end.end() > limit:
                    part.replace_with(text[: end.end()])
                    length = limit + 1
                    break
        length += len(text)
    return paragraph


def wants(element):
    "True where an element asks for a slide, False where it refuses, otherwise None."
    classes = set(element.get("class", ()))
    if {"no-slide", "tag_no-slide"} & classes:
        return False
    return True if {"slide", "tag_slide"} & classes else None


def candidates(section, heading):
    "The slides that a section could give, without those of its subsections."
    lead = True
    for element in section.find_all(recursive=False):
        classes, asked = element.get("class", ()), wants(element)
        if asked is False or element.name in ("h1", "h2", "h3", "h4", "span"):
            continue
        if element.name == "section":
            title = element.find(re.compile("h[2-6]"))
            if not APART.search(element.get("id", "")) and wants(element) is not False:
                yield from candidates(element, title)
            continue
        figure = element if element.name == "figure" else element.find("figure")
        if figure:
            yield Slide("figure", framed(heading, figure), bool(asked))
        elif "proof" in classes and set(STATEMENTS) & set(classes):
            yield Slide("statement", framed(heading, element), bool(asked))
        elif asked or (lead and element.name == "p" and section.name == "section"):
            parts = [shortened(element) if not asked else element]
            follows = element.find_next_sibling()
            if follows and "math" in follows.get("class", ()):
                if element.get_text().rstrip().endswith((":", "is", "by", "of")):
                    parts = [element, follows]
            if heading is not None and heading.name != "h1":
                yield Slide("idea", framed(heading, *parts), bool(asked))
            lead = False


def framed(heading, *elements):
    inner = "".join(str(clean(element)) for element in elements)
    title = ""
    if heading is not None and heading.name != "h1":
        title = f"<h2>{clean(heading).decode_contents()}</h2>"
    return title + inner


def page_slides(path, first, roomy):
    """The title of a page, its candidates, and its summary: that of the first page, and
    the others' where there is room."""
    soup = BeautifulSoup(path.read_text(encoding="utf8"), "html.parser")
    page = soup.select_one("article > section, article section")
    head = page.find("h1")
    quote = page.find("blockquote")
    level = "h1" if first else "h2"
    title = f"<{level}>{clean(head).decode_contents()}</{level}>"
    if quote:
        title += str(clean(quote))
    yield Slide("title", title, True)
    yield from candidates(page, head)
    summary = page.find("section", id=re.compile("^summary"))
    if summary is not None:
        parts = [clean(e) for e in summary.find_all(recursive=False)]
        yield Slide("summary", "".join(map(str, parts)), first or roomy)


def choose(found, most):
    "At most `most` slides of a page, in their order: those that must be, then shares."
    kept = [n for n, slide in enumerate(found) if slide.forced][:most]
    free = most - len(kept)
    for kind, share in SHARES.items():
        its = [n for n, s in enumerate(found) if s.kind == kind and n not in kept]
        kept += its[: round(share * free)]
    rest = [n for n in range(len(found)) if n not in kept]
    kept += rest[: most - len(kept)]
    return [found[n] for n in sorted(kept[:most])]


def deck(paths):
    "The slides of a chapter from its pages."
    roomy = len(paths) <= 4
    pages = [list(page_slides(path, n == 0, roomy)) for n, path in enumerate(paths)]
    forced = sum(slide.forced for page in pages for slide in page)
    free = sum(len(page) for page in pages) - forced
    out = []
    for page in pages:
        must = sum(slide.forced for slide in page)
        share = (MOST - forced) * (len(page) - must) // max(free, 1)
        out += choose(page, must + share)
    return out[:MOST]


def chapters(built=HTML):
    "The pages of each chapter, in order: those whose names begin with 0."
    found = {}
    for name in project.toc_pages():
        path = built / f"{name}.html"
        if re.match(r"0\d_", path.name) and path.exists():
            found.setdefault(path.name[:2], []).append(path)
    return found


def write(built=HTML, target=SLIDES):
    "Write all decks, and a page that lists them; how many slides each has."
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    package = Path(importlib.util.find_spec("sphinx_revealjs").origin).parent
    reveal = package / "_static" / "revealjs" / "dist"
    shutil.copytree(
        reveal,
        target / "reveal.js" / "dist",
        ignore=shutil.ignore_patterns("theme", "*.map", "*.esm.js"),
    )
    shutil.copytree(Path(built, "_static", STYLE).parent, target / "katex")
    for name in ("slides.css", "slides.js"):
        shutil.copyfile(STATIC / name, target / name)
    counts = {}
    for paths in chapters(built).values():
        slides = deck(paths)
        title = BeautifulSoup(slides[0].content, "html.parser").h1.get_text()
        sections = [
            f'<section class="{slide.kind}">{slide.content}</section>'
            for slide in slides
        ]
        text = "\n".join(sections)
        for image in re.findall(r'src="(_images/[^"]+)"', text):
            (target / "_images").mkdir(exist_ok=True)
            shutil.copyfile(built / image, target / image)
        name = f"{paths[0].stem}.html"
        page = PAGE.format(title=html.escape(title), slides=text)
        (target / name).write_text(page, encoding="utf8")
        counts[name] = (title, len(slides))
    links = "".join(
        f'<li><a href="{name}">{html.escape(title)}</a>, {count} slides</li>\n'
        for name, (title, count) in counts.items()
    )
    index = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>Slides</title></head>\n"
        f"<body><h1>Slides</h1>\n<ul>\n{links}</ul></body></html>\n"
    )
    (target / "index.html").write_text(index, encoding="utf8")
    return {name: count for name, (_, count) in counts.items()}


if __name__ == "__main__":
    for name, count in write().items():
        print(f"{SLIDES / name}: {count} slides")
