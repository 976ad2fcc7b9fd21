"""The cards of the gallery show the first figure of the page that they lead to."""

from pathlib import PurePosixPath

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from .figures import twins

PAGE = "nbs/64_gallery"


def first_figure(page):
    "The address of the first drawing on a page; None if none."
    for cell in page.findall(nodes.container):
        if cell.get("nb_element") != "cell_code":
            continue
        for image in cell.findall(nodes.image):
            if image["uri"].endswith(".png"):
                return image["uri"]
    return None


class Thumbnails(SphinxPostTransform):
    default_priority = 160  # after links have been resolved
    formats = ("html",)

    def run(self, **kwargs):
        if self.env.docname != PAGE:
            return
        for card in [*self.document.findall(nodes.container)]:
            links = [
                r["refuri"] for r in card.findall(nodes.reference) if "refuri" in r
            ]
            if "sd-card" not in card["classes"] or not links:
                continue
            name = PurePosixPath(links[0].partition("#")[0]).stem
            found = first_figure(self.env.get_doctree(f"nbs/{name}"))
            for uri, by_night in twins(self.env, found) if found else ():
                classes = ["okb-thumbnail", by_night]
                card.insert(
                    0,
                    nodes.image(
                        uri=uri, candidates={"*": uri}, alt="", classes=classes
                    ),
                )


def setup(app):
    app.add_post_transform(Thumbnails)
