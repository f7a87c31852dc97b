"""Rules of recurrent layers: the gates of one unit move together."""

from intertwine.weightspace.rules.axes import Axis, Label, resolve
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, Stack, bind, rule
from intertwine.weightspace.rules.regroup import narrow
from intertwine.weightspace.trace.run import Call, Ref

# how many gates, and which of them is an odd function of what enters, so that a sign goes through
GATES = {"lstm": (4, 2), "gru": (3, 2), "rnn_tanh": (1, 0), "rnn_relu": (1, -1)}


@rule("lstm gru rnn_tanh rnn_relu", layer=True)
def recurrent(state: Inference, call: Call) -> list[Label | Stack]:
    a = bind(call, "input hx weights bias layers dropout training both batch_first")
    starts = a["hx"] if isinstance(a["hx"], tuple | list) else [a["hx"]]
    weights, each = list(a["weights"]), 4 if a["bias"] else 2
    directions = 2 if a["both"] else 1
    if len(weights) != a["layers"] * directions * each:
        raise NotUnderstood("projections, or sequences of several lengths")
    x = state.of(a["input"])
    last: list[Axis] = []
    state.freeze(x[:-1], f"steps of {call.name}")
    for layer in range(a["layers"]):
        # torch lists all weights of a layer's first direction, then of its second
        cells = [
            weights[k * each : (k + 1) * each] for k in range(layer * directions, (layer + 1) * directions)
        ]
        units = [_cell(state, x[-1], cell, call.name) for cell in cells]
        # the next layer reads the units of both directions, one after the other
        x, last = (*x[:-1], tuple(segment for axis in units for segment in axis)), last + units
    for start in starts:
        state.freeze(state.of(start)[:-1], f"states of {call.name}")
        for axis in last:
            state.unify(axis, state.of(start)[-1], 1, "an initial state that does not move")
    rest = (x[1 if a["batch_first"] is False else 0],) if len(x) > 2 else ()
    return [x, *(Stack(0, [(*rest, axis) for axis in last]) for _ in call.results[1:])]


@rule("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell", layer=True)
def cell(state: Inference, call: Call) -> list[Label]:
    """One step: each row of the input has a state of its own."""
    a = bind(call, "input hx enter again enter_bias again_bias")
    starts = [state.of(ref) for ref in (a["hx"] if isinstance(a["hx"], tuple | list) else [a["hx"]])]
    batch = state.of(a["input"])[:-1]
    state.freeze((*batch, *(axis for start in starts for axis in start[:-1])), f"rows of {call.name}")
    weights = [a[name] for name in ("enter", "again", "enter_bias", "again_bias") if a[name] is not None]
    units = _cell(state, state.of(a["input"])[-1], weights, call.name.removesuffix("_cell"))
    for start in starts:
        state.unify(units, start[-1], 1, "an initial state that does not move")
    return [(*map(resolve, batch), units) for _ in call.results]


def _cell(state: Inference, x: Axis, weights: list[Ref], name: str) -> Axis:
    """The units of one layer in one direction."""
    gates, odd = GATES[name]
    enter, again, *biases = [state.of(ref) for ref in weights]
    for weight in weights[:2]:
        state.reads(weight, 1)
    state.unify(x, enter[1], -1, f"read by {name}")
    n = state.shape(weights[1])[1]
    # the rows of each weight are the gates, one block of n units after another
    per_gate = [
        [narrow(state, label[0], k * n, k * n + n) for label in (enter, again, *biases)] for k in range(gates)
    ]
    # σ of a gate keeps no scalar, and tanh keeps signs: a unit and its state may change sign together, where
    # the gates that multiply them do not
    for k, gate in enumerate(per_gate):
        for axis in gate:
            state.permute_only((axis,), name, log=odd >= 0, sign=k != odd)
            state.unify(axis, per_gate[odd][0], 1 if k == odd or odd < 0 else None, name)
    state.unify(again[1], per_gate[odd][0], -1, f"read by {name}")
    return per_gate[odd][0]
