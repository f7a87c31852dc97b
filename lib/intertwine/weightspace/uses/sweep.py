"""Space by space over a network, each as soon as it has weights to go by; and these, unit by unit."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.weightspace.act.action import Action, Piece, State, pieces
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import Powers, Unit
from intertwine.weightspace.solve.equations import eliminated
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.solve.solve import Solution

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


Step = Callable[[HiddenSpace, Callable[[HiddenSpace], list[Rows]]], Move]


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


def sweep(
    space: WeightSpace, states: Sequence[State], step: Step, *, blocks_first: bool = False
) -> dict[int, Move]:
    """The moves of the last of these models by `step`, space by space, as soon as other axes are done.

    First come spaces that their weights determine, then scalars with any weights and orders with more than
    one number of each unit, then those with weights whose other units have no scalars, which are summed, and
    last the rest. Blocks come after the units within them, or before.
    """
    solution = space.solution
    total = {hidden.index: hidden.identity() for hidden in space.spaces if hidden.space.pinned}
    where = {hidden.index: [*places(solution, hidden, states[0])] for hidden in space.spaces}
    loose = {h.index for h in space.spaces if h.permuted and not h.logs + h.signs}

    def known(hidden: HiddenSpace, level: int) -> list[Place]:
        free = loose if level >= 2 else set()
        return [each for each in where[hidden.index] if each.others - free <= total.keys()]

    def enough(level: int, hidden: HiddenSpace) -> bool:
        found = known(hidden, level)
        # a matrix from too few weights would be wrong, an order by one number of each unit changes with
        # noise, and with them all that their other weights decide
        if level == 0 or (level < 3 and hidden.matrices is not None):
            return determined(hidden, found)
        return any(each.width > 1 or level == 3 or not hidden.permuted for each in found)

    def spans(hidden: HiddenSpace, level: int) -> bool:
        """Whether its weights tell blocks apart whatever moves within these: by what their rows span."""
        widths = (each.width for each in known(hidden, level))
        return hidden.matrices is None or max(widths, default=0) >= hidden.size

    def ready(level: int, hidden: HiddenSpace) -> bool:
        center = solution.centers.get(hidden.index)
        if hidden.index in total or (center is not None and center not in total):
            return False
        within = [h for h in space.spaces if h.base == hidden.index and h.index not in total]
        if blocks_first and within:
            return any(enough(level, each) and (level == 3 or spans(each, level)) for each in within)
        late = hidden.base is not None and hidden.base not in total if blocks_first else bool(within)
        return not late and enough(level, hidden)

    candidates = [*itertools.product(range(4), space.spaces)]
    while (found := next((each for each in candidates if ready(*each)), None)) is not None:
        level, hidden = found
        models = [(state, Action(solution, {}, state)) for state in states[:-1]]
        models.append((states[-1], Action(solution, total, states[-1])))
        move = step(hidden, lambda h: rows(known(h, level), models, {*total}))  # noqa: B023
        for h in space.spaces:
            if h.base == hidden.index and h.index in total:
                total[h.index] = total[h.index].reordered(move.order[0])
        total[hidden.index] = move
    return total


def determined(hidden: HiddenSpace, found: list[Place]) -> bool:
    """Whether these weights decide on one element."""
    if hidden.matrices is not None:
        widths = Counter[tuple[float, ...]]()
        for each in found:
            widths[hidden.vector(each.factor)] += each.width
        return hidden.matrices.determined(max(widths.values(), default=0))
    logs = solutions([hidden.powers(each.factor, 0) for each in found], hidden.logs)
    signs = solutions([hidden.powers(each.factor, 1) for each in found], hidden.signs, 2)
    return any(each.width > 1 for each in found) and all(None not in row for row in logs + signs)


def solved(
    hidden: HiddenSpace,
    lengths: list[tuple[Unit, Float[Tensor, "b n"]]],
    signs: list[tuple[frozenset[int], Bool[Tensor, "b n"]]],
) -> tuple[Float[Tensor, "k b n"], Bool[Tensor, "l b n"]]:
    """The logarithms and signs with which the first of these conditions hold, as many as determine them.

    `lengths` are the required scalars of each factor, as logarithms; `signs` tell where a product of signs
    has to be −1.
    """
    log, sign = hidden.identity().log, hidden.identity().sign
    for k, row in enumerate(solutions([hidden.powers(factor, 0) for factor, _ in lengths], hidden.logs)):
        for i, c in row.items():
            if i is not None:
                log[k] += float(c) * lengths[i][1]
    for k, row in enumerate(
        solutions([dict.fromkeys(parity, Fraction(1)) for parity, _ in signs], hidden.signs, 2)
    ):
        for i in row:
            if i is not None:
                sign[k] ^= signs[i][1]
    return log, sign


def solutions(
    conditions: list[dict[int, Fraction]], unknowns: int, modulus: int = 0
) -> list[dict[int | None, Fraction]]:
    """Each unknown as a combination of the values of the first independent of these sums.

    The key None: it is not determined, and the combination is right where other unknowns are 0.
    """
    # a value is a variable, too, and smaller, so that it is eliminated last
    equations: list[Powers] = [
        {(0, i): Fraction(-1), **{(1, k): c for k, c in row.items()}} for i, row in enumerate(conditions)
    ]
    found = eliminated(equations, {(1, k) for k in range(unknowns)}, modulus)
    return [{None if v[0] else v[1]: c for v, c in found[1, k].items()} for k in range(unknowns)]


def wider(hidden: HiddenSpace, found: list[Rows]) -> tuple[tuple[float, ...], list[Float[Tensor, "b n k"]]]:
    """The weights on which a matrix acts, or those on which its dual acts, whichever are more."""
    sides: dict[tuple[float, ...], list[Rows]] = {}
    for each in found:
        sides.setdefault(hidden.vector(each.factor), []).append(each)
    joined = {
        vector: [torch.cat(models, 2) for models in zip(*(each.entries for each in side), strict=True)]
        for vector, side in sides.items()
    }
    return max(joined.items(), key=lambda item: item[1][0].shape[2])
