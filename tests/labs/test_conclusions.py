"""What the labs conclude in words that are typed, read against the tables that they
name; and sentences that a table has refuted, which no page may say again."""

import csv
import re
from itertools import product

import numpy as np
import pytest
from lab_tools import TABLES, corrected_by_hand, holm_by_hand, stored
from scipy.stats import wilcoxon

from okbook.labs.common import holm, sign_flip_test
from okbook.tables import read_paper
from okbook_book.project import notebooks

MKL = ("R2", "R1", "R2Q", "R1Q")
SETS = ("psortpos", "psortneg", "plant")
STOPPED = "balanced; from 0; own steps; pair 1e-2; each trial; not 0"
FORMS = ("labels, twice", "labels, diffused", "links")
FIG = "rrsn-figure1"
NEAR = "balanced; from 0; own steps; 20000 steps; within 1 %; not 0"


@pytest.fixture(scope="module")
def pages():
    "All that the pages and the notes of the ledger say, on one line each."
    said = {}
    for path, nb in notebooks():
        text = " ".join("".join(cell["source"]) for cell in nb["cells"])
        said[path.stem] = " ".join(re.sub(r'"\s+f?"', "", text).split())
    for path in TABLES.glob("*/ledger.toml"):
        said[f"{path.parent.name}/ledger"] = " ".join(path.read_text().split())
    return said


def printed(table):
    return read_paper(TABLES / table)


def away(values, value, sd=None, n_printed=None):
    "Distance in printed deviations, or in those of a difference of means."
    if sd is None:
        sd = values.std(ddof=1) * np.sqrt(1 / len(values) + 1 / n_printed)
    return (values.mean() - value) / sd


def classes_below():
    "Classes of psortNeg below the printed score less two deviations, row by row."
    found, asked = stored("mkl-table1-classes"), printed("mkl-table1")
    names = list(dict.fromkeys(column for _, column in found))
    return {
        row: {
            name
            for name in names
            if found[row, name].mean()
            < asked[row, "psortneg score"][0] - 2 * asked[row, "psortneg score"][1]
        }
        for row in MKL
    }


def periplasm_and_extracellular_fall_short():
    below = classes_below().values()
    always = set.intersection(*below)
    assert always == {"periplasm", "extracellular"}
    assert not any("outer membrane" in names for names in below)


def both_readings_lower_most_scores():
    main, full = stored("mkl-table1"), stored("mkl-table1-readings-ten")
    for name in (STOPPED, NEAR):
        lower = sum(
            full[row, f"{data} score: {name}"].mean()
            < main[row, f"{data} score"].mean()
            for row, data in product(MKL, SETS)
        )
        assert lower > 6
        for row, data in product(MKL, SETS):  # and reach all numbers of kernels
            value, sd = printed("mkl-table1")[row, f"{data} kernels"]
            mean = full[row, f"{data} kernels: {name}"].mean()
            assert abs(mean - value) <= 2 * sd or (sd == 0 and round(mean) == value)


def ten_of_twelve_scores():
    "The reading that the ledger shows lowers ten of the twelve."
    main, full = stored("mkl-table1"), stored("mkl-table1-readings-ten")
    lower = [
        full[row, f"{data} score: {STOPPED}"].mean() < main[row, f"{data} score"].mean()
        for row, data in product(MKL, SETS)
    ]
    assert sum(lower) == 10 and len(lower) == 12


def one_accepted_reading_has_one_change():
    found = stored("ok3-figure2-readings")
    accepted = {
        key for key, areas in found.items() if abs(away(areas, 0.845, None, 10)) <= 2
    }
    changes = {
        key: ("links of one pathway" in key[0], "24 genomes" in key[0])
        for key in accepted
        if "five types" not in key[0]
    }
    assert (False, True) in changes.values() and (True, True) in changes.values()
    assert all(genomes for _, genomes in changes.values())
    main = "known network, K = p, n_min = 5"
    both = found[f"links of one pathway, 24 genomes for fungi, {main}", "predicted"]
    assert 0.80 < both.mean() < 0.82 < 0.845


def equal_weights_move_pima_out():
    asked, main = printed("forest-table1"), stored("forest-table1-mkl")
    equal = stored("forest-table1-mkl-why")
    rows = [row for row, column in asked if column == "MKL"]
    far = {
        row: [
            abs(away(values, asked[row, "MKL"][0], None, 20)) > 2
            for values in (main[row, "MKL"], equal[row, "equal weights"])
        ]
        for row in rows
    }
    assert [row for row in rows if far[row] == [False, True]] == ["Pima"]
    assert all(not after for before, after in far.values() if before)
    one = [equal[row, "one Gaussian"] for row in rows]
    assert all(
        abs(away(v, asked[row, "MKL"][0], None, 20)) <= 2 for row, v in zip(rows, one)
    )


