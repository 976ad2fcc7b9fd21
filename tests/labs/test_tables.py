"""Tables: the same cells however they are computed, none lost, none mixed, damage
named, and the stored numbers computed again.

What a store of one CSV file, one record and one list of hashes can suffer is tried: a
kill at any step of a run and at any byte of a line, a full or read-only disk, two runs
at once, a changed or missing file.
"""

import builtins
import contextlib
import errno
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_lab

from okbook import tables
from okbook.datasets import DatasetNotFound
from okbook.tables import Table, cells, read_cells, run, runs
from okbook.tables.cells import Key

ROOT = Path(__file__).parents[2]
TOY, SLOW = toy_lab.TABLE, toy_lab.SLOW
SHORT = {"rows": ["uniform"], "columns": ["10"], "slice": [("uniform", "10", 0)]}
THREE = replace(TOY, repeats=3, **SHORT)


@pytest.fixture
def folder(tmp_path):
    "The folder of a table, beside a list of hashes."
    (tmp_path / "SHA256SUMS").touch()
    (tmp_path / "toy").mkdir()
    return tmp_path / "toy"


@pytest.fixture
def stored(folder):
    "A complete toy table with printed values."
    (folder / "paper.csv").write_text(
        "row,column,value,sd\nuniform,10,0.5,0.1\nbeta,10,0.5,\nbeta,1000,0.50,0.01\n"
    )
    run(TOY, folder, progress=False)
    return folder


def check_slice(table, folder):
    return tables.check_cells(table, table.slice, folder)


def values(cells):
    return {key: value for key, (value, _) in cells.items()}


def intact(folder):
    "Whether sha256sum finds all that is listed, and each file is listed."
    command = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    if subprocess.run(command, cwd=folder.parent, capture_output=True).returncode:
        return False
    listed = cells.read_sums(folder.parent)
    here = {f"{folder.name}/{path.name}" for path in folder.iterdir()}
    return {name for name in here if not name.endswith(".lock")} <= listed.keys()


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
def test_same_cells_however_computed(folder, expected, how):
    found = run(TOY, folder, progress=False, **how)
    assert values(found) == values(read_cells(folder)) == expected
    assert list(found) == TOY.keys()  # the file is in the order of the table
    assert intact(folder)


def test_order_of_computation_does_not_matter(folder, expected):
    keys = random.Random(0).sample(TOY.keys(), 20)
    run(TOY, folder, progress=False, keys=keys[:7])
    assert intact(folder)
    assert values(run(TOY, folder, progress=False, keys=keys[5:])) == expected
    assert len(tables.read_run(folder)["runs"]) == 1  # alike but for their times


def test_dask_cluster(tmp_path, expected, dask_scheduler):
    how = {"progress": False, "backend": "dask", "scheduler": dask_scheduler}
    assert values(run(TOY, tmp_path, **how)) == expected
    assert values(read_cells(tmp_path)) == expected


def test_dask_worker_with_other_code(tmp_path, dask_scheduler, monkeypatch):
    monkeypatch.setattr(runs, "_commit_of", lambda lab: os.getpid())
    with pytest.raises(tables.TableMixed, match="worker tcp.*has okbook at commit"):
        run(TOY, tmp_path, progress=False, scheduler=dask_scheduler)


def test_dask_without_a_cluster(tmp_path):
    with pytest.raises(tables.TableError, match="no Dask scheduler"):
        run(TOY, tmp_path, progress=False, backend="dask")


