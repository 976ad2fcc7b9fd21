"""The command line: what it prints, what it returns."""

import errno
import importlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import okbook.labs
from okbook.cli import main
from okbook.tables import read_cells


@pytest.fixture(autouse=True)
def lab(tmp_path, monkeypatch):
    "The toy tables as a lab of the package, and an empty folder to work in."
    folder = tmp_path / "labs"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "toy_lab.py", folder)
    monkeypatch.setattr(okbook.labs, "__path__", [str(folder)])
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    yield folder / "toy_lab.py"
    sys.modules.pop("okbook.labs.toy_lab", None)


def test_entry_point():
    (command,) = entry_points(group="console_scripts", name="okbook")
    assert command.load() is main


def test_run_show_check_list(tmp_path, capsys):
    assert main(["tables", "run", "toy-means"]) == 0
    seen = capsys.readouterr()
    assert "20 of 20 cells are stored." in seen.out and "100%" in seen.err
    assert len(read_cells(tmp_path / "tables" / "toy-means")) == 20
    assert main(["tables", "show", "toy-means"]) == 0
    assert "| uniform | 10 | – | 0." in capsys.readouterr().out
    assert main(["tables", "check", "toy-means"]) == 0
    seen = capsys.readouterr().out
    assert "toy-means: beta, 1000, repeat 4: stored 0." in seen
    assert seen.endswith("2 cells agree, 0 do not\n")
    assert main(["tables", "list"]) == 0
    assert "toy-means          20 of   20 cells stored" in capsys.readouterr().out


def test_run_quietly_elsewhere(tmp_path, capsys):
    arguments = [
        "tables",
        "run",
        "toy-means",
        "--folder",
        str(tmp_path / "x"),
        "--n-jobs",
        "2",
        "--quiet",
    ]
    assert main([*arguments, "--backend", "threading"]) == 0
    assert len(read_cells(tmp_path / "x")) == 20
    seen = capsys.readouterr()
    assert seen.out == seen.err == ""


def test_cluster_without_the_lab(tmp_path, dask_scheduler, capsys):
    """The lab of this test exists in this process only: the workers cannot import
    it, and the run must not hang."""
    assert (
        main(["tables", "run", "toy-means", "--quiet", "--scheduler", dask_scheduler])
        == 1
    )
    assert (
        "cannot import the lab of table 'toy-means': No module named"
        in capsys.readouterr().err
    )
    assert not read_cells(tmp_path / "tables" / "toy-means")


def test_changed_cells_are_found_and_computed_afresh(lab, capsys):
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0
    edit(lab, "beta(2, 2", "beta(2, 30")
    assert main(["tables", "check", "toy-means"]) == 1
    seen = capsys.readouterr()
    assert "(beta, 1000, repeat 4): stored" in seen.err and seen.err.count("\n") == 1
    assert "uniform, 10, repeat 0: stored" in seen.out
    assert seen.out.endswith("1 cells agree, 1 do not\n")
    assert main(["tables", "run", "toy-means", "--quiet", "--fresh"]) == 0
    assert main(["tables", "check", "toy-means"]) == 0


def edit(lab, old, new):
    "Another version of the lab, to be imported next time."
    assert old in lab.read_text()
    lab.write_text(lab.read_text().replace(old, new))
    importlib.invalidate_caches()
    del sys.modules["okbook.labs.toy_lab"]


def test_check_draws_cells_of_all_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0
    assert main(["tables", "run", "toy-slow", "--quiet"]) == 0

    def drawn(*options):
        status = main(["tables", "check", *options])
        *lines, end = capsys.readouterr().out.splitlines()
        return status, lines, end

    status, lines, end = drawn()
    assert status == 0 and end == "3 cells agree, 0 do not"
    status, lines, end = drawn("--cells", "6", "--seed", "3")
    assert status == 0 and end == "6 cells agree, 0 do not"
    assert sum(line.startswith("toy-slow: ") for line in lines) == 3
    assert drawn("--cells", "6", "--seed", "4")[1] != lines
    status, _, end = drawn("--cells", "60", "--seconds", "0.3", "toy-slow")
    assert status == 0 and end.endswith("not tried for lack of time")
    assert drawn("--cells", "60", "--seconds", "0", "toy-slow")[0] == 1  # none tried


def test_check_goes_on_after_an_error(tmp_path, capsys):
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0
    assert main(["tables", "check"]) == 1  # toy-slow is not stored
    seen = capsys.readouterr()
    assert seen.out.endswith("2 cells agree, 1 do not\n")
    assert "cell (beta, 10, repeat 14) is not stored in" in seen.err
    assert main(["tables", "check", "--folder", str(tmp_path)]) == 1
    assert "--folder is the folder of one table" in capsys.readouterr().err


