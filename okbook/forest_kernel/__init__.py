"""Kernels from random forests, and machines in the space of their leaves.

``kernel`` has the kernel of a forest, its feature map, and alignment; ``hyperplanes``
the votes and support vector machines on it; ``quality`` other measures of a kernel.
"""

from .hyperplanes import (
    ForestKernelSVC,
    best_intercept,
    leaf_machines,
    linear_svm,
    oob_accuracies,
    separability_bound,
    separating_hyperplane,
    vote_hyperplane,
)
from .kernel import (
    CentredForestKernel,
    ForestKernel,
    TreeShape,
    ancestor_map,
    check_rows,
    class_signs,
    forest_trees,
    leaf_map,
    leaf_numbers,
    nearest_ancestor_gram,
    shared_leaf_gram,
    target_alignment,
    tree_shape,
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
    "TreeShape",
    "ancestor_map",
    "best_intercept",
    "check_rows",
    "class_signs",
    "feature_space_measure",
    "forest_trees",
    "kernel_polarization",
    "leaf_machines",
    "leaf_map",
    "leaf_numbers",
    "linear_svm",
    "mean_direction",
    "nearest_ancestor_gram",
    "oob_accuracies",
    "separability_bound",
    "separating_hyperplane",
    "shared_leaf_gram",
    "target_alignment",
    "tree_shape",
    "vote_hyperplane",
]
