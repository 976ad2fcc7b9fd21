"""The claims on a few problems each, and the machinery on claims of straw."""

import csv
import importlib
import inspect
import itertools
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import okbook
from claims import run
from claims.all import CLAIMS, LISTS, find_claims
from claims.claim import (
    Claim,
    Disagreement,
    PassedOver,
    Tie,
    attack,
    beyond,
    compare,
    judge,
)
from claims.estimators import _ALL as ESTIMATORS_OF
from okbook.core import Kernel
from okbook_book.equations import equation_index

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", CLAIMS)
def test_claim(name):
    attack(CLAIMS[name], seed=1, examples=5)


def test_names_are_unique_and_tolerances_are_stated():
    assert len(CLAIMS) == sum(map(len, LISTS)) > 60
    for claim in CLAIMS.values():
        assert claim.claim and claim.oracle and claim.tolerance


def test_every_public_estimator_is_registered():
    "Kernels are no estimators, and those of a lab are its own."
    found = set()
    for module in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if module.name.startswith("okbook.labs"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            public = inspect.isclass(value) and not name.startswith("_")
            if public and value.__module__.startswith("okbook."):
                if issubclass(value, BaseEstimator) and not issubclass(value, Kernel):
                    found.add(value)
    assert len(found) > 30
    registered = {type(estimator) for estimator in ESTIMATORS_OF.values()}
    assert {kind for kind in registered if not issubclass(kind, Kernel)} == found


def test_equations_of_the_sources_that_nothing_doubts():
    "What is left out is a definition, or is doubted under another number."
    doubted = set()
    for claim in CLAIMS.values():
        for kind, key, numbers in re.findall(
            r"(eq|thm)-(ok3|rrsn|votes|forest|mkl)-(\d+(?:, \d+)*)", claim.claim
        ):
            doubted |= {f"{kind}-{key}-{n}" for n in numbers.split(", ")}
    assert doubted <= equation_index().keys()
    loss = {f"eq-ok3-{n}" for n in (1, 2)}  # the expected loss, not computed
    assert equation_index().keys() - doubted == loss


def toy(judge, axes=None, refusals=()):
    def draw(rng):
        return {"x": rng.normal(size=5)}

    parts = "toy", "a claim", "an oracle", "none", draw, judge, axes or {}, refusals
    return Claim(*parts)


def fail(error):
    def judge(x):
        raise error

    return judge


@pytest.mark.parametrize(
    "excess, by",
    [(-1.0, 0.0), (2.0, 2.0), ([-1.0, 3.0, 0.5], 3.0), (np.nan, np.nan)],
)
def test_what_is_not_a_number_is_beyond_every_bound(excess, by):
    "``max(0.0, nan)`` is 0, with which a comparison would agree."
    found = beyond(excess)
    np.testing.assert_equal(found, by)
    assert (compare(found, 0.0, 1e-9, 1.0).error > 0) == (not by <= 0)
    np.testing.assert_equal(beyond([by, np.nan]), np.nan)


@pytest.mark.parametrize(
    "judged, kind",
    [
        (lambda x: compare(x, x, 0.0), "agrees"),
        (lambda x: compare(x, 1.1 * x, 1e-5), Disagreement),
        (lambda x: compare(x[:-1], x, 1e-5), Disagreement),
        (lambda x: compare(np.nan * x, x, 1e-5), Disagreement),
        (lambda x: compare(x, np.nan * x, 1e-5), Disagreement),
        (lambda x: compare(np.inf, np.inf, 0.0), "agrees"),
        (lambda x: compare(np.inf, -np.inf, 1e-5), Disagreement),
        (lambda x: compare(x, 1.1 * x, 1.0), "passed over"),
        (lambda x: compare(x, 1.1 * x, np.nan), "passed over"),
        (fail(Tie("two")), "tie"),
        (fail(PassedOver("nothing")), "passed over"),
        (fail(ValueError("foreseen: 3")), "refused"),
        (fail(KeyError("foreseen: 3")), KeyError),
        (fail(ValueError("something else")), ValueError),
        (fail(RecursionError()), RecursionError),
        (lambda x: (x.sort(), compare(0, 0, 0))[1], Disagreement),
        (lambda x: [compare(0, 0, 0), compare(0, 1, 0.5e-4)], Disagreement),
    ],
)
def test_outcomes(judged, kind):
    claim, x = toy(judged, refusals=("foreseen",)), np.array([3.0, 1.0, 2.0])
    if isinstance(kind, str):
        assert judge(claim, {"x": x})[0] == kind
    else:
        with pytest.raises(kind):
            judge(claim, {"x": x})


def test_the_same_seed_tries_the_same_problems():
    def seen(seed):
        found = []
        attack(toy(lambda x: (found.append(x), compare(0, 0, 0))[1]), seed, 20)
        return np.concatenate(found).tolist()

    assert seen(0) == seen(0) != seen(1)


def test_what_fails_is_made_small_along_shared_axes():
    def draw(rng):
        x = rng.normal(size=5)
        return {"x": x, "K": np.outer(x, x)}

    def judged(x, K):
        assert len(x) == len(K) == len(K.T)
        return compare(x.max(), min(x.max(), 0.5), 1e-9)

    axes = {"x": "n", "K": "nn"}
    with pytest.raises(Disagreement) as found:
        attack(Claim("toy", "x <= 0.5", "by hand", "none", draw, judged, axes))
    assert "x = array([1.])" in found.value.__notes__


def test_a_run_tries_everything_and_stops_what_has_failed():
    right, wrong = toy(lambda x: compare(0, 0, 0)), toy(lambda x: compare(0, 1, 0))
    records = run.attack_all([right, wrong], seconds=0.5, seed=0)
    assert records[0].attempts > 30 and records[1].attempts == 0
    assert "toy" in records[1].failure and not records[0].failure
    assert "1 disagreements" in run.format_table(records)


def test_an_interrupted_run_keeps_what_it_has():
    calls = itertools.count()

    def judged(x):
        if next(calls) > 5:
            raise KeyboardInterrupt
        return compare(0, 0, 0)

    records = run.attack_all([toy(judged)], seconds=60, seed=0)
    assert records.interrupted and records[0].attempts == 6
    assert "6 attempts, 0 disagreements, interrupted" in run.format_table(records)


@pytest.mark.parametrize(
    "judged",
    [fail(PassedOver("nothing")), fail(ValueError("foreseen")), fail(Tie("two"))],
)
def test_a_claim_that_is_never_tested_has_not_survived(judged):
    silent = toy(judged, refusals=("foreseen",))
    records = run.attack_all([silent, toy(lambda x: compare(0, 0, 0))], 0.5, 0)
    assert records[0].says_nothing and not records[1].says_nothing
    assert "toy SAYS NOTHING: 0 of" in run.format_table(records)


def run_command(*options):
    command = [sys.executable, "-m", "claims.run", *options]
    env = {"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT}"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


def test_the_command():
    done = run_command("--seconds", "0", "--only", "kernel-[rptd]*", "--seed", "3")
    assert done.returncode == 0 and "0 disagreements" in done.stdout
    assert run_command("--only", "nothing").returncode == 2
    assert run_command("--only", "variance", "--store").returncode == 2
    assert run_command("--seconds", "nan").returncode == 2


def test_the_stored_run():
    "All claims of today, each tried, and none that has only refused; no disagreement."
    with (ROOT / "tables" / "verify" / "run.csv").open(newline="") as file:
        stored = {row["claim"]: row for row in csv.DictReader(file)}
    assert stored.keys() == CLAIMS.keys(), "make verify"
    for name, row in stored.items():
        assert not row["disagrees"]
        assert int(row["agreed"]) > 0.2 * int(row["attempts"]), name
        told = CLAIMS[name].claim, CLAIMS[name].oracle
        assert (row["statement"], row["oracle"]) == told


def test_claims_by_pattern():
    assert [claim.name for claim in find_claims("variance")] == ["variance"]
