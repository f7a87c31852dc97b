"""Matching drawn: two ways to find a map, and the directions of a layer."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas, chain
from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def two_ways_diagram(
    at_the_cut: str = "direct: compare\nactivations here",
    behind: str = "by the task: compare\noutputs here",
    name: str = "$S$",
) -> Figure:
    """Two networks, the map between them, and the two places where its values may be compared."""
    figure, [axis] = canvas(9.0, 4.0)
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


def loud_and_quiet(table: pd.DataFrame, colours: Mapping[str, str]) -> Figure:
    """Two scatters over the principal directions of a layer, each against its share of the variance.

    Args:
        table: rows of `error_by_direction` for single directions: stitch, variance, kept, distance, and base,
            the distance of model 2 itself.
        colours: of the stitches on the right; "removed" is on the left.
    """
    check_columns(table, "stitch", "variance", "kept", "distance", "base")
    figure, (left, right) = new_figure(1, 2, height=3.3)
    dots = {"ms": 4.5, "alpha": 0.55, "mew": 0}
    gone = table[table["stitch"] == "removed"]
    rise = (gone["distance"] - gone["base"]).clip(lower=1e-4)
    left.plot(100 * gone["variance"], rise, "o", color=COLOURS["ink"], **dots)
    left.set(xscale="log", yscale="log", title="cost of removal, nats")
    right.axhline(1, color=COLOURS["ink"], lw=0.8, ls=":")
    for k, (name, colour) in enumerate(colours.items()):
        mine = table[table["stitch"] == name]
        right.plot(100 * mine["variance"], mine["kept"], "o", color=colour, **dots)
        right.text(0.99, 0.93 - 0.08 * k, name, color=colour, ha="right", transform=right.transAxes)
    right.set(xscale="log", yscale="log", title="variance, stitch / layer")
    right.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    for axis in (left, right):
        axis.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    figure.supxlabel("share of the layer's variance in the direction, %", fontsize="medium")
    return figure
