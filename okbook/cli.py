"""The command ``okbook``: run, show and check the tables of the book, set them beside
the sources in a ledger, list and check its data, attempt to refute its claims, and
compile once what the first fits would wait for."""

import argparse
import csv
import os
import sys
import time
from fnmatch import fnmatchcase

from . import __version__


def _tables_list(args):
    from okbook.tables import TableError, find_tables, read_cells
    from okbook.tables.cells import table_folder

    failed = 0
    for table in find_tables().values():
        try:
            stored = read_cells(table_folder(table.id))
        except TableError as error:  # say so, and list the others
            _complain(error)
            failed = 1
            continue
        done = sum(key in stored for key in table.keys())
        print(
            f"{table.id:<16} {done:>4} of {len(table.keys()):>4} cells stored   "
            f"{table.summary}"
        )
    return failed


def _matching(table, pattern):
    "The cells whose names, such as `OK3, 200, repeat 0`, match a pattern."
    from okbook.tables import TableError

    keys = [key for key in table.keys() if fnmatchcase(str(key), pattern)]
    if not keys:
        raise TableError(
            f"no cell of table {table.id!r} matches {pattern!r}: its first cell is "
            f"{table.keys()[0]}"
        )
    return keys


def _tables_run(args):
    from okbook.tables import find, run, show

    table = find(args.id)
    if args.fresh:
        args.after_interruption += ", without --fresh"
    run(
        table,
        args.folder,
        n_jobs=args.n_jobs,
        backend=args.backend,
        scheduler=args.scheduler,
        progress=not args.quiet,
        keys=args.only and _matching(table, args.only),
        fresh=args.fresh,
    )
    if not args.quiet:
        print(show(table, args.folder))


def _tables_show(args):
    from okbook.tables import find, show

    print(show(find(args.id), args.folder))


def _tables_check(args):
    from okbook.datasets import available
    from okbook.tables import TableError, draw_cells, find, find_tables

    tables = [find(name) for name in args.ids] or [*find_tables().values()]
    if args.folder and len(args.ids) != 1:
        raise TableError("--folder is the folder of one table: name it")
    if not args.ids:  # those that this machine can compute
        tables = [t for t in tables if all(map(available, t.datasets))]
    if args.cells is None:
        cells = ((t, key) for t in tables for key in t.check_keys(t.slice))
    else:
        cells = draw_cells(tables, args.cells, args.seed)
    return _compute_again(cells, args.folder, args.seconds)


def _compute_again(cells, folder, seconds):
    "Compute stored cells again, as long as there is time; 1 if one differs."
    from okbook.tables import CellMismatch, TableError, check_cells, read_cells
    from okbook.tables.cells import table_folder

    end, agree, differ, failed, left = time.perf_counter() + seconds, 0, 0, 0, 0
    for table, key in cells:
        at = folder or table_folder(table.id)
        try:
            took = read_cells(at).get(key, (0.0, 0.0))[1]
            if time.perf_counter() + took > end:
                left += 1
                continue
            ((was, now),) = check_cells(table, [key], at).values()
        except TableError as error:  # say so, and compute the others
            _complain(error)
            known = isinstance(error, CellMismatch)
            differ, failed = differ + known, failed + (not known)
            continue
        print(f"{table.id}: {key}: stored {was!r}, now {now!r}", flush=True)
        agree += 1
    told = f", {failed} could not be tried" if failed else ""
    told += f", {left} not tried for lack of time" if left else ""
    print(f"{agree} cells agree, {differ} do not{told}")
    return int(differ + failed > 0 or agree == 0)


def _tables_rerun(args):
    from okbook.tables import find, find_tables, rerun

    options = {name: getattr(args, name) for name in ("n_jobs", "backend", "scheduler")}
    failed = 0
    for table in [find(name) for name in args.ids] or [*find_tables().values()]:
        try:
            found = rerun(table, progress=not args.quiet, **options)
        except _expected_errors() as error:  # say so, and go on with the others
            _complain(error)
            failed = 1
            continue
        print(f"{table.id}: {len(found)} of {len(table.keys())} cells differ")
        for key, (was, now) in found.items():
            print(f"  {key}: was {was!r}, is {now!r}")
    return failed


