"""Does a random element keep the function? What fails is not given as a symmetry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from intertwine.weightspace.hidden import HiddenSpace
from intertwine.weightspace.space import Element, State, WeightSpace
from intertwine.weightspace.trace import given, named_tensors, replica, results

LARGE = 4_000_000
"""Models with more weights are checked in their own precision, and as they are."""


def wrong(space: WeightSpace, model: nn.Module, inputs: Any) -> list[HiddenSpace]:
    """The spaces whose elements change the outputs on these inputs; usually none.

    Example:
        >>> from intertwine.weightspace import find_symmetries
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> wrong(find_symmetries(model, torch.zeros(1, 3)), model, torch.ones(1, 3))
        []

    One random element, and two forward passes: in float64 where the model computes in it, on weights with
    some noise added, so that layers that begin with zeros count, too. Only if outputs differ, every space is
    tried alone.
    """
    if not space.spaces:
        return []
    network = replica(model)
    points = ((*point, _outputs(space, network, point[0], inputs)) for point in _points(space, model))
    usable = (
        point for point in points if point[2] and all(y.isfinite().any() for y in point[2] if y.numel())
    )
    if (point := next(usable, None)) is None:
        return []
    state, tolerance, expected = point

    def changes(element: Element) -> bool:
        moved = space.action(space.moves(element), state).state(state)
        found = _outputs(space, network, moved, inputs)
        return not found or any(map(_differ, found, expected, [tolerance] * len(found)))

    element = space.sample(torch.Generator().manual_seed(0), scale=0.3)
    if not changes(element):
        return []
    return [each for each in space.spaces if changes({each.name: element[each.name]})] or space.spaces


def _points(space: WeightSpace, model: nn.Module) -> Iterator[tuple[State, float]]:
    """Weights to check at, the best first, and the error that rounding may leave."""
    own = {k: x.detach() for k, x in space.state(model).items()}
    if sum(x.numel() for x in own.values()) <= LARGE:
        exact = {k: x.double() if x.is_floating_point() else x for k, x in own.items()}
        noise = torch.randn(4099, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        names, parameters = space.inference.run.names, dict(model.named_parameters(remove_duplicate=False))
        yield {k: _noisy(x, noise.roll(7 * k), names[k] in parameters) for k, x in exact.items()}, 1e-5
        yield exact, 1e-5
    eps = max((torch.finfo(x.dtype).eps for x in own.values() if x.is_floating_point()), default=0.0)
    yield own, 30 * math.sqrt(eps)


def _noisy(x: Tensor, noise: Float[Tensor, " n"], weight: bool) -> Tensor:
    if not x.is_floating_point() or not x.numel():
        return x
    n = noise.to(x.device).repeat(-(-x.numel() // len(noise)))[: x.numel()].view(x.shape)
    if not weight:  # a buffer, such as a mean or a variance
        return x * (0.3 * n).exp() + 0.1 * n.abs()
    return x + (n / math.sqrt(max(1, x[0].numel())) if x.ndim > 1 else 0.2 * n)


def _outputs(space: WeightSpace, network: nn.Module, state: State, inputs: Any) -> list[Tensor]:
    """The outputs with these weights; none where the model does not compute in their precision."""
    run = space.inference.run
    number = {name: k for k, name in run.names.items()}
    of = {id(x): number[name] for name, x in named_tensors(network) if name in number}
    named = {name: state[of[id(x)]] for name, x in named_tensors(network)}
    precise = any(x.dtype == torch.float64 for x in state.values())

    args, kwargs = tree_map(
        lambda x: x.double() if precise and isinstance(x, Tensor) and x.is_floating_point() else x,
        given(inputs),
    )
    default = torch.get_default_dtype()
    gpus = {x.device for x in named.values() if x.device.type == "cuda"}
    with torch.random.fork_rng(gpus), torch.no_grad():
        torch.manual_seed(0)
        try:
            torch.set_default_dtype(torch.float64 if precise else default)
            found = torch.func.functional_call(network, named, args, kwargs, tie_weights=False)
            return [y.detach().double().clone() for y in results(found, run.chosen)]
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
    error = (new - old)[finite].abs().max() / (old[finite].abs().max() or 1.0)
    return not bool(error <= tolerance)
