"""Fit any closed form by name: features in, a `LinearMap` out, which maps other features and scores them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from intertwine.alignment.assignment import g_relu, monomial, permutation
from intertwine.alignment.channel_statistics import Statistics
from intertwine.alignment.linear_map import LinearMap
from intertwine.alignment.regression import lasso, least_squares, orthogonal, reduced_rank

KINDS: dict[str, Callable[..., LinearMap]] = {
    "least squares": least_squares,
    "reduced rank": reduced_rank,
    "orthogonal": orthogonal,
    "lasso": lasso,
    "monomial": monomial,
    "permutation": permutation,
    "G_ReLU": g_relu,
}
"""The closed forms by name; each takes `Statistics`, the options of `fit`, and `affine`."""


def fit(A: Tensor, B: Tensor, kind: str = "least squares", **options: Any) -> LinearMap:
    """The map of one of the `KINDS` that brings A closest to B.

    Example:
        >>> import torch
        >>> A, C = torch.randn(2, 50, 3)
        >>> found = fit(A, 2 * A + 1, affine=True)
        >>> torch.allclose(found(C), 2 * C + 1, atol=1e-4), round(found.score(C, 2 * C + 1), 6)
        (True, 1.0)
        >>> fit(A, A.flip(1), "permutation").weight.argmax(1)
        tensor([2, 1, 0])

    Args:
        A: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w).
        B: of the same inputs, with q channels.
        kind: a key of `KINDS`.
        **options: `affine`, whether a bias is fitted as well; `rank` of "reduced rank"; `alpha` of "lasso";
            `scalars` of "monomial".
    """
    if kind not in KINDS:
        raise ValueError(f"Expected a kind out of {', '.join(map(repr, KINDS))}, was given {kind!r}.")
    within = kind in ("least squares", "reduced rank", "lasso")
    return KINDS[kind](Statistics.of(A, B, within=within), **options)
