"""What stood in an engineer's way, tried again: the number is that of the finding.

Each test does what was tried when the friction was found.
"""

import contextlib
import inspect
import io
import pickle
import re
import warnings
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_selector
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import okbook
from okbook.core import (
    DiffusionKernel,
    GramKernel,
    InputKernelMixin,
    Kernel,
    ObjectKernel,
    OutputKernelKNN,
    OutputKernelMixin,
    RBFKernel,
    SpectrumKernel,
    decoding_accuracy,
    diffusion_gram,
    top_k_decoding_accuracy,
)
from okbook.forest_kernel import ForestKernel, ForestKernelSVC
from okbook.mkl import (
    AlignmentMKL,
    BestKernel,
    KernelCombiner,
    TwoStageMKL,
    UniformMKL,
)
from okbook.rkhs import (
    LinkPredictor,
    LinkPredictorCV,
    OutputKernelRidge,
    SemiSupervisedOutputKernelRidge,
    bipartite_adjacency,
)
from okbook.trees import (
    OutputKernelExtraTrees,
    OutputKernelRandomForest,
    OutputKernelTree,
)

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
BOTH_KERNELS = [
    getattr(okbook, name)
    for name in okbook.__all__
    if isinstance(getattr(okbook, name), type)
    and issubclass(getattr(okbook, name), OutputKernelMixin)
    and issubclass(getattr(okbook, name), InputKernelMixin)
    and issubclass(getattr(okbook, name), BaseEstimator)
    and getattr(okbook, name) not in (InputKernelMixin, OutputKernelMixin)
]


