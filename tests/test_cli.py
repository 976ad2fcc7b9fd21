"""The command line: what it prints, what it returns."""

import importlib
import shutil
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
    shutil.copy(Path(__file__).with_name("toy_lab.py"), folder)
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
    assert "beta, 1000, repeat 4: stored 0." in capsys.readouterr().out
    assert main(["tables", "list"]) == 0
    assert "toy-means          20 of   20 cells stored" in capsys.readouterr().out


def test_run_quietly_elsewhere(tmp_path, capsys):
    arguments = ["tables", "run", "toy-means", "--folder", str(tmp_path / "x"), "--n-jobs", "2", "--quiet"]
    assert main([*arguments, "--backend", "threading"]) == 0
    assert len(read_cells(tmp_path / "x")) == 20
    seen = capsys.readouterr()
    assert seen.out == seen.err == ""


def test_cluster_without_the_lab(tmp_path, dask_scheduler, capsys):
    "The lab of this test exists in this process only: the workers cannot import it, and the run must not hang."
    assert main(["tables", "run", "toy-means", "--quiet", "--scheduler", dask_scheduler]) == 1
    assert "cannot import the lab of table 'toy-means': ModuleNotFoundError" in capsys.readouterr().err
    assert not read_cells(tmp_path / "tables" / "toy-means")


def test_other_code_is_refused_then_forced_or_fresh(lab, capsys):
    assert main(["tables", "run", "toy-means", "--quiet"]) == 0
    lab.write_text(lab.read_text().replace("beta(2, 2", "beta(2, 30"))
    importlib.invalidate_caches()
    del sys.modules["okbook.labs.toy_lab"]
    assert main(["tables", "check", "toy-means"]) == 1
    assert "(beta, 1000, repeat 4): stored" in capsys.readouterr().err
    assert main(["tables", "run", "toy-means", "--quiet"]) == 1
    assert "okbook: the cells stored in" in capsys.readouterr().err
    assert main(["tables", "run", "toy-means", "--quiet", "--force"]) == 0
    assert main(["tables", "run", "toy-means", "--quiet", "--fresh"]) == 0
    assert main(["tables", "check", "toy-means"]) == 0


def test_errors_are_one_line(capsys):
    assert main(["tables", "show", "ok3-table9"]) == 1
    seen = capsys.readouterr().err
    assert seen == "okbook: unknown table 'ok3-table9': the labs have toy-means, toy-slow\n"


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
    assert "digits           all      b465d8bafd939e73" in seen.out and "dataset 'usps' not found" in seen.err
    assert main(["data", "check", "digits"]) == 0
    assert main(["data", "check", "nothing"]) == 1
    assert "unknown dataset 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["tables"], ["tables", "run"], ["tables", "run", "x", "--backend", "mpi"]])
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: okbook" in capsys.readouterr().err
