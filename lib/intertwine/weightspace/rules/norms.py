"""Rules of norms: for the axes that they normalise, and for the others."""

from fractions import Fraction

import torch

from intertwine.groups import CentredOrthogonal, MatrixGroup, Orthogonal
from intertwine.groups.base import smaller
from intertwine.weightspace.rules.axes import (
    Axis,
    Edge,
    Label,
    Unit,
    length,
    resolve,
    single,
    size,
    units,
)
from intertwine.weightspace.rules.entries import meet, product, raised, scaled, solid
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, bind, rule
from intertwine.weightspace.rules.products import dot
from intertwine.weightspace.rules.regroup import divide
from intertwine.weightspace.trace.recognise import BY_HAND
from intertwine.weightspace.trace.run import Call, Ref


@rule("batch_norm")
def batch_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input running_mean running_var weight bias training momentum eps", eps=1e-5)
    x = _normed(state, a["input"])
    if a["running_mean"] is None:  # statistics of the batch, as of weights that are standardised
        return _by_channel(state, x, call.name, a["weight"], a["bias"], sign=False)
    if a["training"]:
        raise NotUnderstood("statistics of the batch")
    if (a["weight"] is None) != (a["bias"] is None):
        raise NotUnderstood("a gain without a shift")
    state.permute_only((x[0], *x[2:]), "batch_norm")
    # statistics are of what enters: where a unit is multiplied by d, the mean is by d, the variance by d²
    mean, variance = (state.of(a[name], free=True)[0] for name in ("running_mean", "running_var"))

    state.unify(x[1], mean, 1, "mean of batch_norm")
    state.unify(x[1], variance, 2, "variance of batch_norm")
    if a["weight"] is None:  # no gain could correct for ε, as `Action.state` does: no scalars go through
        state.permute_only((x[1],), "batch_norm without gain")
        return x
    shift = state.of(a["bias"])[0]
    # the gain absorbs any d before it, so that the side after it decides on the group
    edge = Edge(x[1], shift, a["weight"].index, "batch_norm", "after")
    edge.variance, edge.eps = a["running_var"].index, a["eps"]
    state.edges.append(edge)
    return (x[0], shift, *x[2:])


def _normed(state: Inference, x: Ref) -> Label:
    """The axes before a norm, after which zeros are no zeros any more."""
    return tuple(map(solid, state.of(x)))


@rule("layer_norm rms_norm")
def layer_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input normalized_shape weight bias eps")
    if len(a["normalized_shape"]) != 1:
        raise NotUnderstood("normalises over several axes")
    group = CentredOrthogonal if call.name == "layer_norm" else Orthogonal
    return _along(state, a["input"], -1, group, call.name, a["weight"], a["bias"])


@rule(BY_HAND)
def by_hand(state: Inference, call: Call) -> Label:
    value, dim, group, fixed = call.args
    x = state.of(value)
    # positions on which the calls depend, as those of rotary positions do
    state.freeze(tuple(x[k] for k in fixed), "entries that are treated differently")
    if group.self_dual:  # a norm
        return _along(state, value, dim, group, call.title)
    # rotary positions: a complex number for each pair of units commutes with them
    state.permute_only((*x[:dim], *x[dim + 1 :]), call.title)
    state.mixed(x, dim)
    factor = single(x[dim])
    if factor is None or smaller(factor.space.within, group) is None:
        state.freeze((x[dim],), call.title)
    else:
        state.within(factor.space, group, call.title)
    return tuple(map(resolve, x))


@rule("normalize")
def normalize(state: Inference, call: Call) -> Label:
    a = bind(call, "input p dim eps out", p=2.0, dim=1)
    if a["p"] != 2:
        raise NotUnderstood("a length other than the Euclidean one")
    return _along(state, a["input"], a["dim"], Orthogonal, call.name)


@rule("cosine_similarity")
def cosine_similarity(state: Inference, call: Call) -> Label:
    a = bind(call, "x1 x2 dim eps", dim=1)
    one, other = (_along(state, a[name], a["dim"], Orthogonal, call.name) for name in ("x1", "x2"))
    return dot(state, one, other, a["dim"])


def _along(
    state: Inference,
    value: Ref,
    dim: int,
    group: type[MatrixGroup],
    name: str,
    gain: Ref | None = None,
    bias: Ref | None = None,
) -> Label:
    """A norm along one axis, for each place on the others, with which matrices of the group commute."""
    x = _normed(state, value)
    left, right = x[: dim % len(x)], x[dim % len(x) + 1 :]
    # each place has a length of its own: places may change their order; scalars of them are left out
    state.permute_only((*left, *right), name)
    state.mixed(x, dim)
    return (*left, _normalised(state, x[dim], group, gain, bias), *right)


