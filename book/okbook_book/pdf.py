"""``make pdf``: the whole book as one PDF, ``_build/okbook.pdf``, and the core course
as another, ``_build/okbook-core.pdf``, without folded code.

Chromium prints each page of the built book, in the order of ``_toc.yml``, in the style
of ``book/static/okbook-print.css``, which any browser uses that prints a page. The
parts are put together with a title, the contents, bookmarks (chapters, their pages,
sections), with page numbers, and with links that lead from page to page inside the
file.
"""

import argparse
import html
import io
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

from . import layers, project
from .checks import Page
from .project import HTML, ROOT

NAMES = "chromium", "chromium-browser", "google-chrome"
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

PATIENCE = 600_000  # ms a page: the longest has thousands of formulas
SCALE = 0.72  # 16 pixels are 8.6 points: a line of code of 88 columns fits
PAPER = {"width": "210mm", "height": "297mm"}
MARGIN = {"top": "17mm", "bottom": "19mm", "left": "17mm", "right": "17mm"}
WIDTH = round((210 - 2 * 17) / 25.4 * 96 / SCALE)  # of the text, in pixels

KINDS = {False: "The whole book", True: "The core course"}
COVER = """<!doctype html><html lang="en"><head><meta charset="utf-8"><style>
  body {{ font: 15px/1.5 "DejaVu Sans", sans-serif; }}
  h1 {{ font-size: 3.4em; margin: 1.6em 0 0; }} header p {{ font-size: 1.3em; }}
  li {{ display: flex; gap: 0.5em; break-inside: avoid; }} ol {{ padding: 0; }}
  li.below {{ padding-left: 1.5em; }} i {{ flex: 1; border-bottom: 1px dotted #999; }}
  a {{ color: inherit; text-decoration: none; }} h2 {{ margin-top: 2.5em; }}
</style></head><body><header><h1>{title}</h1>
<p>Learning with kernels on the outputs</p><p>{kind} of version {version}</p></header>
<h2>Contents</h2><ol>{lines}</ol></body></html>"""
LINE = '<li class="{depth}"><a href="{uri}">{title}</a><i></i><b>{sheet}</b></li>'

# The core course leaves out folded code, and sections of other layers. Fonts and images
# are there, formulas that are too wide have shrunk to the
# width of the paper, and what is folded for a reader at a screen is open. A section can
# begin at the foot of a sheet when its heading has moved to the next: what leads to the
# section leads to its heading. Chromium gives a place in the file to what a page links
# to: anchors get a hidden link. Headings are returned: level, text, anchor.
READY = """async ([anchors, core]) => {
  if (core) document.querySelectorAll(
    "article :is(details.okb-fold, section.okb-aside, .running-time)"
  ).forEach(e => e.remove());
  await document.fonts.ready;
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map(image => image.decode().catch(() => 0)));
  for (const folded of document.querySelectorAll("article details")) folded.open = true;
  for (const folded of document.querySelectorAll("article .toggle-hidden"))
    folded.classList.remove("toggle-hidden");
  for (const section of document.querySelectorAll("article section[id]")) {
    const heading = section.querySelector(":scope > :is(h1, h2, h3, h4, h5, h6)");
    if (!heading) continue;
    heading.prepend(...section.querySelectorAll(":scope > span[id]:empty"));
    heading.id = section.id;
    section.removeAttribute("id");
  }
  const headings = [...document.querySelectorAll("article :is(h1, h2, h3)")].map(h => {
    const copy = h.cloneNode(true);
    const unsaid = ".headerlink, svg, .katex-html, annotation";
    copy.querySelectorAll(unsaid).forEach(e => e.remove());
    const text = copy.textContent.trim().replace(/\\s+/g, " ");
    return [Number(h.tagName[1]), text, h.id];
  });
  const links = document.createElement("div");
  for (const anchor of [...anchors, ...headings.map(heading => heading[2])]) {
    const link = document.createElement("a");
    link.href = "#" + anchor;
    links.append(link);
  }
  links.hidden = true;
  document.body.append(links);
  for (let n = 0; n < 2; n++) await new Promise(done => requestAnimationFrame(done));
  return headings;
}"""


@dataclass
class Leaf:
    "A page of the book with the pages below it."

    path: Path
    below: list = field(default_factory=list)

    def walk(self):
        yield self
        for leaf in self.below:
            yield from leaf.walk()


