"""The kernel on sequences of numbers: its values by enumeration and in sixty
digits, its eigenvalues, sequences of any length and scale, and every estimator."""

import decimal
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import okbook
from okbook.core import CachedKernel, GlobalAlignmentKernel, OutputKernelKNN, is_psd
from okbook.rkhs import OutputKernelRidge, OutputKernelRidgeCV
from okbook.trees import OutputKernelRandomForest, OutputKernelTree

RNG = np.random.default_rng(0)
N = 24
X = RNG.uniform(size=(N, 2))
SHORT = [RNG.standard_normal((RNG.integers(1, 6), 2)) for _ in range(12)]
SERIES = [
    np.sin(np.arange(RNG.integers(8, 20)) * (1 + 2 * a)) + b for a, b in X
]  # what X tells
LABELS = np.where(X[:, 1] > 0.5, "high", "low")


def paths(n, m):
    """All alignments of sequences of these lengths."""
    if n < 1 or m < 1:
        return
    if n == m == 1:
        yield ((0, 0),)
    for before in ((n - 1, m), (n, m - 1), (n - 1, m - 1)):
        for path in paths(*before):
            yield (*path, (n - 1, m - 1))


def enumerated(x, y, sigma):
    """The sum over all alignments, one at a time."""
    g = np.exp(-((x[:, None] - y) ** 2).sum(axis=2) / (2 * sigma**2))
    local = g / (2 - g)
    return math.fsum(
        math.prod(local[pair] for pair in path) for path in paths(len(x), len(y))
    )


@pytest.mark.parametrize("sigma", [0.1, 0.7, 3.0, 1e8])
def test_the_sum_over_all_alignments(sigma):
    plain = GlobalAlignmentKernel(sigma, normalize=False)
    wanted = np.array([[enumerated(x, y, sigma) for y in SHORT] for x in SHORT])
    near = {"rtol": 1e-11, "atol": 1e-290}
    assert_allclose(plain.gram(SHORT), wanted, **near, strict=True)
    assert_allclose(plain.gram(SHORT[:5], SHORT), wanted[:5], **near)
    assert_allclose(plain.diag(SHORT), wanted.diagonal(), rtol=1e-11, strict=True)
    roots = np.sqrt(wanted.diagonal())
    unit = GlobalAlignmentKernel(sigma)
    assert_allclose(unit.gram(SHORT), wanted / np.outer(roots, roots), **near)
    assert_array_equal(unit.diag(SHORT), np.ones(12), strict=True)
    assert_allclose(unit.compare(SHORT[0], SHORT[1]), unit.gram(SHORT)[0, 1])


def exact_log(x, y):
    """The logarithm of the sum, by the recursion in sixty digits, whose numbers may be
    as large or as small as they like."""
    with decimal.localcontext(decimal.Context(prec=60, Emin=-(10**9), Emax=10**9)):
        M = {(0, 0): decimal.Decimal(1)}
        for i, j in itertools.product(range(1, len(x) + 1), range(1, len(y) + 1)):
            gap = decimal.Decimal(x[i - 1]) - decimal.Decimal(y[j - 1])
            g = (-gap * gap / 2).exp()
            before = sum(M.get(c, 0) for c in ((i - 1, j - 1), (i - 1, j), (i, j - 1)))
            M[i, j] = g / (2 - g) * before
        return float(M[len(x), len(y)].ln())


@pytest.mark.parametrize(("n", "m", "scale"), [(60, 40, 1.0), (30, 45, 8.0)])
def test_what_no_float_holds_is_right(n, m, scale):
    """Sums far below the smallest number, and quotients of such sums."""
    x, y = RNG.standard_normal(n), scale + RNG.standard_normal(m)
    logs = [exact_log(a, b) for a, b in ((x, y), (x, x), (y, y))]
    found = GlobalAlignmentKernel(1.0)._logs([x[:, None]], [y[:, None]])[0, 0]
    assert abs(found - logs[0]) <= 1e-12 * (n + m + abs(logs[0]))
    wanted = math.exp(logs[0] - 0.5 * (logs[1] + logs[2]))
    value = GlobalAlignmentKernel(1.0).gram([x], [y])[0, 0]
    assert_allclose(value, wanted, rtol=1e-9)
    assert scale == 1.0 or logs[0] < -750  # the sum itself underflows


