"""Small residual networks whose two activations, inside a block and on its output, are chosen apart."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.fx import Proxy

from intertwine_book.models.building import (
    HE_FAN_IN,
    activation_factory,
    check_sizes,
    classifier,
    conv,
    initialise,
)
from intertwine_book.models.network import HiddenLayer, Network


class ResidualBlock(nn.Module):
    """output(bn2(conv2(inner(bn1(conv1(x))))) + shortcut(x))."""

    def __init__(self, inputs: int, channels: int, *, inner: nn.Module, output: nn.Module) -> None:
        super().__init__()
        self.conv1 = conv(inputs, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.inner = inner
        self.conv2 = conv(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity() if inputs == channels else conv(inputs, channels, 1)
        self.output = output

    def forward(self, x: Float[Tensor, "n c h w"] | Proxy) -> Float[Tensor, "n c2 h w"] | Proxy:
        return self.output(self.bn2(self.conv2(self.inner(self.bn1(self.conv1(x))))) + self.shortcut(x))


def residual(
    width: int = 16,
    *,
    output: str = "relu",
    inner: str = "relu",
    in_channels: int = 3,
    classes: int = 16,
    seed: int | torch.Generator = 0,
) -> Network:
    """A stem that sees 4×4 patches, and two residual blocks of `width` and 2·`width` channels.

    Example:
        >>> network = residual(16, output="identity")
        >>> network.block2(network.block1(network.stem(torch.zeros(2, 3, 32, 32)))).shape
        torch.Size([2, 32, 8, 8])
        >>> sum(p.numel() for p in network.parameters())
        20432

    The small copy of the two ResNets of godfrey2022 §6: with `output` "relu" like ResNet-50, with "identity"
    like the one whose ReLU on the residual output is removed. The modules are stem, block1, block2, pool,
    flatten, fc, and in each block conv1, bn1, inner, conv2, bn2, shortcut, output. Maps have a quarter of the
    image's side everywhere. The initialisation is that of He et al. (2015) by fan-in.

    Args:
        width: channels of the stem and of the first block.
        output: activation after the addition, one of `ACTIVATIONS`.
        inner: activation inside a block.
    """
    check_sizes(width=width, in_channels=in_channels, classes=classes)
    (_, inside), (_, outside) = activation_factory(inner), activation_factory(output)
    layers: dict[str, nn.Module] = {
        "stem": conv(in_channels, width, 4, stride=4),
        "block1": ResidualBlock(width, width, inner=inside(), output=outside()),
        "block2": ResidualBlock(width, 2 * width, inner=inside(), output=outside()),
        **classifier(2 * width, classes),
    }
    hidden = []
    for k in (1, 2):
        hidden.append(HiddenLayer(f"block{k}.inner", f"{k}*", k * width, in_block=True))
        hidden.append(HiddenLayer(f"block{k}.output", str(k), k * width))
    network = Network(layers, hidden, (in_channels, 4, 4), resizable=True)
    return initialise(network, seed, convolutions=HE_FAN_IN)
