"""How far apart rounding leaves numbers that are meant to be equal."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def unit(tensors: Iterable[Tensor]) -> float:
    """The largest rounding unit ε of these tensors' dtypes; 0 where no number is rounded."""
    return max((torch.finfo(x.dtype).eps for x in tensors if x.is_floating_point()), default=0.0)


def tolerated(*models: nn.Module) -> float:
    """The relative error below which outputs of these models agree: 1e-4, or of 16-bit weights ε^(2/3).

    Example:
        >>> tolerated(nn.Linear(2, 3)), round(tolerated(nn.Linear(2, 3).bfloat16()), 3)
        (0.0001, 0.039)
    """
    return max(1e-4, unit(x for model in models for x in model.parameters()) ** (2 / 3))
