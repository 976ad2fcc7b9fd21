"""What a user meets first: names at the top, versions, missing extras, installations
that cannot be written."""

import ast
import hashlib
import importlib
import inspect
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import okbook
from okbook import _extras, _numba_cache
from okbook.cli import main
from okbook.core import Kernel
from okbook.tables import cells
from okbook.tables.cells import table_folder

ROOT = Path(__file__).parents[2]
LIBRARIES = ("cvxpy", "matplotlib", "pandas", "pooch", "tqdm")


# Names at the top


def public_classes():
    "The estimators and kernels that the faces show, with their packages."
    found = {}
    for path in sorted((ROOT / "okbook").glob("*/__init__.py")):
        face = importlib.import_module(f"okbook.{path.parent.name}")
        for name in getattr(face, "__all__", ()):
            value = getattr(face, name)
            if inspect.isclass(value) and issubclass(value, BaseEstimator | Kernel):
                found[name] = value
    return found


def test_every_estimator_and_kernel_is_at_the_top():
    "A failure says which names okbook/__init__.py lacks, or has too many."
    found = public_classes()
    assert len(found) > 45 and "OutputKernelTree" in found and "RBFKernel" in found
    assert okbook._HOMES.keys() == found.keys()
    for name, value in found.items():
        assert getattr(okbook, name) is value
    assert set(found) | {"show_versions"} <= set(dir(okbook)) & set(okbook.__all__)


