"""Kernels from random forests, and machines in the space of their leaves.

``kernel`` has the kernel of a forest and alignment, ``counting`` its leaves and its
feature map, ``ancestors`` two kernels beyond the leaves; ``hyperplanes`` the votes and
support vector machines on it; ``quality`` other measures of a kernel.
"""

from .ancestors import (
    CentredForestKernel,
    nearest_ancestor_gram,
)
from .counting import (
    leaf_map,
    shared_leaf_gram,
)
from .hyperplanes import (
    ForestKernelSVC,
    linear_svm,
    oob_accuracies,
    separability_bound,
    separating_hyperplane,
    vote_hyperplane,
)
from .kernel import (
    ForestKernel,
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
