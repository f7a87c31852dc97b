"""O(n), the orthogonal matrices."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear
from intertwine.groups.matrices import haar, triangular
from intertwine.groups.scalar import SIGNS, ScalarGroup


@dataclass(frozen=True)
class Orthogonal(MatrixGroup):
    """O(n), the linear maps that commute with RMSNorm without gain.

    Example:
        >>> Orthogonal(3).dimension, Orthogonal(3).components
        (3, 2)
    """

    within = (GeneralLinear,)
    self_dual = True
    components = 2
    scalars: ScalarGroup = SIGNS

    @property
    def dimension(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def symbol(self) -> str:
        return f"O({self.n})"

    def determined(self, width: int) -> bool:
        return width >= self.n

    def _best(
        self, X: Float[Tensor, "n k"], Y: Float[Tensor, "n k"], rounding: float
    ) -> Float[Tensor, "n n"]:
        """Procrustes."""
        U, S, Vh = torch.linalg.svd(X @ Y.T)
        # a singular value counts where it exceeds the rounding of the products: that of their sums in
        # float64, or of both factors
        known = int((max(1e-13 * self.n, (4 * rounding) ** 2) * S[:1] < S).sum())
        if known < self.n - 1:
            return torch.eye(self.n, dtype=X.dtype)
        # X and Y leave the sign of the last direction open: that which is nearer to the identity
        if known < self.n and U[:, -1] @ Vh[-1] < 0:
            Vh[-1] *= -1
        return U @ Vh

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        """Products with a fixed matrix become triangular."""
        found = triangular(W, rounding)
        return torch.eye(self.n, dtype=W.dtype) if found is None else found

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        """Haar measure; no `scale`."""
        return haar(generator, self.n)

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        return bool(((A.T @ A - torch.eye(self.n)).abs() <= tol).all())

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        U, _, Vh = torch.linalg.svd(M)
        return U @ Vh