@pytest.mark.parametrize("cls", BOTH_KERNELS)
def test_4_two_kernels_are_told_apart_by_name(cls):
    "Nobody sets the input kernel where they meant that of the outputs."
    parameters = inspect.signature(cls).parameters
    for name in ("input_kernel", "output_kernel"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(TypeError, match="positional"):
        cls(5, "tanimoto")


def test_4_there_are_such_estimators():
    assert len(BOTH_KERNELS) >= 9


def mixed_table(n=60):
    frame = pd.DataFrame(RNG.standard_normal((n, 2)), columns=["a", "b"])
    frame["kind"] = RNG.choice(["x", "y", "z"], n)
    frame["size"] = RNG.choice(["s", "l"], n)
    return frame, np.where((frame.a > 0) ^ (frame.kind == "x"), "yes", "no")


class CommonPairs(ObjectKernel):
    "A kernel on words as an engineer writes it, from the documentation of the base."

    def compare(self, a, b):
        return float(len({*zip(a, a[1:])} & {*zip(b, b[1:])}))


@pytest.mark.parametrize("cls", BOTH_KERNELS)
def test_2_a_kernel_class_for_strings_fits_and_predicts(cls):
    "What failed in predict: words as training outputs, and new ones as candidates."
    if issubclass(cls, LinkPredictor):
        return  # its outputs are nodes
    options = {"output_kernel": CommonPairs()}
    if "random_state" in inspect.signature(cls).parameters:
        options["random_state"] = 0
    model = cls(**options)
    some, new = WORDS[::2], [word.upper() for word in WORDS[1::2]]
    model.fit(PLACES[::2], some)
    assert {*model.predict(PLACES)} <= {*some}
    assert {*model.predict(PLACES, new)} <= {*new}
    assert np.isfinite(model.score(PLACES[::2], some))


def test_2_a_kernel_on_vectors_says_what_to_inherit_from():
    "The base of all kernels is for vectors; its page and its error lead further."

    class Letters(Kernel):
        def _gram(self, A, B):
            return np.array([[len({*a} & {*b}) for b in B] for a in A], dtype=float)

    assert ":class:`ObjectKernel`" in Kernel.__doc__
    with pytest.raises(ValueError, match="a kernel on vectors.*a function f"):
        OutputKernelRidge(output_kernel=Letters()).fit(PLACES, WORDS)


@pytest.mark.filterwarnings("error::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("cls", [TwoStageMKL, UniformMKL, KernelCombiner])
def test_1_dirac_takes_a_list_of_columns(cls):
    "A list of one is that column, and of several columns the rows are compared."
    X, y = mixed_table()
    options = {} if cls is KernelCombiner else {"C": 1.0}

    def gram(columns, table=X):
        model = cls([("dirac", columns), ("rbf", ["a", "b"])], **options)
        answer = "transform" if cls is KernelCombiner else "decision_function"
        return getattr(model.fit(table, y), answer)(table[10:20])

    assert_allclose(gram(["kind"]), gram("kind"), rtol=1e-6, atol=1e-9)
    both = X.assign(both=X["kind"] + X["size"])
    names = ["a", "b", "both"]
    # the columns lie otherwise in memory, and a solver stops at its tolerance
    assert_allclose(
        gram(["kind", "size"]), gram("both", both[names]), rtol=1e-6, atol=1e-9
    )


def test_12_kernels_have_names_and_selectors_as_in_a_column_transformer():
    X, y = mixed_table()
    numbers = make_column_selector(dtype_include=float)
    kernels = [
        ("kinds", "dirac", ["kind"]),
        ("numbers", "rbf", numbers),
        ("linear", ["a", "b"]),
        ("linear", ["b"]),
    ]
    table = X[["a", "b", "kind"]]
    model = KernelCombiner(kernels, lam=0.01).fit(table, y)
    assert list(model.named_weights_) == [
        "kinds",
        "numbers",
        "linear(a, b)",
        "linear(b)",
    ]
    assert_array_equal(list(model.named_weights_.values()), model.weights_)
    plain = [("dirac", "kind"), ("rbf", ["a", "b"]), *kernels[2:]]
    same = KernelCombiner(plain, lam=0.01).fit(table, y)
    assert_allclose(same.transform(table), model.transform(table), rtol=1e-6)
    frame = clone(model).set_output(transform="pandas").fit(table, y).transform(table)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert "set_output" not in dir(TwoStageMKL())  # a classifier transforms nothing
    default = UniformMKL(C=1).fit(X[["a", "b"]], y)
    assert len(default.named_weights_) == 6
    with pytest.raises(ValueError, match="'k' stands at 0 and at 1"):
        UniformMKL([("k", "rbf", ["a"]), ("k", "rbf", ["b"])]).fit(X, y)
    with pytest.raises(ValueError, match=r"kernels\[0\] must be"):
        UniformMKL([("k", "rbf", ["a"], 3)]).fit(X, y)


@pytest.mark.parametrize("cls", [UniformMKL, TwoStageMKL, BestKernel, AlignmentMKL])
def test_13_probabilities(cls):
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    model = cls(["rbf", "linear"], C=1.0, probability=True).fit(X[:120], y[:120])
    found = model.predict_proba(X[120:])
    assert_allclose(found.sum(axis=1), 1.0)
    plain = clone(model).set_params(probability=False).fit(X[:120], y[:120])
    assert not hasattr(plain, "predict_proba")
    assert_array_equal(plain.predict(X[120:]), model.predict(X[120:]))
    assert log_loss(y[120:], found) < 0.85 * np.log(3)
    assert np.mean(model.classes_[found.argmax(axis=1)] == y[120:]) > 0.55


def test_13_weights_of_classes():
    "A weight is as good as repeating the examples of the class in the machine."
    X, y = make_classification(150, n_classes=3, n_informative=4, random_state=0)
    forest = ForestKernel(RandomForestClassifier(20, max_depth=3, random_state=0))
    weights = {0: 1.0, 1: 3.0, 2: 0.5}
    model = ForestKernelSVC(forest, C=0.01, class_weight=weights, tol=1e-8).fit(X, y)
    K = model.kernel_.gram()
    for label, dual in enumerate(model.dual_coef_):
        limit = 0.01 * np.vectorize(weights.get)(y)
        signs = np.where(y == label, 1, -1)
        assert (signs * dual <= limit * (1 + 1e-9)).all()
        machine = SVC(kernel="precomputed", tol=1e-8).fit(K, signs, limit)
        f = K @ dual + model.intercept_[label]
        assert_allclose(f, machine.decision_function(K), atol=1e-5)
    many = ForestKernelSVC(forest, C=0.01, class_weight="balanced").fit(X, y)
    rare = ForestKernelSVC(forest, C=0.01, class_weight={0: 30.0}).fit(X, y)
    assert np.mean(rare.predict(X) == 0) > np.mean(many.predict(X) == 0)
    with pytest.raises(ValueError, match="class_weight needs solver"):
        ForestKernelSVC(forest, solver="linear", class_weight="balanced").fit(X, y)


def test_3_a_subclass_of_kernel_is_not_a_kernel_by_inheritance():
    class Negative(Kernel):
        def _gram(self, A, B):
            return -np.abs(A - B.T) - 1

    X, y = RNG.standard_normal((20, 2)), RNG.standard_normal(20)
    for side in ({"output_kernel": Negative()}, {"input_kernel": Negative()}):
        with pytest.raises(ValueError, match="positive semi-definite"):
            OutputKernelRidge(**side).fit(X[:, :1], y)


ONES = "zero one two three four five six seven eight nine".split()
WORDS = [
    f"{a} {b}"
    for a in "twenty thirty forty fifty sixty".split()
    for b in "one two three four five six seven".split()
]
PLACES = np.array([[i // 7, i % 7] for i in range(35)], dtype=float)


def shared_pairs(Y1, Y2):
    "How many pairs of neighbouring letters two words share."
    sets = [[{a + b for a, b in zip(y, y[1:])} for y in Y] for Y in (Y1, Y2)]
    return [[float(len(a & b)) for b in sets[1]] for a in sets[0]]


def speller(**params):
    some = RNG.permutation(35)[:25]
    model = OutputKernelRidge(
        input_kernel_params={"sigma": 1.0}, output_kernel=shared_pairs, **params
    )
    return model.fit(PLACES[some], [WORDS[i] for i in some])


def test_5_output_kernels_are_compared_by_what_is_decoded():
    """The score in feature space prefers a kernel for which all outputs are nearly
    equal to one that tells them apart; the accuracy does not."""
    X = RNG.uniform(-2, 2, (120, 1))
    y = np.round(2 * np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(120), 1)
    model = OutputKernelRidge(
        input_kernel_params={"sigma": 0.5}, lam=0.1, output_kernel=RBFKernel()
    )
    grid = {"output_kernel__sigma": [0.02, 1.0]}
    by_r2 = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert by_r2.cv_results_["mean_test_score"][1] > 0.9
    assert by_r2.cv_results_["mean_test_score"][0] < 0.5  # though both may be right
    near = partial(top_k_decoding_accuracy, k=3)
    for scoring in (decoding_accuracy, near):
        found = GridSearchCV(model, grid, cv=3, scoring=scoring).fit(X, y).cv_results_
        assert (found["mean_test_score"] > 0.05).all()
    model.fit(X, y)
    assert near(model, X, y) >= decoding_accuracy(model, X, y)
    assert decoding_accuracy(model, X, model.predict(X)) == 1.0
    assert decoding_accuracy(speller(lam=1e-6), PLACES, WORDS, WORDS) > 0.5
    vectors = OutputKernelKNN(1, output_kernel="rbf").fit(PLACES, PLACES)
    assert decoding_accuracy(vectors, PLACES, PLACES) == 1.0
    with pytest.raises(ValueError, match="inconsistent numbers"):
        decoding_accuracy(model, X, y[:-1])


def test_6_a_gram_matrix_is_checked_once_in_a_search(monkeypatch):
    from okbook.core import kernels

    checked, check = [], kernels.check_gram
    monkeypatch.setattr(
        kernels, "check_gram", lambda K, **o: checked.append(1) or check(K, **o)
    )
    K = np.exp(-np.square(PLACES[:, None] - PLACES).sum(axis=2))
    kernel = GramKernel(K)
    grid = {"lam": [0.1, 1.0, 10.0]}
    GridSearchCV(OutputKernelRidge(output_kernel=kernel), grid, cv=3).fit(
        PLACES, np.arange(35)
    )
    assert len(checked) == 1
    pickle.loads(pickle.dumps(kernel)).fit()
    assert len(checked) == 1
    K[3, 3] = -5.0  # what changes is looked at again
    with pytest.raises(ValueError, match="positive semi-definite"):
        kernel.fit()
    GramKernel(np.eye(3)).fit()
    assert len(checked) == 3


@pytest.mark.parametrize("candidates", [None, "train", WORDS])
def test_7_ranked_candidates_with_scores(candidates):
    model = speller()
    indices, scores = model.rank(PLACES[:6], candidates, k=4)
    among = WORDS if candidates is WORDS else model.outputs_
    W, K = model.weights(PLACES[:6]), np.array(shared_pairs(among, among))
    cross = W @ np.array(shared_pairs(model.outputs_, among))
    norms = np.einsum("ij,jk,ik->i", W, model.gram_, W)
    far = norms[:, None] + K.diagonal() - 2 * cross  # OK3 eq. 14, all of it
    assert_array_equal(indices, np.argsort(far, axis=1, kind="stable")[:, :4])
    assert_allclose(scores, -np.sort(far, axis=1)[:, :4], atol=1e-9)
    assert_array_equal(indices[:, 0], model.decode(PLACES[:6], candidates))
    assert model.rank(PLACES[:2], candidates, k=99)[0].shape == (2, len(among))
    with pytest.raises(ValueError, match="k == 0"):
        model.rank(PLACES, k=0)


def test_7_trees_and_gram_matrices_rank_too():
    trees = OutputKernelExtraTrees(shared_pairs, n_estimators=5, random_state=0)
    indices, scores = trees.fit(PLACES, WORDS).rank(PLACES[:3], WORDS, k=2)
    assert (scores <= 0).all() and (np.diff(scores, axis=1) <= 0).all()
    K = np.array(shared_pairs(WORDS, WORDS))
    blind = OutputKernelKNN(3, output_kernel="precomputed").fit(PLACES, K)
    seeing = OutputKernelKNN(3, output_kernel=shared_pairs).fit(PLACES, WORDS)
    for a, b in zip(blind.rank(PLACES, k=3), seeing.rank(PLACES, k=3)):
        assert_allclose(a, b)


def test_8_each_query_has_its_own_candidates():
    model = speller()
    lists = [[WORDS[i], *WORDS[:: i + 3]] for i in range(35)]
    one_by_one = [model.predict(PLACES[[i]], lists[i])[0] for i in range(35)]
    assert model.predict(PLACES, lists, per_query=True) == one_by_one
    places = model.decode(PLACES, lists, per_query=True)
    assert [some[i] for some, i in zip(lists, places)] == one_by_one
    indices, scores = model.rank(PLACES, lists, k=3, per_query=True)
    for i, some in enumerate(lists):
        for a, b in zip((indices[i], scores[i]), model.rank(PLACES[[i]], some, k=3)):
            assert_allclose(a, b[0])
    numbers = OutputKernelKNN(2, output_kernel="rbf").fit(PLACES, PLACES[:, 0])
    lists = [np.array([i, 1.0, 2.0]) for i in range(35)]
    found = numbers.predict(PLACES, lists, per_query=True)
    assert isinstance(found, np.ndarray) and found.shape == (35,)
    for wrong in (lists[:3], None, 3):
        with pytest.raises(ValueError, match="each of the 35 queries"):
            numbers.predict(PLACES, wrong, per_query=True)
    with pytest.raises(ValueError, match="empty"):
        numbers.predict(PLACES, [lists[0][:0]] * 35, per_query=True)


def test_11_graphs_of_networkx():
    graph = nx.karate_club_graph()
    A = nx.to_numpy_array(graph)
    X = np.linalg.eigh(A)[1][:, -3:]
    model = LinkPredictor(threshold=0.1).fit(X, graph)
    by_matrix = LinkPredictor().fit(X, A)
    assert_allclose(model.score_pairs(), by_matrix.score_pairs(), atol=1e-12)
    assert_array_equal(model.adjacency_, A)
    by_number = LinkPredictor(graph=graph, cv=3).fit(X, np.arange(34))
    assert_array_equal(by_number.adjacency_, A)
    assert_allclose(diffusion_gram(graph, 0.1), diffusion_gram(A, 0.1))
    kernel = DiffusionKernel(adjacency=graph, beta=0.1)
    assert_allclose(kernel.gram([0, 5]), diffusion_gram(A, 0.1)[np.ix_([0, 5], [0, 5])])
    for kind in (nx.DiGraph, nx.MultiGraph):
        with pytest.raises(ValueError, match="undirected, with one edge"):
            LinkPredictor().fit(X, kind(graph))


def test_14_a_kernel_object_exposes_its_parameters():
    model = OutputKernelRidge(input_kernel=RBFKernel(), output_kernel="rbf")
    grid = {"input_kernel__sigma": [0.01, 1.0], "lam": [0.1]}
    assert GridSearchCV(model, grid).fit(PLACES, PLACES).best_params_ == {
        "input_kernel__sigma": 1.0,
        "lam": 0.1,
    }
    assert "input_kernel__sigma" in (ROOT / "nbs/60_quick_start.ipynb").read_text()


@pytest.mark.parametrize(
    "form", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.dok_array, sp.lil_matrix]
)
@pytest.mark.parametrize(
    "model",
    [
        OutputKernelRidge(),
        OutputKernelRidge(output_kernel="rbf"),
        OutputKernelTree(random_state=0),
        OutputKernelKNN(3, output_kernel="tanimoto"),
    ],
    ids=str,
)
def test_15_sparse_inputs_and_outputs(model, form):
    X = RNG.random((30, 6)) * (RNG.random((30, 6)) < 0.4)
    Y = (RNG.random((30, 4)) < 0.4).astype(float)
    dense = clone(model).fit(X, Y)
    model.fit(form(X), form(Y))
    assert_allclose(model.predict(form(X)), dense.predict(X))
    assert_allclose(model.score(form(X), form(Y)), dense.score(X, Y))
    assert_array_equal(model.outputs_, Y)


def test_16_equal_trees_are_warned_of():
    X = np.hstack(
        [np.eye(7)[PLACES[:, 1].astype(int)], np.eye(5)[PLACES[:, 0].astype(int)]]
    )
    trees = OutputKernelExtraTrees(shared_pairs, n_estimators=3, random_state=0)
    with pytest.warns(UserWarning, match="max_features"):
        trees.fit(X, WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(trees).set_params(max_features=3).fit(X, WORDS)
        clone(trees).set_params(bootstrap=True).fit(X, WORDS)
        clone(trees).set_params(n_estimators=1).fit(X, WORDS)
        clone(trees).fit(PLACES, WORDS)
        OutputKernelRandomForest(shared_pairs, n_estimators=3).fit(X, WORDS)


def test_17_the_first_example_is_one_that_okbook_does_well():
    """The README spells words never seen in a few lines of okbook, at least as well as
    regression on hashed n-grams whose penalty is searched."""
    readme = (ROOT / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.S)
    space = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, space)
    assert sum("model" in line or "okbook" in line for line in code.splitlines()) <= 10
    X, words, train, test = (space[k] for k in ("X", "words", "train", "test"))
    assert not {*words[train]} & {*words[test]}
    right = np.mean(space["spelled"] == words[test])
    pieces = HashingVectorizer(
        analyzer="char", ngram_range=(1, 4), alternate_sign=False, n_features=2**12
    )
    counts = pieces.transform(words).toarray()
    grid = {"alpha": np.logspace(-4, 1, 6)}
    baseline = GridSearchCV(KernelRidge(kernel="rbf", gamma=1 / 30), grid)
    found = baseline.fit(X[train], counts[train]).predict(X[test]) @ counts.T
    assert right > 0.95 and right >= np.mean(found.argmax(axis=1) == test)


def geometric_graph(noise, seed, n_nodes=300, n_labelled=150):
    "The finding's: nodes in a square, linked if near; columns of noise besides."
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n_nodes, 2))
    near = np.linalg.norm(places[:, None] - places, axis=2) < 0.12
    X = np.c_[places, rng.uniform(size=(n_nodes, noise))]
    labelled = np.sort(rng.permutation(n_nodes)[:n_labelled])
    return X, near - np.eye(n_nodes), labelled


@pytest.mark.parametrize("noise", [0, 3])
def test_10_the_default_is_as_good_as_the_width_tuned_by_hand(noise):
    X, A, labelled = geometric_graph(noise, seed=noise)
    links = A[np.ix_(labelled, labelled)]
    model = LinkPredictorCV(random_state=0).fit(X, links, labelled)
    default = model.curves(None, A).roc_auc
    apart = np.linalg.norm(X[:, None] - X, axis=2)
    by_hand = []
    for width in (0.06, 0.09, 0.125, 0.18, 0.25, 0.5, 1.0, 2.0):
        kernel = RBFKernel(sigma=width * np.median(apart[apart > 0]))
        for lam in (1e-3, 1e-1, 1.0):
            ridge = OutputKernelRidge(input_kernel=kernel, lam=lam)
            tuned = LinkPredictor(ridge, beta=0.1, threshold=0.0)
            tuned.fit(X, links, labelled)
            by_hand.append(tuned.curves(None, A).roc_auc)  # by the truth itself
    assert default > max(by_hand) - 0.005
    assert default > 0.995
    plain = LinkPredictorCV(random_state=0, width_grid=False)
    assert plain.fit(X, links, labelled).curves(None, A).roc_auc < default - 0.01
    assert plain.sigma_ is None and model.column_weights_.shape == (2 + noise,)


def test_10_a_kernel_with_a_width_is_left_as_it_is():
    X, A, labelled = geometric_graph(0, 1, 60, 40)
    links = A[np.ix_(labelled, labelled)]
    small = {"lam_grid": [0.1], "lam2_grid": [0.0], "beta_grid": [1.0], "cv": 3}
    for kernel in (RBFKernel(sigma=0.2), "linear", RBFKernel(gamma=2.0)):
        model = LinkPredictorCV(OutputKernelRidge(input_kernel=kernel), **small)
        assert model.fit(X, links, labelled).sigma_ is None
    params = {"input_kernel_params": {"sigma": 0.2}}
    model = LinkPredictorCV(OutputKernelRidge(**params), **small)
    assert model.fit(X, links, labelled).sigma_ is None
    model = LinkPredictorCV(**small, width_grid=[0.5]).fit(X, links, labelled)
    assert 0 < model.sigma_ < 1 or model.column_weights_.max() > 1
    assert model.score_pairs(X[:3], X[:4]).shape == (3, 4)
    with pytest.raises(ValueError, match="width_grid"):
        LinkPredictorCV(width_grid=[-1.0]).fit(X, links, labelled)


def hide_pairs(A, share, rng):
    "A mask of the pairs that stay known."
    known = rng.random(A.shape) > share
    known = np.triu(known, 1)
    return known | known.T | np.eye(len(A), dtype=bool)


@pytest.mark.parametrize("cls", [LinkPredictor, LinkPredictorCV])
def test_9_unknown_pairs(cls):
    "Hidden links are found again; nan and mask are two ways of saying it."
    X, A, _ = geometric_graph(0, 2, 120)
    known = hide_pairs(A, 0.2, np.random.default_rng(0))
    model = cls(random_state=0).fit(X, np.where(known, A, np.nan))
    by_mask = cls(random_state=0).fit(X, A, mask=known)
    assert_allclose(model.score_pairs(), by_mask.score_pairs(), atol=1e-12)
    assert_allclose(model.threshold_, by_mask.threshold_, atol=1e-12)
    assert_array_equal(model.known_pairs_, known)
    assert_array_equal(model.adjacency_, np.where(known, A, 0))
    curves = model.curves(None, A)  # of the unknown pairs
    assert curves.n_pairs == (~known).sum() // 2
    assert curves.roc_auc > 0.9
    other = np.where(known, A, 1 - A)  # what is unknown changes nothing
    assert_array_equal(
        cls(random_state=0).fit(X, other, mask=known).score_pairs(), model.score_pairs()
    )
    completed = model.predict_graph().toarray()
    assert_array_equal(completed[known], A[known] > 0)
    assert (
        completed[~known].any()
        == (model.score_pairs() > model.threshold_)[~known].any()
    )


def test_9_unknown_pairs_of_some_labelled_nodes():
    X, A, labelled = geometric_graph(0, 2, 120, 80)
    links = A[np.ix_(labelled, labelled)]
    known = hide_pairs(links, 0.1, np.random.default_rng(0))
    model = LinkPredictor(random_state=0).fit(X, links, labelled, known)
    counted = 120 * 119 // 2 - 80 * 79 // 2 + (~known).sum() // 2
    assert model.curves(None, A).n_pairs == counted
    completed = model.predict_graph().toarray()[np.ix_(labelled, labelled)]
    assert_array_equal(completed[known], links[known] > 0)


@pytest.mark.parametrize("cls", [LinkPredictor, LinkPredictorCV])
def test_9_a_graph_without_features(cls):
    "Hidden links of Les Miserables, from the network alone."
    A = (nx.to_numpy_array(nx.les_miserables_graph()) > 0).astype(float)
    found = []
    for seed in range(3):
        known = hide_pairs(A, 0.1, np.random.default_rng(seed))
        model = cls(random_state=0).fit(None, A, mask=known)
        found.append(model.curves(None, A).roc_auc)
        assert np.isfinite(model.threshold_)
        assert model.cv_curves_[0].n_pairs == pytest.approx(known.sum() / 10, abs=10)
    assert np.mean(found) > 0.8
    whole = cls(random_state=0).fit(None, nx.les_miserables_graph())
    assert whole.known_pairs_ is None and whole.n_features_in_ == 77


def test_9_bipartite_networks():
    "Two kinds of nodes: what one kind likes of the other."
    rng = np.random.default_rng(0)
    taste, flavour = rng.integers(0, 3, 40), rng.integers(0, 3, 30)
    B = (taste[:, None] == flavour).astype(float)
    B = np.where(rng.random(B.shape) < 0.1, 1 - B, B)
    hidden = rng.random(B.shape) < 0.2
    y = bipartite_adjacency(np.where(hidden, np.nan, B))
    model = LinkPredictor(random_state=0).fit(None, y)
    scores = model.score_pairs()[:40, 40:][hidden]
    assert roc_auc_score(B[hidden], scores) > 0.85
    mask = np.zeros((70, 70), dtype=bool)
    mask[:40, 40:] = hidden
    truth = np.nan_to_num(bipartite_adjacency(B))
    curves = model.curves(None, truth, mask=mask | mask.T)
    assert curves.roc_auc == pytest.approx(roc_auc_score(B[hidden], scores))
    assert_array_equal(bipartite_adjacency(sp.csr_array(B))[:40, 40:], B)


def test_9_wrong_masks():
    X, A, _ = geometric_graph(0, 2, 40)
    for mask in (np.ones(3), np.full(A.shape, 0.5), np.ones((40, 39))):
        with pytest.raises(ValueError, match="mask"):
            LinkPredictor().fit(X, A, mask=mask)
    lopsided = np.where(np.triu(np.ones_like(A), 1) > 0, np.nan, A)
    with pytest.raises(ValueError, match="unknown pairs of y .*symmetric"):
        LinkPredictor().fit(X, lopsided)
    with pytest.raises(ValueError, match="mask is for the adjacency"):
        LinkPredictor(graph=A).fit(X, np.arange(40), mask=np.ones_like(A))
    with pytest.raises(ValueError, match="cv must be from 2 to the number of known"):
        LinkPredictor(cv=10**6).fit(None, A)


@pytest.mark.parametrize("graph", ["kernel", "knn"])
@pytest.mark.parametrize("smoother", ["laplacian", "diffusion"])
def test_no_default_ruins_semi_supervised_words(graph, smoother):
    "The default penalty costs at most 2 % of the words, where 1e-3 cost nearly all."
    words = [f"{a} {b} {c}" for a in ONES for b in ONES for c in ONES]
    digits = np.array([[i // 100, i // 10 % 10, i % 10] for i in range(1000)])
    X = np.eye(10)[digits].reshape(1000, 30)
    order = np.random.default_rng(0).permutation(1000)
    train, test = order[:300], order[300:500]
    kernel = GramKernel(SpectrumKernel(4).gram(words))
    options = {"output_kernel": kernel, "candidates": np.arange(1000)}
    plain = OutputKernelRidge(**options).fit(X[train], train)
    known = decoding_accuracy(plain, X[test], test)
    nodes, labelled = X[order[:500]], np.arange(300)
    semi = {"graph": graph, "smoother": smoother, **options}
    model = SemiSupervisedOutputKernelRidge(**semi).fit(nodes, train, labelled)
    assert decoding_accuracy(model, X[test], test) > known - 0.02
    if (graph, smoother) == ("kernel", "laplacian"):
        heavy = clone(model).set_params(lam2=1e-2).fit(nodes, train, labelled)
        assert decoding_accuracy(heavy, X[test], test) < 0.5 * known
        weights = RBFKernel().gram(nodes)
        total = weights.sum() - np.trace(weights)
        assert model.lam2_ == pytest.approx(0.01 * 300 / total)
        same = clone(model).set_params(lam2=model.lam2_).fit(nodes, train, labelled)
        assert_allclose(same.weights(X[:5]), model.weights(X[:5]))
        assert heavy.lam2_ == 1e-2


def test_the_default_penalty_still_smooths():
    "With few labels on a graph of two groups the unlabelled nodes help."
    X = np.r_[np.linspace(0, 1, 20), np.linspace(2, 3, 20)][:, None]
    options = {"input_kernel_params": {"sigma": 0.1}, "graph": "knn", "n_neighbors": 2}
    model = SemiSupervisedOutputKernelRidge(**options)
    model.fit(X, [1.0, 2.0], labelled=[0, 39])
    alone = clone(model).set_params(lam2=0.0).fit(X, [1.0, 2.0], labelled=[0, 39])
    truth = np.repeat([1.0, 2.0], 20)
    errors = [np.abs(m.predict(X) - truth).mean() for m in (model, alone)]
    assert errors[0] < errors[1] - 0.01
