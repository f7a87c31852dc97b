"""Families of maps that the task trains from equal starts, as recorded for chapter 3: a figure and facts."""

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.stories.stitching import KIND_COLOURS, printed, stitched
from intertwine_book.stories.told import span

TABLES = {"width 64": "equal", "digits, width 16": "equal_digits"}
PANELS = {"random": "random starts", "closed form": "closed forms"}
MAP_FAMILIES = ["G_ReLU", "rank 4", "rank 2", "rank 1"]


def equal(where: str = "width 64") -> pd.DataFrame:
    """Stitches from equal starts, batch norm re-estimated: columns family (of maps) and start."""
    table = stitched(TABLES[where])
    table[["family", "start", "norm"]] = table["stitch"].str.split(", ", expand=True)
    return table.query("norm == 'reestimated'")


def by_pair(where: str = "width 64") -> pd.DataFrame:
    """Penalties of these: rows layer and pair, columns start and family."""
    return equal(where).pivot(index=["layer", "pair"], columns=["start", "family"], values="penalty")


def penalties() -> Figure:
    """Penalties of the group and rank 4 by layer, from random starts and from closed forms.

    At width 64, from random starts, also those of ranks 2 and 1, and the printed values as open markers.
    """
    cases = [(start, where) for where in TABLES for start in PANELS]
    parts = [
        equal(where).query("start == @start").assign(panel=f"{PANELS[start]}, {where}")
        for start, where in cases
    ]
    parts[1:] = [part[part["family"].isin(MAP_FAMILIES[:2])] for part in parts[1:]]
    figure = single_curves(
        pd.concat(parts),
        *("layer", "penalty", "family", "pair"),
        panels="panel",
        across=len(PANELS),
        height=2.4,
        colours={family: KIND_COLOURS[family] for family in MAP_FAMILIES},
        xlabel="layer, as the paper counts",
        ylabel="penalty, points",
    )
    for family, rows in printed().query("stitch in @MAP_FAMILIES").groupby("stitch"):
        figure.axes[0].plot(rows["layer"], rows["penalty"], "o", mfc="none", color=KIND_COLOURS[family])
    return figure


def facts() -> dict[str, float]:
    """What sentences of chapter 3 say of equal starts at width 64, in points."""
    each, digits = by_pair(), by_pair("digits, width 16")["random"]
    wide = each.groupby("layer").mean()
    drawn = {"relaxed": wide["random", "G_ReLU"], "four-random": wide["random", "rank 4"]}
    four = equal().query("start == 'random' and family == 'rank 4'")["epoch"]
    return {
        **span(**{"equal-group": wide["closed form", "G_ReLU"], "equal-four": wide["closed form", "rank 4"]}),
        **span(**{f"single-{layer}": each["random", "G_ReLU"].loc[layer] for layer in (3, 6)}),
        **{f"{name}-{layer}": float(each[layer]) for name, each in drawn.items() for layer in (10, 14)},
        "equal-pairs": equal()["pair"].nunique(),
        "four-cases": len(four),
        "four-last": (four == four.max()).sum(),
        "digits-late": (digits["G_ReLU"] - digits["rank 4"]).loc[[10, 14]].max(),
    }
