"""Numbers of pages and of what stands on them: unique, and the same in each
reference."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from okbook_book import fingerprint
from okbook_book.numbered import listing, numbered, wrong_references
from okbook_book.numbers import page_number
from okbook_book.project import ROOT

TOC = """\
format: jb-book
root: nbs/index
parts:
  - chapters:
      - file: nbs/00_first
      - file: nbs/03_second
        sections:
          - file: nbs/03_second_1_further
          - file: nbs/31_try
            sections:
              - file: nbs/31_try_1_again
  - chapters:
      - file: nbs/94_late.md
      - file: nbs/90_data
        sections:
          - file: nbs/90_data_1_more
      - file: nbs/glossary
"""
CONF = """\
extensions = ["myst_parser", "sphinx_external_toc", "sphinx_proof", "sphinx_exercise"]
extensions += ["okbook_book.numbers"]
external_toc_path = "_toc.yml"
myst_enable_extensions = ["colon_fence", "dollarmath"]
numfig_format = {"figure": "Figure %s", "table": "Table %s"}
prf_realtyp_to_countertyp = {"lemma": "theorem"}
math_eqref_format = "({number})"
math_numfig = False
"""
ALL = "00_first 03_second 03_second_1_further 31_try 31_try_1_again 94_late 90_data"
ALL = [*ALL.split(), "90_data_1_more", "glossary"]
BODY = """\
({key})=
# A page: {key}

$$
a = b
$$ (eq-{key}-a)

$$
c
$$ (eq-ok3-{count})

:::{{prf:theorem}} A title
:label: thm-{key}
Yes.
:::

:::{{prf:lemma}}
:label: lem-{key}
Yes.
:::

```{{exercise}}
:label: ex-{key}
Why?
```

```{{figure}} dot.svg
:name: fig-{key}
A dot.
```

```{{table}} A table.
:name: tab-{key}
| a |
|---|
| b |
```

$$
a = b
$$ (eq-{key}-z)

(sec-{key})=
## About {key}

