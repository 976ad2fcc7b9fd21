"""Kernels on objects: in every estimator, by name, on outputs and inputs, and what
they refuse. Their values are checked on the page, against definitions written out."""

import inspect
import itertools
import pickle
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import okbook
from okbook.core import (
    CachedKernel,
    DiffusionKernel,
    GramKernel,
    InputKernelMixin,
    ObjectKernel,
    OutputKernelKNN,
    PairwiseKernel,
    RBFKernel,
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


PLACES = np.arange(N)
LINKS = (np.abs(X[:, None, 0] - X[:, 0]) < 0.2) & ~np.eye(N, dtype=bool)
OVER_NODES = [
    GramKernel(RBFKernel(sigma=0.5).gram(X)),
    DiffusionKernel(adjacency=LINKS.astype(float)),
]
WITH_INPUTS = [
    value
    for value in map(vars(okbook).get, okbook.__all__)
    if inspect.isclass(value) and issubclass(value, InputKernelMixin)
]


@pytest.mark.parametrize("kernel", OVER_NODES, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("Estimator", WITH_INPUTS)
def test_node_numbers_as_inputs_in_both_shapes(Estimator, kernel):
    """A vector, a list, a column and a column of whole floats are the same inputs, and
    the Gram matrix itself gives the same predictions."""
    y = X
    if not hasattr(Estimator, "score") or "adjacency" in (Estimator.fit.__doc__ or ""):
        y = LINKS.astype(float)
    expected = None
    for nodes in (PLACES, PLACES.tolist(), PLACES[:, None], PLACES[:, None] * 1.0):
        model = Estimator(input_kernel=clone(kernel)).fit(nodes, y)
        found = model.predict(nodes[:5])
        expected = found if expected is None else expected
        assert_array_equal(found, expected)
    K = clone(kernel).fit().gram(PLACES)
    model = Estimator(input_kernel="precomputed").fit(K, y)
    assert_allclose(found, model.predict(K[:5]), atol=1e-9)


@pytest.mark.parametrize("kernel", OVER_NODES, ids=lambda k: type(k).__name__)
def test_node_numbers_in_a_search_and_among_combined_kernels(kernel):
    labels = (X[:, 0] > 0.5).astype(int)
    scores = [
        cross_val_score(OutputKernelKNN(3, input_kernel=kernel), nodes, X, cv=3)
        for nodes in (PLACES, PLACES[:, None])
    ]
    assert_array_equal(*scores)
    found = [
        okbook.UniformMKL([kernel]).fit(nodes, labels).predict(nodes)
        for nodes in (PLACES, PLACES[:, None])
    ]
    assert_array_equal(*found)


def test_what_is_no_node_number():
    model = OutputKernelRidge(input_kernel=OVER_NODES[0])
    for nodes in (PLACES + 0.5, np.c_[PLACES, PLACES], PLACES.astype(str)):
        with pytest.raises(ValueError, match="a vector or a column of integers.* X: "):
            model.fit(nodes, X)
    with pytest.raises(ValueError, match="X must index a Gram matrix of shape"):
        model.fit(PLACES + 1, X)
    with pytest.raises(ValueError, match="X must index a Gram matrix of shape"):
        model.fit(PLACES, X).predict([[N]])
    with pytest.raises(ValueError, match=r"On the inputs it is .*\(adjacency=A\)"):
        OutputKernelRidge(input_kernel=DiffusionKernel()).fit(PLACES, X)


def test_a_sliced_gram_matrix_is_named():
    """X by a meta-estimator that does not know of it, y by scikit-learn itself; the
    advice works."""
    K = OVER_NODES[0].K
    inner = OutputKernelRidge(input_kernel="precomputed")
    message = r"Gram matrix X must be square.*\(16, 24\).*input_kernel=GramKernel\(K\)"
    with pytest.raises(ValueError, match=message):
        cross_val_score(
            TransformedTargetRegressor(inner), K, X[:, 0], cv=3, error_score="raise"
        )
    inner = OutputKernelRidge(input_kernel=GramKernel(K))
    found = cross_val_score(TransformedTargetRegressor(inner), PLACES, X[:, 0], cv=3)
    assert_allclose(found, cross_val_score(inner, PLACES, X[:, 0], cv=3))
    with pytest.raises(ValueError, match=r"matrix y .*output_kernel=GramKernel\(K\)"):
        cross_val_score(
            OutputKernelKNN(3, output_kernel="precomputed"),
            X,
            K,
            cv=3,
            error_score="raise",
        )


@pytest.mark.parametrize(
    ("kernel", "y"),
    [
        ("spectrum", WORDS),
        ("spectrum", [list(word) for word in WORDS]),
        ("spectrum", [list(word[:1]) for word in WORDS]),  # of one length
        ("jaccard", SETS),
        ("weisfeiler_lehman", GRAPHS),
        ("weisfeiler_lehman", ADJACENT),
    ],
)
@pytest.mark.parametrize(
    "model", [OutputKernelKNN(3), OutputKernelTree(random_state=0)]
)
def test_cross_val_predict_on_lists_of_objects(model, kernel, y):
    """Prediction by prediction that of a loop, and of the same objects in an array."""
    model = clone(model).set_params(output_kernel=kernel)
    found = cross_val_predict(model, X, y, cv=3)
    vector = np.empty(N, dtype=object)
    for i, each in enumerate(y):
        vector[i] = each
    again = cross_val_predict(model, X, vector, cv=3)
    assert found.shape == again.shape == (N,)
    for part in np.split(PLACES, 3):
        rest = np.setdiff1d(PLACES, part)
        fold = clone(model).fit(X[rest], [y[i] for i in rest]).predict(X[part])
        assert isinstance(fold, list)
        for i, each in zip(part, fold):
            same = [np.array_equal(other, each) or other is each for other in y]
            assert any(np.array_equal(y[k], found[i]) for k in np.flatnonzero(same))
            assert np.array_equal(found[i], again[i]) or found[i] is again[i]
        assert type(pickle.loads(pickle.dumps(fold))) is type(fold)


def test_a_kernel_on_objects_with_checked_outputs():
    """An estimator that reads its outputs together with its inputs."""
    for kernel, objects in (("spectrum", WORDS), (OVER_NODES[0], PLACES)):
        model = okbook.MultiTaskRidge(input_kernel=kernel).fit(objects, X)
        assert model.predict(objects).shape == (N, 2)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(objects, X[:5])
        with pytest.raises(ValueError, match="y contains NaN|missing"):
            model.fit(objects, np.full((N, 2), np.nan))


@pytest.mark.parametrize("blended", [True, False])
def test_ngrams_that_are_numbers_are_those_of_the_strings(blended):
    "Any letters, empty and short strings, and more n-grams than fit in a table."
    rng = np.random.default_rng(0)
    letters = [*"abc", "\U0001f333", "\ud800", "\x00", *map(chr, range(200, 900))]
    for length in (1, 2, 3, 7):
        kernel = SpectrumKernel(length, blended, normalize=False)
        for few in (2, 6, len(letters)):
            A, B = (
                [
                    "".join(rng.choice(letters[:few], rng.integers(0, 9)))
                    for _ in range(n)
                ]
                for n in (12, 7)
            )
            listed = [[kernel.list_features(s) for s in part] for part in (A, B)]
            expected = [
                [sum(v * b.get(gram, 0) for gram, v in a.items()) for b in listed[1]]
                for a in listed[0]
            ]
            assert_array_equal(kernel.gram(A, B), expected)
            assert_array_equal(kernel.gram(A).diagonal(), kernel.diag(A))
    assert_array_equal(SpectrumKernel().gram(["", ""]), np.zeros((2, 2)))
