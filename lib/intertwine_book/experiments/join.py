"""A map between a layer of one network and the rest of another: the data for it, and its training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.alignment import Statistics, least_squares
from intertwine.features import activations
from intertwine.similarity.cka import cka
from intertwine.training import outputs


class Join(NamedTuple):
    """The data to train a map in front of the rest of a network: maps (n, c, h, w) before and after.

    Example:
        >>> from intertwine.models import myrtle
        >>> network, images = myrtle(2, in_channels=1), torch.randn(5, 1, 8, 8)
        >>> Join.of(network, network, "relu1", images, torch.zeros(5, dtype=torch.int64)).first.shape
        torch.Size([5, 2, 8, 8])
    """

    first: Float[Tensor, "n p ..."]
    second: Float[Tensor, "n q ..."]
    labels: Int[Tensor, " n"]
    rest: nn.Module
    """Of the second network, behind the layer."""

    @staticmethod
    def of(model1: nn.Sequential, model2: nn.Sequential, layer: str, images: Tensor, labels: Tensor) -> Join:
        """The layer of both networks for these images."""
        first, second = (activations(model, [layer], images)[layer] for model in (model1, model2))
        position = [name for name, _ in model2.named_children()].index(layer)
        rest = model2[position + 1 :].eval().requires_grad_(False)
        return Join(first, second, labels.to(first.device), rest)

    def judge(self, stitch: nn.Module) -> dict[str, float]:
        """Accuracy in per cent and mean cross-entropy of the rest behind the stitch."""
        logits = torch.cat(list(outputs(nn.Sequential(stitch, self.rest), self.first)))
        right = (logits.argmax(1) == self.labels).float().mean()
        return {
            "accuracy": 100 * right.item(),
            "cross_entropy": F.cross_entropy(logits, self.labels).item(),
        }


def trained(
    join: Join,
    stitch: nn.Module,
    epochs: int,
    *,
    lr: float,
    penalty: float = 0.0,
    batch_size: int = 128,
    generator: torch.Generator,
) -> Iterator[nn.Module]:
    """The stitch before training and after every epoch: Adam on the cross-entropy, and on CKA if penalised.

    Args:
        join: the data to train on; the networks stay as they are, batch norm included.
        stitch: a 1×1 convolution, trained in place.
        epochs: passes.
        lr: learning rate.
        penalty: times the CKA (biased, flattened, of the batch) of the stitch's output with `second`.
        generator: of the order, on the CPU.
    """
    optimizer = torch.optim.Adam(stitch.parameters(), lr=lr)
    yield stitch
    for _ in range(epochs):
        order = torch.randperm(len(join.labels), generator=generator).to(join.labels.device)
        for batch in order.split(batch_size):
            if len(batch) < 2:
                continue
            moved = stitch(join.first[batch])
            loss = F.cross_entropy(join.rest(moved), join.labels[batch])
            if penalty:
                similarity = cka(moved, join.second[batch], estimator="biased", spatial="features")
                loss = loss + penalty * similarity.to(loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        yield stitch


def from_least_squares(join: Join) -> nn.Module:
    """A 1×1 convolution that begins as the affine least-squares map."""
    fitted = least_squares(Statistics.of(join.first, join.second), affine=True)
    return fitted.as_module(convolution=True)


def from_identity(join: Join) -> nn.Conv2d:
    """A 1×1 convolution that begins as the identity."""
    channels = join.first.shape[1]
    stitch = nn.utils.skip_init(nn.Conv2d, channels, channels, 1, device=str(join.first.device))
    with torch.no_grad():
        stitch.weight.copy_(torch.eye(channels)[..., None, None])
        stitch.bias.zero_()
    return stitch
