"""The layers of the book: the parts of the table of contents.

- Each page names its layer in a line under its title, with the minutes that a careful
  first reading takes, and those of the exercises.
- A section that belongs to another layer than its page says so in a comment under its
  heading, ``% layer: further``. It wears a mark, and a switch at the head of each page,
  *Story* or *Everything*, hides it.
- "Next" stays in its layer.

``{course-map}``, ``{layer-hours}`` and ``{minutes}`` say how long chapters, layers and
pages take; ``python -m okbook_book.layers`` prints the table of all pages, as ``make
book`` does.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache

from docutils import nodes
from sphinx.util import docname_join
from sphinx.util.docutils import SphinxDirective, SphinxRole

from . import directives, exercises, folds, project

# By the caption of the part: the key in comments and in CSS, and the mark of a page.
LAYERS = {
    "Start": ("start", "Start"),
    "Core course": ("core", "Core"),
    "Further topics": ("further", "Further topic"),
    "Labs and projects": ("labs", "Lab"),
    "Using the package": ("using", "Using the package"),
    "Reference": ("reference", "Reference"),
    "Implementation notes": ("note", "Implementation note"),
    "Reproduction": ("reproduction", "Reproduction"),
    "For teachers": ("teachers", "For teachers"),
}
MARKS = dict(LAYERS.values())
SECTION = re.compile(r"^% layer: (\w+)$", re.M)
# What a careful first reading takes, and what a student needs for an exercise.
WORDS_A_MINUTE, SECONDS_A_LINE = 90, 5
MINUTES = {"warm-up": 5, "standard": 15, "hard": 30, "project": 60}


@cache
def pages():
    "The layer of each page of the table of contents."
    return {
        page: LAYERS[part["caption"]][0]
        for part in project.contents()["parts"]
        for page in project.toc_pages(part)
    }


def of_layer(key):
    "The pages of a layer, in order."
    return [page for page, layer in pages().items() if layer == key]


@dataclass
class Measure:
    "What can be counted on a page before its exercises."

    words: int = 0  # without formulas and code
    aside: int = 0  # of them in sections of other layers
    lines: int = 0  # of code that is open
    beside: int = 0  # of them in sections of other layers
    tests: int = 0  # of them in cells that assert
    bars: int = 0  # in sections of the page's own layer
    exercises: int = 0  # minutes

    @property
    def own(self):
        "Words in sections of the page's own layer."
        return self.words - self.aside

    @property
    def minutes(self):
        "Minutes for a careful first reading of everything."
        return reading(self.words, self.lines)

    @property
    def story(self):
        "Minutes for the sections of the page's own layer."
        return reading(self.own, self.lines - self.beside)


def reading(words, lines):
    return words / WORDS_A_MINUTE + lines * SECONDS_A_LINE / 60


def words(text):
    "How many words of prose a Markdown text has."
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$", " ", text, flags=re.S)
    text = re.sub(r"^(```|:::|%|\s*:\w+:|\(.*\)=$).*", " ", text, flags=re.M)
    text = re.sub(r"\{[\w:]+\}`([^`]*)`", r"\1", text)
    return len(re.findall(r"[A-Za-zÀ-ÿ]{2,}|\b[aI]\b", text))


def before_exercises(text):
    return re.split(r"^## (?:Exercises|Questions)$", text, flags=re.M)[0]


def measure(cells):
    "The `Measure` of a page, from its cells: their kinds, sources and tags."
    found, layer, depth, run, tested = Measure(), None, 0, [], False

    def end_of_run():
        "Tests of a section share one bar (`folds`)."
        tests = bool(run) and set(run) == {"the test"}
        found.bars += bool(run) and layer is None and not (tests and tested)
        run.clear()
        return tested or tests

    for kind, source, tags in cells:
        if kind == "markdown":
            part = before_exercises(source)
            if part.strip():
                tested = end_of_run()
            for text in re.split(r"(?=^#{2,} )", part, flags=re.M):
                if head := re.match(r"#+(?= )", text):
                    tested = False
                    if layer is None or len(head[0]) <= depth:
                        mark = SECTION.search(text)
                        layer, depth = mark and mark[1], len(head[0])
                count = words(text)
                found.words += count
                found.aside += count * (layer is not None)
            if part != source:
                break
        elif not {"remove-cell", "remove-input"} & tags:
            what, hidden = folds.is_hidden(source, tags)
            if hidden:
                run.append(what)
                continue
            tested = end_of_run()
            size = folds.lines(ast.parse(project.plain(source)), source)
            found.lines += size
            found.beside += size * (layer is not None)
            found.tests += size * (what == "the test")
    end_of_run()
    return found


@cache
def notebooks():
    return {project.docname(path): nb for path, nb in project.notebooks()}


def cells(page):
    "The cells of a page: their kinds, sources and tags."
    if page not in notebooks():
        path = project.ROOT / f"{page}.md"
        yield "markdown", path.read_text(encoding="utf8"), set()
        return
    for cell in notebooks()[page]["cells"]:
        source, tags = "".join(cell["source"]), cell["metadata"].get("tags", ())
        if cell["cell_type"] == "code":
            found, source = project.split(source)
            tags = {*tags, *directives.tags(found)}
        yield cell["cell_type"], source, set(tags)


@cache
def measured(page):
    found = measure(cells(page))
    if page in notebooks():
        levels = [e.level for e in exercises.exercises(notebooks()[page]).values()]
        found.exercises = sum(MINUTES[level] for level in levels if level)
    return found


def watch(env, names):
    "Read a page again when one of those that it measures has changed."
    for page in names:
        env.note_dependency(env.doc2path(page))


def rounded(minutes):
    "Minutes as they are said: in steps of five."
    return max(5, 5 * round(minutes / 5))


def marked(key, mark, said=""):
    "The line that names a layer, under a title or a heading."
    line = nodes.paragraph(classes=["okb-layer", f"layer-{key}"])
    line += [nodes.inline("", mark, classes=["okb-mark"]), nodes.Text(said)]
    return line


def header(page):
    "The line under the title of a page."
    found, key = measured(page), pages()[page]
    mark = "Project" if re.match(r"nbs/7[1-9]_", page) else MARKS[key]
    story, whole = rounded(found.story), rounded(found.minutes)
    said = f" · {story} minutes to read"
    if whole > story:
        said += f", {whole} with all marked sections"
    if found.exercises:
        said += f" · {rounded(found.exercises)} minutes of exercises"
    return marked(key, mark, said)


def mark_page(app, doctree):
    "The line under the title, and the marks of sections."
    page = app.env.docname
    for comment in list(doctree.findall(nodes.comment)):
        found = SECTION.match(f"% {comment.astext()}")
        section = comment.parent
        if not found or not isinstance(section, nodes.section):
            continue
        section["classes"] += ["okb-aside", f"layer-{found[1]}"]
        section.replace(comment, marked(found[1], MARKS[found[1]]))
    title = next(doctree.findall(nodes.title), None)
    if page in pages() and title is not None:
        title.parent.insert(title.parent.index(title) + 1, header(page))


def stay_in_layer(app, pagename, templatename, context, doctree):
    "No way to the next or the previous page that leaves the layer."
    here = pages().get(pagename)
    for way in ("next", "prev"):
        link = context.get(way)
        if here and link and pages().get(_page(pagename, link["link"])) != here:
            context[way] = None


def _page(pagename, link):
    "The page that a relative link leads to."
    return docname_join(pagename, link.split("#")[0].removesuffix(".html"))


def switch(app, pagename, templatename, context, doctree):
    if "header_buttons" in context and pagename in pages():
        context["header_buttons"].insert(
            0,
            {
                "type": "javascript",
                "javascript": "okbookStory()",
                "text": "",
                "icon": "fas fa-layer-group",
                "tooltip": "Show the story, or everything",
                "label": "story-button",
            },
        )


# The chapters on the map: their names, and where their boxes stand; and the arrows.
BOXES = [
    ("Kernels", 6, 84),
    ("Trees", 226, 12),
    ("Ridge regression", 226, 156),
    ("Kernels of forests", 446, 12),
    ("Many kernels", 446, 84),
    ("Votes", 446, 156),
]
ARROWS = [(0, 1), (0, 2), (1, 3), (3, 4), (1, 5)]
WIDTH, HEIGHT = 168, 52


def hours(chapter):
    "The hours of a chapter of the core course."
    found = [page for page in of_layer("core") if page[4:6] == chapter]
    return sum(measured(page).story for page in found) / 60


class CourseMap(SphinxDirective):
    "``{course-map}``: the chapters with their hours, and which needs which."

    def run(self):
        watch(self.env, of_layer("core"))
        first = {page[4:6]: page for page in reversed(of_layer("core"))}
        drawn = []
        for a, b in ARROWS:
            (_, x, y), (_, u, v) = BOXES[a], BOXES[b]
            if x == u:
                way = f"M{x + WIDTH / 2} {y + HEIGHT}V{v - 3}"
            else:
                way = f"M{x + WIDTH} {y + HEIGHT / 2}L{u - 3} {v + HEIGHT / 2}"
            drawn.append(f'<path d="{way}" marker-end="url(#okb-tip)"/>')
        for n, (title, x, y) in enumerate(BOXES):
            link = f"{first[f'0{n}'].removeprefix('nbs/')}.html"
            drawn.append(
                f'<a href="{link}"><rect x="{x}" y="{y}" width="{WIDTH}" '
                f'height="{HEIGHT}" rx="8"/><text x="{x + 12}" y="{y + 22}">{n} {title}'
                f'</text><text class="hours" x="{x + 12}" y="{y + 41}">'
                f"{hours(f'0{n}'):.1f} hours</text></a>"
            )
        svg = (
            '<svg class="okb-map" viewBox="0 0 620 220" role="group" aria-label="A map '
            "of the six chapters. Trees and ridge regression need the chapter on "
            "kernels, kernels of forests and votes need trees, and many kernels need "
            'kernels of forests."><defs><marker id="okb-tip" viewBox="0 0 6 6" '
            'refX="5" refY="3" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="tip" d="M0 0L6 3L0 6Z"/></marker></defs>'
            f"{''.join(drawn)}</svg>"
        )
        figure = nodes.figure("", nodes.raw("", svg, format="html"))
        figure += nodes.caption("", "The six chapters, and which needs which.")
        self.set_source_info(figure)
        figure["names"].append("fig-course-map")
        self.state.document.note_explicit_target(figure)
        return [figure]


class LayerHours(SphinxDirective):
    "``{layer-hours}``: how much of the book each layer is."

    def run(self):
        watch(self.env, pages())
        rows = ["| Layer | Pages | Words | Hours |", "|:--|--:|--:|--:|"]
        for key in ("start", "core", "further", "labs", "note", "reproduction"):
            found = [measured(page) for page in of_layer(key)]
            words = round(sum(m.own for m in found), -3)
            time = sum(m.story for m in found) / 60
            rows.append(f"| {MARKS[key]} | {len(found)} | {words:,} | {time:.0f} |")
        return self.parse_text_to_nodes("\n".join(rows))


class Minutes(SphinxRole):
    "``{minutes}`02_rkhs 02_rkhs_4_links```: how long these pages take to read."

    def run(self):
        names = [f"nbs/{name}" for name in self.text.split()]
        watch(self.env, names)
        total = sum(measured(page).story for page in names)
        return [nodes.Text(str(rounded(total)))], []


def screens(names):
    "How many screens of a laptop built pages are long, if Chromium is there to say."
    from .pdf import CHROMIUM, chromium  # which asks for the layers

    built = {name: project.HTML / f"{name}.html" for name in names}
    if CHROMIUM is None or not all(path.exists() for path in built.values()):
        return {}
    with chromium() as browser:
        tab, found = browser.new_page(viewport={"width": 1280, "height": 800}), {}
        tab.route("**/*.js", lambda route: route.abort())
        for name, path in built.items():
            tab.goto(path.as_uri())
            height = tab.evaluate("document.documentElement.scrollHeight")
            found[name] = round(height / 800, 1)
    return found


HEAD = "page layer words story bars tests read exercises screens".split()


def table():
    """All pages: layer, words, those of the story, bars, share of tests, minutes,
    screens."""
    rows, long = [HEAD], screens(pages())
    for page, key in pages().items():
        m = measured(page)
        share = f"{m.tests / m.lines:.0%}" if m.lines else ""
        row = page.removeprefix("nbs/"), key, m.words, m.own, m.bars, share
        rows.append((*row, round(m.story), m.exercises, long.get(page, "")))
    return rows


def main():
    for name, *row in table():
        print(f"{name:42}", *(f"{entry!s:>12}" for entry in row), sep="")
    for key in MARKS:
        found = [measured(page) for page in of_layer(key)]
        total, aside = sum(m.words for m in found), sum(m.aside for m in found)
        hours = sum(m.story for m in found) / 60
        print(
            f"{MARKS[key]:22}{len(found):4} pages {total:8,} words, {aside:6,} of them "
            f"in sections of other layers; {hours:5.1f} h without these"
        )


def setup(app):
    app.add_directive("course-map", CourseMap)
    app.add_directive("layer-hours", LayerHours)
    app.add_role("minutes", Minutes())
    app.connect("doctree-read", mark_page)
    app.connect("html-page-context", stay_in_layer)
    app.connect("html-page-context", switch, priority=950)


if __name__ == "__main__":
    main()
