"""Tables: the same cells however they are computed, none lost, none mixed, and the
stored ones still true."""

import ast
import builtins
import contextlib
import csv
import errno
import functools
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_lab

from okbook import tables
from okbook.tables import Key, Table, read_cells, run

ROOT = Path(__file__).parents[1]
TOY, SLOW = toy_lab.TABLE, toy_lab.SLOW


def values(cells):
    return {key: value for key, (value, _) in cells.items()}


@pytest.fixture(scope="module")
def expected():
    "The oracle: the function itself, called in a loop."
    return {key: toy_lab.sample_mean(*key, TOY.seed_of(key)) for key in TOY.keys()}


def test_key_and_seed_are_stable():
    assert (
        TOY.seed_of(Key("uniform", "10", 0)) == 2462229816
    )  # written down: it must not change between versions
    assert TOY.keys()[:2] == [("uniform", "10", 0), ("uniform", "10", 1)]
    assert (
        len(
            {
                table.seed_of(key)
                for table in (TOY, SLOW, replace(TOY, seed=1))
                for key in TOY.keys()
            }
        )
        == 60
    )


@pytest.mark.parametrize("wrong", ["a\nb", "", 3])
def test_names_must_be_printable(wrong):
    with pytest.raises(ValueError, match="must be printable strings, got"):
        replace(TOY, rows=[wrong])


def test_keys_must_belong_to_the_table(tmp_path):
    with pytest.raises(
        ValueError, match="table 'toy-means' has no cell uniform, 11, repeat 0"
    ):
        run(TOY, tmp_path, keys=[("uniform", "11", 0)])
    with pytest.raises(ValueError, match="has no cell"):
        replace(TOY, slice=[("uniform", "10", 5)])


def test_names_that_need_quotes(tmp_path):
    table = replace(TOY, rows=['a "b", c | d', "été"], slice=[])
    assert (
        set(run(table, tmp_path, progress=False))
        == set(table.keys())
        == set(read_cells(tmp_path))
    )
    assert r"a \"b\", c \| d".replace('\\"', '"') in tables.show(table, tmp_path)


@pytest.mark.parametrize(
    "how", [{}, {"n_jobs": 2}, {"n_jobs": 2, "backend": "threading"}], ids=str
)
def test_same_cells_however_computed(tmp_path, expected, how):
    cells = run(TOY, tmp_path, progress=False, **how)
    assert values(cells) == values(read_cells(tmp_path)) == expected
    assert list(cells) == TOY.keys()  # the file is in the order of the table


def test_order_of_computation_does_not_matter(tmp_path, expected):
    keys = random.Random(0).sample(TOY.keys(), 20)
    run(TOY, tmp_path, progress=False, keys=keys[:7])
    assert values(run(TOY, tmp_path, progress=False, keys=keys[5:])) == expected


def test_dask_cluster(tmp_path, expected, dask_scheduler):
    assert (
        values(
            run(TOY, tmp_path, progress=False, backend="dask", scheduler=dask_scheduler)
        )
        == expected
    )
    assert values(read_cells(tmp_path)) == expected


def test_dask_worker_with_other_code(tmp_path, dask_scheduler, monkeypatch):
    monkeypatch.setattr(
        tables.code, "_fingerprint", lambda program, value: "0" * 16
    )  # in this process only
    with pytest.raises(
        tables.TableMixed,
        match="worker tcp.*has code .* for table 'toy-means', here it is",
    ):
        run(TOY, tmp_path, progress=False, scheduler=dask_scheduler)


def test_dask_without_a_cluster(tmp_path):
    with pytest.raises(tables.TableError, match="no Dask scheduler"):
        run(TOY, tmp_path, progress=False, backend="dask")


def test_progress_and_nothing_left_to_do(tmp_path, capsys):
    run(TOY, tmp_path)
    assert "toy-means: 100%" in capsys.readouterr().err
    before = {name: (tmp_path / name).read_bytes() for name in ("ours.csv", "run.json")}
    run(TOY, tmp_path)
    assert before == {name: (tmp_path / name).read_bytes() for name in before}


# A run that is killed


THREE = replace(
    TOY, rows=["uniform"], columns=["10"], repeats=3, slice=[("uniform", "10", 0)]
)


def test_torn_at_any_byte(tmp_path, expected, monkeypatch):
    """Whatever a killed run has left of a line that it did not commit: the committed
    cells stay, the rest is computed."""
    monkeypatch.setattr(
        os, "fsync", lambda fd: None
    )  # slow, and power does not fail here
    ours, record, states = tmp_path / "ours.csv", tmp_path / "run.json", []
    replace_file = tables.cells._replace

    def note(path, content):
        replace_file(path, content)
        if path == record:
            states.append(content)

    monkeypatch.setattr(tables.cells, "_replace", note)
    run(THREE, tmp_path, progress=False)
    whole = ours.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for count, state in enumerate(
        states[:4]
    ):  # as the run began, and after each of three cells
        record.write_bytes(state)
        for cut in range(ends[count] if count else 0, len(whole) + 1):
            ours.write_bytes(whole[:cut])
            assert list(read_cells(tmp_path)) == THREE.keys()[:count]
            if cut % 29 == 0:
                kept = tmp_path / f"{count} {cut}"
                shutil.copytree(
                    tmp_path,
                    kept,
                    ignore=lambda _, names: [n for n in names if n[0] in "0123"],
                )
                assert values(run(THREE, kept, progress=False)) == {
                    key: expected[key] for key in THREE.keys()
                }
                assert (kept / "ours.csv").read_bytes().count(b"\n") == 4
        for cut in range(ends[count]) if count else ():
            ours.write_bytes(whole[:cut])
            with pytest.raises(tables.TableDamaged, match=r"ours.csv, line \d"):
                read_cells(tmp_path)


