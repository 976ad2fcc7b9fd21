"""Votes of many hypotheses: bagging, AdaBoost, their margins, and boosting by a kernel.

The trees are in ``tree``, samples and their votes in ``bagging``, weighted votes in
``adaboost``, stumps in ``weak_learners``, what can be said of a vote's margins in
``margins`` and of its voters in ``diversity``, and boosted output-kernel trees in
``kernel_boosting``.
"""

from .adaboost import (
    AdaBoost,
    agreement,
    boost_step,
    staged_votes,
    vote_probabilities,
)
from .bagging import (
    Bagging,
    Bootstrap,
    bias_variance,
    bootstrap_sample,
    fit_hypothesis,
    out_of_bag_shares,
    predict_codes,
    prepare_inputs,
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
    ROUNDING,
    shrink_residuals,
)
from .margins import (
    boosting_margin_bound,
    margin_bound,
    margins,
    max_margin_weights,
    vote_margins,
)
from .tree import (
    ClassificationTree,
    MAX_SEED,
    RandomizedTreeClassifier,
    SortedFeatures,
    check_examples,
    encode_classes,
    jit,
    jit_inline,
    pessimistic_errors,
    predict_tree,
    sort_features,
    split_threshold,
)
from .weak_learners import (
    DecisionStump,
    Stump,
    StumpExamples,
    best_stump,
    sort_stump_examples,
)

__all__ = [
    "AdaBoost",
    "Bagging",
    "Bootstrap",
    "ClassificationTree",
    "DecisionStump",
    "MAX_SEED",
    "OutputKernelBoosting",
    "ROUNDING",
    "RandomizedTreeClassifier",
    "SortedFeatures",
    "Stump",
    "StumpExamples",
    "agreement",
    "best_stump",
    "bias_variance",
    "boost_step",
    "boosting_margin_bound",
    "bootstrap_sample",
    "c_bound",
    "check_examples",
    "encode_classes",
    "fit_hypothesis",
    "jit",
    "jit_inline",
    "kappa_error",
    "margin_bound",
    "margins",
    "max_margin_weights",
    "out_of_bag_shares",
    "pessimistic_errors",
    "predict_codes",
    "predict_tree",
    "prepare_inputs",
    "shrink_residuals",
    "sort_features",
    "sort_stump_examples",
    "split_threshold",
    "staged_votes",
    "vote_alignment",
    "vote_margins",
    "vote_moments",
    "vote_probabilities",
    "vote_shares",
]
