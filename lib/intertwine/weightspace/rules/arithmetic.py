"""Rules of sums, products, poolings and contractions of two values."""

from __future__ import annotations

from typing import Any

import torch

from intertwine.weightspace.axes import Axis, norm, plain, resolve, single, size, solid, still
from intertwine.weightspace.infer import (
    OTHER,
    RULES,
    Edge,
    Inference,
    Label,
    NotUnderstood,
    argument,
    bind,
    keeps,
    rule,
)
from intertwine.weightspace.rules.elementwise import through
from intertwine.weightspace.rules.layers import product
from intertwine.weightspace.rules.slices import fuller, narrow
from intertwine.weightspace.run import Call, Ref


@rule("add sub __add__ __radd__ __iadd__ add_ __sub__ __isub__ sub_ rsub __rsub__")
@keeps
def add(state: Inference, call: Call) -> Label:
    if set(call.kwargs) - {"alpha", "other", "input"}:
        raise NotUnderstood("unknown options")
    x, y = _operands(call)
    if not (isinstance(x, Ref) and isinstance(y, Ref)):
        number, label = (y, state.of(x)) if isinstance(x, Ref) else (x, state.of(y))
        if number == 0:  # with which the builtin sum begins
            return label
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
        label = state.of(x if isinstance(x, Ref) else y)
        if c == -1 and not isinstance(x, Ref):
            state.permute_only(label, "a number divided by units")
            return tuple(map(still, label))
        return label
    gain = _gain(state, x, y) if c == 1 else None
    return gain or multiplied(state, state.of(x), state.of(y), call.name, c)


def multiplied(state: Inference, x: Label, y: Label, name: str, c: int = 1) -> Label:
    """The label of x·y^c, entry by entry."""
    result = []
    for a, b in zip(*broadcast(x, y), strict=True):
        if size(a) != size(b):
            wide = a if size(a) > size(b) else b
            state.ties.freeze(b if wide is a else a, f"{name} with broadcasting")
            if c == -1 and wide is b:
                state.permute_only((wide,), "division by units")
            result.append(wide)
        else:
            result.append(product(state, a, b, name, f"{name} with entries that do not move", c))
    return tuple(result)


def _gain(state: Inference, x: Ref, y: Ref) -> Label | None:
    """Multiplication by a parameter with one entry for each unit: a gain, as a norm has."""
    for value, gain in ((x, y), (y, x)):
        shape = state.shape(gain)
        wide = [k for k, n in enumerate(shape) if n > 1]
        if gain.index not in state.trainable or len(wide) != 1 or gain.index in state.labels:
            continue
        label = state.of(value)
        at = len(label) - len(shape) + wide[0]
        if len(shape) <= len(label) and single(label[at]) and size(label[at]) == shape[wide[0]]:
            after = state.ties.fresh(shape[wide[0]])
            center = "before" if norm(label[at]) else "after"
            state.edges.append(Edge(label[at], after, gain.index, "a gain", center))
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


LINEAR = {"mean", "sum", "nanmean", "nansum"}
DIMS = {"norm": "input p dim", "vector_norm": "input ord dim", "linalg_vector_norm": "input ord dim"}


@rule(
    "mean sum nanmean nansum amax amin max min argmax argmin median prod logsumexp var std norm vector_norm "
    "linalg_vector_norm any all count_nonzero"
)
def reduce(state: Inference, call: Call) -> list[Label]:
    order = DIMS.get(call.name, "input dim").split()
    a: dict[str, Any] = dict.fromkeys(order) | call.kwargs | dict(zip(order, call.args, strict=False))
    if isinstance(a.get("other", a["dim"]), Ref):
        return maximum(state, call)
    x, dims = state.of(a["input"]), a.get("axis", a["dim"])
    dims = range(len(x)) if dims is None else [dims] if isinstance(dims, int) else dims
    chosen = {d % len(x) for d in dims or range(len(x))}
    # the rest of the value is a sum over units, which scalars of other factors do not leave alone
    state.permute_only(tuple(x[k] for k in chosen), f"{call.name} over units")
    state.mixed(x, *chosen)
    if call.name not in LINEAR:
        state.permute_only(x, call.name, log=call.name not in ("amax", "amin", "max", "min"))
    if call.name.startswith("arg") or len(call.results) > 1:
        state.freeze(tuple(x[k] for k in chosen), f"the positions that {call.name} finds")
    kept = len(state.shape(call.results[0])) == len(x)
    label = tuple(plain(1) if k in chosen else axis for k, axis in enumerate(x) if kept or k not in chosen)
    places = tuple(map(still, label))
    return [places if call.name.startswith("arg") else label, places][: len(call.results)]


@rule("softmax log_softmax")
def softmax(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim _stacklevel dtype")
    x = state.of(a["input"])
    state.permute_only(x, "softmax")
    state.mixed(x, *([] if a["dim"] is None else [a["dim"]]))
    return x


@rule("where masked_fill masked_fill_")
def where(state: Inference, call: Call) -> Label:
    """One of two values by a mask: where the mask varies, units are not mixed."""
    a = bind(call, "input mask value" if "mask" in call.name else "mask input value", other=0.0)
    mask, both = state.of(a.get("condition", a["mask"])), (a["input"], a["value"] or a["other"])
    label, *others = [state.of(x) for x in both if isinstance(x, Ref)]
    for other in others:
        label = meet(state, label, other, call.name)
    if any(not isinstance(x, Ref) and x != 0 for x in both):
        state.permute_only(label, f"{call.name} with a number")
    result: list[Axis] = []
    for axis, covered in zip(*broadcast(label, mask), strict=True):
        if size(covered) == 1:
            result.append(axis)
            continue
        if size(axis) == 1:
            state.ties.freeze(covered, "a mask with broadcasting")
            result.append(plain(size(covered)))
            continue
        state.ties.mix(axis, "a mask")
        state.ties.unify(axis, covered, None, "a mask that does not move")
        result.append(resolve(axis))
    return tuple(result)


@rule(
    "gt lt ge le eq ne __gt__ __lt__ __ge__ __le__ __eq__ __ne__ greater less not_equal pow __pow__ clamp "
    "clamp_min clamp_max clip fmod remainder atan2 hypot lerp addcmul addcdiv logaddexp xlogy floor_divide "
    "__floordiv__ __mod__ copysign isclose __and__ __or__ __xor__ logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor clamp_"
)
def together(state: Inference, call: Call) -> Label | None:
    """Entry by entry of several values, of which only the order is known."""
    refs = call.refs()
    if len(refs) < 2:
        return RULES[OTHER](state, call)
    label = state.of(refs[0])
    for ref in refs[1:]:
        label = meet(state, label, state.of(ref), call.name)
    state.permute_only(label, call.name)
    return tuple(map(still, label))


@rule("glu")
def glu(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim", dim=-1)
    x = state.of(a["input"])
    dim, n = a["dim"] % len(x), size(x[a["dim"]]) // 2
    value, gate = (narrow(state, x, dim, k, k + n) for k in (0, n))
    return multiplied(state, value, through(state, gate, torch.sigmoid, "glu", "glu"), "glu")