def dies(table, folder, step):
    """Whether a process that runs a table is gone at its `step`-th step on the disk,
    before it or half-way through."""
    child = os.fork()
    if child == 0:
        steps = [0]

        def mortal(function):
            def wrapper(*args):
                steps[0] += 1
                if steps[0] == step:
                    os._exit(9)
                return function(*args)

            return wrapper

        try:
            os.fsync, os.replace = mortal(lambda fd: None), mortal(os.replace)
            run(table, folder, progress=False)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_killed_at_every_step(tmp_path, expected):
    """Each fsync and each rename of a run in turn is its last; the next run ends up
    with the same table."""
    for step in range(1, 100):
        folder = tmp_path / str(step)
        died = dies(THREE, folder, step)
        found = values(read_cells(folder))
        assert found.items() <= expected.items()
        assert values(run(THREE, folder, progress=False)) == {
            key: expected[key] for key in THREE.keys()
        }
        record = tables.read_run(folder)
        assert not record["open"] and list(read_cells(folder)) == THREE.keys()
        if not died:
            break
    assert 20 < step < 40


@contextlib.contextmanager
def running(folder, log, n_jobs):
    "A run of the slow table in a process group of its own, killed on leaving."
    code = (
        f"import toy_lab, okbook.tables as t; t.run(toy_lab.SLOW, "
        f"{str(folder)!r}, n_jobs={n_jobs}, progress=False)"
    )
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
    env = os.environ | {"PYTHONPATH": path, "TOY_LOG": str(log)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=env, start_new_session=True
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


KILLS = int(os.environ.get("OKBOOK_KILLS", "4"))


@pytest.mark.parametrize(("n_jobs", "kills"), [(1, 3), (2, 1)] * (KILLS // 4))
def test_killed_at_a_random_moment(tmp_path, n_jobs, kills):
    folder, log = tmp_path / "toy-slow", tmp_path / "log"
    stored, computed = {}, []
    for kill in range(kills):
        with running(folder, log, n_jobs) as process:
            while len(read_cells(folder)) < len(stored) + 4 and process.poll() is None:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.1))
        assert process.returncode == -signal.SIGKILL
        found = read_cells(
            folder
        )  # raises if a line is corrupt or a cell is there twice
        assert found.items() >= stored.items() and len(found) >= 4 * (kill + 1)
        computed = log.read_text().splitlines()
        lost = len(computed) - len(found)
        if n_jobs == 1:  # processes may finish many that the first one has not taken
            assert lost <= (kill + 1) * 2
        stored = found
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOY_LOG", str(log))
        final = run(SLOW, folder, progress=False)
    assert final.items() >= stored.items()
    assert values(final) == {
        key: toy_lab.sample_mean(*key, SLOW.seed_of(key)) for key in SLOW.keys()
    }
    assert len(log.read_text().splitlines()) == len(computed) + len(SLOW.keys()) - len(
        stored
    )
    assert len(tables.read_run(folder)["runs"]) == kills + 1


def test_a_failing_cell_is_named_and_the_others_are_kept(tmp_path):
    table = Table("toy-fail", ["1", "0"], ["2"], 1, compute=divide)
    with pytest.raises(
        tables.CellError,
        match=r"'toy-fail': cell \(0, 2, repeat 0\) failed: ZeroDivisionError",
    ):
        run(table, tmp_path, progress=False)
    assert values(read_cells(tmp_path)) == {("1", "2", 0): 2.0}


def divide(row, column, seed):
    return float(column) / float(row)


def volume(row, height, width, depth=3.0):
    return height * width * depth


def test_a_function_is_given_the_values_that_it_names():
    rows = {"low": {"height": 1.0, "colour": "red"}, "high": {"height": 2.0}}
    columns = {"narrow": {"width": 5.0}, "deep": {"width": 5.0, "depth": 7.0}}
    table = Table("toy-volume", rows, columns, 2, volume)
    assert table.arguments(("high", "deep", 1)) == {
        "row": "high",
        "height": 2.0,
        "width": 5.0,
        "depth": 7.0,
    }
    found = {key: tables.compute_cell(table, key)[1] for key in table.keys()}
    assert found["low", "narrow", 0] == 15.0 and found["high", "deep", 1] == 70.0
    assert list(found) == Table("toy-volume", [*rows], [*columns], 2, volume).keys()
    narrow = Table("toy-volume", rows, {"narrow": {}}, 1, volume)
    with pytest.raises(tables.CellError, match="missing 1 required .* 'width'"):
        tables.compute_cell(narrow, narrow.keys()[0])


@pytest.mark.parametrize("name", ["height", "seed", "repeat"])
def test_a_value_has_one_meaning(name):
    with pytest.raises(ValueError, match=f"one meaning, but '{name}' has two"):
        Table("toy-twice", {"low": {"height": 1.0}}, {"narrow": {name: 5.0}}, 1, volume)


def test_code_fingerprint_sees_the_values_of_rows_and_columns():
    rows, columns = {"low": {"height": 1.0}}, {"narrow": {"width": 5.0}}
    plain, one, same, other = (
        tables.code_fingerprint(Table("toy-volume", *names, 1, volume))
        for names in (
            [["low"], ["narrow"]],
            [rows, columns],
            [dict(rows), dict(columns)],
            [{"low": {"height": 2.0}}, columns],
        )
    )
    assert plain == tables.code_fingerprint(volume)
    assert len({plain, one, other}) == 3 and one == same


# Two runs at once


def test_second_run_is_turned_away(tmp_path):
    with running(tmp_path, tmp_path / "log", 1) as process:
        while not read_cells(tmp_path):
            assert process.poll() is None
            time.sleep(0.01)
        for options in ({}, {"fresh": True}, {"force": True}):
            with pytest.raises(tables.TableBusy, match="another run is at work on"):
                run(SLOW, tmp_path, progress=False, **options)
        assert process.wait() == 0  # unharmed
    assert list(read_cells(tmp_path)) == SLOW.keys()


# Stored cells of another seed, other data, other code


def double(row, column, repeat, seed):
    return 2 * toy_lab.sample_mean(row, column, repeat, seed)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"compute": double}, "code"),
        ({"datasets": ["digits"]}, "datasets"),
    ],
    ids=["seed", "code", "data"],
)
def test_cells_are_not_mixed(tmp_path, change, named):
    run(TOY, tmp_path, progress=False, keys=TOY.keys()[:7])
    other, before = replace(TOY, **change), (tmp_path / "ours.csv").read_bytes()
    with pytest.raises(
        tables.TableMixed,
        match=f"differ from this run in their {named}.*--fresh.*--force",
    ):
        run(other, tmp_path, progress=False)
    assert (tmp_path / "ours.csv").read_bytes() == before
    forced = run(other, tmp_path, progress=False, force=True, keys=TOY.keys()[:9])
    assert len(forced) == 9
    with pytest.raises(tables.TableMixed):  # once mixed, mixed
        run(other, tmp_path, progress=False)
    assert len(run(other, tmp_path, progress=False, fresh=True)) == 20
    assert [entry["cells"] for entry in tables.read_run(tmp_path)["runs"]] == [20]
    run(other, tmp_path, progress=False)


