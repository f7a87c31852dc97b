"""The visual language of the book's diagrams.

A box is a layer, in the colour of its network, a green one a map that is inserted, a faint one is not used;
an arrow carries activations, and a bent one is a residual connection.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from intertwine_book.figures.style import COLOURS, new_figure

NETWORKS = (COLOURS["blue"], COLOURS["orange"])
"""The colours of a first and a second network."""
MAP = COLOURS["green"]
"""The colour of a map that is inserted."""


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Axes of so many units, 1.55 to the inch, on which nothing but a diagram is seen.

    Example:
        >>> figure, axis = canvas(9.0, 3.0)
        >>> [*map(float, axis.get_xlim())]
        [0.0, 9.0]
    """
    figure, axis = new_figure(height=height * 5.8 / width)
    axis.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axis.axis("off")
    return figure, axis


def box(
    axis: Axes,
    at: tuple[float, float],
    text: str,
    colour: str,
    *,
    width: float = 1.0,
    height: float = 0.6,
    faint: bool = False,
) -> None:
    """A layer or a map, centred at a point; `faint` where it is not used."""
    corner = (at[0] - width / 2, at[1] - height / 2)
    style, alpha = "round,pad=0,rounding_size=0.12", 0.12 if faint else 0.35
    axis.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, fc=colour, ec=colour, alpha=alpha))
    axis.text(*at, text, ha="center", va="center", alpha=0.45 if faint else 1)


def arrow(
    axis: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    *,
    bend: float = 0.0,
    colour: str = COLOURS["ink"],
) -> None:
    """Activations pass from a point to another; a label stands above the middle."""
    style = {"arrowstyle": "->", "color": colour, "lw": 1.4, "connectionstyle": f"arc3,rad={bend}"}
    axis.annotate("", end, start, arrowprops=style)
    if text:
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - bend * length / 2 + 0.1)
        axis.text(*middle, text, ha="center", va="bottom", color=colour)


def chain(
    axis: Axes, at: tuple[float, float], layers: Sequence[str], colour: str, *, faint: Sequence[int] = ()
) -> list[tuple[float, float]]:
    """A network as a row of layers from the centre of the first on, with arrows between those that are used.

    Returns the centres; `faint` are the layers that are not used, from 0.
    """
    centres = [(at[0] + 1.5 * k, at[1]) for k in range(len(layers))]
    for k, ((x, y), text) in enumerate(zip(centres, layers, strict=True)):
        box(axis, (x, y), text, colour, faint=k in faint)
        if k and not {k - 1, k} & set(faint):
            arrow(axis, (x - 1.0, y), (x - 0.5, y))
    return centres
