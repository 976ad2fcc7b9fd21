"""The figures that move, one a chapter: at every step of the slider, on a phone and on
a desk, what is said is what is drawn, and what the package computes of it."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from test_browser import (  # noqa: F401
    HTML,
    address,
    browser,
    views,
)

from okbook.core import RBFKernel, feature_space_variance, output_kernel_loss
from okbook.ensembles import AdaBoost, RandomizedTreeClassifier, margins
from okbook.forest_kernel import separating_hyperplane
from okbook.mkl import PairProblem, make_regularizer, standardize_gram
from okbook.mkl.duality import dual_point, dual_value
from okbook.rkhs import OutputKernelRidge

FIGURES = {
    "00_core": "okb-movie-decoding",
    "00_core_1_predictor": "okb-movie-width",
    "01_trees": "okb-movie-splits",
    "02_rkhs": "okb-movie-ridge",
    "02_rkhs_2_semi_supervised": "okb-movie-spreading",
    "02_rkhs_4_links": "okb-movie-links",
    "03_forest_kernel": "okb-movie-forest",
    "03_forest_kernel_1_hyperplanes": "okb-movie-leaf",
    "04_mkl_1_duality": "okb-movie-lambda",
    "04_mkl_2_solvers": "okb-movie-path",
    "05_ensembles": "okb-movie-depth",
    "05_ensembles_3_margins": "okb-movie-margins",
}


def html_of(page):
    "The figure of a page."
    path = HTML / "nbs" / f"{page}.html"
    if not path.exists():
        pytest.skip(f"{page} is not built")
    name = FIGURES[page]
    return re.search(
        f'<div class="okb-movie" id="{name}">.*?</script></div>', text(path)
    )[0]


def text(path):
    return path.read_text(encoding="utf8").replace("\n", " ")


def film_of(page):
    return json.loads(re.search(r"film = (\{.*?\}); +const svg", html_of(page))[1])


@pytest.mark.parametrize("page", FIGURES)
def test_a_figure_is_light_offline_and_has_words(page):
    figure = html_of(page)
    assert len(figure) < 100_000
    assert "http" not in figure and 'role="img" aria-label="' in figure
    whole = text(HTML / "nbs" / f"{page}.html")
    caption = re.search(r'id="(fig-[\w-]+)">(?:(?!</figure>).)*' + FIGURES[page], whole)
    assert caption and whole.count(f'href="#{caption[1]}"') >= 2  # from the prose, too


def at_all_steps(tab, name, check):
    "Walk the slider of each series with the keys, and check each step."
    slider = tab.locator(f"#{name} input[type=range]")
    said = tab.locator(f"#{name} output")
    buttons = tab.locator(f"#{name} input[type=radio]")
    last = int(slider.get_attribute("max"))
    for k in range(max(buttons.count(), 1)):
        way = None
        if buttons.count():
            buttons.nth(k).check()
            way = buttons.nth(k).get_attribute("value")
        slider.focus()
        for step in range(last + 1):
            tab.keyboard.press("ArrowRight" if step else "Home")
            at, words = slider.get_attribute("aria-valuetext"), said.inner_text()
            assert words.lower().startswith(at.lower())
            check(way, step, words, at)


@pytest.fixture
def tabs(views, address, request):  # noqa: F811
    if not (HTML / "nbs" / f"{request.param}.html").exists():
        pytest.skip(f"{request.param} is not built")
    opened = [context.new_page() for context in views]
    for tab in opened:
        tab.wrong = []
        tab.on("pageerror", lambda error, tab=tab: tab.wrong.append(str(error)))
        tab.goto(address + f"nbs/{request.param}.html", wait_until="load")
    yield opened
    for tab in opened:
        assert not tab.wrong
        tab.close()


def attributes(tab, selector, *names):
    script = "(all, names) => all.map(e => names.map(name => e.getAttribute(name)))"
    return tab.eval_on_selector_all(selector, script, list(names))


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["00_core"], indirect=True)
def test_a_point_and_its_pre_image(tabs):
    "The ring of a word is as large as its weight, and the star is at the word."
    for tab in tabs:
        words = tab.eval_on_selector_all(
            "#okb-movie-decoding > svg > circle[r='3']",
            "all => all.map(e => [+e.getAttribute('cx'), +e.getAttribute('cy'), "
            "e.nextElementSibling.textContent])",
        )
        assert len(words) == 12

        def check(way, step, said, at):
            found = re.search(r"is (\w+), at the squared distance", said)[1]
            (star,), (cross,) = (
                attributes(tab, f"#okb-movie-decoding > svg > .{kind}", "transform")
                for kind in ("star", "cross")
            )
            x, y = map(float, re.findall(r"-?[\d.]+", star[0]))
            nearest = min(words, key=lambda word: abs(word[0] - x) + abs(word[1] - y))
            assert nearest[2] == found
            rings = attributes(
                tab, "#okb-movie-decoding > svg > .ring", "r", "cx", "cy"
            )
            r, *place = np.array(rings, dtype=float).T
            weights = np.where(r > 0, ((r - 5) / 13) ** 2, 0.0)
            stated = [float(w) for w in re.findall(r"\d\.\d\d(?= [a-z])", at)]
            np.testing.assert_allclose(weights[r > 0], stated, atol=0.011)
            drawn = list(map(float, re.findall(r"-?[\d.]+", cross[0])))
            np.testing.assert_allclose(drawn, np.array(place) @ weights, atol=0.6)

        at_all_steps(tab, "okb-movie-decoding", check)


def points(tab, selector):
    "The corners of curves, an array for each."
    curves = attributes(tab, selector, "points")
    numbers = [re.findall(r"-?[\d.]+", curve) for (curve,) in curves]
    return [np.array(each, dtype=float).reshape(-1, 2) for each in numbers]


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["00_core_1_predictor"], indirect=True)
def test_a_width_makes_a_loss(tabs):
    "The curves are losses of the kernel, and the ring is around the best output."
    four, errors, answers = [1.0, 2.0, 3.0, 10.0], np.arange(91) / 10, np.arange(111)
    for tab in tabs:
        found = []

        def check(way, step, said, at):
            kernel = RBFKernel(sigma=32 * (0.1 / 32) ** (step / 25))
            assert at == f"σ = {kernel.sigma:.2g}"
            most = output_kernel_loss([0.0], [9.0], kernel)
            cost = output_kernel_loss([0.0], [1.0], kernel) / most
            assert (
                abs(float(re.search(r"costs ([\d.]+) %", said)[1]) / 100 - cost) < 1e-3
            )
            upper, lower = points(tab, "#okb-movie-width > svg > .rbf")
            loss = 2 - 2 * kernel.gram(errors, [0.0])[:, 0]
            mean = 2 - 2 * kernel.gram(answers / 10, four).mean(axis=1)
            np.testing.assert_allclose(148 - upper[:, 1], 120 * loss / most, atol=0.12)
            np.testing.assert_allclose(332 - lower[:, 1], 120 * mean / most, atol=0.12)
            ((x, y),) = attributes(tab, "#okb-movie-width > svg > .best", "cx", "cy")
            found.append(int(said.removesuffix(".").split()[-1]))
            assert abs(float(x) - 46 - 340 * found[-1] / 11) < 0.01
            of_four = [output_kernel_loss(four, [y] * 4, kernel) for y in four]
            assert of_four[four.index(found[-1])] <= min(of_four) + 1e-12
            assert abs(332 - float(y) - 120 * min(of_four) / most) < 0.12
            if "equally good" not in said:
                best = float(re.search(r"numbers is ([\d.]+),", said)[1])
                assert mean[round(10 * best)] <= mean.min() + 1e-3

        at_all_steps(tab, "okb-movie-width", check)
        assert found == sorted(found, reverse=True) and set(found) == {1, 2, 3}


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["01_trees"], indirect=True)
def test_a_tree_splits_a_gram_matrix(tabs):
    "The variance that is said is that within the squares drawn."
    film = film_of("01_trees")["states"]
    packed = json.loads(re.search(r"packed = (\{.*?\})\[way\]", html_of("01_trees"))[1])
    grams = {}
    for way, signs in packed.items():
        K = np.eye(100)
        K[np.triu_indices(100, 1)] = [(ord(sign) - 48) / 60 for sign in signs]
        grams[way] = np.maximum(K, K.T)
    for tab in tabs:
        pictures = {}

        def check(way, step, said, at):
            state, K = film[way][step], grams[way]
            (path,) = attributes(tab, "#okb-movie-splits > svg > path", "d")
            squares = re.findall(r"M(\d+) \d+h(\d+)", path[0])
            blocks = [
                np.array(state["order"])[int(a) // 3 : (int(a) + int(b)) // 3]
                for a, b in squares
            ]
            assert sum(map(len, blocks)) == 100
            within = [len(b) * feature_space_variance(K[np.ix_(b, b)]) for b in blocks]
            assert f"{len(blocks)} lea" in said and way in said
            shown = float(re.search(r"leaves is ([\d.]+),", said)[1])
            assert abs(shown - sum(within) / 100) < 0.006  # entries are sixtieths
            (image,) = attributes(tab, "#okb-movie-splits image", "href")
            pictures[way, step] = image[0]

        at_all_steps(tab, "okb-movie-splits", check)
        assert len(set(pictures.values())) == len(pictures) == 14


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["02_rkhs"], indirect=True)
def test_a_ridge_moves(tabs):
    """The bars and the curve are those of kernel ridge regression, and the pre-images
    those of the package."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.random((300, 1)), axis=0)
    angle = 1.5 * np.pi * X[:, 0] + 0.05 * rng.standard_normal(300)
    side = np.where(rng.random(300) < 1 / 3, -1, 1)[:, None]
    X, Y = X[::5], (np.c_[np.cos(angle), np.sin(angle)] * side)[::5]
    times, figure = np.linspace(0.02, 0.98, 97)[:, None], "#okb-movie-ridge > svg >"
    for tab in tabs:
        upright = []

        def numbers(name):
            ((d,),) = attributes(tab, f"{figure} .{name}", "d")
            return np.array(re.findall(r"-?[\d.]+(?:e-\d+)?", d), dtype=float)

        def check(way, step, said, at):
            lam = 1e-4 * 10 ** (step / 3)
            assert abs(float(at.split()[-1]) / lam - 1) < 0.5
            counts = re.findall(r"(\d+) of", said)
            upright.append(int(counts[-1]))
            bars = numbers("stems").reshape(60, 3)
            weights = (128 - bars[:, 2]) / 200
            distances = X - X.T
            K = np.exp(-200 * distances**2) + lam * np.eye(60)
            expected = np.linalg.solve(K, np.exp(-200 * (X[:, 0] - 0.5) ** 2))
            np.testing.assert_allclose(weights, expected, atol=6e-4)
            many = (expected > expected.max() / 10).sum()
            assert f": {many} of the 60" in said
            assert f"sum to {expected.sum():.2f}" in said
            curve = (280 - numbers("curve").reshape(97, 2)[:, 1]) / 60
            K_times = np.exp(-200 * (times - X.T) ** 2)
            np.testing.assert_allclose(
                curve, K_times @ np.linalg.solve(K, Y[:, 1]), atol=0.006
            )
            if step % 7 == 0:
                model = OutputKernelRidge(
                    input_kernel_params={"gamma": 200},
                    lam=lam,
                    output_kernel="rbf",
                    output_kernel_params={"sigma": 0.5},
                ).fit(X, Y)
                new = np.linspace(0.02, 0.98, 25)[:, None]
                truth = 1.5 * np.pi * new
                found = model.predict(new)
                gaps = np.linalg.norm(
                    found - np.c_[np.cos(truth), np.sin(truth)], axis=1
                )
                assert upright[-1] == (gaps < 0.3).sum()
                crosses = numbers("found").reshape(25, -1)[:, 1] + 4
                np.testing.assert_allclose(
                    (280 - crosses) / 60, found[:, 1], atol=0.006
                )

        at_all_steps(tab, "okb-movie-ridge", check)
        assert upright[0] < upright[-1] == 25


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["02_rkhs_2_semi_supervised"], indirect=True)
def test_labels_spread(tabs):
    for tab in tabs:
        right, near = [], []

        def check(way, step, said, at):
            dots = attributes(
                tab, "#okb-movie-spreading > svg > rect", "class", "fill-opacity"
            )
            assert len(dots) == 600
            if way == "predicted arms":
                first = sum(kind == "one" for kind, _ in dots)
                assert f"{first} of all 600" in said
                right.append(int(re.search(r"(\d+) of the 590", said)[1]))
            else:
                shades = np.rint([99 * float(shade) for _, shade in dots])
                near.append(int(re.search(r"(\d+) other points", said)[1]))
                # shades are rounded down to parts of 99
                assert (shades >= 10).sum() <= near[-1] + 1 <= (shades >= 9).sum()

        at_all_steps(tab, "okb-movie-spreading", check)
        assert right[0] < 450 < 580 < max(right) and right[-1] < max(right)
        assert near == sorted(near) and near[-1] == 599


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["02_rkhs_4_links"], indirect=True)
def test_a_threshold_moves(tabs):
    "As many links are drawn as are counted, and the dot is at their F1."
    for tab in tabs:
        f1 = {}

        def lines(name):
            ((d,),) = attributes(tab, f"#okb-movie-links > svg > path.{name}", "d")
            return re.findall(r"M[^M]+", d or "")

        def check(way, step, said, at):
            numbers = r"^(\d+) links .*: (\d+) are right, (\d+) wrong, and (\d+)"
            many, *told = map(int, re.match(numbers, said).groups())
            drawn = [lines(name) for name in ("right", "wrong", "missed")]
            assert many == 50 * (step + 1) and [*map(len, drawn)] == told
            right, wrong, missed = told
            assert right + wrong == many and right + missed == 487
            assert not set(drawn[0]) & set(drawn[2]) and len(set(sum(drawn, []))) == (
                many + missed
            )
            ((x, y),) = attributes(tab, "#okb-movie-links > svg > circle", "cx", "cy")
            assert abs(float(x) - 46 - 320 * many / 1200) < 0.01
            value = 2 * right / (many + 487)
            assert abs((444 - float(y)) / 100 - value) < 6e-4
            ahead = {
                "precision": right / many,
                "recall": right / 487,
                "f1": value,
            }
            for name, expected in ahead.items():
                corner = re.findall(r"[\d.]+", "".join(lines(name)))[2 * step + 1]
                assert abs((444 - float(corner)) / 100 - expected) < 6e-4
            chosen, reached = re.search(
                r"predicts (\d+) .*= ([\d.]+)\.$", said
            ).groups()
            mark = re.findall(r"[\d.]+", lines("chosen")[0])[0]
            assert abs(float(mark) - 46 - 320 * int(chosen) / 1200) < 0.01
            f1.setdefault(way, {float(reached)}).add(round(value, 2))

        at_all_steps(tab, "okb-movie-links", check)
        assert len(f1) == 3 and all(
            min(found) < 0.2 < 0.5 < max(found) for found in f1.values()
        )


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["03_forest_kernel"], indirect=True)
def test_a_forest_grows(tabs):
    for tab in tabs:
        aligned = []

        def check(way, step, said, at):
            points = attributes(tab, "#okb-movie-forest > svg > .point", "fill-opacity")
            shares = [float(share) for (share,) in points]
            some = sum(share > 0 for share in shares)
            assert f"{some} of 149 points" in said
            assert f"in {len(set(shares))} different shades" in said
            trees = int(at.split()[0])
            counts = np.array(shares) * trees
            np.testing.assert_allclose(counts, counts.round(), atol=0.11)
            ((x, y),) = attributes(tab, "#okb-movie-forest .now", "cx", "cy")
            drawn = 0.25 + 0.2 * (350 - float(y)) / 100
            aligned.append(float(re.search(r"labels is ([\d.]+),", said)[1]))
            assert abs(drawn - aligned[-1]) < 0.001
            ((curve,),) = attributes(tab, "#okb-movie-forest > svg > .curve", "d")
            at_curve = re.findall(r"[\d.]+", curve)[2 * trees - 2 : 2 * trees]
            np.testing.assert_allclose(
                [float(x), float(y)], np.array(at_curve, dtype=float), atol=0.4
            )

        at_all_steps(tab, "okb-movie-forest", check)
        assert aligned[-1] > aligned[0] + 0.05


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["03_forest_kernel_1_hyperplanes"], indirect=True)
def test_a_leaf_moves(tabs):
    """A hyperplane separates the drawn examples if and only if this is said, the boxes
    have the colours of the numbers of the leaves, and ringed examples the same mean."""
    figure = "#okb-movie-leaf > svg"
    for tab in tabs:
        circles = attributes(tab, f"{figure} > .plus", "cx", "cy")
        crosses = attributes(tab, f"{figure} > .minus", "d")
        crosses = [re.findall(r"[\d.]+", d)[:2] for (d,) in crosses]
        places = np.vstack([np.array(circles, float), np.array(crosses, float) + 5])
        kinds, separated = np.repeat([1, -1], 8), []

        def check(way, step, said, at):
            ((width,),) = attributes(tab, f"{figure} > .leaf", "width")
            border = 6 + float(width)
            assert abs(float(width) - 220 * float(at.split()[-1])) < 1e-6

            def leaves(spots):
                (x, y), columns = spots.T, []
                columns += [x < 116, x >= 116, y >= 134, y < 134]
                columns += [(y >= 134) & (x < border), (y >= 134) & (x >= border)]
                return np.column_stack([*columns, y < 134]).astype(float)

            Z = leaves(places)
            inside = [int(Z[kinds == kind, 4].sum()) for kind in (1, -1)]
            told = re.search(r"holds (\w+) circles? and (\w+) cross", said).groups()
            assert [0 if word == "no" else int(word) for word in told] == inside
            separated.append(separating_hyperplane(Z, kinds) is not None)
            assert ("A hyperplane separates" in said) == separated[-1]
            assert separated[-1] == (inside == [4, 0])
            rings = attributes(tab, f"{figure} > .rings circle", "cx", "cy")
            assert bool(rings) != separated[-1]
            ringed = [np.abs(places - np.array(ring, float)).sum(1) for ring in rings]
            ringed = [int(gaps.argmin()) for gaps in ringed]
            assert not ringed or not np.any(kinds[ringed] @ Z[ringed])
            bars = attributes(tab, f"{figure} > .bar", "x", "width")
            bars = np.array(bars, dtype=float)
            numbers = bars[:, 1] / 20 * np.where(bars[:, 0] < 349.9, -1, 1)
            boxes = attributes(tab, f"{figure} .boxes rect", "x", "y", "width", "class")
            for x, y, width, kind in boxes:
                middle = np.array([[float(x) + float(width) / 2, float(y) + 55]])
                value = leaves(middle)[0] @ numbers
                assert abs(value) < 0.05 or (value > 0) == (kind == "plus")
            if separated[-1]:
                np.testing.assert_allclose(kinds * (Z @ numbers), 1, atol=0.05)

        at_all_steps(tab, "okb-movie-leaf", check)
        assert 3 < sum(separated) < 15
        # the picture itself can be dragged
        slider = tab.locator("#okb-movie-leaf input[type=range]")
        box = tab.locator(figure).bounding_box()
        tab.mouse.click(box["x"] + box["width"] * 226 / 400, box["y"] + 20)
        assert slider.input_value() == slider.get_attribute("max")


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["04_mkl_1_duality"], indirect=True)
def test_certificates_along_lambda(tabs):
    """Objective and bound of the equal weights are what the package computes of them,
    and the optimum lies between; the bars are weights of that objective."""
    wine = load_wine()
    X = scale(wine.data)[::2]
    grams = [
        standardize_gram(RBFKernel(sigma=1.0).gram(column[:, None])) for column in X.T
    ]
    problem = PairProblem(grams, wine.target[::2])
    figure = "#okb-movie-lambda > svg >"
    for tab in tabs:

        def check(way, step, said, at):
            lam = 2 * 200 ** (-step / 19)
            term = make_regularizer(way, problem.correlations_)
            assert at == f"λ = {lam:.2g}"
            numbers = re.findall(r"(\d\.\d+)[,.]? ", said.split(":")[1])
            equal, above, below, best = map(float, numbers[:4])
            (line,) = attributes(tab, f"{figure} .now", "d")
            x, *ends = map(float, re.findall(r"[\d.]+", line[0]))
            dot = attributes(tab, f"{figure} circle", "cx", "cy")[0]
            assert abs(x - 46 - 340 * step / 19) < 0.01 and float(dot[0]) == x
            drawn = (142 - np.array([*ends, float(dot[1])])) / 110
            np.testing.assert_allclose(drawn, [above, below, best], atol=0.001)
            assert below <= best <= above
            bars = attributes(tab, f"{figure} rect", "width")
            mu = np.array(bars, dtype=float).ravel() / 184
            assert f"{np.count_nonzero(mu)} of the 13" in said
            if step % 6 == 5:
                assert abs(problem.objective(mu, term, lam) - best) < 0.002
                same = problem.objective(np.full(13, equal), term, lam)
                assert abs(same - above) < 0.002
                point = dual_point(problem, np.full(13, equal))
                dual = max(dual_value(problem, term, lam, point), 0.0)
                assert abs(dual - below) < 0.03  # it is not smooth, and 0.30 is rounded

        at_all_steps(tab, "okb-movie-lambda", check)
        # the picture itself can be dragged
        slider = tab.locator("#okb-movie-lambda input[type=range]")
        box = tab.locator("#okb-movie-lambda > svg").bounding_box()
        tab.mouse.click(box["x"] + box["width"] * 386 / 400, box["y"] + 20)
        assert slider.input_value() == slider.get_attribute("max")
        tab.mouse.click(box["x"] + box["width"] * 46 / 400, box["y"] + 20)
        assert slider.input_value() == "0"


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["04_mkl_2_solvers"], indirect=True)
def test_weights_along_the_path(tabs):
    for tab in tabs:
        kernels = {}

        def check(way, step, said, at):
            bars = attributes(tab, "#okb-movie-path > svg > rect", "height")
            weights = (np.array(bars, dtype=float).ravel() / 100) ** 2
            found = int(re.search(r"(\d+) of 30 weights", said)[1])
            assert len(weights) == 30 and found == np.count_nonzero(weights)
            largest = [float(w) for w in re.findall(r"[a-z] (\d+\.\d\d)\b", said)]
            expected = np.sort(weights)[::-1][: len(largest)]
            np.testing.assert_allclose(largest, expected, atol=0.01)
            assert len(largest) == min(found, 3)
            assert float(re.search(r"gap is ([\d.e-]+) %", said)[1]) <= 0.1
            kernels.setdefault(way, []).append(found)

        at_all_steps(tab, "okb-movie-path", check)
        linear, quadratic = kernels.values()
        assert linear[0] == 0 and linear == sorted(linear)
        assert quadratic == sorted(quadratic, reverse=True)


