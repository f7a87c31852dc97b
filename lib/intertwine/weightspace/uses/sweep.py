"""In which order the spaces of a network are matched or normalised, and the scalars that weights require."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.devices import unit
from intertwine.weightspace.act.action import Action, State
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.solve.equations import solutions
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.rows import Models, Place, Rows, places, rank, rows, wider

Ready = tuple[int, HiddenSpace]
"""A space that can be moved now, and the level of what its weights say about it."""
Step = Callable[[HiddenSpace, Callable[[HiddenSpace], list[Rows]]], Move]


def sweep(
    space: WeightSpace,
    states: Sequence[State],
    step: Step,
    *,
    blocks_first: bool = False,
    exact: bool = True,
    sums: bool = True,
) -> tuple[dict[int, Move], set[int]]:
    """The moves of the last of these models by `step`, space by space, as soon as other axes are done.

    Also the spaces whose move these weights leave open, or determine only up to such a move.

    First come spaces that their weights determine, then scalars with any weights and orders with more than
    one number of each unit, then those with weights whose other units have no scalars, which are summed, and
    last the rest. Blocks come after the units within them, or before. Where that need not be `exact`, lengths
    and sums of weights are those of weights that matrices moved in their own precision. `sums` says whether
    these alone decide on orders and signs.
    """
    solution = space.solution
    total = {hidden.index: hidden.identity() for hidden in space.spaces if hidden.space.pinned}
    where = {hidden.index: [*places(solution, hidden, states[0])] for hidden in space.spaces}
    loose = {h.index for h in space.spaces if h.permuted and not h.logs + h.signs}
    unsettled, doubtful = set[int](), set[int]()
    rounding = unit(states[-1].values())

    def known(hidden: HiddenSpace, level: int) -> list[Place]:
        free = loose if level >= 2 else set()
        found = [each for each in where[hidden.index] if each.others - free <= total.keys()]
        # weights that meet no space with an open move are better, if they are enough
        sure = [each for each in found if each.others.isdisjoint(unsettled)]
        return sure if len(sure) < len(found) and determined(hidden, sure) else found

    def enough(level: int, hidden: HiddenSpace) -> bool:
        found = known(hidden, level)
        # a matrix from too few weights would be wrong, an order by one number of each unit changes with
        # noise, and with them all that their other weights decide
        if level == 0 or (level < 3 and hidden.matrices is not None):
            return determined(hidden, found)
        return any(each.width > 1 or level == 3 or not hidden.permuted for each in found)

    def spans(hidden: HiddenSpace, level: int) -> bool:
        """Whether its weights tell blocks apart whatever moves within these.

        By what their rows span, if that is not everything, or by products of the two sides of a matrix.
        """
        found = known(hidden, level)
        width = max((each.width for each in found), default=0)
        both = len({hidden.vector(each.factor) for each in found}) == 2
        return hidden.matrices is None or width > (1 if both else hidden.size)

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
        return rows(known(hidden, level), models, {*total}, exact=exact)

    def settled(
        found: Ready, seen: Callable[[HiddenSpace], list[Rows]], open_: set[int], by_sums: bool
    ) -> bool:
        level, hidden = found
        within = [h for h in space.spaces if h.base == hidden.index]
        if blocks_first and within:
            return any(spans(h, level) and known(h, level) and trusted(h, level, open_) for h in within)
        before = {hidden.base, solution.centers.get(hidden.index), *(h.index for h in within)}
        if not before.isdisjoint(open_) or not trusted(hidden, level, open_):
            return False
        # scalars and matrices of the spaces before leave an error of some ε of the length of a row
        return decided(hidden, seen(hidden), max(4 * rounding, 1e-12), sums=by_sums)

    def trusted(hidden: HiddenSpace, level: int, open_: set[int]) -> bool:
        return all(each.others.isdisjoint(open_) for each in known(hidden, level))

    candidates = [*itertools.product(range(4), space.spaces)]
    models = [(state, Action(solution, {}, state)) for state in states]
    while (found := next((each for each in candidates if ready(*each)), None)) is not None:
        level, hidden = found
        action = Action(solution, total, states[-1], models[-1][1])
        models = [*models[:-1], (states[-1], action)]
        seen = cache(partial(look, level, models))
        move = step(hidden, seen)
        # units that their sums alone do not tell apart are reported, but change no way that is taken: by
        # chance one of two copies has such units
        if not settled(found, seen, unsettled, False):
            unsettled.add(hidden.index)
            doubtful.add(hidden.index)
        elif sums and not settled(found, seen, doubtful, True):
            doubtful.add(hidden.index)
        for h in space.spaces:
            if h.base == hidden.index and h.index in total:
                total[h.index] = total[h.index].reordered(move.order[0])
        total[hidden.index] = move
    return total, doubtful | {h.index for h in space.spaces} - total.keys()


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


def decided(hidden: HiddenSpace, found: list[Rows], tolerance: float, *, sums: bool) -> bool:
    """Whether these weights of the last model, with their zeros and equal rows, leave one element only.

    Rows of weights are known up to this share of their lengths.
    """
    if hidden.matrices is not None:
        return hidden.matrices.determined(rank(wider(hidden, found)[1]))
    lively = [r.factor for r in found if (r.sizes[-1] > 0).all()]
    logs = solutions([hidden.powers(factor, 0) for factor in lively], hidden.logs)
    sure = [r.sums[-1].abs() > tolerance * r.sizes[-1] if sums else r.sizes[-1] > 0 for r in found]
    signs = solutions([hidden.powers(r.factor, 1) for r in found], hidden.signs, 2)
    if any(None in row for row in logs) or any(i is None or not sure[i].all() for row in signs for i in row):
        return False
    return not hidden.permuted or not _tied(hidden, found, tolerance, sums=sums)


def _tied(hidden: HiddenSpace, found: list[Rows], tolerance: float, *, sums: bool) -> bool:
    """Whether rounding could exchange two units: by sums of their rows, or since the rows are alike."""
    log, sign, keys = normal_scalars(hidden, found)
    move = hidden.identity()._replace(log=log, sign=sign)
    scalars = [hidden.scalars(move, r.factor) for r in found]
    sizes = sum((s.abs() * r.sizes[-1] for s, r in zip(scalars, found, strict=True)), torch.zeros(1))
    keys, order = keys.sort(1)
    sizes = sizes.gather(1, order).unfold(1, 2, 1).mean(2)
    block, at = (keys.diff(dim=1) <= tolerance * sizes).nonzero(as_tuple=True)
    if sums or not len(at):
        return len(at) > 0
    pair, apart = [order[block, at + k] for k in (0, 1)], torch.zeros(len(at))
    for s, r in zip(scalars, found, strict=True):
        x = r.entries(-1)
        one, other = (s[block, k, None] * x[block, k].double() for k in pair)
        apart = apart + (one - other).square().sum(1)
    return bool((apart.sqrt() <= tolerance * sizes[block, at]).any())


def normal_scalars(
    hidden: HiddenSpace, found: list[Rows], model: int = -1
) -> tuple[Float[Tensor, "k b n"], Bool[Tensor, "l b n"], Float[Tensor, "b n"]]:
    """The scalars that make rows of a model unit vectors with positive sums, and these sums."""
    sums = [(r.factor, r.sums[model]) for r in found]
    lengths = [(r.factor, -torch.where(r.sizes[model] > 0, r.sizes[model], 1).log()) for r in found]
    log, sign = solved(hidden, lengths, [(hidden.parities(factor), x < 0) for factor, x in sums])
    move, start = hidden.identity()._replace(log=log, sign=sign), torch.zeros(hidden.blocks, hidden.size)
    return log, sign, sum((hidden.scalars(move, factor) * x for factor, x in sums), start.double())


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
