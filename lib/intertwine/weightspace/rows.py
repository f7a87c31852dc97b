"""The weights of a hidden space, unit by unit, and how alike they are in two models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.act import Action, Piece, State, pieces
from intertwine.weightspace.axes import Unit, single
from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.solve import Solution
from intertwine.weightspace.space import WeightSpace


class Place(NamedTuple):
    """One factor of a piece of a parameter, on which a space moves, and which other spaces move there.

    `gain`: the weights are taken together with the gain behind them.
    """

    number: int
    piece: Piece
    k: int
    factor: Unit
    others: set[int | None]
    width: int
    gain: int | None = None

    def entries(self, state: State, action: Action, known: set[int]) -> Float[Tensor, "b n w"]:
        """The entries of each unit, moved by the action; summed over units whose order is not known."""
        y = action.piece(state[self.number], self.piece, self.number)
        hidden, dims = self.piece.spaces[self.k], self.piece.dims(self.k)
        assert hidden is not None
        unknown = [
            k for k, each in enumerate(self.piece.spaces) if each and each.index in self.others - known
        ]
        if unknown:
            y = y.sum(unknown, keepdim=True)
        y = y.movedim(dims, [*range(len(dims))]).reshape(hidden.blocks, hidden.size, -1)
        return y if self.gain is None else y * state[self.gain].flatten()[:, None]


class Rows(NamedTuple):
    """The entries and lengths of each of n units in each of b blocks, in one model or in two."""

    factor: Unit
    entries: list[Float[Tensor, "b n k"]]
    sizes: list[Float[Tensor, "b n"]]


def places(solution: Solution, hidden: HiddenSpace, state: State) -> Iterator[Place]:
    """All factors of parameters on which this space moves."""
    for index, x in state.items():
        if hidden.index in solution.touched(index):
            for piece in pieces(solution, solution.labels[index], x.shape):
                numbers = [each.index if each else None for each in piece.spaces]
                if numbers.count(hidden.index) == 1:
                    k, others = numbers.index(hidden.index), {*numbers} - {hidden.index, hidden.base, None}
                    size = torch.Size(factor.size for factor in piece.factors).numel()
                    width = size // (hidden.blocks * hidden.size)
                    factor = piece.factors[k]
                    assert isinstance(factor, Unit)
                    yield Place(index, piece, k, factor, others, width)
    for edge, center, other in solution.ends:
        if edge.center == "after" and solution.hidden(center) is hidden:
            # the side that follows this space is part of it
            follower = solution.hidden(other)
            for each in places(solution, follower, state):
                plain = each.number not in (edge.gain, edge.variance)
                if plain and follower.powers(each.factor) == follower.powers(other):
                    yield each._replace(factor=center, gain=edge.gain)


def rows(found: Iterable[Place], models: Sequence[tuple[State, Action]], known: set[int]) -> list[Rows]:
    """The weights at these places; those without a unit of zeros first, gains and shifts last."""
    result = []
    for place in found:
        entries = [place.entries(state, action, known) for state, action in models]
        result.append(Rows(place.factor, entries, [x.norm(dim=2) for x in entries]))
    return sorted(result, key=lambda r: (int((r.sizes[0] == 0).sum()), r.entries[0].shape[2] == 1))


Likeness = dict[frozenset[int], Float[Tensor, "b n n"]]
"""Similarity of all pairs of units, in each block; apart for tensors with other signs."""


def by_weights(hidden: HiddenSpace, found: list[Rows]) -> Likeness:
    """Inner products of all weights of one unit with those of another, by the signs that act on them.

    Tensors with equal scalars are divided by their common length.
    """
    alike: dict[tuple[tuple[int, Fraction], ...], list[Rows]] = {}
    for each in found:
        alike.setdefault(tuple(sorted(hidden.powers(each.factor).items())), []).append(each)
    likeness: Likeness = {}
    for powers, group in alike.items():
        lengths = [torch.stack([each.sizes[k] for each in group]).norm(dim=0) for k in (0, 1)]
        size = float(lengths[0].norm()) or 1.0
        for each in group:
            # single precision is enough for lengths near 1, and twice as fast
            units = [n.clamp(min=1e-300)[:, :, None] if powers else size for n in lengths]
            x, y = ((z / n).float() for z, n in zip(each.entries, units, strict=True))
            inner = (x @ y.mT).double() * (size if powers else size**2)
            signs = hidden.parities(each.factor)
            likeness[signs] = likeness.get(signs, 0) + inner
    return likeness


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
