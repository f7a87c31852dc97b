"""Figures of many trials: mean curves with intervals, matrices of numbers, strips of single trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from intertwine_book.figures.style import COLOURS, check_columns, new_figure
from intertwine_book.results import interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def mean_curves(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    panels: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    colours: Mapping[str, str] | None = None,
    level: float | None = None,
    log: bool = False,
) -> Figure:
    """Mean of `y` over trials against `x`, one curve for each value of `by`, with 95 % t-intervals.

    Args:
        table: one row a trial, with the columns `x` (numbers, or words in order), `y`, `by` and `panels`.
        panels: the column whose values get a panel each.
        colours: value of `by` → colour; the style's order for those not named.
        level: where a horizontal line marks a reference.
        log: whether the vertical axis is logarithmic.
    """
    check_columns(table, x, y, by, panels)
    names = list(dict.fromkeys(table[panels])) if panels else [None]
    lines = list(dict.fromkeys(table[by]))
    taken = {*(colours or {}).values(), COLOURS["grey"], COLOURS["ink"]}
    own = iter(colour for colour in COLOURS.values() if colour not in taken)
    colour_of = {line: (colours or {}).get(line) or next(own, COLOURS["grey"]) for line in lines}
    figure, axes = new_figure(1, len(names), height=3.1, squeeze=False, sharey=True)
    for axis, name in zip(axes[0], names, strict=True):
        shown = table if name is None else table[table[panels] == name]
        for marker, line in zip("osD^vPX*<>" * len(lines), lines, strict=False):
            _curve(
                axis, shown[shown[by] == line], x, y, label=str(line), colour=colour_of[line], marker=marker
            )
        if level is not None:
            axis.axhline(level, color=COLOURS["ink"], lw=0.8, ls=":")
        axis.set_xlabel(xlabel or x)
        axis.set_title("" if name is None else str(name))
    axes[0][0].set(ylabel=ylabel or y, yscale="log" if log else "linear")
    handles, labels = axes[0][0].get_legend_handles_labels()
    if len(lines) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(lines), 5), fontsize="small")
    return figure


def _curve(axis: Axes, trials: pd.DataFrame, x: str, y: str, *, label: str, colour: str, marker: str) -> None:
    if trials.empty:
        return
    groups = trials.groupby(x, sort=False)[y]
    mean = groups.mean()
    ends = np.array([interval(values) if len(values) > 1 else (np.nan, np.nan) for _, values in groups])
    places = mean.index.to_numpy()
    axis.plot(places, mean.to_numpy(), color=colour, marker=marker, ms=4, lw=1.4, label=label)
    if np.isfinite(ends).any():
        axis.fill_between(places, ends[:, 0], ends[:, 1], color=colour, alpha=0.15, lw=0)


def heatmap(table: pd.DataFrame, rows: str, columns: str, values: str, *, label: str | None = None) -> Figure:
    """Mean of `values` for every pair of `rows` and `columns`, written into coloured squares.

    Args:
        table: one row a trial, with the three columns.
        label: of the colours; say in it whether more is better.
    """
    check_columns(table, rows, columns, values)
    wide = table.pivot_table(index=rows, columns=columns, values=values, sort=False)
    figure, axis = new_figure(height=0.42 * len(wide) + 1.3)
    shown = wide.to_numpy(dtype=float)
    image = axis.imshow(shown, cmap="cividis", aspect="auto")
    dark = image.norm(shown) < 0.55
    for (i, j), value in np.ndenumerate(shown):
        axis.text(
            j, i, f"{value:.3g}", ha="center", va="center", color="w" if dark[i, j] else "k", fontsize=8
        )
    axis.set_xticks(range(wide.shape[1]), [str(name) for name in wide.columns])
    axis.set_yticks(range(wide.shape[0]), [str(name) for name in wide.index])
    axis.set_xlabel(columns)
    axis.set_ylabel(rows)
    axis.grid(visible=False)
    figure.colorbar(image, label=label or values)
    return figure


def strips(
    table: pd.DataFrame, y: str, by: str, *, panels: str | None = None, ylabel: str | None = None
) -> Figure:
    """Every trial as a dot, in one strip for each value of `by`, with its mean as a bar.

    Args:
        table: one row a trial, with the columns `y`, `by` and `panels`.
        panels: the column whose values get a panel each.
    """
    check_columns(table, y, by, panels)
    names = list(dict.fromkeys(table[panels])) if panels else [None]
    strips_of = list(dict.fromkeys(table[by]))
    figure, axes = new_figure(1, len(names), height=3.0, squeeze=False, sharey=True)
    for axis, name in zip(axes[0], names, strict=True):
        shown = table if name is None else table[table[panels] == name]
        for place, strip in enumerate(strips_of):
            values = shown.loc[shown[by] == strip, y].to_numpy(dtype=float)
            if not len(values):
                continue
            spread = np.linspace(-0.25, 0.25, len(values)) if len(values) > 1 else np.zeros(1)
            axis.scatter(place + spread, values, s=9, alpha=0.6)
            axis.hlines(values.mean(), place - 0.35, place + 0.35, color=COLOURS["ink"], lw=1.6)
        axis.set_xticks(range(len(strips_of)), [str(strip) for strip in strips_of])
        axis.set_title("" if name is None else str(name))
        axis.grid(axis="x", visible=False)
    axes[0][0].set_ylabel(ylabel or y)
    return figure
