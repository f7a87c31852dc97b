"""The result of a fit: an affine map, how much it leaves, and the layer that it is."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils import skip_init

from intertwine.alignment.streaming import Statistics
from intertwine.features import channel_axis


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x ↦ weight·x + bias, with what it left of the features it was fitted to.

    Example:
        >>> double = LinearMap(2 * torch.eye(3), None, residual=1.0, total=4.0)
        >>> double(torch.ones(3)), double.r2
        (tensor([2., 2., 2.]), 0.75)

    In formulas with features in rows, AM + 1bᵀ, M is weight.T.
    """

    weight: Float[Tensor, "q p"]
    bias: Float[Tensor, " q"] | None
    residual: float
    """‖AM + 1bᵀ − B‖², summed over rows and channels."""
    total: float
    """The residual of the map 0; with a bias, of the best constant map."""

    @staticmethod
    def of(M: Float[Tensor, "p q"], statistics: Statistics, affine: bool) -> "LinearMap":
        """The map M, with the best bias if `affine`, and what it leaves of these statistics."""
        weight, p = M.T.to(statistics.mean).contiguous(), statistics.p
        bias = statistics.mean[p:] - weight @ statistics.mean[:p] if affine else None
        total = statistics.products(centred=affine).BB.trace().item()
        return LinearMap(weight, bias, statistics.residual(weight, bias), total)

    @property
    def r2(self) -> float:
        """1 − residual/total: higher is better, 1 is exact; nan where there was nothing to explain.

        Example:
            >>> LinearMap(torch.eye(1), None, residual=0.0, total=0.0).r2
            nan

        Of a linear least-squares map this is R²_LR (csiszarik2021 Def. 6.1), of an affine one the usual R².
        """
        return 1 - self.residual / self.total if self.total else float("nan")

    def __call__(self, x: Float[Tensor, "..."], *, spatial: bool = False) -> Float[Tensor, "..."]:
        """The image of x in x's dtype and on its device.

        Example:
            >>> mean = LinearMap(torch.full((1, 2), 0.5), None, residual=0.0, total=1.0)
            >>> mean(torch.ones(7, 2)).shape, mean(torch.ones(7, 2, 4, 4), spatial=True).shape
            (torch.Size([7, 1]), torch.Size([7, 1, 4, 4]))

        Args:
            x: (..., p), or feature maps (n, p, *space) if `spatial`.
            spatial: whether to map every position, as a 1×1 convolution does; of tokens (n, t, p), each.

        Raises:
            ValueError: not p channels where they should be.
        """
        channels = channel_axis(x) if spatial else -1
        p = self.weight.shape[1]
        if x.ndim < 1 + spatial or x.shape[channels] != p:
            expected = f"feature maps (n, {p}, *space)" if spatial else f"features (..., {p})"
            raise ValueError(f"Expected {expected}, was given {tuple(x.shape)}; spatial={spatial}.")
        bias = None if self.bias is None else self.bias.to(x)
        return linear(x.movedim(channels, -1), self.weight.to(x), bias).movedim(-1, channels)

    def as_module(self, *, spatial: bool = False) -> nn.Linear | nn.Conv2d:
        """A layer of its own, in torch's default dtype on the device of the weight, ready to be trained.

        Example:
            >>> LinearMap(torch.eye(3), None, residual=0.0, total=1.0).as_module(spatial=True)
            Conv2d(3, 3, kernel_size=(1, 1), stride=(1, 1), bias=False)

        Args:
            spatial: whether as a 1×1 convolution.
        """
        q, p = self.weight.shape
        options = {"bias": self.bias is not None, "device": self.weight.device}
        layer = skip_init(nn.Conv2d, p, q, 1, **options) if spatial else skip_init(nn.Linear, p, q, **options)
        with torch.no_grad():
            layer.weight.copy_(self.weight.view_as(layer.weight))
            if self.bias is not None:
                layer.bias.copy_(self.bias)
        return layer
