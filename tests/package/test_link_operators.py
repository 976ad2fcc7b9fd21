"""A ridge for each coordinate of the outputs, against linear systems of all of them."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from okbook.core import graph_laplacian
from okbook.rkhs import knn_graph
from okbook.rkhs.link_operators import (
    leave_one_out_ridges,
    leave_one_out_squares,
    ridge_by_column,
)


@pytest.fixture
def network():
    "Inputs, their Gram matrix, and the eigenvectors of a network between the nodes."
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2))
    A = np.triu(rng.random((14, 14)) < 0.4, 1).astype(float)
    G = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return X, G, *np.linalg.eigh(graph_laplacian(A + A.T))


def test_columns_are_single_ridge_regressions(network):
    "thm-linkop-ridges, with the operator and column by column"
    _, G, nu, V = network
    a, lam = np.exp(-0.4 * nu), 0.3
    found = ridge_by_column(G, G[:5], V, lam / a)
    system = np.kron(G, np.diag(a)) + lam * np.eye(14 * 14)
    C = np.linalg.solve(system, V.ravel()).reshape(14, 14)
    np.testing.assert_allclose(found, G[:5] @ C * a, rtol=1e-8, atol=1e-12)
    for j in range(14):
        one = KernelRidge(alpha=lam / a[j], kernel="precomputed").fit(G, V[:, j])
        np.testing.assert_allclose(found[:, j], one.predict(G[:5]), atol=1e-10)


def test_left_out_squares(network):
    "eq-linkop-loo against fits without each node"
    _, G, _, V = network
    for ridge in (1e-2, 0.5, 10.0):
        total = np.zeros(14)
        for i in range(14):
            rest = np.arange(14) != i
            one = KernelRidge(alpha=ridge, kernel="precomputed")
            one.fit(G[np.ix_(rest, rest)], V[rest])
            total += (V[i] - one.predict(G[[i]][:, rest])[0]) ** 2
        np.testing.assert_allclose(leave_one_out_squares(G, V, [ridge])[0], total)


def test_learnt_ridges_are_the_best_of_all_combinations(network):
    "prop-linkop-learnt, with any time of diffusion"
    _, G, nu, V = network
    grid = (1e-2, 0.3, 10.0)
    best = leave_one_out_ridges(G, V, grid)
    assert len(set(best)) > 1
    for beta in (0.0, 1.0):
        F = V * np.exp(-beta * nu / 2)
        errors = leave_one_out_squares(G, F, grid)
        np.testing.assert_array_equal(leave_one_out_ridges(G, F, grid), best)
        chosen = errors[[grid.index(ridge) for ridge in best], range(14)]
        assert (chosen <= errors).all()


def test_equal_frequencies_share_a_ridge(network):
    "The choice of eigenvectors of a repeated eigenvalue decides nothing."
    _, G, _, V = network
    nu = np.r_[np.zeros(4), np.arange(1.0, 11.0)]
    turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))
    turned = np.c_[V[:, :4] @ turn, V[:, 4:]]
    grid = np.logspace(-3, 3, 13)
    found = leave_one_out_ridges(G, V, grid, nu)
    assert len(set(found[:4])) == 1
    np.testing.assert_array_equal(leave_one_out_ridges(G, turned, grid, nu), found)
    alone = leave_one_out_ridges(G, V, grid)
    np.testing.assert_array_equal(alone[4:], found[4:])


def test_the_deformed_kernel(network):
    "The same theorem with the Gram matrix of the semi-supervised method."
    X, K, nu, V = network
    L = graph_laplacian(knn_graph(X, 3).toarray())
    G = np.linalg.inv(0.2 * np.linalg.inv(K + 1e-10 * np.eye(14)) + 2 * 0.1 * L)
    ridges = np.exp(0.2 * nu)
    found = ridge_by_column(G, G, V, ridges)
    for j in (0, 7, 13):
        system = G + ridges[j] * np.eye(14)
        np.testing.assert_allclose(found[:, j], G @ np.linalg.solve(system, V[:, j]))
