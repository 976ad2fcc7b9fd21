"""Every link to an equation, a theorem, an exercise, a figure, a reference or a term
shows in a card what it leads to: in the scripts of the built book, and in a browser."""

import json
import re
from collections import Counter
from functools import cache
from urllib.parse import unquote, urldefrag, urljoin

import pytest
import test_browser
from browsing import PATIENCE
from bs4 import BeautifulSoup
from test_browser import DESK, HTML, PAGES, PHONE

from okbook_book import previews

address, browser = test_browser.address, test_browser.browser
BUILT = pytest.mark.skipif(not PAGES, reason="the book is not built")
ROLES = {  # what the sources say, and the kind of target it leads to
    "eq": "equation",
    "prf:ref": "theorem",
    "cite:t": "reference",
    "cite:p": "reference",
    "cite": "reference",
    "term": "term",
}
LINK = "a.reference.internal[href*='#']"
SHOWN = ".okb-preview.okb-shown"
IN_SIGHT = """card => {
  const { top, height } = card.getBoundingClientRect();
  return height > 0 && top >= 0 && top < innerHeight;
}"""


def test_what_is_collected():
    found = previews.collect(
        '<span id="eq-alias"></span><div class="math" id="equation-a"><span '
        'class="eqno">(3.7)<a class="headerlink" href="#a">#</a></span>\\[x\\]</div>'
        '<div class="proof theorem admonition" id="thm-a"><p class="admonition-title">'
        "Theorem 3.1</p><section id='proof-content'><p>It holds.</p></section></div>"
        '<div class="proof admonition" id="proof"><p>Proof. By hand.</p></div>'
        '<dl class="glossary"><dt id="term-leaf">leaf</dt><dt id="term-tip">tip</dt>'
        "<dd><p>An end.</p></dd></dl><p id='other'>Text.</p>"
        '<figure id="fig-a"><img src="a.png"><figcaption>Figure 3.2 A</figcaption>'
        "</figure>"
    )
    assert set(found) == {
        *("eq-alias", "equation-a", "thm-a", "term-leaf", "term-tip", "fig-a")
    }
    assert found["equation-a"] == found["eq-alias"]
    assert "(3.7)</span>\\[x\\]" in found["equation-a"] and "#" not in found["eq-alias"]
    text = {k: BeautifulSoup(v, "html.parser").get_text(" ") for k, v in found.items()}
    assert text["thm-a"].split() == ["Theorem", "3.1", "It", "holds."]
    assert text["term-leaf"].split() == ["leaf", "An", "end."]
    assert text["term-tip"].split() == ["tip", "An", "end."]
    assert all("id=" not in html for html in found.values())
    assert 'src="a.png"' in found["fig-a"] and "Figure 3.2 A" in found["fig-a"]


@cache
def article(page):
    soup = BeautifulSoup((HTML / page).read_text(encoding="utf8"), "html.parser")
    return soup.select_one("article")


@cache
def scripts():
    "What the scripts hold: HTML by page and anchor."
    found = {}
    for path in (HTML / previews.FOLDER).rglob("*.js"):
        call = path.read_text(encoding="utf8")
        name, *rest = json.loads(
            call.replace("okbookPreviews(", "[", 1).removesuffix(");\n") + "]"
        )
        found[name] = rest[0]
    return found


@cache
def targets(page):
    "The anchors of a page by what carries them, found without `previews.collect`."
    out = {}
    for element in article(page).find_all(id=True) if article(page) else ():
        classes = set(element.get("class", ()))
        if element["id"].startswith("equation-"):
            kind = "equation"
        elif element["id"].startswith("term-"):
            kind = "term"
        elif element.name == "figure":
            kind = "figure"
        elif "citation" in classes:
            kind = "reference"
        elif element["id"] != "proof" and "proof" in classes:
            kind = "theorem"
        elif "exercise" in classes:
            kind = "exercise"
        else:
            continue
        out[element["id"]] = kind
    return out


@cache
def links():
    "The book's links to such targets: kind, page, link, target page and anchor."
    out = []
    for page in PAGES:
        for link in article(page).select(LINK) if article(page) else ():
            to, anchor = urldefrag(urljoin(page, link["href"]))
            if to in PAGES and (kind := targets(to).get(unquote(anchor))):
                out.append((kind, page, link, to, unquote(anchor)))
    return out