def fresh(code, *command, **env):
    "What a fresh interpreter prints."
    done = subprocess.run(
        [*command, sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_at_the_top_are_loaded_when_asked_for():
    code = """if True:
        import json, sys, okbook
        dir(okbook)
        before = sorted(sys.modules)
        okbook.RBFKernel
        print(json.dumps([before, sorted(sys.modules)]))
    """
    before, after = json.loads(fresh(code))
    assert not {"numpy", "okbook.core", "tempfile"} & set(before)
    assert "okbook.core" in after and "okbook.trees" not in after


# Versions


@pytest.mark.parametrize("module", ["okbook", "okbook.cli"])
def test_version_on_the_command_line(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"okbook {okbook.__version__}\n" and done.returncode == 0
    done = subprocess.run([sys.executable, "-m", module], capture_output=True)
    assert done.returncode == 2  # a command is missing, and it says so


def test_version_of_the_command(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"okbook {okbook.__version__}\n"


def test_show_versions(capsys, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/some/where")
    monkeypatch.setattr("okbook._versions.EXTRAS", {"mkl": ("no-such-library",)})
    okbook.show_versions()
    seen = capsys.readouterr().out
    assert f"numpy: {np.__version__}\n" in seen and "/some/where" in seen
    assert "no-such-library: missing: pip install 'okbook[mkl]'\n" in seen


# Extras


class Absent:
    "Finds none of the libraries that extras bring, whatever is installed."

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture
def bare(monkeypatch):
    "As if no extra were installed."
    for name in (*LIBRARIES, "matplotlib.pyplot"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])


def fit_forest(verbose):
    X = np.arange(12.0)[:, None]
    forest = okbook.OutputKernelExtraTrees(n_estimators=2, verbose=verbose)
    return forest.fit(X, X.ravel())


ENTRIES = {
    "okbook.trees.export": [lambda: okbook.trees.plot_tree(None)],
    "okbook.drawing": [
        lambda: okbook.drawing.draw_links(None, None),
        lambda: okbook.drawing.draw_roc(None, "mean"),
    ],
    "okbook.mkl.duality": [
        lambda: okbook.mkl.solve_cvxpy(None, None, 1.0),
    ],
    "okbook.mkl.semidefinite": [
        lambda: okbook.mkl.learn_gram([0, 1, 0, 1]),
        lambda: okbook.mkl.semidefinite.learn_gram_weights([np.eye(4)], [0, 1, 0, 1]),
    ],
    "okbook.ensembles.margins": [
        lambda: okbook.ensembles.max_margin_weights([[1, 1]], [1, 1])
    ],
    "okbook.datasets": [
        lambda: okbook.datasets.data_home(),
        lambda: okbook.datasets.available("usps"),
        lambda: okbook.datasets.load_usps(),
    ],
    "okbook.tables.runs": [
        lambda: okbook.tables.compare(okbook.tables.find("ok3-table1"))
    ],
}
EXTRA = {"cvxpy": "mkl", "matplotlib": "plots"}


@pytest.mark.parametrize(
    "module, call", [(module, call) for module in ENTRIES for call in ENTRIES[module]]
)
def test_what_needs_an_extra_says_which(module, call, bare):
    with pytest.raises(ImportError) as caught:
        call()
    library = caught.value.name
    message = f"{module} needs {library}: pip install 'okbook["
    assert str(caught.value) == f"{message}{EXTRA.get(library, 'tables')}]'"


def test_the_extras_bring_what_the_errors_say():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for extra, module, _ in _extras._HOMES.values():
        names = [wanted.partition(">=")[0] for wanted in extras[extra]]
        assert module.partition(".")[0] in names


def test_no_other_way_to_an_extra():
    "No module imports such a library itself; Matplotlib's parts follow its pyplot."
    for path in sorted((ROOT / "okbook").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf8"))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            taken = {name.partition(".")[0] for name in names} & set(LIBRARIES)
            if path.name != "_extras.py":
                own = path.name == "drawing.py" and "matplotlib.pyplot" not in names
                assert not taken - ({"matplotlib"} if own else set()), path


def test_everything_imports_and_fits_without_extras():
    code = f"""LIBRARIES = {LIBRARIES!r}\n{inspect.getsource(Absent)}
if True:
        import sys
        sys.meta_path.insert(0, Absent)
        import importlib, pkgutil, okbook
        for m in pkgutil.walk_packages(okbook.__path__, "okbook."):
            importlib.import_module(m.name)
        words = ["one", "two", "three", "four"] * 3
        tree = okbook.OutputKernelTree(output_kernel="dirac", random_state=0)
        X = [[len(word), ord(word[0])] for word in words]
        print((tree.fit(X, words).predict(X) == words).all())
    """
    assert fresh(code) == "True\n"


def test_a_silent_fit_needs_no_progress_bar(bare, monkeypatch):
    monkeypatch.setattr("okbook.trees.forest.tqdm", _extras.tqdm)
    assert len(fit_forest(verbose=False).estimators_) == 2
    message = "bar of okbook.trees.forest needs tqdm: pip install 'okbook\\[tables\\]'"
    with pytest.raises(ImportError, match=message):
        fit_forest(verbose=True)


def test_a_command_without_its_extra_says_so_in_a_line(bare, capsys):
    assert main(["data", "check", "usps"]) == 1
    told = "okbook: okbook.datasets needs pooch: pip install 'okbook[tables]'\n"
    assert capsys.readouterr().err == told


def test_a_broken_library_speaks_for_itself(tmp_path, monkeypatch):
    (tmp_path / "cvxpy.py").write_text("import no_such_solver")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cvxpy", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_solver"):
        _ = _extras.cvxpy
    with pytest.raises(AttributeError, match="no attribute 'torch'"):
        _ = _extras.torch


# Installations that cannot be written


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    "A user's cache and a temporary folder, and no choice of the user's."
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.delitem(sys.modules, "numba")
    yield tmp_path
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)


def close(monkeypatch, *closed):
    "As if nobody could write in these folders, not even the superuser."
    really = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode: (
            not any(Path(path).is_relative_to(folder) for folder in closed)
            and really(path, mode)
        ),
    )


def found_cache(package):
    _numba_cache.find_numba_cache(str(package))
    return os.environ.get("NUMBA_CACHE_DIR")


def test_no_cache_is_chosen_where_numba_finds_one(elsewhere, monkeypatch):
    package = elsewhere / "package"
    package.mkdir()
    assert found_cache(package) is None
    close(monkeypatch, package)  # then the user's cache serves
    assert found_cache(package) is None
    close(monkeypatch, elsewhere)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "chosen")
    assert found_cache(package) == "chosen"


def test_a_private_cache_otherwise(elsewhere, monkeypatch):
    close(monkeypatch, elsewhere)
    folder = Path(found_cache(elsewhere / "package"))
    assert folder.parent == elsewhere / "tmp"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert found_cache(elsewhere / "package") == str(folder)  # the next process
    folder.chmod(0o777)  # others could plant code
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    other = Path(found_cache(elsewhere / "package"))
    assert other != folder and stat.S_IMODE(other.stat().st_mode) == 0o700


def test_nowhere_to_write(elsewhere, monkeypatch):
    close(monkeypatch, elsewhere)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere / "tmp" / "gone"))
    assert found_cache(elsewhere / "package") is None


def compiled(folder, *names):
    "Files of a function as Numba names them."
    for name in names:
        (folder / name).write_text(name)


def test_what_is_compiled_in_a_closed_package_is_linked(elsewhere, monkeypatch):
    package, stem = elsewhere / "package", "part.f-1.py311"
    inside = package / "trees" / "__pycache__"
    inside.mkdir(parents=True)
    compiled(inside, f"{stem}.nbi", f"{stem}.1.nbc")
    close(monkeypatch, package)
    assert found_cache(package) is None
    place = hashlib.sha1(str(package / "trees").encode()).hexdigest()
    mine = elsewhere / "cache" / "numba" / f"trees_{place}"
    assert (mine / f"{stem}.nbi").readlink() == inside / f"{stem}.nbi"
    assert (mine / f"{stem}.1.nbc").readlink() == inside / f"{stem}.1.nbc"
    # a user has compiled another form: Numba replaces its index
    (mine / f"{stem}.nbi").unlink()
    compiled(mine, f"{stem}.nbi", f"{stem}.2.nbc")
    found_cache(package)
    assert (mine / f"{stem}.nbi").read_text() == f"{stem}.nbi"
    assert not (mine / f"{stem}.nbi").is_symlink()
    # installed and compiled again
    for path in inside.iterdir():
        os.utime(path, (2**32, 2**32))
    compiled(inside, f"{stem}.2.nbc")
    found_cache(package)
    assert all(path.is_symlink() for path in mine.iterdir())


