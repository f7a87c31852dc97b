"""Figures of shallow ReLU networks: folds, neurons, degeneracies, hidden symmetries and the theorems."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.style import COLOURS, check_columns, facets, new_figure

_CYCLE = [COLOURS[name] for name in ("blue", "red", "green", "orange", "pink")]


def folded_planes(surface: pd.DataFrame, neurons: pd.DataFrame) -> Figure:
    """Level lines of networks of two inputs, each neuron's fold, and arrows to the side where it is active.

    The surface has columns `network` (one panel each), `x`, `y` (a grid), `f`; the neurons `network`, `w1`,
    `w2`, `b`, with folds w1·x + w2·y + b = 0.
    """
    check_columns(neurons, "network", "w1", "w2", "b")
    figure, parts = facets(surface, "network", "x", "y", "f", height=2.9, sharex=True, sharey=True)
    levels = np.linspace(surface["f"].min(), surface["f"].max(), 15)
    for axis, points in parts:
        wide = points.pivot_table(index="y", columns="x", values="f")
        x, y = wide.columns.to_numpy(), wide.index.to_numpy()
        axis.contourf(x, y, wide.to_numpy(), levels, cmap="Greys", alpha=0.6)
        axis.contour(x, y, wide.to_numpy(), levels, colors=COLOURS["grey"], linewidths=0.5)
        for index, row in enumerate(neurons[neurons["network"] == points["network"].iloc[0]].itertuples()):
            _fold(axis, np.array([row.w1, row.w2]), row.b, _CYCLE[index % len(_CYCLE)])
        axis.set(xlabel="x", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), aspect="equal")
        axis.grid(False)
    parts[0][0].set_ylabel("y")
    return figure


def _fold(axis: Axes, w: np.ndarray, b: float, colour: str) -> None:
    foot, normal = -b * w / (w @ w), w / np.linalg.norm(w)
    axis.axline(tuple(foot), tuple(foot + np.array([-w[1], w[0]])), color=colour, lw=1.8)
    along = 0.35 * np.array([-w[1], w[0]]) / np.linalg.norm(w)
    start = foot + along
    arrow = {"color": colour, "arrowstyle": "->", "lw": 1.8}
    axis.annotate("", tuple(start + 0.45 * normal), tuple(start), arrowprops=arrow)


_QUESTIONS = {
    "Neurons to drop, to merge,\nor to move into c?": "Free directions:\ntake the minimal form first",
    "Two neurons on\none hyperplane?": "Output weight may move\nwithin opposite pairs",
    "A set $S \\ne ∅$ of neurons with\n$\\sum_S\\lambda_i w_i^\\top = 0$?": "One orbit for each S and\n"
    "for ∅; locally identifiable",
}


def decision_tree() -> Figure:
    """Three questions about a network, and which networks of its width are the same function."""
    figure, axis = canvas(10.0, 6.6)
    for k, (question, answer) in enumerate(_QUESTIONS.items()):
        y = 5.9 - 1.7 * k
        box(axis, (2.5, y), question, NETWORKS[0], width=4.6, height=1.0)
        box(axis, (7.7, y), answer, NETWORKS[1], width=4.2, height=1.0)
        arrow(axis, (4.8, y), (5.6, y), "yes")
        arrow(axis, (2.5, y - 0.5), (2.5, y - 1.2))
        axis.text(2.65, y - 0.85, "no", va="center")
    generic = "One orbit: swaps and positive\nscalings are all symmetries"
    box(axis, (2.5, 0.7), generic, MAP, width=4.6, height=1.0)
    return figure


def neuron_rays(table: pd.DataFrame) -> Figure:
    """Neurons of one input as arrows (w, b), step by step: thick for large |λ|, dashed for λ = 0.

    Columns `network` (a panel for each step), `w1`, `b`, `weight` (λ), `constant` (its c).
    """
    columns = ("w1", "b", "weight", "constant")
    figure, parts = facets(table, "network", *columns, height=2.8, sharex=True, sharey=True)
    reach = 1.15 * float(np.abs(table[["w1", "b"]].to_numpy()).max())
    largest = float(np.abs(table["weight"]).max())
    for axis, rows in parts:
        for row in rows.itertuples():
            colour = COLOURS["grey"] if row.weight == 0 else COLOURS["blue" if row.weight > 0 else "red"]
            width, dash = 1 + 3 * abs(row.weight) / largest, "-" if row.weight else ":"
            arrow = {"arrowstyle": "->", "color": colour, "lw": width, "ls": dash}
            axis.annotate("", (row.w1, row.b), (0, 0), arrowprops=arrow)
        axis.set(title=f"{axis.get_title()}\nc = {rows['constant'].iloc[0]:g}", xlabel="w", aspect="equal")
        axis.set(xlim=(-reach, reach), ylim=(-reach, reach))
        axis.axhline(0, color=COLOURS["ink"], lw=0.5)
        axis.axvline(0, color=COLOURS["ink"], lw=0.5)
    parts[0][0].set_ylabel("b")
    return figure


_DISTANCES = {
    "parallel": "to merge",
    "dead": "to drop",
    "constant": "to a constant",
    "σ_min": "μ (bound for flips)",
}


_NEURONS = {"all": "all neurons", "active": "without neurons that never fire"}


def degeneracies(table: pd.DataFrame) -> Figure:
    """Distances of networks to each kind of degeneracy: a row of points for each, on a logarithmic axis.

    Columns `neurons` ("all" or "active", a panel each), `distance` (the kind of degeneracy), `network` (a
    colour each), `value` (the distance).
    """
    shown = table.assign(neurons=table["neurons"].map(_NEURONS))
    kinds, names = list(dict.fromkeys(table["distance"])), list(dict.fromkeys(table["network"]))
    columns = ("distance", "network", "value")
    figure, parts = facets(shown, "neurons", *columns, height=0.8 * len(kinds) + 1, sharex=True, sharey=True)
    for axis, part in parts:
        for offset, (name, colour, marker) in enumerate(zip(names, _CYCLE, "osd^v", strict=False)):
            rows = part[part["network"] == name]
            place = rows["distance"].map({kind: index for index, kind in enumerate(kinds)})
            height = place + 0.16 * (offset - (len(names) - 1) / 2)
            axis.scatter(
                rows["value"], height, color=colour, marker=marker, s=16, alpha=0.7, label=_in_powers(name)
            )
        axis.set(xscale="log", xlabel="distance", ylim=(len(kinds) - 0.5, -0.5))
        axis.set_yticks(range(len(kinds)), [_DISTANCES[kind] for kind in kinds])
    least = table["value"][table["value"] > 0].min()
    axis.set_xlim(min(1e-3, least / 2), 2.0)
    axis.xaxis.set_major_locator(LogLocator(numticks=6))
    axis.minorticks_off()
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _in_powers(name: str) -> str:
    """A name that ends with a power of ten, as "decay 1e-05", with its exponent: "decay $10^{-5}$"."""
    found = re.fullmatch(r"(.* )(1e-\d+|0\.0*1)", name)
    return f"{found[1]}$10^{{{round(math.log10(float(found[2])))}}}$" if found else name


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


def nearest_hyperplanes(table: pd.DataFrame) -> Figure:
    """Shares of neurons whose hyperplane has one of the other network within an angle, for each pair.

    Columns `pair` (a line each), `angle` (to the nearest in degrees, one row a neuron).
    """
    check_columns(table, "pair", "angle")
    figure, axis = new_figure(height=2.8)
    sns.ecdfplot(table, x="angle", hue="pair", palette=_CYCLE[: table["pair"].nunique()], ax=axis)
    axis.set(xlim=(-1, 91), xlabel="angle to the nearest hyperplane, degrees", ylabel="share of neurons")
    sns.move_legend(axis, "upper left", bbox_to_anchor=(0.05, 0.95), title=None)
    return figure
