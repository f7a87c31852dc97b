"""Weights of which a run uses a·w + c alone, as gains 1 + w: the symmetries are those of a·w + c."""

from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from intertwine.devices import precise
from intertwine.weightspace.trace.run import Call, Part, Ref, Run, Users, replaced


def substitute(run: Run) -> None:
    """Take a·w + c for the weight, where a run uses a parameter w in no other way; a and c ≠ 0 are numbers.

    As w ↦ a·w + c is one to one, whatever moves a·w + c moves w: where a gain 1 + w is multiplied by s, the
    weight becomes (1 + w)s − 1.
    """
    users, instead, gone = run.users(), dict[int, int](), set[int]()
    for index, name in [*run.names.items()]:
        # a buffer does not move, and one number has no units
        if index not in run.dynamic or index in {*run.parts, *run.outputs} or run.shapes[index] in ((), (1,)):
            continue
        uses = [call for call in users.get(index, ()) if call.results[0].index != index]  # no w.float() is w
        found = [_affine(run, users, call) for call in uses]
        sums = [each for each in found if each is not None]
        # a norm that is called twice makes the same sum twice, but of one weight
        if not sums or len(sums) < len(found) or len({(each.scale, each.shift) for each in sums}) > 1:
            continue
        part = Part(index, name, 1, 0, run.shapes[index][0], sums[0].scale, sums[0].shift)
        new = sums[0].calls[-1].results[0].index
        del run.names[index]
        run.names[new], run.parts[new], run.values[new] = name, part, part.of(run.values[index])
        for each in sums:
            instead[each.calls[-1].results[0].index] = new
            gone |= set(map(id, each.calls))

    def renamed(x: object) -> object:
        return Ref(instead[x.index]) if isinstance(x, Ref) and x.index in instead else x

    kept = [call for call in run.calls if id(call) not in gone]
    run.calls[:] = [
        replace(call, args=replaced(call.args, renamed), kwargs=replaced(call.kwargs, renamed))
        if any(ref.index in instead for ref in call.refs)
        else call
        for call in kept
    ]
    run.outputs = [instead.get(k, k) for k in run.outputs]


class _Sum(NamedTuple):
    """Calls that make scale·w + shift of w."""

    calls: list[Call]
    scale: float
    shift: float


def _affine(run: Run, users: Users, first: Call) -> _Sum | None:
    """The calls from this one to the first sum with a number, if they do nothing else, as a cast."""
    calls = [first]
    while (found := _numbers(run, calls)) is not None:
        if found.shift:
            return found
        following = users.get(calls[-1].results[0].index, ())
        if len(following) != 1:
            return None
        calls = [*calls, *following]
    return None


def _numbers(run: Run, calls: list[Call]) -> _Sum | None:
    """What these calls, of which each takes the result of the one before, make of zeros, ones and noise."""
    last = calls[-1]
    start, end = calls[0].refs[0].index, last.results[0].index
    alone = len(last.refs) == len(last.results) == 1 and not last.in_place
    if not alone or end in {*run.outputs, *run.shared} or run.shapes[start] != run.shapes[end]:
        return None

    def computed(x: Tensor) -> Tensor:
        return precise(reduce(lambda value, call: call.computed(lambda _: value), calls, x))

    # zeros and ones give shift and scale; noise shows whether the calls do anything else
    noise = torch.randn(run.shapes[start], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    try:
        zero, one, other = map(computed, (torch.zeros_like(noise), torch.ones_like(noise), noise))
        shift, scale = (float(x.flatten()[0]) for x in (zero, one - zero))
    except Exception:  # a call that does not take other numbers, or makes complex ones of them
        return None
    if scale == 0 or (zero != shift).any() or (one - zero != scale).any():
        return None
    if not torch.allclose(other, (scale * noise + shift).to(other), rtol=1e-5, atol=1e-6):
        return None
    return _Sum(calls, scale, shift)
