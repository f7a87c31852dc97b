"""Stitching: how much of one network's first half another network's second half can use."""

from intertwine.stitching import plans
from intertwine.stitching.g_relu import Birkhoff, Entropic, Matched
from intertwine.stitching.interpolation import barriers, between, connectivity
from intertwine.stitching.junction import Judged, Junction
from intertwine.stitching.layers import Full, LowRank, Orthogonal, Sparse, Stitch
from intertwine.stitching.many import stitch_many, stitch_rows
from intertwine.stitching.plans import Plan
from intertwine.stitching.recipes import STITCH_RECIPES, StitchRecipe
from intertwine.stitching.split import split
from intertwine.stitching.stitched import Stitched, stitch
from intertwine.stitching.train import TrainedStitch, train_stitch

__all__ = [
    "STITCH_RECIPES",
    "Birkhoff",
    "Entropic",
    "Full",
    "Judged",
    "Junction",
    "LowRank",
    "Matched",
    "Orthogonal",
    "Plan",
    "Sparse",
    "Stitch",
    "StitchRecipe",
    "Stitched",
    "TrainedStitch",
    "barriers",
    "between",
    "connectivity",
    "plans",
    "split",
    "stitch",
    "stitch_many",
    "stitch_rows",
    "train_stitch",
]