def above_a_wave(X):
    return (X[:, 1] > 0.5 + 0.3 * np.sin(2 * np.pi * X[:, 0])).astype(int)


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["05_ensembles"], indirect=True)
def test_bias_and_variance_along_depth(tabs):
    """The dots are at the parts that are read out, and these and the map are what trees
    of the package answer after the 60 samples."""
    rng = np.random.default_rng(0)
    queries, samples, trees = rng.random((1500, 2)), [], {}
    for _ in range(60):
        X, flipped = rng.random((150, 2)), rng.random(150) < 0.1
        samples.append((X, above_a_wave(X) ^ flipped))
    cells = (np.indices((24, 24))[::-1].reshape(2, -1).T + 0.5) / 24
    for depth in (1, 4, None):
        learner = RandomizedTreeClassifier(max_depth=depth)
        trees[f"depth {depth}" if depth else "full depth"] = np.array(
            [
                learner.set_params(random_state=i).fit(*A).predict([*queries, *cells])
                for i, A in enumerate(samples)
            ]
        )
    for tab in tabs:

        def check(way, step, said, at):
            numbers = re.findall(r"\d\.\d{3}", said)
            error, noise, bias, plus, minus = map(float, numbers)
            assert noise == 0.1 and abs(noise + bias + plus - minus - error) < 0.0021
            dots = attributes(tab, "#okb-movie-depth > svg > circle", "cx", "cy")
            x, y = np.array(dots, dtype=float).T
            drawn = (278 - y) / 500
            np.testing.assert_allclose(drawn, [error, bias, plus, minus], atol=6e-4)
            assert set(x) == {236 + 24 * step}
            if way == "one tree" and at in trees:
                shares = trees[at].mean(axis=0)
                main = shares > 0.5
                wrong = main != above_a_wave(np.vstack([queries, cells]))
                expected = (
                    0.1 + 0.8 * (trees[at][:, :1500] != above_a_wave(queries)).mean()
                )
                assert abs(error - expected) < 6e-4
                assert abs(bias - 0.8 * wrong[:1500].mean()) < 6e-4
                assert f"wrong in {wrong[1500:].sum()} of the 576" in said
                tenths = np.ceil(np.round(10 * shares[1500:], 9))
                paths = attributes(
                    tab, "#okb-movie-depth .map:nth-of-type(7) path", "opacity", "d"
                )
                found = {round(float(o) / 0.06): d.count("M") for o, d in paths}
                assert found == {k: (tenths == k).sum() for k in set(tenths) - {0}}

        at_all_steps(tab, "okb-movie-depth", check)


