"""Figures by night, and at their size.

Matplotlib draws every figure on white, with twice the pixels that it is shown in, and
once more for the night (`night`). `Figures` sets the width, and puts the twin beside
the figure. Captions do not speak of black and white, which are turned.
"""

from pathlib import Path

from docutils import nodes
from PIL import Image
from sphinx.transforms.post_transforms import SphinxPostTransform

INCH = 110  # pixels of the page: half of the figure.dpi of okbook.mplstyle


def width(path):
    "The width at which a drawing is shown, in pixels of the page."
    with Image.open(path) as image:
        return round(image.width * INCH / image.info["dpi"][0])


def twins(env, uri):
    "A drawing and its night twin, or itself: address and class."
    twin = Path("_build", "night", Path(uri).name)
    if not Path(env.srcdir, twin).exists():
        return [(uri, "okb-card")]
    env.images.add_file(env.docname, str(twin))
    return [(uri, "only-light"), (str(twin), "only-dark")]


class Figures(SphinxPostTransform):
    default_priority = 150  # after myst-nb has chosen the image, before the bars
    formats = ("html",)

    def run(self, **kwargs):
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            for image in list(cell.findall(nodes.image)):
                self.set(image)

    def set(self, image):
        path = Path(self.env.srcdir, image["uri"])
        if path.suffix == ".png" and path.exists() and "width" not in image:
            image["width"] = f"{width(path)}px"
        shown = []
        for uri, by_night in twins(self.env, image["uri"]):
            twin = image.copy()
            twin["uri"], twin["candidates"] = uri, {"*": uri}
            twin["classes"] = [*image["classes"], by_night]
            shown.append(twin)
        image.replace_self(shown)


def setup(app):
    app.add_post_transform(Figures)
