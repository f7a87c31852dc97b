"""Sanity rotations drawn: where the matrices stand, and the accuracy that they cost."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, check_columns, facets, new_figure
from intertwine_book.results import interval

COLOUR_OF = {
    "control": COLOURS["grey"],
    "permutations": GROUP_COLOURS["permutations"],
    "signed permutations": GROUP_COLOURS["signed permutations"],
    "positive scalings": GROUP_COLOURS["G_ReLU"],
    "nonzero scalings": GROUP_COLOURS["nonzero monomial"],
    "orthogonal": GROUP_COLOURS["orthogonal"],
}
"""Group of transformations → its colour in the whole book; scalings come with a permutation."""


def insertion_diagram() -> Figure:
    """A layer with its activation; with A before and B behind it; and with A in its weights, finetuned."""
    figure, [axis] = canvas(9.6, 5.0)
    blue, orange = NETWORKS
    rows = {
        4.3: ("the network", ["$W, b$", "", "$\\sigma$", "", "rest"], blue),
        2.7: ("best linear map", ["$W, b$", "$A$", "$\\sigma$", "$B$", "rest"], blue),
        1.0: ("the paper", ["$AW, Ab$", "", "$\\sigma$", "", "rest"], orange),
    }
    for y, (title, boxes, colour) in rows.items():
        axis.text(0.1, y, title.replace(" linear", "\nlinear"), va="center")
        last = 0.0
        for k, text in enumerate(boxes):
            if not text:
                continue
            x, width = 2.7 + 1.45 * k, 1.25 if "AW" in text else 0.95
            box(axis, (x, y), text, MAP if text in "$A$ $B$" else colour if k == 4 else blue, width=width)
            if last:
                arrow(axis, (last, y), (x - width / 2, y))
            last = x + width / 2
    small: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
    axis.text(4.15, 3.25, "inserted", color=MAP, **small)
    axis.text(7.05, 3.25, "fitted", color=MAP, **small)
    axis.text(
        4.15, 2.0, "$A$ in the group of $\\sigma$: $B=\\varphi(A)^{-1}$ undoes it", ha="left", fontsize=9
    )
    axis.text(2.7, 0.35, "frozen", color=blue, **small)
    axis.text(8.5, 0.35, "finetuned", color=orange, **small)
    return figure


def closed_and_finetuned(closed: pd.DataFrame, tuned: pd.DataFrame, printed: pd.DataFrame) -> Figure:
    """Penalties by layer: closed form (diamonds), finetuned (dots) and printed (rings), trials as points.

    Args:
        closed, tuned, printed: columns `layer`, `group` (a key of `COLOUR_OF`), `penalty` (points; lower is
            better), one row a trial or a printed value; the mean has a 95 % t-interval.
    """
    check_columns(printed, "layer", "group", "penalty")
    figure, axis = new_figure(height=3.6)
    kinds = [("D", closed), ("o", tuned)]
    columns = [(group, *kind) for group in dict.fromkeys(tuned["group"]) for kind in kinds]
    columns = [(group, mark, table) for group, mark, table in columns if (table["group"] == group).any()]
    layers = sorted(printed["layer"].unique())
    for place, layer in enumerate(layers):
        for k, (group, mark, table) in enumerate(columns):
            x, colour = place + 0.15 * (k - (len(columns) - 1) / 2), COLOUR_OF[group]
            trials = table[(table["layer"] == layer) & (table["group"] == group)]["penalty"]
            mean, (low, high) = trials.mean(), interval(trials)
            axis.plot([x + 0.05] * len(trials), trials, ".", ms=3, color=colour, alpha=0.5)
            axis.errorbar(
                x, mean, [[mean - low], [high - mean]], fmt=mark, ms=5, color=colour, elinewidth=1.2
            )
            ring = printed[(printed["layer"] == layer) & (printed["group"] == group)]["penalty"]
            if mark == "o":
                axis.plot([x] * len(ring), ring, "o", mfc="none", mec=colour, mew=1.4, ms=9)
    axis.set(xlabel="layer, as the paper counts", ylabel="penalty, points", xticks=range(len(layers)))
    axis.set_xticklabels([str(layer) for layer in layers])
    axis.set_xlim(-0.5, len(layers) - 0.5)
    axis.axhline(0, color=COLOURS["ink"], lw=0.8)
    ink: dict[str, Any] = {"color": COLOURS["ink"], "ls": ""}
    words = {"D": "closed form", "o": "finetuned", ".": "single draws"}
    marks = [Line2D([], [], marker=m, label=words[m], **ink) for m in words]
    marks.insert(2, Line2D([], [], marker="o", mfc="none", ms=9, label="printed", **ink))
    names = {"positive scalings": "$G_{\\mathrm{ReLU}}$", "control": "control, $A = I$"}
    for group in dict.fromkeys(tuned["group"]):
        marks.append(Line2D([], [], color=COLOUR_OF[group], lw=4, label=names.get(group, group)))
    figure.legend(handles=marks, loc="outside lower center", ncols=4, fontsize="small")
    return figure


def unexplained_and_penalty(table: pd.DataFrame) -> Figure:
    """The penalty of each draw against the share of the activations that the best map does not explain.

    Args:
        table: columns `layer` (panels), `group` (colours), `unexplained` (a share) and `penalty` (points).
    """
    figure, parts = facets(table, "layer", "group", "unexplained", "penalty", height=3.0, sharey=True)
    for axis, draws in parts:
        for group, rows in draws.groupby("group", sort=False):
            style: dict[str, Any] = {"s": 14, "color": COLOUR_OF[str(group)], "alpha": 0.7, "linewidths": 0}
            axis.scatter(100 * rows["unexplained"], rows["penalty"], label=group, **style)
    parts[0][0].set_ylabel("penalty, points")
    parts[len(parts) // 2][0].set_xlabel("unexplained, % of the mean square")
    figure.legend(
        *parts[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small"
    )
    return figure
