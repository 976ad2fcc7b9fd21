"""Regression towards the feature space of an output kernel.

``ridge`` has ridge regression, ``leave_one_out`` the choice of its ridge and kernel
dependency estimation, ``operators`` spaces of operator-valued kernels,
``semi_supervised`` the use of unlabelled examples, ``semi_estimators`` its estimators,
``decomposable`` other operator-valued kernels and another loss, ``links`` the
prediction of links in a network, ``folds`` and ``search`` the choice of its parameters,
``networks`` other methods for it, ``propagation`` labels and links that spread over a
graph, ``link_operators`` a ridge for each coordinate of their outputs, and
``two_sides`` links between two kinds of nodes.
"""

from .decomposable import (
    CovarianceRidge,
    CovarianceRidgeCV,
    MaximumMarginRegression,
    MultiTaskRidge,
    MultiTaskRidgeCV,
)
from .folds import (
    NodeFold,
    PairFold,
    bipartite_adjacency,
    node_folds,
    node_pairs,
    pair_folds,
)
from .joint import (
    StructuredSVM,
)
from .leave_one_out import (
    KernelDependencyEstimation,
    OutputKernelRidgeCV,
    default_lam_grid,
    leave_one_out_losses,
    ridge_path,
)
from .links import (
    LinkMixin,
    LinkPredictor,
    choose_threshold,
)
from .networks import (
    EMKernelCompletion,
    KernelCCALinks,
    LocalModelSVM,
    MetricLinks,
    PairwiseKernelSVM,
)
from .operators import (
    RKHSFunction,
    block_gram,
    operator_ridge,
    times_identity,
)
from .propagation import (
    label_propagation,
    link_propagation,
)
from .ridge import (
    OutputKernelRidge,
    ridge_factor,
    ridge_weights,
)
from .search import (
    LinkPredictorCV,
    WeightedRBFKernel,
)
from .semi_estimators import (
    SemiSupervisedOutputKernelRidge,
    SemiSupervisedOutputKernelRidgeCV,
    SmoothedRidgeMixin,
)
from .semi_supervised import (
    kernel_graph,
    knn_graph,
)
from .two_sides import (
    BipartiteRidge,
    BipartiteRidgeCV,
)

__all__ = [
    "BipartiteRidge",
    "BipartiteRidgeCV",
    "CovarianceRidge",
    "CovarianceRidgeCV",
    "EMKernelCompletion",
    "KernelCCALinks",
    "KernelDependencyEstimation",
    "LinkMixin",
    "LinkPredictor",
    "LinkPredictorCV",
    "LocalModelSVM",
    "MaximumMarginRegression",
    "MetricLinks",
    "MultiTaskRidge",
    "MultiTaskRidgeCV",
    "NodeFold",
    "OutputKernelRidge",
    "OutputKernelRidgeCV",
    "PairFold",
    "PairwiseKernelSVM",
    "RKHSFunction",
    "SemiSupervisedOutputKernelRidge",
    "SemiSupervisedOutputKernelRidgeCV",
    "SmoothedRidgeMixin",
    "StructuredSVM",
    "WeightedRBFKernel",
    "bipartite_adjacency",
    "block_gram",
    "choose_threshold",
    "default_lam_grid",
    "kernel_graph",
    "knn_graph",
    "label_propagation",
    "leave_one_out_losses",
    "link_propagation",
    "node_folds",
    "node_pairs",
    "operator_ridge",
    "pair_folds",
    "ridge_factor",
    "ridge_path",
    "ridge_weights",
    "times_identity",
]
