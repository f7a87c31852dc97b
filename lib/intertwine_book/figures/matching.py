"""Matching drawn: two ways to find a map between two networks."""

from matplotlib.figure import Figure

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas, chain
from intertwine_book.figures.style import COLOURS


def two_ways_diagram(
    at_the_cut: str = "direct: compare\nactivations here",
    behind: str = "by the task: compare\noutputs here",
    name: str = "$S$",
) -> Figure:
    """Two networks, the map between them, and the two places where its values may be compared."""
    figure, axis = canvas(9.0, 4.0)
    for y, model, colour in ((3.3, "model\n1", NETWORKS[0]), (1.5, "model\n2", NETWORKS[1])):
        chain(axis, (1.7, y), ["", "", "", ""], colour, faint=(2, 3) if y > 2 else ())
        axis.text(0.55, y, model, ha="center", va="center", color=colour)
    box(axis, (3.95, 2.4), name, MAP, width=0.7)
    arrow(axis, (3.7, 3.3), (3.95, 2.7))
    arrow(axis, (3.95, 2.1), (3.95, 1.55))
    arrow(axis, (6.7, 1.5), (7.5, 1.5))
    axis.text(7.6, 1.5, "class", va="center")
    for x, text in ((3.95, at_the_cut), (7.1, behind)):
        axis.plot([x, x], [0.75, 1.4], color=COLOURS["red"], lw=1.4, ls=":")
        axis.text(x, 0.65, text, color=COLOURS["red"], ha="center", va="top")
    return figure
