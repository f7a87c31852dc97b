"""Stitching: how much of one network's first half another network's second half can use."""

from intertwine.stitching.climb import climb
from intertwine.stitching.interpolation import barriers, between, line
from intertwine.stitching.junction import Judged, Junction
from intertwine.stitching.ladder import Ladder
from intertwine.stitching.make import stitch, stitch_all, stitch_at
from intertwine.stitching.maps import (
    KINDS,
    Birkhoff,
    Entropic,
    FromMatrix,
    Full,
    Identity,
    LowRank,
    Matched,
    OrthogonalMap,
    Permutation,
    RandomPermutation,
    Sparse,
    Stitch,
)
from intertwine.stitching.rungs import Rung
from intertwine.stitching.split import split
from intertwine.stitching.stitch_recipes import STITCH_RECIPES, StitchRecipe
from intertwine.stitching.stitched import Stitched

__all__ = [
    "KINDS",
    "STITCH_RECIPES",
    "Birkhoff",
    "Entropic",
    "FromMatrix",
    "Full",
    "Identity",
    "Judged",
    "Junction",
    "Ladder",
    "LowRank",
    "Matched",
    "OrthogonalMap",
    "Permutation",
    "RandomPermutation",
    "Rung",
    "Sparse",
    "Stitch",
    "StitchRecipe",
    "Stitched",
    "barriers",
    "between",
    "climb",
    "line",
    "split",
    "stitch",
    "stitch_all",
    "stitch_at",
]
