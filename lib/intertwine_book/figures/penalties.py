"""Sanity rotations drawn: what matrices before an activation cost, and the colours of their groups."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, new_figure

INSERTED_COLOURS = {
    "control": COLOURS["grey"],
    "permutations": GROUP_COLOURS["permutations"],
    "signed permutations": GROUP_COLOURS["signed permutations"],
    "positive scalings": GROUP_COLOURS["G_ReLU"],
    "nonzero scalings": GROUP_COLOURS["nonzero monomial"],
    "orthogonal": GROUP_COLOURS["orthogonal"],
}
"""Group of transformations → its colour in the whole book; scalings come with a permutation."""

KIND_NAMES = {
    "permutations": "permutations",
    "signed permutations": "permutations with signs",
    "positive scalings": "permutations with positive scalings",
    "nonzero scalings": "permutations with nonzero scalings",
    "orthogonal": "orthogonal matrices",
}
"""Group of transformations → what chapter 1 calls it."""


def bars(rows: pd.DataFrame, kinds: Sequence[str]) -> Figure:
    """`draw_bars` in a figure of its own."""
    figure, axis = new_figure(height=3.2)
    draw_bars(axis, rows, kinds)
    return figure


def draw_bars(axis: Axes, rows: pd.DataFrame, kinds: Sequence[str]) -> None:
    """Mean penalties of some kinds of matrices by convolution; dots are networks.

    Args:
        axis: where to draw.
        rows: a matrix each, with columns group, layer, network and penalty.
        kinds: values of the column group.
    """
    single = rows.pivot_table("penalty", ["group", "layer"], "network")
    layers, step = sorted(rows["layer"].unique()), 0.88 / len(kinds)
    for k, group in enumerate(kinds):
        at = [place + step * (k - (len(kinds) - 1) / 2) for place in range(len(layers))]
        each = single.loc[group]
        axis.bar(at, each.mean(axis=1), 0.7 * step, color=INSERTED_COLOURS[group], label=KIND_NAMES[group])
        axis.plot(at, each, ".", color=COLOURS["ink"], markersize=3)
        for x, (mean, top) in zip(at, each.agg(["mean", "max"], axis=1).to_numpy(), strict=True):
            text = f"{mean:.1f}" if top else "0"
            axis.text(x, top + 0.7, text, ha="center", fontsize="small")
    axis.set_xticks(range(len(layers)), [f"{word} conv." for word in ("first", "second", "third")])
    room = 1.4 * single.max(axis=None)  # for the legend above the bars
    axis.set(ylabel="accuracy lost, points", ylim=(0, room))
    axis.grid(axis="x", visible=False)
    axis.legend(loc="upper left")
