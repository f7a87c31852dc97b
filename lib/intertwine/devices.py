"""Which device a computation runs on: chosen by name, once, by the caller."""

from __future__ import annotations

from itertools import chain

import torch
from torch import Tensor, nn


def pick(device: str | torch.device = "auto") -> torch.device:
    """The device of that name; `"auto"` is the first GPU where there is one, the CPU otherwise.

    Example:
        >>> pick("cpu")
        device(type='cpu')

    Args:
        device: `"auto"`, or anything that `torch.device` takes.

    Raises:
        ValueError: when the device does not exist on this machine.
    """
    if str(device) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"Expected a device that this machine has, was given '{device}': use 'cpu', or 'auto' for a GPU "
            f"where there is one."
        ) from error
    return chosen


def like(model: nn.Module, other: Tensor | None = None) -> Tensor:
    """A tensor whose device and dtype the model's inputs share: its first parameter or buffer.

    Example:
        >>> like(nn.Linear(3, 4).double()).dtype, like(nn.ReLU(), torch.ones(2)).dtype
        (torch.float64, torch.float32)

    Args:
        model: any module.
        other: returned where the model has neither; an empty tensor of torch's defaults when not given.
    """
    return next(chain(model.parameters(), model.buffers(), [torch.empty(0) if other is None else other]))
