"""The same entries in another shape: axes are joined and cut."""

from __future__ import annotations

import itertools
import math

from intertwine.weightspace.axes import Axis, Factor, Fixed, Segment, moves, plain, resolve, size
from intertwine.weightspace.infer import Inference, Label


def regroup(state: Inference, x: Label, shape: tuple[int, ...], name: str) -> Label:
    """Axes of the same entries in another shape: blocks of axes with equal products correspond."""
    result: list[Axis] = []
    i = j = 0
    while i < len(x) or j < len(shape):
        left: list[Axis] = []
        right: list[int] = []
        p = q = 1
        while not left or not right or p != q:
            if i < len(x) and (p <= q or j >= len(shape)):
                p *= size(x[i])
                left.append(x[i])
                i += 1
            elif j < len(shape):
                q *= shape[j]
                right.append(shape[j])
                j += 1
            else:
                break
            if p == q and (not left or not right) and p == 1:
                break
        result += _block(state, left, right, name)
    return tuple(result)


def _block(state: Inference, axes: list[Axis], sizes: list[int], name: str) -> list[Axis]:
    if not sizes:
        state.freeze(tuple(axes), f"{name} of a single unit")
        return []
    if len(axes) == 1 and len(sizes) == 1:
        return [axes[0]]
    if not any(moves(axis) for axis in axes):
        return [plain(n) for n in sizes]
    joined = join([axis for axis in axes if size(axis) > 1 or moves(axis)])
    cut = None if joined is None else _cut(state, joined, sizes)
    if cut is None:
        how = "that joins concatenations" if joined is None else "across units"
        state.freeze(tuple(axes), f"{name} {how}")
        return [plain(n) for n in sizes]
    return cut


def join(axes: list[Axis]) -> Axis | None:
    """One axis of all: the first may be a concatenation, the others single segments."""
    head, *tail = [resolve(axis) for axis in axes]
    if any(len(axis) != 1 for axis in tail):
        return None
    rest: Segment = tuple(itertools.chain.from_iterable(axis[0] for axis in tail))
    return tuple((*segment, *rest) for segment in head)


def _cut(state: Inference, axis: Axis, sizes: list[int]) -> list[Axis] | None:
    wide = [n for n in sizes if n > 1]
    parts: list[Axis] = []
    for n in wide[:-1]:
        axis = resolve(axis)
        if len(axis) != 1:
            return None
        taken: list[Factor] = []
        rest = list(axis[0])
        while math.prod(f.size for f in taken) < n:
            if not rest:
                return None
            factor = rest.pop(0)
            need = n // math.prod(f.size for f in taken)
            if n % math.prod(f.size for f in taken) or (factor.size > need and factor.size % need):
                return None
            if factor.size > need:
                if isinstance(factor, Fixed):
                    rest.insert(0, Fixed(factor.size // need, factor.zero))
                    factor = Fixed(need, factor.zero)
                else:
                    state.ties.factor(factor.space, need)
                    outer, *inner = resolve(((factor,),))[0]
                    rest[:0] = inner
                    if outer.size != need:
                        return None
                    factor = outer
            elif need % factor.size:
                return None
            taken.append(factor)
        parts.append((tuple(taken),))
        axis = (tuple(rest) or (Fixed(1),),)
    parts.append(axis)
    if any(size(part) != n for part, n in zip(parts, wide, strict=False)):
        return None
    if not wide:  # a single unit
        return [axis if moves(axis) else plain(1), *(plain(1) for _ in sizes[1:])]
    found = iter(parts)
    return [next(found) if n > 1 else plain(1) for n in sizes]
