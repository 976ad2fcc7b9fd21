"""The README says what is so: its example runs as printed, its tables are those of the
stored results, its pictures were drawn by the pages as they are."""

import contextlib
import io
import re
import shutil
from pathlib import Path

import pandas as pd
from cogapp import Cog

from okbook_book import readme

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
(CODE,) = re.findall(r"```python\n(.*?)```", README, re.S)
(PRINTED,) = re.findall(r"```text\n(.*?)```", README, re.S)


def test_the_example_prints_what_is_shown():
    space, said = {}, io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(CODE, space)
    assert said.getvalue() == PRINTED
    learnt = space["words"][space["train"]]
    assert len(learnt) == 100 and not {*space["words"][space["test"]]} & {*learnt}
    assert len({*space["words"]}) == 1000


def test_links_and_pictures_lead_somewhere():
    links = re.findall(r"\]\(([^):#]+)\)", README)
    pictures = re.findall(r'(?:href|src|srcset)="([^"]+)"', README)
    assert len(links) > 10 and len(pictures) == 2 + 6 * 3
    for target in links + pictures:
        assert (ROOT / target).exists(), target


def test_pictures_are_there_and_small():
    drawn = {readme.file(n, d) for n in ("idea", *readme.GALLERY) for d in (0, 1)}
    assert drawn == {*readme.FOLDER.iterdir()} and len(drawn) == 14
    assert all(path.stat().st_size < 100_000 for path in drawn)


def test_pictures_are_drawn_for_light_and_for_dark():
    for name in ("idea", "64_gallery_9_kernels"):
        light, dark = (readme.file(name, d).read_text() for d in (False, True))
        assert "#0d1117" in dark and "#0d1117" not in light
        assert "#d0d7de" in dark and "#d0d7de" not in light


def test_make_targets_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    text = README + (ROOT / "CONTRIBUTING.md").read_text()
    assert set(re.findall(r"\bmake (book|test|lab|lock|export|format)\b", text)) <= set(
        targets
    )


def renewed(folder):
    "The README as cog writes it, from one whose total is wrong."
    path = folder / "README.md"
    path.write_text(README.replace("| **104** |", "| **999** |"))
    assert Cog().main(["cog", "--verbosity=0", "-r", str(path)]) == 0
    return path.read_text()


def test_the_tables_are_those_of_the_stored_results(tmp_path):
    "A failure says: make readme."
    assert re.findall(r"cog\.outl\((\w+)", README) == ["gallery", "speed", "truth"]
    assert "| **printed cells**, all recomputed | **104** |" in README
    assert renewed(tmp_path) == README


def test_a_comparison_that_is_lost_is_shown_too(tmp_path, monkeypatch):
    """The table shows the largest size of each comparison, and any size at which
    okbook loses: a planted loss at a smaller one becomes a row, and is not bold."""
    rows = [line for line in README.splitlines() if "| `benchmarks/" in line]
    lost = [row for row in rows if "**" not in row]
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    path = tmp_path / "benchmarks" / "mkl.csv"
    stored = pd.read_csv(path, dtype={"wanted": str})
    planted = stored.work.str.endswith("peer: EasyMKL") & (stored.n == 541)
    assert planted.sum() == 2  # its time and its memory
    stored.loc[planted, "ratio"] = 0.9
    stored.to_csv(path, index=False)
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    shown = [row for row in renewed(tmp_path).splitlines() if "| `benchmarks/" in row]
    (row,) = {*shown} - {*rows}
    assert "| 541 |" in row and "| EasyMKL | 0.9 |" in row
    assert [row for row in shown if "**" not in row] == [*lost, row]
