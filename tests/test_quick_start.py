"""The pages for engineers: their cells run as they are printed, and what the text says
of their results is true."""

import contextlib
import io
import json
import logging
import re

import matplotlib.pyplot as plt
import pytest

from okbook_book.equations import ROOT

PAGES = sorted((ROOT / "nbs").glob("6*.ipynb"))


def run(page):
    "Execute the cells of a page in order: what they define, and what they print."
    cells = json.loads((ROOT / "nbs" / f"{page}.ipynb").read_text())["cells"]
    space, said = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), page, "exec"), space)
                plt.close("all")
    return space, said.getvalue()


@pytest.fixture(autouse=True)
def in_the_folder_of_the_pages(monkeypatch):
    monkeypatch.chdir(ROOT / "nbs")
    level = logging.getLogger("okbook").level
    logging.getLogger("okbook").setLevel(logging.ERROR)
    yield
    logging.getLogger("okbook").setLevel(level)


def numbers(pattern, text):
    return [float(value) for value in re.findall(pattern, text)]


def test_the_quick_start():
    space, said = run("60_quick_start")
    assert "one thousand seven hundred thirty-four" in said
    (right,) = numbers(r"right: ([\d.]+)%", said)
    assert right > 98 and not {*space["spelled"]} & {*space["words"][space["train"]]}
    (loss,) = numbers(r"before decoding: ([\d.]+)", said)
    assert 0 < loss < 0.4
    (steps,) = numbers(r"and truth: ([\d.]+)", said)
    assert steps < 1.5  # along a ring of forty towns, chance is at ten
    (score,) = numbers(r"score: ([\d.]+)", said)
    assert 0.2 < score < 1


def test_the_page_of_trouble():
    "Each remedy works, and the score and the error choose different kernels."
    _, said = run("63_trouble")
    found = re.findall(r"score +(\S+) +error after decoding (\S+)", said)
    scores, errors = ([float(v) for v in column] for column in zip(*found))
    assert scores.index(max(scores)) != errors.index(min(errors))
    (measured,) = numbers(r"as measured +(-?[\d.]+)", said)
    (scaled,) = numbers(r"scaled +(-?[\d.]+)", said)
    assert measured < 0 < 0.5 < scaled
    assert "ConvergenceWarning: " in said
    for remedy in ("'dirac' for labels", "make_psd", "y=np.arange(n)", "symmetric"):
        assert remedy in said


def test_the_baseline_that_wins():
    space, _ = run("61_choosing")
    ours, baseline = space["areas"].values()
    assert 0.9 < ours < baseline


def test_conventions_of_other_libraries():
    _, said = run("62_coming_from")
    assert max(numbers(r"difference of \w+: (\S+)", said)) < 1e-10
    assert "equal predictions: 100.0%, ratio of the weights: 2.000" in said
    assert said.count("True\n") == 2 and "product: 1\n" in said
    assert said.rstrip().count("distance:      0") == 1
