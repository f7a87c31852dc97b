"""The Myrtle CNN of godfrey2022: four convolutions and a linear layer."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn

from intertwine_book.models.building import activation_factory, check_sizes, conv, initialise, linear
from intertwine_book.models.network import HiddenLayer, Network


def myrtle(
    width: int = 64,
    *,
    norm: bool = True,
    activation: str | Callable[[], nn.Module] = "relu",
    in_channels: int = 3,
    classes: int = 10,
    seed: int | torch.Generator = 0,
) -> Network:
    """Four 3×3 convolutions of `width` · 1, 2, 4, 8 channels, pooled by maxima after the last three.

    Example:
        >>> network = myrtle(16, in_channels=1)
        >>> network(torch.zeros(2, 1, 8, 8)).shape
        torch.Size([2, 10])

    The modules are conv1, bn1, relu1, conv2, bn2, relu2, pool2, … relu4, pool4, pool5, flatten, fc; tanh1 and
    so on with another activation, activation1 with one of the caller's. Pools 2 to 4 halve the image, pool5
    takes the maximum over what is left: 4×4 of 32×32, as in the paper, 3×3 of 28×28, one pixel of 8×8, the
    smallest image that fits.

    With batch norm this is the network of the paper's stitching experiments, with layers 3, 6, 10 and 14.
    Without it convolutions have biases: the network of figure 4, which counts convolutions as 0, 2, 5 (and 8,
    not shown). The weights follow torch's default, as the authors' did.

    Args:
        width: channels of the first convolution; 64 in the paper.
        norm: whether batch norm follows every convolution.
        activation: one of `ACTIVATIONS`, or a function that builds a module.
    """
    check_sizes(width=width, in_channels=in_channels, classes=classes)
    name, build = activation_factory(activation)
    layers: dict[str, nn.Module] = {}
    hidden = []
    widths = [in_channels, width, 2 * width, 4 * width, 8 * width]
    for k, (inputs, channels) in enumerate(pairwise(widths), 1):
        # figures number the activation, the whole network being module 0; figure 4 the convolution, from 0
        number = len(layers) + 3 if norm else len(layers)
        hidden.append(HiddenLayer(f"{name}{k}", str(number), channels))
        layers[f"conv{k}"] = conv(inputs, channels, 3, padding=1, bias=not norm)
        if norm:
            layers[f"bn{k}"] = nn.BatchNorm2d(channels)
        layers[f"{name}{k}"] = build()
        if k > 1:
            layers[f"pool{k}"] = nn.MaxPool2d(2)
    layers["pool5"] = nn.AdaptiveMaxPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = linear(8 * width, classes)
    return initialise(Network(layers, hidden, (in_channels, 8, 8), resizable=True), seed)