@BUILT
def test_every_link_has_a_preview():
    "And the preview is what the page shows: the number, and the words."
    shown, count = scripts(), Counter()
    for kind, page, _, to, anchor in links():
        html = shown.get(to.removesuffix(".html"), {}).get(anchor)
        assert html, f"{page}: no preview of {to}#{anchor}"
        text = " ".join(BeautifulSoup(html, "html.parser").get_text(" ").split())
        target = article(to).find(id=anchor)
        if kind == "equation":
            assert target.select_one(".eqno").contents[0].strip() in text
        elif kind in ("theorem", "exercise"):
            for part in target.select_one(".caption-number, .admonition-title").strings:
                assert " ".join(part.split()) in text
        elif kind == "term":
            assert text.startswith(" ".join(target.contents[0].get_text().split()))
        assert len(text) > 3 or "<img" in html
        count[kind] += 1
    assert set(shown[previews.PAGES]) == set(shown) - {previews.PAGES}
    print(dict(count))
    whole = {f"{page}.html" for page, _ in written()} <= set(PAGES)
    if whole:  # of a part of the book some links lead nowhere
        for kind, least in roles().items():
            assert count[kind] >= least, (kind, count[kind], least)


def written():
    "The sources of what the book prints: page and text."
    from okbook_book.project import ROOT, docname, notebooks

    for path, nb in notebooks():
        cells = (
            c
            for c in nb["cells"]
            if c["cell_type"] == "markdown"
            and "remove-cell" not in c["metadata"].get("tags", ())
        )
        yield docname(path), "\n\n".join("".join(c["source"]) for c in cells)
    for path in sorted((ROOT / "nbs").glob("*.md")):
        yield docname(path), path.read_text(encoding="utf8")


def roles():
    "How many links of each kind the sources ask for."
    text = "\n".join(text for _, text in written())
    asked = re.findall(rf"\{{({'|'.join(ROLES)})\}}`", text)
    return Counter(ROLES[role] for role in asked)


def one_of_each():
    "For each kind a link in view: page, target, and words that its card must hold."
    seen = {}
    for kind, page, link, to, anchor in links():
        folded = link.find_parent(
            lambda e: e.name == "details" or "dropdown" in e.get("class", ())
        )
        if kind in seen or folded or link.find_parent(class_="toggle"):
            continue
        target = article(to).find(id=anchor)
        if kind == "term":
            text = target.find_next_sibling("dd").p.find(string=True)
        elif kind == "equation":
            text = target.select_one(".eqno").find(string=True)
        elif kind == "figure":
            if target.figcaption.select_one(".math"):
                continue
            text = target.figcaption.p.get_text().rstrip("#\n")
        elif kind == "reference":
            text = target.p.find(string=True)
        else:
            text = target.p.get_text()
        if len(" ".join(text.split())) > 2:
            seen[kind] = (page, link["href"], " ".join(text.split()))
    return seen


KINDS = one_of_each() if PAGES else {}
VIEWS = {"light": DESK, "dark": PHONE}
CARD = """card => ({
  text: card.innerText, box: card.getBoundingClientRect().toJSON(),
  raw: [...card.querySelectorAll(".math:not(:has(.katex))")].length,
  errors: card.querySelectorAll(".katex-error").length,
  images: [...card.querySelectorAll("img")].every(img => img.naturalWidth),
  back: getComputedStyle(card).backgroundColor, ink: getComputedStyle(card).color,
  page: getComputedStyle(document.body).backgroundColor,
  inside: Boolean(card.closest("article")),
})"""
FIRST_LINE = """link => {
  const {x, y, width, height} = link.getClientRects()[0];
  return [x + width / 2, y + height / 2];
}"""


@pytest.fixture(params=VIEWS)
def tab(browser, request):
    "A tab by day and by night that may read the built book from the disk only."
    with test_browser.view(browser, request.param, VIEWS[request.param]) as context:
        tab, wrong = context.new_page(), []
        tab.emulate_media(reduced_motion="reduce")  # scrolling takes no time
        root = (HTML.resolve() / "index.html").as_uri().removesuffix("index.html")
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda m: m.type == "error" and wrong.append(m.text))
        tab.on(
            "request",
            lambda r: r.url.startswith((root, "data:", "blob:")) or wrong.append(r.url),
        )
        tab.root, tab.dark = root, request.param == "dark"
        yield tab
        assert not wrong, wrong


