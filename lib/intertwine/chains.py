"""Plain chains: modules that call their children one after another, and do nothing else.

They can be cut at any place, and their layers can change places where the function allows it.
"""

from collections import OrderedDict
from itertools import pairwise
from typing import TypeGuard

from torch import nn


def is_chain(module: nn.Module) -> TypeGuard[nn.Sequential]:
    """Whether it is an `nn.Sequential` whose function is that of its children in order.

    Example:
        >>> layers = nn.Linear(2, 2), nn.ReLU()
        >>> is_chain(nn.Sequential(*layers)), is_chain(nn.ModuleList(layers))
        (True, False)

    A subclass with a `forward` of its own is one only if it says so, by an attribute `is_chain`; one with
    hooks of its own, or with a `forward` set on the instance, is none: they may change what goes in or comes
    out.
    """
    # a forward of its own may do anything between the layers, which nobody can see
    plain = type(module).forward is nn.Sequential.forward or getattr(module, "is_chain", False)
    return isinstance(module, nn.Sequential) and plain and not hooked(module)


def hooked(module: nn.Module) -> bool:
    """Whether a hook of the module's own, not of its children, or a `forward` that was set on this instance
    alone, may change what its class computes.

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> with layer.register_forward_pre_hook(lambda layer, inputs: (2 * inputs[0],)):
        ...     hooked(layer), hooked(nn.Sequential(layer))
        (True, False)
    """
    return bool(module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))


def layers_of(chain: nn.Module) -> dict[str, nn.Module]:
    """The layers by name; `named_children` would leave out one that stands there twice.

    Example:
        >>> relu = nn.ReLU()
        >>> [*layers_of(nn.Sequential(nn.Linear(2, 2), relu, nn.Linear(2, 2), relu))]
        ['0', '1', '2', '3']
    """
    return {name: layer for name, layer in chain._modules.items() if layer is not None}


def subchain(chain: nn.Sequential, start: int = 0, end: int | None = None) -> nn.Sequential:
    """Some of a chain's modules, in order and by their names, as a plain `nn.Sequential`.

    Example:
        >>> chain = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> [name for name, _ in subchain(chain, 1).named_children()]
        ['1']

    The names are kept, so that `state_dict` of a part fits the whole.
    """
    # chain[start:end] would call the class, which fails where a subclass has an `__init__` of its own
    part = nn.Sequential(OrderedDict([*chain._modules.items()][start:end]))
    part.training = chain.training  # not by `train`, which would set the mode of its children
    return part


def pooled_first(network: nn.Module) -> nn.Module:
    """The same function with each max-pooling before its ReLU, which then has a quarter of the values.

    Example:
        >>> chain = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2))
        >>> [type(layer).__name__ for layer in pooled_first(chain)]
        ['Conv2d', 'MaxPool2d', 'ReLU']

    The modules are the same. ReLU is nondecreasing, so it commutes with maxima, and outputs and gradients
    agree bit for bit. A network that is no plain chain is returned as it is.
    """
    if not is_chain(network):
        return network
    layers = list(network)
    for k, (one, two) in enumerate(pairwise(layers)):
        plain = type(one) is nn.ReLU and type(two) is nn.MaxPool2d and not two.return_indices
        if plain and not hooked(one) and not hooked(two):
            layers[k : k + 2] = two, one
    pooled = nn.Sequential(*layers)
    pooled.training = network.training
    return pooled
