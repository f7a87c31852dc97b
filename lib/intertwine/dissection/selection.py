"""The pixels whose upsampled value exceeds a unit's level, counted by what they show."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from intertwine.dissection.upsampling import StretchedAxis, beside


def selected(
    maps: Tensor,
    levels: Tensor,
    rest: Tensor,
    several: list[Tensor],
    ends: list[int],
    vertical: StretchedAxis,
    horizontal: StretchedAxis,
) -> Iterator[Int[Tensor, "units codes"]]:
    """For each of several masks the pixels of each code that every unit selects; the last code is padding.

    A pixel is a sum with whole weights. Each level, as often as they add up to, and its `rest` is the bound.
    """
    over = maps.double() - levels.double()[:, None, None]
    least = rest / (vertical.total * horizontal.total)
    # no weight is below 0, so that no pixel is above where no end is; all are whole numbers, so that nothing
    # is rounded
    b, u, i, j, sums = beside(over, over > least[:, None, None], vertical, horizontal)
    inside = sums > rest[u][:, None, None]
    for codes, end in zip(several, ends, strict=True):
        # a margin of pixels that belong to no image, for cells that have fewer pixels than others
        codes = torch.nn.functional.pad(codes.int(), (0, 1, 0, 1), value=end)
        cells = codes[:, vertical.pixels[:, None, :, None], horizontal.pixels[None, :, None, :]]
        place = (b * cells.shape[1] + i) * cells.shape[2] + j
        # one histogram for all units: unit u has the codes from u(end + 1) on
        keys = cells.flatten(0, 2).index_select(0, place) + ((end + 1) * u.int())[:, None, None]
        keys = torch.where(inside, keys, end)  # one test of all is faster than a list of the true ones
        yield torch.bincount(keys.flatten(), minlength=len(levels) * (end + 1)).view(len(levels), end + 1)
