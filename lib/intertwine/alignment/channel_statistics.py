"""The statistics of two sets of features that the closed forms need: a count, two means, a scatter matrix."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.features import channel_axis, check_tensor, rows

ROWS = 2**14  # at a time: in float64 they stay in a CPU's cache, which is twice as fast
CONSTANT = 1e-12


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

    @staticmethod
    def of(A: Tensor, B: Tensor) -> "Statistics":
        """The statistics of one batch.

        Example:
            >>> Statistics.of(torch.ones(5, 3, 4, 4), torch.ones(5, 2, 4, 4)).n
            80

        Args:
            A: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w), of any floating-point dtype;
                every token or position is a row.
            B: features (n, q), tokens or feature maps of the same inputs, with the same positions.

        Raises:
            ValueError: shapes that do not fit, no row, not floating-point, NaN or infinite.
        """
        _check(A, B)
        total = reduce(add, map(_block, *(rows(X.detach()).split(ROWS) for X in (A, B))))
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
        return Statistics(n, self.p, self.mean + step * (other.n / n), scatter)

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
        its mean: that is rounding.
        """
        if centred:
            varies = self.scatter.diagonal() > self.n * (CONSTANT * self.mean) ** 2
            S = self.scatter * varies.outer(varies)
        else:
            S = self.scatter + self.n * self.mean.outer(self.mean)
        return Products(S[: self.p, : self.p], S[: self.p, self.p :], S[self.p :, self.p :])

    def residual(self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None) -> float:
        """‖A·weightᵀ + bias − B‖², the sum of squares over rows and channels, ≥ 0.

        Example:
            >>> A = torch.randn(10, 3)
            >>> round(Statistics.of(A, A).residual(3 * torch.eye(3)) / A.square().sum().item(), 3)
            4.0

        Rounding leaves about 10⁻¹⁵ of ‖B‖². From other data than the map was fitted to, it is the test error.
        """
        K = torch.cat([weight, -torch.eye(len(weight)).to(weight)], 1).to(self.scatter)
        gap = K @ self.mean if bias is None else K @ self.mean + bias.to(self.mean)
        return ((K @ self.scatter * K).sum() + self.n * gap @ gap).clamp(min=0).item()


def statistics(batches: Iterable[tuple[Tensor, Tensor]]) -> Statistics:
    """The statistics of all pairs of batches, which are read once.

    Example:
        >>> A, B = torch.randn(100, 3), torch.randn(100, 2)
        >>> statistics(zip(A.split(30), B.split(30))).n
        100

    Batches are pairs of what two layers return for the same inputs, as `Statistics.of` takes them.
    """
    total = None
    for A, B in batches:
        batch = Statistics.of(A, B)
        total = batch if total is None else total + batch
    if total is None:
        raise ValueError("Expected at least one batch of features, was given none.")
    return total


def _block(A: Float[Tensor, "n p"], B: Float[Tensor, "n q"]) -> Statistics:
    both = torch.cat([A.double(), B.double()], 1)
    mean = both.mean(0)
    both -= mean
    return Statistics(len(both), A.shape[1], mean, both.T @ both)


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
