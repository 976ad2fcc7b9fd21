"""The list of house words finds what is planted, and leaves legitimate uses alone."""

import json

import pytest

from okbook_book import checks, words

PLANTED = [
    ("To train a machine in order to judge a kernel is dear.", "dear"),
    ("## Kin\n", "Kin"),
    ("wherever the learner errs with probability above", "errs"),
    ("made from the sources at\nhand", "at hand"),
    ("the {term}`likeness` of two words", "likeness"),
    ("Bagging and trees with dice in them", "with dice"),
    ("the price of the block is not yet earned", "the price of"),
    ("Examples that cannot comply pay their slack.", "pay their slack"),
    ("Two small prints.", "small prints"),
    ("kernels for which it is none.", "it is none"),
    ("It is a wild one where a node has thirty.", "is a wild one where"),
    ("has none of its factors", "has none of"),
    ("The trees of other houses go the slow way", "of other houses"),
    ("A machine that shall learn locks and keys", "that shall"),
    ("the same in every row. So is the result", "So is"),
    ("Not so: the bound fails.", "Not so:"),
    ("A vote is no cure for a learner", "no cure for"),
]
LEGITIMATE = [
    "There is none in the list, and if it is None, the value is none of these.",
    "The dice coefficient, `dear`, $dear$ and {ref}`kin <sec-trees-kin>`",
    "(sec-trees-kin)=\n",
    "```python\nkin = dear + errs\n```\n",
    "The list is computed by hand, and the answer is alive.",
    "This errs: [a link](https://example.org/dear/kin)"[10:],
    "The points lie in the ball, and examples that lie on the margin",
    "one of the best randomised tests; we err on the side of caution",
    "so is the result, and so does its parts; therefore, part of the sum",
    ":::{admonition} A note\n:class: dear\nText.\n:::",
]


@pytest.mark.parametrize("text, word", PLANTED)
def test_planted_words_are_found(text, word):
    assert word in [found for _, found, _ in words.find(text)]


@pytest.mark.parametrize("text", LEGITIMATE)
def test_legitimate_uses_are_left_alone(text):
    assert words.find(text) == []


def test_every_rule_has_a_suggestion_and_can_fail():
    for rule, said in words.RULES:
        assert said and rule.search("") is None


CODE = '''
# dear in a comment is not prose
kin = {"dear": 1, "a": 2}

def f(x):
    """Do it.

    This method is dear.
    """
    print(f"The method {kin['dear']} is at "
          "hand for all of us")
    return x["at hand"], errs
'''


def test_what_is_prose_in_code():
    assert words.find(words.strings(CODE)) == [
        (8, "dear", "expensive"),
        (10, "at hand", "available"),
    ]


def notebook(*cells):
    made = [
        {"cell_type": kind, "id": f"c{n}", "metadata": data, "source": source}
        for n, (kind, source, data) in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}})


def test_all_kinds_of_text_are_read(tmp_path):
    (tmp_path / "nbs").mkdir()
    (tmp_path / "okbook" / "rkhs").mkdir(parents=True)
    caption = {"mystnb": {"figure": {"caption": "A dear figure of trees."}}}
    (tmp_path / "nbs" / "01_a.ipynb").write_text(
        notebook(
            ("markdown", "One.\n\nThe method is dear.", {}),
            ("code", "#| hide\ndraw()", caption),
            ("code", "print('It is very dear')", {}),
        )
    )
    (tmp_path / "nbs" / "page.md").write_text("Kin.\n")
    (tmp_path / "README.md").write_text("All is\nat hand.\n")
    face = tmp_path / "okbook" / "rkhs" / "__init__.py"
    face.write_text('"""Votes that err often."""\n')
    found = words.house_words(tmp_path)
    assert [(f.file, f.cell, f.line, f.word) for f in found] == [
        ("nbs/01_a.ipynb", "c0", 3, "dear"),
        ("nbs/01_a.ipynb", "c1 (caption)", 1, "dear"),
        ("nbs/01_a.ipynb", "c2", 1, "dear"),
        ("nbs/page.md", "", 1, "Kin"),
        ("README.md", "", 2, "at hand"),
        ("okbook/rkhs/__init__.py", "", 1, "err"),
    ]
    assert "nbs/01_a.ipynb cell c0 line 3: 'dear': expensive" == str(found[0])


def test_the_book_has_none():
    bad, good = checks.check_words()
    assert not bad, "\n".join(bad)
    assert str(len(words.RULES)) in good
