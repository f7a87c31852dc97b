"""Hidden symmetries: the sets of neurons that can be flipped together without changing the function."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Shaped
from torch import nn

from intertwine.shallow.exact import ROUNDING, integers, is_exact, outer
from intertwine.shallow.relu_network import ShallowReLU, as_shallow
from intertwine.shallow.subsets import MOST_VECTORS, SubsetSums, subset_sums

PRIME = 2**31 - 1  # so that products of two residues fit into int64


@dataclass(frozen=True, eq=False)
class HiddenSymmetries:
    """The non-empty sets S with $Σ_S λ_i w_iᵀ = 0$; iterate to list them, as tuples of neurons."""

    count: int | None
    """None where there are too many neurons."""
    reason: str
    sums: SubsetSums | None = None

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (S for S in self.sums or () if S)

    def list(self, limit: int = 100) -> list[tuple[int, ...]]:
        """The first few, no more than `limit`."""
        return [*islice(self, limit)]


def hidden_symmetries(p: ShallowReLU | nn.Module) -> HiddenSymmetries:
    """All sets S of neurons that can be flipped together: $Σ_S λ_i w_iᵀ = 0$, for all outputs at once.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
        >>> found = hidden_symmetries(p)
        >>> found.count, found.list()
        (1, [(0, 1, 2)])

    Independent matrices $λ_i w_iᵀ$ have none, whatever their number. Otherwise all 2^n sets are searched for
    n ≤ 40, by meeting in the middle; where there are 0-factors, flips of dead neurons count too. In floats a
    sum is zero when no entry exceeds 10⁻¹³ times $Σ_i ‖λ_i w_iᵀ‖_∞$, or the network's tolerance times that if
    it is more than 10⁻⁹, as of a module in float32.

    See Also:
        `flip` flips such a set; `is_generic` asks whether there is none.

    Raises:
        ValueError: floats with tens of millions of sums close to zero.
    """
    p = as_shallow(p)
    vectors = outer(p.V, p.W)
    if linearly_independent(vectors, p.rounding):
        return HiddenSymmetries(0, "the matrices λ_i w_iᵀ are linearly independent")
    if p.n > MOST_VECTORS:
        return HiddenSymmetries(
            None, f"dependent matrices λ_i w_iᵀ and {p.n} > {MOST_VECTORS} neurons: undecided"
        )
    sums = subset_sums(vectors, 0 * vectors.sum(0), p.rounding)
    # the empty set is among the sums
    return HiddenSymmetries(sums.count - 1, f"all 2^{p.n} sets", sums)


def linearly_independent(vectors: Shaped[np.ndarray, "n d"], rounding: float = ROUNDING) -> bool:
    """Whether rows are certified to be linearly independent: in floats by σ_min > `rounding` · σ_max.

    Exact rows are taken modulo a prime: independent there they are independent, and the converse fails for
    multiples of that prime only.
    """
    n, d = vectors.shape
    if n > d:
        return False
    if not is_exact(vectors):
        values = np.linalg.svd(vectors, compute_uv=False)
        return bool(n == 0 or values[-1] > rounding * values[0])
    rows = (integers(vectors) % PRIME).astype(np.int64)
    for i in range(n):
        pivots = np.flatnonzero(rows[i])
        if not len(pivots):
            return False
        column = pivots[0]
        rows[i] = rows[i] * pow(int(rows[i, column]), -1, PRIME) % PRIME
        rows[i + 1 :] = (rows[i + 1 :] - rows[i + 1 :, [column]] * rows[i] % PRIME) % PRIME
    return True
