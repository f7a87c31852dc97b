"""The invertible matrices that leave the vector of ones as it is."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_generator
from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear
from intertwine.groups.matrices import gaussian, mean_basis, rank
from intertwine.groups.scalar import TRIVIAL, ScalarGroup


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
        if self.n > 1 and rank(Y[1:], rounding) == self.n - 1:
            # in this basis elements are [[1, r], [0, B]]: first r, by least squares, then B
            block[:1, 1:] = torch.linalg.lstsq(Y[1:].T, (X[:1] - Y[:1]).T).solution.T
            block[1:, 1:] = GeneralLinear(self.n - 1)._best(X[1:], Y[1:], rounding)
        return basis @ block @ basis.T

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        """The part across the mean is brought to its normal form, and taken out of the mean's row."""
        # as in `_best`, elements are [[1, r], [0, B]] in the basis that starts with 1/√n
        block, basis = torch.eye(self.n, dtype=W.dtype), mean_basis(self.n)
        W = basis.T @ W
        if self.n > 1 and rank(W[1:], rounding) == self.n - 1:
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
