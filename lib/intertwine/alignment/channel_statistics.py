"""The statistics of two sets of features that the closed forms need: a count, means, a root of the scatter.

The scatter matrix S of centred features X is XᵀX. To sum S itself would square the condition number κ of the
features: from κ = 10⁸ on, float64 could not tell a direction from rounding. So the triangular factor of a QR
decomposition is kept, a root R with RᵀR = S: of the same size, merged by one more decomposition, and as exact
as the features are.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.alignment.pairs import check_pair, pair
from intertwine.alignment.products import Crossing, crossed, rooted, self_product, triangle
from intertwine.devices import rounding_unit
from intertwine.features import rows

CONSTANT = 1e-12  # a channel of float64 is constant if it deviates by less than this share of its mean


class Products(NamedTuple):
    """AᵀA, AᵀB and BᵀB."""

    AA: Float[Tensor, "p p"]
    AB: Float[Tensor, "p q"]
    BB: Float[Tensor, "q q"]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Count, means and a root of the scatter Σ(x − mean)(x − mean)ᵀ of the d channels of A (n×p) and B (n×q).

    Example:
        >>> A, B = torch.randn(10, 3), torch.randn(10, 2)
        >>> merged = Statistics.of(A[:4], B[:4]) + Statistics.of(A[4:], B[4:])
        >>> torch.allclose(merged.products().AB, (A.T @ B).double(), atol=1e-5)
        True

    All in float64, on the device of the features; d = p + q. `+` merges two data sets (Chan, Golub and
    LeVeque 1983, by roots). As large means are taken off first, features of mean 10⁴ and deviation 1 keep
    their digits.
    """

    n: int
    p: int
    mean: Float[Tensor, " d"]
    root: Float[Tensor, "r d"] | None
    """R, upper triangular, with RᵀR the scatter; its r rows are at most n and at most d."""
    crossing: Crossing | None = None
    """Where there is no root, all that is known, of A and B minus their means."""
    rounding: float = torch.finfo(torch.float64).eps
    """ε of the features' dtype: each of their entries is known up to this share."""

    @staticmethod
    def of(A: Tensor, B: Tensor, *, within: bool = True) -> "Statistics":
        """The statistics of one batch.

        Example:
            >>> Statistics.of(torch.ones(5, 3, 4, 4), torch.ones(5, 2, 4, 4)).n
            80

        Args:
            A: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w), of any floating-point dtype;
                every token or position is a row.
            B: features (n, q), tokens or feature maps of the same inputs, with the same positions.
            within: False leaves out AᵀA and BᵀB but for their diagonals, which saves more than half of the
                time; that is enough for maps with a diagonal MMᵀ: orthogonal ones, permutations with scalars.

        Raises:
            ValueError: shapes that do not fit, no row, not floating-point, NaN or infinite.
        """
        check_pair(A, B)
        A, B = (rows(X.detach()) for X in (A, B))
        mean, root, crossing = rooted(A, B) if within else crossed(A, B)
        total = Statistics(len(A), A.shape[1], mean, root, crossing, rounding_unit([A, B]))
        # a sum is finite only if all its terms are; squares, as products of huge numbers overflow later
        if not math.isfinite(total._squares.sum().item()):
            raise ValueError(
                "Expected finite features, was given NaN, infinite or huge ones: use float32 or less."
            )
        return total

    def __add__(self, other: "Statistics") -> "Statistics":
        if self.widths != other.widths:
            (p, q), given = self.widths, other.widths
            raise ValueError(f"Expected features of widths {p} and {q}, was given {given[0]} and {given[1]}.")
        n = self.n + other.n
        step = other.mean - self.mean
        mean, rounding = self.mean + step * (other.n / n), max(self.rounding, other.rounding)
        # both means differ from the common one, which adds one row to the centred ones, or its square
        apart = step * (self.n * other.n / n) ** 0.5
        if self.root is not None and other.root is not None:
            return Statistics(n, self.p, mean, triangle(self.root, other.root, apart), rounding=rounding)
        AB, p = self._AB + other._AB, self.p
        crossing = Crossing(AB.addr_(apart[:p], apart[p:]), self._squares + other._squares + apart**2)
        return Statistics(n, p, mean, None, crossing, rounding)

    @property
    def widths(self) -> tuple[int, int]:
        """p and q."""
        return self.p, len(self.mean) - self.p

    @cached_property
    def _AB(self) -> Float[Tensor, "p q"]:
        if self.root is None:
            assert self.crossing is not None
            return self.crossing.AB
        # both are triangular together, so that A is 0 in the rows past the p-th
        return self.root[: self.p, : self.p].T @ self.root[: self.p, self.p :]

    @cached_property
    def _squares(self) -> Float[Tensor, " d"]:
        if self.root is None:
            assert self.crossing is not None
            return self.crossing.squares
        return self.root.square().sum(0)

    def roots(self, *, centred: bool = False) -> tuple[Float[Tensor, "r p"], Float[Tensor, "r q"]]:
        """Two matrices with the products of A and B, minus their means if `centred`, of at most p + q rows.

        Example:
            >>> A, B = torch.randn(50, 3), torch.randn(50, 2)
            >>> one, other = Statistics.of(A, B).roots()
            >>> one.shape, torch.allclose(one.T @ other, (A.T @ B).double(), atol=1e-4)
            (torch.Size([5, 3]), True)

        Together they are upper triangular. Constant channels are 0 when centred, as in `products`.

        Raises:
            ValueError: statistics that were collected with within=False.
        """
        if self.root is None:
            raise ValueError(
                "Expected statistics with the products within A and within B, which this map needs, was "
                "given some without: collect them with within=True."
            )
        both = self.root * self._varies if centred else triangle(self.root, self.mean * self.n**0.5)
        return both[:, : self.p], both[:, self.p :]

    def products(self, *, centred: bool = False) -> Products:
        """AᵀA, AᵀB and BᵀB, of A and B minus their means if `centred`.

        Example:
            >>> moments = Statistics.of(torch.ones(4, 2), torch.rand(4, 1))
            >>> moments.products(centred=True).AB
            tensor([[0.],
                    [0.]], dtype=torch.float64)

        A channel counts as constant, and is 0 when centred, if its standard deviation is less than 10⁻¹² of
        its mean, or than ε of the features' dtype: that is rounding.

        Raises:
            ValueError: statistics that were collected with within=False.
        """
        A, B = self.roots(centred=centred)
        return Products(self_product(A.T), A.T @ B, self_product(B.T))

    def crossed(self, *, centred: bool = False) -> tuple[Float[Tensor, " p"], Tensor, Float[Tensor, " q"]]:
        """The diagonal of AᵀA, AᵀB, and the diagonal of BᵀB, as in `products`.

        Example:
            >>> one, other = torch.ones(4, 2), torch.ones(4, 1)
            >>> Statistics.of(one, other, within=False).crossed()[0]
            tensor([4., 4.], dtype=torch.float64)
        """
        (of_A, of_B), AB, p, mean = self.squares(centred=centred), self._AB, self.p, self.mean
        if not centred:
            AB = AB.addr(mean[:p], mean[p:], alpha=self.n)
        elif not self._varies.all():
            AB = AB * self._varies[:p].outer(self._varies[p:])
        return of_A, AB, of_B

    def squares(self, *, centred: bool = False) -> tuple[Float[Tensor, " p"], Float[Tensor, " q"]]:
        """The diagonals of AᵀA and BᵀB, as in `products`: the squares of every channel, summed over the rows.

        Example:
            >>> Statistics.of(torch.ones(4, 2), torch.ones(4, 1)).squares()[0]
            tensor([4., 4.], dtype=torch.float64)
        """
        squares = self._squares * self._varies if centred else self._squares + self.n * self.mean.square()
        return squares[: self.p], squares[self.p :]

    def noise(self, *, centred: bool = False) -> Float[Tensor, " p"]:
        """The share of the diagonal of AᵀA, as in `products`, that the rounding of A's entries may be.

        Example:
            >>> A = 1000 + torch.randn(400, 1)
            >>> noise = Statistics.of(A, A).noise(centred=True).item() ** 0.5
            >>> bool(noise < 1.5e-4)  # of the deviation, which is 1
            True
        """
        squares, varying = self.squares()[0], self.squares(centred=centred)[0]
        return torch.where(varying > 0, self.rounding**2 * squares / varying, 0)

    @cached_property
    def _varies(self) -> Bool[Tensor, " d"]:
        return self._squares > self.n * (max(CONSTANT, self.rounding) * self.mean).square()

    def residual(self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None) -> float:
        """‖A·weightᵀ + bias − B‖², the sum of squares over rows and channels, ≥ 0.

        Example:
            >>> A = torch.randn(10, 3)
            >>> round(
            ...     Statistics.of(A, A).residual(3 * torch.eye(3))
            ...     / A.square().sum().item(),
            ...     3,
            ... )
            4.0

        From other data than the map was fitted to, it is the test error. Statistics collected with
        within=False give it for maps with a diagonal MMᵀ, up to 10⁻¹⁵ of ‖B‖².
        """
        W, p = weight.to(self.mean), self.p
        # of the means; n times its square is what the centred sums leave out
        gap = W @ self.mean[:p] - self.mean[p:] + (0 if bias is None else bias.to(self.mean))
        if self.root is not None:
            left = (self.root[:, :p] @ W.T - self.root[:, p:]).square().sum()
        else:
            # tr(W S_AA Wᵀ − 2 W S_AB + S_BB) by differences that are small for a good fit: digits stay
            squares, shared = self._squares, (W * self._AB.T).sum(1)
            left = (W.square() @ squares[:p] - shared).sum() + (squares[p:] - shared).sum()
        return (left + self.n * gap @ gap).clamp(min=0).item()


def statistics(batches: Iterable[tuple[Tensor, Tensor]]) -> Statistics:
    """The statistics of all pairs of batches, which are read once.

    Example:
        >>> A, B = torch.randn(100, 3), torch.randn(100, 2)
        >>> statistics(zip(A.split(30), B.split(30))).n
        100

    Args:
        batches: pairs of what two layers return for the same inputs, as `Statistics.of` takes them.
    """
    parts = (Statistics.of(*pair(batch)) for batch in batches)
    if (first := next(parts, None)) is None:
        raise ValueError("Expected at least one batch of features, was given none.")
    return reduce(add, parts, first)
