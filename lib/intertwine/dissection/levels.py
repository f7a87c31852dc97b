"""The level of each unit, which a share of its numbers or pixels exceeds, and the counts of pixels above."""

import math
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.dissection.upsampling import Cells, StretchedAxis, cells_around, check_maps, stretched


def top_quantile(
    batches: Iterable[Float[Tensor, "_ units h w"]], quantile: float, images: int
) -> Float[Tensor, " units"]:
    """For each unit the value that a share `quantile` of its numbers exceeds, or fewer where some are equal.

    Example:
        >>> maps = torch.arange(100.0).view(25, 1, 2, 2)
        >>> # 95, 96, 97, 98 and 99 exceed it
        >>> top_quantile(maps.split(10), 0.05, images=25)
        tensor([94.])

    It is exact. One pass keeps the largest numbers of each unit, a share `quantile` of all.

    Args:
        batches: maps, of so many `images` together.
    """
    best: Tensor | None = None
    for batch in _checked(batches, images):
        # 1e-6, since 0.29 · 100 is 28.999…; one more, as a level is what the chosen share exceeds
        keep = math.floor(quantile * images * batch[0, 0].numel() + 1e-6) + 1
        values = batch.transpose(0, 1).flatten(1)
        values = values if best is None else torch.cat([best, values], 1)
        best = values.topk(min(keep, values.shape[1])).values
    assert best is not None  # there are images
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

    It is exact. A pixel can be among the largest only if a number next to it on the map exceeds the least of
    the largest so far. So most pixels are never computed.

    Returns:
        The levels, rounded to float32, and what this rounding leaves, times 4·height·width.
    """
    best, at_once, total = torch.empty(0, dtype=torch.float64), 1, 4 * height * width
    keep = math.floor(quantile * images * height * width + 1e-6) + 1  # as in `top_quantile`
    for batch in _checked(batches, images):
        units, *small = batch.shape[1:]
        sides = zip(small, (height, width), strict=True)
        vertical, horizontal = (stretched(*side, batch.device) for side in sides)
        # pixels are kept as sums with whole weights, `total` times their value, which nothing rounds
        best = best if len(best) else batch.new_full((units, keep), -math.inf, dtype=torch.float64)
        while len(batch):
            part, batch = batch[:at_once].double(), batch[at_once:]
            at_once *= 2  # the first parts, when nothing bounds them yet, are computed whole
            cells = cells_around(part, total * part > best[:, -1, None, None], vertical, horizontal)
            # pixels of the image, not of the margin, above the least of the largest so far
            high = (vertical.pixels < height)[cells.row][:, :, None]
            high = high & (horizontal.pixels < width)[cells.column][:, None]
            high &= cells.sums > best[cells.unit, -1, None, None]
            unit = cells.unit[:, None, None].expand_as(high)[high]
            best = torch.cat([best, _in_rows(cells.sums[high], unit, units)], 1).topk(keep).values
    sums = best[:, -1]
    levels = (sums / total).float()
    return levels, sums - total * levels.double()


def cells_above(
    maps: Float[Tensor, "n units h w"],
    levels: Float[Tensor, " units"],
    rest: Float[Tensor, " units"],
    vertical: StretchedAxis,
    horizontal: StretchedAxis,
) -> tuple[Cells, Bool[Tensor, "cells high wide"]]:
    """The cells that may have pixels above their unit's level, and which of their pixels are above it.

    A pixel is computed as a sum of four numbers with whole weights, which add up to 4·height·width. The level
    is taken off each number first. So the pixel exceeds the level iff the sum exceeds the `rest`: what the
    level's rounding to float32 left, times 4·height·width. In the margin of a cell with fewer pixels than
    others the answer means nothing.
    """
    over = maps.double() - levels.double()[:, None, None]
    least = rest / (vertical.total * horizontal.total)
    # weights are not negative: a pixel can be above only where one of its four numbers is; and they are whole
    # numbers, so that nothing is rounded
    cells = cells_around(over, over > least[:, None, None], vertical, horizontal)
    return cells, cells.sums > rest[cells.unit][:, None, None]


def selected(
    maps: Tensor,
    levels: Tensor,
    rest: Tensor,
    several: list[Tensor],
    ends: list[int],
    vertical: StretchedAxis,
    horizontal: StretchedAxis,
) -> Iterator[Int[Tensor, "units codes"]]:
    """How many pixels of each code every unit selects, for each of several masks. The last code is padding.

    Args:
        several: for each of the masks its codes, of the same images as the maps.
        ends: for each of the masks the number of its codes, which the padding gets.
    """
    (b, u, i, j, _), inside = cells_above(maps, levels, rest, vertical, horizontal)
    for codes, end in zip(several, ends, strict=True):
        # a margin of pixels that belong to no image, for cells that have fewer pixels than others
        codes = torch.nn.functional.pad(codes.int(), (0, 1, 0, 1), value=end)
        cells = codes[:, vertical.pixels[:, None, :, None], horizontal.pixels[None, :, None, :]]
        place = (b * cells.shape[1] + i) * cells.shape[2] + j
        # one histogram for all units: unit u has the codes from u(end + 1) on
        keys = cells.flatten(0, 2).index_select(0, place) + ((end + 1) * u.int())[:, None, None]
        keys = torch.where(inside, keys, end)  # one test of all is faster than a list of the true ones
        yield torch.bincount(keys.flatten(), minlength=len(levels) * (end + 1)).view(len(levels), end + 1)


def _in_rows(values: Float[Tensor, " k"], row: Int[Tensor, " k"], rows: int) -> Float[Tensor, "rows most"]:
    """A matrix with each value in its row, in any order, filled up with −∞."""
    # sorted by row, a value's place is its number minus that of the first of its row
    counts = torch.bincount(row, minlength=rows)
    order = row.argsort()
    place = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row[order]]
    made = values.new_full((rows, int(counts.max())), -math.inf)
    made[row[order], place] = values[order]
    return made


def _checked(batches: Iterable[Tensor], images: int) -> Iterator[Tensor]:
    """The batches, which hold so many images together, maps of one shape, and finite numbers alone."""
    seen, shape = 0, None
    for batch in batches:
        check_maps(batch)
        shape = shape or batch.shape[1:]
        if batch.shape[1:] != shape:
            raise ValueError(
                f"Expected maps (units, h, w) of one shape in all batches, was given {tuple(shape)} and "
                f"{tuple(batch.shape[1:])}: bring the images to one size."
            )
        if not batch.isfinite().all():
            raise ValueError("Expected finite activations, was given some that are infinite or not a number.")
        seen += len(batch)
        yield batch
    if seen != images:
        raise ValueError(
            f"Expected activations of the {images} images that the masks are of, was given those of {seen}."
        )
