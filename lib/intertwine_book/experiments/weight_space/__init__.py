"""Chapter 1b: orbits of weights under training, and the papers' statements on weights, as experiments."""

from intertwine_book.experiments.weight_space.flatness import cuts, orbit, surface
from intertwine_book.experiments.weight_space.statements import (
    epsilon_nets,
    proposition_3_4,
    remark_3_6,
    shifts,
    theorem_4_2,
)

__all__ = [
    "cuts",
    "epsilon_nets",
    "orbit",
    "proposition_3_4",
    "remark_3_6",
    "shifts",
    "surface",
    "theorem_4_2",
]
