"""Measures of second moments, as Procrustes, CCA and R²: streamed, and taken of a few rows with the same."""

from collections.abc import Sequence
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import Statistics
from intertwine.checks import warn
from intertwine.similarity.blocks import Blocks
from intertwine.similarity.cca import MORE
from intertwine.similarity.inputs import of_one_size
from intertwine.similarity.registry import Measure

SHOWN = 4  # pairs of layers in a warning


def by_moments(
    blocks: Blocks, measure: Measure, layers: Sequence[str], layers2: Sequence[str]
) -> Float[Tensor, "p q"]:
    """The measure between p layers and q others, from second moments streamed over the blocks."""
    pairs = [(i, len(layers) + j) for i in range(len(layers)) for j in range(len(layers2))]
    # for each pair apart: on maps of unlike sizes the moments of a layer depend on the other one
    totals: dict[tuple[int, int], Statistics] = {}
    for block in blocks:
        for i, j in pairs:
            new = Statistics.of(*of_one_size(block[i], block[j]))
            totals[i, j] = totals[i, j] + new if (i, j) in totals else new
    values, forced = [], []
    for (one, two), pair in zip(product(layers, layers2), pairs, strict=True):
        moments = totals[pair]
        # a few rows with these moments: so no measure needs a second form, of moments
        X, Y = compressed(moments)
        rounding = blocks.rounding[pair[0]], blocks.rounding[pair[1]]
        # what counts directions has to know which of them are rounding of the features
        how = {"rounding": rounding} if measure.forced else {}
        values.append(measure.function(X, Y, spatial=measure.spatial, **how))
        if measure.forced and measure.forced(X, Y, moments.n, rounding):
            forced.append(f"{one!r} ({X.shape[1]}) and {two!r} ({Y.shape[1]})")
    if forced:
        rest = f", and {len(forced) - SHOWN} more" * (len(forced) > SHOWN)
        warn(
            f"Expected more samples for {measure.name!r} of so many channels, was given {moments.n}: it is "
            f"1, wholly or in part, whatever the features, for {', '.join(forced[:SHOWN])}{rest}; {MORE}."
        )
    return torch.stack(values).view(len(layers), -1)


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
