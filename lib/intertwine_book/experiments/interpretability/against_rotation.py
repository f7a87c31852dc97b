"""Interpretability along geodesics, against a null: a layer's own basis compared with rotated ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.data import Masks
from intertwine.dissection import Units, dissect_each, haar_rotation, rotation_planes

THRESHOLDS = (0.01, 0.02, 0.04, 0.08, 0.16)  # of the IoU; the paper's is 0.04


def sweep(
    units: Units,
    several: Sequence[Masks],
    rotations: Sequence[Float[Tensor, "units units"]],
    alphas: Sequence[float],
    *,
    quantiles: Sequence[float] = (0.005,),
) -> list[pd.DataFrame]:
    """Dissect the units in the bases Qᵅ, for rotations Q and angles α; the network is not run again.

    Example:
        >>> planes = torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0)) < 0.1
        >>> masks = Masks.of(planes, ["a", "b", "c"])
        >>> Q = haar_rotation(3, torch.Generator().manual_seed(0))
        >>> (table,) = sweep(planes.float(), [masks], [Q], [0.0, 1.0], quantiles=[0.2])
        >>> bool(table.groupby("alpha")["iou"].mean().is_monotonic_decreasing)
        True

    Args:
        units: as `dissect` takes them.
        several: masks, such as true ones and shuffled ones.
        rotations: as wide as the layer; α = 0 is computed once for all of them.

    Returns:
        For each of the masks a row for each quantile, rotation, alpha and unit, with its best concept and its
        iou; higher is a better match.
    """

    @cache
    def best(quantile: float, k: int | None, alpha: float) -> list[pd.DataFrame]:
        Q = None if k is None else paths[k].power(alpha)
        found = dissect_each(units, several, quantile=quantile, rotation=Q)
        return [each.units()[["unit", "concept", "iou"]] for each in found]

    paths, tables = [rotation_planes(Q) for Q in rotations], []
    for quantile, k, alpha in product(quantiles, range(len(paths)), alphas):
        found = best(quantile, k if alpha else None, alpha)
        tables.append([each.assign(quantile=quantile, rotation=k, alpha=float(alpha)) for each in found])
    return [pd.concat(each, ignore_index=True) for each in zip(*tables, strict=True)]


def null_threshold(null: pd.DataFrame, share: float = 0.05) -> pd.Series:
    """The IoU that a share of the units exceeds by chance, for each quantile of a `sweep` over a null."""
    return null.groupby("quantile")["iou"].quantile(1 - share)


def interpretability(
    units: Units,
    masks: Masks,
    *,
    width: int,
    seed: int,
    rotations: int = 5,
    alphas: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    quantiles: Sequence[float] = (0.005,),
) -> pd.DataFrame:
    """How interpretable a layer is in bases further and further from its own, by several statistics.

    Example:
        >>> planes = torch.rand(20, 4, 8, 8, generator=torch.Generator().manual_seed(0)) < 0.1
        >>> masks = Masks.of(planes, list("abcd"))
        >>> table = interpretability(planes.float(), masks, width=4, seed=0, rotations=2, quantiles=[0.2])
        >>> len(table), float(table.loc[0, "mean_iou"])
        (10, 1.0)

    Args:
        seed: of the rotations, drawn by Haar measure, and of the shuffled masks.

    Returns:
        A row for each quantile, rotation and alpha: mean_iou (over units, of the best IoU), above_null (the
        share of units above `null_threshold`, calibrated on the masks of other images over all bases of the
        same layer), above_0.04 and so on (shares of units above fixed thresholds), detectors (different best
        concepts of the units above the null), null (that threshold).
    """
    generator = torch.Generator().manual_seed(seed)
    turns = [haar_rotation(width, generator).to(masks.codes.device) for _ in range(rotations)]
    both = [masks, masks.shuffled(generator)]
    found, by_chance = sweep(units, both, turns, alphas, quantiles=quantiles)
    null = null_threshold(by_chance)
    rows = []
    for (quantile, k, alpha), each in found.groupby(["quantile", "rotation", "alpha"], sort=False):
        over = each["iou"] > null[quantile]
        row = {"quantile": quantile, "rotation": k, "alpha": alpha}
        row |= {"mean_iou": each["iou"].mean(), "above_null": over.mean()}
        row |= {f"above_{level:g}": (each["iou"] > level).mean() for level in THRESHOLDS}
        rows.append(row | {"detectors": each.loc[over, "concept"].nunique(), "null": null[quantile]})
    return pd.DataFrame(rows)


def slopes(table: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Least-squares slopes of some columns against alpha, from the own basis to a random one.

    Example:
        >>> table = pd.DataFrame({"seed": 0, "alpha": [0.0, 0.5, 1.0], "mean_iou": [0.3, 0.2, 0.1]})
        >>> slopes(table, ["seed"], ["mean_iou"])["mean_iou"].round(10).tolist()
        [-0.2]

    Args:
        by: columns that name a trial; the table is averaged over all others, such as rotations.

    Returns:
        A row for each trial, its slopes in the columns `values`; negative means that interpretability falls.
    """

    def fit(trial: pd.DataFrame) -> pd.Series:
        means = trial.groupby("alpha")[list(values)].mean()
        return pd.Series(np.polyfit(means.index.to_numpy(), means.to_numpy(), 1)[0], index=list(values))

    groups = table.groupby(list(by), sort=False)
    return groups[["alpha", *values]].apply(fit).reset_index()


def differences(table: pd.DataFrame, by: Sequence[str], statistics: Sequence[str]) -> pd.DataFrame:
    """Slopes of trained and of untrained networks side by side, and trained minus untrained.

    Example:
        >>> lines = {"trained": [0.4, 0.2], "untrained": [0.3, 0.2]}
        >>> table = pd.DataFrame(
        ...     [{"seed": 0, "weights": weights, "alpha": alpha, "mean_iou": line[int(alpha)]}
        ...      for weights, line in lines.items() for alpha in (0.0, 1.0)]
        ... )
        >>> differences(table, ["seed"], ["mean_iou"])["difference"].round(10).tolist()
        [-0.1]

    Args:
        table: with a column `weights`, of trained and untrained.
        by: the columns that name a trial beside it.

    Returns:
        A row for each statistic and trial: `by`, statistic, trained, untrained, difference; below 0 where
        training makes interpretability fall faster on the way to a random basis.
    """
    long = slopes(table, [*by, "weights"], statistics).melt([*by, "weights"], var_name="statistic")
    index = ["statistic", *by]  # pivot_table, because it keeps the order of rows
    wide = long.pivot_table(index=index, columns="weights", values="value", sort=False).reset_index()
    wide.columns.name = None
    return wide.assign(difference=wide["trained"] - wide["untrained"])
