"""Forest plots: single trials, their mean and its interval, row by row."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, facets
from intertwine_book.intervals import interval


def forest(
    table: pd.DataFrame, y: str, x: str, *, panels: str | None = None, xlabel: str, intervals: bool = True
) -> Figure:
    """Mean and 95 % t-interval of `x` for each value of `y`, with every trial as a dot and a line at 0.

    Each value of the column `panels` gets a panel. The label tells quantity, unit, and the meaning of the
    sign. Trials that are no draws of anything, such as sizes of one network, have no `intervals`.
    """
    check_columns(table, y)
    rows = [str(row) for row in dict.fromkeys(table[y])]
    figure, parts = facets(table, panels, x, y, height=0.42 * len(rows) + 1.1, sharex=True, sharey=True)
    for axis, trials in parts:
        shared = {"x": trials[x], "y": trials[y].astype(str), "order": rows, "orient": "h", "ax": axis}
        sns.stripplot(**shared, color=COLOURS["grey"], size=3.2, alpha=0.7, jitter=False)
        for dots in axis.collections:
            dots.set_offsets(dots.get_offsets() + np.array([0, 0.25]))  # below the means
        line = {"linestyle": "none", "markersize": 6, "err_kws": {"lw": 1.5}}
        sns.pointplot(**shared, color=COLOURS["blue"], errorbar=interval if intervals else None, **line)
        axis.axvline(0, color=COLOURS["ink"], lw=0.8)
        axis.set(xlabel="", ylabel="")
        axis.grid(axis="y", visible=False)
    figure.supxlabel(xlabel, fontsize="medium")
    return figure
