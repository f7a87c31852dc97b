"""Curves of means over trials, with intervals."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, facets
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
