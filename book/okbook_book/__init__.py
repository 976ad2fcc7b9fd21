"""The book's Sphinx extension.

- ``#|`` directives of nbdev become cell tags (`directives`);
- equations of a source wear the source's own number in the margin (`numbers`);
- ``{equation-index}`` lists equation, page, function and test (`equations`);
- docstrings in the API pages point to the chapter they were derived in (`api`);
- MathJax is served by the book itself, notebooks are cached on all they depend on, and each page says
  how long it ran (`pages`).
"""


def setup(app):
    from . import api, directives, equations, numbers, pages  # here, so that the other modules run without Sphinx

    for part in (directives, numbers, equations, api, pages):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
