"""Votes of many hypotheses: bagging, AdaBoost, their margins, and boosting by a kernel.

The trees are in ``tree``, samples and their votes in ``bagging``, weighted votes in
``adaboost``, stumps in ``weak_learners``, what can be said of a vote's margins in
``margins`` and of its voters in ``diversity``, and boosted output-kernel trees in
``kernel_boosting``.
"""

from .adaboost import (
    AdaBoost,
)
from .bagging import (
    Bagging,
    bias_variance,
    vote_shares,
)
from .diversity import (
    c_bound,
    kappa_error,
    vote_alignment,
    vote_moments,
)
from .kernel_boosting import (
    OutputKernelBoosting,
)
from .margins import (
    boosting_margin_bound,
    margin_bound,
    margins,
    max_margin_weights,
    vote_margins,
)
from .tree import (
    RandomizedTreeClassifier,
)
from .weak_learners import (
    DecisionStump,
)

__all__ = [
    "AdaBoost",
    "Bagging",
    "DecisionStump",
    "OutputKernelBoosting",
    "RandomizedTreeClassifier",
    "bias_variance",
    "boosting_margin_bound",
    "c_bound",
    "kappa_error",
    "margin_bound",
    "margins",
    "max_margin_weights",
    "vote_alignment",
    "vote_margins",
    "vote_moments",
    "vote_shares",
]
