"""CKA between all layers from Gram blocks, every one formed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.similarity.blocks import Block, Blocks, bar
from intertwine.similarity.grams import max_gram
from intertwine.similarity.inputs import CONSTANT
from intertwine.similarity.sums import Sums, batch_hsic

KERNELS = {"cka": "linear", "cka biased": "linear", "cka max": "max", "grelu cka": "max"}


def all_samples(blocks: Blocks, measure: str, progress: bool) -> Float[Tensor, "L L"]:
    """HSIC between the kernels of all layers, from all pairs of blocks.

    Args:
        blocks: features, with positions as the kernel wants them.
        measure: a key of `KERNELS`.
        progress: whether to show a bar.
    """
    prepare = _preparation(blocks, measure)
    sums = Sums(blocks.layers, blocks.images, "biased" if measure == "cka biased" else "unbiased")
    held, block = -1, Block()
    for i, j in bar([*combinations_with_replacement(range(len(blocks)), 2)], progress):
        if held != i:
            held, block = i, prepare(blocks[i])
        other = None if i == j else prepare(blocks[j])
        sums.add(_grams(block, other, KERNELS[measure]), i * blocks.size, j * blocks.size)
    return sums.hsic()


def minibatches(
    blocks: Blocks, measure: str, batch: int, passes: int, generator: torch.Generator, progress: bool
) -> Float[Tensor, "L L"]:
    """The mean of HSIC_1 over random batches, whose expectation is HSIC_1 of all images.

    Args:
        blocks: as above.
        measure: a key of `KERNELS`; the estimator is unbiased.
        batch: images in each; what is left over at the end of a pass is left out of that pass.
        passes: through all images.
        generator: of their order.
        progress: whether to show a bar.
    """
    prepare = _preparation(blocks, measure)
    batches = [rows for _ in range(passes) for rows in _batches(blocks.images, batch, generator)]
    each = (prepare(blocks.rows(rows)) for rows in bar(batches, progress))
    total = torch.zeros(blocks.layers, blocks.layers, dtype=torch.float64, device=blocks.device)
    for block in each:
        total += batch_hsic(_grams(block, None, KERNELS[measure]))
    return total / len(batches)


def _batches(images: int, batch: int, generator: torch.Generator) -> Iterator[Int[Tensor, " b"]]:
    order = torch.randperm(images, generator=generator)
    return (rows for rows in order.split(min(batch, images)) if len(rows) == min(batch, images))


def _grams(first: Block, second: Block | None, kernel: str) -> Float[Tensor, "L a b"]:
    """The Gram block of every layer, in float64."""
    others = first if second is None else second
    grams = torch.empty(
        len(first), len(first[0]), len(others[0]), dtype=torch.float64, device=first[0].device
    )
    for K, X, Y in zip(grams, first, others, strict=True):
        if kernel == "linear":
            K.copy_(X.flatten(1) @ Y.flatten(1).T)
        else:
            K.copy_(max_gram(X, None if second is None else Y))
    return grams


def _preparation(blocks: Blocks, measure: str) -> Callable[[Block], Block]:
    """What is done to a block: nothing, a shift, or centring and scaling with the moments of all images."""
    if measure == "cka max":
        return lambda block: block
    if measure == "grelu cka":
        scales = _channel_scales(blocks)
        return lambda block: [(Z[:, live] - m) / s for Z, (live, m, s) in zip(block, scales, strict=True)]
    # HSIC with a linear kernel is the same after any shift: this one takes the mean off up to sampling error
    shifts = [Z.mean(0) for Z in blocks[0]]
    return lambda block: [Z - shift for Z, shift in zip(block, shifts, strict=True)]


def _channel_scales(blocks: Blocks) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For every layer which channels vary, their means and their norms over all images and positions."""
    shifts: list[Tensor] = []
    sums: list[Tensor] = []
    for block in blocks:
        rows = [Z.movedim(1, -1).flatten(0, -2).double() for Z in block]
        shifts = shifts or [Z.mean(0) for Z in rows]
        sums = sums or [torch.zeros(2, Z.shape[1]).to(Z) for Z in rows]
        for total, Z, shift in zip(sums, rows, shifts, strict=True):
            total += torch.stack([(Z - shift).sum(0), (Z - shift).square().sum(0)])
    scales = []
    for k, (total, shift) in enumerate(zip(sums, shifts, strict=True)):
        count = blocks.images * torch.Size(blocks.maps[k][1:]).numel()
        mean, scatter = shift + total[0] / count, total[1] - total[0].square() / count
        live = scatter > count * (CONSTANT * mean).square()
        if not live.any():
            raise ValueError(
                f"Expected layers in which something varies, number {k + 1} of both models' layers is "
                f"constant over all images: leave it out."
            )
        shape = (-1, *[1] * (len(blocks.maps[k]) - 1))
        scales.append((live, mean[live].view(shape), scatter[live].sqrt().view(shape)))
    return scales
