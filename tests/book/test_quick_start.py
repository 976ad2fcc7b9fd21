"""The pages for engineers: their cells run as they are printed, and what the text says
of their results is true."""

import contextlib
import io
import json
import logging
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from okbook_book import fingerprint
from okbook_book.project import ROOT

PAGES = sorted((ROOT / "nbs").glob("6*.ipynb"))


def run(page):
    "Execute the cells of a page in order: what they define, and what they print."
    cells = json.loads((ROOT / "nbs" / f"{page}.ipynb").read_text())["cells"]
    space, said = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), page, "exec"), space)
                plt.close("all")
    return space, said.getvalue()


@pytest.fixture(autouse=True)
def in_the_folder_of_the_pages(monkeypatch):
    monkeypatch.chdir(ROOT / "nbs")
    level = logging.getLogger("okbook").level
    logging.getLogger("okbook").setLevel(logging.ERROR)
    yield
    logging.getLogger("okbook").setLevel(level)


def numbers(pattern, text):
    return [float(value) for value in re.findall(pattern, text)]


def test_the_quick_start():
    space, said = run("60_quick_start")
    assert "one thousand seven hundred thirty-four" in said
    (right,) = numbers(r"right: ([\d.]+)%", said)
    assert right > 98
    shown = space["spelled"][:3]
    assert not {*shown} & {*space["words"][space["train"]]}  # as the text says
    (loss,) = numbers(r"before decoding: ([\d.]+)", said)
    assert 0 < loss < 0.4
    (steps,) = numbers(r"and truth: ([\d.]+)", said)
    assert steps < 1.5  # along a ring of forty towns, chance is at ten
    (score,) = numbers(r"score: ([\d.]+)", said)
    assert 0.2 < score < 1


def test_the_page_of_trouble():
    "Each remedy works, and the score and the error choose different kernels."
    _, said = run("63_trouble")
    found = re.findall(r"score +(\S+) +error after decoding (\S+)", said)
    scores, errors = ([float(v) for v in column] for column in zip(*found))
    assert scores.index(max(scores)) != errors.index(min(errors))
    (measured,) = numbers(r"as measured +(-?[\d.]+)", said)
    (scaled,) = numbers(r"scaled +(-?[\d.]+)", said)
    assert measured < 0 < 0.5 < scaled
    assert "ConvergenceWarning: " in said
    without, centred = numbers(r"error ([\d.]+) m", said)
    assert centred < without and said.count("at an end of the grid") == 1
    for remedy in ("'dirac' for labels", "make_psd", "y=np.arange(n)", "symmetric"):
        assert remedy in said


def test_the_baseline_that_wins():
    space, _ = run("61_choosing")
    ours, baseline = space["areas"].values()
    assert 0.9 < ours < baseline


def test_conventions_of_other_libraries():
    _, said = run("62_coming_from")
    assert max(numbers(r"difference of \w+: (\S+)", said)) < 1e-10
    assert "equal predictions: 100.0%, ratio of the weights: 2.000" in said
    assert said.count("True\n") == 2 and "product: 1\n" in said
    assert said.rstrip().count("distance:      0") == 1


def test_the_gallery_has_a_card_for_each_page():
    index = (ROOT / "nbs" / "64_gallery.md").read_text()
    contents = (ROOT / "_toc.yml").read_text()
    for page in (ROOT / "nbs").glob("64_gallery_*.ipynb"):
        first = "".join(json.loads(page.read_text())["cells"][0]["source"])
        label = re.match(r"\((gallery-[\w-]+)\)=\n# ", first)[1]
        assert f":link: {label}\n" in index and f"nbs/{page.stem}\n" in contents
        text = page.read_text()
        assert "**When not to use it.**" in text and '"caption"' in text
    assert {f"nbs/{page.stem}\n" in contents for page in PAGES} == {True}


def test_the_built_cards_have_pictures():
    built = ROOT / "_build" / "html"
    stamp, page = built / fingerprint.STAMP, built / "nbs" / "64_gallery.html"
    if not stamp.exists() or stamp.read_text().strip() != fingerprint.everything():
        pytest.skip("not built from these sources")
    cards = re.findall(r'<img[^>]*okb-thumbnail[^>]*src="[^"]+"', page.read_text())
    pictures = [re.search('src="(.+)"', card)[1] for card in cards]
    by_day = {p for c, p in zip(cards, pictures, strict=True) if "only-dark" not in c}
    assert len(by_day) == len([*(ROOT / "nbs").glob("64_gallery_*.ipynb")])
    assert all((page.parent / picture).exists() for picture in pictures)


def results(page, pattern):
    return numbers(pattern, run(page)[1])


def test_spelling_is_learnt_from_few():
    "By ridge regression, and not by trees; the libraries are equally good."
    _, said = run("64_gallery_1_spelling")
    lines = [numbers(r"([\d.]+)%", line) for line in said.splitlines()]
    ridge, their_ridge, trees, their_trees = lines
    assert all(line == sorted(line) for line in lines)
    for ours, theirs in ((ridge, their_ridge), (trees, their_trees)):
        assert max(abs(a - b) for a, b in zip(ours, theirs)) < 5
    assert ridge[0] > 70 and ridge[-1] > 98 and trees[-1] < 80


