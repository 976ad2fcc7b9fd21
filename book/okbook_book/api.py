"""Docstrings, as the API pages show them: labels become links, and each ends with
its chapter."""

import re

from .equations import LABEL, chapters, equation_index, face

BARE = re.compile(rf"``({LABEL.pattern})``|(?<!`)({LABEL.pattern})(?![\w`-])")
_SKIP = (
    "set_fit_request",
    "set_predict_request",
    "set_score_request",
    "set_transform_request",
)


def link_equations(app, what, qualname, obj, options, lines):
    "Turn the bare labels in a docstring (``eq-ok3-11``) into links to the equation."
    index = equation_index()

    def link(match):
        label = match[1] or match[2]
        if label not in index or not index[label].pages:
            return match[0]
        return f":{'eq' if label.startswith('eq-') else 'prf:ref'}:`{label}`"

    lines[:] = [BARE.sub(link, line) for line in lines]


def name_chapter(app, what, qualname, obj, options, lines):
    "End the docstring of a function or class with the chapter it is derived in."
    module = getattr(obj, "__module__", None)
    doc, label = chapters().get(module, (None, None))
    shown = qualname.rpartition(".")[0] in (module, face(module or ""))
    if what in ("class", "function", "exception") and label and shown:
        if any(f"`{label}`" in line for line in lines):
            return
        lines += [
            "",
            ".. container:: derived-in",
            "",
            f"   Derived in :ref:`{label}`.",
            "",
        ]


def skip_generated(app, what, qualname, obj, skip, options):
    "Leave out the metadata setters that scikit-learn generates."
    return True if qualname in _SKIP else skip


def setup(app):
    app.connect(
        "autodoc-process-docstring", link_equations, priority=900
    )  # after numpydoc
    app.connect(
        "autodoc-process-docstring", name_chapter, priority=900
    )  # after numpydoc
    app.connect("autodoc-skip-member", skip_generated)
