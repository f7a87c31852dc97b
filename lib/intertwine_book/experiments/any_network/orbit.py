"""What an orbit tells: what moves together, where networks meet, what training conserves, known elements."""

import copy
import math
from collections.abc import Iterable, Iterator, Mapping

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from intertwine.data import Dataset
from intertwine.stitching import line
from intertwine.training import evaluate
from intertwine.weightspace import (
    WeightSpace,
    balance,
    find_symmetries,
    imbalance,
    match,
    relative_error,
    verify,
)
from intertwine.weightspace.act.space import Element
from intertwine_book.experiments.any_network.models import of_torchvision, randomised
from intertwine_book.experiments.rows import Row, tabled


def apart(model1: nn.Module, model2: nn.Module) -> float:
    """The largest relative difference of a parameter.

    Example:
        >>> apart(nn.Linear(2, 2), nn.Linear(2, 2)) > 0
        True
    """
    both = zip(model1.parameters(), model2.parameters(), strict=True)
    return max(relative_error(p.detach(), q.detach()) for p, q in both)


@tabled
def verified(
    names: Iterable[str], trials: int, generator: torch.Generator, device: torch.device
) -> Iterator[Row]:
    """Random elements that move networks of torchvision, and what `verify` says of them.

    Columns network, trial, outputs (their change, relative), spaces and dimension (of the group),
    representations (percent by which the median hidden space changes), and not_as_predicted (the largest
    error of a hidden space, relative).
    """
    for name in names:
        model = randomised(of_torchvision(name), generator).to(device)
        images = torch.randn(2, 3, 32, 32, generator=generator, dtype=torch.float64).to(device)
        space = find_symmetries(model, images)
        for trial in range(trials):
            report = verify(space, model, space.sample(generator), images)
            row = {"network": name, "trial": trial, "outputs": report.output, "spaces": len(space.spaces)}
            row |= {"dimension": space.dimension}
            row |= {"representations": 100 * report.spaces["changed"].median()}
            yield row | {"not_as_predicted": report.spaces["error"].max()}


def halfway(one: nn.Module, others: Mapping[str, nn.Module], train: Dataset, test: Dataset) -> pd.DataFrame:
    """Accuracy of a network and of its mean with each other network, by name in the column `way`."""
    walks = (line(one, other, train, test, [0.0, 0.5]).assign(way=way) for way, other in others.items())
    return pd.concat(walks)


@tabled
def left_behind(
    space: WeightSpace,
    network: nn.Module,
    element: Element,
    images: Float[Tensor, "n c h w"],
    labels: Int[Tensor, " n"],
) -> Iterator[Row]:
    """What one parameter or buffer of the first residual stream does that stays when all others move.

    Columns left_behind, change (of the outputs of 100 images, relative), accuracy (percent).
    """
    moved, some = space.act(network, element), images[:100]
    stream = max(space.spaces, key=lambda each: each.logs)
    with torch.no_grad():
        expected = network(some)
        yield {"left_behind": "nothing", "change": 0.0, "accuracy": 100 * evaluate(network, images, labels)}
        for name in [*stream.writers, *stream.readers]:
            broken = copy.deepcopy(moved)
            broken.state_dict()[name].copy_(network.state_dict()[name])
            row = {"left_behind": name, "change": relative_error(broken(some), expected)}
            yield row | {"accuracy": 100 * evaluate(broken, images, labels)}


@tabled
def descent(
    space: WeightSpace,
    start: nn.Module,
    decays: Iterable[float],
    steps: int,
    x: Float[Tensor, "n p"],
    labels: Int[Tensor, " n"],
    *,
    rate: float = 0.02,
) -> Iterator[Row]:
    """The imbalance during gradient descent with weight decay, beside what gradient flow predicts.

    Columns weight_decay, time (rate × steps, ten of them), imbalance (relative to the start), excess (the
    squared norm, relative to the smallest one of the orbit), predicted.
    """
    first = _imbalance(space, start)
    for decay in decays:
        model = copy.deepcopy(start)
        optimiser = torch.optim.SGD(model.parameters(), lr=rate, weight_decay=decay)
        for step in range(steps + 1):
            if step % max(1, steps // 10) == 0:
                time, size = rate * step, _imbalance(space, model) / first
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


@tabled
def through_noise(
    space: WeightSpace,
    network: nn.Module,
    element: Element,
    inputs: Float[Tensor, "n ..."],
    generator: torch.Generator,
) -> Iterator[Row]:
    """How many units `match` assigns as a known element does, from weights with noise.

    Columns noise (in standard deviations of each parameter), by (weights or activations), units (percent).
    """
    known = space.inverse(element)
    for noise in (0.0, 0.1, 0.3, 1.0, 3.0):
        noisy = copy.deepcopy(network)
        with torch.no_grad():
            for p in noisy.parameters():
                z = torch.randn(p.shape, generator=generator, dtype=p.dtype).to(p)
                p.add_(noise * p.std(correction=0) * z)
        noisy = space.act(noisy, element)
        for by, seen in {"weights": None, "activations": inputs}.items():
            found = match(space, network, noisy, inputs=seen).element
            hits = [(found[name].order == move.order).flatten() for name, move in known.items()]
            yield {"noise": noise, "by": by, "units": 100 * torch.cat(hits).double().mean().item()}
