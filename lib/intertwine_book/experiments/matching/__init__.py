"""Chapter 3b: direct and task-loss matching, the networks it compares, and the tables of its claims."""

from intertwine_book.experiments.matching.networks import cuts, published_pairs
from intertwine_book.experiments.matching.stitches import lasso_with, low_rank_kinds, path_rows, sparse_rows
from intertwine_book.experiments.matching.tables import (
    beside,
    by_pair,
    low_rank,
    sparse,
    starts,
    ways,
    widths,
)

__all__ = [
    "beside",
    "by_pair",
    "cuts",
    "lasso_with",
    "low_rank",
    "low_rank_kinds",
    "path_rows",
    "published_pairs",
    "sparse",
    "sparse_rows",
    "starts",
    "ways",
    "widths",
]
