"""The level of each unit: what a share of its numbers exceeds, or of the pixels of its upsampled maps."""

import math
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.dissection.upsampling import StretchedAxis, beside, check_maps, stretched


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

    Levels are rounded to float32; the second tensor is what the rounding leaves, times 4·height·width.

    Exact. A pixel is among the largest only beside a number that exceeds the least of them so far; so most
    are never computed.
    """
    best, at_once, total = torch.empty(0, dtype=torch.float64), 1, 4 * height * width
    keep = math.floor(quantile * images * height * width + 1e-6) + 1
    for batch in _checked(batches, images):
        units, *small = batch.shape[1:]
        sides = zip(small, (height, width), strict=True)
        vertical, horizontal = (stretched(*side, batch.device) for side in sides)
        best = best if len(best) else batch.new_full((units, keep), -math.inf, dtype=torch.float64)
        while len(batch):
            part, batch = batch[:at_once].double(), batch[at_once:]
            at_once *= 2  # the first are computed whole
            cells = beside(part, total * part > best[:, -1, None, None], vertical, horizontal)
            high = (vertical.pixels < height)[cells.row][:, :, None]  # no margin
            high = high & (horizontal.pixels < width)[cells.column][:, None]
            high &= cells.sums > best[cells.unit, -1, None, None]
            unit = cells.unit[:, None, None].expand_as(high)[high]
            best = torch.cat([best, _in_rows(cells.sums[high], unit, units)], 1).topk(keep).values
    sums = best[:, -1]
    levels = (sums / total).float()
    return levels, sums - total * levels.double()


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


def _in_rows(values: Float[Tensor, " k"], row: Int[Tensor, " k"], rows: int) -> Float[Tensor, "rows most"]:
    """Each value in its row, filled up with −∞."""
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
