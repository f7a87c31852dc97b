"""What layers with weights ask for: linear maps, convolutions, normalisations, embeddings, attention."""

from __future__ import annotations

from typing import Any

from intertwine.weightspace.axes import Axis, Fixed, Unit, combine, moves, plain, resolve, size, unit, units
from intertwine.weightspace.infer import Edge, Inference, Label, NotUnderstood, bind, rule
from intertwine.weightspace.trace import Call, Ref


@rule("linear")
def linear(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight bias")
    state.read.add((a["weight"].index, 1))
    return affine(state, state.of(a["input"]), state.of(a["weight"]), a["bias"] and state.of(a["bias"]))


def affine(state: Inference, x: Label, weight: Label, bias: Label | None) -> Label:
    """y = Wx + b: x moves by M means W moves by M^{-1} on that side; y and b move as the rows of W."""
    state.ties.unify(x[-1], weight[1], state.inverse, "read by linear")
    if bias is not None:
        state.ties.unify(weight[0], bias[-1], state.equal, "bias of linear")
    return (*x[:-1], resolve(weight[0]))


@rule("conv1d", "conv2d", "conv3d")
def convolution(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight bias stride padding dilation groups", groups=1)
    return _convolution(state, call, a, rows=0)


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight bias stride padding output_padding groups dilation", groups=1)
    return _convolution(state, call, a, rows=1)


def _convolution(state: Inference, call: Call, a: dict[str, Any], rows: int) -> Label:
    x, weight, groups, ties = state.of(a["input"]), state.of(a["weight"]), a["groups"] or 1, state.ties
    state.read.add((a["weight"].index, 1 - rows))
    if len(x) != len(weight):
        raise NotUnderstood("an input without batch axis")
    for axis in (*x[2:], *weight[2:]):
        ties.freeze(axis, f"space of a {call.name}")
    out, channels = state.shape(call.results[0]), state.shape(a["input"])[1]
    if groups == 1:
        ties.unify(x[1], weight[1 - rows], state.inverse, f"read by {call.name}")
        y = weight[rows]
    elif groups == channels == out[1]:
        # W of shape (channels, 1, …) multiplies channel by channel
        y = product(state, x[1], weight[0], call.name)
    else:
        y = _grouped(state, x[1], weight, groups, call.name, rows)
    if a["bias"] is not None:
        ties.unify(y, state.of(a["bias"])[0], state.equal, f"bias of {call.name}")
    return (x[0], resolve(y), *(plain(n) for n in out[2:]))


def _grouped(state: Inference, x: Axis, weight: Label, groups: int, name: str, rows: int) -> Axis:
    """Blocks of channels that only see their own block: they move as blocks, and within themselves."""
    if rows == 1:
        raise NotUnderstood("groups of a transposed convolution")
    for axis in (x, weight[0]):
        divide(state, axis, groups)
    xs, ws = blocks(x, groups), blocks(weight[0], groups)
    if xs is None or ws is None:
        state.freeze((x, *weight), f"{name} whose groups are not whole blocks of units")
        return resolve(weight[0])
    state.ties.mix(x, f"grouped {name}")
    state.ties.mix(weight[0], f"grouped {name}")
    state.ties.unify(xs[0], ws[0], None, f"groups of {name}")
    inner = blocks(x, groups)
    assert inner is not None
    for factor, block in zip(units(weight[1]), units(ws[0]), strict=False):
        factor.space.base = block.space  # the columns of W lie in the blocks of its rows
    state.ties.unify(inner[1], weight[1], state.inverse, f"read by grouped {name}")
    return resolve(weight[0])


def divide(state: Inference, axis: Axis, outer: int) -> None:
    """Say that the units of an axis are `outer` blocks."""
    segments = resolve(axis)
    if len(segments) == 1 and len(segments[0]) == 1 and isinstance(segments[0][0], Unit):
        state.ties.factor(segments[0][0].space, outer)


def blocks(axis: Axis, outer: int) -> tuple[Axis, Axis] | None:
    """The blocks of an axis and the units within them, if it is just that."""
    segments = resolve(axis)
    if len(segments) == 1 and len(segments[0]) == 2 and segments[0][0].size == outer:
        return ((segments[0][0],),), ((segments[0][1],),)
    return None


def product(state: Inference, x: Axis, gain: Axis, why: str) -> Axis:
    """The axis of x·gain, unit by unit."""
    if not moves(x) and not moves(gain):
        return plain(size(x))
    state.ties.mix(x, why)
    state.ties.mix(gain, why)
    state.ties.unify(x, gain, None, why)
    return along(x, gain, 1)


def along(x: Axis, y: Axis, c: int, *, log: bool = True) -> Axis:
    """The axis of x·y^c, for axes that are unified; without `log`, only the sign of y."""

    def power(f: Unit | Fixed, g: Unit | Fixed) -> Unit | Fixed:
        if isinstance(f, Unit) and isinstance(g, Unit):
            powers, sign = combine((1, f), (c, g))
            return unit(f.space, powers if log else combine((1, f))[0], sign)
        if isinstance(g, Unit):  # f is copies
            return unit(g.space, *combine((c, g)))
        return f if isinstance(f, Unit) else Fixed(f.size)

    pairs = zip(resolve(x), resolve(y), strict=True)
    return tuple(tuple(power(f, g) for f, g in zip(s, t, strict=True)) for s, t in pairs)


@rule("batch_norm")
def batch_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input running_mean running_var weight bias training momentum eps", eps=1e-5)
    x, ties = state.of(a["input"]), state.ties
    if a["training"] or a["running_mean"] is None:
        raise NotUnderstood("statistics of the batch")
    mean, variance = state.buffer(a["running_mean"])[0], state.buffer(a["running_var"])[0]
    ties.unify(x[1], mean, state.equal, "mean of batch_norm")
    ties.unify(x[1], variance, lambda f, g: _square(state, f, g), "variance of batch_norm")
    if a["weight"] is None or a["bias"] is None:
        state.permute_only((x[1],), "batch_norm without gain")
        return x
    shift = state.of(a["bias"])[0]
    edge = Edge(x[1], shift, a["weight"].index, "batch_norm", "after")
    edge.mean, edge.variance, edge.eps = a["running_mean"].index, a["running_var"].index, a["eps"]
    state.edges.append(edge)
    state.norms.append(edge)
    return (x[0], shift, *x[2:])


def _square(state: Inference, mean: Unit, variance: Unit) -> None:
    log, _ = combine((2, mean), (-1, variance))
    state.ties.equation(mean.space, log, variance.sign)


@rule("layer_norm", "rms_norm")
def layer_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input normalized_shape weight bias eps")
    x, kind = state.of(a["input"]), call.name.removesuffix("_norm")
    if len(a["normalized_shape"]) != 1:
        raise NotUnderstood("normalises over several axes")
    return (*x[:-1], _normalised(state, x[-1], kind, a["weight"], a["bias"]))


def _normalised(state: Inference, x: Axis, kind: str, gain: Ref | None, bias: Ref | None) -> Axis:
    """A norm of the whole axis: no scale, and only orthogonal mixing; a layer norm also keeps the mean."""
    if len(resolve(x)) > 1 or len(resolve(x)[0]) > 1:
        state.ties.mix(x, f"{kind} norm over several spaces")
    state.ties.trivial(x, sign=kind == "layer")
    for each in units(x):
        each.space.norm = "layer" if "layer" in (kind, each.space.norm) else "rms"
    if gain is None:
        if bias is not None:
            state.ties.unify(x, state.of(bias)[0], state.equal, f"bias of {kind} norm")
            state.ties.mix(x, f"bias of {kind} norm")
        return x
    after = state.of(bias)[0] if bias is not None else state.ties.fresh(size(x), "gain")
    state.edges.append(Edge(x, after, gain.index, f"{kind}_norm", "before"))
    return after


@rule("group_norm")
def group_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input num_groups weight bias eps")
    x, groups = state.of(a["input"]), a["num_groups"]
    channels = size(x[1])
    if 1 < groups < channels:
        divide(state, x[1], groups)
        if blocks(x[1], groups) is None:
            raise NotUnderstood("groups that are not whole blocks of units")
    # groups of one channel: odd, so that a sign goes through
    state.ties.trivial(x[1], sign=groups < channels)
    state.ties.mix(x[1], "group_norm")
    y = x[1]
    if a["weight"] is not None:
        y = product(state, y, state.of(a["weight"])[0], "group_norm")
    if a["bias"] is not None:
        state.ties.unify(y, state.of(a["bias"])[0], state.equal, "bias of group_norm")
    return (x[0], resolve(y), *x[2:])


@rule("instance_norm")
def instance_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input running_mean running_var weight bias use_input_stats momentum eps")
    x = state.of(a["input"])
    if not a["use_input_stats"] and a["use_input_stats"] is not None:
        raise NotUnderstood("running statistics")
    state.ties.trivial(x[1], sign=False)
    state.ties.mix(x[1], "instance_norm")
    y = x[1]
    if a["weight"] is not None:
        y = product(state, y, state.of(a["weight"])[0], "instance_norm")
    if a["bias"] is not None:
        state.ties.unify(y, state.of(a["bias"])[0], state.equal, "bias of instance_norm")
    return (x[0], resolve(y), *x[2:])


@rule("prelu")
def prelu(state: Inference, call: Call) -> Label:
    x, slope = (state.of(ref) for ref in call.args)
    axis = 1 if len(x) > 1 else 0
    state.ties.trivial(x[axis], log=False)
    state.ties.mix(x[axis], "prelu")
    if state.shape(call.args[1]) != (1,):
        state.ties.unify(x[axis], slope[0], lambda f, g: _still(state, g), "slopes of prelu")
    return x


def _still(state: Inference, g: Unit) -> None:
    state.ties.equation(g.space, *combine((1, g)))


@rule("embedding")
def embedding(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight padding_idx max_norm norm_type scale_grad_by_freq sparse")
    if a["max_norm"] is not None:
        raise NotUnderstood("renormalises its weight")
    weight = state.of(a["weight"])
    state.ties.freeze(weight[0], "rows of a table")
    return (*state.of(a["input"]), weight[1])