def test_some_cells_are_computed_afresh(tmp_path, expected):
    run(TOY, tmp_path, progress=False)
    some = [key for key in TOY.keys() if key.row == "beta"]
    with pytest.raises(tables.TableMixed, match="in their code"):
        run(replace(TOY, compute=double), tmp_path, progress=False, keys=some)
    cells = values(
        run(
            replace(TOY, compute=double),
            tmp_path,
            progress=False,
            keys=some,
            fresh=True,
            force=True,
        )
    )
    assert cells == {
        key: value * (1 + (key.row == "beta")) for key, value in expected.items()
    }
    assert list(cells) == TOY.keys() and [
        entry["cells"] for entry in tables.read_run(tmp_path)["runs"]
    ] == [20, 10]


def test_dropped_cells_stay_dropped_after_a_kill(tmp_path, expected, monkeypatch):
    run(TOY, tmp_path, progress=False)
    monkeypatch.setattr(
        tables.runs, "recording", None
    )  # it is killed when it begins to compute
    with pytest.raises(TypeError):
        run(TOY, tmp_path, progress=False, keys=TOY.keys()[3:5], fresh=True)
    assert len(read_cells(tmp_path)) == 18
    monkeypatch.undo()
    assert values(run(TOY, tmp_path, progress=False)) == expected


def test_missing_data_stops_a_run_before_it_drops_anything(tmp_path, monkeypatch):
    run(TOY, tmp_path, progress=False)
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path)
    with pytest.raises(FileNotFoundError, match="'usps'"):
        run(replace(TOY, datasets=["usps"]), tmp_path, progress=False, fresh=True)
    assert len(read_cells(tmp_path)) == 20


# The fingerprint of the code


LAB = """
import numpy as np
from functools import partial
from method import Ridge, grid, unused

ROWS = {"a": partial(grid, start=1)}
ROWS["b"] = None

def compute(row, column, repeat, seed):
    model = Ridge(penalty=0.1).fit(np.arange(3))
    return getattr(model, "shape")(ROWS[row]) + model.size
"""
METHOD = """
import numpy as np
import tools

class _Base:
    factor: float = 3.0

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, X):
        self.sum = tools.total(X)
        return self

    @property
    def size(self):
        return 4

    def never(self):
        return 5

class Ridge(_Base):
    def fit(self, X):
        for x in X:
            self.fit_one(x)
        return super().fit(X)

    def fit_one(self, x):
        "Fit one."
        assert x < 6 and f"{x + 7:.3f}"

    def shape(self, what):
        return [y + 8 for y in what]

class Other:
    def shape(self, what):
        return 9

def grid(stop, start=10):
    def step(x):
        return x - 11
    return step(stop - start) * LEVEL

def unused():
    return 12

LEVEL = 13
"""
TOOLS = """
from numba import njit

def total(X):
    return _loop(X, 14)

@njit(fastmath=False)
def _loop(X, scale):
    s = 15
    for x in X:
        s += x * scale
    return s
"""
MODULES = {"lab": LAB, "method": METHOD, "tools": TOOLS}


def fingerprint_of(modules):
    program = tables.code._Program(
        modules.keys(), lambda name: (modules[name], "") if name in modules else None
    )
    return tables.code._fingerprint(program, tables.code._Place("lab", "compute"))


def changed(module, old, new):
    assert old in MODULES[module], old
    return MODULES | {module: MODULES[module].replace(old, new)}


FINGERPRINT = fingerprint_of(MODULES)


def test_code_fingerprint_is_the_same_everywhere():
    """Written down: it depends on no version of Python, no machine and no order of
    imports."""
    assert FINGERPRINT == "5f807b1fbe7e6024"


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("lab", "+ model.size", "- model.size"),
        ("lab", "start=1)", "start=2)"),
        ("lab", 'ROWS["b"] = None', 'ROWS["a"] = None'),
        ("lab", "np.arange", "np.empty"),
        ("lab", "import numpy as np", "import cupy as np"),
        ("lab", '"shape"', '"size"'),
        ("method", "factor: float = 3.0", "factor: float = 3.5"),
        ("method", "penalty=1.0", "penalty=2.0"),
        ("method", "return 4", "return 5"),
        ("method", "x < 6", "x <= 6"),
        ("method", "x + 7", "x + 8"),
        ("method", ":.3f", ":.4f"),
        ("method", "y + 8", "y - 8"),
        ("method", "start=10", "start=11"),
        ("method", "x - 11", "x + 11"),
        ("method", "LEVEL = 13", "LEVEL = 14"),
        ("method", "return super().fit(X)", "return self"),
        ("method", "    @property\n", ""),
        ("method", "class Ridge(_Base)", "class Ridge(_Base, Mapping)"),
        ("tools", "14", "15"),
        ("tools", "s = 15", "s = 16"),
        ("tools", "s += x", "s -= x"),
        ("tools", "fastmath=False", "fastmath=True"),
        ("tools", "@njit(fastmath=False)\n", ""),
    ],
)
def test_code_fingerprint_sees(module, old, new):
    assert fingerprint_of(changed(module, old, new)) != FINGERPRINT


