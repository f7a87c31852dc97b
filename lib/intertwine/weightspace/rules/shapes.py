"""Rules of reshapes, permutations and copies: axes are cut, joined and reordered."""

from __future__ import annotations

import math

from intertwine.weightspace.axes import Axis, Fixed, moves, plain, resolve, size, still
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, Stack, bind, keeps, rule
from intertwine.weightspace.rules.products import repeated
from intertwine.weightspace.rules.regroup import regroup
from intertwine.weightspace.rules.slices import narrow
from intertwine.weightspace.run import Call, Ref, Run

RESHAPES = "view reshape flatten unflatten squeeze unsqueeze ravel view_as reshape_as _unsafe_view"
ORDERS = "permute transpose swapaxes swapdims movedim moveaxis t T mT transpose_"


@rule("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout")
def dropout(state: Inference, call: Call) -> Label:
    a = bind(call, "input p training inplace", training=True)
    if a["training"] and a["p"]:
        raise NotUnderstood("dropout in training mode")
    return state.of(a["input"])


@rule("contiguous clone detach to float double type_as data alias cpu cuda neg __neg__")
@keeps
def same(state: Inference, call: Call) -> Label | Stack:
    if call.name == "contiguous" and call.first.index in state.stacks:
        return state.stacks[call.first.index]
    label = state.of(call.first)
    if not state.run.values[call.results[0].index].is_floating_point():
        state.permute_only(label, "a cast to integers")
        return tuple(map(still, label))
    return label


@rule(RESHAPES)
@keeps
def reshape(state: Inference, call: Call) -> Label | Stack:
    if call.name == "view" and len(call.args) > 1 and not isinstance(call.args[1], int | tuple | list):
        raise NotUnderstood("another dtype")
    old, shape = state.shape(call.first), state.shape(call.results[0])
    if call.first.index in state.stacks:
        dim, parts = state.stacks[call.first.index]
        if (new := _same_axis(old, shape, dim)) is not None:
            rest = (*shape[:new], *shape[new + 1 :])
            return Stack(new, [regroup(state, part, rest, call.name) for part in parts])
    label = state.of(call.first)
    if dims := [k for k in range(len(shape)) if _taken_apart(state.run, call.results[0], k)]:
        stacked = _stacked(state, label, shape, dims[0], call.name)
        if stacked is not None:
            return stacked
    return regroup(state, label, shape, call.name)


def _stacked(state: Inference, x: Label, shape: tuple[int, ...], dim: int, name: str) -> Stack | None:
    """An axis cut in `shape[dim]` parts that go different ways, such as queries, keys and values."""
    before = math.prod(shape[:dim])
    for k, axis in enumerate(x):
        if math.prod(map(size, x[:k])) == before and size(axis) > 1 and moves(axis):
            if size(axis) % shape[dim]:
                return None
            n = size(axis) // shape[dim]
            parts = [narrow(state, x, k, i * n, i * n + n) for i in range(shape[dim])]
            rest = (*shape[:dim], *shape[dim + 1 :])
            return Stack(dim, [regroup(state, part, rest, name) for part in parts])
    return None


def _same_axis(old: tuple[int, ...], new: tuple[int, ...], dim: int) -> int | None:
    """Where an axis is behind a reshape."""
    where = math.prod(old[:dim]), old[dim]
    return next((k for k, n in enumerate(new) if (math.prod(new[:k]), n) == where), None)


def _taken_apart(run: Run, value: Ref, dim: int | None) -> bool:
    """Whether all that happens to this axis is that single entries are taken from it."""
    shape = run.shapes[value.index]

    def taken(call: Call) -> bool:
        result = call.results[0]
        if dim is None or shape[dim] == 1:
            return False
        if call.name in ORDERS.split():
            return _taken_apart(run, result, axis_order(call, len(shape)).index(dim))
        if call.name in (*RESHAPES.split(), "contiguous"):
            return _taken_apart(run, result, _same_axis(shape, run.shapes[result.index], dim))
        if call.name == "unbind":
            return bind(call, "input dim", dim=0)["dim"] % len(shape) == dim
        if call.name == "__getitem__":
            index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
            return dim < len(index) and type(index[dim]) is int and index[:dim] == (slice(None),) * dim
        return False

    uses = [c for c in run.calls if any(isinstance(x, Ref) and x.index == value.index for x in c.args)]
    uses = [c for c in uses if c.results[0].index != value.index]  # as of what is contiguous already
    return bool(uses) and all(map(taken, uses))


@rule(ORDERS)
@keeps
def permute(state: Inference, call: Call) -> Label | Stack:
    order = axis_order(call, len(state.shape(call.first)))
    if call.first.index in state.stacks:
        dim, parts = state.stacks[call.first.index]
        rest = [k - (k > dim) for k in order if k != dim]
        return Stack(order.index(dim), [tuple(part[k] for k in rest) for part in parts])
    state.views[call.results[0].index] = call.first.index, order
    x = state.of(call.first)
    return tuple(x[k] for k in order)


def axis_order(call: Call, n: int) -> list[int]:
    """Which axis of the argument each axis of the result is."""
    order = list(range(n))
    rest = list(call.args[1:]) or [v for k, v in call.kwargs.items() if k != "input"]
    if call.name == "permute":
        dims = rest[0] if isinstance(rest[0], tuple | list) else rest
        return [d % n for d in dims]
    if call.name in ("transpose", "swapaxes", "swapdims", "transpose_"):
        i, j = (d % n for d in rest)
        order[i], order[j] = order[j], order[i]
    elif call.name in ("movedim", "moveaxis"):
        if not all(isinstance(d, int) for d in rest):
            raise NotUnderstood("several axes at once")
        order.insert(rest[1] % n, order.pop(rest[0] % n))
    elif call.name == "mT":
        order[-2:] = order[:-3:-1]
    else:
        order.reverse()
    return order


@rule("zeros zeros_like new_zeros")
@keeps
def zeros(state: Inference, call: Call) -> Label:
    """Zeros, which no element changes."""
    return tuple(((Fixed(n, zero=True),),) for n in state.shape(call.results[0]))


@rule("ones_like empty_like full_like new_ones new_full new_tensor new_empty")
def constant(state: Inference, call: Call) -> None:
    """Of the argument only the shape matters."""


@rule("roll flip")
def roll(state: Inference, call: Call) -> Label:
    a = bind(call, "input dims" if call.name == "flip" else "input shifts dims")
    x, dims = state.of(a["input"]), a["dims"]
    if dims is None:
        raise NotUnderstood("along all axes at once")
    state.freeze(tuple(x[d] for d in ([dims] if isinstance(dims, int) else dims)), f"{call.name} of units")
    return x


@rule("expand expand_as broadcast_to repeat repeat_interleave")
@keeps
def expand(state: Inference, call: Call) -> Label:
    x, shape = state.of(call.first), state.shape(call.results[0])
    if call.name.startswith("repeat") and len(x) != len(shape):
        raise NotUnderstood("new axes")
    x = (plain(1),) * (len(shape) - len(x)) + x
    result: list[Axis] = []
    for k, (axis, n) in enumerate(zip(x, shape, strict=True)):
        if size(axis) == n:
            result.append(axis)
        elif call.name == "repeat":
            result.append(resolve(axis) * (n // size(axis)) if moves(axis) else plain(n))
        elif call.name == "repeat_interleave":
            result.append(repeated(x, k, n)[k])
        else:
            state.freeze((axis,), "expand of a single unit")
            result.append(((Fixed(n, copies=True),),))
    return tuple(result)
