"""The picture of the scoreboard: measured numbers beside printed ones."""

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, new_figure

_MARKS = {"agree": ("green", "o"), "undecided": ("orange", "D"), "disagree": ("red", "X")}
_ELSEWHERE = 0.45  # the opacity of what another scale says, whether it agrees or not


def printed_and_measured(table: pd.DataFrame) -> Figure:
    """Measured means over printed values, with 95 % intervals, in a row for each place.

    The table is that of `claims.summary`. The layers of one place stand below each other in its row. Numbers
    that are 0 or below have no ratio.
    """
    known = table.dropna(subset=["printed", "mean"]).query("printed > 0 and mean > 0")
    known = known.assign(row=known["place"].str.replace(r" at layer \d+", "", regex=True))
    papers = known.groupby("paper", sort=False)
    names = [name for paper, rows in papers for name in (f"{paper}:", *rows["row"].unique())]
    figure, axis = new_figure(width=4.6, height=0.7 + 0.22 * len(names))
    for (_, name), rows in known.groupby(["paper", "row"], sort=False):
        for k, (_, number) in enumerate(rows.iterrows()):
            mean, low, high = (number[key] / number["printed"] for key in ("mean", "low", "high"))
            at = names.index(name) + 0.6 * ((k + 0.5) / len(rows) - 0.5)
            tone, mark = _MARKS[number["outcome"]]
            colour = COLOURS[tone]
            opacity = _ELSEWHERE if number["setting"] == "another scale" else 1
            axis.plot([max(low, mean / 20), high], [at, at], lw=1, color=colour, alpha=opacity)
            axis.plot(mean, at, mark, ms=4, mew=0, color=colour, alpha=opacity)
    axis.axvline(1, color=COLOURS["ink"], lw=0.8, zorder=0)
    least = (known["mean"] / known["printed"]).min() / 2  # an interval may reach down to 0
    axis.set(xscale="log", xlabel="measured / printed", xlim=(least, None), ylim=(len(names) - 0.5, -0.5))
    axis.set_xticks(ticks := [0.5, 1, 2, 5], [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.grid(axis="y", visible=False)
    return figure
