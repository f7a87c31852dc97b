"""Measures of all pairs of layers that need no Gram matrix: from streamed moments, or from whole features."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import interpolate

from intertwine.alignment import Statistics
from intertwine.similarity.blocks import Blocks, bar
from intertwine.similarity.inputs import Spatial
from intertwine.similarity.moments import compressed
from intertwine.similarity.registry import Measure


def by_moments(blocks: Blocks, measure: Measure, first: int, progress: bool) -> Float[Tensor, "p q"]:
    """The measure between the first p layers and the others, from second moments streamed over the blocks.

    Args:
        blocks: features (n, c), or maps or tokens whose positions are samples.
        measure: a function of second moments.
        first: p.
        progress: whether to show a bar.
    """
    pairs = [(i, j) for i in range(first) for j in range(first, blocks.layers)]
    totals: dict[tuple[int, int], Statistics] = {}
    for block in bar(blocks, progress):
        for i, j in pairs:
            X, Y = _of_one_size(block[i], block[j])
            new = Statistics.of(X, Y)
            totals[i, j] = totals[i, j] + new if (i, j) in totals else new
    values = [measure(*compressed(totals[pair])) for pair in pairs]
    return torch.stack(values).view(first, -1)


def by_features(
    blocks: Blocks, measure: Measure, spatial: Spatial, first: int, progress: bool
) -> Float[Tensor, "p q"]:
    """The measure between the first p layers and the others, from all features at once.

    Args:
        blocks: features (n, c), or maps.
        measure: any.
        spatial: as the measure takes it.
        first: p.
        progress: whether to show a bar.

    Raises:
        ValueError: the blocks do not keep all features, for want of memory.
    """
    if len(blocks) > 1 and not blocks.kept:
        raise ValueError(
            f"Expected memory for all features at once, which {measure.name!r} needs, and these do not fit: "
            f"raise memory=, or take fewer images or layers."
        )
    layers = [torch.cat(parts) for parts in zip(*blocks, strict=True)]
    if spatial == "sum":  # (n, c, positions), but measures take three axes for tokens
        layers = [Z.mT if Z.ndim == 3 else Z for Z in layers]
    one_size = _of_one_size if spatial == "samples" else lambda X, Y: (X, Y)
    values = [
        measure(*one_size(X, Y), spatial=spatial)
        for X in bar(layers[:first], progress)
        for Y in layers[first:]
    ]
    return torch.stack(values).view(first, -1)


def _of_one_size(X: Float[Tensor, "n ..."], Y: Float[Tensor, "n ..."]) -> tuple[Tensor, Tensor]:
    """Feature maps resampled to the larger of both sizes by nearest neighbours."""
    if X.ndim != Y.ndim or (X.ndim == 3 and X.shape[1] != Y.shape[1]):
        raise ValueError(
            f"Expected layers with the same kind of positions for spatial='samples', was given features "
            f"{tuple(X.shape)} and {tuple(Y.shape)}: choose spatial='mean' or 'features'."
        )
    if X.ndim <= 3 or X.shape[2:] == Y.shape[2:]:
        return X, Y
    size = [max(sides) for sides in zip(X.shape[2:], Y.shape[2:], strict=True)]
    return interpolate(X, size), interpolate(Y, size)
