"""Figures of groups: what can be pulled through an activation, and what a group does to rays and weights."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, check_columns, new_figure


def pull_through() -> Figure:
    """A matrix is inserted before an activation, undone behind it, and absorbed by the weights around it."""
    figure, axis = canvas(9.0, 4.6)
    inserted = ["$A$", "$B^{-1}$"]
    rows = {
        "as trained": ["$W_1$", "$\\sigma$", "$W_2$"],
        "insert, undo": ["$W_1$", "$A$", "$\\sigma$", "$B^{-1}$", "$W_2$"],
        "absorb": ["$A\\,W_1$", "$\\sigma$", "$W_2\\,B^{-1}$"],
    }
    for y, (name, layers) in zip((4.1, 2.4, 0.7), rows.items(), strict=True):
        axis.text(0, y, name, va="center")
        gap, width = (1.5, 1.15) if len(layers) == 5 else (2.7, 1.75)
        for k, text in enumerate(layers):
            x = 5.4 + (k - (len(layers) - 1) / 2) * gap
            colour = NETWORKS[name == "absorb"] if "W" in text else COLOURS["grey"]
            box(axis, (x, y), text, MAP if text in inserted else colour, width=width)
            if k:
                arrow(axis, (x - gap + width / 2, y), (x - width / 2, y))
    why = "equal, because $\\sigma\\circ A=B\\circ\\sigma$"
    for y, text in ((3.25, why), (1.55, "equal, with other weights")):
        axis.text(5.4, y, text, ha="center", va="center")
    return figure


def moved_points(panels: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """Points of the plane on their rays and their images under elements of a group, a panel a set of points.

    A point is named, and given with its images as rows, itself first. Images beyond 3 are left out.
    """
    figure, axes = new_figure(1, len(panels), height=2.8, squeeze=False)
    for axis, (title, points) in zip(axes[0], panels.items(), strict=True):
        for colour, (name, images) in zip(("blue", "orange"), points.items(), strict=False):
            (x, y), style = np.asarray(images)[0], {"color": COLOURS[colour]}
            axis.plot([0, 9 * x], [0, 9 * y], lw=1, alpha=0.6, **style)
            axis.plot(*np.asarray(images).T, ".", ms=4, mew=0, **style)
            axis.plot(x, y, "o", ms=8, **style)
            axis.annotate(name, (x, y), (5, 5), textcoords="offset points", **style)
        axis.set(title=title, xlim=(-0.3, 3.0), ylim=(-0.3, 3.0), aspect="equal", xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
        axis.grid(False)
    return figure


def orbits_of_a_neuron(panels: Mapping[str, Sequence[tuple[float, float]]], groups: Sequence[str]) -> Figure:
    """The pairs (w, v) with one function v·σ(wx), a panel for each activation; the first is marked.

    Each has the colour of its group, by its name in `style.GROUP_COLOURS`.
    """
    figure, axes = new_figure(1, len(panels), height=2.0, squeeze=False)
    for axis, (title, pairs), group in zip(axes[0], panels.items(), groups, strict=True):
        axis.axhline(0, color=COLOURS["grey"], lw=0.8)
        axis.axvline(0, color=COLOURS["grey"], lw=0.8)
        axis.plot(*zip(*pairs, strict=True), ".", ms=7, color=GROUP_COLOURS[group])
        axis.plot(*pairs[0], "o", ms=7, color=COLOURS["ink"])
        if axis is axes[0, 0]:
            w, v = pairs[0]
            axis.annotate(f"({w:g}, {v:g})", (w, v), (0, 6), textcoords="offset points", ha="center")
        axis.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
        axis.set_title(title, pad=14)  # above the name of the axis
        axis.text(3, -0.2, "$w$", ha="right", va="top")
        axis.text(0, 3, "$v$", ha="center", va="bottom")
        axis.spines[:].set_visible(False)
    return figure


def scalar_strip(table: pd.DataFrame) -> Figure:
    """A row of cells for each activation: blue where σ(ax) is a multiple of σ(x).

    Columns `activation`, `a` (the same values for each), `residual` (relative).
    """
    check_columns(table, "activation", "a", "residual")
    wide = table.pivot_table(index="activation", columns="a", values="residual", sort=False)
    wide = wide.sort_index(axis=1)
    logs = np.log10(wide.to_numpy().clip(1e-12, 1.0))
    shades = LinearSegmentedColormap.from_list("residual", [COLOURS["blue"], "#9fc9e4", "#e9eef2"])
    figure, axis = new_figure(height=0.26 * len(wide) + 0.9)
    # cells of equal width: a group may be a single number
    axis.pcolormesh(logs, cmap=shades, vmin=-12, vmax=0, edgecolors="white", linewidth=0.3)
    axis.invert_yaxis()
    axis.grid(False)
    axis.set_yticks(np.arange(len(wide)) + 0.5, list(wide.index))
    values = wide.columns.to_numpy()
    ticks = [int(np.abs(values - a).argmin()) for a in (-20.0, -1.0, -0.05, 0.05, 1.0, 20.0)]
    axis.set_xticks(np.array(ticks) + 0.5, ["−20", "−1", "−1/20", "1/20", "1", "20"])
    axis.axvline(int((values < 0).sum()), color=COLOURS["ink"], lw=1)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel("a")
    return figure
