"""Rules of views: calls that only choose entries of a tensor, and the order of its axes."""

from intertwine.weightspace.rules.axes import Axis, Fixed, Label, plain, size
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, Stack, rule
from intertwine.weightspace.rules.regroup import divide, narrow
from intertwine.weightspace.trace.run import Call
from intertwine.weightspace.trace.views import VIEWS, View, views


@rule(VIEWS, keeps=True)
def view(state: Inference, call: Call) -> list[Label | Stack]:
    value, found = call.first, views(state.run, call)
    if not found:
        raise NotUnderstood("an index other than numbers and slices")
    if value.index in state.stacks:
        return [_of_stack(state, state.stacks[value.index], each) for each in found]
    return [_shown(state, state.of(value), each) for each in found]


def _shown(state: Inference, x: Label, part: View) -> Label:
    """The label of these entries of a value."""
    if 0 in part.shape:  # an empty cache, which meets anything
        return tuple(((Fixed(n, zero=True),),) for n in part.shape)
    state.freeze(tuple(axis for k, axis in enumerate(x) if k not in part.axes), "one unit is taken alone")
    label: list[Axis] = []
    for n, k, step in zip(part.shape, part.axes, part.steps, strict=True):
        if k is not None and step == 1:
            label.append(narrow(state, x[k], part.starts[k], part.starts[k] + n))
            continue
        # x[::3] takes the first of every three units: blocks of three may still change places
        if k is not None and size(x[k]) == n * step and (both := divide(state, x[k], n)) is not None:
            state.freeze(both[1:], "a slice with steps")  # blocks keep their inner order, and move as wholes
            label.append(both[0])
            continue
        state.freeze(() if k is None else (x[k],), "a slice with steps")
        label.append(plain(n) if k is not None or n == 1 else ((Fixed(n, copies=True),),))
    return tuple(label)


def _of_stack(state: Inference, stack: Stack, part: View) -> Label | Stack:
    """The same of each of the values that a stack has side by side, or of the one that is taken."""
    dim, start = stack.dim, part.starts[stack.dim]
    kept = [j for j, k in enumerate(part.axes) if k != dim]
    axes = [None if k is None else k - (k > dim) for k in (part.axes[j] for j in kept)]
    starts = [*part.starts[:dim], *part.starts[dim + 1 :]]
    rest = View([part.shape[j] for j in kept], axes, [part.steps[j] for j in kept], starts)
    # an index on the stacked axis picks one value, a slice keeps a stack of fewer
    if dim not in part.axes:
        return _shown(state, stack.parts[start], rest)
    at = part.axes.index(dim)
    chosen = stack.parts[start :: part.steps[at]][: part.shape[at]]
    return Stack(at, [_shown(state, each, rest) for each in chosen])
