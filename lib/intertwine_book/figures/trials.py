"""Single trials: as dots beside their means and what a paper printed, and as curves in small panels."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure


def trials(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    colours: Mapping[str, str],
    xlabel: str,
    ylabel: str,
    panels: str | None = None,
    printed: pd.DataFrame | None = None,
    level: float | None = None,
    ylim: tuple[float, float] | None = None,
    height: float = 3.2,
) -> Figure:
    """A dot for every trial and a marker for their mean, at each place of `x`; panels one under another.

    Args:
        table: one row a trial, with the columns `x`, `y`, `by` and `panels`.
        colours: value of `by` → colour; these are shown, side by side, and named beside their last mean.
        printed: the same columns, drawn as rings; with a column `spread`, with error bars.
        level: height of a dotted line.
        height: of a panel, in inches.
    """
    check_columns(table, x, y, by, panels)
    figure, parts = _grid(table, panels, 1, height, {})
    step = 0.66 / len(colours)
    for axis, rows in parts:
        places = {value: k for k, value in enumerate(dict.fromkeys(rows[x]))}
        rings = _of_panel(printed, panels, rows)
        ends: dict[str, tuple[float, str]] = {}
        for k, (name, colour) in enumerate(colours.items()):
            shift = (k - (len(colours) - 1) / 2) * step
            mine, ring = rows[rows[by] == name], rings[rings[by] == name] if len(rings) else rings
            style: dict[str, Any] = {"color": colour, "mew": 0}
            if len(mine):
                mean = mine.groupby(x, sort=False)[y].mean()
                at = pd.Series(places).reindex(mean.index) + shift
                axis.plot(at, mean, "o", ms=6, **style)
                if at.diff().max() < 1.01:  # neighbours are joined
                    axis.plot(at, mean, lw=0.9, color=colour, alpha=0.7)
                axis.plot(mine[x].map(places) + shift + step / 3, mine[y], "o", ms=3.2, alpha=0.6, **style)
                ends[name] = (float(mean.iloc[-1]), colour)
            if len(ring):
                at = ring[x].map(places) + shift
                spread = ring.get("spread")
                axis.errorbar(at, ring[y], spread, fmt="o", mfc="none", ms=9, mew=1.4, color=colour, lw=1)
                aside = -1 if at.iloc[0] > len(places) / 2 else 1  # the label stays inside the axes
                axis.annotate(
                    "printed",
                    (at.iloc[0], ring[y].iloc[0]),
                    (8 * aside, 20),
                    textcoords="offset points",
                    ha="right" if aside < 0 else "left",
                )
        if level is not None:
            axis.axhline(level, color=COLOURS["ink"], lw=0.8, ls=":")
        axis.set(ylabel=ylabel, ylim=ylim, xlim=(-0.5, len(places) - 0.5))
        axis.set_xticks(list(places.values()), [str(value) for value in places])
        if len(colours) > 1:
            name_curves(axis, ends)
    parts[-1][0].set_xlabel(xlabel)
    return figure


def small_panels(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    panels: str,
    colours: Mapping[str, str],
    xlabel: str,
    ylabel: str,
    trial: str | None = None,
    ylim: tuple[float, float] = (0.0, 1.03),
    columns: int = 4,
    marker: str = "",
    height: float = 1.6,
) -> Figure:
    """One curve for every trial, in a small panel for each value of `panels`; all have the same axes.

    Args:
        colours: value of `by` → colour; these are shown, and named in their colours below.
        trial: the column that tells trials apart, where there are several.
        height: of a row of panels, in inches.
    """
    check_columns(table, x, y, by, panels, trial)
    figure, parts = _grid(table, panels, columns, height, {"sharex": True, "sharey": True})
    for axis, rows in parts:
        for name, colour in colours.items():
            keys = [by] if trial is None else [by, trial]
            for k, (_, curve) in enumerate(rows[rows[by] == name].groupby(keys)):
                curve = curve.sort_values(x)
                label = "_" if k else name
                axis.plot(curve[x], curve[y], color=colour, lw=1.3, marker=marker, ms=3, label=label)
        axis.set_ylim(ylim)
        axis.set_title(axis.get_title(), fontsize=10, pad=3)
    figure.supxlabel(xlabel, fontsize="medium")
    figure.supylabel(ylabel, fontsize="medium")
    if len(colours) > 1:
        handles, labels = parts[0][0].get_legend_handles_labels()
        how: dict[str, Any] = {"ncols": len(labels), "labelcolor": "linecolor"}
        figure.legend(handles, labels, loc="outside upper center", **how)
    return figure


def name_curves(axis: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Write names on the right of the axes, each at the height of its curve's end, without overlaps."""
    low, high = axis.get_ylim()
    inches = axis.figure.bbox.height / axis.figure.dpi / max(len(axis.figure.axes), 1) * 0.75
    heights = apart([height for height, _ in ends.values()], 0.17 / inches * (high - low))
    for (name, (_, colour)), height in zip(ends.items(), heights, strict=True):
        place: dict[str, Any] = {
            "xycoords": axis.get_yaxis_transform(),
            "va": "center",
            "annotation_clip": False,
        }
        axis.annotate(name, (1.02, height), color=colour, **place)


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, moved as little as needed until any two are `gap` apart.

    Example:
        >>> apart([0.0, 1.0, 1.1], 0.5)
        [0.0, 0.8, 1.3]
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []  # of labels that touch: their heights less their place in the group
    for height in np.asarray(heights, float)[order]:
        groups.append([height])
        while len(groups) > 1:
            one, two = groups[-2:]
            if np.mean(two) - gap * (len(two) - 1) / 2 - np.mean(one) - gap * (len(one) - 1) / 2 >= gap:
                break
            groups[-2:] = [one + two]
    placed = [np.mean(g) + gap * (k - (len(g) - 1) / 2) for g in groups for k in range(len(g))]
    found = np.empty(len(placed))
    found[order] = placed
    return [float(round(value, 12)) for value in found]


def _grid(
    table: pd.DataFrame, panels: str | None, columns: int, height: float, options: dict[str, Any]
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    names = [None] if panels is None else list(dict.fromkeys(table[panels]))
    columns = min(columns, len(names))
    lines = ceil(len(names) / columns)
    figure, axes = new_figure(
        lines, columns, width=5.2, height=height * lines + 0.4, squeeze=False, **options
    )
    parts = []
    for axis, name in zip(axes.flat, names, strict=False):
        axis.set_title("" if name is None else str(name))
        parts.append((axis, table if name is None else table[table[panels] == name]))
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    return figure, parts


def _of_panel(printed: pd.DataFrame | None, panels: str | None, rows: pd.DataFrame) -> pd.DataFrame:
    if printed is None or panels is None:
        return pd.DataFrame() if printed is None else printed
    return printed[printed[panels].isin(rows[panels])]