@pytest.mark.browser
@pytest.mark.parametrize("tabs", ["05_ensembles_3_margins"], indirect=True)
def test_margins_move(tabs):
    "The dots of both panels are at the error, and the margins are those of the vote."
    digits = load_digits()
    odd = np.where(digits.target % 2, 1, -1)
    split = train_test_split(
        digits.data, odd, test_size=0.5, random_state=0, stratify=odd
    )
    votes = {
        t: AdaBoost(
            RandomizedTreeClassifier(max_depth=3), n_estimators=t, random_state=0
        ).fit(split[0], split[2])
        for t in (1, 5, 9)
    }
    for tab in tabs:

        def check(way, step, said, at):
            t = int(at.split()[1])
            wrong, everyone = map(int, re.findall(r"\d+", said)[1:3])
            (curve,) = points(tab, "#okb-movie-margins > svg > .now")
            upto = (330 - curve[:, 1]) / 140 * everyone
            np.testing.assert_allclose(upto[[50, 100]], [wrong, everyone], atol=0.4)
            lines = points(tab, "#okb-movie-margins > svg > :is(.training, .test)")
            errors = (128 - lines[way == "test examples"]) / 640
            dots = attributes(tab, "#okb-movie-margins > svg > .dot", "cy")
            above, below = (float(y) for (y,) in dots)
            assert abs(errors[t - 1, 1] - wrong / everyone) < 2e-4
            assert abs((128 - above) / 640 - wrong / everyone) < 1e-9
            assert abs((330 - below) / 140 - wrong / everyone) < 1e-9
            if t in votes:
                of_test = int(way == "test examples")
                found = margins(votes[t], split[of_test], split[2 + of_test])
                grid = np.linspace(-1, 1, 101) + 1e-9
                counts = (found <= grid[:, None]).sum(axis=1)
                np.testing.assert_allclose(upto, counts, atol=0.4)
                told = re.search(r"margin is ([−\d.]+), .* ([−\d.]+)\.$", said).groups()
                told = [float(number.replace("−", "-")) for number in told]
                expected = [found.min(), found.mean()]
                np.testing.assert_allclose(told, expected, atol=0.006)

        at_all_steps(tab, "okb-movie-margins", check)


SIZES = """texts => [...document.querySelectorAll(texts)].map(
  text => text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize)
)"""


@pytest.mark.browser
@pytest.mark.parametrize("tabs", FIGURES, indirect=True)
def test_a_figure_fits_a_phone(tabs, request):
    "At 375 pixels, with text of at least 11 pixels, and nothing sticks out."
    name = FIGURES[request.node.callspec.params["tabs"]]
    phone = tabs[0]
    phone.set_viewport_size({"width": 375, "height": 812})
    box = phone.locator(f"#{name} > svg").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 375
    assert min(phone.evaluate(SIZES, f"#{name} > svg text"), default=11) >= 11
