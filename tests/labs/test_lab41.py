"""Lab 41: 69 kernels of proteins against brute force, the stored tables, and that no
test class is ever learnt from."""

from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest
from lab_tools import TABLES, corrected_by_hand, stored_whole
from page_text import shown
from sklearn.metrics import f1_score
from sklearn.svm import SVC
from sklearn.utils import Bunch

from okbook.core import is_psd
from okbook.labs import mkl_protein_localisation as lab
from okbook.mkl import make_regularizer, standardize_gram
from okbook.tables import read_cells, read_paper

LETTERS = lab.AMINO_ACIDS


@pytest.fixture(scope="module")
def proteins():
    """Forty made-up proteins of three kinds, some of them shorter than a region, a
    few with unknown residues."""
    rng = np.random.default_rng(0)
    greasy, plain = list("AILMFVWLLA"), list(LETTERS)
    made = []
    for i in range(40):
        start = rng.choice([greasy, plain, list("DEKRNQSTGP")][i % 3], 20)
        made.append("M" + "".join([*start, *rng.choice(plain, rng.integers(1, 90))]))
    made[3], made[4], made[5] = made[3][:8] + "X" + made[3][9:], "MK", "MXXX"
    return made


@pytest.fixture(scope="module")
def task(proteins):
    "The 69 kernels of the made-up proteins."
    rng = np.random.default_rng(1)
    y = np.arange(40) % 3
    logs = rng.normal(3.0, 2.0, size=(40, 40)) + 2.0 * np.equal.outer(y, y)
    bits = rng.gamma(1.0, 50.0, size=(40, 9)) * (1 + y[:, None])
    names, kernels = zip(*lab.protein_kernels(proteins, logs, bits))
    return Bunch(
        names=list(names),
        kernels=np.array(kernels, dtype=np.float32),
        y=y,
        score=partial(f1_score, average="macro"),
    )


@pytest.fixture
def small(monkeypatch, task):
    "The protocol on the made-up proteins; a function that sets their classes."
    here = Bunch(**task)
    monkeypatch.setattr(lab, "load_task", lambda dataset: here)
    monkeypatch.setattr(lab, "LAMS", lab.LAMS[::3])
    split = {trial: lab.parts(task.y, trial) for trial in range(2)}
    monkeypatch.setattr(lab, "parts", lambda y, trial: split[trial])
    lab.run_trial.cache_clear()

    def set_classes(y):
        here.y = y
        lab.run_trial.cache_clear()

    yield set_classes
    lab.run_trial.cache_clear()


def plain_words(sequence, pattern):
    marks = [i for i, mark in enumerate(pattern) if mark == "x"]
    found = Counter()
    for place in range(len(sequence) - len(pattern) + 1):
        word = "".join(sequence[place + i] for i in marks)
        if all(letter in LETTERS for letter in word):
            found[word] += 1
    return found


def test_patterns_are_a_first_place_and_any_subset_of_the_next_four():
    expected = {("x" + "".join(rest)).rstrip(".") for rest in product("x.", repeat=4)}
    assert set(lab.PATTERNS) == expected and len(lab.PATTERNS) == 16
    assert len(lab.REGIONS) == 4 and len(lab.KERNELS) == len(set(lab.KERNELS)) == 69


@pytest.mark.parametrize("pattern", ["x", "x.x", "x..xx", "xxxxx"])
@pytest.mark.parametrize("region", lab.REGIONS)
def test_motifs_against_brute_force(proteins, pattern, region):
    part = {
        "whole": lambda s: s,
        "first 15": lambda s: s[:15],
        "first 60": lambda s: s[:60],
        "last 15": lambda s: s[-15:],
    }
    found = [plain_words(part[region](protein), pattern) for protein in proteins]
    counts = lab.motif_counts(proteins, pattern, lab.REGIONS[region])
    assert (
        counts.shape == (40, 20 ** pattern.count("x")) and counts.has_canonical_format
    )
    for row, words in enumerate(found):
        for word, count in words.items():
            number = sum(LETTERS.index(letter) * 20**k for k, letter in enumerate(word))
            assert counts[row, number] == count
        assert counts[[row]].sum() == sum(words.values())
    K = lab.motif_gram(counts)
    for i, j in product(range(0, 40, 3), range(0, 40, 7)):
        p, q = found[i], found[j]
        total = max(sum(p.values()), 1) * max(sum(q.values()), 1)
        assert K[i, j] == pytest.approx(
            sum((p[w] * q[w]) ** 0.5 for w in p) / total**0.5, abs=1e-12
        )


