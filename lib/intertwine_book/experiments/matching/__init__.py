"""Chapter 3b: direct and task-loss matching, the networks it compares, and the tables of its claims."""

from intertwine_book.experiments.matching.directions import error_by_direction, variance_restored
from intertwine_book.experiments.matching.networks import cuts, published_pairs
from intertwine_book.experiments.matching.stitches import lasso_with, low_rank_kinds, path_rows, sparse_rows
from intertwine_book.experiments.matching.tables import (
    by_pair,
    equation_3,
    low_rank,
    numbered,
    sparse,
    starts,
    ways,
    widths,
)

__all__ = [
    "by_pair",
    "cuts",
    "equation_3",
    "error_by_direction",
    "lasso_with",
    "low_rank",
    "low_rank_kinds",
    "numbered",
    "path_rows",
    "published_pairs",
    "sparse",
    "sparse_rows",
    "starts",
    "variance_restored",
    "ways",
    "widths",
]
