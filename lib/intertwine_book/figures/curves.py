"""Curves of means over trials, with intervals."""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, facets
from intertwine_book.results import interval


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
        colours: value of `by` → colour; the others get the style's colours in order.
        level: height of a horizontal line, for reference.
        log: whether the vertical axis is logarithmic.
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
        if level is not None:
            axis.axhline(level, color=COLOURS["ink"], lw=0.8, ls=":")
        axis.set(xlabel=xlabel or x, ylabel=ylabel or y, yscale="log" if log else "linear")
        axis.label_outer(remove_inner_ticks=False)
        handles, labels = axis.get_legend_handles_labels()
        axis.legend().remove()  # one for all panels, below
    if len(lines) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(lines), 5), fontsize="small")
    return figure


def single_curves(
    table: pd.DataFrame, x: str, y: str, by: str, trial: str, *, panels: str, xlabel: str, ylabel: str
) -> Figure:
    """A thin curve for every trial and a thick one for their mean: for trials too few for an interval.

    Args:
        table: rows of one trial, x, `by` and panel are averaged.
        by: two or three values, which get a colour each and are named beside their curves.
        panels: the column whose values get a panel each, one above the other on a narrow page.
    """
    check_columns(table, x, y, by, trial)
    figure, parts = facets(table, panels, height=3.0, sharey=True, sharex=True)
    colours = dict(
        zip(dict.fromkeys(table[by]), (COLOURS[k] for k in ("blue", "grey", "orange")), strict=False)
    )
    for axis, rows in parts:
        axis.set_title("\n".join(wrap(axis.get_title(), 14)), fontsize="medium")
        ends = {}
        for name, colour in colours.items():
            single = rows[rows[by] == name].pivot_table(index=x, columns=trial, values=y)
            axis.plot(single, color=colour, lw=0.8, alpha=0.7, marker="o", ms=3)
            axis.plot(single.mean(axis=1), color=colour, lw=2.4)
            ends[name] = (single.index[-1], single.mean(axis=1).iloc[-1])
        axis.set_xticks(ticks := sorted(table[x].unique()), [f"{tick:g}" for tick in ticks])
    places = zip(sorted(ends, key=lambda name: ends[name][1]), ("top", "bottom", "bottom"), strict=False)
    for name, side in places:  # of the last panel
        place: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": side}
        axis.annotate(name, ends[name], color=colours[name], annotation_clip=False, **place)
    figure.supxlabel(xlabel, fontsize="medium")
    parts[0][0].set_ylabel(ylabel)
    return figure
