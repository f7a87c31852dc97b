"""What an element changed: the outputs not at all, the representations as it says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from intertwine.weightspace.act import Action, Element
from intertwine.weightspace.axes import units
from intertwine.weightspace.trace import trace

if TYPE_CHECKING:
    import pandas as pd

    from intertwine.weightspace.find import WeightSpace


class Verification(NamedTuple):
    """What an element changed.

    Attributes:
        output: largest difference of the outputs, relative to their largest value.
        spaces: by hidden space, the relative change of its representations, and how far they are from what
            the element says they become (relative, too).
    """

    output: float
    spaces: pd.DataFrame


def verify(space: WeightSpace, model: nn.Module, element: Element, inputs: Any) -> Verification:
    """`WeightSpace.verify`."""
    import pandas as pd

    before, after = trace(model, inputs), trace(space.act(model, element), inputs)
    action = Action(space.solution, element, space.state(model), [])
    rows = {hidden.index: [0.0, 0.0, 0.0] for hidden in space.spaces}
    for k, label in space.solution.labels.items():
        if k in before.names or k in space.inference.stacks:
            continue
        here = {space.solution.hidden(factor).index for axis in label for factor in units(axis)}
        if not here:
            continue
        old, new = before.values[k].double(), after.values[k].double()
        expected = action.move(old, label)
        for index in here:
            for position, x in enumerate((old, _minus(new, old), _minus(new, expected))):
                rows[index][position] += x[x.isfinite()].square().sum().item()
    table = [
        {"width": hidden.size, "group": hidden.group, **_changes(*rows[hidden.index])}
        for hidden in space.spaces
    ]
    output = max(_relative(before.values[k], after.values[k]) for k in before.outputs)
    return Verification(output, pd.DataFrame(table, columns=["width", "group", "changed", "error"]))


def _changes(size: float, change: float, error: float) -> dict[str, float]:
    size = size or 1.0
    return {"changed": math.sqrt(change / size), "error": math.sqrt(error / size)}


def _relative(old: Tensor, new: Tensor) -> float:
    if not old.is_floating_point():
        return float(not torch.equal(old, new))
    size = old.abs().max().item()
    return ((new - old).abs().max().item() / size) if size else new.abs().max().item()


def _minus(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(a == b, 0, a - b)  # where both are −∞, as behind a mask
