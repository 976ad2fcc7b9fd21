"""A claim that cannot fail says nothing: faults are planted into what is judged, at
least one for each claim, and each must be noticed within some dozen attempts.
"""

import importlib
import itertools
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from claims.all import CLAIMS
from claims.claim import attack
from okbook.ensembles import RandomizedTreeClassifier
from okbook.trees import OutputKernelTree
from okbook.trees.nodes import node_weights, tree_leaves


def spoil(answer):
    "An answer that is a little wrong."
    if isinstance(answer, tuple):
        named = hasattr(answer, "_fields")
        parts = [spoil(answer[0]), *answer[1:]]
        return type(answer)(*parts) if named else tuple(parts)
    if answer is None:
        return np.ones(1), 0.0
    if isinstance(answer, list):
        return [spoil(part) for part in answer]
    if sp.issparse(answer) or isinstance(answer, float):
        return answer * 1.001 + (0.001 if isinstance(answer, float) else 0.0)
    if isinstance(answer, dict):  # a Bunch: its numbers
        for name, part in answer.items():
            if isinstance(part, float | np.ndarray) and np.asarray(part).dtype == float:
                answer[name] = spoil(part)
        return answer
    answer = np.array(answer)
    if answer.dtype.kind == "f":
        return answer * 1.001 + 0.001 * np.abs(answer).max(initial=0.0)
    if answer.dtype.kind == "b":
        return ~answer
    return np.zeros_like(answer) if answer.dtype.kind == "i" else answer[::-1]


def spoiled(target):
    "A function, or a method, whose answers are a little wrong."

    def wrong(*args, **kwargs):
        return spoil(target(*args, **kwargs))

    return wrong


def last_among_equals(target):
    "A decoder for which the last of equally near candidates is the nearest."

    def wrong(W, K, diag, support=False):
        given = (W[:, ::-1], K[::-1, ::-1]) if support else (W, K[:, ::-1])
        return len(diag) - 1 - target(*given, diag[::-1], support)

    return wrong


def exact_ties_only(target):
    "A decoder that takes distances for equal only if they are so to the last bit."

    def wrong(W, K, diag, support=False):
        distances = diag - 2.0 * (W @ K)
        return target(W, K, diag, True) if support else distances.argmin(axis=1)

    return wrong


def of_many(target):
    "Losses that are wrong where there are more than twenty examples."

    def wrong(K, *args):
        losses = target(K, *args)
        return spoil(losses) if len(K) > 20 else losses

    return wrong


def lopsided(target):
    "A Laplacian that is normalised from the left only."

    def wrong(A, normalized=False):
        if not normalized:
            return target(A)
        degree = A.sum(axis=1)
        return target(A) / np.where(degree > 0, degree, 1.0)[:, None]

    return wrong


def without_repetitions(target):
    "Features that occur, but are not counted."

    def wrong(self, y):
        return dict.fromkeys(target(self, y), 1.0)

    return wrong


def dearest(target):
    "The choice of the ridge of the largest loss."

    def wrong(self, K):
        target(self, K)
        self.lam_ = float(self.lam_grid_[self.loo_losses_.argmax()])
        return self.lam_

    return wrong


def dearest_cells(target):
    "The choice of the ridge of the largest loss of cells."

    def wrong(self, *given):
        target(self, *given)
        self.lam_ = float(self.lam_grid[self.losses_.argmax()])
        return self.lam_

    return wrong


def by_rows(target):
    "Losses of cells without their row, whatever was asked for."

    def wrong(self, *given):
        return target(self.set_params(leave_out="rows"), *given)

    return wrong


def heavier(target):
    "A fit with a larger ridge."

    def wrong(self, X, y):
        return target(self.set_params(lam=1.01 * self.lam), X, y)

    return wrong


def negated(target):
    "The negative of all answers."

    def wrong(*args):
        return -target(*args)

    return wrong


def one_feature(*args, **kwargs):
    "A tree that looks at one feature of each node, drawn at random."
    return OutputKernelTree(*args, **kwargs | {"max_features": 1, "random_state": 1})


def dearer(*args, ccp_alpha=0.0, **kwargs):
    "A tree that is pruned too much."
    return OutputKernelTree(*args, ccp_alpha=3.0 * ccp_alpha, **kwargs)


