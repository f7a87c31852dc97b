"""Tables of stitches as claims need them: one trial a row, the compared values in columns."""

from collections.abc import Iterable, Sequence

import pandas as pd
import torch

from intertwine.alignment import Statistics, lasso
from intertwine.stitching import barriers

PLACE = ["pair", "layer1"]


def equation_3(alphas: Sequence[float] = (0.25, 0.5, 0.75, 1.25, 1.5)) -> pd.DataFrame:
    """For A = B = 1 the best m of |m − 1| + α|m|, as printed, and of ½(m − 1)² + α|m|, on a grid of all m.

    Example:
        >>> equation_3([0.25])[["printed", "squared", "lasso"]].round(3).values.tolist()
        [[1.0, 0.75, 0.75]]

    Columns alpha, printed, squared, lasso (the library's), printed_error and squared_error, from the lasso.
    """
    m, one = torch.arange(-1000, 2001, dtype=torch.float64) / 1000, torch.ones(1, 1, dtype=torch.float64)
    table = pd.DataFrame({"alpha": alphas})
    printed, squared = (m - 1).abs(), (m - 1) ** 2 / 2
    for name, loss in {"printed": printed, "squared": squared}.items():
        table[name] = [m[(loss + alpha * m.abs()).argmin()].item() for alpha in alphas]
    table["lasso"] = [lasso(Statistics.of(one, one), alpha).weight.item() for alpha in alphas]
    return table.assign(
        printed_error=(table["printed"] - table["lasso"]).abs(),
        squared_error=(table["squared"] - table["lasso"]).abs(),
    )


def ways(stitches: pd.DataFrame) -> pd.DataFrame:
    """One row for each pair and layer, one column for each way of stitching.

    Example:
        >>> table = pd.DataFrame({"pair": [0, 0], "layer1": "relu1", "stitch": ["task loss", "no stitch"]})
        >>> ways(table.assign(relative_accuracy=[0.9, 0.1])).columns.tolist()
        ['pair', 'layer1', 'task_loss', 'no_stitch', 'lost_by_task_loss', 'lost_by_no_stitch']

    The values are relative accuracies; 1 minus each is in ``lost_by_…``.
    """
    found = _wide(stitches, PLACE, "relative_accuracy")
    return _with_losses(found, [*found.columns[len(PLACE) :]])


def by_pair(stitches: pd.DataFrame) -> pd.DataFrame:
    """Experiment 1 of csiszarik2021 for each pair of networks: means over layers.

    Example:
        >>> ways = ["task loss", "least squares"]
        >>> table = pd.DataFrame({"pair": 0, "layer1": [*"1122"], "stitch": 2 * ways, "distance": 1.0})
        >>> table["relative_accuracy"] = [0.9, 0.7, 1.0, 0.9]
        >>> by_pair(table)[["task_loss", "matched_directly"]].values.round(2).tolist()
        [[0.95, 0.5]]

    Columns pair; for every way the mean relative accuracy over layers, and in ``distance_…`` the mean
    cross-entropy to model 2; matched_directly, the share of layers where least squares keeps 80 %.
    """
    accuracy, distance = (_wide(stitches, PLACE, value) for value in ("relative_accuracy", "distance"))
    accuracy["matched_directly"] = (accuracy["least_squares"] >= 0.8).astype(float)
    found, apart = (each.drop(columns="layer1").groupby("pair").mean() for each in (accuracy, distance))
    return found.join(apart.add_prefix("distance_")).reset_index()


def targets(stitches: pd.DataFrame) -> pd.DataFrame:
    """For each pair, over its layers, how soft and hard targets of stitches by task loss compare.

    Example:
        >>> ways = ["task loss", "hard targets"]
        >>> table = pd.DataFrame({"pair": 0, "layer1": [*"1122"], "stitch": 2 * ways})
        >>> targets(table.assign(relative_accuracy=[0.9, 0.8, 1.0, 0.9])).values.round(2).tolist()
        [[0.0, 0.1, 1.0]]

    Columns pair, soft_minus_hard (a mean of relative accuracies) and correlation.
    """
    pairs = _wide(stitches, PLACE, "relative_accuracy").groupby("pair")
    rows = [
        {
            "pair": pair,
            "soft_minus_hard": (part["task_loss"] - part["hard_targets"]).mean(),
            "correlation": part["task_loss"].corr(part["hard_targets"]),
        }
        for pair, part in pairs
    ]
    return pd.DataFrame(rows)