def book_order(contents, built):
    "The pages of a table of contents, as far as they are built."

    def leaves(entry):
        below = [leaf for child in project.below(entry) for leaf in leaves(child)]
        name = entry.get("file", entry.get("root"))
        path = built / f"{name}.html"
        if "file" in entry and path.is_file():
            return [Leaf(path.resolve(), below)]
        if "root" in entry and path.is_file():
            return [Leaf(path.resolve()), *below]
        return below

    return leaves(contents)


def linked_anchors(paths):
    "The anchors of each page that other pages point to."
    anchors = {path: set() for path in paths}
    for path in paths:
        for link in Page(path).links:
            url = urlparse(link)
            if url.path and url.fragment and not url.scheme:
                target = (path.parent / unquote(url.path)).resolve()
                if target != path and target in anchors:
                    anchors[target].add(url.fragment)
    return anchors


def open_page(tab, path, anchors=(), core=False):
    "Open a page of the book in a tab, ready to be printed; its headings are returned."
    tab.set_viewport_size({"width": WIDTH, "height": 1200})
    tab.emulate_media(media="print", color_scheme="light")
    tab.add_init_script("try { localStorage.setItem('mode', 'light') } catch (e) {}")
    tab.goto(path.as_uri(), wait_until="load", timeout=PATIENCE)
    tab.set_default_timeout(PATIENCE)
    return tab.evaluate(READY, [sorted(anchors), core])


def printed(tab):
    "What a tab shows as a PDF, in bytes."
    return tab.pdf(
        **PAPER, margin=MARGIN, scale=SCALE, print_background=True, tagged=True
    )


def print_page(tab, path, anchors=(), core=False):
    "A page of the built book as a PDF, in bytes, and its headings."
    headings = open_page(tab, path, anchors, core)
    return printed(tab), headings


def sheets(data):
    "How many sheets a PDF has."
    from pypdf import PdfReader

    return len(PdfReader(io.BytesIO(data)).pages)


def print_cover(tab, parts, core=False, own=1):
    "The title and the contents, with the first sheet of each page after its own."
    lines, first = [], own + 1
    for path, data, headings, parent in parts:
        title = html.escape(headings[0][1])
        depth = "below" if parent else "chapter"
        lines.append(
            LINE.format(depth=depth, uri=path.as_uri(), title=title, sheet=first)
        )
        first += sheets(data)
    words = {
        "title": project.book()["title"],
        "version": project.package()["version"],
    }
    tab.set_content(COVER.format(kind=KINDS[core], lines="".join(lines), **words))
    data = printed(tab)
    taken = sheets(data)
    return data if taken == own else print_cover(tab, parts, core, taken)