def moved():
    "`_loop` and `LEVEL` in another module, imported from there under other names."
    head, loop = TOOLS.split("@njit")
    return MODULES | {
        "tools": "from fast import _loop as loop\n" + head.replace("_loop", "loop"),
        "fast": "from numba import njit\nLEVEL = 13\n\n@njit" + loop,
        "method": METHOD.replace("LEVEL = 13", "from fast import *"),
    }


def merged():
    """One class instead of two (but for `fit`, which calls that of the base),
    methods on the other side."""
    one = METHOD.replace("class Ridge(_Base):\n", "class Ridge(_Fit):\n", 1)
    fit = re.search(
        r"    def fit\(self, X\):\n        self.sum.*?return self\n\n", METHOD, re.S
    )[0]
    rest = METHOD[METHOD.index("    factor") : METHOD.index("class Ridge")].replace(
        fit, ""
    )
    start, end = one.index("class _Base"), one.index("class Ridge")
    one = one[:start] + "class _Fit:\n" + fit + "\n" + one[end:]
    return MODULES | {
        "method": one.replace("class Ridge(_Fit):\n", "class Ridge(_Fit):\n" + rest)
    }


def reordered():
    "All definitions of all modules in the opposite order, imports first."
    texts = {}
    for name, text in MODULES.items():
        nodes = [
            n for n in ast.parse(text).body if not ast.unparse(n).startswith("ROWS")
        ]
        imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
        rest = [n for n in nodes if n not in imports][::-1]
        for node in rest:
            if isinstance(node, ast.ClassDef):
                node.body.reverse()
        rows = [n for n in ast.parse(text).body if ast.unparse(n).startswith("ROWS")]
        texts[name] = "\n".join(ast.unparse(n) for n in [*imports[::-1], *rows, *rest])
    return texts


LATE_IMPORT = LAB.replace("Ridge, ", "").replace(
    "    model =", "    from method import Ridge\n    model ="
)
SAME = {
    "moved": moved(),
    "merged": merged(),
    "reordered": reordered(),
    "docstring": changed(
        "method", '"Fit one."', '"""Fit one example.\n\n        At length.\n        """'
    ),
    "no docstring": changed("method", '        "Fit one."\n', ""),
    "annotations": changed(
        "method", "def fit_one(self, x):", "def fit_one(self, x: float) -> None:  # one"
    ),
    "a method not used": changed("method", "return 5", "return 6"),
    "a class not used": changed("method", "return 9", "return 10"),
    "a function not used": changed("method", "return 12", "return 13"),
    "a new class": changed(
        "method", "class Ridge", "class New:\n    def fit(self): pass\n\nclass Ridge"
    ),
    "import numpy": MODULES
    | {"lab": LAB.replace(" as np", "").replace("np.", "numpy.")},
    "from numpy": MODULES
    | {
        "lab": LAB.replace("import numpy as np", "from numpy import arange").replace(
            "np.", ""
        )
    },
    "import as": MODULES
    | {"lab": LAB.replace("import Ridge", "import Ridge as R").replace("Ridge(", "R(")},
    "import module": MODULES
    | {
        "lab": LAB.replace("from method import Ridge, grid, unused", "import method")
        .replace("Ridge(", "method.Ridge(")
        .replace("(grid", "(method.grid")
    },
    "import later": MODULES | {"lab": LATE_IMPORT},
    "renamed": {
        name: text.replace("Ridge", "Kernel").replace("grid", "steps")
        for name, text in MODULES.items()
    },
}


@pytest.mark.parametrize("modules", SAME.values(), ids=SAME)
def test_code_fingerprint_does_not_see(modules):
    assert modules != MODULES
    assert fingerprint_of(modules) == FINGERPRINT


def test_name_made_at_run_time_is_not_passed_over():
    modules = {
        "lab": "from made import f\ndef compute(): return f()",
        "made": "def __getattr__(name): return min",
    }
    with pytest.raises(
        tables.TableError,
        match="does not find made.f: it is made when the module is loaded",
    ):
        fingerprint_of(modules)


def test_two_functions_that_change_places_are_seen():
    "The bodies are the same, and the program is another one."
    one = {
        "lab": "from a import f\nfrom b import f as g\ndef compute(): return f() - g()",
        "a": "def f(): return 1",
        "b": "def f(): return 2",
    }
    assert fingerprint_of(one) != fingerprint_of(one | {"a": one["b"], "b": one["a"]})


def power(exponent):
    def compute(row, column, repeat, seed):
        return float(column) ** exponent

    return compute


def countdown():
    def compute(row, column, repeat, seed):
        return float(column) if repeat == 0 else compute(row, column, repeat - 1, seed)

    return compute


def test_code_fingerprint_of_partials_and_closures():
    fingerprint = tables.code_fingerprint
    assert fingerprint(power(2)) == fingerprint(power(2)) != fingerprint(power(3))
    assert fingerprint(functools.partial(divide, seed=1)) != fingerprint(
        functools.partial(divide, seed=2)
    )
    assert (
        fingerprint(functools.lru_cache(divide))
        == fingerprint(divide)
        != fingerprint(double)
    )
    assert fingerprint(min) != fingerprint(max)
    assert fingerprint(countdown()) == fingerprint(countdown())  # it refers to itself
    with pytest.raises(
        tables.TableError, match="the source of <lambda> cannot be read"
    ):
        fingerprint(eval("lambda row: 1", {"__name__": "__main__"}))


def test_code_fingerprint_follows_imports_of_the_package():
    "Here statically; the tables of the book are tried below."
    visited = tables.code._Walk(
        tables.code._Program({"okbook"}, tables.code._read_module),
        {"gram", "__call__"},
        set(),
    )
    visited.run(tables.code._Place("okbook.datasets", "check"))
    names = {place.name for place in visited.numbers}
    assert {"check", "REGISTRY", "fingerprint"} <= names and "load_uci" not in names


def test_code_fingerprint_leaves_out_what_stores_tables():
    "All of the package, which may be cut in another way, and nothing beside it."
    program = tables.code._Program({"okbook"}, tables.code._read_module)
    modules = ["okbook.tables", "okbook.tables.cells", "okbook.tables.code"]
    assert not any(program.ours(module) for module in modules)
    assert program.ours("okbook") and program.ours("okbook.tablespoon")
    assert not program.ours("okbooks")


