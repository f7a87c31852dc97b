"""GL(n), all invertible matrices."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.orthogonal import Orthogonal
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

    def _sample(self, generator: torch.Generator, scale: float) -> Float[Tensor, "n n"]:
        """Two independent Haar orthogonal matrices, with lognormal singular values between them."""
        U, V = (Orthogonal(self.n).sample(generator) for _ in range(2))
        return U * POSITIVE.sample(generator, self.n, scale) @ V

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        rows = A / A.norm(dim=1, keepdim=True)  # diag(1, 1e-20) is as invertible as the identity
        return bool(rows.isfinite().all() and torch.linalg.svdvals(rows)[-1] > tol)

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return M

    def _phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return torch.eye(self.n, dtype=A.dtype) if self.scalars.kind == "constant" else A
