"""The book's Sphinx extension: how docstrings are shown inside the chapters' code."""

import ast
import json
import re

import nbformat
import pytest

from okbook_book import directives, docstrings, equations, execute, fingerprint, project

CELLS = [
    (source, path, f"{path.stem}-{cell['id']}")
    for path, nb in project.notebooks()
    for cell in nb["cells"]
    if (source := "".join(cell["source"])).startswith("#| export")
    and docstrings.SECTION.search(source)
]


def bare(source):
    "The program, without docstrings and without the text of long strings."
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "\n" in node.value
            or _is_doc(node)
        ):
            node.value = ""
    return ast.dump(tree)


def _is_doc(node):
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and docstrings.CUT in node.value
    )


def is_folded_well(source):
    "Each summary is still there, and what runs is the same."
    shown, rows = docstrings.fold(source)
    first = [
        line.strip()
        for line in source.splitlines()
        if '"""' in line and line.strip() != '"""'
    ]
    return (
        bare(shown) == bare(source)
        and bool(rows)
        and shown.count(docstrings.CUT) == len(rows)
        and not docstrings.SECTION.search(shown)
        and all(line.removesuffix('"""') in shown for line in first)
        and all(len(line) <= 88 for line in shown.splitlines())
    )


def test_a_folded_cell_is_the_same_program():
    wrong = [name for source, _, name in CELLS if not is_folded_well(source)]
    assert len(CELLS) > 250 and not wrong


def test_what_is_kept_of_a_docstring():
    source = '''
def f(x):
    r"""Do it.

    Parameters
    ----------
    x : int
        A number.
    """
    return x


class _A:
    """A.

    It minimises :math:`x`.

    Notes
    -----
    None.
    """

    def g(self):
        """Not a section: -----."""
        s = """
        Returns
        -------
        """


def h():
    "Short."
'''
    shown, rows = docstrings.fold(source)
    assert rows == [3, 14, 25]
    assert '    r"""Do it. [...]"""\n    return x' in shown
    assert (
        '    """A.\n\n    It minimises :math:`x`.\n\n    [...]\n    """\n\n    def g'
        in shown
    )
    assert '"""Not a section: -----."""' in shown and '"Short."' in shown
    assert docstrings.defined(source + "\nA, B = C = 1, 2") == [
        "f",
        "_A",
        "h",
        "A",
        "B",
        "C",
    ]


def test_a_page_knows_what_it_exports():
    assert equations.exports("nbs/02_rkhs") == ["okbook.rkhs.ridge"]
    assert equations.exports("nbs/90_datasets") == ["okbook.datasets"]
    assert equations.chapters()["okbook.rkhs.ridge"] == ("nbs/02_rkhs", "ch-rkhs")


def has_api(path):
    "Whether a page exports to a module that has pages in the API: the labs have none."
    modules = equations.exports(project.docname(path))
    return not all(module.startswith("okbook.labs") for module in modules)


def test_readers_import_from_the_face_of_a_package():
    assert equations.face("okbook.rkhs.ridge") == "okbook.rkhs"
    assert equations.face("okbook.datasets") == "okbook.datasets"
    assert equations.face("okbook.labs.rrsn_networks") == "okbook.labs.rrsn_networks"


@pytest.mark.parametrize(
    "path",
    sorted({path for _, path, _ in CELLS if has_api(path)}),
    ids=lambda p: p.stem,
)
def test_built_pages_link_to_the_api(path):
    built = equations.ROOT / "_build" / "html"
    stamp, page = (
        built / fingerprint.STAMP,
        (built / project.docname(path)).with_suffix(".html"),
    )
    if (
        not stamp.exists()
        or stamp.read_text().strip() != fingerprint.everything()
        or not page.exists()
    ):
        pytest.skip("not built from these sources")
    notes = re.findall(
        r'<p class="in-full">(.*?)</p>', page.read_text(encoding="utf8"), re.S
    )
    targets = [
        re.findall(r'href="(api/[\w.]+\.html)#([\w.-]+)"', text) for text in notes
    ]
    assert notes and all(targets)
    pages = {
        name: page.with_name("api").joinpath(name[4:]).read_text(encoding="utf8")
        for found in targets
        for name, _ in found
    }
    assert not [
        (name, anchor)
        for found in targets
        for name, anchor in found
        if f'id="{anchor}"' not in pages[name]
    ]


@pytest.mark.parametrize("source, said", [("print(6 * 7)", "42\n"), ("1 / 0", None)])
def test_a_notebook_is_executed_as_the_build_sees_it(source, said, tmp_path):
    """Without directives, and without cells that are not to run; one that fails has
    no time, and is left to the build."""
    cells = [
        nbformat.v4.new_code_cell(cell)
        for cell in (f"#| export\n{source}", "#| slow\nraise ValueError")
    ]
    text = directives.as_built(
        json.dumps(nbformat.v4.new_notebook(cells=cells)), skip=["slow"]
    )
    notebook, seconds = execute.execute(
        tmp_path / "one.ipynb", nbformat.reads(text, as_version=4), timeout=60
    )
    assert notebook.cells[0].source == source and (seconds is None) == (said is None)
    assert not notebook.cells[1].outputs
    if said:
        assert notebook.cells[0].outputs[0].text == said
