"""O(n), the orthogonal matrices, and those of them that commute with subtracting the mean."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear
from intertwine.groups.matrices import haar, mean_basis, triangular
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


@dataclass(frozen=True)
class CentredOrthogonal(MatrixGroup):
    """{Q orthogonal : Q·1 = ±1}: these matrices commute with a layer norm without gain and shift.

    Example:
        >>> Q = CentredOrthogonal(4).sample(torch.Generator().manual_seed(0))
        >>> CentredOrthogonal(4).contains(Q), CentredOrthogonal(4).dimension
        (True, 3)
    """

    within = (Orthogonal, GeneralLinear)
    self_dual = True
    scalars: ScalarGroup = SIGNS

    @property
    def dimension(self) -> int:
        return (self.n - 1) * (self.n - 2) // 2

    @property
    def components(self) -> int:
        return 2 if self.n == 1 else 4

    @property
    def symbol(self) -> str:
        return f"O({self.n}), Q1 = ±1"

    def determined(self, width: int) -> bool:
        return width >= max(self.n - 1, 1)  # of one unit, the sign

    def _best(
        self, X: Float[Tensor, "n k"], Y: Float[Tensor, "n k"], rounding: float
    ) -> Float[Tensor, "n n"]:
        return self._apart(Orthogonal._best, rounding, X, Y)

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        return self._apart(Orthogonal._normal, rounding, W)

    def _apart(
        self, solve: Callable[..., Float[Tensor, "m m"]], rounding: float, *Ws: Float[Tensor, "n k"]
    ) -> Float[Tensor, "n n"]:
        """Solve for an orthogonal matrix on the line of ones, and for one on its complement."""
        basis = mean_basis(self.n)
        # in this basis an element is ±1 on the mean and orthogonal on its complement
        parts = [slice(1), slice(1, None)][: self.n]
        moved = [basis.T @ W for W in Ws]
        blocks = [solve(Orthogonal(len(basis[k])), *(W[k] for W in moved), rounding) for k in parts]
        return basis @ torch.block_diag(*blocks) @ basis.T

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        """A fair sign of the mean and Haar measure on its orthogonal complement; no `scale`."""
        parts = [SIGNS.sample(generator, 1)[:, None]]
        if self.n > 1:
            parts.append(Orthogonal(self.n - 1).sample(generator))
        basis = mean_basis(self.n).to(generator.device)
        return basis @ torch.block_diag(*parts) @ basis.T

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        mean = A.sum(1)  # A·1, which is to be 1 or −1 in all places
        fixes = (mean - mean[0].sign()).abs() <= tol * self.n
        return bool(fixes.all()) and Orthogonal(self.n).contains(A, tol=tol)

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        basis = mean_basis(self.n)
        M = basis.T @ M @ basis
        # blocks of different directions add their squares, so each is brought to its own nearest element
        parts = [torch.where(M[:1, :1] < 0, -1.0, 1.0).to(M)]
        if self.n > 1:
            parts.append(Orthogonal(self.n - 1)._nearest(M[1:, 1:]))
        return basis @ torch.block_diag(*parts) @ basis.T