def test_provenance_has_no_names_of_this_place(tmp_path):
    run(replace(TOY, datasets=["digits"]), tmp_path, progress=False)
    text = (tmp_path / "run.json").read_text()
    (entry,) = json.loads(text)["runs"]
    assert (
        entry["datasets"] == {"digits": {"all": "b465d8bafd939e73"}}
        and entry["cells"] == 20
    )
    assert (
        entry["machine"].keys() == {"cpus", "model"}
        and entry["versions"]["numpy"] == np.__version__
    )
    for place in (
        platform.node(),
        str(tmp_path),
        str(Path.home()),
        str(ROOT),
        os.environ.get("USER", "/"),
    ):
        assert place not in text


# Beside the paper


def test_compare(tmp_path, expected):
    (tmp_path / "paper.csv").write_text(
        "row,column,value,sd\nuniform,10,0.5,9\nbeta,10,0.5,\nonly,paper,1,2\n"
    )
    run(TOY, tmp_path, progress=False, keys=TOY.keys()[:-1])
    frame = tables.compare(TOY, tmp_path).set_index(["row", "column"])
    ours = [expected["uniform", "10", i] for i in range(5)]
    line = frame.loc["uniform", "10"]
    numbers = line[["paper", "paper_sd", "ours", "ours_sd", "difference"]].to_numpy(
        float
    )
    np.testing.assert_allclose(
        numbers,
        [0.5, 9, np.mean(ours), np.std(ours, ddof=1), np.mean(ours) - 0.5],
        rtol=1e-12,
        strict=True,
    )
    assert line["mark"] == "inside 1 sd"
    assert frame.loc["beta", "10"]["mark"] == "no sd printed"
    assert frame.loc["uniform", "1000"]["mark"] == "not printed"
    assert frame.loc["beta", "1000"]["mark"] == "4 of 5 run"
    assert frame.loc["only", "paper"]["mark"] == "not run"


def test_check_slice(tmp_path):
    with pytest.raises(tables.SliceMismatch, match="is not stored"):
        tables.check_slice(TOY, tmp_path)
    run(TOY, tmp_path, progress=False)
    assert len(tables.check_slice(TOY, tmp_path)) == 2
    with pytest.raises(tables.SliceMismatch, match="names no slice"):
        tables.check_slice(replace(TOY, slice=[]), tmp_path)
    with pytest.raises(
        tables.SliceMismatch, match=r"\(beta, 1000, repeat 4\): stored 0.*, now 0"
    ):
        tables.check_slice(replace(TOY, seed=1), tmp_path)
    wide = replace(TOY, compute=nearly, rtol=1e-3)
    assert len(tables.check_slice(wide, tmp_path)) == 2
    with pytest.raises(tables.SliceMismatch):
        tables.check_slice(replace(wide, rtol=9e-5), tmp_path)
    assert "Its slice is checked to a relative 0.001" in tables.show(wide, tmp_path)


def nearly(row, column, repeat, seed):
    return 1.0001 * toy_lab.sample_mean(row, column, repeat, seed)


@pytest.mark.parametrize("rtol", [-1e-6, 1, float("nan")])
def test_rtol_must_be_a_tolerance(rtol):
    with pytest.raises(
        ValueError, match="rtol of a table must be at least 0 and below 1"
    ):
        replace(TOY, rtol=rtol)


# Damage


@pytest.fixture
def stored(tmp_path):
    "A complete toy table with printed values."
    (tmp_path / "paper.csv").write_text(
        "row,column,value,sd\nuniform,10,0.5,0.1\nbeta,10,0.5,\nbeta,1000,0.50,0.01\n"
    )
    run(TOY, tmp_path, progress=False)
    tables.show(TOY, tmp_path)
    return tmp_path


def other_byte(rng, byte):
    "Another byte; of a digit, another digit."
    return rng.choice(
        [b for b in (b"0123456789" if chr(byte).isdigit() else range(256)) if b != byte]
    )


@pytest.mark.parametrize("name", ["ours.csv", "paper.csv", "run.json"])
def test_any_changed_byte_is_refused(stored, name):
    """And the message names the file and the line; only at the ends of lines is it
    not clear which."""
    path, rng = stored / name, random.Random(0)
    whole, found, places = path.read_bytes(), 0, range(0, len(path.read_bytes()), 3)
    for place in places:
        line = whole[:place].count(b"\n") + 1
        byte = whole[place]
        changed = other_byte(rng, byte)
        path.write_bytes(whole[:place] + bytes([changed]) + whole[place + 1 :])
        with pytest.raises(tables.TableDamaged) as error:
            tables.read_table(TOY, stored)
        assert str(path) in str(error.value)
        found += f"line {line}:" in str(error.value)
        if name != "run.json" and ord("\n") not in (byte, changed):
            assert f"{name}, line {line}:" in str(error.value)
    assert found > 0.8 * len(places)
    for read in (
        tables.show,
        tables.compare,
        tables.check_slice,
        tables.check_code,
        tables.stamp,
        run,
    ):
        with pytest.raises(tables.TableDamaged):
            read(TOY, stored)


@pytest.mark.parametrize("name", ["ours.csv", "paper.csv", "run.json"])
def test_truncated_anywhere(stored, name):
    path = stored / name
    whole = path.read_bytes()
    for cut in {*range(0, len(whole), 3), len(whole) - 1}:
        path.write_bytes(whole[:cut])
        with pytest.raises(tables.TableDamaged, match=name):
            tables.read_table(TOY, stored)
    path.unlink()
    with pytest.raises(tables.TableDamaged):
        tables.show(TOY, stored)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda lines: lines[:3] + lines[2:],
            "line 4: cell (uniform, 10, repeat 1) is stored twice",
        ),
        (
            lambda lines: [*lines[:3], b"uniform,11,0,0.5,0.1\n", *lines[4:]],
            "line 4: this line is not the one",
        ),
        (
            lambda lines: [*lines, b"uniform,11,0,0.5,0.1\n"],
            "line 22: 20 cells were stored here",
        ),
        (
            lambda lines: lines[:5] + lines[6:],
            "line 21: the file ends here, but 20 cells were stored",
        ),
        (
            lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
            "several lines, or the digest itself",
        ),
        (
            lambda lines: [*lines[:3], lines[3][:-4] + b"nan\n", *lines[4:]],
            "line 4: this line is not the one",
        ),
        (
            lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
            "line 1: expected row,column",
        ),
    ],
    ids=["doubled", "unknown", "appended", "missing", "exchanged", "nan", "line ends"],
)
def test_changed_lines(stored, change, said):
    path = stored / "ours.csv"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    for read in (
        lambda: read_cells(stored),
        lambda: tables.check_slice(TOY, stored),
        lambda: run(TOY, stored),
    ):
        with pytest.raises(tables.TableDamaged, match=re.escape(said)):
            read()


