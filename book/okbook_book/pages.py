"""What concerns whole pages: ids that stand once, the notebook cache, the time a page
took, the bibliography's list, and pages whose source is gone."""

import html
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import ReferenceRole
from sphinx.writers.html5 import HTML5Translator

from . import fingerprint, project

FOOT = """<div class="running-time"><p>{ran} This is version {version} of the book;
<a class="reference external" href="{discussions}">questions and remarks</a> are
welcome.</p><details><summary>Cite this page</summary><pre>{entry}</pre></details></div>
"""
CITATION = """@misc{{okbook-{key},
  author = {{{author}}},
  title = {{{title}}},
  howpublished = {{okbook, version {version}}},
  year = {{{year}}},
  url = {{{url}}},
}}"""
CONTENTS = "proof-content", "exercise-content", "solution-content"


class OwnIds(SphinxPostTransform):
    "The contents of all proofs and exercises have one id: it goes."

    default_priority = 900
    formats = ("html",)

    def run(self):
        for node in self.document.findall(nodes.section):
            node["ids"] = [i for i in node["ids"] if i not in CONTENTS]


def cache_folder(built):
    """jupyter-cache looks at a notebook's cells only: each state of all the rest has
    a cache of its own, the last four."""
    folder, key = (
        Path(built) / "cache",
        "-".join(part[:12] for part in reversed(fingerprint.surroundings())),
    )
    old = [p for p in folder.iterdir() if p.name != key] if folder.exists() else []
    for path in sorted(old, key=lambda p: p.stat().st_mtime)[:-3]:
        shutil.rmtree(path)
    return folder / key


def cache_on_everything(app, config):
    config.nb_execution_cache_path = str(cache_folder(Path(app.outdir).parent))


class Published(ReferenceRole):
    "A file beside the published book: ``{published}`its slides <slides/index.html>```."

    def run(self):
        uri = f"{project.published()}/{self.target}"
        return [nodes.reference("", self.title, refuri=uri)], []


def foot(app, pagename, templatename, context, doctree):
    """Say at the foot of a page of the book how long its cells took, where it can be
    discussed, and how it is cited."""
    if pagename not in app.env.page_numbers or "body" not in context:
        return
    known = getattr(app.env, "nb_metadata", {}).get(pagename, {})
    taken = (known.get("exec_data") or {}).get("runtime")
    book, version = project.book(), project.package()["version"]
    entry = CITATION.format(
        key=pagename.rpartition("/")[2],
        author=book["author"],
        title=app.env.titles[pagename].astext(),
        version=version,
        year=book["copyright"],
        url=f"{project.published()}/{pagename}.html",
    )
    context["body"] += FOOT.format(
        ran=f"The cells of this page ran in {taken:.1f} s." if taken else "",
        version=version,
        discussions=f"{book['repository']['url']}/discussions",
        entry=html.escape(entry),
    )


def visit_citation(self, node):
    "Docutils' role of a citation is not allowed by ARIA 1.2: it is an item of a list."
    HTML5Translator.visit_citation(self, node)
    self.body[-1] = self.body[-1].replace('role="doc-biblioentry"', 'role="listitem"')


def depart_citation(self, node):
    HTML5Translator.depart_citation(self, node)


def group_what_is_found(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file("search.js")


def no_thebe(app, pagename, templatename, context, doctree):
    """sphinx-thebe puts the address of a CDN on every page, although its button is
    off: take it out."""
    files = context.get("script_files", [])
    context["script_files"] = [
        f for f in files if "thebe" not in str(f) and "thebe" not in str(_body(f))
    ]


def _body(script):
    return getattr(script, "attributes", {}).get("body", "")


def drop_stale(app, exception):
    """Remove the pages whose source is gone, which an earlier build has left. All
    documents of the book are in ``nbs``."""
    if exception is None and app.builder.format == "html":
        for folder in ("nbs", "_sources/nbs"):
            for path in Path(app.outdir, folder).rglob("*.*"):
                if path.suffix in (".html", ".ipynb", ".md") and not _is_page(
                    app, path
                ):
                    path.unlink()


def _is_page(app, path):
    name = path.relative_to(app.outdir).with_suffix("").as_posix()
    return name.removeprefix("_sources/") in app.env.found_docs


def setup(app):
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    app.add_post_transform(OwnIds)
    app.add_role("published", Published())
    app.connect("config-inited", cache_on_everything)
    app.connect("build-finished", drop_stale)
    app.connect("html-page-context", foot)
    app.connect("html-page-context", group_what_is_found)
    app.connect("html-page-context", no_thebe, priority=900)
