"""Computing as other machines would: settings that take effect, failures that are
reported, limits that are wide."""

import dataclasses
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import toy_lab
import yaml
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.utils import Bunch

from okbook import tables
from okbook_book import (
    elsewhere,
    elsewhere_inside,
    elsewhere_moved,
    execute,
    project,
)

SETTINGS = elsewhere.settings()
X86 = pytest.mark.skipif(
    3 not in SETTINGS, reason="the settings of processors are those of x86-64"
)


def answer(setting, code, out):
    "What a Python process prints under a setting, as JSON."
    command = [sys.executable, "-W", "error", "-c", code]
    environment = setting.full(out) | {"OKBOOK_OFFLINE": "1"}
    return json.loads(
        subprocess.run(command, env=environment, check=True, capture_output=True).stdout
    )


WHERE = """
import json, numba, numpy, scipy.linalg, threadpoolctl
from numba.core.codegen import JITCPUCodegen
pools = [pool for pool in threadpoolctl.threadpool_info() if "architecture" in pool]
blas = [(pool["architecture"], pool["num_threads"]) for pool in pools]
simd = numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
cpu = numba.core.registry.cpu_target.target_context.codegen()._tm_features
made = numba.config
found = [made.CPU_NAME, made.CACHE_DIR, made.NUMBA_NUM_THREADS]
print(json.dumps([blas, simd, *found, cpu]))
"""


@X86
def test_an_old_processor(tmp_path):
    """OpenBLAS, NumPy and LLVM do as they are told; NumPy refuses, and says so, what
    it cannot switch off."""
    blas, simd, cpu, cache, _, features = answer(SETTINGS[3], WHERE, tmp_path)
    assert blas and all(one == ["Nehalem", 1] for one in blas)
    assert simd == [] and cpu == "generic" and Path(cache) == tmp_path / "numba"
    assert "+fma" not in features and "+avx" not in features


@X86
def test_other_settings_take_effect(tmp_path):
    assert {kernel for kernel, _ in answer(SETTINGS[2], WHERE, tmp_path)[0]} == {
        "Haswell"
    }
    blas, _, cpu, _, threads, _ = answer(SETTINGS[4], WHERE, tmp_path)
    expected = min(2, os.cpu_count())
    assert {n for _, n in blas} == {expected} and threads == 2 and cpu is None


def test_a_setting_takes_nothing_over_from_another(tmp_path, monkeypatch):
    for setting in SETTINGS.values():
        assert setting.environment.keys() <= elsewhere.CHANGED | {"OMP_NUM_THREADS"}
        for name, value in setting.environment.items():
            monkeypatch.setenv(name, value)
    native = SETTINGS[1].full(tmp_path)
    assert not elsewhere.CHANGED & native.keys()
    assert native["OMP_NUM_THREADS"] == "1"


def test_numbers_move_by_one_unit_in_the_last_place():
    rng = np.random.Generator(np.random.PCG64(0))
    for dtype in (np.float32, np.float64):
        x = rng.standard_normal(1000).astype(dtype)
        y = elsewhere_moved.moved(x)
        assert (
            y.dtype == dtype
            and set(np.unique((y - x) / np.spacing(x))) <= {-1, -0.5, 0.5, 1}
            and (y != x).all()
        )
        assert 400 < (y > x).sum() < 600
    codes = rng.integers(0, 4, 1000).astype(float)
    again = elsewhere_moved.moved(codes)
    assert (
        len(np.unique(again)) == 4
        and (again[codes == 0] == 0).all()
        and (again[codes > 0] != codes[codes > 0]).all()
    )
    assert_array_equal(
        np.argsort(again, kind="stable"), np.argsort(codes, kind="stable")
    )