def test_all_kernels_are_kernels(task):
    assert task.names == lab.KERNELS and task.kernels.shape == (69, 40, 40)
    assert all(is_psd(K.astype(float), tol=1e-5) for K in task.kernels)


@pytest.mark.parametrize(
    "dataset", ["plant", "psortneg 777", "psortpos"]
)  # the last one is kept for the slices
def test_kernels_of_the_data(require_dataset, dataset):
    require_dataset(lab.DATASETS[dataset][0])
    n, classes = {"psortpos": (541, 4), "plant": (940, 4), "psortneg 777": (777, 3)}[
        dataset
    ]
    task = lab.load_task(dataset)
    assert (
        task.names == lab.KERNELS
        and task.kernels.shape == (69, n, n)
        and len(set(task.y)) == classes
    )
    for m in (0, 12, 16, 50, 64, 65, 66, 67, 68):
        np.testing.assert_array_equal(task.kernels[m], task.kernels[m].T)
        np.linalg.cholesky(
            task.kernels[m].astype(float) + 1e-6 * np.trace(task.kernels[m]) * np.eye(n)
        )
    assert 0 <= task.kernels[:64].min() and task.kernels[:64].max() <= 1 + 1e-6


def test_standardized_looks_at_the_learning_part_only(task):
    learn, rows = np.arange(30), np.arange(30, 40)
    K = task.kernels[3].astype(float)
    gram = lab.standardized(K, learn, learn, learn)
    np.testing.assert_allclose(gram, standardize_gram(K[:30, :30]), atol=1e-12)
    assert np.trace(gram) == pytest.approx(30)
    np.testing.assert_allclose(gram.sum(axis=0), 0, atol=1e-10)
    other = K.copy()
    other[30:, 30:] = 7.0
    np.testing.assert_array_equal(
        lab.standardized(other, learn, rows, learn),
        lab.standardized(K, learn, rows, learn),
    )


def test_pairs_are_balanced(task):
    at = lab.parts(task.y, 0)
    problems, units, simple = lab.prepare(task, at, 0)
    for part, problem in problems.items():
        n = np.bincount(task.y[at[part]])
        assert problem.n == len(at[part]) and problem.n_pairs == (n * (n + 1)).sum()
        assert (problem.t > 0).sum() == (problem.t < 0).sum()
        assert len(np.unique(problem.pairs)) == problem.n_pairs
    again = lab.prepare(task, at, 0)[0]
    np.testing.assert_array_equal(problems["held"].Z, again["held"].Z)
    assert units.keys() == simple.keys() == {"fit", "train"} and simple[
        "fit"
    ].keys() == set(lab.BASELINES)


def test_units_and_combination(task):
    "Raw kernels with weights over units are the weighted standardised kernels."
    at = lab.parts(task.y, 1)
    units = lab.prepare(task, at, 1)[1]["train"]
    weights = np.random.default_rng(0).exponential(size=69) * (np.arange(69) % 3 == 0)
    K = np.tensordot(weights / units, task.kernels, 1)
    terms = [
        w * lab.standardized(k, at["train"], at["test"], at["train"])
        for w, k in zip(weights, task.kernels)
    ]
    one = lab.standardized(K, at["train"], at["test"], at["train"])
    np.testing.assert_allclose(one, sum(terms) / sum(weights), atol=1e-5)


