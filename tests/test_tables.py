"""Tables: the same cells however they are computed, none lost, none mixed, and the stored ones still true."""

import contextlib
import csv
import json
import os
import platform
import random
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
    assert TOY.seed_of(Key("uniform", "10", 0)) == 2462229816  # written down: it must not change between versions
    assert TOY.keys()[:2] == [("uniform", "10", 0), ("uniform", "10", 1)]
    assert len({table.seed_of(key) for table in (TOY, SLOW, replace(TOY, seed=1)) for key in TOY.keys()}) == 60


@pytest.mark.parametrize("wrong", ["a\nb", "", 3])
def test_names_must_be_printable(wrong):
    with pytest.raises(ValueError, match="must be printable strings, got"):
        replace(TOY, rows=[wrong])


def test_keys_must_belong_to_the_table(tmp_path):
    with pytest.raises(ValueError, match="table 'toy-means' has no cell uniform, 11, repeat 0"):
        run(TOY, tmp_path, keys=[("uniform", "11", 0)])
    with pytest.raises(ValueError, match="has no cell"):
        replace(TOY, slice=[("uniform", "10", 5)])


def test_names_that_need_quotes(tmp_path):
    table = replace(TOY, rows=['a "b", c | d', "été"], slice=[])
    assert set(run(table, tmp_path, progress=False)) == set(table.keys()) == set(read_cells(tmp_path))
    assert r"a \"b\", c \| d".replace('\\"', '"') in tables.show(table, tmp_path)


@pytest.mark.parametrize("how", [{}, {"n_jobs": 2}, {"n_jobs": 2, "backend": "threading"}], ids=str)
def test_same_cells_however_computed(tmp_path, expected, how):
    cells = run(TOY, tmp_path, progress=False, **how)
    assert values(cells) == values(read_cells(tmp_path)) == expected
    assert list(cells) == TOY.keys()  # the file is in the order of the table


def test_order_of_computation_does_not_matter(tmp_path, expected):
    keys = random.Random(0).sample(TOY.keys(), 20)
    run(TOY, tmp_path, progress=False, keys=keys[:7])
    assert values(run(TOY, tmp_path, progress=False, keys=keys[5:])) == expected


def test_dask_cluster(tmp_path, expected, dask_scheduler):
    assert values(run(TOY, tmp_path, progress=False, backend="dask", scheduler=dask_scheduler)) == expected
    assert values(read_cells(tmp_path)) == expected


def test_dask_worker_with_other_code(tmp_path, dask_scheduler, monkeypatch):
    monkeypatch.setattr(tables, "_bare", str.upper)  # in this process only
    with pytest.raises(tables.TableMixed, match="worker tcp.*has code .* for table 'toy-means', here it is"):
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


def test_torn_at_any_byte(tmp_path, expected, monkeypatch):
    "Cut `ours.csv` anywhere: what is committed stays, the rest is computed again, and nothing is there twice."
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # slow, and power does not fail here
    keys = TOY.keys()[:3]
    table = replace(TOY, rows=["uniform"], columns=["10"], repeats=3, slice=[])
    run(table, tmp_path, progress=False)
    whole = (tmp_path / "ours.csv").read_bytes()
    for cut in range(len(whole)):
        (tmp_path / "ours.csv").write_bytes(whole[:cut])
        survivors = read_cells(tmp_path)
        assert len(survivors) == max(0, whole[:cut].count(b"\n") - 1)
        with tables._appender(tmp_path):
            assert read_cells(tmp_path) == survivors
        if cut % 7 == 0:
            assert values(run(table, tmp_path, progress=False)) == {key: expected[key] for key in keys}


