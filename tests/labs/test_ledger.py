"""The ledger: counted once more by other means, and what it refuses."""

import csv
import io
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from okbook import tables
from okbook.cli import main
from okbook.tables import read_ledger
from okbook.tables.ledger import LEDGER_PARTS, LedgerError
from okbook_book.project import notebooks

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "tables"
PRINTED = {
    "ok3-table1": 16,
    "ok3-figure2": 1,
    "rrsn-table1": 12,
    "rrsn-table2": 10,
    "rrsn-table3": 12,
    "forest-table1": 29,
    "mkl-table1": 24,
}
LABEL = re.compile(r"^\(([\w-]+)\)=\s*$", re.M)


@pytest.fixture(scope="module")
def ledger():
    return read_ledger(TABLES)


def markdown():
    "The Markdown of the book, by page."
    pages = {path.stem: path.read_text() for path in (ROOT / "nbs").glob("*.md")}
    for path, nb in notebooks():
        cells = [c for c in nb["cells"] if c["cell_type"] == "markdown"]
        pages[path.stem] = "\n".join("".join(cell["source"]) for cell in cells)
    return pages


def missing_labels(ledger, labels):
    "The labels that explanations and readings name, and the book does not have."
    named = {e["page"] for cell in ledger for e, _ in cell.experiments}
    named |= {e["page"] for cell in ledger for e in cell.limits}
    named |= {r["page"] for cell in ledger for r, _ in cell.readings if r["page"]}
    return named - labels


def test_every_printed_cell_is_there(ledger):
    for table_id, n_cells in PRINTED.items():
        with open(TABLES / table_id / "paper.csv", newline="") as stream:
            lines = {(line["row"], line["column"]) for line in csv.DictReader(stream)}
        assert len(lines) == n_cells
        assert {c.where for c in ledger if c.table == table_id} == lines
    assert len(ledger) == sum(PRINTED.values()) == 104
    assert sum(part.n_cells for part in LEDGER_PARTS) == 104


def values_of(table, where):
    "The stored values of a cell, without a line of the package."
    with open(TABLES / table / "ours.csv", newline="") as stream:
        return [
            float(line["value"])
            for line in csv.DictReader(stream)
            if (line["row"], line["column"]) == where
        ]


def test_distances_and_marks_by_other_means(ledger):
    "From the files, without a line of the package."
    for cell in ledger:
        stored = "forest-table1-mkl" if cell.column == "MKL" else cell.table
        ours = values_of(stored, cell.where)
        own, n = statistics.stdev(ours), len(ours)
        bare = math.isnan(cell.printed_sd)
        sd = own if bare else cell.printed_sd
        of_means = math.sqrt((sd**2 + own**2) / n)
        away = abs(statistics.fmean(ours) - cell.printed)
        assert math.isclose(abs(cell.strict) * of_means, away, abs_tol=1e-9)
        assert math.isclose(abs(cell.lenient) * sd, away, abs_tol=1e-9) or not sd
        unit = of_means if bare else sd  # that of the rule that decides
        assert (cell.mark == "outside") == (away > 2 * unit)
        if away <= 2 * unit:
            kernels = cell.column.endswith("kernels")
            excluded = [
                k for k in range(1, 70) if kernels and abs(k - cell.printed) > 2 * sd
            ]
            tells = not kernels or len(excluded) > 3
            assert cell.mark.startswith("inside") == tells
            assert (cell.mark == "cannot tell") == (not tells)
            name = "both" if away <= 2 * of_means else "lenient only"
            assert cell.outcome == (name if tells else "cannot tell")


def test_a_cell_that_agrees_in_name_only(ledger):
    "5.6 beside 13.7 +- 4.4: inside by the lenient rule, and far outside by the strict."
    (cell,) = [
        c for c in ledger if c.part == "rrsn-table2" and c.where == ("RRSN", "auc-pr")
    ]
    assert abs(cell.lenient) < 2 < 3.5 < abs(cell.strict)
    assert cell.outcome == "lenient only"


