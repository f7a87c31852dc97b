"""What was recorded of the paper's thresholds, networks and conjecture: figures and facts of chapter 6."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.forest import forest
from intertwine_book.results import on_record
from intertwine_book.stories.told import span

record = partial(on_record, "06_genni")


def searches() -> pd.DataFrame:
    """Shares of good networks in planes of solutions and in random ones, which go through θ₀ or anywhere."""
    planes = {
        "through θ₀": record("conjecture").query("epsilon == 0.1"),
        "anywhere": record("conjecture_anywhere"),
    }
    table = pd.concat([each.assign(null=null) for null, each in planes.items()])
    return table.assign(gap=100 * (table["solutions"] - table["random"]))


def conjecture() -> Figure:
    """A plane of solutions holds more good networks than random planes, anywhere or through θ₀."""
    xlabel = "plane of solutions − random plane, % of the grid"
    return forest(searches(), "null", "gap", xlabel=xlabel)


def facts() -> dict[str, float]:
    """The numbers in sentences of chapter 6, by name.

    Example:
        >>> told = facts()
        >>> round(told["ratio"]), round(told["second-surface"])
        (18, 21)
    """
    losses = record("published_networks").set_index("network")["relative_loss"].to_dict()
    crossing = record("crossing").set_index(["target", "epsilon"])["second_surface"]
    shares = searches().groupby("null")[["solutions", "random"]].mean()
    times = shares["solutions"] / shares["random"]
    by_epsilon = record("conjecture").groupby("epsilon")[["solutions", "random"]].mean()
    through = searches().query("null == 'through θ₀'")["gap"]
    hole = record("hole").set_index("set")["points"]
    printed = record("thresholds").iloc[0]
    return {
        "ratio": printed["relative"],
        "ratio-theirs": printed["on_their_inputs"],
        "second-surface": 100 * float(crossing["a slope 0"].max()),  # at the printed ε
        "near-zero": 100 * float(hole["near the zero function"] / hole["theirs"]),
        "searches": len(through),
        "times-anywhere": float(times["anywhere"]),
        "times-through": float(times["through θ₀"]),
        "times-one": float(shares["random"]["through θ₀"] / shares["random"]["anywhere"]),
        "gap-through": float(through.mean()),
        **span(times=by_epsilon["solutions"] / by_epsilon["random"]),
        "fewer-through": int((through < 0).sum()),
        **{f"loss-{network}": losses[network] for network in (1, 2, 3)},
    }
