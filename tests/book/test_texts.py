"""The comparison of what pages tell without data and with it: it sees words and
numbers, and not what may differ."""

import copy
import os

import nbformat
import pytest
from jupyter_cache import get_cache

from okbook_book import (
    directives,
    elsewhere_inside,
    execute,
    fingerprint,
    project,
    texts,
)

new = nbformat.v4


def notebook(*cells):
    "Executed cells: (source, text printed, tags)."
    made = []
    for source, text, *tags in cells:
        outputs = [new.new_output("stream", name="stdout", text=text)]
        made.append(new.new_code_cell(source, outputs=outputs, metadata={"tags": tags}))
    return new.new_notebook(cells=made)


def test_a_demonstration_is_a_tag():
    cell = {
        "cell_type": "code",
        "metadata": {},
        "source": "#| hide_input\n#| demonstration\nprint(1)",
    }
    (cell,) = directives.apply({"cells": [cell]})["cells"]
    assert (
        cell["metadata"]["tags"] == ["remove-input", "demonstration"]
        and cell["source"] == "print(1)"
    )


def differences(one, other):
    return list(texts.differences(one, other))


def test_words_and_numbers_are_compared():
    one = notebook(("print(a)", "They do.\nScore 0.51"), ("print(b)", "same"))
    other = notebook(("print(a)", "They do not.\nScore 0.52"), ("print(b)", "same"))
    assert differences(one, one) == []
    ((place, said),) = differences(one, other)
    lines = [line.strip() for line in said.splitlines()]
    assert place == 0
    assert lines[2:] == ["-They do.", "-Score 0.51", "+They do not.", "+Score 0.52"]


@pytest.mark.parametrize("tag", ["demonstration", "remove-cell", "remove-output"])
def test_what_may_differ(tag):
    one, other = (
        notebook(("a", "toy", tag), ("b", "b")),
        notebook(("a", "real", tag), ("b", "b")),
    )
    assert differences(one, other) == [] and list(texts.told(one)) == [1]
    one, other = (notebook(("a", word, "export")) for word in ("toy", "real"))
    assert differences(one, other)


def test_prints_are_one_text_wherever_the_kernel_flushes():
    names = ("stdout", "stderr", "stdout")
    parts = zip(names, ("one\n", "slow", "two\n"))
    outputs = [new.new_output("stream", name=name, text=text) for name, text in parts]
    assert texts.said(new.new_code_cell("x", outputs=outputs)) == ["one\ntwo\n"]


def test_every_textual_form_is_read():
    """Markdown, HTML without the bytes of its images, results without their address,
    errors; not the standard error."""
    bytes_ = "data:image/png;base64,iVBORw0KG+go/AA="
    data = {
        "text/html": f'<img alt="A tree" src="{bytes_}">',
        "text/plain": "<A at 0x7f0123456789>",
        "image/png": "iVBO",
    }
    outputs = [
        new.new_output("stream", name="stderr", text="slow"),
        new.new_output("display_data", data=data),
        new.new_output("execute_result", data={"text/markdown": "It **holds**."}),
        new.new_output("error", ename="ValueError", evalue="no", traceback=[]),
    ]
    said = texts.said(new.new_code_cell("x", outputs=outputs))
    assert said == [
        '<img alt="A tree" src="…">',
        "<A at …>",
        "It **holds**.",
        "ValueError: no",
    ]


def test_who_reads_data():
    """The page that makes the module, pages that import it, also by way of a lab, and
    some that do neither."""
    pages = {
        path.stem: fingerprint.reads_data(path, nb)
        for path, nb in execute.prepared()[0].items()
    }
    assert pages["90_datasets"] and pages["51_noise"] and pages["91_tables_1_runs"]
    assert not any(pages[name] for name in ("00_core", "01_trees", "02_rkhs"))
    assert fingerprint._imported(
        "from ..core import a\nfrom . import b", "okbook.labs"
    ) >= {
        "okbook.core",
        "okbook.labs.b",
    }
    assert fingerprint._imported("def f():\n    import okbook.tables as t") == {
        "okbook",
        "okbook.tables",
    }
    assert fingerprint._imported("from sklearn import datasets") == set()


