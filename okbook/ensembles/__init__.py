"""Votes of many hypotheses: bagging, AdaBoost, their margins, and boosting by a kernel.

The trees are in ``tree``, samples and their votes in ``bagging``, stumps and weighted
votes in ``adaboost``, what can be said of a vote's margins in ``margins``, and boosted
output-kernel trees in ``kernel_boosting``.
"""

from .adaboost import (
    AdaBoost,
    DecisionStump,
    Stump,
    StumpExamples,
    agreement,
    best_stump,
    boost_step,
    sort_stump_examples,
    staged_votes,
    vote_probabilities,
)
from .bagging import (
    Bagging,
    Bootstrap,
    bootstrap_sample,
    fit_hypothesis,
    out_of_bag_shares,
    predict_codes,
    prepare_inputs,
    vote_shares,
)
from .kernel_boosting import (
    OutputKernelBoosting,
    ROUNDING,
    shrink_residuals,
)
from .margins import (
    boosting_margin_bound,
    c_bound,
    kappa_error,
    margin_bound,
    margins,
    max_margin_weights,
    vote_alignment,
    vote_margins,
    vote_moments,
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
