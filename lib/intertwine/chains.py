"""Plain chains: modules that call their children one after another, and do nothing else."""

from typing import TypeGuard

from torch import nn


def is_chain(module: nn.Module) -> TypeGuard[nn.Sequential]:
    """Whether it is an `nn.Sequential` whose function is that of its children in order.

    Example:
        >>> layers = nn.Linear(2, 2), nn.ReLU()
        >>> is_chain(nn.Sequential(*layers)), is_chain(nn.ModuleList(layers))
        (True, False)

    A subclass with a `forward` of its own is one only if it says so, by an attribute `is_chain`.
    """
    plain = type(module).forward is nn.Sequential.forward or getattr(module, "is_chain", False)
    return isinstance(module, nn.Sequential) and plain
