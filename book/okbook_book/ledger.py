"""The totals of the ledger, wherever they are quoted.

The role ``{ledger}`` writes a line that is computed from the stored tables: ``all``
sums up all printed cells, the name of a table those of a table, and ``data`` says on
whose data they are. The README is plain Markdown: ``make readme`` renews it.
"""

from functools import cache

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from okbook.tables import TableError, read_ledger
from okbook.tables.ledger import ledger_line

from .project import ROOT


@cache
def cells():
    "The ledger, read once."
    return read_ledger(ROOT / "tables")


class LedgerRole(SphinxRole):
    "A line of the ledger."

    def run(self):
        for path in [ROOT / "okbook" / "tables" / "ledger.py", *stored_files()]:
            self.env.note_dependency(str(path))
        try:
            return [nodes.inline("", ledger_line(self.text, cells()))], []
        except TableError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [nodes.literal(self.rawtext, self.rawtext)], [message]


def stored_files():
    "What the ledger is read from: readings and experiments may be in any table."
    names = ("paper.csv", "ours.csv", "ledger.toml")
    return [path for name in names for path in sorted(ROOT.glob(f"tables/*/{name}"))]


def setup(app):
    app.add_role("ledger", LedgerRole())
