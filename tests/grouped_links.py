"""For scikit-learn's checks, which pass a vector for y: a network from a vector."""

import warnings

import numpy as np


class Grouped:
    """Nodes of one value are linked. A class adds what it predicts, a row of answers
    for each query."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags._skip_test = False  # a vector is what it takes
        return tags

    def fit(self, X, y):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        with warnings.catch_warnings():
            # a network without links, a machine that stops early
            warnings.simplefilter("ignore", UserWarning)
            return super().fit(X, self.adjacency(y))

    @staticmethod
    def adjacency(y):
        group = np.unique(y, return_inverse=True)[1].ravel()
        return np.equal.outer(group, group) - np.eye(len(group))

    def score(self, X, y):
        return super().score(X, self.adjacency(y))
