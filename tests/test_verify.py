"""The fuzz that judges everything else: a planted bug is found, and found small.

`okbook verify` attempts to refute the claims of the book. Here bugs are planted into
what it judges, one for each check, and each check must notice its own within a few
cases. A check that cannot fail fails here.
"""

import importlib
import inspect
import itertools
import pkgutil
import re
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

import okbook
from okbook import verify
from okbook.cli import main
from okbook.core import Kernel
from okbook.tables import TableError
from okbook.trees import OutputKernelTree
from okbook.verify import (
    Check,
    PassedOver,
    Tie,
    attempt,
    case_rng,
    compare,
    find_checks,
    judge_problem,
    n_ties,
    read_run,
    run_checks,
    shrink,
    store_run,
)
from okbook.verify.certificates import beyond
from okbook.verify.estimators import _ALL as ESTIMATORS_OF
from okbook_book.equations import equation_index

CHECKS = {check.name: check for check in find_checks()}


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


# The check, what is spoilt in the module of the check, and how.
MUTANTS = [
    ("variance", "closed_forms.feature_space_variance", spoiled),
    ("kernel-rbf", "closed_forms.RBFKernel.gram", spoiled),
    ("kernel-tanimoto", "closed_forms.TanimotoKernel.gram", spoiled),
    ("kernel-polynomial", "closed_forms.PolynomialKernel.diag", spoiled),
    ("kernel-diffusion", "closed_forms.graph_laplacian", spoiled),
    ("gram-algebra", "closed_forms.normalize_gram", spoiled),
    ("alignment", "closed_forms.alignment", spoiled),
    ("pivoted-cholesky", "closed_forms.pivoted_cholesky", spoiled),
    ("loss", "closed_forms.feature_space_losses", spoiled),
    ("loss-outputs", "closed_forms.output_kernel_loss", spoiled),
    ("predicted-gram", "closed_forms.predicted_gram", spoiled),
    ("decoding", "closed_forms.decode_weights", spoiled),
    ("decoding-support", "closed_forms.decode_weights", spoiled),
    ("ridge-weights", "closed_forms.ridge_weights", spoiled),
    ("ridge-loo", "closed_forms.leave_one_out_losses", spoiled),
    ("ridge-operator", "closed_forms.RKHSFunction.__call__", spoiled),
    ("ridge-minimum", "closed_forms.ridge_weights", spoiled),
    ("reproducing", "closed_forms.RKHSFunction.inner", spoiled),
    ("kde", "closed_forms.KernelDependencyEstimation.weights", spoiled),
    ("semi-supervised", "closed_forms.SmoothedSpectrum.weights", spoiled),
    ("semi-supervised-none", "closed_forms.OutputKernelRidge.weights", spoiled),
    ("semi-supervised-holdout", "closed_forms.SmoothedSpectrum.weights", spoiled),
    ("multi-task", "closed_forms.decomposable_dual", spoiled),
    ("covariance-ridge", "closed_forms.covariance_dual", spoiled),
    ("areas", "closed_forms.curve_areas", spoiled),
    ("threshold", "closed_forms.choose_threshold", spoiled),
    ("mcc", "closed_forms.mean_mcc", spoiled),
    ("dirac", "closed_forms.DiracKernel.gram", spoiled),
    ("canonical", "closed_forms.canonical_directions", None),
    ("short-links", "closed_forms.short_link_directions", None),
    ("split-score", "trees.split_score", spoiled),
    ("tree-best-splits", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-linear", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-random", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-dirac", "trees.OutputKernelTree", lambda _: one_feature),
    ("tree-randomized", "trees.RandomizedTreeClassifier.fit", None),
    ("tree-pruning", "trees.OutputKernelTree", lambda _: dearer),
    ("tree-importance", "trees.impurity_decreases", spoiled),
    ("forest", "trees.OutputKernelRandomForest.predict", spoiled),
    ("forest-weights", "trees.OutputKernelExtraTrees.predict_gram", spoiled),
    ("forest-kernel", "trees.ForestKernel.gram", spoiled),
    ("forest-hyperplane", "trees.vote_hyperplane", spoiled),
    ("separability", "trees.separability_bound", spoiled),
    ("knn", "trees.OutputKernelKNN.weights", spoiled),
    ("kernel-boosting", "trees.OutputKernelBoosting.predict", spoiled),
    ("stump", "trees.best_stump", None),
    ("adaboost", "trees.boost_step", spoiled),
    ("votes", "trees.vote_shares", spoiled),
    ("diversity", "trees.kappa_error", spoiled),
    ("diversity-identity", "trees.vote_margins", spoiled),
    ("margin-bound-boosting", "trees.boosting_margin_bound", spoiled),
    ("largest-margin", "trees.max_margin_weights", spoiled),
    ("margin-bound", "trees.margin_bound", None),
    ("pessimistic", "trees.pessimistic_errors", spoiled),
    ("bagging", "trees.vote_shares", None),
    ("pairs-values", "certificates.PairProblem.margins", spoiled),
    ("pairs-correlations", "certificates.pair_correlations", spoiled),
    ("pairs-correlations", "certificates.pair_correlations", lambda _: refuse),
    ("mkl-newton", "certificates.solve_newton", too_sure),
    ("mkl-newton", "certificates.solve_newton", warning),
    ("mkl-newton", "certificates.solve_newton", stopping),
    ("mkl-others", "certificates.solve_cvxpy", too_sure),
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


def second_spoilt(target):
    def wrong(*args, **kwargs):
        first, *rest = target(*args, **kwargs)
        return (first, *(spoil(part) for part in rest))

    return wrong


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


def gap_twice(target):
    "The bug of version 0.1.0: the gap is divided by the objective twice."

    def wrong(self, X, y):
        self.set_params(max_iter=1 if self.solver == "sgd" else None)
        target(self, X, y)
        self.gap_ = 0.1 * self.gap_
        self.objective_ *= 1.001
        return self

    return wrong


def surer(target):
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
    "canonical": second_spoilt,
    "short-links": second_spoilt,
    "tree-randomized": shallow,
    "stump": first_cut,
    "margin-bound": lambda target: lambda *args: 0.999 * target(*args),
    "bagging": lambda _: None,
    "mkl-combiner": gap_twice,
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
    "linear-svm-exact": surer,
    "margin-regression": steep,
    "estimators.LinkPredictorCV.__getstate__": forgetful,
    "threads": torn,
    "queries": by_number,
    "gram-or-kernel": lambda target: (
        lambda a, b, tolerance: target([spoil(x) for x in a], b, tolerance)
    ),
}


def plant(monkeypatch, name, path=None, how=None):
    """Plant a bug of a check, the first of the list if no path is given; the path is
    that of the module where the check stands."""
    if path is None:
        path, how = next((path, how) for check, path, how in MUTANTS if check == name)
    if name == "bagging":
        path, how = "trees.Bagging.votes", spoiled
    owner = verify
    *steps, last = path.split(".")
    for step in steps:
        owner = getattr(owner, step)
    how = how or OTHERS.get(path, OTHERS.get(name))
    monkeypatch.setattr(owner, last, how(getattr(owner, last)))


def test_every_check_has_a_mutant():
    assert {name for name, *_ in MUTANTS} == CHECKS.keys()


@pytest.mark.parametrize("name, path, how", MUTANTS)
def test_a_planted_bug_is_found(monkeypatch, name, path, how):
    "Within sixty cases, and without it the same cases agree."
    plant(monkeypatch, name, path, how)
    found = (attempt(CHECKS[name], 0, case, shrinking=False) for case in range(60))
    assert any(counterexample for _, counterexample in found), name


@pytest.mark.parametrize("name", CHECKS)
def test_a_few_cases_of_each(name):
    kinds = [attempt(CHECKS[name], 1, case)[0].kind for case in range(3)]
    assert "disagrees" not in kinds


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
    check = CHECKS[name]
    found = (attempt(check, 0, case)[1] for case in range(60))
    counterexample = next(filter(None, found))
    assert counterexample.problem[part].size <= entries
    assert judge_problem(check, counterexample.problem).kind == "disagrees"
    text = str(counterexample)
    again = re.search(r"again: okbook (.*)", text)[1].split()
    assert f"{name} DISAGREES" in text and f"{part} = array(" in text
    assert main(again) == 1


# The checks of certificates and of estimators


@pytest.mark.parametrize(
    "excess, by",
    [(-1.0, 0.0), (2.0, 2.0), ([-1.0, 3.0, 0.5], 3.0), (np.nan, np.nan)],
)
def test_what_is_not_a_number_is_beyond_every_bound(excess, by):
    "``max(0.0, nan)`` is 0, with which a comparison would agree."
    found = beyond(excess)
    np.testing.assert_equal(found, by)
    assert (compare(found, 0.0, 1e-9, 1.0).error > 0) == (not by <= 0)
    np.testing.assert_equal(beyond([by, np.nan]), np.nan)


def test_every_public_estimator_is_registered():
    "Kernels are no estimators, and those of a lab are its own."
    found = set()
    for module in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if module.name.startswith(("okbook.labs", "okbook.verify")):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            public = inspect.isclass(value) and not name.startswith("_")
            if public and value.__module__.startswith("okbook."):
                if issubclass(value, BaseEstimator) and not issubclass(value, Kernel):
                    found.add(value)
    assert len(found) > 30
    registered = {type(estimator) for estimator in ESTIMATORS_OF.values()}
    assert {kind for kind in registered if not issubclass(kind, Kernel)} == found


# The machinery


def test_names_are_unique_and_tolerances_are_stated():
    checks = find_checks()
    assert len({check.name for check in checks}) == len(checks) > 60
    for check in checks:
        assert check.claim and check.oracle and check.tolerance
        assert not {letter for letters in check.axes.values() for letter in letters} & {
            " "
        }


def test_equations_of_the_sources_that_nothing_doubts():
    "What is left out is a definition, or is doubted under another number."
    doubted = set()
    for check in find_checks():
        for kind, key, numbers in re.findall(
            r"(eq|thm)-(ok3|rrsn|votes|forest|mkl)-(\d+(?:, \d+)*)", check.claim
        ):
            doubted |= {f"{kind}-{key}-{n}" for n in numbers.split(", ")}
    assert doubted <= equation_index().keys()
    loss = {f"eq-ok3-{n}" for n in (1, 2)}  # the expected loss, not computed
    assert equation_index().keys() - doubted == loss


def test_a_case_is_the_same_every_time():
    for check in find_checks():
        one, two = (check.draw(case_rng(check, 5, 3)) for _ in "ab")
        other = check.draw(case_rng(check, 6, 3))
        assert one.keys() == two.keys()
        assert repr(one) == repr(two)
        assert repr(one) != repr(other) or not any(
            isinstance(v, np.ndarray) and v.size > 2 for v in one.values()
        )


def toy(judge, axes=None, refusals=()):
    def draw(rng):
        return {"x": rng.normal(size=5)}

    return Check(
        "toy", "a claim", "an oracle", "none", draw, judge, axes or {}, refusals
    )


def fail(error):
    def judge(x):
        raise error

    return judge


@pytest.mark.parametrize(
    "judge, kind",
    [
        (lambda x: compare(x, x, 0.0), "agrees"),
        (lambda x: compare(x, 1.1 * x, 1e-5), "disagrees"),
        (lambda x: compare(x[:-1], x, 1e-5), "disagrees"),
        (lambda x: compare(np.nan * x, x, 1e-5), "disagrees"),
        (lambda x: compare(x, np.nan * x, 1e-5), "disagrees"),
        (lambda x: compare(np.inf, np.inf, 0.0), "agrees"),
        (lambda x: compare(np.inf, -np.inf, 1e-5), "disagrees"),
        (lambda x: compare(x, 1.1 * x, 1.0), "passed over"),
        (lambda x: compare(x, 1.1 * x, np.nan), "passed over"),
        (fail(Tie("two")), "tie"),
        (fail(PassedOver("nothing")), "passed over"),
        (fail(ValueError("foreseen: 3")), "refused"),
        (fail(KeyError("foreseen: 3")), "disagrees"),
        (fail(ValueError("something else")), "disagrees"),
        (fail(RecursionError()), "disagrees"),
        (lambda x: (x.sort(), compare(0, 0, 0))[1], "disagrees"),
        (lambda x: [compare(0, 0, 0), compare(0, 1, 0.5e-4)], "disagrees"),
    ],
)
def test_outcomes(judge, kind):
    check = toy(judge, refusals=("foreseen",))
    assert judge_problem(check, {"x": np.array([3.0, 1.0, 2.0])}).kind == kind


def test_shrinking_keeps_the_kind_of_failure():
    "It does not wander from a wrong number to an error of a degenerate problem."

    def judge(x):
        return compare(x.max() / x.max(), 1.0 + (x.max() > 2), 1e-9)

    with np.errstate(all="ignore"):
        found = shrink(toy(judge, {"x": "n"}), {"x": np.array([0.1, 2.71828, 1.0])})
    assert found["x"].tolist() == [3.0]


def test_shrinking_removes_along_shared_axes():
    def judge(x, K):
        return compare(K.trace(), 0.0 if (K.diagonal() > 1).any() else K.trace(), 1e-9)

    problem = {"x": np.arange(4.0), "K": np.diag([0.5, 7.3, 0.2, 0.1])}
    found = shrink(toy(judge, {"x": "n", "K": "nn"}), problem)
    assert found["x"].shape == (1,) and found["K"].shape == (1, 1)
    assert found["K"][0, 0] == 7.0


def test_a_run_tries_everything_once_and_stops_what_has_failed():
    right, wrong = toy(lambda x: compare(0, 0, 0)), toy(lambda x: compare(0, 1, 0))
    records = run_checks([right, wrong], seconds=0.2)
    assert records[0].cases > 10 and records[1].cases == 1
    assert records[1].counterexample and not records[0].counterexample
    assert [r.cases for r in run_checks([right, right], seconds=0.0)] == [1, 1]


def test_time_is_shared():
    def slow(x):
        sum(range(100_000))
        return compare(0, 0, 0)

    fast, slow = run_checks([toy(lambda x: compare(0, 0, 0)), toy(slow)], seconds=0.5)
    assert fast.cases > slow.cases > 1
    assert 0.2 < slow.seconds / (fast.seconds + slow.seconds) < 0.8


def test_an_interrupted_run_keeps_what_it_has():
    calls = itertools.count()

    def judge(x):
        if next(calls) > 5:
            raise KeyboardInterrupt
        return compare(0, 0, 0)

    assert run_checks([toy(judge)], seconds=60)[0].cases == 6


def test_ties_are_counted_by_name():
    record = run_checks([toy(fail(Tie("two; equal cuts")))], seconds=0.05)[0]
    assert record.ties["two; equal cuts"] == record.cases


# The command and the stored run


def test_the_command(capsys):
    assert (
        main(["verify", "--seconds", "0", "--only", "kernel-[rptd]*", "--seed", "3"])
        == 0
    )
    seen = capsys.readouterr()
    assert "kernel-rbf" in seen.out and "4 attempts, 0 disagreements" in seen.out
    assert "verify" in seen.err or "%" in seen.err
    assert main(["verify", "--only", "variance", "--case", "7"]) == 0
    seen = capsys.readouterr().out
    assert seen.startswith("variance: agrees") and "Phi = array(" in seen
    assert main(["verify", "--only", "nothing"]) == 1
    assert "okbook: no check has the name 'nothing'" in capsys.readouterr().err
    assert main(["verify", "--seed", "-1"]) == 1
    assert "must not be negative" in capsys.readouterr().err


def test_a_disagreement_is_exit_status_one(monkeypatch, capsys):
    plant(monkeypatch, "variance")
    command = ["verify", "--only", "variance", "--seconds", "1", "--quiet"]
    assert main(command) == 1
    seen = capsys.readouterr().out
    assert "1 disagreements" in seen and "again: okbook verify --only variance" in seen


def test_store_and_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables" / "verify").mkdir(parents=True)
    command = ["verify", "--only", "mu*", "--seconds", "0", "--store", "--quiet"]
    assert main(command) == 0
    record, rows = read_run()
    assert record["seed"] == 0 and [row["check"] for row in rows][0] == "multi-task"
    path = tmp_path / "tables" / "verify" / "run.csv"
    path.write_text(path.read_text().replace("multi-task", "multi task"))
    with pytest.raises(TableError, match="not the rows"):
        read_run()
    with pytest.raises(TableError, match="no stored run"):
        read_run(tmp_path)
    assert store_run([], 0.0, 1, tmp_path / "deep" / "er").is_dir()


def test_the_stored_run():
    "All checks of today, each tried, and none that has only refused; no disagreement."
    _, rows = read_run()
    stored = {row["check"]: row for row in rows}
    assert stored.keys() == CHECKS.keys(), "make verify"
    for name, row in stored.items():
        assert not row["disagrees"]
        empty = int(row["refused"]) + int(row["passed_over"]) + n_ties(row)
        assert int(row["cases"]) > empty, name
        assert (row["claim"], row["oracle"]) == (
            CHECKS[name].claim,
            CHECKS[name].oracle,
        )


def test_the_mutant_trees_are_trees():
    model = partial(one_feature)().fit([[0.0], [1.0]], [0.0, 1.0])
    assert (
        model.tree_.node_count
        == dearer().fit([[0.0], [1.0]], [0.0, 1.0]).tree_.node_count
    )
