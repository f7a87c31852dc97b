"""Indices of a stitch's activations with model 2's, from products that are formed once for all stitches."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.features import rows
from intertwine.similarity import cca, r2, svcca

Indices = Callable[[nn.Module], dict[str, float]]


def from_products(first: Float[Tensor, "n p ..."], second: Float[Tensor, "n q ..."]) -> Indices:
    """The columns of `indices.compared`, of stitches with a weight and a bias; and r2_flattened.

    Example:
        >>> A, B = torch.randn(60, 3, 2, 2), torch.randn(60, 4, 2, 2)
        >>> from intertwine_book.experiments.similarity_and_function.indices import compared
        >>> from intertwine.stitching.maps import Full
        >>> stitch = Full(torch.randn(4, 3), torch.randn(4))
        >>> round(from_products(A, B)(stitch)["cka"], 4) == round(compared(A, B)(stitch)["cka"], 4)
        True

    With many images it is much faster: products of A and B need n·p²s² operations for s positions, once, and
    a stitch moves the products. Maps need s at least once, memory for three matrices of (p·s)² numbers.
    r2_flattened is R²_LR(B, AM) as the code of the paper has it: a sample is an image, flattened.
    """
    of_positions, of_maps = _of_positions(first, second), _of_maps(first, second)

    @torch.no_grad()
    def indices(stitch: nn.Module) -> dict[str, float]:
        weight, bias = (torch.as_tensor(x).double() for x in (stitch.weight, stitch.bias))
        return of_positions(weight, bias) | of_maps(weight)

    return indices


def _of_positions(first: Tensor, second: Tensor) -> Callable[[Tensor, Tensor], dict[str, float]]:
    A, B = (rows(X).double() for X in (first, second))
    # few rows that have the products of all of them; the first has the sums
    _, R = torch.linalg.qr(torch.cat([A.new_ones(len(A), 1), A, B], 1), mode="r")
    ones, A, B = R.split([1, A.shape[1], B.shape[1]], 1)
    X, Y = (torch.cat([Z[1:], -Z[1:]]) for Z in (A, B))  # centred

    def indices(weight: Tensor, bias: Tensor) -> dict[str, float]:
        moved = X @ weight.T
        found = {
            "r2_to_model2": r2(moved, Y),
            "r2_from_model2": r2(Y, moved),
            "r2_as_it_is": 1 - 2 * (A @ weight.T + ones * bias - B).square().sum() / Y.square().sum(),
            "cca": cca(moved, Y),
            "svcca": svcca(moved, Y),
        }
        return {name: value.item() for name, value in found.items()}

    return indices


def _of_maps(first: Tensor, second: Tensor) -> Callable[[Tensor], dict[str, float]]:
    X, Y = (Z.flatten(2).double() for Z in (first, second))
    channels = X.shape[1:]
    X, Y = ((Z - Z.mean(0)).flatten(1) for Z in (X, Y))
    own, crossed, theirs = X.T @ X, X.T @ Y, Y.T @ Y
    size = theirs.norm()
    values, vectors = torch.linalg.eigh(theirs)
    kept = values > 1e-12 * values[-1]
    # of A, what B explains: its products between channels, summed over positions
    explained = (crossed @ vectors[:, kept] / values[kept].sqrt()).view(*channels, -1)
    explained = torch.einsum("csk,dsk->cd", explained, explained)
    own, crossed = own.view(*channels, *channels), crossed.view(*channels, -1)
    whole = torch.einsum("csds->cd", own)

    def indices(weight: Tensor) -> dict[str, float]:
        across = torch.einsum("ec,csk->esk", weight, crossed).square().sum()
        within = torch.einsum("ec,csdt,fd->esft", weight, own, weight).norm()
        share = (weight @ explained * weight).sum() / (weight @ whole * weight).sum()
        return {"cka": (across / (within * size)).item(), "r2_flattened": share.item()}

    return indices
