"""What the recorded runs say of units and their basis: tables, figures and facts of chapter 5."""

from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dissection import counting
from intertwine_book.figures.forest import forest
from intertwine_book.figures.readable import readable
from intertwine_book.results import interval, on_record
from intertwine_book.stories.told import span


def record(table: str) -> pd.DataFrame:
    """A recorded table; layers are said to stand after an activation, where tables have "behind"."""
    found = on_record("05_interpretability", table)
    return found.replace({"layer": {"behind": "after"}}, regex=True) if "layer" in found else found


LITE_LAYERS = {
    "first": "after the first ReLU6",
    "second": "after the second ReLU6",
    "linear": "linear output",
}
"""The layers of EfficientNet-Lite, by what facts call them."""
FIGURE_3_NETWORKS = ("ReLU", "no ReLU", "ConvNeXt")
"""Small networks like the three of godfrey2022 figure 3."""
SIGMA = {"no ReLU": "Identity", "ReLU": "ReLU", "tanh": "tanh", "GELU": "GELU"}
"""Kinds of small network and the activations on their outputs, the largest group first."""
ADDED = "points of IoU that training adds to the cost"


def number(value: float) -> str:
    """A number with two digits and a true minus sign.

    Example:
        >>> number(-0.301)
        '−0.30'
    """
    return f"{value:z.2f}".replace("-", "−")


def said(values: pd.Series) -> str:
    """A mean with its 95 % interval.

    Example:
        >>> said(pd.Series([-1.0, 0.0, 1.0]))
        '0.00 [−2.48, 2.48]'
    """
    low, high = interval(values)
    return f"{number(values.mean())} [{number(low)}, {number(high)}]"


# tables


def lite() -> pd.DataFrame:
    """Interpretability of three networks trained on ImageNet: a row for each block, layer and alpha."""
    return record("imagenet").assign(percent=lambda table: 100 * table["mean_iou"])


def falls() -> pd.Series:
    """By how many points the mean IoU falls up to a random basis, by layer and weights."""
    mean = lite().groupby(["layer", "weights", "alpha"])["percent"].mean()
    return mean.xs(0.0, level="alpha") - mean.xs(1.0, level="alpha")


def relative_falls() -> pd.Series:
    """The same in percent of what it is in the own basis."""
    return 100 * falls() / lite().query("alpha == 0").groupby(["layer", "weights"])["percent"].mean()


def costs() -> dict[str, pd.DataFrame]:
    """Minus slopes against alpha in points: layer → trained, untrained, difference by network."""
    found = record("imagenet_slopes").query("statistic == 'mean_iou'").set_index(["layer", "network"])
    points = -100 * found[["trained", "untrained", "difference"]]
    return {str(layer): table.droplevel("layer") for layer, table in points.groupby(level="layer")}


def gap() -> pd.DataFrame:
    """How much more a rotation costs after the first ReLU6 than at the linear output, by network."""
    return costs()[LITE_LAYERS["first"]] - costs()[LITE_LAYERS["linear"]]


def counted() -> pd.Series:
    """Units above an IoU of 0.04, in percent, by layer, weights and alpha."""
    return 100 * lite().groupby(["layer", "weights", "alpha"])["above_0.04"].mean()


def above_chance() -> pd.Series:
    """Units above the level of chance in their own basis, in percent, by weights and layer."""
    return 100 * lite().query("alpha == 0").groupby(["weights", "layer"])["above_null"].mean()


def change_by_stage() -> pd.DataFrame:
    """By how many points the IoU changes up to a random basis; the last of seven stages is the deepest."""
    ends = lite()[lite()["alpha"].isin([0.0, 1.0])].copy()
    place = ends.groupby(["network", "weights"])["block"].rank("dense").astype(int)
    ends["stage"] = place + 7 - place.max()
    by = ["network", "weights", "layer", "stage"]
    wide = ends.pivot_table(index=by, columns="alpha", values="percent")
    return (wide[1.0] - wide[0.0]).rename("change").reset_index()


def small_slopes() -> pd.DataFrame:
    """Of small networks, what training adds to the cost of a rotation, in the column points."""
    table = record("slopes").query("statistic == 'mean_iou'")
    return table.assign(points=-100 * table["difference"])


def at_outputs() -> pd.DataFrame:
    """The same at the residual outputs, at the quantile that figures show."""
    return small_slopes().query("layer == 'output' and quantile == 0.02")


def inside(dataset: str = "concepts") -> pd.DataFrame:
    """The same at three layers of a block, on drawn or street scenes, for the paper's kinds of network."""
    return small_slopes().query("dataset == @dataset and quantile == 0.02 and kind in @FIGURE_3_NETWORKS")


def figure_19() -> pd.Series:
    """Trained minus untrained slope of the share of units above chance at a convolution without ReLU."""
    asked = "statistic == 'above_null' and layer == 'convolution' and dataset == 'concepts'"
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


def imagenet() -> Figure:
    """Mean best IoU of networks trained on ImageNet against alpha, at three layers of their blocks."""
    return against_alpha(lite(), "layer", "network", "α: from the own basis (0) to a random one (1)")


