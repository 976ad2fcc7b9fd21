"""Output-kernel learning: put a kernel where others put a vector.

The modules are generated from the notebooks of the course book in ``nbs/``; each is
loaded on first use, so that ``import okbook`` costs nothing. All estimators and kernels
can be had from here, too: ``okbook.OutputKernelTree``.
"""

__version__ = "0.1.0"

import importlib
import pkgutil

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
        "GramKernel",
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


def __getattr__(name):
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def show_versions():
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
