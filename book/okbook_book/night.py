"""The night twin of a figure: drawn once more, with light ink on dark paper.

A kernel that executes a page installs this first (`startup`): whenever a figure is
shown, its twin is written into ``_build/night``, under the name that myst-nb gives to
the figure. Colours that carry data stay as they are: those of images
and maps, of marks that show values, and of all that is drawn on an image.
"""

import colorsys
import hashlib
from base64 import b64decode
from contextlib import contextmanager
from pathlib import Path

PAPER, INK = 0.07, 0.9  # lightness of what was white, and of what was black
RIM = {"edgecolor": "0.5", "linewidth": 0.5}  # of marks whose colour shows a value
FOLDER = Path(__file__).resolve().parents[2] / "_build" / "night"


def by_night(colour):
    "Light is dark and dark is light, in the same hue; what is bright is not dimmed."
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(colour)
    hue, light, strong = colorsys.rgb_to_hls(red, green, blue)
    turned = INK + (PAPER - INK) * light
    if strong > 0.3 and light < 0.8:
        turned = max(turned, light, 0.55)
    return *colorsys.hls_to_rgb(hue, turned, strong), alpha


def inks(figure):
    "The colours of a figure that are ink or paper: artist and names of properties."
    from matplotlib import collections, lines, patches, text

    for artist in figure.findobj(lambda artist: not on_map(artist)):
        if isinstance(artist, text.Text):
            yield artist, ["color"]
            for patch in (artist.get_bbox_patch(), arrow(artist)):
                if patch:
                    yield patch, ["facecolor", "edgecolor"]
        elif isinstance(artist, lines.Line2D):
            yield artist, ["color", "markerfacecolor", "markeredgecolor"]
        elif isinstance(artist, patches.Patch):
            yield artist, ["facecolor", "edgecolor"]
        elif isinstance(artist, collections.Collection) and not shows_values(artist):
            yield artist, ["facecolor", "edgecolor"]
        elif hasattr(artist, "pane"):  # of an axis in three dimensions
            yield artist.pane, ["facecolor", "edgecolor"]
            yield artist.line, ["color"]


def marks(figure):
    "Marks on paper whose colours show values, some of which are dark."
    from matplotlib.collections import PathCollection

    return [
        artist
        for artist in figure.findobj(PathCollection)
        if shows_values(artist) and not on_map(artist)
    ]


def shows_values(artist):
    return artist.get_array() is not None


def on_map(artist):
    "Whether it is drawn inside of axes that an image or a map fills."
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

    axes = artist.axes
    if not isinstance(axes, Axes):
        return False
    drawn = [*axes.texts, *axes.lines, *axes.patches, *axes.collections]
    maps = [
        collection
        for collection in axes.collections
        if isinstance(collection, QuadMesh) or getattr(collection, "filled", False)
    ]
    return bool(axes.images or maps) and artist in drawn


def arrow(words):
    return getattr(words, "arrow_patch", None)


@contextmanager
def night(figure):
    "The figure in its night colours, and as it was again afterwards."
    from matplotlib.artist import getp, setp

    old = [
        (artist, name, getp(artist, name))
        for artist, names in inks(figure)
        for name in names
    ]
    rims = [(mark, name, getp(mark, name)) for mark in marks(figure) for name in RIM]
    for mark, name, _ in rims:
        setp(mark, **{name: RIM[name]})
    for artist, name, colour in old:
        many = getattr(colour, "ndim", 1) == 2
        setp(artist, **{name: [*map(by_night, colour)] if many else by_night(colour)})
    try:
        yield figure
    finally:
        for artist, name, value in old + rims:
            setp(artist, **{name: value})


def with_twin(draw):
    "IPython's function that prints a figure, which then draws the twin as well."

    def draw_both(figure, fmt="png", **options):
        shown = draw(figure, fmt, **options)
        if shown and fmt == "png":
            data = b64decode(shown) if options.get("base64") else shown
            with night(figure):
                twin = draw(figure, fmt, **options | {"base64": False})
            FOLDER.mkdir(parents=True, exist_ok=True)
            name = f"{hashlib.sha256(data).hexdigest()}.png"
            (FOLDER / name).write_bytes(twin)
        return shown

    return draw_both


def install():
    from IPython.core import pylabtools

    pylabtools.print_figure = with_twin(pylabtools.print_figure)
