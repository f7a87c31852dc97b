"""Bilinear upsampling, cell by cell: the pixels between four neighbours, and their weights.

A cell is the square between four neighbouring numbers of a map. All its pixels are between these in value.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.checks import check_tensor
from intertwine.data.masks import same_aspect


class StretchedAxis(NamedTuple):
    """One side of a map of `size` numbers that is stretched over more pixels.

    The cell k lies between the numbers k - 1 and k, for k from 0 to `size`. The first and the last cell are
    the outer halves of the border numbers, with the same number at either end.
    """

    low: Int[Tensor, " cells"]
    high: Int[Tensor, " cells"]
    """The numbers at either end of a cell."""
    pixels: Int[Tensor, "cells most"]
    """The pixels of a cell. A cell with fewer than `most` is filled up with the number of all pixels."""
    weights: Float[Tensor, "cells most"]
    """The weight of the high end at each pixel, in whole numbers. The low end has the rest of `total`."""
    total: int


@cache  # constants, for which a GPU would wait at every batch
def stretched(size: int, pixels: int, device: torch.device | str = "cpu") -> StretchedAxis:
    """The cells of `torch.nn.functional.interpolate` in its mode bilinear with align_corners=False."""
    # the centre of pixel p lies at (p + 1/2) size/pixels of the map, that of number k at k + 1/2; so the cell
    # is the whole part of the former plus 1/2, and the weight of its high end is the fractional part
    place = (2 * torch.arange(pixels, device=device) + 1) * size + pixels  # in units of 1 / (2 pixels)
    cell = place // (2 * pixels)
    counts = torch.bincount(cell, minlength=size + 1)
    nth = torch.arange(pixels, device=device) - (counts.cumsum(0) - counts)[cell]
    most = int(counts.max())
    members = torch.full((size + 1, most), pixels, device=device)
    members[cell, nth] = torch.arange(pixels, device=device)
    weights = torch.zeros(size + 1, most, dtype=torch.float64, device=device)
    weights[cell, nth] = (place % (2 * pixels)).double()
    ends = torch.arange(size + 1, device=device)
    return StretchedAxis((ends - 1).clamp(min=0), ends.clamp(max=size - 1), members, weights, 2 * pixels)


def check_maps(batch: Tensor) -> None:
    """Raise, in one sentence, unless these are maps of units."""
    check_tensor(batch)
    if batch.ndim != 4:
        raise ValueError(
            f"Expected maps of units (n, units, h, w), was given {tuple(batch.shape)}: choose a layer that "
            f"has maps."
        )
    if not batch.is_floating_point():
        raise ValueError(f"Expected maps of floats, was given {batch.dtype}: use .float().")


def check_aspect(maps: Sequence[int], pixels: Sequence[int]) -> None:
    """Raise ValueError unless maps (h, w) can be stretched over images or masks by one factor."""
    if not same_aspect(maps, pixels):
        (h, w), (height, width) = maps, pixels
        raise ValueError(
            f"Expected maps with the aspect ratio of masks {height} × {width}, up to one position, was given "
            f"maps {h} × {w}: take masks of the images that the network saw, or resample one of both."
        )


class Cells(NamedTuple):
    """Some of the cells of maps, and their pixels."""

    image: Int[Tensor, " cells"]
    unit: Int[Tensor, " cells"]
    row: Int[Tensor, " cells"]
    column: Int[Tensor, " cells"]
    sums: Float[Tensor, "cells high wide"]
    """Of the four ends with whole weights, which add up to 4 times the pixels of a map; also in the margin of
    cells that have fewer pixels than others."""


def cells_around(
    maps: Float[Tensor, "n units h w"],
    chosen: Bool[Tensor, "n units h w"],
    vertical: StretchedAxis,
    horizontal: StretchedAxis,
) -> Cells:
    """The cells that have a chosen number at one of their corners, and their pixels.

    Example:
        >>> maps = torch.tensor([[[[0.0, 0.0, 1.0]]]], dtype=torch.float64)
        >>> sides = stretched(1, 1, maps.device), stretched(3, 6, maps.device)
        >>> found = cells_around(maps, maps > 0, *sides)
        >>> found.column.unique().tolist(), (found.sums[2, 0] / 24).tolist()
        ([2, 3], [0.25, 0.75])
    """
    # a cell counts if any of its four corners is chosen
    rows = chosen[:, :, vertical.low] | chosen[:, :, vertical.high]
    b, u, i, j = (rows[..., horizontal.low] | rows[..., horizontal.high]).nonzero(as_tuple=True)
    t, s = horizontal.weights[j], vertical.weights[i][:, :, None]
    # along the upper and the lower edge of each cell, then between them
    upper, lower = (
        maps[b, u, y[i], horizontal.low[j]][:, None] * (horizontal.total - t)
        + maps[b, u, y[i], horizontal.high[j]][:, None] * t
        for y in (vertical.low, vertical.high)
    )
    return Cells(b, u, i, j, (upper[:, None] * (vertical.total - s)).addcmul_(lower[:, None], s))
