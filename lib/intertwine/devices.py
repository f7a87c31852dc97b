"""Which device a computation runs on: chosen by name, once, by the caller."""

from __future__ import annotations

import torch


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
