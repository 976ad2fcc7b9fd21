"""Figures by night: ink and paper change places, and what carries data stays."""

import re
from base64 import b64decode
from hashlib import sha256

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from nbformat import v4

from okbook_book import execute, night
from okbook_book.project import notebooks


@pytest.fixture
def drawn():
    figure = Figure()
    lines, image = figure.subplots(1, 2)
    lines.plot([0, 1], color="black")
    lines.scatter([0, 1], [0, 1], c=[0.0, 1.0])
    lines.annotate("here", (0, 0), (1, 1), arrowprops={"arrowstyle": "->"})
    image.imshow(np.eye(2))
    image.text(0, 0, "one", color="white")
    image.plot([0, 1], color="white")
    figure.canvas.draw()
    return figure


def seen(figure):
    figure.canvas.draw()
    lines, image = figure.axes
    words, on_map = lines.texts[0], image.texts[0]
    return {
        "paper": figure.get_facecolor(),
        "ink": lines.lines[0].get_color(),
        "values": lines.collections[0].get_facecolors().tolist(),
        "rim": lines.collections[0].get_edgecolors()[0].tolist(),
        "word": words.get_color(),
        "arrow": words.arrow_patch.get_edgecolor(),
        "on map": on_map.get_color(),
        "line on map": image.lines[0].get_color(),
        "title": image.xaxis.label.get_color(),
    }


def lightness(colour):
    return np.mean(matplotlib.colors.to_rgb(colour))


def test_ink_and_paper_change_places_and_data_stays(drawn):
    day = seen(drawn)
    with night.night(drawn):
        dark = seen(drawn)
    for data in ("values", "on map", "line on map"):
        assert dark[data] == day[data]
    for ink in ("ink", "word", "arrow", "title"):
        assert lightness(day[ink]) < 0.2 and lightness(dark[ink]) > 0.7, ink
    assert lightness(dark["paper"]) < 0.1 and lightness(dark["rim"]) == 0.5
    again = seen(drawn)
    assert again.pop("ink") == day.pop("ink") and again == day


@pytest.mark.parametrize("colour", [f"C{n}" for n in range(10)])
def test_colours_can_be_seen_by_night(colour):
    assert lightness(night.by_night(colour)) > 0.3


def test_the_twin_has_the_name_of_the_figure(drawn, tmp_path, monkeypatch):
    monkeypatch.setattr(night, "FOLDER", tmp_path / "night")
    draw = night.with_twin(lambda figure, fmt, base64=False: b"bytes")
    assert draw(drawn, "png") == b"bytes"
    (twin,) = night.FOLDER.iterdir()
    assert len(twin.stem) == 64 and twin.read_bytes() == b"bytes"
    draw(drawn, "svg")
    assert len(list(night.FOLDER.iterdir())) == 1


FIGURE = """
import matplotlib.pyplot as plt

first = [name for name in dir() if not name.startswith("_")]
marks = arrow = inks = night = by_night = with_twin = {}
plt.scatter([0, 1], [0, 1], c=[0.0, 1.0])
plt.annotate("here", (0, 0), (1, 1), arrowprops={"arrowstyle": "->"})
print(sorted({*first} - {"plt", "In", "Out", "exit", "quit", "open", "get_ipython"}))
"""
UNSEEN = "class Unseen:\n    def _repr_html_(self):\n        return 1 / 0\n\n\nUnseen()"


def test_a_page_and_its_night_share_no_names(tmp_path, monkeypatch):
    "A page may give any name to its variables; the code of the twins leaves none."
    monkeypatch.delenv("MPLBACKEND", raising=False)
    for name, value in execute.drawing().items():
        monkeypatch.setenv(name, value)
    page = v4.new_notebook(cells=[v4.new_code_cell(FIGURE), v4.new_code_cell(UNSEEN)])
    page, seconds = execute.execute(tmp_path / "page.ipynb", page, 60)
    said, shown = page.cells[0].outputs
    assert said.text == "[]\n"
    name = sha256(b64decode(shown.data["image/png"])).hexdigest()
    assert (night.FOLDER / f"{name}.png").exists()
    assert seconds is not None  # an output that cannot be shown is no failure
    ((n, _, output),) = execute.errors(page)
    assert (n, output.ename, output.evalue) == (
        1,
        "ZeroDivisionError",
        "division by zero",
    )


def test_what_is_said_of_a_figure_is_true_by_night():
    "Black and white are turned; white noise is not."
    for path, nb in notebooks():
        for cell in nb["cells"]:
            said = cell["metadata"].get("mystnb", {})
            words = f"{said.get('image', {})} {said.get('figure', {})}"
            assert not re.search(r"\b(black|white)\b(?! noise)", words, re.I), path.stem