@rule("_weight_norm")
def weight_norm(state: Inference, call: Call) -> Label:
    """g·v/|v| for every row: only the directions of the rows of v count."""
    a = bind(call, "v g dim", dim=0)
    v, gain = state.of(a["v"]), state.of(a["g"])[0]
    if a["dim"] != 0 or len(v) < 2:
        raise NotUnderstood("weights that are normalised along other axes")
    state.permute_only(v[2:], call.name)
    columns = _normalised(state, v[1], Orthogonal, None, None)  # |Qv| = |v|
    state.mix((v[0], gain), "weight norm")
    state.unify(v[0], gain, None, "weight norm")
    return (scaled(gain, raised(v[0], Fraction(0), True), 1), columns, *v[2:])


NAMES: dict[type[MatrixGroup], str] = {Orthogonal: "rms_norm", CentredOrthogonal: "layer_norm"}


def _normalised(
    state: Inference, x: Axis, group: type[MatrixGroup], gain: Ref | None, bias: Ref | None
) -> Axis:
    """A norm of the whole axis: no scale, and only matrices of the group."""
    name = NAMES[group]
    kind = name.replace("_", " ")
    factors = [*units(x)]
    spaces = [factor.space for factor in factors]
    # one space alone: its units, or fixed copies of them, in every segment
    alike = len(set(map(id, spaces))) == 1 and all(isinstance(s[-1], Unit) and len(s) < 3 for s in resolve(x))
    copies = size(x) // factors[0].size if factors else 1
    # one length of several spaces: each may be turned, but the rule knows groups of one space alone
    if spaces and not alike:
        state.mix((x,), f"{kind} over several spaces")
    # a scalar of all units at once would cancel, but each unit has its own; signs are orthogonal matrices,
    # and only without a mean
    state.trivial((x,), sign=not group(2).contains(torch.diag(torch.tensor([1.0, -1.0]))))
    for space in spaces:
        state.within(space, group, name)
    if gain is None:
        if bias is not None:  # a vector, that a rotation of the values would have to turn: only reordered
            state.unify(x, state.of(bias)[0], 1, f"bias of {kind}")
            state.mix((x,), f"bias of {kind}")
        return x
    # units after a gain are a space of their own, until `solve` decides whether both sides are joined
    after = state.of(bias)[0] if bias is not None else state.fresh(size(x))
    whole = single(after)
    if not alike or copies == 1 or whole is None or any(edge.gain == gain.index for edge in state.edges):
        state.edges.append(Edge(x, after, gain.index, name, "before"))
        return after
    # copies of one value, as Swin merges patches: the units after the gain follow copy by copy
    state.split(whole.space, [size(x) // copies] * copies)
    center = ((next(units(x)),),)
    for k, segment in enumerate(resolve(after)):
        edge = Edge(center, (segment,), gain.index, name, "before", part=k, parts=copies)
        state.edges.append(edge)
    return resolve(after)


@rule("group_norm")
def group_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input num_groups weight bias eps")
    x, groups = _normed(state, a["input"]), a["num_groups"]
    channels = size(x[1])
    for segment in resolve(x[1]) if 1 < groups < channels else ():
        n = length(segment) * groups // channels
        if n * channels != length(segment) * groups or (n > 1 and divide(state, (segment,), n) is None):
            raise NotUnderstood("groups that are not whole blocks of units")
    # groups of one channel: odd, so that a sign goes through
    return _by_channel(state, x, call.name, a["weight"], a["bias"], sign=groups < channels)


def _by_channel(
    state: Inference, x: Label, name: str, gain: Ref | None, bias: Ref | None, *, sign: bool
) -> Label:
    """Channels normalised within groups, with a gain and a shift for each."""
    state.permute_only((x[0], *x[2:]), name)
    state.permute_only((x[1],), name, sign=sign)
    state.mixed(x, 1)
    y = x[1]
    # every group of channels has its own length: no matrices, so that no edge is needed
    if gain is not None:
        y = product(state, y, state.of(gain)[0], name, name)
    if bias is not None:
        (y,) = meet(state, (y,), state.of(bias), f"bias of {name}")
    return (x[0], resolve(y), *x[2:])


@rule("instance_norm")
def instance_norm(state: Inference, call: Call) -> Label:
    a = bind(call, "input running_mean running_var weight bias use_input_stats momentum eps")
    x = _normed(state, a["input"])
    if a["use_input_stats"] not in (True, None):
        raise NotUnderstood("running statistics")
    return _by_channel(state, x, call.name, a["weight"], a["bias"], sign=False)
