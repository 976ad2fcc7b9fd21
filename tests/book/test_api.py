"""The pages of the API: each public name has one page and one line of a table, and the
built pages link to the book and back."""

import importlib
import inspect
import pkgutil
import re
import shutil
import zlib
from gettext import NullTranslations
from html import unescape
from types import SimpleNamespace

import browsing
import pytest
from docutils import nodes
from sphinx.ext.autosummary import generate
from test_browser import browser  # noqa: F401

import okbook
from okbook_book import api, api_pages, equations, fingerprint, pages

HTML = equations.ROOT / "_build" / "html"
API = HTML / "nbs" / "api"
LARGEST = 275_000  # bytes of a page, with the whole source of a class
PHONE = {"width": 375, "height": 812}
WIDE = """fonts => [...document.querySelectorAll("html, .sig, .api-source pre, table")]
  .filter(e => e.clientWidth && e.scrollWidth > fonts * e.clientWidth)
  .map(e => document.title + " " + e.tagName + "." + e.className)"""


def faces():
    "The modules that users import names from."
    for info in pkgutil.walk_packages(okbook.__path__, "okbook."):
        if info.name.startswith(("okbook._", "okbook.labs")):
            continue  # no interface
        shown = equations.face(info.name)
        if shown == info.name and hasattr(importlib.import_module(shown), "__all__"):
            yield shown


PACKAGES = [*faces()]
PUBLIC = [f"{m}.{n}" for m in PACKAGES for n in importlib.import_module(m).__all__]
NO_EXCEPTIONS = [
    name
    for name in PUBLIC
    if not inspect.isclass(found := api_pages.find(name))
    or not issubclass(found, Exception)
]
ROW = re.compile(r'<tr[^>]*><td><p><a [^>]*#([\w.]+)".*?</td>\s*<td><p>(.*?)</p>', re.S)


@pytest.fixture
def app(tmp_path):
    "What autosummary asks of Sphinx, with the list of the packages and the template."
    app = generate.DummyApplication(NullTranslations())
    generate.setup_documenters(app)
    app.srcdir = tmp_path
    app.config.templates_path = [str(equations.ROOT / "book" / "templates")]
    app.config.autosummary_ignore_module_all = False
    app.config.external_site_map = {api_pages.INDEX}
    (tmp_path / api_pages.INDEX).mkdir(parents=True)
    shutil.copy(equations.ROOT / f"{api_pages.INDEX}.md", tmp_path / "nbs")
    return app


def test_private_bases_are_replaced_by_public_ones():
    class Public:
        pass

    class Other:
        pass

    class _Private(Public):
        pass

    bases = [_Private, Other, Public]
    api.public_bases(None, "", None, None, bases)
    assert bases == [Public, Other]
    bases = [type("_Alone", (), {})]
    api.public_bases(None, "", None, None, bases)
    assert bases == [object]


def test_pages_are_written_once(app, tmp_path):
    """Each package and each public name has a page. What has not changed is not written
    again, and what is gone is removed."""
    folder = tmp_path / api_pages.INDEX
    (folder / "okbook.gone.rst").write_text("gone")
    api_pages.write_sources(app)
    found = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert sorted(p.stem for p in found) == sorted(PACKAGES + PUBLIC)
    lower = {p.stem.lower() for p in found}
    assert len(lower) == len(found), "two files of one name on some machines"
    api_pages.write_sources(app)
    assert {p: p.stat().st_mtime_ns for p in folder.iterdir()} == found