def no_attribute_brings_both_inside():
    found, asked = stored("forest-table1-attributes"), printed("forest-table1")
    near = {
        method: {
            k
            for k in range(1, 15)
            if abs(
                away(
                    found["Australian", f"{method}, without {k}"],
                    asked["Australian", method][0],
                    None,
                    20,
                )
            )
            <= 2
        }
        for method in ("vote", "SVM+forest")
    }
    assert near["vote"] == {8} and 8 not in near["SVM+forest"]


def other_splits_move_two_cells_in():
    found, main = stored("forest-table1-measures"), stored("forest-table1")
    asked = printed("forest-table1")

    def inside(values, row):
        return int(abs(away(values, asked[row, "SVM+forest"][0], None, 20)) <= 2)

    moved = {}
    for (row, column), values in found.items():
        method, experiment = column.split(", ")
        if method == "SVM+forest":
            before = inside(main[row, method], row)
            moved.setdefault(experiment, []).append(inside(values, row) - before)
    assert sum(moved["other splits"]) == 2 and min(moved["other splits"]) == 0
    assert max(moved["all rows"]) == 0 and moved["validation"].count(1) == 2


def no_suspicion_is_confirmed():
    found, asked = stored("rrsn-table1-experiments"), printed("rrsn-table1")
    for (row, column), values in found.items():
        method = row.split(":")[0]
        if "roc" in column:
            assert away(values, *asked[method, column]) < -2


def known_point_leads_in_one_table_only():
    found, main = stored("rrsn-table2-scores"), stored("rrsn-table2")
    for area in ("auc-roc", "auc-pr"):
        best = max(main[row, area].mean() for row, column in main if column == area)
        assert found["RRSN, cosine with the known point", area].mean() > best
    other, plain = stored("rrsn-table3-scores"), stored("rrsn-table3")
    for method, (rate, area) in product(
        ("supervised", "semi-supervised"), product((5, 10, 20), ("auc-roc", "auc-pr"))
    ):
        column = f"{area} {rate}"
        score = other[f"{method}, cosine with the known point", column]
        assert score.mean() < plain[method, column].mean()


def stochastic_gradients_fail_for_r1():
    found = stored("mkl-table1-gaps")

    def ahead(one, other, *passes):
        return {
            (term, lam)
            for term, lam in product(("R2", "R1", "R1+R2Q"), ("10^-2", "10^-3"))
            if all(
                np.median(found[f"{term}: {one}", f"{lam}: gap at {n}"])
                < np.median(found[f"{term}: {other}", f"{lam}: gap at {n}"])
                for n in passes
            )
        }

    everywhere = ahead("newton", "svrg", 30)
    assert len(everywhere) == 6
    assert everywhere - ahead("averaged", "decreasing", 100) == {("R1", "10^-3")}
    later = everywhere - ahead("svrg", "averaged", 10, 30, 100)
    assert later == {("R1", "10^-2"), ("R1", "10^-3")}
    stopped = {
        (term, lam)
        for term, lam in everywhere
        if all(
            np.median(found[f"{term}: {one}", f"{lam}: gap at 30"]) <= 1e-5
            for one in ("newton", "svrg")
        )
    }
    assert stopped == everywhere - later


def powers_change_kernels_and_not_accuracy():
    found = stored("mkl-table1-norms")
    rows = [*(f"p = {p}" for p in ("1", "1.1", "1.5", "2", "4", "16")), "groups"]
    means = [found[row, "accuracy"].mean() for row in rows]
    assert max(means) - min(means) < 1 and rows[int(np.argmax(means))] == "p = 1.5"

    def size(row, other, column):
        d = found[row, column] - found[other, column]
        return d.mean() / (d.std(ddof=1) / np.sqrt(len(d)))

    assert size("p = 1.5", "p = 1", "accuracy") > 2
    assert size("p = 1.5", "p = 16", "accuracy") <= 2
    for column, counts in (("kernels", 2), ("noise", 3)):
        steps = [size(b, a, column) for a, b in zip(rows[:5], rows[1:6])]
        assert min(steps) > 0 and sum(step > 2 for step in steps) == counts
    kept, noise = found["groups", "groups"], found["groups", "noise groups"]
    assert noise.mean() < kept.mean()
    assert -2 < size("groups", "p = 1", "accuracy") < 0


def rows_that_are_determined_agree():
    found, asked = stored("ok3-table1"), printed("ok3-table1")
    for row, size in product(("Base", "Lower bound", "k-NN"), ("200", "800")):
        assert abs(found[row, size].mean() - asked[row, size][0]) < 1.01e-4


def gains(row, other, others="rrsn-figure1"):
    "Mean gains of the area under the ROC curve, by rate and density."
    main = stored("rrsn-figure1") | stored("rrsn-figure1-sensitivity")
    return {
        rate: [
            np.mean(
                main[row, f"auc-roc {d} {rate}"] - main[other, f"auc-roc {d} {rate}"]
            )
            for d in ("0.01", "0.02", "0.03")
        ]
        for rate in (5, 10, 20)
    }


