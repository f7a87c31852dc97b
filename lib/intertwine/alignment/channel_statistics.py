"""The statistics of two sets of features that the closed forms need: a count, two means, a scatter matrix."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.alignment.self_product import self_product
from intertwine.checks import check_tensor
from intertwine.devices import unit
from intertwine.features import channel_axis, rows

ROWS = 2**14  # at a time: in float64 they stay in a CPU's cache, which is twice as fast
CONSTANT = 1e-12  # a channel of float64 is constant if it deviates by less than this share of its mean


class Products(NamedTuple):
    """AᵀA, AᵀB and BᵀB."""

    AA: Float[Tensor, "p p"]
    AB: Float[Tensor, "p q"]
    BB: Float[Tensor, "q q"]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Count, means and scatter Σ(x − mean)(x − mean)ᵀ of the d = p + q channels of A (n×p) and B (n×q).

    Example:
        >>> A, B = torch.randn(10, 3), torch.randn(10, 2)
        >>> merged = Statistics.of(A[:4], B[:4]) + Statistics.of(A[4:], B[4:])
        >>> torch.allclose(merged.products().AB, (A.T @ B).double(), atol=1e-5)
        True

    All in float64, on the device of the features. `+` merges two data sets (Chan, Golub and LeVeque 1983). As
    nothing is squared before its mean is taken off, features of mean 10⁴ and deviation 1 keep their digits.
    """

    n: int
    p: int
    mean: Float[Tensor, " d"]
    scatter: Float[Tensor, "d d"]
    within: bool = True
    """Whether AᵀA and BᵀB are known, or their diagonals alone."""
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
        _check(A, B)
        blocks = zip(*(rows(X.detach()).split(ROWS) for X in (A, B)), strict=True)
        total = reduce(add, (_of_block(a, b, within) for a, b in blocks))
        if not total.scatter.isfinite().all():
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
        scatter = self.scatter + other.scatter + step.outer(step) * (self.n * other.n / n)
        within = self.within and other.within
        mean, rounding = self.mean + step * (other.n / n), max(self.rounding, other.rounding)
        return Statistics(n, self.p, mean, scatter, within, rounding)

    @property
    def widths(self) -> tuple[int, int]:
        """p and q."""
        return self.p, len(self.mean) - self.p

    def products(self, *, centred: bool = False) -> Products:
        """AᵀA, AᵀB and BᵀB, of A and B minus their means if `centred`.

        Example:
            >>> Statistics.of(torch.ones(4, 2), torch.rand(4, 1)).products(centred=True).AB
            tensor([[0.],
                    [0.]], dtype=torch.float64)

        A channel counts as constant, and is 0 when centred, if its standard deviation is less than 10⁻¹² of
        its mean, or than ε of the features' dtype: that is rounding.

        Raises:
            ValueError: statistics that were collected with within=False.
        """
        if not self.within:
            raise ValueError(
                "Expected statistics with the products within A and within B, which this map needs, was "
                "given some without: collect them with within=True."
            )
        everything, p = slice(None), self.p
        S = self._block(everything, everything, centred)
        return Products(S[:p, :p], S[:p, p:], S[p:, p:])

    def crossed(self, *, centred: bool = False) -> tuple[Float[Tensor, " p"], Tensor, Float[Tensor, " q"]]:
        """The diagonal of AᵀA, AᵀB, and the diagonal of BᵀB, as in `products`.

        Example:
            >>> one, other = torch.ones(4, 2), torch.ones(4, 1)
            >>> Statistics.of(one, other, within=False).crossed()[0]
            tensor([4., 4.], dtype=torch.float64)
        """
        squares, p = self.scatter.diagonal(), self.p
        squares = squares * self._varies if centred else squares + self.n * self.mean**2
        return squares[:p], self._block(slice(p), slice(p, None), centred), squares[p:]

    def noise(self, *, centred: bool = False) -> Float[Tensor, " p"]:
        """The share of the diagonal of AᵀA, as in `products`, that the rounding of A's entries may be.

        Example:
            >>> A = 1000 + torch.randn(400, 1)
            >>> noise = Statistics.of(A, A).noise(centred=True).item() ** 0.5
            >>> bool(noise < 1.5e-4)  # of the deviation, which is 1
            True
        """
        varying = self.scatter.diagonal()[: self.p]
        squares = varying + self.n * self.mean[: self.p] ** 2
        varying = varying * self._varies[: self.p] if centred else squares
        return torch.where(varying > 0, self.rounding**2 * squares / varying, 0)

    @property
    def _varies(self) -> Bool[Tensor, " d"]:
        return self.scatter.diagonal() > self.n * (max(CONSTANT, self.rounding) * self.mean) ** 2

    def _block(self, rows: slice, columns: slice, centred: bool) -> Float[Tensor, "r c"]:
        S = self.scatter[rows, columns]
        if centred:
            return S * self._varies[rows].outer(self._varies[columns])
        return S + self.n * self.mean[rows].outer(self.mean[columns])

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

        Rounding leaves about 10⁻¹⁵ of ‖B‖². From other data than the map was fitted to, it is the test error.
        Statistics collected with within=False give it for maps with a diagonal MMᵀ.
        """
        W, S, p = weight.to(self.scatter), self.scatter, self.p
        # of the means; n times its square is what the centred sums leave out
        gap = W @ self.mean[:p] - self.mean[p:] + (0 if bias is None else bias.to(self.mean))
        moved = W @ S[:p, :p] if self.within else W * S.diagonal()[:p]
        # tr(W S_AA Wᵀ − 2 W S_AB + S_BB) by differences that are small for a good fit: digits stay
        left = (W * (moved - S[:p, p:].T)).sum() + (S.diagonal()[p:] - (W * S[:p, p:].T).sum(1)).sum()
        return (left + self.n * gap @ gap).clamp(min=0).item()


def statistics(batches: Iterable[tuple[Tensor, Tensor]]) -> Statistics:
    """The statistics of all pairs of batches, which are read once.

    Example:
        >>> A, B = torch.randn(100, 3), torch.randn(100, 2)
        >>> statistics(zip(A.split(30), B.split(30))).n
        100

    Batches are pairs of what two layers return for the same inputs, as `Statistics.of` takes them.
    """
    parts = (Statistics.of(*_two(batch)) for batch in batches)
    if (first := next(parts, None)) is None:
        raise ValueError("Expected at least one batch of features, was given none.")
    return reduce(add, parts, first)


def _two(batch: object) -> tuple[Tensor, Tensor]:
    if not (isinstance(batch, tuple | list) and len(batch) == 2):
        raise ValueError(
            f"Expected batches that are pairs of features (A, B), was given a {type(batch).__name__}: "
            f"zip(A.split(1000), B.split(1000)) makes them."
        )
    A, B = batch
    return A, B


def _of_block(A: Float[Tensor, "n p"], B: Float[Tensor, "n q"], within: bool) -> Statistics:
    both, p = torch.cat([A.double(), B.double()], 1), A.shape[1]
    mean = both.mean(0)
    both -= mean
    if within:
        return Statistics(len(both), p, mean, self_product(both.T), rounding=unit([A, B]))
    scatter = torch.diag(both.square().sum(0))
    torch.mm(both[:, :p].T, both[:, p:], out=scatter[:p, p:])
    return Statistics(len(both), p, mean, scatter, within, unit([A, B]))


def _positions(X: Tensor) -> torch.Size:
    return X.movedim(channel_axis(X), 1).shape[2:]


def _check(A: Tensor, B: Tensor) -> None:
    for X in (A, B):
        check_tensor(X)
    shapes = f"{tuple(A.shape)} and {tuple(B.shape)}"
    if not (A.is_floating_point() and B.is_floating_point()):
        raise ValueError(f"Expected floating-point features, was given {A.dtype} and {B.dtype}.")
    if min(A.ndim, B.ndim) < 2 or _positions(A) != _positions(B):
        raise ValueError(
            f"Expected features (n, p) and (n, q), tokens (n, t, p) and (n, t, q), or feature maps (n, p, "
            f"*space) and (n, q, *space), was given {shapes}: resample one to the size of the other."
        )
    if len(A) != len(B):
        raise ValueError(f"Expected features of the same inputs, was given {len(A)} and {len(B)} of them.")
    if not A.numel() or not B.numel():
        raise ValueError(f"Expected at least one row and one channel, was given {shapes}.")
