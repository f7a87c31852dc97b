"""Figures of GENNI: the loss on planes of parameters, ε-sets, their components and their pictures by UMAP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure

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
            axis.scatter(*_numbers(panel["oracle"]).T, s=14, color=COLOURS["orange"], linewidths=0)
        if "points" in panel:
            axis.scatter(*_numbers(panel["points"]).T, s=45, color=COLOURS["red"], marker="X", zorder=3)
        x, y = panel.get("names", ("t₁", "t₂"))
        axis.set(title=title, xlabel=x, xlim=extent[:2], ylim=extent[2:])
        if axis is axes[0][0] or "names" in panel:  # else it is that of the panel at its left
            axis.set_ylabel(y)
        axis.grid(False)
    figure.colorbar(image, ax=list(axes[0]), label="log₁₀ J/E[y²]", shrink=0.75, pad=0.02)
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
    shade = ListedColormap(colormaps["viridis"](np.linspace(0.3, 0.95, 256)))  # seen on black, too
    figure, axes = new_figure(1, len(grids), height=2.9, squeeze=False)
    for axis, (title, panel) in zip(axes[0], grids.items(), strict=True):
        for value, grid in panel.items():
            at = grid.axis.numpy(force=True)
            inside = grid.relative.numpy(force=True).T
            axis.contourf(at, at, inside, [0, epsilon], colors=[shade(scale(value))])
        axis.set(title=title, xlabel="t₁", aspect="equal")
    axes[0][0].set_ylabel("t₂")
    bar = figure.colorbar(ScalarMappable(scale, shade), ax=list(axes[0]), shrink=0.85, pad=0.02)
    bar.set_label("τ", rotation=0)  # upright: lying down it is no letter
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
