"""Matrices with few entries, by a penalty on their sum."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import LinearMap, Statistics, lasso, least_squares
from intertwine.stitching.junction import Junction
from intertwine.stitching.maps.stitch import FromMatrix, Stitch, parameter


class Sparse(FromMatrix):
    """The lasso with the weight `alpha`; trained, every matrix with alpha·Σ|m_ij| added to the task loss.

    Example:
        >>> sparse = Sparse(torch.eye(3), alpha=0.1)
        >>> round(sparse.penalty().item(), 2), round(sparse.sparsity, 2)
        (0.3, 0.67)

    A training starts from least squares; its alpha and that of the lasso are not comparable
    (csiszarik2021 eq. 3, experiment 7).

    In evaluation mode entries below 10⁻⁴ are 0. The weight alpha is per image, as the cross-entropy is. The
    authors' code penalises the mean of all |m_ij|: its alpha is this one times pq.
    """

    threshold = 1e-4

    def __init__(
        self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None, *, alpha: float
    ) -> None:
        super().__init__(bias)
        self.matrix, self.alpha = parameter(weight), alpha

    @classmethod
    def fit(cls, statistics: Statistics, alpha: float, *, affine: bool = True) -> LinearMap:
        return lasso(statistics, alpha, affine=affine)

    @classmethod
    def start(
        cls,
        junction: Junction,
        generator: torch.Generator,
        first: LinearMap | None = None,
        *,
        affine: bool = True,
        **options: Any,
    ) -> Stitch:
        # not from the lasso: its alpha means something else
        first = first or least_squares(junction.statistics, affine=affine)
        return super().start(junction, generator, first, affine=affine, **options)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix if self.training else self.matrix * (self.matrix.abs() >= self.threshold)

    @property
    def sparsity(self) -> float:
        """The share of entries below the threshold."""
        return (self.matrix.abs() < self.threshold).double().mean().item()

    def penalty(self) -> Tensor:
        return self.alpha * self.matrix.abs().sum()
