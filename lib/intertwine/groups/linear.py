"""Groups with more than one non-zero entry in a row: O(n), GL(n) and the stabilizer of the vector of ones."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.matrix import MatrixGroup
from intertwine.groups.scalar import NONZERO, POSITIVE, SIGNS, TRIVIAL, ScalarGroup, gaussian


@dataclass(frozen=True)
class Orthogonal(MatrixGroup):
    """O(n): what commutes with RMSNorm without gain.

    Example:
        >>> Orthogonal(3).dimension, Orthogonal(3).components
        (3, 2)
    """

    scalars: ScalarGroup = SIGNS

    @property
    def dimension(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def components(self) -> int:
        return 2

    def sample(
        self, generator: torch.Generator, *, scale: float = 1.0, dtype: torch.dtype = torch.float64
    ) -> Float[Tensor, "n n"]:
        """Haar measure, by QR of a Gaussian matrix with the signs of R's diagonal moved into Q; no `scale`.

        Example:
            >>> Orthogonal(1).sample(torch.Generator().manual_seed(0)).abs()
            tensor([[1.]], dtype=torch.float64)
        """
        Q, R = torch.linalg.qr(gaussian(generator, self.n, self.n))
        return (Q * R.diagonal().sign()).to(dtype)

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        return bool(((A.T @ A - torch.eye(self.n)).abs() <= tol).all())

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        U, _, Vh = torch.linalg.svd(M)
        return U @ Vh


@dataclass(frozen=True)
class GeneralLinear(MatrixGroup):
    """GL(n): the intertwiner group of linear maps κx, κ ≠ 0, and of constants.

    Example:
        >>> GeneralLinear(3).dimension, GeneralLinear(3).components
        (9, 2)
    """

    scalars: ScalarGroup = NONZERO

    @property
    def dimension(self) -> int:
        return self.n**2

    @property
    def components(self) -> int:
        return 2

    def sample(
        self, generator: torch.Generator, *, scale: float = 1.0, dtype: torch.dtype = torch.float64
    ) -> Float[Tensor, "n n"]:
        """Two independent Haar orthogonal matrices with independent lognormal singular values between them.

        Example:
            >>> GeneralLinear(3).contains(GeneralLinear(3).sample(torch.Generator().manual_seed(0)))
            True
        """
        U, V = (Orthogonal(self.n).sample(generator) for _ in range(2))
        return (U * POSITIVE.sample(generator, self.n, scale) @ V).to(dtype)

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        rows = A / A.norm(dim=1, keepdim=True)  # diag(1, 1e-20) is as invertible as the identity
        return bool(rows.isfinite().all() and torch.linalg.svdvals(rows)[-1] > tol)

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return M

    def _phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return torch.eye(self.n, dtype=A.dtype) if self.scalars.kind == "constant" else A


@dataclass(frozen=True)
class StabilizerOfOnes(MatrixGroup):
    """{A invertible : A·1 = 1}: the intertwiner group of κx + τ, κ and τ ≠ 0.

    Example:
        >>> StabilizerOfOnes(3).dimension, StabilizerOfOnes(3).contains(torch.eye(3))
        (6, True)
    """

    scalars: ScalarGroup = TRIVIAL

    @property
    def dimension(self) -> int:
        return self.n * (self.n - 1)

    @property
    def components(self) -> int:
        return min(self.n, 2)

    def sample(
        self, generator: torch.Generator, *, scale: float = 1.0, dtype: torch.dtype = torch.float64
    ) -> Float[Tensor, "n n"]:
        """[[1, r], [0, B]] in an orthonormal basis that starts with 1/√n; r Gaussian, B from GL(n−1).

        Example:
            >>> StabilizerOfOnes(3).sample(torch.Generator().manual_seed(0)).sum(1)
            tensor([1.0000, 1.0000, 1.0000], dtype=torch.float64)
        """
        block = torch.eye(self.n, dtype=torch.float64, device=generator.device)
        if self.n > 1:
            block[:1, 1:] = scale * gaussian(generator, 1, self.n - 1)
            block[1:, 1:] = GeneralLinear(self.n - 1).sample(generator, scale=scale)
        basis = torch.eye(self.n, dtype=torch.float64, device=generator.device)
        basis[:, 0] = 1
        basis = torch.linalg.qr(basis).Q
        return (basis @ block @ basis.T).to(dtype)

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        fixes = (A.sum(1) - 1).abs() <= tol * A.abs().sum(1).clamp(min=1)
        return bool(fixes.all()) and GeneralLinear(self.n).contains(A, tol=tol)

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return M + (1 - M.sum(1, keepdim=True)) / self.n
