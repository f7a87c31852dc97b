"""The pictures of the scoreboard: verdicts by paper, numbers beside printed ones, what a verdict is worth."""

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.claims.page import FAMILIES
from intertwine_book.figures.style import COLOURS, PAPER, new_figure

_COLOURS = dict(zip(FAMILIES, ("green", "orange", "red", "sky", "grey"), strict=True))


def verdicts(table: pd.DataFrame) -> Figure:
    """A bar of verdicts for each paper, and one for this book, from the table of `claims.summary`."""
    figure, bars = new_figure(width=3.9, height=3.6)
    counts = table.groupby("paper", sort=False)["family"].value_counts().unstack(fill_value=0)
    left = pd.Series(0, counts.index)
    for family, name in _COLOURS.items():
        width = counts.get(family, left * 0)
        bars.barh(counts.index, width, left=left, color=COLOURS[name], height=0.6, label=family)
        for row, (start, length) in enumerate(zip(left, width, strict=True)):
            if length > 8:  # else its number does not fit
                bars.text(start + length / 2, row, length, ha="center", va="center", color=PAPER, fontsize=9)
        left = left + width
    bars.invert_yaxis()
    bars.grid(axis="y", visible=False)
    bars.set(xlabel="statements")
    figure.legend(*bars.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def printed_and_measured(table: pd.DataFrame) -> Figure:
    """Measured means with their 95 % intervals against printed values; `table` as for `verdicts`."""
    figure, axis = new_figure(width=3.9, height=3.6)
    known = table.dropna(subset=["printed", "mean"])
    known = known[(known["printed"] > 0) & (known["mean"] > 0)]
    for family, rows in known.groupby("family"):
        low = rows["mean"] - rows["low"].clip(lower=rows["mean"] / 20)
        colour = COLOURS[_COLOURS[str(family)]]
        error = [low, rows["high"] - rows["mean"]]
        axis.errorbar(rows["printed"], rows["mean"], error, fmt="o", ms=4, lw=1, color=colour)
    axis.axline((1, 1), slope=1, color=COLOURS["ink"], lw=0.8, zorder=0)
    axis.set(xscale="log", yscale="log", xlabel="printed", ylabel="measured")
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
