"""Which channel is which, by linear assignment: shared by the stitches in G_ReLU."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import Statistics, assignment


def best_match(statistics: Statistics) -> tuple[Float[Tensor, "p q"], Tensor, Tensor, Float[Tensor, " k"]]:
    """Cosines between channels a and b (0 for channels that are 0), the pairs whose cosines have the largest
    sum, and their log ‖b‖/‖a‖ (0 where either is never active).
    """
    AA, AB, BB = statistics.products()
    norms_a, norms_b = AA.diagonal().sqrt(), BB.diagonal().sqrt()
    # a unit that never fires has products 0, so that its cosines are 0 with any denominator
    cosines = AB / (norms_a[:, None] * norms_b).clamp(min=1e-300)
    inputs, outputs = assignment(cosines, maximize=True)
    a, b = norms_a[inputs], norms_b[outputs]
    active = (a > 0) & (b > 0)
    return cosines, inputs, outputs, torch.where(active, b / a.where(active, 1), 1).log()


def best_permutation(gain: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The permutation matrix whose entries of `gain` have the largest sum."""
    return torch.zeros_like(gain).index_put(assignment(gain.detach(), maximize=True), gain.new_ones(()))


def one_width(widths: tuple[int, int]) -> int:
    """The width of both layers; ValueError where they differ."""
    p, q = widths
    if p != q:
        kind = "scaled permutation"
        raise ValueError(
            f"Expected two layers of the same width, was given {p} and {q}: use the kind {kind!r}."
        )
    return p
