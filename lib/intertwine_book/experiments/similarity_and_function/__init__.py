"""Chapter 4b: similarity against function."""

from intertwine_book.experiments.similarity_and_function.indices import (
    INDICES,
    along_training,
    cka_after_training,
    cka_as_objective,
    flat_cka,
    moved_by_groups,
    pressed,
    start_and_end,
    trade_off,
)
from intertwine_book.experiments.similarity_and_function.sensitivity import (
    between_layers,
    probe,
    sensitivity,
    specificity,
)

__all__ = [
    "INDICES",
    "along_training",
    "between_layers",
    "cka_after_training",
    "cka_as_objective",
    "flat_cka",
    "moved_by_groups",
    "pressed",
    "probe",
    "sensitivity",
    "specificity",
    "start_and_end",
    "trade_off",
]