def wide_grids_harm_two_networks():
    found = gains("semi-supervised", "supervised")
    for rate in (5, 10):
        assert max(found[rate][:2]) < -0.02 < 0 < found[rate][2] < 0.02


def the_pattern_of_the_source_appears():
    for row, other in (
        ("semi-supervised, beta2 on the grid of beta", "supervised"),
        ("semi-supervised, shared parameters", "supervised, shared parameters"),
    ):
        found = gains(row, other)
        assert min(found[5]) > 0.01 and max(found[5]) == found[5][2]
        assert max(map(abs, found[20])) < 0.01


def the_mean_brings_most_of_the_gain():
    with_mean = gains("semi-supervised, beta2 on the grid of beta", "supervised")[5]
    centred = gains("supervised, centred", "supervised")[5]
    assert sum(centred) > 0.5 * sum(with_mean)


def other_kernels_for_other_losses():
    found = stored("ok3-output-kernels")
    means = {key: values.mean() for key, values in found.items()}
    best = min(means[row, "digit"] for row, loss in means if loss == "digit")
    assert means["by the loss", "digit"] <= 1.05 * best
    assert means["by own score", "digit"] == max(
        value for (_, loss), value in means.items() if loss == "digit"
    )


def the_learnt_operator_harms():
    found = stored("rrsn-operators")
    for name in ("synthetic", "authors", "proteins"):
        means = [
            np.mean([v.mean() for (row, _), v in found.items() if row == wanted])
            for wanted in (f"{name}, learnt", f"{name}, identity")
        ]
        assert means[0] < means[1] - 2


def one_experiment_explains_pkernel_and_none_em():
    main, other = stored("rrsn-table2"), stored("rrsn-table2-experiments")

    def inside(values, name, area):
        value, sd = printed("rrsn-table2")[name, area]
        return abs(values.mean() - value) <= 2 * sd

    def moved(row, name):
        areas = ("auc-roc", "auc-pr")
        return [
            (inside(main[name, a], name, a), inside(other[row, a], name, a))
            for a in areas
        ]

    assert moved("Pkernel, sampled pairs", "Pkernel") == [(True, True), (False, True)]
    assert moved("em, normalised Laplacian", "em") == [(True, False), (False, True)]
    for node in ("known", "new"):
        assert not moved(f"Pkernel, ranks by the {node} node", "Pkernel")[1][1]


def propagation_is_as_good_on_the_proteins_only():
    found = stored("rrsn-propagation")
    columns = list(dict.fromkeys(column for _, column in found))
    ridges = {
        "synthetic": {
            (how, c): 100 * v
            for (how, column), v in stored("rrsn-figure1").items()
            if (c := column.replace(" 0.01 ", " ")) in columns
        },
        "authors": stored("rrsn-table1"),
        "proteins": stored("rrsn-table3"),
    }
    for name, ridge in ridges.items():
        for how in ("supervised", "semi-supervised"):
            gaps = [
                (found[f"{name}, labels, diffused", c] - ridge[how, c]).mean()
                for c in columns
            ]
            if name == "proteins":
                assert np.mean(gaps) > -1.5
            else:
                assert np.mean(gaps) < -2


def tuning_and_other_splits_explain_three_cells():
    "The single changes of the vote and the machine, cell by cell."
    asked, main = printed("forest-table1"), stored("forest-table1")
    tuned, other = stored("forest-table1-tried"), stored("forest-table1-measures")
    methods = ("vote", "SVM+forest")

    def far(values, row, method, sd):
        n = len(values)
        return abs(values.mean() - asked[row, method][0]) > 2 * sd * np.sqrt(
            1 / n + 1 / 20
        )

    found = {}
    for row, method in product(dict.fromkeys(row for row, _ in main), methods):
        sd = main[row, method].std(ddof=1)
        default, best = (
            far(tuned[row, f"{method}, {how}"], row, method, sd)
            for how in ("1 x default", "by out-of-bag error")
        )
        if default != best:
            found.setdefault(("tuned", method), []).append((row, bool(default)))
        new = other[row, f"{method}, other splits"]
        before = far(main[row, method], row, method, sd)
        if before and not far(new, row, method, new.std(ddof=1)):
            found.setdefault(("splits", method), []).append(row)
    assert found == {
        ("tuned", "vote"): [("Chess", True)],  # from outside to inside
        ("splits", "SVM+forest"): ["Liver", "Wdbc"],
    }


def none_of_the_four_moves_more_votes_in_than_out():
    found, main = stored("forest-table1-measures"), stored("forest-table1")
    asked = printed("forest-table1")
    for measure in ("other splits", "together", "validation", "all rows"):
        moved = [
            int(abs(away(new, asked[row, "vote"][0], None, 20)) <= 2)
            - int(abs(away(main[row, "vote"], asked[row, "vote"][0], None, 20)) <= 2)
            for (row, column), new in found.items()
            if column == f"vote, {measure}"
        ]
        assert len(moved) == 12 and moved.count(1) <= moved.count(-1)


