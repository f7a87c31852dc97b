"""Symmetries beyond the linear ones: σ(ax + t) = bσ(x) + s."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from intertwine.groups.activations import Activation, as_activation
from intertwine.groups.probe import proportionality
from intertwine.groups.scalar_group import PROBE_TOLERANCE, minima


class AffineIntertwiner(NamedTuple):
    """σ(ax + t) = bσ(x) + s up to `residual`; with `every_t`, this is one of a family over all t."""

    a: float
    t: float
    b: float
    s: float
    residual: float
    every_t: bool = False


def affine_intertwiners(
    activation: str | Callable[[Tensor], Tensor] | Activation,
) -> list[AffineIntertwiner]:
    """The (a, t) with a = ±1 and |t| ≤ 10 for which $σ(ax + t) = bσ(x) + s$, beyond G_σ itself.

    Example:
        >>> both = affine_intertwiners("Hardsigmoid") + affine_intertwiners("ReLU6")
        >>> for found in both:
        ...     print(f"σ({found.a:g}x + {found.t:g}) = {found.b:g}σ(x) + {found.s:g}")
        σ(-1x + 0) = -1σ(x) + 1
        σ(-1x + 6) = -1σ(x) + 6

    Only these (a, t) are searched: no |a| ≠ 1, and no further shifts. Those with t = s = 0 are left out, for
    they are in the scalar group. Those with a = 1 come first. A constant has none.

    With its value at x = 0 subtracted the relation is σ(ax + t) − σ(t) = b(σ(x) − σ(0)). Its failure is
    measured at 3,001 points with |x| ≤ 20, relative to the largest value of either side over
    |y| ≤ max(|x|, 8). The failure is computed on a grid of t with step 0.02. Its deepest 64 minima are
    refined to machine precision, and set to the nearest integer if that passes, too. If the whole grid
    passes, one entry with `every_t` represents it, at t = 1.

    Args:
        activation: as `scalar_group` takes it.

    Raises:
        ActivationError: σ is not elementwise, not deterministic or not finite.
    """
    sigma = as_activation(activation)
    return [found for a in (1.0, -1.0) for found in _of_sign(a, sigma)]


def _of_sign(a: float, sigma: Activation) -> list[AffineIntertwiner]:
    # no grid, whose step could hide a period
    x = 40 * (torch.arange(3001, dtype=torch.float64) * math.sqrt(2) % 1) - 20
    x[0] = 0
    x = x[x.abs().argsort()]
    few, grid = x[::16], torch.arange(-501, 502, dtype=torch.float64) / 50

    def relation(t: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        image = sigma(a * x + t[:, None]) - sigma(t)[:, None]
        return proportionality(x, sigma(x) - sigma(x[:1]), image, reach=8.0)

    # an exponential or a linear σ passes for every shift
    every_t = bool((relation(grid, few)[1] <= PROBE_TOLERANCE).all())
    if every_t:
        t = torch.ones(1, dtype=torch.float64)
    else:
        t = minima(lambda t: relation(t, few)[1].mean(1), grid, most=64)
        # with rounding, and on plateaus of functions with jumps, the search ends next to the integer
        integer, distance = t.round() + 0.0, (t - t.round()).abs()  # no −0
        passes = relation(integer, x)[1].amax(1) <= PROBE_TOLERANCE
        t = integer.where((distance < 0.02) & passes | (distance < 1e-9), t).unique()
    b, failure = relation(t, x)  # what few points suggested, all points confirm
    s = sigma(t) - b * sigma(x[0])
    found = torch.stack([t, b, s, failure.amax(1)], 1)
    found = found[(found[:, 3] <= PROBE_TOLERANCE) & ~((t == 0) & (s.abs() <= PROBE_TOLERANCE))]
    return [AffineIntertwiner(a, t, b, s, worst, every_t) for t, b, s, worst in found.tolist()]
