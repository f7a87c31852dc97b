"""A few rows with the second moments of many: all that Procrustes measures, CCA and R² depend on."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import Statistics
from intertwine.alignment.regression import CUTOFF


def compressed(statistics: Statistics) -> tuple[Float[Tensor, "m p"], Float[Tensor, "m q"]]:
    """Features of at most 2(p + q) samples with the same means and products, so the same Procrustes, CCA, R².

    Their products AᵀA, AᵀB and BᵀB are those of the features, times m/n with their means; measures that
    are invariant under isotropic scaling agree. Directions with less than 10⁻¹² of the variance of the
    largest, in channels of unit deviation, count as rounding. Streamed moments cannot tell a distance below
    10⁻⁸ from 0.
    """
    XX, XY, YY = statistics.products(centred=True)
    (X, whiten_x), (Y, whiten_y) = _root(XX), _root(YY)
    U, S, Vh = torch.linalg.svd(whiten_x.T @ XY @ whiten_y)  # canonical correlations
    correlations = torch.zeros(len(X), len(Y)).to(XY)
    correlations.diagonal().copy_(S.clamp(max=1))
    rest = torch.eye(len(Y)).to(XY)
    rest.diagonal()[: len(S)] = (1 - S.clamp(max=1) ** 2).sqrt()
    first = torch.cat([U.T @ X, X.new_zeros(len(Y), X.shape[1])])
    second = torch.cat([correlations @ Vh @ Y, rest @ Vh @ Y])
    both = torch.cat([first, second], 1)
    both = torch.cat([both, -both])  # of mean 0
    # scaled so that the covariance, the scatter over its number of rows, is that of all n rows
    return tuple((both * (len(both) / 2 / statistics.n) ** 0.5 + statistics.mean).split(statistics.widths, 1))


def _root(S: Float[Tensor, "c c"]) -> tuple[Float[Tensor, "r c"], Float[Tensor, "c r"]]:
    """W with WᵀW = S, of as many rows as S has rank, and T with WT = 1."""
    deviation = S.diagonal().sqrt()
    scale = torch.where(deviation > 0, deviation, 1)
    values, vectors = torch.linalg.eigh(S / scale / scale[:, None])
    kept = values > CUTOFF * values[-1].clamp(min=0)
    values, vectors = values[kept].sqrt(), vectors[:, kept]
    return values[:, None] * vectors.T * deviation, vectors / values / scale[:, None]
