"""The class edition: ``make test-class``, which runs these after ``make class``.

Every student's and every teacher's notebook is run from top to bottom, and opened in
JupyterLab.
"""

import csv
import json
import os
import re
import shutil

import browsing
import nbformat
import pytest
from nbclient import NotebookClient
from test_assignments import nbgrader
from test_browser import browser  # noqa: F401

from okbook_book import assignments, directives, exercises, fingerprint, lab, slides
from okbook_book.classes import CLASS, self_contained
from okbook_book.execute import PATIENCE, WITHOUT_DATA
from okbook_book.project import HTML, notebooks

STAMP = CLASS / fingerprint.STAMP
if not os.environ.get("OKBOOK_CLASS"):
    pytest.skip("runs in `make test-class`", allow_module_level=True)

SOURCES = {path.stem: nb for path, nb in notebooks()}
PAGES = sorted(path.stem for path in (CLASS / "student").glob("*.ipynb"))
# The language of the sources in Markdown; formulas are text here.
RAW = re.compile(
    r"\{[\w:.-]+\}`|^[`:]{3,}\{|^\([\w-]+\)=$|^\{\.[\w-]+\}|%s"
    r"|\\(?:RR|EE|PP|HH|XX|YY|tr|argmin|argmax|norm|inner|transpose)\b",
    re.M,
)


def read(page, edition):
    return nbformat.read(CLASS / edition / f"{page}.ipynb", as_version=4)


def what(cell):
    "The part of an exercise that a cell is: ('ex-name', 'stub')."
    its = cell.metadata.get("okbook", {})
    return its.get("exercise"), its.get("role")


def test_it_is_of_these_sources():
    assert STAMP.read_text() == fingerprint.everything()
    assert len(PAGES) > 50


@pytest.mark.parametrize("page", PAGES)
def test_a_notebook_is_plain(page):
    for edition in ("student", "teacher"):
        cells = read(page, edition).cells
        assert "find_spec" in cells[0].source and cells[1].source.startswith("# ")
        assert all(cell.source.strip() for cell in cells)
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        assert not any("#|" in source or '"../' in source for source in code)
        texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
        assert not [found[0] for text in texts for found in RAW.finditer(text)]


@pytest.mark.parametrize("page", PAGES)
def test_a_student_gets_stubs_and_tests_and_no_solutions(page):
    student, teacher = (read(page, edition).cells for edition in ("student", "teacher"))
    found = exercises.exercises(SOURCES[page])
    roles = [what(cell) for cell in student]
    assert not {"solution", "wrong", "right"} & {role for _, role in roles}
    for label, exercise in found.items():
        assert roles.count((label, "statement")) == 1
        for kind in ("stub", "test"):
            its = [c.source for c in student if what(c) == (label, kind)]
            wanted = exercises.sources(SOURCES[page], exercise, kind)
            if kind == "test":
                own = exercises.functions(SOURCES[page], exercise)
                packed = not exercise.printed
                wanted = [exercises.judging(test, own, packed) for test in wanted]
            assert its == wanted
        for solution in exercises.sources(SOURCES[page], exercise, "solution"):
            assert solution in [c.source for c in teacher if c.cell_type == "code"]
            assert solution not in [cell.source for cell in student]
    hers = "\n".join(cell.source for cell in teacher)
    texts = [c.source for c in student[2:] if c.cell_type == "markdown"]
    assert all(text in hers for text in texts if "student's notebook" not in text)


@pytest.mark.parametrize("page", PAGES)
def test_the_teachers_code_is_that_of_the_book(page):
    built = directives.apply(json.loads(json.dumps(SOURCES[page])), ["slow"])
    wanted = [
        self_contained("".join(cell["source"])).strip()
        for cell in built["cells"]
        if cell["cell_type"] == "code"
        and "skip-execution" not in cell["metadata"].get("tags", ())
    ]
    cells = [
        c.source.strip()
        for c in read(page, "teacher").cells[1:]
        if c.cell_type == "code"
    ]
    wanted = [source for source in wanted if source]
    assert len(cells) == len(wanted)
    # roles in sentences that code writes are resolved: such cells differ in these only
    for ours, theirs in zip(cells, wanted):
        assert ours == theirs or "}`" in theirs or "```" in theirs


