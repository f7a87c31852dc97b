"""Matrices of low rank."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import LinearMap, Statistics, reduced_rank
from intertwine.alignment.regression import check_rank
from intertwine.stitching.maps.orthogonal import random_isometry
from intertwine.stitching.maps.stitch import FromMatrix, parameter


class LowRank(FromMatrix):
    """Matrices of rank at most `rank`, as a product of two, from reduced-rank regression on.

    Example:
        >>> int(torch.linalg.matrix_rank(LowRank(torch.randn(4, 5), rank=2).weight))
        2

    Of a first matrix it takes the best approximation.
    """

    def __init__(
        self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None, *, rank: int
    ) -> None:
        super().__init__(bias)
        check_rank(rank, weight.shape)
        U, S, Vh = torch.linalg.svd(weight.double(), full_matrices=False)
        root = S[:rank].sqrt()  # factors of one size, so that one rate suits both
        self.up, self.down = parameter(U[:, :rank] * root), parameter(root[:, None] * Vh[:rank])

    @classmethod
    def fit(cls, statistics: Statistics, rank: int, *, affine: bool = True) -> LinearMap:
        return reduced_rank(statistics, rank, affine=affine)

    @classmethod
    def draw(cls, widths: tuple[int, int], generator: torch.Generator, **options: Any) -> LinearMap:
        """A product of two random isometries (csiszarik2021)."""
        (p, q), rank = widths, options["rank"]
        check_rank(rank, widths)
        up, down = (random_isometry(shape, generator) for shape in ((q, rank), (rank, p)))
        return LinearMap(up @ down)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.up @ self.down