@pytest.mark.parametrize("before", [False, True])
def test_imports_and_fits_from_a_read_only_installation(before):
    """By a user without a home, for whom root becomes nobody. What was compiled
    `before` the installation was closed is not compiled again."""
    nobody = 65534
    command, root = [], os.getuid() == 0
    if root and not shutil.which("setpriv"):
        pytest.skip("root needs setpriv to become another user")
    with tempfile.TemporaryDirectory() as folder:
        place, scratch = Path(folder, "site"), Path(folder, "tmp")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "okbook", place / "okbook", ignore=ignored)
        scratch.mkdir()
        if root:
            os.chown(scratch, nobody, nobody)
            ids = [f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
            command = ["setpriv", *ids]
        code = """if True:
            import json, os, okbook, okbook.ensembles, numpy as np
            X = np.arange(8.0)[:, None]
            okbook.ensembles.DecisionStump().fit(X, [0, 1] * 4).predict(X)
            print(json.dumps([okbook.__file__, os.environ["NUMBA_CACHE_DIR"]]))
        """
        if before:
            fresh(code, PYTHONPATH=str(place), NUMBA_CACHE_DIR="")
        for path in [Path(folder), place, *place.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        env = {"HOME": "/nonexistent", "TMPDIR": str(scratch), "PYTHONPATH": str(place)}
        env |= {"XDG_CACHE_HOME": "/nonexistent/cache", "NUMBA_CACHE_DIR": ""}
        where, cache = json.loads(fresh(code, *command, **env))
        assert Path(where).is_relative_to(place)
        found = list(Path(cache).rglob("*.nb[ic]"))
        assert Path(cache).parent == scratch and found
        assert all(path.is_symlink() == before for path in found)
        for path in [Path(folder), place, *place.rglob("*")]:
            path.chmod(0o755)


# The tables of an installed package


def test_stored_tables_of_the_package(tmp_path, monkeypatch):
    packed = tmp_path / "site" / "_tables" / "toy"
    packed.mkdir(parents=True)
    (packed / "paper.csv").write_text("row,column,value,sd\na,b,1,\n")
    packed.chmod(0o555)
    monkeypatch.setattr(cells, "files", lambda name: tmp_path / "site")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert table_folder("toy") == packed
    assert cells.read_paper(table_folder("toy"))["a", "b"][0] == 1
    own = table_folder("toy", write=True)  # a run does not write into the package
    assert own == here / "tables" / "toy"
    assert (own / "paper.csv").read_bytes() == (packed / "paper.csv").read_bytes()
    (own / "ours.csv").write_text("")
    assert table_folder("toy") == own == table_folder("toy", write=True)
    assert table_folder("new") == table_folder("new", write=True)
    assert table_folder("new") == here / "tables" / "new"
    packed.chmod(0o755)


COMPILE = """
import sys
from numba.core.dispatcher import Dispatcher
import numpy as np
import okbook as ok
from okbook._compilation import compile_estimators

def compiled():
    return {
        function.py_func.__qualname__: len(function.overloads)
        for module in [m for m in sys.modules if m.startswith("okbook.")]
        for function in vars(sys.modules[module]).values()
        if isinstance(function, Dispatcher)
    }

for _ in compile_estimators():
    pass
before = compiled()
X, Y = np.random.default_rng(1).standard_normal((2, 80, 3))
labels = np.where(Y[:, 0] > 0, "yes", "no")
few = dict(n_estimators=2, random_state=0)
for kernel, Z in (("linear", Y), ("dirac", labels), ("laplacian", Y), ("rbf", Y[:, 0])):
    for model in (
        ok.OutputKernelTree(kernel),
        ok.OutputKernelTree(kernel, max_depth=2),
        ok.OutputKernelRandomForest(kernel, **few, min_samples_leaf=3),
        ok.OutputKernelExtraTrees(kernel, **few, max_features="sqrt"),
        ok.OutputKernelBoosting(kernel, **few),
        ok.OutputKernelKNN(output_kernel=kernel),
    ):
        model.fit(X, Z).score(X, Z)
        if hasattr(model, "apply"):
            model.apply(X)
for model in (ok.AdaBoost(n_estimators=2), ok.RandomizedTreeClassifier(),
              ok.ForestKernelSVC(), ok.TwoStageMKL()):
    model.fit(X, labels).score(X, labels)
ok.OutputKernelTree().fit(X, Y).get_depth()
print(*{name for name, n in compiled().items() if n > before.get(name, 0)})
"""


def test_okbook_compile_leaves_nothing_to_compile():
    "Other examples of the same kinds need no compiled code that is not there yet."
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILE], capture_output=True, text=True
    )
    assert told.stdout.split() == [], told
    assert not told.returncode, told.stderr
