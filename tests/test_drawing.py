"""The picture of predicted links: what is drawn, where, and what is refused."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from toy_network import network

from okbook.drawing import draw_links, draw_roc, strongest_links


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
