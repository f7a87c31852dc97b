"""Network dissection: which concept the strongest activations of every unit select (godfrey2022 §6)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.checks import check_tensor, kind
from intertwine.data import Masks
from intertwine.dissection.levels import pixel_levels, selected, top_quantile
from intertwine.dissection.rotation import ORTHOGONAL_TOLERANCE, off_orthogonal, turned
from intertwine.dissection.upsampling import check_aspect, check_maps, stretched

Units = Float[Tensor, "n units h w"] | Callable[[], Iterable[Float[Tensor, "_ units h w"]]]
IMAGES = 50  # at a time, at most
PIXELS_AT_ONCE = 2**18  # pixels at a time on a CPU, where larger parts wait for memory


@dataclass(frozen=True, eq=False)
class Dissection:
    """Counts of pixels for all units and concepts, as `dissect` makes them."""

    names: tuple[str, ...]
    categories: tuple[str, ...]
    """Of each concept."""
    quantile: float
    threshold: float
    """The IoU above which the paper calls a unit interpretable."""
    levels: Float[Tensor, " units"] = field(repr=False)
    rest: Float[Tensor, " units"] = field(repr=False)
    """What the rounding of a level to float32 left, times 4·height·width; 0 unless areas are equal."""
    both: Int[Tensor, "units concepts"] = field(repr=False)
    """Pixels that a unit selects and that show a concept."""
    selected: Int[Tensor, " units"] = field(repr=False)
    covered: Int[Tensor, " concepts"] = field(repr=False)
    pixels: int
    """Of all images."""

    @property
    def iou(self) -> Float[Tensor, "units concepts"]:
        """Intersection over union, in float64; higher is a better match, 0 where both are empty."""
        either = self.selected[:, None] + self.covered - self.both
        return self.both.double() / either.clamp(min=1)

    @property
    def best(self) -> Float[Tensor, " units"]:
        """The best IoU of every unit."""
        return self.iou.amax(1)

    def units(self) -> pd.DataFrame:
        """A table of units: unit, concept (its best), category, iou, share (of pixels), above_threshold.

        Where concepts are large, units without any relation to the masks exceed the threshold, too. So
        compare with the `best` of shuffled masks, which `dissect_each` gives.
        """
        best, concept = (values.numpy(force=True) for values in self.iou.max(1))
        return pd.DataFrame(
            {
                "unit": range(len(best)),
                "concept": [self.names[k] for k in concept],
                "category": [self.categories[k] for k in concept],
                "iou": best,
                "share": (self.selected.double() / self.pixels).numpy(force=True),
                "above_threshold": best > self.threshold,
            }
        )

    def concepts(self) -> pd.DataFrame:
        """A table of concepts: concept, category, area (share of pixels), ceiling, iou (the best), units.

        The ceiling is min(q, a)/max(q, a): the largest IoU of a unit that selects a share q of the pixels
        with a concept of area a. `units` counts those above the threshold whose best concept this is.
        """
        area = (self.covered.double() / self.pixels).cpu()
        q = torch.full_like(area, self.quantile)
        best, concept = (values.cpu() for values in self.iou.max(1))
        # by number: one name may stand for a colour and for a part
        counts = torch.bincount(concept[best > self.threshold], minlength=len(self.names))
        return pd.DataFrame(
            {
                "concept": self.names,
                "category": self.categories,
                "area": area,
                "ceiling": torch.minimum(q, area) / torch.maximum(q, area),
                "iou": self.iou.amax(0).numpy(force=True),
                "units": counts.tolist(),
            }
        )


def dissect(
    units: Units,
    masks: Masks | Bool[Tensor, "n concepts height width"],
    *,
    quantile: float = 0.005,
    iou: float = 0.04,
    rotation: Float[Tensor, "k k"] | None = None,
    equal_area: bool = False,
) -> Dissection:
    """The overlap of every unit's selected pixels with every concept, over all images together.

    Example:
        >>> planes = (
        ...     torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0))
        ...     < 0.1
        ... )
        >>> # two units that are detectors of concepts 2 and 0
        >>> units = planes[:, [2, 0]].float()
        >>> found = dissect(units, planes, quantile=0.2)
        >>> found.units()[["unit", "concept", "iou"]].values.tolist()
        [[0, '2', 1.0], [1, '0', 1.0]]

    Every unit has a level: the value that a share `quantile` of its own numbers exceeds, over all images and
    positions (fewer where numbers are equal). The unit selects the pixels where its map, upsampled bilinearly
    to the size of the masks, exceeds this level.

    Levels and counts are exact. An upsampled pixel lies between its four neighbours on the map. So where all
    four are at most the level, the pixel is, too. Only the other pixels are computed, in float64.

    Args:
        units: activations, or a function that starts a stream of batches of them, which is called twice:
            ``lambda: (batch["block2"] for batch in features(...))``.
        masks: of the same images in the same order; they may be on another device.
        quantile: the share of positions above a unit's level, between 0 and 1; 0.005 in the paper.
        iou: the threshold, 0.04 in the paper, above which it calls a unit interpretable.
        rotation: an orthogonal Q turns the units into Q times the units at every position; the network is not
            run again.
        equal_area: the level is what a share `quantile` of the *pixels* exceeds, so that all units select
            equally many (fewer where numbers are equal). With the paper's level they do not: around a number
            far above the level many pixels exceed it, around one just above it few.

    Returns:
        Counts of pixels, with the `iou` of every unit and concept, and `units()`, a table with a row for each
        unit.

    See Also:
        `dissect_each`, for masks and their null at once; `examples`, for images to look at.

    Raises:
        ValueError: units that are no maps, not finite, or of another aspect ratio than the masks by more than
            one position; masks of other images, or a rotation of other units.
    """
    # one of several: there is one way to count
    one = [masks if isinstance(masks, Masks) else Masks.of(masks)]
    return dissect_each(units, one, quantile=quantile, iou=iou, rotation=rotation, equal_area=equal_area)[0]


def dissect_each(
    units: Units,
    several: Sequence[Masks],
    *,
    quantile: float = 0.005,
    iou: float = 0.04,
    rotation: Float[Tensor, "k k"] | None = None,
    equal_area: bool = False,
) -> list[Dissection]:
    """`dissect` for several masks of one size, such as true ones and shuffled ones, in little more time.

    Example:
        >>> from intertwine.data.masks import Masks
        >>> planes = (
        ...     torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0))
        ...     < 0.1
        ... )
        >>> masks = Masks.of(planes)
        >>> null = masks.shuffled(torch.Generator().manual_seed(0))
        >>> own, chance = dissect_each(planes.float(), [masks, null], quantile=0.2)
        >>> own.best.min().item(), bool(chance.best.max() < 0.3)
        (1.0, True)

    Args:
        units, quantile, iou, rotation, equal_area: as in `dissect`.
        several: masks of one size, each of the same images in the same order.

    Returns:
        One `Dissection` for each of `several`, in their order.
    """
    if not 0 < quantile < 1 or not 0 <= iou <= 1:
        raise ValueError(
            f"Expected a quantile and an IoU between 0 and 1, was given {quantile} and {iou}: 0.005 and 0.04 "
            f"are the paper's."
        )
    if rotation is not None and not (off := off_orthogonal(rotation)) <= ORTHOGONAL_TOLERANCE:
        raise ValueError(
            f"Expected an orthogonal rotation, was given one of shape {tuple(rotation.shape)} with |QQᵀ - I| "
            f"up to {off:.1e}: draw it with `haar_rotation`."
        )
    if not callable(units):
        check_tensor(units)
    if not isinstance(several, Sequence) or not all(isinstance(each, Masks) for each in several):
        raise TypeError(f"Expected a list of Masks, was given {kind(several)}: write [masks], say.")
    if len(sizes := {tuple(masks.codes.shape) for masks in several}) != 1:
        given = " and ".join(map(str, sorted(sizes))) or "none"
        raise ValueError(f"Expected masks (n, h, w) of one shape, was given {given}: dissect each by itself.")
    ((n, height, width),) = sizes
    # two passes over the units, once for the levels and once for the counts: memory holds one batch

    def stream() -> Iterator[Tensor]:
        for batch in units() if callable(units) else units.split(IMAGES):
            check_maps(batch)
            check_aspect(batch.shape[2:], (height, width))
            if equal_area:
                batch = batch.float()  # whose products with whole weights are exact
            if rotation is not None:
                batch = turned(batch, rotation)
            if len(batch):
                yield batch

    def parts() -> Iterator[Tensor]:
        for batch in stream():
            # as few images as keep the pixels to compute in the cache: a share `quantile` of all, and at
            # least the four next to a single number
            few = PIXELS_AT_ONCE / (max(quantile * height * width, 4) * batch.shape[1])
            yield from batch.split(max(1, min(IMAGES, int(few))) if batch.device.type == "cpu" else IMAGES)

    # a level of equal area is seldom a float32: the rest tells which pixels are above it all the same
    if equal_area:
        levels, rest = pixel_levels(parts(), quantile, n, height, width)
    else:
        levels = top_quantile(stream(), quantile, n)
        rest = torch.zeros_like(levels, dtype=torch.float64)
    ends = [len(masks.table) for masks in several]  # one code more than there are, for pixels of no image
    counts = [torch.zeros(len(levels), end + 1, dtype=torch.int64, device=levels.device) for end in ends]
    start = 0  # the number of the first image of a part, for its masks
    for part in parts():
        vertical = stretched(part.shape[2], height, part.device)
        horizontal = stretched(part.shape[3], width, part.device)
        codes = [masks.codes[start : start + len(part)].to(part.device) for masks in several]
        found = selected(part, levels, rest, codes, ends, vertical, horizontal)
        counts = [total + more for total, more in zip(counts, found, strict=True)]
        start += len(part)
    if start != n:
        raise ValueError(
            f"Expected a function that starts a new stream of batches each time, was given one whose second "
            f"stream has {start} of {n} images: return a new iterator, not one that was begun."
        )
    made = []
    for masks, total in zip(several, counts, strict=True):
        # pixels were counted by code; each code adds its pixels to all concepts that it shows
        table = masks.table.to(total.device, torch.float64)
        pixels = torch.bincount(masks.codes.flatten(), minlength=len(masks.table)).to(total.device)
        # float64 holds whole numbers up to 2⁵³, and a GPU multiplies no matrices of integers
        both, covered = ((each.double() @ table).long() for each in (total[:, :-1], pixels))
        facts = (masks.names, masks.categories, quantile, iou)
        counted = (both, total[:, :-1].sum(1), covered, masks.codes.numel())
        made.append(Dissection(*facts, levels, rest, *counted))
    return made