def luminance(colour):
    red, green, blue = map(float, re.findall(r"[\d.]+", colour)[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def check_card(tab, words):
    card = tab.wait_for_selector(SHOWN, timeout=PATIENCE)
    # Where the focus goes, the page scrolls to, and no sooner than it has time for it.
    tab.wait_for_function(IN_SIGHT, arg=card, timeout=PATIENCE)
    found = card.evaluate(CARD)
    assert words in " ".join(found["text"].split())
    assert not found["inside"] and not found["raw"] and not found["errors"]
    assert "\\" not in found["text"]
    assert found["images"]
    room = tab.viewport_size["width"]
    assert found["box"]["left"] >= 0 and found["box"]["right"] <= room
    ink, back, page = (luminance(found[k]) for k in ("ink", "back", "page"))
    assert (ink > 0.6 and back < 0.3) if tab.dark else (ink < 0.3 and back > 0.9)
    assert (page < 0.3) == tab.dark
    return card


@pytest.mark.browser
@pytest.mark.parametrize("kind", previews.TARGETS)
def test_hover_and_focus_show_the_target(tab, kind):
    if kind not in KINDS:
        pytest.skip(f"no page with a link to a target of this kind is built: {kind}")
    page, href, words = KINDS[kind]
    tab.goto(tab.root + page, wait_until="load")
    link = tab.locator(f'article {LINK}[href="{href}"]:visible').first
    link.scroll_into_view_if_needed()

    tab.mouse.move(*link.evaluate(FIRST_LINE))
    card = check_card(tab, words)
    assert link.get_attribute("aria-describedby") == card.get_attribute("id")
    box = card.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    tab.wait_for_timeout(600)
    assert tab.locator(SHOWN).count() == 1  # the card itself can be hovered
    tab.keyboard.press("Escape")
    assert tab.locator(".okb-preview").count() == 0
    assert link.get_attribute("aria-describedby") is None

    tab.mouse.move(1, 1)
    link.evaluate(  # the keyboard's focus comes from what stands before the link
        """link => {
          const before = document.createElement("button");
          link.before(before);
          before.focus();
        }"""
    )
    tab.keyboard.press("Tab")
    assert link.evaluate("link => link === document.activeElement")
    check_card(tab, words)
    tab.keyboard.press("Tab")  # the focus goes on in the page, not into the card
    assert not tab.evaluate(
        "() => Boolean(document.activeElement.closest('#okb-preview'))"
    )
    tab.keyboard.press("Shift+Tab")
    check_card(tab, words)
    tab.keyboard.press("Escape")
    assert tab.locator(".okb-preview").count() == 0


@pytest.mark.browser
@pytest.mark.skipif("term" not in KINDS, reason="no page with a term is built")
def test_a_tap_shows_the_card_and_a_second_one_follows(browser):
    "On a page without formulas of its own, too; and a button leads back."
    page, target, words = KINDS["term"]
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    tab = context.new_page()
    tab.goto((HTML.resolve() / page).as_uri(), wait_until="load")
    link = tab.locator(f'.bd-article a.reference.internal[href="{target}"]').first
    link.tap()
    found = tab.wait_for_selector(SHOWN, timeout=PATIENCE).evaluate(CARD)
    assert words in " ".join(found["text"].split())
    assert found["raw"] == found["errors"] == 0
    assert found["box"]["bottom"] == PHONE["height"]
    tab.locator("article h1").tap()
    assert tab.locator(".okb-preview").count() == 0
    link.tap()
    tab.wait_for_selector(SHOWN, timeout=PATIENCE)
    link.tap()
    tab.wait_for_url(f"**/{target.removeprefix('../')}", timeout=PATIENCE)
    tab.locator(".okb-back").tap()
    tab.wait_for_url(f"**/{page}", timeout=PATIENCE)
    context.close()


@pytest.mark.browser
@pytest.mark.skipif("nbs/00_core.html" not in PAGES, reason="the page is not built")
def test_a_tap_shows_a_drawing_as_large_as_it_was_drawn(browser):
    "Then its box scrolls, and not the page; a second tap makes it small again."
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    tab = context.new_page()
    tab.goto((HTML.resolve() / "nbs" / "00_core.html").as_uri(), wait_until="load")
    drawing = tab.locator("#fig-core-idea img:visible")
    assert drawing.bounding_box()["width"] < PHONE["width"]
    drawing.tap()
    assert drawing.bounding_box()["width"] > 600
    box = tab.locator('.cell_output[tabindex="0"]:has(#fig-core-idea)')
    box.wait_for(timeout=PATIENCE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    drawing.tap()
    assert drawing.bounding_box()["width"] < PHONE["width"]
    context.close()


def test_weight():
    "What a page loads before anything is looked at."
    static = HTML.parents[1] / "book" / "static"
    assert sum(p.stat().st_size for p in static.glob("okbook-previews.*")) < 7000
