"""Regression towards the feature space of an output kernel, in a vector-valued RKHS.

``ridge`` has ridge regression and kernel dependency estimation, ``semi_supervised`` the
use of unlabelled examples, ``decomposable`` other operator-valued kernels and another
loss, ``links`` the prediction of links in a network, and ``networks`` other methods for
it.
"""

from .decomposable import (
    CovarianceRidge,
    CovarianceRidgeCV,
    MaximumMarginRegression,
    MultiTaskRidge,
    MultiTaskRidgeCV,
    covariance_cv_losses,
    covariance_dual,
    decomposable_dual,
    decomposable_loo,
    margin_objectives,
    unit_gram,
)
from .links import LinkPredictor, LinkPredictorCV, choose_threshold, node_pairs
from .networks import (
    EMKernelCompletion,
    KernelCCALinks,
    LocalModelSVM,
    MetricLinks,
    PairwiseKernelSVM,
    em_projection,
)
from .ridge import (
    KernelDependencyEstimation,
    OutputKernelRidge,
    OutputKernelRidgeCV,
    RKHSFunction,
    block_gram,
    leave_one_out_losses,
    operator_ridge,
    output_directions,
    ridge_factor,
    ridge_path,
    times_identity,
)
from .semi_supervised import (
    SemiSupervisedOutputKernelRidge,
    SemiSupervisedOutputKernelRidgeCV,
    SmoothedSpectrum,
    check_graph,
    check_labelled,
    graph_smoothers,
    kernel_factor,
    knn_graph,
    smoothed_cv_losses,
)

__all__ = [
    "CovarianceRidge",
    "CovarianceRidgeCV",
    "EMKernelCompletion",
    "KernelCCALinks",
    "KernelDependencyEstimation",
    "LinkPredictor",
    "LinkPredictorCV",
    "LocalModelSVM",
    "MaximumMarginRegression",
    "MetricLinks",
    "MultiTaskRidge",
    "MultiTaskRidgeCV",
    "OutputKernelRidge",
    "OutputKernelRidgeCV",
    "PairwiseKernelSVM",
    "RKHSFunction",
    "SemiSupervisedOutputKernelRidge",
    "SemiSupervisedOutputKernelRidgeCV",
    "SmoothedSpectrum",
    "block_gram",
    "check_graph",
    "check_labelled",
    "choose_threshold",
    "covariance_cv_losses",
    "covariance_dual",
    "decomposable_dual",
    "decomposable_loo",
    "em_projection",
    "graph_smoothers",
    "kernel_factor",
    "knn_graph",
    "leave_one_out_losses",
    "margin_objectives",
    "node_pairs",
    "operator_ridge",
    "output_directions",
    "ridge_factor",
    "ridge_path",
    "smoothed_cv_losses",
    "times_identity",
    "unit_gram",
]
