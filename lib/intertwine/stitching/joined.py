"""What leaves several stitches, joined to one batch on its way through the layers behind them."""

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from intertwine.stitching.maps import Birkhoff, Stitch


def stitched(stitches: list[Stitch], x: Tensor) -> Tensor:
    """What each stitch makes of x, one after another along the first axis, by one product of matrices."""
    with torch.autocast(x.device.type, enabled=False):
        weight = torch.cat([each.weight for each in stitches])
        biases = [weight.new_zeros(len(each.weight)) if each.bias is None else each.bias for each in stitches]
    bias = None if all(each.bias is None for each in stitches) else torch.cat(biases)
    y = F.linear(
        x.movedim(1, -1) if x.ndim == 4 else x, weight.to(x.dtype), bias if bias is None else bias.to(x.dtype)
    )
    y = y.unflatten(-1, (len(stitches), -1)).movedim(-2, 0).flatten(0, 1)
    return y.movedim(-1, 1) if x.ndim == 4 else y


class Apart(nn.Module):
    """A batch norm for each of several batches that are joined to one."""

    def __init__(self, norm: nn.Module, stitches: list[Stitch]) -> None:
        super().__init__()
        self.norms = nn.ModuleList(copy.deepcopy(norm) for _ in stitches)
        pairs = zip(self.norms, stitches, strict=True)
        ours = (norm for norm, stitch in pairs if isinstance(stitch, Birkhoff))
        self.of_birkhoff: list[Any] = [*ours]

    def forward(self, x: Tensor) -> Tensor:
        parts = zip(self.norms, x.chunk(len(self.norms)), strict=True)
        return torch.cat([norm(part) for norm, part in parts])
