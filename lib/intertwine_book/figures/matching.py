"""Matching drawn: two ways to find a map between two networks, and what the maps found are worth."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas, chain
from intertwine_book.figures.style import COLOURS

RELATIVE = "relative accuracy, %"
STITCH_COLOURS = {
    "task loss": COLOURS["green"],
    "least squares": COLOURS["red"],
    "variance restored": COLOURS["blue"],
    "size restored": COLOURS["sky"],
    "orthogonal": COLOURS["orange"],
    "untrained front": COLOURS["grey"],
    "trained front": COLOURS["green"],
}
"""Way of stitching → its colour in the chapter."""
FITTED_AND_TRAINED = {way: STITCH_COLOURS[way] for way in ("least squares", "task loss")}


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


def numbered(stitches: pd.DataFrame) -> pd.DataFrame:
    """Stitches with the number of their layer, as a word, and in `y` the relative accuracy in percent.

    Example:
        >>> table = pd.DataFrame({"layer1": ["bn3", "bn6"], "relative_accuracy": [0.5, 1.0]})
        >>> numbered(table)[["layer", "y"]].values.tolist()
        [['3', 50.0], ['6', 100.0]]

    Blocks of residual networks are counted in order, from 1.
    """
    order = {name: str(k) for k, name in enumerate(dict.fromkeys(stitches["layer1"]), 1)}
    order |= {name: name[2:] for name in order if name.startswith("bn") and "block1.relu2" not in order}
    return stitches.assign(layer=stitches["layer1"].map(order), y=100 * stitches["relative_accuracy"])


def titled(stitches: pd.DataFrame, side: str = ", before the ReLU") -> pd.DataFrame:
    """Stitches with the title of their layer, whose name is bnk for layer k."""
    return stitches.assign(layer="layer " + stitches["layer1"].str.removeprefix("bn") + side)


def singly(directions: pd.DataFrame, layer: str = "bn3") -> pd.DataFrame:
    """The single directions of a layer, the largest first: loud as long as they hold half of the variance.

    Columns besides: kind (loud or quiet), percent (of the variance), and cost (nats, of a removal).
    """
    here = directions[directions["layer1"] == layer]
    own = here[here["stitch"] == "model 2"].set_index("pair")["distance"].rename("own")
    each = here[here["part"].str.isdigit()].join(own, on="pair")
    before = each.groupby(["pair", "stitch"])["variance"].cumsum() - each["variance"]
    kind = before.lt(0.5).map({True: "loud", False: "quiet"})
    cost = (each["distance"] - each["own"]).clip(lower=1e-4)
    return each.assign(kind=kind, cost=cost, percent=100 * each["variance"])


def ways_by_layer(stitches: pd.DataFrame, *ways: str, **options: Any) -> Figure:
    """Relative accuracy (percent, in `y`) of some ways of stitching by layer; options are those of `dots`."""
    colours = {way: STITCH_COLOURS[way] for way in ways}
    words: dict[str, Any] = {"colours": colours, "ylabel": RELATIVE, "level": 100.0}
    words["xlabel"] = "layer, cut before the ReLU"
    return dots(stitches, "layer", "y", "stitch", **words | options)


def use_and_error(directions: pd.DataFrame) -> Figure:
    """Each direction: what its removal costs, and how much of its variance a stitch writes."""
    directions = singly(directions)
    left, right = "cost of removal, nats", "variance, stitch / layer"
    removed = directions["stitch"] == "removed"
    both = [directions[removed].assign(of=left, value=directions["cost"], stitch=directions["kind"])]
    both += [directions[~removed].assign(of=right, value=directions["kept"])]
    colours = FITTED_AND_TRAINED | {"loud": COLOURS["ink"], "quiet": COLOURS["grey"]}
    words: dict[str, Any] = {
        "xlabel": "share of layer 3's variance, before the ReLU, in the direction, %",
        "panels": "of",
    }
    words |= {"colours": colours, "level": {right: 1.0}, "xscale": "log", "yscale": "log"}
    return scatter(pd.concat(both), "percent", "value", "stitch", **words)


def parts_of_error(directions: pd.DataFrame) -> Figure:
    """Accuracy of model 2 with a stitch's error in some directions of a layer; dotted: without."""
    order = ["loud", "quiet", "both"]
    parts = titled(directions[directions["part"].isin(order)])
    own = parts.loc[parts["stitch"] == "model 2", "accuracy"].mean()  # the same at each layer
    parts = parts.sort_values("part", key=lambda part: part.map(order.index), kind="stable")
    words: dict[str, Any] = {"xlabel": "part of the error", "ylabel": "accuracy, %", "ylim": (62, 90)}
    words |= {"colours": FITTED_AND_TRAINED, "panels": "layer", "height": 2.6}
    return dots(parts, "part", "accuracy", "stitch", level=own, **words)


def by_rank(ranked: pd.DataFrame) -> Figure:
    """Stitches of low rank: fitted, and trained by the task."""
    ways = {"direct": ("direct", "red"), "task_loss": ("task loss", "green")}
    long = titled(ranked).melt(["pair", "layer", "rank"], list(ways), "way")
    long = long.assign(way=long["way"].map({way: title for way, (title, _) in ways.items()}))
    words: dict[str, Any] = {"xlabel": "rank", "ylabel": RELATIVE, "ylim": (20, 102), "height": 2.6}
    words["colours"] = {title: COLOURS[shade] for title, shade in ways.values()}
    return dots(long.assign(y=100 * long["value"]), "rank", "y", "way", panels="layer", **words)


def by_start(curves: pd.DataFrame, x: str, **words: Any) -> Figure:
    """Curves of relative accuracy from either start, a panel for each layer."""
    words |= {"ylabel": RELATIVE, "panels": "layer", "across": 4, "ylim": (0, 108), "height": 1.7}
    colours = {"random": COLOURS["grey"], "random, longer": COLOURS["blue"]}
    colours |= {"least squares": STITCH_COLOURS["least squares"]}
    return single_curves(titled(curves, ""), x, "y", "start", colours=colours, **words)


def by_zeros(stitches: pd.DataFrame) -> Figure:
    """Stitches by task loss, the lasso and the refitted lasso, against their share of zeros."""
    names = {"task loss": "task loss", "direct": "lasso", "refitted": "lasso, refitted"}
    tones = (STITCH_COLOURS["task loss"], STITCH_COLOURS["least squares"], COLOURS["sky"])
    colours = dict(zip(names.values(), tones, strict=True))
    long = titled(stitches.replace({"stitch": names}))
    long = long.assign(zeros=100 * long["sparsity"], value=100 * long["relative_accuracy"])
    words: dict[str, Any] = {"xlabel": "zeros, %", "ylabel": RELATIVE, "ylim": (0, 103), "means": False}
    return single_curves(long, "zeros", "value", "stitch", "pair", panels="layer", colours=colours, **words)
