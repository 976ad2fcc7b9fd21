"""Pages and sections have a layer, core pages are short, and "Next" stays."""

import re

import pytest

from okbook_book import layers, project
from okbook_book.pdf import CHROMIUM
from okbook_book.project import HTML

# What DESIGN asks of a core page and of a lab, and a tenth more.
WORDS, BARS, TESTS, CORE, LAB = 2500 * 1.1, 12 * 1.1, 0.1, 42_000 * 1.1, 3000 * 1.1
# Pages that are not there yet: the words of their story, and their bars, at most.
ABOVE = {
    "00_core": (2750, 15),
    "02_rkhs_4_links": (2950, 15),
    "03_forest_kernel": (2950, 12),
    "05_ensembles": (3383, 19),
    "05_ensembles_3_margins": (3400, 18),
}


def page(name):
    return layers.measured(f"nbs/{name}")


def of_layer(key):
    return [page.removeprefix("nbs/") for page in layers.of_layer(key)]


def test_every_page_has_a_layer():
    listed = set(project.toc_pages()) - {"nbs/index"}
    assert listed == set(layers.pages())


def test_marks_are_layers():
    found = []
    for name in layers.pages():
        for kind, source, _ in layers.cells(name):
            if kind == "markdown" and "% layer" in source:
                marks = layers.SECTION.findall(source)
                headed = re.findall(r"^##+ .*\n\n% layer: ", source, re.M)
                assert len(marks) == len(headed) == source.count("% layer"), name
                found += marks
    assert set(found) <= {"further", "note", "reproduction"} and len(found) > 20


@pytest.mark.parametrize("name", of_layer("core"))
def test_a_core_page_is_short(name):
    found = page(name)
    words, bars = ABOVE.get(name, (WORDS, BARS))
    assert found.own <= words
    assert found.bars <= bars
    assert found.tests <= TESTS * max(found.lines, 1)


@pytest.mark.browser
def test_the_screens_of_a_page_are_told():
    if CHROMIUM is None or not HTML.exists():
        pytest.skip("there is no Chromium, or the book is not built")
    (long,) = layers.screens(["nbs/00_core"]).values()
    assert 8 < long < 40


def test_no_page_is_listed_that_is_short():
    assert not [
        name for name in ABOVE if page(name).own <= WORDS and page(name).bars <= BARS
    ]


def test_the_course_is_short():
    found = [page(name) for name in of_layer("core")]
    assert sum(m.own for m in found) <= CORE and len(found) <= 22


@pytest.mark.parametrize("name", of_layer("labs"))
def test_a_lab_is_short(name):
    assert page(name).words <= LAB


def test_each_source_has_one_page_of_reproduction():
    "They have the same sections, in the same order."
    names = [name for name in of_layer("reproduction") if "_reproduction" in name]
    assert [name[0] for name in names] == list("12345")
    for name in names:
        text = "\n\n".join(s for kind, s, _ in layers.cells(f"nbs/{name}"))
        *sections, questions = re.findall("^## (.*)$", text, re.M)
        assert sections == [
            "What the source prints, and where ours differs",
            "The experiments and their criteria",
            "The experiments in code",
            "What came of them",
            "What follows",
            "Recomputing the tables",
        ]
        assert questions in ("Exercises", "Questions"), name


def test_what_is_measured():
    cells = [
        ("markdown", "# Title\n\nThree words here, $x = 1$ aside.", set()),
        ("code", "x = 1\ny = 2", set()),
        ("code", "assert x", set()),
        ("markdown", "## Far\n\n% layer: note\n\nFour more of them.", set()),
        ("code", "z = 3", set()),
        ("code", "assert z", set()),
        ("markdown", "and two", set()),
        ("code", "assert z > 1", set()),
        ("markdown", "## Exercises\n\nnothing of this counts", set()),
        ("code", "counts = 0", set()),
    ]
    found = layers.measure(cells)
    assert (found.words, found.aside, found.lines, found.beside) == (12, 7, 3, 1)
    assert (found.bars, found.tests) == (1, 0)


def test_next_stays_in_its_layer():
    if not HTML.exists():
        pytest.skip("the book is not built")
    wrong = []
    for name, key in layers.pages().items():
        text = (HTML / f"{name}.html").read_text(encoding="utf8")
        for link in re.findall(
            r'<a class="(?:left|right)-(?:prev|next)"\s+href="([^"]*)"', text
        ):
            there = layers._page(name, link)
            wrong += [(name, link)] if layers.pages().get(there) != key else []
    assert not wrong
