"""Which elements of H_n leave the parameters themselves alone (ramakrishnan2026, Theorem 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import factorial, prod
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from intertwine.shallow.arithmetic import TOLERANCE, Numbers, is_exact, primitive, reciprocal
from intertwine.shallow.arrangement import clusters
from intertwine.shallow.network import ShallowReLU


@dataclass(frozen=True, eq=False)
class Stabilizer:
    """R_{>0}^r ⋊ Σ_r on r zero neurons, times a symmetric group on every block of neurons alike."""

    n: int
    zeros: tuple[int, ...]
    """Neurons with w, b and λ zero: any scaling and any permutation of them."""
    blocks: tuple[tuple[int, ...], ...]
    """Two or more neurons, equal up to a positive scaling of (w, b) with λ scaled inversely."""
    transpositions: tuple[tuple[int, int, Any], ...]
    """Generators of the finite part, (i, j, t): neurons i and j change places, (w_j, b_j) = t (w_i, b_i)."""

    @property
    def dimension(self) -> int:
        """r."""
        return len(self.zeros)

    @property
    def order(self) -> int:
        """Elements of the finite part Σ_r × Π Σ_block."""
        return factorial(self.dimension) * prod(factorial(len(block)) for block in self.blocks)

    @property
    def trivial(self) -> bool:
        """Whether only the identity leaves the parameters alone."""
        return self.dimension == 0 and self.order == 1

    def generators(self) -> Iterator[tuple[Int[np.ndarray, " n"], Shaped[np.ndarray, " n"]]]:
        """The transpositions as (permutation, scales) for `act`.

        Example:
            >>> p = ShallowReLU([[6, 3]], [[1], [2]], [1, 2], [0])
            >>> [(permutation.tolist(), [str(d) for d in scales])
            ...  for permutation, scales in stabilizer(p).generators()]
            [([1, 0], ['1/2', '2'])]
        """
        for i, j, t in self.transpositions:
            permutation = np.arange(self.n)
            permutation[[i, j]] = j, i
            scales = np.ones(self.n, dtype=float if isinstance(t, float) else object)
            scales[i], scales[j] = 1 / t, t
            yield permutation, scales


def stabilizer(p: ShallowReLU, tolerance: float = TOLERANCE) -> Stabilizer:
    """The stabiliser of parameters in H_n (ramakrishnan2026, Theorem 2 and Proposition 2).

    Example:
        >>> p = ShallowReLU([[6, 3, 0, 1, 1]], [[1], [2], [0], [3], [3]], [0, 0, 0, 1, 1], [0])
        >>> found = stabilizer(p)
        >>> found.dimension, found.order, found.blocks
        (1, 4, ((0, 1), (3, 4)))

    The paper's statement, as our copy has it, generates the finite part by at most two cycles; three pairs of
    equal neurons refute that. Transpositions generate it, as many as the blocks have neurons less one each.

    Args:
        p: a network.
        tolerance: in floats, when numbers are equal or zero, relative to their row, or to the largest λ.
    """
    lengths, keys = _keys(p)
    zeros = tuple(np.flatnonzero(lengths == 0).tolist())
    live = np.flatnonzero(lengths != 0)
    if p.exact:
        index: dict[tuple, int] = {}
        labels = np.array([index.setdefault(tuple(keys[i]), len(index)) for i in live], dtype=np.int64)
    else:
        labels = clusters(keys[live], tolerance)[0]
    members = [live[labels == label] for label in np.flatnonzero(np.bincount(labels) > 1)]
    blocks = tuple(sorted(tuple(block.tolist()) for block in members))
    chains = [pair for block in (zeros, *blocks) for pair in pairwise(block)]
    one = Fraction(1) if p.exact else 1.0
    transpositions = tuple((i, j, one if i in zeros else one * lengths[j] / lengths[i]) for i, j in chains)
    return Stabilizer(p.n, zeros, blocks, transpositions)


def _keys(p: ShallowReLU) -> tuple[Numbers, Numbers]:
    """Lengths ℓ and what does not change under scaling: (w, b)/ℓ and λℓ; ℓ = 0 for zero neurons."""
    rows, lengths = p.rows, _lengths(p.rows)
    silent = lengths == 0  # here λ takes the part of the row
    weights = _lengths(p.A2.T[silent])
    lengths[silent] = np.where(weights == 0, 0, reciprocal(np.where(weights == 0, 1, weights)))
    safe = np.where(lengths == 0, 1, lengths)
    A2 = p.A2.T * safe[:, None]
    if not p.exact:
        A2 = A2 / (np.abs(A2).max(initial=0) or 1)
    return lengths, np.hstack([rows * reciprocal(safe)[:, None], A2])


def _lengths(rows: Shaped[np.ndarray, "n d"]) -> Shaped[np.ndarray, " n"]:
    if not is_exact(rows):
        return np.abs(rows).sum(1)
    return np.array([abs(primitive(row)[1]) if any(row) else 0 for row in rows.tolist()] + [0], dtype=object)[
        :-1
    ]
