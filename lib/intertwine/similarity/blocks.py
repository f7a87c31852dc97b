"""Features of all compared layers, a block of images at a time, within a budget of memory."""

import copy
import math
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine import devices
from intertwine.channels import turn, turned
from intertwine.features import activations, lookup
from intertwine.similarity.inputs import Spatial, flat

Side = tuple[nn.Module, Sequence[str]]
LayerFeatures = list[Float[Tensor, "_ ..."]]  # one for each layer, those of the first model first
MOST_IMAGES = 2048  # more make no product faster
NUMBER = 8  # bytes, of float64


class Blocks:
    """The features of two models' layers for all images in float64, cut into blocks of one size.

    Where everything fits into half the budget it stays in memory; otherwise a block is computed again each
    time it is needed.

    Args:
        first, second: a model and names of its layers.
        spatial: as in `arranged`, but "samples" leaves maps and tokens as they are.
        memory: bytes for features and for square blocks of Gram matrices, one for each layer.
        device: where the models run and features lie; models elsewhere are copied there.

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
        batch_size: int = 200,
    ) -> None:
        self.device = devices.pick(device)
        for which, (model, layers) in (("model 1", first), ("model 2", second)):
            lookup(model, layers, which)
        self._sides = [(_moved(model, self.device), layers) for model, layers in (first, second)]
        self._inputs, self._spatial, self._batch = images, spatial, batch_size
        self._turned = [turned(*side, images[:1]) for side in self._sides]
        self.rounding: dict[int, float] = {}
        """By number of a layer, ε of the dtype in which its model gave the features."""
        self.images = len(images)
        self.layers = len(first[1]) + len(second[1])
        numbers = sum(Z.numel() for Z in self.rows(torch.arange(1)))  # of one image
        total = len(images) * numbers * NUMBER  # bytes
        self.whole = 2 * total <= memory  # the rest is for blocks in use
        self.size = _block_size(len(images), numbers, self.layers, memory - total if self.whole else memory)
        self._ranges = torch.arange(len(images)).split(self.size)
        self._cache: dict[int, LayerFeatures] = {}

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[LayerFeatures]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> LayerFeatures:
        if not self.whole:
            return self.rows(self._ranges[k])
        if k not in self._cache:
            self._cache[k] = self.rows(self._ranges[k])
        return self._cache[k]

    def rows(self, which: Int[Tensor, " b"]) -> LayerFeatures:
        """The features of these images, by number."""
        images, block = self._inputs[which.to(self._inputs.device)], LayerFeatures()
        for (model, layers), others in zip(self._sides, self._turned, strict=True):
            found = activations(model, layers, images, batch_size=self._batch)
            for layer in layers:
                X = turn(found[layer]) if layer in others else found[layer]
                self.rounding[len(block)] = devices.rounding_unit([X])
                if not X.sum(dtype=torch.float64).isfinite():
                    raise ValueError(
                        f"Expected finite features, layer {layer!r} returns NaN, infinite or huge ones: look "
                        f"for them in the images and in the weights."
                    )
                if self._spatial not in (None, "samples"):
                    X = flat(X, self._spatial, torch.float64)
                block.append(X.double())
        return block


def _moved(model: nn.Module, device: torch.device) -> nn.Module:
    own = devices.like(model, torch.empty(0, device=device)).device
    return model if own == device else copy.deepcopy(model).to(device)


def _block_size(images: int, numbers: int, layers: int, memory: int) -> int:
    """The largest b for which two blocks of features, one in the making, and all Gram blocks fit."""
    squares, lines = NUMBER * (layers + 3), numbers * (3 * NUMBER + 4)
    # squares·b² + lines·b = memory
    largest = (math.sqrt(lines**2 + 4 * squares * memory) - lines) / (2 * squares)
    if largest < min(2, images):
        least = 2 * lines + 4 * squares
        raise ValueError(
            f"Expected memory for the features of two images and more, which take {least / 1e6:.0f} MB, was "
            f"given {memory / 1e6:.0f}: raise memory=, or compare fewer layers at a time."
        )
    return min(images, MOST_IMAGES, int(largest))
