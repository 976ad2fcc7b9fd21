"""The types that signatures of the package are written with."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Array",
    "ArrayLike",
    "Inputs",
    "KernelLike",
    "KernelObject",
    "Outputs",
    "PathLike",
    "Seed",
    "Sparse",
    "Splitter",
]

Array: TypeAlias = NDArray[Any]
Sparse: TypeAlias = sp.sparray | sp.spmatrix
Inputs: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix  # or a data frame
Outputs: TypeAlias = ArrayLike | Sequence[Any]


class KernelObject(Protocol):
    """What estimators ask of a kernel object, such as an `okbook.core.Kernel`."""

    def gram(self, Y1: Any, Y2: Any = None) -> Array: ...


KernelLike: TypeAlias = str | Callable[..., Any] | KernelObject
PathLike: TypeAlias = str | os.PathLike[str]
Seed: TypeAlias = int | np.random.RandomState | None
# A number of folds, a splitter of scikit-learn, or pairs of training and test indices.
Splitter: TypeAlias = int | Iterable[Any] | Any
