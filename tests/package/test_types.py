"""Public signatures are annotated, and mean what they say: a type checker accepts the
calls of a user, and refuses those that would fail."""

import importlib
import inspect
import pkgutil
import re

from mypy import api

import okbook
from okbook_book.project import ROOT

HIDDEN = re.compile(r"\._|\.labs(\.|$)|__main__|\.cli$")  # not for callers


def public_names():
    "Each public function and class of the package, by its name."
    found = {}
    for module in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if HIDDEN.search(module.name):
            continue
        shown = importlib.import_module(module.name)
        for name in getattr(shown, "__all__", ()):
            value = getattr(shown, name)
            if getattr(value, "__module__", "").startswith("okbook.") and callable(
                value
            ):
                found[f"{value.__module__}.{name}"] = value
    return {name: value for name, value in found.items() if not HIDDEN.search(name)}


def signatures():
    "Of every public function and method: its name, and the function as it is written."
    for name, value in public_names().items():
        if not inspect.isclass(value):
            yield name, inspect.unwrap(getattr(value, "py_func", value))
            continue
        for base in value.__mro__:
            if not base.__module__.startswith("okbook."):
                continue
            for key, member in vars(base).items():
                member = getattr(member, "fget", getattr(member, "__func__", member))
                member = inspect.unwrap(member) if callable(member) else member
                own = (
                    inspect.isfunction(member) and member.__module__ == base.__module__
                )
                made = own and not inspect.getsourcefile(member).startswith("<")
                if made and (not key.startswith("_") or key == "__init__"):
                    yield f"{name}.{key}", member


def lacking(function):
    "The parameters of a function that have no type, and whether the result has none."
    seen = inspect.signature(function)
    empty = inspect.Parameter.empty
    found = [p.name for p in seen.parameters.values() if p.annotation is empty]
    found = [name for name in found if name not in ("self", "cls")]
    return found + ["return"] * (seen.return_annotation is empty)


def test_every_public_signature_is_annotated():
    seen = dict(signatures())
    assert len(seen) > 600 and "okbook.trees.forest.OutputKernelBagging.fit" in seen
    assert {name: lack for name, f in seen.items() if (lack := lacking(f))} == {}


def test_a_missing_annotation_is_found():
    def half(x: int, y) -> None: ...

    def silent(x: int): ...

    assert lacking(half) == ["y"] and lacking(silent) == ["return"]


def test_the_top_shows_the_same_to_a_type_checker():
    text = (ROOT / "okbook" / "__init__.py").read_text()
    assert set(re.findall(r"^        (\w+) as \1,$", text, re.M)) == set(okbook._HOMES)


def check(monkeypatch, tmp_path, code):
    "The errors of mypy for the code of a user, by line."
    path = tmp_path / "user.py"
    path.write_text(code)
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'user'}"
    said, trouble, _ = api.run(["--config-file=", cache, *options, str(path)])
    assert not trouble, trouble
    mine = re.findall(r"user\.py:(\d+): (\w+): (.*)", said)
    return {int(line): text for line, kind, text in mine if kind == "error"}, said


USE = """\
from collections.abc import Sequence

import numpy as np

from okbook import GramKernel, OutputKernelExtraTrees, OutputKernelRidgeCV
from okbook.core import check_kernel, decode_weights, make_psd, output_kernel_loss
from okbook.core import pr_auc, predicted_gram
from okbook.mkl import TwoStageMKL
from okbook.trees import export_text

X, words = np.eye(5), ["one", "two", "three", "four", "five"]


def shared(a: Sequence[str], b: Sequence[str]) -> np.ndarray:
    return np.array([[len({*p} & {*q}) for q in b] for p in a], dtype=float)


ridge = OutputKernelRidgeCV(output_kernel=shared, candidates=words).fit(X, words)
score: float = ridge.score(X, words)
spelled = ridge.predict(X, candidates=["six", "seven"])
chosen: np.ndarray = ridge.decode(X.tolist())
trees = OutputKernelExtraTrees(
    output_kernel=GramKernel(np.eye(5)),
    max_features="sqrt",
    random_state=np.random.RandomState(0),
).fit(X, np.arange(5))
picture: str = export_text(trees.estimators_[0])
area: float = pr_auc([0, 1, 1], [0.1, 0.4, 0.3])
machine = TwoStageMKL(class_weight={"yes": 2.0}).fit(X, words)
check_kernel("rbf", {"sigma": 2.0}).fit(X).gram(X, X).sum()
make_psd(X.tolist(), method="flip")
"""

WRONG = {
    'OutputKernelExtraTrees(n_estimators="many")': "n_estimators",
    'OutputKernelExtraTrees(max_features="all")': "max_features",
    'OutputKernelRidgeCV(output_kernel="dirac", lams=1.0)': "lams",
    'output_kernel_loss(words, words, kern="dirac")': "kern",
    "predicted_gram(X, X)": "K",
    "ridge.score(X, words).upper()": "float",
    "decode_weights(X, X, [1.0]).upper()": "upper",
    "GramKernel()": "K",
}


def test_a_type_checker_accepts_what_a_user_writes(monkeypatch, tmp_path):
    errors, said = check(monkeypatch, tmp_path, USE)
    assert not errors, said


def test_a_type_checker_refuses_what_would_fail(monkeypatch, tmp_path):
    first = USE.count("\n") + 1
    errors, said = check(monkeypatch, tmp_path, USE + "\n".join(WRONG) + "\n")
    assert errors.keys() == set(range(first, first + len(WRONG))), said
    for text, word in zip((errors[k] for k in sorted(errors)), WRONG.values()):
        assert word in text


def test_the_marker_is_there():
    assert (ROOT / "okbook" / "py.typed").exists()
