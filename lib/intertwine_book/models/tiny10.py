"""Tiny-10 of csiszarik2021: eight unpadded convolutions and a linear layer."""

import torch
from torch import nn

from intertwine_book.models.building import check_sizes, classifier, conv, initialise
from intertwine_book.models.network import HiddenLayer, Network


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