def test_what_data_cannot_change_is_executed_once(tmp_path):
    "It is taken from beside other data, not from beside other code."
    source = notebook(("1", "one"))
    for name, printed in (("code-none", "one"), ("other-some", "other")):
        execute.keep(
            get_cache(tmp_path / name),
            tmp_path / "a.ipynb",
            notebook(("1", printed)),
            1.5,
            [1],
        )
    cache = get_cache(tmp_path / "code-some")
    assert execute.missing(cache, {"a": source}) == {"a": source}
    execute.borrow(cache, {"a": source})
    assert execute.missing(cache, {"a": source}) == {}
    key, merged = cache.merge_match_into_notebook(source)
    assert merged.cells[0].outputs[0].text == "one"
    assert cache.get_cache_record(key).data == {"execution_seconds": 1.5, "cells": [1]}


def test_what_was_executed_is_found_again(tmp_path, monkeypatch, capsys):
    "With the seconds of its cells, which must not make it another notebook."
    path, source = (
        tmp_path / "a.ipynb",
        new.new_notebook(
            cells=[new.new_code_cell("import time; time.sleep(0.3); 6 * 7")]
        ),
    )
    book = {
        path: source,
        tmp_path / "b.ipynb": new.new_notebook(cells=[new.new_code_cell("1 / 0")]),
    }
    monkeypatch.setattr(execute, "prepared", lambda: (copy.deepcopy(book), 60))
    monkeypatch.setattr(
        execute.pages, "cache_folder", lambda built: tmp_path / "code-data"
    )
    monkeypatch.setattr(execute.fingerprint, "reads_data", lambda path, notebook: True)
    monkeypatch.setattr(execute.project, "docname", lambda path: path.stem)
    execute.main()
    (found,) = execute.cached().items()
    assert (
        found[0] == path and found[1][0].cells[0].outputs[0].data["text/plain"] == "42"
    )
    (seconds,) = found[1][1]
    assert 0.3 < seconds < 60
    capsys.readouterr()
    execute.main(["c*"])  # neither a, which is known, nor b, which fails
    assert capsys.readouterr().out.startswith("0 notebooks executed")


def test_pages_are_compared_without_data_and_with_it(monkeypatch, tmp_path):
    "First with the folder of data, then with none and with no cache of the user."
    for name in execute.WITHOUT_DATA:
        monkeypatch.setenv(name, "given")
    path = project.ROOT / "nbs" / "00_core.ipynb"
    found = {
        "given": {path: (notebook(("1", "real")), [1, 2])},
        "": {path: (notebook(("1", "toy")), [1])},
    }
    monkeypatch.setattr(execute, "main", lambda patterns: None)
    monkeypatch.setattr(
        execute, "cached", lambda patterns: found[os.environ["OKBOOK_DATA"]]
    )
    monkeypatch.setattr(project, "notebooks", lambda: [(path, {})])

    def compared(*patterns):
        monkeypatch.setenv("OKBOOK_DATA", "given")
        return [r for page in elsewhere_inside.texts(patterns, tmp_path) for r in page]

    (wrong,) = compared()
    assert {k: os.environ[k] for k in execute.WITHOUT_DATA} == execute.WITHOUT_DATA
    assert wrong["status"] == "failed" and "-toy\n  +real" in wrong["said"]
    assert wrong["where"].startswith("00_core, cell 0 (")
    found[""][path][0].cells[0].outputs[0].text = "real"
    (same,) = compared("00*")
    assert (same["where"], same["status"], same["seconds"]) == ("00_core", "passed", 3)
    assert (tmp_path / path.name).exists() and compared("01*", "02*") == []
    del found["given"][path]
    (wrong,) = compared()
    assert (wrong["status"], wrong["said"]) == ("failed", "a cell fails")
