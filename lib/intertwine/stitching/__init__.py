"""Stitching: how much of one network's first half another network's second half can use."""

from intertwine.stitching.g_relu import Birkhoff, Entropic, Matched
from intertwine.stitching.interpolation import barriers, between, line
from intertwine.stitching.junction import Judged, Junction
from intertwine.stitching.kinds import KINDS
from intertwine.stitching.make import stitch, stitch_at
from intertwine.stitching.maps import Full, LowRank, Orthogonal, Sparse, Stitch
from intertwine.stitching.split import split
from intertwine.stitching.stitch_recipes import STITCH_RECIPES, StitchRecipe
from intertwine.stitching.stitched import Stitched

__all__ = [
    "KINDS",
    "STITCH_RECIPES",
    "Birkhoff",
    "Entropic",
    "Full",
    "Judged",
    "Junction",
    "LowRank",
    "Matched",
    "Orthogonal",
    "Sparse",
    "Stitch",
    "StitchRecipe",
    "Stitched",
    "barriers",
    "between",
    "line",
    "split",
    "stitch",
    "stitch_at",
]
