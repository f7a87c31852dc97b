"""The level of each unit: what a share of its numbers exceeds, or of the pixels of its upsampled maps."""

import math
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.dissection.upsampling import enlarged

ENLARGED_AT_ONCE = 2**24  # pixels of all units, 128 MB


def top_quantile(
    batches: Iterable[Float[Tensor, "_ units h w"]], quantile: float, images: int
) -> Float[Tensor, " units"]:
    """The value of each unit that a share `quantile` of its numbers exceeds, or fewer where some are equal.

    Example:
        >>> maps = torch.arange(100.0).view(25, 1, 2, 2)
        >>> # 95, 96, 97, 98 and 99 exceed it
        >>> top_quantile(maps.split(10), 0.05, images=25)
        tensor([94.])

    Exact, in one pass that holds the largest numbers of each unit, a share `quantile` of all. The batches
    hold so many `images` together.
    """
    best: Tensor | None = None
    seen = keep = 0
    for batch in batches:
        seen += len(batch)
        # 1e-6, since 0.29 · 100 is 28.999…; one more, as a level is what the chosen share exceeds
        keep = math.floor(quantile * images * batch[0, 0].numel() + 1e-6) + 1
        values = batch.transpose(0, 1).flatten(1)
        if not values.isfinite().all():
            raise ValueError("Expected finite activations, was given some that are infinite or not a number.")
        values = values if best is None else torch.cat([best, values], 1)
        best = values.topk(min(keep, values.shape[1])).values
    if best is None or seen != images:
        raise ValueError(
            f"Expected activations of the {images} images that the masks are of, was given those of {seen}."
        )
    return best[:, -1]


def pixel_levels(
    batches: Iterable[Float[Tensor, "_ units h w"]], quantile: float, images: int, height: int, width: int
) -> tuple[Float[Tensor, " units"], Float[Tensor, " units"]]:
    """The value that a share `quantile` of all pixels exceeds, if each map is upsampled to height × width.

    Example:
        >>> maps = torch.tensor([[[[0.0, 1.0]]]])
        >>> # its four pixels are 0, 0.25, 0.75 and 1
        >>> pixel_levels([maps], 0.5, images=1, height=1, width=4)
        (tensor([0.2500]), tensor([0.], dtype=torch.float64))

    Levels are rounded to float32; the second tensor is what the rounding leaves, times 4·height·width.
    """

    def at_pixels() -> Iterator[Tensor]:
        for batch in batches:
            few = ENLARGED_AT_ONCE // (batch.shape[1] * height * width)
            yield from (enlarged(part, height, width) for part in batch.split(max(1, few)))

    total = 4 * height * width
    sums = top_quantile(at_pixels(), quantile, images)
    levels = (sums / total).float()
    return levels, sums - total * levels.double()
