"""The figure of the landing page: one query, the same training examples, and the
weights that five methods give to them.

The directive ``{weights-figure}`` fits the package's estimators when the page is read,
and puts their ``weights`` into the page, in thousandths. The browser only draws them
(``static/landing.js``).
"""

import inspect
from pathlib import Path

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from okbook.core import OutputKernelKNN
from okbook.drawing import moving_figure
from okbook.ensembles import OutputKernelBoosting
from okbook.rkhs import OutputKernelRidge
from okbook.trees import OutputKernelRandomForest, OutputKernelTree

STATIC = Path(__file__).parents[1] / "static"
N_EXAMPLES, N_QUERIES, START = 16, 101, 57
LEFT, RIGHT, SCALE, TALL, RADIUS = 12, 292, 44, 47, 19  # of the drawing


def clock_kernel(a, b):
    "Hands of a clock: the cosine of the angle between them."
    return np.cos(np.pi / 6 * np.subtract.outer(np.asarray(a), np.asarray(b)))


def places(hours):
    "Where the hands point to: the feature map of the kernel."
    angle = np.pi / 6 * np.asarray(hours)
    return np.column_stack([np.sin(angle), np.cos(angle)])


def clock(hour):
    "What a hand shows, as hours and minutes."
    minutes = round(60 * float(hour)) % 720
    return f"{minutes // 60 or 12}:{minutes % 60:02d}"


def examples():
    "Inputs between 0 and 1, and hours: the hand passes twelve, and jumps once."
    rng = np.random.default_rng(3)
    x = (np.arange(N_EXAMPLES) + rng.uniform(0.25, 0.75, N_EXAMPLES)) / N_EXAMPLES
    hours = 9.0 + 5.0 * x + 3.0 * (x > 0.6) + 0.35 * rng.normal(size=N_EXAMPLES)
    return x[:, None], np.round(4.0 * hours) / 4.0 % 12.0


def estimators():
    "The five methods; each chooses among the quarters of an hour."
    common = {"output_kernel": clock_kernel, "candidates": np.arange(0.0, 12.0, 0.25)}
    return {
        "tree": OutputKernelTree(min_samples_leaf=3, **common),
        "forest": OutputKernelRandomForest(
            min_samples_leaf=2, random_state=0, **common
        ),
        "ridge": OutputKernelRidge(
            input_kernel_params={"sigma": 0.1}, lam=0.5, **common
        ),
        "neighbours": OutputKernelKNN(n_neighbors=4, **common),
        "boosting": OutputKernelBoosting(
            n_estimators=20,
            learning_rate=0.2,
            max_depth=2,
            min_samples_leaf=3,
            **common,
        ),
    }


def computed():
    "Queries, and for each method: weights, weighted sums of the outputs, predictions."
    (X, hours), queries = examples(), np.linspace(0.0, 1.0, N_QUERIES)[:, None]
    found = {}
    for name, estimator in estimators().items():
        W = estimator.fit(X, hours).weights(queries)
        W = W.toarray() if hasattr(W, "toarray") else np.asarray(W)
        found[name] = W, W @ places(hours), estimator.predict(queries)
    return queries.ravel(), found


def states(found):
    "What the browser draws for each query: a row for each method."
    return [
        [
            [
                np.rint(1000 * W[q]).astype(int).tolist(),
                *(RADIUS * point[q]).round(1).tolist(),
                clock(hour[q]),
            ]
            for W, point, hour in found.values()
        ]
        for q in range(N_QUERIES)
    ]


def _face(x, y, radius, hour):
    "A clock with one hand."
    east, north = radius * places([hour])[0]
    return (
        f'<circle class="face" cx="{x:.1f}" cy="{y}" r="{radius}"/><path class="hand" '
        f'd="M{x:.1f} {y}l{0.9 * east:.1f} {-0.9 * north:.1f}"/>'
    )


def _row(k, name, state, at):
    "The bars of one method, and the point that they predict in the disc."
    weights, east, north, hour = state
    base = 56 + TALL * (k + 1)
    bars = "".join(
        f'<rect class="{"less" if w < 0 else "more"}" x="{x - 4:.1f}" width="8" '
        f'y="{base - SCALE * max(w, 0) / 1000:.2f}" '
        f'height="{SCALE * abs(w) / 1000:.2f}"/>'
        for x, w in zip(at, weights)
    )
    disc = (
        f'<circle class="face" r="{RADIUS}"/><path class="noon" d="M0 -{RADIUS}v4"/>'
        f'<path class="sum" d="M0 0L{east} {-north}"/>'
        f'<circle class="point" cx="{east}" cy="{-north}" r="3.5"/>'
    )
    return (
        f'<g class="method"><path class="base" d="M{LEFT - 6} {base}H{RIGHT + 6}"/>'
        f'<text x="{LEFT - 6}" y="{base - 29}">{name}: <tspan>{hour}</tspan></text>'
        f'{bars}<g transform="translate(334,{base - 18})">{disc}</g></g>'
    )


def figure():
    "The figure, with all weights in it."
    queries, found = computed()
    film = states(found)
    X, hours = examples()
    at = LEFT + (RIGHT - LEFT) * X.ravel()
    query = LEFT + (RIGHT - LEFT) * queries[START]
    height = 56 + TALL * len(found) + 8
    drawing = (
        "".join(
            _face(x, 28 + 18 * (i % 2), 8, h) for i, (x, h) in enumerate(zip(at, hours))
        )
        + "".join(
            _row(k, name, state, at)
            for k, (name, state) in enumerate(zip(found, film[START]))
        )
        + f'<g class="query" transform="translate({query:.1f},0)">'
        f'<path d="M0 16V{height}"/><circle cy="9" r="8"/><text y="13">x</text></g>'
    )
    return moving_figure(
        "okb-movie-weights",
        drawing,
        (360, height),
        states={"all": film},
        steps=[f"x = {x:.2f}" for x in queries],
        draw=(STATIC / "landing.js").read_text(encoding="utf8"),
        label="Sixteen clocks on a line, and below them a row of bars for each of five "
        "methods: the weights of the examples for the query x. At the end of a row, "
        "the weighted sum of the hands in a disc. The text below gives the numbers.",
        knob="the query x",
        legend={
            "training example": '<circle class="face" cx="24" cy="8" r="7"/>'
            '<path class="hand" d="M24 8l4-5"/>',
            "positive weight": '<rect class="more" x="20" width="8" height="16"/>',
            "negative weight": '<rect class="less" x="20" y="4" width="8" height="8"/>',
            "weighted sum of the hands": '<path class="sum" d="M10 8H36"/>'
            '<circle class="point" cx="36" cy="8" r="3.5"/>',
        },
        style=(STATIC / "landing-figure.css").read_text(encoding="utf8"),
        start=START,
        drag=(LEFT, RIGHT),
    )


class WeightsFigure(SphinxDirective):
    "The figure that a reader can drag."

    def run(self):
        made_of = [type(e) for e in estimators().values()] + [moving_figure]
        for path in [__file__, *map(inspect.getsourcefile, made_of)]:
            self.env.note_dependency(str(path))
        for name in ("landing.js", "landing-figure.css"):
            self.env.note_dependency(str(STATIC / name))
        shown = figure()._repr_mimebundle_()
        return [
            nodes.raw("", shown["text/html"], format="html"),
            nodes.raw("", shown["text/plain"], format="latex"),
        ]


def setup(app):
    app.add_directive("weights-figure", WeightsFigure)
