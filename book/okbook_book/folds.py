"""What a page folds: engineering, and code that only formats what stands below it.

One rule for the whole book (`kind`) looks at the code of a cell: a cell needs no tag. A
tag about its input goes before the rule, ``hide-input`` to fold it and ``show-input``
to leave it open; ``code_prompt_show`` in its metadata names its bar. Each run of folded
cells, with nothing visible between them, is put behind one bar: a ``details`` element,
which needs no script. The tests of a section stand behind one bar, where the last of
them stands. Only HTML folds; other formats show everything, and nothing is decided
before the notebooks are executed and cached.
"""

import ast
import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from .project import plain

SHORT = 12  # lines of an idea, or of a test, without its docstring
LONG = 20  # lines of a demonstration
TABLES = {"markdown", "markdown_table"}
FORMATS = TABLES | {"Markdown", "HTML", "SVG", "Image", "display"}


def lines(tree, source):
    "How many lines of code there are, without docstrings, comments and empty lines."
    dropped = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            dropped |= set(range(body[0].lineno, body[0].end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and n not in dropped
        for n, line in enumerate(source.splitlines(), 1)
    )


def names(tree):
    """What a cell defines at its top, or else the constants that it sets; without its
    private part, if there is another."""
    defined = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    found = defined or [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return [name for name in found if name[0] != "_"] or found


def listed(items, most=3):
    "``a, b and c``; of more than `most`, the first and an ellipsis."
    if len(items) > most:
        return ", ".join([*items[:most], "…"])
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def called(tree):
    "The names of the functions and methods that a cell calls."
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {getattr(f, "id", getattr(f, "attr", "")) for f in functions}


def draws(tree):
    "Whether a cell draws with matplotlib."
    return any(isinstance(n, ast.Name) and n.id == "plt" for n in ast.walk(tree))


def tests(tree):
    "Whether a cell asserts."
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    return asserts or any(name.startswith("assert_") for name in called(tree))


def kind(source, exported=False, judge=False):
    """What a cell is to a reader, as its bar will call it, and whether it is folded.

    Imports, figures, tables, sentences and tests are; what is exported is when it is a
    class or longer than `SHORT` lines, and so is the test that judges an answer;
    another cell when it is longer than `LONG` lines.
    """
    tree = ast.parse(plain(source))
    size, calls = lines(tree, source), called(tree)
    if all(isinstance(n, ast.Import | ast.ImportFrom) for n in tree.body):
        return "the imports", True
    if exported:
        has_class = any(isinstance(n, ast.ClassDef) for n in tree.body)
        return listed(names(tree)) or "the code", has_class or size > SHORT
    if draws(tree):
        return "the code of the figure", True
    if FORMATS & calls:
        return f"the code of the {'table' if TABLES & calls else 'text'}", True
    if tests(tree):
        return "the test", size > SHORT or not judge
    return "the code of the example", size > LONG


def is_hidden(source, tags):
    "What a cell is, and whether it is folded: a tag about its input goes first."
    what, folded = kind(source, "export" in tags, "judge" in tags)
    return what, "hide-input" in tags or (folded and "show-input" not in tags)


class Fold(nodes.General, nodes.Element):
    "A bar that opens; its summary is plain text."


def visit(self, node):
    self.body.append(self.starttag(node, "details", CLASS="okb-fold"))
    self.body.append(f"<summary>{self.encode(node['summary'])}</summary>\n")


def depart(self, node):
    self.body.append("</details>\n")


def decide(cell):
    "Whether a cell with code is folded, and what its bar is called."
    tags = {name.removeprefix("tag_") for name in cell["classes"]}
    what, hidden = is_hidden(cell[0].astext(), tags)
    if hidden:
        cell.setdefault("hide_mode", "input")
    own = cell["cell_metadata"].get("mystnb", {}).get("code_prompt_show")
    cell["prompt_show"] = own or what


def is_silent_test(cell):
    "Whether a cell tests the text, shows nothing, and judges no answer."
    judge = "tag_judge" in cell["classes"]
    return cell["prompt_show"] == "the test" and len(cell) == 1 and not judge


def is_folded(node):
    return isinstance(node, nodes.container) and bool(node.get("hide_mode"))


def summary(labels):
    "What a bar holds; of a long run, how many cells, and what the first ones define."
    labels = list(dict.fromkeys(labels))
    if len(labels) == 1:
        return labels[0]
    parts = [part for label in labels for part in re.split(", | and ", label)]
    count = f"{len(labels)} cells: " if len(labels) > 3 else ""
    return count + listed([part for part in parts if part != "…"])


def gather_tests(section):
    """Put the tests of a section behind one bar, where the last of them stands; a
    sentence that announces another one ends with a full stop then."""
    bars = [
        bar
        for bar in section.children
        if isinstance(bar, Fold) and "okb-tests" in bar["classes"]
    ]
    for bar in bars[:-1]:
        before = section[section.index(bar) - 1]
        if isinstance(before, nodes.paragraph) and isinstance(before[-1], nodes.Text):
            before[-1] = nodes.Text(re.sub(r":$", ".", before[-1].astext()))
        section.remove(bar)
    if len(bars) > 1:
        bars[-1]["summary"] = "the tests of this section"
        bars[-1].insert(0, [cell for bar in bars[:-1] for cell in bar.children])


class FoldCells(SphinxPostTransform):
    """Put each run of folded cells behind one bar.

    A cell that shows an output ends its run: its code goes behind the bar, the output
    stays below. It comes before myst-nb's own transform, which finds nothing to hide.
    """

    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs):
        code = [
            cell
            for cell in self.document.findall(nodes.container)
            if cell.get("nb_element") == "cell_code"
            and cell.children
            and cell[0].get("nb_element") == "cell_code_source"
        ]
        for cell in code:
            decide(cell)
        for parent in dict.fromkeys(cell.parent for cell in code):
            for group in self.groups(parent):
                self.merge(parent, group)
        for section in list(self.document.findall(nodes.section)):
            gather_tests(section)

    @staticmethod
    def groups(parent):
        "Runs of folded cells among the children of `parent`."
        group = []
        for child in list(parent):
            if is_folded(child):
                group.append(child)
                shows = child["hide_mode"] == "input" and len(child) > 1
            else:
                shows = not isinstance(child, nodes.Invisible)
            if shows and group:
                yield group
                group = []
        if group:
            yield group

    @staticmethod
    def merge(parent, group):
        bar = Fold(summary=summary([cell["prompt_show"] for cell in group]))
        if any("tag_export" in cell["classes"] for cell in group):
            bar["classes"].append("exports")
        if all(is_silent_test(cell) for cell in group):
            bar["classes"].append("okb-tests")
        parent.insert(parent.index(group[0]), bar)
        for cell in group:
            shown = cell.children[1:] if cell["hide_mode"] == "input" else []
            del cell["hide_mode"]
            at = parent.index(cell)
            parent.remove(cell)
            bar += cell
            if shown:
                for output in shown:
                    cell.remove(output)
                classes = [c for c in cell["classes"] if c != "tag_export"]
                parent.insert(at, nodes.container("", *shown, classes=classes))


def setup(app):
    app.add_node(Fold, html=(visit, depart))
    app.add_post_transform(FoldCells)
