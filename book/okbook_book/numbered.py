"""The numbers that readers see: all that carries one on the built pages, and what the
references to it say."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

VOID = set("area base br col embed hr img input link meta source track wbr".split())
SHOWN = {"page-number", "eqno", "caption-number"}
# the text of a reference that gives a number, and the number alone
REFERENCE = re.compile(
    r"((?:Figure|Table|Listing|Exercise|Algorithm|Theorem|Lemma|Proposition|Corollary"
    r"|Definition|Remark|Example|Chapter|Section|Lab|Project|Appendix)"
    r" [A-Z\d][.\d]*(?<!\.)"
    r"|\([A-Z\d]+\.\d+\)|\(\w+ eq\. .*\))(?:, .*)?"
)


@dataclass
class Open:
    tag: str
    id: str
    classes: set
    href: str
    text: list = field(default_factory=list)


class Page(HTMLParser):
    """`numbers` of a page's elements as (kind, number, id), `references` as (text,
    href)."""

    def __init__(self, path):
        super().__init__()
        self.stack, self.numbers, self.references = [], [], []
        self.feed(Path(path).read_text(encoding="utf8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            classes = set((attrs.get("class") or "").split())
            self.stack.append(
                Open(tag, attrs.get("id"), classes, attrs.get("href") or "")
            )

    def handle_data(self, data):
        for node in self.stack:
            if self.stack[-1].classes.isdisjoint({"headerlink"}):
                node.text.append(data)

    def handle_endtag(self, tag):
        if all(node.tag != tag for node in self.stack):
            return
        while (node := self.stack.pop()).tag != tag:
            pass
        text = " ".join("".join(node.text).split())
        if node.classes & SHOWN:
            self._number(node, text)
        elif node.tag == "a" and {"reference", "internal"} <= node.classes:
            # the lists of pages and of headings repeat what these say
            lists = any("toctree" in c for n in self.stack for c in n.classes)
            if not lists and "nav-link" not in node.classes:
                self.references.append((text, node.href))

    def _number(self, node, text):
        within = [n.tag for n in self.stack]
        anchor = next((n.id for n in reversed(self.stack) if n.id), None)
        if "eqno" in node.classes:
            self.numbers.append(("equation", text, anchor))
        elif "caption-number" in node.classes:
            kind, _, number = text.partition(" ")
            self.numbers.append((kind, number, anchor))
        elif "h1" in within:
            self.numbers.append(("page", text, None))


def numbered(folder):
    """Pages of a built book: {path: `Page`}, those with a number or a reference to
    one."""
    paths = (p for p in Path(folder).rglob("*.html") if "_static" not in p.parts)
    pages = {path.resolve(): Page(path) for path in paths}
    return {path: p for path, p in pages.items() if p.numbers or p.references}


def listing(pages):
    "All numbers as (kind, number, page's path)."
    return [(k, n, path) for path, p in pages.items() for k, n, _ in p.numbers]


def _says(kind, number):
    "What a reference to this number reads."
    if kind == "equation":
        return {number}
    if kind == "page":
        bare = number.removeprefix("Lab ").removeprefix("Project ")
        names = "Chapter", "Section", "Lab", "Project", "Appendix"
        return {f"{name} {bare}" for name in names}
    return {f"{kind} {number}"}


def wrong_references(pages):
    "References that give a number, but not their target's, as readable lines."
    says, wrong = {}, []
    for path, page in pages.items():
        for kind, number, anchor in page.numbers:
            says.setdefault((path, anchor), set()).update(_says(kind, number))
    for path, page in pages.items():
        for text, href in page.references:
            url = urlparse(href)
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            given = REFERENCE.fullmatch(text)
            if url.scheme or url.netloc or not given:
                continue
            # a label that is no number's stands for the page that it is on
            key = (target, unquote(url.fragment))
            right = says.get(key) or says.get((target, None), set())
            if given[1] not in right:
                wrong.append(f"{path.name}: {text!r} leads to {href}: {right or None}")
    return wrong
