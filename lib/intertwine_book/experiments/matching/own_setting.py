"""Figures 7 and 8 of csiszarik2021 in its own setting: its recipe, and all images, flipped and shifted."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pandas as pd
from torch import nn

from intertwine.data import Dataset
from intertwine.stitching import STITCH_RECIPES, Junction
from intertwine.training import evaluate
from intertwine_book import data
from intertwine_book.experiments.matching import tables
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.matching.stitches import direct_rows, refitted_rows, sparse_rows
from intertwine_book.experiments.published import published_pairs
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitching import stitch_rows
from intertwine_book.experiments.stitching.stitches import Kinds, Pairs
from intertwine_book.results import Run
from intertwine_book.zoo import Spec


def write(run: Run, pairs: Pairs, own: Spec, own_test: Dataset, uses: Sequence[str], **options: Any) -> None:
    """Compute and write stitches of low rank and sparse ones, as figures 7 and 8 of the paper have them.

    Stitches are trained as long as `longer_epochs` says, those of a case together, so that augmented images
    pass the front once for all of them. The parameters beside the tables are those of these stitches.

    Args:
        own, own_test: the data of networks that are trained here.
        uses: the names of the parameters that every stitch uses.
        options: of `Junction`.
    """
    train, test = _whole(run, own, own_test)
    recipe = replace(STITCH_RECIPES["csiszarik2021"], epochs=run.parameters["longer_epochs"], targets="soft")
    task: dict[str, Any] = {"recipe": recipe}
    sets: dict[str, Any] = {"train": train, "test": test}
    used = {"train_images": len(train), "fit_images": len(train), "test_images": len(test)}
    used |= {"stitch_epochs": recipe.epochs}
    run = replace(run, parameters={**run.parameters, **used})
    alone = cache(partial(_accuracy, test))
    options |= {"fit_images": len(train), "test_each_epoch": False}

    def joined(pair: int, layer1: str, couple: Any) -> tuple[Junction, dict[str, Any]]:
        place = Junction(couple[0], couple[1], layer1, **sets, **options)
        return place, {"seed": run.seed + pair, "accuracies": tuple(map(alone, couple))}

    ranks = run.parameters["ranks"]
    places = cuts(pairs[0][1], run.parameters["chosen"])
    cases = [{"pair": k, "layer1": at, "couple": two} for k, two in enumerate(pairs) for at in places]
    full: Kinds = {"least squares": {"kind": "least squares"}, "task loss": {"kind": "full", **task}}
    low: dict[str, Row] = {f"rank {rank}": {"kind": "low rank", "rank": rank} for rank in ranks}
    limited: Kinds = {
        **{f"direct, {name}": kind for name, kind in low.items()},
        **{f"direct without bias, {name}": kind | {"affine": False} for name, kind in low.items()},
        **{f"task loss, {name}": kind | task | {"start": "random"} for name, kind in low.items()},
    }

    @run.table(cases=cases, uses=[*uses, "ranks"], data=train)
    def figure_7_stitches(pair, layer1, couple):
        place, known = joined(pair, layer1, couple)
        return stitch_rows(place, {**full, **limited}, **known)

    @run.table(cases=cases, uses=[*uses, "alphas"], data=train)
    def figure_8_stitches(pair, layer1, couple):
        place, known = joined(pair, layer1, couple)
        return sparse_rows(place, run.parameters["alphas"], recipe, **known)

    zeros = figure_8_stitches.query("stitch == 'task loss'").groupby(tables.PLACE)["sparsity"].agg(list)
    again = [case | {"zeros": zeros[case["pair"], case["layer1"]]} for case in cases]

    @run.table(cases=again, uses=[*uses, "alphas"], data=train)
    def figure_8_refitted(pair, layer1, couple, zeros):
        place, known = joined(pair, layer1, couple)
        return refitted_rows(place, run.parameters["alphas"], zeros, **known)

    @run.table(cases=cases, uses=uses, data=train)
    def figure_8_direct(pair, layer1, couple):
        place, known = joined(pair, layer1, couple)
        return direct_rows(place, [tenths / 10 for tenths in range(10)], **known)

    sparse = tables.sparse(pd.concat([figure_8_stitches, figure_8_refitted]))
    run.write(uses=[*uses, "ranks"], data=train, figure_7=tables.low_rank(figure_7_stitches))
    run.write(uses=[*uses, "alphas"], data=train, figure_8=sparse.assign(tolerated=0.2))
    run.write(uses=uses, data=train, figure_8_drop=tables.drop(figure_8_direct))


def _whole(run: Run, own: Spec, own_test: Dataset) -> tuple[Dataset, Dataset]:
    """All images, as the networks that are stitched expect them."""
    if run.parameters["networks"] != "published":
        return own.data, own_test
    both = (data.load("cifar10", part, device=run.device) for part in ("train", "test"))
    return published_pairs("tiny10", 1, *both)[1]


def _accuracy(test: Dataset, model: nn.Module) -> float:
    return 100 * evaluate(model.to(test.images.device), test.images, test.labels)
