"""The search for counterexamples, and the list of what was tried."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from docutils import nodes

from okbook.core import refute
from okbook.core.refutation import _length
from okbook_book import claims, equations, project


def whole_vector(rng, size):
    return rng.integers(-3, 4, size=size)


def never_three(x):
    "no entry is three"
    return bool((x != 3).all())


def test_a_true_statement_survives_and_a_false_one_does_not():
    true = refute(lambda x: bool((x < 4).all()), whole_vector, sizes=range(1, 5))
    assert true.survived and true.tries == 1000 and true.counterexample is None
    false = refute(never_three, whole_vector, sizes=range(1, 5))
    assert not false.survived and 0 < false.failures < false.tries == 250


def test_the_smallest_size_and_then_the_shortest_counterexample_is_kept():
    def one_three(x):
        return int((x == 3).sum()) < 2

    found = refute(one_three, whole_vector, tries=4000, sizes=(1, 2, 3, 4))
    np.testing.assert_array_equal(found.counterexample["x"], [3, 3])
    assert found.tries == 2000  # the first size has none, the second ends it
    three = refute(never_three, lambda rng: whole_vector(rng, 3), tries=4000)
    assert sorted(three.counterexample["x"].tolist()) == [0, 0, 3]


def test_a_case_comes_back_by_its_number():
    found = refute(never_three, whole_vector, seed=5, sizes=[3])
    again = whole_vector(found.rng, 3)
    np.testing.assert_array_equal(again, found.counterexample["x"], strict=True)
    other = refute(never_three, whole_vector, seed=6, sizes=[3])
    assert (other.case, other.failures) != (found.case, found.failures)


@pytest.mark.parametrize(
    ("claim", "draw"),
    [
        (lambda a, b: a < b, lambda rng: (1, 0)),
        (lambda a, b: a < b, lambda rng: {"b": 0, "a": 1}),
    ],
)
def test_a_case_may_have_several_parts(claim, draw):
    assert refute(claim, draw, tries=1).counterexample == {"a": 1, "b": 0}


def test_what_is_no_predicate_is_an_error_and_not_a_counterexample():
    with pytest.raises(TypeError, match=r"'<lambda>' must return .* got None"):
        refute(lambda x: None, lambda rng: 1)
    with pytest.raises(ZeroDivisionError):
        refute(lambda x: 1 / x > 0, lambda rng: 0)
    with pytest.raises(ValueError, match="got 3 for 2 tries"):
        refute(never_three, whole_vector, tries=2, sizes=(1, 2, 3))
    with pytest.raises(ValueError, match="got 1 for 0 tries"):
        refute(never_three, whole_vector, tries=0)


def test_lengths_of_numbers():
    order = [0, 1, 2, -2.5, 0.1255, 3.14159]
    assert sorted(reversed(order), key=lambda x: tuple(_length(x))) == order


def page_of(*outputs):
    "A page whose cells have shown these texts, as the build reads it."
    page = nodes.Element()
    for text in outputs:
        cell = nodes.container(classes=["cell_output"])
        cell += nodes.literal_block(text, text)
        page += cell
    page += nodes.literal_block("", "survived 9 cases (seed 0): said, not shown")
    return page


def collected(**pages):
    app = SimpleNamespace(env=SimpleNamespace())
    for app.env.docname, page in pages.items():
        claims.collect(app, page)
    return app.env


def test_the_list_reads_what_the_results_say():
    results = [
        refute(never_three, whole_vector, seed=3, sizes=[2]),
        refute(lambda x: True, lambda rng: 1, tries=12_345),
    ]
    found = claims.read_lines("before\n" + "\n".join(map(repr, results)) + "\nafter")
    assert [(f.claim, f.tries, f.failures, f.seed) for f in found] == [
        (r.claim, r.tries, r.failures, r.seed) for r in results
    ]


def test_what_cells_have_shown_is_collected_once():
    one, two = "survived 10 cases (seed 0): a", "refuted by 2 of 20 cases (seed 1): b"
    env = collected(first=page_of(one, two, one), second=page_of("nothing"))
    assert list(env.okbook_claims) == ["first"]
    assert claims.summary(env.okbook_claims) == (
        "1 pages try 2 statements on 30 cases: 1 are refuted, and 1 survive."
    )
    other = collected(third=page_of(one))
    claims.merge(None, env, ["third"], other)
    assert list(env.okbook_claims) == ["first", "third"]
    claims.forget(None, env, "first")
    assert list(env.okbook_claims) == ["third"]


def errata():
    "The entries of the errata: rank, heading, text, and whether cells follow."
    nb = dict(project.notebooks())[equations.ROOT / "nbs" / "errata.ipynb"]
    rank, entries = None, []
    for cell in nb["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            if entries:
                entries[-1]["cells"].append(source)
            continue
        for part in re.split(r"^(?=##)", source, flags=re.M):
            title, _, text = part.partition("\n")
            if title.startswith("## "):
                rank = title[3:]
            elif title.startswith("### "):
                entries.append(
                    {"rank": rank, "title": title[4:], "text": text, "cells": []}
                )
    return entries


ERRATA = errata()


def test_errata_are_ranked_by_consequence():
    ranks = [entry["rank"] for entry in ERRATA]
    assert list(dict.fromkeys(ranks)) == [
        "What changes a result",
        "Proofs and conditions that fail",
        "True, but misleading",
        "Misprints",
    ]
    assert all(ranks.count(rank) > 1 for rank in ranks)


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry["title"])
def test_an_erratum_runs_or_says_that_it_is_a_slip(entry):
    assert "*Printed:*" in entry["text"] and "*Right:*" in entry["text"]
    assert re.search(r"\((OK3|RRSN|Forest|MKL|Votes)[ ,].*\)$", entry["title"])
    code = "\n".join(entry["cells"])
    if code:
        assert re.search(r"^holds\(", code, re.M) or "    holds(" in code
        assert re.search(r"^(fails|result = refute)\(", code, re.M)
    else:
        assert re.search(
            r"A slip of (the page's|the name|notation|reference)", entry["text"]
        )


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry["title"])
def test_an_erratum_quotes_a_phrase_at_most(entry):
    for quoted in re.findall(r'"([^"]*)"|“([^”]*)”', entry["text"]):
        assert len("".join(quoted).split()) <= 6


def test_a_case_of_nested_parts():
    "Ragged parts are counted one by one; the shorter case is kept."

    def draw(rng):
        return {"words": [("a", (1, 2)), ["b"] * int(rng.integers(1, 9))]}

    found = refute(lambda words: False, draw, tries=50)
    assert found.failures == 50 and found.counterexample["words"][1] == ["b"]
