"""Linear equations in decimal arithmetic: an oracle for ill-conditioned problems."""

from decimal import Decimal

import numpy as np


def exactly(A):
    "The entries of a matrix as decimal numbers, which hold them as they are."
    return np.vectorize(Decimal, otypes=[object])(A)


def solved_exactly(A, B):
    "The solution of linear equations in decimal arithmetic: Gaussian elimination."
    n, A = len(A), np.c_[A, B]
    for j in range(n):
        p = j + int(np.argmax(np.abs(A[j:, j])))
        A[[j, p]] = A[[p, j]]
        A[j] = A[j] / A[j, j]
        others = np.arange(n) != j
        A[others] = A[others] - A[others, j, None] * A[j]
    return A[:, n:]
