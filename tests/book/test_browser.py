"""Every page of the built book in a real browser, without the network.

Needs Chromium. Where there is none, the test is skipped, or fails when
OKBOOK_REQUIRE_BROWSER is set.
"""

import os
import re

import pytest
from browsing import FLAGS, FONTS, PATIENCE, pages, served, settle, view

from okbook_book.pdf import CHROMIUM
from okbook_book.project import HTML

PAGES = pages(HTML)
# The pages of the API are made alike: the largest stand for all, and some of the rest.
API = sorted(
    (p for p in PAGES if p.startswith("nbs/api/")),
    key=lambda page: HTML.joinpath(page).stat().st_size,
)
PAGES = [p for p in PAGES if p not in {*API} - {*API[-15:], *API[::25]}]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1400, "height": 900}

# What is wider than the page, seen from the page: elements that stick out and do not
# scroll in a box of their own.
TOO_WIDE = """fonts => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= fonts * width) return [];
  const out = [];
  for (const e of document.querySelectorAll('main *')) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > fonts * width) {
      let p = e.parentElement, inside = false;
      while (p && p !== document.body) {
        const overflow = getComputedStyle(p).overflowX;
        if (['auto', 'scroll', 'hidden'].includes(overflow)) { inside = true; break; }
        p = p.parentElement;
      }
      const right = Math.round(box.right);
      if (!inside) out.push(e.tagName + '.' + e.className + ' ' + right);
    }
  }
  return [document.documentElement.scrollWidth + ' > ' + width, ...out.slice(0, 5)];
}"""

# Formulas that begin left of their box, where no scrolling leads.
CUT_OFF = """() => [...document.querySelectorAll('.math')].flatMap(e => {
  const formula = e.querySelector('.katex-html');
  if (!formula || !formula.getBoundingClientRect().width) return [];
  const gap = formula.getBoundingClientRect().left - e.getBoundingClientRect().left;
  return gap < -1 ? [e.textContent.slice(0, 80)] : [];
})"""

# Captions that a theme hides together with one of the two forms of a figure.
HIDDEN = """() => [...document.querySelectorAll('figcaption')].flatMap(e =>
  getComputedStyle(e).display === 'none' ? [e.textContent.trim().slice(0, 80)] : []
)"""

# Mathematics that was not set, or set as an error.
RAW_TEX = """() => {
  const out = [];
  for (const e of document.querySelectorAll('.math'))
    if (!e.querySelector('.katex')) out.push(e.textContent.slice(0, 80));
  for (const e of document.querySelectorAll('.katex-error, merror'))
    out.push('error: ' + (e.title || e.textContent));
  const text = document.querySelector('article')?.cloneNode(true);
  if (text) {
    const unread = text.querySelectorAll('pre, code, script, style, .katex');
    unread.forEach(e => e.remove());
    const raw = /\\$\\$|\\\\\\(|\\\\\\[|\\\\(frac|sum|phi|begin|mathcal|hat)\\b/g;
    const found = text.textContent.match(raw);
    if (found) out.push('in the text: ' + found.join(' '));
  }
  return out;
}"""


