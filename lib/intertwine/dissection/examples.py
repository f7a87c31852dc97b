"""Units worth looking at, and the pixels that they select."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.checks import check_tensor, kind
from intertwine.dissection.dissect import IMAGES, Dissection
from intertwine.dissection.levels import cells_above
from intertwine.dissection.rotation import turned
from intertwine.dissection.upsampling import check_aspect, stretched


class Example(NamedTuple):
    """A unit and the images in which it selects most pixels."""

    unit: int
    concept: str
    iou: float
    images: Int[Tensor, " k"]
    selected: Bool[Tensor, "k height width"]


def examples(
    maps: Float[Tensor, "n units h w"],
    found: Dissection,
    size: tuple[int, int],
    *,
    units: int | Sequence[int] = 4,
    images: int = 5,
    rotation: Float[Tensor, "k k"] | None = None,
) -> list[Example]:
    """The units with the highest IoU above 0, at most one for each concept, or the units given.

    Example:
        >>> import torch
        >>> from intertwine.dissection import dissect
        >>> planes = (
        ...     torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0))
        ...     < 0.1
        ... )
        >>> maps = planes[:, [2, 0]].float()
        >>> first, second = examples(
        ...     maps, dissect(maps, planes, quantile=0.2), (8, 8), images=2
        ... )
        >>> first.concept, torch.equal(first.selected, planes[first.images, 2])
        ('2', True)

    Args:
        maps: the activations that `dissect` was given, of the same images.
        found: what `dissect` says of these units and concepts.
        size: of the images, in pixels.
        units: how many, or which.
        images: of each unit, those in which it selects most, the first ones first where numbers are equal.
        rotation: the one that `dissect` was given.

    Raises:
        ValueError: maps, a size or a rotation that are not those of `found`, or a unit that it does not have.
    """
    if not isinstance(found, Dissection):
        raise ValueError(f"Expected after the maps what `dissect` found, was given {kind(found)}.")
    if isinstance(size, int):
        raise ValueError(f"Expected the height and the width of the images, was given {size}: write both.")
    table = found.units()
    check_tensor(maps)
    if maps.ndim != 4 or (maps.shape[1], len(maps) * prod(size)) != (len(table), found.pixels):
        raise ValueError(
            f"Expected the maps and the size that `found` was computed from, of {len(table)} units and "
            f"{found.pixels} pixels in all, was given {tuple(maps.shape)} and {tuple(size)}."
        )
    check_aspect(maps.shape[2:], size)
    if isinstance(units, int):
        # one unit for each concept, for five detectors of grass would teach little
        some = table[table["iou"] > 0]  # what selects nothing is no example of a concept
        best = some.sort_values("iou", ascending=False, kind="stable")
        best = best.drop_duplicates(["concept", "category"])
        which = best["unit"].head(units).tolist()
    else:
        which = list(units)
    if unknown := sorted({*which} - {*table["unit"]}):
        raise ValueError(f"Expected units from 0 to {len(table) - 1}, was given {unknown[0]}.")
    maps = maps.to(found.levels)  # areas are made equal in float32
    if rotation is not None:  # in the parts in which `dissect` turns: another sum could round to another side
        maps = torch.cat([turned(part, rotation) for part in maps.split(IMAGES)])
    chosen = []
    for row in table.set_index("unit", drop=False).loc[which].to_dict("records"):
        k = slice(row["unit"], row["unit"] + 1)
        on = _selected(maps[:, k], found.levels[k], found.rest[k], size)
        count, counted = int(on.sum()), int(found.selected[row["unit"]])
        if abs(count - counted) > 0.01 * counted:  # a pixel or two where a GPU found, and a CPU looks
            raise ValueError(
                f"Expected the maps, and the rotation if there was one, that `found` was computed from, was "
                f"given others: unit {row['unit']} selects {count} pixels of these, and {counted} of those."
            )
        # stable, so that equal counts keep the order of the images on every device
        order = on.flatten(1).sum(1).argsort(descending=True, stable=True)[:images]
        chosen.append(Example(row["unit"], row["concept"], row["iou"], order, on[order]))
    return chosen


def _selected(
    maps: Float[Tensor, "n 1 h w"],
    level: Float[Tensor, " 1"],
    rest: Float[Tensor, " 1"],
    size: tuple[int, int],
) -> Bool[Tensor, "n height width"]:
    """The pixels that a unit selects: those that `dissect` counts, to the last one."""
    device, (height, width) = level.device, size
    vertical, horizontal = stretched(maps.shape[2], height, device), stretched(maps.shape[3], width, device)
    cells, above = cells_above(maps, level, rest, vertical, horizontal)
    # a row and a column more, for the margins of cells that have fewer pixels than others
    on = torch.zeros(len(maps), height + 1, width + 1, dtype=torch.bool, device=device)
    rows, columns = vertical.pixels[cells.row], horizontal.pixels[cells.column]
    on[cells.image[:, None, None], rows[:, :, None], columns[:, None]] = above
    return on[:, :-1, :-1]
