"""House words, the standard terms for them, and a search through the book's prose.

Prose is what the text cells of the notebooks say, the docstrings and the strings of
their code, the captions of figures, the Markdown pages, and the modules that are
written by hand. Code, mathematics and the targets of links are not prose. The list is a
help for writers: it cannot say whether a sentence reads well.
"""

import io
import re
import tokenize
from dataclasses import dataclass

from .directives import plain, split
from .equations import docname, notebooks
from .fingerprint import ROOT

# A word or a phrase, as a regular expression, and the standard term. What an expression
# excludes, by (?!...) and (?<!...), is the legitimate use.
HOUSE_WORDS = {
    r"dear(?:er|est|ly)?": "expensive",
    r"kin": "related methods",
    r"err(?! on the side)|errs|erred|erring": "makes an error, is wrong",
    r"at hand": "available",
    r"likeness(?:es)?": "similarity",
    r"look alike|are alike|is alike": "are similar",
    r"(?:with|by) dice|dice in": "random, randomised",
    r"(?:the|its|their) price of|at the price": "the cost of, at the cost",
    r"pays? (?:the|its|their) (?:price|slack)": "incurs a penalty",
    r"small prints?": "an exception, a condition",
    r"(?:tests|trees|cuts) at random": "randomised tests",
    r"(?:it|that|which|matrix|kernel|model|split|graph) is (?-i:none)(?! of)": (
        "is not one: repeat the noun"
    ),
    r"has none of": "does not have",
    r"is an? (?:\w+ )?one (?:where|whose)": "repeat the noun",
    r"(?:left|goes|go) unsaid": "is not stated",
    r"of other houses": "of other packages",
    r"the slow way": "by the slower method",
    r"(?:that|who|which) shall": "that is to",
    r"no cure for": "does not improve",
    r"is no news": "adds nothing",
    r"wherefore|(?:where|there|here)(?:of|upon|unto)": "modern English",
    r"hitherto|betwixt|whilst|amongst|thence|whence": "modern English",
    r"(?:that|which|hyperplane|threshold) parts (?:the|two|them|it)": "separates",
    r"is (?:not yet )?earned": "is justified",
    r"for the asking": "available",
    r"(?:labels|examples) (?:that )?lie\b(?! (?:in|on|at|within|outside|inside|near|to"
    r"|between|beyond|far|close|below|above|along|apart))": "are false",
    r"two wishes": "two aims",
    r"by lot": "at random",
    r"naught|nought": "zero",
    r"many who": "average many classifiers that",
}

# Forms of sentences, with capitals as they stand, and what to do.
PATTERNS = {
    r"\bTo [a-z]+ [^.,:;?]{3,70} is (?:dear|expensive|cheap|idle|vain)\b": (
        "begin with the noun: 'Training a machine is expensive'"
    ),
    r"\b(?:So|Such|Thus) (?:is|are|does|do|was|were|goes|runs) (?=[a-z])": (
        "begin with the subject"
    ),
    r"\b(?:Dear|Cheap|Small|Large|Rare|Gone|Left|Lost|Worse|Better) (?:is|are) ": (
        "begin with the subject"
    ),
    r"\bNot so[.,;:]": "say what does not hold",
    r"\b(?:Half|Part) of (?:it|them|this)\.": "write a whole sentence",
}


RULES = [
    (re.compile(rf"\b(?:{form})\b".replace(" ", r"\s+"), re.I), said)
    for form, said in HOUSE_WORDS.items()
] + [(re.compile(form.replace(" ", r"\s+")), said) for form, said in PATTERNS.items()]

