"""The built book before a reader: how long its pages are, whether code fits, whether
bars follow each other, and what axe-core finds, on every page.

The marks and conditions are those of tests/book/test_browser.py. What is allowed is
declared here: pages that are longer than the goal, and what is the theme's own.
"""

import re

import browsing
import pytest
from conftest import share
from test_browser import API, PAGES, address, browser  # noqa: F401

SCREENS = 27
LONGER = {
    "genindex.html": "lists every object",
    "nbs/errata.html": "lists every slip, and runs each",
    "nbs/02_rkhs_5_beyond.html": "two methods that share their proofs: 29 screens",
    "nbs/21_synthetic_networks.html": "one lab, its table and its questions: 29",
    "nbs/23_protein_interactions.html": "one lab, two of the source's tables: 28",
    "nbs/41_protein_localisation.html": "one lab, its table and what explains it: 30",
}

# By rule and selector: what is sphinx-book-theme's own, or Sphinx's.
THEME = {
    "region": r"sidebar-primary-item",  # the theme's logo stands in no landmark
    "definition-list": r"^#okbook.* > dl$",  # Sphinx's long signatures: no terms
}


def ours(found):
    return [
        f"{v['rule']}: {v['target']}: {v['html'][:80]}"
        for v in found
        if not re.search(THEME.get(v["rule"], "$^"), v["target"])
    ]


@pytest.mark.parametrize("n", [1, 2, 5, 7, 9])
def test_shares_of_a_sweep_are_all_of_it(n):
    shares = [share("abcdefg", f"{k}/{n}") for k in range(1, n + 1)]
    assert sorted("".join(shares)) == list("abcdefg")


@pytest.mark.parametrize("given", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1.5/2"])
def test_a_share_that_is_none(given):
    with pytest.raises(pytest.UsageError, match=f"got {re.escape(given)}$"):
        share("abc", given)


@pytest.fixture(scope="module")
def contexts(browser):  # noqa: F811
    "A laptop by day, and a phone by night."
    with (
        browsing.view(browser, "light", browsing.LAPTOP) as day,
        browsing.view(browser, "dark", browsing.PHONE) as night,
    ):
        yield {"day": day, "night": night}


@pytest.mark.browser
@pytest.mark.sweep
@pytest.mark.parametrize("page", [p for p in PAGES if p not in API[:-5]])
def test_page_before_a_reader(contexts, address, page):  # noqa: F811
    found = browsing.measure(contexts, address, page)
    assert not found["scrolling"], "code that scrolls"
    assert not found["bars"], "bars in a row"
    assert found["screens"] <= browsing.FONTS * SCREENS or page in LONGER
    assert not ours(found["day"]) and not ours(found["night"])


BAD = """<html lang="en"><head><title>Bad</title></head><body><main><article>
<h1>Bad</h1><pre style="width:200px;overflow:auto">{code}</pre>
<details><summary>one</summary>x</details><details><summary>two</summary>x</details>
<p style="color:#aaa">pale</p><div style="height:40000px"></div></article></main>"""


@pytest.mark.browser
def test_a_bad_page_is_noticed(contexts, tmp_path):
    (tmp_path / "bad.html").write_text(BAD.format(code=200 * "x"))
    with browsing.served(tmp_path) as place:
        found = browsing.measure(contexts, place, "bad.html")
    assert found["scrolling"] and found["bars"] == ["two"] and found["screens"] > 50
    assert "color-contrast" in {v["rule"] for v in found["day"]}
    assert any(v.startswith("color-contrast: p") for v in ours(found["day"]))
