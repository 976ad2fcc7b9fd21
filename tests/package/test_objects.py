"""Kernels on objects: in every estimator, by name, on outputs and inputs, and what
they refuse. Their values are checked on the page, against definitions written out."""

import itertools
import pickle
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import okbook
from okbook.core import (
    CachedKernel,
    GramKernel,
    ObjectKernel,
    OutputKernelKNN,
    PairwiseKernel,
    SpectrumKernel,
    SubsequenceKernel,
    check_kernel,
    is_psd,
)
from okbook.mkl import KernelCombiner
from okbook.rkhs import (
    OutputKernelRidge,
    OutputKernelRidgeCV,
    SemiSupervisedOutputKernelRidge,
)
from okbook.trees import OutputKernelExtraTrees, OutputKernelTree

RNG = np.random.default_rng(0)
N = 24
X = RNG.uniform(size=(N, 2))
WORDS = ["".join(RNG.choice([*"abc"], RNG.integers(1, 6))) for _ in range(N)]
SETS = [set(word) for word in WORDS]
GRAPHS = [nx.gnp_random_graph(6, 0.4, seed=seed) for seed in range(N)]
ADJACENT = [nx.to_numpy_array(graph) for graph in GRAPHS]
OBJECTS = {
    "spectrum": WORDS,
    "subsequence": [tuple(word) for word in WORDS],
    "jaccard": SETS,
    "intersection": [Counter(word) for word in WORDS],
    "weisfeiler_lehman": GRAPHS,
    "kendall": np.array([RNG.permutation(5) for _ in range(N)]),
    "mallows": np.array([RNG.permutation(5) for _ in range(N)]),
    "chi2": RNG.integers(0, 5, (N, 4)).astype(float),
    "auto": WORDS,
}
MODELS = [
    OutputKernelKNN(3),
    OutputKernelRidge(),
    OutputKernelRidgeCV(),
    OutputKernelTree(random_state=0),
    OutputKernelExtraTrees(n_estimators=3, random_state=0),
    SemiSupervisedOutputKernelRidge(),
]


