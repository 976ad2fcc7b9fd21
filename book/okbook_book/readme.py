"""What the README quotes and shows, computed again (``make readme``).

Between comments such as ``<!-- speed -->`` and ``<!-- end -->`` stand a table of
measured speed, the totals of the ledger, and pictures. The pictures in ``book/readme``
are the figure of the idea and figures of the gallery, drawn by the cells of its pages,
for a light and a dark background.
"""

import contextlib
import csv
import io
import json
import re
import warnings

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

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
DARK = {"figure.facecolor": "#0d1117", "axes.facecolor": "#0d1117"} | {
    key: "#d0d7de"
    for key in ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
}
DARK |= {"savefig.facecolor": "#0d1117", "axes.edgecolor": "#8b949e"}
DARK |= {"grid.color": "#30363d", "patch.edgecolor": "#8b949e"}
DARK["axes.prop_cycle"] = matplotlib.cycler(
    "color", ["56B4E9", "E69F00", "2FBF95", "CC79A7", "F0803C", "9AD3F5"]
)
# Of each row: the file and the beginning of the line that was measured, and what the
# README calls them.
SPEED = (
    (
        "trees",
        "100 extra-trees, full-rank Gram matrix; peer: N",
        "100 extra-trees",
        "scikit-learn",
    ),
    ("trees", "one tree, best splits", "one tree, best splits", "scikit-learn"),
    (
        "rkhs",
        "49 penalties, 5 folds, 10 draws of 101 labelled; peer: the same",
        "semi-supervised ridge, 49 penalties x 5 folds x 10 draws",
        "the printed formula",
    ),
    (
        "rkhs",
        "one fit, 400 queries",
        "ridge, one fit and 400 predictions",
        "SciPy's Cholesky",
    ),
    (
        "forest_kernel",
        "Gram matrix of 300 trees, from the inputs; the fastest",
        "Gram matrix of a forest",
        "quantile-forest",
    ),
    (
        "mkl",
        "l2, 93,528 pairs; peer: cvxpy",
        "weights of 69 kernels, certified",
        "cvxpy, Clarabel",
    ),
    ("mkl", "from 69 Gram matrices to weights; peer: EasyMKL", "the same", "EasyMKL"),
    (
        "ensembles",
        "AdaBoost, 200 stumps",
        "AdaBoost, the same 200 stumps",
        "scikit-learn",
    ),
    (
        "predict",
        "forest of 100 trees, leaves of 5, 10,000 queries",
        "forest of 100 trees, 10,000 predictions",
        "scikit-learn",
    ),
    (
        "predict",
        "forest of 100 trees, leaves of 5, one query",
        "the same, one prediction",
        "scikit-learn",
    ),
)
MARKED = re.compile(r"(<!-- (speed|truth|gallery) -->\n).*?(<!-- end -->)", re.S)


