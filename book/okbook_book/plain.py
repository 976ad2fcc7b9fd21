"""A page of the book as plain Markdown and code: what JupyterLab, Colab and VS Code
show, none of which knows roles, directives or the macros of the book.

`Markdown` walks a resolved page of Sphinx, and yields pieces: `Text`, and `Code` by the
cell's metadata. References have become words and links, formulas have their numbers as
``\\tag``, macros are expanded, theorems and exercises stand in boxes that all three
draw, and the answers of a quiz open by ``details``.
"""

import re
from dataclasses import dataclass, field

from docutils import nodes
from sphinx_exercise.nodes import is_exercise_node, solution_node
from sphinx_proof.nodes import NODE_TYPES, proof_node, unenumerable_node

from . import quiz
from .exercises import LEVELS, WRITTEN

THEOREMS = (*NODE_TYPES.values(), unenumerable_node)
COMMAND = re.compile(r"\\([A-Za-z]+)")
ARGUMENT = re.compile(r"\s*(\\[A-Za-z]+|\\.|[^{}\s\\])")
ENVIRONMENT = re.compile(
    r"\\begin\{(align|gather|equation|multline)(\*?)\}(.*)\\end\{\1\2\}", re.S
)
SPECIAL = re.compile(r"([\\`*$\[\]<])|(?<!\w)(_)|(_)(?!\w)")


@dataclass
class Text:
    "Markdown, and which exercise it belongs to: as its statement, or its solution."

    source: str
    exercise: str | None = None
    role: str = "text"
    kind: str = ""  # heading, theorem, proof, exercise, quiz, caption or paragraph


@dataclass
class Code:
    source: str
    what: dict = field(default_factory=dict)  # the metadata that `classes` has set
    exercise: str | None = None
    role: str = "code"


def expand(tex, macros):
    "A formula without the macros of the book, each argument of which stands once."
    out, at = [], 0
    while found := COMMAND.search(tex, at):
        out.append(tex[at : found.start()])
        at = found.end()
        body = macros.get(f"\\{found[1]}")
        if body is None:
            out.append(found[0])
            continue
        for k in range(body.count("#")):
            argument, at = take(tex, at)
            body = body.replace(f"#{k + 1}", expand(argument, macros))
        out.append(expand(body, macros))
        if re.search(r"\\[A-Za-z]+$", out[-1]) and tex[at : at + 1].isalpha():
            out.append(" ")
    return "".join(out) + tex[at:]


