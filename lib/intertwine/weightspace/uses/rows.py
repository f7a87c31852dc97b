"""The weights of each unit of a space, as rows: where they are, and how they are moved by now."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.weightspace.act.action import Action, Piece, State, pieces
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution

Models = Sequence[tuple[State, Action]]
"""Tensors of one or of two models, and how each is moved by now."""


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
        unknown = self.others - known
        if at := [k for k, each in enumerate(self.piece.spaces) if each and each.index in unknown]:
            y = y.sum(at, keepdim=True)
        y = y.movedim(dims, [*range(len(dims))]).reshape(hidden.blocks, hidden.size, -1)
        return y if self.gain is None else y * state[self.gain].flatten()[:, None]


class Rows(NamedTuple):
    """The entries and lengths of each of n units in each of b blocks, in one model or in two."""

    factor: Unit
    entries: list[Float[Tensor, "b n k"]]
    sizes: list[Float[Tensor, "b n"]]


def places(solution: Solution, hidden: HiddenSpace, state: State) -> Iterator[Place]:
    """All factors of parameters on which this space moves."""
    for number in [k for k in state if hidden.index in solution.touched(k)]:
        x = state[number]
        for piece in pieces(solution, solution.labels[number], x.shape):
            numbers = [each.index if each else None for each in piece.spaces]
            if numbers.count(hidden.index) == 1:
                k, others = numbers.index(hidden.index), {*numbers} - {hidden.index, hidden.base, None}
                width = x[piece.where].numel() // (hidden.blocks * hidden.size)
                factor = piece.factors[k]
                assert isinstance(factor, Unit)
                yield Place(number, piece, k, factor, others, width)
    for edge, center, other in solution.ends:
        if edge.center == "after" and solution.hidden(center) is hidden:
            # the side that follows this space is part of it
            follower = solution.hidden(other)
            for each in places(solution, follower, state):
                plain = each.number not in (edge.gain, edge.variance)
                if plain and follower.vector(each.factor) == follower.vector(other):
                    yield each._replace(factor=center, gain=edge.gain)


def rows(found: Iterable[Place], models: Models, known: set[int]) -> list[Rows]:
    """The weights at these places; those without a unit of zeros first, gains and shifts last."""
    result = []
    for place in found:
        entries = [place.entries(state, action, known) for state, action in models]
        result.append(Rows(place.factor, entries, [x.norm(dim=2) for x in entries]))
    return sorted(result, key=lambda r: (int((r.sizes[0] == 0).sum()), r.entries[0].shape[2] == 1))


def sides(hidden: HiddenSpace, found: list[Rows]) -> dict[tuple[float, ...], list[Float[Tensor, "b n k"]]]:
    """All weights on which a matrix acts, and all on which its dual acts, in each model."""
    alike: dict[tuple[float, ...], list[Rows]] = {}
    for each in found:
        alike.setdefault(hidden.vector(each.factor), []).append(each)
    return {
        vector: [torch.cat(models, 2) for models in zip(*(each.entries for each in side), strict=True)]
        for vector, side in alike.items()
    }


def wider(hidden: HiddenSpace, found: list[Rows]) -> tuple[tuple[float, ...], list[Float[Tensor, "b n k"]]]:
    """The side that spans more."""
    joined = sides(hidden, found)
    if len(joined) == 1:
        return next(iter(joined.items()))
    return max(joined.items(), key=lambda item: (rank(item[1][-1]), item[1][0].shape[2]))


def rank(W: Float[Tensor, "b n k"]) -> int:
    """The smallest rank of these matrices."""
    sizes = torch.linalg.eigvalsh(W @ W.mT)
    return int((sizes > 1e-13 * W.shape[1] * sizes[:, -1:]).sum(1).min())
