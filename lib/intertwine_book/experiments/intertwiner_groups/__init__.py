"""Chapter 1: what the two papers say of intertwiner groups, swaps and scalings, as experiments."""

from intertwine_book.experiments.intertwiner_groups.activation_table import (
    GALLERY,
    activation_table,
    beside_proved,
    residuals,
)
from intertwine_book.experiments.intertwiner_groups.statements import checks, table_1
from intertwine_book.experiments.intertwiner_groups.swap_and_scale import any_point, changes

__all__ = [
    "GALLERY",
    "activation_table",
    "any_point",
    "beside_proved",
    "changes",
    "checks",
    "residuals",
    "table_1",
]
