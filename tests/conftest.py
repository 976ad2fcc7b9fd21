"""What all tests share: no download, and data that must be there when it is required.

A test that asks for a dataset has the mark `needs_data`, so that a second pass, with
the data, runs those only. A test with the mark `sweep` does the same with each page of
the book, or each notebook, at some seconds each; ``--share 2/6`` runs every sixth,
from the second on.

In `package` and `labs`, and beside this file, are the tests of ``make test``, which
need no data, no built book and no browser; in `book` are those of ``make test-book``.
"""

import os
import re
import sys
from pathlib import Path

import pytest

# What several files use lies beside this one (toy_lab, importable also by the workers
# that a test starts), and what the book's use in test_browser.
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "book")]

os.environ.setdefault("OKBOOK_OFFLINE", "1")
os.environ.setdefault("MPLBACKEND", "agg")


def asks_for_data(item):
    """Whether a test does something else where the data is: by our fixture, by its
    own means, or as an example."""
    if isinstance(item, pytest.DoctestItem):
        return "available(" in item.dtest.docstring
    return (
        "require_dataset" in item.fixturenames
        or "DatasetNotFound" in item.function.__code__.co_names
    )


def share(items, given):
    "Of a list every N-th, from the K-th on, where 'K/N' is given."
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", given)
    if not found or int(found[1]) > int(found[2]):
        raise pytest.UsageError(f"--share must be K/N with 1 <= K <= N: got {given}")
    return items[int(found[1]) - 1 :: int(found[2])]


def pytest_addoption(parser):
    told = "of the tests with the mark sweep, every N-th, from the K-th on"
    parser.addoption("--share", default="1/1", metavar="K/N", help=told)
    told = "scikit-learn's checks of all configurations, not of one for each class"
    parser.addoption("--all-checks", action="store_true", help=told)


def pytest_configure(config):
    import contract

    contract.ALL = config.getoption("--all-checks")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if asks_for_data(item):
            item.add_marker("needs_data")

    sweep = [item for item in items if item.get_closest_marker("sweep")]
    kept = set(share(sweep, config.getoption("--share")))
    left_out = [item for item in sweep if item not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="session")
def dask_scheduler():
    "The address of a Dask cluster of two worker processes on this machine."
    distributed = pytest.importorskip("distributed")
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def require_dataset():
    """Skip without a dataset, or fail: with OKBOOK_REQUIRE_DATA=1 absent data is an
    error, and damaged data always."""
    from okbook.datasets import DatasetNotFound, check

    def require(*names):
        try:
            for name in names:
                check(name, download=False)
        except DatasetNotFound as error:
            if os.environ.get("OKBOOK_REQUIRE_DATA", "") not in ("", "0"):
                raise
            pytest.skip(str(error))

    return require
