"""The book's Sphinx extension.

- ``#|`` directives of nbdev become cell tags (`directives`);
- engineering, and code that only formats, is folded (`folds`);
- figures have their size, and a form by night (`figures`); numbers do not break, and
  empty heads of tables are cells (`tables`);
- the cards of the gallery show a figure of their page (`gallery`);
- docstrings in the chapters' code are cut short, and linked to the API (`docstrings`);
- ``{quiz}`` holds questions whose answers open (`quiz`); an exercise shows its level,
  and says when its solution is not printed (`exercises`); the class edition is made of
  the same pages (`classes`, with `plain`: ``make class``);
- equations of a source wear the source's own number in the margin (`numbers`);
- ``{equation-index}`` lists equation, page, function and test (`equations`);
- ``{claims-index}`` lists the statements that pages have tried to refute (`claims`);
- ``{ledger}`` quotes the totals of the ledger (`ledger`);
- links show what they lead to, offline (`previews`);
- docstrings in the API point to the equations, and only public bases are shown (`api`);
- each public object has a page, with links to its cell in the book (`api_pages`);
- a page and its sections name their layer, and "Next" stays in it (`layers`);
- ``{weights-figure}`` draws the figure of the landing page (`landing`);
- a style for paper (`pdf`, which also prints the book: ``make pdf``);
- mathematics is set by KaTeX when the book is built (`mathematics`);
- notebooks are cached on all they depend on, and each page says how long it ran
  (`pages`).

Not a part of the extension: `execute` runs the notebooks before the build, several at
once, each after `startup`; `checks` looks at the project as a whole.
"""


def setup(app):
    # here, so that the other modules run without Sphinx
    from . import (
        api,
        api_pages,
        claims,
        classes,
        directives,
        docstrings,
        equations,
        exercises,
        figures,
        folds,
        gallery,
        landing,
        layers,
        ledger,
        mathematics,
        numbers,
        pages,
        pdf,
        previews,
        quiz,
        tables,
    )

    for part in (
        directives,
        figures,
        folds,
        gallery,
        tables,
        docstrings,
        quiz,
        exercises,
        classes,
        numbers,
        mathematics,
        equations,
        claims,
        ledger,
        landing,
        layers,
        api,
        api_pages,
        pages,
        pdf,
        previews,
    ):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
