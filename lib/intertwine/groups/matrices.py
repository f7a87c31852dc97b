"""Matrices for all groups: arguments checked, random ones, ones in general position, orthonormal bases."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_generator, check_tensor


def checked_matrix(A: Tensor, n: int) -> Float[Tensor, "n n"]:
    """A in float64 on the CPU, where all decisions are made; ValueError unless it is a finite n×n matrix."""
    check_tensor(A)
    if not A.is_floating_point():
        raise ValueError(f"Expected a real floating-point tensor, was given {A.dtype}: use torch.float64.")
    if A.shape != (n, n):
        raise ValueError(
            f"Expected a {n}×{n} matrix, as the width of this group is {n}, was given shape {tuple(A.shape)}."
        )
    if not A.isfinite().all():
        raise ValueError(
            "Expected a matrix of finite numbers, was given NaN or infinity: no element has them."
        )
    return A.detach().to("cpu", torch.float64)


def checked_rows(W: Tensor, n: int) -> Float[Tensor, "n k"]:
    """W in float64 on the CPU; ValueError unless it is a finite matrix with n rows."""
    check_tensor(W)
    if W.ndim != 2 or len(W) != n or not W.is_floating_point() or not W.isfinite().all():
        raise ValueError(
            f"Expected a real matrix with {n} rows of finite numbers, as the width of this group is {n}, was "
            f"given shape {tuple(W.shape)} of {W.dtype}."
        )
    return W.detach().to("cpu", torch.float64)


def gaussian(generator: torch.Generator, *shape: int) -> Float[Tensor, "..."]:
    """Independent standard normal numbers, float64, on the generator's device."""
    check_generator(generator)
    return torch.randn(*shape, generator=generator, device=generator.device, dtype=torch.float64)


def haar(generator: torch.Generator, n: int) -> Float[Tensor, "n n"]:
    """A random orthogonal matrix: Q of a Gaussian matrix, with the signs of R's diagonal moved into it."""
    Q, R = torch.linalg.qr(gaussian(generator, n, n))
    # the QR with a positive diagonal is unique, which makes Q Haar distributed (Mezzadri 2007)
    return Q * R.diagonal().sign()


def generic(k: int, n: int) -> Float[Tensor, "k n"]:
    """Fixed numbers in general position: no small matrix of weights is special to them."""
    return torch.randn(k, n, generator=torch.Generator().manual_seed(k), dtype=torch.float64)


def rank(W: Float[Tensor, "n k"], rounding: float, *, of: Float[Tensor, "m k"] | None = None) -> int:
    """The rank of a float64 matrix whose entries are known up to this relative rounding.

    Where W are rows `of` a matrix in another basis, its rounding is relative to that matrix.
    """
    # never below torch's own bound; four units leave room for weights that were computed, not read
    least = max(4 * rounding, torch.finfo(W.dtype).eps * max(W.shape))
    return int(torch.linalg.matrix_rank(W, rtol=least, atol=0.0 if of is None else least * of.norm()))


def triangular(W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"] | None:
    """The orthogonal Q for which QW, times fixed numbers, is triangular with a positive diagonal.

    Then W and UW, U orthogonal, have the same QW: it is a normal form. None if rows of W are dependent up to
    this relative rounding of the entries.
    """
    n, k = W.shape
    # times n generic columns, W becomes square and its leading minors are not zero, so QR is unique
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
    return basis * basis[0, 0].sign()  # QR leaves the sign of the first vector open
