"""Rules of concatenations, slices, padding and indices: axes are joined and cut."""

from __future__ import annotations

from typing import Any

from intertwine.weightspace.axes import Axis, Fixed, Unit, length, moves, plain, resolve, size
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, bind, keeps, rule
from intertwine.weightspace.rules.entries import fuller
from intertwine.weightspace.run import Call, Ref


@rule("cat concat concatenate stack")
@keeps
def cat(state: Inference, call: Call) -> Label:
    """Values side by side, whose other axes meet."""
    a = bind(call, "tensors dim", dim=0)
    labels = [state.of(ref) for ref in a["tensors"] if state.shape(ref) != (0,)]  # an empty cache
    dim = (a["dim"] or 0) % (len(labels[0]) + (call.name == "stack"))
    if call.name == "stack":
        labels = [(*label[:dim], plain(1), *label[dim:]) for label in labels]
    joined = tuple(segment for label in labels for segment in resolve(label[dim]))
    rest, *others = [(*label[:dim], *label[dim + 1 :]) for label in labels]
    for other in others:
        state.merge(rest, other, state.equal, f"{call.name} with entries that do not move")
        rest = tuple(fuller(a, b) for a, b in zip(rest, other, strict=True))
    return (*rest[:dim], resolve(joined) if moves(joined) else plain(size(joined)), *rest[dim:])


@rule("split chunk tensor_split split_with_sizes narrow")
@keeps
def split(state: Inference, call: Call) -> list[Label]:
    a = bind(call, "input dim start" if call.name == "narrow" else "input sizes dim start", dim=0, start=0)
    x, start = state.of(a["input"]), a["start"]
    dim, parts = (a["dim"] or 0) % len(x), []
    for result in call.results:
        n = state.shape(result)[dim]
        parts.append(narrow(state, x, dim, start, start + n))
        state.views[result.index] = a["input"].index, list(range(len(x)))
        start += n
    return parts


def narrow(state: Inference, x: Label, dim: int, start: int, stop: int) -> Label:
    """The label of x[…, start:stop, …]: units are cut at both ends."""
    axis = x[dim]
    if not moves(axis):
        return (*x[:dim], plain(stop - start), *x[dim + 1 :])
    for at in (start, stop):
        _cut_at(state, axis, at)
    kept, position = [], 0
    for segment in resolve(axis):
        end = position + length(segment)
        low, high = max(start, position), min(stop, end)
        if low < high:
            whole = (low, high) == (position, end)
            kept.append(segment if whole else (Fixed(high - low),))
        position = end
    return (*x[:dim], tuple(kept), *x[dim + 1 :])


def _cut_at(state: Inference, axis: Axis, at: int) -> None:
    position = 0
    for segment in resolve(axis):
        n = length(segment)
        if position < at < position + n and moves((segment,)):
            head, rest = segment[0], length(segment[1:])
            if isinstance(head, Unit) and (at - position) % rest == 0:
                k = (at - position) // rest
                state.split(head.space, [k, head.size - k])
            else:
                state.freeze(((segment,),), "a slice across units")
        position += n


@rule("pad")
@keeps
def pad(state: Inference, call: Call) -> Label:
    a = bind(call, "input pad mode value", mode="constant", value=None)
    x = list(state.of(a["input"]))
    widths = [int(state.run.values[n.index]) if isinstance(n, Ref) else n for n in a["pad"]]
    for k in range(len(widths) // 2):
        before, after = widths[2 * k : 2 * k + 2]
        axis = x[-1 - k]
        if (before, after) == (0, 0):
            continue
        if not moves(axis) or min(before, after) < 0 or a["mode"] != "constant":
            state.freeze((axis,), "pad of units")
            x[-1 - k] = plain(size(axis) + before + after)
        else:
            ends = [((Fixed(n, zero=not a["value"]),),) if n else () for n in (before, after)]
            x[-1 - k] = (*ends[0], *axis, *ends[1])
    if a["mode"] == "constant" and a["value"]:
        state.permute_only(tuple(x), "pad with a number that is not 0")
    return tuple(x)


@rule("unbind")
@keeps
def unbind(state: Inference, call: Call) -> list[Label]:
    a = bind(call, "input dim", dim=0)
    return [taken(state, a["input"], a["dim"] or 0, k) for k in range(len(call.results))]


@rule("select")
@keeps
def select(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim index")
    return taken(state, a["input"], a["dim"], a["index"])


def taken(state: Inference, value: Ref, dim: int, k: int) -> Label:
    """One entry of an axis, whose entries may be labelled one by one."""
    dim %= len(state.shape(value))
    if value.index in state.stacks and state.stacks[value.index].dim == dim:
        return state.stacks[value.index].parts[k]
    x = state.of(value)
    state.freeze(x[dim : dim + 1], "one unit is taken alone")
    return (*x[:dim], *x[dim + 1 :])


@rule("__getitem__")
@keeps
def getitem(state: Inference, call: Call) -> Label:
    value, index = call.args[0], call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    shape = state.shape(value)
    if Ellipsis in [k for k in index if not isinstance(k, Ref)]:
        at = next(n for n, k in enumerate(index) if k is Ellipsis)
        used = sum(k is not None for k in index) - 1
        index = (*index[:at], *[slice(None)] * (len(shape) - used), *index[at + 1 :])
    if value.index in state.stacks:  # one of the parts, and maybe a slice of it
        dim, parts = state.stacks[value.index]
        return _indexed(state, parts[index[dim]], (*index[:dim], *index[dim + 1 :]))
    x = state.of(value)
    if len(index) == 1 and isinstance(index[0], Ref):
        return _rows(state, x, index[0], state.shape(call.results[0]))
    return _indexed(state, x, index)


def _rows(state: Inference, x: Label, index: Ref, shape: tuple[int, ...]) -> Label:
    """Rows of a table."""
    first = len(shape) - len(x) + 1
    if any(map(moves, state.of(index))) or len(state.of(index)) > len(shape):
        raise NotUnderstood("an index that moves")
    state.freeze(x[:1], "rows of a table")
    if first < 0 or shape[first:] != tuple(map(size, x[1:])):
        raise NotUnderstood("a mask")
    return (*map(plain, shape[:first]), *x[1:])


def _indexed(state: Inference, x: Label, index: tuple[Any, ...]) -> Label:
    label: list[Axis] = []
    at = 0
    for k in index:
        if k is None:
            label.append(plain(1))
            continue
        if type(k) is int:
            state.freeze(x[at : at + 1], "one unit is taken alone")
        elif isinstance(k, slice) and all(v is None or isinstance(v, int) for v in (k.start, k.stop, k.step)):
            start, stop, step = k.indices(size(x[at]))
            if step != 1:
                state.freeze(x[at : at + 1], "a slice with steps")
                label.append(plain(len(range(start, stop, step))))
            else:
                label.append(narrow(state, x, at, start, max(start, stop))[at])
        else:
            raise NotUnderstood("an index other than numbers and slices")
        at += 1
    return (*label, *x[at:])
