"""Single trials: as dots beside their means, what a paper printed, and nulls."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from intertwine_book.figures.labels import name_curves
from intertwine_book.figures.style import COLOURS, Level, dotted, facets
from intertwine_book.intervals import interval


def dots(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    colours: Mapping[str, str],
    xlabel: str,
    ylabel: str,
    panels: str | None = None,
    beside: Mapping[str, pd.DataFrame] | None = None,
    nulls: Mapping[str, pd.DataFrame] | None = None,
    level: Level = None,
    intervals: bool = False,
    height: float = 3.6,
    filled: str = "measured",
    **options: Any,
) -> Figure:
    """A dot for every trial and a marker for their mean, at each place of `x`; panels one under another.

    Args:
        colours: value of `by` → colour; these are shown, side by side, and named beside their last mean.
        beside: label → table with the same columns, whose means have an empty mark for each label, rings for
            the first, with 95 % t-intervals where there are three trials or more, or the half-widths of a
            column `spread`.
        nulls: name → the same columns, whose means have a mark for each name; a legend names all marks.
        intervals: whether means carry 95 % t-intervals.
        filled: what the legend says of the table's own marks.
        **options: of the axes, such as `ylim`.

    Raises:
        ValueError: more tables `beside` or `nulls` than there are marks for.
    """
    figure, parts = facets(table, panels, x, y, by, height=height, across=1, width=5.2, sharey=True)
    step, beside, nulls = 0.66 / len(colours), beside or {}, nulls or {}
    named: list[tuple[Axes, dict[str, tuple[float, str]]]] = []
    rings, marks = _marks("beside", beside, "osDv"), _marks("nulls", nulls, "_^x")
    for axis, rows in parts:
        places = {value: k for k, value in enumerate(dict.fromkeys(rows[x]))}
        ends: dict[str, tuple[float, str]] = {}
        others = {**beside, **nulls}
        if panels is not None:
            others = {label: other[other[panels].isin(rows[panels])] for label, other in others.items()}
        for k, (name, colour) in enumerate(colours.items()):
            shift = (k - (len(colours) - 1) / 2) * step
            mine = rows[rows[by] == name]
            style: dict[str, Any] = {"color": colour, "mew": 0}
            for label, mark in marks.items():
                null = others[label]
                mean = null[null[by] == name].groupby(x)[y].mean()
                axis.plot(mean.index.map(places) + shift, mean, mark, color=colour, ms=9, mew=1.5)
            if len(mine):
                mean = mine.groupby(x, sort=False)[y].mean()
                at = pd.Series(places).reindex(mean.index) + shift
                axis.plot(at, mean, "o", ms=6, **style)
                if intervals:
                    bounds = mine.groupby(x, sort=False)[y].agg(interval)
                    axis.vlines(at, bounds.str[0], bounds.str[1], color=colour, lw=1.2)
                if at.diff().max() < 1.01:  # neighbours are joined
                    axis.plot(at, mean, lw=0.9, color=colour, alpha=0.7)
                axis.plot(mine[x].map(places) + shift + step / 3, mine[y], "o", ms=3.2, alpha=0.6, **style)
                ends[name] = (float(mean.iloc[-1]), colour)
            for label, mark in rings.items():
                other = others[label]
                if len(theirs := other[other[by] == name]):
                    trials = theirs.groupby(x, sort=False)[y]
                    spread = trials.agg(lambda values: interval(values)[1]) - trials.mean()
                    spread = spread.where(trials.count() > 2)  # of two it is twelve times their deviation
                    if "spread" in theirs:
                        spread = theirs.set_index(x)["spread"]
                    at = trials.mean().index.map(places) + shift
                    ring: dict[str, Any] = {"fmt": mark, "mfc": "none", "ms": 9, "mew": 1.4, "lw": 1}
                    bars = spread if spread.notna().any() else None
                    axis.errorbar(at, trials.mean(), bars, color=colour, **ring)
        dotted(axis, level)
        axis.set(ylabel=ylabel, xlim=(-0.5, len(places) - 0.5), **options)
        axis.set_xticks(list(places.values()), [str(value) for value in places])
        named.append((axis, ends))
    for axis, ends in named if len(colours) > 1 else []:  # when the limits of all panels are known
        name_curves(axis, ends)
    parts[-1][0].set_xlabel(xlabel)
    grey: dict[str, Any] = {"ls": "", "color": COLOURS["grey"], "ms": 8, "mew": 1.5}
    signs = [("o", filled, COLOURS["grey"])]
    signs += [(mark, label, "none") for label, mark in rings.items()]
    signs += [(mark, name, COLOURS["grey"]) for name, mark in marks.items()]
    if len(signs) > 1:
        handles = [Line2D([], [], marker=mark, label=label, mfc=fill, **grey) for mark, label, fill in signs]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _marks(option: str, tables: Mapping[str, pd.DataFrame], marks: str) -> dict[str, str]:
    """A mark for each table, by its label."""
    if len(tables) > len(marks):
        raise ValueError(
            f"Expected at most {len(marks)} tables as {option}, a mark for each, was given {len(tables)}: "
            f"draw some in a figure of their own."
        )
    return dict(zip(tables, marks, strict=False))
