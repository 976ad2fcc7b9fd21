"""`make pdf`: what is on a page of the book is on paper, and the paper is used.

Two short pages of the built book are printed, with equations of a source, solutions,
wide code, a table and a figure.
"""

import io
import re

import pytest
import test_browser
from browsing import FONTS
from bs4 import BeautifulSoup
from test_browser import HTML, PAGES

from okbook_book import pdf

browser = test_browser.browser
PRINTED = ("nbs/01_trees", "nbs/01_trees_2_pruning")
BUILT = pytest.mark.skipif(
    not {f"{page}.html" for page in PRINTED} <= set(PAGES),
    reason="the pages to be printed are not built",
)

# In print nothing is behind an edge: no box is narrower than what it holds.
CUT_OFF = """fonts => [...document.querySelectorAll(
  "article, article :is(pre, table, div.math, .cell_output, .output, .highlight, .sig)"
)].filter(e => e.clientWidth && e.scrollWidth > fonts * e.clientWidth
               || e.getBoundingClientRect().right > fonts * innerWidth)
  .map(e => `${e.tagName}.${e.className} ${e.scrollWidth} > ${e.clientWidth}: `
            + e.textContent.slice(0, 80))"""


def squeeze(text):
    "Text as it can be compared: a wrapped line is the same line."
    return re.sub(r"[\s\u00ad\ufffe\u200b]|-(?=\ufffe)", "", text)


def lines_of_code(page):
    soup = BeautifulSoup((HTML / f"{page}.html").read_text("utf8"), "html.parser")
    printed = soup.article.select("pre:not(.running-time pre)")
    text = "\n".join(pre.get_text() for pre in printed)
    return [line for line in text.splitlines() if line.strip()]


def numbers_of_equations(page):
    soup = BeautifulSoup((HTML / f"{page}.html").read_text("utf8"), "html.parser")
    return [e.contents[0].strip() for e in soup.article.select(".eqno")]


@pytest.fixture(scope="module")
def parts(browser):
    "The printed pages: path, PDF, headings, and what is cut off."
    tab, made = browser.new_page(), []
    for page in PRINTED:
        path = (HTML / f"{page}.html").resolve()
        others = pdf.linked_anchors([(HTML / f"{p}.html").resolve() for p in PRINTED])
        printed, headings = pdf.print_page(tab, path, others[path])
        made.append((path, printed, headings, tab.evaluate(CUT_OFF, FONTS)))
    tab.close()
    return made


@pytest.fixture(scope="module")
def bound(parts):
    "The two pages in one file, the second below the first."
    import pypdfium2

    binding, out = pdf.Binding(), io.BytesIO()
    above = None
    for path, printed, headings, _ in parts:
        above = binding.add(path, printed, headings, above)
    binding.write(out)
    return pypdfium2.PdfDocument(out.getvalue()), binding


@BUILT
@pytest.mark.browser
def test_no_line_is_missing_or_cut_off(parts):
    import pypdfium2

    for page, (_, printed, _, cut_off) in zip(PRINTED, parts, strict=True):
        assert not cut_off, "\n".join([page, *cut_off])
        document, text = pypdfium2.PdfDocument(printed), ""
        for sheet in document:
            chars = sheet.get_textpage()
            text += chars.get_text_range()
            for k in range(chars.count_rects()):
                left, _, right, _ = chars.get_rect(k)
                assert left > 0 and right < sheet.get_width()
        text, lines = squeeze(text), lines_of_code(page)
        missing = [line for line in lines if squeeze(line) not in text]
        assert len(lines) > 50 and not missing, missing
        numbers = numbers_of_equations(page)
        assert numbers and all(squeeze(number) in text for number in numbers)
    assert "(OK3eq.11)" in squeeze(
        "".join(
            sheet.get_textpage().get_text_range()
            for sheet in pypdfium2.PdfDocument(parts[0][1])
        )
    )


@BUILT
@pytest.mark.browser
def test_paper_is_used(parts):
    "But for a page's last sheet, hardly one is half blank."
    import numpy as np
    import pypdfium2

    sheets = short = 0
    for _, printed, _, _ in parts:
        for sheet in list(pypdfium2.PdfDocument(printed))[:-1]:
            ink = np.asarray(sheet.render(scale=0.5, grayscale=True).to_pil()) < 250
            last = np.flatnonzero(ink.any(axis=1)).max() / len(ink)
            sheets, short = sheets + 1, short + (last < 1 / 2 / FONTS)
    allowed = 0.05 + (FONTS - 1)
    assert sheets > 10 and short <= allowed * sheets, f"{short} of {sheets}"


@BUILT
@pytest.mark.browser
def test_bookmarks_links_and_numbers(parts, bound):
    document, binding = bound
    marks = [
        (mark.level, mark.get_title(), mark.get_dest().get_index())
        for mark in document.get_toc()
    ]
    seconds = binding.first[parts[1][0]]
    titles = [headings for _, _, headings, _ in parts]
    assert marks[0] == (0, titles[0][0][1], 0)
    assert (1, titles[1][0][1], seconds) in marks  # below its chapter
    assert [title for _, title, _ in marks] == [h[1] for part in titles for h in part]
    assert [sheet for *_, sheet in marks] == sorted(sheet for *_, sheet in marks)
    for (_, title, sheet), squeezed in zip(
        marks, (squeeze(title) for _, title, _ in marks), strict=True
    ):
        text = squeeze(document[sheet].get_textpage().get_text_range())
        assert squeezed in text or not title.isascii(), title
    for n, sheet in enumerate(document, 1):
        assert sheet.get_textpage().get_text_range().rstrip().endswith(str(n))

    from pypdf import PdfReader

    out = io.BytesIO()
    document.save(out)
    across = 0
    reader = PdfReader(out)
    for number, sheet in enumerate(reader.pages):
        for link in sheet.get("/Annots", ()):
            link = link.get_object()
            assert not link.get("/A", {}).get("/URI", "").startswith("file:")
            if "/Dest" in link:
                to = reader.get_page_number(link["/Dest"][0].get_object())
                across += (number < seconds) != (to < seconds)
    assert across  # from one page of the book to the other


def test_the_order_is_that_of_the_contents(tmp_path):
    for name in ("index", "one", "one_1", "two"):
        (tmp_path / f"{name}.html").touch()
    chapters = [
        {"file": "one", "sections": [{"file": "one_1"}, {"file": "not built"}]},
        {"file": "two"},
    ]
    contents = {"root": "index", "parts": [{"caption": "All", "chapters": chapters}]}
    found = pdf.book_order(contents, tmp_path)
    assert [leaf.path.stem for leaf in found] == ["index", "one", "two"]
    assert [leaf.path.stem for leaf in found[1].walk()] == ["one", "one_1"]
