"""Every exercise and every quiz of the book, in the format of the class edition.

A test must fail for the stub, pass for the solution and for right answers that are
written differently or return lists or float32, on other draws as well, and reject wrong
ones; an answer of shape (n, 1) passes or is told its shape. The cells are those of a
marked sheet; the first one of a page runs once, and each answer in a fork of it.
"""

import ast
import json
import os
import re
import subprocess
import sys
import traceback
from collections import defaultdict

import pytest

from okbook_book import assignments, classes, exercises, quiz
from okbook_book.project import notebooks, plain

PAGES = {path.stem: nb for path, nb in notebooks()}
FOUND = {name: exercises.exercises(nb) for name, nb in PAGES.items()}
EXERCISES = [(name, label) for name, found in FOUND.items() for label in found]
CHAPTERS = defaultdict(list)
for name in PAGES:
    if name[0] == "0":
        CHAPTERS[name[:2]].append(name)
WITH_QUIZ = [name for name in PAGES if re.match("[0-5][0-9]_|9[56]_", name)]
SKIPPED = {"remove-cell", "skip-execution"}


def source(page, n):
    return "".join(PAGES[page]["cells"][n]["source"])


def tags(page, n):
    return set(PAGES[page]["cells"][n]["metadata"].get("tags", ()))


def failures(check, cases):
    "Of a check all cases that fail, and what each says."
    found = []
    for case in cases:
        try:
            check(*case)
        except AssertionError as error:
            said = str(error) or traceback.format_exc(limit=-1).splitlines()[-2].strip()
            found.append(f"{' '.join(map(str, case))}: {said}")
    return found


def has_its_parts(page, label):
    exercise = FOUND[page][label]
    assert exercise.title, "there are cells of an exercise that has no statement"
    assert exercise.level, f"its class is none of {exercises.LEVELS}"
    assert re.fullmatch(r"ex-[\w-]+", label) and exercise.solution
    hidden = [n for n in exercise.solution if "teacher" in tags(page, n)]
    if not exercise.printed:
        kept = set(exercise.solution) - set(exercise.parts.get("test", ()))
        assert kept == set(hidden), "a part of a solution that is not printed"
        assert all("remove-cell" in tags(page, n) for n in exercise.solution)
    else:
        assert not hidden
    if exercise.written:
        assert not exercise.parts
        assert "not graded automatically" in exercise.statement
        texts = "\n\n".join(source(page, n) for n in exercise.solution)
        assert re.search(r"^\*\*Rubric\.\*\* .*\d", texts, re.M), "points for each step"
        return
    counts = {kind: len(cells) for kind, cells in exercise.parts.items()}
    assert counts.get("stub") == 1 and counts.get("solution", 0) >= 1
    assert counts.get("test", 0) >= 1
    assert counts.get("wrong", 0) >= 2 and counts.get("right", 0) >= 1
    solved = exercise.parts["solution"] + exercise.parts["test"]
    assert set(solved) <= set(exercise.solution)
    assert exercise.cell < exercise.parts["stub"][0] < exercise.solution[0]
    for n in exercise.parts["wrong"] + exercise.parts["right"]:
        assert n > exercise.solution[-1] and SKIPPED <= tags(page, n)


def fixes_the_name_that_its_test_reads(page, label):
    exercise = FOUND[page][label]
    if exercise.written:
        return
    (stub,) = exercises.sources(PAGES[page], exercise, "stub")
    names = [node.name for node in ast.parse(stub).body if hasattr(node, "name")]
    assert names and "# your code" in stub
    for name in names:
        assert re.search(rf"`{name}\b", exercise.statement), f"{name} is not named"
        assert name in "".join(exercises.sources(PAGES[page], exercise, "test"))
    # what is not written yet does not fail what is
    assert len(exercise.parts["test"]) == len(names), "a test for each function"


@pytest.mark.parametrize("check", [has_its_parts, fixes_the_name_that_its_test_reads])
def test_every_exercise(check):
    found = failures(check, EXERCISES)
    assert len(EXERCISES) > 200 and not found, "\n".join(found)


def test_failures_are_told():
    def even(n):
        assert n % 2 == 0

    (said,) = failures(even, [(1,), (2,)])
    assert said.startswith("1: assert n % 2 == 0") or said.startswith("1: assert")


