"""Figures 2 and 9 of godfrey2022: layers of ResNet-20s at the ends of blocks and inside, trained and not."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd
from torch import nn

from intertwine.data import Dataset
from intertwine_book import models, zoo
from intertwine_book.experiments.dissimilarity import by_layer
from intertwine_book.experiments.published import published_pairs
from intertwine_book.results import Run
from intertwine_book.zoo import Spec

COMPARED = {"G_ReLU-CKA": "grelu cka", "linear CKA": "cka"}


def blocks(run: Run, spec: Spec, train: Dataset, test: Dataset, **options: Any) -> None:
    """Write figure_2_all, figure_9, figure_2 and the same of untrained networks.

    The networks are published where the run has `published` pairs, else trained as the spec's. Untrained ones
    have their shape. `options` are those of `by_layer.between_all_layers`.
    """
    asked = run.parameters
    if asked["published"]:
        pairs, (train, test) = published_pairs("resnet20", asked["published"], train, test)
        by = ["dataset", "published", "resnet_images"]
    else:
        shape = {**spec.arguments, "width": asked["resnet_width"]}
        narrow = replace(spec, architecture="resnet20", arguments=shape)
        pairs = zoo.pairs(narrow, asked["resnet_pairs"], seed=run.seed, device=run.device)
        by = ["dataset", "resnet_width", "epochs", "resnet_images"]
    images = test.images[: asked["resnet_images"]].to(run.device)
    numbers = {layer.name: layer.number for layer in pairs[0][0].hidden_layers()}  # type: ignore[operator]
    width = len(next(pairs[0][0].parameters()))
    shown = train.images[: asked["resnet_images"]].to(run.device)
    seeds = range(run.seed, run.seed + 2 * len(pairs))
    fresh = [models.resnet20(width, in_channels=shown.shape[1], seed=seed).to(run.device) for seed in seeds]
    untrained = pairwise([by_layer.used_to(shown, network) for network in fresh])

    @run.table(cases=cases(pairs), uses=by)
    def figure_2_all(pair, networks):
        return by_layer.between_all_layers(*networks, numbers, images, COMPARED, **options)

    @run.table(cases=cases(pairs), uses=[*by, "nulls"])
    def figure_9(pair, networks):
        known = {"nulls": asked["nulls"], "generator": run.generator(pair)}
        return by_layer.procrustes_by_layer(*networks, numbers, images, **known)

    @run.table(cases=cases(list(untrained)[::2]), uses=by)
    def figure_2_untrained(pair, networks):
        found = by_layer.between_all_layers(*networks, numbers, images, COMPARED, **options)
        return found.query("row == column")

    run.write(uses=by, figure_2=ends_and_inside(figure_2_all))


def cases(pairs: Sequence[tuple[nn.Module, nn.Module]]) -> list[dict]:
    """A row of cases for each pair."""
    return [{"pair": k, "networks": two} for k, two in enumerate(pairs)]


def ends_and_inside(figure_2_all: pd.DataFrame) -> pd.DataFrame:
    """Of corresponding layers, those inside blocks with a star."""
    same = figure_2_all.query("measure == 'G_ReLU-CKA' and row == column")
    place = same["row"].str.endswith("*").map({True: "similarity_inside", False: "similarity_at_ends"})
    wide = same.assign(place=place).pivot_table(index="pair", columns="place", values="value")
    return wide.rename_axis(columns=None).reset_index()
