"""What a rotation costs: slopes from the own basis to a random one, and what training adds to them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


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


def added(table: pd.DataFrame, by: Sequence[str], value: str = "mean_iou") -> pd.DataFrame:
    """What training adds to the cost of a rotation: the column points, one for a hundredth of the value.

    Example:
        >>> weights = ["trained", "trained", "untrained", "untrained"]
        >>> table = pd.DataFrame({"number": 0, "weights": weights, "alpha": [0.0, 1.0, 0.0, 1.0]})
        >>> table["mean_iou"] = [0.4, 0.2, 0.3, 0.2]
        >>> added(table, ["number"])["points"].round(10).tolist()
        [10.0]

    The columns `by` name a trial, beside `weights`. The cost is that of the whole way to a random basis, by
    `slopes`; columns trained and untrained have the slopes themselves.
    """
    found = slopes(table, [*by, "weights"], [value])
    wide = found.pivot_table(value, [*by], "weights", sort=False).reset_index().rename_axis(columns=None)
    return wide.assign(points=100 * (wide["untrained"] - wide["trained"]))
