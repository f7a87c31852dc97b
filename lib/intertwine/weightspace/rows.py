"""The weights of a hidden space, unit by unit: what a normal form and a matching look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.act import effective_gain
from intertwine.weightspace.axes import Axis, Unit, length, resolve, units
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.solve import Solution, sides


class Rows(NamedTuple):
    """Of one parameter, the entries of each of n units in each of b blocks, and how scalars act on them."""

    number: int
    entries: Float[Tensor, "b n k"]
    factor: Unit


def rows(solution: Solution, state: Mapping[int, Tensor], hidden: HiddenSpace, done: set[int]) -> list[Rows]:
    """All parameters with this space on one axis, whose other axes do not move or are `done`.

    Weights come before gains and shifts, and what has no unit of zeros before what has.
    """
    found = []
    for index, x in state.items():
        label = solution.labels.get(index)
        if label is None or hidden.index not in solution.touched(index):
            continue
        axes = [resolve(axis) for axis in label]
        found += [Rows(index, entries, factor) for entries, factor in _parts(solution, x, axes, hidden, done)]

    for edge in solution.edges:  # in front of a gain, what follows this space is part of it
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
    if numbers.count(hidden.index) != 1:
        return []
    others = {number for number in numbers if number is not None} - {hidden.index, hidden.base}
    if not others <= done:
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