def test_the_kernel_decides_which_molecule():
    "The cosine before regression on bits, which is before Tanimoto."
    tanimoto, cosine, bits = results("64_gallery_2_molecules", r"first ([\d.]+)%")
    assert tanimoto < bits < cosine


def test_links_of_new_nodes():
    "One network each: the predictor wins, loses by a little, and loses."
    found = results("64_gallery_3_links", r"curve ([\d.]+)")
    groups, their_groups, places, their_places, names, their_names = found
    assert groups > their_groups + 0.01 and their_groups > 0.8
    assert their_places - 0.005 < places < their_places
    assert their_names - 0.03 < names < their_names


def test_labels_under_three_measures():
    space, _ = run("64_gallery_4_labels")
    (similar, whole, single), baseline = space["measures"].values()
    assert similar > baseline[0] and whole < baseline[1] and single < baseline[2]


def test_rankings():
    ours, baseline = results("64_gallery_5_rankings", r"correlation ([\d.]+)")
    assert ours > baseline > 0.6


def test_images_are_sharp_and_the_mean_is_not():
    _, said = run("64_gallery_6_images")
    (truth, ours, mean) = numbers(r"grey pixels ([\d.]+)%", said)
    assert abs(ours - truth) < 5 < mean - truth
    _, ours, mean = numbers(r"squared error ([\d.]+)", said)
    assert mean < ours


def test_a_method_of_ones_own():
    space, said = run("64_gallery_7_own_method")
    assert "['left']" in said
    ours, baseline = numbers(r"squared error ([\d.]+)", said)
    assert ours < 2 * baseline and baseline < 2 * ours


def test_the_norm_tells_what_is_right():
    _, said = run("64_gallery_8_uncertainty")
    found = re.findall(r"right: ([\d.]+)%, the surer half ([\d.]+)%", said)
    for everything, surer in found:
        assert float(surer) > float(everything) + 10
    assert len(found) == 2 and abs(float(found[0][1]) - float(found[1][1])) < 5


def test_weights_find_the_kernels_that_matter():
    space, _ = run("64_gallery_9_kernels")
    weights = space["models"]["TwoStageMKL"].weights_
    assert set(weights.argsort()[-2:]) == {5, 6} and weights[[5, 6]].sum() > 0.9 * (
        weights.sum()
    )
    found = space["accuracy"]
    assert found["SVC, one kernel"] >= found["TwoStageMKL"] > 0.8


def test_a_forest_as_a_kernel():
    space, _ = run("64_gallery_10_forest_kernel")
    machine, vote, scaled = space["accuracy"].values()
    assert abs(machine - vote) < 0.04 and scaled < vote


def test_a_forest_judges_itself():
    space, said = run("64_gallery_11_out_of_bag")
    gaps = [abs(a - b) for a, b in zip(space["out_of_bag"], space["held_out"])]
    assert max(gaps) < 0.05 and space["on_training"][0] < 0.5 * space["held_out"][0]
    best = int(np.argmin(space["out_of_bag"]))
    assert space["held_out"][best] < min(space["held_out"]) + 0.01
    ours, baseline = numbers(r"out-of-bag R2 ([\d.]+)", said)
    assert abs(ours - baseline) < 1e-4


def test_learning_curves_of_hours():
    space, _ = run("64_gallery_12_learning_curves")
    ridge, _, coordinates, naive = space["curves"].values()
    assert (abs(ridge - coordinates) < 0.06).all() and (naive > 2 * ridge).all()
    assert ridge[-1] < 0.8 * ridge[0]


def test_grid_search_on_a_gram_matrix():
    space, said = run("64_gallery_13_grid_search")
    ours, baseline = numbers(r"right ([\d.]+)%", said)
    assert abs(ours - baseline) < 2 and ours > 70
    assert space["scores"].min() < 0.5 < 0.7 < space["scores"].max()


def test_whole_sequences_are_legal():
    _, said = run("64_gallery_14_sequences")
    (ours, baseline) = numbers(r"wrong labels ([\d.]+)%", said)
    assert abs(ours - baseline) < 2
    legal = numbers(r"legal sequences ([\d.]+)%", said)
    assert legal[0] == 100 and legal[1] < 97


def test_a_cluster_grows_the_same_trees():
    _, said = run("64_gallery_15_dask")
    assert said.count("60 of 60 trees are the same") == 2


def test_a_saved_model_is_small_and_the_same():
    space, said = run("64_gallery_16_service")
    assert said.count("the same predictions: True") == 3
    ridge, ours, theirs = space["megabytes"].values()
    assert max(ridge[-1] / ridge[-3], ours[-1] / ours[-3]) < 5  # n, four times
    assert all(a < b for a, b in zip(ours, theirs))
