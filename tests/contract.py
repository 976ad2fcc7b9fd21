"""scikit-learn's own checks of estimators, with the first configuration of each class
only: what differs between configurations has tests of its own. With ``--all-checks``,
as in ``make test-book``, all configurations are checked.

This module is imported before pytest sets its warnings, and scikit-learn only later.
"""

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


def parametrize_with_checks(estimators, **options):
    "That of scikit-learn, for fewer estimators, and with the mark `contract`."
    from sklearn.utils import estimator_checks

    estimators = list(estimators)
    chosen = estimators if ALL else one_of_each(estimators)
    checked = estimator_checks.parametrize_with_checks(chosen, **options)
    return lambda function: pytest.mark.contract(checked(function))
