"""Mutual nearest neighbours: whether the same inputs lie close to each other in two layers."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.similarity.inputs import Spatial, centred, check_varies, pair, scaled

AT_ONCE = 1024  # rows whose distances to all others are in memory


def mutual_knn(
    X: Tensor, Y: Tensor, k: int | None = None, *, spatial: Spatial | None = None
) -> Float[Tensor, ""]:
    """The share of its k nearest neighbours that a sample has in both sets of features (Huh et al. 2024).

    Example:
        >>> X = torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
        >>> mutual_knn(X, 2 * X.flip(1) + 1).item()
        1.0

    It sees who is next to whom, and no distance: 1 where all neighbours agree, on average $k/(n-1)$ for
    unrelated features, which `null` takes into account. 1 minus it is a metric: half the symmetric difference
    of two sets of neighbours, divided by k. Neighbours are Euclidean; those of Huh et al. are of features
    that were divided by their norms, `X / X.norm(dim=1, keepdim=True)`.

    Args:
        k: neighbours of a sample; 10, or half of the other samples where these are fewer.
        X, Y, spatial: as in `cka`.

    Returns:
        The mean over samples, between 0 and 1. Of neighbours at one distance those count that come first, so
        that samples which are equal in one set of features should be left out.
    """
    X, Y = (scaled(Z).flatten(1) for Z in pair(X, Y, spatial, least=3))
    check_varies(X=centred(X), Y=centred(Y))
    k = min(10, (len(X) - 1) // 2) if k is None else k
    if not 0 < k < len(X):
        raise ValueError(f"Expected k between 1 and {len(X) - 1}, the other samples, was given {k}.")
    one, two = _nearest(X, k), _nearest(Y, k)
    return (one[:, :, None] == two[:, None, :]).sum((1, 2)).double().mean() / k


def _nearest(X: Float[Tensor, "n c"], k: int) -> Int[Tensor, "n k"]:
    around = centred(X)  # its products are small, and so is their rounding
    squares, found = around.square().sum(1), []
    for which in torch.arange(len(X)).split(AT_ONCE):
        nearest = _distances(around, which, "use_mm_for_euclid_dist").topk(k + 1, largest=False)
        last, rounding = nearest.values[:, -2:].square(), squares[nearest.indices[:, -2:]].amax(1)
        # rows in which rounding could decide who is the k-th: by differences, exact between equals
        near = last[:, 1] - last[:, 0] <= 1e-12 * (rounding + squares[which])
        exact = _distances(X, which[near.cpu()], "donot_use_mm_for_euclid_dist")
        nearest.indices[near] = exact.sort(stable=True).indices[:, : k + 1]
        found.append(nearest.indices[:, :k])
    return torch.cat(found)


def _distances(X: Float[Tensor, "n c"], which: Int[Tensor, " b"], mode: str) -> Float[Tensor, "b n"]:
    distances = torch.cdist(X[which], X, compute_mode=mode)
    distances[torch.arange(len(which)), which] = torch.inf  # nobody is a neighbour of itself
    return distances
