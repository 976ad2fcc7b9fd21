"""The text of a page that is computed from stored tables: its cells, run without
those that compute something live."""

import ast
import contextlib
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

NOTEBOOKS = Path(__file__).parents[1] / "nbs"


def shown(page, names, wanted=lambda source: True):
    """Run the hidden imports of a page and the wanted ones of its other cells, and
    collect what they show.

    Exported cells are left out, `names` has what they define; and so are
    demonstrations.
    """
    cells = json.loads((NOTEBOOKS / f"{page}.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]
    space, said = {"np": np} | names, []
    with contextlib.chdir(NOTEBOOKS):
        for cell in cells:
            source = "".join(cell["source"])
            skipped = any(
                line.startswith(("#| export", "#| demonstration", "#| default_exp"))
                for line in source.split("\n")
            )
            if (
                cell["cell_type"] != "code"
                or skipped
                or not ("#| hide" in source or wanted(source))
            ):
                continue
            *body, last = ast.parse(source).body
            exec(compile(ast.Module(body, []), page, "exec"), space)
            if isinstance(last, ast.Expr):
                result = eval(compile(ast.Expression(last.value), page, "eval"), space)
                said.append(getattr(result, "data", ""))
            else:
                exec(compile(ast.Module([last], []), page, "exec"), space)
            plt.close("all")
    text = "\n".join(map(str, said))
    assert text.strip(), f"{page} shows nothing"
    return text
