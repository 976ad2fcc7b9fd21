"""Lab 12: the protocol of OK3 section 3.2, a network of enzymes; its stored tables;
and that no hidden link is seen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.utils import Bunch

from okbook.core import diffusion_gram, pr_auc, roc_auc
from okbook.labs import ok3_enzyme_network as lab
from okbook.rkhs import LinkPredictor, node_pairs
from okbook.tables import compare, read_cells, read_paper
from okbook.trees import OutputKernelExtraTrees

TABLES = Path(__file__).parents[2] / "tables"
FEW_TREES = lab.EXTRA | {"n_estimators": 5}


def computed(table, *key):
    "A cell, computed."
    return table.compute(**table.arguments(key))


def small(setting):
    "The same setting with few trees, on all nodes of whatever network."
    options = setting.options | (
        {"n_estimators": 5} if "n_estimators" in setting.options else {}
    )
    types = ("phylogenetic",) if set(setting.types) - set(lab.TYPES) else setting.types
    return replace(setting, options=options, types=types)


def flipped(network, test):
    "The network, with every link of a hidden node turned into none, and the reverse."
    A = network.adjacency.copy()
    A[test], A[:, test] = 1 - A[test], 1 - A[:, test]
    A[np.ix_(test, test)] = 1 - network.adjacency[np.ix_(test, test)]
    np.fill_diagonal(A, 0)
    return Bunch(**(network | {"adjacency": A}))


@pytest.fixture(scope="module")
def network():
    return lab.toy_network(n_pathways=10)


@pytest.fixture(scope="module")
def stored():
    return {table.id: read_cells(TABLES / table.id) for table in lab.TABLES}


def folds_of(stored, table, row, column):
    "A stored value, fold by fold."
    return np.array([stored[table.id][row, column, k][0] for k in range(lab.N_FOLDS)])


def excludes_zero(values):
    "Whether the 95 % interval of Student for the mean over the folds lies above zero."
    return values.mean() > student.ppf(0.975, len(values) - 1) * values.std(
        ddof=1
    ) / np.sqrt(len(values))


def is_undecided(values):
    "Whether that interval contains zero."
    return not excludes_zero(values) and not excludes_zero(-values)


def test_printed_numbers():
    paper = read_paper(TABLES / "ok3-figure2")
    assert set(paper) == {("extra-trees", "all inputs")}
    assert paper["extra-trees", "all inputs"][0] == 0.845


def test_the_network(require_dataset):
    require_dataset("yeast_enzyme")
    network, few = lab.yeast_network(), lab.yeast_network("complete")
    assert network.adjacency.shape == (625, 625) and network.adjacency.sum() == 2 * 2896
    assert few.adjacency.shape == (401, 401) and few.adjacency.sum() == 2 * 1289
    assert {
        name: values.shape[1] for name, values in network.inputs.items()
    } == lab.WIDTHS
    assert not any(
        np.isnan(few.inputs[name]).all(axis=1).any() for name in lab.ALL_TYPES
    )


def test_folds_hide_every_node_once():
    for n in (180, 625):
        tests = [test for _, test in lab.node_folds(n)]
        np.testing.assert_array_equal(
            np.sort(np.concatenate(tests)), np.arange(n), strict=True
        )
        for train, test in lab.node_folds(n):
            np.testing.assert_array_equal(
                np.union1d(train, test), np.arange(n), strict=True
            )
            assert len(train) + len(test) == n
    first, second = (
        [test.tolist() for _, test in lab.node_folds(625, seed)] for seed in (0, 1)
    )
    assert first != second


def test_pairs_on_which_an_area_is_computed():
    """Counts of eq-links-count: 63 x 562 with a known node, 63 x 62 / 2 without;
    each once, none of two known nodes."""
    n = 625
    numbers = np.arange(n * n).reshape(n, n)
    numbers = np.minimum(numbers, numbers.T)  # a number a pair
    for train, test in lab.node_folds(n):
        one, both, every = (
            lab.hidden_pairs(numbers[test], train, test, kind)
            for kind in ("one", "both", "any")
        )
        assert (len(one), len(both)) == (
            len(test) * (n - len(test)),
            len(test) * (len(test) - 1) // 2,
        )
        for pairs, kind in ((one, "one"), (both, "both"), (every, "any")):
            wanted = numbers[np.triu(node_pairs(n, train, kind))]
            np.testing.assert_array_equal(np.sort(pairs), np.sort(wanted), strict=True)


def test_measures_are_areas_of_these_pairs(network):
    A, n = network.adjacency, len(network.adjacency)
    S = np.random.default_rng(0).normal(size=(n, n)) + A
    S = S + S.T
    train, test = lab.node_folds(n)[3]
    for name, kind in lab.KINDS.items():
        mask = node_pairs(n, train, kind)
        assert np.isclose(
            lab.measure("ROC" + name, A, S[test], train, test), roc_auc(A, S, mask)
        )
        assert np.isclose(
            lab.measure("AP" + name, A, S[test], train, test), pr_auc(A, S, mask)
        )
    rates = [
        lab.measure(f"TPR at {rate:g}", A, S[test], train, test) for rate in lab.RATES
    ]
    assert (np.diff(rates) >= 0).all() and rates[-1] == 1.0
    assert (
        abs(np.trapezoid(rates, lab.RATES) - roc_auc(A, S, node_pairs(n, train))) < 0.02
    )


@pytest.mark.parametrize("name", list(lab.ALL_SETTINGS))
def test_no_hidden_link_enters_the_fit(network, name):
    """Turn all links of hidden nodes around: the scores stay; but for the one
    setting that looks at them, and says so."""
    setting = small(lab.ALL_SETTINGS[name])
    rows, train, test = setting.score(network, 2)
    again, _, _ = setting.score(flipped(network, test), 2)
    assert rows.shape == (len(test), len(network.adjacency))
    assert np.array_equal(rows, again) == (name != "kernel of the whole network")


def test_the_known_links_do_enter(network):
    "The reverse: turn links of known nodes around, and the scores change."
    rows, train, test = replace(small(lab.Setting()), options=FEW_TREES).score(
        network, 0
    )
    A = network.adjacency.copy()
    A[np.ix_(train, train)] = 1 - A[np.ix_(train, train)]
    np.fill_diagonal(A, 0)
    other = Bunch(**(network | {"adjacency": A}))
    assert not np.array_equal(
        rows, replace(small(lab.Setting()), options=FEW_TREES).score(other, 0)[0]
    )


@pytest.mark.parametrize("impute", list(lab.IMPUTERS))
def test_missing_cells_are_filled_from_the_known_nodes(network, impute):
    train, test = lab.node_folds(len(network.adjacency))[0]
    X = lab.fold_inputs(network, lab.TYPES, train, impute)
    assert np.isfinite(X).all()
    raw = np.hstack([network.inputs[name] for name in lab.TYPES])
    np.testing.assert_array_equal(X[~np.isnan(raw)], raw[~np.isnan(raw)], strict=True)
    inputs = {name: values.copy() for name, values in network.inputs.items()}
    inputs["expression"][test[0]] = 1e6
    other = lab.fold_inputs(Bunch(inputs=inputs), lab.TYPES, train, impute)
    rest = np.setdiff1d(np.arange(len(X)), test[0])
    np.testing.assert_array_equal(X[rest], other[rest], strict=True)


@pytest.mark.filterwarnings("ignore:All trees are the same")  # as OK3 grows them
def test_scores_are_kernel_predictions(network):
    """eq-ok3-21, by the double sum over leaves; and the link predictor of chapter 2
    around the same trees."""
    A = network.adjacency.astype(float)
    train, test = lab.node_folds(len(A))[1]
    rows = lab.score_by_trees(
        network, ("phylogenetic",), train, test, seed=3, **FEW_TREES
    )
    X, K = network.inputs["phylogenetic"], diffusion_gram(A[np.ix_(train, train)], 1.0)
    trees = OutputKernelExtraTrees(
        "precomputed", n_estimators=5, min_samples_split=5, random_state=3
    ).fit(X[train], K)
    leaves = np.array([tree.weights(X).toarray() for tree in trees.estimators_]).mean(
        axis=0
    )
    np.testing.assert_allclose(rows, leaves[test] @ K @ leaves.T, atol=1e-11)
    chapter = LinkPredictor(trees, beta=1.0, threshold=0.0).fit(
        X, A[np.ix_(train, train)], train
    )
    np.testing.assert_allclose(rows, chapter.score_pairs()[test], atol=1e-10)
    known = lab.score_by_trees(
        network, ("phylogenetic",), train, test, seed=3, known="exact", **FEW_TREES
    )
    np.testing.assert_allclose(known[:, train], leaves[test] @ K, atol=1e-11)
    np.testing.assert_array_equal(known[:, test], rows[:, test])
    cosine = lab.score_by_trees(
        network, ("phylogenetic",), train, test, seed=3, known="cosine", **FEW_TREES
    )
    np.testing.assert_allclose(cosine[np.arange(len(test)), test], 1.0, atol=1e-9)


def test_every_pair_is_scored_while_hidden(network):
    """The completed scores are symmetric, and do not know the link of a pair of one
    part."""
    setting = replace(small(lab.Setting()), options=FEW_TREES, types=("phylogenetic",))
    S = lab.complete(setting, network)
    np.testing.assert_allclose(S, S.T, atol=1e-12)
    assert np.isfinite(S).all()
    rows, _, test = setting.score(network, 4)
    np.testing.assert_allclose(S[np.ix_(test, test)], rows[:, test], atol=1e-12)


def test_cells_are_pure(network, monkeypatch):
    monkeypatch.setattr(lab, "yeast_network", lambda nodes="all": network)
    lab._scored.cache_clear()
    first = lab.compute_cell("single tree", "all inputs", 0)
    lab._scored.cache_clear()
    assert first == lab.compute_cell("single tree", "all inputs", 0)
    lab._scored.cache_clear()


def test_shared_entries():
    M = lab.share_an_entry(["1.1.1.1; 2.7.1.-", "2.7.1.-;1.1.1.1", "3.1.1.1", ""])
    np.testing.assert_array_equal(
        M.astype(int), [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    )


def test_invented_metabolism():
    network = lab.toy_network()
    same = lab.share_an_entry(network.ec_codes)
    assert same.sum() - len(same) == 2 * 20  # two enzymes of one step in each pathway
    assert not (same & (network.adjacency > 0)).any()
    assert lab.share_an_entry(network.pathways)[network.adjacency > 0].all()


# What the page says, as statements on the stored tables


def test_the_size_of_the_network(stored):
    facts = {key[:2]: value for key, (value, _) in stored[lab.NETWORK.id].items()}
    assert (facts["nodes", "all"], facts["links", "all"]) == (625, 2896)
    assert (facts["nodes", "complete"], facts["links", "complete"]) == (401, 1289)
    assert {
        name: facts[f"{name}, columns", "all"] for name in lab.ALL_TYPES
    } == lab.WIDTHS
    assert not any(
        facts[f"{name}, missing", "complete"]
        for name in lab.ALL_TYPES
        if name != "expression"
    )
    assert (
        max(facts["links of one EC number", nodes] for nodes in ("all", "complete"))
        < 0.05
    )  # hardly ever joined


def test_order_of_the_tree_methods(stored):
    """OK3: bagging clearly better than a single tree, extra-trees better than
    bagging; the level is another."""
    tree, bagging, extra = (
        folds_of(stored, lab.TABLE, row, "all inputs") for row in lab.TABLE.rows
    )
    assert (bagging > tree).all() and excludes_zero(bagging - tree)
    assert (extra > bagging).sum() >= 8 and excludes_zero(extra - bagging)
    assert excludes_zero(
        read_paper(TABLES / lab.TABLE.id)["extra-trees", "all inputs"][0] - extra
    )


def test_order_of_the_inputs(stored):
    """Not that of OK3 on our table; that of OK3 as soon as the profile is one over
    distant genomes."""
    order = [
        folds_of(stored, lab.TABLE, "extra-trees", name)
        for name in ("all inputs", "localisation", "expression")
    ]
    order.append(folds_of(stored, lab.TABLE, "extra-trees", "phylogenetic"))
    assert all(excludes_zero(above - below) for above, below in zip(order, order[1:]))
    few = {
        name: folds_of(stored, lab.OTHER_INPUTS, f"{name}, 401 genes", "ROC")
        for name in lab.ALL_TYPES
    }
    genomes, fungi = few["phylogenetic_pavlidis"], few["phylogenetic"]
    assert all(
        excludes_zero(genomes - few[name])
        for name in few
        if name != "phylogenetic_pavlidis"
    )
    assert all(
        excludes_zero(few[name] - fungi) for name in few if name != "phylogenetic"
    )
    assert is_undecided(
        genomes - folds_of(stored, lab.OTHER_INPUTS, "all five, 401 genes", "ROC")
    )


def test_hidden_rows_of_localisation(stored):
    "Over five draws: below what it was, not told from expression, above the fungi."
    hidden = np.array(
        [folds_of(stored, lab.HIDDEN, row, "ROC") for row in lab.HIDDEN.rows]
    )
    expression, localisation, fungi = (
        folds_of(stored, lab.TABLE, "extra-trees", name) for name in lab.TYPES
    )
    mean = hidden.mean(axis=0)
    assert (
        excludes_zero(localisation - mean)
        and excludes_zero(mean - fungi)
        and is_undecided(mean - expression)
    )
    first = folds_of(stored, lab.OTHER_INPUTS, "localisation, a quarter hidden", "ROC")
    np.testing.assert_allclose(hidden[0], first, rtol=1e-12)


def test_draws_of_hidden_rows_differ(network, monkeypatch):
    monkeypatch.setattr(lab, "yeast_network", lambda nodes="all": network)
    drawn = [
        lab.Setting(hide=0.25, draw=draw).network().inputs["localisation"]
        for draw in (0, 0, 1)
    ]
    np.testing.assert_array_equal(drawn[0], drawn[1], strict=True)
    assert not np.array_equal(drawn[0], drawn[2])
    kept = (drawn[0] == network.inputs["localisation"]).all(axis=1).mean()
    assert 0.5 < kept < 0.95


def test_extra_trees_beat_the_kernel_methods_on_all_inputs(stored):
    extra = folds_of(stored, lab.TABLE, "extra-trees", "all inputs")
    few = folds_of(stored, lab.OTHER_INPUTS, "phylogenetic_pavlidis, 401 genes", "ROC")
    for name in lab.METHODS:
        assert excludes_zero(
            extra - folds_of(stored, lab.OTHER_METHODS, f"{name}, all inputs", "ROC")
        )
        theirs = folds_of(
            stored,
            lab.OTHER_METHODS,
            f"{name}, phylogenetic_pavlidis, 401 genes",
            "ROC",
        )
        assert few.mean() > theirs.mean()


def test_what_the_open_choices_change(stored):
    """The leak cannot be seen; the number of variables tried matters most; cosines
    make the top of the list purer."""
    extra = folds_of(stored, lab.TABLE, "extra-trees", "all inputs")
    change = {
        name: folds_of(stored, lab.SENSITIVITY, name, "ROC") - extra
        for name in lab.CHOICES
    }
    assert is_undecided(change["kernel of the whole network"]) and is_undecided(
        change["cosine of the predictions"]
    )
    luck = max(abs(change[name].mean()) for name in ("other trees", "other folds"))
    assert abs(change["kernel of the whole network"].mean()) < luck
    assert max(
        change, key=lambda name: change[name].mean()
    ) == "K = sqrt(p)" and excludes_zero(change["K = sqrt(p)"])
    plain = folds_of(stored, lab.MEASURED, "extra-trees, all inputs", "AP")
    assert excludes_zero(
        folds_of(stored, lab.SENSITIVITY, "cosine of the predictions", "AP") - plain
    )


def test_pairs_of_two_hidden_nodes_are_harder(stored):
    one, both = (
        folds_of(stored, lab.MEASURED, "extra-trees, all inputs", f"ROC, {kind} hidden")
        for kind in ("one", "both")
    )
    assert excludes_zero(one - both) and one.std() < both.std()


def test_the_list_is_purer_than_chance_and_mostly_wrong(stored):
    ap, density = (
        folds_of(stored, lab.MEASURED, "extra-trees, all inputs", "AP"),
        2896 / (625 * 624 / 2),
    )
    assert excludes_zero(ap - density) and ap.max() < 0.5


@pytest.mark.parametrize("setting", list(lab.SETTINGS))
def test_stored_curves_have_the_stored_areas(stored, setting):
    areas = folds_of(stored, lab.TABLE, *setting.split(", "))
    rates = np.array(
        [
            folds_of(stored, lab.MEASURED, setting, f"TPR at {rate:g}")
            for rate in lab.RATES
        ]
    )
    assert (np.diff(rates, axis=0) >= -1e-12).all()
    np.testing.assert_allclose(np.trapezoid(rates, lab.RATES, axis=0), areas, atol=0.01)


def test_the_best_new_pairs_are_enzymes_of_one_reaction(stored):
    top = {key[:2]: value for key, (value, _) in stored[lab.TOP.id].items()}
    row = "phylogenetic_pavlidis, 401 genes, cosine"
    assert top[row, "one EC number, best 20"] >= 0.8
    assert top[row, "one EC number, best 20"] > 100 * top[row, "one EC number, all"]
    assert top[row, "one pathway, best 100"] > 10 * top[row, "one pathway, all"]
    assert top[row, "one pathway, best 20"] > 0.5
    assert (
        top[lab.TOP_ROWS[0], "mean degree, best 100"]
        < top[lab.TOP_ROWS[0], "mean degree, all"] - 1
    )


def test_the_best_twenty_suggestions(stored):
    """No pair of the list is missing, for its ranks are 1 to 20; seven share a
    pathway, a fifth a neighbour."""
    told = {key[:2]: value for key, (value, _) in stored[lab.SUGGESTIONS.id].items()}
    assert [told[pair, "rank"] for pair in lab.SUGGESTED] == list(range(1, 21))
    scores = [told[pair, "score"] for pair in lab.SUGGESTED]
    assert (
        scores == sorted(scores, reverse=True) and min(np.abs(np.diff(scores))) > 1e-6
    )
    together, near = (
        np.mean([told[pair, what] for pair in lab.SUGGESTED])
        for what in ("one pathway", "common neighbour")
    )
    assert together > 10 * told["all candidates", "one pathway"]
    assert near > 5 * told["all candidates", "common neighbour"]
    assert told["PRO3 – PRO2", "one pathway"] == 1
    assert [told[pair, "known link"] for pair in lab.KNOWN_AMONG] == [1] * len(
        lab.KNOWN_AMONG
    )
    assert told["all named enzymes", "known link"] == len(lab.KNOWN_AMONG)


def test_the_suggestions_come_out_again(require_dataset):
    "Their ranks and scores, from forests grown anew."
    require_dataset("yeast_enzyme")
    cells = read_cells(TABLES / lab.SUGGESTIONS.id)
    for pair in (lab.SUGGESTED[0], lab.SUGGESTED[10], lab.SUGGESTED[-1]):
        for what in ("rank", "score"):
            assert np.isclose(
                computed(lab.SUGGESTIONS, pair, what, 0),
                cells[pair, what, 0][0],
                rtol=1e-6,
            )


def test_pairs_of_one_reaction_cost_precision(stored):
    area = {key[:2]: value for key, (value, _) in stored[lab.REACTIONS.id].items()}
    every, without = lab.REACTIONS.rows
    assert area[without, "AP"] > 1.1 * area[every, "AP"]
    assert abs(area[without, "ROC"] - area[every, "ROC"]) < 0.01


def test_ranks_of_the_variables(stored):
    """At least ten of the last twenty are of localisation, none of the first five;
    expression has the most."""
    mean = {}
    for (row, column, _), (value, _) in stored[lab.IMPORTANCE.id].items():
        mean[column, row] = mean.get((column, row), 0.0) + value / 3
    share = {
        c: sum(v for (column, _), v in mean.items() if column == c)
        for c in lab.IMPORTANCE.columns
    }
    assert share["expression"] > share["localisation"]
    for few in (False, True):
        ranked = sorted(
            (v, column)
            for (column, _), v in mean.items()
            if column.endswith("genes") == few
        )
        names = [column.split(",")[0] for _, column in ranked]
        assert (
            names[:20].count("localisation") >= 10 and "localisation" not in names[-5:]
        )


def test_importances_are_shares(stored):
    for few in (False, True):
        shares = [
            value
            for key, (value, _) in stored[lab.IMPORTANCE.id].items()
            if key.column.endswith("genes") == few
        ]
        assert min(shares) >= 0
        np.testing.assert_allclose(np.sum(shares), 3.0, atol=1e-9)  # three forests


def test_what_is_printed_is_shown_beside_ours():
    table = compare(lab.TABLE, TABLES / lab.TABLE.id).set_index(["row", "column"])
    assert table.loc[("extra-trees", "all inputs"), "paper"] == 0.845
    assert table.loc[("extra-trees", "all inputs"), "difference"] < 0


def test_known_nodes_of_full_trees():
    "In trees whose leaves hold one example, a known node is predicted as it is."
    network = lab.toy_network(n_pathways=6)
    train, test = lab.node_folds(len(network.adjacency))[0]
    options = {**lab.EXTRA, "n_estimators": 5, "min_samples_split": 2}
    forest = *lab.forest_of_links(network, lab.TYPES, train, 0, **options), train, test
    predicted, exact = (
        lab.pair_scores(*forest, known) for known in ("predicted", "exact")
    )
    np.testing.assert_allclose(predicted, exact, atol=1e-9)
    same = lab.score_by_trees(network, lab.TYPES, train, test, known="exact", **options)
    np.testing.assert_array_equal(same, exact)


def test_links_of_one_pathway(monkeypatch):
    "Links across pathways are left out, and so are nodes that lose all of theirs."
    network = lab.toy_network(n_pathways=3)
    network.pathways = network.pathways.astype("<U20")
    network.pathways[0] = "elsewhere"  # the end of the first chain
    monkeypatch.setattr(lab, "yeast_network", lambda nodes: network)
    lab.read_network.cache_clear()
    part = lab.read_network("all", "links of one pathway")
    lab.read_network.cache_clear()
    assert part.genes.tolist() == network.genes[1:].tolist()
    np.testing.assert_array_equal(part.adjacency, network.adjacency[1:, 1:])
