"""Built pages in Chromium: how they are opened, and what is counted on each.

Counted are the screens that a page is long, the blocks of code that scroll sideways,
the bars that follow each other with nothing between them, what it weighs with all that
it loads, and what axe-core finds, by day and by night.
"""

import functools
import http.server
import threading
from contextlib import contextmanager
from importlib import resources

LAPTOP, DESK, PHONE = (
    {"width": 1280, "height": 800},
    {"width": 1440, "height": 900},
    {"width": 375, "height": 812},
)
PATIENCE = 240_000  # ms
# What the fonts of a machine decide, heights and where lines break, may be a tenth more
# on another one.
FONTS = 1.1
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # nothing leaves the machine
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

# Everything that folds is opened, as its reader would.
UNFOLD = """() => {
  document.querySelectorAll("main details").forEach(e => { e.open = true; });
  document.querySelectorAll(".toggle-hidden").forEach(
    e => e.classList.remove("toggle-hidden"));
}"""

# Blocks of code whose lines are longer than they are wide.
SCROLLING = """fonts => [...document.querySelectorAll("article pre")].filter(pre => {
  const box = pre.closest("div.highlight") ?? pre;
  return [pre, box].some(e => e.clientWidth && e.scrollWidth > fonts * e.clientWidth);
}).map(pre => pre.textContent.trim().slice(0, 60))"""

# Bars, closed, with nothing to see between one and the next.
BARS = """() => {
  const bars = [...document.querySelectorAll(
    "article details:not([open]), article .admonition.toggle-hidden")]
    .filter(e => e.getBoundingClientRect().height && !e.closest(".sd-card")
      && !e.parentElement.closest("details:not([open]), .toggle-hidden"))
    .map(e => [e, e.getBoundingClientRect()]);
  return bars.slice(1).flatMap(([e, box], i) =>
    box.top - bars[i][1].bottom < 24 && box.top >= bars[i][1].bottom - 1
      ? [e.innerText.trim().slice(0, 60)] : []);
}"""

# Formulas are not looked into. They are most of a page's elements, and axe-core would
# walk through them: only their frames stay. It reads no MathML, either: of a heading of
# a table that is a formula, the source stays.
AXE = """() => {
  document.querySelectorAll("th .katex").forEach(
    e => e.replaceWith(e.querySelector("annotation").textContent));
  document.querySelectorAll(".katex-html").forEach(e => e.replaceChildren());
  return axe.run({exclude: [[".katex"]]}).then(found =>
    found.violations.flatMap(rule => rule.nodes.map(node => ({
      rule: rule.id, target: node.target.flat().join(" "),
      html: node.html.slice(0, 200),
    }))));
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def served(folder):
    "The address of a folder, served on the loopback interface."
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def pages(folder):
    "The pages of a built book, without those that only lead to another."
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.html")
        if not {"_static", "reports"} & set(path.relative_to(folder).parts)
        and 'http-equiv="Refresh"' not in path.read_text(encoding="utf8")
    )


@contextmanager
def view(browser, scheme, size):
    "A fresh profile of a reader, by day (light) or by night (dark)."
    context = browser.new_context(
        viewport=size, color_scheme=scheme, service_workers="block"
    )
    context.set_default_timeout(PATIENCE)
    context.add_init_script(
        f"try {{ localStorage.setItem('mode', '{scheme}') }} catch (e) {{}}"
    )
    # What is far from a phone's screen is not set: its boxes would have no sizes.
    context.add_init_script(
        "addEventListener('DOMContentLoaded', () => "
        "document.documentElement.classList.add('okb-whole'))"
    )
    yield context
    context.close()


def settle(tab):
    "Wait until the fonts of a page are there."
    tab.evaluate("() => document.fonts.ready.then(() => true)")
    tab.wait_for_timeout(200)  # scripts that work once all is loaded


def axe(tab):
    "What axe-core finds: rule, selector and beginning of each element."
    if not tab.evaluate("() => Boolean(window.axe)"):
        script = resources.files("axe_playwright_python") / "axe.min.js"
        tab.evaluate(script.read_text(encoding="utf8"))
    return tab.evaluate(AXE)


def layout(tab):
    """Screens of a page as it opens, its bars in a row, and its blocks of code that
    scroll when all is unfolded: at 1280 pixels and at 1440."""
    found = {}
    tab.set_viewport_size(LAPTOP)
    height = tab.evaluate("() => document.documentElement.scrollHeight")
    found["screens"] = round(height / LAPTOP["height"], 1)
    found["bars"] = tab.evaluate(BARS)
    tab.evaluate(UNFOLD)
    found["scrolling"] = tab.evaluate(SCROLLING, FONTS)
    tab.set_viewport_size(DESK)
    found["scrolling"] += tab.evaluate(SCROLLING, FONTS)
    return found


def measure(contexts, address, page, with_axe=True):
    "Everything about one page, by a laptop by day and a phone by night."
    weights, found = [], {"page": page}
    for name, context in contexts.items():
        tab = context.new_page()
        if name == "day":
            tab.on("response", lambda r: weights.append(r.headers["content-length"]))
        tab.goto(address + page, wait_until="load")
        settle(tab)
        found[name] = axe(tab) if with_axe else []
        if name == "day":
            found["weight"] = sum(map(int, weights))
            found |= layout(tab)
        tab.close()
    return found
