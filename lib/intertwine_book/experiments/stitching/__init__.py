"""Chapter 3: what it measures."""

from intertwine_book.experiments.stitching.connectivity import WAYS, connectivity
from intertwine_book.experiments.stitching.protocols import on_equal_terms, protocols
from intertwine_book.experiments.stitching.stitches import looped, stitch_many, stitch_rows
from intertwine_book.experiments.stitching.tables import (
    known_elements,
    of_this_page,
    steps,
    tables,
)

__all__ = [
    "WAYS",
    "connectivity",
    "known_elements",
    "looped",
    "of_this_page",
    "on_equal_terms",
    "protocols",
    "steps",
    "stitch_many",
    "stitch_rows",
    "tables",
]