def every_other(target):
    "Answers of which every second is spoilt."
    counter = itertools.count()

    def wrong(*args):
        found = target(*args)
        return [spoil(a) for a in found] if next(counter) % 2 else found

    return wrong


def plain(target):
    "An estimator that adds one to all weights."

    def wrong(name, X, y, weight=None, **params):
        return target(name, X, y, None if weight is None else weight + 1.0, **params)

    return wrong


def otherwise(target):
    "An estimator that solves another problem with two threads."

    def wrong(name, X, y, weight=None, **params):
        other = {"lam": 2e-3} if params["n_jobs"] == 2 else {}
        return target(name, X, y, weight, **params | other)

    return wrong


def too_sure(target):
    "A solver that promises ten times what it keeps, from a start that it hardly left."

    def wrong(*args, **kwargs):
        found = target(*args, **kwargs)
        found = found if isinstance(found, list) else [found]
        for one in found:
            one.objective, one.gap = one.objective + 0.01, 1e-6
        return found if len(found) > 1 else found[0]

    return wrong


def nameless(target):
    "Answers to columns that are told apart by their places only."

    def wrong(model, *inputs):
        vars(model).pop("feature_names_in_", None)
        return target(model, *(np.asarray(X) for X in inputs))

    return wrong


def warning(target):
    "A solver that warns, whatever it has reached."

    def wrong(*args, **kwargs):
        warnings.warn("The gap is wide.", ConvergenceWarning, stacklevel=2)
        return target(*args, **kwargs)

    return wrong


def stopping(target):
    "A solver that stops after a step, and says so."

    def wrong(*args, **kwargs):
        return target(*args, **kwargs | {"max_iter": 1})

    return wrong


def early(target):
    "Conjugate gradients that stop at a wide residual."
    return lambda *args: target(*args[:-1], 1e-3)


def refuse(*args):
    "A function that finds every kernel to be zero."
    raise ValueError("Kernel 0 is zero: it correlates with nothing.")


def last_spoilt(target):
    "The points of a pass, of which the last has a wrong sum."

    def wrong(*args):
        *first, last = target(*args)
        return [*first, replace(last, total=1.001 * last.total)]

    return wrong


def lenient(target):
    "A checker whose intervals are too low."

    def wrong(*args):
        checked = target(*args)
        for name, ends in checked.items():
            checked[name] = 0.5 * ends
        return checked

    return wrong


def spoiled_property(target):
    "A property whose value is a little wrong, unless it is zero."
    return property(lambda self: spoil(target.fget(self)))


def second_spoilt(target):
    "A tuple whose first part is right."

    def wrong(*args, **kwargs):
        first, *rest = target(*args, **kwargs)
        return (first, *(spoil(part) for part in rest))

    return wrong


def just_cheaper(*args, ccp_alpha=0.0, **kwargs):
    "A tree that keeps a branch which is worth exactly its cost."
    return OutputKernelTree(*args, ccp_alpha=ccp_alpha * (1.0 - 1e-8), **kwargs)


def smaller_square(target):
    "Pessimistic errors with q/3 in place of q/2, where there are errors."

    def wrong(n, errors, confidence):
        q = norm.isf(confidence) ** 2
        more = n * q / 6.0 / (n + q) if 1.0 <= errors < n - 0.5 else 0.0
        return target(n, errors, confidence) - more

    return wrong


def surer(*args, confidence=None, **kwargs):
    "A tree that is pruned at half of the confidence."
    confidence = None if confidence is None else confidence / 2
    return RandomizedTreeClassifier(*args, confidence=confidence, **kwargs)


def backwards(target):
    "Paths of a forest whose nodes are in reverse order."

    def wrong(self, X):
        paths, ends = target(self, X)
        return paths[:, ::-1], ends

    return wrong


def shifted(target):
    "Leaves that got the pre-images of their neighbours."

    def wrong(model, candidates):
        chosen = target(model, candidates)
        chosen[chosen >= 0] = np.roll(chosen[chosen >= 0], 1)
        return chosen

    return wrong


def reversed_list(target):
    "Answers in reverse order."
    return lambda *args: target(*args)[::-1]


def weightless(target):
    "An estimator that ignores weights."
    return lambda self, X, y, weight=None: target(self, X, y)


