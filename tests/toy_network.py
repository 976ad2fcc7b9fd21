"""A toy network for the tests of what predicts links."""

import numpy as np


def network(seed=0, n=60, n_labelled=25, reach=0.25):
    """Points of the unit square, linked when they are near; some of them labelled,
    in no order."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    near = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * reach**2))
    A = np.triu(rng.random((n, n)) < 0.7 * near**2, 1)
    return X, (A + A.T).astype(float), rng.permutation(n)[:n_labelled]


def block(A, nodes):
    "What is known of a network between some of its nodes."
    return A[np.ix_(nodes, nodes)]
