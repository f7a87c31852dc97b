"""What a paper printed and what was measured, in one pair of axes."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, check_columns, new_figure
from intertwine_book.results import interval


def printed_beside(
    measured: pd.DataFrame,
    printed: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    xlabel: str,
    ylabel: str,
    colours: Mapping[str, str],
) -> Figure:
    """Means of `y` with 95 % t-intervals as filled markers, single trials as dots, printed values as rings.

    Args:
        measured: one row a trial, with the columns `x`, `y` and `by`.
        printed: the same columns, one row a printed value.
        colours: value of `by` → colour; the curves, from the left to the right of each place, which are
            named beside their last point.
    """
    figure, axis = new_figure(height=3.6)
    for table in (measured, printed):
        check_columns(table, x, y, by)
    places = {value: k for k, value in enumerate(dict.fromkeys(printed[x]))}
    step = 0.7 / len(colours)
    for k, (name, colour) in enumerate(colours.items()):
        shift = (k - (len(colours) - 1) / 2) * step
        trials = measured[measured[by] == name].groupby(x)[y]
        at = [places[value] + shift for value in places]
        mean = trials.mean().loc[list(places)]
        ends = [interval(trials.get_group(value)) for value in places]
        low, high = ([abs(end[side] - m) for end, m in zip(ends, mean, strict=True)] for side in (0, 1))
        style = {"ms": 6, "color": colour, "lw": 1, "elinewidth": 1.2}
        axis.errorbar(at, mean, [low, high], fmt="o", **style, label="measured" if not k else None)
        axis.plot(at, mean, color=colour, lw=0.8, alpha=0.4)
        for place, value in zip(at, places, strict=True):
            single = trials.get_group(value)
            axis.plot([place + step / 4] * len(single), single, ".", ms=3.5, color=colour, alpha=0.6)
        rings = printed[printed[by] == name].set_index(x)[y].loc[list(places)]
        ring = {"mfc": "none", "mec": colour, "mew": 1.4, "ms": 9, "ls": ""}
        axis.plot(at, rings, "o", **ring, label="printed" if not k else None)
        axis.annotate(
            name.replace("G_ReLU", "$G_{\\mathrm{ReLU}}$"),
            (places[[*places][-1]] + 0.45, mean.iloc[-1]),
            color=colour,
            va="center",
            annotation_clip=False,
        )
    axis.set(xlabel=xlabel, ylabel=ylabel, xticks=list(places.values()))
    axis.set_xticklabels([str(value) for value in places])
    axis.set_xlim(-0.5, len(places) - 0.5)
    axis.axhline(0, color=COLOURS["ink"], lw=0.8)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    return figure