def test_the_second_stage_is_scikit_learns_machine(task):
    "eq-mkl-2"
    at = lab.parts(task.y, 0)
    units = np.array(
        [lab.gram_moments(K[np.ix_(at["train"], at["train"])])[1] for K in task.kernels]
    )
    scores = lab.machine_scores(task, 1 / units, at["train"], at["test"], [1.0])
    gram = (
        sum(
            standardize_gram(K[np.ix_(at["train"], at["train"])].astype(float))
            for K in task.kernels
        )
        / 69
    )
    cross = (
        sum(
            lab.standardized(K, at["train"], at["test"], at["train"])
            for K in task.kernels
        )
        / 69
    )
    machine = SVC(kernel="precomputed").fit(gram, task.y[at["train"]])
    assert scores[0] == f1_score(
        task.y[at["test"]], machine.predict(cross), average="macro"
    )


def test_no_test_class_is_learnt_from(small, task):
    "Turn the test classes around: the weights, lam and C stay."
    before = lab.run_trial("plant", 0)  # a set without the ten times longer run
    y = task.y.copy()
    test = lab.parts(y, 0)["test"]
    y[test] = (y[test] + 1) % 3
    small(y)
    after = lab.run_trial("plant", 0)
    for row in lab.TABLE.rows:
        np.testing.assert_array_equal(before[row]["share"], after[row]["share"])
        assert before[row]["C"] == after[row]["C"] and before[row].get("lam") == after[
            row
        ].get("lam")
    assert any(before[row]["score"] != after[row]["score"] for row in lab.TABLE.rows)


def test_lam_is_chosen_by_the_held_loss(small):
    found = lab.run_trial("psortpos", 1)
    for row in lab.METHODS:
        assert found[row]["lam"] == pytest.approx(
            np.log10(lab.LAMS[int(np.argmin(found[row]["path loss"]))])
        )
        assert len(found[row]["path kernels"]) == len(lab.LAMS)
        assert found[row]["kernels"] == np.count_nonzero(found[row]["share"])
        assert found[row]["share"].min() >= 0 and found[row][
            "share"
        ].sum() == pytest.approx(1)


def test_printed_numbers():
    paper = read_paper(TABLES / "mkl-table1")
    assert len(paper) == 24 and {row for row, _ in paper} == set(lab.REGULARIZERS)
    assert {column for _, column in paper} < set(lab.TABLE.columns)
    assert [paper[row, "psortpos kernels"] for row in lab.REGULARIZERS] == [
        (69, 0),
        (34, 22),
        (48, 26),
        (31, 21),
    ]
    assert [paper[row, "plant score"][0] for row in lab.REGULARIZERS] == [
        88.3,
        85.6,
        85.5,
        87.4,
    ]


def test_what_the_page_says():
    """Scores on psortPos are the paper's; the optimum is sparse, the gradient's
    answer is not."""
    stored, paper = read_cells(TABLES / "mkl-table1"), read_paper(TABLES / "mkl-table1")

    def mean(row, column):
        return np.mean([stored[row, column, trial][0] for trial in range(10)])

    for row in lab.REGULARIZERS:
        value, sd = paper[row, "psortpos score"]
        assert (
            abs(mean(f"{row} certified", "psortpos score") - value)
            < sd
            > abs(mean(row, "psortpos score") - value)
        )
    for dataset in lab.SETS:
        for row in ("R1", "R2Q", "R1Q"):
            assert (
                mean(f"{row} certified", f"{dataset} kernels")
                < 35
                < 45
                < mean(row, f"{dataset} kernels")
            )
        assert mean("uniform", f"{dataset} score") < mean(
            "R2Q certified", f"{dataset} score"
        )


