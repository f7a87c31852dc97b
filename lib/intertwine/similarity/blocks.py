"""Features of all compared layers, a block of images at a time, within a budget of memory."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import devices
from intertwine.features import channel_axis, features, lookup
from intertwine.similarity.inputs import Spatial

Item = TypeVar("Item")
Side = tuple[nn.Module, Sequence[str]]
Block = list[Float[Tensor, "_ ..."]]  # one for each layer, those of the first model first
LARGEST = 2048  # images: more make no product faster


class Blocks:
    """The features of two models' layers for all images, cut into blocks of one size.

    Example:
        >>> model, images = nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), torch.randn(10, 1, 2, 2)
        >>> blocks = Blocks((model, ["1"]), (model, ["0", "1"]), images, None, memory=10**6, device="cpu")
        >>> len(blocks), [tuple(Z.shape) for Z in blocks[0]]
        (1, [(10, 3), (10, 4), (10, 3)])

    Where everything fits into half the budget it is kept; else it is kept on disk in `folder`, or, without
    one, a block is computed again whenever it is asked for.

    Args:
        first: a model and names of its layers.
        second: another, or the same.
        images: inputs of both.
        spatial: as in `arranged`, but "samples" leaves maps and tokens as they are, and "sum" leaves both
            (n, c, positions).
        memory: bytes for features and for square blocks of Gram matrices, one for each layer.
        dtype: of the features.
        device: where the models run and features lie; models elsewhere are copied there.
        folder: an empty folder where blocks that do not fit may be written.
        batch_size: images that run through a model at a time.

    Raises:
        ValueError: unknown layers, too little memory for two images, or features that are not finite.
    """

    def __init__(
        self,
        first: Side,
        second: Side,
        images: Float[Tensor, "n ..."],
        spatial: Spatial | None,
        *,
        memory: int,
        device: str | torch.device = "auto",
        dtype: torch.dtype = torch.float64,
        folder: str | Path | None = None,
        batch_size: int = 100,
    ) -> None:
        self.device = devices.pick(device)
        for model, layers in (first, second):
            lookup(model, layers)
        self._sides = [(_moved(model, self.device), layers) for model, layers in (first, second)]
        self._inputs, self._spatial, self._dtype, self._batch = images, spatial, dtype, batch_size
        self.images = len(images)
        self.layers = len(first[1]) + len(second[1])
        sample = self.rows(torch.arange(1))
        self.maps = [tuple(Z.shape[1:]) for Z in sample]
        size = sum(Z.numel() for Z in sample)
        whole = len(images) * size * dtype.itemsize
        self.kept = 2 * whole <= memory
        left = memory - whole if self.kept else memory
        self.size = _block_size(len(images), size, self.layers, left, dtype.itemsize)
        cuts = [*range(0, len(images), self.size), len(images)]
        self._ranges = [torch.arange(start, stop) for start, stop in pairwise(cuts)]
        self._cache: dict[int, Block] = {}
        self._folder = None if self.kept or folder is None else Path(folder)

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[Block]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> Block:
        if self.kept:
            if k not in self._cache:
                self._cache[k] = self.rows(self._ranges[k])
            return self._cache[k]
        if self._folder is None:
            return self.rows(self._ranges[k])
        path = self._folder / f"{k}.pt"
        if not path.is_file():
            torch.save(self.rows(self._ranges[k]), path)
        return torch.load(path, map_location=self.device, weights_only=True)

    def rows(self, which: Int[Tensor, " b"]) -> Block:
        """The features of these images, by number."""
        images = self._inputs[which.to(self._inputs.device)]
        return [Z for model, layers in self._sides for Z in self._features(model, layers, images)]

    def _features(self, model: nn.Module, layers: Sequence[str], images: Tensor) -> Block:
        batches = list(features(model, list(layers), images, batch_size=self._batch))
        whole: Block = []
        for layer in layers:
            whole.append(torch.cat([_flat(batch[layer], self._spatial) for batch in batches]))
            if not whole[-1].sum(dtype=torch.float64).isfinite():
                raise ValueError(
                    f"Expected finite features, layer {layer!r} returns NaN, infinite or huge ones: look for "
                    f"them in the images first."
                )
        return [Z.to(self._dtype) for Z in whole]


def _flat(X: Float[Tensor, "b ..."], spatial: Spatial | None) -> Float[Tensor, "b ..."]:
    if X.ndim == 2 or spatial in (None, "samples"):
        return X
    X = X.movedim(channel_axis(X), 1)
    if spatial == "mean":
        return X.flatten(2).mean(2)
    if spatial == "features":
        return X.flatten(1)
    return X.flatten(2)


def _moved(model: nn.Module, device: torch.device) -> nn.Module:
    tensor = next(model.parameters(), None)
    if tensor is None or tensor.device == device or tensor.device.type == device.type == "cpu":
        return model
    return copy.deepcopy(model).to(device)


def _block_size(images: int, size: int, layers: int, memory: int, bytes_each: int) -> int:
    """The largest b for which two blocks of features, one in the making, and all Gram blocks fit."""
    squares, lines = 8 * (layers + 3), size * (3 * bytes_each + 4)
    largest = (math.sqrt(lines**2 + 4 * squares * memory) - lines) / (2 * squares)
    if largest < min(2, images):
        least = 2 * lines + 4 * squares
        raise ValueError(
            f"Expected memory for the features of two images and more, which take {least / 1e6:.0f} MB, was "
            f"given {memory / 1e6:.0f}: raise memory=, or compare fewer layers at a time."
        )
    return min(images, LARGEST, int(largest))


def bar(items: Iterable[Item], show: bool) -> Iterable[Item]:
    """The items, under a progress bar if it shall be shown.

    Example:
        >>> list(bar([1, 2], show=False))
        [1, 2]
    """
    if not show:
        return items
    from tqdm import tqdm

    return tqdm(items)