class Binding:
    "Parts that become one file."

    def __init__(self):
        from pypdf import PdfWriter

        self.writer = PdfWriter()
        self.first = {}  # number of the first sheet, by page of the book
        self.places = {}  # sheet and height, by page and anchor

    def add(self, path, printed, headings, parent=None):
        "Add a page of the book; its bookmark is returned."
        from pypdf import PdfReader
        from pypdf.generic import Fit

        reader, first = PdfReader(io.BytesIO(printed)), len(self.writer.pages)
        self.first[path] = first
        for page in reader.pages:
            self.writer.add_page(page)
        for name, place in reader.named_destinations.items():
            number = first + reader.get_destination_page_number(place)
            self.places[path, unquote(name.lstrip("/"))] = number, place.top
        above = {0: parent}  # the last bookmark of each level
        for level, text, anchor in headings or [(1, path.stem, None)]:
            sheet, top = self.places.get((path, anchor), (first, None))
            fit = Fit.xyz(left=0, top=top) if level > 1 else Fit.fit()
            up = above[max(k for k in above if k < level)]
            above = {k: v for k, v in above.items() if k < level}
            above[level] = self.writer.add_outline_item(
                title=text, page_number=sheet, parent=up, fit=fit
            )
        return above[min(above.keys() - {0})]

    def place(self, path, link):
        "Where a link on a page leads: sheet and height, or nothing."
        if "/Dest" in link:
            target, anchor = path, str(link["/Dest"]).lstrip("/")
        else:
            uri, anchor = urldefrag(link.get("/A", {}).get("/URI", ""))
            target = Path(unquote(uri.removeprefix("file://")))
        if target in self.first:
            return self.places.get(
                (target, unquote(anchor)), (self.first[target], None)
            )

    def link(self):
        """Links inside the book lead inside the file; those to files that are not in
        it lead nowhere and are dropped."""
        from pypdf.generic import ArrayObject, NameObject, NullObject, NumberObject

        pages, owners = self.writer.pages, {}
        for path, first in self.first.items():
            owners[first] = path
        path = None
        for number, page in enumerate(pages):
            path, kept = owners.get(number, path), ArrayObject()
            for reference in page.get("/Annots", ()):
                link = reference.get_object()
                uri = link.get("/A", {}).get("/URI", "")
                if place := self.place(path, link):
                    sheet, top = place
                    height = NullObject() if top is None else NumberObject(round(top))
                    link[NameObject("/Dest")] = ArrayObject(
                        [
                            pages[sheet].indirect_reference,
                            NameObject("/XYZ"),
                            NullObject(),
                            height,
                            NullObject(),
                        ]
                    )
                    link.pop("/A", None)
                elif uri.startswith("file:") or not uri:
                    continue
                kept.append(reference)
            if "/Annots" in page:
                page[NameObject("/Annots")] = kept

    def number(self):
        "Write the number of each sheet at its foot."
        from pypdf.generic import (
            ArrayObject,
            DictionaryObject,
            NameObject,
            StreamObject,
        )

        def stream(text):
            made = StreamObject()
            made.set_data(text.encode())
            return self.writer._add_object(made)

        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        font, before = self.writer._add_object(font), stream("q\n")
        for n, page in enumerate(self.writer.pages, 1):
            resources = page["/Resources"].get_object()
            fonts = resources.setdefault(
                NameObject("/Font"), DictionaryObject()
            ).get_object()
            fonts[NameObject("/Foot")] = font
            x = float(page.mediabox.width) / 2 - 2.2 * len(str(n))
            foot = stream(f"\nQ BT /Foot 8 Tf 0.35 g {x:.1f} 28 Td ({n}) Tj ET\n")
            contents = page.raw_get("/Contents")
            body = contents.get_object()
            body = list(body) if isinstance(body, ArrayObject) else [contents]
            page[NameObject("/Contents")] = ArrayObject([before, *body, foot])

    def write(self, out):
        self.link()
        self.number()
        self.writer.compress_identical_objects()
        self.writer.page_mode = "/UseOutlines"
        self.writer.add_metadata({"/Title": "okbook"})
        self.writer.write(out)


def of_course(leaf):
    "Whether a page, and those below it, belong to the core course or to its beginning."
    layer = layers.pages().get(f"nbs/{leaf.path.stem}")
    return layer in ("start", "core")


@contextmanager
def chromium():
    "A Chromium that opens files of this machine."
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def bind(leaves, out, core=False):
    "Print all pages by one Chromium, and write them as one file."
    paths = [leaf.path for top in leaves for leaf in top.walk()]
    anchors, binding = linked_anchors(paths), Binding()
    with chromium() as browser:
        parts = []

        def add(leaf, parent=None):
            tab = browser.new_page()
            found = print_page(tab, leaf.path, anchors[leaf.path], core)
            tab.close()
            parts.append((leaf.path, *found, parent))
            print(f"{leaf.path.stem}: {sheets(found[0])} pages", flush=True)
            for child in leaf.below:
                add(child, leaf.path)

        for leaf in leaves:
            add(leaf)
        cover = print_cover(browser.new_page(), parts, core)
    binding.add(None, cover, [(1, "Contents", None)])
    marks = {None: None}
    for path, data, headings, parent in parts:
        marks[path] = binding.add(path, data, headings, marks[parent])
    binding.write(out)
    return len(binding.writer.pages)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--html", type=Path, default=HTML, help="the built book")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "okbook.pdf")
    options = parser.parse_args(argv)
    if CHROMIUM is None:
        sys.exit("make pdf needs Chromium, and there is none on this machine")
    leaves = book_order(project.contents(), options.html)
    if not leaves:
        sys.exit(f"there is no built book in {options.html}: run `make book`")
    core = [leaf for leaf in leaves if of_course(leaf)]
    short = options.out.with_name(f"{options.out.stem}-core.pdf")
    for pages, out in ((core, short), (leaves, options.out)):
        print(f"{out}: {bind(pages, out, pages is core)} pages")


def setup(app):
    app.add_css_file("okbook-print.css", media="print")


if __name__ == "__main__":
    main()
