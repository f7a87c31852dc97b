"""Which elements of H_n leave the parameters themselves alone (ramakrishnan2026, Theorem 2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import factorial, prod
from typing import Any

import numpy as np
from jaxtyping import Shaped
from torch import Tensor, nn

from intertwine.shallow.arrangement import clusters
from intertwine.shallow.exact import Numbers, is_exact, primitive, reciprocal
from intertwine.shallow.moves import monomial_matrix
from intertwine.shallow.relu_network import ShallowReLU, as_shallow


@dataclass(frozen=True, eq=False)
class Stabilizer:
    """$R_{>0}^r ⋊ Σ_r$ on r zero neurons, times a symmetric group on every block of neurons alike."""

    n: int
    zeros: tuple[int, ...]
    """Neurons with w, b and λ zero."""
    blocks: tuple[tuple[int, ...], ...]
    """Neurons that are equal up to a positive scaling of (w, b) with λ scaled inversely."""
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

    def generators(self) -> Iterator[Numbers | Tensor]:
        """The transpositions as matrices for `act`."""
        for i, j, t in self.transpositions:
            columns = np.arange(self.n)
            columns[[i, j]] = j, i
            scales = np.ones(self.n, dtype=float if isinstance(t, float) else object)
            scales[i], scales[j] = 1 / t, t
            yield monomial_matrix(columns, scales)


def stabilizer(p: ShallowReLU | nn.Module) -> Stabilizer:
    """Which elements of H_n leave the parameters alone (ramakrishnan2026, Theorem 2 and Proposition 2).

    Example:
        >>> p = ShallowReLU(
        ...     [[1], [2], [0], [3], [3]], [0, 0, 0, 1, 1], [[6, 3, 0, 1, 1]], [0]
        ... )
        >>> found = stabilizer(p)
        >>> found.dimension, found.order, found.blocks
        (1, 4, ((0, 1), (3, 4)))

    The paper says "at most two cycles", and its formulas are missing in the text that we have. No two
    elements generate the stabiliser of three pairs of equal neurons. Transpositions
    generate the finite part, as many as the blocks have neurons less one each.
    """
    p = as_shallow(p)
    lengths, keys = _keys(p)
    zeros = tuple(np.flatnonzero(lengths == 0).tolist())
    others = np.flatnonzero(lengths != 0)
    if p.exact:
        index: dict[tuple, int] = {}
        labels = np.array([index.setdefault(tuple(keys[i]), len(index)) for i in others], dtype=np.int64)
    else:
        labels = clusters(keys[others], p.tolerance)[0]
    members = [others[labels == label] for label in np.flatnonzero(np.bincount(labels) > 1)]
    blocks = tuple(sorted(tuple(block.tolist()) for block in members))
    chains = [pair for block in (zeros, *blocks) for pair in pairwise(block)]
    one = Fraction(1) if p.exact else 1.0
    transpositions = tuple((i, j, one if i in zeros else one * lengths[j] / lengths[i]) for i, j in chains)
    return Stabilizer(p.n, zeros, blocks, transpositions)


def _keys(p: ShallowReLU) -> tuple[Numbers, Numbers]:
    """Lengths ℓ, and (w, b)/ℓ with λℓ, which scaling does not change; ℓ = 0 for zero neurons."""
    rows, lengths = p.rows, _lengths(p.rows)
    silent = lengths == 0  # here λ takes the part of the row
    weights = _lengths(p.V.T[silent])
    lengths[silent] = np.where(weights == 0, 0, reciprocal(np.where(weights == 0, 1, weights)))
    safe = np.where(lengths == 0, 1, lengths)
    V = p.V.T * safe[:, None]
    if not p.exact:
        V = V / (np.abs(V).max(initial=0) or 1)  # `clusters` compares with an absolute tolerance
    return lengths, np.hstack([rows * reciprocal(safe)[:, None], V])


def _lengths(rows: Shaped[np.ndarray, "n d"]) -> Shaped[np.ndarray, " n"]:
    if not is_exact(rows):
        return np.abs(rows).sum(1)
    lengths = (abs(primitive(row)[1]) if any(row) else 0 for row in rows.tolist())
    return np.fromiter(lengths, dtype=object, count=len(rows))