def test_what_is_moved_keeps_its_form():
    labels, matrix = np.array([1, 0, 2]), sparse.csr_array(np.eye(3))
    found = elsewhere_moved.moved(
        Bunch(
            data=np.array([0.1, np.nan]),
            target=labels,
            names=["a"],
            more=(0.5, 3, matrix),
        )
    )
    assert type(found) is Bunch and found.data[0] != 0.1 and np.isnan(found.data[1])
    assert found.target is labels and found.names == ["a"]
    half, three, moved = found.more
    assert (
        half != 0.5
        and three == 3
        and (moved.data != 1).all()
        and (matrix.data == 1).all()
    )
    data = np.ones((2, 3))
    table = elsewhere_moved.moved(
        Bunch(data=data, feature_names=["a", "b", "c"], categories={"b": ["x", "y"]})
    ).data
    assert_array_equal(table == data, [[False, True, False]] * 2)
    again = elsewhere_moved.moved(np.array([[1, 0.3], [0.3, 1]], order="F"))
    assert_array_equal(again, again.T)


def test_a_moved_generator_is_one():
    ours, theirs = (
        elsewhere_moved.default_rng(7),
        np.random.Generator(np.random.PCG64(7)),
    )
    a, b = ours.normal(size=50), theirs.normal(size=50)
    assert (
        (a != b).all()
        and np.allclose(a, b, rtol=1e-15)
        and isinstance(ours, np.random.Generator)
    )
    assert_array_equal(ours.permutation(20), theirs.permutation(20))
    copy = pickle.loads(pickle.dumps(ours))
    assert type(copy) is type(ours) and copy.random() == ours.random()
    (child,) = ours.spawn(1)
    assert type(child) is type(ours) and elsewhere_moved.default_rng(ours) is ours


MOVED = """
import json
import numpy as np
from sklearn.datasets import load_digits, make_moons
from okbook.datasets import check, load_digits_halves, load_uci
X, y = load_digits(return_X_y=True)
halves = load_digits_halves().data
print(json.dumps([
    np.unique(X).tolist(), np.unique(y).tolist(),
    make_moons(4, random_state=0)[0].tolist(), np.unique(halves).tolist(),
    load_uci("wdbc").data[0, 0], check("digits")["all"],
    np.random.default_rng(0).random(),
]))
"""


def test_inputs_are_moved_where_they_come_from(tmp_path):
    "Datasets are moved once, after they were compared with the registry."
    before = answer(elsewhere.Setting("native"), MOVED, tmp_path)
    after = answer(SETTINGS[5], MOVED, tmp_path)
    assert after[1] == before[1] and after[5] == before[5] == fingerprint_of_digits()
    for old, new in zip(
        before[:1] + before[2:5] + before[6:],
        after[:1] + after[2:5] + after[6:],
        strict=True,
    ):
        old, new = np.array(old), np.array(new)
        moved = old != 0
        assert ((new != old) == moved).all() and np.allclose(
            new, old, rtol=3e-16, atol=0
        )


def fingerprint_of_digits():
    from okbook.datasets import check

    return check("digits")["all"]


SOURCES = [
    "import os\nx = 1",
    "# a comment\nassert x == 2, 'one is not two'",
    "1 / 0",
    "print(os.environ['OKBOOK_DATA'])",
]


@pytest.fixture
def toy_notebooks(monkeypatch, tmp_path):
    "The book is one notebook: its second cell fails, its third is expected to."
    cells = [nbformat.v4.new_code_cell(source) for source in SOURCES]
    cells[2].metadata.tags = ["raises-exception"]
    good = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("6 * 7")])
    book = {
        tmp_path / "01_good.ipynb": good,
        tmp_path / "02_bad.ipynb": nbformat.v4.new_notebook(cells=cells),
    }
    monkeypatch.setattr(execute, "prepared", lambda: (book, 60))
    monkeypatch.setenv("OKBOOK_DATA", "nowhere")
    return [cell.id for cell in cells]


