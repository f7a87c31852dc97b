"""Figures of chapter 2: what a rotation in front of an activation costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, new_figure
from intertwine_book.results import interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
        table: columns `group` (identity or one of `sanity_rotations.TRANSFORMS`), `penalty` (points; lower
            says that more is undone), one row a trial, and the column named by `panels`; with a column `own`,
            bars of the activation's own group are marked.
        panels: the column whose values get a panel each.
    """
    names, groups = list(dict.fromkeys(table[panels])), list(dict.fromkeys(table["group"]))
    figure, axes = new_figure(
        1, len(names), height=0.34 * len(groups) + 1.1, squeeze=False, sharex=True, sharey=True
    )
    for axis, name in zip(axes[0], names, strict=True):
        for row, group in enumerate(groups):
            trials = table[(table[panels] == name) & (table["group"] == group)]
            values = trials["penalty"]
            half = values.mean() - interval(values)[0]
            own = "own" in trials and bool(trials["own"].all())
            axis.barh(row, values.mean(), xerr=half, color=_COLOUR_OF[group], height=0.7, error_kw={"lw": 1})
            axis.scatter(values, np.full(len(values), row), s=5, color=COLOURS["ink"], alpha=0.5, zorder=3)
            if own:
                axis.annotate("own", (0, row), (6, 0), textcoords="offset points", va="center", fontsize=8)
        axis.set_title(name)
        axis.axvline(0, color=COLOURS["ink"], lw=0.8)
        axis.set_yticks(range(len(groups)), groups)
        axis.grid(axis="y", visible=False)
    axes[0][0].invert_yaxis()
    figure.supxlabel("penalty, points of accuracy", fontsize="medium")
    return figure
