"""Quizzes: questions whose answers open, and say whether they are right, and why.

The directive ``{quiz}`` holds questions, each followed by a list of answers::

    Is $x^2$ convex?

    - (x) Yes.
      Its second derivative is 2.
    - ( ) Only where $x > 0$.
      It is 2 where $x < 0$, too.

The first line of an item is the answer to choose, with ``(x)`` where it is right; its
further lines are the explanation. One answer to a question is right. In the book a quiz
is one folded box, and each answer a ``details`` element: no script is needed. `gift`
writes it for Moodle.
"""

import html
import re
from string import ascii_lowercase

from docutils import nodes
from docutils.statemachine import StringList
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.util.docutils import SphinxDirective

OPTION = re.compile(r"- \(([ x])\) (.*\S)\s*$")
IN_CLASS = re.compile(  # an answer as `plain` writes it
    r"^\(\w\) (.*?)\n\n<details>.*?\n\n\*\*(Right|Wrong)\.\*\* (.*?)\n\n</details>",
    re.M | re.S,
)
NUMBERS = "no one two three four five six seven eight nine ten".split()


class Wrong(Exception):
    "What is wrong with a quiz, and in which of its lines."


def questions(lines):
    """The questions of a quiz from its lines: where each begins, its lines, and its
    options (right or not, text, the line of the text, lines of the explanation)."""
    found = []
    for n, line in enumerate(lines):
        option = OPTION.match(line)
        if line.startswith("- ") and not option:
            raise Wrong("an answer begins with '- ( ) ' or '- (x) '", n)
        if option:
            if not found:
                raise Wrong("an answer comes before the first question", n)
            found[-1][2].append((option[1] == "x", option[2], n, []))
        elif found and found[-1][2] and line.startswith("  "):
            found[-1][2][-1][3].append(line[2:])
        elif line.strip():
            if not found or found[-1][2]:
                found.append((n, [], []))
            found[-1][1].append(line)
        elif found:
            found[-1][2][-1][3].append("") if found[-1][2] else found[-1][1].append("")
    if not found:
        raise Wrong("there is no question", 0)
    for start, text, options in found:
        right, name = sum(option[0] for option in options), text[0][:40]
        if len(options) < 2:
            raise Wrong(f"the question {name!r} has fewer than two answers", start)
        if right != 1:
            said = "no right answer" if right == 0 else f"{right} right answers"
            raise Wrong(f"the question {name!r} has {said}: mark one by (x)", start)
        for _, said, n, why in options:
            if not "".join(why).strip():
                raise Wrong(f"the answer {said[:40]!r} has no explanation", n)
    return found


class Quiz(nodes.General, nodes.Element):
    "A list of questions."


class Question(nodes.General, nodes.Element):
    "The text of a question, and its options."


class Option(nodes.General, nodes.Element):
    "An answer to choose, and the explanation; `letter` and `right`."


class Answer(nodes.General, nodes.TextElement):
    "The text of an option."


class QuizDirective(SphinxDirective):
    has_content = True

    def run(self):
        try:
            found = questions(list(self.content))
        except Wrong as error:
            said, line = error.args
            raise self.error(f"{self.place(line)}: quiz: {said}") from None
        quiz = Quiz(count=len(found))
        for start, text, options in found:
            question = Question()
            self.parse(text, start, question)
            for letter, (right, said, line, why) in zip(ascii_lowercase, options):
                option = Option(letter=letter, right=right)
                inline, messages = self.state.inline_text(
                    said, self.content_offset + line
                )
                option += [Answer("", "", *inline), *messages]
                self.parse(why, line + 1, option)
                question += option
            quiz += question
        self.set_source_info(quiz)
        return [quiz]

    def parse(self, lines, start, node):
        source, _ = self.get_source_info()
        self.state.nested_parse(
            StringList(lines, source), self.content_offset + start, node
        )

    def place(self, line):
        "File and line; of a notebook, the cell and its line, as myst-nb counts them."
        source, at = self.get_source_info()
        return f"{source}:{at + 1 + line}"


def moodle(text):
    "Markdown as HTML, with formulas as Moodle wants them, and what GIFT uses escaped."

    def formula(content, options):
        left, right = r"\[ \]".split() if options["display_mode"] else r"\( \)".split()
        return left + html.escape(content) + right

    found = MarkdownIt().use(dollarmath_plugin, renderer=formula).render(text).strip()
    return re.sub(r"([\\~=#{}:])", r"\\\1", found.replace("\n", " "))


def gift(name, text):
    "A quiz in Moodle's format GIFT, from its text in the class edition."
    out = []
    parts = re.split(r"^\*\*\d+\.\*\* ", text, flags=re.M)[1:]
    for number, part in enumerate(parts, 1):
        question = moodle(re.split(r"^\(a\) ", part, flags=re.M)[0])
        out.append(f"::{name} {number}::[html]{question} {{")
        for said, verdict, why in IN_CLASS.findall(part):
            mark = "=" if verdict == "Right" else "~"
            out.append(f"{mark}{moodle(said)}#{moodle(why)}")
        out.append("}\n")
    return "\n".join(out)


def title(node):
    "Such as 'Quiz: five questions'."
    n = node["count"]
    count = NUMBERS[n] if n < len(NUMBERS) else n
    return f"Quiz: {count} question{'' if n == 1 else 's'}"


def visit_quiz(self, node):
    self.body.append(
        '<div class="okb-quiz"><p>Choose an answer: it opens, and says whether it is '
        f"right and why.</p>\n<details><summary>{title(node)}</summary>\n<ol>\n"
    )


def depart_quiz(self, node):
    self.body.append("</ol></details></div>\n")


def visit_question(self, node):
    self.body.append("<li>")


def depart_question(self, node):
    self.body.append("</li>\n")


def visit_option(self, node):
    kind = "right" if node["right"] else "wrong"
    self.body.append(f'<details class="okb-option {kind}">')


def depart_option(self, node):
    self.body.append("</div></details>\n")


def visit_answer(self, node):
    letter = node.parent["letter"]
    self.body.append(f'<summary><span class="letter">{letter}</span> <span>')


def depart_answer(self, node):
    verdict = "Right." if node.parent["right"] else "Wrong."
    self.body.append(f'</span></summary><div><p class="verdict">{verdict}</p>')


def skip(self, node):
    pass


def setup(app):
    app.add_node(Quiz, html=(visit_quiz, depart_quiz), latex=(skip, skip))
    app.add_node(Question, html=(visit_question, depart_question), latex=(skip, skip))
    app.add_node(Option, html=(visit_option, depart_option), latex=(skip, skip))
    app.add_node(Answer, html=(visit_answer, depart_answer), latex=(skip, skip))
    app.add_directive("quiz", QuizDirective)