def test_what_explains_moves_more_in_than_out(ledger):
    "Experiment by experiment, from the files: whole columns, and more in than out."
    shown = {}
    for cell in ledger:
        for entry, away in cell.experiments:
            table, rows = shown.setdefault((entry["table"], entry["says"]), ({}, []))
            table[cell.where] = cell, away
            rows += [cell.row] if entry["unchanged"] else []
    assert shown
    for (name, _), (found, rows) in shown.items():
        families = {re.sub(r" \d+$", "", column) for _, column in found}
        (table,) = {cell.table for cell, _ in found.values()}
        assert found.keys() == {
            c.where
            for c in ledger
            if c.table == table
            and re.sub(r" \d+$", "", c.column) in families
            and (not rows or c.row in rows)
        }
        moves = {"in": 0, "out": 0, "": 0}
        for cell, away in found.values():
            was, is_now = abs(cell.distance) <= 2, abs(away) <= 2
            move = {(False, True): "in", (True, False): "out"}.get((was, is_now), "")
            moves[move] += 1
            assert cell.outcome != "explained" or any(
                cell.move(a) == "in" for _, a in cell.experiments
            )
        assert moves["in"] > moves["out"], name
    (pima,) = [c for c in ledger if c.where == ("Pima", "MKL")]
    assert pima.move(pima.experiments[0][1]) == "out"  # and is shown as such


def test_out_of_reach_is_no_explanation(ledger):
    "The best of each method that is stored for the row lies below the printed value."
    limited = [c for c in ledger if c.limits]
    assert {c.where for c in limited} == {
        ("Pima", "SVM+forest"),
        ("Spambase", "SVM+forest"),
        ("Spambase", "vote"),
    }
    for cell in limited:
        assert cell.outcome == "out of reach"
        with open(TABLES / "forest-table1-ceiling" / "ours.csv", newline="") as stream:
            lines = [line for line in csv.DictReader(stream) if line["row"] == cell.row]
        best = max(
            statistics.fmean(float(x["value"]) for x in lines if x["column"] == column)
            for column in {line["column"] for line in lines}
        )
        unit = statistics.stdev(cell.values) * math.sqrt(1 / 5 + 1 / 20)
        assert best < cell.printed - 2 * unit


def test_marks_are_those_of_the_labs(ledger):
    "Where a deviation is printed, the table of a lab says the same."
    for part in LEDGER_PARTS:
        frame = tables.compare(tables.find(part.stored), TABLES / part.stored)
        marks = frame.set_index(["row", "column"])["mark"]
        for cell in (c for c in ledger if c.part == part.name):
            if not math.isnan(cell.printed_sd):
                assert marks[cell.where] == cell.mark


def test_limits_hold_what_is_printed_and_measured(ledger):
    for cell in ledger:
        assert cell.low <= cell.printed <= cell.high
        assert cell.low <= min(cell.values) and max(cell.values) <= cell.high


def test_totals(ledger):
    total = tables.ledger.count_outcomes(ledger)
    outside = [c for c in ledger if c.mark == "outside"]
    inside = [c for c in ledger if c.mark.startswith("inside")]
    assert total.both + total.lenient_only == len(inside)
    assert total.both == sum(abs(c.strict) <= 2 for c in inside)
    settled = total.accepted + total.explained + total.out_of_reach
    assert settled + total.unexplained == len(outside)
    assert total.lenient == len(inside) + total.cannot_tell
    assert total.strict == sum(abs(c.strict) <= 2 for c in ledger)
    assert total.cells == sum(total[3:])
    for cell in outside:
        known = [cell.readings, cell.limits]
        known += [entry for entry, a in cell.experiments if abs(a) <= 2]
        assert (cell.outcome == "unexplained") == (not any(known))
    rows = tables.ledger.totals_table(ledger)[1]
    assert rows[-1][1:-1] == list(total)
    assert [sum(column) for column in zip(*(r[1:-1] for r in rows[:-1]))] == list(total)


def test_lines(ledger):
    total = tables.ledger.count_outcomes(ledger)
    line = tables.ledger.ledger_line("all", ledger)
    assert line.startswith(
        f"104 printed cells: {total.both} within two deviations by both rules, "
        f"{total.lenient_only} by the lenient rule only, "
    )
    counts = [int(count) for count in re.findall(r"\d+", line)]
    assert counts[0] == sum(counts[1:]) == 104
    assert tables.ledger.ledger_line("ok3-figure2", ledger).startswith(
        "1 printed cell: "
    )
    data = re.findall(r"\d+", tables.ledger.ledger_line("data", ledger))
    assert int(data[0]) + int(data[2]) + int(data[3]) == int(data[1]) == 104
    with pytest.raises(LedgerError, match="unknown part of the ledger 'rrsn'"):
        tables.ledger.ledger_line("rrsn", ledger)


def test_explanations_lead_to_sections(ledger):
    labels = {name for text in markdown().values() for name in LABEL.findall(text)}
    assert missing_labels(ledger, labels) == set()
    assert {part.lab for part in LEDGER_PARTS} <= labels


