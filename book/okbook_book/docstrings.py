"""Docstrings inside the chapters' code: cut to what they say first, with links to the
whole of them.

Only what is displayed changes, after the notebook was executed. Its file, the copy that
readers download, and the package keep every word.
"""

import ast
import io
import re
import tokenize

from docutils import nodes

from . import equations

SECTION = re.compile(r"^[ \t]*[A-Z][A-Za-z ]+\n[ \t]*-{3,}[ \t]*$", re.M)
CUT = "[...]"
REMARK = re.compile(r"  # type: ignore\[[\w, -]+\]")


def shorten(literal, column, width=88):
    """The string literal that begins at `column` without its numpydoc sections; None
    if it has none."""
    section = SECTION.search(literal)
    quotes = literal[-3:]
    if quotes not in ('"""', "'''") or not section:
        return None
    kept = literal[: section.start()].rstrip()
    if "\n" not in kept and column + len(f"{kept} {CUT}{quotes}") <= width:
        return f"{kept} {CUT}{quotes}"
    margin = " " * (len(section[0]) - len(section[0].lstrip()))
    return f"{kept}\n\n{margin}{CUT}\n{margin}{quotes}"


def fold(source):
    """The source of a cell with shorter docstrings and without remarks to the type
    checker, and the lines on which the docstrings began."""
    lines, found = source.splitlines(keepends=True), []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING and (
            short := shorten(token.string, token.start[1])
        ):
            found.append((token.start, token.end, short))
    for (row, column), (last, end), short in reversed(found):
        lines[row - 1 : last] = [
            lines[row - 1][:column] + short + lines[last - 1][end:]
        ]
    text = REMARK.sub("", "".join(lines))
    return text, [start[0] for start, _, _ in found]


def defined(source):
    "The functions, classes and constants that a cell defines, each once."
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [
                part.id
                for target in targets
                for part in ast.walk(target)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            ]
    return list(dict.fromkeys(names))


def links(app, fromdoc, source, rows):
    """References to the API for what a cell defines; for a docstring that is cut, to
    the whole module if the cell names nothing public."""
    domain, out, whole = app.env.get_domain("py"), [], []
    for module in map(equations.face, equations.exports(fromdoc)):
        for name in defined(source):
            if known := domain.objects.get(f"{module}.{name}"):
                text = nodes.literal(name, name)
                out.append(
                    equations.refer(app, fromdoc, known.docname, known.node_id, text)
                )
        if known := domain.modules.get(module):
            text = nodes.literal(module, module)
            whole.append(
                equations.refer(app, fromdoc, known.docname, known.node_id, text)
            )
    return out or (whole if rows else [])


def note(references, rows):
    said = "In full, with parameters and examples: " if rows else "In the API: "
    out = nodes.paragraph("", "", nodes.Text(said), classes=["in-full"])
    for i, reference in enumerate(references):
        out += [nodes.Text(", "), reference] if i else [reference]
    out += nodes.Text(".")
    return out


def resolve(app, doctree, fromdoc):
    for cell in doctree.findall(nodes.container):
        if "tag_export" not in cell["classes"]:
            continue
        for block in list(cell.findall(nodes.literal_block)):
            if "cell_input" not in block.parent["classes"]:
                continue
            source, rows = fold(block.astext())
            references = links(app, fromdoc, block.astext(), rows)
            block.rawsource, block.children = source, []
            block += nodes.Text(source)
            if references:
                block.parent.insert(
                    block.parent.index(block) + 1, note(references, rows)
                )


def setup(app):
    app.connect("doctree-resolved", resolve)
