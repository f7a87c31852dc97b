"""Every matrix, the largest of the families."""

from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import LinearMap, Statistics, least_squares
from intertwine.stitching.maps.stitch import FromMatrix, parameter


class Full(FromMatrix):
    """Every matrix, and with a bias every affine 1×1 convolution, from least squares on (csiszarik2021).

    Example:
        >>> import torch
        >>> Full(2 * torch.eye(3))(torch.ones(3))
        tensor([2., 2., 2.], grad_fn=...)
    """

    def __init__(self, weight: Float[Tensor, "q p"], bias: Float[Tensor, " q"] | None = None) -> None:
        super().__init__(bias)
        self.matrix = parameter(weight)

    @classmethod
    def fit(cls, statistics: Statistics, *, affine: bool = True) -> LinearMap:
        return least_squares(statistics, affine=affine)

    @property
    def weight(self) -> Float[Tensor, "q p"]:
        return self.matrix
