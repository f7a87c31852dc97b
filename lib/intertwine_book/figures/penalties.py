"""Bars of the accuracy that transformations in front of an activation cost."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, check_columns, facets
from intertwine_book.results import interval

_COLOUR_OF = {
    "identity": COLOURS["grey"],
    "permutations": GROUP_COLOURS["permutations"],
    "signed permutations": GROUP_COLOURS["signed permutations"],
    "positive scalings": GROUP_COLOURS["G_ReLU"],
    "nonzero scalings": GROUP_COLOURS["nonzero monomial"],
    "orthogonal": GROUP_COLOURS["orthogonal"],
}


def penalty_bars(table: pd.DataFrame, panels: str) -> Figure:
    """Mean penalty and 95 % t-interval over trials, a bar for each group of transformations, panel by panel.

    Args:
        table: columns `group` (identity or one of `sanity_rotations.TRANSFORMS`), `penalty` (points of
            accuracy; lower is better), one row a trial, and the column named by `panels`; where a column
            `own` is true, the bar is marked as the activation's intertwiner group.
        panels: the column whose values get a panel each.
    """
    check_columns(table, "group")
    groups = list(dict.fromkeys(table["group"]))
    size = {"height": 0.34 * len(groups) + 1.1, "sharex": True, "sharey": True}
    figure, parts = facets(table, panels, "group", "penalty", **size)
    for axis, trials in parts:
        shared = {"data": trials, "x": "penalty", "y": "group", "order": groups, "ax": axis}
        bars = {"hue": "group", "palette": _COLOUR_OF, "saturation": 1, "legend": False, "width": 0.7}
        error = {"errorbar": interval, "err_kws": {"lw": 1, "color": COLOURS["ink"]}}
        sns.barplot(**shared, **bars, **error)
        sns.stripplot(**shared, color=COLOURS["ink"], size=2.3, alpha=0.5, jitter=False)
        own = trials.groupby("group")["own"].all() if "own" in trials else {}
        for row, group in enumerate(groups):
            if own.get(group, False):
                axis.annotate("own", (0, row), (6, 0), textcoords="offset points", va="center", fontsize=8)
        axis.axvline(0, color=COLOURS["ink"], lw=0.8)
        axis.set(xlabel="", ylabel="")
        axis.grid(axis="y", visible=False)
    figure.supxlabel("penalty, points of accuracy", fontsize="medium")
    return figure
