"""Batch norm's statistics, estimated again behind a stitch."""

from collections.abc import Iterable

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from intertwine.training.outputs import Values, evaluating

REESTIMATED = 10_000  # training images that the statistics are averaged over


def tracked(network: nn.Module) -> list[_BatchNorm]:
    """The batch norms that keep running statistics."""
    return [m for m in network.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]


def reestimate(network: nn.Module, batches: Iterable[Values]) -> None:
    """Give a network's batch norms their mean statistics over batches of training data, as it is evaluated.

    Example:
        >>> norm = nn.BatchNorm1d(2)
        >>> reestimate(norm, [torch.ones(5, 2), 3 * torch.ones(5, 2)])
        >>> norm.running_mean
        tensor([2., 2.])

    The network is changed in place. It runs in its own type, in which it is judged. Of the batches, on its
    device, the first 10,000 images are used.
    """
    norms, seen = tracked(network), 0
    if not norms:
        return  # nothing would learn from the batches
    # the caller's own, given back at the end
    before = [norm.momentum for norm in norms]
    with evaluating(network), torch.no_grad():
        for norm in norms:
            # else the old network's statistics would keep a share
            norm.reset_running_stats()
            norm.momentum = None  # an average over all batches
            norm.train()
        for inputs in batches:
            network(inputs)
            if (seen := seen + len(inputs[0] if isinstance(inputs, tuple) else inputs)) >= REESTIMATED:
                break
    for norm, momentum in zip(norms, before, strict=True):
        norm.momentum = momentum
