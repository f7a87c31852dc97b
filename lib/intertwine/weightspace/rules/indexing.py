"""Rules of entries that an index chooses, and of what is put where one says: tables, graphs, caches."""

from types import EllipsisType
from typing import Any

import torch

from intertwine.weightspace.rules.axes import Axis, Label, moves, plain, size
from intertwine.weightspace.rules.entries import all_copied, meet, multiplied, still
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, Stack, bind, rule
from intertwine.weightspace.rules.views import view
from intertwine.weightspace.trace.run import Call, Ref


@rule("__getitem__", keeps=True)  # an index copies entries, so that zeros stay zeros
def getitem(state: Inference, call: Call) -> Label | list[Label | Stack]:
    """A view, or entries by tensors of integers, which take the places of their axes."""
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    if not any(isinstance(each, Ref) for each in index):
        return view(state, call)
    x, shape = state.of(call.first), state.shape(call.results[0])
    places = _places(state, index, len(x))
    taken = [k for k, each in enumerate(places) if each != slice(None)]
    if not all(isinstance(places[k], Ref) for k in taken):
        raise NotUnderstood("tensors beside other indices")
    # an index calls entries by number, so that they keep their places
    state.freeze(tuple(x[k] for k in taken), "rows of a table")
    rest = [axis for k, axis in enumerate(x) if k not in taken]
    new = len(shape) - len(rest)
    # tensors that are not side by side give the first axes
    first = taken[0] if len(taken) == taken[-1] + 1 - taken[0] else 0
    label = (*rest[:first], *map(plain, shape[first : first + new]), *rest[first:])
    if new < 0 or tuple(map(size, label)) != shape:
        raise NotUnderstood("entries of another shape")
    return label


@rule("index_select gather take_along_dim")
def chosen(state: Inference, call: Call) -> Label:
    """Entries along one axis: whole slices by index_select, by the others one index for each entry."""
    a = bind(call, "input index dim" if call.name == "take_along_dim" else "input dim index sparse_grad")
    a["index"] = a.get("indices", a["index"])
    if a["dim"] is None:
        raise NotUnderstood("along all axes at once")
    dim, shape = a["dim"] % len(state.shape(a["input"])), state.shape(call.results[0])
    x = _indexed(state, a["input"], a["index"], dim, call.name)
    return tuple(
        # gather may read only the first entries of another axis, which `_indexed` then has frozen
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
    both = [_indexed(state, a[name], a["index"], dim, call.name) for name in ("input", entries)]
    # along the axis itself any entry may land anywhere; along all others, both are added
    one, other = ((*x[:dim], plain(1), *x[dim + 1 :]) for x in both)
    if [*map(size, one)] != [*map(size, other)]:
        raise NotUnderstood("more entries than are put")
    label = meet(state, one, other, call.name)
    if a["reduce"] in ("amax", "amin"):
        state.permute_only(label, a["reduce"], log=False)
    elif a["reduce"] not in ("sum", "mean", "add"):  # a product has a power of scalars for each entry put
        state.permute_only(label, a["reduce"])
        label = tuple(map(still, label))
    return (*label[:dim], plain(n), *label[dim + 1 :])


def _indexed(state: Inference, value: Ref, index: Ref, dim: int, name: str) -> Label:
    """A value's axes where an index takes entries along `dim`: others stay free if it is one for all."""
    x, picks = state.of(value), state.of(index)
    if moves(*picks):
        raise NotUnderstood("an index that moves")
    of_each = not name.startswith("index")

    def free(k: int, axis: Axis) -> bool:
        # gather and scatter have an index for each entry: where one was expanded to all, these may move
        broadcast = name == "take_along_dim" and size(picks[k]) == 1
        alike = not of_each or (all_copied(picks[k]) and (broadcast or size(picks[k]) == size(axis)))
        return k != dim and alike

    state.freeze(tuple(axis for k, axis in enumerate(x) if not free(k, axis)), f"an index of {name}")
    return state.of(value)  # anew, as what was frozen above no longer moves


@rule("__setitem__")
def filled(state: Inference, call: Call) -> Label:
    """Entries of one value in place of others, along axes that do not move; or a number where a mask says."""
    value, index, entries = call.args
    x = state.of(value)
    if not isinstance(entries, Ref) and entries != 0:  # which no element changes
        state.permute_only(x, "a number in place of entries")
    if not isinstance(entries, Ref) and _is_mask(state, index):
        mask = (*map(still, state.of(index)), *[plain(1)] * (len(x) - len(state.shape(index))))
        return multiplied(state, x, mask, "a mask")
    places = _places(state, index if isinstance(index, tuple) else (index,), len(x))
    taken = {k for k, each in enumerate(places) if each != slice(None)}
    state.freeze(tuple(x[k] for k in taken), "entries are put along an axis")
    label = [plain(size(axis)) if k in taken else axis for k, axis in enumerate(x)]
    if isinstance(entries, Ref):
        kept: list[int | None] = [k for k, each in enumerate(places) if not isinstance(each, int | Ref)]
        if tensors := [k for k, each in enumerate(places) if isinstance(each, Ref)]:
            if len(kept) + len(tensors) < len(x):
                raise NotUnderstood("tensors beside numbers")
            # those that are not side by side give the first axes
            first = tensors[0] if len(tensors) == tensors[-1] + 1 - tensors[0] else 0
            wide = [1 if _is_mask(state, places[k]) else len(state.shape(places[k])) for k in tensors]
            kept[first:first] = [None] * max(wide)
        shape = [*[1] * len(kept), *state.shape(entries)][len(state.shape(entries)) :]
        there = tuple(plain(n) if k is None or k in taken else x[k] for k, n in zip(kept, shape, strict=True))
        new = meet(state, there, state.of(entries), "__setitem__")
        for k, axis in zip(kept, new[len(new) - len(kept) :], strict=True):
            if k is not None and k not in taken:
                label[k] = axis
    return tuple(label)


def _places(state: Inference, index: tuple[Any, ...], axes: int) -> list[Any]:
    """An index, one for each axis: a number, a slice or a tensor; a mask once for each of its axes."""
    found: list[Any] = []
    for each in index:
        if isinstance(each, Ref):
            if moves(*state.of(each)):
                raise NotUnderstood("an index that moves")
            found += [each] * (len(state.shape(each)) if _is_mask(state, each) else 1)
        # to Python True is an int, to torch it is a new axis
        elif isinstance(each, bool) or not isinstance(each, int | slice | EllipsisType):
            raise NotUnderstood("places other than numbers, slices and tensors")
        else:
            found.append(each)
    at = next((k for k, each in enumerate(found) if each is Ellipsis), len(found))
    rest = found[at + 1 :]
    return [*found[:at], *[slice(None)] * (axes - at - len(rest)), *rest]


def _is_mask(state: Inference, index: Any) -> bool:
    return isinstance(index, Ref) and state.run.values[index.index].dtype in (torch.bool, torch.uint8)