def test_numbers_of_kernels_at_other_gaps():
    "A gap of a thousandth is enough, one of a hundredth is not."
    why = stored_whole(lab.WHY)
    page = (TABLES.parent / "nbs/41_protein_localisation.ipynb").read_text()
    wide, enough = [
        [
            abs(np.mean(why[row, f"{d}: {gap}"] - why[row, f"{d}: gap 1e-5"]))
            for row in lab.CERTIFIED[:4]
            for d in lab.SETS
        ]
        for gap in ("gap 1e-2", "gap 1e-3")
    ]
    assert max(enough) < 1 and "differ by less than one kernel" in page
    counts = [
        np.mean(why[r, f"{d}: gap 1e-5"]) for r in lab.CERTIFIED[:4] for d in lab.SETS
    ]
    assert (
        16.5 < min(counts)
        and max(counts) < 62.5
        and "of seventeen to sixty-two" in page
    )
    assert 5.5 < max(wide) < 6.5 and "differs by up to six kernels" in page


@pytest.fixture(scope="module")
def page():
    "The text of the page, from the stored tables."
    return shown("41_protein_localisation", vars(lab))


def test_descend_is_the_printed_update(task):
    "eq-mklsolve-sgd, one step at a time in plain Python."
    at = lab.parts(task.y, 0)
    problem = lab.prepare(task, at, 0)[0]["train"]
    term, lam, lengths = (
        make_regularizer("l1", problem.correlations_),
        0.05,
        1 / np.sqrt(np.arange(1.0, 200)),
    )
    mu = [0.0] * problem.n_kernels
    for length, q in zip(
        lengths, np.random.default_rng(7).integers(0, problem.n_pairs, len(lengths))
    ):
        z, t = problem.Z[q].astype(float), float(problem.t[q])
        short = t * sum(m * x for m, x in zip(mu, z)) < 1
        mu = [
            max(0.0, m - length * (lam / 2 - (t * x if short else 0.0)))
            for m, x in zip(mu, z)
        ]
    np.testing.assert_allclose(
        lab.descend(problem, term, lam, lengths, 7), mu, rtol=1e-4, atol=1e-6
    )


def test_steps_of_a_trial(small):
    found = lab.run_steps.__wrapped__(0, n_steps=300)
    assert found.keys() == lab.STEP_LAMS.keys()
    for measured in found.values():
        assert {
            f"{rule}: {what}"
            for rule in lab.STEP_RULES
            for what in ("kernels", "excess")
        } < measured.keys()
        assert all(
            measured[f"{rule}: excess"] > -0.02 for rule in lab.STEP_RULES
        )  # no objective is below the least
        assert 0 < measured["optimum"] <= 69


def test_what_the_page_says_of_steps(page):
    found = stored_whole(lab.STEPS_TABLE)
    more = np.array(
        [
            [
                found[f"{rule}: kernels", step] - found["optimum", step]
                for step in lab.STEP_LAMS
            ]
            for rule in lab.STEP_RULES
        ]
    )
    word = "has more kernels" if more.min() > 0 else "does not always have more kernels"
    assert (
        f"the gradient {word} than the optimum, in all {more[0].size} runs of each "
        f"rule by {more.min():+.0f}" in page
    )
    differ = [corrected_by_hand(one, 0.25) for one in more[0] - more[1]]
    said = ", ".join(f"{mean:+.1f} ± {half:.1f}" for mean, half, _ in differ)
    assert f"first and of the second rule is {said} (corrected" in page
    sure = sum(p < 0.05 for _, _, p in differ)
    how_many = {3: "at all three values", 0: "at none of the values"}.get(
        sure, f"at {sure} of three values"
    )
    assert f"it is significant {how_many} of" in page


