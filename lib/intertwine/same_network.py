"""Are two checkpoints one network up to its symmetries?"""

from itertools import zip_longest
from typing import Any, NamedTuple

from torch import nn

from intertwine.checks import check_finite
from intertwine.devices import tolerated
from intertwine.shallow import ShallowReLU, Symmetry, same_function
from intertwine.weightspace import WeightSpace, find_symmetries, match, relative_error
from intertwine.weightspace.act.action import State
from intertwine.weightspace.act.space import Element
from intertwine.weightspace.act.weights import with_state
from intertwine.weightspace.find import Group
from intertwine.weightspace.trace.given import eager
from intertwine.weightspace.trace.run import Run
from intertwine.weightspace.trace.trace import Outputs, trace
from intertwine.weightspace.uses.equivalent import output_error


class Sameness(NamedTuple):
    """Whether two networks are one up to symmetry, and why. It has no truth value, for it may be undecided.

    Attributes:
        same: True, False, or None where it is undecided.
        reason: in words, with the tolerance of the comparison; units are numbered as in the first network.
        element: where it is True, what moves the second network to the first, under the names of the first.
            Of shallow networks it is their `shallow.Symmetry`, which leads from the first to the second.
    """

    same: bool | None
    reason: str
    element: Element | Symmetry | None = None

    def __bool__(self) -> bool:
        raise TypeError("Expected a use of `.same`, which is True, False or None, not of the whole answer.")


def same_network(
    one: nn.Module, other: nn.Module, inputs: Any, *, outputs: Outputs = None, group: Group | None = None
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
        >>> same_network(net, moved, x).reason
        'the element moves the second to the first, at a tolerance of 0.0001'
        >>> with torch.no_grad():
        ...     _ = moved[2].weight[0].add_(1)
        >>> same_network(net, moved, x).same
        False

    - False: outputs differ on these inputs.
    - True: outputs agree, and `match` finds an element that moves one network to the other.
    - None: outputs agree, and no element is found. The networks may differ on other inputs. Or they are one
      network in a way that `match` does not find, as with one dead unit more, or a batch norm folded in one.

    Outputs and weights agree if their relative error is below 1e-4, or ε^(2/3) for weights of 16 bits. Where
    names differ, as with a dropout in between, tensors are matched in the order in which the runs meet them.
    ReLU networks with one hidden layer, of any widths, are compared as functions, on all inputs, by
    `shallow.same_function`, if no group is named.

    Args:
        one, other: in evaluation mode.
        inputs, outputs: as `find_symmetries` takes them. Some dozens of inputs tell functions apart. A
            difference that shows on none of them, as of ReLU and ReLU6 on small numbers, is not seen.
        group: "permutation" asks for a permutation of units, as in `find_symmetries`. Networks that differ by
            a scale compute the same, and no such element leads from one to the other: None.

    Returns:
        `same`, the `reason` in words, and the `element` that moves the second network to the first. The unit
        that the reason names differs after matching, by which a difference may move to a neighbour.

    See Also:
        `weightspace.equivalent` compares outputs alone, `weightspace.match` brings other networks close.
    """
    one, other = eager(one), eager(other)
    for which, model in (("first", one), ("second", other)):
        check_finite(model, which)
    # for these there is a decision on all inputs, but the symmetry that it finds may be any
    if group is None and (shallow := _shallow(one, other)) is not None:
        return shallow
    tolerance = tolerated(one, other)
    before, after = (trace(model, inputs, outputs) for model in (one, other))
    sizes = [[run.shapes[k] for k in run.outputs] for run in (before, after)]
    if sizes[0] != sizes[1]:
        first, second = (", ".join(map(str, each)) for each in sizes)
        return Sameness(False, f"outputs have the shape {first} in the first, {second} in the second")
    error = output_error(before, after)
    # with the names of the first, under which `match` compares weights; or why that cannot be
    named = other if _shapes(one) == _shapes(other) else _in_order(before, after, one)
    del before, after  # which hold all activations
    if isinstance(named, str):
        found, apart = None, named
    else:
        found, apart = _matched(one, named, inputs, outputs, group, tolerance)
    if not error <= tolerance:  # so is NaN
        apart = apart or "once matched, their weights agree"
        return Sameness(False, f"outputs differ by {error:.2g}, {_at(tolerance)}; {apart}")
    if apart:
        return Sameness(None, f"outputs agree on these inputs, {_at(tolerance)}, but {apart}")
    return Sameness(True, f"the element moves the second to the first, {_at(tolerance)}", found)


def _at(tolerance: float) -> str:
    return f"at a tolerance of {tolerance:.1g}"


def _matched(
    one: nn.Module, other: nn.Module, inputs: Any, outputs: Outputs, group: Group | None, tolerance: float
) -> tuple[Element, str]:
    """The element that brings the second closest to the first, and what then still differs, if anything."""
    space = find_symmetries(one, inputs, outputs=outputs, group=group)
    found = match(space, one, other)
    unit = _first_unit(space, space.state(one), space.state(found.model), tolerance)
    left = f", and match leaves open {', '.join(found.undetermined)}" if found.undetermined else ""
    by = " by a permutation" if group else ""
    # the second is in the order of the first by now
    return found.element, unit and f"once matched{by}, they first differ in {unit} of the first network{left}"


def _shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(x.shape) for name, x in model.state_dict().items()}


def _in_order(before: Run, after: Run, one: nn.Module) -> nn.Module | str:
    """The first with the tensors of the second, in the order of the runs; or where their shapes differ."""
    # a dictionary for its order: each tensor where the run first meets it
    firsts, seconds = (
        dict.fromkeys(ref.index for call in run.calls for ref in call.refs if ref.index in run.names)
        for run in (before, after)
    )
    for k, m in zip_longest(firsts, seconds):
        first, second = (
            "no tensor" if at is None else f"'{run.names[at]}' with the shape {run.shapes[at]}"
            for run, at in ((before, k), (after, m))
        )
        if None in (k, m) or before.shapes[k] != after.shapes[m]:
            return f"in the order of the run, the first has {first} where the second has {second}"
    return with_state(before, one, {k: after.values[m] for k, m in zip(firsts, seconds, strict=True)})


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
        reason = f"outputs differ at the input {answer.witness.x.tolist()}"
    else:
        reason = "they are one function" if answer.equal else "outputs are too close to tell"
    return Sameness(answer.equal, f"{reason}, {_at(answer.tolerance)}", answer.symmetry)


def _first_unit(space: WeightSpace, one: State, other: State, tolerance: float) -> str:
    """The first tensor, and in it the first row, in which two states differ; "" if they agree."""
    for k, x in one.items():
        numbers = x.is_floating_point() or x.is_complex()
        if numbers and relative_error(other[k], x) > tolerance:
            # the first axis counts units in the tensors of all layers
            errors = (other[k] - x).reshape(len(x) if x.ndim else 1, -1).abs().amax(1)
            unit = (errors > tolerance * (x.abs().max() or 1)).nonzero()[0].item()
            return f"unit {unit} of '{space.inference.run.names[k]}'"
    return ""
