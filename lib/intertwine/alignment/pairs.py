"""Two sets of features of the same inputs: refused where they do not fit together."""

import torch
from torch import Tensor

from intertwine.checks import check_tensor
from intertwine.features import channel_axis


def pair(batch: object) -> tuple[Tensor, Tensor]:
    """The two sets of features of a batch; ValueError if these are not two."""
    if not (isinstance(batch, tuple | list) and len(batch) == 2):
        raise ValueError(
            f"Expected batches that are pairs of features (A, B), was given a {type(batch).__name__}: "
            f"zip(A.split(1000), B.split(1000)) makes them."
        )
    A, B = batch
    return A, B


def check_pair(A: Tensor, B: Tensor) -> None:
    """Raise, in one sentence, unless both are features of the same inputs, at the same positions.

    Example:
        >>> check_pair(torch.ones(5, 3), torch.ones(5, 2))

    Raises:
        TypeError: no tensor.
        ValueError: a tensor without dense floating-point numbers, shapes that do not fit, or no row.
    """
    for X in (A, B):
        check_tensor(X)
    shapes = f"{tuple(A.shape)} and {tuple(B.shape)}"
    if not (A.is_floating_point() and B.is_floating_point()):
        raise ValueError(f"Expected floating-point features, was given {A.dtype} and {B.dtype}.")
    if min(A.ndim, B.ndim) < 2 or _positions(A) != _positions(B):
        raise ValueError(
            f"Expected features (n, p) and (n, q), tokens (n, t, p) and (n, t, q), or feature maps (n, p, "
            f"*space) and (n, q, *space), was given {shapes}: resample one to the size of the other."
        )
    if len(A) != len(B):
        raise ValueError(f"Expected features of the same inputs, was given {len(A)} and {len(B)} of them.")
    if not A.numel() or not B.numel():
        raise ValueError(f"Expected at least one row and one channel, was given {shapes}.")


def _positions(X: Tensor) -> torch.Size:
    return X.movedim(channel_axis(X), 1).shape[2:]
