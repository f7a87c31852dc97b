"""Scatters of two quantities, in colours."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import Level, dotted, facets


def scatter(
    table: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    colours: Mapping[Any, str],
    xlabel: str,
    ylabel: str | None = None,
    panels: str | None = None,
    places: Mapping[str, tuple[float, float]] | None = None,
    printed: pd.DataFrame | None = None,
    level: Level = None,
    height: float = 3.1,
    **options: Any,
) -> Figure:
    """A dot for every row, in panels side by side.

    Args:
        colours: value of `by` → colour; these are shown, and named in their colours above.
        ylabel: of panels with one scale; when not given, each has its own, and its title tells the quantity.
        places: value of `by` → where its name stands instead, the centre of it.
        printed: the same columns, drawn as rings.
        options: of the axes, such as `xscale`.
    """
    size, sharey = 5 if len(table) < 1000 else 3, ylabel is not None
    figure, parts = facets(table, panels, x, y, by, height=height, sharex=True, sharey=sharey)
    for axis, rows in parts:
        for name, colour in colours.items():
            mine = rows[rows[by] == name]
            axis.plot(mine[x], mine[y], "o", ms=size, alpha=0.65, mew=0, color=colour, label=name)
            if printed is not None:
                ring = printed[printed[by] == name]
                axis.plot(ring[x], ring[y], "o", mfc="none", ms=9, mew=1.4, color=colour)
        dotted(axis, level)
        axis.set(**options)
        for side in (axis.xaxis, axis.yaxis):
            if side.get_scale() == "log":
                side.set_major_formatter("{x:g}")
    for name, (across, up) in (places or {}).items():
        parts[0][0].text(across, up, name, color=colours[name], ha="center", va="center")
    figure.supxlabel(xlabel, fontsize="medium")
    parts[0][0].set_ylabel(ylabel or "")
    if places is None:
        handles, names = parts[0][0].get_legend_handles_labels()
        how: dict[str, Any] = {"ncols": min(len(names), 4), "labelcolor": "linecolor", "handletextpad": 0}
        figure.legend(handles, names, loc="outside upper center", **how)
    return figure
