"""What the executed cells of a page tell a reader, and where two executions differ.

What a page says in Markdown is the same in both by construction. Of the code cells, all
text of the outputs is compared: what is printed, results in every textual form, and
HTML. Cells tagged as demonstrations may differ, and hidden ones, and the bytes of
images. A page that reads data draws the seconds it has measured, and does not print
them.
"""

import difflib
import re

UNSEEN = {"demonstration", "remove-cell", "remove-output"}
BYTES = re.compile(r"data:[\w/+.-]+;base64,[\w+/=\s]+|\b0x[0-9a-f]{6,}\b")


def said(cell):
    "The text that a code cell shows, piece by piece."
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
    return [BYTES.sub("…", piece) for piece in pieces]


def told(notebook):
    """What a notebook's page tells: {place of a cell: pieces of text}, without the
    cells that may differ."""
    return {
        n: said(cell)
        for n, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and not UNSEEN & set(cell.metadata.get("tags", ()))
    }


def differences(one, other, names=("without data", "with data")):
    """Where two executions of a notebook tell different things: place of a cell, and
    the lines that differ."""
    others = told(other)
    for n, pieces in told(one).items():
        mine, theirs = (
            "\n".join(text).splitlines() for text in (pieces, others.get(n, []))
        )
        lines = difflib.unified_diff(mine, theirs, *names, n=0, lineterm="")
        if shown := [line[:300] for line in lines if not line.startswith("@@")]:
            yield n, "\n  ".join(shown)
