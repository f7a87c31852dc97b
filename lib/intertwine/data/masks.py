"""Concept masks: which concepts each pixel of each image shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.checks import check_generator, check_tensor


def same_aspect(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two sizes (height, width) have one aspect ratio, up to one position or pixel.

    Example:
        >>> same_aspect((23, 30), (180, 240)), same_aspect((32, 32), (16, 32))
        (True, False)

    A layer with a stride rounds its 22.5 rows to 22 or 23.
    """
    (h, w), (height, width) = first, second
    return abs(h * width - w * height) <= max(h, w, height, width)


@dataclass(frozen=True, eq=False)
class Masks:
    """The concepts that each pixel shows: a code for every pixel, and the concepts of each code.

    Example:
        >>> # 1 image, 2 concepts, 2×2
        >>> planes = torch.tensor([[[[1, 1], [0, 0]], [[0, 1], [0, 0]]]]).bool()
        >>> masks = Masks.of(planes, ["sky", "cloud"])
        >>> torch.equal(masks.planes(), planes), masks.areas().tolist()
        (True, [0.5, 0.25])

    Concepts may overlap, and a pixel may show none. Pixels are counted by code, which is fast, and the counts
    of codes are added up for each concept.
    """

    codes: Int[Tensor, "n h w"] = field(repr=False)
    table: Bool[Tensor, "codes concepts"] = field(repr=False)
    names: tuple[str, ...]
    categories: tuple[str, ...]
    """Of each concept: colour, texture, object, …"""

    def __post_init__(self) -> None:
        check_tensor(self.codes, "codes")
        if self.codes.dtype == torch.bool or self.codes.is_floating_point() or self.codes.is_complex():
            raise ValueError(
                f"Expected codes that are whole numbers, was given {self.codes.dtype}: use .int()."
            )
        low, high = map(int, self.codes.aminmax()) if self.codes.numel() else (0, -1)
        if self.codes.ndim != 3 or low < 0 or high >= len(self.table):
            raise ValueError(
                f"Expected codes (n, h, w) from 0 to {len(self.table) - 1}, rows of the table, was given "
                f"{low} to {high} of shape {tuple(self.codes.shape)}: use Masks.of for boolean planes."
            )
        if not len(self.names) == len(self.categories) == self.table.shape[1]:
            raise ValueError(
                f"Expected a name and a category for each of {self.table.shape[1]} concepts, was given "
                f"{len(self.names)} names and {len(self.categories)} categories."
            )

    @classmethod
    def of(
        cls,
        planes: Bool[Tensor, "n c h w"],
        names: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
    ) -> "Masks":
        """The masks of one boolean plane for each image and concept.

        Args:
            planes: of an index map (n, h, w), ``index[:, None] == torch.arange(c)[:, None, None]``.
            names, categories: of the concepts; their numbers, and "object" for all, when not given.
        """
        check_tensor(planes)
        if planes.dtype != torch.bool or planes.ndim != 4 or not planes.numel():
            raise ValueError(
                f"Expected boolean masks (n, concepts, h, w), was given {planes.dtype} of shape "
                f"{tuple(planes.shape)}: compare numbers with a threshold, and an index map with each index."
            )
        names = [str(k) for k in range(planes.shape[1])] if names is None else names
        kinds = ["object"] * len(names) if categories is None else categories
        codes = torch.zeros_like(planes[:, 0], dtype=torch.int64)
        # a code is a binary number with a digit for each concept, 32 concepts at a time
        for some in planes.split(32, dim=1):
            places = 2 ** torch.arange(some.shape[1], device=planes.device)
            digits = (some * places[:, None, None]).sum(1)  # a GPU multiplies no matrices of integers
            # renumbered each time, so that any number of concepts fits into 64 bits
            codes = torch.unique(codes * 2 ** some.shape[1] + digits, return_inverse=True)[1]
        table = torch.zeros(int(codes.max()) + 1, planes.shape[1], dtype=torch.bool, device=planes.device)
        table[codes.flatten()] = planes.movedim(1, -1).flatten(0, 2)
        return cls(codes.to(torch.int32), table, tuple(names), tuple(kinds))

    def planes(self) -> Bool[Tensor, "n c h w"]:
        """One boolean plane for each image and concept: much memory, for looking at a few."""
        return self.table[self.codes.long()].movedim(-1, 1)

    def areas(self) -> Float[Tensor, " concepts"]:
        """The share of all pixels that shows each concept, in float64."""
        # counted by code, and then added up for each concept that a code shows
        counts = torch.bincount(self.codes.flatten(), minlength=len(self.table))
        return counts.double() @ self.table.double() / self.codes.numel()

    def shuffled(self, generator: torch.Generator) -> "Masks":
        """The same masks, each for the pixels of another image: a null with the same areas and shapes."""
        check_generator(generator)
        n = len(self.codes)
        if n < 2:
            raise ValueError(f"Expected two images or more to exchange their masks, was given {n}.")
        order = torch.randperm(n, generator=generator).to(self.codes.device)
        codes = torch.empty_like(self.codes)
        codes[order] = self.codes[order.roll(1)]  # one cycle: no image has its own mask
        return replace(self, codes=codes)

    def to(self, device: str | torch.device) -> "Masks":
        """The same on another device."""
        return replace(self, codes=self.codes.to(device), table=self.table.to(device))