def against_alpha(table: pd.DataFrame, panels: str, trial: str, xlabel: str) -> Figure:
    """Mean best IoU against alpha, trained and untrained; columns percent and weights."""
    words: dict[str, Any] = {"xlabel": xlabel, "ylabel": "mean best IoU, %", "panels": panels}
    return single_curves(table, "alpha", "percent", "weights", trial, **words)


def live(table: pd.DataFrame) -> Figure:
    """The same of small networks of one's own, of each the mean over its rotations."""
    shown = table[(table["layer"] == "output") & table["kind"].isin(FIGURE_3_NETWORKS)]
    shown = shown.assign(percent=100 * shown["mean_iou"])
    once = ["kind", "weights", "number", "alpha"]  # rotations are no new trials
    shown = shown.groupby(once, sort=False, as_index=False)["percent"].mean()
    return against_alpha(shown, "kind", "number", "α")


def cost_table() -> HTML:
    """What a rotation costs by layer, and how much more it costs after the first ReLU6."""
    tables = {layer: costs()[layer] for layer in LITE_LAYERS.values()} | {
        "first ReLU6 − linear output": gap()
    }
    rows = pd.DataFrame({layer: table.agg(said) for layer, table in tables.items()}).T
    words = {"layer": "layer", "trained": "trained", "untrained": "untrained"}
    words |= {"difference": "trained − untrained"}
    return readable(
        rows.rename_axis("layer").reset_index(),
        words,
        title="What a rotation to a random basis costs, points of IoU",
    )


def depth() -> Figure:
    """Change of the IoU up to a random basis by the stage of the network."""
    words: dict[str, Any] = {"xlabel": "stage of the network", "ylabel": "change of the IoU, points"}
    return single_curves(change_by_stage(), "stage", "change", "weights", "network", panels="layer", **words)


def ceilings() -> Figure:
    """When a unit counts, by the area of a concept of street scenes."""
    return counting(record("ceilings").query("dataset == 'camvid'"), quantile=0.005, threshold=0.04)


def by_group() -> Figure:
    """What training adds at residual outputs, by activation and data set."""
    order = [*SIGMA, "ConvNeXt"]
    shown = at_outputs().sort_values("kind", key=lambda kinds: kinds.map(order.index), kind="stable")
    shown = shown.replace({"dataset": {"concepts": "drawn scenes", "camvid": "street scenes"}})
    shown = shown.sort_values("dataset", kind="stable")
    return forest(shown, "kind", "points", panels="dataset", xlabel=ADDED)


def inside_the_block() -> Figure:
    """What training adds at three layers of a block."""
    return forest(inside(), "kind", "points", panels="layer", xlabel=ADDED)


# facts


def facts() -> dict[str, Any]:
    """The numbers in sentences and captions, by name.

    Example:
        >>> f"after the second ReLU6 they lose {facts()['fall-second']:.0f} %"
        'after the second ReLU6 they lose 9 %'
    """
    return _of_falls() | _of_counts() | _of_groups() | _of_insides() | _of_chance()


def _of_falls() -> dict[str, Any]:
    falls = relative_falls()
    told = {f"fall-{name}": falls[LITE_LAYERS[name], "trained"] for name in ("first", "second")}
    told |= {"fall-untrained": falls[LITE_LAYERS["first"], "untrained"]}
    return told | {"first-gap": said(gap()["trained"]), "first-added": said(gap()["difference"])}


def _of_counts() -> dict[str, float]:
    share, above, own = counted(), above_chance(), lite().query("alpha == 0 and weights == 'trained'")
    told = {"level": own["percent"].mean(), "untrained-most": share.xs("untrained", level="weights").max()}
    for name, layer in LITE_LAYERS.items():
        told |= {f"own-{name}": share[layer, "trained", 0.0], f"turned-{name}": share[layer, "trained", 1.0]}
        told |= {f"chance-{name}": above["trained", layer]}
    units, linear = own["units"], own["layer"] == LITE_LAYERS["linear"]
    ranges = {"chance": above["untrained"], "units": units[~linear], "linear-units": units[linear]}
    return told | span(**ranges)


def _of_groups() -> dict[str, str]:
    points = at_outputs().set_index(["dataset", "kind"])["points"]
    kinds = {"relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "none": "no ReLU"}
    told = {name: said(points["concepts", kind]) for name, kind in kinds.items()}
    return told | {"relu-street": said(points["camvid", "ReLU"])}


def _of_insides() -> dict[str, str]:
    low, high = ends_of_unclear(inside())
    return {"figure-19": said(figure_19()), "unclear-low": number(low), "unclear-high": number(high)}


def ends_of_unclear(table: pd.DataFrame) -> tuple[float, float]:
    """How far the intervals reach that are not wholly above 0, of each kind and layer."""
    ends = [interval(each) for _, each in table.groupby(["kind", "layer"])["points"]]
    lows, highs = zip(*((low, high) for low, high in ends if low <= 0), strict=True)
    return min(lows), max(highs)


def _of_chance() -> dict[str, float]:
    drawn, masks = record("ceilings").query("dataset == 'concepts'"), true_masks()
    told = {"true-masks": masks["concepts"], "true-street": masks["camvid"]}
    rise = tanh_rises().mean()
    told |= {"tanh-rise": rise["untrained"], "tanh-trained-rise": rise["trained"]}
    return told | {"never": float((~drawn["can_count"]).sum())}
