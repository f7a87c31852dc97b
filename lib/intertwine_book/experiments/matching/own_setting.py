"""Figures 2, 7 and 8 of csiszarik2021 in its own setting: all images, and its recipe of training."""

from collections.abc import Mapping, Sequence
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
from intertwine_book.experiments.matching.networks import cuts, residual_networks
from intertwine_book.experiments.matching.stitches import direct_rows, refitted_rows, sparse_rows
from intertwine_book.experiments.published import published_pairs
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitches import Kinds, Pairs, stitch_many, stitch_rows
from intertwine_book.results import Run
from intertwine_book.zoo import Spec

DIRECT: Kinds = {
    "no stitch": {"kind": "identity"},
    "least squares": {"kind": "least squares"},
    "orthogonal": {"kind": "orthogonal"},
    "best permutation": {"kind": "permutation"},
}


def write(run: Run, pairs: Pairs, own: Spec, own_test: Dataset, uses: Sequence[str], **options: Any) -> None:
    """Compute and write closed forms at all layers, and stitches of low rank and sparse ones at some.

    Closed forms are fitted to images as they are. Stitches are trained as long as `longer_epochs` says, on
    flipped and shifted images, those of a case together, so that augmented images pass the front once for all
    of them. The parameters beside the tables are those of these stitches.

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
    residual = {f"_residual{end}": each for end, each in residual_networks(run, own, sets).items()}
    _closed_forms(run, {"": (pairs, sets), **residual}, uses, options)

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


def _closed_forms(run: Run, groups: Mapping[str, Any], uses: Sequence[str], options: Row) -> None:
    """What needs no training, at every layer; by the ending of a table's name, pairs and their images."""
    for end, (pairs, sets) in groups.items():
        steps = partial(run.steps, f"figure_2_direct{end}", uses=uses, data=sets["train"])
        known = {"seed": run.seed, "steps": steps, **options}
        stitches = stitch_many(pairs, cuts(pairs[0][1]), DIRECT, **sets, **known)
        found = {"experiment_1_direct": tables.ways(stitches)}
        found |= {"experiment_1_direct_by_pair": tables.by_pair(stitches)}
        run.write(uses=uses, data=sets["train"], **{f"{name}{end}": table for name, table in found.items()})


def _whole(run: Run, own: Spec, own_test: Dataset) -> tuple[Dataset, Dataset]:
    """All images, as the networks that are stitched expect them."""
    if run.parameters["networks"] != "published":
        return own.data, own_test
    both = (data.load("cifar10", part, device=run.device) for part in ("train", "test"))
    return published_pairs("tiny10", 1, *both)[1]


def _accuracy(test: Dataset, model: nn.Module) -> float:
    return 100 * evaluate(model.to(test.images.device), test.images, test.labels)
