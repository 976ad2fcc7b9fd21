"""Errors, warnings and output are what a user of scikit-learn expects."""

import ast
import inspect
import logging

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import okbook
from okbook.core import Kernel
from okbook_book.project import ROOT

MODULES = [
    path
    for path in sorted((ROOT / "okbook").rglob("*.py"))
    if "labs" not in path.parts and path.name not in ("cli.py", "__main__.py")
]
X = np.random.default_rng(0).standard_normal((8, 3))


def estimators():
    "Those that can be made without arguments, and are fitted before they are used."
    for name in sorted(okbook._HOMES):
        made = getattr(okbook, name)
        needed = inspect.signature(made).parameters.values()
        whole = all(p.default is not p.empty or p.kind > 1 for p in needed)
        if issubclass(made, BaseEstimator) and not issubclass(made, Kernel) and whole:
            yield made


USES = (
    "predict predict_proba predict_gram decision_function transform weights decode "
    "loss losses score score_pairs predict_graph apply decision_path embed"
).split()


@pytest.mark.parametrize("made", list(estimators()), ids=lambda made: made.__name__)
def test_what_is_not_fitted_says_so(made):
    asked = 0
    for use in USES:
        method = getattr(made(), use, None)
        if method is None:
            continue
        wanted = inspect.signature(method).parameters.values()
        given = [p for p in wanted if p.default is p.empty and p.kind < 2]
        with pytest.raises(NotFittedError, match="not fitted"):
            method(*(X if p.name.startswith("X") else X[:, 0] for p in given))
        asked += 1
    assert asked


def calls(path, name):
    "The calls of a function in a module, with what encloses each."
    tree = ast.parse(path.read_text())
    above = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
            around, inside = [], node
            while inside := above.get(inside):
                around.append(inside)
            yield node, around


def test_nothing_is_printed_unasked():
    "Only where the caller wants it: verbose, progress, and show_versions."
    for path in MODULES:
        for node, around in calls(path, "print"):
            tests = [ast.unparse(a.test) for a in around if isinstance(a, ast.If)]
            names = [a.name for a in around if isinstance(a, ast.FunctionDef)]
            asked = any("verbose" in test for test in tests) or "show_versions" in names
            assert asked, f"{path.name}, line {node.lineno}"


def test_warnings_point_at_the_caller():
    "A warning names its category or is a UserWarning, and says how far up to look."
    seen = 0
    for path in MODULES:
        for node, _ in calls(path, "warnings.warn"):
            given = {word.arg for word in node.keywords}
            assert "stacklevel" in given, f"{path.name}, line {node.lineno}"
            seen += 1
    assert seen > 10


def test_what_stops_short_is_a_convergence_warning():
    stopped = ("did not converge", "stopped after", "stopped at", "max_iter")
    for path in MODULES:
        for node, _ in calls(path, "warnings.warn"):
            text = ast.unparse(node)
            if any(word in text for word in stopped):
                assert "ConvergenceWarning" in text, f"{path.name}, line {node.lineno}"


def test_fits_are_silent_and_logs_are_the_libraries_own(capsys, caplog):
    for level in (logging.WARNING, logging.DEBUG):  # first, numba may compile
        caplog.set_level(level)
        okbook.OutputKernelExtraTrees(n_estimators=2).fit(X, X).predict(X)
        okbook.OutputKernelRidgeCV().fit(X, X).predict(X)
    assert capsys.readouterr() == ("", "")
    assert {record.name.partition(".")[0] for record in caplog.records} <= {"okbook"}