def test_rerun(lab, tmp_path, capsys):
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0
    assert main(["tables", "rerun", "toy-means", "--n-jobs", "1"]) == 0
    seen = capsys.readouterr()
    assert seen.out == "toy-means: 0 of 20 cells differ\n" and "100%" in seen.err
    edit(lab, "beta(2, 2", "beta(2, 3")
    assert main(["tables", "rerun", "toy-means", "--quiet"]) == 0
    seen = capsys.readouterr().out
    assert seen.startswith(
        "toy-means: 10 of 20 cells differ\n  beta, 10, repeat 0: was"
    )
    assert main(["tables", "check", "toy-means"]) == 0
    record = tmp_path / "tables" / "toy-means" / "run.json"
    record.write_bytes(record.read_bytes()[:-9])
    assert main(["tables", "rerun", "toy-means", "--quiet"]) == 1
    assert "run.json" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "check", "run", "rerun", "list"])
def test_damage_is_one_line_that_names_the_file(tmp_path, capsys, command):
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0
    ours = tmp_path / "tables" / "toy-means" / "ours.csv"
    ours.write_text(ours.read_text().replace("0.", "1.", 1))
    assert main(["tables", command, *(["toy-means"] if command != "list" else [])]) == 1
    seen = capsys.readouterr()
    said = (
        f"okbook: {ours}: this is not the file that SHA256SUMS lists (see git diff). "
    )
    again = "Restore the file from git, or compute it again (--fresh)"
    assert {f"{said}{again}"} == set(seen.err.splitlines())


def test_only_some_cells(tmp_path, capsys):
    assert (
        main(["tables", "run", "toy-means", "--quiet", "--only", "*, 10, repeat ?"])
        == 0
    )
    assert {key.column for key in read_cells(tmp_path / "tables" / "toy-means")} == {
        "10"
    }
    assert main(["tables", "run", "toy-means", "--only", "gamma*"]) == 1
    assert (
        "no cell of table 'toy-means' matches 'gamma*': its first cell is uniform, 10"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("function", ["replace", "fsync", "mkdir"])
def test_errors_of_the_disk_are_one_line(
    tmp_path, monkeypatch, capsys, number, function
):
    "A read-only folder, a full disk, a folder of somebody else, a broken disk."

    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        for command in (
            ["run", "toy-means", "--quiet"],
            ["run", "toy-means", "--fresh", "--quiet"],
        ):
            assert main(["tables", *command]) == 1
            seen = capsys.readouterr()
            assert seen.out == "" and os.strerror(number) in seen.err
            assert seen.err.startswith("okbook: ") and seen.err.count("\n") == 1
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0


def test_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for command in ("run", "show", "check"):
        assert (
            main(["tables", command, "toy-means", "--folder", str(tmp_path / "file")])
            == 1
        )
        seen = capsys.readouterr().err
        assert seen.startswith("okbook: ") and seen.count("\n") == 1


def test_errors_are_one_line(capsys):
    assert main(["tables", "show", "ok3-table9"]) == 1
    seen = capsys.readouterr().err
    assert (
        seen
        == "okbook: unknown table 'ok3-table9': the labs have toy-means, toy-slow\n"
    )


def test_interrupted(monkeypatch, capsys):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("okbook.tables.run", interrupt)
    assert main(["tables", "run", "toy-means"]) == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OKBOOK_DATA", str(tmp_path))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path)
    assert main(["data", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert any(line.startswith("usps             not here  USPS") for line in listed)
    assert any(line.startswith("digits           here") for line in listed)
    assert main(["data", "check"]) == 1
    seen = capsys.readouterr()
    assert (
        "digits           all      b465d8bafd939e73" in seen.out
        and "dataset 'usps' not found" in seen.err
    )
    assert main(["data", "check", "digits"]) == 0
    assert main(["data", "check", "nothing"]) == 1
    assert "unknown dataset 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tables"],
        ["tables", "run"],
        ["tables", "run", "x", "--backend", "mpi"],
        ["tables", "stamp", "x"],
        ["tables", "run", "x", "--n-jobs", "0"],
        ["tables", "check", "--cells", "-3"],
    ],
)
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: okbook" in capsys.readouterr().err


@pytest.mark.parametrize(
    "encoding, arguments",
    [
        ("cp1252", "ledger"),
        ("ascii", "ledger"),
        ("ascii", "tables list"),
        ("ascii", "tables show ok3-table1"),
        ("ascii", "data list"),
        ("ascii", "--help"),
        ("ascii", "tables show none"),
    ],
)
def test_no_character_is_too_much_for_a_pipe(encoding, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "okbook", *arguments.split()],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        encoding=encoding,
    )
    assert "Error" not in done.stderr.replace("okbook: error", "")
    assert done.returncode == 0 or arguments == "tables show none"
    assert done.stdout or done.stderr.startswith(("okbook", "usage"))
