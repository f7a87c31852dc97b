"""Axes that are joined and cut, as by reshapes and slices."""

import math

from intertwine.weightspace.rules.axes import (
    Axis,
    Factor,
    Fixed,
    Label,
    Unit,
    length,
    moves,
    plain,
    resolve,
    size,
)
from intertwine.weightspace.rules.entries import any_copied
from intertwine.weightspace.rules.ties import Ties


def regroup(state: Ties, x: Label, shape: tuple[int, ...], name: str) -> Label:
    """Axes of the same entries in another shape: runs of axes with equal products correspond."""
    result: list[Axis] = []
    i = j = 0
    while i < len(x) or j < len(shape):
        left, right = [*x[i : i + 1]], [*shape[j : j + 1]]
        # the shortest runs of axes with one product: of (4, 6) → (2, 2, 6) first 4 = 2·2, then 6 = 6
        while (p := math.prod(map(size, left))) != (q := math.prod(right)):
            if p < q:
                left.append(x[i + len(left)])
            else:
                right.append(shape[j + len(right)])
        i, j = i + len(left), j + len(right)
        result += _recut(state, left, right, name)
    return tuple(result)


def _recut(state: Ties, axes: list[Axis], sizes: list[int], name: str) -> list[Axis]:
    if len(axes) == len(sizes) == 1:
        return axes
    if not any(moves(axis) or any_copied(axis) for axis in axes):
        return [plain(n) for n in sizes]
    # an axis of one entry leaves the order of entries as it is
    joined = join([axis for axis in axes if size(axis) > 1 or moves(axis)])
    cut = None if joined is None or not sizes else _cut(state, joined, sizes)
    if cut is None:
        how = "that joins concatenations" if joined is None else "across units"
        state.freeze(tuple(axes), f"{name} {how if sizes else 'of a single unit'}")
        return [plain(n) for n in sizes]
    return cut


def join(axes: list[Axis]) -> Axis | None:
    """One axis of all: the first may be a concatenation, the others single segments."""
    head, *tail = [resolve(axis) for axis in axes]
    # each unit of the first axis would have the whole concatenation again: no product of factors
    if any(len(axis) != 1 for axis in tail):
        return None
    return tuple((*segment, *(factor for (inner,) in tail for factor in inner)) for segment in head)


def _cut(state: Ties, axis: Axis, sizes: list[int]) -> list[Axis] | None:
    """The axis as several, the last of which may be a concatenation."""
    last = max((k for k, n in enumerate(sizes) if n > 1), default=0)  # which takes what the others leave
    parts = [plain(1) for _ in sizes]
    for k, n in enumerate(sizes[:last]):
        if n > 1:
            both = divide(state, axis, n)
            if both is None:
                return None
            parts[k], axis = both
    parts[last] = axis
    return parts if size(axis) == max(1, sizes[last]) else None


def narrow(state: Ties, axis: Axis, start: int, stop: int) -> Axis:
    """These entries of an axis: units are cut at both ends."""
    if stop - start == size(axis):
        return axis
    if not moves(axis):
        return plain(stop - start)
    # the first cut changes the segments, so that they are read anew for the second
    for at in (start, stop):
        position = 0
        for segment in resolve(axis):
            if position < at < position + length(segment):
                state.cut(segment, at - position, "a slice across units")
            position += length(segment)
    kept, position = [], 0
    for segment in resolve(axis):
        end = position + length(segment)
        low, high = max(start, position), min(stop, end)
        if low < high:
            # a segment that is still cut through could not be split: it is frozen by now
            whole = (low, high) == (position, end)
            kept.append(segment if whole else (Fixed(high - low),))
        position = end
    return tuple(kept)


def divide(state: Ties, axis: Axis, n: int) -> tuple[Axis, Axis] | None:
    """The n outer blocks of an axis, and what is within them; None if they are not whole blocks of units."""
    segments = resolve(axis)
    if len({*segments}) == 1 < len(segments):  # the same units again and again
        segments = ((Fixed(len(segments)), *segments[0]),)
    taken: list[Factor] = []
    rest = list(segments[0])
    while len(segments) == 1 and (missing := n // math.prod(factor.size for factor in taken)) > 1:
        # a block would end within a unit
        if not rest or max(missing, rest[0].size) % min(missing, rest[0].size):
            return None
        factor = rest.pop(0)
        outer, inner = [factor], list[Factor]()
        if factor.size > missing and isinstance(factor, Fixed):
            outer = [factor._replace(size=missing)]
            inner = [factor._replace(size=factor.size // missing)]
        elif factor.size > missing and isinstance(factor, Unit):
            # only now are the units known to be blocks; the space is factored wherever it occurs
            state.factor(factor.space, missing)
            outer, inner = [], list(resolve(((factor,),))[0])
        taken, rest = taken + outer, inner + rest
    if len(segments) > 1 or math.prod(factor.size for factor in taken) != n:
        return None
    return (tuple(taken) or (Fixed(1),),), (tuple(rest) or (Fixed(1),),)


def repeated(x: Label, dim: int, n: int) -> Label:
    """Every unit n / size times, one after another, as keys that several queries share."""
    # copies of one entry: an order of the units keeps them together
    many = join([x[dim], ((Fixed(n // size(x[dim]), copies=True),),)])
    return (*x[:dim], many or plain(n), *x[dim + 1 :])
