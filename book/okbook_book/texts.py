"""What the executed cells of the book tell a reader, and whether that depends on the
data.

``python -m okbook_book.texts`` executes the notebooks without data and with it, as far
as the cache has them not, and compares; with ``--notebooks '05*'`` those of chapter 5.

What a page says in Markdown is the same in both by construction. Of the code cells, all
text of the outputs is compared: what is printed, results in every textual form, and
HTML. Cells tagged as demonstrations may differ, and hidden ones; numbers that depend on
a clock may, and the bytes of images.
"""

import argparse
import ast
import contextlib
import difflib
import os
import re
import sys

from . import execute
from .project import chosen, docname, notebooks

UNSEEN = {"demonstration", "remove-cell", "remove-output"}
CLOCKS = {"perf_counter", "time"}
FILLING = {"append", "extend", "update", "setdefault"}
BYTES = re.compile(r"data:[\w/+.-]+;base64,[\w+/=\s]+|\b0x[0-9a-f]{6,}\b")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")


def timed_cells(cells):
    """The places of those code cells that read a clock, or use what was computed
    from one."""
    tainted, timed = set(CLOCKS), set()
    for n, cell in enumerate(cells):
        for statement in _statements(cell):
            found = list(ast.walk(statement))
            if isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            if _read(found) & tainted:
                timed.add(n)
                tainted |= _bound(found)
            else:
                tainted -= _bound(found)
    return timed


def _read(nodes):
    """The names that nodes read, but for those of their own: arguments, and what
    loops and comprehensions go through."""
    read = {
        x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)
    }
    own = {x.arg for x in nodes if isinstance(x, ast.arg)}
    targets = [x.target for x in nodes if isinstance(x, ast.For | ast.comprehension)]
    own |= {
        x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)
    }
    if isinstance(nodes[0], ast.FunctionDef | ast.ClassDef):
        own |= {
            x.id
            for x in nodes
            if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        }
    updated = {
        x.target.id
        for x in nodes
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)
    }
    return (read | updated) - own


def _statements(cell):
    if cell["cell_type"] != "code":
        return []
    try:
        return ast.parse("".join(cell["source"])).body
    except SyntaxError:  # a magic
        return []


def _bound(nodes):
    """The names that get a value among these nodes, be it by assignment, by
    definition, or by a method such as append."""
    if isinstance(nodes[0], ast.FunctionDef | ast.ClassDef):
        return {nodes[0].name}
    bound = set()
    for x in nodes:
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store):
            bound.add(x.id)
        filled = x.func if isinstance(x, ast.Call) else x
        stored = isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store)
        if (
            stored
            or isinstance(x, ast.Call)
            and isinstance(filled, ast.Attribute)
            and filled.attr in FILLING
        ):
            while isinstance(filled, ast.Attribute | ast.Subscript):
                filled = filled.value
            bound |= {filled.id} if isinstance(filled, ast.Name) else set()
    return bound


def said(cell, timed=False):
    """The text that a code cell shows, piece by piece; the numbers of a timed one
    are left out."""
    pieces, printing = [], False
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            # what is printed may come in several pieces, wherever the kernel flushes
            if output.name == "stdout":
                pieces.append(pieces.pop() + output.text if printing else output.text)
                printing = True
            continue
        printing = False
        for kind, text in sorted(output.get("data", {}).items()):
            if kind.startswith("text/"):
                pieces.append(text)
        if output.output_type == "error":
            pieces.append(f"{output.ename}: {output.evalue}")
    pieces = [BYTES.sub("…", piece) for piece in pieces]
    return [NUMBER.sub("#", piece) for piece in pieces] if timed else pieces


def told(notebook):
    """What a notebook's page tells: {place of a cell: pieces of text}, without the
    cells that may differ."""
    timed = timed_cells(notebook.cells)
    return {
        n: said(cell, n in timed)
        for n, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and not UNSEEN & set(cell.metadata.get("tags", ()))
    }


def differences(name, one, other, names=("without data", "with data")):
    """Where two executions of a notebook tell different things: page, cell, and the
    lines that differ."""
    wrong, others = [], told(other)
    for n, pieces in told(one).items():
        mine, theirs = (
            "\n".join(text).splitlines() for text in (pieces, others.get(n, []))
        )
        if mine != theirs:
            lines = list(difflib.unified_diff(mine, theirs, *names, n=0, lineterm=""))
            where = f"{name}, cell {n} ({one.cells[n].get('id')})"
            wrong.append(
                "\n  ".join(
                    [
                        where,
                        *(line[:300] for line in lines if not line.startswith("@@")),
                    ]
                )
            )
    return wrong


@contextlib.contextmanager
def surroundings(data):
    "Compute with the data of a folder, or of none."
    before = os.environ.copy()
    os.environ.update({"OKBOOK_DATA": str(data)} if data else execute.WITHOUT_DATA)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def executed(data, patterns=()):
    """The book's notebooks by path, executed with the data of a folder or of none,
    as far as the cache has them not."""
    with surroundings(data):
        execute.main(patterns)
        found = execute.cached(patterns)
        return {path: notebook for path, (notebook, _) in found.items()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--notebooks", nargs="+", default=[], metavar="PATTERN")
    patterns = parser.parse_args(arguments).notebooks
    data = os.environ.get("OKBOOK_DATA")
    if not data:
        raise SystemExit("texts: set OKBOOK_DATA to the folder with the data")
    without, with_data = executed(None, patterns), executed(data, patterns)
    both = without.keys() & with_data.keys()
    failed = [
        f"{docname(path)}: a cell fails"
        for path, _ in notebooks()
        if path not in both and chosen(path.stem, patterns)
    ]
    pairs = [
        (path, nb, with_data[path]) for path, nb in without.items() if path in both
    ]
    wrong = failed + [
        text
        for path, one, other in pairs
        for text in differences(docname(path), one, other)
    ]
    cells = sum(len(told(nb)) for nb in without.values())
    print(
        "\n".join(wrong)
        or f"texts: {cells} cells on {len(pairs)} pages tell the same without data "
        f"and with it"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