def one_rule_fits_both_sizes_and_pruning_explains_neither():
    stopped, pruned = stored("ok3-table1-stopping"), stored("ok3-table1-pruning")
    asked = printed("ok3-table1")

    def apart(values, size):
        return abs(away(values, *asked["OK3 single tree", size]))

    rules = {rule for rule, _ in stopped}
    fit = {
        r for r in rules if all(apart(stopped[r, n], n) <= 1 for n in ("200", "800"))
    }
    assert len(rules) == 6 and len(fit) == 3
    for size, ratio, helps in (("200", 4, False), ("800", 1 / 4, True)):
        whole, cut = pruned["unpruned", size], pruned["pruned", size]
        assert apart(whole, size) <= 2  # there is nothing to bring inside
        mean, half, _ = corrected_by_hand(whole - cut, ratio)
        assert mean > 0 and (mean > half) == helps


def genomes_raise_the_area_and_links_are_no_effect():
    areas = stored("ok3-figure2-paired")
    every, along = "all links", "links of one pathway"
    profiles = ("32 fungi", "24 genomes")
    links = [areas[along, name] - areas[every, name] for name in profiles]
    genomes = [
        areas[row, profiles[1]] - areas[row, profiles[0]] for row in (every, along)
    ]
    for change, effect in ((links, False), (genomes, True)):
        mean, half, _ = corrected_by_hand(np.mean(change, axis=0), 0)
        assert mean > 0 and (mean > half) == effect


def rivals_help_and_ridge_regression_is_as_good():
    margins, main = stored("ok3-table1-structured"), stored("ok3-table1")
    blind, machine, seam = (
        margins[name, "200"]
        for name in (
            "margin without a search",
            "structured SVM",
            "structured SVM, seam",
        )
    )
    ridge = main["KDE RBF", "200"]
    assert (machine < blind).all() and machine.mean() > ridge.mean()
    assert 3 <= (seam < machine).sum() < 5
    mean, half, _ = corrected_by_hand(seam - ridge, 0)
    assert abs(mean) < half


def sign_flips(differences):
    "The share of all ways to turn signs whose mean is as far from zero."
    d = np.asarray(differences)
    signs = np.array(list(product((1, -1), repeat=len(d))))
    return np.mean(abs(signs @ d) >= abs(d.sum()) * (1 - 1e-9))


def tested_trees_are_not_shown_to_be_worse_than_the_pruned_one():
    found = stored("ok3-stopping-test")
    tested = ("tested at 0.05", "tested at 0.01")
    gaps = {
        (a, b): found[a, "unexplained"] - found[b, "unexplained"]
        for a, b in product(tested, ("full", "minimal leaf", "pruned"))
    }
    p = dict(zip(gaps, holm_by_hand([sign_flips(gap) for gap in gaps.values()])))
    for a in tested:
        assert p[a, "pruned"] >= 0.05
        assert p[a, "full"] < 0.05 and gaps[a, "full"].mean() < 0


def the_full_tree_completes_fewest_from_a_wrong_digit():
    found = stored("ok3-stopping-test")
    wrong = {row: v.mean() for (row, what), v in found.items() if what == "digit"}
    assert len(wrong) == 5 and min(wrong, key=wrong.get) == "full"
    assert found["full", "unexplained"].mean() > 1


def four_choices_together():
    """More than half of the distance goes with the four, and less with three of them,
    over ten draws; over two draws each alone removes less than a tenth."""
    asked, few = printed("rrsn-table3"), stored("rrsn-table3-readings")
    main, full = stored("rrsn-table3"), stored("rrsn-table3-readings-full")

    def apart(row_of, table):
        return sum(
            abs(away(table[row_of(method), column], mean, sd))
            for (method, column), (mean, sd) in asked.items()
        )

    whole = apart(lambda method: method, main)
    left = {
        name: apart(lambda method, name=name: f"{method}: {name}", full) / whole
        for name in {row.split(": ")[1] for row, _ in full}
    }
    three = left.pop("median, short, draw, PR, one")
    assert len(left) == 2 and max(left.values()) < 0.5 < three

    def reading(width, smoother, *rest):
        def row_of(method):
            smooth = (smoother,) * (method == "semi-supervised")
            return f"{method}: {', '.join((width, *smooth, *rest))}"

        return apart(row_of, few)

    lab = reading("entropy", "short", "draw, ROC", "any")
    for change in (
        ("median", "short", "draw, ROC", "any"),
        ("entropy", "short", "draw, PR", "any"),
        ("entropy", "short", "draw, ROC", "one"),
        ("entropy", "long", "draw, ROC", "any"),
        ("entropy", "short", "once, ROC", "any"),
    ):
        assert reading(*change) > 0.9 * lab


