"""The package installs alone, carries what it needs, and is quick to import."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOOK_TOOLS = {
    "nbdev",
    "fastcore",
    "IPython",
    "ipykernel",
    "sphinx",
    "jupyter_book",
    "myst_nb",
    "jupytext",
    "pytest",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    "A folder where okbook is installed from a copy of its sources, without the book."
    source, target = (
        tmp_path_factory.mktemp("source"),
        tmp_path_factory.mktemp("target"),
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "settings.ini"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "tables", source / "tables")
    shutil.copytree(
        ROOT / "okbook",
        source / "okbook",
        ignore=shutil.ignore_patterns("__pycache__", "_modidx.py"),
    )
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--target", target, source],
        check=True,
    )
    return target


def run(code, installed, **env):
    "Run `code` against the installed copy and return what it prints, as JSON."
    env = {**os.environ, "PYTHONPATH": str(installed), **env}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_carries_its_data_and_types(installed):
    files = {
        p.relative_to(installed).as_posix() for p in (installed / "okbook").rglob("*")
    }
    data = {p.name for p in (ROOT / "okbook").glob("*.json")} | {
        p.name for p in (ROOT / "okbook").glob("*.toml")
    }
    assert data, "the registry of datasets is a data file of the package"
    assert {"okbook/py.typed", *(f"okbook/{name}" for name in data)} <= files
    assert not [f for f in files if f.endswith(".ipynb")]


def test_carries_the_stored_tables(installed):
    "Those of the repository, byte for byte, and nothing else."
    stored, packed = ROOT / "tables", installed / "okbook" / "_tables"
    listed = [line[66:] for line in (stored / "SHA256SUMS").read_text().splitlines()]
    files = {Path("SHA256SUMS"), *map(Path, listed)}
    found = {p.relative_to(packed) for p in packed.rglob("*") if p.is_file()}
    assert found == files
    assert {path.name for path in files} >= {"paper.csv", "ours.csv", "run.json"}
    for path in files:
        assert (packed / path).read_bytes() == (stored / path).read_bytes()
    code = """if True:
        import json
        from okbook.tables import find, read_ledger, show
        print(json.dumps([len(read_ledger()), show(find("ok3-table1"))]))
    """
    n_cells, shown = run(code, installed)
    assert n_cells == 104 and "inside 1 sd" in shown and "not run" not in shown


def test_imports_no_tool_of_the_book(installed):
    code = """if True:
        import importlib, json, pkgutil, sys
        import okbook
        for m in pkgutil.walk_packages(okbook.__path__, "okbook."):
            importlib.import_module(m.name)
        loaded = sorted({m.partition(".")[0] for m in sys.modules})
        print(json.dumps([okbook.__file__, loaded]))
    """
    where, loaded = run(code, installed)
    assert Path(where).is_relative_to(installed)
    assert not BOOK_TOOLS & set(loaded)


def test_import_is_lazy(installed):
    code = "import json, sys, okbook; print(json.dumps(sorted(sys.modules)))"
    loaded = run(code, installed)
    assert "numpy" not in loaded and "okbook.core" not in loaded


def imported(statement, installed):
    "The CPU seconds that a fresh interpreter takes for `statement`."
    code = f"""if True:
        import json, time
        {statement}
        print(json.dumps(time.process_time()))
    """
    return run(code, installed)


def modules(root=ROOT):
    "The modules and packages of okbook below the top, the labs left out."
    files = sorted((root / "okbook").rglob("*.py"))
    names = [path.relative_to(root).with_suffix("").as_posix() for path in files]
    names = [name.replace("/", ".").removesuffix(".__init__") for name in names]
    left_out = re.compile(r"okbook(\.labs.*|\._modidx)?")
    return [name for name in names if not left_out.fullmatch(name)]


def test_modules_inside_packages_are_found():
    found = modules()
    assert {"okbook.rkhs", "okbook.rkhs.ridge", "okbook.datasets"} <= set(found)
    assert not [name for name in found if name.startswith("okbook.labs")]


def test_imports_are_light_in_any_order(installed):
    """Each module is imported as the first of the package, in one process, which
    forgets the others: no circle, and nothing heavy. Of what is loaded once only the
    first to ask for it is seen."""
    code = f"""if True:
        import importlib, json, sys
        found = {{}}
        for name in {modules()}:
            for known in [m for m in sys.modules if m.partition(".")[0] == "okbook"]:
                del sys.modules[known]
            before = set(sys.modules)
            importlib.import_module(name)
            new = {{m.partition(".")[0] for m in set(sys.modules) - before}}
            found[name] = sorted(new)
        print(json.dumps(found))
    """
    heavy = {"cvxpy", "matplotlib", "IPython", "dask"}
    found = run(code, installed)
    assert len(found) > 50 and all("okbook" in loaded for loaded in found.values())
    assert not {name: heavy & {*new} for name, new in found.items() if heavy & {*new}}


def test_import_is_quick(installed):
    """Under two seconds once compiled, or half as much again as what it stands on
    where that is slow already."""
    seconds = min(imported("import okbook.trees", installed) for _ in range(3))
    peers = min(
        imported(
            "import numba, scipy.sparse, sklearn.svm, sklearn.model_selection",
            installed,
        )
        for _ in "ab"
    )
    assert seconds < max(2, 1.5 * peers)


def test_version_is_the_same_everywhere():
    import okbook

    settings = re.search(
        r"^version = (.*)$", (ROOT / "settings.ini").read_text(), re.M
    )[1]
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[
        1
    ]
    assert okbook.__version__ == settings == citation


def test_dependencies_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = project["dependencies"] + [
        wanted for name in ("mkl", "tables", "plots", "dask") for wanted in extras[name]
    ]
    assert extras["all"] == ["okbook[mkl,tables,plots,dask]"]
    names = {
        re.match(r"[\w-]+", d)[0].replace("scikit-learn", "sklearn") for d in declared
    }
    names |= {"dask"}  # comes with distributed
    used = set()
    for path in (ROOT / "okbook").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                used |= {a.name.partition(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                used.add(node.module.partition(".")[0])
    assert used - set(sys.stdlib_module_names) - {"okbook"} <= names


def test_unknown_attribute():
    import okbook

    with pytest.raises(
        AttributeError, match="module 'okbook' has no attribute 'forest'"
    ):
        _ = okbook.forest
    assert "core" in dir(okbook)
