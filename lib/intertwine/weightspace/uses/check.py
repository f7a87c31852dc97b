"""Does a random element keep the function? What fails is not given as a symmetry."""

import math
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from intertwine.checks import check_evaluation_mode, check_memory
from intertwine.devices import precise, rounding_unit
from intertwine.weightspace.act.action import State
from intertwine.weightspace.act.space import Element, WeightSpace
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.trace.given import eager
from intertwine.weightspace.trace.kept import Kept
from intertwine.weightspace.trace.nested import with_tensors
from intertwine.weightspace.trace.trace import as_arguments, output_tensors

LARGE = 4_000_000
"""Models with more weights are checked in their own precision, and first on a corner of images."""
CORNER = 64


def spaces_that_change_outputs(space: WeightSpace, model: nn.Module, inputs: Any) -> list[HiddenSpace]:
    """The spaces whose elements change the outputs on these inputs; usually none.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> spaces_that_change_outputs(
        ...     find_symmetries(model, torch.zeros(1, 3)), model, torch.ones(1, 3)
        ... )
        []

    One random element, and two forward passes: in float64 where the model computes in it, on weights with
    some noise added, so that layers that begin with zeros count, too. Only if outputs differ, every space is
    tried alone. Where no output is finite, or weights have no memory, nothing can be seen, and a UserWarning
    says so.
    """
    if any(x.is_meta for x in space.state(model).values()):
        warnings.warn("The symmetries are not checked, since weights have no memory.", stacklevel=3)
        return []
    # scalars between 1/2 and 2, mostly: large ones would multiply the rounding of every layer
    element = space.sample(torch.Generator().manual_seed(0), scale=0.3)
    for hidden in space.spaces:  # every second order of two units leaves them alone
        move = element[hidden.name]
        if hidden.permuted and torch.equal(move.order, hidden.identity().order):
            element[hidden.name] = move._replace(order=move.order.roll(1, 1))
    for point in _points(space, model, inputs) if element else ():
        with Kept(space.state(model).values()) if point.model is model else nullcontext():
            expected = outputs(space, point.model, point.inputs)
        if not expected or not all(y.isfinite().any() for y in expected if y.numel()):
            continue
        changes = partial(_changes, space, point, expected)
        if not changes(element):
            return []
        if point.decides:
            return [x for x in space.spaces if changes({x.name: element[x.name]})] or space.spaces
    if element:
        unseen = "The symmetries are not checked, since no output on the example inputs is a finite number"
        bad = [k for k, x in model.named_parameters() if not x.isfinite().all()]
        hint = f"NaN or infinity is in {bad[0]}" if bad else "give inputs on which some are"
        warnings.warn(f"{unseen}: {hint}.", stacklevel=3)
    return []


class Point(NamedTuple):
    """A model and inputs to check at, the error that rounding may leave, and if it has the last word."""

    model: nn.Module
    inputs: Any
    tolerance: float
    decides: bool


def _points(space: WeightSpace, model: nn.Module, inputs: Any) -> Iterator[Point]:
    """Where to check, the best first."""
    state = space.state(model)
    if sum(x.numel() for x in state.values()) <= LARGE:
        for size in (1.0, 0.0):
            yield noisy(space, model, inputs, size)
    # √ε leaves room for the rounding of many layers; a wrong element changes outputs by their own size
    tolerance = 30 * rounding_unit(state.values()) ** 0.5
    # most image networks run on a corner, in less time; if that fails or differs, whole images decide
    corner = with_tensors(inputs, lambda x: x[..., :CORNER, :CORNER] if _real(x) and x.ndim == 4 else x)
    yield Point(model, corner, tolerance, False)
    yield Point(model, inputs, tolerance, True)


def noisy(space: WeightSpace, model: nn.Module, inputs: Any, size: float = 1.0) -> Point:
    """A model and inputs in float64, with noise of this size on weights and buffers."""
    check_evaluation_mode(eager(model))  # by statistics of a batch other moves would pass
    parameters = {id(x) for x in model.parameters()}
    state = {k: x for k, x in space.state(model).items() if _real(x)}
    for k, x in state.items():
        check_memory(space.inference.run.names[k], x)
    new = {k: _noisy(x.detach(), size, k, id(x) in parameters) for k, x in state.items()}
    wide = with_tensors(inputs, lambda x: x.double() if _real(x) else x)
    return Point(space.with_state(model, new), wide, 1e-5, True)


def _changes(space: WeightSpace, point: Point, expected: list[Tensor], element: Element) -> bool:
    """Whether the outputs are others after the element has moved the weights."""
    state = space.state(point.model)
    return not unchanged(space, point, expected, space.action(space.moves(element), state).state(state))


def unchanged(space: WeightSpace, point: Point, expected: list[Tensor], state: State) -> bool:
    """Whether the model with these weights has the expected outputs, if it has any."""
    found = outputs(space, space.with_state(point.model, state), point.inputs)
    pairs = zip(found, expected, strict=False)
    return len(found) == len(expected) > 0 and not any(_differ(y, x, point.tolerance) for y, x in pairs)


def _real(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def _noisy(x: Tensor, size: float, seed: int, weight: bool) -> Tensor:
    """In float64, with noise; a buffer, such as a mean or a variance, is also multiplied."""
    generator = torch.Generator().manual_seed(seed)
    n = size * torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.device)
    if not weight:
        return x * (0.3 * n).exp() + 0.1 * n.abs()  # a variance stays positive
    # as large as an initialisation, by the number of inputs: no layer saturates
    return x + (n / math.sqrt(max(1, x[0].numel())) if x.ndim > 1 and len(x) else 0.2 * n)


def outputs(space: WeightSpace, model: nn.Module, inputs: Any) -> list[Tensor]:
    """The outputs on these inputs; none where the model does not compute in their precision."""
    double = any(x.dtype == torch.float64 for x in model.parameters())
    default, gpus = torch.get_default_dtype(), {x.device for x in model.parameters() if x.is_cuda}
    with torch.random.fork_rng(gpus), torch.no_grad():
        torch.manual_seed(0)  # a model that draws numbers draws the same ones before and after
        try:
            # tensors that the model makes while it runs have the default dtype
            torch.set_default_dtype(torch.float64 if double else default)
            args, kwargs = as_arguments(inputs)
            found = output_tensors(model(*args, **kwargs), space.inference.run.chosen)
            return [precise(y) for y in found if y.numel()]  # an empty batch shows nothing
        except Exception:
            return []
        finally:
            torch.set_default_dtype(default)


def _differ(new: Tensor, old: Tensor, tolerance: float) -> bool:
    """Whether finite entries differ; where the old ones are not finite, the new ones are the same."""
    finite = old.isfinite()
    if new.shape != old.shape or not torch.equal(new[~finite].nan_to_num(), old[~finite].nan_to_num()):
        return True
    if not finite.any():
        return False
    return not bool((new - old)[finite].abs().max() <= tolerance * (old[finite].abs().max() or 1.0))
