"""Which entries of its argument a call shows, and in which order of axes."""

import math
from dataclasses import replace
from types import NoneType
from typing import NamedTuple

import torch
from torch import Tensor

from intertwine.weightspace.trace.run import Call, Run

RESHAPES = "view reshape flatten unflatten squeeze unsqueeze ravel view_as reshape_as _unsafe_view"

VIEWS = """permute transpose transpose_ swapaxes swapdims movedim moveaxis t T mT split chunk tensor_split
    split_with_sizes narrow unbind select __getitem__ expand expand_as broadcast_to"""


class View(NamedTuple):
    """The entries that a result of a call shows.

    Attributes:
        shape: of the result.
        axes: which axis of the value each axis of the result is; None for a new one.
        steps: by how many entries of the value one step on it goes.
        starts: the first entry that is shown, for each axis of the value.
    """

    shape: list[int]
    axes: list[int | None]
    steps: list[int]
    starts: list[int]


def views(run: Run, call: Call) -> list[View]:
    """What each result shows, read from the strides of views of a tensor without entries.

    Empty for an index other than numbers, slices and a list of one number.
    """
    index = call.args[1] if call.name == "__getitem__" else ()
    lists = [k for k, each in enumerate(index) if isinstance(each, list)] if isinstance(index, tuple) else []
    if len(lists) == 1 and isinstance(index[lists[0]], list) and len(index[lists[0]]) == 1:
        (number,) = index[at := lists[0]]  # taken alone, with its axis
        index = (*index[:at], slice(number, number + 1 or None), *index[at + 1 :])
        call = replace(call, args=(call.args[0], index))
    for k in index if isinstance(index, tuple) else (index,):
        parts = (k.start, k.stop, k.step) if isinstance(k, slice) else (None if k is Ellipsis else k,)
        if not {*map(type, parts)} <= {int, NoneType}:
            return []
    shape = run.shapes[call.first.index]
    wide = [max(2, n) for n in shape]  # so that no two strides are equal
    strides = [math.prod(wide[k + 1 :]) for k in range(len(shape))]
    value = torch.empty_strided(shape, strides, device="meta")
    results = call.computed(lambda ref: value if ref is call.first else run.values[ref.index])
    found = []
    for x in [results] if isinstance(results, Tensor) else results:
        axes, steps = list[int | None]([None] * x.ndim), [0] * x.ndim
        # an axis of one entry comes last: its stride is arbitrary, and may be that of a real axis
        for j in sorted(range(x.ndim), key=lambda j: x.shape[j] == 1):
            n, stride = x.shape[j], x.stride(j)
            k = next((k for k, s in enumerate(strides) if 0 < s <= stride), None)
            if k is not None and k not in axes and (n > 1 or stride == strides[k]):
                axes[j], steps[j] = k, stride // strides[k]
        starts = [x.storage_offset() // s % n for s, n in zip(strides, wide, strict=True)]
        found.append(View([*x.shape], axes, steps, starts))
    return found
