"""Verify an element: equal outputs, and representations changed by the element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from intertwine.devices import precise
from intertwine.weightspace.act.space import Given, WeightSpace
from intertwine.weightspace.trace.trace import trace
from intertwine.weightspace.uses.messages import check_space

if TYPE_CHECKING:
    import pandas as pd


class Verification(NamedTuple):
    """The largest difference of the outputs, relative to their largest value; and by hidden space the change
    of its representations, and their distance from what the element predicts, relative, too.
    """

    output: float
    spaces: pd.DataFrame


def relative_error(new: Shaped[Tensor, "*shape"], old: Shaped[Tensor, "*shape"]) -> float:
    """The largest difference, relative to the largest value if there is one but 0; of no entries 0.

    Example:
        >>> relative_error(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 2.0]))
        1.0

    Entries that are NaN or infinite in both, as masked ones are, agree; in one alone, the error is infinite.

    Args:
        new, old: tensors of one shape; the error is in units of the largest |entry| of `old`.
    """
    new, old = precise(new), precise(old)
    if (odd := ~(new.isfinite() & old.isfinite())).any():
        if not ((new == old) | (new.isnan() & old.isnan()))[odd].all():
            return math.inf
        new, old = new[~odd], old[~odd]
    if not old.numel():
        return 0.0
    return (new - old).abs().max().item() / (old.abs().max().item() or 1.0)


def verify(space: WeightSpace, model: nn.Module, element: Given, inputs: Any) -> Verification:
    """Move the model, and compare outputs and representations on these inputs.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> layers = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)
        >>> model = nn.Sequential(*layers).double().eval()
        >>> x = torch.ones(1, 3, dtype=torch.float64)
        >>> space = find_symmetries(model, x)
        >>> element = space.sample(torch.Generator().manual_seed(0))
        >>> verify(space, model, element, x).output < 1e-12
        True

    Args:
        space, element: as `WeightSpace.act` takes them.
        model: in evaluation mode; in float64, outputs agree to about 1e-12.
        inputs: as `find_symmetries` takes them. The batch may have another size; a space is nan where each of
            its values has an axis that holds the batch as well, as batch × heads.
    """
    import pandas as pd

    check_space(space)
    chosen = space.inference.run.chosen
    before, after = (trace(each, inputs, chosen) for each in (model, space.act(model, element)))
    action = space.action(space.moves(element), space.state(model))
    rows, unseen = {hidden.index: [0.0, 0.0, 0.0] for hidden in space.spaces}, set[int]()
    for k, label in space.solution.labels.items():
        if (
            # those that `separate` made of one layer are in no run
            k >= len(before.values)
            or k in before.names
            or k in space.inference.stacks
            or not space.solution.touched(k)
        ):
            continue
        if not space.solution.fits(k, before.shapes[k]):
            unseen |= space.solution.touched(k)
            continue
        old, new = precise(before.values[k]), precise(after.values[k])
        expected = action.move(old, label)
        for index in space.solution.touched(k):
            for position, x in enumerate((old, _minus(new, old), _minus(new, expected))):
                # added up over all values of a space: one of zeros would have no relative error
                rows[index][position] += x[x.isfinite()].abs().square().sum().item()
    table = []
    for hidden in space.spaces:
        length, change, error = map(math.sqrt, rows[hidden.index])
        if not length and hidden.index in unseen:  # of which nothing was compared
            change = error = math.nan
        table.append((hidden.name, hidden.size, hidden.group, change / (length or 1), error / (length or 1)))
    output = max(relative_error(after.values[k], before.values[k]) for k in before.outputs)
    return Verification(output, pd.DataFrame(table, columns=["name", "width", "group", "changed", "error"]))


def _minus(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(a == b, 0, a - b)  # where both are −∞, as after a mask
