"""Layers whose outputs are cut within blocks, as queries, keys and values of each head: one layer a part."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from intertwine.weightspace.trace.run import Call, Part, Ref, Run, Users, replaced
from intertwine.weightspace.trace.views import RESHAPES, VIEWS, views

LAYERS = {"linear": -1, "conv1d": 1, "conv2d": 1, "conv3d": 1}
"""Each with the axis of its units."""


class _Cut(NamedTuple):
    """From where to where a value goes in each block, which of its axes are which, and the calls to it."""

    start: int
    stop: int
    axes: list[int]
    value: Ref
    made: list[Call]


def separate(run: Run) -> None:
    """Write a layer whose outputs are viewed as blocks, each cut in the same parts, as one layer a part.

    The units of a part may then move as if it had a weight of its own.
    """
    _name_layers(run)
    users = run.users()
    for layer in [call for call in run.calls if call.name in LAYERS and not call.kwargs]:
        weights = layer.refs[1:]
        # its outputs have to be used as blocks, and in no other way
        view, *others = users.get(layer.results[0].index, [layer])
        if others or view.name not in RESHAPES.split() or view.results[0].index in run.shared:
            continue
        # a weight that another call reads whole cannot become several
        if not all(w.index in run.names and users[w.index] == [layer] for w in weights):
            continue
        old, new = (run.shapes[call.results[0].index] for call in (layer, view))
        at = LAYERS[layer.name] % len(old)
        end = next((k for k in range(at, len(new) + 1) if math.prod(new[at:k]) == old[at]), at)
        # the axis of units has to become blocks, and within each an axis that is cut
        if old[:at] != new[:at] or end < at + 2 or new[at] == 1 or _grouped(run, layer):
            continue
        cuts = _cuts(run, users, view.results[0], at + 1, [*range(len(new))])
        if cuts is None or len(cuts) < 2 or not _whole(cuts, new[at + 1]):
            continue
        gone = {id(call) for call in (layer, view, *(call for cut in cuts for call in cut.made))}
        place = run.calls.index(layer)
        run.calls[place:place] = [call for cut in cuts for call in _calls(run, layer, cut, new, at, end)]
        run.calls[:] = [call for call in run.calls if id(call) not in gone]
        for w in weights:
            # from here on its parts are the weights; `run.parts` leads back to it
            del run.names[w.index]


def _name_layers(run: Run) -> None:
    """Write x @ W.T + b, as some models call their layers, as the `linear` that it is."""
    users, made = run.users(), {ref.index: call for call in run.calls for ref in call.results}
    named = {k for passes in run.modules.values() for ends in passes for k in ends} | {*run.outputs}
    for call in [
        c for c in run.calls if c.name in ("matmul", "__matmul__") and len(c.refs) == len(c.args) == 2
    ]:
        x, turned = call.refs
        turn = made.get(turned.index, call)
        # a weight that is turned for this product alone
        if turn.name not in VIEWS.split() or turn.first.index not in run.names or turned.index in named:
            continue
        if users[turn.first.index] != [turn] or users[turned.index] != [call]:
            continue
        if len(run.shapes[turn.first.index]) != 2 or views(run, turn)[0].axes != [1, 0]:
            continue
        layer, gone = [x, turn.first], [turn, call]
        y = call.results[0].index
        add, *others = users.get(y, [call])
        # what a module returns keeps its place in the run, as spaces are called by it
        if add.name in ("add", "__add__") and len(add.refs) == len(add.args) == 2 and y not in named:
            bias = next((ref for ref in add.refs if ref.index in run.names), x)
            if not others and len(run.shapes[bias.index]) == 1 and not add.kwargs:
                layer, gone = [*layer, bias], [*gone, add]
        at = run.calls.index(gone[-1])
        run.calls[at] = Call("linear", torch.nn.functional.linear, (*layer,), {}, gone[-1].results)
        run.calls[:] = [each for each in run.calls if each not in gone]


def _grouped(run: Run, layer: Call) -> bool:
    x, weight = (run.shapes[ref.index] for ref in layer.refs[:2])
    return weight[1] != x[LAYERS[layer.name]]


def _whole(cuts: Sequence[_Cut], size: int) -> bool:
    """Whether every entry is in one of them."""
    ends = sorted((cut.start, cut.stop) for cut in cuts)
    return [0, *(stop for _, stop in ends)] == [*(start for start, _ in ends), size]


def _cuts(run: Run, users: Users, value: Ref, dim: int, axes: list[int]) -> list[_Cut] | None:
    """The parts that are taken along this axis of the blocks; None if they are used in another way."""
    found: list[_Cut] = []
    shape, cut = run.shapes[value.index], axes.index(dim)
    for call in users.get(value.index, ()):
        parts = views(run, call) if call.name in VIEWS.split() and call.refs[0].index == value.index else []
        if not parts or value.index in run.outputs:
            return None
        for ref, part in zip(call.results, parts, strict=True):
            kept = [k for k in part.axes if k is not None]
            # a part has all entries of the other axes, in steps of 1: else its rows are no rows of the weight
            entire = [k for k in range(len(shape)) if k != cut]
            if len(kept) < len(part.axes) or sorted({*kept} - {cut}) != entire or {*part.steps} - {1}:
                return None
            sizes = dict(zip(kept, part.shape, strict=True))
            if any(sizes[k] != shape[k] for k in entire):
                return None
            start, n, order = part.starts[cut], sizes.get(cut, 1), [axes[k] for k in kept]
            # queries may first be cut from the keys and values, and these from each other later
            more = _cuts(run, users, ref, dim, order) if cut in sizes else None
            if n < shape[cut] and (not more or not _whole(more, n)):
                more = [_Cut(0, n, order, ref, [])]  # which is not cut further
            if more is None:
                return None
            found += [
                _Cut(start + a, start + b, order, ref, [call, *made]) for a, b, order, ref, made in more
            ]
    return found


def _calls(run: Run, layer: Call, cut: _Cut, shape: Sequence[int], at: int, end: int) -> list[Call]:
    """The layer of one part: its outputs as blocks, with axes in the order in which the run has them."""
    inner, n = math.prod(shape[at + 2 : end]), cut.stop - cut.start
    new = {}
    for w in layer.refs[1:]:
        part = Part(w.index, run.names[w.index], shape[at], cut.start * inner, cut.stop * inner)
        x = part.of(run.values[w.index])
        new[w.index] = Ref(_value(run, x))
        run.parts[new[w.index].index] = part
        run.names[new[w.index].index] = f"{part.name}[{part.start}:{part.stop} of each block]"
    old = run.shapes[layer.results[0].index]
    kept = [k for k in range(len(shape)) if k in cut.axes]
    sizes = [n if k == at + 1 else shape[k] for k in kept]
    # rules read shapes alone, so that no layer has to run again
    y = Ref(_value(run, torch.empty(*old[:at], shape[at] * n * inner, *old[at + 1 :], device="meta")))
    z = Ref(_value(run, torch.empty(sizes, device="meta")))
    order = [kept.index(k) for k in cut.axes]
    return [
        Call(layer.name, layer.function, replaced(layer.args, lambda a: _instead(a, new)), {}, [y]),
        Call("reshape", torch.reshape, (y, sizes), {}, [z]),
        Call("permute", torch.permute, (z, order), {}, [cut.value]),
    ]


def _instead(argument: object, new: dict[int, Ref]) -> object:
    return new.get(argument.index, argument) if isinstance(argument, Ref) else argument


def _value(run: Run, x: torch.Tensor) -> int:
    run.values.append(x)
    run.shapes.append(tuple(x.shape))
    run.dynamic.add(len(run.values) - 1)  # it depends on weights
    return len(run.values) - 1
