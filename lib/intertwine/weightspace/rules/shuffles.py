"""Rules of functions that move entries between channels and positions, or order them along one axis."""

from intertwine.weightspace.rules.axes import Axis, Fixed, Label, plain, size
from intertwine.weightspace.rules.entries import still
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, bind, rule
from intertwine.weightspace.rules.regroup import divide, join
from intertwine.weightspace.trace.run import Call


@rule("pixel_shuffle fold")
def spread(state: Inference, call: Call) -> Label:
    """Blocks of channels become channels, and what is within a block goes to the positions."""
    x, shape = state.of(call.first), state.shape(call.results[0])
    at = len(x) - (3 if call.name == "pixel_shuffle" else 2)
    state.freeze(x[at + 1 :], f"space of {call.name}")
    both = divide(state, x[at], shape[at]) if shape[at] > 1 else None
    if both is None:
        state.freeze((x[at],), f"{call.name} across units")
        return (*x[:at], *map(plain, shape[at:]))
    # each channel of a block fills a place of its own in the picture, so only blocks change places
    state.freeze(both[1:], f"{call.name} within blocks of units")
    return (*x[:at], both[0], *map(plain, shape[at + 1 :]))


@rule("pixel_unshuffle unfold")
def gathered(state: Inference, call: Call) -> Label:
    """Several positions of a channel become a block of channels."""
    x, shape = state.of(call.first), state.shape(call.results[0])
    if call.name == "unfold" and len(shape) != 3:
        raise NotUnderstood("windows along an axis")
    at = 1 if call.name == "unfold" else len(x) - 3
    state.freeze(x[at + 1 :], f"space of {call.name}")
    # the channel is the outer factor, and its positions, which stay, the inner one
    return (*x[:at], _with(x[at], shape[at] // size(x[at])), *map(plain, shape[at + 1 :]))


@rule("channel_shuffle native_channel_shuffle")
def channel_shuffle(state: Inference, call: Call) -> Label:
    a = bind(call, "input groups")
    x = state.of(a["input"])
    both = divide(state, x[1], a["groups"])
    mixed = both and join([*both[::-1]])  # (groups, n) is transposed to (n, groups)
    if not mixed:
        state.freeze((x[1],), f"{call.name} across units")
    return (x[0], mixed or plain(size(x[1])), *x[2:])


@rule("topk sort argsort msort kthvalue cummax cummin cumsum cumprod logcumsumexp diff")
def along(state: Inference, call: Call) -> list[Label]:
    """Entries along one axis by size, or added up or subtracted one after another: all others stay apart."""
    first = {"topk": "input k dim", "kthvalue": "input k dim", "diff": "input n dim prepend append"}
    if call.name == "diff" and len(call.refs) > 1:
        raise NotUnderstood("entries before or after it")
    a = (
        {"dim": 0 if call.name == "msort" else -1}
        | dict(zip(first.get(call.name, "input dim").split(), call.args, strict=False))
        | call.kwargs
    )
    x, shape = state.of(call.first), state.shape(call.results[0])
    dim = a["dim"] % len(x)
    rest = (*x[:dim], *x[dim + 1 :])
    state.freeze((x[dim],), f"{call.name} of units")
    state.mixed(x, dim)
    # sums and differences are linear in the other axes; sorting needs an order that scalars > 0 keep
    if call.name not in ("cumsum", "diff"):
        state.permute_only(rest, call.name, log=call.name in ("cumprod", "logcumsumexp"))
    label = (*x[:dim], *((plain(shape[dim]),) if len(shape) == len(x) else ()), *x[dim + 1 :])
    # numbers of entries, which no scalar multiplies
    places = tuple(map(still, label))
    return [places if call.name == "argsort" else label, places][: len(call.results)]


@rule("copy_", keeps=True)
def copy(state: Inference, call: Call) -> Label:
    """The entries of another value in the place of those that were there."""
    a = bind(call, "input src non_blocking")
    y, shape = state.of(a["src"]), state.shape(call.results[0])
    y = (plain(1),) * (len(shape) - len(y)) + y
    wide = [size(axis) != n for axis, n in zip(y, shape, strict=True)]
    # one entry becomes that of all units, so that it cannot be one of several that move
    state.freeze(tuple(axis for axis, each in zip(y, wide, strict=True) if each), "copy_ to all units")
    return tuple(
        ((Fixed(n, copies=True),),) if each else x for x, n, each in zip(y, shape, wide, strict=True)
    )


def _with(axis: Axis, positions: int) -> Axis:
    """Each unit so often, at other positions."""
    return join([axis, plain(positions)]) or plain(size(axis) * positions)