def test_a_cell_that_fails_is_reported(toy_notebooks, tmp_path, capsys):
    elsewhere_inside.main("notebooks", str(tmp_path / "native-notebooks.json"))
    found = {
        r["where"]: r
        for r in json.loads((tmp_path / "native-notebooks.json").read_text())
    }
    bad = found.pop(f"02_bad, cell 1 ({toy_notebooks[1]}): # a comment")
    assert bad["status"] == "failed"
    assert (
        bad["said"]
        == "assert x == 2, 'one is not two' -> AssertionError: one is not two"
    )
    assert (
        found.keys() == {"01_good"}
        and found["01_good"]["status"] == "passed"
        and found["01_good"]["seconds"] > 0
    )
    last = nbformat.read(
        tmp_path / "native-notebooks" / "02_bad.ipynb", as_version=4
    ).cells[-1]
    assert last.outputs[0].text == "nowhere\n"  # past the failure
    assert elsewhere.report({("native", "notebooks"): [bad]}) == 1
    assert (
        "notebooks under native: 0 passed, 1 failed"
        in (said := capsys.readouterr().out)
        and "one is not two" in said
    )


def test_a_cell_that_takes_too_long_is_reported(toy_notebooks, monkeypatch, tmp_path):
    endless = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import time; time.sleep(600)")]
    )
    monkeypatch.setattr(
        execute, "prepared", lambda: ({tmp_path / "endless.ipynb": endless}, 1)
    )
    ((cell, whole),) = elsewhere_inside.notebooks(["end*"], tmp_path)
    assert (
        cell["status"] == whole["status"] == "failed"
        and whole["said"] == "a cell took longer than it may"
    )
    assert (
        cell["where"].startswith("endless, cell 0")
        and "KeyboardInterrupt" in cell["said"]
    )


def test_the_cells_of_a_slice(tmp_path, monkeypatch):
    folder = tmp_path / "toy-means"
    tables.run(toy_lab.TABLE, folder, progress=False)
    key = toy_lab.TABLE.slice[0]
    status, said = elsewhere_inside.slice_cell(toy_lab.TABLE, key, folder)
    assert status == "passed" and re.fullmatch(r"stored (\S+), now \1", said)
    monkeypatch.setattr(
        toy_lab.np.random,
        "default_rng",
        lambda seed: np.random.Generator(np.random.PCG64(1)),
    )
    status, said = elsewhere_inside.slice_cell(toy_lab.TABLE, key, folder)
    assert status == "failed" and re.fullmatch(r"stored 0\.\d+, now 0\.\d+", said)


def absent(row, column, repeat, seed):
    from okbook.datasets import read_part

    return read_part("usps", "train")["data"][0, 0]


def broken(row, column, repeat, seed):
    raise ValueError("broken")


@pytest.mark.parametrize(
    "compute, status, said",
    [(absent, "no data", ""), (broken, "failed", "ValueError: broken")],
)
def test_a_cell_without_data_and_one_that_breaks(
    compute, status, said, tmp_path, monkeypatch
):
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tables.run(toy_lab.TABLE, tmp_path / "toy-means", progress=False)
    table = dataclasses.replace(toy_lab.TABLE, compute=compute)
    found = elsewhere_inside.slice_cell(table, table.slice[0], tmp_path / "toy-means")
    assert found[0] == status and said in found[1]


TESTS = """
import os

def test_a():
    assert os.environ["NUMBA_NUM_THREADS"] == "2"

def test_b():
    assert 1 + 1 == 3

def test_c():
    import pytest
    pytest.skip("no")
"""


@pytest.mark.parametrize(
    "source, broken", [(TESTS, "test_b"), ("import no_such_module\n", "")]
)
def test_a_test_that_fails_is_reported(source, broken, tmp_path):
    "A file that cannot be read is a failure, too."
    path = tmp_path / "test_some.py"
    path.write_text(source)
    results = elsewhere.run(
        SETTINGS[4], "tests", [str(path), "-n0", "-p", "no:cacheprovider"], tmp_path
    )
    (bad,) = (r for r in results if r["status"] == "failed")
    assert bad["where"].endswith(f"::{broken}" if broken else "test_some")
    assert ("1 + 1" if broken else "collection") in bad["said"]
    assert [
        r["where"].rpartition("::")[2] for r in results if r["status"] == "passed"
    ] == ["test_a"] * bool(broken)


