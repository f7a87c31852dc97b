"""Stitches of residual networks: at slopes of their LeakyReLU, and inside and at the ends of blocks."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from intertwine.data import Dataset
from intertwine_book import zoo
from intertwine_book.experiments.published import published_pairs
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitching.protocols import closed_forms
from intertwine_book.experiments.stitching.stitches import Pairs, stitch_many
from intertwine_book.results import Run
from intertwine_book.zoo import Spec

BLOCKS = [f"block{b}.relu{r}" for b in (2, 6, 9) for r in (1, 2)]
BLOCK_ENDS = ["block2.relu2", "block5.relu2"]


def residual(run: Run, spec: Spec, group: Row, **sets: Any) -> dict[str, pd.DataFrame]:
    """Tables slopes and slopes_alike; those of `blocks` are written at once.

    `group` is the kind of stitch at the slopes. The networks are trained as the spec's are, those of the
    blocks published where the run has `published` pairs; sets are keywords of `stitch_many`.
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
    blocks(run, pairs_of[given["slopes"][0]], **sets)
    return _slopes(found)


def _slopes(found: dict[float, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    table = pd.concat([each.assign(slope=slope) for slope, each in found.items()])
    by = table.pivot_table("penalty", ["layer1", "pair"], "slope")
    by.columns = [f"slope_{slope:g}" for slope in by.columns]
    others = by[by.columns[:-1]]
    apart = others.drop(columns="slope_0", errors="ignore").sub(by.get("slope_0", by.iloc[:, 0]), axis=0)
    alike = apart.melt(ignore_index=False, var_name="slope", value_name="apart")
    by["other_slopes"] = others.mean(axis=1)
    return {"slopes": by.reset_index(), "slopes_alike": alike.reset_index()}


def blocks(run: Run, pairs: Pairs, *, train: Dataset, test: Dataset, **sets: Any) -> None:
    """Closed forms inside and at the ends of blocks, the shortcut passed on, as the authors' code does.

    Writes blocks, with the columns of `stitch_many`, and figure_6 of godfrey2022: columns pair, layer (the
    paper's number), g_relu and full, the penalties with batch norm re-estimated.
    """
    given = run.parameters
    if given["published"]:
        pairs, (train, test) = published_pairs("resnet20", given["published"], train, test)
    train, test = (each[: given["resnet_images"]] for each in (train, test))
    uses = ["dataset", "published", "resnet_width", "resnet_images"]
    steps = partial(run.steps, "blocks", uses=uses)
    options = {"test": test, "steps": steps, "shortcut": "passed on", **sets}
    found = stitch_many(pairs, BLOCKS, closed_forms(), train, **options)
    layers: Any = pairs[0][0]
    numbers = {layer.name: layer.number for layer in layers.hidden_layers()}
    names = {"assignment, re-estimated": "g_relu", "least squares, re-estimated": "full"}
    again = found[found["stitch"].isin(names)].assign(layer=found["layer1"].map(numbers))
    wide = again.pivot(index=["pair", "layer"], columns="stitch", values="penalty").rename(columns=names)
    run.write(uses=uses, figure_6=wide.rename_axis(columns=None).reset_index())
