"""Figures of GENNI: the loss on planes of parameters, ε-sets, their components and their pictures by UMAP."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from intertwine.genni import Grid
from intertwine_book.figures.style import COLOURS, check_columns, facets, new_figure


def loss_planes(panels: Mapping[str, Mapping[str, Any]], *, decades: int = 4) -> Figure:
    """J/E[y²] on planes of parameters, dark where the function is nearly the target.

    Args:
        panels: title → `grid` (a `Grid` of two dimensions) and, where wanted, `oracle` (coordinates of exact
            members of the class, drawn as dots), `points` (of solutions, drawn as crosses), `epsilon` (a
            contour of J/E[y²]), `names` (of the coordinates) and `exact` (another grid, whose contour at the
            same ε is dashed).
        decades: of the loss below 1 that shades tell apart.
    """
    figure, axes = new_figure(1, len(panels), height=2.3, squeeze=False)
    for axis, (title, panel) in zip(axes[0], panels.items(), strict=True):
        grid = panel["grid"]
        at = grid.axis.numpy(force=True)
        logs = np.log10(grid.relative.numpy(force=True).T.clip(10.0**-decades, 10))
        extent = (at[0], at[-1], at[0], at[-1])
        shades = {"cmap": "GnBu_r", "vmin": -decades, "vmax": 1, "interpolation": "nearest"}
        image = axis.imshow(logs, origin="lower", extent=extent, **shades)
        for kind, style in (("grid", "solid"), ("exact", "dashed")):
            if kind in panel and "epsilon" in panel:
                values = panel[kind].relative.numpy(force=True).T
                colour = COLOURS["ink"] if kind == "grid" else COLOURS["red"]
                line = {"colors": colour, "linestyles": style, "linewidths": 0.9}
                axis.contour(at, at, values, [panel["epsilon"]], **line)
        if "oracle" in panel:
            exact = np.asarray(panel["oracle"])
            axis.scatter(*exact.T, s=5, color=COLOURS["orange"], linewidths=0)
        if "points" in panel:
            axis.scatter(*np.asarray(panel["points"]).T, s=45, color=COLOURS["red"], marker="x", zorder=3)
        x, y = panel.get("names", ("c₁", "c₂"))
        axis.set(title=title, xlabel=x, ylabel=y, xlim=extent[:2], ylim=extent[2:])
        axis.grid(False)
    figure.colorbar(image, ax=list(axes[0]), label="log₁₀ J/E[y²]", shrink=0.75, pad=0.02)
    return figure


def class_stack(grids: Mapping[str, Mapping[float, Grid]], *, epsilon: float = 0.01) -> Figure:
    """Neighbouring classes in one plane: for each target the contour of its ε-set, coloured by the target.

    Args:
        grids: title of the panel → value that tells targets apart → a `Grid` of two dimensions.
        epsilon: of J/E[y²], with E[y²] that of each target.
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
        axis.set(title=title, xlabel="c₁", aspect="equal")
    axes[0][0].set_ylabel("c₂")
    figure.colorbar(ScalarMappable(scale, shade), ax=list(axes[0]), label="target", shrink=0.85, pad=0.02)
    return figure


def lifetimes(table: pd.DataFrame) -> Figure:
    """For each component of an ε-set a bar from its birth to its merging into an older one, ε on a log axis.

    Args:
        table: columns `set` (a panel each), `birth`, `death` (inf for the one that stays); optionally
            `expected`, where theory says that pieces merge, drawn as a line.
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


def shares(table: pd.DataFrame) -> Figure:
    """The share of grid points under ε: in the plane of solutions, and the range over random planes.

    Args:
        table: columns `search` (a panel each), `plane` (solutions or random), `trial`, `epsilon`, `share`.
    """
    columns = ("plane", "trial", "epsilon", "share")
    figure, parts = facets(table, "search", *columns, height=2.6, sharex=True, sharey=True)
    for axis, rows in parts:
        random = rows[rows["plane"] == "random"].groupby("epsilon")["share"]
        own = rows[rows["plane"] == "solutions"].set_index("epsilon")["share"]
        low, high = random.min(), random.max()
        axis.fill_between(low.index, low, high, color=COLOURS["grey"], alpha=0.3, lw=0, label="random planes")
        axis.plot(random.median(), color=COLOURS["grey"], label="their median")
        axis.plot(own, "o-", ms=4, color=COLOURS["blue"], label="plane of solutions")
        axis.set(xscale="log", yscale="log", title=f"search {axis.get_title()}")
    parts[0][0].set_ylabel("share of the grid")
    parts[0][0].legend(fontsize=7)
    figure.supxlabel("ε = J/E[y²]", fontsize="medium")
    return figure


def embeddings(table: pd.DataFrame) -> Figure:
    """UMAP pictures, one row for each set and one column for each seed, coloured by component on the grid.

    Args:
        table: columns `set`, `seed`, `x`, `y`, `component` (from 1).
    """
    check_columns(table, "set", "seed", "x", "y", "component")
    sets, seeds = (list(dict.fromkeys(table[column])) for column in ("set", "seed"))
    size = {"height": 1.75 * len(sets) + 0.2, "squeeze": False}
    figure, axes = new_figure(len(sets), len(seeds), **size)
    order = [COLOURS[name] for name in ("blue", "orange", "green", "red", "sky", "pink")]
    for (name, seed), axis in zip([(s, k) for s in sets for k in seeds], axes.flat, strict=True):
        rows = table[(table["set"] == name) & (table["seed"] == seed)]
        colours = [order[(component - 1) % len(order)] for component in rows["component"]]
        axis.scatter(rows["x"], rows["y"], s=2, color=colours, linewidths=0, rasterized=True)
        axis.set(xticks=[], yticks=[])
        if name == sets[0]:
            axis.set_title(f"seed {seed}")
        if seed == seeds[0]:
            axis.set_ylabel(name)
    return figure