def told(body, answer):
    "What the student sees of an answer `f` and the body of its test."
    space = {}
    exec(f"{classes.TEST}\nf = {answer}\n", space)
    try:
        exec(exercises.judging(body, ["f"]), space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_a_test_tells_what_was_returned():
    body = "assert f(np.zeros(2)).sum() == 3, 'not three'"
    assert told(body, "lambda a: a + 1.5") == ""
    said = "AssertionError: f returned array([1., 1.]) of shape (2,): not three"
    assert told(body, "lambda a: a + 1") == said
    assert told(body, "None").startswith("TypeError")
    assert told("f(1)\nraise KeyError", "abs") == "KeyError: 'f returned 1'"
    missing = "f is not defined: run the answer's cell"
    assert told(body, "None\ndel f") == f"AssertionError: {missing}"


def test_lists_of_numbers_are_arrays_for_a_test_and_lists_for_the_answer():
    body = "assert (f(2) * np.ones(2)).shape == (2,), 'no'"
    assert told(body, "lambda n: [1.5, 2]") == ""
    assert told("assert f(2)[1].shape == (1, 2), 'no'", "lambda n: (1, [[3, 4]])") == ""
    inner = "lambda n: [n] if n == 0 else f(n - 1) + [n]"
    assert told("assert f(3).tolist() == [0, 1, 2, 3], 'no'", inner) == ""
    for kept in ("[]", "[[1], [2, 3]]", "['a']", "[None]"):
        assert told(f"assert f() == {kept}, 'no'", f"lambda: {kept}") == ""


def test_a_test_tells_the_shapes_of_all_that_was_returned():
    said = told("assert 0, 'no'\n", "abs")  # before any call
    assert said == "AssertionError: no"
    answer = "lambda: (np.ones((2, 1)), 3, np.ones(2))"
    said = told("assert f()[0].ndim == 1, 'one for each'", answer)
    assert said.endswith(" of shape (2, 1) and (2,): one for each")


@pytest.mark.parametrize(
    "answer, given",
    [
        ("lambda a: a.sort()", "np.array([2, 1])"),
        ("lambda a: a.sort()", "[2, 1]"),
        ("lambda a: a[1].fill(0)", "(1, np.ones(3))"),
        ("lambda a: a.resize((3, 1), refcheck=False)", "np.ones(3)"),
    ],
)
def test_a_test_passes_copies_and_tells_of_a_changed_argument(answer, given):
    said = told(f"f({given})", answer)
    assert said == "AssertionError: the argument was changed by f"
    assert told(f"f({given})", "lambda a: None") == ""


def test_a_test_of_what_is_withheld_does_not_show_the_answer():
    for page, label in EXERCISES:
        exercise, nb = FOUND[page][label], PAGES[page]
        if exercise.parts and not exercise.printed:
            for test in exercises.sources(nb, exercise, "test"):
                own = exercises.functions(nb, exercise)
                shown = exercises.judging(test, own, packed=True)
                lines = [line.strip() for line in test.splitlines()]
                assert not [x for x in lines if len(x) > 15 and x in shown], label
    packed = exercises.judging("assert f(1) == 3, 'not three'", ["f"], packed=True)
    space = {}
    exec(f"{classes.TEST}\nf = abs", space)
    with pytest.raises(AssertionError, match="^f returned 1: not three$"):
        exec(packed, space)
    exec("f = lambda a: 3", space)
    exec(packed, space)


# An answer in another form: what its functions return to the test, as an answer of
# somebody else may return it.
FORMS = """
def okb_answer(source, own, form):
    import functools, inspect
    import numpy as np

    def lists(value):
        return value.tolist() if type(value) is np.ndarray else value

    def float32(value):
        double = getattr(value, "dtype", None) == np.float64
        return value.astype(np.float32) if double else value

    def columns(value):
        flat = type(value) is np.ndarray and value.ndim == 1
        return value[:, None] if flat else value

    def formed(value):
        if type(value) is tuple:
            return tuple(map(formed, value))
        return forms[form](value)

    def returning(function):
        return functools.wraps(function)(lambda *a, **k: formed(function(*a, **k)))

    forms = {f.__name__: f for f in (lists, float32, columns)}
    space = dict(globals())
    exec(source, space)
    for name in own:
        function = inspect.isfunction(space[name])
        globals()[name] = returning(space[name]) if function else space[name]
"""
FORMED = ("lists", "float32", "columns")
# Answers of other forms that are rightly refused, and why.
REFUSED = {
    ("ex-cert-sum", "float32"): "the interval has to hold the sum of doubles exactly",
}


# Its names are inside of a function: a page may have the same.
JUDGE = """
def okb_judge_all():
    import json, os, sys, time

    task = json.load(sys.stdin)
    exec(task["first"], globals())
    for label, kind, cells in task["answers"]:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        start, said = time.perf_counter(), ""
        try:
            for cell in cells:
                exec(cell, globals())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - start
        print("verdict", json.dumps([label, kind, said, seconds]), flush=True)
        os._exit(0)

okb_judge_all()
"""
ENVIRONMENT = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "OKBOOK_OFFLINE": "1"}


