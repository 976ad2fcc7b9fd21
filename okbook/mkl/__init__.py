"""Combinations of kernels, learnt in two stages.

``pairs`` has the problem on pairs of examples and its regularisers, ``duality`` its
dual and the certificates, ``solvers`` the solvers, and ``machines`` the transformer
that combines kernels and the support vector machines on a combined kernel.
``semidefinite`` learns the Gram matrix and the machine in one program, for comparison.
"""

from .certificates import (
    check_certificate,
    check_path,
)
from .duality import (
    certificate,
    dual_point,
    dual_value,
    duality_gap,
    lam_max,
    optimality_conditions,
    relative_gap,
    solve_cvxpy,
    warn_of_gap,
)
from .machines import (
    AlignmentMKL,
    BestKernel,
    KernelCombiner,
    StandardizedKernelsMixin,
    TwoStageMKL,
    UniformMKL,
    alignment_weights,
    combine_grams,
    sum_to_one,
)
from .pairs import (
    PairProblem,
    REGULARIZERS,
    Regularizer,
    check_classes,
    gram_moments,
    make_regularizer,
    map_row_blocks,
    nonnegative_quadratic,
    pair_correlations,
    pair_labels,
    standardize_gram,
    sum_error,
)
from .semidefinite import (
    learn_gram,
    learn_gram_weights,
    machine_value,
)
from .solvers import (
    SmoothedLoss,
    SmoothedPoint,
    evaluate_many,
    mkl_path,
    newton_step,
    next_width,
    positive_grid,
    secant_search,
    smoothed_dual,
    smoothed_hessian,
    smoothed_hinge,
    solve_newton,
    solve_sgd,
)

__all__ = [
    "AlignmentMKL",
    "BestKernel",
    "KernelCombiner",
    "PairProblem",
    "REGULARIZERS",
    "Regularizer",
    "SmoothedLoss",
    "SmoothedPoint",
    "StandardizedKernelsMixin",
    "TwoStageMKL",
    "UniformMKL",
    "alignment_weights",
    "certificate",
    "check_certificate",
    "check_classes",
    "check_path",
    "combine_grams",
    "dual_point",
    "dual_value",
    "duality_gap",
    "evaluate_many",
    "gram_moments",
    "lam_max",
    "learn_gram",
    "learn_gram_weights",
    "machine_value",
    "make_regularizer",
    "map_row_blocks",
    "mkl_path",
    "newton_step",
    "next_width",
    "nonnegative_quadratic",
    "optimality_conditions",
    "pair_correlations",
    "pair_labels",
    "positive_grid",
    "relative_gap",
    "secant_search",
    "smoothed_dual",
    "smoothed_hessian",
    "smoothed_hinge",
    "solve_cvxpy",
    "solve_newton",
    "solve_sgd",
    "standardize_gram",
    "sum_error",
    "sum_to_one",
    "warn_of_gap",
]