def _ledger(args):
    from okbook.labs.common import markdown_table
    from okbook.tables import read_ledger, select_cells
    from okbook.tables.ledger import (
        cells_table,
        ledger_line,
        ledger_sentences,
        totals_table,
    )

    cells = read_ledger(args.folder)
    detailed = args.all or args.part != "all"
    if detailed:
        header, rows = cells_table(select_cells(cells, args.part))
        align = "lllrrrrlll"
    else:
        (header, rows), align = totals_table(cells), "l" + "r" * 10 + "l"
    if args.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
    else:
        print(markdown_table(header, rows, align))
        said = ledger_sentences(select_cells(cells, args.part)) if detailed else []
        lines = [ledger_line(args.part, cells), ledger_line("data", cells)]
        print("\n".join(["", *said, *lines]))


def _data_list(args):
    from okbook.datasets import REGISTRY, available

    for name, entry in REGISTRY.items():
        print(
            f"{name:<16} {'here' if available(name) else 'not here':<9} "
            f"{entry['title']}"
        )


def _data_check(args):
    from okbook.datasets import REGISTRY, check

    failed = 0
    for name in args.names or REGISTRY:
        try:
            for part, fingerprint in check(name, download=args.download).items():
                print(f"{name:<16} {part:<8} {fingerprint}  as published")
        except (
            OSError,
            ValueError,
        ) as error:  # missing, damaged or unknown: say so, and check the others
            _complain(error)
            failed = 1
    return failed


def _compile(args):
    import warnings

    from okbook._compilation import compile_estimators

    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sixty random examples: nothing to learn
        for model, seconds in compile_estimators():
            if seconds > 0.5 and not args.quiet:
                print(f"{seconds:5.1f} s  {type(model).__name__}", flush=True)
    print(f"compiled, or found compiled, in {time.perf_counter() - begun:.0f} s")


# The options of the commands: by name, what `add_argument` is told.
_ID = {"id": {"help": "such as ok3-table1"}}
_FOLDER = {
    "--folder": {
        "help": "where its files are (default: tables/<id>, here, in a folder above or "
        "in the package)"
    }
}


def _counting(text):
    "A whole number that is not zero, as argparse wants it."
    if int(text) == 0:
        raise ValueError
    return int(text)


def _positive(text):
    "A whole number above zero."
    if int(text) < 1:
        raise ValueError
    return int(text)


_JOBS = {
    "--n-jobs": {
        "type": _counting,
        "default": 1,
        "help": "number of processes, -1 for all (default: 1)",
    }
}
_RUN = {
    "--only": {
        "metavar": "PATTERN",
        "help": "only cells like 'OK3*, 200, *' (--fresh drops only these)",
    },
    "--backend": {
        "choices": ["loky", "threading", "dask"],
        "help": "how joblib runs the cells",
    },
    "--scheduler": {
        "metavar": "ADDR",
        "help": "address of a Dask scheduler, such as tcp://10.0.0.1:8786",
    },
    "--fresh": {"action": "store_true", "help": "drop the stored cells first"},
    "--quiet": {
        "action": "store_true",
        "help": "no progress bar, no table at the end",
    },
}
_WHICH = {
    "ids": {
        "nargs": "*",
        "metavar": "id",
        "help": "such as ok3-table1 (default: all)",
    },
}
_CHECK = {
    "--cells": {
        "type": _positive,
        "metavar": "N",
        "help": "N cells drawn at random, instead of the slices",
    },
    "--seed": {
        "type": int,
        "default": 0,
        "help": "of the draw (default: 0)",
    },
    "--seconds": {
        "type": float,
        "default": float("inf"),
        "help": "take only cells that fit into this time",
    },
}
_LEDGER = {
    "part": {
        "nargs": "?",
        "default": "all",
        "metavar": "id",
        "help": "the cells of one table only, such as rrsn-table2",
    },
    "--all": {"action": "store_true", "help": "every printed cell, a line a cell"},
    "--csv": {"action": "store_true", "help": "as comma-separated values"},
    "--folder": {
        "help": "where the tables are (default: tables, here or in a folder above)"
    },
}
_COMPILE = {
    "--quiet": {"action": "store_true", "help": "only how long it took, at the end"}
}
_DATA = {
    "names": {"nargs": "*", "metavar": "name", "help": "default: all"},
    "--download": {"action": "store_true", "help": "download what is missing"},
}


