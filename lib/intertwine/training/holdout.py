"""A validation set out of the training set, so that the test set is used once."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from intertwine import files
from intertwine.data import Dataset


def holdout(data: Dataset, size: int, *, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Split off `size` images drawn at random: what is left to train on, and the validation set.

    Example:
        >>> from intertwine import data
        >>> train, validation = holdout(data.load("digits", "train"), 297)
        >>> len(train.labels), len(validation.labels)
        (1000, 297)

    Both keep the order of `data`, and the split depends on the seed alone.

    Args:
        data: the training set; its normalisation stays as it is.
        size: images in the validation set.
        seed: of the choice.

    Raises:
        ValueError: one of the two would be empty.
    """
    n = len(data.labels)
    if not 0 < size < n:
        raise ValueError(f"Expected to hold out between 1 and {n - 1} of {n} images, was asked for {size}.")
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))

    def part(name: str, rows: Tensor) -> Dataset:
        rows = rows.sort().values
        checksum = files.digest(data.checksum, rows.numpy())
        rows = rows.to(data.labels.device)
        return replace(
            data,
            split=f"{data.split}, {name}",
            images=data.images[rows],
            labels=data.labels[rows],
            checksum=checksum,
        )

    return part("without validation", order[size:]), part("validation", order[:size])
