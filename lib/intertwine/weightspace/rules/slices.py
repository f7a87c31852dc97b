"""Rules of concatenations, slices, padding and indices: axes are joined and cut."""

from __future__ import annotations

from intertwine.weightspace.axes import Axis, Fixed, Unit, aligned, length, moves, plain, resolve, size, zero
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, bind, keeps, rule
from intertwine.weightspace.run import Call, Ref


def fuller(a: Axis, b: Axis) -> Axis:
    """Of two unified axes, in every segment the one of which less is known to be 0 or alike."""
    first, second = aligned(a, b)
    if len(first) != len(second):
        return plain(size(a))
    pairs = zip(first, second, strict=True)
    return tuple(
        min(pair, key=lambda s: zero(s) + any(f.zero or f.copies for f in s if isinstance(f, Fixed)))
        for pair in pairs
    )


@rule("cat concat concatenate")
@keeps
def cat(state: Inference, call: Call) -> Label:
    a = bind(call, "tensors dim", dim=0)
    labels = [state.of(ref) for ref in a["tensors"] if state.shape(ref) != (0,)]  # an empty cache
    dim = (a["dim"] or 0) % len(labels[0])
    joined = tuple(segment for label in labels for segment in resolve(label[dim]))
    rest = _common(state, [(*label[:dim], *label[dim + 1 :]) for label in labels], "concatenated")
    if not moves(joined):
        joined = plain(size(joined))
    return (*rest[:dim], resolve(joined), *rest[dim:])


def _common(state: Inference, labels: list[Label], how: str) -> Label:
    """The axes of values that lie side by side."""
    first, *others = labels
    for other in others:
        state.merge(first, other, state.equal, f"{how} with entries that do not move")
        first = tuple(fuller(a, b) for a, b in zip(first, other, strict=True))
    return first


@rule("stack")
@keeps
def stack(state: Inference, call: Call) -> Label:
    a = bind(call, "tensors dim", dim=0)
    labels = [state.of(ref) for ref in a["tensors"]]
    one = _common(state, labels, "stacked")
    dim = (a["dim"] or 0) % (len(one) + 1)
    return (*one[:dim], plain(len(labels)), *one[dim:])


@rule("split chunk tensor_split split_with_sizes")
@keeps
def split(state: Inference, call: Call) -> list[Label]:
    a = bind(call, "input sizes dim", dim=0)
    x = state.of(a["input"])
    dim = (a["dim"] or 0) % len(x)
    parts, start = [], 0
    for result in call.results:
        n = state.shape(result)[dim]
        parts.append(narrow(state, x, dim, start, start + n))
        start += n
    return parts


@rule("narrow")
@keeps
def narrow_rule(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim start length")
    return narrow(state, state.of(a["input"]), a["dim"], a["start"], a["start"] + a["length"])


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
                state.ties.split(head.space, [k, head.size - k])
            else:
                state.ties.freeze((segment,), "a slice across units")
        position += n


def _number(state: Inference, n: int | Ref) -> int:
    return int(state.run.values[n.index]) if isinstance(n, Ref) else n


@rule("pad")
@keeps
def pad(state: Inference, call: Call) -> Label:
    a = bind(call, "input pad mode value", mode="constant", value=None)
    x, widths = list(state.of(a["input"])), [_number(state, n) for n in a["pad"]]
    for k in range(len(widths) // 2):
        before, after = widths[2 * k : 2 * k + 2]
        axis = x[-1 - k]
        if (before, after) == (0, 0):
            continue
        if not moves(axis) or min(before, after) < 0 or a["mode"] != "constant":
            state.ties.freeze(axis, "pad of units")
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
    if a["input"].index in state.stacks:
        return list(state.stacks[a["input"].index].parts)
    x = state.of(a["input"])
    dim = (a["dim"] or 0) % len(x)
    state.ties.freeze(x[dim], "unbind of units")
    return [(*x[:dim], *x[dim + 1 :])] * len(call.results)


@rule("__getitem__ select")
@keeps
def getitem(state: Inference, call: Call) -> Label:
    if call.name == "select":
        a = bind(call, "input dim index")
        x = state.of(a["input"])
        dim = a["dim"] % len(x)
        state.ties.freeze(x[dim], "one unit is taken alone")
        return (*x[:dim], *x[dim + 1 :])
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    if call.args[0].index in state.stacks:  # one of the parts, and maybe a slice of it
        dim, parts = state.stacks[call.args[0].index]
        if any(k != slice(None) for k in index[dim + 1 :]):
            raise NotUnderstood("a part and a slice at once")
        return parts[index[dim]]
    x = state.of(call.args[0])
    shape = state.shape(call.results[0])
    if len(index) == 1 and isinstance(index[0], Ref):  # rows of a table
        if any(moves(axis) for axis in state.of(index[0])) or len(state.of(index[0])) > len(shape):
            raise NotUnderstood("an index that moves")
        state.ties.freeze(x[0], "rows of a table")
        rest = len(x) - 1
        if len(shape) - rest < 0 or shape[len(shape) - rest :] != tuple(size(axis) for axis in x[1:]):
            raise NotUnderstood("a mask")
        return (*(plain(n) for n in shape[: len(shape) - rest]), *x[1:])
    used = sum(k is not None and k is not Ellipsis for k in index)
    label: list[Axis] = []
    at = 0
    for k in index:
        if k is None:
            label.append(plain(1))
        elif k is Ellipsis:
            skip = len(x) - used
            label += x[at : at + skip]
            at += skip
        elif isinstance(k, bool):
            raise NotUnderstood("a mask")
        elif isinstance(k, int):
            state.ties.freeze(x[at], "one unit is taken alone")
            at += 1
        elif isinstance(k, slice) and all(v is None or isinstance(v, int) for v in (k.start, k.stop, k.step)):
            start, stop, step = k.indices(size(x[at]))
            if step != 1:
                state.ties.freeze(x[at], "a slice with steps")
                label.append(plain(len(range(start, stop, step))))
            else:
                label.append(narrow(state, x, at, start, max(start, stop))[at])
            at += 1
        else:
            raise NotUnderstood("an index other than numbers and slices")
    return (*label, *x[at:])
