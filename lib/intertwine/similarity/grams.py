"""Gram matrices: of the linear, Gaussian and max kernels, and of the caller's own."""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment.products import self_product
from intertwine.checks import check_tensor

Kernel = Literal["linear", "rbf", "max"] | Callable[[Tensor], Tensor]
TILE = 256  # samples on a side: the maximum and a product stay in a CPU's cache
GPU_TILE = 4096


def gram(X: Float[Tensor, "n ..."], kernel: Kernel) -> Float[Tensor, "n n"]:
    """The Gram matrix $K_ij = k(x_i, x_j)$ of features.

    For features (n, positions, c) it is summed over positions, for "max" before the maximum.

    Example:
        >>> X = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
        >>> # not positive: godfrey2022 Lemma 5.5 is refuted
        >>> torch.linalg.eigvalsh(gram(X, "max"))[0]
        tensor(-0.4142, dtype=torch.float64)

    Args:
        X: features (n, c), or (n, positions, c).
        kernel: "linear", x·y; "rbf", exp(−‖x − y‖²/2s²) with the median distance s; "max", the largest
            x_c·y_c; or a function that maps features to their n×n Gram matrix.
    """
    check_tensor(X)
    if callable(kernel):
        K = kernel(X)
        if K.shape != (len(X), len(X)):
            raise ValueError(
                f"Expected the kernel to return a {len(X)}×{len(X)} matrix, was given {tuple(K.shape)}."
            )
        return K.double()
    if kernel == "linear":
        Z = X.flatten(1)
        # half the arithmetic, in place, which autograd cannot follow
        return Z @ Z.T if Z.requires_grad else self_product(Z)
    if kernel == "rbf":
        return rbf(X)
    if kernel == "max":
        return max_gram(X)
    raise ValueError(f"Expected kernel 'linear', 'rbf', 'max' or a function, was given {kernel!r}.")


def rbf(X: Float[Tensor, "n ..."]) -> Float[Tensor, "n n"]:
    """The Gaussian kernel of the median distance between samples, summed over positions."""
    positions = X.unbind(1) if X.ndim == 3 else [X]
    squares = torch.stack([_squared_distances(Z) for Z in positions])
    # distances of samples from themselves are 0, and would lower the median
    pairs = torch.triu_indices(len(X), len(X), 1, device=X.device)
    median = squares[:, pairs[0], pairs[1]].median().sqrt()
    if not median > 0:
        raise ValueError(
            "Expected a positive median distance between samples, was given 0: the features are constant, or "
            "half of the samples or more are equal, so choose another kernel."
        )
    return torch.exp(squares / (-2 * median**2)).sum(0)


def _squared_distances(X: Float[Tensor, "n c"]) -> Float[Tensor, "n n"]:
    X = X - X.mean(0)  # distances are the same, and digits stay
    squares = X.square().sum(1)
    distances = (squares[:, None] + squares - 2 * X @ X.T).clamp(min=0)
    return distances - torch.diag(distances.diagonal())  # a sample is at 0 from itself, not at rounding


@torch.no_grad()
def max_gram(
    X: Float[Tensor, "n ..."],
    Y: Float[Tensor, "m ..."] | None = None,
    *,
    around: Float[Tensor, " c"] | None = None,
) -> Float[Tensor, "n m"]:
    """The matrix $K_ij = max_c Σ_p x_ipc·y_jpc$, as a running maximum over channels of matrix products.

    Example:
        >>> max_gram(torch.tensor([[1.0, 2.0], [3.0, -1.0]]))
        tensor([[4., 3.],
                [3., 9.]])

    Memory holds the result and a product of one tile, never an array n×n×c. Without Y only half is computed.

    Args:
        X: features (n, c) or (n, positions, c).
        Y: of the other side of the matrix; X itself when not given.
        around: the means of the channels, where they are large: products are then expanded around them, and
            the constant P·max m² is left out of K: it leaves HSIC unchanged, but would cost digits.
    """
    for Z in (X, Y):
        if Z is not None:
            check_tensor(Z)
    A, B = (_channels_first(Z) for Z in (X, X if Y is None else Y))
    if around is not None:
        A, B = _expanded(A, around, last=False), _expanded(B, around, last=True)
    # for each tile all channels in turn, so that one product and the maximum stay in cache
    tile = TILE if X.device.type == "cpu" else GPU_TILE
    K = A.new_empty(A.shape[1], B.shape[1])
    for i in range(0, A.shape[1], tile):
        left = A[:, i : i + tile]
        for j in range(i if Y is None else 0, B.shape[1], tile):
            right = B[:, j : j + tile].mT
            best = left[0] @ right[0]
            product = torch.empty_like(best)
            for one, other in zip(left[1:], right[1:], strict=True):
                torch.maximum(best, torch.mm(one, other, out=product), out=best)
            K[i : i + tile, j : j + tile] = best
            if Y is None and j > i:
                K[j : j + tile, i : i + tile] = best.T
    return K


def _channels_first(X: Float[Tensor, "n ..."]) -> Float[Tensor, "c n p"]:
    return (X if X.ndim == 3 else X[:, None]).movedim(-1, 0).contiguous()


def _expanded(X: Float[Tensor, "c n p"], means: Float[Tensor, " c"], last: bool) -> Float[Tensor, "c n p2"]:
    """[e, s, 1] or [e, 1, s], whose products are Σxy − P·max m² for x = m + e."""
    m = means[:, None, None]
    e = X - m
    largest = means.abs().max()
    s = m * e.sum(2, keepdim=True) + X.shape[2] * (m - largest) * (m + largest) / 2
    one = torch.ones_like(s)
    return torch.cat([e, one, s] if last else [e, s, one], 2)
