"""Are two checkpoints one network up to its symmetries?"""

from typing import Any, NamedTuple

from torch import nn

from intertwine.shallow import ShallowReLU, Symmetry, same_function
from intertwine.weightspace import WeightSpace, equivalent, find_symmetries, match, relative_error
from intertwine.weightspace.act.action import State
from intertwine.weightspace.act.space import Element
from intertwine.weightspace.trace.given import eager
from intertwine.weightspace.trace.trace import Outputs


class Sameness(NamedTuple):
    """The answer of `same_network`, with its reason; it has no truth value, for it may be undecided.

    Attributes:
        same: True, False, or None where it is undecided.
        element: where it is True, what moves the second network to the first. Of shallow networks it is their
            `shallow.Symmetry`, which leads from the first to the second.
    """

    same: bool | None
    reason: str
    element: Element | Symmetry | None = None

    def __bool__(self) -> bool:
        raise TypeError("Expected a use of `.same`, which is True, False or None, not of the whole answer.")


def same_network(
    one: nn.Module, other: nn.Module, inputs: Any, *, outputs: Outputs = None, tolerance: float = 1e-4
) -> Sameness:
    """Whether an element of the group moves one network to the other; else the first unit that differs.

    Example:
        >>> import torch
        >>> layers = (
        ...     nn.Linear(3, 4),
        ...     nn.ReLU(),
        ...     nn.Linear(4, 5),
        ...     nn.ReLU(),
        ...     nn.Linear(5, 1),
        ... )
        >>> net, x = nn.Sequential(*layers).eval(), torch.randn(50, 3)
        >>> space = find_symmetries(net, x)
        >>> moved = space.act(net, space.sample(torch.Generator().manual_seed(0)))
        >>> same_network(net, moved, x).same
        True
        >>> with torch.no_grad():
        ...     _ = moved[2].weight[0].add_(1)
        >>> same_network(net, moved, x).same
        False

    It is True when `match` finds an element and outputs on these inputs agree, and False when they differ:
    both are sure, up to the tolerance. Where outputs agree and no element is found it is None, for the
    networks may still differ on other inputs, or be one network in a way that `match` does not find. ReLU
    networks with one hidden layer, of any widths, are compared as functions instead, on all inputs:
    `shallow.same_function`.

    Args:
        one, other: in evaluation mode.
        inputs, outputs: as `find_symmetries` takes them; some dozens of inputs tell functions apart.
        tolerance: of relative errors of outputs and weights; 1e-4 leaves room for float32.

    Returns:
        `same`, the `reason` in words, and the `element` that moves the second network to the first.

    See Also:
        `weightspace.equivalent` compares outputs alone, `weightspace.match` brings other networks close.
    """
    one, other = eager(one), eager(other)
    if (shallow := _shallow(one, other)) is not None:
        return shallow
    shapes = [{name: tuple(x.shape) for name, x in model.state_dict().items()} for model in (one, other)]
    for name in [*shapes[0], *shapes[1]]:
        if (first := shapes[0].get(name, "none")) != (second := shapes[1].get(name, "none")):
            return Sameness(False, f"'{name}' has the shape {first} in the first, {second} in the second")
    space = find_symmetries(one, inputs, outputs=outputs)
    found = match(space, one, other)
    unit = _first_unit(space, space.state(one), space.state(found.model), tolerance)
    function = equivalent(one, other, inputs, outputs=outputs, tolerance=tolerance)
    if unit is None and function.equal:
        return Sameness(True, "the element moves the second to the first", found.element)
    apart = f"once matched, they first differ in {unit}" if unit else "once matched, their weights agree"
    if not function.equal:
        return Sameness(False, f"outputs differ by {function.error:.2g}; {apart}")
    left = f", and match leaves open {', '.join(found.undetermined)}" if found.undetermined else ""
    return Sameness(None, f"outputs agree on these inputs, but {apart}{left}")


def _shallow(one: nn.Module, other: nn.Module) -> Sameness | None:
    """The answer for two ReLU networks with one hidden layer; None for others."""
    try:
        p, q = (ShallowReLU.from_module(model) for model in (one, other))
    except ValueError:
        return None
    if (p.m, p.k) != (q.m, q.k):
        return Sameness(
            False, f"inputs and outputs are {p.m} and {p.k} in the first, {q.m} and {q.k} in the second"
        )
    answer = same_function(p, q)
    if answer.witness is not None:
        return Sameness(False, f"outputs differ at the input {answer.witness.x.tolist()}")
    reason = "they are one function" if answer.equal else "outputs are too close to tell"
    return Sameness(answer.equal, reason, answer.symmetry)


def _first_unit(space: WeightSpace, one: State, other: State, tolerance: float) -> str | None:
    """The first tensor, and in it the first row, in which two states differ."""
    for k, x in one.items():
        numbers = x.is_floating_point() or x.is_complex()
        if numbers and relative_error(other[k], x) > tolerance:
            rows = (other[k] - x).reshape(len(x) if x.ndim else 1, -1).abs().amax(1)
            unit = (rows > tolerance * (x.abs().max() or 1)).nonzero()[0].item()
            return f"unit {unit} of '{space.inference.run.names[k]}'"
    return None
