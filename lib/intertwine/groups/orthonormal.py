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


def triangular(W: Float[Tensor, "n k"]) -> Float[Tensor, "n n"] | None:
    """The orthogonal Q for which QW, times fixed numbers, is triangular; None if rows of W are dependent.

    The diagonal is positive, so that W and UW, U orthogonal, have one QW.
    """
    n, k = W.shape
    Q, R = torch.linalg.qr(W @ generic(k, n))
    sizes = R.diagonal().abs()
    return None if k < n or sizes.min() <= 1e-9 * sizes.max() else (Q * R.diagonal().sign()).T


def mean_basis(n: int) -> Float[Tensor, "n n"]:
    """An orthonormal basis whose first vector is 1/√n, in columns."""
    basis = torch.eye(n, dtype=torch.float64)
    basis[:, 0] = 1
    basis = torch.linalg.qr(basis).Q
    return basis * basis[0, 0].sign()