def test_progress_and_nothing_left_to_do(folder, capsys):
    run(TOY, folder)
    assert "toy-means: 100%" in capsys.readouterr().err
    before = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("*.*")}
    run(TOY, folder)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_without_a_list_none_is_made(tmp_path):
    run(TOY, tmp_path / "toy", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


# A run that is killed


def test_torn_at_any_byte(folder, expected):
    "Whatever is left of the last line: the others stay, its cell is computed again."
    run(THREE, folder, progress=False)
    whole = (folder / "ours.csv").read_bytes()
    begin = whole[:-1].rindex(b"\n") + 1
    for cut in range(begin, len(whole)):
        runs.list_files(folder, out=True)  # as a run does, before it writes
        (folder / "ours.csv").write_bytes(whole[:cut])
        assert list(read_cells(folder)) == THREE.keys()[:2]
        found = values(run(THREE, folder, progress=False))
        assert found == {key: expected[key] for key in THREE.keys()}
        assert read_cells(folder).keys() == set(THREE.keys()) and intact(folder)


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


@pytest.mark.parametrize("begun", [False, True])
def test_killed_at_every_step(tmp_path, expected, begun):
    """Each fsync and each rename of a run in turn is its last; the next run ends up
    with the same table."""
    for step in range(1, 100):
        folder = tmp_path / str(step) / "toy"
        folder.mkdir(parents=True)
        (folder.parent / "SHA256SUMS").touch()
        if begun:
            run(THREE, folder, progress=False, keys=THREE.keys()[1:2])
        died = dies(THREE, folder, step)
        found = values(read_cells(folder))
        assert found.items() <= expected.items() and len(found) >= begun
        assert values(run(THREE, folder, progress=False)) == {
            key: expected[key] for key in THREE.keys()
        }
        assert intact(folder) and list(read_cells(folder)) == THREE.keys()
        if not died:
            break
    assert 10 < step < 40


@contextlib.contextmanager
def running(folder, log, n_jobs):
    "A run of the slow table in a process group of its own, killed on leaving."
    code = (
        f"import toy_lab, okbook.tables as t; t.run(toy_lab.SLOW, "
        f"{str(folder)!r}, n_jobs={n_jobs}, progress=False)"
    )
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
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
def test_killed_at_a_random_moment(folder, tmp_path, n_jobs, kills):
    log = tmp_path / "log"
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
    assert intact(folder)


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


# Two runs at once


def test_second_run_is_turned_away(folder):
    with running(folder, folder / "log", 1) as process:
        while not read_cells(folder):
            assert process.poll() is None
            time.sleep(0.01)
        for options in ({}, {"fresh": True}):
            with pytest.raises(tables.TableBusy, match="another run is at work on"):
                run(SLOW, folder, progress=False, **options)
        assert process.wait() == 0  # unharmed
    (folder / "log").unlink()
    assert list(read_cells(folder)) == SLOW.keys() and intact(folder)


def test_runs_of_several_tables_share_the_list(folder):
    def begin(i):
        return run(TOY, folder.parent / str(i), progress=False)

    with ThreadPoolExecutor(4) as pool:
        assert all(len(found) == 20 for found in pool.map(begin, range(8)))
    assert all(intact(folder.parent / str(i)) for i in range(8))


# Stored cells of another seed, other data; some afresh


def double(row, column, repeat, seed):
    return 2 * toy_lab.sample_mean(row, column, repeat, seed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "have seed 0, and that of the table is 1: compute"),
        ({"datasets": ["digits"]}, "were measured on other data: digits: compute"),
    ],
    ids=["seed", "data"],
)
def test_cells_are_not_mixed(folder, change, said):
    run(TOY, folder, progress=False, keys=TOY.keys()[:7])
    other, before = replace(TOY, **change), (folder / "ours.csv").read_bytes()
    for call in (run, check_slice):
        with pytest.raises(tables.TableMixed, match=f"{said}.*--fresh.*--folder"):
            call(other, folder)
    assert (folder / "ours.csv").read_bytes() == before
    assert len(run(other, folder, progress=False, fresh=True)) == 20
    assert len(run(other, folder, progress=False)) == 20


def test_some_cells_are_computed_afresh(folder, expected):
    run(TOY, folder, progress=False)
    some = [key for key in TOY.keys() if key.row == "beta"]
    other = replace(TOY, compute=double)
    found = values(run(other, folder, progress=False, keys=some, fresh=True))
    assert found == {
        key: value * (1 + (key.row == "beta")) for key, value in expected.items()
    }
    assert list(found) == TOY.keys() and intact(folder)


@pytest.mark.parametrize("keys", [None, TOY.keys()[3:5]])
def test_nothing_is_dropped_before_there_is_a_new_cell(folder, expected, keys):
    "A run afresh that fails at once, or is interrupted, leaves the table as it was."
    run(TOY, folder, progress=False)
    for wrong in (replace(TOY, compute=fails), TOY):
        with pytest.raises((tables.CellError, ValueError)):
            jobs = 0 if wrong is TOY else 1
            run(wrong, folder, n_jobs=jobs, progress=False, keys=keys, fresh=True)
        assert values(read_cells(folder)) == expected and intact(folder)


