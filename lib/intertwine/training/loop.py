"""Training one network, and its accuracy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor, nn

from intertwine import devices, files
from intertwine.data import Dataset
from intertwine.training.arithmetic import arithmetic, input_dtype
from intertwine.training.batches import Batches, fill_of
from intertwine.training.evaluation import check_data, evaluate, outputs
from intertwine.training.fit import Checkpoint, fit
from intertwine.training.freeze import freeze as put_to_rest
from intertwine.training.freeze import front_and_back, frozen_modules
from intertwine.training.progress import Progress, reporting
from intertwine.training.recipes import VERSION, Recipe

FRONT_BYTES = 2**31  # what a frozen front computes is kept if it needs no more than this


class Trained(NamedTuple):
    """A trained network, in evaluation mode, and how it came to be.

    Example:
        >>> from intertwine import models
        >>> from intertwine.training import RECIPES
        >>> trained = Trained(models.fcn(), pd.DataFrame({"loss": [2.3, 0.1]}), RECIPES["digits"], seed=0)
        >>> float(trained.history["loss"].iloc[-1])
        0.1
    """

    network: nn.Module
    history: pd.DataFrame
    """One row per epoch: epoch, lr, loss, accuracy, [validation_accuracy,] seconds, images_per_s."""
    recipe: Recipe
    seed: int
    """Of the order of the data."""


def train(
    network: nn.Module,
    data: Dataset,
    recipe: Recipe,
    *,
    seed: int,
    device: str | torch.device = "auto",
    freeze: str | None = None,
    validation: Dataset | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | Callable[[Progress], Any] = False,
) -> Trained:
    """Train a copy of `network` on `data` by `recipe`, with the cross-entropy as loss.

    Example:
        >>> from dataclasses import replace
        >>> from intertwine import data, models
        >>> from intertwine.training import RECIPES, evaluate, train
        >>> network = models.myrtle(4, in_channels=1, seed=0)
        >>> recipe = replace(RECIPES["digits"], epochs=3)
        >>> trained = train(network, data.load("digits", "train"), recipe, seed=1, device="cpu")
        >>> test = data.load("digits", "test")
        >>> evaluate(trained.network, test.images, test.labels) > 0.8
        True

    On a CPU the same network, data, recipe, seed and number of threads give bitwise the same weights, also
    after an interruption; `seed` decides order, augmentation and dropout, the network brings its
    initialisation, and torch's own generators stay as they are.

    With `freeze` this is finetuning: the modules up to and including that layer keep their parameters and
    stay in evaluation mode. Where the recipe does not augment and the network is a chain, what they compute
    is computed once, so that an epoch costs only the rest.

    Args:
        network: maps images to logits; it is not changed.
        data: the training set.
        recipe: one of `RECIPES`, or a variant of it.
        seed: of the order of the data, of their augmentation and of dropout.
        device: as `intertwine.devices.pick` takes it; the trained network is there.
        freeze: a layer out of the network's `named_modules`.
        validation: images whose accuracy the history records after every epoch; see `holdout`.
        checkpoint: a file that is written after every epoch, and from which an interrupted training goes on.
        progress: True for a bar, or a function that gets a `Progress` after every epoch.

    Raises:
        ValueError: images, labels, device, layer or checkpoint do not fit; said before any work.
        TypeError: images or labels are no tensors.
        FloatingPointError: the loss is no longer finite.
    """
    chosen = devices.pick(device)
    before, network = network, copy.deepcopy(network).to(chosen).to(memory_format=torch.channels_last)
    frozen = frozen_modules(network, freeze) if freeze else set()
    for dataset in (data, validation):
        if dataset is not None:
            check_data(network, dataset.images, dataset.labels)
    kept = None
    if checkpoint:
        stamp = files.digest(VERSION, asdict(recipe), seed, freeze, data.checksum, *_arrays(network))
        kept = Checkpoint(Path(checkpoint), stamp, network.state_dict())
    if chosen.type == "cpu":
        torch.empty(31 << 20, dtype=torch.uint8)  # glibc then keeps freed memory: no page faults, 20 % faster
    put_to_rest(network, frozen)
    dtype = arithmetic(network, chosen, recipe.dtype)
    images, back = data.images.to(chosen, input_dtype(network, dtype)), network
    if frozen and not (recipe.flip or recipe.shift):
        images, back = _past_the_front(network, frozen, images, dtype)
    batches = Batches(images, data.labels.to(chosen), recipe, fill_of(data, recipe))

    def validate() -> float:
        assert validation is not None
        return evaluate(network, validation.images, validation.labels, dtype=dtype)

    with reporting(progress, recipe.epochs) as tick:
        rows = fit(
            back,
            {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad},
            partial(batches.epoch, seed=seed),
            len(batches),
            recipe,
            seed=seed,
            dtype=dtype,
            tick=tick,
            checkpoint=kept,
            validate=validate if validation else None,
        )
    for parameter, original in zip(network.parameters(), before.parameters(), strict=True):
        parameter.requires_grad_(original.requires_grad)
    network.to(memory_format=torch.contiguous_format)
    return Trained(network.eval(), pd.DataFrame(rows), recipe, seed)


def _past_the_front(
    network: nn.Module, frozen: set[str], images: Tensor, dtype: torch.dtype
) -> tuple[Tensor, nn.Module]:
    """What the frozen front makes of the images, and the rest of the network; or both as they are."""
    front, back = front_and_back(network, frozen)
    (first,) = outputs(front, images[:1], dtype=dtype)
    if not [*front.children()] or len(images) * first.numel() * first.element_size() > FRONT_BYTES:
        return images, network
    features = torch.empty((len(images), *first.shape[1:]), dtype=first.dtype, device=first.device)
    if features.ndim == 4:
        features = features.to(memory_format=torch.channels_last)  # as `Batches` wants them
    for place, batch in zip(
        features.split(500), outputs(front, images, batch_size=500, dtype=dtype), strict=True
    ):
        place.copy_(batch)
    return features, back


def _arrays(network: nn.Module) -> list:
    return [tensor.numpy(force=True) for tensor in network.state_dict().values()]
