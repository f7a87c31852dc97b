"""What all stitches between two layers share: the parts, the data, and what model 1's front makes of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import devices
from intertwine.alignment import Statistics, statistics
from intertwine.data import Dataset
from intertwine.features import rows
from intertwine.stitching.split import split
from intertwine.stitching.stitched import Values, as_tuple, as_values, cut, run
from intertwine.training import check_data
from intertwine.training.outputs import FRONT_BYTES

BATCH = 500  # images at a time, where nothing is trained


class Judged(NamedTuple):
    """How well a network does on a set of images.

    Example:
        >>> Judged(accuracy=98.0, loss=0.1, distance=0.2).accuracy
        98.0
    """

    accuracy: float
    """Percent of right answers; higher is better."""
    loss: float
    """Mean cross-entropy to the labels; lower is better."""
    distance: float
    """Mean cross-entropy to model 2's probabilities (csiszarik2021, experiment 1); lower is nearer to it."""


class Junction:
    """A place where model 1 can be stitched to model 2, with the data to do it.

    Example:
        >>> from intertwine import data
        >>> from intertwine.alignment import least_squares
        >>> from intertwine.models import myrtle
        >>> a, b = (myrtle(4, in_channels=1, seed=seed).eval() for seed in (0, 1))
        >>> train, test = data.load("digits", "train"), data.load("digits", "test")
        >>> junction = Junction(a, "relu2", b, "relu2", train, test=test, device="cpu")
        >>> junction.statistics.widths, junction.statistics.n == 1297 * 8 * 8
        ((8, 8), True)

    Both models are copied to the device, in evaluation mode. Without augmentation model 1's front runs once
    over each set of images, whatever the number of stitches: its values are kept if a set needs no more than
    2 GiB of them.

    Args:
        model1, layer1, model2, layer2: as `split` takes them. Both models get the same images: their own
            normalisation, where it differs, must be part of them.
        train: what stitches are fitted to and trained on.
        validation: what the best epoch is chosen by.
        test: what is reported.
        resample, shortcut: as in `stitch`.
        device: as `intertwine.devices.pick` takes it.
        dtype: float32, bfloat16, or auto, the faster one, as in `training.Recipe`.
        fit_images: how many training images closed forms are fitted to, from the first one on.

    Raises:
        ValueError: as in `stitch`; data that do not fit the models.
    """

    def __init__(
        self,
        model1: nn.Module,
        layer1: str,
        model2: nn.Module,
        layer2: str,
        train: Dataset,
        *,
        validation: Dataset | None = None,
        test: Dataset | None = None,
        resample: str = "bilinear",
        shortcut: str = "refuse",
        device: str | torch.device = "auto",
        dtype: str = "auto",
        fit_images: int = 10_000,
    ) -> None:
        for dataset in (train, validation, test):
            if dataset is not None:
                for model in (model1, model2):
                    check_data(model, dataset.images, dataset.labels)
        self.device = devices.pick(device)
        front, back, widths = cut(
            model1, layer1, model2, layer2, train.images[:1], resample=resample, shortcut=shortcut
        )
        self.widths = widths
        """Channels of layer 1 and of layer 2."""
        whole = copy.deepcopy(model2).eval()  # before fx makes constants of what the mode decides
        front2, _ = split(whole, layer2, shortcuts=shortcut != "refuse")
        for part in (front, back, whole):
            part.requires_grad_(False).to(self.device).to(memory_format=torch.channels_last).eval()
        self.front, self.back, self.model2, self._front2 = front, back, whole, front2
        self.shortcut, self.dtype = shortcut, devices.precision(whole, self.device, dtype)
        self._data = {"train": train, "validation": validation, "test": test}
        self._fit_images = fit_images
        self._images: dict[str, Tensor] = {}
        self._kept: dict[str, tuple[Tensor, ...] | None] = {}
        self._targets: dict[str, Tensor] = {}

    @property
    def sets(self) -> list[str]:
        """The names of the sets there are."""
        return [name for name, dataset in self._data.items() if dataset is not None]

    def data(self, name: str) -> Dataset:
        """The set of this name: train, validation or test."""
        found = self._data[name]
        if found is None:
            raise ValueError(f"Expected a junction with a {name} set, this one is without: pass {name}=.")
        return found

    def images(self, name: str) -> Float[Tensor, "n ..."]:
        """On the device."""
        if name not in self._images:
            own = devices.input_dtype(self.model2, self.dtype)
            self._images[name] = self.data(name).images.to(self.device, own)
        return self._images[name]

    def labels(self, name: str) -> Int[Tensor, " n"]:
        """On the device."""
        return self.data(name).labels.to(self.device)

    def targets(self, name: str) -> Float[Tensor, "n classes"]:
        """Model 2's probabilities for the images of a set."""
        if name not in self._targets:
            batches = self.images(name).split(BATCH)
            logits = [run(self.model2, batch, self.dtype).float() for batch in batches]
            self._targets[name] = torch.cat(logits).softmax(1)
        return self._targets[name]

    def kept(self, name: str) -> tuple[Tensor, ...] | None:
        """What the front makes of a set, or None where that needs too much memory."""
        if name not in self._kept:
            images = self.images(name)
            first = as_tuple(run(self.front, images[:1], self.dtype))
            size = len(images) * sum(x.numel() * x.element_size() for x in first)
            self._kept[name] = self._all(images, first) if size <= FRONT_BYTES else None
        return self._kept[name]

    def values(self, name: str) -> Iterator[Values]:
        """What the front makes of a set, batch by batch."""
        kept = self.kept(name)
        if kept is None:
            return (run(self.front, batch, self.dtype) for batch in self.images(name).split(BATCH))
        return map(as_values, zip(*(x.split(BATCH) for x in kept), strict=True))

    def judge(self, rest: nn.Module, name: str) -> Judged:
        """How well `rest`, which maps the front's values to logits, does on a set, in evaluation mode."""
        right, loss, distance = (torch.zeros((), device=self.device) for _ in range(3))
        labels, targets = self.labels(name), self.targets(name)
        for values, wanted, soft in zip(
            self.values(name), labels.split(BATCH), targets.split(BATCH), strict=True
        ):
            logits = run(rest, values, self.dtype).float()
            right += (logits.argmax(1) == wanted).sum()
            loss += F.cross_entropy(logits, wanted, reduction="sum")
            distance += F.cross_entropy(logits, soft, reduction="sum")
        n = len(labels)
        return Judged(100 * right.item() / n, loss.item() / n, distance.item() / n)

    @cached_property
    def statistics(self) -> Statistics:
        """Of the two layers' values on the first training images, for closed forms; every position a row.

        They are computed without autocast, whatever the dtype, for closed forms to keep their digits.
        """
        like = devices.like(self.model2).dtype
        images = self.data("train").images[: self._fit_images].split(BATCH)
        batches = (batch.to(self.device, like) for batch in images)
        parts = self.front, self._front2
        pairs = ([rows(as_tuple(run(part, batch))[0]) for part in parts] for batch in batches)
        return statistics((a, b) for a, b in pairs)

    def _all(self, images: Tensor, first: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """All at once, in memory that is taken once."""
        kept = tuple(x.new_empty((len(images), *x.shape[1:])) for x in first)
        kept = tuple(x.to(memory_format=torch.channels_last) if x.ndim == 4 else x for x in kept)
        places = zip(*(x.split(BATCH) for x in kept), strict=True)
        for place, batch in zip(places, images.split(BATCH), strict=True):
            for x, value in zip(place, as_tuple(run(self.front, batch, self.dtype)), strict=True):
                x.copy_(value)
        return kept
