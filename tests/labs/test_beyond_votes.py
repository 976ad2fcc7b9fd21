"""Learners that are no trees, weighted votes and stopping by a test: what the pages
compute, against definitions and exact arithmetic."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from lab_tools import stored
from scipy.stats import binomtest

from okbook.labs import forest_ancestors, votes_learners, votes_rounds
from okbook.labs.votes_rounds import (
    betting_wealth,
    mcnemar_p,
    spent,
    stop,
)


def exact_wealth(b, c):
    "The integral of (1 + s)^b (1 - s)^c over 0 to 1, term by term."
    powers = product(range(b + 1), range(c + 1))
    return sum(
        Fraction(comb(b, i) * comb(c, j) * (-1) ** j, i + j + 1) for i, j in powers
    )


@pytest.mark.parametrize("b, c", [(0, 0), (1, 0), (0, 1), (7, 3), (3, 7), (40, 25)])
def test_wealth_is_the_integral(b, c):
    "eq-rounds-wealth"
    assert float(exact_wealth(b, c)) == pytest.approx(betting_wealth(b, c), rel=1e-9)


@pytest.mark.parametrize("b, c", [(0, 0), (5, 0), (3, 3), (2, 9), (60, 41)])
def test_p_value_is_that_of_a_coin(b, c):
    "eq-rounds-mcnemar"
    expected = binomtest(b, b + c, 0.5, "greater").pvalue if b + c else 1.0
    assert mcnemar_p(b, c) == pytest.approx(expected)


def test_spent_levels_sum_to_less_than_the_whole():
    "eq-rounds-spending"
    levels = [spent(Fraction(1, 20), j) for j in range(1, 50)]
    assert sum(levels) == Fraction(1, 20) * Fraction(49, 50)


def wrong_after(changes, n=40):
    "Where a vote is wrong at each look: on so many of the first examples."
    return np.arange(n) < np.array(changes)[:, None]


@pytest.mark.parametrize("test", ["each", "spent", "bets"])
def test_rules_stop_where_they_should(test):
    assert stop(wrong_after([5, 5, 5]), test) == 3
    assert stop(wrong_after([9, 5, 25, 5]), test) == 2
    assert stop(wrong_after([30, 10, 10, 5]), test, unless_helped=True) == 2
    assert stop(wrong_after([5, 5]), test, unless_helped=True) == 1


def test_a_look_compares_a_length_with_the_one_before():
    "Eight lengths from 0, seven looks from 1; who stops at look j uses length j - 1."
    lengths = votes_rounds.LENGTHS
    assert lengths == (1, 2, 4, 8, 16, 32, 64, 128)
    for look in range(1, len(lengths)):
        changes = [5] * look + [30] * (len(lengths) - look)  # worse from length j on
        for rule in ("harmed, 5 % each", "harmed, spent", "harmed, bets"):
            assert votes_rounds.RULES[rule](wrong_after(changes)) == look
    better = [30] * 4 + [5] * 4
    assert votes_rounds.RULES["least error"](wrong_after(better)) - 1 == 4


def test_the_variance_of_a_difference_of_errors_is_their_disagreement():
    "Two votes that disagree on 8 % of the inputs, either kind equally often."
    difference = {-1: 0.04, 0: 0.92, 1: 0.04}
    variance = sum(p * value**2 for value, p in difference.items())
    assert np.sqrt(variance / 100) == pytest.approx(0.03, abs=0.002)


def test_two_members_are_hardly_better_than_one():
    "A draw is wrong on the training part; AdaBoost's weights differ."
    found = stored(votes_rounds.CURVES.id)
    for method, noise in product(votes_rounds.METHODS, votes_rounds.NOISE):
        names = [f"{method}, {noise} %: {{}} error after {r}" for r in (1, 2)]
        test, training = (
            100
            * np.diff(
                [
                    np.mean(
                        [found[r, n.format(kind)].mean() for r in votes_rounds.ROWS]
                    )
                    for n in names
                ]
            )[0]
            for kind in ("test", "training")
        )
        boosted = method == "AdaBoost"
        assert test > 2 if boosted else -3.2 < test < 0.1
        assert 0 < training < 1.2 if boosted else training > 4


def test_training_error_of_boosting_is_not_quite_zero():
    found = stored(votes_rounds.CURVES.id)
    column = "AdaBoost, 20 %: training error after 4"
    errors = [found[row, column].mean() for row in votes_rounds.ROWS]
    assert 0 < np.mean(errors) < 0.003


def test_spending_is_stricter_than_each_look():
    six = wrong_after([0, 0, 0, 6])  # p = 1/64, the third level is 1/240
    assert stop(six, "each") == 3 and stop(six, "spent") == 4


def test_gain_of_every_fold_is_within_the_bound():
    "eq-learners-gain"
    found = stored(votes_learners.TABLE.id)
    for row, name in product(votes_learners.ROWS, votes_learners.NAMES):
        gain = found[row, f"{name}: members"] - found[row, f"{name}: bagged"]
        assert (np.abs(gain) <= found[row, f"{name}: disagreement"] + 1e-9).all()


def test_bound_is_about_the_members_not_about_a_single_hypothesis():
    "prop-learners-gain: the difference to one of all examples may be larger."
    found, larger = stored(votes_learners.TABLE.id), 0
    for row, name in product(votes_learners.ROWS, votes_learners.NAMES):
        gain = found[row, f"{name}: single"] - found[row, f"{name}: bagged"]
        larger += (np.abs(gain) > found[row, f"{name}: disagreement"] + 1e-9).sum()
    assert larger > 0
    for name in votes_learners.NAMES:  # which is better than its members in the mean
        members, single = (
            np.mean(
                [found[row, f"{name}: {kind}"].mean() for row in votes_learners.ROWS]
            )
            for kind in ("members", "single")
        )
        assert members > single, name


def test_a_network_has_a_single_round_on_few_folds():
    found = stored(votes_learners.TABLE.id)
    single = {r: (found[r, "network: rounds"] == 1).sum() for r in votes_learners.ROWS}
    assert sum(single.values()) == 12 and single["Wdbc"] == 5


def test_votes_and_machines_are_those_of_the_lab():
    found, lab = stored(forest_ancestors.TABLE.id), stored("forest-table1")
    for row in forest_ancestors.DATASETS:
        for ours, theirs in (("vote", "vote"), ("SVM, leaves", "SVM+forest")):
            np.testing.assert_array_equal(found[row, ours], lab[row, theirs][:5])


def test_weighted_votes_differ_only_where_they_may():
    "eq-accuracy-flip"
    found = stored(forest_ancestors.TABLE.id)
    for row, kind in product(forest_ancestors.DATASETS, forest_ancestors.VOTES[1:]):
        changed, may_change = (found[row, f"{kind}: {s}"] for s in ("changed", "open"))
        assert (changed <= may_change + 1e-12).all()


def test_a_rule_that_does_not_stop_uses_all_rounds():
    wrong = np.zeros((len(votes_rounds.LENGTHS), 30), dtype=bool)
    for name, rule in votes_rounds.RULES.items():
        expected = 1 if name in ("least error", "helped, spent") else len(wrong)
        assert rule(wrong) == expected, name
