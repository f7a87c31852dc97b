"""How far σ(Ax) = φ(A)σ(x) fails."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.scalar import gaussian


def intertwining_error(group: MatrixGroup, A: Float[Tensor, "n n"], generator: torch.Generator) -> float:
    """max over random x of |σ(Ax) − φ(A)σ(x)|∞ relative to the larger of |σ(Ax)|∞ and |φ(A)σ(x)|∞.

    Example:
        >>> from intertwine.groups import intertwiner_group
        >>> generator = torch.Generator().manual_seed(0)
        >>> group = intertwiner_group("tanh", 8)
        >>> intertwining_error(group, group.sample(generator), generator) < 1e-12
        True

    Args:
        group: it has the activation σ and the map φ.
        A: outside the group the error is large.
        generator: of 256 Gaussian x, whose standard deviations are between 0.1 and 100; those where σ
            overflows are left out.
    """
    A, image = (each.to("cpu", torch.float64) for each in (A, group.phi(A)))
    x = gaussian(generator, 256, group.n).cpu() * torch.logspace(-1, 2, 256)[:, None]
    sigma = group.activation or torch.clone
    left, right = sigma(x @ A.T), sigma(x) @ image.T
    size = torch.maximum(left.abs().amax(1), right.abs().amax(1))
    error = torch.where(size == 0, 0, (left - right).abs().amax(1) / size)[size.isfinite()]
    return error.max().item() if len(error) else math.nan