def _table(head, rows, aligned):
    lines = [head, [{"l": ":--", "r": "--:"}[a] for a in aligned], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured(file, start):
    """The lines of a benchmark that begin so, of which the last has the most examples:
    this one, and those where okbook loses."""
    with open(ROOT / "benchmarks" / f"{file}.csv", newline="") as lines:
        *few, most = [
            row for row in csv.DictReader(lines) if row["work"].startswith(start)
        ]
    return [*(row for row in few if float(row["ratio"]) < 1.0), most]


def speed():
    "The table of speed, one line for each comparison."
    rows = []
    found = [(*one, row) for one in SPEED for row in measured(*one[:2])]
    for file, _, work, peer, row in found:
        ours, theirs, ratio = (float(row[k]) for k in ("okbook", "peer", "ratio"))
        shown = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
        seconds = [
            f"{value:.2g}" if value < 10 else f"{value:,.0f}"
            for value in (ours, theirs)
        ]
        rows.append([work, f"{int(row['n']):,}", *(f"{s} s" for s in seconds), peer])
        rows[-1] += [f"**{shown}**" if ratio > 1 else shown, f"`benchmarks/{file}.py`"]
    head = ["work", "N", "okbook", "peer", "which is", "times faster", "measured by"]
    return _table(head, rows, "lrrrlrl")


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
    return _table(
        ["results that the sources print", "cells"],
        [[name, str(n)] for name, n in rows.items()],
        "lr",
    )


def gallery():
    "The pictures, three a row, each a link to its page."
    shown = [
        f'<a href="nbs/{page}.ipynb"><picture><source media="(prefers-color-scheme: '
        f'dark)" srcset="book/readme/{page}-dark.svg"><img width="270" '
        f'src="book/readme/{page}.svg" alt="{what}"></picture><br>{what}</a>'
        for page, what in GALLERY.items()
    ]
    rows = [shown[k : k + 3] for k in range(0, len(shown), 3)]
    cells = ["".join(f'<td align="center">{s}</td>\n' for s in row) for row in rows]
    return "<table>\n" + "".join(f"<tr>\n{c}</tr>\n" for c in cells) + "</table>"


def renewed(text):
    "A text whose marked parts are what the stored results say."
    parts = {"speed": speed, "truth": truth, "gallery": gallery}
    return MARKED.sub(lambda m: f"{m[1]}{parts[m[2]]()}\n{m[3]}", text)


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
    for dark in (False, True):
        _style(dark)
        ink, faint = ("#d0d7de", "#8b949e") if dark else ("#24292f", "#8c959f")
        fig, ax = plt.subplots(figsize=(6.6, 3.1))
        ax.set(xlim=(-0.34, 1.42), ylim=(-3.15, 1.0))
        ax.axis("off")
        ax.plot([query, query], [-3.05, 0.95], color="C1", lw=1.2, zorder=0)
        ax.text(query, 1.02, "$x$", color="C1", ha="center")
        wide, tall = 0.03, 0.151  # of a unit disc, on this canvas
        face = np.linspace(0, 2 * np.pi, 60)

        def disc(x, y, scale, point, color, lw):
            ax.plot(
                x + scale * wide * np.sin(face),
                y + scale * tall * np.cos(face),
                color=faint,
                lw=0.8,
            )
            east, north = scale * wide * point[0], scale * tall * point[1]
            ax.plot([x, x + east], [y, y + north], color=color, lw=lw)
            return x + east, y + north

        for i, (x, hour) in enumerate(zip(X.ravel(), hours)):
            disc(x, 0.35 + 0.32 * (i % 2), 0.9, landing.places([hour])[0], ink, 1.4)
        ax.text(
            -0.06, 0.5, "training\noutputs $y_i$", ha="right", va="center", color=ink
        )
        for k, name in enumerate(("tree", "forest", "ridge")):
            W, sums, predicted = found[name]
            base, w = -0.95 - 1.0 * k, W[landing.START]
            ax.bar(X.ravel(), 2.4 * w, 0.03, bottom=base, color="C0", lw=0)
            ax.plot([0, 1], [base, base], color=faint, lw=0.6)
            ax.text(
                -0.06,
                base + 0.2,
                f"{name}:\n$w_i(x)$",
                ha="right",
                va="center",
                color=ink,
            )
            tip = disc(1.12, base + 0.35, 2.9, sums[landing.START], "C1", 1.8)
            ax.plot(*tip, "o", color="C1", markersize=4)
            hour = landing.clock(predicted[landing.START])
            ax.text(1.25, base + 0.35, hour, va="center", color=ink, weight="bold")
        ax.text(
            1.2, 0.5, r"$\sum_i w_i(x)\,\phi(y_i)$", ha="center", va="center", color=ink
        )
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
    path = ROOT / "README.md"
    before = path.read_text(encoding="utf8")
    path.write_text(renewed(before), encoding="utf8")
    print(f"{path.name} is {'as it was' if renewed(before) == before else 'renewed'}")
    draw_pictures()
