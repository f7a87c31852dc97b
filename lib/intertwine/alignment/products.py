"""Products of features, with few copies and little arithmetic: AᵀB, a root of the scatter, and XXᵀ.

Of many rows are kept their means, with a root of their scatter or no more than AᵀB and the squares. Both
are read block by block, so that copies in float64 take little memory.
"""

from functools import reduce
from operator import add
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

ROWS = 2**14  # at a time: enough that to merge their roots costs little, few enough for memory
NUMBERS = 2**17  # at a time where there are no roots to merge: their copies in float64 stay in the cache
NEAR = 0.8  # up to this share n·mean² is taken off Σx²: the difference loses less than a digit
STRIP = 64  # rows of XXᵀ at a time: fewer save more of the arithmetic, but run at a lower rate
GPU_STRIP = 1024


class Crossing(NamedTuple):
    """AᵀB, and the summed squares of all channels, of A and B minus their means."""

    AB: Float[Tensor, "p q"]
    squares: Float[Tensor, " d"]


def rooted(
    A: Float[Tensor, "n p"], B: Float[Tensor, "n q"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, "r d"], None]:
    """The means, and a root of the scatter."""
    parts = [X.split(ROWS) for X in (A, B)]
    mean = torch.cat([reduce(add, (x.sum(0, dtype=torch.float64) for x in each)) for each in parts]) / len(A)
    blocks = (_centred(a, b, mean) for a, b in zip(*parts, strict=True))
    return mean, reduce(triangle, blocks, mean.new_empty(0, len(mean))), None


def crossed(A: Float[Tensor, "n p"], B: Float[Tensor, "n q"]) -> tuple[Float[Tensor, " d"], None, Crossing]:
    """The means and, in place of the root of `rooted`, the centred AᵀB and squares."""
    n, p = A.shape
    parts = [X.split(max(1, NUMBERS // (p + B.shape[1]))) for X in (A, B)]
    sums, squares = torch.cat([reduce(add, map(_moments, each)) for each in parts], 1)
    mean = sums / n
    AB, of_mean = mean.new_zeros(p, B.shape[1]), n * mean.square()
    # centred afterwards, Σ(a−ā)(b−b̄) = Σab − n·ā·b̄: no centred copy is made
    if (of_mean <= NEAR * squares).all():
        for a, b in zip(*parts, strict=True):
            AB.addmm_(a.double().T, b.double())
        return mean, None, Crossing(AB.addr_(mean[:p], mean[p:], alpha=-n), squares - of_mean)
    squares.zero_()
    for a, b in zip(*parts, strict=True):
        both = _centred(a, b, mean)
        AB.addmm_(both[:, :p].T, both[:, p:])
        squares += both.square_().sum(0)
    return mean, None, Crossing(AB, squares)


def _moments(X: Float[Tensor, "n c"]) -> Float[Tensor, "2 c"]:
    """The sums of all channels and of their squares, in float64."""
    X = X.double()
    return torch.stack([X.sum(0), torch.linalg.vecdot(X, X, dim=0)])


def _centred(
    A: Float[Tensor, "n p"], B: Float[Tensor, "n q"], mean: Float[Tensor, " d"]
) -> Float[Tensor, "n d"]:
    """[A, B] minus the means in float64: each number is read and written once."""
    both, p = mean.new_empty(len(A), len(mean)), A.shape[1]
    torch.sub(A, mean[:p], out=both[:, :p])
    torch.sub(B, mean[p:], out=both[:, p:])
    return both


def triangle(*parts: Tensor) -> Float[Tensor, "r d"]:
    """The upper triangular R with the products RᵀR of all rows together."""
    some = [part.view(-1, part.shape[-1]) for part in parts if len(part)]
    return torch.linalg.qr(some[0] if len(some) == 1 else torch.cat(some), mode="r").R


def self_product(X: Float[Tensor, "n c"], out: Float[Tensor, "n n"] | None = None) -> Float[Tensor, "n n"]:
    """XXᵀ, exactly symmetric, in the dtype of X.

    Example:
        >>> self_product(torch.tensor([[1.0, 2.0], [3.0, 0.0]]))
        tensor([[5., 3.],
                [3., 9.]])

    Strips of the lower triangle are computed and mirrored: for n of 1,000 and more, 0.6 times the arithmetic.
    """
    out = X.new_empty(len(X), len(X)) if out is None else out
    strip = STRIP if X.device.type == "cpu" else GPU_STRIP
    for i in range(0, len(X), strip):
        torch.mm(X[i : i + strip], X[: i + strip].T, out=out[i : i + strip, : i + strip])
    below = out.tril(-1)
    return out.tril_().add_(below.T)