def two_machines_require_opposite_weights():
    found, asked = stored("rrsn-table2-readings"), printed("rrsn-table2")

    def reached(row):
        name = row.split(":")[0]
        return all(
            abs(away(found[row, area], *asked[name, area])) <= 2
            for area in ("auc-roc", "auc-pr")
        )

    rows = {row for row, _ in found}
    local = {row for row in rows if row.startswith("local") and reached(row)}
    pairs = {row for row in rows if row.startswith("Pkernel") and reached(row)}
    assert local and all("plain" in row for row in local)
    assert pairs and all("balanced" in row for row in pairs)
    em = [row for row in rows if row.startswith("em")]
    mean, sd = asked["em", "auc-pr"]
    assert all(abs(away(found[row, "auc-pr"], mean, sd)) > 2 for row in em)


def over_sets(found, one, other):
    "Mean difference of each set, and Wilcoxon's p over the sets."
    sets = dict.fromkeys(row for row, _ in found)
    d = np.array([(found[row, one] - found[row, other]).mean() for row in sets])
    return d, wilcoxon(d, zero_method="zsplit").pvalue


def ancestors_are_a_point_worse_with_the_sources_values():
    found = stored("forest-table1-ancestors")
    found = {key: v for key, v in found.items() if key[0] not in ("Spambase", "Chess")}
    leaves, size, depth = (
        f"SVM, {name}" for name in ("leaves", "ancestors (size)", "ancestors (depth)")
    )
    soft = {name: f"{name}, K / 300" for name in (leaves, size, depth)}
    pairs = [
        ("weighted vote", "vote"),
        ("log-odds vote", "vote"),
        *((name, leaves) for name in (size, depth)),
        *((soft[name], soft[leaves]) for name in (size, depth)),
        *((name, "vote") for name in (leaves, soft[leaves], soft[size])),
    ]
    results = {pair: over_sets(found, *pair) for pair in pairs}
    p = dict(zip(pairs, holm_by_hand([p for _, p in results.values()])))
    assert [pair for pair in pairs if p[pair] < 0.05] == [(size, leaves)]
    d = results[size, leaves][0]
    assert (d < 0).sum() == 9 and (d > 0).sum() == 0 and 0.005 < -d.mean() < 0.015
    for pair in pairs[4:6]:  # in the mean they are still a little worse
        assert -0.005 < results[pair][0].mean() < 0


def the_weighted_vote_is_the_vote():
    found = stored("forest-table1-ancestors")
    found = {key: v for key, v in found.items() if key[0] not in ("Spambase", "Chess")}
    sets = dict.fromkeys(row for row, _ in found)
    for kind, most in (("weighted", 0.005), ("log-odds", 0.015)):
        changed = [found[row, f"{kind} vote: changed"].mean() for row in sets]
        assert np.mean(changed) < most


LEARNERS = ("naive Bayes", "perceptron", "network", "tree")


def only_bagged_trees_are_established():
    found = stored("votes-learners")
    tested = {
        (name, *pair): over_sets(found, *(f"{name}: {kind}" for kind in pair))[1]
        for name, pair in product(
            LEARNERS,
            (
                ("bagged", "single"),
                ("boosted", "single"),
                ("boosted", "bagged"),
                ("resampled", "boosted"),
            ),
        )
    }
    p = dict(zip(tested, holm_by_hand([*tested.values()])))
    assert len(p) == 16
    assert [key for key in p if p[key] < 0.05] == [("tree", "bagged", "single")]


def bagging_helps_the_perceptron_and_boosting_naive_bayes():
    found = stored("votes-learners")
    gain = {
        (kind, name): -over_sets(found, f"{name}: {kind}", f"{name}: single")[0].mean()
        for kind, name in product(("bagged", "boosted"), LEARNERS)
    }
    bagged = [gain["bagged", name] for name in LEARNERS]
    assert max(bagged) == gain["bagged", "perceptron"]
    assert abs(bagged[0]) < 0.002 and min(bagged[1:]) > 0.02
    boosted = [gain["boosted", name] for name in LEARNERS]
    assert max(boosted) == gain["boosted", "naive Bayes"]


VOTES = [
    (method, n) for method in ("bagging", "stochastic", "AdaBoost") for n in (0, 20)
]


def after_a_rule(rule):
    "Fold by fold the mean error over the sets, for the six kinds of votes."
    found = stored("votes-stopping")
    sets = dict.fromkeys(row for row, _ in found)
    return {
        vote: np.mean(
            [found[row, f"{vote[0]}, {vote[1]} %: {rule}, error"] for row in sets],
            axis=0,
        )
        for vote in VOTES
    }


