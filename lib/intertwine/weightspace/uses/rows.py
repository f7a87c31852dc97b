"""The weights of each unit of a space, as rows: where they are, and how they are moved by now."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.devices import rounding_unit
from intertwine.groups.matrices import generic
from intertwine.weightspace.act.action import ROOM, Action, Piece, State, pieces
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.solve.hidden import HiddenSpace, Solution

Models = Sequence[tuple[State, Action]]
"""Tensors of one or of two models, and how each is moved by now."""


class Place(NamedTuple):
    """One factor of a piece of a parameter, on which a space moves, and which other spaces move there.

    `gain`: the weights are taken together with the gain after them.
    """

    number: int
    piece: Piece
    k: int
    factor: Unit
    others: set[int | None]
    width: int
    gain: int | None = None

    def entries(
        self, state: State, action: Action, known: set[int], *, exact: bool
    ) -> Float[Tensor, "b n w"]:
        """The entries of each unit, moved by the action; summed over units whose order is not known."""
        y = action.piece(state[self.number], self.piece, self.number, exact=exact)
        hidden, dims = self.piece.spaces[self.k], self.piece.dims(self.k)
        assert hidden is not None
        unknown = self.others - known
        if at := [k for k, each in enumerate(self.piece.spaces) if each and each.index in unknown]:
            # a sum is the same in every order, and these units have no scalars: `sweep` sees to that
            y = y.sum(at, keepdim=True)
        y = y.movedim(dims, [*range(len(dims))]).reshape(hidden.blocks, hidden.size, -1)
        return y if self.gain is None else y * state[self.gain].flatten()[:, None].to(y.dtype)


@dataclass(frozen=True, eq=False)
class Rows:
    """The weights of each of n units in each of b blocks, in one model or in two, at one place.

    Their entries are moved whenever they are asked for, as those of all places take several times the memory
    of the models; only a few numbers of each unit are kept.
    """

    place: Place
    models: Models
    known: set[int]
    exact: bool

    @property
    def factor(self) -> Unit:
        return self.place.factor

    def entries(self, model: int, *, exact: bool = False) -> Float[Tensor, "b n k"]:
        """In float32 or the weights' own finer dtype; if `exact`, in float64 where a matrix acts."""
        state, action = self.models[model]
        return self.place.entries(state, action, self.known, exact=exact or self.exact)

    @property
    def rounding(self) -> float:
        """The rounding unit of the weights, before they were moved."""
        return rounding_unit(state[self.place.number] for state, _ in self.models)

    @property
    def sizes(self) -> list[Float[Tensor, "b n"]]:
        """The length of each unit, in each model."""
        return self._numbers[0]

    @property
    def sums(self) -> list[Float[Tensor, "b n"]]:
        """A sum in which every entry has a fixed weight."""
        return self._numbers[1]

    @property
    def width(self) -> int:
        """The number of entries of a unit."""
        return self._numbers[2]

    @cached_property
    def _numbers(self) -> tuple[list[Tensor], list[Tensor], int]:
        sizes, sums, width = [], [], 0
        for x in map(self.entries, range(len(self.models))):
            width = x.shape[2]
            # fixed, so that equal rows of two models have equal sums; generic, so that unlike rows have not
            weights = generic(width, 1)
            parts = [(y.norm(dim=2), (y @ weights)[:, :, 0]) for y in map(torch.Tensor.double, split(x, 1))]
            size, total = (torch.cat(numbers, 1) for numbers in zip(*parts, strict=True))
            sizes.append(size)
            sums.append(total)
        return sizes, sums, width


def split(x: Float[Tensor, "b n k"], axis: int, least: int = 1) -> tuple[Tensor, ...]:
    """Parts of no more than a million numbers, but at least so many rows or columns."""
    if x.numel() <= ROOM:
        return (x,)
    return x.split(max(least, ROOM * x.shape[axis] // x.numel()), axis)


def places(solution: Solution, hidden: HiddenSpace, state: State) -> Iterator[Place]:
    """All factors of parameters on which this space moves."""
    for number in [k for k in state if hidden.index in solution.touched(k)]:
        x = state[number]
        for piece in pieces(solution, solution.labels[number], x.shape):
            numbers = [each.index if each else None for each in piece.spaces]
            # a weight from a space to itself is moved on both sides at once, and says nothing of one alone
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


def rows(found: Iterable[Place], models: Models, known: set[int], *, exact: bool = True) -> list[Rows]:
    """The weights at these places; where units are not mixed, those without a unit of zeros first, gains and
    shifts last."""
    result = [Rows(place, models, known, exact) for place in found]
    hidden = models[0][1].solution.hidden

    def zeros(r: Rows) -> int:
        # a matrix leaves no row of zeros, so that these would order the weights of two copies in two ways
        return int((r.sizes[0] == 0).sum()) if hidden(r.factor).matrices is None else 0

    return sorted(result, key=lambda r: (zeros(r), r.width == 1))


def sides(hidden: HiddenSpace, found: list[Rows]) -> dict[tuple[float, ...], list[Rows]]:
    """All weights on which a matrix acts, and all on which its dual acts."""
    alike: dict[tuple[float, ...], list[Rows]] = {}
    for each in found:
        alike.setdefault(hidden.vector(each.factor), []).append(each)
    return alike


def joined(side: list[Rows], model: int, *, exact: bool = False) -> Float[Tensor, "b n k"]:
    """The weights of a side as one matrix, with the columns of all."""
    return torch.cat([each.entries(model, exact=exact) for each in side], 2)


def wider(hidden: HiddenSpace, found: list[Rows]) -> tuple[tuple[float, ...], list[Rows]]:
    """The side that spans more."""
    both = sides(hidden, found)
    if len(both) == 1:
        return next(iter(both.items()))
    return max(both.items(), key=lambda item: (rank(item[1]), sum(each.width for each in item[1])))


def rank(side: list[Rows]) -> int:
    """The smallest rank of the weights of the last model, over its blocks, up to their rounding."""
    gram: Tensor | float = 0.0
    rounding = max(each.rounding for each in side)
    weights = (each.entries(-1) for each in side)
    for number, part in enumerate(part for x in weights for part in split(x, 2, 4 * x.shape[1])):
        x = part.double()
        gram = gram + x @ x.mT
        if number == 0 and x.shape[2] >= x.shape[1] == _rank(gram, rounding):
            return x.shape[1]  # of a vocabulary, some thousand words are enough
    assert isinstance(gram, Tensor)
    return _rank(gram, rounding)


def _rank(gram: Float[Tensor, "b n n"], rounding: float) -> int:
    sizes = torch.linalg.eigvalsh(gram)
    # of squared lengths: what float64 leaves of zeros in sums, or the rounding of the weights themselves
    least = max(1e-13 * gram.shape[1], (4 * rounding) ** 2)
    return int((sizes > least * sizes[:, -1:]).sum(1).min())