@pytest.fixture(scope="module")
def address():
    "The built book, served on the loopback interface."
    with served(HTML) as place:
        yield place


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        if os.environ.get("OKBOOK_REQUIRE_BROWSER"):
            pytest.fail(
                "OKBOOK_REQUIRE_BROWSER is set, but there is no chromium on this "
                "machine"
            )
        pytest.skip(
            "the pages were not opened in a browser: there is no chromium on this "
            "machine"
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def views(browser):
    "A phone by night and a desk by day: each a fresh profile."
    with view(browser, "dark", PHONE) as phone, view(browser, "light", DESK) as desk:
        yield phone, desk


def visit(context, address, page):
    "Open `page` and return what is wrong with it, as a list."
    wrong, tab = [], context.new_page()

    def request(request):
        if not request.url.startswith((address, "data:", "blob:")):
            wrong.append(f"asks for {request.url}")

    tab.on("request", request)
    tab.on("pageerror", lambda error: wrong.append(f"JavaScript: {error}"))
    tab.on(
        "console",
        lambda m: (
            m.type == "error"
            and wrong.append(f"console: {m.text} {m.location.get('url')}")
        ),
    )
    tab.on(
        "response",
        lambda r: r.status >= 400 and wrong.append(f"{r.status} for {r.url}"),
    )
    tab.goto(address + page, wait_until="load")
    settle(tab)
    width = tab.viewport_size["width"]
    wrong += [f"raw TeX: {text}" for text in tab.evaluate(RAW_TEX)]
    for theme in ("dark", "light"):
        tab.evaluate(
            "theme => { document.documentElement.dataset.theme = theme }", theme
        )
        wrong += [
            f"{theme}: wider than {width} pixels: {text}"
            for text in tab.evaluate(TOO_WIDE, FONTS)
        ]
        wrong += [
            f"{theme}: cut off at the left: {text}" for text in tab.evaluate(CUT_OFF)
        ]
        wrong += [f"{theme}: hidden caption: {text}" for text in tab.evaluate(HIDDEN)]
    tab.close()
    return wrong


def test_there_is_a_book():
    if os.environ.get("OKBOOK_REQUIRE_BOOK"):
        assert PAGES, "there is no built book"
    elif not PAGES:
        pytest.skip("there is no built book: run `make book`")


@pytest.mark.browser
@pytest.mark.sweep
@pytest.mark.parametrize("page", PAGES)
def test_page_on_a_phone_and_on_a_desk(views, address, page):
    wrong = sum((visit(context, address, page) for context in views), [])
    assert not wrong, "\n".join([page, *dict.fromkeys(wrong)])


FORMULAS = """() => [...document.querySelectorAll("div.math")].flatMap(box => {
  const formula = box.querySelector(".katex-display"), room = formula.clientWidth;
  if (!room) return [];
  const shrunk = parseFloat(formula.style.fontSize || 1);
  formula.style.fontSize = "";
  return [[shrunk, Math.max(0.7, Math.min(1, room / formula.scrollWidth))]];
})"""


@pytest.mark.browser
@pytest.mark.skipif(
    "nbs/05_ensembles.html" not in PAGES, reason="the page is not built"
)
def test_formulas_shrink_to_a_phone(views, address):
    "Not below seven tenths, and not where there is room."
    for context, shrunk in zip(views, (True, False)):
        tab = context.new_page()
        tab.goto(address + "nbs/05_ensembles.html", wait_until="load")
        tab.wait_for_function(
            "() => document.querySelector('.katex-display[style*=font]') || "
            "innerWidth > 600"
        )
        sizes = tab.evaluate(FORMULAS)
        assert len(sizes) > 5 and any(size < 1 for size, _ in sizes) == shrunk
        for size, wanted in sizes:
            assert abs(size - wanted) < 0.01
        tab.close()


LINKS, BORDERS, ROUNDS = (
    f"nbs/{page}.html"
    for page in (
        "21_synthetic_networks",
        "02_rkhs_7_drawing",
        "05_ensembles_1_adaboost",
    )
)


@pytest.fixture
def movie(views, address, request):
    """The figure that moves of a page, on a phone and on a desk: tab, slider, what
    it says."""
    if request.param not in PAGES:
        pytest.skip("the page with the figure that moves is not built")
    tabs = [context.new_page() for context in views]
    for tab in tabs:
        tab.goto(address + request.param, wait_until="load")
    yield [
        (
            tab,
            tab.locator(".okb-movie input[type=range]"),
            tab.locator(".okb-movie output"),
        )
        for tab in tabs
    ]
    for tab in tabs:
        tab.close()


@pytest.mark.browser
@pytest.mark.parametrize("movie", [LINKS], indirect=True)
def test_smoothing_moves(movie):
    "What is said is what is drawn."
    for tab, slider, said in movie:
        found = []
        for smoother in range(2):
            tab.locator(".okb-movie input[type=radio]").nth(smoother).check()
            slider.focus()
            for key in ["Home"] + 14 * ["ArrowRight"] + ["End"]:
                tab.keyboard.press(key)
                hit, false = (
                    tab.locator(f".okb-movie > svg > line.{kind}").count()
                    for kind in ("hit", "false")
                )
                assert (
                    f" {hit} found" in said.inner_text()
                    and f" {false} false" in said.inner_text()
                )
                found.append(hit)
            assert slider.get_attribute("aria-valuetext") == "λ₂ = 10"
        assert found[14] > 2 * found[0] and found[15] < found[0]  # links appear, and go
        assert (
            max(found[16:]) == found[16] == found[0]
        )  # nothing appears with the other penalty


@pytest.mark.browser
@pytest.mark.parametrize("movie", [BORDERS], indirect=True)
def test_borders_move(movie):
    shown = "lines => lines.filter(line => line.style.opacity === '1').length"
    for tab, slider, said in movie:
        slider.focus()
        for k, key in enumerate(["Home"] + 5 * ["ArrowRight"]):
            tab.keyboard.press(key)
            hits, misses = (
                tab.eval_on_selector_all(f".okb-movie line.{kind}", shown)
                for kind in ("true", "false")
            )
            assert (
                hits + misses == k
                and f"The {k} best pairs: {hits} borders" in said.inner_text()
            )


@pytest.mark.browser
@pytest.mark.parametrize("movie", [ROUNDS], indirect=True)
def test_rounds_move(movie):
    """After a round the points that the stump got wrong have grown; the vote learns
    true labels, and not false ones."""
    scales = """points => points.map(
        point => +point.getAttribute("transform").match(/scale\\((.*)\\)/)[1]
    )"""
    points = ".okb-movie > svg > [transform]"
    for tab, slider, said in movie:
        slider.focus()
        tab.keyboard.press("Home")
        first = tab.eval_on_selector_all(points, scales)
        assert (
            len(first) == 120
            and len(set(first)) == 1
            and "weigh the same" in said.inner_text()
        )
        tab.keyboard.press("ArrowRight")
        grown = tab.eval_on_selector_all(points, scales)
        assert (
            len(set(grown)) == 2 and 0.25 < sum(r > first[0] for r in grown) / 120 < 0.5
        )
        tab.keyboard.press("End")
        assert slider.get_attribute("aria-valuetext") == "round 40"
        assert int(re.search(r"wrong on (\d+) of the 120", said.inner_text())[1]) < 3
        tab.locator(".okb-movie input[type=radio]").nth(1).check()
        assert int(re.search(r"wrong on (\d+) of the 120", said.inner_text())[1]) > 6
        assert (
            int(re.search(r"repeats (\d+) of the 12 false", said.inner_text())[1]) < 9
        )


@pytest.mark.browser
@pytest.mark.skipif("nbs/01_trees.html" not in PAGES, reason="the page is not built")
@pytest.mark.parametrize("jump", ["address", "hash", "link"])
def test_a_phone_sets_what_is_near_and_arrives_where_it_jumps(browser, address, jump):
    context = browser.new_context(viewport=PHONE)
    tab, page = context.new_page(), f"{address}nbs/01_trees.html"
    seen = "document.querySelector('#summary li').checkVisibility({0})"
    tab.goto(page, wait_until="load")
    assert not tab.evaluate(seen.format("{contentVisibilityAuto: true}"))
    if jump == "address":
        tab.goto("about:blank")
        tab.goto(f"{page}#summary", wait_until="load")
    elif jump == "hash":
        tab.evaluate("location.hash = '#summary'")
    else:
        tab.evaluate("document.querySelector('a[href=\"#summary\"]').click()")
    at = "document.getElementById('summary').getBoundingClientRect().top"
    tab.wait_for_function(f"Math.abs({at}) < 150", timeout=PATIENCE)
    tab.wait_for_timeout(1000)
    assert abs(tab.evaluate(at)) < 150
    assert tab.evaluate(seen.format("{contentVisibilityAuto: true}"))
    context.close()


@pytest.mark.browser
def test_a_bad_page_is_noticed(browser, tmp_path):
    "The test itself: each kind of fault must be seen."
    (tmp_path / "bad.html").write_text(
        '<html><body><main><article><span class="math">\\(x\\)</span> $$y$$'
        '<img src="https://example.org/a.png"><div style="width:2000px">wide</div>'
        "<script>nothing.at.all</script></article></main>"
    )
    with served(tmp_path) as place, view(browser, "light", PHONE) as context:
        wrong = visit(context, place, "bad.html")
    text = "\n".join(wrong)
    for fault in (
        "asks for https://example.org",
        "JavaScript: nothing is not defined",
        "raw TeX: \\(x\\)",
        "wider",
    ):
        assert fault in text