def test_every_page_quotes_its_totals():
    pages = markdown()
    for page, names in {
        "11_image_completion": ["ok3-table1"],
        "12_enzyme_network": ["ok3-figure2"],
        "21_synthetic_networks": ["all"],
        "22_coauthors": ["rrsn-table1"],
        "23_protein_interactions": ["rrsn-table2", "rrsn-table3"],
        "31_uci": [f"forest-table1 {name}" for name in ("vote", "SVM+forest", "MKL")],
        "31_uci_1_reproduction": ["forest-table1 MKL"],
        "41_protein_localisation": ["mkl-table1"],
    }.items():
        assert set(names) <= set(re.findall(r"\{ledger\}`(.*?)`", pages[page]))
    assert "{ledger}`all`" in pages["index"].partition("## What the book contains")[0]


# What is said of a table, and what is refused.

SAID = 'data = "gaps"\n'
ENTRY = """
[[explained]]
rows = ["local"]
by = "rrsn-table2-why"
key = {row = "local unweighted", column = "{column}, ranks within each machine"}
page = "lab-rrsn-proteins"
says = "The spectrum of OK3 and of R2Q is another one."
unchanged = "They are other methods."
"""
LIMIT = """
[[out_of_reach]]
rows = ["local"]
columns = ["auc-pr"]
by = "toy-limits"
page = "lab-rrsn-proteins"
says = "No method comes near."
"""
ACCEPTED = """
[[accepted]]
reading = "a toy"
table = "toy-readings"
key = {row = "toy, {row}"}
"""


@pytest.fixture
def folder(tmp_path):
    "The stored tables, where what is said of rrsn-table2 can be changed."
    for path in filter(Path.is_dir, TABLES.iterdir()):
        if path.name != "rrsn-table2":
            (tmp_path / path.name).symlink_to(path)
    shutil.copytree(TABLES / "rrsn-table2", tmp_path / "rrsn-table2")
    return tmp_path


def say(folder, text):
    (folder / "rrsn-table2" / "ledger.toml").write_text(text)
    return {
        cell.where: cell for cell in read_ledger(folder) if cell.table == "rrsn-table2"
    }


def test_an_explanation_holds_for_the_cells_that_it_names(folder):
    bare, told = say(folder, SAID), say(folder, SAID + ENTRY)
    changed = {("local", "auc-roc"), ("local", "auc-pr")}
    for where in bare:
        if where in changed:
            assert bare[where].outcome == "unexplained"
            assert told[where].outcome == "explained"
        else:
            assert bare[where] == told[where]
    row = tables.ledger.cells_table([told["local", "auc-pr"]])[1][0]
    assert row[-1] == "+0.4 by rrsn-table2-why (lab-rrsn-proteins), in"
    (told,) = tables.ledger.ledger_sentences(list(told.values()))
    assert told.endswith(
        "(lab-rrsn-proteins): The spectrum of OK3 and of R2Q is another one. They are "
        "other methods."
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ('data = "borrowed"', "unknown data 'borrowed': expected own, gaps, stand-in"),
        ("", "'data' of the file is missing, unknown or of a wrong type: expected "),
        ("data = 1", "'data' of the file is"),
        ("data = ", "ledger.toml: Invalid value"),
        (SAID + "mood = 'good'", "'mood' of the file is"),
        (SAID + "[data_of_rows]\nem2 = 'own'", "unknown row 'em2': the source prints "),
        (SAID + "[data_of_columns]\nem = 'own'", "unknown column 'em'"),
        (SAID + "explained = ['x']", "explained must be a table, got 'x'"),
        (SAID + ENTRY + "who = 'we'", "'who' of explained is"),
        (SAID + ENTRY.replace('["local"]', '["rem"]'), "unknown row 'rem'"),
        (SAID + ENTRY + "columns = ['auc']", "unknown column 'auc'"),
        (SAID + ENTRY.replace("-why", "-how"), "unknown table 'rrsn-table2-how'"),
        (SAID + ENTRY.replace("another", "0.3 larger"), "a sentence without figures"),
        (SAID + ENTRY.replace("by =", "#"), "'by' of explained is"),
        (SAID + ENTRY.replace('["local"]', '"local"'), "'rows' of explained is"),
        (SAID + ENTRY.replace("They", "The 4"), "'unchanged' must be a sentence with"),
        (
            SAID + ENTRY.replace("unchanged", "#"),
            "the experiment 'rrsn-table2-why' leaves out em, auc-roc: it must be shown",
        ),
        (
            SAID + ENTRY.replace("local unweighted", "local"),
            "explains nothing of 'rrsn-table2': it moves 0 cells in and 0 out",
        ),
        (
            SAID + ENTRY.replace("local unweighted", "nobody"),
            "table 'rrsn-table2-why' has no cell nobody, auc-roc, ranks within each",
        ),
        (SAID + LIMIT, "unknown table 'toy-limits'"),
        (SAID + ACCEPTED, "unknown table 'toy-readings'"),
        (SAID + ACCEPTED.replace("row =", "line ="), "'line' of key is"),
    ],
)
def test_a_wrong_entry_is_refused(folder, text, message):
    with pytest.raises(LedgerError, match=re.escape(message)):
        say(folder, text)


