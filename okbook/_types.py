"""The types that signatures of the package are written with."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .core import Kernel

__all__ = [
    "Array",
    "ArrayLike",
    "Inputs",
    "KernelLike",
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
KernelLike: TypeAlias = Union[str, Callable[..., Any], "Kernel"]
PathLike: TypeAlias = str | os.PathLike[str]
Seed: TypeAlias = int | np.random.RandomState | None
# A number of folds, a splitter of scikit-learn, or pairs of training and test indices.
Splitter: TypeAlias = int | Iterable[Any] | Any
