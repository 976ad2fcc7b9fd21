"""Quizzes and exercises in the book: how they are read, what they say when they are
wrong, and that they need no script."""

import json
import os
import re
import subprocess
import sys

import pytest

from okbook_book import directives, exercises, quiz
from okbook_book.project import ROOT

GOOD = """Is $x^2$ convex?

- (x) Yes, *everywhere*.
  Its second derivative is 2.

  Everywhere.
- ( ) No.
  It is, see {ref}`here`.

And $x$?
It is linear.

- ( ) No.
  Linear is convex.
- (x) Yes.
  Both convex and concave."""


IN_CLASS = """#### Quiz: one question

**1.** Is $a_1 = \\{0\\}$ *small*?

(a) Yes: $x < 1$.

<details><summary>Is it (a)?</summary>

**Right.** It has `one` point.

</details>

(b) No.

<details><summary>Is it (b)?</summary>

**Wrong.** See

$$
x
$$

</details>"""


def test_a_quiz_for_moodle():
    question, right, wrong, end = quiz.gift("page", IN_CLASS).splitlines()
    start = r'::page 1::[html]<p>Is <span class\="math inline">'
    assert question == start + r"\\(a_1 \= \\\{0\\\}\\)</span> <em>small</em>?</p> {"
    assert right.startswith(r"=<p>Yes\: <span") and r"\\(x &lt; 1\\)" in right
    assert right.endswith("#<p>It has <code>one</code> point.</p>")
    assert wrong.startswith("~<p>No.</p>#<p>See</p> <div") and r"\\[x\\]" in wrong
    assert end == "}"


def test_a_quiz_is_read():
    first, second = quiz.questions(GOOD.splitlines())
    assert [option[0] for option in first[2]] == [True, False]
    assert first[2][0][1] == "Yes, *everywhere*."
    assert "\n".join(first[2][0][3]) == "Its second derivative is 2.\n\nEverywhere."
    assert second[0] == 9 and second[1][:2] == ["And $x$?", "It is linear."]


@pytest.mark.parametrize(
    "old, new, line, said",
    [
        ("(x) Yes.", "( ) Yes.", 9, "no right answer"),
        ("( ) No.\n  It", "(x) No.\n  It", 0, "2 right answers"),
        ("- ( ) No.\n  Lin", "- No.\n  Lin", 12, "begins with"),
        ("\n  Both convex and concave.", "", 14, "no explanation"),
        ("- ( ) No.\n  It is, see {ref}`here`.", "", 0, "fewer than two"),
    ],
)
def test_a_wrong_quiz_is_refused_with_its_line(old, new, line, said):
    assert GOOD.count(old) == 1
    with pytest.raises(quiz.Wrong, match=said) as error:
        quiz.questions(GOOD.replace(old, new).splitlines())
    assert error.value.args[1] == line


def built(folder, quizzes, ok=True):
    "The page that Sphinx makes of a text."
    (folder / "conf.py").write_text(
        'extensions = ["myst_parser", "okbook_book.quiz"]\n'
        'myst_enable_extensions = ["dollarmath"]\nhtml_theme = "basic"\n'
    )
    (folder / "index.md").write_text(f"# Page\n\n(here)=\n## Here\n\n{quizzes}\n")
    command = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", folder]
    done = subprocess.run(
        [*map(str, command), str(folder / "html")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "book")},
    )
    assert (done.returncode == 0) == ok, done.stderr
    return (folder / "html/index.html").read_text() if ok else done.stderr


def test_a_quiz_needs_no_script(tmp_path):
    page = built(tmp_path, f"```{{quiz}}\n{GOOD}\n```")
    shown = re.search('<div class="okb-quiz">.*?</ol></details></div>', page, re.S)[0]
    assert "<summary>Quiz: two questions</summary>" in shown
    kinds = re.findall(r'<details class="okb-option (\w+)">', shown)
    assert kinds == ["right", "wrong", "wrong", "right"]
    assert re.findall('"verdict">(.*?)<', shown) == ["Right.", "Wrong.", "Wrong."] + [
        "Right."
    ]
    assert shown.count("<details") == shown.count("</details>") == 5
    assert "<em>everywhere</em>" in shown and 'href="#here"' in shown
    assert "<p>Everywhere.</p>" in shown and "script" not in shown


def test_an_error_names_file_and_line(tmp_path):
    said = built(
        tmp_path, "```{quiz}\nWhat?\n\n- ( ) No.\n  So.\n- ( ) N.\n  S.\n```", 0
    )
    assert re.search(r"index\.md:7: quiz: the question 'What\?' has no right", said)


def cell(source, kind="markdown", **metadata):
    return {"cell_type": kind, "id": "x", "metadata": metadata, "source": source}


NOTEBOOK = {
    "cells": [
        cell("```{exercise-start} One\n:label: ex-1\n:class: warm-up\n```\nDo."),
        cell("A second cell.\n```{exercise-end}\n```"),
        cell("#| stub ex-1\ndef f(): ...", "code"),
        cell("```{solution-start} ex-1\n:label: sol-1\n```\nThus."),
        cell("#| solution ex-1\ndef f():\n    return 1", "code"),
        cell("plot()", "code"),
        cell("#| test ex-1\nassert f() == 1", "code"),
        cell("```{solution-end}\n```"),
        cell("#| wrong ex-1\ndef f():\n    return 2", "code", tags=["remove-cell"]),
        cell(
            "```{exercise-start} Two\n:label: ex-2\n:class: hard proof\n```\nShow."
            "\n```{exercise-end}\n```\n"
        ),
        cell(
            "```{solution-start} ex-2\n:label: sol-2\n```\nSo.\n```{solution-end}\n```",
            tags=["remove-cell", "teacher"],
        ),
    ]
}


def test_exercises_are_found():
    one, two = exercises.exercises(NOTEBOOK).values()
    assert one.parts == {"stub": [2], "solution": [4], "test": [6], "wrong": [8]}
    assert one.solution == [3, 4, 5, 6, 7] and one.level == "warm-up" and one.printed
    assert two.level == "hard" and two.written and not two.printed
    assert two.title == "Two" and two.statement.strip() == "Show."


def test_the_book_says_that_a_solution_is_not_printed():
    nb = json.loads(directives.as_built(json.dumps(NOTEBOOK)))
    shown = ["".join(c["source"]) for c in nb["cells"]]
    assert sum("teacher's edition" in source for source in shown) == 1
    assert shown[9].index("Show.") < shown[9].index("teacher's edition")
    assert not any("#|" in source for source in shown)
    assert "show-input" in nb["cells"][2]["metadata"]["tags"]