def test_missing_data_stops_a_run_before_it_drops_anything(stored, monkeypatch):
    monkeypatch.setenv("OKBOOK_DATA", str(stored))
    monkeypatch.setattr("pooch.os_cache", lambda name: stored)
    with pytest.raises(FileNotFoundError, match="'usps'"):
        run(replace(TOY, datasets=["usps"]), stored, progress=False, fresh=True)
    assert len(read_cells(stored)) == 20


def test_provenance(folder):
    "At most thirty lines, with all that counts, and no name of this place."
    run(replace(TOY, datasets=["digits"]), folder, progress=False)
    text = (folder / "run.json").read_text()
    record = json.loads(text)
    (entry,) = record["runs"]
    assert text.count("\n") <= 30 and record["table"] == "toy-means"
    assert record["datasets"] == {"digits": {"all": "b465d8bafd939e73"}}
    assert record["seed"] == 0 and entry["versions"]["numpy"] == np.__version__
    assert entry["machine"].keys() == {"cpus", "model"}
    assert re.fullmatch(r"[0-9a-f]{40}\+?|okbook [\d.]+", entry["commit"])
    assert entry["begun"] <= entry["ended"] and entry["ended"].endswith("+00:00")
    here = (platform.node(), str(folder), str(Path.home()), str(ROOT))
    assert not any(place in text for place in (*here, os.environ.get("USER", "/")))


def test_the_record_names_what_differs(folder, monkeypatch):
    environment = cells.run_environment()
    run(TOY, folder, progress=False, keys=TOY.keys()[:3])
    for commit in "aab":
        changed = environment | {"commit": commit}
        monkeypatch.setattr(runs, "run_environment", lambda changed=changed: changed)
        run(TOY, folder, progress=False, keys=[TOY.keys()[len(read_cells(folder))]])
    commits = [entry["commit"] for entry in tables.read_run(folder)["runs"]]
    assert commits == [environment["commit"], "a", "b"]
    assert "by 3 runs, the last at commit b" in tables.show(TOY, folder)


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


def test_show_is_table_totals_and_one_line(stored):
    *table, blank, totals, _, provenance = tables.show(TOY, stored).splitlines()
    assert len(table) == 6 and not blank
    said = "20 of 20 cells are stored. Of 3 printed values: 2 inside 1 sd, 1 no sd"
    assert totals == f"{said} printed."
    assert re.fullmatch(r"Computed on \S+ in \d+ s at commit .* 1e-06\.", provenance)


# Computed again


def test_check_slice(tmp_path):
    with pytest.raises(tables.CellMismatch, match="is not stored.*okbook tables run"):
        check_slice(TOY, tmp_path)
    run(TOY, tmp_path, progress=False)
    assert len(check_slice(TOY, tmp_path)) == 2
    with pytest.raises(tables.CellMismatch, match="no cell to compute again"):
        check_slice(replace(TOY, slice=[]), tmp_path)
    with pytest.raises(tables.CellMismatch, match=r"repeat 4\): stored 0.*, now 1"):
        check_slice(replace(TOY, compute=double), tmp_path)
    wide = replace(TOY, compute=nearly, rtol=1e-3)
    assert len(check_slice(wide, tmp_path)) == 2
    with pytest.raises(tables.CellMismatch):
        check_slice(replace(wide, rtol=9e-5), tmp_path)


def nearly(row, column, repeat, seed):
    return 1.0001 * toy_lab.sample_mean(row, column, repeat, seed)


@pytest.mark.parametrize("rtol", [-1e-6, 1, float("nan")])
def test_rtol_must_be_a_tolerance(rtol):
    with pytest.raises(
        ValueError, match="rtol of a table must be at least 0 and below 1"
    ):
        replace(TOY, rtol=rtol)


def test_drawn_cells():
    "Each table has its turn, no cell comes twice, and the seed decides."

    def draw(n, seed):
        return [(t.id, key) for t, key in tables.draw_cells([TOY, SLOW], n, seed)]

    assert len(draw(99, 5)) == 80 == len(set(draw(99, 5)))
    assert all(
        {a[0], b[0]} == {"toy-means", "toy-slow"}
        for a, b in zip(*[iter(draw(40, 5))] * 2)
    )
    assert draw(7, 5) == draw(99, 5)[:7] != draw(7, 6)


