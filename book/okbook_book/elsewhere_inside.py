"""What `elsewhere` starts under a setting: ``python -m okbook_book.elsewhere_inside
PART FILE PATTERNS``."""

import json
import os
import re
import sys
import time
from pathlib import Path

import nbformat

from . import execute, project
from .project import ROOT, chosen
from .texts import differences


def slices(patterns, folder):
    "Compute the slice of each table again, cell by cell."
    from okbook import tables

    for name, table in tables.find_tables().items():
        for key in table.slice if chosen(name, patterns) else ():
            start = time.perf_counter()
            status, said = slice_cell(table, key, ROOT / "tables" / name)
            yield [
                _result(
                    f"{name}: {tables.cells.Key(*key)}",
                    status,
                    said,
                    time.perf_counter() - start,
                )
            ]


def slice_cell(table, key, folder):
    "What became of one cell, and what there is to say about it."
    from okbook import tables
    from okbook.datasets import DatasetNotFound

    try:
        ((stored, again),) = tables.check_cells(table, [key], folder).values()
    except (tables.TableError, DatasetNotFound) as error:
        if isinstance(error, DatasetNotFound) or isinstance(
            error.__cause__, DatasetNotFound
        ):
            return "no data", ""
        known = isinstance(error, tables.CellMismatch)
        return "failed", str(error).rpartition("): ")[
            2
        ] if known else f"{type(error).__name__}: {error}"
    return "passed", f"stored {stored!r}, now {again!r}"


def notebooks(patterns, folder):
    """Execute the notebooks as the book does, without its cache, and past each cell
    that fails; keep them in a folder."""
    todo, timeout = execute.prepared()
    todo = {path: nb for path, nb in todo.items() if chosen(path.stem, patterns)}
    for path, notebook, seconds in execute.several(todo, timeout, allow_errors=True):
        nbformat.write(notebook, folder / path.name)
        yield notebook_cells(path, notebook, seconds)


def notebook_cells(path, notebook, seconds):
    """Which cells of an executed notebook failed; the notebook as a whole passed if
    none did."""
    wrong = []
    for n, cell, output in execute.errors(notebook):
        wrong.append(_result(_where(path, n, cell), "failed", _message(output), 0))
    if seconds is None:
        wrong.append(_result(path.stem, "failed", "a cell took longer than it may", 0))
    return wrong or [_result(path.stem, "passed", "", seconds)]


def texts(patterns, folder):
    """Whether the pages tell the same without data as with that at hand, by the book's
    cache, into which goes what it lacks; those with data are kept in a folder."""
    with_data = _executed(patterns)
    os.environ.update(execute.WITHOUT_DATA)
    without = _executed(patterns)
    for path, _ in project.notebooks():
        if chosen(path.stem, patterns):
            yield compared(path, without.get(path), with_data.get(path), folder)


def _executed(patterns):
    execute.main(patterns)
    return execute.cached(patterns)


def compared(path, without, with_data, folder):
    """Which cells of a page tell something else with data; the page as a whole passed
    if none does."""
    if not (without and with_data):
        return [_result(path.stem, "failed", "a cell fails", 0)]
    (one, _), (other, seconds) = without, with_data
    nbformat.write(other, folder / path.name)
    wrong = [
        _result(_where(path, n, one.cells[n]), "failed", lines, 0)
        for n, lines in differences(one, other)
    ]
    return wrong or [_result(path.stem, "passed", "", sum(seconds))]


def _where(path, n, cell):
    "A cell by its page, its number and its first line."
    first = next(
        (line.strip() for line in cell.source.splitlines() if line.strip()), ""
    )
    return f"{path.stem}, cell {n} ({cell.get('id')}): {first}"


def _message(output):
    "The statement that failed and the error, on one line."
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
    at = re.findall(r"^-+> *\d+ *(.*)$", trace, re.M)
    return " ".join([*at[:1], "->", f"{output.ename}: {output.evalue}"])[:500]


def _result(where, status, said, seconds):
    return {
        "where": where,
        "status": status,
        "said": said,
        "seconds": round(seconds, 3),
    }


def main(part, target, *patterns):
    results = []
    folder = Path(target).with_suffix("")
    folder.mkdir(exist_ok=True)
    parts = {"slices": slices, "notebooks": notebooks, "texts": texts}
    for found in parts[part](patterns, folder):
        results += found
        for r in found:
            print(f"{r['where']}: {r['status']}, {r['seconds']:.1f} s", flush=True)
        Path(target).write_text(json.dumps(results, indent=1), encoding="utf8")
    Path(target).write_text(json.dumps(results, indent=1), encoding="utf8")


if __name__ == "__main__":
    main(*sys.argv[1:])
