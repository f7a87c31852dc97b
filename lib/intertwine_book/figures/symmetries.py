"""Networks drawn with their weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, PAPER, new_figure


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