def test_a_missing_and_a_strange_file_are_refused(folder):
    (folder / "rrsn-table2" / "ledger.toml").unlink()
    with pytest.raises(LedgerError, match="ledger.toml is missing"):
        read_ledger(folder)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "ledger.toml").write_text(SAID)
    with pytest.raises(LedgerError, match="unknown table 'elsewhere'"):
        read_ledger(folder)


def test_a_wrong_label_is_noticed(folder):
    cells = say(folder, SAID + ENTRY.replace("lab-rrsn-proteins", "sec-nowhere"))
    assert missing_labels(cells.values(), {"ledger"}) == {"sec-nowhere"}


def test_a_wrong_number_of_printed_cells_is_refused(folder, monkeypatch):
    parts = [
        p._replace(n_cells=p.n_cells + (p.name == "rrsn-table2")) for p in LEDGER_PARTS
    ]
    monkeypatch.setattr(tables.ledger, "LEDGER_PARTS", tuple(parts))
    with pytest.raises(LedgerError, match="has 11 printed cells, not 10"):
        read_ledger(folder)
    monkeypatch.setattr(tables.ledger, "LEDGER_PARTS", LEDGER_PARTS[:2])
    with pytest.raises(LedgerError, match="unknown table"):
        read_ledger(folder)


def toy_reading(row, column, away, printed):
    "A value that is so many deviations away from the printed one."
    value, sd = printed[row.removeprefix("toy, "), column]
    return value + away.get((row.removeprefix("toy, "), column), 1.5) * sd


def store_readings(folder, away, rows):
    "Store a table of readings that lie 1.5 deviations away, but for some cells."
    printed = tables.read_paper(TABLES / "rrsn-table2")
    table = tables.Table(
        "toy-readings",
        rows=[f"toy, {row}" for row in rows],
        columns=["auc-roc", "auc-pr"],
        repeats=2,
        compute=partial(toy_reading, away=away, printed=printed),
    )
    tables.run(table, folder / table.id, progress=False)


ROWS = ("em", "Pkernel", "local", "OK3+ET", "RRSN")


def test_an_experiment_that_moves_more_out_is_refused(folder):
    """Four cells of the toy come in, of the six that are inside none, or three, or
    four, go out."""
    entry = """
[[explained]]
by = "toy-readings"
key = {row = "toy, {row}"}
page = "lab-rrsn-proteins"
says = "A toy."
"""
    inside = [w for w, c in say(folder, SAID).items() if c.mark.startswith("inside")]
    assert len(inside) == 6
    store_readings(folder, dict.fromkeys(inside[:3], -3.0), ROWS)
    cells = say(folder, SAID + entry)
    outcomes = [cell.outcome for cell in cells.values()]
    assert outcomes.count("explained") == 4
    for where, cell in cells.items():
        ((_, away),) = cell.experiments
        expected = "out" if where in inside[:3] else "" if where in inside else "in"
        assert cell.move(away) == expected
        shown = tables.ledger.cells_table([cell])[1][0][-1]
        assert shown.endswith(f", {expected}") or not expected
    shutil.rmtree(folder / "toy-readings")
    store_readings(folder, dict.fromkeys(inside[:4], -3.0), ROWS)
    with pytest.raises(LedgerError, match="moves 4 cells in and 4 out"):
        say(folder, SAID + entry)


@pytest.mark.parametrize("away, reached", [(2.5, False), (1.5, True), (-3.0, True)])
def test_a_limit_must_be_beyond_two_deviations_on_our_side(folder, away, reached):
    "In units of the difference of the means: ours of the cell is above the print."
    cell = say(folder, SAID)["local", "auc-pr"]
    unit = math.sqrt(cell.printed_sd**2 / 5 + statistics.stdev(cell.values) ** 2 / 2)
    table = tables.Table(
        "toy-limits",
        rows=["local"],
        columns=["a", "b"],
        repeats=2,
        compute=partial(toy_limit, near=cell.printed + away * unit, far=99.0),
    )
    tables.run(table, folder / table.id, progress=False)
    if reached:
        with pytest.raises(LedgerError, match="local, auc-pr of 'rrsn-table2' is not"):
            say(folder, SAID + LIMIT)
    else:
        assert say(folder, SAID + LIMIT)["local", "auc-pr"].outcome == "out of reach"


