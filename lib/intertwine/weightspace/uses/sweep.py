"""In which order the spaces of a network are matched or normalised, and the scalars that weights require."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.weightspace.act.action import Action, State
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.solve.equations import solutions
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.rows import Models, Place, Rows, places, rows

Step = Callable[[HiddenSpace, Callable[[HiddenSpace], list[Rows]]], Move]


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

    def look(level: int, models: Models, hidden: HiddenSpace) -> list[Rows]:
        return rows(known(hidden, level), models, {*total})

    candidates = [*itertools.product(range(4), space.spaces)]
    while (found := next((each for each in candidates if ready(*each)), None)) is not None:
        level, hidden = found
        models = [(state, Action(solution, {}, state)) for state in states[:-1]]
        models.append((states[-1], Action(solution, total, states[-1])))
        move = step(hidden, partial(look, level, models))
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