def no_rule_is_established_to_be_better_than_all_rounds():
    full, tests = after_a_rule("full"), {}
    for rule in ("least error", "harmed, spent", "helped, spent"):
        for vote, errors in after_a_rule(rule).items():
            d = errors - full[vote]
            tests[rule, vote] = (
                (d.mean(), corrected_by_hand(d, 1 / 9)[2]) if d.any() else (0.0, 1.0)
            )
    holm = dict(zip(tests, holm_by_hand([p for _, p in tests.values()])))
    assert len(holm) == 18
    assert not [key for key in holm if holm[key] < 0.05 and tests[key][0] < 0]
    # in the mean some are better, which is not established
    each = after_a_rule("harmed, 5 % each")["stochastic", 20] - full["stochastic", 20]
    assert each.mean() < 0
    assert tests["harmed, spent", ("AdaBoost", 0)][0] < 0


def the_least_held_out_error_is_worse_for_all_six():
    full, least = after_a_rule("full"), after_a_rule("least error")
    harmed = after_a_rule("harmed, spent")
    for vote in VOTES:
        assert (least[vote] - full[vote]).mean() > 0
        assert abs((harmed[vote] - full[vote]).mean()) < 0.005


def adaboost_with_false_labels_still_improves():
    found = stored("votes-rounds")
    sets = dict.fromkeys(row for row, _ in found)
    curve = [
        np.mean(
            [found[row, f"AdaBoost, 20 %: test error after {n}"].mean() for row in sets]
        )
        for n in (1, 2, 4, 8, 16, 32, 64, 128)
    ]
    assert int(np.argmin(curve)) == 7


def stochastic_votes_resemble_bagged_ones():
    found = stored("votes-diversity")

    def test(column, one, other):
        return corrected_by_hand(found[one, column] - found[other, column], 1.0)

    for data in ("ten digits", "tumours"):
        mean, _, p = test(f"{data}: mean error", "stochastic", "bagging")
        assert mean < 0 and p < 0.05
        for what in ("kappa", "mean error"):  # AdaBoost is further from both
            column = f"{data}: {what}"
            near = test(column, "stochastic", "bagging")[0]
            for other in ("bagging", "stochastic"):
                assert abs(test(column, "AdaBoost", other)[0]) > 3 * abs(near)
    assert test("ten digits: kappa", "stochastic", "bagging")[2] > 0.05
    mean, _, p = test("tumours: kappa", "stochastic", "bagging")
    assert mean > 0 and p < 0.05


def variance_reduction_keeps_newtons_kernels():
    found = stored("mkl-table1-gaps")
    settings = list(product(("R2", "R1", "R1+R2Q"), ("10^-2", "10^-3")))
    fewer = [
        found[f"{term}: newton", f"{lam}: kernels"]
        - found[f"{term}: svrg", f"{lam}: kernels"]
        for term, lam in settings
    ]
    assert sorted(np.ravel(fewer)) == [0] * 17 + [1]

    def passes(solver, term, lam):
        reached = [
            n
            for n in (1, 3, 10, 30, 100)
            if np.median(found[f"{term}: {solver}", f"{lam}: gap at {n}"]) <= 1e-3
        ]
        return min(reached, default=np.inf)

    for term, lam in settings:
        others = ("constant", "decreasing", "averaged", "svrg")
        least = min(passes(solver, term, lam) for solver in others)
        assert passes("newton", term, lam) < least


def the_looks_are_kept_and_can_be_repeated():
    """The means of two earlier looks are kept, and differ from those of the stored
    table where repetitions were added, also for methods that have not changed."""
    with open(TABLES / "votes-noise-looks" / "means.csv", newline="") as stream:
        kept = list(csv.DictReader(stream))
    assert {line["look"] for line in kept} == {"first", "second"}
    now = stored("votes-noise")
    again, same, moved = 0, 0, 0
    for line in kept:
        if line["look"] == "first" and "AdaBoost" not in line["column"]:
            folds = now[line["row"], line["column"]]
            again += 1
            apart = abs(folds[:10].mean() - float(line["error"]))
            assert apart < 0.005  # the arithmetic has changed twice
            same += apart < 1e-12
            moved += abs(folds.mean() - float(line["error"])) > 1e-12
    assert again > 100 and moved > again / 2 and same > 0.9 * again


def signs_of_propagation(name, form, method):
    "In each of six cells: is a form of propagation better (1), as good, or worse (-1)?"
    ridge = stored({"authors": "rrsn-table1", "proteins": "rrsn-table3"}.get(name, FIG))
    gaps = []
    for (row, column), values in stored("rrsn-propagation").items():
        if row == f"{name}, {form}":
            area, rate = column.split()
            other = (
                100 * ridge[method, f"{area} 0.01 {rate}"]
                if name == "synthetic"
                else ridge[method, column]
            )
            gaps.append(values - other)
    p = holm([sign_flip_test(gap, two_sided=True) for gap in gaps])
    signs = [
        int(np.sign(gap.mean())) if level < 0.05 else 0
        for gap, level in zip(gaps, p, strict=True)
    ]
    assert len(signs) == 6
    return signs


def propagation_is_worse_on_the_synthetic_network():
    for form, method in product(FORMS, ("supervised", "semi-supervised")):
        assert signs_of_propagation("synthetic", form, method) == [-1] * 6


