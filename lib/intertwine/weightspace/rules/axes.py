"""Axes of tensors as sequences of spaces.

Every axis of every parameter starts as a space of its own. Operations join spaces: units that are added move
together. An axis is a sequence of segments (a concatenation), a segment a product of factors (a reshape). A
factor is a number of entries that do not move, or a space with the power in which its scalars act there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

from intertwine.groups import GeneralLinear, MatrixGroup

Variable = tuple[int, ...]
"""Scalars, one for each unit: (0, v) for positive numbers, (1, v) for signs; of the k-th part (…, k)."""
Powers = dict[Variable, Fraction]


class Space:
    """n units that move together. `base`: one element for each unit of that space (a wreath product)."""

    def __init__(self, size: int, base: Space | None = None) -> None:
        self.size = size
        self.base = base
        self.parent: Space | None = None
        self.parts: list[Space] = []  # the concatenation that this turned out to be
        self.factors: tuple[Space, Space] | None = None  # the product, outer units first
        self.frozen: dict[str, bool] = {}  # reasons, and whether it is frozen by itself, not by a joined one
        self.mixing: dict[str, None] = {}  # in order, why units may not be mixed linearly
        self.within: type[MatrixGroup] = GeneralLinear  # the matrices that may mix its units, if any may,
        self.bound = "only linear maps"  # and what says so
        self.equations: list[Powers] = []  # products of scalars that are 1
        self.inner = False  # units within blocks, of which a part cannot move alone
        self.fibred = False  # blocks, each of which has units that move within it
        self.pinned = False  # blocks that stay where they are, while the units within them may move
        self.killed = False  # no scalars, as the units within each block have them

    @property
    def reasons(self) -> list[str]:
        """Why it is frozen by itself."""
        return [reason for reason, itself in self.frozen.items() if itself]

    def root(self) -> Space:
        space = self
        while space.parent is not None:
            space = space.parent
        return space

    def blocks(self) -> Space | None:
        """The space over which this one is fibred; of a product of blocks, the outer ones."""
        return next(self.chain(), None)

    def chain(self) -> Iterator[Space]:
        """The blocks that it lies in, from the inner ones outwards."""
        base = self.root().base
        while base is not None:
            base = base.root()
            if base.factors is not None:
                base = base.factors[0].root()
                continue
            if not base.parts and not base.frozen:
                yield base
            base = base.base

    def leaves(self) -> list[Space]:
        """The spaces that it consists of by now."""
        space = self.root()
        if space.leaf():
            return [space]
        return [leaf for child in (*space.parts, *(space.factors or ())) for leaf in child.leaves()]

    def leaf(self) -> bool:
        return not self.parts and self.factors is None

    def unchanged(self) -> bool:
        """Whether it still is one space that moves."""
        return self.parent is None and self.leaf() and not self.frozen


class Unit(NamedTuple):
    """A factor that moves: by scalars a(i), it is multiplied by the product of their powers."""

    space: Space
    powers: tuple[tuple[Variable, Fraction], ...] = ()

    @property
    def size(self) -> int:
        return self.space.size


class Fixed(NamedTuple):
    """Entries that do not move; `zero` if they are all 0, `copies` if they are all alike."""

    size: int
    zero: bool = False
    copies: bool = False


Factor = Unit | Fixed
Segment = tuple[Factor, ...]
Axis = tuple[Segment, ...]
Label = tuple[Axis, ...]


@dataclass(eq=False)
class Edge:
    """A gain (and a shift) for each unit, between two axes without another constraint.

    y = gain·x + shift. If both sides may be mixed linearly on their own, the units of x and y need not move
    alike: where A moves y, the matrix gain⁻¹·A·gain moves x.
    """

    before: Axis
    after: Axis
    gain: int
    why: str
    center: str
    """the side with the group, which the other follows: "after" of batch norm, its gain takes up scalars."""
    variance: int | None = None
    eps: float = 0.0
    part: int = 0
    parts: int = 1
    """of the gain, which multiplies copies of one value side by side."""

    @property
    def sides(self) -> tuple[Axis, Axis]:
        """The centre and the side that follows."""
        pair = (self.before, self.after)
        return pair if self.center == "before" else pair[::-1]


def plain(size: int) -> Axis:
    """An axis that does not move."""
    return ((Fixed(size),),)


def size(axis: Axis) -> int:
    return sum(length(segment) for segment in axis)


def length(segment: Segment) -> int:
    return math.prod(factor.size for factor in segment)


def zero(segment: Segment) -> bool:
    """Whether all its entries are 0."""
    return len(segment) == 1 and isinstance(segment[0], Fixed) and segment[0].zero


def units(*axes: Axis) -> Iterator[Unit]:
    """The factors of these axes that move."""
    for axis in axes:
        yield from (factor for segment in resolve(axis) for factor in segment if isinstance(factor, Unit))


def moves(*axes: Axis) -> bool:
    """Whether any of them moves."""
    return any(True for _ in units(*axes))


def single(axis: Axis) -> Unit | None:
    """The factor of an axis that is one space."""
    segments = resolve(axis)
    factor = segments[0][0] if [len(segment) for segment in segments] == [1] else None
    return factor if isinstance(factor, Unit) else None


def combine(*terms: tuple[int | Fraction, Unit]) -> Powers:
    """The powers of scalars in Π unit^c; of signs, modulo 2, and none where c is a fraction."""
    total: Powers = {}
    for c, factor in terms:
        odd = Fraction(c).denominator == 1 and int(c) % 2
        for v, power in factor.powers:
            old = total.get(v, Fraction(0))
            total[v] = (old + odd) % 2 if v[0] else old + c * power
    return {v: c for v, c in total.items() if c}


def unit(space: Space, powers: Powers) -> Unit:
    return Unit(space, tuple(sorted(powers.items())))


def resolve(axis: Axis) -> Axis:
    """The same axis in the spaces that are known by now."""
    heads = [segment[0] for segment in axis if len(segment) == 1]
    if len(heads) == len(axis) and all(isinstance(f, Fixed) or f.space.unchanged() for f in heads):
        return axis  # as most are
    start: list[Segment] = [()]
    return tuple(_tidy(each) for segment in axis for each in reduce(_expand, segment, start))


def aligned(first: Axis, second: Axis) -> tuple[Axis, Axis]:
    """Both axes, cut at the ends of the other one where entries do not move."""
    first, second = resolve(first), resolve(second)
    ends = [list(accumulate(map(length, axis))) for axis in (first, second)]
    return _cut(first, ends[1]), _cut(second, ends[0])


def _cut(axis: Axis, ends: list[int]) -> Axis:
    segments: list[Segment] = []
    start = 0
    for segment in axis:
        stop, head, rest = start + length(segment), segment[0], segment[1:]
        if isinstance(head, Fixed):
            # the same units again and again, as of heads for each image, may be cut after any of them
            for end in [
                *(end for end in ends if start < end < stop and not (end - start) % length(rest)),
                stop,
            ]:
                n = (end - start) // length(rest)
                segments.append(rest if n == 1 and rest else (head._replace(size=n), *rest))
                start = end
        else:
            segments.append(segment)
        start = stop
    return tuple(segments)


def _tidy(segment: Segment) -> Segment:
    """Without factors of one entry, and with neighbours that do not move as one."""
    kept: list[Factor] = []
    for factor in segment:
        if isinstance(factor, Fixed):
            if factor.size == 1 and not factor.zero:
                continue
            last = kept[-1] if kept else None
            if isinstance(last, Fixed) and (last.zero, last.copies) == (factor.zero, factor.copies):
                factor = Fixed(kept.pop().size * factor.size, factor.zero, factor.copies)
        kept.append(factor)
    return tuple(kept) or (Fixed(1),)


def _expand(heads: list[Segment], factor: Factor) -> list[Segment]:
    if isinstance(factor, Fixed):
        return [(*head, factor) for head in heads]
    space = factor.space.root()
    factor = factor if space is factor.space else factor._replace(space=space)
    if space.frozen and space.leaf():
        return [(*head, Fixed(space.size)) for head in heads]
    if space.factors is not None:
        return reduce(_expand, (factor._replace(space=each) for each in space.factors), heads)
    if space.parts:
        tails = [s for k, part in enumerate(space.parts) for s in _expand([()], _part(part, factor, k))]
        if all(head == () for head in heads):
            return tails
        # m fixed copies of a concatenation, one after another
        return [tail for head in heads for _ in range(length(head)) for tail in tails]
    return [(*head, factor) for head in heads]


def _part(part: Space, whole: Unit, k: int) -> Unit:
    """Of a concatenation, each part has scalars of its own."""
    return Unit(part, tuple(((*v, k), c) for v, c in whole.powers))
