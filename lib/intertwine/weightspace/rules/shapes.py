"""Rules of reshapes, concatenations, copies and padding: axes are cut and joined."""

import math

from intertwine.weightspace.rules.axes import Axis, Fixed, Label, moves, plain, resolve, size
from intertwine.weightspace.rules.entries import fuller, still
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, Stack, bind, rule
from intertwine.weightspace.rules.regroup import narrow, regroup, repeated
from intertwine.weightspace.trace.run import Call, Ref, Run
from intertwine.weightspace.trace.views import RESHAPES, VIEWS, views


@rule("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout")
def dropout(state: Inference, call: Call) -> Label:
    a = bind(call, "input p training inplace", training=True)
    if a["training"] and a["p"]:
        raise NotUnderstood("dropout in training mode")
    return state.of(a["input"])


@rule("contiguous clone detach to float double type type_as data alias cpu cuda neg __neg__", keeps=True)
def same(state: Inference, call: Call) -> Label | Stack:
    if call.name == "contiguous" and call.first.index in state.stacks:
        return state.stacks[call.first.index]
    label = state.of(call.first)
    if not state.run.values[call.results[0].index].is_floating_point():
        # rounding is a function of each entry, with which no scalar commutes
        state.permute_only(label, "a cast to integers")
        return tuple(map(still, label))
    return label


@rule(RESHAPES, keeps=True)
def reshape(state: Inference, call: Call) -> Label | Stack:
    if call.name == "view" and len(call.args) > 1 and not isinstance(call.args[1], int | tuple | list):
        raise NotUnderstood("another dtype")
    old, shape = state.shape(call.first), state.shape(call.results[0])
    if call.first.index in state.stacks:
        dim, parts = state.stacks[call.first.index]
        if (new := _same_axis(old, shape, dim)) is not None:
            # the stacked axis is untouched: the reshape concerns each part
            rest = (*shape[:new], *shape[new + 1 :])
            return Stack(new, [regroup(state, part, rest, call.name) for part in parts])
    label = state.of(call.first)
    # q, k and v of one layer have units of their own: joined as blocks of one axis they would have to move
    # alike, so an axis from which parts are only taken is labelled part by part
    if dims := [k for k in range(len(shape)) if _taken_apart(state.run, call.results[0], k)]:
        stacked = _stacked(state, label, shape, dims[0], call.name)
        if stacked is not None:
            return stacked
    return regroup(state, label, shape, call.name)


def _stacked(state: Inference, x: Label, shape: tuple[int, ...], dim: int, name: str) -> Stack | None:
    """An axis cut in `shape[dim]` parts that go different ways, such as queries, keys and values."""
    outer = math.prod(shape[:dim])  # entries of the axes before it
    for k, axis in enumerate(x):
        if math.prod(map(size, x[:k])) == outer and size(axis) > 1 and moves(axis):
            if size(axis) % shape[dim]:
                return None
            n = size(axis) // shape[dim]
            parts = [(*x[:k], narrow(state, axis, i * n, i * n + n), *x[k + 1 :]) for i in range(shape[dim])]
            rest = (*shape[:dim], *shape[dim + 1 :])
            return Stack(dim, [regroup(state, part, rest, name) for part in parts])
    return None


def _same_axis(old: tuple[int, ...], new: tuple[int, ...], dim: int) -> int | None:
    """Where an axis is after a reshape."""
    where = math.prod(old[:dim]), old[dim]
    return next((k for k, n in enumerate(new) if (math.prod(new[:k]), n) == where), None)


def _taken_apart(run: Run, value: Ref, dim: int | None) -> bool:
    """Whether all that happens to this axis is that parts are taken from it."""
    if dim is None or run.shapes[value.index][dim] == 1:
        return False
    uses = [c for c in run.calls if any(isinstance(x, Ref) and x.index == value.index for x in c.args)]
    uses = [c for c in uses if c.results[0].index != value.index]  # as of what is contiguous already
    return bool(uses) and all(_only_parts(run, value, dim, call) for call in uses)


def _only_parts(run: Run, value: Ref, dim: int, call: Call) -> bool:
    """Whether this call takes parts from the axis, and nothing else happens to it afterwards."""
    if call.name in VIEWS.split():
        found = [(ref, part.axes) for ref, part in zip(call.results, views(run, call), strict=False)]
        return bool(found) and all(
            dim not in axes or _taken_apart(run, ref, axes.index(dim)) for ref, axes in found
        )
    result, shape = call.results[0], run.shapes[value.index]
    reshaped = call.name in (*RESHAPES.split(), "contiguous")
    return reshaped and _taken_apart(run, result, _same_axis(shape, run.shapes[result.index], dim))


