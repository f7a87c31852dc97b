"""ReLU networks with one hidden layer: when two of them are the same function (ramakrishnan2026).

Example:
    >>> # σ(x) + σ(y) + σ(1−x−y)
    >>> p = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
    >>> q = ShallowReLU([[-1, 0], [0, -1], [1, 1]], [0, 0, -1], [[1, 1, 1]], [1])
    >>> answer = same_function(p, q)
    >>> answer.equal, answer.symmetry.flips
    (True, (0, 1, 2))

A network's `tolerance` counts for floats only: two neurons are parallel, and one is zero or constant, up to a
relative error of that size. Integers and fractions are compared exactly.
"""

from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.canonical_form import CanonicalForm, canonical_form, is_affine
from intertwine.shallow.compression import Compression, Degeneracy, compress, degeneracy
from intertwine.shallow.configurations import Configuration, configurations, realised
from intertwine.shallow.equality import Equality, Symmetry, Witness, same_function
from intertwine.shallow.generic import Fibre, Genericity, fibre, is_generic
from intertwine.shallow.hidden_symmetries import HiddenSymmetries, hidden_symmetries
from intertwine.shallow.minimal import (
    DifferenceReduction,
    minimal_form,
    reduce_difference,
    zero_factor_rank,
    zero_factor_reduction,
)
from intertwine.shallow.moves import act, flip, odd_slope, random_orbit
from intertwine.shallow.relu_network import ShallowReLU, random_network
from intertwine.shallow.stabilizer import Stabilizer, stabilizer

__all__ = [
    "Arrangement",
    "CanonicalForm",
    "Compression",
    "Configuration",
    "Degeneracy",
    "DifferenceReduction",
    "Equality",
    "Fibre",
    "Genericity",
    "HiddenSymmetries",
    "ShallowReLU",
    "Stabilizer",
    "Symmetry",
    "Witness",
    "act",
    "arrangement",
    "canonical_form",
    "compress",
    "configurations",
    "degeneracy",
    "fibre",
    "flip",
    "hidden_symmetries",
    "is_affine",
    "is_generic",
    "minimal_form",
    "odd_slope",
    "random_network",
    "random_orbit",
    "realised",
    "reduce_difference",
    "same_function",
    "stabilizer",
    "zero_factor_rank",
    "zero_factor_reduction",
]
