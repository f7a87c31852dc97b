"""The result of a fit: an affine map, how much it leaves, and the layer that it is."""

from dataclasses import dataclass
from math import nan

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils import skip_init

from intertwine.alignment.channel_statistics import Statistics
from intertwine.checks import check_tensor
from intertwine.features import channel_axis


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x ↦ weight·x + bias, with the residual of its fit.

    Example:
        >>> LinearMap(2 * torch.eye(3))(torch.ones(3))
        tensor([2., 2., 2.])

    In formulas with features in rows, AM + 1bᵀ, M is weight.T. Of a map that was not fitted to anything
    residual and total are nan.
    """

    weight: Float[Tensor, "q p"]
    bias: Float[Tensor, " q"] | None = None
    residual: float = nan
    """‖AM + 1bᵀ − B‖², summed over rows and channels."""
    total: float = nan
    """The residual of the map 0; with a bias, of the best constant map."""

    @staticmethod
    def of(M: Float[Tensor, "p q"], statistics: Statistics, affine: bool) -> "LinearMap":
        """The map M, with the best bias if `affine`, and its residual on these statistics."""
        weight, p = M.T.to(statistics.mean).contiguous(), statistics.p
        bias = statistics.mean[p:] - weight @ statistics.mean[:p] if affine else None
        total = statistics.squares(centred=affine)[1].sum().item()
        return LinearMap(weight, bias, statistics.residual(weight, bias), total)

    @property
    def r2(self) -> float:
        """1 − residual/total: higher is better, 1 is exact; nan where the features are constant.

        Example:
            >>> LinearMap(torch.eye(1), residual=1.0, total=4.0).r2
            0.75

        Of a linear least-squares map this is R²_LR (csiszarik2021 Def. 6.1), of an affine one the usual R².
        With no more samples than channels it is 1 whatever the features: `score` judges it on others.
        """
        return 1 - self.residual / self.total if self.total else nan

    def __call__(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The image of x in x's dtype and on its device.

        Example:
            >>> mean = LinearMap(torch.full((1, 2), 0.5))
            >>> mean(torch.ones(7, 2)).shape, mean(torch.ones(7, 2, 4, 4)).shape
            (torch.Size([7, 1]), torch.Size([7, 1, 4, 4]))

        Features are (n, p), tokens (n, t, p), or feature maps (n, p, *space), of which every position is
        mapped, as a 1×1 convolution does.
        """
        check_tensor(x)
        if not x.is_floating_point():
            raise ValueError(f"Expected floating-point features, was given {x.dtype}: use .float().")
        channels, p = channel_axis(x), self.weight.shape[1]
        if not x.ndim or x.shape[channels] != p:
            raise ValueError(
                f"Expected features (n, {p}), tokens (n, t, {p}) or feature maps (n, {p}, *space), was given "
                f"{tuple(x.shape)}."
            )
        bias = None if self.bias is None else self.bias.to(x)
        return linear(x.movedim(channels, -1), self.weight.to(x), bias).movedim(-1, channels)

    def score(self, A: Tensor, B: Tensor) -> float:
        """`r2` on other features than the map was fitted to: higher is better, below 0 worse than none.

        Example:
            >>> A = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> LinearMap(torch.zeros(2, 2)).score(A, A)
            0.0
        """
        statistics, centred = Statistics.of(A, B), self.bias is not None
        total = statistics.squares(centred=centred)[1].sum().item()
        return LinearMap(self.weight, self.bias, statistics.residual(self.weight, self.bias), total).r2

    def as_module(self, *, convolution: bool = False) -> nn.Linear | nn.Conv2d:
        """A linear layer or 1×1 convolution, in torch's default dtype on the device of the weight.

        Example:
            >>> LinearMap(torch.eye(3)).as_module(convolution=True)
            Conv2d(3, 3, kernel_size=(1, 1), stride=(1, 1), bias=False)
        """
        q, p = self.weight.shape
        options = {"bias": self.bias is not None, "device": self.weight.device}
        kind, sizes = (nn.Conv2d, (p, q, 1)) if convolution else (nn.Linear, (p, q))
        layer = skip_init(kind, *sizes, **options)
        with torch.no_grad():
            layer.weight.copy_(self.weight.view_as(layer.weight))
            if self.bias is not None:
                layer.bias.copy_(self.bias)
        return layer
