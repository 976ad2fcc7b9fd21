"""A forest in place of an expensive kernel, beside Nyström's approximation: ``python
benchmarks/expensive_kernel.py --store``.

The kernel counts the common walks of two graphs with labelled nodes; its code is that
of the page ``nbs/01_trees_6_lookup.ipynb``, one cell of which is run here. 200 graphs
are known, and the kernel is wanted for all pairs of 100 new ones. For each method the
number of kernel values that a new graph costs, the root of the mean squared error over
pairs of new graphs, and the seconds of the processor for these pairs, descriptions
included. Nothing here gates a test. With ``--store`` the figures go to
``benchmarks/expensive_kernel.csv``, which the page shows.
"""

import argparse
import csv
import json
from pathlib import Path
from time import process_time

import numpy as np

# first: it sets the number of threads before numpy is there
# isort: skip
from measure import timed

from okbook.core import normalize_gram
from okbook.trees import OutputKernelBagging

PAGE = Path(__file__).parents[1] / "nbs/01_trees_6_lookup.ipynb"
FIELDS = ("method", "evaluations", "rms error", "seconds")


def functions_of_the_page():
    "The kernel, the graphs and their descriptions, as the page defines them."
    cells = json.loads(PAGE.read_text(encoding="utf8"))["cells"]
    source = next(
        "".join(cell["source"])
        for cell in cells
        if "def walk_kernel" in "".join(cell["source"])
    )
    names = {"np": np}
    exec(source.partition("\ngraphs = ")[0], names)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--known", type=int, default=200)
    parser.add_argument("--new", type=int, default=100)
    options = parser.parse_args()
    page = functions_of_the_page()
    gram_of, describe = page["gram_of"], page["describe"]
    graphs = page["random_graphs"](options.known + options.new, seed=1)
    old, new = graphs[: options.known], graphs[options.known :]
    pairs = np.triu_indices(len(new), 1)
    norms = np.sqrt([page["walk_kernel"](g, g) for g in graphs])
    K = gram_of(old) / np.outer(norms[: len(old)], norms[: len(old)])
    cross = gram_of(new, old) / np.outer(norms[len(old) :], norms[: len(old)])
    seconds, exact = timed(lambda: normalize_gram(gram_of(new)), process_time)
    each = seconds / len(pairs[0])  # of one value of the kernel
    rows = [("the kernel itself", len(new), 0.0, seconds)]

    def rms(approximation):
        return float(np.sqrt(np.mean((approximation - exact)[pairs] ** 2)))

    forest = OutputKernelBagging(
        "precomputed", n_estimators=200, oob_score=True, random_state=0
    ).fit(np.array([describe(g) for g in old]), K)
    s, Q = np.linalg.eigh(K)
    table = forest.contributions(Q * np.sqrt(np.maximum(s, 0.0)))

    def by_forest():
        points = forest.activations(np.array([describe(g) for g in new])) @ table
        return points @ points.T

    seconds, found = timed(by_forest, process_time)
    rows.append(("forest", 0, rms(found), seconds))
    bound = 2.0 * np.sqrt(forest.oob_loss_)
    rows.append(("bound from out-of-bag losses", 0, bound, np.nan))
    rows.append(("their mean", 0, rms(np.full_like(exact, K.mean())), np.nan))
    order = np.random.default_rng(0).permutation(len(old))
    for m in (1, 2, 5, 10, 20, 50):
        marks = order[:m]

        def project(marks=marks):
            inverse = np.linalg.pinv(K[np.ix_(marks, marks)], hermitian=True)
            return cross[:, marks] @ inverse @ cross[:, marks].T

        seconds, found = timed(project, process_time)
        seconds += len(new) * (m + 1) * each  # and the norm of each new graph
        rows.append((f"Nyström, {m} landmarks", m, rms(found), seconds))
    for row in rows:
        print(*row)
    if options.store:
        path = Path(__file__).with_suffix(".csv")
        with open(path, "w", newline="", encoding="utf8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            writer.writerows(rows)


if __name__ == "__main__":
    main()
