"""What the recorded runs say of units and their basis: tables, figures and facts of chapter 5."""

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dissection import counting
from intertwine_book.figures.forest import forest
from intertwine_book.results import interval, on_record
from intertwine_book.stories import efficientnet
from intertwine_book.stories.told import number, said

record = partial(on_record, "05_interpretability")

FIGURE_3_NETWORKS = ("ReLU", "no ReLU", "ConvNeXt")
"""Small networks like the three of godfrey2022 figure 3."""
SIGMA = {"no ReLU": "Identity", "ReLU": "ReLU", "tanh": "tanh", "GELU": "GELU"}
"""Kinds of small network and the activations on their outputs, the largest group first."""
ADDED = "points of IoU that training adds to the cost"


# tables


def small_slopes(name: str = "slopes") -> pd.DataFrame:
    """Of small networks, what training adds to the cost of a rotation, in the column points."""
    table = record(name).query("statistic == 'mean_iou'")
    return table.assign(points=-100 * table["difference"])


def at_outputs() -> pd.DataFrame:
    """The same at the residual outputs, at the quantile that figures show."""
    return small_slopes().query("layer == 'output' and quantile == 0.02")


def at_equal_areas() -> pd.DataFrame:
    """The same where all units select as many pixels; the networks were trained again, as those before."""
    return small_slopes("slopes_equal_area")


def inside(dataset: str = "concepts") -> pd.DataFrame:
    """The same at three layers of a block, on drawn or street scenes, for the paper's kinds of network."""
    return small_slopes().query("dataset == @dataset and quantile == 0.02 and kind in @FIGURE_3_NETWORKS")


def shares(name: str = "dissected", layer: str = "output") -> pd.Series:
    """Of the IoU in the own basis, the percent more that a random one costs after training: by kind, number.

    On drawn scenes, at the quantile that figures show.
    """
    asked = "dataset == 'concepts' and layer == @layer and quantile == 0.02"
    means = record(name).query(asked).pivot_table("mean_iou", ["kind", "number", "weights"], "alpha")
    costs = (100 * (1 - means[1.0] / means[0.0])).unstack("weights")
    return costs["trained"] - costs["untrained"]


def figure_19(dataset: str = "concepts") -> pd.Series:
    """Trained minus untrained slope of the share of units above chance at a convolution without ReLU."""
    asked = "statistic == 'above_null' and layer == 'convolution' and dataset == @dataset"
    return record("slopes").query(f"{asked} and kind == 'no ReLU' and quantile == 0.02")["difference"]


def true_masks() -> pd.Series:
    """Units of trained networks with ReLU above the level of chance, in percent, by data set."""
    table = record("dissected").query("kind == 'ReLU' and layer == 'output' and alpha == 0")
    table = table.query("quantile == 0.02 and weights == 'trained'")
    return 100 * table.groupby("dataset")["above_null"].mean()


def tanh_rises() -> pd.DataFrame:
    """By how many points the IoU of networks with tanh rises up to a random basis, trained and untrained."""
    return 100 * at_outputs().query("dataset == 'concepts' and kind == 'tanh'")[["trained", "untrained"]]


# figures


def live(table: pd.DataFrame) -> Figure:
    """Mean best IoU against alpha of small networks of one's own, of each the mean over its rotations."""
    shown = table[(table["layer"] == "output") & table["kind"].isin(FIGURE_3_NETWORKS)]
    shown = shown.assign(percent=100 * shown["mean_iou"])
    once = ["kind", "weights", "number", "alpha"]  # rotations are no new trials
    shown = shown.groupby(once, sort=False, as_index=False)["percent"].mean()
    words: dict[str, Any] = {"xlabel": "α", "ylabel": "mean best IoU, %", "panels": "kind"}
    return single_curves(shown, "alpha", "percent", "weights", "number", **words)


def ceilings() -> Figure:
    """When a unit counts, by the area of a concept of street scenes."""
    return counting(record("ceilings").query("dataset == 'camvid'"), quantile=0.005, threshold=0.04)


def by_group() -> Figure:
    """What training adds at residual outputs, by activation and data set, with both kinds of level."""
    order = [*SIGMA, "ConvNeXt"]
    levels = {"usual levels": at_outputs(), "equal areas": at_equal_areas()}
    shown = pd.concat(table.assign(level=level) for level, table in levels.items())
    shown = shown.sort_values("kind", key=lambda kinds: kinds.map(order.index), kind="stable")
    shown = shown.replace({"dataset": {"concepts": "drawn scenes", "camvid": "street scenes"}})
    shown = shown.sort_values(["dataset", "level"], ascending=[True, False], kind="stable")
    shown["panel"] = shown["dataset"] + ",\n" + shown["level"]
    return forest(shown, "kind", "points", panels="panel", xlabel=ADDED)


def inside_the_block() -> Figure:
    """What training adds at three layers of a block."""
    return forest(inside(), "kind", "points", panels="layer", xlabel=ADDED)


# facts


def facts() -> dict[str, Any]:
    """The numbers in sentences and captions, by name.

    Example:
        >>> facts()["never"]
        18.0
    """
    return efficientnet.facts() | _of_groups() | _of_insides() | _of_chance()


def _of_groups() -> dict[str, str]:
    points = at_outputs().set_index(["dataset", "kind"])["points"]
    kinds = {"relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "none": "no ReLU"}
    told = {name: said(points["concepts", kind]) for name, kind in kinds.items()}
    equal = at_equal_areas().set_index(["dataset", "kind"])
    told |= {f"{name}-equal": said(equal["points"]["concepts", kind]) for name, kind in kinds.items()}
    costs = -100 * equal.loc[("concepts", "tanh"), ["trained", "untrained"]]
    told |= {f"tanh-{weights}-equal": said(cost) for weights, cost in costs.items()}
    for ending, table in {"": shares(), "-equal": shares("equal_area")}.items():
        told |= {f"{name}-share{ending}": said(table[kinds[name]]) for name in ("relu", "gelu")}
    return told | {"relu-street": said(points["camvid", "ReLU"])}


def _of_insides() -> dict[str, str]:
    low, high = ends_of_unclear(inside())
    counts = {"figure-19": said(figure_19()), "figure-19-street": said(figure_19("camvid"))}
    return counts | {"unclear-low": number(low), "unclear-high": number(high)}


def ends_of_unclear(table: pd.DataFrame) -> tuple[float, float]:
    """How far the intervals reach that are not wholly above 0, of each kind and layer."""
    ends = [interval(each) for _, each in table.groupby(["kind", "layer"])["points"]]
    lows, highs = zip(*((low, high) for low, high in ends if low <= 0), strict=True)
    return min(lows), max(highs)


def _of_chance() -> dict[str, float]:
    drawn, masks = record("ceilings").query("dataset == 'concepts'"), true_masks()
    told = {"true-masks": masks["concepts"], "true-street": masks["camvid"]}
    rise = tanh_rises().mean()
    asked = (
        "dataset == 'concepts' and kind == 'ReLU' and layer == 'output' and alpha == 0 and quantile == 0.02"
    )
    own = 100 * record("dissected").query(asked).groupby("weights")["mean_iou"].mean()
    told |= {f"own-{weights}": value for weights, value in own.items()}
    told |= {"tanh-rise": rise["untrained"], "tanh-trained-rise": rise["trained"]}
    return told | {"never": float((~drawn["can_count"]).sum())}
