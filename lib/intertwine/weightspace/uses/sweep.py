"""In which order the spaces of a network are matched or normalised, and the scalars that weights require."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine.devices import rounding_unit
from intertwine.weightspace.act.action import Action, State
from intertwine.weightspace.act.space import WeightSpace
from intertwine.weightspace.rules.axes import Unit
from intertwine.weightspace.solve.equations import solutions
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.rows import Models, Place, Rows, places, rank, rows, wider

Step = Callable[[HiddenSpace, Callable[[HiddenSpace], list[Rows]]], Move]
"""The element of a space, from its weights as rows, or from those of the spaces within its blocks."""

LEVELS = range(4)
"""How much the weights of a space say of its element, the best first:

0. by their shapes they determine it;
1. they have any of its scalars, and more than one number for each of its units;
2. so they do where other axes may still be in any order, over which they are summed;
3. they are at least one number.
"""


def sweep(
    space: WeightSpace,
    states: Sequence[State],
    step: Step,
    *,
    blocks_first: bool = False,
    exact: bool = True,
    sums: bool = True,
) -> tuple[dict[int, Move], set[int]]:
    """The elements of the last of these models by `step`, and the spaces that stay undetermined.

    A weight says something of one of its axes only where its other axes are moved already. So spaces are
    moved one by one, each time one of the best level, and each by weights that all earlier elements have
    moved. A space is undetermined where its weights leave its element open, or decide on it only together
    with such an open one.

    Args:
        space, states: the group, and the tensors of one model or of two, of which the last is moved.
        step: takes a space and a function that gives its rows.
        blocks_first: blocks are moved before the units within them, not after.
        exact: else lengths and sums are those of weights that matrices moved in their own precision.
        sums: whether weighted sums of rows decide on orders and signs, as in a normal form.
    """
    solution = space.solution
    # blocks that stay where they are have nothing to wait for
    moves = {hidden.index: hidden.identity() for hidden in space.spaces if hidden.space.pinned}
    everywhere = {hidden.index: [*places(solution, hidden, states[0])] for hidden in space.spaces}
    # a sum over units does not depend on their order, but on their scalars
    orders_only = {h.index for h in space.spaces if h.permuted and not h.logs + h.signs}
    # open: weights leave several elements; doubtful: or rounding could change the one that sums choose
    open_, doubtful = set[int](), set[int]()
    rounding = rounding_unit(states[-1].values())

    def usable(hidden: HiddenSpace, level: int) -> list[Place]:
        """The weights of a space that other axes do not keep from saying something of it."""
        free = orders_only if level >= 2 else set()
        found = [each for each in everywhere[hidden.index] if each.others - free <= moves.keys()]
        # an open element has moved some of them in one of many ways: better without, if others are enough
        sure = [each for each in found if each.others.isdisjoint(open_)]
        return sure if len(sure) < len(found) and shapes_determine(hidden, sure) else found

    def telling(hidden: HiddenSpace, level: int) -> list[Place]:
        """The weights that tell blocks apart whatever moves within these; none if they cannot.

        They tell them by what the rows of a block span, unless that is everything, or where a matrix and its
        dual both act, by products of the two sides, in which the matrix cancels.
        """
        found = usable(hidden, level)
        width = max((each.width for each in found), default=0)
        two_sides = len({hidden.vector(each.factor) for each in found}) == 2
        apart = hidden.matrices is None or width > (1 if two_sides else hidden.size)
        return found if apart else []

    def enough(hidden: HiddenSpace, level: int) -> bool:
        found = usable(hidden, level)
        # a matrix from too few weights would be wrong, and with it all that is moved later
        if level == 0 or (level < 3 and hidden.matrices is not None):
            return shapes_determine(hidden, found)
        # an order by one number for each unit changes with noise
        return any(each.width > 1 or level == 3 or not hidden.permuted for each in found)

    def following() -> tuple[int, HiddenSpace] | None:
        """The next space to move, with its level; None at the end."""
        for level, hidden in itertools.product(LEVELS, space.spaces):
            center = solution.centers.get(hidden.index)
            if hidden.index in moves or (center is not None and center not in moves):
                continue  # the side of a gain that follows its centre has the centre's matrix
            within = [h for h in space.spaces if h.base == hidden.index and h.index not in moves]
            if blocks_first and within:
                if any(enough(h, level) and (level == 3 or telling(h, level)) for h in within):
                    return level, hidden
                continue
            waits = hidden.base not in {None, *moves} if blocks_first else bool(within)
            if not waits and enough(hidden, level):
                return level, hidden
        return None

    def settled(
        hidden: HiddenSpace,
        level: int,
        look: Callable[[HiddenSpace], list[Rows]],
        unsure: set[int],
        *,
        by_sums: bool,
    ) -> bool:
        """Whether its weights decide on its element, and none of them was moved by an unsure one."""
        within = [h for h in space.spaces if h.base == hidden.index]
        if blocks_first and within:
            shown = [telling(h, level) for h in within]
            return any(found and all(x.others.isdisjoint(unsure) for x in found) for found in shown)
        others = {hidden.base, solution.centers.get(hidden.index), *(h.index for h in within)}
        for each in usable(hidden, level):
            others |= each.others
        # earlier scalars and matrices leave an error of some ε of the length of a row
        return others.isdisjoint(unsure) and values_determine(
            hidden, look(hidden), max(4 * rounding, 1e-12), sums=by_sums
        )

    models = [(state, Action(solution, {}, state)) for state in states]
    while (found := following()) is not None:
        level, hidden = found
        # it takes over what the last action has computed: a matrix is inverted once, not for each later space
        models[-1] = states[-1], Action(solution, moves, states[-1], models[-1][1])

        @cache
        def look(of: HiddenSpace, level: int = level, models: Models = tuple(models)) -> list[Rows]:
            return rows(usable(of, level), models, {*moves}, exact=exact)

        move = step(hidden, look)
        # units that their sums alone do not tell apart are reported, but change no way that is taken: by
        # chance one of two copies has such units
        if not settled(hidden, level, look, open_, by_sums=False):
            open_.add(hidden.index)
            doubtful.add(hidden.index)
        elif sums and not settled(hidden, level, look, doubtful, by_sums=True):
            doubtful.add(hidden.index)
        for h in space.spaces:  # those within its blocks come in the new order of the blocks
            if h.base == hidden.index and h.index in moves:
                moves[h.index] = moves[h.index].reordered(move.order[0])
        moves[hidden.index] = move
    return moves, doubtful | {h.index for h in space.spaces} - moves.keys()


def shapes_determine(hidden: HiddenSpace, found: list[Place]) -> bool:
    """Whether weights of these shapes decide on one element, if they are in general position."""
    if hidden.matrices is not None:
        # the sides on which a matrix and its dual act are not added up: either of them has to be enough
        widths = Counter[tuple[float, ...]]()
        for each in found:
            widths[hidden.vector(each.factor)] += each.width
        return hidden.matrices.determined(max(widths.values(), default=0))
    logs = solutions([hidden.powers(each.factor, 0) for each in found], hidden.logs)
    signs = solutions([hidden.powers(each.factor, 1) for each in found], hidden.signs, 2)
    # None stands for a scalar that no length determines
    return any(each.width > 1 for each in found) and all(None not in row for row in logs + signs)


def values_determine(hidden: HiddenSpace, found: list[Rows], tolerance: float, *, sums: bool) -> bool:
    """Whether these very weights of the last model, with their zeros and equal rows, leave one element only.

    Rows are known up to this share of their lengths; `sums`: sums alone decide on orders and signs.
    """
    if hidden.matrices is not None:
        return hidden.matrices.determined(rank(wider(hidden, found)[1]))
    # a row of zeros has no length to be made 1
    long = [r.factor for r in found if (r.sizes[-1] > 0).all()]
    logs = solutions([hidden.powers(factor, 0) for factor in long], hidden.logs)
    sure = [r.sums[-1].abs() > tolerance * r.sizes[-1] if sums else r.sizes[-1] > 0 for r in found]
    signs = solutions([hidden.powers(r.factor, 1) for r in found], hidden.signs, 2)
    if any(None in row for row in logs) or any(i is None or not sure[i].all() for row in signs for i in row):
        return False
    return not hidden.permuted or not _close(hidden, found, tolerance, sums=sums)


def _close(hidden: HiddenSpace, found: list[Rows], tolerance: float, *, sums: bool) -> int:
    """How many pairs of units rounding could exchange: by sums of their rows, or since the rows are alike."""
    if hidden.size < 2:
        return 0
    log, sign, keys = normal_scalars(hidden, found)
    move = hidden.identity()._replace(log=log, sign=sign)
    scalars = [hidden.scalars(move, r.factor) for r in found]
    sizes = sum((s.abs() * r.sizes[-1] for s, r in zip(scalars, found, strict=True)), torch.zeros(1))
    # of all pairs only neighbours in the order of the sums can be that close
    keys, order = keys.sort(1)
    sizes = sizes.gather(1, order).unfold(1, 2, 1).mean(2)
    block, at = (keys.diff(dim=1) <= tolerance * sizes).nonzero(as_tuple=True)
    if sums or not len(at):
        return len(at)
    pair, apart = [order[block, at + k] for k in (0, 1)], torch.zeros(len(at))
    for s, r in zip(scalars, found, strict=True):
        x = r.entries(-1)
        one, other = (s[block, k, None] * x[block, k].double() for k in pair)
        apart = apart + (one - other).square().sum(1)
    return int((apart.sqrt() <= tolerance * sizes[block, at]).sum())


def normal_scalars(
    hidden: HiddenSpace, found: list[Rows], model: int = -1
) -> tuple[Float[Tensor, "k b n"], Bool[Tensor, "l b n"], Float[Tensor, "b n"]]:
    """The scalars that make rows of a model unit vectors with positive sums, and these sums."""
    sums = [(r.factor, r.sums[model]) for r in found]
    sizes = [(r.factor, r.sizes[model]) for r in found] if hidden.logs else []
    lengths = [(factor, -torch.where(x > 0, x, 1).log()) for factor, x in sizes]
    signs = [(hidden.parities(factor), x < 0) for factor, x in sums] if hidden.signs else []
    log, sign = solved(hidden, lengths, signs)
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
    start = hidden.identity()
    log, sign = start.log, start.sign
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