def same(a, b):
    if isinstance(a, nx.Graph):
        return nx.utils.graphs_equal(a, b)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_outputs_by_name(model, name):
    "As with the Gram matrix itself, and each prediction is an output that was given."
    y = OBJECTS[name]
    model = clone(model).set_params(output_kernel=name).fit(X, y)
    K = check_kernel(name).fit(y).gram(y)
    by_gram = clone(model).set_params(output_kernel=GramKernel(K)).fit(X, np.arange(N))
    assert_allclose(
        model.predict_gram(X + 0.1), by_gram.predict_gram(X + 0.1), atol=1e-7
    )
    for a in model.predict(X):
        assert any(same(a, other) for other in y)
    assert_allclose(model.score(X, y), by_gram.score(X, np.arange(N)), atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    assert all(map(same, again.predict(X), model.predict(X)))


@pytest.mark.parametrize("name", OBJECTS)
def test_a_gram_matrix_of_any_two_sets(name):
    y, kernel = OBJECTS[name], check_kernel(name).fit(OBJECTS[name])
    K = kernel.gram(y)
    assert is_psd(K) and kernel.always_psd
    assert_allclose(kernel.gram(y[:5], y[3:]), K[:5, 3:], atol=1e-12)
    assert_allclose(kernel.diag(y), K.diagonal(), atol=1e-12)
    assert_allclose(K, K.T, atol=1e-14)
    if name not in ("kendall", "mallows", "chi2"):
        as_array = np.empty(N, dtype=object)
        as_array[:] = y
        assert_allclose(kernel.gram(pd.Series(y), as_array), K)


@pytest.mark.parametrize("name", OBJECTS)
def test_inputs_by_name(name):
    "The same objects as inputs, in a search and in a cross-validation."
    x, y = OBJECTS[name], X[:, 0]
    model = OutputKernelRidge(input_kernel=name, lam=0.1).fit(x, y)
    K = check_kernel(name).fit(x).gram(x)
    by_gram = OutputKernelRidge(input_kernel="precomputed", lam=0.1).fit(K, y)
    assert_allclose(model.predict(x[:7]), by_gram.predict(K[:7]), atol=1e-9)
    assert np.isfinite(cross_val_score(model, x, y, cv=3)).all()
    neighbours = OutputKernelKNN(3, input_kernel=name).fit(x, y)
    by_gram = OutputKernelKNN(3, input_kernel="precomputed").fit(K, y)
    assert_allclose(neighbours.predict(x[:7]), by_gram.predict(K[:7]))


def test_objects_on_both_sides_and_among_combined_kernels():
    model = OutputKernelRidge(input_kernel="spectrum", output_kernel="jaccard")
    assert model.fit(WORDS, SETS).predict(WORDS[:3])[0] in SETS
    table = pd.DataFrame({"word": WORDS, "size": X[:, 0]})
    kinds = np.where([("a" in word) for word in WORDS], "a", "no a")
    kernels = [("word", "spectrum", "word"), ("size", "rbf", ["size"])]
    weights = KernelCombiner(kernels, lam=0.1).fit(table, kinds).named_weights_
    assert weights["word"] > weights["size"]


class Prefix(ObjectKernel):
    "The kernel of an engineer: finding 2."

    def compare(self, a, b):
        return sum(1 for _ in itertools.takewhile(lambda p: p[0] == p[1], zip(a, b)))


class Length(ObjectKernel):
    "No kernel."

    def check_object(self, y):
        if not isinstance(y, str):
            raise TypeError(f"a word was expected: got {y!r}.")
        return y

    def compare(self, a, b):
        return -abs(len(a) - len(b))


def test_a_kernel_of_ones_own_fits_and_predicts():
    for model in MODELS:
        model = clone(model).set_params(output_kernel=Prefix()).fit(X, WORDS)
        assert set(model.predict(X)) <= set(WORDS)
        assert set(model.predict(X, ["abc", "cab"])) <= {"abc", "cab"}
    assert OutputKernelRidge(input_kernel=Prefix()).fit(WORDS, X).predict(WORDS).size
    with pytest.raises(ValueError, match="positive semi-definite"):
        OutputKernelRidge(output_kernel=Length()).fit(X, WORDS)
    with pytest.raises(TypeError, match=r"y\[1\] is nothing that Length compares"):
        OutputKernelRidge(output_kernel=Length()).fit(X, ["a", 3.0, *WORDS[2:]])
    with pytest.raises(NotImplementedError, match="compare"):
        ObjectKernel().gram(WORDS)


@pytest.mark.parametrize(
    "objects, kernel",
    [
        (WORDS, okbook.SpectrumKernel),
        (np.array(WORDS), okbook.SpectrumKernel),
        ([list(word) for word in WORDS], okbook.SpectrumKernel),
        (SETS, okbook.JaccardKernel),
        ([frozenset(s) for s in SETS], okbook.JaccardKernel),
        ([Counter(word) for word in WORDS], okbook.JaccardKernel),
        (GRAPHS, okbook.WeisfeilerLehmanKernel),
        ([dict(graph.adj) for graph in GRAPHS], okbook.WeisfeilerLehmanKernel),
    ],
)
def test_auto_and_the_error_without_it(objects, kernel):
    model = OutputKernelRidge(output_kernel="auto").fit(X, objects)
    assert type(model.kernel_.kernel_) is kernel
    assert any(same(model.predict(X[:1])[0], other) for other in objects)
    for plain in (OutputKernelRidge(), OutputKernelTree(), OutputKernelKNN(3)):
        with pytest.raises(ValueError, match="output_kernel.*(spectrum|jaccard|weis)"):
            plain.fit(X, objects)


def test_auto_refuses_numbers():
    for y in (X[:, 0], X, [1, 2] * 12, ["a"] * 0):
        with pytest.raises(ValueError, match="auto|inconsistent|one object"):
            OutputKernelRidge(output_kernel="auto").fit(X, y)


BAD = {
    "spectrum": [("abc", TypeError), ([3.0], TypeError), ([["a", []]], TypeError)],
    "subsequence": [([None], TypeError), ({"a": 1}, TypeError)],
    "jaccard": [
        (["tea"], TypeError),
        ([{"a": -1}], ValueError),
        ([{"a": np.nan}], ValueError),
        ([{"a": "b"}], ValueError),
        ([[1, 0]], TypeError),
        ([3], TypeError),
        (5, TypeError),
    ],
    "intersection": [(np.array([[1.0, -1.0]]), ValueError), ([[[1], [2]]], TypeError)],
    "kendall": [([[1.0], [2.0]], ValueError), ([1.0, 2.0], ValueError)],
    "mallows": [([[1.0, np.nan]], ValueError), (["ab"], ValueError)],
    "chi2": [([[1.0, -2.0]], ValueError), ([[np.inf, 1.0]], ValueError)],
    "weisfeiler_lehman": [
        ([np.ones((2, 3))], ValueError),
        ([np.triu(np.ones((3, 3)))], ValueError),
        ([np.full((2, 2), np.nan)], ValueError),
        ([{"a": ["b"]}], ValueError),
        ([{"a": ["b"], "b": []}], ValueError),
        ([(np.eye(2), ["C"])], ValueError),
        ([nx.DiGraph([(0, 1)])], ValueError),
        (["C"], TypeError),
        (nx.path_graph(3), TypeError),
    ],
}


@pytest.mark.parametrize("length", [7, 10**9, 10**30])
@pytest.mark.parametrize("normalize", [False, True])
def test_lengths_beyond_the_longest_word(length, normalize):
    """In no time, and what the definitions say: the words have five letters at most."""
    blended = SpectrumKernel(length, normalize=normalize).gram(WORDS)
    expected = SpectrumKernel(5, normalize=normalize).gram(WORDS)
    np.testing.assert_array_equal(blended, expected)
    for kernel in (
        SpectrumKernel(length, blended=False, normalize=normalize),
        SubsequenceKernel(length, normalize=normalize),
    ):
        assert not kernel.gram(WORDS).any() and not kernel.diag(WORDS).any()


def test_too_many_rounds_are_refused():
    with pytest.raises(ValueError, match="'n_iter' parameter"):
        check_kernel("weisfeiler_lehman", {"n_iter": 10**30}).gram(GRAPHS)


def test_chi2_takes_what_cannot_be_written_to():
    histograms = OBJECTS["chi2"]
    fixed, frame = histograms.copy(), pd.DataFrame(histograms)
    fixed.flags.writeable = False
    for kernel in (check_kernel("chi2"), PairwiseKernel("additive_chi2")):
        K = kernel.gram(histograms)
        for Y in (fixed, frame):
            assert_allclose(kernel.gram(Y), K, atol=1e-12, strict=True)
            assert_allclose(kernel.gram(Y, histograms), K, atol=1e-12, strict=True)
    for model in (
        OutputKernelRidge(input_kernel="chi2"),
        OutputKernelRidge(output_kernel="chi2"),
    ):
        P = model.fit(histograms, histograms).predict(histograms)
        found = clone(model).fit(frame, frame).predict(frame)
        assert_allclose(found, P, atol=1e-9, strict=True)


@pytest.mark.parametrize(
    "name, y, error", [(name, y, e) for name, cases in BAD.items() for y, e in cases]
)
def test_bad_objects_are_refused(name, y, error):
    with pytest.raises(error) as info:
        check_kernel(name).gram(y)
    assert str(info.value).startswith(("Y", "Input Y")), str(info.value)


def test_candidates_of_another_kind_are_refused():
    model = OutputKernelRidge(output_kernel="jaccard").fit(X, SETS)
    with pytest.raises(ValueError, match=r"candidates\[1\] is nothing that Jaccard"):
        model.predict(X, [{"a"}, "tea"])


def test_graphs_in_all_forms_are_one():
    kernel = check_kernel("weisfeiler_lehman")
    K = kernel.gram(GRAPHS)
    assert_allclose(kernel.gram(ADJACENT), K)
    assert_allclose(kernel.gram([dict(graph.adj) for graph in GRAPHS]), K)
    degrees = [(A, A.sum(axis=1).astype(int)) for A in ADJACENT]
    assert_allclose(kernel.gram(degrees), K)
    for graph in GRAPHS:
        nx.set_node_attributes(graph, dict(graph.degree), "degree")
    hashes = [  # an implementation of others, which counts the rounds after the first
        nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="degree", iterations=2, digest_size=16
        )
        for graph in GRAPHS
    ]
    counts = [Counter(h for node in g.values() for h in node) for g in hashes]
    theirs = [[sum(a[h] * b[h] for h in a) for b in counts] for a in counts]
    ours = okbook.WeisfeilerLehmanKernel(2, normalize=False)
    labels = okbook.WeisfeilerLehmanKernel(0, normalize=False)
    assert_allclose(ours.gram(GRAPHS) - labels.gram(GRAPHS), theirs)


def test_cached_kernel_is_computed_once_for_a_grid():
    calls = []

    def counted(Y1, Y2):
        calls.append(len(Y1))
        return check_kernel("spectrum").gram(Y1, Y2)

    kernel = CachedKernel(counted, WORDS)
    model = OutputKernelRidge(output_kernel=kernel, candidates=WORDS)
    found = GridSearchCV(model, {"lam": [0.1, 1.0]}, cv=3).fit(X, WORDS)
    assert calls == [N]
    plain = GridSearchCV(
        OutputKernelRidge(output_kernel="spectrum", candidates=WORDS),
        {"lam": [0.1, 1.0]},
        cv=3,
    ).fit(X, WORDS)
    assert_allclose(
        found.cv_results_["mean_test_score"],
        plain.cv_results_["mean_test_score"],
        atol=1e-9,
    )
    assert found.predict(X) == plain.predict(X)
    with pytest.raises(ValueError, match="'xyz' is not among the objects"):
        found.best_estimator_.predict(X, ["xyz"])
    with pytest.raises(TypeError, match=r"objects\[0\] must be hashable"):
        CachedKernel("jaccard", SETS).fit()
    with pytest.raises(ValueError, match="positive semi-definite"):
        CachedKernel(Length(), WORDS).fit()