@contextlib.contextmanager
def running(folder, log, n_jobs):
    "A run of the slow table in a process group of its own, killed on leaving."
    code = f"import toy_lab, okbook.tables as t; t.run(toy_lab.SLOW, {str(folder)!r}, n_jobs={n_jobs}, progress=False)"
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
    env = os.environ | {"PYTHONPATH": path, "TOY_LOG": str(log)}
    process = subprocess.Popen([sys.executable, "-c", code], env=env, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize(("n_jobs", "kills"), [(1, 3), (2, 1)])
def test_killed_at_a_random_moment(tmp_path, n_jobs, kills):
    folder, log = tmp_path / "toy-slow", tmp_path / "log"
    stored, computed = {}, []
    for kill in range(kills):
        with running(folder, log, n_jobs) as process:
            while len(read_cells(folder)) < len(stored) + 4 and process.poll() is None:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.1))
        assert process.returncode == -signal.SIGKILL
        found = read_cells(folder)  # raises if a line is corrupt or a cell is there twice
        assert found.items() >= stored.items() and len(found) >= 4 * (kill + 1)
        computed = log.read_text().splitlines()
        lost = len(computed) - len(found)
        assert lost <= (kill + 1) * 2 * n_jobs  # those dispatched and not yet stored; joblib dispatches two a worker
        stored = found
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOY_LOG", str(log))
        final = run(SLOW, folder, progress=False)
    assert final.items() >= stored.items()
    assert values(final) == {key: toy_lab.sample_mean(*key, SLOW.seed_of(key)) for key in SLOW.keys()}
    assert len(log.read_text().splitlines()) == len(computed) + len(SLOW.keys()) - len(stored)
    assert len(tables.read_run(folder)["runs"]) == kills + 1


def test_a_failing_cell_is_named_and_the_others_are_kept(tmp_path):
    table = Table("toy-fail", ["1", "0"], ["2"], 1, compute=divide)
    with pytest.raises(tables.CellError, match=r"'toy-fail': cell \(0, 2, repeat 0\) failed: ZeroDivisionError"):
        run(table, tmp_path, progress=False)
    assert values(read_cells(tmp_path)) == {("1", "2", 0): 2.0}


def divide(row, column, repeat, seed):
    return float(column) / float(row)


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
    [({"seed": 1}, "seed"), ({"compute": double}, "code"), ({"datasets": ["digits"]}, "datasets")],
    ids=["seed", "code", "data"],
)
def test_cells_are_not_mixed(tmp_path, change, named):
    run(TOY, tmp_path, progress=False, keys=TOY.keys()[:7])
    other, before = replace(TOY, **change), (tmp_path / "ours.csv").read_bytes()
    with pytest.raises(tables.TableMixed, match=f"differ from this run in their {named}.*--fresh.*--force"):
        run(other, tmp_path, progress=False)
    assert (tmp_path / "ours.csv").read_bytes() == before
    forced = run(other, tmp_path, progress=False, force=True, keys=TOY.keys()[:9])
    assert len(forced) == 9
    with pytest.raises(tables.TableMixed):  # once mixed, mixed
        run(other, tmp_path, progress=False)
    assert len(run(other, tmp_path, progress=False, fresh=True)) == 20
    assert [entry["cells"] for entry in tables.read_run(tmp_path)["runs"]] == [20]
    run(other, tmp_path, progress=False)


def test_cells_of_unknown_origin(tmp_path):
    run(TOY, tmp_path, progress=False)
    (tmp_path / "run.json").unlink()
    with pytest.raises(tables.TableMixed, match="there is no run.json"):
        run(TOY, tmp_path, progress=False)


def test_missing_data_stops_a_run_before_it_drops_anything(tmp_path, monkeypatch):
    run(TOY, tmp_path, progress=False)
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path)
    with pytest.raises(FileNotFoundError, match="'usps'"):
        run(replace(TOY, datasets=["usps"]), tmp_path, progress=False, fresh=True)
    assert len(read_cells(tmp_path)) == 20


def test_code_fingerprint_ignores_what_explains():
    source = Path(toy_lab.__file__).read_text()
    explained = source.replace("    rng =", "    # a generator of our own\n    rng =").replace("Small tables", "Tables")
    assert tables._bare(source) == tables._bare(explained) != tables._bare(source.replace("beta(2, 2", "beta(2, 3"))