def take(tex, at):
    "The argument of a macro, and where it ends: a group, or one sign."
    start = re.compile(r"\s*").match(tex, at).end()
    if tex[start : start + 1] != "{":
        found = ARGUMENT.match(tex, at)
        return found[1], found.end()
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.S).finditer(tex, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return tex[start + 1 : found.start()], found.end()
    raise ValueError(f"a brace is open: {tex[start:]}")


def escape(text):
    "Text that no Markdown changes."
    return SPECIAL.sub(lambda m: "&lt;" if m[0] == "<" else "\\" + m[0], text)


def indent(text, by):
    "Lines below the first one, set in."
    return text.replace("\n", "\n" + by).replace(f"\n{by}\n", "\n\n")


class Markdown:
    """The pieces of a page. `number` gives the number of a node, as a text, `link` the
    address of a reference, or None where it stays in the page."""

    def __init__(self, macros, number, link):
        self.macros, self.number, self.link = macros, number, link
        self.level, self.roles = 0, []

    # blocks that may hold code cells

    def pieces(self, node, exercise=None, role="text"):
        "The pieces below a node, in order."
        for child in node.children:
            if isinstance(child, nodes.section):
                self.level += 1
                yield from self.pieces(child, exercise, role)
                self.level -= 1
            elif isinstance(child, nodes.title) and isinstance(node, nodes.section):
                head = "#" * min(self.level, 6)
                text = f"{head} {self.inline(child)}"
                yield Text(text, exercise, role, "heading")
            elif child.get("nb_element") == "cell_code" if is_element(child) else False:
                yield from self.cell(child, exercise, role)
            elif is_exercise_node(child):
                yield from self.exercise(child)
            elif isinstance(child, solution_node):
                yield from self.solution(child)
            elif is_element(child) and "okb-role" in child.get("classes", ()):
                self.roles.append(self.inline(child))
            elif isinstance(child, nodes.container | nodes.compound):
                yield from self.pieces(child, exercise, role)
            elif text := self.block(child):
                yield Text(text, exercise, role, self.kind(child))

    @staticmethod
    def kind(node):
        if isinstance(node, THEOREMS):
            return "theorem"
        names = {proof_node: "proof", quiz.Quiz: "quiz"}
        return names.get(type(node), "paragraph")

    def cell(self, node, exercise, role):
        what = node["cell_metadata"]
        its = what["okbook"]
        exercise = its.get("exercise", exercise)
        role = its["role"] if its["role"] != "code" or role == "text" else role
        source = next(node.findall(nodes.literal_block)).astext()
        yield Code(source, what, exercise, role)
        for figure in node.findall(nodes.figure):
            caption = next(figure.findall(nodes.caption), None)
            if caption is not None:
                number = self.number(figure, "figure")
                said = f"**Figure {number}.** {self.inline(caption)}"
                yield Text(said, exercise, role, "caption")

    def exercise(self, node):
        label, classes = node["label"], node["classes"]
        marks = [name for name in (*LEVELS, *WRITTEN) if name in classes]
        name = f"Exercise {self.number(node, 'exercise')}".rstrip()
        title = self.inline(node[0]).strip()
        head = f"#### {name} {title}".rstrip()
        head += f" · *{', '.join(marks)}*" if marks else ""
        body = self.blocks(node.children[1:])
        yield Text(box("warning", f"{head}\n\n{body}"), label, "statement", "exercise")

    def solution(self, node):
        label = node["target_label"]
        head = f"##### {self.inline(node[0]).strip()}"
        yield Text(head, label, "solution", "heading")
        for child in node.children[1:]:
            if isinstance(child, nodes.section):
                yield from self.pieces(child, label, "solution")
            elif text := self.block(child):
                yield Text(text, label, "solution", "paragraph")

    # blocks of text

    def blocks(self, children):
        return "\n\n".join(filter(None, map(self.block, children)))

    def block(self, node):
        "A block as Markdown, without an empty line at its ends."
        for base in type(node).__mro__:
            if method := getattr(self, f"block_{base.__name__}", None):
                return method(node)
        if isinstance(node, THEOREMS):
            return self.theorem(node)
        if isinstance(node, nodes.Invisible | nodes.raw):
            return ""
        if isinstance(node, nodes.Inline | nodes.Text):
            return self.inline_of(node)
        return self.blocks(node.children)

    def block_paragraph(self, node):
        return self.inline(node)

    block_rubric = block_paragraph

    def block_title(self, node):
        return f"**{self.inline(node)}**"

    def block_math_block(self, node):
        tex = expand(node.astext().strip(), self.macros)
        if found := ENVIRONMENT.fullmatch(tex):
            inner = {"align": "aligned", "equation": ""}.get(found[1], "gathered")
            tex = f"\\begin{{{inner}}}{found[3]}\\end{{{inner}}}" if inner else found[3]
        elif "\\\\" in tex and "\\begin{" not in tex:
            tex = f"\\begin{{aligned}}\n{tex}\n\\end{{aligned}}"
        tex = re.sub(r"\n\s*\n", "\n", tex.strip())
        if number := node.get("number") if node.get("label") else None:
            tex += f" \\tag{{{number}}}"
        return f"$$\n{tex}\n$$"

    def block_literal_block(self, node):
        return f"```{node.get('language', '')}\n{node.astext()}\n```"

    def block_block_quote(self, node):
        text = self.blocks(node.children)
        text = re.sub(
            r"\$\$(.*?)\$\$", lambda m: m[0].replace("\n", " "), text, flags=re.S
        )
        return "> " + text.replace("\n", "\n> ")

    def block_bullet_list(self, node):
        return self.items(node, lambda n: "- ")

    def block_enumerated_list(self, node):
        return self.items(node, lambda n: f"{n + node.get('start', 1)}. ")

    def items(self, node, mark):
        out = []
        for n, item in enumerate(node.children):
            by = mark(n)
            out.append(by + indent(self.blocks(item.children), " " * len(by)))
        loose = any(len(item.children) > 1 for item in node.children)
        return ("\n\n" if loose else "\n").join(out)

    def block_definition_list(self, node):
        out = []
        for item in node.children:
            term = self.inline(item[0])
            out.append(f"**{term}**: {self.blocks(item[-1].children)}")
        return "\n\n".join(out)

    def block_table(self, node):
        rows = [
            [self.entry(entry) for entry in row.children]
            for row in node.findall(nodes.row)
        ]
        heads = any(node.findall(nodes.thead))
        head, body = (rows[0], rows[1:]) if heads else ([""] * len(rows[0]), rows)
        last = next(reversed(list(node.findall(nodes.row))))
        marks = [self.alignment(entry) for entry in last.children]
        lines = [head, marks, *body]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        title = next((c for c in node.children if isinstance(c, nodes.title)), None)
        if title is None:
            return table
        number = self.number(node, "table")
        return f"**Table {number}.** {self.inline(title)}\n\n{table}"

    @staticmethod
    def alignment(entry):
        classes = " ".join(entry.get("classes", ()))
        return {"right": "--:", "center": ":-:", "left": ":--"}.get(
            classes.removeprefix("text-"), "---"
        )

    def entry(self, node):
        text = "<br>".join(self.block(child) for child in node.children)
        text = re.sub(
            r"\$.*?\$",
            lambda m: m[0].replace("\\|", "\\Vert ").replace("|", "\\vert "),
            text,
        )
        return text.replace("|", "\\|").replace("\n", " ")

    def block_figure(self, node):
        number = self.number(node, "figure")
        caption = next(node.findall(nodes.caption), None)
        said = self.inline(caption) if caption is not None else ""
        return f"**Figure {number}.** {said}"

    def block_Admonition(self, node):
        if isinstance(node, THEOREMS):
            return self.theorem(node)
        children = list(node.children)
        title = type(node).__name__.capitalize()
        if children and isinstance(children[0], nodes.title):
            title = self.inline(children.pop(0))
        kind = "warning" if title == "Warning" else "info"
        return box(kind, f"**{title}.**\n\n{self.blocks(children)}")

    def block_proof_node(self, node):
        inner = [c for child in node.children for c in child.children]  # of its box
        body = re.sub(r"^Proof\.?\s*", "", self.blocks(inner))
        end = "\n\n" if body.endswith(("$$", "```")) else " "
        lead = "\n\n" if body.startswith(("$$", "- ", "1. ")) else " "
        return f"**Proof.**{lead}{body}{end}$\\square$"

    def theorem(self, node):
        name = node.get("realtype", "statement").title()
        kind = node.get("countertype") or node.get("realtype")
        number = self.number(node, kind)
        children, title = list(node.children), ""
        if children and isinstance(children[0], nodes.title):
            title = self.inline(children.pop(0))
            title = re.sub(rf"^({kind}|{name}) ?(%s)? *", "", title).strip()
        head = " ".join(filter(None, [name, number, title]))
        return box("info", f"**{head}.**\n\n{self.blocks(children)}")

    def block_Quiz(self, node):
        parts = [f"#### {quiz.title(node)}"]
        for n, question in enumerate(node.children, 1):
            text = [c for c in question.children if not isinstance(c, quiz.Option)]
            parts.append(f"**{n}.** {self.blocks(text)}")
            for option in question.findall(quiz.Option):
                answer, *why = option.children
                verdict = "Right." if option["right"] else "Wrong."
                parts += [
                    f"({option['letter']}) {self.inline(answer)}",
                    f"<details><summary>Is it ({option['letter']})?</summary>",
                    f"**{verdict}** {self.blocks(why)}",
                    "</details>",
                ]
        return "\n\n".join(parts)

    # text

    def inline(self, node):
        return "".join(map(self.inline_of, node.children))

    def inline_of(self, node):
        if isinstance(node, nodes.Text):
            return escape(node.astext().replace("\n", " "))
        name = type(node).__name__
        if isinstance(node, nodes.math):
            tex = expand(node.astext().strip().replace("\n", " "), self.macros)
            return f"${tex}$"
        if isinstance(node, nodes.literal):
            return f"`{node.astext()}`"
        if isinstance(node, nodes.emphasis | nodes.strong) and node.children:
            mark = "*" if name == "emphasis" else "**"
            return f"{mark}{self.inline(node)}{mark}"
        if isinstance(node, nodes.reference):
            text, address = self.inline(node), self.link(node)
            return f"[{text}]({address})" if address and text else text
        if isinstance(node, nodes.subscript | nodes.superscript):
            tag = name[:3]
            return f"<{tag}>{self.inline(node)}</{tag}>"
        if isinstance(node, nodes.Invisible | nodes.raw | nodes.image):
            return ""
        if isinstance(node, nodes.math_block):
            return self.block(node)
        return self.inline(node)


def is_element(node):
    return isinstance(node, nodes.Element)


COLOURS = {"info": "#0072b2", "warning": "#e69f00"}


def box(kind, text):
    "A box with a coloured edge; the empty lines make what is inside of it Markdown."
    style = f"border-left: 4px solid {COLOURS[kind]}; padding: 0.1em 0 0.1em 1em"
    return f'<div style="{style}">\n\n{text}\n\n</div>'
