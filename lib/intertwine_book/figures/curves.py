"""Curves: means over trials with intervals, and single trials with their means."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.labels import name_curves
from intertwine_book.figures.style import COLOURS, Level, check_columns, dotted, facets, in_mathematics
from intertwine_book.intervals import interval


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
    level: Level = None,
    log: bool = False,
) -> Figure:
    """Mean of `y` over trials against `x`, one curve for each value of `by`, with 95 % t-intervals.

    The table has one row a trial; `x` are numbers, or words in order. Each value of the column `panels` gets
    a panel. Values of `by` that have no colour get the style's in order.
    """
    figure, parts = facets(table, panels, x, y, by, height=3.1, sharey=True)
    lines = [str(line) for line in dict.fromkeys(table[by])]
    fixed = {str(line): colour for line, colour in (colours or {}).items()}
    taken = {*fixed.values(), COLOURS["grey"], COLOURS["ink"]}
    own = iter(colour for colour in COLOURS.values() if colour not in taken)
    colour_of = {line: fixed.get(line) or next(own, COLOURS["grey"]) for line in lines}
    markers = dict(zip(lines, "osD^vPX" * len(lines), strict=False))
    options: dict[str, Any] = {"palette": colour_of, "hue_order": lines, "style_order": lines}
    options |= {"markers": markers, "dashes": False, "markersize": 4, "markeredgewidth": 0}
    options |= {"errorbar": interval, "err_kws": {"alpha": 0.15, "lw": 0}}
    for axis, rows in parts:
        shown = rows.assign(**{by: rows[by].astype(str)})
        sns.lineplot(shown, x=x, y=y, hue=by, style=by, ax=axis, **options)
        dotted(axis, level)
        axis.set(xlabel=xlabel or x, ylabel=ylabel or y)
        axis.label_outer(remove_inner_ticks=False)
        handles, labels = axis.get_legend_handles_labels()
        axis.legend().remove()  # one for all panels, below
    if log:  # at the end, as on a logarithmic axis seaborn takes geometric means
        figure.axes[0].set_yscale("log")
    if len(lines) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(lines), 5), fontsize="small")
    return figure


def single_curves(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    trial: str | None = None,
    *,
    colours: Mapping[str, str] | None = None,
    xlabel: str,
    ylabel: str | None = None,
    panels: str | None = None,
    across: int | None = None,
    means: bool = True,
    marker: str = "o",
    level: Level = None,
    height: float = 3.0,
    **options: Any,
) -> Figure:
    """A thin curve for every trial and a thick one for their mean: for trials too few for an interval.

    Args:
        trial: the column that tells trials apart; without one there is a single curve for each name.
        colours: value of `by` → colour; these are shown, or the first three. They are named beside the ends
            of their curves where panels stand in one column, or in one row with room for them, else above.
        ylabel: of panels with one scale; when not given, each has the scale and the label of its own name.
        across: panels in a row; all of them when not given.
        **options: of the axes, such as `ylim` and `yscale`.
    """
    shared = {"sharex": True, "sharey": ylabel is not None, "width": 5.2}
    check_columns(table, by, trial)
    table = table.assign(**{by: table[by].astype(str)})  # colours and labels go by words
    if colours is None:
        tones = (COLOURS[name] for name in ("blue", "grey", "orange"))
        colours = dict(zip(dict.fromkeys(table[by]), tones, strict=False))
    figure, parts = facets(table, panels, x, y, by, height=height, across=across, **shared)
    thin: dict[str, Any] = {"lw": 0.8, "alpha": 0.7} if means and trial else {"lw": 1.3}
    ticks = sorted(table[x].unique())
    named: list[tuple[Axes, dict[str, tuple[float, str]]]] = []
    for axis, rows in parts:
        ends = {}
        for name, mine in rows[rows[by].isin(list(colours))].groupby(by, sort=False):
            colour = colours[name]
            each = [mine] if trial is None else [part for _, part in mine.groupby(trial)]
            single = [part.groupby(x)[y].mean() for part in each]
            for k, curve in enumerate(single):
                label = "_" if k else in_mathematics(str(name))
                axis.plot(curve, color=colour, marker=marker, ms=3, label=label, **thin)
            mean = pd.concat(single).groupby(level=0).mean()
            if means and trial:
                axis.plot(mean, color=colour, lw=2.3)
            ends[str(name)] = (float(mean.iloc[-1]), colour)
        dotted(axis, level)
        axis.set(**options)
        if len(ticks) <= 5 and "xticks" not in options:
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        if ylabel is None:
            axis.set(ylabel=axis.get_title(), title="")
        else:
            axis.set_title(fill(axis.get_title(), 16, break_long_words=False), fontsize="medium", pad=3)
        named.append((axis, ends))
    figure.supxlabel(xlabel, fontsize="medium")
    figure.supylabel(ylabel or "", fontsize="medium")
    roomy = len(named) == 1 or max(map(len, colours)) <= 16
    beside = {None: named[-1:] if roomy else [], 1: named}.get(across, [])
    for axis, ends in beside if len(colours) > 1 else []:  # when the limits of all panels are known
        name_curves(axis, ends)
    if len(colours) > 1 and not beside:
        handles, labels = parts[0][0].get_legend_handles_labels()
        room = 68 // (max(map(len, labels)) + 6)  # in letters, six of them for a line and a space
        how: dict[str, Any] = {"ncols": min(len(labels), room), "labelcolor": "linecolor"}
        figure.legend(handles, labels, loc="outside upper center", **how)
    return figure
