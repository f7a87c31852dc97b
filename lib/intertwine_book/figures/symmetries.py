"""Figures of symmetries: networks drawn with their weights, and quantities before and after a change."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, PAPER, facets, new_figure


def before_and_after(table: pd.DataFrame) -> Figure:
    """Scatter of quantities after a change against before it; on the diagonal they did not change.

    Columns `quantity` (one panel each), `before`, `after`. A panel names the largest change, as a share of
    the largest value.
    """
    figure, parts = facets(table, "quantity", "before", "after", height=2.5)
    colours = [COLOURS["orange"], COLOURS["blue"], COLOURS["green"]]
    for (axis, rows), colour in zip(parts, colours, strict=False):
        before, after = rows["before"].to_numpy(), rows["after"].to_numpy()
        error = np.abs(after - before).max() / np.abs(before).max()
        axis.axline((0, 0), slope=1, color=COLOURS["grey"], lw=1, zorder=0)
        axis.scatter(before, after, s=4, color=colour, alpha=0.5, linewidths=0, rasterized=len(rows) > 2000)
        change = f"change by up to {100 * error:,.0f} %" if error > 1e-10 else "do not change"
        axis.set(title=f"{axis.get_title()}\n{change}", xlabel="before")
        if axis is not parts[-1][0]:
            linear = max(1.0, float(np.abs(before).max()))
            axis.set_yscale("symlog", linthresh=linear)
            powers = np.arange(np.ceil(np.log10(linear)), np.log10(max(np.abs(after).max(), 10 * linear)) + 1)
            ticks = 10.0 ** powers[:: 1 + len(powers) // 5]  # none within the linear part, where 0 stands
            limits = axis.get_ylim()
            axis.set_yticks([*-ticks[::-1], 0, *ticks])
            axis.set_ylim(limits)
    parts[0][0].set_ylabel("after")
    return figure


def neuron_diagram(networks: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw networks with one hidden layer side by side, every weight written on its edge.

    They are title → `W1` (hidden, in), `b1` (hidden,), `W2` (out, hidden), and perhaps `colours` of hidden
    neurons.
    """
    figure, axes = new_figure(1, len(networks), height=2.6, squeeze=False)
    for axis, (title, network) in zip(axes[0], networks.items(), strict=True):
        _draw(axis, network)
        axis.set_title(title)
    return figure


def _draw(axis: Axes, network: Mapping[str, Any]) -> None:
    W1, b1, W2 = (np.asarray(network[key], dtype=float) for key in ("W1", "b1", "W2"))
    colours = network.get("colours", [COLOURS["blue"], COLOURS["red"]] * len(b1))
    sizes = (W1.shape[1], len(b1), W2.shape[0])
    layers = [[(float(k), y) for y in _spread(size)] for k, size in enumerate(sizes)]
    for source, target, weights in ((0, 1, W1), (1, 2, W2)):
        for i, end in enumerate(layers[target]):
            for j, start in enumerate(layers[source]):
                colour = colours[i if target == 1 else j]
                axis.plot(*zip(start, end, strict=True), color=colour, lw=1.8, zorder=1)
                x, y = 0.5 * (np.array(start) + np.array(end))
                axis.text(x, y, f"{weights[i, j]:g}", ha="center", va="center", zorder=2, **_LABEL)
    names = [[["x"]], [["ReLU", f"{b:+g}"] for b in b1], [["f(x)"]]]
    for points, labels, fills in zip(layers, names, ([PAPER], colours, [PAPER]), strict=True):
        for (x, y), label, fill in zip(points, labels, fills, strict=False):
            axis.scatter(x, y, s=1150, color=fill, edgecolors=COLOURS["ink"], zorder=3)
            ink = COLOURS["ink"] if fill == PAPER else "#ffffff"
            for line, side in zip(label, ("bottom", "top") if label[1:] else ("center",), strict=True):
                axis.text(x, y, line, ha="center", va=side, zorder=4, fontsize=10, color=ink)
    axis.set(xlim=(-0.35, 2.35), ylim=(-1.0, 1.0))
    axis.axis("off")


_LABEL: dict[str, Any] = {"bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}, "fontsize": 11}


def _spread(count: int) -> np.ndarray:
    """Heights of `count` neurons drawn above each other, the first on top."""
    return np.linspace(0.55, -0.55, count) if count > 1 else np.zeros(1)
