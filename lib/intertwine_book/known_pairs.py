"""Pairs of networks that are, or are not, the same function by construction."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch

from intertwine.shallow import ShallowReLU, flip, random_network, random_orbit
from intertwine.shallow.moves import random_scales
from intertwine.shallow.relu_network import random_integers

PAIR_KINDS = ("orbit", "merge", "dead", "constant", "opposite pairs", "hidden flips")
MISS = Fraction(1, 1000)


class KnownPair(NamedTuple):
    """Two exact networks, and whether they are the same function."""

    p: ShallowReLU
    q: ShallowReLU
    equal: bool


def known_pair(
    kind: str, *, near_miss: bool = False, epsilon: Fraction = MISS, generator: torch.Generator
) -> KnownPair:
    """Two networks that are the same function, or differ by a function that is known not to be zero.

    Example:
        >>> p, q, equal = known_pair("hidden flips", generator=torch.Generator().manual_seed(0))
        >>> equal, p([[7] * p.m]).tolist() == q([[7] * p.m]).tolist()
        (True, True)

    The second is made of the first as one of `PAIR_KINDS` says, before a random element of H_n acts. A near
    miss differs by εσ(w·x + b), ε w·x, or the constant ε. The networks have one to three inputs and outputs.
    """

    def draw(low: int, high: int, *shape: int) -> np.ndarray:
        return random_integers(low, high, shape, generator)

    n, m, k = draw(1, 4, 1)[0], *draw(1, 3, 2)
    p, other = (random_network(number, m, k, generator=generator) for number in (n, 1))
    miss = (epsilon if near_miss else 0) * np.eye(k, 1, dtype=object)  # for one output
    match kind:
        case "orbit":
            q = _with(p, V=p.V + miss * np.eye(1, n, dtype=object))
        case "merge":
            t, part, i = random_scales(1, generator), draw(-3, 3, k, 1), draw(0, n - 1, 1)[0]
            split = _with(p, V=p.V - part * np.eye(1, n, i, dtype=object))
            q = split.extended(p.rows[[i]] * t, (part + miss) * (Fraction(1) / t))
        case "dead":
            q = p.extended(other.rows, miss)
        case "constant":
            b = draw(-3, 3, 1)
            row = np.array([[0] * m + [b[0]]], dtype=object)
            q = p.extended(row, other.V, p.c - other.V[:, 0] * max(b[0], 0) + miss[:, 0])
        case "opposite pairs":
            rows = np.vstack([other.rows, random_network(1, m, k, generator=generator).rows])
            rows = np.vstack([rows, -rows.sum(0)])
            rows[2, -1] = draw(-3, 3, 1)[0]  # the weights of the three add up to 0
            V = np.hstack([other.V] * 3 + [-other.V] * 3) + miss * np.eye(1, 6, dtype=object)
            q = p.extended(np.vstack([rows, -rows]), V, p.c - other.V[:, 0] * rows[:, -1].sum())
        case "hidden flips":
            three = random_network(3, m, 1, generator=generator)
            V = other.V * three.V  # all output weights are multiples of one
            last = np.column_stack([-(three.V @ three.W), draw(-3, 3, 1, 1)])
            p = p.extended(np.vstack([three.rows, last]), np.hstack([V, other.V]))
            p = _with(p, V=p.V + miss * np.eye(1, p.n, n, dtype=object))
            q = flip(p, range(n, n + 4))
        case _:
            raise ValueError(f"Expected a kind out of {', '.join(PAIR_KINDS)}, was given {kind!r}.")
    return KnownPair(p, random_orbit(q, generator=generator), not near_miss)


def _with(p: ShallowReLU, V: np.ndarray) -> ShallowReLU:
    return ShallowReLU(p.W, p.b, V, p.c)
