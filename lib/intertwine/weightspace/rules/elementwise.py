"""Rules of activations, as `intertwine.groups` classifies them, and of calls without a rule."""

import math
from collections.abc import Callable
from fractions import Fraction

import torch
from torch import Tensor, nn

from intertwine.groups import ActivationError, as_activation, scalar_group
from intertwine.groups.probe import Probe
from intertwine.weightspace.rules.axes import Label, moves, size
from intertwine.weightspace.rules.entries import multiplied, raised
from intertwine.weightspace.rules.infer import OTHER, Inference, NotUnderstood, bind, rule
from intertwine.weightspace.rules.regroup import narrow
from intertwine.weightspace.trace.run import Call


@rule(OTHER)
def elementwise(state: Inference, call: Call) -> Label | None:
    """An unknown function of one tensor: an activation, or not understood."""
    refs = call.refs
    if not any(moves(axis) for ref in refs for axis in state.of(ref)):
        return None
    alone = len(refs) == len(call.results) == 1 and call.first is refs[0] and call.name != "__setitem__"
    if not alone or state.shape(refs[0]) != state.shape(call.results[0]):
        raise NotUnderstood("no rule for it")

    def function(x: Tensor) -> Tensor:
        return call.computed(lambda value: x if value is refs[0] else value)

    # the group is computed once for each function with its options; modules may hold other numbers
    options = f"{call.args[1:]}{sorted((k, v) for k, v in call.kwargs.items() if v is not refs[0])}"
    key = id(call.function) if isinstance(call.function, nn.Module) else options
    return through(state, state.of(refs[0]), function, call.name, f"{call.name} {key}")


def behaviour(function: Callable[[Tensor], Tensor]) -> tuple[str, Fraction, bool] | str:
    """Kind of the scalar group of an activation, the p of |a|^p and whether −1 goes through as −1."""
    try:
        sigma = as_activation(function)
        group = scalar_group(sigma)
    except ActivationError as error:
        if "not finite" in str(error) and isinstance(behaviour(lambda x: function(x.exp())), tuple):
            return "trivial", Fraction(0), False  # such as a square root: one function of every entry
        return str(error).partition(":")[0]
    # affine and constant σ allow more matrices, of which no rule here makes use: only orders are kept
    if group.kind in ("trivial", "affine", "constant"):
        return "trivial", Fraction(0), False
    two, minus = Probe.of(sigma).multiplier(torch.tensor([2.0, -1.0], dtype=torch.float64)).tolist()
    # powers of one λ are no real parameter of a unit; of them only −1 is used
    if group.kind == "discrete":
        return ("signs" if group.has_minus_one else "trivial"), Fraction(0), minus < 0
    # σ(2x) = 2^p·σ(x); float64 knows p to many digits, and exponents are small fractions
    power = Fraction(math.log2(two)).limit_denominator(64) if group.continuous else Fraction(0)
    return group.kind, power, minus < 0


def through(
    state: Inference, axes: Label, function: Callable[[Tensor], Tensor], name: str, key: str
) -> Label:
    """The label of an activation's output, as `intertwine.groups` classifies the activation."""
    if key not in state.behaviours:
        state.behaviours[key] = behaviour(function)
    found = state.behaviours[key]
    if isinstance(found, str):
        raise NotUnderstood(found)
    kind, power, odd = found
    if kind == "linear":  # a multiple of the identity commutes with all matrices
        return axes
    log, sign = kind in ("trivial", "signs"), kind in ("trivial", "positive")
    state.permute_only(axes, name, log=log, sign=sign)
    return tuple(raised(axis, power, odd) for axis in axes)


@rule("glu")
def glu(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim", dim=-1)
    x = state.of(a["input"])
    dim, n = a["dim"] % len(x), size(x[a["dim"]]) // 2
    # cut first: unit i then shares its order with its gate, entry i + n
    value, gate = ((*x[:dim], narrow(state, x[dim], k, k + n), *x[dim + 1 :]) for k in (0, n))
    return multiplied(state, value, through(state, gate, torch.sigmoid, "glu", "glu"), "glu")
