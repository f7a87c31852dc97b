"""GL(n), all invertible matrices."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.matrices import haar, rank, triangular
from intertwine.groups.scalar import NONZERO, POSITIVE, ScalarGroup


@dataclass(frozen=True)
class GeneralLinear(MatrixGroup):
    """GL(n): the intertwiner group of linear maps κx, κ ≠ 0, and of constants.

    Example:
        >>> GeneralLinear(3).dimension, GeneralLinear(3).components
        (9, 2)
    """

    components = 2
    scalars: ScalarGroup = NONZERO

    @property
    def dimension(self) -> int:
        return self.n**2

    @property
    def symbol(self) -> str:
        return f"GL({self.n})"

    def determined(self, width: int) -> bool:
        return width >= self.n

    def _best(
        self, X: Float[Tensor, "n k"], Y: Float[Tensor, "n k"], rounding: float
    ) -> Float[Tensor, "n n"]:
        """Least squares."""
        A = torch.linalg.lstsq(Y.T, X.T).solution
        # where Y or the solution is singular, A is not determined, or is no element
        full = self.n == rank(Y, rounding) == rank(A, rounding)
        return A.T if full else torch.eye(self.n, dtype=X.dtype)

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        """Rows become orthonormal, and then as for O(n)."""
        # W = RᵀQᵀ: R⁻ᵀ makes the rows orthonormal, and a rotation fixes what is left
        Q, R = torch.linalg.qr(W.T)
        if triangular(W, rounding) is None or (turn := triangular(Q.T, rounding)) is None:
            return torch.eye(self.n, dtype=W.dtype)
        return turn @ torch.linalg.inv(R).T

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        """Two independent Haar orthogonal matrices, with lognormal singular values between them."""
        U, V = (haar(generator, self.n) for _ in range(2))
        return U * POSITIVE.sample(generator, self.n, scale) @ V

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        rows = A / A.norm(dim=1, keepdim=True)  # diag(1, 1e-20) is as invertible as the identity
        return bool(rows.isfinite().all() and torch.linalg.svdvals(rows)[-1] > tol)

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return M

    def _phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return torch.eye(self.n, dtype=A.dtype) if self.scalars.kind == "constant" else A