# What is masked in a text; its length and its lines remain.
_NO_PROSE = [
    re.compile(
        r"^(?P<fence>```+|~~~+)(?!\s*\{(?!math|code|raw))[^\n]*\n.*?^(?P=fence)[ \t]*$",
        re.M | re.S,
    ),
    re.compile(r"^(?:```+|~~~+|:::+)\{[^}\n]*\}|^\s*:[\w-]+:[^\n`]*$", re.M),
    re.compile(r"^\([\w-]+\)=\s*$", re.M),
    re.compile(r"\$\$.*?\$\$|(?<!\\)\$[^$\n]+(?:\n[^$\n]+)?\$", re.S),
    re.compile(r"\{(?!term|abbr)[\w:]+\}`[^`<]*?(?=<|`)"),
    re.compile(r":(?!term)[\w:]+:`[^`]*`"),
    re.compile(r"(?<!\})``.+?``|(?<![}`])`[^`\n]+`", re.S),
    re.compile(r"<[^<>\s][^<>]*>"),
    re.compile(r"(?<=\])\([^()\s]*\)|https?://\S+"),
]
_HAND_WRITTEN = ("okbook/__init__.py", "okbook/cli.py", "okbook/*/__init__.py")
_PAGES = ("nbs/*.md", "*.md")


@dataclass(frozen=True)
class Found:
    "A house word: its file, cell (empty outside of notebooks) and line."

    file: str
    cell: str
    line: int
    word: str
    suggestion: str

    def __str__(self):
        cell = f" cell {self.cell}" if self.cell else ""
        return f"{self.file}{cell} line {self.line}: '{self.word}': {self.suggestion}"


def prose(text):
    "A Markdown text or a docstring whose code, mathematics and targets are masked."
    for pattern in _NO_PROSE:
        text = pattern.sub(_mask, text)
    return text


def _mask(match):
    return re.sub(r"[^\n]", "\x00", match[0])


def strings(source):
    """The strings of a piece of code that have at least three words, each where it
    stands; all else is blank."""
    lines = [" " * len(line) for line in source.split("\n")]
    for token in tokenize.generate_tokens(io.StringIO(plain(source)).readline):
        name = tokenize.tok_name[token.type]
        if name not in ("STRING", "FSTRING_MIDDLE"):
            continue
        text = re.sub(r"\{[^{}\n]*\}", _mask, token.string)
        text = re.sub(r"^\w*(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')$", _blank, text)
        if name == "STRING" and len(text.split()) < 3:
            continue
        for i, part in enumerate(text.split("\n")):
            row = token.start[0] - 1 + i
            column = 0 if i else token.start[1]
            lines[row] = lines[row][:column] + part + lines[row][column + len(part) :]
    return "\n".join(lines)


def _blank(match):
    return " " * len(match[0])


def find(text):
    "The house words of a text: (line, word, suggestion), in order."
    shown = prose(text)
    out = [
        (shown.count("\n", 0, m.start()) + 1, " ".join(m[0].split()), said)
        for pattern, said in RULES
        for m in pattern.finditer(shown)
    ]
    return sorted(out)


def _captions(data):
    if isinstance(data, dict):
        for value in data.values():
            yield from _captions(value)
    elif isinstance(data, str) and len(data.split()) > 2:
        yield data


def texts(root=ROOT):
    "All prose, as (file, cell, text)."
    for path, nb in notebooks(root):
        file = f"{docname(path, root)}.ipynb"
        for cell in nb["cells"]:
            source, at = "".join(cell["source"]), str(cell.get("id", ""))
            if cell["cell_type"] == "markdown":
                yield file, at, source
            elif cell["cell_type"] == "code":
                if "eval" not in split(source)[0]:
                    yield file, at, strings(source)
                for text in _captions(cell["metadata"].get("mystnb", {})):
                    yield file, f"{at} (caption)", text
    for pattern in _PAGES:
        for path in sorted(root.glob(pattern)):
            yield path.relative_to(root).as_posix(), "", path.read_text("utf8")
    for pattern in _HAND_WRITTEN:
        for path in sorted(root.glob(pattern)):
            yield (
                path.relative_to(root).as_posix(),
                "",
                strings(path.read_text("utf8")),
            )


def house_words(root=ROOT):
    "Everything that the list finds in the book."
    return [
        Found(file, cell, line, word, said)
        for file, cell, text in texts(root)
        for line, word, said in find(text)
    ]
