"""What ``okbook compile`` does: a small fit of each kind, so that Numba compiles what
the estimators call, and keeps it in its cache."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import okbook as ok

QUESTIONS = ("predict", "transform", "weights", "decision_path")


def _examples() -> dict[str, Any]:
    "Sixty inputs, and outputs of each kind that trees grow differently for."
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 4)), rng.standard_normal((60, 2))
    labels = rng.integers(0, 3, 60)
    words = ["".join(rng.choice(list("abc"), 5)) for _ in labels]
    network = np.triu(rng.random((30, 30)) < 0.2, 1)
    return {
        "X": X,
        "Y": Y,
        "labels": labels,
        "binary": labels > 0,
        "words": words,
        "network": (network | network.T).astype(float),
    }


def _tree_fits(X, Y, labels, words, **others):
    "Trees and their ensembles: each form of inputs with each form of outputs."
    outputs = [
        ({"output_kernel": "linear"}, Y),
        ({"output_kernel": "linear"}, Y[:, 0]),
        ({"output_kernel": "dirac"}, labels),
        ({"output_kernel": "rbf"}, Y),
        ({"output_kernel": ok.SpectrumKernel()}, words),
    ]
    some = {"n_estimators": 3, "random_state": 0}
    for kernel, Z in outputs:
        yield ok.OutputKernelTree(**kernel, ccp_alpha=1e-3), X, Z
        yield ok.OutputKernelTree(**kernel, min_samples_leaf=5, max_leaf_nodes=4), X, Z
        yield ok.OutputKernelTree(**kernel, categorical_features=[0]), np.round(X), Z
        yield ok.OutputKernelTree(**kernel), np.where(X < -1, np.nan, X), Z
        for forest in (ok.OutputKernelRandomForest, ok.OutputKernelExtraTrees):
            yield forest(**kernel, **some, bootstrap=True, oob_score=True), X, Z
        yield ok.OutputKernelBagging(**kernel, **some), X, Z
        yield ok.OutputKernelBoosting(**kernel, **some, subsample=0.5), X, Z
        yield ok.OutputKernelKNN(**kernel), X, Z


def _vote_fits(X, labels, binary, **others):
    "Votes, the kernel of a forest, and two-stage kernel weights."
    for y in (labels, binary):
        yield ok.AdaBoost(n_estimators=3), X, y
        yield ok.Bagging(ok.DecisionStump(), n_estimators=3, random_state=0), X, y
        tree = ok.RandomizedTreeClassifier(random_state=0)
        yield tree, X, y
        yield ok.Bagging(tree, n_estimators=3, random_state=0), X, y
        yield ok.ForestKernelSVC(random_state=0), X, y
        yield ok.TwoStageMKL(random_state=0), X, y
        yield ok.KernelCombiner(solver="sgd", random_state=0), X, y


def _network_fits(X, Y, labels, network, **others):
    "Ridge, structured machines, links."
    yield ok.OutputKernelRidge(), X, Y
    yield ok.MaximumMarginRegression(), X, labels
    yield ok.StructuredSVM(), X[:20], labels[:20]
    yield ok.LinkPredictorCV(), X[:30], network
    yield ok.LocalModelSVM(), X[:30], network
    yield ok.PairwiseKernelSVM(), X[:30], network


def _object_fits(X, labels, words, **others):
    "Kernels on sequences and sets, as inputs of a ridge."
    series = [row[: 2 + i % 3] for i, row in enumerate(X)]
    for kernel, inputs in (
        (ok.SubsequenceKernel(), words),
        (ok.IntersectionKernel(), [*map(set, words)]),
        (ok.GlobalAlignmentKernel(), series),
    ):
        yield ok.OutputKernelRidge(input_kernel=kernel), inputs, X


def compile_estimators() -> Iterator[tuple[Any, float]]:
    """Fit and ask one model of each kind.

    Yields
    ------
    estimator, seconds
        Each fitted model, and what it took: nearly nothing where all was compiled.
    """
    examples = _examples()
    for fits in (_tree_fits, _vote_fits, _network_fits, _object_fits):
        for model, X, Z in fits(**examples):
            begun = time.perf_counter()
            model.fit(X, Z)
            for question in QUESTIONS:
                if hasattr(model, question):
                    getattr(model, question)(X)
            yield model, time.perf_counter() - begun
