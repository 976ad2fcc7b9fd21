"""Slides of the course from the built book: ``python -m okbook_book.slides``.

Each session of the plan (``nbs/70_course.md``: twelve weeks, and three days) is a deck
in ``_build/class/slides``. From the sections of its pages that belong to the core come
the first sentences, the numbered equations, the statements, the figures beside the
sentences that name them, and short programs; then the summaries, and the exercise that
is done together. A text is taken by whole sentences, at most `LINES` lines of them on a
slide, and none that names a figure which the slide does not show. What the outcomes of
a week name is always taken. Notes for the speaker are those of the instructor's guide.
reveal.js comes with the package sphinx-revealjs, KaTeX's style with the book: nothing
is downloaded.
"""

import copy
import html
import importlib.util
import math
import re
import shutil
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString
from PIL import Image

from .mathematics import STYLE
from .project import HTML, ROOT

SLIDES = ROOT / "_build" / "class" / "slides"
STATIC = ROOT / "book" / "static"
PLAN = ROOT / "nbs" / "70_course.md"
GUIDE = "70_course_1_guide"
LINES = 6  # of text on a slide
WIDTH, BESIDE = 72, 30  # characters of a line, alone and beside a figure
MOST = 45  # slides of a session
CODE, SHORT = 2, 8  # programs of a page, and their lines
APART = re.compile(r"exercise|further-reading|references|quiz|questions|summary")
UNWANTED = (
    ".headerlink, .copybtn, button, details, .okb-level, .running-time, .only-dark, "
    ".okb-layer, .toctree-wrapper"
)
STATEMENTS = {
    *("definition", "theorem", "proposition", "algorithm", "lemma", "corollary")
}
# What is left out first where a session has too much.
RANKS = "lead code lemma corollary figure summary equation proposition".split()
REFERENCE = re.compile(r"\{(?:prf:ref|numref|eq|ref)\}`([\w-]+)`")
END = re.compile(
    r"(?:^|(?<=[^\s.]))(?<!\b[A-Z](?=\. ))[.?!]['”’)]*(?=\s*$|\s+[^\sa-z\d])"
)
NOT_ENDS = re.compile(r"\b(?:i\.e|e\.g|cf|al|vs|etc|eqs?|pp?|no)\.$")
ELSEWHERE = re.compile(r"\b([Tt]able|below|next cell|following)\b")
UNSEEN = {"katex-mathml", "headerlink", "eqno"}
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
<script defer src="reveal.js/plugin/notes/notes.js"></script>
<script defer src="slides.js"></script>
</head>
<body>
<main class="reveal"><div class="slides">
{slides}
</div></main>
</body>
</html>
"""


# What is taught


@dataclass
class Session:
    "A row of the plan."

    name: str  # of the file: week5, day1-morning2
    title: str
    pages: list
    opening: set  # the pages of which the first section is enough
    outcome: str = ""
    named: list = field(default_factory=list)  # labels in the outcome


def sessions(text=None):
    "The sessions of the plan that have slides, in order."
    text = PLAN.read_text(encoding="utf8") if text is None else text
    outcomes = dict(re.findall(r"^(\d+)\. (.*)", text, re.M))
    found, day = [], ""
    for row in re.findall(r"^\|(.*)\|$", text, re.M):
        cells = [cell.strip() for cell in row.split("|")]
        name = re.search(r"<slides/([\w-]+)\.html>", cells[-1])
        day = cells[0] or day
        if not name:
            continue
        week = name[1].startswith("week")
        title = f"Week {day}" if week else f"Day {day}, {cells[1]}"
        where = cells[1 if week else 2].replace(
            "{ref}`first-session`", "{doc}`70_course_2_first_session`"
        )
        pages = re.findall(r"\{doc\}`(\w+)`", where)
        pages = [p for p in pages if re.match(r"[0-5]\d_|70_course", p)]
        opening = set(re.findall(r"opening of \{doc\}`(\w+)`", where))
        outcome = outcomes[day] if week else ""
        named = REFERENCE.findall(outcome)
        found.append(Session(name[1], title, pages, opening, outcome, named))
    return found


# What stands on a page


@dataclass
class Unit:
    "A whole sentence with its formulas, or an item of a list."

    parts: list  # elements and strings, in order; a formula stands by itself
    open: bool = True  # the sentence has not ended yet

    @property
    def text(self):
        return " ".join(map(visible, self.parts))

    @property
    def named(self):
        "The figures that it names."
        links = [a for p in self.parts if p.name for a in [p, *p.find_all("a")]]
        return {n for a in links if (n := anchor(a)) and n.startswith("fig-")}

    @property
    def labels(self):
        return {label for p in self.parts for label in ids(p)}

    def lines(self, width):
        "How many lines it takes, of so many characters."
        total, run = 0, 0
        for part in self.parts:
            if is_block(part):
                total += math.ceil(run / width) + rows(part)
                run = 0
            else:
                run += len(visible(part))
        return total + math.ceil(run / width)

    def html(self):
        "Paragraphs, and formulas between them."
        out, run = [], []
        for part in [*self.parts, None]:
            if part is None or is_block(part):
                text = "".join(str(clean(p)) for p in run)
                if text.strip(" \n\u2060"):
                    out.append(f"<p>{text.strip()}</p>")
                run = []
                if part is not None:
                    out.append(str(clean(part)))
            else:
                run.append(part)
        return "".join(out)


def is_block(part):
    return part.name in ("div", "ul", "ol", "table", "pre")


def anchor(link):
    "The label to which a link leads."
    return link.get("href", "").partition("#")[2] if link.name == "a" else ""


def ids(part):
    "The labels that a part of a page carries."
    if isinstance(part, NavigableString):
        return set()
    found = {e["id"] for e in [part, *part.find_all(id=True)] if e.get("id")}
    return found | {label.removeprefix("equation-") for label in found}


def seen(part):
    if isinstance(part, NavigableString):
        yield str(part)
    elif not UNSEEN & {*part.get("class", ())}:
        for child in part.children:
            yield from seen(child)


def visible(part):
    "The text of a part as it is seen: a formula once."
    return re.sub(r"\s+", " ", "".join(seen(part)))


def tex(block):
    "The source of a formula."
    source = block.find("annotation")
    return source.get_text().strip() if source else ""


def rows(block):
    "The lines that a block takes."
    if block.name in ("ul", "ol"):
        items = block.find_all("li")
        return sum(math.ceil(len(visible(i)) / WIDTH) for i in items)
    return 2 + tex(block).count(r"\\")


def ended(text):
    "Whether a text ends with a sentence."
    text = text.rstrip(" \n\u2060")
    return bool(re.search(r"[.?!]['”’)]*$", text)) and not NOT_ENDS.search(text)


def units(elements):
    "The whole sentences of elements in their order: what breaks off is dropped."
    found, now = [], Unit([])

    def close():
        nonlocal now
        if any(visible(p).strip(" \u2060") for p in now.parts):
            now.open = False
            found.append(now)
        now = Unit([])

    for element in elements:
        if element.name in ("ul", "ol"):
            if now.parts:
                now.parts.append(element)
                close()
            else:
                for item in element.find_all("li", recursive=False):
                    found.append(Unit([single(item)], open=False))
            continue
        if element.name == "div":
            if not now.parts and found:  # the sentence has ended before its formula
                now = found.pop()
            now.parts.append(element)
            if not re.search(r"[,;]$", re.sub(r"[\s}]+$", "", tex(element))):
                if re.search(r"\.[\s}]*$", tex(element)):
                    close()
            continue
        if now.parts and not is_block(now.parts[-1]):
            now = Unit([])  # a paragraph that ended with a colon, or without a stop
        elif now.parts and re.match(r"\s*[A-Z]", element.get_text()):
            close()  # after a formula without a stop
        for part in list(element.children):
            if not isinstance(part, NavigableString):
                now.parts.append(part)
                if part.name == "em" and ended(visible(part)):
                    close()
                continue
            rest = str(part)
            while match := next(
                (m for m in END.finditer(rest) if ended(rest[: m.end()])), None
            ):
                now.parts.append(NavigableString(rest[: match.end()]))
                rest = rest[match.end() :].lstrip()
                close()
            if rest:
                now.parts.append(NavigableString(rest))
    if now.parts and (is_block(now.parts[-1]) or ended(now.text)):
        close()
    return found


def single(item):
    "An item of a list as a list of its own."
    soup = BeautifulSoup("<ul></ul>", "html.parser")
    soup.ul.append(copy.copy(item))
    return soup.ul


def clean(part):
    "A copy that stands alone: without links into the book, buttons and labels."
    if isinstance(part, NavigableString):
        return html.escape(str(part), quote=False)
    part = copy.copy(part)
    for unwanted in part.select(UNWANTED):
        unwanted.decompose()
    for section in part.find_all("section"):  # which reveal.js would take for slides
        section.name = "div"
    for link in part.find_all("a"):
        link.unwrap()
    for image in part.find_all("img"):
        image["src"] = image["src"].removeprefix("../")
        image["alt"] = image.get("alt", "")
    if part.name == "a":
        return "".join(map(str, part.children))
    for inner in [part, *part.find_all(id=True)]:
        if inner.get("id") and not inner.find_parent(class_="okb-movie"):
            if "okb-movie" not in inner.get("class", ()):
                del inner["id"]
    return part


# Slides


@dataclass
class Slide:
    kind: str
    title: str
    content: str
    labels: set = field(default_factory=set)
    notes: str = ""
    forced: bool = False

    def html(self):
        notes = f'<aside class="notes">{self.notes}</aside>' if self.notes else ""
        head = f"<h2>{self.title}</h2>" if self.title else ""
        shows = html.escape(" ".join(sorted(self.labels)))
        start = f'<section class="{self.kind}" data-shows="{shows}">'
        return f"{start}{head}{self.content}{notes}</section>"


def packed(its, width=WIDTH, most=LINES):
    "Units, divided among slides."
    out, used = [], most + 1
    for unit in its:
        lines = unit.lines(width)
        if used + lines > most:
            out.append([])
            used = 0
        out[-1].append(unit)
        used += lines
    return out


def joined(its):
    return "".join(unit.html() for unit in its)


def labelled(its):
    return set().union(*(unit.labels for unit in its))


def fitting(its, width, most):
    "The first units, as far as they fit."
    out, used = [], 0
    for unit in its:
        used += unit.lines(width)
        if used > most:
            break
        out.append(unit)
    return out


@cache
def parsed(path):
    "The section that holds a built page, without what a slide never has."
    soup = BeautifulSoup(path.read_text(encoding="utf8"), "html.parser")
    section = soup.select_one("article > section, article section")
    for unwanted in section.select(".only-dark, .headerlink, .okb-layer"):
        unwanted.decompose()
    return section


@cache
def sentences(path):
    "All sentences of a page's paragraphs that name a figure."
    paragraphs = parsed(path).find_all("p")
    paragraphs = [p for p in paragraphs if not p.find_parent(["figure", "details"])]
    return [u for p in paragraphs for u in units([p]) if u.named]


class Page:
    "The slides of a built page."

    def __init__(self, path, named, opening=False):
        self.path, self.named, self.programs = path, set(named), 0
        self.section, self.images = parsed(path), path.parents[1]
        self.opening = opening

    def slides(self):
        head = inner(self.section.find("h1"))
        quote = self.section.find("blockquote")
        yield Slide("title", head, str(clean(quote)) if quote else "", forced=True)
        parts = self.section.find_all("section", recursive=False)
        for section in parts[:1] if self.opening else parts:
            yield from self.of_section(section)
        summary = self.section.find("section", id=re.compile("^summary"))
        if summary and not self.opening:
            its = [u for u in units(content(summary)) if not u.named]
            for n, group in enumerate(packed(its)):
                title = "Summary" if n == 0 else "Summary, continued"
                yield Slide("summary", title, joined(group), labelled(group))

    def of_section(self, section):
        "The slides of a section, and of those below it."
        if APART.search(section.get("id", "")):
            return
        aside = "okb-aside" in section.get("class", ())
        if aside and not ids(section) & self.named:
            return
        title = inner(section.find(re.compile("h[2-6]")))
        text, elements = [], section.find_all(recursive=False)
        lead = not aside

        def told():
            "The equations of the text so far, and its first sentences."
            nonlocal lead
            its = [u for u in units(text) if not u.named]
            text.clear()
            numbered = [n for n, u in enumerate(its) if equations(u)]
            kept = set(range(len(fitting(its, WIDTH, 4)))) if lead else set()
            kept -= {n for n in kept if ELSEWHERE.search(its[n].text)}
            if not numbered and sum(its[n].lines(WIDTH) for n in kept) < 2:
                kept = set()  # too little for a slide
            for n in numbered:
                kept |= {n}
                if n and not is_block(its[n - 1].parts[-1]):
                    kept |= {n - 1}  # what the equation is about
            for group in packed([its[n] for n in sorted(kept)]):
                kind = "equation" if any(map(equations, group)) else "lead"
                yield Slide(kind, title, joined(group), labelled(group))
            lead = False

        for element in elements:
            classes = set(element.get("class", ()))
            if element.name == "section":
                yield from told()
                yield from self.of_section(element)
            elif kind := next(iter(STATEMENTS & classes), None):
                yield from told()
                yield from self.of_statement(kind, element, title)
            elif figures := found_figures(element):
                named = [u for u in units([*text]) if u.named]
                yield from told()
                for figure in figures:
                    yield self.of_figure(figure, title, named)
            elif "cell" in classes:
                program = self.of_code(element, title)
                if program:
                    yield from told()
                    yield program
            elif element.name in ("p", "ul", "ol") or "math" in classes:
                text.append(element)
        yield from told()

    def of_statement(self, kind, element, title):
        head = element.find(class_="admonition-title")
        name = inner(head)
        body = element.find(class_="section") or element.find("section") or element
        its = units([e for e in content(body) if e is not head])
        its = [unit for unit in its if not unit.named]
        labels = ids(element)
        for n, group in enumerate(packed(its)):
            shown = name if n == 0 else f"{name}, continued"
            box = f'<div class="proof"><p class="admonition-title">{shown}</p>'
            box = f"{box}{joined(group)}</div>"
            mine = (labels if n == 0 else set()) | labelled(group)
            yield Slide(kind, title, box, mine)

    def of_figure(self, figure, title, before):
        "A figure with the sentences that name it, beside it or above."
        named = {label for label in ids(figure) if label.startswith("fig-")}
        its = {u.text: u for u in [*before, *sentences(self.path)]}.values()
        its = [u for u in its if u.named and u.named <= named]
        wide = self.shape(figure) > 1.7
        text = fitting(its, WIDTH, 3) if wide else fitting(its, BESIDE, LINES)
        caption, image = figure.find("figcaption"), copy.copy(figure)
        told, number = [], ""
        if caption:
            told = [u for u in units(caption.find_all("p")) if u.named <= named]
            number = inner(caption.find(class_="caption-number"))
            image.figcaption.decompose()
        width, most = (1.4 * WIDTH, 2) if wide else (WIDTH / 2, 4)
        words = fitting(told, width, most)
        under = joined(words) or f"<p>{number}</p>"
        drawn = str(clean(image))
        drawn = drawn.replace("</figure>", f"<figcaption>{under}</figcaption></figure>")
        both = f'<div class="text">{joined(text)}</div>{drawn}' if text else drawn
        place = "above" if wide or not text else "beside"
        notes = joined([u for u in [*its, *told] if u not in text and u not in words])
        return Slide(
            "figure", title, f'<div class="{place}">{both}</div>', named, notes
        )

    def shape(self, figure):
        "How many times as wide as high a figure is."
        if figure.find(class_="okb-movie"):
            return 1
        image = figure.find("img")
        path = self.images / image["src"].removeprefix("../") if image else None
        if not path or path.suffix == ".svg" or not path.exists():
            return 2
        with Image.open(path) as file:
            return file.width / file.height

    def of_code(self, cell, title):
        "A short program that stands open, with what it prints."
        given = cell.find(class_="cell_input")
        if self.programs == CODE or not given or given.find_parent("details"):
            return None
        code = given.find("pre")
        if not code or len(code.get_text().strip().splitlines()) > SHORT:
            return None
        said = cell.select_one(".cell_output pre")
        if not said or len(said.get_text().strip().splitlines()) > LINES:
            return None
        self.programs += 1
        text = f"{clean(code)}{str(clean(said)).replace('<pre', '<pre class=said', 1)}"
        return Slide("code", title, text)


def inner(element):
    "What an element holds."
    return clean(element).decode_contents().strip() if element else ""


def content(section):
    "The paragraphs, lists and formulas of a section."
    found = section.find_all(recursive=False)
    kinds = ("p", "ul", "ol")
    return [e for e in found if e.name in kinds or "math" in e.get("class", ())]


def equations(unit):
    "The numbered equations of a unit."
    return [p for p in unit.parts if is_block(p) and p.find(class_="eqno")]


def found_figures(element):
    if element.name == "figure":
        return [element]
    return [] if element.name in ("details", "aside") else element.find_all("figure")


# Decks


@cache
def guide(built=HTML):
    "What the guide says, by week and by page: to be read by the speaker."
    path = built / "nbs" / f"{GUIDE}.html"
    soup = BeautifulSoup(path.read_text(encoding="utf8"), "html.parser")
    notes = {}
    for section in soup.select("article section"):
        head = section.find(re.compile("h[1-6]"), recursive=False)
        said = section.find("dl", recursive=False)
        if not head or not said:
            continue
        week = re.match(r"Week (\d+)", head.get_text())
        pages = [Path(a["href"]).stem for a in section.select("p a[href$='.html']")]
        for name in [f"week{week[1]}"] if week else pages:
            notes[name] = str(clean(said))
    for row in soup.select("article tr"):
        cells = [cell.get_text(" ").strip() for cell in row.find_all("td")]
        if cells and (day := re.match(r"day (\d), (\w+) (\d)$", cells[0])):
            told = f"Minutes (slides, notebook, exercise, end): {cells[2]}. "
            told += f"Board: {cells[3]}. Together: {cells[4]}."
            notes["day{}-{}{}".format(*day.groups())] = html.escape(told)
    return notes


def together(session, built=HTML):
    "The exercise that the guide does in a week, from its page."
    text = (ROOT / "nbs" / f"{GUIDE}.md").read_text(encoding="utf8")
    week = session.name.removeprefix("week")
    if week.isdigit():
        part = text.partition(f"### Week {week}:")[2].partition("\n### ")[0]
        part = part.partition("\nTogether\n")[2]
    else:
        row = session.title.lower()
        part = next((s for s in text.splitlines() if s.startswith(f"| {row} |")), "")
    label = re.search(r"\{ref\}`(ex-[\w-]+)`", part)
    for page in session.pages if label else ():
        if box := parsed(built / "nbs" / f"{page}.html").find(id=label[1]):
            title = inner(box.find(class_="admonition-title"))
            body = box.find("section") or box
            its = fitting(units(content(body)), WIDTH, LINES)
            its = [u for u in its if not u.named]
            return [Slide("exercise", title, joined(its), {label[1]}, forced=True)]
    return []


def deck(session, built=HTML):
    "The slides of a session."
    notes, named = guide(built), session.named
    head = f"<h1>{session.title}</h1>"
    slides = []
    for name in session.pages:
        page = Page(built / "nbs" / f"{name}.html", named, name in session.opening)
        its = list(page.slides())
        its[0].notes = notes.get(name, "")
        slides += its
    first = ", ".join(s.title for s in slides if s.kind == "title")
    opening = Slide(
        "session", "", f"{head}<p>{first}</p>", notes=notes.get(session.name, "")
    )
    opening.forced = True
    slides = [opening, *slides, *together(session, built)]
    wanted = set(named)
    for slide in slides:
        slide.forced |= bool(slide.labels & wanted)
    for kind in RANKS:
        for slide in [s for s in slides[::-1] if s.kind == kind and not s.forced]:
            if len(slides) > MOST:
                slides.remove(slide)
    return slides


def write(built=HTML, target=SLIDES):
    "Write all decks, and a page that lists them; how many slides each has."
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    package = Path(importlib.util.find_spec("sphinx_revealjs").origin).parent
    reveal = package / "_static" / "revealjs"
    left = shutil.ignore_patterns("theme", "*.map", "*.esm.js")
    for part in ("dist", "plugin/notes"):
        shutil.copytree(reveal / part, target / "reveal.js" / part, ignore=left)
    shutil.copytree(Path(built, "_static", STYLE).parent, target / "katex")
    for name in ("slides.css", "slides.js"):
        shutil.copyfile(STATIC / name, target / name)
    counts, links = {}, ""
    for session in sessions():
        slides = deck(session, built)
        text = "\n".join(slide.html() for slide in slides)
        for image in sorted(set(re.findall(r'src="(_images/[^"]+)"', text))):
            (target / "_images").mkdir(exist_ok=True)
            shutil.copyfile(built / image, target / image)
        page = PAGE.format(title=html.escape(session.title), slides=text)
        (target / f"{session.name}.html").write_text(page, encoding="utf8")
        counts[session.name] = len(slides)
        what = BeautifulSoup(slides[0].content, "html.parser").p.get_text()
        links += f'<li><a href="{session.name}.html">{session.title}</a>: '
        links += f"{html.escape(what)} ({len(slides)} slides)</li>\n"
    index = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>Slides</title></head>\n"
        f"<body><h1>Slides</h1>\n<ul>\n{links}</ul></body></html>\n"
    )
    (target / "index.html").write_text(index, encoding="utf8")
    return counts


if __name__ == "__main__":
    for name, count in write().items():
        print(f"{SLIDES / name}.html: {count} slides")
