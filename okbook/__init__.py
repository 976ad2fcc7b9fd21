"""Output-kernel learning: put a kernel where others put a vector.

The modules are generated from the notebooks of the course book in ``nbs/``; each is
loaded on first use, so that ``import okbook`` costs nothing. All estimators and kernels
can be had from here, too: ``okbook.OutputKernelTree``.
"""

__version__ = "0.1.0"

import importlib
import pkgutil
from typing import TYPE_CHECKING

from ._numba_cache import find_numba_cache

# The estimators and kernels, by the package that shows them.
_SHOWN_BY = {
    "core": (
        "AutoKernel",
        "CachedKernel",
        "ChiSquaredKernel",
        "DiffusionKernel",
        "DiracKernel",
        "FeatureKernel",
        "FunctionKernel",
        "GlobalAlignmentKernel",
        "GramKernel",
        "HammingKernel",
        "IntersectionKernel",
        "JaccardKernel",
        "KendallKernel",
        "Kernel",
        "LinearKernel",
        "MallowsKernel",
        "ObjectKernel",
        "OutputKernelKNN",
        "PairwiseKernel",
        "PolynomialKernel",
        "RBFKernel",
        "SimilarityKernel",
        "SpectrumKernel",
        "SubsequenceKernel",
        "TanimotoKernel",
        "WeisfeilerLehmanKernel",
    ),
    "ensembles": (
        "AdaBoost",
        "Bagging",
        "DecisionStump",
        "OutputKernelBoosting",
        "RandomizedTreeClassifier",
    ),
    "forest_kernel": ("CentredForestKernel", "ForestKernel", "ForestKernelSVC"),
    "mkl": (
        "AlignmentMKL",
        "BestKernel",
        "KernelCombiner",
        "TwoStageMKL",
        "UniformMKL",
    ),
    "rkhs": (
        "BipartiteRidge",
        "BipartiteRidgeCV",
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
        "SemiSupervisedOutputKernelRidge",
        "SemiSupervisedOutputKernelRidgeCV",
        "StructuredSVM",
        "WeightedRBFKernel",
    ),
    "trees": (
        "OutputKernelBagging",
        "OutputKernelExtraTrees",
        "OutputKernelRandomForest",
        "OutputKernelTree",
    ),
}
_HOMES = {name: home for home, names in _SHOWN_BY.items() for name in names}
_MODULES = sorted(
    m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")
)

__all__ = ["__version__", "show_versions", *_MODULES, *sorted(_HOMES)]

find_numba_cache(__path__[0])


if TYPE_CHECKING:  # what a type checker sees; a test compares it with _SHOWN_BY
    from .core import (
        AutoKernel as AutoKernel,
        CachedKernel as CachedKernel,
        ChiSquaredKernel as ChiSquaredKernel,
        DiffusionKernel as DiffusionKernel,
        DiracKernel as DiracKernel,
        FeatureKernel as FeatureKernel,
        FunctionKernel as FunctionKernel,
        GlobalAlignmentKernel as GlobalAlignmentKernel,
        GramKernel as GramKernel,
        HammingKernel as HammingKernel,
        IntersectionKernel as IntersectionKernel,
        JaccardKernel as JaccardKernel,
        KendallKernel as KendallKernel,
        Kernel as Kernel,
        LinearKernel as LinearKernel,
        MallowsKernel as MallowsKernel,
        ObjectKernel as ObjectKernel,
        OutputKernelKNN as OutputKernelKNN,
        PairwiseKernel as PairwiseKernel,
        PolynomialKernel as PolynomialKernel,
        RBFKernel as RBFKernel,
        SimilarityKernel as SimilarityKernel,
        SpectrumKernel as SpectrumKernel,
        SubsequenceKernel as SubsequenceKernel,
        TanimotoKernel as TanimotoKernel,
        WeisfeilerLehmanKernel as WeisfeilerLehmanKernel,
    )
    from .ensembles import (
        AdaBoost as AdaBoost,
        Bagging as Bagging,
        DecisionStump as DecisionStump,
        OutputKernelBoosting as OutputKernelBoosting,
        RandomizedTreeClassifier as RandomizedTreeClassifier,
    )
    from .forest_kernel import (
        CentredForestKernel as CentredForestKernel,
        ForestKernel as ForestKernel,
        ForestKernelSVC as ForestKernelSVC,
    )
    from .mkl import (
        AlignmentMKL as AlignmentMKL,
        BestKernel as BestKernel,
        KernelCombiner as KernelCombiner,
        TwoStageMKL as TwoStageMKL,
        UniformMKL as UniformMKL,
    )
    from .rkhs import (
        BipartiteRidge as BipartiteRidge,
        BipartiteRidgeCV as BipartiteRidgeCV,
        CovarianceRidge as CovarianceRidge,
        CovarianceRidgeCV as CovarianceRidgeCV,
        EMKernelCompletion as EMKernelCompletion,
        KernelCCALinks as KernelCCALinks,
        KernelDependencyEstimation as KernelDependencyEstimation,
        LinkPredictor as LinkPredictor,
        LinkPredictorCV as LinkPredictorCV,
        LocalModelSVM as LocalModelSVM,
        MaximumMarginRegression as MaximumMarginRegression,
        MetricLinks as MetricLinks,
        MultiTaskRidge as MultiTaskRidge,
        MultiTaskRidgeCV as MultiTaskRidgeCV,
        OutputKernelRidge as OutputKernelRidge,
        OutputKernelRidgeCV as OutputKernelRidgeCV,
        PairwiseKernelSVM as PairwiseKernelSVM,
        SemiSupervisedOutputKernelRidge as SemiSupervisedOutputKernelRidge,
        SemiSupervisedOutputKernelRidgeCV as SemiSupervisedOutputKernelRidgeCV,
        StructuredSVM as StructuredSVM,
        WeightedRBFKernel as WeightedRBFKernel,
    )
    from .trees import (
        OutputKernelBagging as OutputKernelBagging,
        OutputKernelExtraTrees as OutputKernelExtraTrees,
        OutputKernelRandomForest as OutputKernelRandomForest,
        OutputKernelTree as OutputKernelTree,
    )
else:

    def __getattr__(name):
        if name in _HOMES:
            return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def show_versions() -> None:
    """Print what a report of an error should contain: the versions of Python, of okbook
    and of what it stands on, the extras that are missing, and the processor.

    Examples
    --------
    >>> import okbook
    >>> okbook.show_versions()
    okbook: 0.1.0
    ...
    """
    from ._versions import describe_versions

    print(describe_versions())