def test_nothing_to_run_is_no_success(tmp_path):
    options = [
        "--settings",
        "1",
        "--parts",
        "notebooks",
        "--notebooks",
        "nothing-*",
        "--out",
        str(tmp_path),
    ]
    with pytest.raises(SystemExit, match=r"no notebooks that match nothing-\*"):
        elsewhere.main(options)


@pytest.mark.parametrize(
    "status, code, last", [("passed", 0, "All agree."), ("failed", 1, "2 failed")]
)
def test_what_a_shell_sees(status, code, last, monkeypatch, capsys):
    "Notebooks are run without data, slices with it."
    asked = []

    def run(setting, part, chosen, out, data):
        asked.append((setting.name, part, chosen, data))
        return [{"where": part, "status": status, "said": "", "seconds": 1}]

    monkeypatch.setattr(elsewhere, "run", run)
    assert (
        elsewhere.main(
            "--settings 1 --parts slices notebooks --notebooks 05* 51*".split()
        )
        == code
    )
    assert asked == [
        ("native", "slices", [], True),
        ("native", "notebooks", ["05*", "51*"], False),
    ]
    assert capsys.readouterr().out.strip().splitlines()[-1] == last


def test_pages_are_compared_with_data(monkeypatch, tmp_path):
    "Where there is a folder of data, and by the other part of a process."
    monkeypatch.delenv("OKBOOK_DATA", raising=False)
    assert 8 not in elsewhere.settings()
    monkeypatch.setenv("OKBOOK_DATA", "here")
    started, done = [], [{"where": "a", "status": "passed", "said": "", "seconds": 1}]

    def run(command, cwd, env):
        started.append((command[3], env["OKBOOK_DATA"]))
        Path(command[4]).write_text(json.dumps(done))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(elsewhere.subprocess, "run", run)
    options = ["--parts", "slices", "notebooks", "--out", str(tmp_path)]
    assert elsewhere.main(["--settings", "1", "8", *options]) == 0
    assert started == [
        *[("slices", "here"), ("notebooks", "")],
        *[("slices", "here"), ("texts", "here")],
    ]


def test_the_table_of_settings():
    a, b = (
        {"where": "t: a|b", "status": "passed", "said": ""},
        {"where": "c", "status": "no data", "said": ""},
    )
    bad = a | {"status": "failed", "said": "stored 1, now 2"}
    assert elsewhere.table({"native": [a, b], "old": [bad]}).splitlines() == [
        "| | native | old |",
        "|:--|:--|:--|",
        r"| t: a\|b | agrees | **differs**: stored 1, now 2 |",
        "| c | no data | – |",
    ]


# A machine four times slower runs into no limit


def test_cells_have_time():
    "By what the book's build has measured."
    found = execute.cached()
    if not found:
        if os.environ.get("OKBOOK_REQUIRE_BOOK"):
            pytest.fail("there is no executed notebook")
        pytest.skip("the book is not built from these sources")
    timeout = project.book()["execute"]["timeout"]
    slowest, name = max(
        (max(seconds, default=0), path.stem) for path, (_, seconds) in found.items()
    )
    assert slowest > 0 and 4 * slowest < timeout, (
        f"a cell of {name} took {slowest:.0f} s, and is allowed {timeout} s"
    )


def test_workflows_have_time():
    "Four times an hour: what each of them does fits into one."
    for path in (project.ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            assert job["timeout-minutes"] >= 4 * 60, path.name


def test_threads_do_not_wait_for_one_another(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = [execute.workers({"OMP_NUM_THREADS": n}) for n in ("", "1", "2", "8")]
    assert found == [2, 2, 1, 1]
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert execute.workers({}) == 4
