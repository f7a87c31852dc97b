"""The tensors of a model, or of its state dict, by their number in a run; and a copy with others."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from intertwine.weightspace.trace.given import named_tensors, replica
from intertwine.weightspace.trace.run import Run

Weights = nn.Module | Mapping[str, Tensor]
"""A model, or its state dict."""
ANEW = (
    "Expected a model with {}, as its symmetries were found for, was given {}: "
    "find the symmetries of this model."
)
AnyWeights = TypeVar("AnyWeights", bound=Weights)


def state(run: Run, model: Weights, moves: Callable[[int], bool]) -> dict[int, Tensor]:
    """Parameters and buffers by their number; of a state dict, those that are in it or move."""
    tensors = _named(run, model)
    # a file may leave out what does not move; of a module, everything has to be there
    known = [k for k in run.names if isinstance(model, nn.Module) or moves(k) or run.stored(k)[0] in tensors]
    for name, expected in map(run.stored, known):
        if name not in tensors or tuple(tensors[name].shape) != expected:
            found = tuple(tensors[name].shape) if name in tensors else "none"
            raise ValueError(
                f"Expected a model with {name} of shape {expected}, as its symmetries were found for, "
                f"was given {found}: find the symmetries of this model."
            )
    if isinstance(model, nn.Module):
        first = {run.stored(k)[0] for k in known}
        own = [run.tied.get(name, name) for name, x in tensors.items() if isinstance(x, nn.Parameter)]
        if more := [name for name in own if name not in first]:
            raise ValueError(
                f"Expected a model with the parameters that its symmetries were found for, was given one "
                f"with {more[0]}, too: find the symmetries of this model."
            )
    # the same tensor may appear whole and, where heads were separated, in parts
    whole = {k: tensors[run.stored(k)[0]] for k in known}
    return whole | {k: part.of(whole[k]) for k, part in run.parts.items() if k in whole}


def with_state(run: Run, model: Any, state: Mapping[int, Tensor]) -> Any:
    """A copy with these parameters and buffers; of a state dict, the tensors that do not move are shared.

    Two tensors that were one in the run move alike, and one that was two in the run has to move as both did.
    """
    tensors = _named(run, model)
    new: dict[int, Tensor] = {}
    for k, x in state.items():
        old, part = tensors[run.stored(k)[0]], run.parts.get(k)
        if part is not None:
            # the weight's own precision, unless it was moved in a higher one, as a check in float64 does
            kind = old.dtype if x.dtype == part.of(old).dtype else x.dtype
            part.put(x, new.setdefault(id(old), old.detach().to(kind, copy=True)))
        # a view of the old tensor is no new one: the copy would share memory with the model
        elif x.data_ptr() != old.data_ptr() and not _agree(new.setdefault(id(old), x), x):
            raise ValueError(
                ANEW.format(f"weights of its own for {run.names[k]}", "one tensor for it and another")
            )
    # a copy or a file may hold two tensors for one: they move as one while they agree
    for name, first in run.tied.items():
        own, single = tensors.get(name), tensors.get(first)
        if own is not None and single is not None and own is not single and id(single) in new:
            if not _agree(own, single):
                raise ValueError(ANEW.format(f"one tensor for {first} and {name}", "two that differ"))
            new[id(own)] = new[id(single)].clone()  # else both would share memory again
    if not isinstance(model, nn.Module):
        return {name: new.get(id(tensors[run.tied.get(name, name)]), x) for name, x in model.items()}
    parameters = {id(p): p.requires_grad for p in model.parameters()}
    for k in new.keys() & parameters.keys():
        new[k] = nn.Parameter(new[k], parameters[k])
    return replica(model, new)  # which takes these for the old ones


def _agree(x: Tensor, y: Tensor) -> bool:
    """Whether they are one tensor, or have the same numbers, up to rounding."""
    if x is y or x.is_meta or x.shape != y.shape:
        return x.shape == y.shape
    # along two labels the same numbers are multiplied in another order
    eps = torch.finfo(x.dtype).eps if x.is_floating_point() else 0.0
    return bool((x - y.to(x)).abs().max() <= 8 * eps * x.abs().max())


def _named(run: Run, model: Weights) -> dict[str, Tensor]:
    """By their first name; a file may hold tied weights under any of their names."""
    if isinstance(model, nn.Module):
        return dict(named_tensors(model))
    return {first: model[name] for name, first in run.tied.items() if name in model} | dict(model)
