"""Grading: answers that are right, wrong, hang, crash or deceive; each is one line."""

import csv
import io
import json
import time

import pytest

from okbook.cli import main
from okbook.grading import (
    PageTests,
    grade_folder,
    grade_notebook,
    judge,
    judge_apart,
    read_answers,
)

STUB = "def double(x):\n    ...  # your code"
TEST = "for n in (3, 5):\n    assert double(n) == 2 * n, 'twice'"
ARRAYS = "np.testing.assert_allclose(double(np.arange(3.0)), [0, 2, 4])"
GOOD = "def double(x):\n    return 2 * x"
EXERCISE = {"title": "Double", "stub": [STUB], "test": [TEST]}
PAGE = PageTests(None, "import numpy as np", {"ex-double": EXERCISE})
TESTS = {"page": PAGE}


@pytest.mark.parametrize(
    "answer, said",
    [
        (GOOD, ""),
        ("%matplotlib inline\n!ls\ndouble = (2).__mul__", ""),
        ("def double(x):\n    return (4 * x\n        % 10**9) // 2", ""),
        ("def double(x):\n    return x * x", "AssertionError: twice"),
        (STUB, "AssertionError: twice"),
        ("def double(x)\n    return x", "the answer does not run: SyntaxError"),
        ("undefined", "the answer does not run: NameError"),
        ("import sys\nsys.exit()", "the answer does not run: SystemExit"),
        ("def double(x):\n    return double(x)", "RecursionError"),
        ("del double", "NameError"),
    ],
)
def test_what_the_judge_says(answer, said):
    found = judge(EXERCISE, [answer], PAGE)
    assert found.startswith(said) if said else found == ""


@pytest.mark.parametrize(
    "answer, said",
    [
        ("import os\nos._exit(0)", "ended before its test did (status 0)"),
        ("import os\nos.abort()", "ended before its test did (status -6)"),
        ("while True: ...", "stopped after 3 s"),
        ("def double(x):\n    while True: ...", "stopped after 3 s"),
        ("import numpy as np\nnp.testing.assert_allclose = print", "was replaced"),
        ("import builtins\nbuiltins.len = print", "builtins.len was replaced"),
        ("import okbook.grading as g\ng.judge = print", "was replaced"),
        (
            "class Yes:\n    def __getattr__(self, name):\n        return self\n"
            "    __call__ = __getattr__\nnp.testing = np = Yes()",
            "tampered with",
        ),
        ("import sys\nsys.stdout.close()\n" + GOOD, ""),
    ],
)
def test_what_an_answer_may_try(answer, said):
    exercise = {"stub": [STUB], "test": [ARRAYS]}
    found = judge_apart(
        exercise, [answer], PAGE, seconds=3 if "while" in answer else 60
    )
    assert said in found if said else "AssertionError" not in found


def test_a_process_that_an_answer_starts_ends_with_it(tmp_path):
    witness = tmp_path / "alive"
    answer = (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', "
        f'\'import time; time.sleep(6); open("{witness}", "w")\'])\n'
        "while True: ..."
    )
    assert "stopped" in judge_apart(EXERCISE, [answer], PAGE, seconds=3)
    time.sleep(5)
    assert not witness.exists()


def cell(source, role=None):
    what = {"okbook": {"exercise": "ex-double", "role": role}} if role else {}
    return {"cell_type": "code", "metadata": what, "source": source}


def notebook(*cells, page="page"):
    return json.dumps({"metadata": {"okbook": {"page": page}}, "cells": [*cells]})


TEST_CELL = cell(TEST, "test")
CLASS = {
    "ada": notebook(cell(GOOD, "stub"), TEST_CELL),
    "bo": notebook(cell("from_below = 1", "stub"), cell(GOOD), TEST_CELL),
    "cy": notebook(cell(STUB + "  \n", "stub"), TEST_CELL),
    "di": notebook(cell("double = abs", "stub"), cell("assert True", "test")),
    "ed": notebook(cell(GOOD, "stub")),
    "fay": notebook(TEST_CELL),
    "gil": "no notebook",
    "hal": notebook(cell(GOOD, "stub"), page="elsewhere"),
    "ian": json.dumps({"cells": [{"cell_type": "code"}]}),
    "jo": json.dumps([1, 2]),
    "kay": notebook(cell("while True: ...", "stub"), TEST_CELL),
}
SAID = {
    "ada": (True, ""),
    "bo": (True, ""),
    "cy": (False, "not answered"),
    "di": (False, "AssertionError: twice; the test was changed; judged by the orig"),
    "ed": (True, "the test was removed; judged by the original"),
    "fay": (False, "there is no cell with the answer"),
    "gil": (False, "not a notebook"),
    "hal": (False, "no tests for the page 'elsewhere'"),
    "ian": (False, "not a notebook"),
    "jo": (False, "not a notebook"),
    "kay": (False, "stopped after 4 s"),
}


@pytest.fixture
def folder(tmp_path):
    for name, text in CLASS.items():
        path = tmp_path / "class" / f"group-{name < 'f'}" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
    (tmp_path / "class" / "x.ipynb").mkdir()
    tests = {"page": {"module": None, "imports": "", "exercises": PAGE.exercises}}
    (tmp_path / "tests.json").write_text(json.dumps(tests), encoding="utf8")
    return tmp_path


def test_each_notebook_is_a_line_and_stops_no_other(folder, capsys):
    options = ["--tests", str(folder / "tests.json"), "--seconds", "4", "--csv"]
    assert main(["grade", str(folder / "class"), *options]) == 0
    head, *lines = csv.reader(io.StringIO(capsys.readouterr().out))
    assert head == ["notebook", "exercise", "passed", "message"]
    found = {name.rpartition("/")[2]: line for name, *line in lines}
    assert found.keys() == SAID.keys() | {"x"}
    for name, (passed, said) in SAID.items():
        assert found[name][1] == ("yes" if passed else "no"), name
        assert found[name][2].startswith(said) and bool(said) == bool(found[name][2])
    assert "directory" in found["x"][2]


def test_the_table_and_its_errors(folder, capsys):
    path = folder / "class" / "group-True"
    tests = str(folder / "tests.json")
    assert main(["grade", str(path), "--tests", tests, "--seconds", "9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["notebook", "exercise", "passed", "message"]
    assert lines[1].split() == ["ada", "ex-double", "yes"]
    assert main(["grade", str(folder / "none"), "--tests", tests]) == 1
    assert "no such folder" in capsys.readouterr().err
    assert main(["grade", str(path), "--tests", str(folder / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err


def test_several_at_once_in_order(folder):
    found = list(grade_folder(folder / "class" / "group-True", TESTS, 9, n_jobs=3))
    assert [verdicts[0].notebook for verdicts in found] == [
        "ada",
        "bo",
        "cy",
        "di",
        "ed",
    ]


def test_cells_below_the_stub_belong_to_the_answer(tmp_path):
    path = tmp_path / "page.ipynb"
    cells = [cell("a", "stub"), cell("b"), cell("t", "test"), cell("c")]
    path.write_text(notebook(*cells))
    parts = read_answers(path)[1]
    assert parts == {("ex-double", "stub"): ["a", "b"], ("ex-double", "test"): ["t"]}


def test_a_notebook_without_our_page_is_found_by_its_name(tmp_path):
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": [cell(GOOD, "stub"), TEST_CELL]}))
    assert grade_notebook(path, TESTS)[0].passed
