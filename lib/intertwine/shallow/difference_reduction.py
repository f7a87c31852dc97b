"""Lemma 17, Theorems 3 and 4 of ramakrishnan2026 as they are written: what is left of θ ⊖ θ' reduced?"""

from typing import NamedTuple

from intertwine.shallow.minimal import zero_factor_reduction
from intertwine.shallow.moves import difference
from intertwine.shallow.relu_network import ShallowReLU


class DifferenceReduction(NamedTuple):
    """What is left of θ ⊖ θ'."""

    empty: bool
    """No neuron, and the constant 0, for every output: the minimal forms agree (Lemma 17)."""
    vanishes: bool
    """Empty, or pairs λσ(z), −λσ(−z) whose terms λz add up to 0 with the constant (Theorems 3 and 4)."""


def reduce_difference(p: ShallowReLU, q: ShallowReLU) -> DifferenceReduction:
    """The 0-factor reduction of θ ⊖ θ', output by output; `same_function` decides without it.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
        >>> q = ShallowReLU([[-1, 0], [0, -1], [1, 1]], [0, 0, -1], [[1, 1, 1]], [1])
        >>> reduce_difference(p, q)
        DifferenceReduction(empty=False, vanishes=True)

    Raises:
        ValueError: networks of floats, whose sums are 0 up to rounding only.
    """
    d = difference(p, q)
    if not d.exact:
        raise ValueError(
            "Expected networks of integers and fractions, was given floats: use `same_function`."
        )
    outputs = (ShallowReLU(d.W, d.b, d.V[[j]], d.c[[j]]) for j in range(d.k))
    left = [zero_factor_reduction(each) for each in outputs]
    empty = all(r.n == 0 and r.c[0] == 0 for r in left)
    return DifferenceReduction(empty, all(map(_vanishes, left)))


def _vanishes(r: ShallowReLU) -> bool:
    """Rows of a reduction are coprime integers, so that t = 1 for every pair."""
    weights = {tuple(row): weight for row, weight in zip(r.rows.tolist(), r.V[0], strict=True)}
    paired = all(weights.get(tuple(-x for x in row)) == -weight for row, weight in weights.items())
    twice = r.V[0] @ r.rows  # λz from either neuron of a pair
    return bool(paired and (twice[:-1] == 0).all() and twice[-1] + 2 * r.c[0] == 0)
