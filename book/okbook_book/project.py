"""What the project's own files are, and what they say: below all other modules.

They are the notebooks, with nbdev's ``#|`` directives; ``settings.ini`` of the package,
``_config.yml`` and ``_toc.yml`` of the book.
"""

import configparser
import json
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
DIRECTIVE = re.compile(r"^\s*#\s*\|\s*([\w-]+)\s*:?\s*(.*?)\s*$")


@cache
def notebooks(root=ROOT):
    "All notebooks, as (path, parsed JSON)."
    found = sorted(
        p
        for p in (root / "nbs").rglob("*.ipynb")
        if ".ipynb_checkpoints" not in p.parts
    )
    return [(p, json.loads(p.read_text(encoding="utf8"))) for p in found]


def docname(path, root=ROOT):
    return path.relative_to(root).with_suffix("").as_posix()


def split(source):
    "Leading ``#|`` lines of a code cell as a dict, and the source without them."
    lines, found = source.splitlines(keepends=True), {}
    while lines and (not lines[0].strip() or DIRECTIVE.match(lines[0])):
        if m := DIRECTIVE.match(lines.pop(0)):
            found[m[1]] = m[2]
    return found, "".join(lines)


def plain(source):
    "A cell's code without IPython's own lines, as Python reads it."
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.M)


def package(root=ROOT):
    "The settings of the package, by name."
    parser = configparser.ConfigParser()
    parser.read(root / "settings.ini")
    return parser["DEFAULT"]


def published():
    "The address of the published book."
    return package()["doc_host"] + package()["doc_baseurl"]


def book():
    "The settings of the book, as they are written for Jupyter Book."
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))


def contents():
    "The table of contents of the book."
    return yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8"))


def below(entry):
    "What an entry of the table of contents holds, in order."
    for key in ("parts", "subtrees", "chapters", "sections", "entries"):
        yield from entry.get(key, ())


def toc_pages(entry=None):
    "The pages of the table of contents below an entry (of all of it), in order."
    entry = contents() if entry is None else entry
    found = [entry[key] for key in ("root", "file") if key in entry]
    for child in below(entry):
        found += toc_pages(child)
    return found


def chosen(name, patterns):
    "Whether one of the patterns, such as '05*', is that of a name; without any, it is."
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)
