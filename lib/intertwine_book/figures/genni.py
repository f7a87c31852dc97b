"""Figures of GENNI: the loss on planes of parameters, ε-sets, their components and their pictures by UMAP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, facets, new_figure

if TYPE_CHECKING:
    import intertwine.genni  # torch is slow to import


class Losses(NamedTuple):
    """Recorded losses, drawn as those of a `Grid` are."""

    axis: np.ndarray
    relative: np.ndarray


def loss_planes(panels: Mapping[str, Mapping[str, Any]], *, low: int = -4, high: int = 1) -> Figure:
    """J/E[y²] on planes of parameters, dark where the function is nearly the target.

    Args:
        panels: title → `grid` (a `Grid` of two dimensions, or `Losses`) and, where wanted, `oracle`
            (coordinates of exact members of the class, drawn as dots), `points` (of solutions, drawn as
            crosses), `epsilon` (a contour of J/E[y²]), `names` (of the coordinates), `exact` (another grid,
            whose contour at the same ε is dashed) and `zero` (a mask of the points where the output is 0,
            hatched).
        low, high: the powers of ten between which shades differ.
    """
    figure, axes = new_figure(1, len(panels), height=2.6, squeeze=False)
    for axis, (title, panel) in zip(axes[0], panels.items(), strict=True):
        grid = panel["grid"]
        at = _numbers(grid.axis)
        logs = np.log10(_numbers(grid.relative).T.clip(10.0**low, 10.0**high))
        extent = (at[0], at[-1], at[0], at[-1])
        shades = {"cmap": "GnBu_r", "vmin": low, "vmax": high, "interpolation": "nearest"}
        image = axis.imshow(logs, origin="lower", extent=extent, **shades)
        if "zero" in panel:
            zero = _numbers(panel["zero"]).T
            hatched = axis.contourf(at, at, zero, [0.5, 1.5], colors="none", hatches=["////"])
            hatched.set(edgecolor="#000000", linewidth=0)
            y, x = (at[each].mean() for each in zero.nonzero())
            word = {"ha": "center", "va": "center", "color": "#000000"}
            axis.text(x, y, "output 0", bbox={"fc": "#ffffff", "ec": "none", "pad": 2}, **word)
        for kind, style in (("grid", "solid"), ("exact", "dashed")):
            if kind in panel and "epsilon" in panel:
                values = _numbers(panel[kind].relative).T
                colour = "#000000" if kind == "grid" else COLOURS["red"]
                line = {"colors": colour, "linestyles": style, "linewidths": 1.1}
                axis.contour(at, at, values, [panel["epsilon"]], **line)
        if "oracle" in panel:
            axis.scatter(*_numbers(panel["oracle"]).T, s=5, color=COLOURS["orange"], linewidths=0)
        if "points" in panel:
            axis.scatter(*_numbers(panel["points"]).T, s=45, color=COLOURS["red"], marker="X", zorder=3)
        x, y = panel.get("names", ("t₁", "t₂"))
        axis.set(title=title, xlabel=x, ylabel=y, xlim=extent[:2], ylim=extent[2:])
        axis.grid(False)
    figure.colorbar(image, ax=list(axes[0]), label="log₁₀ J/E[y²]", shrink=0.75, pad=0.02)
    return figure


def outgoing_weights(cases: Mapping[str, tuple[float, float]], slopes: tuple[float, float]) -> Figure:
    """For fixed input weights (w₁, w₂) of two neurons, the outgoing weights that keep the slopes (s₊, s₋)."""
    figure, axes = new_figure(1, len(cases), height=2.6, sharex=True, sharey=True)
    for axis, (title, (w1, w2)) in zip(axes, cases.items(), strict=True):
        plus, minus = slopes
        axis.axhline(0, color=COLOURS["grey"], lw=0.6)
        axis.axvline(0, color=COLOURS["grey"], lw=0.6)
        if w1 < 0 and w2 < 0:
            start, along = np.array([minus / w1, 0.0]), np.array([w2, -w1])
            axis.axline(tuple(start), tuple(start + along), color=COLOURS["blue"], lw=2)
            at = start + 0.5 * along
            arrow = {"arrowstyle": "->", "color": COLOURS["red"], "lw": 2}
            axis.annotate("", at + 0.7 * along, at, arrowprops=arrow)
            axis.annotate("$t\\,(w_2, -w_1)$", at + np.array([0.15, 0.35]), color=COLOURS["red"])
        else:
            at = np.array([plus / w1, minus / w2] if w1 > 0 else [minus / w1, plus / w2])
        axis.scatter(*at, color=COLOURS["blue"], s=45, zorder=3)
        axis.set(title=title, xlabel="$c_1$", xlim=(-2, 2), ylim=(-2, 2), aspect="equal")
        axis.grid(visible=False)
    axes[0].set_ylabel("$c_2$")
    return figure


def class_stack(
    grids: Mapping[str, Mapping[float, intertwine.genni.Grid]], *, epsilon: float = 0.01
) -> Figure:
    """Neighbouring classes in one plane: for each target the contour of its ε-set, coloured by the target.

    The grids are title of the panel → value that tells targets apart → `Grid`; ε is of J/E[y²], that of each
    target.
    """
    values = [value for panel in grids.values() for value in panel]
    scale = Normalize(min(values), max(values))
    shade = colormaps["viridis"]
    figure, axes = new_figure(1, len(grids), height=2.9, squeeze=False)
    for axis, (title, panel) in zip(axes[0], grids.items(), strict=True):
        for value, grid in panel.items():
            at = grid.axis.numpy(force=True)
            inside = grid.relative.numpy(force=True).T
            axis.contourf(at, at, inside, [0, epsilon], colors=[shade(scale(value))])
        axis.set(title=title, xlabel="t₁", aspect="equal")
    axes[0][0].set_ylabel("t₂")
    figure.colorbar(ScalarMappable(scale, shade), ax=list(axes[0]), label="τ", shrink=0.85, pad=0.02)
    return figure


def lifetimes(table: pd.DataFrame) -> Figure:
    """For each component of an ε-set a bar from its birth to its merging into an older one, ε on a log axis.

    Columns `set` (a panel each), `birth`, `death` (inf for the one that stays), and perhaps `expected`, where
    theory says that pieces merge, drawn as a line.
    """
    figure, parts = facets(table, "set", "birth", "death", height=2.6, sharex=True)
    floor = max(table["birth"].min(), 1e-6)
    for axis, rows in parts:
        birth, death = (rows[column].clip(floor, 1.0) for column in ("birth", "death"))
        axis.hlines(range(len(rows)), birth, death, color=COLOURS["blue"], lw=4)
        if "expected" in rows:
            axis.axvline(rows["expected"].iloc[0], color=COLOURS["red"], ls="--", lw=1)
        axis.set(xscale="log", yticks=[], ylim=(len(rows) - 0.3, -0.7))
    figure.supxlabel("ε = J/E[y²]", fontsize="medium")
    parts[0][0].set_ylabel("components")
    return figure


def embeddings(table: pd.DataFrame) -> Figure:
    """UMAP pictures, one row for each set and one column for each seed, coloured by component on the grid.

    Columns `set`, `seed`, `x`, `y`, `component` (from 1), `drawn` (pieces of the picture).
    """
    check_columns(table, "set", "seed", "x", "y", "component", "drawn")
    sets, seeds = (list(dict.fromkeys(table[column])) for column in ("set", "seed"))
    figure, axes = new_figure(len(sets), len(seeds), height=1.9 * len(sets), squeeze=False)
    order = [COLOURS[name] for name in ("blue", "orange", "green", "red", "sky", "pink")]
    for (name, seed), axis in zip([(s, k) for s in sets for k in seeds], axes.flat, strict=True):
        rows = table[(table["set"] == name) & (table["seed"] == seed)]
        colours = [order[(component - 1) % len(order)] for component in rows["component"]]
        axis.scatter(rows["x"], rows["y"], s=5, color=colours, linewidths=0)
        count = int(rows["drawn"].iloc[0])
        axis.set(title=f"seed {seed}: {count} piece{'s' * (count > 1)}", xticks=[], yticks=[])
        if seed == seeds[0]:
            axis.set_ylabel(name)
    return figure


def _numbers(values: Any) -> np.ndarray:
    """As numpy has them: a tensor on any device, a table or a list."""
    return values.numpy(force=True) if hasattr(values, "numpy") else np.asarray(values)
