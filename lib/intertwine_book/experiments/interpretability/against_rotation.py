"""Interpretability along geodesics, against a null: a layer's own basis compared with rotated ones."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.data import Masks
from intertwine.dissection import Units, dissect_each, haar_rotation, rotation_planes
from intertwine_book.experiments.rows import Row, tabled

THRESHOLDS = (0.01, 0.02, 0.04, 0.08, 0.16)  # of the IoU; the paper's is 0.04
STATISTICS = ("mean_iou", "above_null", "above_0.04")  # of which slopes are taken


def sweep(
    units: Units,
    several: Sequence[Masks],
    rotations: Sequence[Float[Tensor, "units units"]],
    alphas: Sequence[float],
    *,
    quantiles: Sequence[float] = (0.005,),
    equal_area: bool = False,
) -> list[pd.DataFrame]:
    """Dissect the units in the bases Qᵅ, for rotations Q and angles α; the network is not run again.

    The units, and `equal_area`, are those of `dissect`; the several masks are such as true ones and shuffled
    ones. For each of them, a row for each quantile, rotation, alpha and unit, with its best concept, its iou
    and the share of the pixels that it selects.
    """

    @cache  # α = 0 is computed once for all rotations
    def best(quantile: float, k: int | None, alpha: float) -> list[pd.DataFrame]:
        Q = None if k is None else paths[k].power(alpha)
        found = dissect_each(units, several, quantile=quantile, rotation=Q, equal_area=equal_area)
        return [each.units()[["unit", "concept", "iou", "share"]] for each in found]

    paths, tables = [rotation_planes(Q) for Q in rotations], []
    for quantile, k, alpha in product(quantiles, range(len(paths)), alphas):
        found = best(quantile, k if alpha else None, alpha)
        tables.append([each.assign(quantile=quantile, rotation=k, alpha=float(alpha)) for each in found])
    return [pd.concat(each, ignore_index=True) for each in zip(*tables, strict=True)]


def null_threshold(null: pd.DataFrame) -> pd.Series:
    """The IoU that 5 % of the units exceed by chance, for each quantile of a `sweep` over a null."""
    return null.groupby("quantile")["iou"].quantile(0.95)


@tabled
def interpretability(
    units: Units,
    masks: Masks,
    *,
    width: int,
    seed: int,
    rotations: int = 5,
    alphas: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    quantiles: Sequence[float] = (0.005,),
    equal_area: bool = False,
) -> Iterator[Row]:
    """How interpretable a layer is in bases further and further from its own, by several statistics.

    The seed is that of the rotations, drawn by Haar measure, and of the shuffled masks. A row for each
    quantile, rotation and alpha: mean_iou (over units, of the best IoU), above_null (the share of units above
    `null_threshold`, calibrated on the masks of other images over all bases of the same layer), above_0.04
    and so on (shares of units above fixed thresholds), detectors (different best concepts of the units above
    the null), null (that threshold), area (the mean share of the pixels that a unit selects), empty (the
    share of units that select none).
    """
    generator = torch.Generator().manual_seed(seed)
    turns = [haar_rotation(width, generator).to(masks.codes.device) for _ in range(rotations)]
    both = [masks, masks.shuffled(generator)]
    asked: dict[str, Any] = {"quantiles": quantiles, "equal_area": equal_area}
    found, by_chance = sweep(units, both, turns, alphas, **asked)
    null = null_threshold(by_chance)
    for (quantile, k, alpha), each in found.groupby(["quantile", "rotation", "alpha"], sort=False):
        over = each["iou"] > null[quantile]
        row = {"quantile": quantile, "rotation": k, "alpha": alpha}
        row |= {"mean_iou": each["iou"].mean(), "above_null": over.mean()}
        row |= {f"above_{level:g}": (each["iou"] > level).mean() for level in THRESHOLDS}
        row |= {"detectors": each.loc[over, "concept"].nunique(), "null": null[quantile]}
        yield row | {"area": each["share"].mean(), "empty": (each["share"] == 0).mean()}


def slopes(table: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Least-squares slopes of some columns against alpha, from the own basis to a random one.

    Example:
        >>> table = pd.DataFrame({"seed": 0, "alpha": [0.0, 0.5, 1.0], "mean_iou": [0.3, 0.2, 0.1]})
        >>> slopes(table, ["seed"], ["mean_iou"])["mean_iou"].round(10).tolist()
        [-0.2]

    The columns `by` name a trial, and the table is averaged over all others, such as rotations. A row for
    each trial, its slopes in the columns `values`; negative means that interpretability falls.
    """

    def fit(trial: pd.DataFrame) -> pd.Series:
        means = trial.groupby("alpha")[list(values)].mean()
        return pd.Series(np.polyfit(means.index.to_numpy(), means.to_numpy(), 1)[0], index=list(values))

    groups = table.groupby(list(by), sort=False)
    return groups[["alpha", *values]].apply(fit).reset_index()


def differences(table: pd.DataFrame, by: Sequence[str], statistics: Sequence[str]) -> pd.DataFrame:
    """Slopes of trained and of untrained networks side by side, and trained minus untrained.

    Example:
        >>> weights = ["trained", "trained", "untrained", "untrained"]
        >>> table = pd.DataFrame({"seed": 0, "weights": weights, "alpha": [0.0, 1.0, 0.0, 1.0]})
        >>> table["mean_iou"] = [0.4, 0.2, 0.3, 0.2]
        >>> differences(table, ["seed"], ["mean_iou"])["difference"].round(10).tolist()
        [-0.1]

    The columns `by` name a trial, beside `weights`. Columns `by`, statistic, trained, untrained, difference:
    below 0 where training makes interpretability fall faster on the way to a random basis.
    """
    long = slopes(table, [*by, "weights"], statistics).melt([*by, "weights"], var_name="statistic")
    index = ["statistic", *by]  # pivot_table, because it keeps the order of rows
    wide = long.pivot_table(index=index, columns="weights", values="value", sort=False).reset_index()
    wide.columns.name = None
    return wide.assign(difference=wide["trained"] - wide["untrained"])