def test_code_fingerprint_follows_imports():
    from okbook import datasets

    assert tables._modules_behind(datasets.check) == ["okbook.datasets"]
    assert tables._modules_behind(tables.show) == []
    assert "okbook.core" in tables._modules_behind(uses_core)


def uses_core(row, column, repeat, seed):
    return 0.0


from okbook.core import RBFKernel  # noqa: E402, F401  (what `uses_core` could call: the module is followed)


def test_provenance_has_no_names_of_this_place(tmp_path):
    run(replace(TOY, datasets=["digits"]), tmp_path, progress=False)
    text = (tmp_path / "run.json").read_text()
    (entry,) = json.loads(text)["runs"]
    assert entry["datasets"] == {"digits": {"all": "b465d8bafd939e73"}} and entry["cells"] == 20
    assert entry["machine"].keys() == {"cpus", "model"} and entry["versions"]["numpy"] == np.__version__
    for place in (platform.node(), str(tmp_path), str(Path.home()), str(ROOT), os.environ.get("USER", "/")):
        assert place not in text


# Beside the paper


def test_compare(tmp_path, expected):
    (tmp_path / "paper.csv").write_text("row,column,value,sd\nuniform,10,0.5,9\nbeta,10,0.5,\nonly,paper,1,2\n")
    run(TOY, tmp_path, progress=False, keys=TOY.keys()[:-1])
    frame = tables.compare(TOY, tmp_path).set_index(["row", "column"])
    ours = [expected["uniform", "10", i] for i in range(5)]
    line = frame.loc["uniform", "10"]
    numbers = line[["paper", "paper_sd", "ours", "ours_sd", "difference"]].to_numpy(float)
    np.testing.assert_allclose(
        numbers, [0.5, 9, np.mean(ours), np.std(ours, ddof=1), np.mean(ours) - 0.5], rtol=1e-12, strict=True
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
    with pytest.raises(tables.SliceMismatch, match=r"\(beta, 1000, repeat 4\): stored 0.*, now 0"):
        tables.check_slice(replace(TOY, seed=1), tmp_path)


# The tables of the book


STORED = sorted(path.parent.name for path in (ROOT / "tables").glob("*/ours.csv"))
PRINTED = sorted(path.parent.name for path in (ROOT / "tables").glob("*/paper.csv"))


@pytest.mark.parametrize("table_id", PRINTED)
def test_printed_cells_are_those_of_the_table(table_id):
    with open(ROOT / "tables" / table_id / "paper.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    printed = tables.read_paper(ROOT / "tables" / table_id)
    assert lines[0].keys() == {"row", "column", "value", "sd"} and len(printed) == len(lines)
    table = tables.find(table_id)  # a printed column that is not ours to run, such as another paper's, is only shown
    assert {key for key in printed if key[1] in table.columns} <= {key[:2] for key in table.keys()}
    assert {row for row, _ in printed} <= set(table.rows) and {column for _, column in printed} & set(table.columns)


@pytest.mark.parametrize("table_id", STORED)
def test_stored_table_is_complete(table_id):
    folder, table = ROOT / "tables" / table_id, tables.find(table_id)
    assert list(read_cells(folder)) == table.keys()
    record = tables.read_run(folder)
    assert record["table"] == table_id and record["runs"]
    assert record["runs"][-1]["seconds"] is not None  # a run before it may have been killed
    for entry in record["runs"]:
        assert entry["seed"] == table.seed
        assert entry["datasets"].keys() == set(table.datasets)


@pytest.mark.parametrize("table_id", STORED)
def test_slice_of_stored_table(table_id, require_dataset):
    table = tables.find(table_id)
    require_dataset(*table.datasets)
    assert tables.check_slice(table, ROOT / "tables" / table_id)
