"""Rules of sums, products, poolings and contractions of two values."""

from __future__ import annotations

from typing import Any

from intertwine.weightspace.axes import plain, single, size, solid
from intertwine.weightspace.infer import Edge, Inference, Label, NotUnderstood, argument, bind, keeps, rule
from intertwine.weightspace.rules.layers import product
from intertwine.weightspace.rules.slices import fuller
from intertwine.weightspace.run import Call, Ref


@rule("add sub __add__ __radd__ __iadd__ add_ __sub__ __isub__ sub_ rsub __rsub__")
@keeps
def add(state: Inference, call: Call) -> Label:
    if set(call.kwargs) - {"alpha", "other", "input"}:
        raise NotUnderstood("unknown options")
    x, y = _operands(call)
    if not (isinstance(x, Ref) and isinstance(y, Ref)):
        label = state.of(x if isinstance(x, Ref) else y)
        state.permute_only(label, f"{call.name} of a number")
        return tuple(map(solid, label))
    return meet(state, state.of(x), state.of(y), call.name)


def meet(state: Inference, x: Label, y: Label, why: str) -> Label:
    """Two values combined entry by entry: their units move alike; of repeated entries, only the order."""
    result = []
    for a, b in zip(*broadcast(x, y), strict=True):
        if size(a) != size(b):  # one number for all units
            narrow, wide = sorted((a, b), key=size)
            state.ties.freeze(narrow, f"{why} with broadcasting")
            state.permute_only((wide,), f"{why} with broadcasting")
            result.append(solid(wide))
            continue
        state.ties.unify(a, b, state.equal, f"{why} of entries that do not move")
        result.append(fuller(a, b))
    return tuple(result)


@rule("mul __mul__ __rmul__ __imul__ mul_ multiply")
def mul(state: Inference, call: Call) -> Label:
    return _multiply(state, call, 1)


@rule("div __truediv__ __itruediv__ div_ true_divide divide")
def div(state: Inference, call: Call) -> Label:
    if call.kwargs.get("rounding_mode") is not None:
        raise NotUnderstood("rounding")
    return _multiply(state, call, -1)


def _multiply(state: Inference, call: Call, c: int) -> Label:
    x, y = _operands(call)
    if not (isinstance(x, Ref) and isinstance(y, Ref)):
        if c == -1 and not isinstance(x, Ref):
            raise NotUnderstood("a number divided by units")
        return state.of(x if isinstance(x, Ref) else y)
    gain = _gain(state, x, y)
    if gain is not None and c == 1:
        return gain
    result = []
    for a, b in zip(*broadcast(state.of(x), state.of(y)), strict=True):
        if size(a) != size(b):
            wide = a if size(a) > size(b) else b
            state.ties.freeze(b if wide is a else a, f"{call.name} with broadcasting")
            if c == -1 and wide is b:
                state.permute_only((wide,), "division by units")
            result.append(wide)
        else:
            result.append(product(state, a, b, call.name, f"{call.name} with entries that do not move", c))
    return tuple(result)


def _gain(state: Inference, x: Ref, y: Ref) -> Label | None:
    """Multiplication by a parameter with one entry for each unit: a gain, as a norm has."""
    for value, gain in ((x, y), (y, x)):
        shape = state.shape(gain)
        wide = [k for k, n in enumerate(shape) if n > 1]
        label = state.of(value)
        if gain.index not in state.trainable or len(wide) != 1 or gain.index in state.labels:
            continue
        at = len(label) - len(shape) + wide[0]
        if len(shape) <= len(label) and single(label[at]) and size(label[at]) == shape[wide[0]]:
            after = state.ties.fresh(shape[wide[0]])
            state.edges.append(Edge(label[at], after, gain.index, "a gain", "after"))
            return (*label[:at], after, *label[at + 1 :])
    return None


def _operands(call: Call) -> tuple[Any, Any]:
    a = bind(call, "input other alpha")
    if call.name in ("__rsub__", "rsub", "__radd__", "__rmul__"):
        return a["other"], a["input"]
    return a["input"], a["other"]


def broadcast(x: Label, y: Label) -> tuple[Label, Label]:
    n = max(len(x), len(y))
    one = plain(1)
    return (one,) * (n - len(x)) + x, (one,) * (n - len(y)) + y


@rule("maximum minimum max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d")
def maximum(state: Inference, call: Call) -> Any:
    if call.name in ("maximum", "minimum"):
        x, y = _operands(call)
        label = meet(state, state.of(x), state.of(y), call.name)
    else:
        label = pooling(state, call)
    state.permute_only(label, call.name, log=False)  # max(ax) = a·max(x) for a > 0
    return [label] * len(call.results)


@rule("avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d interpolate")
def pooling(state: Inference, call: Call) -> Label:
    x, shape = state.of(argument(call)), state.shape(call.results[0])
    first = 2 if call.name == "interpolate" else len(x) - int(call.name[-2])
    state.freeze(x[first:], f"space of {call.name}")
    return (*x[:first], *map(plain, shape[first:]))


@rule("mean sum amax nanmean")
def reduce(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim keepdim", keepdim=False)
    x, dims = state.of(a["input"]), a["dim"]
    dims = range(len(x)) if dims is None else [dims] if isinstance(dims, int) else dims
    chosen = {d % len(x) for d in dims}
    # the rest of the value is a sum over units, which scalars of other factors do not leave alone
    state.permute_only(tuple(x[k] for k in chosen), f"{call.name} over units")
    if call.name == "amax":
        state.permute_only(x, "amax", log=False)
    if a["keepdim"]:
        return tuple(plain(1) if k in chosen else axis for k, axis in enumerate(x))
    return tuple(axis for k, axis in enumerate(x) if k not in chosen)


@rule("softmax log_softmax")
def softmax(state: Inference, call: Call) -> Label:
    x = state.of(argument(call))
    state.permute_only(x, "softmax")
    return x


@rule("masked_fill masked_fill_")
def masked_fill(state: Inference, call: Call) -> Label:
    a = bind(call, "input mask value")
    x, mask = state.of(a["input"]), state.of(a["mask"])
    if isinstance(a["value"], Ref) or len(mask) > len(x):
        raise NotUnderstood("a mask that broadcasts")
    for axis, other in zip(x[len(x) - len(mask) :], mask, strict=True):
        if size(other) > 1:
            state.ties.unify(axis, other, None, "a mask that does not move")
    state.permute_only(x, "masked_fill")
    return x