def in_bag(target):
    "Weights of all trees, of those too that have seen the example."

    def wrong(trees, X):
        _, left_out = target(trees, X)
        leaves = [tree_leaves(tree, X) for tree in trees]
        parts = [node_weights(tree, nodes) for tree, nodes in zip(trees, leaves)]
        return sum(parts) / len(trees), left_out

    return wrong


def flattered(target):
    "A loss out of the bag that is measured with all trees."

    def wrong(self, X):
        target(self, X)
        self.oob_loss_ = self.loss(X, self.outputs_)

    return wrong


def half_steps(target):
    "Weights after each tree with half of the learning rate."

    def wrong(self, X):
        rate, self.learning_rate = self.learning_rate, self.learning_rate / 2
        found = list(target(self, X))
        self.learning_rate = rate
        return found

    return wrong


def half_filled(target):
    "A Gram matrix of one set of inputs, one half of which has not been copied."

    def wrong(self, A, B=None):
        K = target(self, A, B)
        return np.triu(K) if B is None else K

    return wrong


def sixteen_trees(target):
    "A Gram matrix of the first sixteen trees."

    def wrong(self, A, B=None):
        none = np.iinfo(A.dtype).max
        A = A.copy()
        A[16:] = none
        return target(self, A, B)

    return wrong


def undivided(target):
    "A noise and a variance that are twice as large."

    def wrong(*args):
        found = target(*args)
        if args[2] == "kohavi-wolpert":
            found.noise, found.variance = 2 * found.noise, 2 * found.variance
        return found

    return wrong


def once_each(target):
    "Samples in which each row counts once, however often it was drawn."

    def wrong(self, n_estimators):
        for rows, counts in target(self, n_estimators):
            yield rows, np.minimum(counts, 1.0)

    return wrong


def other_way_round(target):
    "Stages in reverse order."
    return lambda self, X: list(target(self, X))[::-1]


def another_seed(target):
    "An estimator that draws other samples."

    def wrong(self, X, y, weight):
        target(self.set_params(random_state=self.random_state + 1), X, y, weight)
        return self

    return wrong


