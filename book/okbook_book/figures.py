"""Figures by night, and at their size.

Matplotlib draws every figure once, on white and with twice the pixels that it is shown
in. `Figures` sets the width, and tells which figures keep their white card in the dark:
those with images or heat maps, and those whose caption speaks of black, white, dark or
bright. The others are lines and marks: page.css inverts their brightness, and keeps
their hues.
"""

import re
from pathlib import Path

from docutils import nodes
from PIL import Image
from sphinx.transforms.post_transforms import SphinxPostTransform

INCH = 110  # pixels of the page: half of the figure.dpi of okbook.mplstyle
BRIGHTNESS = re.compile(
    r"\b(black|white|dark|darker|bright|brighter|light|pale)\b", re.I
)
IMAGES = re.compile(r"\b(imshow|matshow|pcolormesh|plot_tree)\(|\bcmap=")


def width(path):
    "The width at which a drawing is shown, in pixels of the page."
    with Image.open(path) as image:
        return round(image.width * INCH / image.info["dpi"][0])


def keeps_card(source, words):
    "Whether a figure drawn by `source` and described by `words` stays on white."
    return bool(IMAGES.search(source) or BRIGHTNESS.search(words))


class Figures(SphinxPostTransform):
    default_priority = 150  # after myst-nb has chosen the image, before the bars
    formats = ("html",)

    def run(self, **kwargs):
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") != "cell_code":
                continue
            source = "".join(b.astext() for b in cell.findall(nodes.literal_block))
            for image in cell.findall(nodes.image):
                self.set(image, source)

    def set(self, image, source):
        figure = image.parent if isinstance(image.parent, nodes.figure) else None
        words = f"{image.get('alt', '')} {figure.astext() if figure else ''}"
        card = keeps_card(source, words)
        image["classes"].append("okb-card" if card else "okb-lines")
        path = Path(self.env.srcdir, image["uri"])
        if path.suffix == ".png" and path.exists() and "width" not in image:
            image["width"] = f"{width(path)}px"


def setup(app):
    app.add_post_transform(Figures)
