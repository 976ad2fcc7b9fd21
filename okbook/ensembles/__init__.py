"""Ensembles: sampling, boosting, margins, and boosting with a kernel on the output."""

from .bagging import *  # noqa: F403
from .kernel_boosting import OutputKernelBoosting, shrink_residuals

__all__ = ["OutputKernelBoosting", "shrink_residuals"]
