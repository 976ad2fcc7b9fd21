"""Labels and links that spread over a graph, against linear systems of all pairs."""

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_sylvester
from scipy.stats import ortho_group
from sklearn.semi_supervised import LabelSpreading

from okbook.core import graph_laplacian
from okbook.rkhs import (
    SemiSupervisedOutputKernelRidge,
    label_propagation,
    link_propagation,
)
from okbook.rkhs.propagation import spread_links


@pytest.fixture
def graph():
    "A graph with weights, labelled nodes, and a network between them."
    rng = np.random.default_rng(0)
    W = rng.uniform(size=(10, 10)) * (rng.random((10, 10)) < 0.6)
    W = np.triu(W, 1) + np.triu(W, 1).T
    A = np.triu(rng.random((4, 4)) < 0.6, 1).astype(float)
    return W, np.array([7, 2, 0, 5]), A + A.T


@pytest.mark.parametrize("mu", [1e-3, 0.5, 20.0])
def test_labels_minimise_the_criterion(graph, mu):
    "eq-spread-labels, eq-spread-matrix, prop-spread-labels"
    W, labelled, _ = graph
    P = label_propagation(W, labelled, mu)
    L, U = graph_laplacian(W), np.eye(10)[labelled]
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= 0
    y = np.array([3.0, -1.0, 0.5, 2.0])
    stacked = np.r_[U, np.sqrt(mu) * np.linalg.cholesky(L + 1e-13 * np.eye(10)).T]
    oracle = np.linalg.lstsq(stacked, np.r_[y, np.zeros(10)], rcond=None)[0]
    np.testing.assert_allclose(P @ y, oracle, atol=1e-6)
    free = np.setdiff1d(np.arange(10), labelled)
    means = (W @ P @ y / W.sum(axis=1))[free]
    np.testing.assert_allclose((P @ y)[free], means)


def test_labels_stay_as_mu_vanishes(graph):
    W, labelled, _ = graph
    P = label_propagation(W, labelled, 1e-9)
    np.testing.assert_allclose(P[labelled], np.eye(4), atol=1e-6)


def test_signs_are_those_of_a_peer():
    "Two groups: scikit-learn's spreading, which normalises otherwise, says the same."
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 6]
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) * (1 - np.eye(40))
    y = np.full(40, -1)
    y[[0, 25]] = 0, 1
    peer = LabelSpreading(gamma=1.0).fit(X, y).transduction_
    ours = label_propagation(W, [0, 25], 0.01) @ [0.0, 1.0] > 0.5
    np.testing.assert_array_equal(ours, peer == 1)


def test_a_component_without_a_label_gets_nothing():
    W = np.kron(np.eye(2), 1 - np.eye(3))
    P = label_propagation(W, [1], 0.5)
    np.testing.assert_allclose(P[:, 0], [1, 1, 1, 0, 0, 0])
    F = link_propagation(W, np.ones((1, 1)), [1], 0.5)
    np.testing.assert_allclose(F[:3, :3], 1.0)
    np.testing.assert_allclose(F[3:], 0.0, atol=1e-12)


def test_any_basis_of_the_components_gives_the_same_links():
    "Eigenvectors of the eigenvalue zero are mixed; three components have no label."
    rng = np.random.default_rng(3)
    weights = [rng.uniform(0.1, 1.0, size=(n, n)) for n in (6, 5, 3, 2)]
    W = block_diag(*(np.triu(w, 1) + np.triu(w, 1).T for w in weights))
    labelled, A = np.array([0, 2, 3, 5]), 1.0 - np.eye(4)
    nu, Q = np.linalg.eigh(graph_laplacian(W))
    for _ in range(5):
        turned = np.c_[Q[:, :4] @ ortho_group.rvs(4, random_state=rng), Q[:, 4:]]
        F = spread_links(nu, turned, A, labelled, 0.5, tol=1e-12)
        alone = link_propagation(W[:6, :6], A, labelled, 0.5, tol=1e-12)
        np.testing.assert_allclose(F[:6, :6], alone, atol=1e-9)
        np.testing.assert_allclose(F[6:], 0.0, atol=1e-9)