def test_rerun(stored, expected, monkeypatch):
    assert tables.rerun(TOY, stored, progress=False) == {}
    other, before = replace(TOY, compute=nearly), (stored / "ours.csv").read_bytes()
    with monkeypatch.context() as patch:  # killed when it has three cells
        patch.setattr(other.compute, "__code__", failing_after_three.__code__)
        with pytest.raises(tables.CellError):
            tables.rerun(other, stored, progress=False)
    assert (stored / "ours.csv").read_bytes() == before and intact(stored)
    found = tables.rerun(other, stored, progress=False)
    assert found.keys() == set(TOY.keys())
    for key, pair in found.items():
        np.testing.assert_allclose(pair, [expected[key], 1.0001 * expected[key]])
    assert values(read_cells(stored)) == {k: p[1] for k, p in found.items()}
    assert intact(stored) and not [*(stored.parent / ".rerun").iterdir()]


def fails(row, column):
    raise ValueError


def failing_after_three(row, column, repeat, seed):
    if column == "10" and repeat == 3:
        raise ValueError
    return 1.0001 * toy_lab.sample_mean(row, column, repeat, seed)


# Damage


CALLS = [
    lambda folder: tables.show(TOY, folder),
    lambda folder: tables.compare(TOY, folder),
    lambda folder: check_slice(TOY, folder),
    lambda folder: run(TOY, folder, progress=False),
    lambda folder: tables.rerun(TOY, folder, progress=False),
]


def refused(folder, name):
    "Each reader refuses a damaged file by its name, and says what to do."
    calls = CALLS[:2] if name == "paper.csv" else CALLS
    for call in calls:
        with pytest.raises(tables.TableDamaged, match="Restore the file") as error:
            call(folder)
        assert str(folder.parent / name if name == "SHA256SUMS" else folder / name) in (
            str(error.value)
        )
    return True


@pytest.mark.parametrize("name", ["ours.csv", "paper.csv", "run.json"])
def test_a_changed_or_missing_file_is_refused(stored, name):
    path, rng = stored / name, random.Random(0)
    whole = path.read_bytes()
    for place in rng.sample(range(len(whole)), 60):
        byte = rng.choice([b for b in range(256) if b != whole[place]])
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        assert not intact(stored)
        read = {"ours.csv": read_cells, "paper.csv": tables.read_paper}
        with pytest.raises(tables.TableDamaged, match=re.escape(str(path))):
            read.get(name, tables.read_run)(stored)
    for content in (whole[:-1], whole[: len(whole) // 2], b"", whole + b"\n", None):
        path.write_bytes(content) if content is not None else path.unlink()
        assert not intact(stored) and refused(stored, name)
    path.write_bytes(whole)
    assert "20 of 20" in CALLS[0](stored)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x\n", "expected a hash and a file, got 'x'"),
        ("<<<<<<< HEAD\n", "expected a hash"),
        (f"{'0' * 64}  toy/ours.csv\n", "toy/ours.csv has another hash above"),
    ],
)
def test_a_damaged_list_is_refused(stored, content, said):
    path = stored.parent / "SHA256SUMS"
    path.write_text(path.read_text() + content)
    with pytest.raises(tables.TableDamaged, match=f"SHA256SUMS, line 4: {said}"):
        read_cells(stored)


def test_a_file_that_is_not_listed_is_said_to_be_unfinished(stored):
    runs.list_files(stored, out=True)
    assert "The last run has not ended: okbook tables run" in tables.show(TOY, stored)
    run(TOY, stored, progress=False)
    assert "has not ended" not in tables.show(TOY, stored) and intact(stored)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x[:3] + x[2:], "line 4: cell (uniform, 10, repeat 1) is stored tw"),
        (lambda x: [*x[:3], b"uniform,11,0,0.5,0.1\n", *x[4:]], "line 4: table 'toy-"),
        (lambda x: [*x[:3], x[3][:-4] + b"nan\n", *x[4:]], "line 4: expected finite"),
        (lambda x: [*x[:3], b"<<<<<<< HEAD\n", *x[3:]], "line 4: expected row,column"),
        (lambda x: [*x[:3], b"uniform,10\n", *x[3:]], "line 4: expected row,column"),
        (lambda x: [b"row,column\n", *x[1:]], "line 1: expected row,column"),
    ],
    ids=["doubled", "unknown", "nan", "conflict", "half", "head"],
)
@pytest.mark.parametrize("listed", [True, False])
def test_changed_lines_are_named(stored, change, said, listed):
    path = stored / "ours.csv"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    if not listed:  # while a run is at work, or after it was killed
        runs.list_files(stored, out=True)
    what = f"ours.csv, {said}"
    if listed and "table" in said:  # that is asked of a file that is intact
        what = "ours.csv: this is not the file"
    for call in CALLS:
        with pytest.raises(tables.TableDamaged, match=re.escape(what)):
            call(stored)


