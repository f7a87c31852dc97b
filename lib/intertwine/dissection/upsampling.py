"""Bilinear upsampling: cell by cell, the pixels between four neighbours and their weights, or whole maps."""

from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class StretchedAxis(NamedTuple):
    """One side of a map of `size` numbers that is stretched over more pixels.

    Between neighbours k - 1 and k lies the cell k, from 0 to `size`; the outer half of a border number is a
    cell too, with the same number at either end.
    """

    low: Int[Tensor, " cells"]
    high: Int[Tensor, " cells"]
    """The numbers at either end of a cell."""
    pixels: Int[Tensor, "cells most"]
    """Those between them; the number of pixels where there are fewer than `most`."""
    weights: Float[Tensor, "cells most"]
    """Of the high end, in whole numbers; the low end has the rest of `total`."""
    total: int


@cache  # constants, for which a GPU would wait at every batch
def stretched(size: int, pixels: int, device: torch.device | str = "cpu") -> StretchedAxis:
    """The cells of `torch.nn.functional.interpolate` in its mode bilinear with align_corners=False."""
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


def enlarged(
    maps: Float[Tensor, "n units h w"], height: int, width: int
) -> Float[Tensor, "n units height width"]:
    """The maps at every pixel, times 4·height·width: sums with whole weights, in float64, without rounding.

    Example:
        >>> enlarged(torch.tensor([[[[0.0, 1.0]]]]), 1, 4) / 16
        tensor([[[[0.0000, 0.2500, 0.7500, 1.0000]]]], dtype=torch.float64)
    """
    sides = zip(maps.shape[2:], (height, width), strict=True)
    down, along = (_weights(size, pixels, maps.device) for size, pixels in sides)
    return down @ maps.double() @ along.T


def _weights(size: int, pixels: int, device: torch.device) -> Float[Tensor, "pixels size"]:
    """Of each number in each pixel; a row adds up to 2·pixels."""
    axis = stretched(size, pixels, device)
    made = axis.weights.new_zeros(pixels + 1, size)  # one more, where cells have fewer pixels
    for ends, given in ((axis.low, axis.total - axis.weights), (axis.high, axis.weights)):
        made.index_put_((axis.pixels, ends[:, None].expand_as(axis.pixels)), given, accumulate=True)
    return made[:-1]
