"""Rules of sums, products, reductions, poolings and other functions of several values."""

from typing import Any

from intertwine.groups import GeneralLinear
from intertwine.weightspace.rules.axes import Edge, Label, moves, plain, single
from intertwine.weightspace.rules.entries import meet, multiplied, solid, still
from intertwine.weightspace.rules.infer import OTHER, RULES, Inference, NotUnderstood, bind, rule
from intertwine.weightspace.trace.run import Call, Ref


def _operands(call: Call) -> tuple[Any, Any]:
    a = bind(call, "input other alpha")
    both = a["input"], a["other"]
    return both[::-1] if call.name in ("__rsub__", "rsub", "__radd__", "__rmul__") else both


@rule("add sub subtract __add__ __radd__ __iadd__ add_ __sub__ __isub__ sub_ rsub __rsub__", keeps=True)
def add(state: Inference, call: Call) -> Label:
    x, y = _operands(call)
    if isinstance(x, Ref) and isinstance(y, Ref):
        return meet(state, state.of(x), state.of(y), call.name)
    number, label = (y, state.of(x)) if isinstance(x, Ref) else (x, state.of(y))
    if number == 0:  # with which the builtin sum begins
        return label
    # x + 3 is the same for units in another order, but s·x + 3 is not s·(x + 3)
    state.permute_only(label, f"{call.name} of a number")
    return tuple(map(solid, label))  # where zeros were, there is a number


PRODUCTS = "mul __mul__ __rmul__ __imul__ mul_ multiply"


@rule(PRODUCTS, keeps=True)
def mul(state: Inference, call: Call) -> Label:
    x, y = _operands(call)
    if not (isinstance(x, Ref) and isinstance(y, Ref)):
        return state.of(x if isinstance(x, Ref) else y)  # a number commutes with every matrix
    return _gain(state, x, y) or multiplied(state, state.of(x), state.of(y), call.name)


def _gain(state: Inference, x: Ref, y: Ref) -> Label | None:
    """Multiplication by a parameter with one entry for each unit: a gain, as a norm has."""
    for value, gain in ((x, y), (y, x)):
        shape = state.shape(gain)
        wide = [k for k, n in enumerate(shape) if n > 1]
        # a gain that has a label was used before: one vector cannot follow two pairs of axes
        if gain.index not in state.trainable or len(wide) != 1 or gain.index in state.labels:
            continue
        label = state.of(value)
        at = len(label) - len(shape) + wide[0]
        units = single(label[at]) if len(shape) <= len(label) else None
        if units is not None and units.size == shape[wide[0]]:
            after = state.fresh(shape[wide[0]])
            # units that a norm restricts already keep that group, and those after the gain follow
            center = "after" if units.space.within is GeneralLinear else "before"
            state.edges.append(Edge(label[at], after, gain.index, "a gain", center))
            return (*label[:at], after, *label[at + 1 :])
    return None


@rule("div __truediv__ __itruediv__ div_ true_divide divide")
def div(state: Inference, call: Call) -> Label:
    a = bind(call, "input other rounding_mode")
    x, y = a["input"], a["other"]
    if a["rounding_mode"] is not None:
        raise NotUnderstood("rounding")
    if isinstance(x, Ref):
        return (
            multiplied(state, state.of(x), state.of(y), call.name, -1) if isinstance(y, Ref) else state.of(x)
        )
    # s in y would be 1/s here, which is not followed: the group may be too small
    state.permute_only(state.of(y), "a number divided by units")
    return tuple(map(still, state.of(y)))


@rule(
    "maximum minimum fmax fmin max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d "
    "adaptive_max_pool3d"
)
def maximum(state: Inference, call: Call) -> list[Label]:
    if "pool" in call.name:
        label = pooling(state, call)
    else:
        x, y = _operands(call)
        label = meet(state, state.of(x), state.of(y), call.name)
    state.permute_only(label, call.name, log=False)  # max(ax) = a·max(x) for a > 0
    return [label] * len(call.results)


