"""How alike the units of two models are: what a matching assigns them by."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.axes import units
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.rows import Rows

if TYPE_CHECKING:
    from intertwine.weightspace.find import WeightSpace

Likeness = dict[frozenset[int], Float[Tensor, "b n n"]]
"""Of each unit with each other one, in each block; apart for what other signs act on."""


def by_weights(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows]) -> Likeness:
    """Inner products of all weights of one unit with those of another, by the signs that act on them.

    What is scaled alike is divided by its common length.
    """
    scaled_alike: dict[tuple[tuple[int, Fraction], ...], list[tuple[Rows, Rows]]] = {}
    for one, other in paired(wanted, found):
        scaled_alike.setdefault(tuple(sorted(hidden.powers(one.factor).items())), []).append((one, other))
    likeness: Likeness = {}
    for powers, pairs in scaled_alike.items():
        lengths = [torch.cat([pair[k].entries for pair in pairs], 2).norm(dim=2) for k in (0, 1)]
        weight = float(lengths[0].norm()) if powers else 1.0
        for one, other in pairs:
            x, y = one.entries, other.entries
            if powers:
                x, y = (
                    z / length.clamp(min=1e-300)[:, :, None]
                    for z, length in zip((x, y), lengths, strict=True)
                )
            signs = hidden.parities(one.factor)
            likeness[signs] = likeness.get(signs, 0) + weight * (x @ y.mT)
    return likeness


def paired(wanted: list[Rows], found: list[Rows]) -> list[tuple[Rows, Rows]]:
    """The same weights of both models."""
    others = {
        number: [each for each in found if each.number == number] for number in {r.number for r in found}
    }
    seen: dict[int, int] = {}
    pairs = []
    for one in wanted:
        k = seen.get(one.number, 0)
        seen[one.number] = k + 1
        pairs.append((one, others[one.number][k]))
    return pairs


def by_activations(space: WeightSpace, first: list[Tensor], second: list[Tensor]) -> dict[int, Likeness]:
    """For each space of permutations, how alike the activations of units are, over inputs and positions."""
    result: dict[int, Likeness] = {}
    for k, label in space.solution.labels.items():
        for at, axis in enumerate(label):
            found = list(units(axis))
            if k in space.inference.run.names or len(axis) != 1 or len(axis[0]) != 1 or len(found) != 1:
                continue
            hidden = space.solution.hidden(found[0])
            if hidden.kind == "monomial" and hidden.base is None:
                x, y = (v[k].double().movedim(at, 0).flatten(1) for v in (first, second))
                x, y = (torch.nn.functional.normalize(z - z.mean(1, keepdim=True), dim=1) for z in (x, y))
                signs, likeness = hidden.parities(found[0]), result.setdefault(hidden.index, {})
                likeness[signs] = likeness.get(signs, 0) + (x @ y.T).cpu()[None]
    return result
