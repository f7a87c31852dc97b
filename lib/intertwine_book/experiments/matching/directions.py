"""Least squares that is put back to the size of its target."""

from dataclasses import replace

import torch

from intertwine.alignment import LinearMap, Statistics, least_squares


def variance_restored(statistics: Statistics, t: float = 1.0) -> LinearMap:
    """Least squares whose outputs are stretched, channel by channel, until they vary as much as B does.

    Example:
        >>> A, noise = torch.randn(2, 500, 3)
        >>> fitted = variance_restored(Statistics.of(A, A + 2 * noise))
        >>> torch.allclose(fitted(A).var(0), (A + 2 * noise).var(0), rtol=1e-3)
        True

    The stretch is taken to the power t, so that t = 0 is least squares. Channels that least squares maps to
    a constant stay as they are.
    """
    fitted = least_squares(statistics, affine=True)
    AA, _, BB = statistics.products(centred=True)
    explained = (fitted.weight @ AA * fitted.weight).sum(1)
    stretch = torch.where(explained > 0, BB.diagonal() / explained, 1) ** (t / 2)
    weight = stretch[:, None] * fitted.weight
    bias = statistics.mean[statistics.p :] - weight @ statistics.mean[: statistics.p]
    return replace(fitted, weight=weight, bias=bias, residual=statistics.residual(weight, bias))
