"""O(n), the orthogonal matrices."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.scalar import SIGNS, ScalarGroup, gaussian


@dataclass(frozen=True)
class Orthogonal(MatrixGroup):
    """O(n), the linear maps that commute with RMSNorm without gain.

    Example:
        >>> Orthogonal(3).dimension, Orthogonal(3).components
        (3, 2)
    """

    components = 2
    scalars: ScalarGroup = SIGNS

    @property
    def dimension(self) -> int:
        return self.n * (self.n - 1) // 2

    def _sample(self, generator: torch.Generator, scale: float) -> Float[Tensor, "n n"]:
        """Haar measure, by QR of a Gaussian matrix with the signs of R's diagonal moved into Q."""
        Q, R = torch.linalg.qr(gaussian(generator, self.n, self.n))
        return Q * R.diagonal().sign()

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        return bool(((A.T @ A - torch.eye(self.n)).abs() <= tol).all())

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        U, _, Vh = torch.linalg.svd(M)
        return U @ Vh