def _add(group, name, do, help, options=()):
    "Add a command, which carries its function as `do`."
    command = group.add_parser(name, help=help, description=help)
    command.set_defaults(do=do, after_interruption="")
    for option, told in dict(options).items():
        command.add_argument(option, **told)
    return command


def _parser():
    "All commands and their options."
    parser = argparse.ArgumentParser(prog="okbook", description=__doc__)
    parser.add_argument("--version", action="version", version=f"okbook {__version__}")
    groups = parser.add_subparsers(
        required=True, metavar="{tables,ledger,data,compile}"
    )
    group = groups.add_parser("tables", help="the tables of the sources, recomputed")
    tables = group.add_subparsers(required=True)
    told = "the tables, and how many of their cells are stored"
    _add(tables, "list", _tables_list, told)
    told = "compute the missing cells; go on after an interruption"
    run = _add(tables, "run", _tables_run, told, _ID | _FOLDER | _JOBS | _RUN)
    told = "compute whole tables again, and say what differs from the stored ones"
    again = {name: _RUN[name] for name in ("--backend", "--scheduler", "--quiet")}
    rerun = _add(tables, "rerun", _tables_rerun, told, _WHICH | _JOBS | again)
    kept = "; finished cells are stored, and the same command goes on"
    for command in (run, rerun):
        command.set_defaults(after_interruption=kept)
    told = "the paper's values, ours, their difference"
    _add(tables, "show", _tables_show, told, _ID | _FOLDER)
    told = "compute stored cells again: the slices of tables, or cells drawn at random"
    _add(tables, "check", _tables_check, told, _WHICH | _FOLDER | _CHECK)

    told = "every printed cell beside ours: the totals by table"
    _add(groups, "ledger", _ledger, told, _LEDGER)

    data = groups.add_parser("data", help="the datasets").add_subparsers(required=True)
    told = "the datasets, and which of them are on this machine"
    _add(data, "list", _data_list, told)
    told = "read datasets and check them against the registry"
    _add(data, "check", _data_check, told, _DATA)

    told = "compile all searches for this processor: for images and class servers"
    _add(groups, "compile", _compile, told, _COMPILE)
    return parser


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status: 0, or 1 after an error, which is printed in one line.

    Examples
    --------
    >>> from okbook.cli import main
    >>> main(["data", "check", "digits"])
    digits           all      b465d8bafd939e73  as published
    0
    """
    for stream in (sys.stdout, sys.stderr):  # a pipe may know few characters
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    args = _parser().parse_args(argv)
    try:
        return args.do(args) or 0
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except _expected_errors() as error:
        _complain(error)
        return 1
    except KeyboardInterrupt:
        _complain(f"interrupted{args.after_interruption}")
        return 130


def _expected_errors():
    """What a user can do something about: missing or damaged data and tables, a
    missing library, a full or read-only disk."""
    from okbook._extras import MissingExtra
    from okbook.datasets import DatasetDamaged
    from okbook.tables import TableError

    return TableError, DatasetDamaged, MissingExtra, OSError


def _complain(error):
    "Print an error in one line."
    print("okbook:", " ".join(str(error).split()), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