# The check, what is spoilt in the module of the check, and how.
MUTANTS = [
    ("variance", "closed_forms.feature_space_variance", spoiled),
    ("kernel-rbf", "closed_forms.RBFKernel.gram", spoiled),
    ("kernel-tanimoto", "closed_forms.TanimotoKernel.gram", spoiled),
    ("kernel-polynomial", "closed_forms.PolynomialKernel.diag", spoiled),
    ("kernel-diffusion", "closed_forms.graph_laplacian", spoiled),
    ("kernel-diffusion", "closed_forms.graph_laplacian", lopsided),
    ("gram-algebra", "closed_forms.normalize_gram", spoiled),
    ("alignment", "closed_forms.alignment", spoiled),
    ("pivoted-cholesky", "closed_forms.pivoted_cholesky", spoiled),
    ("loss", "closed_forms.feature_space_losses", spoiled),
    ("loss-outputs", "closed_forms.output_kernel_loss", spoiled),
    ("predicted-gram", "closed_forms.predicted_gram", spoiled),
    ("predicted-gram", "closed_forms.predicted_gram", lambda f: lambda *a: f(*a).T),
    ("decoding", "closed_forms.decode_weights", spoiled),
    ("decoding", "closed_forms.decode_weights", last_among_equals),
    ("decoding", "closed_forms.decode_weights", exact_ties_only),
    ("decoding-support", "closed_forms.decode_weights", spoiled),
    ("decoding-support", "closed_forms.decode_weights", last_among_equals),
    ("objects-strings", "closed_forms.SpectrumKernel.gram", spoiled),
    ("objects-strings", "closed_forms.SubsequenceKernel.gram", spoiled),
    ("objects-rankings", "closed_forms.KendallKernel.gram", spoiled),
    ("objects-rankings", "closed_forms.MallowsKernel.gram", spoiled),
    ("objects-counts", "closed_forms.IntersectionKernel.gram", spoiled),
    ("objects-counts", "closed_forms.JaccardKernel.gram", spoiled),
    ("objects-counts", "closed_forms.ChiSquaredKernel.gram", spoiled),
    ("objects-graphs", "closed_forms.WeisfeilerLehmanKernel.list_features", None),
    ("similarity", "closed_forms.make_psd", spoiled),
    ("similarity", "closed_forms.SimilarityKernel.gram", spoiled),
    ("predictor", "closed_forms._Given.losses", spoiled),
    ("predictor", "closed_forms._Given.score", spoiled),
    ("predictor", "closed_forms._Given.rank", None),
    ("predictor", "closed_forms.feature_space_r2", lambda f: lambda a, b, w: f(a, b)),
    ("accuracies", "closed_forms.decoding_accuracy", spoiled),
    ("accuracies", "closed_forms.top_k_decoding_accuracy", spoiled),
    ("accuracies", "closed_forms._Given.score", spoiled),
    ("ridge-weights", "closed_forms.ridge_weights", spoiled),
    ("ridge-loo", "closed_forms.leave_one_out_losses", spoiled),
    ("ridge-loo", "closed_forms.leave_one_out_losses", of_many),
    ("ridge-operator", "closed_forms.RKHSFunction.__call__", spoiled),
    ("ridge-minimum", "closed_forms.ridge_weights", spoiled),
    ("reproducing", "closed_forms.RKHSFunction.inner", spoiled),
    ("reproducing", "closed_forms.RKHSFunction.__add__", None),
    ("reproducing", "closed_forms.RKHSFunction.__mul__", None),
    ("reproducing", "closed_forms.times_identity", lambda f: lambda k, n: f("rbf", n)),
    ("kde", "closed_forms.KernelDependencyEstimation.weights", spoiled),
    ("areas", "closed_forms.curve_areas", spoiled),
    ("threshold", "closed_forms.choose_threshold", spoiled),
    ("mcc", "closed_forms.mean_mcc", spoiled),
    ("dirac", "closed_forms.DiracKernel.gram", spoiled),
    ("vertical-mean", "closed_forms.vertical_roc", None),
    ("semi-supervised", "networks.SmoothedSpectrum.weights", spoiled),
    ("semi-supervised", "networks.SmoothedSpectrum.dual", spoiled),
    ("semi-supervised-none", "networks.OutputKernelRidge.weights", spoiled),
    ("semi-supervised-holdout", "networks.SmoothedSpectrum.weights", spoiled),
    ("label-propagation", "networks.label_propagation", None),
    ("link-propagation", "networks.link_propagation", None),
    ("link-propagation", "networks.link_propagation", early),
    ("multi-task", "networks.decomposable_dual", spoiled),
    ("bipartite-ridge", "networks.BipartiteRidge.fit", heavier),
    ("bipartite-ridge", "networks.BipartiteRidge._column_values", spoiled),
    ("bipartite-choice", "networks.BipartiteRidgeCV._choose_ridge", dearest_cells),
    ("bipartite-choice", "networks.BipartiteRidgeCV._choose_ridge", by_rows),
    ("link-operators", "networks.leave_one_out_ridges", None),
    ("link-operators", "networks.leave_one_out_squares", spoiled),
    ("link-operators", "networks.ridge_by_column", spoiled),
    ("covariance-ridge", "networks.covariance_dual", spoiled),
    ("ridge-choice", "networks.OutputKernelRidgeCV._choose_ridge", dearest),
    ("covariance-choice", "networks.covariance_cv_losses", negated),
    ("covariance-choice", "networks.CovarianceRidgeCV._choose_penalties", None),
    ("semi-choice", "networks.smoothed_cv_losses", negated),
    ("semi-choice", "networks.search_penalties", spoiled),
    ("smoothers", "networks.graph_smoothers", None),
    ("smoothers", "networks.diffusion_factor", spoiled),
    ("folds", "networks.NodeFold.scores", spoiled),
    ("folds", "networks.NodeFold.pairs", lambda f: lambda fold, S: f(fold, S)[::-1]),
    ("folds", "networks.PairFold.scores", spoiled),
    ("link-similarity", "networks.LinkPredictor.score_pairs", spoiled),
    ("link-similarity", "networks.NodeFold.scores", None),
    ("grid-areas", "networks.grid_areas", None),
    ("network-inputs", "networks.WeightedRBFKernel.gram", spoiled),
    ("network-inputs", "networks.knn_graph", None),
    ("network-inputs", "networks.round_scores", lambda f: lambda scores: scores),
    ("canonical", "networks.canonical_directions", None),
    ("canonical", "networks.canonical_directions", spoiled),
    ("short-links", "networks.short_link_directions", None),
    ("short-links", "networks.short_link_directions", spoiled),
    ("completion", "networks.em_projection", spoiled),
    ("completion", "networks.completed_form", spoiled),
    ("augmented-decoding", "networks.loss_augmented_decode", None),
    ("cutting-planes", "networks.restricted_dual", None),
    ("cutting-planes", "networks.cutting_plane", spoiled),
    ("structured-svm", "networks.structured_svm", spoiled),
    ("split-score", "trees.split_score", spoiled),
    ("tree-best-splits", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-linear", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-random", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-dirac", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-randomized", "trees.RandomizedTreeClassifier.fit", None),
    (
        "tree-randomized",
        "trees.RandomizedTreeClassifier.feature_importances_",
        spoiled_property,
    ),
    ("tree-pruning", "trees.OutputKernelTree", lambda _: dearer),
    ("tree-pruning", "trees.OutputKernelTree", lambda _: just_cheaper),
    ("pruning-path", "trees.OutputKernelTree.cost_complexity_pruning_path", None),
    ("pessimistic", "trees.pessimistic_errors", spoiled),
    ("pessimistic", "trees.pessimistic_errors", smaller_square),
    ("tree-c45", "trees.RandomizedTreeClassifier", lambda _: surer),
    ("tree-importance", "trees.impurity_decreases", spoiled),
    (
        "tree-importance",
        "trees.OutputKernelRandomForest.feature_importances_",
        spoiled_property,
    ),
    ("tree-paths", "trees.OutputKernelExtraTrees.decision_path", backwards),
    ("tree-lookup", "trees.OutputKernelRandomForest.contributions", spoiled),
    ("tree-lookup", "trees.OutputKernelTree.decode", shifted),
    ("tree-lookup", "trees.node_prototypes", reversed_list),
    ("forest", "trees.OutputKernelRandomForest.predict", spoiled),
    ("forest", "trees.OutputKernelExtraTrees.fit", weightless),
    ("forest", "trees.OutputKernelRandomForest.fit", weightless),
    ("forest-samples", "trees.OutputKernelRandomForest.fit", weightless),
    ("forest-oob", "trees.out_of_bag_weights", in_bag),
    ("forest-oob", "trees.OutputKernelRandomForest._score_out_of_bag", flattered),
    ("forest-weights", "trees.OutputKernelExtraTrees.predict_gram", spoiled),
    ("knn", "trees.OutputKernelKNN.weights", spoiled),
    ("kernel-boosting", "trees.OutputKernelBoosting.predict", spoiled),
    ("boosting-stages", "trees.OutputKernelBoosting.staged_weights", half_steps),
    ("boosting-stages", "trees.OutputKernelBoosting.staged_loss", spoiled),
    ("forest-kernel", "votes.ForestKernel.gram", spoiled),
    ("forest-kernel", "votes.ForestKernel._gram", half_filled),
    ("forest-kernel", "votes.ForestKernel._gram", sixteen_trees),
    ("forest-ancestors", "votes.ForestKernel._gram", half_filled),
    ("forest-ancestors", "votes.ForestKernel.transform", spoiled),
    ("forest-kernel-oob", "votes.ForestKernel.gram", spoiled),
    ("forest-kernel-oob", "votes.oob_accuracies", spoiled),
    ("centred-kernel", "votes.CentredForestKernel.gram", spoiled),
    ("kernel-measures", "votes.kernel_polarization", spoiled),
    ("kernel-measures", "votes.mean_direction", spoiled),
    ("kernel-measures", "votes.feature_space_measure", spoiled),
    ("forest-hyperplane", "votes.vote_hyperplane", spoiled),
    ("separability", "votes.separability_bound", spoiled),
    ("stump", "votes.best_stump", None),
    ("adaboost", "votes.boost_step", spoiled),
    ("votes", "votes.vote_shares", spoiled),
    ("diversity", "votes.kappa_error", spoiled),
    ("diversity-identity", "votes.vote_margins", spoiled),
    ("margin-bound-boosting", "votes.boosting_margin_bound", spoiled),
    ("largest-margin", "votes.max_margin_weights", spoiled),
    ("margin-bound", "votes.margin_bound", None),
    ("vote-alignment", "votes.vote_alignment", spoiled),
    ("vote-alignment", "votes.c_bound", spoiled),
    ("vote-alignment", "votes.vote_moments", second_spoilt),
    ("bias-variance", "votes.bias_variance", undivided),
    ("bias-variance", "votes.bias_variance", spoiled),
    ("bagging", "votes.Bagging.votes", spoiled),
    ("bagging", "votes.margins", spoiled),
    ("bagging-samples", "votes.Bagging._samples", once_each),
    ("adaboost-samples", "votes.AdaBoost.staged_predict", other_way_round),
    ("adaboost-samples", "votes.AdaBoost.fit", another_seed),
    ("adaboost-samples", "votes.margins", spoiled),
    ("pairs-values", "certificates.PairProblem.margins", spoiled),
    ("pairs-correlations", "certificates.pair_correlations", spoiled),
    ("pairs-correlations", "certificates.pair_correlations", lambda _: refuse),
    ("mkl-newton", "certificates.solve_newton", too_sure),
    ("mkl-newton", "certificates.solve_newton", warning),
    ("mkl-newton", "certificates.solve_newton", stopping),
    ("mkl-others", "certificates.solve_cvxpy", too_sure),
    ("mkl-stochastic", "certificates.solve_stochastic", too_sure),
    ("mkl-stochastic", "certificates.solve_stochastic", warning),
    ("mkl-norms", "certificates.solve_norm", too_sure),
    ("mkl-norms", "certificates.solve_norm", stopping),
    ("mkl-norms", "certificates.PowerRegularizer.conjugate", None),
    ("mkl-norms", "certificates.GroupRegularizer.norms", spoiled),
    ("mkl-checker", "certificates.check_certificate", lenient),
    ("mkl-path", "certificates.mkl_path", too_sure),
    ("mkl-path", "certificates.mkl_path", warning),
    ("mkl-path", "certificates.check_path", spoiled),
    ("mkl-combiner", "certificates.KernelCombiner.fit", None),
    ("mkl-lam-max", "certificates.lam_max", None),
    ("mkl-smoothed", "certificates.smoothed_dual", spoiled),
    ("mkl-smoothed", "certificates.evaluate_many", last_spoilt),
    ("mkl-gap", "certificates.duality_gap", spoiled),
    ("mkl-gap", "certificates.optimality_conditions", spoiled),
    ("mkl-large", "certificates.mkl_path", too_sure),
    ("mkl-large", "certificates.mkl_path", warning),
    ("mkl-large", "certificates.check_path", spoiled),
    ("mkl-semidefinite", "certificates.machine_value", spoiled),
    ("mkl-semidefinite", "certificates.learn_gram", None),
    ("mkl-semidefinite", "certificates.learn_gram_weights", None),
    ("nonnegative", "certificates.nonnegative_quadratic", spoiled),
    ("nonnegative-units", "certificates.nonnegative_quadratic", spoiled),
    ("alignment-weights", "certificates.target_alignment", spoiled),
    ("alignment-weights", "certificates.alignment_weights", None),
    ("standardize", "certificates.standardize_gram", spoiled),
    ("linear-svm", "certificates.linear_svm", spoiled),
    ("linear-svm", "certificates.linear_svm", warning),
    ("linear-svm-exact", "certificates.linear_svm", None),
    ("intercept", "certificates.best_intercept", spoiled),
    ("separable", "certificates.separating_hyperplane", None),
    ("margin-regression", "certificates.margin_objectives", spoiled),
    ("margin-regression", "certificates.margin_objectives", None),
    ("margin-weights", "certificates.MaximumMarginRegression.weights", spoiled),
    ("pairwise-svm", "certificates.pairwise_svm", None),
    ("pairwise-svm", "certificates.pairwise_svm", warning),
    ("local-svm", "certificates.local_svms", None),
    ("pickle", "estimators._answers", every_other),
    ("pickle", "estimators.LinkPredictorCV.__getstate__", None),
    ("refit", "estimators._answers", every_other),
    ("threads", "estimators._answers", every_other),
    ("threads", "estimators._fit", None),
    ("threads-mkl", "estimators._fit", otherwise),
    ("frames", "estimators._answers", nameless),
    ("queries", "estimators._answers", every_other),
    ("queries", "estimators.StructuredSVM.weights", None),
    ("layout", "estimators._answers", every_other),
    ("precision", "estimators._answers", every_other),
    ("columns", "estimators._answers", every_other),
    ("rows", "estimators._answers", every_other),
    ("repetitions", "estimators._fit", plain),
    ("monotone", "estimators._answers", every_other),
    ("gram-or-kernel", "estimators._same", None),
    ("sample-weights", "estimators._fit", plain),
]