def test_stale_pages_are_dropped(tmp_path):
    for name in ("nbs/old.html", "nbs/new.html", "nbs/api/old.html", "genindex.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("page")
    app = SimpleNamespace(
        outdir=tmp_path,
        builder=SimpleNamespace(format="html"),
        env=SimpleNamespace(found_docs={"nbs/new"}),
    )
    pages.drop_stale(app, None)
    left = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.html")}
    assert left == {"nbs/new.html", "genindex.html"}


# The built book.


@pytest.fixture(scope="module")
def built():
    stamp = HTML / fingerprint.STAMP
    if not stamp.exists() or stamp.read_text().strip() != fingerprint.everything():
        pytest.skip("not built from these sources")
    return {p.stem: p.read_text(encoding="utf8") for p in sorted(API.glob("*.html"))}


def test_a_definition_that_moves_keeps_its_label(monkeypatch):
    "Sphinx drops the labels of a page when it reads it again, after the page before."
    modules = {"new": ["okbook.core.rounding"], "old": ["okbook.core.scale"]}
    monkeypatch.setattr(equations, "exports", modules.get)
    anchors = {}
    domain = SimpleNamespace(anonlabels=anchors)

    def read(page, source):
        for label in [k for k, (seen, _) in anchors.items() if seen == page]:
            del anchors[label]
        block = nodes.literal_block(source, source)
        cell = nodes.container("", classes=["tag_export"])
        cell += nodes.container("", block, classes=["cell_input"])
        env = SimpleNamespace(docname=page, get_domain=lambda name: domain)
        api_pages.anchor_cells(SimpleNamespace(env=env), cell)

    read("old", "def sum_twice(excess):\n    return excess")
    for page, source in (("new", "def sum_twice(excess):\n    pass"), ("old", "x = 1")):
        read(page, source)
    label = api_pages.cell_label("okbook.core.rounding", "sum_twice")
    assert anchors[label] == ("new", "def-sum_twice")


def test_built_pages_are_those_of_the_package(built):
    assert set(built) == {*PACKAGES, *PUBLIC}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_one_line_with_a_sentence(built, package):
    "In the order of the book's pages."
    rows = dict(ROW.findall(built[package]))
    names = [n for n in PUBLIC if n.rpartition(".")[0] == package]
    assert [*rows] == sorted(names, key=api_pages.order)
    assert len(rows) == len(ROW.findall(built[package]))
    assert all(len(s.split()) > 1 and s.endswith(".") for s in rows.values())


def test_built_pages_are_light(built):
    heavy = {n: len(t.encode()) for n, t in built.items() if len(t.encode()) > LARGEST}
    assert not heavy
    assert (HTML / "nbs" / "api.html").stat().st_size <= LARGEST


def test_built_pages_link_to_the_book_and_back(built):
    book = {
        page: (HTML / f"{page}.html").read_text(encoding="utf8")
        for page in {doc for doc, _ in equations.chapters().values()}
    }
    lacking = []
    for name in PUBLIC:
        page, anchor = api_pages.page(name), f"def-{name.rpartition('.')[2]}"
        there = f'href="../{page.rpartition("/")[2]}.html#{anchor}"' in built[name]
        cell = f'id="{anchor}"' in book[page]
        back = f'href="api/{name}.html#{name}"' in book[page]
        if not (there and cell and back):
            lacking.append((name, there, cell, back))
    assert not lacking


def test_no_private_base_is_shown(built):
    shown = {
        name: unescape(re.sub("<.*?>", "", found[1]))
        for name, text in built.items()
        if (found := re.search(r"<p>Bases: (.*?)</p>", text, re.S))
    }
    assert "LeafMixin" in shown["okbook.trees.OutputKernelExtraTrees"]
    private = {n: t for n, t in shown.items() if re.search(r"(?:^|[.,\s])_\w", t)}
    assert not private


def test_methods_that_scikit_learn_generates_are_hidden(built):
    assert "OutputKernelRidge.predict" in built["okbook.rkhs.OutputKernelRidge"]
    assert not [n for n, text in built.items() if re.search(r"set_\w+_request", text)]


def test_a_class_lists_its_members(built):
    "Each member that is described has one line."
    for name in NO_EXCEPTIONS:
        described = re.findall(rf'<dt [^>]*id="{name}\.(\w+)"', built[name])
        table = "".join(re.findall(r"<table.*?</table>", built[name], re.S))
        assert re.findall(rf'<a [^>]*href="#{name}\.(\w+)"', table) == described, name


def test_the_sidebar_stops_at_the_packages(built):
    text = built["okbook.trees"]
    sidebar = text[text.index("bd-sidebar-primary") : text.index("<main")]
    links = set(re.findall(r'href="(okbook[\w.]*)\.html"', sidebar))
    assert links <= {*PACKAGES} and len(links) > 5


def test_inventory_has_name_and_version(built):
    head, _, packed = (HTML / "objects.inv").read_bytes().partition(b"zlib.\n")
    version = importlib.import_module("okbook").__version__
    assert f"# Project: okbook\n# Version: {version}\n" in head.decode()
    names = {
        line.split(" ")[0] for line in zlib.decompress(packed).decode().split("\n")
    }
    assert {*PACKAGES, *PUBLIC, "okbook.rkhs.OutputKernelRidge.predict"} <= names


@pytest.mark.browser
def test_signatures_wrap_on_a_phone(built, browser):  # noqa: F811
    "The longest ones: nothing of a page scrolls sideways."
    lengths = {n: len(str(inspect.signature(api_pages.find(n)))) for n in NO_EXCEPTIONS}
    wide, tab = [], browser.new_page(viewport=PHONE)
    for name in sorted(lengths, key=lengths.get)[-8:]:
        tab.goto((API / f"{name}.html").as_uri())
        wide += tab.evaluate(WIDE, browsing.FONTS)
    tab.close()
    assert not wide
