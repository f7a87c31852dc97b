"""Axes whose entries change one by one, or are combined with those of another axis.

Scalars get other powers then, and what was known of fixed entries may be lost.
"""

from collections.abc import Callable
from fractions import Fraction

from intertwine.weightspace.rules.axes import (
    Axis,
    Factor,
    Fixed,
    Label,
    Segment,
    Unit,
    aligned,
    combine,
    length,
    moves,
    plain,
    resolve,
    size,
    unit,
    zero,
)
from intertwine.weightspace.rules.ties import Ties


def any_copied(axis: Axis) -> bool:
    """Whether some of its entries are copies of one."""
    return any(isinstance(factor, Fixed) and factor.copies for segment in axis for factor in segment)


def all_copied(axis: Axis) -> bool:
    """Whether all of its entries are copies of one."""
    return size(axis) == 1 or (len(axis) == 1 and all(isinstance(f, Fixed) and f.copies for f in axis[0]))


def solid(axis: Axis, power: Callable[[Unit], Unit] = lambda factor: factor) -> Axis:
    """The same axis, whose fixed entries may be any numbers, and whose factors that move are changed."""
    return tuple(tuple(Fixed(f.size) if isinstance(f, Fixed) else power(f) for f in s) for s in resolve(axis))


def still(axis: Axis) -> Axis:
    """The same units, which no scalars multiply."""
    return solid(axis, lambda factor: Unit(factor.space))


def raised(axis: Axis, power: Fraction, odd: bool) -> Axis:
    """The axis of |x|^power, with the signs of x where the function is odd."""
    return solid(axis, lambda factor: _raised(factor, power, odd))


def _raised(factor: Unit, power: Fraction, odd: bool) -> Unit:
    powers = {v: c if v[0] else c * power for v, c in factor.powers}
    return unit(factor.space, {v: c for v, c in powers.items() if c and (odd or not v[0])})


def meet(state: Ties, x: Label, y: Label, why: str) -> Label:
    """The sum of two values: their units move alike; of repeated entries, only the order is free."""
    result = []
    for a, b in zip(*broadcast(x, y), strict=True):
        # x + c·1 is kept where all units may change places with each other, not where scalars differ
        if size(a) != size(b):  # one number for all units
            narrow, wide = sorted((a, b), key=size)
            state.freeze((narrow,), f"{why} with broadcasting")
            state.permute_only((wide,), f"{why} with broadcasting")
            result.append(solid(wide))
        else:
            state.unify(a, b, 1, f"{why} of entries that do not move")
            result.append(fuller(a, b))
    return tuple(result)


def multiplied(state: Ties, x: Label, y: Label, name: str, power: int = 1) -> Label:
    """The label of x·y^power."""
    why = f"{name} with entries that do not move"
    return tuple(product(state, a, b, name, why, power) for a, b in zip(*broadcast(x, y), strict=True))


def broadcast(x: Label, y: Label) -> tuple[Label, Label]:
    n, one = max(len(x), len(y)), (plain(1),)
    return one * (n - len(x)) + x, one * (n - len(y)) + y


def product(state: Ties, x: Axis, gain: Axis, how: str, why: str, power: int = 1) -> Axis:
    """The axis of x·gain^power, unit by unit; `why` it freezes where only one of them moves."""
    if size(x) == size(gain) and (all_copied(gain) or (all_copied(x) and power == 1)):
        return x if all_copied(gain) else gain  # the other is the same number for all units
    if size(x) != size(gain):  # one number for all units
        narrow, wide = sorted((x, gain), key=size)
        state.freeze((narrow,), f"{how} with broadcasting")
        if power == -1 and wide is gain:  # a number over each unit: 1/s is not followed
            state.permute_only((wide,), "division by units")
        return wide
    if not moves(x, gain):
        return fuller(x, gain)
    # (Ax)·(Ag) is no A(x·g); and whatever scalars x and g have, the product has both
    state.mix((x, gain), how)
    state.unify(x, gain, None, why)
    return scaled(x, gain, power)


def scaled(x: Axis, y: Axis, power: int) -> Axis:
    """The axis of x·y^power, for axes that are unified."""
    first, second = aligned(x, y)
    if [*map(len, first)] != [*map(len, second)]:  # which `unify` froze
        return plain(size(x))
    return tuple(_scaled(s, t, power) for s, t in zip(first, second, strict=True))


def _scaled(s: Segment, t: Segment, power: int) -> Segment:
    if zero(s) or zero(t):
        return s if zero(s) else t
    factors: list[Unit | Fixed] = []
    for f, g in zip(s, t, strict=True):
        terms = [(p, each) for p, each in ((1, f), (power, g)) if isinstance(each, Unit)]
        factors.append(unit(terms[0][1].space, combine(*terms)) if terms else Fixed(f.size))
    return tuple(factors)


def fuller(a: Axis, b: Axis) -> Axis:
    """Of two unified axes, in every factor the one of which less is known to be 0 or alike."""
    first, second = aligned(a, b)
    if len(first) != len(second):
        return plain(size(a))
    return tuple(map(_fuller, first, second))


def _fuller(s: Segment, t: Segment) -> Segment:
    # a sum is 0, or the same in all entries, only where both terms are
    if zero(s) or zero(t):
        return t if zero(s) else s
    if all_copied((s,)) or all_copied((t,)):
        return t if all_copied((s,)) else s
    # cut into other blocks: one without copies stands for both, and two with copies may have none in common
    if [f.size for f in s] != [f.size for f in t]:
        copied = any_copied((s,)), any_copied((t,))
        return (Fixed(length(s)),) if all(copied) else t if copied[0] else s
    return tuple(min(pair, key=_known) for pair in zip(s, t, strict=True))


def _known(factor: Factor) -> int:
    return 1 + 2 * factor.zero + factor.copies if isinstance(factor, Fixed) else 0