def test_cells_and_records_of_another_table(stored):
    with pytest.raises(
        tables.TableDamaged,
        match=r"ours.csv, line 7: table 'toy-means' has no cell \(uniform, 1000,",
    ):
        tables.compare(replace(TOY, columns=["10"], slice=[]), stored)
    with pytest.raises(
        tables.TableDamaged, match="run.json: this is table 'toy-means', not 'toy-slow'"
    ):
        tables.show(replace(SLOW, repeats=5, slice=[]), stored)


def test_cells_without_a_record(stored):
    (stored / "run.json").unlink()
    with pytest.raises(
        tables.TableDamaged, match="ours.csv: there is no run.json beside it"
    ):
        run(TOY, stored, progress=False)
    assert len(run(TOY, stored, progress=False, fresh=True)) == 20


def test_printed_values_may_change_only_by_a_stamp(stored):
    path = stored / "paper.csv"
    path.write_text(path.read_text() + "uniform,1000,0.5,\n")
    with pytest.raises(
        tables.TableDamaged,
        match="paper.csv, line 5: 4 lines were stored here, and there are 5",
    ):
        tables.compare(TOY, stored)
    with pytest.raises(tables.TableDamaged):
        tables.stamp(TOY, stored, progress=False)
    tables.stamp(TOY, stored, progress=False, paper=True)
    assert len(tables.read_paper(stored)) == 4 and len(tables.compare(TOY, stored)) == 4


def unstamped(folder):
    "Make a record of the form that was written before there were digests."
    record = tables.read_run(folder)
    old = {
        "table": record["table"],
        "runs": [entry | {"code": "0123456789abcdef"} for entry in record["runs"]],
    }
    (folder / "run.json").write_text(json.dumps(old, indent=2) + "\n")
    return old


def damages():
    "Records that are JSON of the wrong form, or no JSON."
    yield from [
        b"",
        b"{",
        b"[]",
        b"null",
        b"3",
        b'"a"',
        b"{}",
        b"\xff\xfe\x00",
        b"<<<<<<< HEAD\n{}\n",
    ]
    yield from [
        b'{"table": "toy-means"}',
        b'{"runs": []}',
        b'{"table": 3, "runs": []}',
        b'{"table": "x", "runs": 3}',
    ]
    yield from [
        b'{"table": "x", "runs": [{}]}',
        b'{"table": "x", "runs": [[]]}',
        b'{"check": 3}',
        b'{"check": "1 2"}',
    ]


@pytest.mark.parametrize("content", list(damages()), ids=str)
def test_damaged_record_is_named(stored, content):
    (stored / "run.json").write_bytes(content)
    calls = [
        tables.show,
        tables.compare,
        tables.check_slice,
        tables.check_code,
        tables.stamp,
        run,
    ]
    for call in [
        *(functools.partial(call, TOY) for call in calls),
        read_cells,
        tables.read_run,
        tables.read_paper,
    ]:
        with pytest.raises(tables.TableDamaged, match="run.json"):
            call(stored)


@pytest.mark.parametrize("old", [False, True], ids=["record", "old record"])
def test_record_with_an_entry_that_is_missing_or_of_another_type(stored, old):
    "Whoever writes the right digest around it: no entry is taken for granted."
    tables.write_record(stored, tables.read_run(stored) | {"stamps": [STAMP]})
    record = unstamped(stored) if old else tables.read_run(stored)

    def variants(value):
        if isinstance(value, dict):
            for key in value:
                if key not in (
                    "python",
                    "numpy",
                    "scipy",
                    "scikit-learn",
                    "numba",
                    "joblib",
                    "okbook",
                ):
                    yield {k: v for k, v in value.items() if k != key}
                for other in variants(value[key]):
                    yield value | {key: other}
        elif isinstance(value, list):
            for i, item in enumerate(value):
                for other in variants(item):
                    yield [*value[:i], other, *value[i + 1 :]]
        yield (
            [3.5] if isinstance(value, dict | str | int | float | None) else {"a": 3.5}
        )

    tried = 0
    for variant in variants(record):
        content = (
            json.dumps(variant).encode()
            if old or not isinstance(variant, dict)
            else tables.cells._pack(variant)
        )
        (stored / "run.json").write_bytes(content)
        with pytest.raises(tables.TableDamaged, match="run.json"):
            tables.stamp(TOY, stored) if old else tables.show(TOY, stored)
        tried += 1
    assert tried > 30


STAMP = {
    "from": [],
    "to": "",
    "time": "",
    "cells": 1,
    "versions": {},
    "machine": {"cpus": 1, "model": ""},
}


# Disks


@pytest.fixture
def read_only(monkeypatch):
    """A disk on which nothing can be written: the tests may run as root, whom
    permissions do not stop."""
    real = builtins.open

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(args[0]))

    def read(file, mode="r", *args, **kwargs):
        return (
            real(file, mode, *args, **kwargs)
            if set(mode) <= set("rbt")
            else refuse(file)
        )

    def begin():
        monkeypatch.setattr(builtins, "open", read)
        for name in ("replace", "mkdir", "unlink", "rename", "truncate"):
            monkeypatch.setattr(os, name, refuse)

    return begin


