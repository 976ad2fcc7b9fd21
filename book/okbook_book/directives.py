"""Let Jupyter Book honour nbdev's ``#|`` directives.

Runs on Sphinx's ``source-read`` event, on the notebook's JSON before myst-nb parses or
executes it; the file on disk, which readers download, is untouched.
"""

import json
from pathlib import Path

from . import equations, exercises
from .project import split

TAGS = {
    "hide": "remove-cell",
    "default_exp": "remove-cell",
    "export": "export",
    "exports": "export",
    "exporti": "export",
    "hide_input": "remove-input",
    "hide_output": "remove-output",
    "show_input": "show-input",
    "demonstration": "demonstration",
    "stub": "show-input",
    "test": "judge",
}


def tags(found, skip=()):
    """The cell tags that directives `found` stand for; a flag in `skip` stops the
    cell from running."""
    out = [TAGS[d] for d in found if d in TAGS]
    if found.get("eval", "").lower() == "false" or set(skip) & found.keys():
        out.append("skip-execution")
    return out


def apply(nb, skip=()):
    "Strip directives from `nb` (a dict, in place), turning them into cell tags."
    for cell in nb["cells"]:
        if cell["cell_type"] != "code":
            continue
        found, source = split("".join(cell["source"]))
        if found:
            cell["metadata"].setdefault("tags", []).extend(tags(found, skip))
            cell["source"] = source
    return nb


def mark_tests(nb):
    """Put a link target before each visible cell that tests an equation, for the
    index to point to."""
    cells = []
    for n, cell in enumerate(nb["cells"]):
        hidden = {"remove-cell", "export"} & set(cell["metadata"].get("tags", ()))
        if (
            cell["cell_type"] == "code"
            and not hidden
            and equations.is_test("".join(cell["source"]))
        ):
            target = f"({equations.cell_anchor(nb, n)})="
            cells.append(
                {
                    "cell_type": "markdown",
                    "id": f"target-{n}",
                    "metadata": {},
                    "source": target,
                }
            )
        cells.append(cell)
    return nb | {"cells": cells}


def as_built(text, skip=()):
    "A notebook's JSON as the build parses and executes it."
    nb = exercises.announce(json.loads(text))
    return json.dumps(mark_tests(apply(nb, skip)))


def source_read(app, docname, content):
    notebook = Path(app.env.doc2path(docname)).suffix == ".ipynb"
    if notebook and app.config.okbook_edition == "book":
        content[0] = as_built(content[0], app.config.nbdev_skip_flags)


def setup(app):
    app.add_config_value("nbdev_skip_flags", [], "env", [list])
    app.add_config_value("okbook_edition", "book", "env", [str])  # or class
    app.connect("source-read", source_read)