def test_counts_of_alignments_beyond_the_largest_float():
    """With equal elements the kernel counts alignments, here with 763 digits."""

    def count(n):
        return sum(math.comb(2 * n - d, n) * math.comb(n, d) for d in range(n + 1))

    for n in (1, 2, 10, 1000):
        zeros = [np.zeros((n, 1))]
        found = GlobalAlignmentKernel(1.0)._logs(zeros, zeros)[0, 0]
        assert_allclose(found, math.log(count(n - 1)), rtol=1e-13, atol=1e-13)
    kernel = GlobalAlignmentKernel(1.0)
    assert_array_equal(kernel.gram([np.zeros(1000)] * 2), np.ones((2, 2)))
    with pytest.raises(ValueError, match="this length overflows: set normalize=True"):
        clone(kernel).set_params(normalize=False).gram([np.zeros(1000)])


def test_no_gram_matrix_has_a_negative_eigenvalue():
    """Random sets of sequences of few values, of which many are nearly alike; the
    same with dynamic time warping has negative eigenvalues."""
    gen, lowest = np.random.default_rng(1), []
    for _ in range(60):
        n = gen.integers(3, 25)
        some = [gen.integers(0, 3, gen.integers(1, 9)) * 1.0 for _ in range(n)]
        K = GlobalAlignmentKernel(10.0 ** gen.uniform(-1, 2)).gram(some)
        assert np.linalg.eigvalsh(K)[0] > -1e-12
        warped = np.exp([[-dtw(x, y) for y in some] for x in some])
        lowest.append(np.linalg.eigvalsh(warped)[0])
    assert min(lowest) < -0.01
    x, y, z = [0.0], [1.0], [0.0, 0.0, 0.0]  # the three of the page
    assert [dtw(x, z), dtw(x, y), dtw(z, y)] == [0, 1, 3]
    assert not is_psd(np.exp([[-dtw(a, b) for a in (x, y, z)] for b in (x, y, z)]))


def dtw(x, y):
    """The smallest sum of distances along an alignment."""
    D = np.full((len(x) + 1, len(y) + 1), np.inf)
    D[0, 0] = 0
    for i, j in itertools.product(range(len(x)), range(len(y))):
        D[i + 1, j + 1] = abs(x[i] - y[j]) + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[-1, -1]


@pytest.mark.parametrize("factor", [1e-290, 1e-170, 1e-9, 1e9, 1e140])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_units_do_not_matter(factor, offset):
    """The width learnt from the sequences follows them, whatever their scale; an
    offset costs the digits that the numbers themselves have lost."""
    moved = [factor * (x + offset) for x in SHORT]
    kernel, other = (GlobalAlignmentKernel().fit(Y) for Y in (SHORT, moved))
    assert_allclose(other.sigma_, factor * kernel.sigma_, rtol=1e-9)
    assert_allclose(other.gram(moved), kernel.gram(SHORT), atol=1e-8)


def test_the_width():
    points = np.concatenate(SHORT)
    gaps = [np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2)]
    length = np.median([len(x) for x in SHORT])
    wanted = np.median(gaps) * np.sqrt(length)
    assert_allclose(GlobalAlignmentKernel().fit(SHORT).sigma_, wanted)
    many = [RNG.standard_normal(400) for _ in range(5)]  # a part is drawn, the same
    widths = [GlobalAlignmentKernel().fit(many).sigma_ for _ in range(2)]
    assert widths[0] == widths[1]
    assert_allclose(widths[0], 0.954 * 20, rtol=0.1)  # of a normal distribution
    for same, width in (([[1.0]], 1.0), ([[2.0] * 4] * 3, 2.0), ([[0.0] * 9, [1]], 3)):
        found = GlobalAlignmentKernel().fit(same).sigma_
        assert found > 0 and (width == 3 or found == width)
    assert GlobalAlignmentKernel(2.5).fit(SHORT).sigma_ == 2.5
    with pytest.raises(NotFittedError, match="call fit, or give sigma"):
        GlobalAlignmentKernel().gram(SHORT)


def test_forms_of_a_sequence():
    rows = RNG.standard_normal((5, 7))
    kernel = GlobalAlignmentKernel(1.0)
    wanted = kernel.gram(rows)
    for form in (
        rows.tolist(),
        list(rows),
        tuple(rows),
        rows[:, :, None],
        [*map(pd.Series, rows)],
        [x[:, None] for x in np.asfortranarray(rows)],
    ):
        assert_array_equal(kernel.gram(form), wanted)
        assert_array_equal(kernel.gram(form, rows[:2]), wanted[:, :2])
    whole = np.round(rows).astype(int)
    assert_array_equal(kernel.gram(whole), kernel.gram(whole.astype(float)))
    ones = [np.ones(1)] * 3  # of one element each
    assert_array_equal(kernel.gram(ones), np.ones((3, 3)))
    assert_array_equal(wanted, wanted.T)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[0.0], [np.nan, 1.0]], r"Y\[1\] is nothing .* a sequence contains NaN"),
        ([[0.0], []], r"Y\[1\] is nothing .*minimum of 1"),
        ([["a", "b"]], r"Y\[0\] is nothing .*must hold numbers"),
        ([np.zeros((2, 2, 2))], r"Y\[0\] is nothing .*dim"),
        ([[0.0], np.zeros((3, 2))], r"elements of one dimension: got \[1, 2\]"),
        ([[1e300], [-1e300]], "GlobalAlignmentKernel overflows: .* of Y is 1e.300"),
    ],
)
def test_what_is_no_sequence(bad, message):
    with pytest.raises(ValueError, match=message):
        GlobalAlignmentKernel(1.0).gram(bad)


