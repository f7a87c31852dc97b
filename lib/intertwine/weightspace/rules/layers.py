"""Rules of layers with weights: linear maps, convolutions, PReLU, embeddings."""

from __future__ import annotations

from typing import Any

from intertwine.weightspace.axes import (
    Axis,
    Fixed,
    Segment,
    Unit,
    aligned,
    combine,
    moves,
    plain,
    resolve,
    single,
    size,
    unit,
    units,
    zero,
)
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, bind, rule
from intertwine.weightspace.rules.slices import fuller
from intertwine.weightspace.run import Call


@rule("linear")
def linear(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight bias")
    if len(state.shape(a["weight"])) != 2:
        raise NotUnderstood("a vector")
    state.read.add((a["weight"].index, 1))
    return affine(state, state.of(a["input"]), state.of(a["weight"]), a["bias"] and state.of(a["bias"]))


def affine(state: Inference, x: Label, weight: Label, bias: Label | None) -> Label:
    """y = Wx + b: x moves by M means W moves by M^{-1} on that side; y and b move as the rows of W.

    On the other axes of x, as on those that a norm does not work along, b is one constant: only the order is
    free.
    """
    state.mixed(x, -1)
    state.ties.unify(x[-1], weight[1], state.inverse, "read by linear")
    y = weight[0]
    if bias is not None:
        state.ties.unify(y, bias[-1], state.equal, "bias of linear")
        state.permute_only(x[:-1], "bias of linear")
        y = fuller(y, bias[-1])
    return (*x[:-1], resolve(y))


@rule("conv1d conv2d conv3d")
def convolution(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight bias stride padding dilation groups", groups=1)
    return _convolution(state, call, a, rows=0)


@rule("conv_transpose1d conv_transpose2d conv_transpose3d")
def transposed(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight bias stride padding output_padding groups dilation", groups=1)
    return _convolution(state, call, a, rows=1)


def _convolution(state: Inference, call: Call, a: dict[str, Any], rows: int) -> Label:
    x, weight, groups, ties = state.of(a["input"]), state.of(a["weight"]), a["groups"] or 1, state.ties
    state.read.add((a["weight"].index, 1 - rows))
    if len(x) != len(weight):
        raise NotUnderstood("an input without batch axis")
    state.freeze(x[2:], f"space of a {call.name}")
    state.freeze(weight[2:], f"kernel of a {call.name}")
    out, channels = state.shape(call.results[0]), state.shape(a["input"])[1]
    if groups == 1:
        ties.unify(x[1], weight[1 - rows], state.inverse, f"read by {call.name}")
        y = weight[rows]
    elif groups == channels == out[1]:
        # W of shape (channels, 1, …) multiplies channel by channel
        y = product(state, x[1], weight[0], call.name, call.name)
    else:
        y = _grouped(state, x[1], weight, groups, call.name, rows)
    if a["bias"] is not None:
        bias = state.of(a["bias"])[0]
        ties.unify(y, bias, state.equal, f"bias of {call.name}")
        state.permute_only((x[0],), f"bias of {call.name}")
        y = fuller(y, bias)
    return (x[0], resolve(y), *(plain(n) for n in out[2:]))


def _grouped(state: Inference, x: Axis, weight: Label, groups: int, name: str, rows: int) -> Axis:
    """A grouped convolution: its blocks of channels move as blocks, and within themselves."""
    if rows == 1:
        raise NotUnderstood("groups of a transposed convolution")
    xs, ws = divide(state, x, groups), divide(state, weight[0], groups)
    if xs is None or ws is None:
        state.freeze((x, *weight), f"{name} whose groups are not whole blocks of units")
        return resolve(weight[0])
    state.ties.mix(x, f"grouped {name}")
    state.ties.mix(weight[0], f"grouped {name}")
    state.ties.unify(xs[0], ws[0], None, f"groups of {name}")
    inner = divide(state, x, groups)
    assert inner is not None
    for factor, block in zip(units(weight[1]), units(ws[0]), strict=False):
        factor.space.base = block.space  # the columns of W lie in the blocks of its rows
    state.ties.unify(inner[1], weight[1], state.inverse, f"read by grouped {name}")
    return resolve(weight[0])


def divide(state: Inference, axis: Axis, outer: int) -> tuple[Axis, Axis] | None:
    """Constrain the units of an axis to be `outer` blocks: the blocks and the units within them."""
    if factor := single(axis):
        state.ties.factor(factor.space, outer)
    segments = resolve(axis)
    if len(segments) == 1 and len(segments[0]) == 2 and segments[0][0].size == outer:
        return ((segments[0][0],),), ((segments[0][1],),)
    return None


def product(state: Inference, x: Axis, gain: Axis, how: str, why: str, c: int = 1) -> Axis:
    """The axis of x·gain^c, unit by unit; `why` it freezes where only one of them moves."""
    if not moves(x) and not moves(gain):
        return plain(size(x))
    state.ties.mix(x, how)
    state.ties.mix(gain, how)
    state.ties.unify(x, gain, None, why)
    return along(x, gain, c)


def along(x: Axis, y: Axis, c: int) -> Axis:
    """The axis of x·y^c, for axes that are unified."""

    def power(f: Unit | Fixed, g: Unit | Fixed) -> Unit | Fixed:
        if isinstance(f, Unit) and isinstance(g, Unit):
            return unit(f.space, *combine((1, f), (c, g)))
        if isinstance(g, Unit):  # f is copies
            return unit(g.space, *combine((c, g)))
        return f if isinstance(f, Unit) else Fixed(f.size)

    def segment(s: Segment, t: Segment) -> Segment:
        if len(s) != len(t):  # one is 0
            return s if zero(s) else t
        return tuple(power(f, g) for f, g in zip(s, t, strict=True))

    return tuple(segment(s, t) for s, t in zip(*aligned(x, y), strict=True))


@rule("prelu")
def prelu(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight")
    x, slope = state.of(a["input"]), state.of(a["weight"])
    state.permute_only(x, "prelu", log=False)
    if state.shape(a["weight"]) != (1,):
        state.ties.unify(x[1], slope[0], lambda f, g: state.ties.trivial(((g,),)), "slopes of prelu")
    return x


@rule("embedding")
def embedding(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight padding_idx max_norm norm_type scale_grad_by_freq sparse")
    if a["max_norm"] is not None:
        raise NotUnderstood("renormalises its weight")
    weight = state.of(a["weight"])
    state.ties.freeze(weight[0], "rows of a table")
    return (*state.of(a["input"]), weight[1])
