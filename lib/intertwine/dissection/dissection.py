"""The result of a dissection: counts of pixels, and the tables made of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Dissection:
    """Counts of pixels for all units and concepts, as `dissect` makes them.

    Example:
        >>> from intertwine.dissection import dissect
        >>> planes = torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(0)) < 0.1
        >>> dissect(planes[:, :2].float(), planes, quantile=0.2).counts()["units"].tolist()
        [2]
    """

    names: tuple[str, ...]
    categories: tuple[str, ...]
    """Of each concept."""
    quantile: float
    threshold: float
    """Of the IoU above which a unit is interpretable."""
    levels: Float[Tensor, " units"] = field(repr=False)
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
        """One row a unit: unit, concept (its best), category, iou, share (of pixels), interpretable."""
        best, concept = (values.numpy(force=True) for values in self.iou.max(1))
        return pd.DataFrame(
            {
                "unit": range(len(best)),
                "concept": [self.names[k] for k in concept],
                "category": [self.categories[k] for k in concept],
                "iou": best,
                "share": (self.selected.double() / self.pixels).numpy(force=True),
                "interpretable": best > self.threshold,
            }
        )

    def concepts(self) -> pd.DataFrame:
        """One row a concept: concept, category, area (share of pixels), ceiling, iou (the best), units.

        The ceiling is min(q, a)/max(q, a): the most that a unit which selects a share q of the pixels can
        reach with a concept of area a. `units` are the interpretable ones with this as their best concept.
        """
        area = (self.covered.double() / self.pixels).cpu()
        q = torch.full_like(area, self.quantile)
        units = self.units()
        counts = units[units["interpretable"]].groupby("concept").size()
        return pd.DataFrame(
            {
                "concept": self.names,
                "category": self.categories,
                "area": area,
                "ceiling": torch.minimum(q, area) / torch.maximum(q, area),
                "iou": self.iou.amax(0).numpy(force=True),
                "units": [int(counts.get(name, 0)) for name in self.names],
            }
        )

    def counts(self) -> pd.DataFrame:
        """One row a category: category, units (interpretable ones), detectors (concepts that have one)."""
        table = self.concepts().assign(detectors=lambda rows: rows["units"] > 0)
        return table.groupby("category", sort=False)[["units", "detectors"]].sum().reset_index()
