"""Lab 12: the protocol of OK3 section 3.2, a network of enzymes; its stored tables; and that no hidden link is seen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from okbook.core import diffusion_gram, pr_auc, roc_auc
from okbook.labs import ok3_enzyme_network as lab
from okbook.rkhs import LinkPredictor, node_pairs
from okbook.tables import compare, read_cells, read_paper
from okbook.trees import OutputKernelExtraTrees

TABLES = Path(__file__).parents[1] / "tables"
FEW_TREES = lab.EXTRA | {"n_estimators": 5}


def small(setting):
    "The same setting with few trees, on all nodes of whatever network."
    options = setting.options | ({"n_estimators": 5} if "n_estimators" in setting.options else {})
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


def test_printed_numbers():
    paper = read_paper(TABLES / "ok3-figure2")
    assert set(paper) == {("extra-trees", "all inputs")}
    assert paper["extra-trees", "all inputs"][0] == 0.845


def test_the_network(require_dataset):
    require_dataset("yeast_enzyme")
    network, few = lab.yeast_network(), lab.yeast_network("complete")
    assert network.adjacency.shape == (625, 625) and network.adjacency.sum() == 2 * 2896
    assert few.adjacency.shape == (401, 401) and few.adjacency.sum() == 2 * 1289
    assert {name: values.shape[1] for name, values in network.inputs.items()} == lab.WIDTHS
    assert not any(np.isnan(few.inputs[name]).all(axis=1).any() for name in lab.ALL_TYPES)
    same_reaction = lab.share_an_entry(network.ec_codes) & (network.adjacency > 0)
    assert same_reaction.sum() / network.adjacency.sum() < 0.05  # nearly never linked, by definition


def test_folds_hide_every_node_once():
    for n in (180, 625):
        tests = [test for _, test in lab.node_folds(n)]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(n), strict=True)
        for train, test in lab.node_folds(n):
            np.testing.assert_array_equal(np.union1d(train, test), np.arange(n), strict=True)
            assert len(train) + len(test) == n
    first, second = ([test.tolist() for _, test in lab.node_folds(625, seed)] for seed in (0, 1))
    assert first != second


def test_pairs_on_which_an_area_is_computed():
    "Counts of eq-links-count: 63 x 562 with a known node, 63 x 62 / 2 without; each once, none of two known nodes."
    n = 625
    numbers = np.arange(n * n).reshape(n, n)
    numbers = np.minimum(numbers, numbers.T)  # a number a pair
    for train, test in lab.node_folds(n):
        one, both, every = (lab.hidden_pairs(numbers[test], train, test, kind) for kind in ("one", "both", "any"))
        assert (len(one), len(both)) == (len(test) * (n - len(test)), len(test) * (len(test) - 1) // 2)
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
        assert np.isclose(lab.measure("ROC" + name, A, S[test], train, test), roc_auc(A, S, mask))
        assert np.isclose(lab.measure("AP" + name, A, S[test], train, test), pr_auc(A, S, mask))
    rates = [lab.measure(f"TPR at {rate:g}", A, S[test], train, test) for rate in lab.RATES]
    assert (np.diff(rates) >= 0).all() and rates[-1] == 1.0
    assert abs(np.trapezoid(rates, lab.RATES) - roc_auc(A, S, node_pairs(n, train))) < 0.02


@pytest.mark.parametrize("name", list(lab.ALL_SETTINGS))
def test_no_hidden_link_enters_the_fit(network, name):
    "Turn all links of hidden nodes around: the scores stay; but for the one setting that looks at them, and says so."
    setting = small(lab.ALL_SETTINGS[name])
    rows, train, test = setting.score(network, 2)
    again, _, _ = setting.score(flipped(network, test), 2)
    assert rows.shape == (len(test), len(network.adjacency))
    assert np.array_equal(rows, again) == (name != "kernel of the whole network")


def test_the_known_links_do_enter(network):
    "The reverse: turn links of known nodes around, and the scores change."
    rows, train, test = replace(small(lab.Setting()), options=FEW_TREES).score(network, 0)
    A = network.adjacency.copy()
    A[np.ix_(train, train)] = 1 - A[np.ix_(train, train)]
    np.fill_diagonal(A, 0)
    other = Bunch(**(network | {"adjacency": A}))
    assert not np.array_equal(rows, replace(small(lab.Setting()), options=FEW_TREES).score(other, 0)[0])


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


def test_scores_are_kernel_predictions(network):
    "eq-ok3-21, by the double sum over leaves; and the link predictor of chapter 02 around the same trees."
    A = network.adjacency.astype(float)
    train, test = lab.node_folds(len(A))[1]
    rows = lab.score_by_trees(network, ("phylogenetic",), train, test, seed=3, **FEW_TREES)
    X, K = network.inputs["phylogenetic"], diffusion_gram(A[np.ix_(train, train)], 1.0)
    trees = OutputKernelExtraTrees("precomputed", n_estimators=5, min_samples_split=5, random_state=3).fit(X[train], K)
    leaves = np.array([tree.weights(X).toarray() for tree in trees.estimators_]).mean(axis=0)
    np.testing.assert_allclose(rows, leaves[test] @ K @ leaves.T, atol=1e-11)
    chapter = LinkPredictor(trees, beta=1.0, threshold=0.0).fit(X, A[np.ix_(train, train)], train)
    np.testing.assert_allclose(rows, chapter.score_pairs()[test], atol=1e-10)
    known = lab.score_by_trees(network, ("phylogenetic",), train, test, seed=3, known="exact", **FEW_TREES)
    np.testing.assert_allclose(known[:, train], leaves[test] @ K, atol=1e-11)
    np.testing.assert_array_equal(known[:, test], rows[:, test])
    cosine = lab.score_by_trees(network, ("phylogenetic",), train, test, seed=3, known="cosine", **FEW_TREES)
    np.testing.assert_allclose(cosine[np.arange(len(test)), test], 1.0, atol=1e-9)


def test_every_pair_is_scored_while_hidden(network):
    "The completed scores are symmetric, and do not know the link of a pair of one part."
    setting = replace(small(lab.Setting()), options=FEW_TREES, types=("phylogenetic",))
    S = lab.complete(setting, network)
    np.testing.assert_allclose(S, S.T, atol=1e-12)
    assert np.isfinite(S).all()
    rows, _, test = setting.score(network, 4)
    np.testing.assert_allclose(S[np.ix_(test, test)], rows[:, test], atol=1e-12)


def test_cells_are_pure(network, monkeypatch):
    monkeypatch.setattr(lab, "yeast_network", lambda nodes="all": network)
    lab._scored.cache_clear()
    first = lab.compute_cell("single tree", "all inputs", 0, seed=1)
    lab._scored.cache_clear()
    assert first == lab.compute_cell("single tree", "all inputs", 0, seed=2)
    lab._scored.cache_clear()


def test_shared_entries():
    M = lab.share_an_entry(["1.1.1.1; 2.7.1.-", "2.7.1.-;1.1.1.1", "3.1.1.1", ""])
    np.testing.assert_array_equal(M.astype(int), [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])


def test_invented_metabolism():
    network = lab.toy_network()
    same = lab.share_an_entry(network.ec_codes)
    assert same.sum() - len(same) == 2 * 20  # two enzymes of one step in each pathway
    assert not (same & (network.adjacency > 0)).any()
    assert lab.share_an_entry(network.pathways)[network.adjacency > 0].all()


# What the page says, as statements on the stored tables


def test_order_of_the_tree_methods(stored):
    "OK3: a single tree is clearly beaten by bagging, which is itself inferior to extra-trees."
    tree, bagging, extra = (folds_of(stored, lab.TABLE, row, "all inputs") for row in lab.TABLE.rows)
    assert (bagging > tree).all()
    assert extra.mean() > bagging.mean() and (extra > bagging).sum() >= 8


def test_order_of_the_inputs(stored):
    "Not that of OK3 on our table; that of OK3 as soon as the profile is one over distant genomes."
    means = {name: folds_of(stored, lab.TABLE, "extra-trees", name).mean() for name in ("all inputs", *lab.TYPES)}
    assert means["all inputs"] > means["localisation"] > means["expression"] > means["phylogenetic"] > 0.5
    few = {name: folds_of(stored, lab.OTHER_INPUTS, f"{name}, 401 genes", "ROC").mean() for name in lab.ALL_TYPES}
    assert max(few, key=few.get) == "phylogenetic_pavlidis" and min(few, key=few.get) == "phylogenetic"
    assert few["phylogenetic_pavlidis"] > folds_of(stored, lab.OTHER_INPUTS, "all five, 401 genes", "ROC").mean()
    assert folds_of(stored, lab.OTHER_INPUTS, "localisation, a quarter hidden", "ROC").mean() < means["expression"]


def test_extra_trees_beat_the_kernel_methods_on_all_inputs(stored):
    extra = folds_of(stored, lab.TABLE, "extra-trees", "all inputs")
    for name in lab.METHODS:
        assert extra.mean() > folds_of(stored, lab.OTHER_METHODS, f"{name}, all inputs", "ROC").mean()


def test_pairs_of_two_hidden_nodes_are_harder(stored):
    one, both = (
        folds_of(stored, lab.MEASURED, "extra-trees, all inputs", f"ROC, {kind} hidden") for kind in ("one", "both")
    )
    assert one.mean() > both.mean() and one.std() < both.std()


@pytest.mark.parametrize("setting", list(lab.SETTINGS))
def test_stored_curves_have_the_stored_areas(stored, setting):
    areas = folds_of(stored, lab.TABLE, *setting.split(", "))
    rates = np.array([folds_of(stored, lab.MEASURED, setting, f"TPR at {rate:g}") for rate in lab.RATES])
    assert (np.diff(rates, axis=0) >= -1e-12).all()
    np.testing.assert_allclose(np.trapezoid(rates, lab.RATES, axis=0), areas, atol=0.01)


def test_the_best_new_pairs_are_enzymes_of_one_reaction(stored):
    top = {key[:2]: value for key, (value, _) in stored[lab.TOP.id].items()}
    row = "phylogenetic_pavlidis, 401 genes, cosine"
    assert top[row, "one EC number, best 20"] >= 0.8
    assert top[row, "one EC number, best 20"] > 100 * top[row, "one EC number, all"]
    assert top[row, "one pathway, best 100"] > 10 * top[row, "one pathway, all"]
    assert top[lab.TOP_ROWS[0], "mean degree, best 100"] < top[lab.TOP_ROWS[0], "mean degree, all"]


def test_importances_are_shares(stored):
    for few in (False, True):
        shares = [value for key, (value, _) in stored[lab.IMPORTANCE.id].items() if key.column.endswith("genes") == few]
        assert min(shares) >= 0
        np.testing.assert_allclose(np.sum(shares), 3.0, atol=1e-9)  # three forests


def test_what_is_printed_is_shown_beside_ours():
    table = compare(lab.TABLE, TABLES / lab.TABLE.id).set_index(["row", "column"])
    assert table.loc[("extra-trees", "all inputs"), "paper"] == 0.845
    assert table.loc[("extra-trees", "all inputs"), "difference"] < 0
