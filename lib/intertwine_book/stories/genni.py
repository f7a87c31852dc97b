"""What was recorded of the paper's thresholds, networks and conjecture: figures and facts of chapter 6."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.forest import forest
from intertwine_book.results import on_record

record = partial(on_record, "06_genni")


def crossing() -> Figure:
    """The second surface is there only above a threshold: shares of the ε-set for two targets."""
    names = {"second_surface": "second surface", "near_zero": "near the zero function"}
    table = record("crossing").rename(columns=names).melt(["target", "epsilon"], [*names.values()])
    table = table.sort_values(["variable", "epsilon"], ascending=[False, True])
    table["target"] = table["target"].replace("both slopes alive", "both slopes equal")
    table["ε"] = table["epsilon"].map("{:.2g}".format)
    table["share"] = 100 * table["value"].astype(float)
    return mean_curves(table, "ε", "share", "target", panels="variable", ylabel="share, %")


def searches() -> pd.DataFrame:
    """Shares of good networks in planes of solutions and in random ones, which go through θ₀ or anywhere."""
    planes = {
        "through θ₀": record("conjecture").query("epsilon == 0.1"),
        "anywhere": record("conjecture_anywhere"),
    }
    table = pd.concat([each.assign(null=null) for null, each in planes.items()])
    return table.assign(gap=100 * (table["solutions"] - table["random"]))


def conjecture() -> Figure:
    """A plane of solutions holds more good networks than one anywhere, not clearly than one through θ₀."""
    xlabel = "plane of solutions − random plane, % of the grid"
    return forest(searches(), "null", "gap", xlabel=xlabel)


def facts() -> dict[str, float]:
    """The numbers in sentences of chapter 6, by name.

    Example:
        >>> told = facts()
        >>> round(told["ratio"]), round(told["second-surface"])
        (16, 21)
    """
    losses = record("published_networks").set_index("network")["relative_loss"].to_dict()
    largest = record("crossing").set_index("epsilon").sort_index().iloc[-1]  # at the printed ε
    return {
        "ratio": record("thresholds")["relative"].item(),
        "second-surface": float(100 * largest["second_surface"]),
        **{f"loss-{network}": losses[network] for network in (1, 2, 3)},
    }
