"""Batch norm around stitches: estimated again, folded into convolutions, or kept apart for several."""

import copy
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils.fusion import fuse_conv_bn_eval

from intertwine import devices
from intertwine.chains import hooked, layers_of
from intertwine.stitching.maps import Birkhoff, Stitch
from intertwine.training.outputs import Values, as_tuple, evaluating

REESTIMATED = 10_000  # training images that the statistics are averaged over


def tracked(network: nn.Module) -> list[_BatchNorm]:
    """The batch norms that keep running statistics."""
    return [m for m in network.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]


def in_training(model: nn.Module, images: Tensor) -> Tensor:
    """The logits of a copy in training mode, whose statistics move."""
    own = devices.like(model, images)
    return copy.deepcopy(model).train()(images.to(own.device, own.dtype, copy=True))


def reestimate(network: nn.Module, batches: Iterable[Values]) -> None:
    """Give a network's batch norms their mean statistics over batches of training data, as it is evaluated.

    Example:
        >>> norm = nn.BatchNorm1d(2)
        >>> reestimate(norm, [torch.ones(5, 2), 3 * torch.ones(5, 2)])
        >>> norm.running_mean
        tensor([2., 2.])

    The network is changed in place. It runs in its own type, in which it is judged. Of the batches, on its
    device, the first 10,000 images are used. Every batch counts alike, also a last, smaller one; but a single
    image behind others, which has no variance, is left out.
    """
    norms, seen = tracked(network), 0
    if not norms:
        return  # nothing would learn from the batches
    with evaluating(network), torch.no_grad(), averaging(norms):
        for inputs in batches:
            count = len(as_tuple(inputs)[0])
            if count > 1 or not seen:
                network(inputs)
            if (seen := seen + count) >= REESTIMATED:
                break


@contextmanager
def averaging(norms: Sequence[_BatchNorm]) -> Iterator[None]:
    """Inside the `with` these norms take mean statistics of all batches, in place of those that they have."""
    before = [norm.momentum for norm in norms]  # the caller's own, given back at the end
    for norm in norms:
        norm.reset_running_stats()  # else the old statistics would keep a share
        norm.momentum = None  # an average over all batches
        norm.train()
    try:
        yield
    finally:
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum
            norm.eval()


class Apart(nn.Module):
    """A batch norm for each of several batches that are joined to one."""

    def __init__(self, norm: nn.Module, stitches: list[Stitch]) -> None:
        super().__init__()
        self.norms = nn.ModuleList(copy.deepcopy(norm) for _ in stitches)
        pairs = zip(self.norms, stitches, strict=True)
        # judged as permutations, which are other maps than those trained: `Ladder` re-estimates these alone
        self.of_birkhoff: list[Any] = [norm for norm, stitch in pairs if isinstance(stitch, Birkhoff)]

    def forward(self, x: Tensor) -> Tensor:
        # the batches are equally long, and in the order of the stitches
        parts = zip(self.norms, x.chunk(len(self.norms)), strict=True)
        return torch.cat([norm(part) for norm, part in parts])


def frozen(chain: nn.Module, cuts: set[str]) -> nn.Sequential:
    """The chain in evaluation mode, with each batch norm in the convolution before it, but at a cut."""
    layers = layers_of(chain.requires_grad_(False).eval())
    for (a, one), (b, two) in pairwise([*layers.items()]):
        free = a not in cuts and not hooked(one) and not hooked(two)
        if free and type(one) is nn.Conv2d and type(two) is nn.BatchNorm2d:
            layers[a], layers[b] = fuse_conv_bn_eval(one, two), nn.Identity()
    return devices.channels_last(nn.Sequential(OrderedDict(layers)))


def apart(part: nn.Module, stitches: list[Stitch]) -> nn.Sequential:
    """The part with a batch norm of its own for what comes from each stitch."""
    return nn.Sequential(*(Apart(m, stitches) if tracked(m) else m for m in layers_of(part).values()))


def narrowed(part: nn.Module, dtype: torch.dtype) -> nn.Sequential:
    """The part as it is trained through: copied into the type of training, but for batch norms that move."""
    layers = layers_of(part).values()
    return nn.Sequential(*(m if tracked(m) else copy.deepcopy(m).to(dtype) for m in layers))
