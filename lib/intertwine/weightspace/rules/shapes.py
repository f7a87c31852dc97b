"""Rules of reshapes, permutations and copies: axes are cut, joined and reordered."""

from __future__ import annotations

import math

from intertwine.weightspace.axes import Axis, Fixed, moves, plain, resolve, size, still
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, Stack, argument, bind, keeps, rule
from intertwine.weightspace.rules.regroup import join, regroup
from intertwine.weightspace.rules.slices import narrow
from intertwine.weightspace.run import Call, Ref, Run


@rule("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout")
def dropout(state: Inference, call: Call) -> Label:
    a = bind(call, "input p training inplace", training=True)
    if a["training"] and a["p"]:
        raise NotUnderstood("dropout in training mode")
    return state.of(a["input"])


@rule("contiguous clone detach to float double type_as data alias cpu cuda neg __neg__")
@keeps
def same(state: Inference, call: Call) -> Label:
    label = state.of(argument(call))
    if not state.run.values[call.results[0].index].is_floating_point():
        state.permute_only(label, "a cast to integers")
        return tuple(map(still, label))
    return label


@rule("view reshape flatten unflatten squeeze unsqueeze ravel view_as reshape_as _unsafe_view")
@keeps
def reshape(state: Inference, call: Call) -> Label | Stack:
    if call.name == "view" and len(call.args) > 1 and not isinstance(call.args[1], int | tuple | list):
        raise NotUnderstood("another dtype")
    shape = state.shape(call.results[0])
    label = state.of(argument(call))
    if dims := [k for k in range(len(shape)) if taken_apart(state.run, call.results[0], k)]:
        stacked = _stacked(state, label, shape, dims[0], call.name)
        if stacked is not None:
            return stacked
    return regroup(state, label, shape, call.name)


def _stacked(state: Inference, x: Label, shape: tuple[int, ...], dim: int, name: str) -> Stack | None:
    """An axis cut in `shape[dim]` parts that go different ways, such as queries, keys and values."""
    before = math.prod(shape[:dim])
    for k, axis in enumerate(x):
        if math.prod(size(each) for each in x[:k]) == before and size(axis) > 1 and moves(axis):
            if size(axis) % shape[dim]:
                return None
            n = size(axis) // shape[dim]
            parts = [narrow(state, x, k, i * n, i * n + n) for i in range(shape[dim])]
            rest = (*shape[:dim], *shape[dim + 1 :])
            return Stack(dim, [regroup(state, part, rest, name) for part in parts])
    return None


def taken_apart(run: Run, value: Ref, dim: int) -> bool:
    """Whether all that happens to this axis is that single entries are taken from it."""
    n = len(run.shapes[value.index])

    def taken(call: Call) -> bool:
        if call.name in ("permute", "transpose"):
            return taken_apart(run, call.results[0], axis_order(call, n).index(dim))
        if call.name == "unbind":
            return bind(call, "input dim", dim=0)["dim"] % n == dim
        if call.name == "__getitem__":
            index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
            return dim < len(index) and type(index[dim]) is int and index[:dim] == (slice(None),) * dim
        return False

    uses = [c for c in run.calls if any(isinstance(x, Ref) and x.index == value.index for x in c.args)]
    return bool(uses) and all(map(taken, uses))


@rule("permute transpose swapaxes swapdims movedim moveaxis t T mT transpose_")
@keeps
def permute(state: Inference, call: Call) -> Label | Stack:
    value = argument(call)
    if isinstance(value, Ref) and value.index in state.stacks:
        dim, parts = state.stacks[value.index]
        order = axis_order(call, len(parts[0]) + 1)
        rest = [k - (k > dim) for k in order if k != dim]
        return Stack(order.index(dim), [tuple(part[k] for k in rest) for part in parts])
    x = state.of(value)
    return tuple(x[k] for k in axis_order(call, len(x)))


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
    for d in [dims] if isinstance(dims, int) else dims:
        state.ties.freeze(x[d], f"{call.name} of units")
    return x


@rule("expand expand_as broadcast_to repeat repeat_interleave")
@keeps
def expand(state: Inference, call: Call) -> Label:
    x, shape = state.of(call.args[0]), state.shape(call.results[0])
    if call.name.startswith("repeat"):
        if len(x) != len(shape):
            raise NotUnderstood("new axes")
        if call.name == "repeat_interleave":
            many = [
                join([axis, _copies(n // size(axis))]) or plain(n) for axis, n in zip(x, shape, strict=True)
            ]
        else:
            many = [
                resolve(axis) * (n // size(axis)) if moves(axis) else plain(n)
                for axis, n in zip(x, shape, strict=True)
            ]
    else:
        x, many = (plain(1),) * (len(shape) - len(x)) + x, [_copies(n) for n in shape]
        one = tuple(axis for axis, n in zip(x, shape, strict=True) if size(axis) != n)
        state.freeze(one, "expand of a single unit")
    return tuple(axis if size(axis) == n else m for axis, n, m in zip(x, shape, many, strict=True))


def _copies(n: int) -> Axis:
    return ((Fixed(n, copies=True),),)
