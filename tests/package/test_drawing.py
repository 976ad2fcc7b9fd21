"""The picture of predicted links: what is drawn, where, and what is refused."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from toy_network import network

from okbook.drawing import (
    draw_links,
    draw_roc,
    moving_figure,
    stress_layout,
    strongest_links,
)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(ax):
    return {text.get_text(): text.get_position() for text in ax.texts}


def test_ends_have_names_and_a_sparse_network_is_drawn_alike():
    _, A, _ = network()
    links = strongest_links(np.random.default_rng(0).random((60, 60)), A == 0, 8)
    dense = texts(draw_links(A, links))
    assert set(dense) == {str(a) for a in links.ravel()}
    assert texts(draw_links(sp.csr_array(A), links)) == dense


@pytest.mark.parametrize("seed", range(4))
def test_names_do_not_overlap_and_lie_inside(seed):
    _, A, _ = network(seed)
    links = strongest_links(np.random.default_rng(seed).random((60, 60)), A == 0, 10)
    ax = draw_links(A, links, [f"Name_{i}" for i in range(60)])
    ax.figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    frame = ax.figure.bbox.padded(1)
    assert all(frame.contains(*corner) for box in boxes for corner in box.corners())


def test_parts_and_words():
    A = np.zeros((6, 6))
    right = draw_links(
        A,
        [[0, 1], [2, 3]],
        right=[True, False],
        new=[0],
        key={"wrong": "not yet", "old": None},
    )
    assert [text.get_text() for text in right.get_legend().get_texts()] == [
        "predicted, right",
        "not yet",
        "new node",
    ]
    styles = {line.get_linestyle() for line in right.lines}
    assert len(styles) == 2  # not by colour only
    fig, axes = plt.subplots(1, 2)
    assert draw_links(A, [[4, 5]], ax=axes[1]) is axes[1] and not axes[0].texts


def film(**changes):
    usual = dict(
        name="film",
        drawing="<circle/>",
        size=(99, 99),
        states={"one": [1, 2]},
        steps=["a", "b"],
        draw="return step;",
        label="A disc.",
        knob="radius",
    )
    return moving_figure(**{**usual, **changes})


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda A: draw_links(A, []), r"shape \(k, 2\), at least one"),
        (
            lambda A: draw_links(A, [[0, 1]], names=["one"]),
            "a name for each of the 3 nodes: got 1",
        ),
        (lambda A: draw_links(A, [[0, 1]], right=[True, False]), "each of the 1 links"),
        (lambda A: strongest_links(A, A[:2], 1), "square matrices of one shape"),
        (lambda A: strongest_links(A, A == 0, -1), "'k' parameter of strongest_links"),
        (lambda A: strongest_links(A, A == 0, 1.5), "'k' parameter of strongest_links"),
        (lambda A: strongest_links(A * np.nan, A == 0, 1), "NaN"),
        (
            lambda A: strongest_links(np.full((3, 3), "a"), A == 0, 1),
            "scores must hold",
        ),
        (
            lambda A: strongest_links(A, np.ma.array(A, mask=A == 0), 1),
            "masked entries",
        ),
        (lambda A: stress_layout(A, -1), "'n_steps' parameter of stress_layout"),
        (lambda A: stress_layout(A - 1), "D must hold distances: the least is -1"),
        (lambda A: stress_layout(A[:2]), "D must be square"),
        (lambda A: stress_layout(A * np.nan), "NaN"),
        (
            lambda A: draw_links(5, [[0, 1]]),
            r"adjacency must be a square .* shape \(\)",
        ),
        (
            lambda A: draw_links(A[:2], [[0, 1]]),
            r"adjacency must be a square .*\(2, 3\)",
        ),
        (lambda A: draw_links(A * np.nan, [[0, 1]]), "adjacency has 9 missing values"),
        (lambda A: draw_links(A, [[0, 3]]), "links must .* from 0 to 2: got 0 to 3"),
        (lambda A: draw_links(A, [[0, -1]]), "links must .* from 0 to 2: got -1 to 0"),
        (lambda A: draw_links(A, [[0, 0.5]]), "links must .* integers"),
        (lambda A: draw_links(A, [["a", "b"]]), "links must hold numbers"),
        (lambda A: draw_links(A, [[0, 1]], new=[7]), "new must .* from 0 to 2: got 7"),
        (lambda A: draw_links(A, [[0, 1]], n_around=-1), "'n_around' parameter"),
        (lambda A: draw_links(A, [[0, 1]], key={"odd": "x"}), "key must .*: got 'odd'"),
        (lambda A: draw_roc([], "a"), "curves must hold one pair"),
        (lambda A: draw_roc([([0, 1], [0, 1])], 5), "'label' parameter of draw_roc"),
        (lambda A: film(steps=5), "'steps' parameter of moving_figure"),
        (lambda A: film(start=2), "start must be one of the steps, 0 to 1: got 2"),
        (lambda A: film(states={"one": [1]}), "a state for each of the 2 steps"),
        (lambda A: film(name="a b"), "name must be made of letters"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.zeros((3, 3)))


def test_mean_curve_has_a_band():
    ax = draw_roc([([0, 0, 1], [0, 0.5, 1]), ([0, 1], [0, 1])], "one")
    draw_roc([([0, 0, 1], [0, 1, 1])], "two", ax, ls="--")
    assert [line.get_label() for line in ax.lines[1:]] == ["one, 0.625", "two, 1.000"]
    assert len(ax.collections) == 2
