"""The weights of a hidden space, unit by unit, and how alike they are in two models."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.act import effective_gain
from intertwine.weightspace.axes import Axis, Unit, length, resolve, single, units
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.solve import Solution, sides
from intertwine.weightspace.space import WeightSpace


class Rows(NamedTuple):
    """Of one parameter, the entries of each of n units in each of b blocks, and how scalars act on them."""

    number: int
    entries: Float[Tensor, "b n k"]
    factor: Unit


def rows(solution: Solution, state: Mapping[int, Tensor], hidden: HiddenSpace, done: set[int]) -> list[Rows]:
    """All parameters with this space on one axis, whose other axes do not move or are `done`.

    Weights come before gains and shifts, and tensors without a unit of zeros before the others.
    """
    found = []
    for index, x in state.items():
        label = solution.labels.get(index)
        if label is None or hidden.index not in solution.touched(index):
            continue
        axes = [resolve(axis) for axis in label]
        found += [Rows(index, entries, factor) for entries, factor in _parts(solution, x, axes, hidden, done)]

    for edge in solution.edges:  # in front of a gain, the side that follows this space is part of it
        (center,), (other,) = map(units, sides(edge))
        if edge.center == "after" and solution.hidden(center).index == hidden.index:
            gain = effective_gain(edge, state).cpu()
            follower = solution.hidden(other)
            for each in rows(solution, state, follower, done):
                plain = each.number not in (edge.gain, edge.variance)
                if plain and follower.powers(each.factor) == follower.powers(other):
                    found.append(Rows(each.number, gain[:, None] * each.entries, center))

    def rank(each: Rows) -> tuple[int, bool]:
        return int((each.entries.abs().amax(2) == 0).sum()), each.entries.shape[2] == 1

    return sorted(found, key=rank)


def _parts(
    solution: Solution, x: Tensor, axes: list[Axis], hidden: HiddenSpace, done: set[int]
) -> list[tuple[Tensor, Unit]]:
    for k, axis in enumerate(axes):
        if len(axis) > 1:
            pieces = x.split([length(segment) for segment in axis], k)
            return [
                part
                for piece, segment in zip(pieces, axis, strict=True)
                for part in _parts(solution, piece, [*axes[:k], (segment,), *axes[k + 1 :]], hidden, done)
            ]
    factors = [factor for axis in axes for factor in axis[0]]
    numbers = [solution.hidden(f).index if isinstance(f, Unit) else None for f in factors]
    others = set(numbers) - {hidden.index, hidden.base, None}
    if numbers.count(hidden.index) != 1 or not others <= done:
        return []
    k = numbers.index(hidden.index)
    factor = factors[k]
    assert isinstance(factor, Unit)
    y = x.detach().double().cpu()  # elements of the group live there
    y = y.reshape([each.size for each in factors])
    if hidden.base is None:
        return [(y.movedim(k, 0).reshape(1, hidden.size, -1), factor)]
    y = y.movedim((numbers.index(hidden.base), k), (0, 1))
    return [(y.reshape(hidden.blocks, hidden.size, -1), factor)]


Likeness = dict[frozenset[int], Float[Tensor, "b n n"]]
"""Similarity of all pairs of units, in each block; apart for tensors with other signs."""


def by_weights(hidden: HiddenSpace, wanted: list[Rows], found: list[Rows]) -> Likeness:
    """Inner products of all weights of one unit with those of another, by the signs that act on them.

    Tensors with equal scalars are divided by their common length.
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
                x, y = (z / n.clamp(min=1e-300)[:, :, None] for z, n in zip((x, y), lengths, strict=True))
            signs = hidden.parities(one.factor)
            likeness[signs] = likeness.get(signs, 0) + weight * (x @ y.mT)
    return likeness


def paired(wanted: list[Rows], found: list[Rows]) -> list[tuple[Rows, Rows]]:
    """The same weights of both models."""
    waiting = list(found)
    return [(one, waiting.pop([r.number for r in waiting].index(one.number))) for one in wanted]


def by_activations(space: WeightSpace, first: list[Tensor], second: list[Tensor]) -> dict[int, Likeness]:
    """For each space of permutations, how alike the activations of units are, over inputs and positions."""
    result: dict[int, Likeness] = {}
    for k, label in space.solution.labels.items():
        for at, axis in enumerate(label):
            factor = single(axis)
            if k in space.inference.run.names or factor is None:
                continue
            hidden = space.solution.hidden(factor)
            if hidden.kind == "monomial" and hidden.base is None:
                x, y = (v[k].double().movedim(at, 0).flatten(1) for v in (first, second))
                x, y = (torch.nn.functional.normalize(z - z.mean(1, keepdim=True), dim=1) for z in (x, y))
                signs, likeness = hidden.parities(factor), result.setdefault(hidden.index, {})
                likeness[signs] = likeness.get(signs, 0) + (x @ y.T).cpu()[None]
    return result
