"""Find the symmetries of any network from one run."""

from __future__ import annotations

from typing import Any

from torch import nn

from intertwine.weightspace import rules
from intertwine.weightspace.infer import infer
from intertwine.weightspace.names import name
from intertwine.weightspace.solve import solve
from intertwine.weightspace.space import WeightSpace
from intertwine.weightspace.trace import trace

REGISTERED = rules.__all__  # by their import


def find_symmetries(model: nn.Module, example_inputs: Any) -> WeightSpace:
    """Run a model once, and find its hidden spaces, the axes that each of them joins, and its group.

    Example:
        >>> import torch
        >>> from intertwine.models import myrtle
        >>> space = find_symmetries(myrtle(4, in_channels=1).eval(), torch.zeros(1, 1, 8, 8))
        >>> [hidden.group for hidden in space.spaces][:2]
        ['Σ_4 ⋉ (R^* × R_{>0})^4', 'Σ_8 ⋉ (R^* × R_{>0})^8']

    Units that are added move together (godfrey2022 Remark 3.6), and so do those combined channel by channel.
    Activations are classified by `intertwine.groups`. Decisions of Python from shapes are fixed as in
    this run. An operation without a rule freezes the axes that it touches; the table shows them with the
    reason. An axis of one unit counts as broadcasting, and does not move.

    Args:
        model: in evaluation mode; it is not changed.
        example_inputs: one tensor, a tuple of arguments, or a mapping of keyword arguments.

    Returns:
        The group of all moves that were understood. Further symmetries, of these weights alone or behind an
        operation that is frozen, may exist.

    Raises:
        ValueError: in training mode; the inputs do not fit; or steps depend on values.
    """
    run = trace(model, example_inputs)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    inference = infer(run, {k for k, parameter in run.names.items() if parameter in parameters})
    solution = solve(inference)
    name(inference, solution)
    run.values.clear()  # the labels are enough from now on
    return WeightSpace(inference, solution)
