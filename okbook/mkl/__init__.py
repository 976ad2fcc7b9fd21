"""Combinations of kernels, learnt in two stages.

``pairs`` has the problem on pairs of examples and its regularisers, ``duality`` its
dual and the certificates, ``solvers`` the solvers, ``path`` solutions for many values
of lambda, and ``machines`` the transformer that combines kernels and the support
vector machines on a combined kernel. ``norms`` has powers and groups as
regularisers. For comparison, ``stochastic`` has the stochastic gradients, and
``semidefinite`` learns the Gram matrix and the machine in one program.
"""

from .certificates import (
    check_certificate,
    check_path,
)
from .duality import (
    certificate,
    lam_max,
    solve_cvxpy,
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
)
from .norms import (
    GroupRegularizer,
    PowerRegularizer,
    solve_norm,
)
from .pairs import (
    PairProblem,
    Regularizer,
    make_regularizer,
    pair_labels,
    standardize_gram,
)
from .path import (
    mkl_path,
)
from .semidefinite import (
    learn_gram,
    machine_value,
)
from .solvers import (
    solve_newton,
    solve_sgd,
)
from .stochastic import (
    solve_stochastic,
)

__all__ = [
    "AlignmentMKL",
    "BestKernel",
    "GroupRegularizer",
    "KernelCombiner",
    "PairProblem",
    "PowerRegularizer",
    "Regularizer",
    "StandardizedKernelsMixin",
    "TwoStageMKL",
    "UniformMKL",
    "alignment_weights",
    "certificate",
    "check_certificate",
    "check_path",
    "combine_grams",
    "lam_max",
    "learn_gram",
    "machine_value",
    "make_regularizer",
    "mkl_path",
    "pair_labels",
    "solve_cvxpy",
    "solve_newton",
    "solve_norm",
    "solve_sgd",
    "solve_stochastic",
    "standardize_gram",
]
