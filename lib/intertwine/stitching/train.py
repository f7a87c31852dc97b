"""Task-loss matching: only the stitch moves (csiszarik2021 §4.3, godfrey2022 §4)."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import nn
from tqdm import tqdm

from intertwine.alignment import LinearMap
from intertwine.stitching.epochs import Steps, norms, one_epoch, reestimate
from intertwine.stitching.junction import Judged, Junction
from intertwine.stitching.recipes import StitchRecipe, build_optimizer
from intertwine.stitching.stitched import Rest, Stitched, as_module, check_fit, run
from intertwine.training.epoch import drawing


class TrainedStitch(NamedTuple):
    """A stitched network in evaluation mode, how it came to be, and how good it is.

    Example:
        >>> judged, part = Judged(97.0, 0.1, 0.2), nn.Identity()
        >>> network = Stitched(part, Rest(part, part))
        >>> TrainedStitch(network, pd.DataFrame(), 3, judged, best_test_accuracy=97.4).test.accuracy
        97.0
    """

    network: Stitched
    """Its `stitch` is what was trained."""
    history: pd.DataFrame
    """One row per epoch, 0 being the start: epoch, lr, loss, accuracy (percent, on the way), seconds; then
    validation_accuracy and test_accuracy (percent) where there are such sets."""
    epoch: int
    """Which one `network` is of: the best on the validation set, or the last."""
    test: Judged | None
    """On the test set, which had no part in the choice."""
    best_test_accuracy: float | None
    """Percent, of the epoch from 1 on that is best on the test set: what the authors of godfrey2022 report.
    It is optimistic; here to be compared with theirs."""


def train_stitch(
    junction: Junction,
    stitch: nn.Module | LinearMap,
    recipe: StitchRecipe,
    *,
    seed: int,
    progress: bool = False,
) -> TrainedStitch:
    """Train a copy of a stitch by the loss of the stitched network; both models keep their parameters.

    Example:
        >>> from dataclasses import replace
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> from intertwine.stitching import STITCH_RECIPES, Full
        >>> a, b = (myrtle(4, in_channels=1, seed=seed).eval() for seed in (0, 1))
        >>> train, test = data.load("digits", "train"), data.load("digits", "test")
        >>> junction = Junction(a, "relu2", b, "relu2", train, test=test, device="cpu")
        >>> start = Full(*junction.widths, generator=torch.Generator().manual_seed(0))
        >>> trained = train_stitch(junction, start, replace(STITCH_RECIPES["digits"], epochs=2), seed=0)
        >>> trained.history["epoch"].tolist()
        [0, 1, 2]

    Where the recipe does not augment, model 1 is not run: its values are those that the junction keeps. The
    same junction, stitch, recipe, seed and number of threads give the same result on a CPU.

    Args:
        junction: where, and with which data.
        stitch: from layer 1's channels to layer 2's; a `Stitch`, a closed form, or any module.
        recipe: one of `STITCH_RECIPES`, or a variant of it. With epochs=0 nothing is trained, but batch norm
            is re-estimated if the recipe says so.
        seed: of the order of the data, of their augmentation, and of dropout in the stitch.
        progress: as in `training.train`.

    Raises:
        ValueError: a stitch that does not fit the layers.
        TypeError: a recipe that is not for stitches.
        FloatingPointError: the loss is no longer finite.
    """
    if not isinstance(recipe, StitchRecipe):
        raise TypeError(
            f"Expected a StitchRecipe, was given a {type(recipe).__name__}: take one of STITCH_RECIPES, or "
            f"StitchRecipe(**vars(recipe))."
        )
    layer = copy.deepcopy(as_module(stitch, torch.empty(0))).to(junction.device)
    rest = Rest(layer, copy.deepcopy(junction.back), junction.shortcut)
    first = run(junction.front, junction.images("train")[:1], junction.dtype)
    check_fit(rest, first, junction.widths, junction.dtype)
    rows: list[dict[str, Any]] = [{"epoch": 0, "lr": 0.0, "loss": float("nan"), "accuracy": float("nan")}]
    best, kept, rank = 0, rest, _judge(rest, junction, recipe, rows[0])
    if recipe.epochs:
        optimizer, steps = build_optimizer(recipe, layer), Steps(junction, recipe, seed)
        kept = copy.deepcopy(rest)
        for epoch in tqdm(range(recipe.epochs), unit="epoch", disable=not progress):
            with drawing(seed, epoch, junction.device):
                rows.append(one_epoch(rest, optimizer, steps, recipe, epoch))
            now = _judge(rest, junction, recipe, rows[-1])
            if now > rank:
                best, kept, rank = epoch + 1, copy.deepcopy(rest), now
    history = pd.DataFrame(rows).drop(columns="images_per_s", errors="ignore")
    test = junction.judge(kept, "test") if "test" in junction.sets else None
    network = Stitched(copy.deepcopy(junction.front), kept).eval().to(memory_format=torch.contiguous_format)
    best_test = float(history["test_accuracy"][1:].max()) if test and recipe.epochs else None
    return TrainedStitch(network, history, best, test, best_test)


def _judge(rest: Rest, junction: Junction, recipe: StitchRecipe, row: dict[str, Any]) -> tuple[float, float]:
    """Add accuracies to a row; what the best epoch has most of, without validation the epoch itself."""
    if modules := norms(rest, recipe):
        reestimate(rest, modules, junction.values("train"), junction.device, junction.dtype)
    if "test" in junction.sets:
        row["test_accuracy"] = junction.judge(rest, "test").accuracy
    if "validation" not in junction.sets:
        return float(row["epoch"]), 0.0
    judged = junction.judge(rest, "validation")
    row["validation_accuracy"] = judged.accuracy
    return judged.accuracy, -judged.loss
