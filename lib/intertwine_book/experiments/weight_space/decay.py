"""Gradient descent with weight decay, and how far from the shortest weights of an orbit it is."""

import copy
import math
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from intertwine.weightspace import WeightSpace, balance, imbalance
from intertwine_book.experiments.rows import Row, tabled

RATE = 0.02  # of learning


@tabled
def descent(
    space: WeightSpace,
    start: nn.Module,
    decays: Iterable[float],
    steps: int,
    x: Float[Tensor, "n p"],
    labels: Int[Tensor, " n"],
) -> Iterator[Row]:
    """The imbalance during gradient descent with weight decay, beside what gradient flow predicts.

    Columns weight_decay, time (0.02 × steps, ten of them), imbalance (relative to the start), excess (the
    squared norm, relative to the smallest one of the orbit), predicted.
    """
    first = _imbalance(space, start)
    for decay in decays:
        model = copy.deepcopy(start)
        optimiser = torch.optim.SGD(model.parameters(), lr=RATE, weight_decay=decay)
        for step in range(steps + 1):
            if step % max(1, steps // 10) == 0:
                time, size = RATE * step, _imbalance(space, model) / first
                excess = _squares(model) / _squares(balance(space, model).model)
                row = {"weight_decay": decay, "time": time, "imbalance": size, "excess": excess}
                yield row | {"predicted": math.exp(-2 * decay * time)}
            optimiser.zero_grad()
            cross_entropy(model(x), labels).backward()
            optimiser.step()


def _imbalance(space: WeightSpace, model: nn.Module) -> float:
    return torch.cat([each.flatten() for each in imbalance(space, model).values()]).norm().item()


def _squares(model: nn.Module) -> float:
    return sum(p.detach().square().sum().item() for p in model.parameters())