def test_the_books_buttons_open_the_students_notebooks():
    buttons = 'https://(?:mybinder|colab)[^"]*'
    for path in (HTML / "nbs").glob("*.html"):
        found = re.findall(buttons, path.read_text(encoding="utf8"))
        assert len(found) == (2 if path.stem in PAGES else 0), path.stem
        place = f"student/{path.stem}.ipynb"
        assert all("/class" in url and url.endswith(place) for url in found)


def run(page, edition, allow_errors):
    "The notebook of a page, executed where it stands, without data."
    notebook = read(page, edition)
    client = NotebookClient(
        notebook,
        timeout=1200,
        allow_errors=allow_errors,
        resources={"metadata": {"path": str(CLASS / edition)}},
        **PATIENCE,
    )
    client.execute(env=os.environ | WITHOUT_DATA)
    return notebook.cells


def failed(cell):
    "The names of the errors among the outputs of a cell."
    return [o.ename for o in cell.get("outputs", ()) if o.output_type == "error"]


@pytest.mark.sweep
@pytest.mark.parametrize("page", PAGES)
def test_a_students_notebook_runs_and_its_tests_fail(page):
    for cell in run(page, "student", allow_errors=True):
        if what(cell)[1] == "test":
            assert failed(cell), f"{what(cell)[0]} passes without an answer"
        else:
            assert not failed(cell), cell.source[:200]


@pytest.mark.sweep
@pytest.mark.parametrize("page", PAGES)
def test_a_teachers_notebook_runs(page):
    run(page, "teacher", allow_errors=False)


@pytest.mark.sweep
@pytest.mark.parametrize("week", assignments.plan())
def test_the_solutions_of_a_week_get_all_points(tmp_path, week):
    assignments.write(tmp_path, [week])
    source, points = tmp_path / "source" / week, 0
    for path in source.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                assert not RAW.search(cell.source)
            else:
                points += cell.metadata["nbgrader"].get("points", 0)
    shutil.copytree(source, tmp_path / "submitted" / "teacher" / week)
    for command in ("generate_assignment", "autograde"):
        nbgrader(tmp_path, command, week)
    nbgrader(tmp_path, "export")
    with open(tmp_path / "grades.csv", encoding="utf8") as file:
        (row,) = csv.DictReader(file)
    assert float(row["score"]) == points


def test_every_quiz_is_written_for_moodle():
    files = [*(CLASS / "teacher" / "quizzes").glob("*.gift")]
    texts = [path.read_text(encoding="utf8") for path in files]
    assert len(texts) > 50
    assert {(text.count("::[html]"), text.count("\n=")) for text in texts} == {(5, 5)}


@pytest.fixture(scope="module")
def places():
    with lab.serving(CLASS) as place:
        yield place


@pytest.mark.browser
@pytest.mark.sweep
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("edition", ["student", "teacher"])
def test_a_notebook_in_jupyterlab(browser, places, edition, page):  # noqa: F811
    context = browser.new_context(viewport=browsing.LAPTOP)
    tab = context.new_page()
    lab.open_notebook(tab, places, f"{edition}/{page}.ipynb")
    found = lab.faults(tab)
    context.close()
    assert not found


@pytest.mark.browser
@pytest.mark.parametrize("deck", [session.name for session in slides.sessions()])
def test_slides_fit_and_need_no_network(browser, deck):  # noqa: F811
    text = (slides.SLIDES / f"{deck}.html").read_text(encoding="utf8")
    assert 8 <= text.count("<section class=") <= slides.MOST
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    with browsing.served(slides.SLIDES) as place:
        tab, wrong = browser.new_page(viewport=browsing.LAPTOP), []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("requestfailed", lambda request: wrong.append(request.url))
        tab.goto(f"{place}{deck}.html")
        tab.wait_for_selector("body[data-ready]", timeout=browsing.PATIENCE)
        for n in range(tab.evaluate("Reveal.getTotalSlides()")):
            tab.evaluate(f"Reveal.slide({n})")
            slide = "Reveal.getCurrentSlide()"
            height = tab.evaluate(f"{slide}.scrollHeight / Reveal.getConfig().height")
            assert height <= browsing.FONTS, f"slide {n + 1} is {height:.2f} times it"
            assert tab.evaluate(f"{slide}.innerText.trim().length > 0")
            assert not tab.evaluate(f"{slide}.querySelectorAll('.katex-error').length")
        tab.close()
    assert not wrong
