"""Residual networks for small images: the ResNet-20 of godfrey2022 and that of csiszarik2021."""

from collections import OrderedDict
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.fx import Proxy

from intertwine_book.models.building import HE_FAN_IN, HE_FAN_OUT, check_sizes, classifier, conv, initialise
from intertwine_book.models.network import HiddenLayer, Network


class BasicBlock(nn.Module):
    """relu2(bn2(conv2(relu1(bn1(conv1(x))))) + shortcut(x)), He et al. (2016)."""

    def __init__(self, inputs: int, channels: int, stride: int, option: str, slope: float) -> None:
        super().__init__()
        self.conv1 = conv(inputs, channels, 3, stride=stride, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu1 = _relu(slope)
        self.conv2 = conv(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity() if stride == 1 else _shortcut(inputs, channels, stride, option)
        self.relu2 = _relu(slope)

    def forward(self, x: Float[Tensor, "n c h w"] | Proxy) -> Float[Tensor, "n c2 h2 w2"] | Proxy:
        branch = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.relu2(branch + self.shortcut(x))


def resnet20(
    width: int = 16,
    *,
    option: str = "A",
    slope: float = 0.0,
    in_channels: int = 3,
    classes: int = 10,
    seed: int | torch.Generator = 0,
) -> Network:
    """Nine residual blocks of `width` · 1, 1, 1, 2, 2, 2, 4, 4, 4 channels.

    Example:
        >>> sum(p.numel() for p in resnet20().parameters())
        269722

    The modules are conv1, bn1, relu1, block1, … block9, pool (the average), flatten, fc, and in each block
    conv1, bn1, relu1, conv2, bn2, shortcut, relu2: every ReLU is a module of its own.

    - Option A is the network of godfrey2022, with its layer numbers 3, 8*, 11, 16*, 19, … 75 and the normal
      initialisation of He et al. (2015) by fan-in.
    - Option B is that of csiszarik2021, whose ResNet-20 wK has width 16·K. Its convolutions are initialised
      by fan-out; its layers are conv1, 1.0, 1.1, … 3.2. (That paper does not number what is inside a block:
      1.0* and so on.)

    Args:
        width: channels of the first three blocks.
        option: the shortcut that halves an image: "A" skips pixels and adds channels of zeros, "B" is a 1×1
            convolution with batch norm.
        slope: of the ReLUs for negative inputs.
    """
    if option not in ("A", "B"):
        raise ValueError(f"Expected option 'A' (padding) or 'B' (projections), was given {option!r}.")
    if option == "A":
        numbers = ["3", *(number for k in range(1, 10) for number in (f"{8 * k}*", f"{8 * k + 3}"))]
    else:
        numbers = ["conv1", *(f"{s}.{k}{star}" for s in (1, 2, 3) for k in (0, 1, 2) for star in ("*", ""))]
    check_sizes(width=width, in_channels=in_channels, classes=classes)
    layers: dict[str, nn.Module] = {
        "conv1": conv(in_channels, width, 3, padding=1),
        "bn1": nn.BatchNorm2d(width),
        "relu1": _relu(slope),
    }
    hidden = [HiddenLayer("relu1", numbers[0], width)]
    for k, (before, now) in enumerate(pairwise([1, 1, 1, 1, 2, 2, 2, 4, 4, 4]), 1):
        channels = now * width
        layers[f"block{k}"] = BasicBlock(before * width, channels, now // before, option, slope)
        hidden.append(HiddenLayer(f"block{k}.relu1", numbers[2 * k - 1], channels, in_block=True))
        hidden.append(HiddenLayer(f"block{k}.relu2", numbers[2 * k], channels))
    layers |= classifier(4 * width, classes)
    network = Network(layers, hidden, (in_channels, 1, 1), resizable=True)
    if option == "A":
        return initialise(network, seed, convolutions=HE_FAN_IN, linears=HE_FAN_IN)
    return initialise(network, seed, convolutions=HE_FAN_OUT)


def _shortcut(inputs: int, channels: int, stride: int, option: str) -> nn.Module:
    parts: dict[str, nn.Module]
    if option == "A":
        before = (channels - inputs) // 2
        after = channels - inputs - before
        parts = {
            "subsample": nn.AvgPool2d(1, stride),  # x[:, :, ::stride, ::stride]
            "pad": nn.ConstantPad3d((0, 0, 0, 0, before, after), 0.0),
        }
    else:
        parts = {"conv": conv(inputs, channels, 1, stride=stride), "bn": nn.BatchNorm2d(channels)}
    return nn.Sequential(OrderedDict(parts))


def _relu(slope: float) -> nn.Module:
    return nn.LeakyReLU(slope) if slope else nn.ReLU()
