"""Combinations of kernels, learnt in two stages.

``pairs`` has the problem on pairs of examples, its regularisers and its dual,
``solvers`` the solvers with a certificate and the transformer, and ``machines`` the
support vector machines on a combined kernel.
"""

from .machines import (
    AlignmentMKL,
    BestKernel,
    TwoStageMKLClassifier,
    UniformMKL,
    alignment_weights,
)
from .pairs import (
    PairProblem,
    Regularizer,
    dual_value,
    duality_gap,
    gram_moments,
    kernel_correlations,
    lam_max,
    make_regularizer,
    nonnegative_quadratic,
    pair_labels,
    selection_reasons,
    solve_cvxpy,
    standardize_gram,
)
from .solvers import (
    TwoStageMKL,
    mkl_path,
    smoothed_hinge,
    solve_certified,
    solve_sgd,
)

__all__ = [
    "AlignmentMKL",
    "BestKernel",
    "PairProblem",
    "Regularizer",
    "TwoStageMKL",
    "TwoStageMKLClassifier",
    "UniformMKL",
    "alignment_weights",
    "dual_value",
    "duality_gap",
    "gram_moments",
    "kernel_correlations",
    "lam_max",
    "make_regularizer",
    "mkl_path",
    "nonnegative_quadratic",
    "pair_labels",
    "selection_reasons",
    "smoothed_hinge",
    "solve_certified",
    "solve_cvxpy",
    "solve_sgd",
    "standardize_gram",
]
