"""What the README quotes and shows (``make readme``).

Its comments, which cog runs, ask for a table of measured speed, the totals of the
ledger, and a gallery. The pictures in ``book/readme`` are the figure of the idea and
figures of the gallery, drawn by the cells of its pages, for a light and a dark
background.
"""

import contextlib
import csv
import io
import json
import warnings
from functools import partial

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from okbook.labs.common import markdown_table, quantity
from okbook.tables.ledger import count_outcomes

from . import landing
from .ledger import cells
from .project import ROOT

FOLDER = ROOT / "book" / "readme"
STYLE = ROOT / "book" / "okbook.mplstyle"
GALLERY = {
    "64_gallery_1_spelling": "Spelling numbers that were not in training",
    "64_gallery_3_links": "Links of new nodes, and links that are hidden",
    "64_gallery_6_images": "Completing images, sharp where regression blurs",
    "64_gallery_7_own_method": "A method of one's own in ten lines",
    "64_gallery_8_uncertainty": "Uncertainty from the norm of a prediction",
    "64_gallery_9_kernels": "Learnt weights of kernels on mixed features",
}
DARK = dict.fromkeys(
    ("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "#0d1117"
)
DARK |= dict.fromkeys(
    ("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), "#d0d7de"
)
DARK |= {"axes.edgecolor": "#8b949e", "patch.edgecolor": "#8b949e"}
DARK |= {"grid.color": "#30363d"}
DARK["axes.prop_cycle"] = matplotlib.cycler(
    "color", ["56B4E9", "E69F00", "2FBF95", "CC79A7", "F0803C", "9AD3F5"]
)


def measured(file, start):
    """The lines of a benchmark that begin so, of which the last has the most examples:
    this one, and those where okbook loses."""
    with open(ROOT / "benchmarks" / f"{file}.csv", newline="") as lines:
        *few, most = [
            row for row in csv.DictReader(lines) if row["work"].startswith(start)
        ]
    return [*(row for row in few if float(row["ratio"]) < 1.0), most]


def speed(quoted):
    """The table of speed, from lines ``file | work | name | peer``: the benchmark, the
    beginning of what was measured, and what the README calls it and its peer."""
    rows = []
    for file, start, name, peer in (line.split(" | ") for line in quoted.splitlines()):
        for row in measured(file, start):
            ours, theirs, ratio = (float(row[k]) for k in ("okbook", "peer", "ratio"))
            shown = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
            shown = f"**{shown}**" if ratio > 1 else shown
            times = (quantity(seconds, "s", digits=2) for seconds in (ours, theirs))
            source = f"`benchmarks/{file}.py`"
            rows.append([name, f"{int(row['n']):,}", *times, peer, shown, source])
    head = ["work", "N", "okbook", "peer", "which is", "times faster", "measured by"]
    return markdown_table(head, rows, "lrrrlrl")


def truth():
    "The table of the ledger's totals."
    found = cells()
    total, said = count_outcomes(found), [cell.data for cell in found]
    rows = {
        "**printed cells**, all recomputed": f"**{total.cells}**",
        "within two deviations, by a lenient and by a strict rule": total.both,
        "by the lenient rule only: of the same size, but not the same": (
            total.lenient_only
        ),
        "reached by an accepted reading of the protocol": total.accepted,
        "outside, and explained by a stored experiment": total.explained,
        "outside, and out of reach of all methods on our splits": total.out_of_reach,
        "outside, and unexplained": total.unexplained,
        "printed with a deviation too wide to tell": total.cannot_tell,
        "*measured on the source's own data*": said.count("own"),
        "*on its own with gaps*": said.count("gaps"),
        "*on stand-ins*": said.count("stand-in"),
    }
    return markdown_table(["results that the sources print", "cells"], rows.items())


def gallery():
    "The pictures, three a row, each a link to its page."
    shown = [
        f'<td align="center"><a href="nbs/{page}.ipynb"><picture><source '
        f'media="(prefers-color-scheme: dark)" srcset="book/readme/{page}-dark.svg">'
        f'<img width="270" src="book/readme/{page}.svg" alt="{what}"></picture>'
        f"<br>{what}</a></td>"
        for page, what in GALLERY.items()
    ]
    rows = ["<tr>", *shown[:3], "</tr>", "<tr>", *shown[3:], "</tr>"]
    return "\n".join(["<table>", *rows, "</table>"])


# Pictures


def code_cells(page):
    "The cells of a page up to its first figure, which is the last."
    found = []
    for cell in json.loads((ROOT / "nbs" / f"{page}.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            found.append("".join(cell["source"]))
            if "figure" in cell["metadata"].get("mystnb", {}):
                return found
    raise ValueError(f"{page} has no figure")


def _style(dark):
    matplotlib.rcdefaults()
    plt.style.use(STYLE)
    matplotlib.rcParams.update({"svg.hashsalt": "okbook", "font.size": 9.5})
    matplotlib.rcParams.update(DARK if dark else {})


def draw_gallery(page):
    "The figure of a page of the gallery, light and dark."
    *before, last = code_cells(page)
    space = {"__name__": "__main__"}
    with contextlib.chdir(ROOT / "nbs"), contextlib.redirect_stdout(io.StringIO()):
        for code in before:
            exec(compile(code, page, "exec"), space)
        for dark in (False, True):
            _style(dark)
            exec(compile(last, page, "exec"), space)
            yield dark, plt.gcf()
            plt.close("all")


def draw_idea():
    "Clocks, their weights for one query in three methods, and the weighted sums."
    (X, hours), (queries, found) = landing.examples(), landing.computed()
    query = queries[landing.START]
    face = np.linspace(0, 2 * np.pi, 60)
    circle = np.column_stack([np.sin(face), np.cos(face)])
    for dark in (False, True):
        _style(dark)
        ink, faint = ("#d0d7de", "#8b949e") if dark else ("#24292f", "#8c959f")
        fig, ax = plt.subplots(figsize=(6.6, 3.1))
        ax.set(xlim=(-0.34, 1.42), ylim=(-3.15, 1.0))
        ax.axis("off")
        ax.plot([query, query], [-3.05, 0.95], color="C1", lw=1.2, zorder=0)
        ax.text(query, 1.02, "$x$", color="C1", ha="center")
        write = partial(ax.text, va="center", color=ink)

        def disc(centre, scale, point, color, lw):
            size = scale * np.array([0.03, 0.151])  # of a unit disc, on this canvas
            tip = centre + size * point
            ax.plot(*(centre + size * circle).T, color=faint, lw=0.8)
            ax.plot(*np.transpose([centre, tip]), color=color, lw=lw)
            return tip

        for i, (x, hour) in enumerate(zip(X.ravel(), hours)):
            hand = landing.places([hour])[0]
            disc((x, 0.35 + 0.32 * (i % 2)), 0.9, hand, ink, 1.4)
        write(-0.06, 0.5, "training\noutputs $y_i$", ha="right")
        for k, name in enumerate(("tree", "forest", "ridge")):
            W, sums, predicted = found[name]
            base, w = -0.95 - 1.0 * k, W[landing.START]
            ax.bar(X.ravel(), 2.4 * w, 0.03, bottom=base, color="C0", lw=0)
            ax.plot([0, 1], [base, base], color=faint, lw=0.6)
            write(-0.06, base + 0.2, f"{name}:\n$w_i(x)$", ha="right")
            tip = disc((1.12, base + 0.35), 2.9, sums[landing.START], "C1", 1.8)
            ax.plot(*tip, "o", color="C1", markersize=4)
            hour = landing.clock(predicted[landing.START])
            write(1.25, base + 0.35, hour, weight="bold")
        write(1.2, 0.5, r"$\sum_i w_i(x)\,\phi(y_i)$", ha="center")
        yield dark, fig
        plt.close("all")


def file(name, dark):
    return FOLDER / f"{name}{'-dark' if dark else ''}.svg"


def draw_pictures():
    "Draw all, light and dark."
    FOLDER.mkdir(exist_ok=True)
    for name in ("idea", *GALLERY):
        for dark, figure in draw_idea() if name == "idea" else draw_gallery(name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                figure.savefig(file(name, dark), metadata={"Date": None})
        print(f"{name} is drawn")


if __name__ == "__main__":
    draw_pictures()
