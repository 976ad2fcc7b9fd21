"""How heavy the built pages are: ``python benchmarks/pages.py`` after ``make book``.

Twelve pages, the longest of their chapters, are opened in Chromium with a processor
slowed four times, on a phone's screen. Told are the seconds to the first text and to
the end of loading, the median of five visits with an empty cache, and the nodes.
"""

import statistics
import sys
from pathlib import Path

from measure import report

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "book"), str(ROOT / "book")]
from browsing import FLAGS, PATIENCE, PHONE, served  # noqa: E402

from okbook_book.pdf import CHROMIUM  # noqa: E402

PAGES = (
    *("00_core", "00_core_1_predictor", "01_trees", "01_trees_1_split_search"),
    *(
        "02_rkhs",
        "02_rkhs_5_beyond",
        "03_forest_kernel",
        "03_forest_kernel_1_hyperplanes",
    ),
    *("04_mkl_1_duality", "05_ensembles_3_margins", "95_hilbert", "errata"),
)
SLOWER, VISITS = 4, 5
TIMES = """() => {
  const [first] = performance.getEntriesByName("first-contentful-paint");
  const [page] = performance.getEntriesByType("navigation");
  return [first.startTime / 1000, page.loadEventEnd / 1000];
}"""


def visit(browser, address):
    "Seconds to the first text and to the end of loading, and the nodes."
    context = browser.new_context(viewport=PHONE)
    tab = context.new_page()
    control = context.new_cdp_session(tab)
    control.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    tab.goto(address, wait_until="load", timeout=PATIENCE)
    tab.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd")
    found = [
        *tab.evaluate(TIMES),
        tab.evaluate("document.querySelectorAll('*').length"),
    ]
    context.close()
    return found


def main():
    from playwright.sync_api import sync_playwright

    with (
        served(ROOT / "_build" / "html") as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for page in PAGES:
            visits = [
                visit(browser, f"{address}nbs/{page}.html") for _ in range(VISITS)
            ]
            first, loaded, nodes = map(statistics.median, zip(*visits))
            report(f"{page}, first text", nodes, first)
            report(f"{page}, loaded", nodes, loaded, wanted="below 4")
        browser.close()


if __name__ == "__main__":
    main()
