"""Figures of shallow ReLU networks: where they fold, and how many sets of neurons can be flipped."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine.shallow import ShallowReLU
from intertwine_book.figures.style import COLOURS, check_columns, new_figure

_CYCLE = [COLOURS[name] for name in ("blue", "red", "green", "orange", "pink")]


def folded_planes(networks: Mapping[str, ShallowReLU], ticks: Float[np.ndarray, " g"]) -> Figure:
    """Level lines of networks of two inputs, each neuron's fold, and arrows to the side where it is active.

    A panel for each network, on the square of the ticks; all have the same levels of their first output.
    """
    x, y = np.meshgrid(ticks, ticks)
    heights = {name: p(np.stack([x, y], -1))[..., 0].astype(float) for name, p in networks.items()}
    levels = np.linspace(min(z.min() for z in heights.values()), max(z.max() for z in heights.values()), 15)
    size: dict[str, Any] = {"width": 0.5 + 2.6 * len(networks), "height": 2.9, "squeeze": False}
    figure, axes = new_figure(1, len(networks), sharex=True, sharey=True, **size)
    for axis, (name, p) in zip(axes[0], networks.items(), strict=True):
        axis.contourf(x, y, heights[name], levels, cmap="Greys", alpha=0.6)
        axis.contour(x, y, heights[name], levels, colors=COLOURS["grey"], linewidths=0.5)
        for k, (*w, b) in enumerate(p.float().rows):
            _fold(axis, np.array(w), b, _CYCLE[k % len(_CYCLE)])
        limits = (ticks[0], ticks[-1])
        axis.set(title=name, xlabel="x", xlim=limits, ylim=limits, aspect="equal")
        axis.grid(False)
    axes[0, 0].set_ylabel("y")
    return figure


def _fold(axis: Axes, w: np.ndarray, b: float, colour: str) -> None:
    foot, normal = -b * w / (w @ w), w / np.linalg.norm(w)
    along = np.array([-normal[1], normal[0]])
    axis.axline(tuple(foot), tuple(foot + along), color=colour, lw=1.8)
    start = foot + 0.35 * along
    arrow = {"color": colour, "arrowstyle": "->", "lw": 1.8}
    axis.annotate("", tuple(start + 0.45 * normal), tuple(start), arrowprops=arrow)


def hidden_counts(table: pd.DataFrame, xlabel: str = "largest integer") -> Figure:
    """Sets to flip (`hidden`) by `size` of the integers: networks as points, their median as a line."""
    check_columns(table, "size", "hidden")
    figure, axis = new_figure(height=2.8)
    jitter = np.exp(0.08 * np.random.default_rng(0).uniform(-1, 1, len(table)))
    points: dict[str, Any] = {"s": 10, "color": COLOURS["blue"], "alpha": 0.5, "linewidths": 0}
    points["rasterized"] = len(table) > 1000
    axis.scatter(table["size"] * jitter, table["hidden"], **points)
    axis.plot(table.groupby("size")["hidden"].median(), color=COLOURS["red"], label="median")
    axis.set_xscale("log", base=2)
    axis.set_yscale("symlog", linthresh=1)
    axis.set(xlabel=xlabel, ylabel="sets to flip", ylim=(-0.3, 3 + 2 * table["hidden"].max()))
    axis.legend()
    return figure
