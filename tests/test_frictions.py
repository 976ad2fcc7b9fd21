"""What stood in an engineer's way, tried again: the number is that of the finding.

Each test does what was tried when the friction was found.
"""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import okbook
from okbook.core import InputKernelMixin, OutputKernelMixin

RNG = np.random.default_rng(0)
BOTH_KERNELS = [
    getattr(okbook, name)
    for name in okbook.__all__
    if isinstance(getattr(okbook, name), type)
    and issubclass(getattr(okbook, name), OutputKernelMixin)
    and issubclass(getattr(okbook, name), InputKernelMixin)
    and issubclass(getattr(okbook, name), BaseEstimator)
    and getattr(okbook, name) not in (InputKernelMixin, OutputKernelMixin)
]


@pytest.mark.parametrize("cls", BOTH_KERNELS)
def test_4_two_kernels_are_told_apart_by_name(cls):
    "Nobody sets the input kernel where they meant that of the outputs."
    parameters = inspect.signature(cls).parameters
    for name in ("input_kernel", "output_kernel"):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(TypeError, match="positional"):
        cls(5, "tanimoto")


def test_4_there_are_such_estimators():
    assert len(BOTH_KERNELS) >= 9
