"""Families of maps that the task trains from equal starts, as recorded for chapter 3: a figure and facts."""

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.stories.stitching import KIND_COLOURS, printed, relaxed, stitched
from intertwine_book.stories.told import span

DIGITS = "digits, width 16"
PANELS = {
    ("random", "width 64"): "random starts, width 64",
    ("closed form", "width 64"): "closed forms, width 64",
    ("closed form", DIGITS): f"closed forms, {DIGITS}",
}
RELAXED_BY_ADAM = "family == 'G_ReLU' and start == 'random'"  # on record in `equal`; an unfair recipe
MAP_FAMILIES = ["G_ReLU", "rank 4", "rank 2", "rank 1"]


def equal(where: str = "width 64") -> pd.DataFrame:
    """Stitches from equal starts, batch norm re-estimated: columns family (of maps) and start.

    At width 64 the group is searched from random starts by the paper's relaxation and its authors' recipe.
    """
    if where == "width 64":
        table = _told(stitched("equal")).query(f"not ({RELAXED_BY_ADAM})")
        table = pd.concat([table, _told(relaxed())], ignore_index=True)
    else:
        table = _told(stitched("equal_digits"))
    return table.query("norm == 'reestimated'")


def by_pair(where: str = "width 64") -> pd.DataFrame:
    """Penalties of these: rows layer and pair, columns start and family."""
    return equal(where).pivot(index=["layer", "pair"], columns=["start", "family"], values="penalty")


def by_adam() -> pd.Series:
    """Penalties of the relaxation, trained by Adam as all other maps are: by layer and pair."""
    table = _told(stitched("equal")).query(RELAXED_BY_ADAM)
    return table.set_index(["layer", "pair"])["penalty"]


def _told(table: pd.DataFrame) -> pd.DataFrame:
    table[["family", "start", "norm"]] = table["stitch"].str.split(", ", expand=True)
    return table


def by_sgd() -> pd.DataFrame:
    """Penalties by the authors' recipes, in as many steps, at layer 14: by pair, a column a family."""
    return _told(stitched("plain_sgd")).pivot(index="pair", columns="family", values="penalty")


def penalties() -> Figure:
    """Penalties of the group and rank 4 by layer, from random starts and from closed forms.

    From random starts also those of ranks 2 and 1, the printed values as open markers, and as crosses what is
    trained by its authors' recipe in as many steps as theirs, at layer 14.
    """
    parts = [
        equal(where).query("start == @start").assign(panel=panel) for (start, where), panel in PANELS.items()
    ]
    parts[1:] = [part[part["family"].isin(MAP_FAMILIES[:2])] for part in parts[1:]]
    figure = single_curves(
        pd.concat(parts),
        *("layer", "penalty", "family", "pair"),
        panels="panel",
        across=2,  # three in a row are too small on a telephone
        height=2.4,
        colours={family: KIND_COLOURS[family] for family in MAP_FAMILIES},
        xlabel="layer, as the paper counts",
        ylabel="penalty, points",
    )
    figure.axes[1].tick_params(labelbottom=True)  # nothing is below it
    for family, rows in printed().query("stitch in @MAP_FAMILIES").groupby("stitch"):
        figure.axes[0].plot(rows["layer"], rows["penalty"], "o", mfc="none", color=KIND_COLOURS[family])
    for family, losses in by_sgd().items():
        figure.axes[0].plot([14.7] * len(losses), losses, "x", color=KIND_COLOURS[family], mew=1.8)
    return figure


def by_recipe() -> pd.DataFrame:
    """What other recipes lose at layer 14: a row for each pair, a column for each."""
    return stitched("recipes").pivot(index="pair", columns="stitch", values="penalty")


def facts() -> dict[str, float]:
    """What sentences of chapter 3 say of equal starts at width 64, in points."""
    each, others = by_pair(), by_recipe()
    wide, adam = each.groupby("layer").mean(), by_adam().groupby("layer").mean()
    all_printed = printed().pivot(index="layer", columns="stitch", values="penalty")
    drawn = {"relaxed": wide["random", "G_ReLU"], "adam": adam, "printed": all_printed["G_ReLU"]}
    four = equal().query("start == 'random' and family == 'rank 4'")["epoch"]
    ahead = each["random", "rank 4"] - each["random", "G_ReLU"]
    slow, long = by_sgd(), stitched("plain_sgd").query("stitch.str.startswith('G_ReLU')")["epoch"]
    two = {"ours": wide["random", "rank 2"].loc[14], "printed": all_printed["rank 2"].loc[14]}
    two["own"] = slow["rank 2"].mean()
    return {
        **span(**{"equal-group": wide["closed form", "G_ReLU"], "equal-four": wide["closed form", "rank 4"]}),
        **span(**{"single-3": each["random", "G_ReLU"].loc[3]}),
        **span(ahead=ahead.loc[[6, 14]]),
        **{f"{name}-{layer}": loss for name, at in drawn.items() for layer, loss in at.items()},
        **{"adam-32": others["G_ReLU, Adam"].mean(), "adam-slow": others["G_ReLU, Adam, rate 0.0001"].mean()},
        **span(**{"ahead-own": slow["rank 4"] - slow["G_ReLU"], "own-group": slow["G_ReLU"]}),
        "own-four": slow["rank 4"].mean(),
        "ours-four": wide["random", "rank 4"].loc[14],
        "printed-four": all_printed["rank 4"].loc[14],
        **{f"{name}-two": points for name, points in two.items()},
        "recipe-two": 100 * (two["own"] - two["ours"]) / (two["printed"] - two["ours"]),
        "own-plain": (long <= 112 / 2).sum(),  # in the first half scalings stand still
        "equal-pairs": equal()["pair"].nunique(),
        "four-cases": len(four),
        "four-last": (four == four.max()).sum(),
    }
