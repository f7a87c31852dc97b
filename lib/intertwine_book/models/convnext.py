"""A small ConvNeXt: no activation on the residual output, GELU inside (Liu et al. 2022)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.utils import skip_init

from intertwine_book.models.building import check_sizes, conv, initialise, linear
from intertwine_book.models.network import HiddenLayer, Network
from intertwine_book.models.residual import residual


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels, at every position by itself."""

    def forward(self, x: Any) -> Any:  # a tensor (n, c, h, w), or what torch.fx passes
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    """x + scale · shrink(gelu(grow(norm(depthwise(x)))))."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.depthwise = skip_init(nn.Conv2d, channels, channels, 7, padding=3, groups=channels)
        self.norm = ChannelNorm(channels, eps=1e-6)
        self.grow = conv(channels, hidden, 1, bias=True)
        self.gelu = nn.GELU()
        self.shrink = conv(hidden, channels, 1, bias=True)
        # 1 and not the paper's 1e-6, with which two blocks would hardly count after a short training
        self.scale = nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x: Float[Tensor, "n c h w"] | Proxy) -> Float[Tensor, "n c h w"] | Proxy:
        return x + self.scale * self.shrink(self.gelu(self.grow(self.norm(self.depthwise(x)))))


def convnext(
    width: int = 16,
    *,
    expansion: float | None = None,
    in_channels: int = 3,
    classes: int = 16,
    seed: int | torch.Generator = 0,
) -> Network:
    """A stem that sees 4×4 patches, one block of `width` channels and two of 2·`width`.

    Example:
        >>> network = convnext(16)
        >>> network(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 16])
        >>> sum(p.numel() for p in network.parameters())
        20418

    The ConvNeXt analogue of `residual`, of godfrey2022 §6: the same stem and maps, and as many parameters.
    The modules are stem, norm, block1, widen, block2, block3, pool, flatten, last_norm, fc, and in each block
    depthwise, norm, grow, gelu, shrink. The weights follow torch's default.

    Args:
        width: channels of the stem and of the first block.
        expansion: hidden channels of a block over its own. By default what comes closest to the number of
            parameters of `residual`; for large widths that is 4, as in the paper.
    """
    check_sizes(width=width, in_channels=in_channels, classes=classes)
    if expansion is None:
        wanted = _count(residual(width, in_channels=in_channels, classes=classes))
        few, more = (
            _count(convnext(width, expansion=e, in_channels=in_channels, classes=classes)) for e in (1.0, 2.0)
        )
        expansion = 1 + (wanted - few) / (more - few)  # parameters grow linearly with it
    grown = {k: max(1, round(min(k, 2) * expansion * width)) for k in (1, 2, 3)}
    layers: dict[str, nn.Module] = {
        "stem": conv(in_channels, width, 4, stride=4),
        "norm": ChannelNorm(width, eps=1e-6),
        "block1": ConvNeXtBlock(width, grown[1]),
        "widen": conv(width, 2 * width, 1),
        "block2": ConvNeXtBlock(2 * width, grown[2]),
        "block3": ConvNeXtBlock(2 * width, grown[3]),
        "pool": nn.AdaptiveAvgPool2d(1),
        "flatten": nn.Flatten(),
        "last_norm": nn.LayerNorm(2 * width, eps=1e-6),
        "fc": linear(2 * width, classes),
    }
    hidden = [HiddenLayer(f"block{k}.gelu", f"{k}*", grown[k], in_block=True) for k in grown]
    return initialise(Network(layers, hidden, (in_channels, 4, 4), resizable=True), seed)


def _count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
