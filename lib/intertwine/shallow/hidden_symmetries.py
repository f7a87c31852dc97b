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
MOST_CHECKED = 100_000  # sets of a network with rounded weights, each of which is looked at


@dataclass(frozen=True, eq=False)
class HiddenSymmetries:
    """The non-empty sets S with $Σ_S λ_i w_iᵀ = 0$; iterate to list them, as tuples of neurons."""

    count: int | None
    """None where there are too many neurons."""
    reason: str
    sums: SubsetSums | list[tuple[int, ...]] | None = None

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

    Linearly independent matrices $λ_i w_iᵀ$ have none, whatever their number. Otherwise all 2^n sets are
    searched for n ≤ 40, by meeting in the middle. Flips of dead neurons count, too.

    In floats a sum is zero when no entry exceeds 10⁻¹³ times $Σ_i ‖λ_i w_iᵀ‖_∞$. Where the network's
    `tolerance` is more than 10⁻⁹, as of a module in float32, it takes the place of 10⁻¹³, and the neurons of
    S alone count: that of bfloat16, 0.06, is more than some neurons write.

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.

    See Also:
        `flip` flips such a set; `is_generic` asks whether there is none.

    Raises:
        ValueError: floats with tens of millions of sums close to zero.
    """
    p = as_shallow(p)
    vectors = outer(p.V, p.W)  # a set is a flip iff its vectors add up to 0
    # first the cheap answer, which random networks with n ≤ k·m give
    if linearly_independent(vectors, p.rounding):
        return HiddenSymmetries(0, "the matrices λ_i w_iᵀ are linearly independent")
    if p.n > MOST_VECTORS:
        return HiddenSymmetries(
            None, f"dependent matrices λ_i w_iᵀ and {p.n} > {MOST_VECTORS} neurons: undecided"
        )
    sums = subset_sums(vectors, 0 * vectors.sum(0), p.rounding)
    if p.rounding == ROUNDING:
        # the empty set is among the sums
        return HiddenSymmetries(sums.count - 1, f"all 2^{p.n} sets", sums)
    if sums.count > MOST_CHECKED:
        reason = f"more than {MOST_CHECKED:,} sums near zero at a tolerance of {p.rounding:.1g}: undecided"
        return HiddenSymmetries(None, reason)
    sizes, vectors = np.abs(vectors).max(1, initial=0), np.asarray(vectors, float)
    flips = [
        S for S in map(list, sums) if S and np.abs(vectors[S].sum(0)).max() <= p.rounding * sizes[S].sum()
    ]
    return HiddenSymmetries(len(flips), f"all 2^{p.n} sets", [tuple(S) for S in flips])


def linearly_independent(vectors: Shaped[np.ndarray, "n d"], rounding: float = ROUNDING) -> bool:
    """Whether rows are certainly linearly independent; False means not known.

    In floats the certificate is σ_min > `rounding` · σ_max. Exact rows are taken modulo a prime: if they are
    independent there, they are independent. The converse fails only where a determinant is a multiple of that
    prime.
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
        # the pivot becomes 1, and what is below it 0
        rows[i] = rows[i] * pow(int(rows[i, column]), -1, PRIME) % PRIME
        rows[i + 1 :] = (rows[i + 1 :] - rows[i + 1 :, [column]] * rows[i] % PRIME) % PRIME
    return True
