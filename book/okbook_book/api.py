"""Docstrings and bases, as the API pages show them: labels become links, and private
bases are not shown."""

import re
from abc import ABC
from functools import partial

from jinja2 import BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx

from .equations import LABEL, equation_index

_LABEL = LABEL.pattern
BARE = re.compile(rf"``({_LABEL})``|\(({_LABEL})\)|(?<!`)({_LABEL})(?![\w`-])")
_SKIP = (
    "set_fit_request",
    "set_predict_request",
    "set_score_request",
    "set_transform_request",
)


def link_labels(text):
    "Turn the bare labels in a text (``eq-ok3-11``) into links to the equation."
    index = equation_index()

    def link(match):
        label = next(filter(None, match.groups()))
        if label not in index or not index[label].pages:
            return match[0]
        if label.startswith("eq-"):  # its number has parentheses of its own
            return f":eq:`{label}`"
        return match[0].replace("``", "").replace(label, f":prf:ref:`{label}`")

    return BARE.sub(link, text)


def link_equations(app, what, qualname, obj, options, lines):
    lines[:] = [link_labels(line) for line in lines]


def skip_generated(app, what, qualname, obj, skip, options):
    """Leave out the metadata setters that scikit-learn generates, and the fields of
    named tuples, which are listed as attributes."""
    if qualname in _SKIP or (obj.__doc__ or "").startswith("Alias for field number"):
        return True
    return skip


def public_bases(app, qualname, obj, options, bases):
    "Show the public classes behind the private ones that a class is built on."
    found = []
    for base in bases:
        found += _public(base)
    # a class is no news beside one of its subclasses
    bases[:] = [
        base
        for base in dict.fromkeys(found)
        if base not in (object, ABC)
        and not any(base is not one and issubclass(one, base) for one in found)
    ] or [object]


def _public(base):
    if not base.__name__.startswith("_"):
        return [base]
    return [one for parent in base.__bases__ for one in _public(parent)]


class _Compiled(BytecodeCache):
    "numpydoc compiles its template anew for each docstring: once is enough."

    kept = {}

    def load_bytecode(self, bucket):
        if bucket.key in self.kept:
            bucket.bytecode_from_string(self.kept[bucket.key])

    def dump_bytecode(self, bucket):
        self.kept[bucket.key] = bucket.bytecode_to_string()


def setup(app):
    docscrape_sphinx.SandboxedEnvironment = partial(
        SandboxedEnvironment, bytecode_cache=_Compiled()
    )
    app.connect(
        "autodoc-process-docstring", link_equations, priority=900
    )  # after numpydoc
    app.connect("autodoc-skip-member", skip_generated)
    app.connect("autodoc-process-bases", public_bases)
