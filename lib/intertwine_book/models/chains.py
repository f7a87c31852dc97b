"""Chains of layers without shortcuts: the FCN and LeNet of lengyel2020, the Myrtle CNN, Tiny-10."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

from intertwine_book.models.building import (
    activation_factory,
    check_sizes,
    classifier,
    conv,
    initialise,
    linear,
)
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


def lenet(
    width: int = 2,
    *,
    output_relu: bool = True,
    size: int = 28,
    in_channels: int = 1,
    classes: int = 1,
    seed: int | torch.Generator = 0,
) -> Network:
    """Two 5×5 convolutions of `width` · 3, 8 channels, then linear layers of `width` · 60, 42 features.

    Example:
        >>> lenet()(torch.zeros(2, 1, 28, 28)).shape
        torch.Size([2, 1])

    As its authors ran it: 43,661 parameters, where the text says 60,000.

    The modules are conv1, relu1, pool1, conv2, relu2, pool2, flatten, fc1, relu3, fc2, relu4, fc3, relu5. The
    authors' network ends in relu5, and is the constant 0 where that ReLU is off for every input: leave it out
    for a network that depends on its weights. Those follow torch's default, as the authors' did.

    Args:
        width: a common factor; 2 gives the paper's 6, 16, 120 and 84.
        output_relu: whether relu5 follows the last linear layer.
        size: height and width of the images, at least 16.
        classes: outputs; 1 in the paper.
    """
    check_sizes(width=width, in_channels=in_channels, size=size, classes=classes)
    if size < 16:
        raise ValueError(
            f"Expected images of at least 16×16 pixels, was given size={size}: pad them, or use a Myrtle CNN."
        )
    channels1, channels2, features1, features2 = 3 * width, 8 * width, 60 * width, 42 * width
    side = ((size - 4) // 2 - 4) // 2  # a 5×5 kernel takes 4 pixels, a pooling halves; twice
    layers: dict[str, nn.Module] = {
        "conv1": conv(in_channels, channels1, 5, bias=True),
        "relu1": nn.ReLU(),
        "pool1": nn.MaxPool2d(2),
        "conv2": conv(channels1, channels2, 5, bias=True),
        "relu2": nn.ReLU(),
        "pool2": nn.MaxPool2d(2),
        "flatten": nn.Flatten(),
        "fc1": linear(channels2 * side**2, features1),
        "relu3": nn.ReLU(),
        "fc2": linear(features1, features2),
        "relu4": nn.ReLU(),
        "fc3": linear(features2, classes),
    }
    if output_relu:
        layers["relu5"] = nn.ReLU()
    widths = [channels1, channels2, features1, features2]
    hidden = [HiddenLayer(f"relu{k}", str(k), channels) for k, channels in enumerate(widths, 1)]
    return initialise(Network(layers, hidden, (in_channels, size, size)), seed)


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


def tiny10(
    width: int = 16,
    *,
    norm: bool = True,
    in_channels: int = 3,
    classes: int = 10,
    seed: int | torch.Generator = 0,
) -> Network:
    """Eight convolutions of `width` · 1, 1, 2, 2, 2, 4, 4, 4 channels, then the average over the image.

    Example:
        >>> tiny10()(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])

    The modules are conv1, bn1, relu1, … conv8, bn8, relu8, pool, flatten, fc. The paper's Layer 3 is relu3;
    its authors' examples stitch before the ReLU, at bn3. Convolutions have biases and no padding, so images
    are 27×27 or larger. The weights follow torch's default, as the authors' did.

    Args:
        width: channels of the first convolution; 16 in the paper.
        norm: whether batch norm follows every convolution.
    """
    check_sizes(width=width, in_channels=in_channels, classes=classes)
    layers: dict[str, nn.Module] = {}
    hidden = []
    inputs = in_channels
    shapes = [(1, 3, 1), (1, 3, 1), (2, 3, 2), (2, 3, 1), (2, 3, 1), (4, 3, 2), (4, 3, 1), (4, 1, 1)]
    for k, (multiple, kernel, stride) in enumerate(shapes, 1):
        channels = multiple * width
        layers[f"conv{k}"] = conv(inputs, channels, kernel, stride=stride, bias=True)
        if norm:
            layers[f"bn{k}"] = nn.BatchNorm2d(channels)
        layers[f"relu{k}"] = nn.ReLU()
        hidden.append(HiddenLayer(f"relu{k}", str(k), channels))
        inputs = channels
    layers |= classifier(inputs, classes)
    return initialise(Network(layers, hidden, (in_channels, 27, 27), resizable=True), seed)