def first_cut(target):
    "A stump on the first feature, in the middle."

    def wrong(examples, weight, by):
        stump = target(examples, weight, by)
        return stump._replace(feature=0, threshold=float(np.median(examples.X[0])))

    return wrong


def shallow(target):
    "A tree that looks at one feature of each node, and is shallow."

    def wrong(self, X, y, weight):
        return target(self.set_params(max_depth=1, max_features=1), X, y, weight)

    return wrong


def unlinked(target):
    "A path without its last cut but one."

    def wrong(*args):
        path = target(*args)
        kept = np.arange(len(path.ccp_alphas)) != len(path.ccp_alphas) - 2
        return Bunch(**{name: part[kept] for name, part in path.items()})

    return wrong


def gap_twice(target):
    "The bug of version 0.1.0: the gap is divided by the objective twice."

    def wrong(self, X, y):
        self.set_params(max_iter=1 if self.solver == "sgd" else None)
        target(self, X, y)
        self.gap_ = 0.1 * self.gap_
        self.objective_ *= 1.001
        return self

    return wrong


def first_rounds(target):
    "The counts of all rounds but the last."

    def wrong(self, y):
        counts = target(self, y)
        return {key: n for key, n in counts.items() if key[0] < max(1, self.n_iter)}

    return wrong


