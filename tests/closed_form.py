"""The loss of networks x ↦ Σ c_i ReLU(w_i x) without samples, which tests of GENNI compare with."""

import torch
from jaxtyping import Float
from torch import Tensor


def slopes(points: Float[Tensor, "*k p"]) -> Float[Tensor, "*k 2"]:
    """(s₊, s₋) of parameters (w_1, …, w_h, c_1, …, c_h)."""
    w, c = points.unflatten(-1, (2, -1)).unbind(-2)
    return torch.stack([(c * w.relu()).sum(-1), -(c * (-w).relu()).sum(-1)], -1)


def gaussian_loss(points: Float[Tensor, "*k p"], target: Float[Tensor, " 2"]) -> Float[Tensor, "*k"]:
    """J for x ~ N(0, 1), exactly, with the slopes (s₊, s₋) of the target."""
    return (slopes(points) - target).square().sum(-1) / 2
