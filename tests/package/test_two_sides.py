"""Links between two kinds of nodes: thm-twosides-solution, thm-twosides-loo, and the
estimators, against scikit-learn's ridge regression on all cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from okbook import BipartiteRidge, BipartiteRidgeCV, MultiTaskRidge
from okbook.rkhs.two_sides import fold_residuals, left_out_residuals

RBF = {"gamma": 0.4}


def sides(seed, n=9, q=6):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(n, 3)), draw.normal(size=(q, 2)), draw.normal(size=(n, q))


def missed(cells, y, out, lam):
    "What scikit-learn's fit without these cells misses on them."
    model = KernelRidge(alpha=lam, kernel="precomputed")
    model.fit(cells[np.ix_(~out, ~out)], y[~out])
    return y[out] - model.predict(cells[np.ix_(out, ~out)])


@pytest.mark.parametrize("seed", range(3))
def test_predictions_are_those_of_ridge_regression_on_cells(seed):
    "eq-twosides-solution, eq-twosides-predict: known and new rows and columns."
    X, Z, Y = sides(seed)
    X_new, Z_new, _ = sides(seed + 100)
    model = BipartiteRidge("rbf", RBF, Z, "rbf", RBF, lam=0.2).fit(X, Y)
    theirs = KernelRidge(alpha=0.2, kernel="precomputed")
    theirs.fit(np.kron(rbf_kernel(X, gamma=0.4), rbf_kernel(Z, gamma=0.4)), Y.ravel())
    for rows in (X, X_new):
        for columns in (Z, Z_new):
            k, g = rbf_kernel(rows, X, gamma=0.4), rbf_kernel(columns, Z, gamma=0.4)
            wanted = theirs.predict(np.kron(k, g)).reshape(len(rows), -1)
            assert_allclose(model.predict(rows, columns), wanted, atol=1e-9)
    assert_allclose(model.predict(X_new), model.predict(X_new, Z), atol=1e-12)


@pytest.mark.parametrize("lam", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("rank", [2, 6])
def test_residuals_left_out_are_those_of_other_fits(lam, rank):
    "lem-twosides-block, eq-twosides-loo; Gram matrices may be singular."
    X, Z, Y = sides(1)
    K, G = rbf_kernel(X), Z @ Z.T if rank == 2 else rbf_kernel(Z)
    cells, y = np.kron(K, G), Y.ravel()
    row, column = np.divmod(np.arange(y.size), Y.shape[1])
    blocks = {"pairs": np.arange(y.size), "rows": row, "columns": column}
    for leave_out, block in blocks.items():
        found = next(left_out_residuals(K, G, Y, [lam], leave_out)).ravel()
        for b in np.unique(block):
            out = block == b
            assert_allclose(found[out], missed(cells, y, out, lam), rtol=1e-6)


def test_folds_hide_rows_and_columns():
    X, Z, Y = sides(2)
    K, G = rbf_kernel(X), rbf_kernel(Z)
    for lam, found in zip(
        (0.1, 1.0), fold_residuals(K, G, Y, [0.1, 1.0], 3, 0), strict=True
    ):
        folds = KFold(3, shuffle=True, random_state=0)
        for seen, i in folds.split(X):
            for read, j in folds.split(Z):
                model = BipartiteRidge("precomputed", None, G[np.ix_(read, read)])
                model.set_params(column_kernel="precomputed", lam=lam)
                model.fit(K[np.ix_(seen, seen)], Y[np.ix_(seen, read)])
                h = model.predict(K[np.ix_(i, seen)], G[np.ix_(j, read)])
                assert_allclose(found[np.ix_(i, j)], Y[np.ix_(i, j)] - h, atol=1e-10)


@pytest.mark.parametrize("leave_out", ["pairs", "rows", "columns", "both"])
def test_the_ridge_is_the_best_of_the_grid(leave_out):
    X, Z, Y = sides(3, 20, 15)
    Y = Y + 5 * np.sin(X[:, :1]) * np.cos(Z[:, 0])
    grid = np.logspace(-4, 4, 9)
    model = BipartiteRidgeCV("rbf", RBF, Z, "rbf", RBF, grid, leave_out, random_state=0)
    model.fit(X, Y)
    assert model.lam_ == grid[np.argmin(model.losses_)] and len(model.losses_) == 9
    fixed = BipartiteRidge("rbf", RBF, Z, "rbf", RBF, model.lam_).fit(X, Y)
    assert_allclose(model.predict(X, Z), fixed.predict(X, Z))


def test_columns_without_descriptions_are_regressions_of_their_own():
    X, _, Y = sides(4)
    found = BipartiteRidge("rbf", RBF, lam=0.3).fit(X, Y)
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.4).fit(X, Y)
    assert_allclose(found.predict(X), theirs.predict(X), atol=1e-10)
    one = BipartiteRidge("rbf", RBF, lam=0.3).fit(X, Y[:, 0])
    assert one.predict(X).shape == (9,)
    with pytest.raises(ValueError, match="knows nothing of its columns"):
        found.predict(X, Y)


def test_it_is_the_regression_with_the_columns_gram_matrix_as_operator():
    "eq-beyond-sylvester."
    X, Z, Y = sides(5)
    G = rbf_kernel(Z)
    ours = BipartiteRidge("rbf", RBF, G, "precomputed", lam=0.1).fit(X, Y)
    theirs = MultiTaskRidge("rbf", RBF, lam=0.1, task_gram=G).fit(X, Y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-12)


def test_columns_may_be_words():
    X, _, Y = sides(6, q=3)
    words = ["seven", "seventy", "eight"]
    model = BipartiteRidge(columns=words, column_kernel="spectrum", lam=0.1).fit(X, Y)
    assert model.predict(X, ["eighty"]).shape == (9, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": np.ones((5, 2))}, "one row for each of the 6 columns"),
        ({"columns": -np.eye(6), "column_kernel": "precomputed"}, "semi-definite"),
        ({"lam": 0.0}, "lam"),
        ({"column_kernel": "unheard"}, "column_kernel"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    X, Z, Y = sides(7)
    model = BipartiteRidge(columns=Z).set_params(**change)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_queries_of_another_width_are_refused():
    X, Z, Y = sides(8)
    model = BipartiteRidge(columns=rbf_kernel(Z), column_kernel="precomputed")
    with pytest.raises(ValueError, match="6 training columns"):
        model.fit(X, Y).predict(X, np.ones((2, 5)))
    with pytest.raises(ValueError, match="leave_out"):
        BipartiteRidgeCV(columns=Z, leave_out="cells").fit(X, Y)