def from_the_left(target):
    "The mean of curves just before each rate, where a vertical one is low."

    def wrong(curves, grid):
        return grid, *target(curves, np.maximum(np.nextafter(grid, -1.0), 0.0))[1:]

    return wrong


def dearest_pair(target):
    "The choice of ridge and shrinkage of the largest loss."

    def wrong(self, K):
        target(self, K)
        i, j = np.unravel_index(self.cv_losses_.argmax(), self.cv_losses_.shape)
        lams = sorted(self.lam_grid, reverse=True)
        chosen = {"lam": lams[i], "shrinkage": self.shrinkage_grid[j]}
        self.best_params_ = chosen
        return tuple(chosen.values())

    return wrong


def twice_as_long(target):
    "Smoothers for twice the time."

    def wrong(graph, smoother, betas):
        return target(graph, smoother, [2.0 * beta for beta in betas])

    return wrong


def exact_looking(target):
    "A machine whose primal value leaves out what rounding adds to its slacks."

    def wrong(*args, **kwargs):
        found = target(*args, **kwargs)
        found.primal = found.dual
        return found

    return wrong


def raised(target):
    "A learnt matrix, or weights, with a value that is too high."

    def wrong(*args, **kwargs):
        found = target(*args, **kwargs)
        for name in found.keys() & {"K", "mu"}:
            found[name] = 1.01 * found[name]
        return found

    return wrong


