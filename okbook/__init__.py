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
        "DiffusionKernel",
        "DiracKernel",
        "FunctionKernel",
        "GramKernel",
        "Kernel",
        "LinearKernel",
        "OutputKernelKNN",
        "PairwiseKernel",
        "PolynomialKernel",
        "RBFKernel",
        "SimilarityKernel",
        "TanimotoKernel",
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
        DiffusionKernel as DiffusionKernel,
    )
    from .core import (
        DiracKernel as DiracKernel,
    )
    from .core import (
        FunctionKernel as FunctionKernel,
    )
    from .core import (
        GramKernel as GramKernel,
    )
    from .core import (
        Kernel as Kernel,
    )
    from .core import (
        LinearKernel as LinearKernel,
    )
    from .core import (
        OutputKernelKNN as OutputKernelKNN,
    )
    from .core import (
        PairwiseKernel as PairwiseKernel,
    )
    from .core import (
        PolynomialKernel as PolynomialKernel,
    )
    from .core import (
        RBFKernel as RBFKernel,
    )
    from .core import (
        SimilarityKernel as SimilarityKernel,
    )
    from .core import (
        TanimotoKernel as TanimotoKernel,
    )
    from .ensembles import (
        AdaBoost as AdaBoost,
    )
    from .ensembles import (
        Bagging as Bagging,
    )
    from .ensembles import (
        DecisionStump as DecisionStump,
    )
    from .ensembles import (
        OutputKernelBoosting as OutputKernelBoosting,
    )
    from .ensembles import (
        RandomizedTreeClassifier as RandomizedTreeClassifier,
    )
    from .forest_kernel import (
        CentredForestKernel as CentredForestKernel,
    )
    from .forest_kernel import (
        ForestKernel as ForestKernel,
    )
    from .forest_kernel import (
        ForestKernelSVC as ForestKernelSVC,
    )
    from .mkl import (
        AlignmentMKL as AlignmentMKL,
    )
    from .mkl import (
        BestKernel as BestKernel,
    )
    from .mkl import (
        KernelCombiner as KernelCombiner,
    )
    from .mkl import (
        TwoStageMKL as TwoStageMKL,
    )
    from .mkl import (
        UniformMKL as UniformMKL,
    )
    from .rkhs import (
        CovarianceRidge as CovarianceRidge,
    )
    from .rkhs import (
        CovarianceRidgeCV as CovarianceRidgeCV,
    )
    from .rkhs import (
        EMKernelCompletion as EMKernelCompletion,
    )
    from .rkhs import (
        KernelCCALinks as KernelCCALinks,
    )
    from .rkhs import (
        KernelDependencyEstimation as KernelDependencyEstimation,
    )
    from .rkhs import (
        LinkPredictor as LinkPredictor,
    )
    from .rkhs import (
        LinkPredictorCV as LinkPredictorCV,
    )
    from .rkhs import (
        LocalModelSVM as LocalModelSVM,
    )
    from .rkhs import (
        MaximumMarginRegression as MaximumMarginRegression,
    )
    from .rkhs import (
        MetricLinks as MetricLinks,
    )
    from .rkhs import (
        MultiTaskRidge as MultiTaskRidge,
    )
    from .rkhs import (
        MultiTaskRidgeCV as MultiTaskRidgeCV,
    )
    from .rkhs import (
        OutputKernelRidge as OutputKernelRidge,
    )
    from .rkhs import (
        OutputKernelRidgeCV as OutputKernelRidgeCV,
    )
    from .rkhs import (
        PairwiseKernelSVM as PairwiseKernelSVM,
    )
    from .rkhs import (
        SemiSupervisedOutputKernelRidge as SemiSupervisedOutputKernelRidge,
    )
    from .rkhs import (
        SemiSupervisedOutputKernelRidgeCV as SemiSupervisedOutputKernelRidgeCV,
    )
    from .rkhs import (
        StructuredSVM as StructuredSVM,
    )
    from .trees import (
        OutputKernelBagging as OutputKernelBagging,
    )
    from .trees import (
        OutputKernelExtraTrees as OutputKernelExtraTrees,
    )
    from .trees import (
        OutputKernelRandomForest as OutputKernelRandomForest,
    )
    from .trees import (
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