def test_the_error_without_the_kernel_names_it():
    with pytest.raises(ValueError, match="y is ragged.* kernel 'global_alignment'"):
        OutputKernelKNN(2).fit(X, SERIES)


def test_bad_parameters():
    for sigma in (0.0, -1.0, np.nan, np.inf, "a"):
        with pytest.raises(ValueError, match="sigma"):
            GlobalAlignmentKernel(sigma).gram(SHORT)


MODELS = [
    OutputKernelKNN(2),
    OutputKernelRidge(),
    OutputKernelRidgeCV(),
    OutputKernelTree(random_state=0),
    OutputKernelRandomForest(n_estimators=3, random_state=0),
    okbook.SemiSupervisedOutputKernelRidge(),
    okbook.OutputKernelBoosting(n_estimators=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_sequences_as_outputs(model):
    """Each estimator fits, predicts sequences that it has seen, and scores; a copy by
    pickle does the same."""
    model = clone(model).set_params(output_kernel="global_alignment").fit(X, SERIES)
    found = model.predict(X)
    assert isinstance(found, list)
    assert all(any(x is y or np.array_equal(x, y) for y in SERIES) for x in found)
    assert 0 < model.score(X, SERIES) <= 1
    again = pickle.loads(pickle.dumps(model))
    assert all(map(np.array_equal, again.predict(X), found))
    ranked = model.rank(X[:3], SERIES, k=2)[0] if hasattr(model, "rank") else []
    assert np.shape(ranked)[:1] in {(3,), (0,)}


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelKNN(1, output_kernel="dirac"),
        OutputKernelRidge(output_kernel="dirac"),
        okbook.SemiSupervisedOutputKernelRidge(output_kernel="dirac"),
    ],
    ids=lambda m: type(m).__name__,
)
def test_sequences_as_inputs(model):
    model = clone(model).set_params(input_kernel="global_alignment")
    assert model.fit(SERIES, LABELS).score(SERIES, LABELS) > 0.9
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(SERIES[:5]), model.predict(SERIES[:5]))
    assert cross_val_score(model, SERIES, LABELS, cv=3).mean() > 0.7


def test_sequences_on_both_sides_and_among_combined_kernels():
    model = OutputKernelRidge(
        input_kernel="global_alignment", output_kernel="global_alignment"
    )
    reverse = [x[::-1] for x in SERIES]
    found = cross_val_predict(model, SERIES, reverse, cv=3)
    assert found.shape == (N,) and found.dtype == object
    assert cross_val_score(model, SERIES, reverse, cv=3).shape == (3,)
    kernels = [("wide", GlobalAlignmentKernel(10.0), None), GlobalAlignmentKernel(1.0)]
    machine = okbook.UniformMKL(kernels).fit(SERIES, LABELS)
    assert machine.score(SERIES, LABELS) > 0.8


def test_search_over_the_width():
    search = GridSearchCV(
        OutputKernelKNN(1, input_kernel=GlobalAlignmentKernel(), output_kernel="dirac"),
        {"input_kernel__sigma": [None, 0.3, 3.0]},
        cv=3,
    ).fit(SERIES, LABELS)
    assert search.best_score_ > 0.7
    cached = CachedKernel(GlobalAlignmentKernel(1.0), [*map(tuple, SERIES)])
    assert_array_equal(
        cached.gram([*map(tuple, SERIES)]), GlobalAlignmentKernel(1.0).gram(SERIES)
    )


def test_the_values_of_tslearn_on_series_of_the_ucr_archive():
    """The series that tslearn brings along; skipped without it."""
    datasets = pytest.importorskip("tslearn.datasets")
    peer, utils = map(pytest.importorskip, ("tslearn.metrics", "tslearn.utils"))
    series = datasets.CachedDatasets().load_dataset("Trace")[0][::20, ::2]
    some = [x[: RNG.integers(40, len(x))] for x in series]
    for sigma in (0.5, 2.0, 20.0):
        theirs = peer.cdist_gak(utils.to_time_series_dataset(some), sigma=sigma)
        ours = GlobalAlignmentKernel(sigma).gram(some)
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)