@rule("zeros zeros_like new_zeros empty empty_like new_empty", keeps=True)
def zeros(state: Inference, call: Call) -> Label:
    """Zeros, which no element changes, and entries that are yet to be written."""
    return tuple(((Fixed(n, zero=True),),) for n in state.shape(call.results[0]))


@rule("ones_like full_like new_ones new_full", keeps=True)
def constant(state: Inference, call: Call) -> Label:
    """One number everywhere, so that units may change places; of the argument only the shape matters."""
    return tuple(((Fixed(n, copies=True),),) for n in state.shape(call.results[0]))


@rule("new_tensor")
def constants(state: Inference, call: Call) -> None:
    """Any numbers; of the argument only the dtype and the device matter."""


@rule("roll flip")
def roll(state: Inference, call: Call) -> Label:
    a = bind(call, "input dims" if call.name == "flip" else "input shifts dims")
    x, dims = state.of(a["input"]), a["dims"]
    if dims is None:
        raise NotUnderstood("along all axes at once")
    state.freeze(tuple(x[d] for d in ([dims] if isinstance(dims, int) else dims)), f"{call.name} of units")
    return x


@rule("repeat tile repeat_interleave", keeps=True)
def repeat(state: Inference, call: Call) -> Label:
    x, shape = state.of(call.first), state.shape(call.results[0])
    if len(x) != len(shape):
        raise NotUnderstood("new axes")
    result: list[Axis] = []
    for k, (axis, n) in enumerate(zip(x, shape, strict=True)):
        if size(axis) == n:
            result.append(axis)
        elif size(axis) == 1:
            result.append(((Fixed(n, copies=True),),))
        elif call.name in ("repeat", "tile"):
            # the same space several times on one axis, so that all copies move alike
            result.append(resolve(axis) * (n // size(axis)) if moves(axis) else plain(n))
        else:
            result.append(repeated(x, k, n)[k])
    return tuple(result)


STACKS = {"vstack": 0, "row_stack": 0, "hstack": 1, "column_stack": 1, "dstack": 2}
"""Along which axis values are side by side, if they have it."""


@rule(f"cat concat concatenate stack {' '.join(STACKS)}", keeps=True)
def cat(state: Inference, call: Call) -> Label:
    """Values side by side, whose other axes meet."""
    a = bind(call, "tensors dim", dim=STACKS.get(call.name, 0))
    labels = [state.of(ref) for ref in a["tensors"] if state.shape(ref) != (0,)]  # an empty cache
    if call.name in STACKS and min(map(len, labels)) < max(2, a["dim"] + 1):
        raise NotUnderstood("values to which it gives further axes")
    dim = (a["dim"] or 0) % (len(labels[0]) + (call.name == "stack"))
    if call.name == "stack":
        labels = [(*label[:dim], plain(1), *label[dim:]) for label in labels]
    joined = tuple(segment for label in labels for segment in resolve(label[dim]))
    rest, *others = [(*label[:dim], *label[dim + 1 :]) for label in labels]
    for other in others:
        for one, two in zip(rest, other, strict=True):
            state.unify(one, two, 1, f"{call.name} with entries that do not move")
        rest = tuple(map(fuller, rest, other))
    return (*rest[:dim], resolve(joined) if moves(joined) else plain(size(joined)), *rest[dim:])


@rule("pad", keeps=True)
def pad(state: Inference, call: Call) -> Label:
    a = bind(call, "input pad mode value", mode="constant", value=None)
    x = list(state.of(a["input"]))
    widths = [int(state.run.values[n.index]) if isinstance(n, Ref) else n for n in a["pad"]]
    # torch lists pairs from the last axis backwards
    for k in range(len(widths) // 2):
        before, after = widths[2 * k : 2 * k + 2]
        axis = x[-1 - k]
        if (before, after) == (0, 0):
            continue
        # a negative width cuts units off
        if not moves(axis) or min(before, after) < 0 or a["mode"] != "constant":
            state.freeze((axis,), "pad of units")
            x[-1 - k] = plain(size(axis) + before + after)
        else:
            # zeros are what every element leaves as it is: units next to them stay free
            ends = [((Fixed(n, zero=not a["value"]),),) if n else () for n in (before, after)]
            x[-1 - k] = (*ends[0], *axis, *ends[1])
    if a["mode"] == "constant" and a["value"]:
        state.permute_only(tuple(x), "pad with a number that is not 0")
    return tuple(x)