def test_complete_table_on_a_read_only_disk(stored, read_only):
    read_only()
    assert len(run(TOY, stored, progress=False)) == 20
    assert (
        "20 of 20" in tables.show(TOY, stored)
        and len(tables.check_slice(TOY, stored)) == 2
    )
    assert tables.check_code(TOY, stored) == tables.code_fingerprint(TOY.compute)
    with pytest.raises(OSError, match="Read-only"):
        run(TOY, stored, progress=False, fresh=True)
    with pytest.raises(OSError, match="Read-only"):
        run(TOY, stored / "new", progress=False)


@pytest.mark.parametrize("when", range(1, 24))
def test_full_disk(tmp_path, expected, monkeypatch, when):
    "The disk is full from some write on, and none is written whole."
    calls, fsync = [0], os.fsync

    def full(descriptor):
        calls[0] += 1
        if calls[0] >= when:
            os.ftruncate(descriptor, max(0, os.fstat(descriptor).st_size - 5))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with contextlib.suppress(OSError):
            run(THREE, tmp_path, progress=False)
            assert calls[0] < when
    assert not [path.name for path in tmp_path.iterdir() if path.suffix == ".draft"]
    assert values(read_cells(tmp_path)).items() <= expected.items()
    assert values(run(THREE, tmp_path, progress=False)) == {
        key: expected[key] for key in THREE.keys()
    }


# Stamps


def other_spelling(row, column, repeat, seed):
    generator = np.random.default_rng(seed)
    many = int(column)
    return (
        generator.random(many) if row == "uniform" else generator.beta(2, 2, many)
    ).mean()


OTHER = replace(TOY, compute=other_spelling)


def test_stamp(stored):
    before = tables.check_code(TOY, stored)
    with pytest.raises(
        tables.TableStale,
        match=f"by code {before}, and the code is .* run it again .* or stamp it",
    ):
        tables.check_code(OTHER, stored)
    cells = (stored / "ours.csv").read_bytes()
    assert tables.stamp(OTHER, stored, progress=False).keys() == set(OTHER.slice)
    after = tables.check_code(OTHER, stored)
    (entry,) = tables.read_run(stored)["stamps"]
    assert (entry["from"], entry["to"], entry["cells"]) == ([before], after, 2)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry["time"])
    assert f"from code {before} to {after}, 2 cells computed again" in tables.show(
        OTHER, stored
    )
    assert (stored / "ours.csv").read_bytes() == cells
    assert tables.stamp(OTHER, stored) == {}  # nothing to do
    assert len(run(OTHER, stored, progress=False)) == 20  # and no mixture
    with pytest.raises(tables.TableStale):
        tables.check_code(TOY, stored)
    tables.stamp(TOY, stored, progress=False)
    tables.check_code(TOY, stored)
    assert len(tables.read_run(stored)["stamps"]) == 2


def test_stamp_with_more_cells(stored, capsys):
    pairs = tables.stamp(OTHER, stored, sample=7, keys=[("uniform", "1000", 3)])
    assert {*TOY.slice, ("uniform", "1000", 3)} <= pairs.keys() and 8 <= len(
        pairs
    ) <= 10
    assert "toy-means: 100%" in capsys.readouterr().err
    again = tables.stamp(
        OTHER, stored, sample=100, n_jobs=2, progress=False
    )  # stamped already, yet computed
    assert (
        again.keys() == set(TOY.keys()) and len(tables.read_run(stored)["stamps"]) == 1
    )


def one_cell_differs(row, column, repeat, seed):
    return toy_lab.sample_mean(row, column, repeat, seed) * (
        1 + 2e-6 * (row == "beta" and repeat == 2)
    )


def test_stamp_is_refused(stored):
    before = (stored / "run.json").read_bytes()
    with pytest.raises(tables.SliceMismatch, match="stored"):
        tables.stamp(replace(TOY, compute=double), stored, progress=False)
    hidden = replace(TOY, compute=one_cell_differs)
    with pytest.raises(tables.SliceMismatch, match=r"\(beta, 10, repeat 2\): stored"):
        tables.stamp(hidden, stored, sample=20, progress=False)
    with pytest.raises(tables.SliceMismatch, match="names no slice"):
        tables.stamp(replace(OTHER, slice=[]), stored, progress=False)
    with pytest.raises(tables.TableMixed, match="in their seed"):
        tables.stamp(replace(OTHER, seed=1), stored, progress=False)
    with pytest.raises(tables.TableMixed, match="in their datasets"):
        tables.stamp(replace(OTHER, datasets=["digits"]), stored, progress=False)
    with pytest.raises(tables.TableError, match="nothing to stamp in"):
        tables.stamp(OTHER, stored / "nowhere", progress=False)
    assert (stored / "run.json").read_bytes() == before
    assert (
        len(tables.stamp(replace(hidden, rtol=1e-5), stored, sample=20, progress=False))
        == 20
    )


def test_stamp_of_a_record_without_digests(stored):
    unstamped(stored)
    for read in (
        read_cells,
        tables.read_run,
        tables.read_paper,
        functools.partial(run, TOY),
    ):
        with pytest.raises(
            tables.TableDamaged,
            match="run.json: holds no digest of the cells; 'okbook tables stamp'",
        ):
            read(stored)
    with pytest.raises(tables.SliceMismatch):
        tables.stamp(replace(TOY, compute=double), stored, progress=False)
    assert tables.stamp(TOY, stored, progress=False).keys() == set(TOY.slice)
    assert tables.read_run(stored)["stamps"][0]["from"] == ["0123456789abcdef"]
    assert (
        len(run(TOY, stored, progress=False)) == 20
        and len(tables.read_paper(stored)) == 3
    )
    tables.check_code(TOY, stored)


def test_stamped_table_may_be_continued(tmp_path, expected):
    run(TOY, tmp_path, progress=False, keys=TOY.keys()[:15] + TOY.keys()[-1:])
    tables.stamp(OTHER, tmp_path, progress=False)
    assert values(run(OTHER, tmp_path, progress=False)) == expected
    tables.check_code(OTHER, tmp_path)


# The tables of the book