def test_conclusions_are_those_of_the_stored_numbers(page):
    """The last section: numbers of kernels, their scatter, and gains against the
    plain sum, read from ours.csv."""
    main, why = stored_whole(lab.TABLE), stored_whole(lab.WHY)
    sparse = ("R1", "R2Q", "R1Q")
    for suffix in (" certified", ""):
        means = [
            ", ".join(f"{main[r + suffix, f'{d} kernels'].mean():.0f}" for r in sparse)
            for d in lab.SETS
        ]
        assert all(mean in page for mean in means)
    own = np.mean(
        [
            main[f"{row} certified", f"{d} kernels"].std(ddof=1)
            for d in lab.SETS
            for row in sparse
        ]
    )
    paper = read_paper(TABLES / "mkl-table1")
    printed = np.mean(
        [paper[row, f"{d} kernels"][1] for d in lab.SETS for row in sparse]
    )
    assert own < printed / 3 and f"Those at the optimum are {own:.0f}, and" in page
    page = " ".join(page.split())
    assert f"standard deviations are {printed:.0f} kernels on average" in page
    for row in sparse:
        assert (
            np.mean(why[row, "psortpos: ten times"] - why[row, "psortpos: optimum"])
            > 20
        )
    tests = [
        corrected_by_hand(
            main[f"{row} certified", f"{d} score"] - main["uniform", f"{d} score"], 0.25
        )
        for row in lab.REGULARIZERS
        for d in lab.DATASETS
    ]
    sure = sum(p < 0.05 and mean > 0 for mean, _, p in tests)
    assert f"{sure} of the {len(tests)} individual gains" in page
    gains = [
        np.mean(
            [
                main[f"{row} certified", f"{d} score"] - main["uniform", f"{d} score"]
                for d in lab.SETS
            ]
        )
        for row in lab.REGULARIZERS
    ]
    assert (
        min(gains) > np.ptp(gains)
        and f"gain {', '.join(f'{gain:+.1f}' for gain in gains)} points" in page
    )


# Kernels of which half are noise


def test_doubles_are_the_same_values_dealt_out_anew():
    X = np.random.default_rng(0).normal(size=(30, 6))
    both, kernels = lab.with_noise(X, 3, np.random.default_rng(1))
    assert both.shape == (30, 12) and [columns for _, columns in kernels] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]
    np.testing.assert_allclose(both[:, :6], (X - X.mean(axis=0)) / X.std(axis=0))
    for start in (0, 3):
        rows, doubles = (
            sorted(map(tuple, both[:, first : first + 3]))
            for first in (start, start + 6)
        )
        assert rows == doubles  # whole rows of a block move together
        assert not np.array_equal(both[:, start], both[:, start + 6])


def test_rivals_count_what_they_use():
    found = lab.run_rival("wine", "uniform", 0, n=60)
    assert (
        found["kernels"] == 26
        and found["noise"] == 13
        and 50 < found["accuracy"] <= 100
    )
    assert lab.run_rival("wine", "best kernel", 0, n=60)["kernels"] == 1
    losses, worthless = lab.noise_path("l2", 0, n=60)
    assert (
        len(losses) == len(worthless) > 5
        and losses[0] > losses[-1]
        and worthless.max() <= 30
    )


def test_what_the_page_on_machines_says():
    text = shown(
        "04_mkl_3_machines",
        {"NAMES": lab.TERMS},
        lambda source: "rivals" in source or "lab.NOISY_SETS" in source,
    )
    found = stored_whole(lab.RIVALS_TABLE)
    free, fee = ("l2", "l2-corr"), ("l1", "l1-corr", "sparse-corr")
    for draw in range(lab.RIVALS_TABLE.repeats):
        first = {name: found[name, "path: start"][draw] for name in lab.TERMS}
        assert min(first[name] for name in free) > max(first[name] for name in fee)
    accuracy = {
        row: np.mean(
            [found[row, f"{name}: accuracy"] for name in lab.NOISY_SETS], axis=0
        )
        for row in lab.RIVALS
    }
    learnt = [row for row in lab.RIVALS if row not in ("uniform", "best kernel")]
    tests = [
        corrected_by_hand(accuracy[row] - accuracy["uniform"], 1.0) for row in learnt
    ]
    assert (
        f"{sum(p < 0.05 for _, _, p in tests)} of {len(tests)} differences are "
        f"beyond chance" in text
    )
    apart = sum(
        corrected_by_hand(accuracy[name] - accuracy["sparse-corr"], 1.0)[2] < 0.05
        for name in lab.TERMS
        if name != "sparse-corr"
    )
    assert (
        f"{f'{apart} of' if apart else 'none of'} the four others can be told apart"
        in text
    )
