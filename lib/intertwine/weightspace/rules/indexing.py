"""Rules of entries that an index chooses, and of what is put where one says: tables, graphs, caches."""

from types import EllipsisType

import torch

from intertwine.weightspace.rules.axes import Axis, Label, alike, moves, plain, size, still
from intertwine.weightspace.rules.entries import meet
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, Stack, bind, rule
from intertwine.weightspace.rules.views import view
from intertwine.weightspace.trace.run import Call, Ref


@rule("__getitem__", keeps=True)
def getitem(state: Inference, call: Call) -> Label | list[Label | Stack]:
    """A view, or entries by tensors of integers, which take the places of their axes."""
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    if not any(isinstance(each, Ref) for each in index):
        return view(state, call)
    x, shape = state.of(call.first), state.shape(call.results[0])
    if Ellipsis in [each for each in index if not isinstance(each, Ref)]:
        at = next(k for k, each in enumerate(index) if each is Ellipsis)
        index = (*index[:at], *[slice(None)] * (len(x) + 1 - len(index)), *index[at + 1 :])
    taken = [k for k, each in enumerate(index) if each != slice(None)]
    for k in taken:
        if not isinstance(index[k], Ref):
            raise NotUnderstood("tensors beside other indices")
        if moves(*(chosen := state.of(index[k]))):
            raise NotUnderstood("an index that moves")
        if len(chosen) > 1 and state.run.values[index[k].index].dtype in (torch.bool, torch.uint8):
            raise NotUnderstood("a mask of several axes")
    state.freeze(tuple(x[k] for k in taken), "rows of a table")
    rest = [axis for k, axis in enumerate(x) if k not in taken]
    new = len(shape) - len(rest)
    # tensors that are not side by side give the first axes
    first = taken[0] if taken == [*range(taken[0], taken[0] + len(taken))] else 0
    label = (*rest[:first], *map(plain, shape[first : first + new]), *rest[first:])
    if new < 0 or tuple(map(size, label)) != shape:
        raise NotUnderstood("entries of another shape")
    return label


@rule("index_select gather")
def chosen(state: Inference, call: Call) -> Label:
    a = bind(call, "input dim index sparse_grad")
    dim, shape = a["dim"] % len(state.shape(a["input"])), state.shape(call.results[0])
    x = _beside(state, a["input"], a["index"], dim, call.name)
    return tuple(
        plain(n) if k == dim or size(axis) != n else axis
        for k, (axis, n) in enumerate(zip(x, shape, strict=True))
    )


@rule(
    "scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ index_add index_add_ "
    "index_copy index_copy_"
)
def put(state: Inference, call: Call) -> Label:
    """Entries of one value, at places of another along one axis: added to it, or in its stead."""
    entries = "source" if call.name.startswith("index") else "src"
    a = bind(call, f"input dim index {entries} reduce include_self", reduce="sum")
    if not isinstance(a[entries], Ref):
        raise NotUnderstood("a number instead of entries")
    dim, n = a["dim"] % len(state.shape(a["input"])), state.shape(a["input"])[a["dim"]]
    both = [_beside(state, a[name], a["index"], dim, call.name) for name in ("input", entries)]
    one, other = ((*x[:dim], plain(1), *x[dim + 1 :]) for x in both)
    if [*map(size, one)] != [*map(size, other)]:
        raise NotUnderstood("more entries than are put")
    label = meet(state, one, other, call.name)
    if a["reduce"] in ("amax", "amin"):
        state.permute_only(label, a["reduce"], log=False)
    elif a["reduce"] not in ("sum", "mean", "add"):
        state.permute_only(label, a["reduce"])
        label = tuple(map(still, label))
    return (*label[:dim], plain(n), *label[dim + 1 :])


def _beside(state: Inference, value: Ref, index: Ref, dim: int, name: str) -> Label:
    """The axes of a value of whose entries along one axis some are chosen: others stay free if all are alike.

    An index that has these axes, too, is the same for all units where it was expanded.
    """
    x, chosen = state.of(value), state.of(index)
    if moves(*chosen):
        raise NotUnderstood("an index that moves")
    of_each = not name.startswith("index")

    def free(k: int, axis: Axis) -> bool:
        return k != dim and not (of_each and not (alike(chosen[k]) and size(chosen[k]) == size(axis)))

    state.freeze(tuple(axis for k, axis in enumerate(x) if not free(k, axis)), f"an index of {name}")
    return state.of(value)


@rule("__setitem__")
def filled(state: Inference, call: Call) -> Label:
    """Entries of one value in place of others, along axes that do not move."""
    value, index, entries = call.args
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(each, bool) or not isinstance(each, int | slice | EllipsisType) for each in index):
        raise NotUnderstood("places other than numbers and slices")
    x, shape = state.of(value), state.shape(value)
    at = index.index(Ellipsis) if Ellipsis in index else len(index)
    whole = (slice(None),) * (len(x) + len(index[at : at + 1]) - len(index))
    index = (*index[:at], *whole, *index[at + 1 :])
    taken = {k for k, each in enumerate(index) if each != slice(None)}
    state.freeze(tuple(x[k] for k in taken), "entries are put along an axis")
    if entries == 0:  # which no element changes
        return tuple(plain(shape[k]) if k in taken else axis for k, axis in enumerate(x))
    if not isinstance(entries, Ref):
        raise NotUnderstood("a number instead of entries")
    kept = [k for k, each in enumerate(index) if not isinstance(each, int)]
    there = [plain(len(range(*index[k].indices(shape[k])))) if k in taken else x[k] for k in kept]
    new = dict(
        zip(kept, meet(state, tuple(there), state.of(entries), "__setitem__")[-len(there) :], strict=True)
    )
    return tuple(plain(shape[k]) if k in taken else new[k] for k in range(len(x)))
