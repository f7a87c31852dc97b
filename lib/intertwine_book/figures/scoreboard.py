"""The pictures of the scoreboard: verdicts by paper, numbers beside printed ones, what a verdict is worth."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.claims.page import FAMILIES
from intertwine_book.figures.style import COLOURS, PAPER, new_figure

_COLOURS = dict(zip(FAMILIES, ("green", "green", "orange", "red", "red", "grey"), strict=True))
_ELSEWHERE = 0.45  # the opacity of what another setting says, whether it agrees or not


def verdicts(table: pd.DataFrame) -> Figure:
    """A bar of verdicts for each paper and sort of statements, from the table of `claims.summary`.

    In another setting agreement and disagreement have the colours of the paper's own, paler.
    """
    counts = table.groupby(["paper", "sort"], sort=False)["family"].value_counts().unstack(fill_value=0)
    papers = counts.index.get_level_values("paper")
    names = [each for paper in papers.unique() for each in (f"{paper}:", *counts.loc[paper].index)]
    at = [
        place + papers.unique().get_loc(paper) + 1 for place, paper in enumerate(papers)
    ]  # a line for its name
    figure, bars = new_figure(width=4.6, height=0.9 + 0.22 * len(names))
    left = pd.Series(0, counts.index)
    for family in FAMILIES:
        width = counts.get(family, left * 0)
        bars.barh(at, width, left=left, height=0.75, label=family, **_look(family))
        for row, start, length in zip(at, left, width, strict=True):
            if length > 5:  # else its number does not fit
                ink = COLOURS["ink"] if family.endswith("setting") else PAPER
                bars.text(start + length / 2, row, length, ha="center", va="center", color=ink, fontsize=8)
        left = left + width
    bars.set_yticks(range(len(names)), names, fontsize=8)
    bars.set(xlabel="statements", ylim=(len(names) - 0.5, -0.5))
    bars.grid(axis="y", visible=False)
    figure.legend(*bars.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _look(family: str) -> dict[str, Any]:
    return {"color": COLOURS[_COLOURS[family]], "alpha": _ELSEWHERE if family.endswith("setting") else 1}


def printed_and_measured(table: pd.DataFrame) -> Figure:
    """Measured means over printed values, with 95 % intervals, in a row for each place.

    The table is that of `verdicts`. The layers of one place stand below each other in its row. Numbers that
    are 0 or below have no ratio.
    """
    known = table.dropna(subset=["printed", "mean"]).query("printed > 0 and mean > 0")
    known = known.assign(row=known["place"].str.replace(r" at layer \d+", "", regex=True))
    names = [
        name
        for paper, rows in known.groupby("paper", sort=False)
        for name in (f"{paper}:", *rows["row"].unique())
    ]
    figure, axis = new_figure(width=4.6, height=0.7 + 0.22 * len(names))
    for (_, name), rows in known.groupby(["paper", "row"], sort=False):
        for k, (_, number) in enumerate(rows.iterrows()):
            mean, low, high = (number[key] / number["printed"] for key in ("mean", "low", "high"))
            at = names.index(name) + 0.6 * ((k + 0.5) / len(rows) - 0.5)
            look = _look(str(number["family"]))
            axis.plot([max(low, mean / 20), high], [at, at], lw=1, **look)
            axis.plot(mean, at, "o", ms=3, **look)
    axis.axvline(1, color=COLOURS["ink"], lw=0.8, zorder=0)
    least = (known["mean"] / known["printed"]).min() / 2  # an interval may reach down to 0
    axis.set(xscale="log", xlabel="measured / printed", xlim=(least, None), ylim=(len(names) - 0.5, -0.5))
    axis.set_xticks(ticks := [0.5, 1, 2, 5], [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.grid(axis="y", visible=False)
    return figure


def rates(table: pd.DataFrame) -> Figure:
    """The share of each word against the number of trials, from the table of `claims.simulated.rates`.

    A row for each rule and effect, a column for each kind of noise.
    """
    colours = {"reproduced": "green", "no difference": "sky", "inconclusive": "grey", "differs": "red"}
    parts = dict(list(table.groupby(["rule", "effect", "distribution"])))
    cases = list(table.groupby(["rule", "effect"], sort=False).groups)
    kinds = list(table["distribution"].unique())
    figure, axes = new_figure(len(cases), len(kinds), width=7.2, height=6.4, sharex=True, sharey=True)
    for (rule, effect), row in zip(cases, axes, strict=True):
        for kind, axis in zip(kinds, row, strict=True):
            part = parts[rule, effect, kind]
            for word, colour in colours.items():
                shares = part[part["word"] == word].set_index("trials")["rate"]
                axis.plot(shares.index, 100 * shares, "o-", ms=3, lw=1.2, color=COLOURS[colour], label=word)
        row[0].set_ylabel(f"{rule},\neffect {effect:g}\n% of verdicts")
    for kind, axis, last in zip(kinds, axes[0], axes[-1], strict=True):
        axis.set_title(kind)
        last.set_xlabel("trials")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