def toy_limit(column, near, far):
    "One of two values."
    return near if column == "a" else far


def test_an_accepted_reading_reaches_all_cells(folder):
    store_readings(folder, {}, ROWS)
    cells = say(folder, SAID + ACCEPTED + ENTRY)
    bare = say(folder, SAID)
    for where, cell in cells.items():
        ((reading, distance),) = cell.readings
        assert reading["reading"] == "a toy" and math.isclose(distance, 1.5)
        was = bare[where].outcome
        assert cell.outcome == ("accepted" if was == "unexplained" else was)
    line = tables.ledger.ledger_line("rrsn-table2", list(cells.values()))
    assert "4 reached by an accepted reading" in line and "unexplained" not in line


def test_a_reading_that_misses_a_cell_is_refused(folder):
    store_readings(folder, {("RRSN", "auc-pr"): -2.1}, ROWS)
    message = "cannot be accepted: RRSN, auc-pr is -2.10 deviations away"
    with pytest.raises(LedgerError, match=message):
        say(folder, SAID + ACCEPTED)


def test_cells_that_a_reading_does_not_change_count_as_they_are(folder):
    "em, Pkernel and local have cells outside, RRSN and OK3+ET have none."
    store_readings(folder, {}, ROWS[:3])
    message = "has no cell toy, OK3+ET, auc-roc"
    with pytest.raises(LedgerError, match=re.escape(message)):
        say(folder, SAID + ACCEPTED)
    cells = say(folder, SAID + ACCEPTED + 'rows = ["em", "Pkernel", "local"]\n')
    assert {c.outcome for c in cells.values()} == {"both", "lenient only", "accepted"}
    assert cells["RRSN", "auc-pr"].readings[0][1] == cells["RRSN", "auc-pr"].distance
    with pytest.raises(LedgerError, match="cannot be accepted: local"):
        say(folder, SAID + ACCEPTED + 'rows = ["em", "Pkernel"]\n')


# The command and the role.


def test_command(capsys, monkeypatch, ledger):
    monkeypatch.chdir(ROOT)
    assert main(["ledger"]) == 0
    seen = capsys.readouterr().out
    assert seen.splitlines()[-2] == tables.ledger.ledger_line("all", ledger)
    assert (
        f"| all | {' | '.join(map(str, tables.ledger.count_outcomes(ledger)))} |"
        in seen
    )
    assert main(["ledger", "--all", "--csv"]) == 0
    lines = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert len(lines) == 105 and lines[0][:3] == ["table", "row", "column"]
    assert main(["ledger", "rrsn-table2"]) == 0
    assert capsys.readouterr().out.count("| rrsn-table2 |") == 10
    assert main(["ledger", "rrsn-table9"]) == 1
    assert "unknown part of the ledger" in capsys.readouterr().err


def test_role(tmp_path, ledger):
    "In a book of two pages, one of which names no part of the ledger."
    (tmp_path / "conf.py").write_text(
        'extensions = ["myst_parser", "okbook_book.ledger"]\n'
    )
    (tmp_path / "index.md").write_text("# Book\n\nTotals: {ledger}`all`\n")
    (tmp_path / "other.md").write_text("# Other\n\n{ledger}`everything`\n")
    command = ["-m", "sphinx", "-q", "-b", "text", ".", "out"]
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'book'}"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = " ".join((tmp_path / "out" / "index.txt").read_text().split())
    assert f"Totals: {tables.ledger.ledger_line('all', ledger)}" in text
    (error,) = [line for line in done.stderr.splitlines() if "ERROR" in line]
    assert "other.md" in error and "unknown part of the ledger 'everything'" in error


@pytest.mark.parametrize("limits", [{"3": (1, 1)}, {"4": (0, 1)}, {"*": (2, 1)}])
def test_limits_of_a_table_are_checked(limits):
    with pytest.raises(ValueError, match="limits of a table are a column and a pair"):
        tables.Table("areas", ["1"], ["3"], 1, compute=max, limits=limits)


def test_limits_are_those_of_the_first_pattern():
    limits = {"a *": (0, 1), "*": (0, 2)}
    table = tables.Table("x", ["1"], ["a b", "b"], 1, compute=max, limits=limits)
    assert [table.limits_of(c) for c in table.columns] == [(0, 1), (0, 2)]
    bare = tables.Table("x", ["1"], ["a"], 1, compute=max)
    assert bare.limits_of("a") == (-math.inf, math.inf)