def propagation_on_the_authors():
    assert signs_of_propagation("authors", FORMS[1], "supervised") == [-1] * 6
    semi = signs_of_propagation("authors", FORMS[1], "semi-supervised")
    assert sorted(semi) == [-1] * 3 + [0] * 3
    found = stored("rrsn-propagation")
    for (row, column), values in found.items():
        if row.startswith("authors"):  # the best form
            assert values.mean() <= found[f"authors, {FORMS[1]}", column].mean()


def propagation_on_the_proteins():
    signs = [
        sign
        for method in ("supervised", "semi-supervised")
        for sign in signs_of_propagation("proteins", FORMS[1], method)
    ]
    assert sorted(signs) == [0] * 11 + [1]


# Of each conclusion the page, words of it, and what the tables must say for it.
SAID = [
    (
        "11_image_completion",
        "the rows that it determines completely agree to the fourth decimal",
        rows_that_are_determined_agree,
    ),
    (
        "13_output_kernels",
        "the kernel's own score takes the linear kernel, which is the worst of all",
        other_kernels_for_other_losses,
    ),
    (
        "21_synthetic_networks",
        "the worse one at low rates in the two sparser networks, and a little better "
        "in the densest",
        wide_grids_harm_two_networks,
    ),
    (
        "21_synthetic_networks",
        "a gain at 5 % that is largest in the densest network and fades towards 20 %",
        the_pattern_of_the_source_appears,
    ),
    (
        "21_synthetic_networks",
        "Subtracting the mean from the supervised predictions brings most of the gain",
        the_mean_brings_most_of_the_gain,
    ),
    (
        "02_rkhs_16_link_operators",
        "the learnt one does harm, although it minimises the error of each frequency",
        the_learnt_operator_harms,
    ),
    (
        "41_protein_localisation_1_reproduction",
        "Class by class the periplasm, which is substituted as a whole, and "
        "*extracellular*, which holds the source's own proteins, fall short in all "
        "four rows, whereas *outer membrane*, substituted too, does not in any",
        periplasm_and_extracellular_fall_short,
    ),
    (
        "41_protein_localisation_1_reproduction",
        "reach all twelve printed numbers on ten trials, and both lower most of the "
        "twelve scores",
        both_readings_lower_most_scores,
    ),
    (
        "41_protein_localisation_1_reproduction",
        "The first expectation fails for $R_1$ with $\\lambda = 10^{-3}$, and the "
        "second for $R_1$ with both values",
        stochastic_gradients_fail_for_r1,
    ),
    (
        "41_protein_localisation_1_reproduction",
        "differs from $p = 1$ by the criterion and not from $p = 16$, so that (b) "
        "fails",
        powers_change_kernels_and_not_accuracy,
    ),
    (
        "mkl-table1/ledger",
        "all numbers of kernels are then inside, and most scores are lower than before",
        ten_of_twelve_scores,
    ),
    (
        "12_enzyme_network",
        "It has one of the two changes, the genomes, and uses the kernel of the whole "
        "network",
        one_accepted_reading_has_one_change,
    ),
    (
        "12_enzyme_network",
        "the next experiment finds an effect of the profile and none of the links",
        genomes_raise_the_area_and_links_are_no_effect,
    ),
    (
        "31_uci_1_reproduction",
        "the same kernels with equal weights reach every value that learnt weights "
        "miss, and miss the one that these reach; a single Gaussian kernel reaches all "
        "five",
        equal_weights_move_pima_out,
    ),
    (
        "31_uci_1_reproduction",
        "by the criterion the luck of the splits explains these two cells",
        other_splits_move_two_cells_in,
    ),
    (
        "31_uci_1_reproduction",
        "No attribute brings both inside",
        no_attribute_brings_both_inside,
    ),
    (
        "23_protein_interactions_1_reproduction",
        "**None of the four suspicions is confirmed**",
        no_suspicion_is_confirmed,
    ),
    (
        "23_protein_interactions_1_reproduction",
        "The score that is the best in the supervised table lowers every area here",
        known_point_leads_in_one_table_only,
    ),
    (
        "23_protein_interactions_1_reproduction",
        "For em a normalised Laplacian gives the printed precision-recall area and "
        "loses the area under the ROC curve",
        one_experiment_explains_pkernel_and_none_em,
    ),
    (
        "23_protein_interactions_1_reproduction",
        "is as good as the two ridges of the source on the proteins, and worse on the "
        "two other networks",
        propagation_is_as_good_on_the_proteins_only,
    ),
    (
        "31_uci_1_reproduction",
        "None of these four experiments moves more cells of the vote in than out",
        none_of_the_four_moves_more_votes_in_than_out,
    ),
    (
        "31_uci_1_reproduction",
        "explains the vote on Chess, and other splits explain the machine on Liver and "
        "Wdbc",
        tuning_and_other_splits_explain_three_cells,
    ),
    (
        "11_image_completion_1_reproduction",
        "Pruning explains neither of them. With 800 images it lowers the error",
        one_rule_fits_both_sizes_and_pruning_explains_neither,
    ),
    (
        "11_image_completion_1_reproduction",
        "which is no effect by the criterion",
        genomes_raise_the_area_and_links_are_no_effect,
    ),
    (
        "11_image_completion_1_reproduction",
        "A margin against all rivals is better than a margin towards the right output "
        "alone, but not better than ridge regression",
        rivals_help_and_ridge_regression_is_as_good,
    ),
    (
        "14_stopping_test",
        "By the criterion the test is useful",
        tested_trees_are_not_shown_to_be_worse_than_the_pruned_one,
    ),
    (
        "14_stopping_test",
        "completes the fewest halves from a wrong digit",
        the_full_tree_completes_fewest_from_a_wrong_digit,
    ),
    (
        "23_protein_interactions_1_reproduction",
        "Most of the distance in the transductive table of proteins comes from four "
        "choices together",
        four_choices_together,
    ),
    (
        "23_protein_interactions_1_reproduction",
        "require opposite class weights. The printed precision-recall area of em is "
        "reached by no reading",
        two_machines_require_opposite_weights,
    ),
    (
        "32_forest_accuracy",
        "is about one point worse than the one on leaves with the source's values of "
        "$C$, and not distinguishable from it with smaller ones",
        ancestors_are_a_point_worse_with_the_sources_values,
    ),
    (
        "32_forest_accuracy",
        "the weighted vote gives the answer of the vote on almost all test examples",
        the_weighted_vote_is_the_vote,
    ),
    (
        "41_protein_localisation_1_reproduction",
        "select as many kernels as Newton's method in all but one of eighteen runs, "
        "where they select one fewer, and Newton's method needs the fewest passes to a "
        "gap of one in a thousand",
        variance_reduction_keeps_newtons_kernels,
    ),
    (
        "51_noise_1_reproduction",
        "The looks are kept, so that anybody can repeat the tests on what was known "
        "then",
        the_looks_are_kept_and_can_be_repeated,
    ),
    (
        "52_learners",
        "With sixteen comparisons only the gain of bagged trees is established",
        only_bagged_trees_are_established,
    ),
    (
        "52_learners",
        "bagging helped the unstable learners in the mean, the perceptron most, and "
        "did nothing for naive Bayes; boosting helped naive Bayes most",
        bagging_helps_the_perceptron_and_boosting_naive_bayes,
    ),
    (
        "53_rounds",
        "none of the three rules compared was significantly better than all 128 rounds",
        no_rule_is_established_to_be_better_than_all_rounds,
    ),
    (
        "53_rounds",
        "The length with the least held-out error was worse in the mean for all six "
        "kinds of votes, and stopping only when harm is shown changed next to nothing",
        the_least_held_out_error_is_worse_for_all_six,
    ),
    (
        "53_rounds",
        "AdaBoost with false labels was still improving at the last round",
        adaboost_with_false_labels_still_improves,
    ),
    (
        "05_ensembles_4_diversity",
        "Beside AdaBoost the two other families resemble each other",
        stochastic_votes_resemble_bagged_ones,
    ),
    (
        "21_synthetic_networks",
        "in each of its three forms it is significantly worse than both in all six "
        "cells",
        propagation_is_worse_on_the_synthetic_network,
    ),
    (
        "22_coauthors",
        "is significantly worse than the supervised method in all six cells, and than "
        "the semi-supervised one in three; in the other three no difference is "
        "established",
        propagation_on_the_authors,
    ),
    (
        "23_protein_interactions",
        "of twelve comparisons eleven establish no difference, and one is in its "
        "favour",
        propagation_on_the_proteins,
    ),
]
WITHDRAWN = [
    "are the ones that fall short there",
    "with either change alone, or none",
    "are therefore *explained*: the source's solver",
    "The printed area is within reach",
    "The ceiling accounts for",
    "predicted as well as the printed score asks",
    "cheaper that are constant on subtrees",
    "No machine is established",
    "a million times another one",
    "is built in the same way, with the squares",
    "It goes on raising the low margins",
    "when a vote of copies cannot",
    "boosting does more than bagging. With",
    "minimises the same loss {eq}`eq-ok3-8`",
    "as printed: the product of the kernels of two trees is zero",
    "No experiment moves more cells of the vote in than out",
    "no rule was better than all 128 rounds",
    "select as many kernels as the optimum",
]


@pytest.mark.parametrize(
    "page, words, holds", SAID, ids=lambda x: getattr(x, "__name__", str(x))[:40]
)
def test_a_conclusion_is_what_the_table_says(pages, page, words, holds):
    assert words in pages[page], f"{page} does not say so any more: {words}"
    holds()


@pytest.mark.parametrize("words", WITHDRAWN)
def test_a_refuted_sentence_is_withdrawn(pages, words):
    assert [page for page, said in pages.items() if words in said] == []
