"""Kernels from random forests, and machines in the space of their leaves.

``kernel`` has the kernel of a forest, its feature map, and alignment; ``hyperplanes``
the votes and support vector machines on it; ``quality`` other measures of a kernel.
"""

from .hyperplanes import (
    ForestKernelSVC,
    linear_svm,
    oob_accuracies,
    separability_bound,
    separating_hyperplane,
    vote_hyperplane,
)
from .kernel import (
    CentredForestKernel,
    ForestKernel,
    leaf_map,
    nearest_ancestor_gram,
    shared_leaf_gram,
    target_alignment,
)
from .quality import (
    feature_space_measure,
    kernel_polarization,
    mean_direction,
)

__all__ = [
    "CentredForestKernel",
    "ForestKernel",
    "ForestKernelSVC",
    "feature_space_measure",
    "kernel_polarization",
    "leaf_map",
    "linear_svm",
    "mean_direction",
    "nearest_ancestor_gram",
    "oob_accuracies",
    "separability_bound",
    "separating_hyperplane",
    "shared_leaf_gram",
    "target_alignment",
    "vote_hyperplane",
]
