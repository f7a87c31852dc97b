"""Stitches of residual networks: at slopes of their LeakyReLU, and inside and at the ends of blocks."""

from dataclasses import replace
from typing import Any

import pandas as pd

from intertwine_book import zoo
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitching.stitches import Pairs, stitch_many
from intertwine_book.results import Run
from intertwine_book.zoo import Spec

BLOCKS = [f"block{b}.relu{r}" for b in (2, 5, 8) for r in (1, 2)]
BLOCK_ENDS = ["block2.relu2", "block5.relu2"]


def residual(run: Run, spec: Spec, group: Row, **sets: Any) -> dict[str, pd.DataFrame]:
    """Tables slopes, slopes_alike, blocks and figure_6; `group` is the kind of stitch at the slopes.

    The networks are trained as the spec's are; sets are keywords of `stitch_many`.
    """
    given = run.parameters
    arguments = {**spec.arguments, "width": given["resnet_width"]}
    pairs_of = {
        slope: zoo.pairs(
            replace(spec, architecture="resnet20", arguments=arguments | ({"slope": slope} if slope else {})),
            given["resnet_pairs"],
            seed=run.seed,
            device=sets["device"],
        )
        for slope in given["slopes"]
    }
    found = {
        slope: stitch_many(pairs, BLOCK_ENDS, {"G_ReLU": group}, **sets) for slope, pairs in pairs_of.items()
    }
    return _slopes(found) | _blocks(pairs_of[given["slopes"][0]], **sets)


def _slopes(found: dict[float, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    table = pd.concat([each.assign(slope=slope) for slope, each in found.items()])
    by = table.pivot_table("penalty", ["layer1", "pair"], "slope")
    by.columns = [f"slope_{slope:g}" for slope in by.columns]
    others = by[by.columns[:-1]]
    apart = others.drop(columns="slope_0", errors="ignore").sub(by.get("slope_0", by.iloc[:, 0]), axis=0)
    alike = apart.melt(ignore_index=False, var_name="slope", value_name="apart")
    by["other_slopes"] = others.mean(axis=1)
    return {"slopes": by.reset_index(), "slopes_alike": alike.reset_index()}


def _blocks(pairs: Pairs, **sets: Any) -> dict[str, pd.DataFrame]:
    kinds = {"least squares": "least squares", "G_ReLU": "scaled permutation"}
    closed = {name: {"kind": kind, "batch_norm": "reestimated"} for name, kind in kinds.items()}
    blocks = pd.concat(
        stitch_many(pairs, BLOCKS, closed, shortcut=way, **sets).assign(shortcut=way)
        for way in ("passed on", "stitched")
    )
    layers: Any = pairs[0][0]
    numbers = {layer.name: layer.number for layer in layers.hidden_layers()}
    blocks["layer"] = blocks["layer1"].map(numbers)
    passed = blocks[blocks["shortcut"] == "passed on"]
    figure_6 = passed.pivot(index=["pair", "layer"], columns="stitch", values="penalty")
    figure_6 = figure_6.rename(columns={"G_ReLU": "g_relu", "least squares": "full"}).rename_axis(
        columns=None
    )
    return {
        "blocks": blocks[["layer", "pair", "stitch", "shortcut", "accuracy", "penalty"]],
        "figure_6": figure_6.reset_index(),
    }
