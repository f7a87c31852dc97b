"""Training only what comes after a layer."""

from __future__ import annotations

from torch import nn

from intertwine.features import lookup


def frozen_modules(network: nn.Module, layer: str) -> set[str]:
    """The modules up to and including `layer`, which keep their parameters and stay in evaluation mode.

    Example:
        >>> from intertwine import models
        >>> sorted(frozen_modules(models.myrtle(4), "relu1"))
        ['bn1', 'conv1', 'relu1']

    "Up to" goes by the order of `named_modules`, in which an input meets the modules of our networks. A
    container is frozen once all of it is.

    Raises:
        ValueError: the network has no such layer, or nothing to train after it.
    """
    lookup(network, [layer])
    names = [name for name, _ in network.named_modules() if name]
    end = max(k for k, name in enumerate(names) if name == layer or name.startswith(layer + ".")) + 1
    frozen = set(names[:end])
    for name in names[end:]:
        frozen -= {name[:k] for k, letter in enumerate(name) if letter == "."}
    if all(name.rpartition(".")[0] in frozen for name, _ in network.named_parameters()):
        raise ValueError(f"Expected parameters after the layer {layer!r}, there are none: freeze less.")
    return frozen


def freeze(network: nn.Module, frozen: set[str]) -> None:
    """Put the modules of these names into evaluation mode and out of autograd, all others into training."""
    for name, module in network.named_modules():
        module.training = name not in frozen
        if name in frozen:
            for parameter in module.parameters(recurse=False):
                parameter.requires_grad_(False)


def front_and_back(network: nn.Module, frozen: set[str]) -> tuple[nn.Module, nn.Module]:
    """The leading children that are frozen, and the rest; nothing leads unless the network is a chain."""
    if not isinstance(network, nn.Sequential):
        return nn.Sequential(), network
    names = [name for name, _ in network.named_children()]
    end = next((k for k, name in enumerate(names) if name not in frozen), len(names))
    return network[:end], network[end:]
