"""A grid search of 108 fits on strings, against the same search written in NumPy.

The outputs are spelled numbers; 600 are learnt from, and the output of each query is
decoded among 2,000 candidates. Six widths of the input kernel, six penalties and three
folds make 108 fits, each scored by the fraction of words decoded rightly.

    python benchmarks/grid_search.py
"""

import time

import numpy as np
import scipy.linalg as sla
from sklearn.model_selection import GridSearchCV, KFold

from okbook.core import (
    CachedKernel,
    GramKernel,
    RBFKernel,
    SpectrumKernel,
    decoding_accuracy,
)
from okbook.rkhs import OutputKernelRidge

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SIGMAS, LAMS = [1.0, 1.5, 2.0, 3.0, 4.5, 7.0], [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
FOLDS = KFold(3, shuffle=True, random_state=0)


def spell(n):
    "1734 as 'one thousand seven hundred thirty-four'."
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10 - 2] + (f"-{ONES[n % 10]}" if n % 10 else "")
    unit, name = (1000, "thousand") if n >= 1000 else (100, "hundred")
    rest = f" {spell(n % unit)}" if n % unit else ""
    return f"{spell(n // unit)} {name}{rest}"


def data():
    "One-hot digits of 600 numbers, which numbers they are, and the words of all."
    words = np.array([spell(n) for n in range(2000)])
    digits = np.array([[*f"{n:04d}"] for n in range(2000)], dtype=int)
    train = np.random.default_rng(0).permutation(2000)[:600]
    return np.eye(10)[digits[train]].reshape(600, 40), train, words


def by_numpy(X, train, K):
    "Mean scores, one for each width and penalty."
    squares = np.square(X).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * X @ X.T
    scores = np.zeros((len(SIGMAS), len(LAMS)))
    for fit, held in FOLDS.split(X):
        among, diag = K[train[fit]], K.diagonal()
        for i, sigma in enumerate(SIGMAS):
            G = np.exp(-distances[fit] / (2.0 * sigma**2))
            for j, lam in enumerate(LAMS):
                A = G[:, fit] + lam * np.eye(len(fit))
                W = sla.cho_solve(sla.cho_factor(A), G[:, held]).T
                best = (diag - 2.0 * W @ among).argmin(axis=1)
                scores[i, j] += np.mean(best == train[held]) / 3
    return scores


def by_search(X, y, kernel, candidates):
    "The same by scikit-learn's search."
    model = OutputKernelRidge(
        input_kernel=RBFKernel(), output_kernel=kernel, candidates=candidates
    )
    grid = {"input_kernel__sigma": SIGMAS, "lam": LAMS}
    search = GridSearchCV(model, grid, scoring=decoding_accuracy, cv=FOLDS, refit=False)
    found = search.fit(X, y).cv_results_["mean_test_score"]
    return found.reshape(len(SIGMAS), len(LAMS))


def seconds(call, *args):
    "The result, and the seconds of the processor that it took."
    start = time.process_time()
    return call(*args), time.process_time() - start


def measure():
    "Seconds of each way, all of which find the same scores."
    X, train, words = data()
    K, spent = SpectrumKernel(4).gram(words), {}
    expected, spent["NumPy"] = seconds(by_numpy, X, train, K)
    ways = {
        "GramKernel": (train, GramKernel(K), np.arange(2000)),
        "CachedKernel": (words[train], CachedKernel(SpectrumKernel(4), words), words),
        "SpectrumKernel": (words[train], SpectrumKernel(4), words),
    }
    for name, way in ways.items():
        scores, spent[name] = seconds(by_search, X, *way)
        np.testing.assert_allclose(scores, expected, atol=2 / 600)  # ties
    return spent


if __name__ == "__main__":
    found = measure()
    for name, time_taken in found.items():
        ratio = time_taken / found["NumPy"]
        print(f"{name:15} {time_taken:6.2f} s {ratio:6.2f} times NumPy's")
