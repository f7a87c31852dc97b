"""GL(n), all invertible matrices, and those that leave the vector of ones as it is: groups of affine σ."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_generator
from intertwine.groups.base import MatrixGroup
from intertwine.groups.matrices import gaussian, haar, mean_basis, rank, triangular
from intertwine.groups.scalar import NONZERO, POSITIVE, TRIVIAL, ScalarGroup


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


@dataclass(frozen=True)
class StabilizerOfOnes(MatrixGroup):
    """{A invertible : A·1 = 1}: the intertwiner group of κx + τ, κ and τ ≠ 0.

    Example:
        >>> StabilizerOfOnes(3).dimension, StabilizerOfOnes(3).contains(torch.eye(3))
        (6, True)
    """

    within = (GeneralLinear,)
    scalars: ScalarGroup = TRIVIAL

    @property
    def dimension(self) -> int:
        return self.n * (self.n - 1)

    @property
    def components(self) -> int:
        return min(self.n, 2)

    @property
    def symbol(self) -> str:
        return f"GL({self.n}), A1 = 1"

    def determined(self, width: int) -> bool:
        return width >= self.n - 1

    def _best(
        self, X: Float[Tensor, "n k"], Y: Float[Tensor, "n k"], rounding: float
    ) -> Float[Tensor, "n n"]:
        """Least squares for r and B of [[1, r], [0, B]], in the basis that starts with 1/√n."""
        block, basis = torch.eye(self.n, dtype=X.dtype), mean_basis(self.n)
        X, Y = basis.T @ X, basis.T @ Y
        if self.n > 1 and rank(Y[1:], rounding, of=Y) == self.n - 1:
            # in this basis elements are [[1, r], [0, B]]: first r, by least squares, then B
            block[:1, 1:] = torch.linalg.lstsq(Y[1:].T, (X[:1] - Y[:1]).T).solution.T
            block[1:, 1:] = GeneralLinear(self.n - 1)._best(X[1:], Y[1:], rounding)
        return basis @ block @ basis.T

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        """The part across the mean is brought to its normal form, and taken out of the mean's row."""
        # as in `_best`, elements are [[1, r], [0, B]] in the basis that starts with 1/√n
        block, basis = torch.eye(self.n, dtype=W.dtype), mean_basis(self.n)
        W = basis.T @ W
        if self.n > 1 and rank(W[1:], rounding, of=W) == self.n - 1:
            block[:1, 1:] = -torch.linalg.lstsq(W[1:].T, W[:1].T).solution.T
            block[1:, 1:] = GeneralLinear(self.n - 1)._normal(W[1:], rounding)
        return basis @ block @ basis.T

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        """[[1, r], [0, B]] in an orthonormal basis that starts with 1/√n; r Gaussian, B from GL(n−1)."""
        check_generator(generator)
        block = torch.eye(self.n, dtype=torch.float64, device=generator.device)
        if self.n > 1:
            block[:1, 1:] = scale * gaussian(generator, 1, self.n - 1)
            block[1:, 1:] = GeneralLinear(self.n - 1).sample(generator, scale=scale)
        basis = mean_basis(self.n).to(generator.device)
        return basis @ block @ basis.T

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        # relative to the terms of each sum, which may cancel
        fixes = (A.sum(1) - 1).abs() <= tol * A.abs().sum(1).clamp(min=1)
        return bool(fixes.all()) and GeneralLinear(self.n).contains(A, tol=tol)

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        # rows are independent: the nearest with sum 1 adds the same number to each entry of a row
        return M + (1 - M.sum(1, keepdim=True)) / self.n
