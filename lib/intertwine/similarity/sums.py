"""HSIC between all pairs of kernels at once, from Gram matrices that arrive block by block."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.similarity.hsic import Estimator, u_centred


class Sums:
    """What HSIC needs of L Gram matrices: their inner products and row sums; no n×n matrix is kept.

    Example:
        >>> from intertwine.similarity.hsic import hsic
        >>> X = torch.randn(10, 3, dtype=torch.float64)
        >>> sums = Sums(layers=1, samples=10, estimator="unbiased")
        >>> sums.add((X @ X.T)[None], 0, 0)
        >>> torch.allclose(sums.hsic()[0, 0], hsic(X @ X.T, X @ X.T))
        True

    A constant is first taken off every Gram matrix, which changes no HSIC and saves digits.

    Args:
        layers: L.
        samples: n.
        estimator: as in `hsic`.
    """

    def __init__(self, layers: int, samples: int, estimator: Estimator) -> None:
        self._samples, self._unbiased = samples, estimator == "unbiased"
        self._products = torch.zeros(layers, layers, dtype=torch.float64)
        self._rows = torch.zeros(layers, samples, dtype=torch.float64)
        self._shift: Tensor | None = None

    def add(self, grams: Float[Tensor, "L a b"], i: int, j: int) -> None:
        """Rows i to i + a and columns j to j + b, j ≥ i, of every Gram matrix; `grams` is overwritten.

        Blocks below the diagonal are known by symmetry, and are not to be given.
        """
        if self._shift is None:
            self._products, self._rows = (Z.to(grams.device) for Z in (self._products, self._rows))
            self._shift = grams.mean((1, 2), keepdim=True)
        grams -= self._shift
        if self._unbiased and i == j:
            grams.diagonal(dim1=1, dim2=2).zero_()
        flat = grams.flatten(1)
        self._products += (flat @ flat.T) * (1 if i == j else 2)
        self._rows[:, i : i + grams.shape[1]] += grams.sum(2)
        if i != j:
            self._rows[:, j : j + grams.shape[2]] += grams.sum(1)

    def hsic(self) -> Float[Tensor, "L L"]:
        """HSIC of every pair, when all blocks have been given."""
        n, rows = self._samples, self._rows
        totals = rows.sum(1)
        if self._unbiased:
            mixed = totals.outer(totals) / ((n - 1) * (n - 2)) - 2 / (n - 2) * (rows @ rows.T)
            return (self._products + mixed) / (n * (n - 3))
        return (self._products - 2 / n * (rows @ rows.T) + totals.outer(totals) / n**2) / (n - 1) ** 2


def batch_hsic(grams: Float[Tensor, "L b b"]) -> Float[Tensor, "L L"]:
    """The unbiased HSIC_1 of every pair, from one batch of b samples.

    Example:
        >>> X = torch.randn(6, 3, dtype=torch.float64)
        >>> (batch_hsic((X @ X.T)[None]) >= 0).item()
        True
    """
    b = grams.shape[1]
    flat = torch.stack([u_centred(K).flatten() for K in grams])
    return flat @ flat.T / (b * (b - 3))


def ratios(hsic: Float[Tensor, "L L"], first: int) -> Float[Tensor, "p q"]:
    """CKA of the first p kernels with the others.

    Example:
        >>> ratios(torch.tensor([[4.0, 3.0], [3.0, 9.0]]), 1)
        tensor([[0.5000]])

    Raises:
        ValueError: a kernel with HSIC 0 with itself.
    """
    scales = hsic.diagonal()
    if not (scales > 1e-24 * scales.max()).all():
        raise ValueError(
            f"Expected layers whose kernel varies between pairs of images, number "
            f"{int(scales.argmin()) + 1} of both models' layers does not: leave it out."
        )
    return hsic[:first, first:] / (scales[:first, None].sqrt() * scales[first:].sqrt())
