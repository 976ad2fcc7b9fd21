"""What the pages fold, how figures and numbers are set: on small pages of their own."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from okbook_book import folds, gallery, tables

DOCSTRING = "\n".join(["    line" for _ in range(30)])
IDEA = f'def mean(K):\n    """Average.\n{DOCSTRING}\n    """\n    return K.mean()\n'
LONG = "def f(x):\n" + 12 * "    x = x + 1\n"


@pytest.mark.parametrize(
    "source, exported, expected",
    [
        ("import numpy as np\nfrom okbook import trees", False, ("the imports", True)),
        (IDEA, True, ("mean", False)),
        (LONG, True, ("f", True)),
        (LONG, False, ("the code of the example", False)),
        (2 * LONG, False, ("the code of the example", True)),
        ("class A:\n    pass", True, ("A", True)),
        ("fig, ax = plt.subplots()", False, ("the code of the figure", True)),
        ("Markdown(markdown_table(h, r))", False, ("the code of the table", True)),
        ("Markdown(f'{x} won')", False, ("the code of the text", True)),
        ("assert 1 + 1 == 2", False, ("the test", True)),
        ("np.testing.assert_allclose(a, b)\n" * 13, False, ("the test", True)),
        ("%timeit f(1)\nx = 1", False, ("the code of the example", False)),
        ("def _a(): ...\ndef b(): ...", True, ("b", False)),
    ],
)
def test_the_rule(source, exported, expected):
    assert folds.kind(source, exported) == expected


def test_a_short_judge_is_open():
    assert folds.kind("assert f(1) == 2", judge=True) == ("the test", False)
    assert folds.kind("assert f(1) == 2\n" * 13, judge=True) == ("the test", True)


def test_what_a_long_bar_says():
    assert folds.summary(["the test", "the test"]) == "the test"
    assert folds.summary(["a and b", "the test"]) == "a, b and the test"
    assert folds.summary(["a, b, c, …", "d", "e", "f"]) == "4 cells: a, b, c, …"


def cell(source, *outputs, tags=()):
    code = nodes.container("", nodes.literal_block(source, source))
    code["nb_element"] = "cell_code_source"
    found = nodes.container("", code, nb_element="cell_code", cell_metadata={})
    found["classes"] = ["cell", *(f"tag_{tag}" for tag in tags)]
    if "hide-input" in tags:
        found["hide_mode"] = "input"
    if outputs:
        found += nodes.container("", *(nodes.paragraph("", text) for text in outputs))
    return found


def folded(*children):
    "The children of a page, once folded: the bars by what they say."
    page = new_document("page")
    page += children
    folds.FoldCells(page).run()
    return [
        child["summary"] if isinstance(child, folds.Fold) else child.astext()
        for child in page
    ]


def test_a_run_of_folded_cells_is_one_bar():
    assert folded(
        cell("import a"),
        nodes.target(),
        cell("class B: ...", tags=["export"]),
        cell("plt.plot()", "a figure"),
        cell("plt.plot()", "another"),
        nodes.paragraph("", "prose"),
        cell("import c"),
    ) == [
        "the imports, B and the code of the figure",
        "",
        "a figure",
        "the code of the figure",
        "another",
        "prose",
        "the imports",
    ]


def test_tags_go_before_the_rule():
    assert folded(cell("x = 1", tags=["hide-input"])) == ["the code of the example"]
    assert folded(cell("import a", tags=["show-input"])) == ["import a"]


def test_numbers_keep_their_deviations():
    assert (
        tables.unbroken("68.7 ± 0.9 and 45% ±2")
        == "68.7\u00a0±\u00a00.9 and 45%\u00a0±\u00a02"
    )
    assert tables.unbroken("x ± y") == "x ± y"


def test_a_card_shows_the_first_drawing_of_its_page():
    def drawn(uri):
        image = nodes.image(uri=uri)
        return nodes.container("", image, nb_element="cell_code")

    page = new_document("page")
    page += nodes.image(uri="logo.png")  # not of a cell
    assert gallery.first_figure(page) is None
    page += drawn("table.svg")
    page += drawn("first.png")
    page += drawn("second.png")
    assert gallery.first_figure(page) == "first.png"
