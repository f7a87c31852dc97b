"""Chapter 7: the numbered statements of ramakrishnan2026 tried on random networks, and tables for figures."""

from intertwine_book.experiments.shallow_relu.drawings import (
    distances,
    nearest_sines,
    neurons,
    surfaces,
)
from intertwine_book.experiments.shallow_relu.identifiability import identifiability
from intertwine_book.experiments.shallow_relu.known_pairs import KINDS, KnownPair, known_pair
from intertwine_book.experiments.shallow_relu.other_activations import flips, remark_1
from intertwine_book.experiments.shallow_relu.theorems import (
    affine,
    density,
    differences,
    fibres,
    reductions,
    stabilizers,
    verdicts,
)

__all__ = [
    "KINDS",
    "KnownPair",
    "affine",
    "density",
    "differences",
    "distances",
    "fibres",
    "flips",
    "identifiability",
    "known_pair",
    "nearest_sines",
    "neurons",
    "reductions",
    "remark_1",
    "stabilizers",
    "surfaces",
    "verdicts",
]