def jointly(target):
    "Weights that are learnt jointly, whatever was asked for."
    return lambda kernels, y, method: target(kernels, y)


def steep(target):
    "The dual value with another factor in the place of 0.5."

    def wrong(Q, alpha, C):
        return target(Q, alpha, C)[0], float(alpha.sum() - 50.0 * alpha @ Q @ alpha)

    return wrong


def forgetful(target):
    "A pickle without the threshold."

    def wrong(self):
        return target(self) | {"threshold_": 0.0}

    return wrong


def torn(target):
    "A forest that loses its last tree where the trees are shared among threads."

    def wrong(name, X, y, weight=None, **params):
        size = next(key for key in params if key.endswith("n_estimators"))
        if params["n_jobs"] == 2 and params[size] > 16 and len(X) > 64:
            params = params | {size: params[size] - 1}
        return target(name, X, y, weight, **params)

    return wrong


def by_number(target):
    "Weights that depend on how many queries there are."
    return lambda self, X: target(self, X) * (1.0 + 0.001 * len(X))


OTHERS = {
    "closed_forms.SpectrumKernel.list_features": without_repetitions,
    "closed_forms.WeisfeilerLehmanKernel.list_features": first_rounds,
    "closed_forms._Given.rank": second_spoilt,
    "closed_forms.RKHSFunction.__add__": lambda target: lambda a, b: target(a, a),
    "closed_forms.RKHSFunction.__mul__": lambda target: lambda a, b: target(a, 1.0),
    "vertical-mean": from_the_left,
    "networks.knn_graph": lambda target: lambda X, k: target(X, max(1, k - 1)),
    "networks.CovarianceRidgeCV._choose_penalties": dearest_pair,
    "networks.graph_smoothers": twice_as_long,
    "label-propagation": lambda target: lambda W, at, mu: target(W, at, 2.0 * mu),
    "networks.link_propagation": lambda target: (
        lambda W, A, at, mu, *rest: target(W, A, at, 2.0 * mu, *rest)
    ),
    "networks.leave_one_out_ridges": lambda target: (
        lambda K, V, ridges, nu: target(K, V, ridges)
    ),
    "networks.NodeFold.scores": lambda target: (
        lambda fold, E, beta, similarity: target(fold, E, beta)
    ),
    "grid-areas": second_spoilt,
    "augmented-decoding": lambda target: lambda F, K, truth: target(-F, K, truth),
    "networks.restricted_dual": lambda target: (
        lambda H, b, C: np.full(len(b), C / len(b))
    ),
    "canonical": second_spoilt,
    "short-links": second_spoilt,
    "tree-randomized": shallow,
    "stump": first_cut,
    "margin-bound": lambda target: lambda *args: 0.999 * target(*args),
    "pruning-path": unlinked,
    "mkl-combiner": gap_twice,
    "certificates.PowerRegularizer.conjugate": lambda target: (
        lambda *args: (lambda value, mu: (0.9 * value, mu))(*target(*args))
    ),
    "mkl-lam-max": lambda target: lambda *args: 0.8 * target(*args),
    "separable": lambda target: lambda X, y: spoil(target(X, y)),
    "pairwise-svm": lambda target: (
        lambda *a, **k: (lambda found: (0.5 * found[0], *found[1:]))(target(*a, **k))
    ),
    "local-svm": lambda target: (
        lambda *a, **k: (lambda found: (0.5 * found[0], found[1]))(target(*a, **k))
    ),
    "certificates.learn_gram": raised,
    "certificates.learn_gram_weights": raised,
    "certificates.alignment_weights": jointly,
    "linear-svm-exact": exact_looking,
    "margin-regression": steep,
    "estimators.LinkPredictorCV.__getstate__": forgetful,
    "threads": torn,
    "queries": by_number,
    "gram-or-kernel": lambda target: (
        lambda a, b, tolerance: target([spoil(x) for x in a], b, tolerance)
    ),
}


