"""Axes of which single entries change: scalars get a power, and what is known of fixed entries is lost."""

from collections.abc import Callable
from fractions import Fraction

from intertwine.weightspace.rules.axes import Axis, Fixed, Unit, resolve, size, unit


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
