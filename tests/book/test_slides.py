"""Slides: the plan's sessions, whole sentences, and what the built decks show."""

import os
import re
from functools import cache

import pytest
from bs4 import BeautifulSoup

from okbook_book import slides
from okbook_book.project import HTML, ROOT, notebooks

SESSIONS = {session.name: session for session in slides.sessions()}


def test_each_session_of_the_plan_has_pages_and_names_what_they_hold():
    assert [n for n in SESSIONS if n.startswith("week")] == [
        f"week{n}" for n in range(1, 13)
    ]
    assert len([name for name in SESSIONS if name.startswith("day")]) == 10
    texts = {path.stem: path.read_text(encoding="utf8") for path, _ in notebooks()}
    for session in SESSIONS.values():
        assert session.pages and session.opening <= {*session.pages}
        held = "".join(texts[page] for page in session.pages)
        for label in session.named:
            assert re.search(rf":label: {label}\\n|\({label}\)|\"{label}\"", held), (
                label
            )
    assert all(SESSIONS[f"week{n}"].named for n in range(1, 13))


def test_the_guide_has_each_session():
    text = (ROOT / "nbs" / f"{slides.GUIDE}.md").read_text(encoding="utf8")
    for week in range(1, 13):
        part = text.partition(f"### Week {week}:")[2].partition("\n### ")[0]
        found = dict(re.findall(r"^(Minutes|Board|Ask|Together)\n: (.*)$", part, re.M))
        assert len(found) == 4 and found["Ask"].count("?") == 2, week
        assert "`ex-" in found["Together"], week
        minutes = re.findall(r"(?:^|· )(\d+) ", found["Minutes"])
        assert sum(map(int, minutes)) == 90, week
    rows = [row.split("|") for row in re.findall(r"^\| day \d, .*\|$", text, re.M)]
    assert [sum(map(int, row[3].split(","))) for row in rows] == [90] * len(rows)
    assert len(rows) == len([name for name in SESSIONS if name.startswith("day")]) + 2


def sentences(text):
    parts = BeautifulSoup(text, "html.parser").find_all(recursive=False)
    return [unit.text.strip() for unit in slides.units(parts)]


FORMULA = (
    '<div class="math"><span class="katex-mathml"><annotation>{0}</annotation></span>'
    '<span class="katex-html">{0}</span></div>'
)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("<p>One. Two, e.g. this one? <em>Three</em>.</p>", 3),
        ("<p>It breaks off here:</p>", 0),
        ("<p>It is whole. It breaks off here:</p><p>Another one.</p>", 2),
        (f"<p>It is</p>{FORMULA.format('a.')}<p>And on.</p>", 2),
        (f"<p>It is</p>{FORMULA.format('a,')}<p>where a is 1. And on.</p>", 2),
        (f"<p>It is</p>{FORMULA.format('a')}<p>for all b.</p>", 1),
        ("<p>Both:</p><ul><li>one</li><li>two</li></ul>", 1),
        ("<ul><li>One.</li><li>Two.</li></ul>", 2),
        ("<p>See Fig. 2 and no. 3 of al. and so on.</p>", 1),
        ("<p>A theorem of A. Smith. For any matrix <code>K</code>.</p>", 2),
    ],
)
def test_a_text_is_taken_by_whole_sentences(text, wanted):
    assert len(sentences(text)) == wanted


FIGURE = re.compile(r"Fig(?:ure|\.)\s*(\d[\d.]*\d)")


@cache
def deck(name):
    if not (HTML / "nbs" / "index.html").exists():
        if os.environ.get("OKBOOK_REQUIRE_BOOK"):
            pytest.fail("the book is not built")
        pytest.skip("needs the built book")
    return slides.deck(SESSIONS[name], HTML)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_deck(name):
    its, session = deck(name), SESSIONS[name]
    assert 8 <= len(its) <= slides.MOST
    shown = set().union(*(slide.labels for slide in its))
    assert not set(session.named) - shown, "named in the outcomes, on no slide"
    kinds = [slide.kind for slide in its]
    assert kinds.count("title") == len(session.pages) and "figure" in kinds
    for slide in its:
        where = f"{name}, {BeautifulSoup(slide.title, 'html.parser').get_text()}"
        part = BeautifulSoup(slide.content, "html.parser")
        captions = " ".join(c.get_text() for c in part.select("figcaption"))
        named = set(FIGURE.findall(without_captions(part)))
        assert named <= set(FIGURE.findall(captions)), f"{where}: not on the slide"
        if slide.kind != "session":
            assert not [*cut(part)], f"{where}: a cut sentence"
        if slide.kind not in ("session", "title", "figure", "code", "exercise"):
            units = slides.units(part.find_all(recursive=False))
            lines = sum(unit.lines(slides.WIDTH) for unit in units)
            assert lines <= slides.LINES, f"{where}: {lines} lines"
        for program in part.select("pre:not(.said)"):
            assert len(program.get_text().strip().splitlines()) <= slides.SHORT, where
    assert its[0].notes, "no notes for the speaker"
    if name.startswith("week"):
        assert kinds[-1] == "exercise"


def without_captions(part):
    part = BeautifulSoup(str(part), "html.parser")
    for caption in part.select("figcaption, pre"):
        caption.decompose()
    return part.get_text(" ")


def cut(part):
    "The paragraphs that break off, by their last words; an item may end with ; or )."
    for paragraph in part.select("p:not(.admonition-title, figcaption p)"):
        item = paragraph.find_parent("li")
        last = (
            item and not paragraph.find_next_sibling() and not item.find_next_sibling()
        )
        place = item.parent if last else paragraph  # a formula stands below the list
        following = place.find_next_sibling(["p", "div", "ul", "ol"])
        if following is not None and following.name != "p":
            continue
        text = slides.visible(paragraph).strip(" \u2060")
        if text and not slides.ended(text) and not (item and text[-1] in ";)"):
            yield text[-60:]


def test_a_cut_sentence_is_noticed():
    whole = "<p>One.</p><p>Two:</p><div>2</div><ul><li><p>three;</p></li></ul>"
    assert not [*cut(BeautifulSoup(whole, "html.parser"))]
    for broken in ("<p>It is,</p>", "<p>It is:</p><p>Two.</p>"):
        assert [*cut(BeautifulSoup(broken, "html.parser"))]
