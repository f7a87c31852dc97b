"""The outputs of a network in evaluation mode, and those of a part of it that is not trained."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from intertwine import devices
from intertwine.checks import check_tensor, whole
from intertwine.features import evaluating

Values = Tensor | tuple[Tensor, ...]  # several where a shortcut leads past the place where a network is cut

BATCH_SIZE = 200
FRONT_BYTES = 2**31  # values of a frozen front are stored if they need no more than this


def outputs(
    network: nn.Module, inputs: Values, *, batch_size: int = BATCH_SIZE, dtype: torch.dtype = torch.float32
) -> Iterator[Any]:
    """The outputs of a network, or of a part of one, in evaluation mode, without autograd, batch by batch.

    Example:
        >>> [
        ...     len(batch)
        ...     for batch in outputs(nn.Linear(3, 2), torch.ones(5, 3), batch_size=4)
        ... ]
        [4, 1]

    Args:
        network: on the device where it is to compute; it is left in its own mode.
        inputs: the first axis counts them; a tuple of tensors is one argument of the network.
        batch_size: inputs at a time.
        dtype: in which it computes; with torch.bfloat16, under autocast.
    """
    batch_size, parts = whole("batch_size", batch_size, 1), as_tuple(inputs)
    for part in parts:
        check_tensor(part, meta=True)
    device = devices.like(network, parts[0]).device
    own = devices.input_dtype(network, dtype, default=None)  # None leaves tokens what they are
    for batch in zip(*(part.split(batch_size) for part in parts), strict=True):
        # copies, as a network may begin with a step in place, and its inputs are the caller's
        batch = tuple(x.to(device, own, copy=True) for x in batch)
        batch = tuple(x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x for x in batch)
        with evaluating(network), torch.no_grad(), devices.autocast(device, dtype):
            found = network(batch if isinstance(inputs, tuple) else batch[0])
        yield found  # outside of the `with`, so that two generators in turn find the network in its own mode


def all_outputs(network: nn.Module, inputs: Values, **options: Any) -> Tensor:
    """The outputs for all inputs in one tensor; `options` are those of `outputs`."""
    return torch.cat(list(outputs(network, inputs, **options)))


def front_values(
    front: nn.Module,
    images: Tensor,
    *,
    dtype: torch.dtype = torch.float32,
    limit: int = FRONT_BYTES,
) -> Values | None:
    """All outputs (one or a tuple) of a frozen front, computed once; None where they exceed `limit` bytes.

    Example:
        >>> front_values(nn.Linear(3, 2), torch.ones(5, 3)).shape
        torch.Size([5, 2])
    """
    (first,) = outputs(front, images[:1], dtype=dtype)  # one image shows how much memory all of them need
    parts = as_tuple(first)
    if len(images) * sum(x.numel() * x.element_size() for x in parts) > limit:
        return None
    # memory is taken once, in the order in which `Batches` gathers
    stored = tuple(x.new_empty((len(images), *x.shape[1:])) for x in parts)
    stored = tuple(x.to(memory_format=torch.channels_last) if x.ndim == 4 else x for x in stored)
    batches = outputs(front, images, dtype=dtype)
    for places, values in zip(zip(*(x.split(BATCH_SIZE) for x in stored), strict=True), batches, strict=True):
        for place, value in zip(places, as_tuple(values), strict=True):
            place.copy_(value)
    return as_values(stored)


def as_tuple(values: Values) -> tuple[Tensor, ...]:
    """One value is a tuple of one."""
    return values if isinstance(values, tuple) else (values,)


def as_values(values: Iterable[Tensor]) -> Values:
    """The inverse of `as_tuple`."""
    first, *others = values
    return (first, *others) if others else first
