"""Fully connected networks; the one of lengyel2020 has four weights."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

from intertwine_book.models.building import activation_factory, check_sizes, initialise, linear
from intertwine_book.models.network import HiddenLayer, Network


def fcn(
    sizes: Sequence[int] = (1, 2, 1),
    *,
    bias: bool = False,
    activation: str | Callable[[], nn.Module] = "relu",
    seed: int | torch.Generator = 0,
) -> Network:
    """Linear layers from `sizes[0]` inputs to `sizes[-1]` outputs, with an activation between any two.

    Example:
        >>> fcn()
        Network(
          (fc1): Linear(in_features=1, out_features=2, bias=False)
          (relu1): ReLU()
          (fc2): Linear(in_features=2, out_features=1, bias=False)
        )

    The weights follow torch's default: seed 10 gives the target of lengyel2020.

    Args:
        sizes: inputs, hidden widths, outputs; (1, 2, 1) in lengyel2020.
        activation: one of `ACTIVATIONS`, or a function that builds a module (then called activation1, …).
    """
    if len(sizes) < 2:
        raise ValueError(f"Expected the sizes of input, hidden layers and output, was given {tuple(sizes)}.")
    check_sizes(**{f"sizes[{k}]": size for k, size in enumerate(sizes)})
    name, build = activation_factory(activation)
    layers: dict[str, nn.Module] = {}
    hidden = []
    for k, (inputs, features) in enumerate(pairwise(sizes), 1):
        layers[f"fc{k}"] = linear(inputs, features, bias=bias)
        if k < len(sizes) - 1:
            layers[f"{name}{k}"] = build()
            hidden.append(HiddenLayer(f"{name}{k}", str(k), features))
    return initialise(Network(layers, hidden, (sizes[0],)), seed)