def unstitched(stitches: pd.DataFrame) -> pd.DataFrame:
    """For each pair the cross-entropy to model 2 without a stitch, its mean over layers: distance_no_stitch.

    Example:
        >>> unstitched(pd.DataFrame({"pair": 0, "layer1": [*"12"], "distance": [4.0, 5.0]})).values.tolist()
        [[0.0, 4.5]]
    """
    return stitches.groupby("pair")["distance"].mean().rename("distance_no_stitch").reset_index()


def low_rank(stitches: pd.DataFrame) -> pd.DataFrame:
    """Stitches whose name ends with ", rank k": one row for each pair, layer and rank, a column for each way.

    Example:
        >>> ways = ["direct, rank 4", "task loss, rank 4"]
        >>> table = pd.DataFrame({"pair": 0, "layer1": "1", "stitch": ways})
        >>> low_rank(table.assign(relative_accuracy=[0.5, 0.9])).values.tolist()
        [[0, '1', 4, 0.5, 0.9]]
    """
    limited = stitches[stitches["stitch"].str.contains(", rank ")].copy()
    limited[["stitch", "rank"]] = limited["stitch"].str.split(", rank ", expand=True)
    limited["rank"] = limited["rank"].astype(int)
    return _wide(limited, [*PLACE, "rank"], "relative_accuracy")


def sparse(stitches: pd.DataFrame) -> pd.DataFrame:
    """Rows of `sparse_rows` and `refitted_rows`: one for each pair, layer and alpha, ways in columns.

    Example:
        >>> table = pd.DataFrame({"pair": 0, "layer1": "1", "alpha": 0.1, "stitch": ["task loss", "direct"]})
        >>> table = table.assign(relative_accuracy=[0.9, 0.5], sparsity=0.8)
        >>> sparse(table)[["sparsity", "direct", "task_loss", "lost_by_direct"]].values.tolist()
        [[0.8, 0.5, 0.9, 0.5]]

    Columns pair, layer1, alpha, a column for each way, sparsity (of task loss), and 1 minus each way in
    ``lost_by_…``.
    """
    key = [*PLACE, "alpha"]
    both = stitches[stitches["alpha"].notna()]
    share = both.loc[both["stitch"] == "task loss", [*key, "sparsity"]]
    found = _wide(both, key, "relative_accuracy")
    return _with_losses(found.merge(share, on=key), found.columns[len(key) :])


def drop(stitches: pd.DataFrame) -> pd.DataFrame:
    """Rows of `direct_rows`: what ten points more of zeros cost direct matching, as a share of accuracy.

    Example:
        >>> table = pd.DataFrame({"pair": 0, "layer1": "1", "stitch": "direct", "zeros": [0.0, 0.7, 0.9]})
        >>> drop(table.assign(relative_accuracy=[0.9, 0.83, 0.43])).round(2).values.tolist()
        [[0, '1', 0.01, 0.2]]

    Columns pair, layer1, below_70, the mean over the steps from none to 70 %, and above_70, up to 90 %.
    """
    wide = stitches[stitches["stitch"] == "direct"].pivot(
        index=PLACE, columns="zeros", values="relative_accuracy"
    )
    below, above = (wide[0.0] - wide[0.7]) / 7, (wide[0.7] - wide[0.9]) / 2
    return pd.DataFrame({"below_70": below, "above_70": above}).reset_index()


