"""Rules of norms: for the axes that they normalise, and for the others."""

from __future__ import annotations

from intertwine.weightspace.axes import Axis, Unit, combine, resolve, size, solid, units
from intertwine.weightspace.infer import Edge, Inference, Label, NotUnderstood, bind, rule
from intertwine.weightspace.rules.layers import divide, product
from intertwine.weightspace.run import Call, Ref


@rule("batch_norm")
def batch_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input running_mean running_var weight bias training momentum eps", eps=1e-5)
    x, ties = _normed(state, a["input"]), state.ties
    if a["training"] or a["running_mean"] is None:
        raise NotUnderstood("statistics of the batch")
    if (a["weight"] is None) != (a["bias"] is None):
        raise NotUnderstood("a gain without a shift")
    state.permute_only((x[0], *x[2:]), "batch_norm")
    mean, variance = state.buffer(a["running_mean"])[0], state.buffer(a["running_var"])[0]

    def square(f: Unit, g: Unit) -> None:
        ties.equation(f.space, combine((2, f), (-1, g))[0], g.sign)

    ties.unify(x[1], mean, state.equal, "mean of batch_norm")
    ties.unify(x[1], variance, square, "variance of batch_norm")
    if a["weight"] is None:
        state.permute_only((x[1],), "batch_norm without gain")
        return x
    shift = state.of(a["bias"])[0]
    edge = Edge(x[1], shift, a["weight"].index, "batch_norm", "after")
    edge.variance, edge.eps = a["running_var"].index, a["eps"]
    state.edges.append(edge)
    state.norms.append(edge)
    return (x[0], shift, *x[2:])


def _normed(state: Inference, x: Ref) -> Label:
    """The axes in front of a norm, behind which zeros are no zeros any more."""
    return tuple(map(solid, state.of(x)))


@rule("layer_norm rms_norm")
def layer_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input normalized_shape weight bias eps")
    x, kind = _normed(state, a["input"]), call.name.removesuffix("_norm")
    if len(a["normalized_shape"]) != 1:
        raise NotUnderstood("normalises over several axes")
    state.permute_only(x[:-1], call.name)
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
    after = state.of(bias)[0] if bias is not None else state.ties.fresh(size(x))
    state.edges.append(Edge(x, after, gain.index, f"{kind}_norm", "before"))
    return after


@rule("group_norm")
def group_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input num_groups weight bias eps")
    x, groups = _normed(state, a["input"]), a["num_groups"]
    channels = size(x[1])
    if 1 < groups < channels and divide(state, x[1], groups) is None:
        raise NotUnderstood("groups that are not whole blocks of units")
    # groups of one channel: odd, so that a sign goes through
    return _by_channel(state, x, call.name, a["weight"], a["bias"], sign=groups < channels)


def _by_channel(
    state: Inference, x: Label, name: str, gain: Ref | None, bias: Ref | None, *, sign: bool
) -> Label:
    """Channels normalised within groups, with a gain and a shift for each."""
    state.permute_only((x[0], *x[2:]), name)
    state.permute_only((x[1],), name, sign=sign)
    y = x[1]
    if gain is not None:
        y = product(state, y, state.of(gain)[0], name, name)
    if bias is not None:
        state.ties.unify(y, state.of(bias)[0], state.equal, f"bias of {name}")
    return (x[0], resolve(y), *x[2:])


@rule("instance_norm")
def instance_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input running_mean running_var weight bias use_input_stats momentum eps")
    x = _normed(state, a["input"])
    if a["use_input_stats"] not in (True, None):
        raise NotUnderstood("running statistics")
    return _by_channel(state, x, call.name, a["weight"], a["bias"], sign=False)
