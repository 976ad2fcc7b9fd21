"""What the project's own files say.

They are ``settings.ini`` of the package, ``_config.yml`` and ``_toc.yml`` of the book.
"""

import configparser

import yaml

from .fingerprint import ROOT


def package(root=ROOT):
    "The settings of the package, by name."
    parser = configparser.ConfigParser()
    parser.read(root / "settings.ini")
    return parser["DEFAULT"]


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


def pages(entry=None):
    "The pages of the table of contents below an entry (of all of it), in order."
    entry = contents() if entry is None else entry
    found = [entry[key] for key in ("root", "file") if key in entry]
    for child in below(entry):
        found += pages(child)
    return found
