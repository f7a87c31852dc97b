"""A few rows with the second moments of many: all that Procrustes measures, CCA and R² depend on."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import Statistics


def compressed(statistics: Statistics) -> tuple[Float[Tensor, "m p"], Float[Tensor, "m q"]]:
    """Features of at most 2(p + q) samples with the same means and products, so the same Procrustes, CCA, R².

    Their products AᵀA, AᵀB and BᵀB are those of the features, times m/n with their means; measures that
    are invariant under isotropic scaling agree.
    """
    A, B = statistics.roots(centred=True)
    both = torch.cat([A, B], 1)
    # scaled so that the covariance, the scatter over its number of rows, is that of all n rows
    both = both * (len(both) / statistics.n) ** 0.5
    both = torch.cat([both, -both])  # of mean 0
    return tuple((both + statistics.mean).split(statistics.widths, 1))