"""
ROLES = """\
{{eq}}`eq-{key}-a`, {{eq}}`eq-{key}-z`, {{eq}}`eq-ok3-{count}`, {{prf:ref}}`thm-{key}`,
{{prf:ref}}`lem-{key}`, {{ref}}`ex-{key}`, {{numref}}`fig-{key}`, {{numref}}`tab-{key}`,
{{ref}}`{key}`, {{doc}}`{key}`, {{ref}}`typed <{key}>`,
{{ref}}`sec-{key}`.
"""


def build(folder):
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-n", "-b", "html", ".", "_build"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "book")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    return numbered(folder / "_build")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "nbs").mkdir()
    (folder / "_toc.yml").write_text(TOC)
    (folder / "conf.py").write_text(CONF)
    (folder / "nbs" / "dot.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "nbs" / "index.md").write_text("# All\n\n" + "".join(map(roles, ALL)))
    for count, key in enumerate(ALL, 1):
        text = BODY.format(key=key, count=count) + "".join(map(roles, ALL))
        (folder / "nbs" / f"{key}.md").write_text(text)
    return folder


def roles(key):
    return ROLES.format(key=key, count=ALL.index(key) + 1)


def numbers_on(pages, name):
    page = next(p for path, p in pages.items() if path.stem == name)
    return {anchor: f"{kind} {number}" for kind, number, anchor in page.numbers}


def assert_consistent(pages):
    twice = [
        (kind, number)
        for (kind, number), n in Counter(
            (kind, number) for kind, number, _ in listing(pages)
        ).items()
        if n > 1
    ]
    assert not twice
    assert not wrong_references(pages)


def test_the_number_of_a_page():
    order = [f"nbs/{key}" for key in ALL]
    number = {key: page_number(f"nbs/{key}", order) for key in ALL}
    names = {key: n and n.name for key, n in number.items()}
    assert names == {
        "00_first": "Chapter 0",
        "03_second": "Chapter 3",
        "03_second_1_further": "Section 3.1",
        "31_try": "Lab 31",
        "31_try_1_again": "Lab 31.1",
        "94_late": "Appendix A",
        "90_data": "Appendix B",
        "90_data_1_more": "Appendix B.1",
        "glossary": None,
    }
    headings = [n.heading for n in number.values() if n]
    assert headings == ["0", "3", "3.1", "Lab 31", "Lab 31.1", "A", "B", "B.1"]
    assert number["03_second_1_further"].main == "3"
    assert page_number("nbs/05_a_long_name_12_of_it", []).page == "5.12"
    for page in ("60_quick_start", "64_gallery_1_spelling", "70_course_1_guide"):
        assert page_number(f"nbs/{page}", []) is None
    project = page_number("nbs/71_project_letters", [])
    assert (project.name, project.heading, project.main) == ("Project 1",) * 2 + ("P1",)


def test_numbers_by_chapter(tiny):
    pages = build(tiny)
    assert_consistent(pages)
    assert numbers_on(pages, "03_second") == {
        None: "page 3",
        "equation-eq-03-second-a": "equation (3.1)",
        "equation-eq-ok3-2": "equation (OK3 eq. 2)",
        "thm-03_second": "Theorem 3.1",
        "lem-03_second": "Lemma 3.2",
        "ex-03_second": "Exercise 3.1",
        "fig-03-second": "Figure 3.1",
        "tab-03-second": "Table 3.1",
        "equation-eq-03-second-z": "equation (3.2)",
    }
    further = numbers_on(pages, "03_second_1_further")
    assert further[None] == "page 3.1"
    assert further["equation-eq-03-second-1-further-a"] == "equation (3.3)"
    assert further["lem-03_second_1_further"] == "Lemma 3.4"
    assert numbers_on(pages, "31_try")["fig-31-try"] == "Figure 31.1"
    assert numbers_on(pages, "90_data")["ex-90_data"] == "Exercise B.1"
    index = next(p for path, p in pages.items() if path.stem == "index")
    shown = [text for text, _ in index.references]
    assert {
        "(3.4)",
        "(OK3 eq. 2)",
        "Lemma 3.4",
        "Exercise B.2",
        "Figure 31.2",
        "Table A.1",
        "Section 3.1, A page: 03_second_1_further",
        "Lab 31",
        "Appendix B.1",
        "typed",
        "About 31_try_1_again in Lab 31.1",
    } <= set(shown)


def test_an_earlier_page_moves_the_numbers_of_later_ones(tiny):
    build(tiny)
    path = tiny / "nbs" / "03_second.md"
    text = path.read_text()
    more = BODY.split("# A page: {key}\n")[1].split("(sec-")[0]
    more = more.format(key="new", count="new")
    path.write_text(text.replace("03_second\n", f"03_second\n{more}", 1))
    try:
        pages = build(tiny)
    finally:
        path.write_text(text)
    assert_consistent(pages)
    further = numbers_on(pages, "03_second_1_further")
    assert further["equation-eq-03-second-1-further-a"] == "equation (3.5)"
    assert further["fig-03-second-1-further"] == "Figure 3.3"


def test_the_order_of_the_appendices_is_that_of_the_contents(tiny):
    build(tiny)
    late = "      - file: nbs/94_late.md\n"
    toc = TOC.replace(late, "") + late
    (tiny / "_toc.yml").write_text(toc)
    try:
        pages = build(tiny)
    finally:
        (tiny / "_toc.yml").write_text(TOC)
    assert numbers_on(pages, "94_late")[None] == "page B"
    assert numbers_on(pages, "90_data_1_more")["fig-90-data-1-more"] == "Figure A.2"
    assert_consistent(pages)


def test_a_wrong_reference_is_noticed(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1><span class="page-number">3</span> A</h1>'
        '<div id="x"><span class="eqno">(3.1)<a class="headerlink">#</a></span></div>'
        '<a class="reference internal" href="#x">(3.1)</a>'
        '<a class="reference internal" href="#x">(3.2)</a>'
        '<a class="reference internal" href="#">Chapter 3, A</a>'
        '<a class="reference internal" href="a.html">Chapter 4</a>'
        '<a class="reference internal" href="#x">the equation</a>'
    )
    wrong = wrong_references(numbered(tmp_path))
    assert len(wrong) == 2 and "(3.2)" in wrong[0] and "Chapter 4" in wrong[1]


def test_the_numbers_of_the_book():
    built = ROOT / "_build" / "html"
    stamp = built / fingerprint.STAMP
    if not stamp.exists() or stamp.read_text().strip() != fingerprint.everything():
        pytest.skip("not built from these sources")
    assert_consistent(numbered(built))