def test_the_ridge_tends_to_propagation(graph):
    "thm-spread-manifold, second part"
    W, labelled, _ = graph
    X = np.random.default_rng(2).normal(size=(10, 3))
    gaps = []
    for lam in (1e-3, 1e-6):
        ridge = SemiSupervisedOutputKernelRidge(
            lam=lam, lam2=0.2, graph=W, input_kernel_params={"sigma": 0.5}
        ).fit(X, np.eye(4), labelled=labelled)
        gap = ridge.transduction_weights_ - label_propagation(W, labelled, 0.4)
        gaps.append(np.abs(gap).max())
    assert gaps[1] < 1e-4 < gaps[0] * 1e3 and gaps[1] < gaps[0] / 100


def test_the_ridge_is_fitted_by_coordinates(graph):
    "thm-spread-manifold, first part: Laplacian regularised least squares"
    W, labelled, _ = graph
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(4, 3))
    ridge = SemiSupervisedOutputKernelRidge(
        output_kernel="linear",
        lam=0.3,
        lam2=0.2,
        graph=W,
        input_kernel_params={"sigma": 0.8},
    ).fit(X, Y, labelled=labelled)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.8**2))
    L, U = graph_laplacian(W), np.eye(10)[labelled]
    for column, found in zip(Y.T, (ridge.transduction_weights_ @ Y).T):
        system = U.T @ U @ K + 0.3 * np.eye(10) + 2 * 0.2 * L @ K
        values = K @ np.linalg.solve(system, U.T @ column)
        np.testing.assert_allclose(found, values, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mu", [0.05, 1.0, 10.0])
def test_links_minimise_the_criterion(graph, mu):
    "eq-spread-links by the linear system of all pairs; thm-spread-links"
    W, labelled, A = graph
    L, U, one = graph_laplacian(W), np.eye(10)[labelled], np.eye(10)
    F = link_propagation(W, A, labelled, mu, tol=1e-13)
    V = np.kron(U.T @ U, U.T @ U)
    system = V + mu * (np.kron(L, one) + np.kron(one, L))
    oracle = np.linalg.solve(system, (U.T @ A @ U).ravel()).reshape(10, 10)
    np.testing.assert_allclose(F, oracle, atol=1e-8)
    np.testing.assert_array_equal(F, F.T)
    P, V = label_propagation(W, labelled, mu), U.T @ U
    S = P @ A @ P.T
    twice = V @ S @ V + mu * (L @ S @ V + V @ S @ L) + mu**2 * L @ S @ L
    np.testing.assert_allclose(twice, U.T @ A @ U, atol=1e-9)


def test_links_with_all_nodes_and_with_few_eigenvectors(graph):
    W, _, _ = graph
    A = np.triu(np.random.default_rng(4).random((10, 10)) < 0.5, 1).astype(float)
    A += A.T
    half = 0.5 * np.eye(10) + 0.7 * graph_laplacian(W)
    F = link_propagation(W, A, np.arange(10), 0.7, tol=1e-13)
    np.testing.assert_allclose(F, solve_sylvester(half, half, A), atol=1e-9)
    nu, Q = np.linalg.eigh(graph_laplacian(W))
    Q, rough = Q[:, :4], np.add.outer(nu[:4], nu[:4])
    few = link_propagation(W, A, np.arange(10), 0.7, n_components=4, tol=1e-13)
    np.testing.assert_allclose(few, Q @ (Q.T @ A @ Q / (1 + 0.7 * rough)) @ Q.T)


def test_what_is_refused(graph):
    W, labelled, A = graph
    for mu in (0.0, -1.0):
        with pytest.raises(ValueError, match="mu"):
            label_propagation(W, labelled, mu)
        with pytest.raises(ValueError, match="mu"):
            link_propagation(W, A, labelled, mu)
    with pytest.raises(ValueError, match="of the 4 labelled nodes: got shape"):
        link_propagation(W, A[:3, :3], labelled)
    with pytest.raises(ValueError, match="symmetric"):
        link_propagation(W, np.triu(A), labelled)
    with pytest.raises(ValueError, match="n_components"):
        link_propagation(W, A, labelled, n_components=0)
    with pytest.raises(ValueError):
        label_propagation(-W, labelled)
