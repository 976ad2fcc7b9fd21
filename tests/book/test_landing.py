"""The figure of the landing page shows the weights that the estimators compute."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from test_browser import DESK, PHONE, browser, view  # noqa: F401

from okbook_book import landing

ROOT = Path(__file__).parents[2]
X, HOURS = landing.examples()
QUERIES = np.linspace(0.0, 1.0, landing.N_QUERIES)[:, None]


def dense(W):
    return W.toarray() if hasattr(W, "toarray") else W


@pytest.fixture(scope="module")
def page():
    return landing.figure()._repr_mimebundle_()["text/html"]


@pytest.fixture(scope="module")
def fitted():
    return {name: e.fit(X, HOURS) for name, e in landing.estimators().items()}


def test_weights_in_the_page_are_those_of_the_estimators(page, fitted):
    film = json.loads(re.search(r"film = (\{.*\});", page)[1])["states"]["all"]
    assert len(film) == len(QUERIES)
    for k, estimator in enumerate(fitted.values()):
        W = dense(estimator.weights(QUERIES))
        shown = np.array([state[k][0] for state in film])
        assert np.abs(shown / 1000 - W).max() <= 0.000501
        # the sum is that of the predictor: its losses say how far away each output is
        sums = np.array([state[k][1:3] for state in film]) / landing.RADIUS
        gaps = (
            1
            + (sums**2).sum(axis=1, keepdims=True)
            - 2 * sums @ landing.places(HOURS).T
        )
        for i in (0, 7, 12):
            loss = estimator.losses(QUERIES, np.full(len(QUERIES), HOURS[i]))
            np.testing.assert_allclose(gaps[:, i], loss, atol=0.02)
        said = [state[k][3] for state in film]
        assert said == [landing.clock(hour) for hour in estimator.predict(QUERIES)]


def test_the_methods_are_what_the_text_says(fitted):
    W = {name: dense(e.weights(QUERIES)) for name, e in fitted.items()}
    for name in ("tree", "forest", "neighbours"):
        assert W[name].min() >= 0
        np.testing.assert_allclose(W[name].sum(axis=1), 1.0)
    for name in ("tree", "neighbours"):  # equal weight to some, none to the others
        largest = W[name].max(axis=1, keepdims=True)
        assert np.all(np.isclose(W[name], largest) | (W[name] == 0))
    assert W["ridge"].min() < -0.02
    trees = [dense(tree.weights(QUERIES)) for tree in fitted["forest"].estimators_]
    np.testing.assert_allclose(np.mean(trees, axis=0), W["forest"])
    noon = landing.places([11.0, 1.0]).mean(axis=0)
    np.testing.assert_allclose(noon / np.linalg.norm(noon), [0.0, 1.0], atol=1e-12)


def test_the_page_has_the_figure_before_the_idea():
    text = (ROOT / "nbs" / "index.md").read_text()
    figure = text.index("```{weights-figure}")
    assert figure < 500 and figure < text.index("(eq-index-idea)")
    assert text.count("class-card: door") == 3
    above, _ = text.split("## What the book contains")
    assert above.rindex("class-card: door") < above.index("{ledger}`all`")
    assert len(re.findall(r"\{(?:ref|doc)\}`|:link: ", above)) <= 25


def test_the_page_is_light_and_asks_nobody(page):
    assert len(page) < 60_000 and "http" not in page


BARS = """rows => rows.map(row => [...row.querySelectorAll("rect")].map(bar =>
    bar.getAttribute("height") * (bar.getAttribute("class") === "less" ? -1 : 1)))"""


@pytest.mark.browser
@pytest.mark.parametrize("size, scheme", [(PHONE, "dark"), (DESK, "light")])
def test_keys_and_pointer_move_the_query(browser, page, fitted, tmp_path, size, scheme):  # noqa: F811
    (tmp_path / "figure.html").write_text(
        f'<html data-theme="{scheme}"><meta charset="utf8">{page}'
    )
    W = np.array([dense(e.weights(QUERIES)) for e in fitted.values()])
    with view(browser, scheme, size) as context:
        tab = context.new_page()
        wrong = []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.goto((tmp_path / "figure.html").as_uri())
        slider, said = tab.locator("input[type=range]"), tab.locator("output")

        def check(q):
            bars = np.array(tab.eval_on_selector_all(".method", BARS)) / landing.SCALE
            np.testing.assert_allclose(bars, W[:, q], atol=0.00051)
            assert slider.get_attribute("aria-valuetext") == f"x = {q / 100:.2f}"
            for name, w in zip(fitted, W[:, q]):
                hour = landing.clock(fitted[name].predict(QUERIES[q : q + 1])[0])
                used = np.count_nonzero(np.rint(1000 * w))
                assert (
                    f"{name} {hour} ({used} weights, the largest {w.max():.3f})"
                    in said.inner_text()
                )

        check(landing.START)
        slider.focus()
        for key, q in {"Home": 0, "ArrowRight": 1, "End": 100, "ArrowLeft": 99}.items():
            tab.keyboard.press(key)
            check(q)
        tab.keyboard.press("Home")
        for q in range(1, landing.N_QUERIES):
            tab.keyboard.press("ArrowRight")
            if q % 7 == 0:
                check(q)
        box = tab.locator(".okb-movie > svg").bounding_box()
        unit = box["width"] / 360
        for q in (20, 60, 85):
            at = landing.LEFT + (landing.RIGHT - landing.LEFT) * q / 100
            tab.mouse.move(box["x"] + unit * at, box["y"] + 60 * unit)
            tab.mouse.down() if q == 20 else None
            check(q)
        tab.mouse.up()
        tab.mouse.move(box["x"] + 100, box["y"] + 60)
        check(85)  # only a pressed pointer drags
        assert unit * 13 > 11  # the text, in pixels
        assert not wrong