def judged(page):
    "All answers of a page: label, kind, what the test says, and the seconds."
    nb, found, answers = PAGES[page], FOUND[page], []
    labels = [label for label, exercise in found.items() if exercise.parts]
    sheet = assignments.sheet(page, nb, labels, defaultdict(str))
    cells = {cell.metadata["nbgrader"]["grade_id"]: cell.source for cell in sheet.cells}
    for label in labels:
        (stub,) = exercises.sources(nb, found[label], "stub")
        seen = [cells[name] for name in cells if name.startswith(f"{label}-seen-")]
        both = seen + [cells[n] for n in cells if n.startswith(f"{label}-hidden-")]
        answers.append((label, "stub", [stub, *seen]))
        answers.append((label, "solution", [cells[f"{label}-answer"], *both]))
        own = exercises.functions(nb, found[label])
        for form in FORMED:
            answer = f"okb_answer({cells[f'{label}-answer']!r}, {own}, {form!r})"
            answers.append((label, form, [FORMS, answer, *both]))
        if len(seen) > 1:
            known = "\n".join(exercises.sources(nb, found[label], "solution"))
            one = [f for f in ast.parse(known).body if getattr(f, "name", "") != own[1]]
            first = "\n".join(map(ast.unparse, one))
            answers.append((label, "first function", [stub, first, seen[0]]))
        for kind, test in (("wrong", seen), ("right", both)):
            for cell in exercises.sources(nb, found[label], kind):
                answers.append((label, kind, [stub, cell, *test]))
    done = subprocess.run(
        [sys.executable, "-c", JUDGE],
        input=json.dumps({"first": plain(cells["page"]), "answers": answers}),
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,
    )
    lines = re.findall("^verdict (.*)$", done.stdout, re.M)
    assert len(lines) == len(answers), done.stderr[-2000:]
    return [json.loads(line) for line in lines]


WITH_TESTS = [n for n, found in FOUND.items() if any(e.parts for e in found.values())]


@pytest.mark.sweep
@pytest.mark.parametrize("page", WITH_TESTS)
def test_tests_pass_right_answers_and_reject_wrong_ones(page):
    wrong = []
    for label, kind, said, seconds in judged(page):
        refused = (label, kind) in REFUSED
        if kind == "columns":  # accepted, or refused with the shape
            right = said == "" or re.search(r" of shape .*\(\d+, 1\)", said)
        elif kind in ("solution", "right", "first function", *FORMED):
            right = (said == "") != refused
        else:
            right = said != ""
        if not right:
            wrong.append(f"{label}, {kind}: {said or 'passes'}")
        if kind == "stub" and not re.match("(Assertion|Type)Error", said):
            wrong.append(f"{label}: an empty answer is told {said!r}")
        if "replaced, although" in said:
            wrong.append(f"{label}, {kind}: {said}")
        if seconds > 120:  # two seconds on a quiet machine
            wrong.append(f"{label}, {kind}: takes {seconds:.0f} s")
    assert not wrong


def has_enough_exercises(chapter):
    found = [e for page in CHAPTERS[chapter] for e in FOUND[page].values()]
    levels = [exercise.level for exercise in found]
    assert len(found) >= 10 and levels.count("warm-up") >= 4
    assert sum(not exercise.printed for exercise in found) >= 3


def test_every_chapter():
    found = failures(has_enough_exercises, [(chapter,) for chapter in CHAPTERS])
    assert len(CHAPTERS) == 6 and not found, "\n".join(found)


def quizzes(page):
    "The lines of each quiz on a page."
    texts = ["".join(c["source"]) for c in PAGES[page]["cells"]]
    found = re.findall(r"^(`{3,})\{quiz\}\n(.*?)\n\1$", "\n\n".join(texts), re.M | re.S)
    return [body.splitlines() for _, body in found]


def test_a_page_of_a_chapter_a_lab_or_the_primer_has_a_quiz():
    assert not [page for page in WITH_QUIZ if len(quizzes(page)) != 1]


def has_five_questions(page):
    for lines in quizzes(page):
        found = quiz.questions(lines)  # which wants one right answer to each
        assert len(found) == 5
        assert all(2 <= len(options) <= 4 for _, _, options in found)


def test_every_quiz():
    found = failures(has_five_questions, [(page,) for page in PAGES])
    assert not found, "\n".join(found)
