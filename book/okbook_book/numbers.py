"""Equations of a source wear the source's own number: ``eq-ok3-11`` shows '(OK3 eq.
11)' in the margin."""

from sphinx.domains.math import MathDomain

from .equations import LABEL, name


class SourceMathDomain(MathDomain):
    def note_equation(self, docname, labelid, location=None):
        super().note_equation(docname, labelid, location)
        if LABEL.fullmatch(labelid):
            self.equations[labelid] = (docname, name(labelid))


def setup(app):
    app.add_domain(SourceMathDomain, override=True)
