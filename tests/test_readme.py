"""The code of the README runs, and the files it names are there."""

import re
from pathlib import Path

from okbook_book import ledger

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_ten_lines_run():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    space = {}
    exec(code, space)
    assert space["completed"].shape == space["Y_test"].shape
    assert 0 < space["error"] < 1
    assert space["K"].shape == (len(space["X_test"]),) * 2


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^):]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_picture_is_small():
    assert (ROOT / "book" / "page.png").stat().st_size < 300_000


def test_make_targets_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    text = README + (ROOT / "CONTRIBUTING.md").read_text()
    assert set(re.findall(r"\bmake (book|test|lab|lock|export|format)\b", text)) <= set(
        targets
    )


def test_the_totals_are_those_of_the_ledger():
    "A failure says: make ledger."
    assert [name for _, name, _ in ledger.MARKED.findall(README)] == ["all", "data"]
    assert ledger.renewed(README) == README
    planted = re.sub(r"\d+ of the \d+ cells", "all cells", README)
    assert planted != README and ledger.renewed(planted) == README
