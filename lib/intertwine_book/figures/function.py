"""Similarity against function: an index and the accuracy, clouds of points, and which layers match best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor

from intertwine_book.figures.style import COLOURS, check_columns, facets, new_figure
from intertwine_book.figures.trials import name_curves


def index_and_accuracy(
    table: pd.DataFrame, places: Mapping[str, tuple[float, float, str]], *, level: float, printed: float
) -> Figure:
    """Accuracy against CKA, a dot for every stitch, with names written beside the clouds.

    Args:
        table: columns way, cka and accuracy (percent).
        places: way → where its name stands (its centre) and its colour.
        level: accuracy of the untouched networks, drawn as a dotted line.
        printed: a CKA below which a paper reports that accuracy, drawn as a ring and an arrow on the line.
    """
    check_columns(table, "way", "cka", "accuracy")
    figure, axis = new_figure(width=5.2, height=3.9)
    axis.axhline(level, color=COLOURS["ink"], lw=0.8, ls=":")
    for way, (x, y, colour) in places.items():
        mine = table[table["way"] == way]
        axis.plot(mine["cka"], mine["accuracy"], "o", color=colour, ms=6, alpha=0.75, mew=0)
        axis.text(x, y, way, color=colour, ha="center", va="center")
    arrow = {"arrowstyle": "->", "color": COLOURS["ink"]}
    axis.annotate("", (printed - 0.06, level), (printed, level), arrowprops=arrow)
    axis.plot(printed, level, "o", mfc="none", mec=COLOURS["ink"], ms=9, mew=1.4)
    axis.text(printed - 0.01, level + 3, "printed", ha="center", va="bottom")
    axis.set(xlabel="CKA with the second network's activations", ylabel="accuracy of the stitched network, %")
    axis.set(ylim=(0, 100), xlim=(0.52, 1.15), xticks=[0.6, 0.7, 0.8, 0.9, 1.0])
    return figure


def labelled_clouds(
    panels: Mapping[str, tuple[Float[Tensor, "n 2"], Bool[Tensor, " n"]]], notes: Sequence[str]
) -> Figure:
    """Clouds of points in two colours, side by side on one scale, each with a title and a note below."""
    figure, axes = new_figure(1, len(panels), height=2.9, sharex=True, sharey=True)
    for axis, (title, (points, label)), note in zip(axes, panels.items(), notes, strict=True):
        for value, colour in ((True, COLOURS["blue"]), (False, COLOURS["orange"])):
            x, y = points[label == value].numpy(force=True).T
            axis.plot(x, y, "o", ms=2.6, color=colour, alpha=0.7, mew=0)
        axis.set_title(title)
        axis.set(xlabel=note, xticks=[], yticks=[])
    axes[0].set_ylabel("read by the task")
    return figure


def above_and_below(
    upper: pd.DataFrame,
    lower: pd.DataFrame,
    x: str,
    *,
    colours: Mapping[str, str],
    xlabel: str,
    ylabels: tuple[str, str],
    level: float | None = None,
) -> Figure:
    """Two panels over one axis: a thin curve for every trial, a thick one for their mean, named at its end.

    Args:
        upper, lower: columns `x`, name, trial and value.
        colours: name → colour, of both panels.
        level: height of a dotted line in the lower panel.
    """
    figure, axes = new_figure(2, 1, width=5.2, height=4.6, sharex=True)
    for axis, table, ylabel in zip(axes, (upper, lower), ylabels, strict=True):
        check_columns(table, x, "name", "trial", "value")
        ends = {}
        for name, mine in table.groupby("name", sort=False):
            wide = mine.pivot_table(index=x, columns="trial", values="value")
            colour = colours[str(name)]
            axis.plot(wide, color=colour, lw=0.7, alpha=0.55)
            axis.plot(wide.mean(axis=1), color=colour, lw=2.2)
            ends[str(name)] = (float(wide.mean(axis=1).iloc[-1]), colour)
        axis.set_ylabel(ylabel)
        name_curves(axis, ends)
    if level is not None:
        axes[1].axhline(level, color=COLOURS["ink"], lw=0.8, ls=":")
    axes[1].set_xlabel(xlabel)
    return figure


def best_matches(table: pd.DataFrame, *, xlabel: str, ylabel: str) -> Figure:
    """A matrix of similarities for each measure, with a ring on the largest value of every row.

    Args:
        table: columns measure, row, column (words, in order) and value; the mean over trials is shown.
    """
    figure, parts = facets(table, "measure", "row", "column", "value", height=2.75)
    for axis, part in parts:
        wide = part.pivot_table(index="row", columns="column", values="value", sort=False)
        axis.imshow(wide, cmap="cividis", vmin=0, vmax=1)
        best = wide.to_numpy().argmax(1)
        ring: dict[str, Any] = {"mfc": "none", "mec": COLOURS["red"], "ms": 7, "mew": 1.6, "ls": ""}
        axis.plot(best, np.arange(len(best)), "o", **ring)
        axis.set_xticks(range(len(wide.columns)), wide.columns)
        axis.set_yticks(range(len(wide)), wide.index if axis is parts[0][0] else [])
        axis.grid(visible=False)
    parts[0][0].set_ylabel(ylabel)
    figure.supxlabel(xlabel, fontsize="medium")
    return figure