def starts(paths: pd.DataFrame) -> pd.DataFrame:
    """The ends of `path_rows`: one row for each start, its kinds in columns.

    Example:
        >>> start = ["random"] * 2 + ["least squares"] * 2
        >>> table = pd.DataFrame({"pair": 0, "layer1": "1", "start": start, "path": 0})
        >>> table = table.assign(fraction=[0, 1, 0, 1], relative_accuracy=[0.5, 0.75, 1.0, 1.0])
        >>> starts(table)[["random", "least_squares", "behind_best"]].values.tolist()
        [[0.5, 1.0, 0.5], [0.75, 1.0, 0.25]]

    Columns pair, layer1, path, fraction (which end), random, least_squares, behind_best: how far the random
    start is below the best stitch of its pair and layer; and same_order, 1 where that is at most 0.1.
    """
    ends = paths[paths["fraction"].isin([0, 1])].rename(columns={"start": "stitch"})
    found = _wide(ends, [*PLACE, "path", "fraction"], "relative_accuracy")
    best = found.groupby(PLACE)[["random", "least_squares"]].transform("max").max(axis=1)
    behind = best - found["random"]
    return found.assign(behind_best=behind, same_order=(behind <= 0.1).astype(float))


def longest(paths: pd.DataFrame, longer: pd.DataFrame) -> pd.DataFrame:
    """`path_rows`, where random starts that were trained for longer replace those of their pair and layer.

    Example:
        >>> short = pd.DataFrame({"start": ["random", "least squares"], "loss": [5.0, 1.0]})
        >>> longer = pd.DataFrame({"pair": 0, "layer1": "1", "loss": [2.0]})
        >>> longest(short.assign(pair=0, layer1="1"), longer)["loss"].tolist()
        [1.0, 2.0]
    """
    there = pd.MultiIndex.from_frame(paths[PLACE]).isin(pd.MultiIndex.from_frame(longer[PLACE]))
    replaced = (paths["start"] == "random") & there
    return pd.concat([paths[~replaced], longer.assign(start="random")], ignore_index=True)


def walls(paths: pd.DataFrame) -> pd.DataFrame:
    """Barriers of `path_rows`, one row a path, and which paths have ends of 80 % or more.

    Example:
        >>> path = {"pair": 0, "layer1": "1", "start": "random", "path": 0, "fraction": [0.0, 0.5, 1.0]}
        >>> walls(pd.DataFrame(path | {"relative_accuracy": [0.9, 0.8, 1.0]}))["points"].round(1).tolist()
        [15.0]

    Columns kept; tolerated, the barrier up to which stitches count as connected; and points, the barrier in
    percent where the path is kept.
    """
    found = barriers(paths, ["pair", "layer1", "start", "path"], "relative_accuracy")
    kept = found["worse"] >= 0.8
    return found.assign(kept=kept, tolerated=0.05, points=100 * found["barrier"].where(kept))


def widths(stitches: pd.DataFrame, few: int) -> pd.DataFrame:
    """Stitches by task loss between the widest networks and the narrowest: one row for each trial and layer.

    Example:
        >>> table = pd.DataFrame({"pair": [0, 1], "width": [4, 8], "layer1": "1", "stitch": "task loss"})
        >>> widths(table.assign(relative_accuracy=[0.8, 0.9]), few=1).values.tolist()
        [[0, '1', 0.8, 0.9]]

    Of each width there are a few pairs, one after another. Columns trial, layer1, narrowest, widest.
    """
    names = {stitches["width"].min(): "narrowest", stitches["width"].max(): "widest"}
    part = stitches[(stitches["stitch"] == "task loss") & stitches["width"].isin(list(names))]
    part = part.assign(trial=part["pair"] % few, stitch=part["width"].map(names))
    return _wide(part, ["trial", "layer1"], "relative_accuracy")


def _with_losses(table: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    return table.assign(**{f"lost_by_{name}": 1 - table[name] for name in columns})


def _wide(stitches: pd.DataFrame, key: list[str], value: str) -> pd.DataFrame:
    order = [str(name).replace(" ", "_") for name in dict.fromkeys(stitches["stitch"])]
    found = stitches.assign(stitch=stitches["stitch"].str.replace(" ", "_"))
    wide = found.pivot(index=key, columns="stitch", values=value)[order]
    return wide.rename_axis(columns=None).reset_index()
