"""HSIC between all pairs of layers at once, from Gram matrices formed block by block, every block once."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.alignment.channel_statistics import CONSTANT
from intertwine.alignment.products import self_product
from intertwine.features import rows
from intertwine.similarity.blocks import Blocks, LayerFeatures
from intertwine.similarity.grams import max_gram
from intertwine.similarity.hsic import Estimator

KERNELS = {"cka": "linear", "cka biased": "linear", "cka max": "max", "grelu cka": "max"}


class Sums:
    """Inner products and row sums of L Gram matrices of n samples, which determine HSIC: none is stored.

    A constant is first taken off every Gram matrix, which changes no HSIC and saves digits.
    """

    def __init__(self, layers: int, samples: int, estimator: Estimator) -> None:
        self._samples, self._unbiased = samples, estimator == "unbiased"
        self._products = torch.zeros(layers, layers, dtype=torch.float64)
        self._row_sums = torch.zeros(layers, samples, dtype=torch.float64)
        self._shift: Tensor | None = None

    def add(self, grams: Float[Tensor, "L a b"], i: int, j: int) -> None:
        """Rows i to i + a and columns j to j + b, j ≥ i, of every Gram matrix; `grams` is overwritten.

        Blocks below the diagonal are known by symmetry, and must not be given.
        """
        if self._shift is None:
            self._products, self._row_sums = (Z.to(grams.device) for Z in (self._products, self._row_sums))
            # Grams of positive features are large numbers that differ little: their mean would cost the
            # digits
            self._shift = grams.mean((1, 2), keepdim=True)
        grams -= self._shift
        if self._unbiased and i == j:
            grams.diagonal(dim1=1, dim2=2).zero_()
        flat = grams.flatten(1)
        # the block below the diagonal is this one, transposed
        self._products += (flat @ flat.T) * (1 if i == j else 2)
        self._row_sums[:, i : i + grams.shape[1]] += grams.sum(2)
        if i != j:
            self._row_sums[:, j : j + grams.shape[2]] += grams.sum(1)

    def hsic(self) -> Float[Tensor, "L L"]:
        """HSIC of every pair, when all blocks have been given."""
        n, sums = self._samples, self._row_sums
        totals = sums.sum(1)
        if self._unbiased:
            # tr KL + 1ᵀK1·1ᵀL1/(n−1)(n−2) − 2·1ᵀKL1/(n−2), of Grams without diagonals (Song et al. 2012)
            mixed = totals.outer(totals) / ((n - 1) * (n - 2)) - 2 / (n - 2) * (sums @ sums.T)
            return (self._products + mixed) / (n * (n - 3))
        # tr(KHLH) with H = I − 11ᵀ/n, multiplied out
        return (self._products - 2 / n * (sums @ sums.T) + totals.outer(totals) / n**2) / (n - 1) ** 2


def all_samples(blocks: Blocks, measure: str) -> Float[Tensor, "L L"]:
    """HSIC between the kernels of all layers, from all pairs of blocks; `measure` is a key of `KERNELS`."""
    prepare, linear = _preparation(blocks, measure), KERNELS[measure] == "linear"
    floors = _floors(blocks[0] if linear else prepare(blocks[0]), linear=linear)
    sums = Sums(blocks.layers, blocks.images, "biased" if measure == "cka biased" else "unbiased")
    for i in range(len(blocks)):
        block = prepare(blocks[i])
        # each Gram block once; where not all features fit, block j is run again for each i
        for j in range(i, len(blocks)):
            other = None if i == j else prepare(blocks[j])
            sums.add(_grams(block, other, KERNELS[measure]), i * blocks.size, j * blocks.size)
    hsic = sums.hsic()
    if not (varies := hsic.diagonal() > floors.to(hsic)).all():
        raise ValueError(
            f"Expected layers whose kernel varies between pairs of images, number "
            f"{int(varies.int().argmin()) + 1} of both models' layers does not: leave it out."
        )
    return hsic


def _floors(block: LayerFeatures, *, linear: bool) -> Float[Tensor, " L"]:
    """More than rounding leaves of the HSIC of each layer with itself where its features are constant."""
    sizes = [Z.square().reshape(len(Z), -1, Z.shape[-1]).sum(1).amax(1).mean() for Z in block]  # of a Gram
    # a linear kernel is of what is left of features without their mean, so both of its factors are rounding
    return ((CONSTANT**2 if linear else CONSTANT) * torch.stack(sizes)).square()


def ratios(hsic: Float[Tensor, "L L"], first: int) -> Float[Tensor, "p q"]:
    """CKA of the first p kernels with the others."""
    scales = hsic.diagonal()
    return hsic[:first, first:] / (scales[:first, None].sqrt() * scales[first:].sqrt())


def _grams(first: LayerFeatures, second: LayerFeatures | None, kernel: str) -> Float[Tensor, "L a b"]:
    """The Gram block of every layer."""
    others = first if second is None else second
    grams = first[0].new_empty(len(first), len(first[0]), len(others[0]))
    for K, X, Y in zip(grams, first, others, strict=True):
        if kernel == "linear" and second is None:
            self_product(X.flatten(1), out=K)
        elif kernel == "linear":
            torch.mm(X.flatten(1), Y.flatten(1).T, out=K)
        else:
            K.copy_(max_gram(X, None if second is None else Y))
    return grams


def _preparation(blocks: Blocks, measure: str) -> Callable[[LayerFeatures], LayerFeatures]:
    """The step before the kernel: none, a shift, or centring and scaling with the moments of all images."""
    if measure == "cka max":
        return lambda block: block
    if measure == "grelu cka":
        scales = _channel_scales(blocks)
        return lambda block: [(_some(Z, on) - m) / s for Z, (on, m, s) in zip(block, scales, strict=True)]
    # HSIC with a linear kernel is the same after any shift: this one subtracts the mean of the first block
    shifts = [Z.mean(0) for Z in blocks[0]]
    return lambda block: [Z - shift for Z, shift in zip(block, shifts, strict=True)]


def _some(Z: Float[Tensor, "b ... c"], on: Bool[Tensor, " c"]) -> Float[Tensor, "b ... some"]:
    """The channels that are on, laid out as the features are."""
    return Z[:, on] if Z.ndim == 2 else Z.mT[:, on].mT


def _channel_scales(blocks: Blocks) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For every layer which channels vary, their means and their norms over all images and positions."""
    shifts = [rows(Z).mean(0) for Z in blocks[0]]
    counts = [0] * len(shifts)
    sums = [torch.zeros(2, len(shift)).to(shift) for shift in shifts]
    for block in blocks:
        for k, (Z, shift) in enumerate(zip(block, shifts, strict=True)):
            # sums of squares around a value near the mean, from which less is subtracted at the end
            centred = rows(Z) - shift
            sums[k] += torch.stack([centred.sum(0), centred.square().sum(0)])
            counts[k] += len(centred)
    scales = []
    for k, (total, shift, count) in enumerate(zip(sums, shifts, counts, strict=True)):
        mean, scatter = shift + total[0] / count, total[1] - total[0].square() / count
        varying = scatter > count * (CONSTANT * mean).square()
        if not varying.any():
            raise ValueError(
                f"Expected layers in which something varies, number {k + 1} of both models' layers is "
                f"constant over all images: leave it out."
            )
        scales.append((varying, mean[varying], scatter[varying].sqrt()))
    return scales
