"""Monomial matrices PD: a permutation times scalars from a subgroup of R^*."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.checks import check_generator
from intertwine.groups.activations import as_activation
from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear
from intertwine.groups.matrices import generic
from intertwine.groups.probe import Probe
from intertwine.groups.scalar import NONZERO, POSITIVE, SIGNS, TRIVIAL


@dataclass(frozen=True)
class Monomial(MatrixGroup):
    """{PD : P a permutation matrix, every d_i in `scalars`}: G_σ for every σ that is not affine (n ≥ 2).

    Example:
        >>> from intertwine.groups.scalar import POSITIVE
        >>> Monomial(2, POSITIVE).contains(torch.tensor([[0.0, 2.0], [0.5, 0.0]]))
        True
    """

    within = (GeneralLinear,)

    @property
    def dimension(self) -> int:
        return self.n if self.scalars.continuous else 0

    @property
    def components(self) -> int | float:
        if self.scalars.kind == "discrete":
            return math.inf
        return math.factorial(self.n) * 2 ** (self.n * self.scalars.has_minus_one)

    @property
    def symbol(self) -> str:
        scalars = self.scalars.elements
        return f"Σ_{self.n}" if scalars == "{1}" else f"Σ_{self.n} ⋉ ({scalars})^{self.n}"

    def determined(self, width: int) -> bool:
        if self.n == 1:  # a scalar, which a number tells
            return width > 0 or self.scalars == TRIVIAL
        return width > self.scalars.continuous  # one column has rows of one direction

    def _best(
        self, X: Float[Tensor, "n k"], Y: Float[Tensor, "n k"], rounding: float
    ) -> Float[Tensor, "n n"]:
        """The assignment of rows with the least squares, each pair with its best scalar."""
        from scipy.optimize import linear_sum_assignment  # slow to import

        size, inner = Y.square().sum(1), X @ Y.T
        best = self.scalars.nearest(torch.where(size > 0, inner / size, 1.0))
        best = torch.where(best == 0, 1.0, best)  # 0 is no scalar, but the limit of ever nearer ones
        # ‖x_i − d y_j‖² without ‖x_i‖², which each row has whatever its partner
        columns = torch.as_tensor(linear_sum_assignment(best**2 * size - 2 * best * inner)[1])
        return _matrix(columns, best[torch.arange(self.n), columns])

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        """A generic sum of each row gets size 1, and is positive, as far as scalars do it; another sorts."""
        # sums along two generic directions: the scalars come from the first, the order from the second
        sums = W @ generic(W.shape[1], 2)
        scalars = self.scalars.normal(sums[:, 0])
        order = (scalars * sums[:, 1]).argsort()
        return _matrix(order, scalars[order])

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        """A uniform permutation times independent scalars, as `ScalarGroup.sample` draws them."""
        check_generator(generator)
        columns = torch.randperm(self.n, generator=generator, device=generator.device)
        return _matrix(columns, self.scalars.sample(generator, self.n, scale))

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        columns, scalars, rest = _split(A)
        return (
            len(columns.unique()) == self.n
            and bool((rest.abs() <= tol * scalars.abs()[:, None]).all())
            and self.scalars.contains(scalars, tol=tol)
        )

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        from scipy.optimize import linear_sum_assignment  # slow to import

        entries = self.scalars.nearest(M)
        # the cost of matching (i, j), minus that of a zero matrix, ‖M‖²
        columns = torch.as_tensor(linear_sum_assignment((M - entries) ** 2 - M**2)[1])
        return _matrix(columns, entries[torch.arange(self.n), columns])

    def _phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        if self.activation is None:
            return A
        if self.lemma_applies:
            at_identity = self.activation(torch.eye(self.n))
            return torch.linalg.solve(at_identity, self.activation(A), left=False)
        columns, scalars, _ = _split(A)
        return _matrix(columns, Probe.of(self.activation).multiplier(scalars))


def _matrix(columns: Int[Tensor, " n"], scalars: Float[Tensor, " n"]) -> Float[Tensor, "n n"]:
    """The matrix with entry scalars[i] at (i, columns[i])."""
    zeros = scalars.new_zeros(len(scalars), len(scalars))
    return zeros.scatter(1, columns[:, None], scalars[:, None])


def _split(A: Float[Tensor, "n n"]) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"], Float[Tensor, "n n"]]:
    """The column and value of the largest entry of each row, and the matrix without those entries."""
    columns = A.abs().argmax(1, keepdim=True)
    return columns[:, 0], A.gather(1, columns)[:, 0], A.scatter(1, columns, 0)


def Permutations(n: int) -> Monomial:
    """Σ_n, the permutation matrices: the intertwiner group of GELU, sigmoid and most others.

    Example:
        >>> Permutations(4).components
        24

    Args:
        n: rows and columns of the matrices.
    """
    return Monomial(n, TRIVIAL)


def SignedPermutations(n: int) -> Monomial:
    """{PD : d_i = ±1}, the symmetries of the hypercube.

    Example:
        >>> SignedPermutations(3).components
        48

    Args:
        n: rows and columns of the matrices.
    """
    return Monomial(n, SIGNS)


def GReLU(n: int) -> Monomial:
    """{PD : d_i > 0}, the intertwiner group of ReLU (godfrey2022 Table 1), with φ(A) = A for its elements.

    Example:
        >>> GReLU(3).dimension, GReLU(3).components
        (3, 6)

    Args:
        n: rows and columns of the matrices.
    """
    return Monomial(n, POSITIVE, as_activation("ReLU"))  # `intertwining_error` tests σ outside the group, too


def NonzeroMonomial(n: int) -> Monomial:
    """{PD : d_i ≠ 0}, all monomial matrices.

    Example:
        >>> NonzeroMonomial(3).dimension, NonzeroMonomial(3).components
        (3, 48)

    Args:
        n: rows and columns of the matrices.
    """
    return Monomial(n, NONZERO)
