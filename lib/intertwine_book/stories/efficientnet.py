"""Interpretability of three networks trained on ImageNet, as recorded for chapter 5."""

from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.forest import forest
from intertwine_book.figures.readable import readable
from intertwine_book.results import on_record
from intertwine_book.stories.told import listed, number, span

LITE_LAYERS = {
    "first": "after the first ReLU6",
    "second": "after the second ReLU6",
    "linear": "linear output",
}
"""The layers of EfficientNet-Lite, by what facts call them."""
LEVELS = {False: "usual levels", True: "equal areas"}
BASES = {0.0: "own", 1.0: "random"}


def record(table: str) -> pd.DataFrame:
    """A recorded table; layers are said to stand after an activation, where tables have "behind"."""
    return on_record("05_interpretability", table).replace({"layer": {"behind": "after"}}, regex=True)


def curves() -> pd.DataFrame:
    """Interpretability of three networks trained on ImageNet: a row for each block, layer and alpha."""
    return record("imagenet").assign(percent=lambda table: 100 * table["mean_iou"])


def falls() -> pd.Series:
    """By how many points the mean IoU falls up to a random basis, by layer and weights."""
    mean = curves().groupby(["layer", "weights", "alpha"])["percent"].mean()
    return mean.xs(0.0, level="alpha") - mean.xs(1.0, level="alpha")


def relative_falls() -> pd.Series:
    """The same in percent of what it is in the own basis."""
    return 100 * falls() / curves().query("alpha == 0").groupby(["layer", "weights"])["percent"].mean()


def counted() -> pd.DataFrame:
    """Units above an IoU of 0.04, in percent: by layer and weights; columns level and basis."""
    table = record("imagenet_areas")
    table = table.assign(level=table["equal_area"].map(LEVELS), basis=table["alpha"].map(BASES))
    return 100 * table.pivot_table("above_0.04", ["layer", "weights"], ["level", "basis"])


def above_chance() -> pd.Series:
    """Units above the level of chance in their own basis, in percent, by weights and layer."""
    return 100 * curves().query("alpha == 0").groupby(["weights", "layer"])["above_null"].mean()


def changes(*by: str) -> pd.DataFrame:
    """IoU in percent in the own and in a random basis, and its change in points and in percent of the own.

    A row for each layer, level, weights and network, and where asked by "stage"; the last of seven stages is
    the deepest. Beside them own_area and random_area, the percent of the pixels that a unit selects on
    average, own_empty and random_empty, the percent of units that select none, and `filled`, the change in
    percent without those.
    """
    table = record("imagenet_areas")
    place = table.groupby(["network", "weights"])["block"].rank("dense").astype(int)
    table = table.assign(stage=place + 7 - place.max(), level=table["equal_area"].map(LEVELS))
    keys = ["layer", "level", "weights", "network", *by]
    table["filled"] = table["mean_iou"] / (1 - table["empty"])
    wide = 100 * table.pivot_table(["mean_iou", "area", "empty", "filled"], keys, "alpha")
    names = {"mean_iou": "", "area": "_area", "empty": "_empty", "filled": "_filled"}
    wide.columns = [f"{BASES[alpha]}{names[value]}" for value, alpha in wide.columns]
    wide["points"] = wide["random"] - wide["own"]
    wide["percent"] = 100 * wide["points"] / wide["own"]
    return wide.assign(filled=100 * wide["random_filled"] / wide["own_filled"] - 100).reset_index()


# figures


def both_levels() -> Figure:
    """Change of the IoU up to a random basis, with the usual levels and with equal areas."""
    found = changes()
    found["row"] = found["level"] + ", " + found["weights"]
    order = [f"{level}, {weights}" for level in LEVELS.values() for weights in ("trained", "untrained")]
    found = found.sort_values("row", key=lambda rows: rows.map(order.index), kind="stable")
    found["layer"] = found["layer"].str.replace("after the ", "")  # three titles in a row
    words: dict[str, Any] = {"panels": "layer", "xlabel": "change of the IoU in a random basis, %"}
    return forest(found, "row", "percent", **words, intervals=False)  # three sizes of one network


def depth() -> Figure:
    """The same by the stage of the trained networks."""
    words: dict[str, Any] = {"xlabel": "stage of the network", "ylabel": "change of the IoU, %"}
    found = changes("stage").query("weights == 'trained'")
    return single_curves(found, "stage", "percent", "level", "network", panels="layer", **words)


def count_table() -> HTML:
    """Interpretable units of the trained networks, by layer, level and basis."""
    share = counted().xs("trained", level="weights").loc[[*LITE_LAYERS.values()], [*LEVELS.values()]]
    share.columns = [f"{basis} basis, {level}" for level, basis in share.columns]
    words = {"layer": "layer"} | {name: name for name in share}
    return readable(share.reset_index(), words, digits=1, title="Interpretable units, %")


# facts


def facts() -> dict[str, Any]:
    """The numbers in sentences and captions on these networks, by name.

    Example:
        >>> f"after the first ReLU6 they lose {facts()['fall-first']:.0f} % with the usual levels"
        'after the first ReLU6 they lose 25 % with the usual levels'
    """
    return _of_falls() | _of_counts()


def _of_falls() -> dict[str, Any]:
    first, second, linear = LITE_LAYERS.values()
    falls, found = relative_falls(), changes().set_index(["level", "weights", "layer"]).sort_index()
    equal, usual = (found.loc[level, "trained"] for level in ("equal areas", "usual levels"))
    stages = changes("stage").query("level == 'equal areas' and weights == 'trained' and layer == @first")
    by_stage = stages.groupby("stage")["percent"].mean()
    lost = -by_stage[by_stage < 0]
    return {
        "fall-first": falls[first, "trained"],
        "fall-untrained": falls[first, "untrained"],
        "equal-untrained": listed(found.loc[("equal areas", "untrained", first), "percent"], 0),
        "equal-first": listed(equal.loc[first, "percent"], 0),
        "equal-second": listed(equal.loc[second, "percent"], 0),
        "equal-linear": listed(equal.loc[linear, "percent"], 0),
        "filled-first": listed(equal.loc[first, "filled"], 0),
        "filled-second": listed(equal.loc[second, "filled"], 0),
        "empty-first": equal.loc[first, "own_empty"].mean(),
        "empty-second": equal.loc[second, "own_empty"].mean(),
        "own-area": usual.loc[first, "own_area"].mean(),
        "random-area": usual.loc[first, "random_area"].mean(),
        **{f"stage-{k}": number(each, 0) for k, each in by_stage.items()},
        "fall-least": number(lost.min(), 0),
        "fall-most": number(lost.max(), 0),
    }


def _of_counts() -> dict[str, float]:
    above, own = above_chance(), curves().query("alpha == 0 and weights == 'trained'")
    untrained = counted().xs("untrained", level="weights")
    told = {"level": own["percent"].mean(), "untrained-most": untrained.max(axis=None)}
    told |= {f"chance-{name}": above["trained", layer] for name, layer in LITE_LAYERS.items()}
    units, linear = own["units"], own["layer"] == LITE_LAYERS["linear"]
    ranges = {"chance": above["untrained"], "units": units[~linear], "linear-units": units[linear]}
    return told | span(**ranges)