def plant(monkeypatch, name, path=None, how=None):
    """Plant a bug of a check, by default its first one; the path is that of the module
    where the check stands."""
    if path is None:
        path, how = next((path, how) for check, path, how in MUTANTS if check == name)
    how = how or OTHERS.get(path) or OTHERS[name]
    module, *steps, last = path.split(".")
    owner = importlib.import_module(f"claims.{module}")
    for step in steps:
        owner = getattr(owner, step)
    monkeypatch.setattr(owner, last, how(getattr(owner, last)))


def test_every_claim_has_a_fault():
    assert {name for name, *_ in MUTANTS} == CLAIMS.keys()


@pytest.mark.parametrize("name, path, how", MUTANTS)
def test_a_planted_fault_is_found(monkeypatch, name, path, how):
    plant(monkeypatch, name, path, how)
    with pytest.raises(Exception) as found:
        attack(CLAIMS[name], examples=400, shrinking=False)
    assert any(name in note for note in found.value.__notes__)


@pytest.mark.parametrize(
    "name, part, entries",
    [
        ("variance", "Phi", 2),
        ("ridge-loo", "X", 4),
        ("tree-pruning", "X", 8),
        ("votes", "H", 4),
        ("predicted-gram", "W", 2),
        ("mcc", "truth", 2),
    ],
)
def test_the_counterexample_is_small(monkeypatch, name, part, entries):
    plant(monkeypatch, name)
    with pytest.raises(AssertionError) as found:
        attack(CLAIMS[name])
    notes = found.value.__notes__
    shown = next(note for note in notes if note.startswith(f"{part} = "))
    assert eval(shown.partition(" = ")[2], {"array": np.array}).size <= entries


def test_the_spoilt_trees_are_trees():
    model = partial(one_feature)().fit([[0.0], [1.0]], [0.0, 1.0])
    pruned = dearer().fit([[0.0], [1.0]], [0.0, 1.0])
    assert model.tree_.node_count == pruned.tree_.node_count