@rule(
    "avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d interpolate"
)
def pooling(state: Inference, call: Call) -> Label:
    x, shape = state.of(call.first), state.shape(call.results[0])
    first = 2 if call.name == "interpolate" else len(x) - int(call.name[-2])
    # windows lie over neighbouring pixels, which therefore keep their order
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
    over = tuple(x[k] for k in chosen)
    # the rest of the value is a sum over units, which scalars of other factors do not leave alone
    if call.name in LINEAR and moves(*over):
        _read_by_products(state, a["input"], chosen)
    state.permute_only(over, f"{call.name} over units")
    state.mixed(x, *chosen)
    if call.name not in LINEAR:
        state.permute_only(x, call.name, log=call.name not in ("amax", "amin", "max", "min"))
    # a place is the number of a unit, which another order would change
    if call.name.startswith("arg") or len(call.results) > 1:
        state.freeze(over, f"the positions that {call.name} finds")
    keepdim = len(state.shape(call.results[0])) == len(x)
    label = tuple(plain(1) if k in chosen else axis for k, axis in enumerate(x) if keepdim or k not in chosen)
    places = tuple(map(still, label))
    return [places if call.name.startswith("arg") else label, places][: len(call.results)]


def _read_by_products(state: Inference, value: Ref, dims: set[int]) -> None:
    """In Σ x·w a weight w reads the value x."""
    for call in state.run.calls:
        if value.index not in {x.index for x in call.results} or call.name not in PRODUCTS.split():
            continue
        weights = [x for x in call.refs if state.is_weight(x)]
        for w in weights if len(weights) == 1 < len(call.refs) and not state.is_weight(value) else ():
            # broadcasting aligns the last axes
            places = (d - len(state.shape(value)) + len(state.shape(w)) for d in dims)
            for k in (k for k in places if k >= 0):
                state.reads(w, k)


@rule("softmax log_softmax")
def softmax(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim _stacklevel dtype")
    x = state.of(a["input"])
    # softmax(x + c) = softmax(x), too, but translations are no matrices: `fold_biases` uses them
    state.permute_only(x, "softmax")
    state.mixed(x, *([] if a["dim"] is None else [a["dim"]]))
    return x


@rule("tril triu")
def triangle(state: Inference, call: Call) -> Label:
    x = state.of(call.first)
    state.freeze(x[-2:], f"{call.name}, which sets entries to 0 by the order of rows and columns")
    return tuple(map(solid, x))


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
    return multiplied(state, label, tuple(map(still, mask)), "a mask")  # by zeros and ones


@rule("lerp lerp_", keeps=True)
def lerp(state: Inference, call: Call) -> Label:
    """x + w(y − x): a sum, with a number for each unit where w is no number."""
    a = bind(call, "input end weight")
    label = meet(state, state.of(a["input"]), state.of(a["end"]), call.name)
    if not isinstance(a["weight"], Ref):
        return label
    state.trivial(state.of(a["weight"]))  # of 1 − w, too
    return multiplied(state, label, tuple(map(still, state.of(a["weight"]))), call.name)


@rule(
    "gt lt ge le eq ne __gt__ __lt__ __ge__ __le__ __eq__ __ne__ greater less not_equal pow __pow__ clamp "
    "clamp_min clamp_max clip fmod remainder atan2 hypot addcmul addcdiv logaddexp xlogy floor_divide "
    "__floordiv__ __mod__ copysign isclose __and__ __or__ __xor__ logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor clamp_"
)
def together(state: Inference, call: Call) -> Label | None:
    """Entry by entry of several values, of which only the order is known."""
    refs = call.refs
    if len(refs) < 2:  # with a number, as x**2 or x > 0, it is a function of one tensor
        return RULES[OTHER](state, call)
    label = state.of(refs[0])
    for ref in refs[1:]:
        label = meet(state, label, state.of(ref), call.name)
    state.permute_only(label, call.name)
    return tuple(map(still, label))