STORED = sorted(path.parent.name for path in (ROOT / "tables").glob("*/ours.csv"))
PRINTED = sorted(path.parent.name for path in (ROOT / "tables").glob("*/paper.csv"))


@pytest.mark.parametrize("table_id", PRINTED)
def test_printed_cells_are_those_of_the_table(table_id):
    with open(ROOT / "tables" / table_id / "paper.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    printed = tables.read_paper(ROOT / "tables" / table_id)
    assert lines[0].keys() == {"row", "column", "value", "sd"} and len(printed) == len(
        lines
    )
    table = tables.find(
        table_id
        # a printed column that is not ours to run, such as another paper's, is only
        # shown
    )
    assert {key for key in printed if key[1] in table.columns} <= {
        key[:2] for key in table.keys()
    }
    assert {row for row, _ in printed} <= set(table.rows) and {
        column for _, column in printed
    } & set(table.columns)


@pytest.mark.parametrize("table_id", STORED)
def test_stored_table_is_complete(table_id):
    folder, table = ROOT / "tables" / table_id, tables.find(table_id)
    assert list(read_cells(folder)) == table.keys()
    record = tables.read_run(folder)
    assert record["table"] == table_id and record["runs"] and not record["open"]
    for entry in record["runs"]:
        assert entry["seed"] == table.seed
        assert entry["datasets"].keys() == set(table.datasets)


@pytest.mark.filterwarnings("ignore:All trees are the same")  # as OK3 grows them
@pytest.mark.parametrize("table_id", STORED)
def test_slice_of_stored_table(table_id, require_dataset):
    table = tables.find(table_id)
    require_dataset(*table.datasets)
    assert tables.check_slice(table, ROOT / "tables" / table_id)


@pytest.mark.parametrize("table_id", STORED)
def test_stored_table_is_of_the_code_as_it_is(table_id):
    "A failure says to run or to stamp the table."
    tables.check_code(tables.find(table_id), ROOT / "tables" / table_id)


def test_changed_digits_in_stored_tables(tmp_path):
    """200 random digits, one at a time: none is accepted, and of cells the line is
    named."""
    rng, files = random.Random(0), []
    for path in sorted((ROOT / "tables").glob("*/*.*")):
        if path.suffix in (".csv", ".json") and (path.parent / "ours.csv").exists():
            tables.read_table(
                tables.find(path.parent.name), path.parent
            )  # is as it should be
            files.append(path)
    for _ in range(200):
        path = rng.choice(files)
        folder = tmp_path / path.parent.name
        shutil.copytree(path.parent, folder)
        whole = path.read_bytes()
        place = rng.choice([i for i, byte in enumerate(whole) if chr(byte).isdigit()])
        damaged = (
            whole[:place] + bytes([other_byte(rng, whole[place])]) + whole[place + 1 :]
        )
        (folder / path.name).write_bytes(damaged)
        with pytest.raises(tables.TableDamaged, match=path.name) as error:
            tables.read_table(tables.find(path.parent.name), folder)
        if path.suffix == ".csv":
            assert f"line {whole[:place].count(10) + 1}:" in str(error.value)
        shutil.rmtree(folder)


# The fingerprints of the tables of the book: what they see of the real code


def fingerprints(change=lambda module, text: text, names=STORED):
    "Those of stored tables, if the modules of the package had other texts."

    def read(module):
        found = tables.code._read_module(module)
        return found and (change(module, found[0]), found[1])

    program = tables.code._Program({"okbook"}, read)
    return {
        name: tables.code._fingerprint(
            program, tables.code._computed_by(tables.find(name))
        )
        for name in names
    }


def returning(name, wrapped):
    """A change of the one function or method of this name in the package: of what
    its first `return` gives."""

    def change(module, text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                lines = text.split("\n")
                at = next(
                    i
                    for i in range(node.lineno, node.end_lineno)
                    if lines[i].strip().startswith("return ")
                )
                lines[at] = lines[at].replace("return ", f"return {wrapped} ", 1)
                return "\n".join(lines)
        return text

    return change


@pytest.fixture(scope="module")
def as_it_is():
    return fingerprints()


def within(lab, change):
    "A change of one module."
    return lambda module, text: change(module, text) if module == lab else text


def test_every_table_sees_its_own_function(as_it_is):
    for name in STORED:
        function = tables.find(name).compute
        assert as_it_is[name] == tables.code_fingerprint(tables.find(name))
        changed = fingerprints(
            within(function.__module__, returning(function.__name__, "-")), [name]
        )
        assert changed[name] != as_it_is[name]


@pytest.mark.parametrize(
    ("name", "those"),
    [
        ("boost_step", ["votes-noise", "votes-noise-size"]),
        ("gram_moments", ["mkl-table1", "mkl-table1-why", "forest-table1-mkl"]),
        (
            "graph_laplacian",
            ["rrsn-table1", "rrsn-table2", "rrsn-table3", "rrsn-figure1"],
        ),
        ("decode_weights", ["ok3-table1", "ok3-table1-boosting"]),
        ("first_of_each", ["ok3-table1"]),
    ],
)
def test_tables_see_what_they_use(as_it_is, name, those):
    others = {
        "boost_step": "rrsn-table1",
        "graph_laplacian": "votes-noise",
        "decode_weights": "forest-table1",
    }
    other = others.get(
        name, "votes-noise-pruning" if name == "gram_moments" else "mkl-table1"
    )
    changed = fingerprints(returning(name, "-"), [*those, other])
    assert [table for table in changed if changed[table] != as_it_is[table]] == those


def test_no_table_sees_what_none_uses(as_it_is):
    "Drawings, texts, a new function in every module, and all docstrings and comments."
    unused = [
        returning(name, "-") for name in ("export_text", "draw_links", "moving_figure")
    ]

    def change(module, text):
        for each in unused:
            text = each(module, text)
        tree = ast.parse(text + "\n\ndef quite_new(x):\n    return x + 1\n")
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and ast.get_docstring(node) is not None
            ):
                node.body[0].value.value = "Another docstring."
        return ast.unparse(tree)

    assert fingerprints(change) == as_it_is