def test_cells_and_records_of_another_table(stored):
    said = r"ours.csv, line 7: table 'toy-means' has no cell \(uniform, 1000,"
    with pytest.raises(tables.TableDamaged, match=said):
        tables.compare(replace(TOY, columns=["10"], slice=[]), stored)
    said = "run.json: this is table 'toy-means', not 'toy-slow'"
    with pytest.raises(tables.TableDamaged, match=said):
        tables.show(replace(SLOW, repeats=5, slice=[]), stored)
    runs.list_files(stored, out=True)
    (stored / "run.json").unlink()
    with pytest.raises(tables.TableDamaged, match="ours.csv: there is no run.json"):
        run(TOY, stored, progress=False)
    assert len(run(TOY, stored, progress=False, fresh=True)) == 20


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", "{}", '{"table": "toy"}', '{"runs": [{}]}']
)
def test_a_record_of_another_form(stored, content):
    runs.list_files(stored, out=True)
    (stored / "run.json").write_text(content)
    with pytest.raises(tables.TableDamaged, match="run.json: expected the table, its"):
        run(TOY, stored, progress=False)


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
    assert "20 of 20" in tables.show(TOY, stored)
    assert len(check_slice(TOY, stored)) == 2
    for folder, options in [(stored, {"fresh": True}), (stored / "new", {})]:
        with pytest.raises(OSError, match="Read-only"):
            run(TOY, folder, progress=False, **options)


@pytest.mark.parametrize("when", range(1, 20))
def test_full_disk(folder, expected, monkeypatch, when):
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
            run(THREE, folder, progress=False)
            assert calls[0] < when
    assert not [path for path in folder.parent.rglob("*.draft")]
    assert values(read_cells(folder)).items() <= expected.items()
    assert values(run(THREE, folder, progress=False)) == {
        key: expected[key] for key in THREE.keys()
    }
    assert intact(folder)


# The tables of the book


STORED = sorted(path.parent.name for path in (ROOT / "tables").glob("*/ours.csv"))


def test_the_list_names_all_files():
    files = (ROOT / "tables").glob("*/*.*")
    names = [f"{path.parent.name}/{path.name}" for path in files if path.suffix]
    assert set(names) == cells.read_sums(ROOT / "tables").keys()
    for name in names:  # as sha256sum does, where there is none
        cells.read_stored(ROOT / "tables" / name, lambda *content: content)


def test_stored_tables_are_whole():
    "Cells, record and printed values are those of the table that a lab defines."
    for table_id in STORED:
        folder, table = ROOT / "tables" / table_id, tables.find(table_id)
        record, found = tables.read_table(table, folder)
        assert list(found) == table.keys(), table_id
        assert record["datasets"].keys() == set(table.datasets), table_id
        assert (folder / "run.json").read_text().count("\n") <= 30, table_id
        printed = tables.read_paper(folder)
        # a printed column that is not ours to run, as another paper's, is only shown
        ours = {key for key in printed if key[1] in table.columns}
        assert ours <= {key[:2] for key in table.keys()}, table_id
        assert bool(ours) == bool(printed), table_id


def compute_slice(table):
    "Compute the cells of a slice again, and list those whose data is not here."
    absent = []
    for key in table.slice:
        try:
            tables.check_cells(table, [key], ROOT / "tables" / table.id)
        except tables.CellError as error:
            if not isinstance(error.__cause__, DatasetNotFound):
                raise
            absent.append(key)
    return absent


@pytest.mark.parametrize("table_id", STORED)
def test_slice_without_data(table_id, monkeypatch, tmp_path):
    "What everybody can compute again, of all tables."
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path)
    compute_slice(tables.find(table_id))


@pytest.mark.parametrize("table_id", [n for n in STORED if tables.find(n).datasets])
def test_slice_with_data(table_id, require_dataset):
    table = tables.find(table_id)
    require_dataset(*table.datasets)
    assert not compute_slice(table)
