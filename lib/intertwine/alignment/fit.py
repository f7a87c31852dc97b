"""Any closed form in one call: features in, a `LinearMap` out, which maps other features and scores them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from intertwine.alignment.assignment import g_relu, monomial, permutation
from intertwine.alignment.channel_statistics import Statistics
from intertwine.alignment.linear_map import LinearMap
from intertwine.alignment.regression import lasso, least_squares, orthogonal, reduced_rank

AFFINE = (least_squares, reduced_rank, lasso)  # with a bias unless told otherwise, as `stitch` fits them
DIAGONAL = (orthogonal, monomial, permutation, g_relu)  # MMᵀ is diagonal: less has to be collected


def fit(
    A: Tensor, B: Tensor, closed_form: Callable[..., LinearMap] = least_squares, **options: Any
) -> LinearMap:
    """The map of a closed form that brings A closest to B.

    Example:
        >>> import torch
        >>> A, C = torch.randn(2, 50, 3)
        >>> found = fit(A, 2 * A + 1)
        >>> (
        ...     torch.allclose(found(C), 2 * C + 1, atol=1e-4),
        ...     round(found.score(C, 2 * C + 1), 6),
        ... )
        (True, 1.0)
        >>> fit(A, A.flip(1), permutation).weight.argmax(1)
        tensor([2, 1, 0])

    Args:
        A: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w).
        B: of the same inputs, with q channels.
        closed_form: a function of `Statistics`: one of this package, one of your own, or the `fit` of a kind
            of stitch, which has a name in `intertwine.stitching.KINDS`.
        **options: its own: `rank`, `alpha`, `scalars`, and `affine`, whether a bias is fitted as well: by
            default as in `stitch`, with one by least squares of any kind, without one by other maps.

    Least squares come from a QR decomposition that streams, and are as exact as `torch.linalg.lstsq`.

    Returns:
        The map, with its residual; `score` gives its R² on other features.

    See Also:
        `statistics`, for features that do not fit into memory; `stitching.stitch`, which puts a map into a
        network.

    Warns:
        UserWarning: features of which the map is not determined, as `regression` describes.
    """
    if not callable(closed_form):
        raise TypeError(
            f"Expected a function of Statistics such as alignment.least_squares, was given {closed_form!r}: "
            f"for the name of a kind of stitch, give stitching.KINDS[name].fit."
        )
    if closed_form in AFFINE:
        options = {"affine": True, **options}
    return closed_form(Statistics.of(A, B, within=closed_form not in DIAGONAL), **options)
