"""Kinds of stitches as data: what each starts as at a junction, and how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from intertwine.alignment import LinearMap
from intertwine.alignment import orthogonal as procrustes
from intertwine.stitching import g_relu, layers
from intertwine.stitching.junction import Junction
from intertwine.stitching.recipes import StitchRecipe

Build = Callable[[Junction, torch.Generator], nn.Module | LinearMap]


class Plan(NamedTuple):
    """How a stitch is made: what it starts as, and how it is trained.

    Example:
        >>> from intertwine.stitching import STITCH_RECIPES
        >>> plans = {"rank 2": Plan(low_rank(2), STITCH_RECIPES["digits"]), "no stitch": Plan(identity)}
    """

    build: Build
    """One of the functions here, or your own, of a junction and a generator."""
    recipe: StitchRecipe | None = None
    """None leaves it as it is, with batch norm frozen."""


STILL = StitchRecipe(epochs=0, batch_size=1, lr=1.0)
"""A recipe that trains nothing; `replace(STILL, batch_norm="reestimated")` re-estimates batch norm alone."""


def identity(junction: Junction, generator: torch.Generator) -> LinearMap:
    """No stitch: the baseline. Channels that only one of the layers has are dropped, or 0."""
    p, q = junction.widths
    return LinearMap(torch.eye(q, p), None, residual=float("nan"), total=float("nan"))


def random_permutation(junction: Junction, generator: torch.Generator) -> LinearMap:
    """A permutation drawn at random, the baseline of G_ReLU."""
    p, q = junction.widths
    weight = torch.eye(max(p, q))[torch.randperm(max(p, q), generator=generator)][:q, :p]
    return LinearMap(weight, None, residual=float("nan"), total=float("nan"))


def closed(fit: Callable[..., LinearMap], *arguments: Any, **options: Any) -> Build:
    """A closed form of `alignment`, such as closed(reduced_rank, 4, affine=True), from activations alone."""

    def build(junction: Junction, generator: torch.Generator) -> LinearMap:
        return fit(junction.statistics, *arguments, **options)

    return build


def full(*, affine: bool = True, start: Build | None = None) -> Build:
    """Every matrix. It starts at random, or from `start`, such as closed(least_squares, affine=True)."""
    return _layer(layers.Full, start, affine=affine)


def low_rank(rank: int, *, affine: bool = True, start: Build | None = None) -> Build:
    """Matrices of rank at most `rank`."""
    return _layer(layers.LowRank, start, rank=rank, affine=affine)


def sparse(alpha: float, *, affine: bool = True, start: Build | None = None) -> Build:
    """Every matrix, with the penalty alpha·Σ|m_ij|."""
    return _layer(layers.Sparse, start, alpha=alpha, affine=affine)


def orthogonal(junction: Junction, generator: torch.Generator) -> nn.Module:
    """Orthogonal matrices, from the orthogonal Procrustes map on."""
    p, q = junction.widths
    return layers.Orthogonal(p, q, start=procrustes(junction.statistics))


def matched(junction: Junction, generator: torch.Generator) -> nn.Module:
    """The permutation that matches activations best, with trained scales."""
    return g_relu.Matched(junction.statistics)


def entropic(junction: Junction, generator: torch.Generator) -> nn.Module:
    """G_ReLU by annealed entropic assignment, our best optimiser."""
    return g_relu.Entropic(junction.statistics)


def birkhoff(junction: Junction, generator: torch.Generator) -> nn.Module:
    """G_ReLU by the relaxation of godfrey2022."""
    p, _ = junction.widths
    return g_relu.Birkhoff(p, generator=generator)


def _layer(kind: Callable[..., nn.Module], start: Build | None, **options: Any) -> Build:
    def build(junction: Junction, generator: torch.Generator) -> nn.Module:
        first = start(junction, generator) if start else None
        return kind(*junction.widths, start=first, generator=generator, **options)

    return build
