"""scikit-learn's own checks of estimators, with the first configuration of each class
only: what differs between configurations has tests of its own. With ``--all-checks``,
as in ``make test-book``, all configurations are checked.

This module is imported before pytest sets its warnings, and scikit-learn only later.
"""

import unittest

import pytest

ALL = False  # set by tests/conftest.py


def one_of_each(estimators):
    """The first estimator of each class, and the first classifier where a class has
    both: scikit-learn asks other things of it."""
    from sklearn.base import is_classifier

    found = {}
    for estimator in estimators:
        found.setdefault((type(estimator), is_classifier(estimator)), estimator)
    return list(found.values())


def parametrize_with_checks(estimators, expected_failed_checks=lambda estimator: {}):
    """That of scikit-learn, for fewer estimators and with the mark `contract`: one test
    for each, which calls the decorated function with all checks, and lists what failed
    unexpectedly, and what was expected to fail and passes."""
    from sklearn.utils.estimator_checks import estimator_checks_generator

    estimators = list(estimators)
    chosen = estimators if ALL else one_of_each(estimators)

    def decorate(function):
        def test(estimator):
            expected, failed = expected_failed_checks(estimator), []
            for model, check in estimator_checks_generator(estimator, legacy=True):
                name = check.func.__name__
                try:
                    function(model, check)
                except (unittest.SkipTest, pytest.skip.Exception):
                    pass
                except Exception as error:
                    if name not in expected:
                        failed.append(f"{name}: {type(error).__name__}: {error}")
                else:
                    if name in expected:
                        failed.append(f"{name}: expected to fail, and passes")
            assert not failed, "\n".join(failed)

        test.__name__, test.__module__ = function.__name__, function.__module__
        marked = pytest.mark.parametrize("estimator", chosen, ids=repr)(test)
        return pytest.mark.contract(marked)

    return decorate
