"""How long the cells of another page ran when the book was built.

The role ``{runtime}`` writes the seconds of a page, as in ``{runtime}`02_rkhs```. They
are known when all pages have been read. Where a page was not executed, as in the class
edition, it writes a dash.
"""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxRole

from .pages import seconds


class runtime(nodes.inline):
    "The place of the seconds; `page` is the name of the page."


class RuntimeRole(SphinxRole):
    def run(self):
        if f"nbs/{self.text}" not in self.env.found_docs:
            told = f"there is no page nbs/{self.text}"
            return [], [self.inliner.reporter.error(told, line=self.lineno)]
        return [runtime("", "", page=f"nbs/{self.text}")], []


class Runtimes(SphinxPostTransform):
    default_priority = 20

    def run(self, **kwargs):
        for node in list(self.document.findall(runtime)):
            taken = seconds(self.env, node["page"])
            told = f"{taken:.0f} s" if taken else "–"
            node.replace_self(nodes.inline("", told))


def setup(app):
    app.add_node(runtime)
    app.add_role("runtime", RuntimeRole())
    app.add_post_transform(Runtimes)
