"""Orthonormal bases: at random, of a matrix, and with the vector of ones first."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.scalar import gaussian


def haar(generator: torch.Generator, n: int) -> Float[Tensor, "n n"]:
    """A random orthogonal matrix: Q of a Gaussian matrix, with the signs of R's diagonal moved into it."""
    Q, R = torch.linalg.qr(gaussian(generator, n, n))
    # the QR with a positive diagonal is unique, which makes Q Haar distributed (Mezzadri 2007)
    return Q * R.diagonal().sign()


def generic(k: int, n: int) -> Float[Tensor, "k n"]:
    """Fixed numbers in general position."""
    return torch.randn(k, n, generator=torch.Generator().manual_seed(k), dtype=torch.float64)


def rank(W: Float[Tensor, "n k"], rounding: float) -> int:
    """The rank of a float64 matrix whose entries are known up to this relative rounding."""
    least = max(4 * rounding, torch.finfo(W.dtype).eps * max(W.shape))
    return int(torch.linalg.matrix_rank(W, rtol=least))


def triangular(W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"] | None:
    """The orthogonal Q for which QW, times fixed numbers, is triangular; None if rows of W are dependent.

    The diagonal is positive, so that W and UW, U orthogonal, have one QW. Dependent means up to this relative
    rounding of entries.
    """
    n, k = W.shape
    Q, R = torch.linalg.qr(W @ generic(k, n))
    sizes = R.diagonal().abs()
    if k < n or sizes.min() <= max(1e-9, 2 * rounding) * sizes.max():
        return None
    return (Q * R.diagonal().sign()).T


def mean_basis(n: int) -> Float[Tensor, "n n"]:
    """An orthonormal basis whose first vector is 1/√n, in columns."""
    basis = torch.eye(n, dtype=torch.float64)
    basis[:, 0] = 1
    basis = torch.linalg.qr(basis).Q
    return basis * basis[0, 0].sign()
