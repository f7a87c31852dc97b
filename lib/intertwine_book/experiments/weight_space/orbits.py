"""Gradient descent and orbits: quantities that finite steps let drift, and teleportation.

Weights are [W1, b1, W2, b2], of a network with one hidden layer and scores for classes.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

TwoLayers = list[Tensor]
Loss = Callable[[TwoLayers], Tensor]
Elementwise = Callable[[Tensor], Tensor]


def start(sizes: tuple[int, int, int], generator: torch.Generator) -> TwoLayers:
    """Random weights, uniform in ±1/√(inputs of the layer), in float64."""
    shapes = [(sizes[1], sizes[0]), (sizes[1],), (sizes[2], sizes[1]), (sizes[2],)]
    bounds = [size**-0.5 for size in (sizes[0], sizes[0], sizes[1], sizes[1])]
    draws = (torch.rand(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return [bound * (2 * draw - 1) for bound, draw in zip(bounds, draws, strict=True)]


def cross_entropy(x: Float[Tensor, "N p"], y: Int[Tensor, " N"], sigma: Elementwise = torch.relu) -> Loss:
    """The mean loss of the network on these inputs and classes, as a function of its weights."""

    def loss(weights: TwoLayers) -> Tensor:
        W1, b1, W2, b2 = weights
        return torch.nn.functional.cross_entropy(sigma(x @ W1.T + b1) @ W2.T + b2, y)

    return loss


def descend(loss: Loss, weights: TwoLayers, rate: float, steps: int) -> Iterator[tuple[TwoLayers, TwoLayers]]:
    """Weights and their gradient, before each of some steps of gradient descent and after the last."""
    gradient = torch.func.grad(loss)
    for _ in range(steps + 1):
        slope = gradient(weights)
        yield weights, slope
        weights = [w - rate * g for w, g in zip(weights, slope, strict=True)]


def conserved(weights: TwoLayers) -> Float[Tensor, "n n"]:
    """W1 W1ᵀ + b1 b1ᵀ − W2ᵀ W2: gradient flow conserves it in a linear network, with ReLU its diagonal.

    Example:
        >>> conserved(start((3, 2, 4), torch.Generator().manual_seed(0))).shape
        torch.Size([2, 2])
    """
    W1, b1, W2, _ = weights
    return W1 @ W1.T + torch.outer(b1, b1) - W2.T @ W2


def drift(
    x: Float[Tensor, "N p"],
    y: Int[Tensor, " N"],
    rates: Iterable[float],
    time: float,
    seeds: Iterable[int],
    *,
    width: int = 8,
) -> pd.DataFrame:
    """How far gradient descent changes what gradient flow conserves, for several learning rates.

    Columns trial, quantity (what is compared), rate, time (rate × steps, ten of them) and drift, in percent
    of the size at the start.
    """
    rows = []
    parts = {"linear, whole matrix": lambda Q: Q, "ReLU, diagonal": torch.diagonal}
    parts["ReLU, off the diagonal"] = lambda Q: Q - torch.diag(Q.diagonal())
    for seed, rate, (name, part) in itertools.product(seeds, rates, parts.items()):
        sigma = torch.relu if "ReLU" in name else torch.clone
        first = start((x.shape[1], width, int(y.max()) + 1), torch.Generator().manual_seed(seed))
        steps = round(time / rate)
        for k, (weights, _) in enumerate(descend(cross_entropy(x, y, sigma), first, rate, steps)):
            if k % (steps // 10) == 0:
                old, new = part(conserved(first)), part(conserved(weights))
                apart = 100 * ((new - old).norm() / old.norm()).item()
                rows.append([seed, name, rate, rate * k, apart])
    return pd.DataFrame(rows, columns=["trial", "quantity", "rate", "time", "drift"])


def teleport(loss: Loss, weights: TwoLayers, reach: float) -> TwoLayers:
    """The point of a ReLU network's orbit with the largest gradient, by scalings a in [1/reach, reach].

    Example:
        >>> x, y = torch.eye(3, dtype=torch.float64), torch.tensor([0, 1, 2])
        >>> weights = start((3, 2, 3), torch.Generator().manual_seed(0))
        >>> torch.allclose(*map(cross_entropy(x, y), (weights, teleport(cross_entropy(x, y), weights, 9.0))))
        True
    """
    (W1, b1, W2, b2), (G1, g1, G2, _) = weights, torch.func.grad(loss)(weights)
    into, out = G1.square().sum(1) + g1.square(), G2.square().sum(0)
    a = torch.where(into > out, 1 / reach, reach)  # |gradient|² is into/a² + out·a² + …
    return [a[:, None] * W1, a * b1, W2 / a, b2]


def teleportation(
    x: Float[Tensor, "N p"],
    y: Int[Tensor, " N"],
    reaches: Iterable[float],
    rates: Iterable[float],
    seeds: Iterable[int],
    *,
    width: int = 16,
    before: int = 20,
    steps: int = 100,
    every: int = 5,
) -> pd.DataFrame:
    """Gradient descent continued from where it is, and from where a symmetry makes the gradient largest.

    Steps of learning rate 0.3 come `before`; the reach bounds the scalings, and 1 is plain descent.
    Columns trial, reach, rate, step, loss, and gradient, the squared norm at step 0 relative to plain.
    """
    rows, loss = [], cross_entropy(x, y)
    for seed in seeds:
        weights = start((x.shape[1], width, int(y.max()) + 1), torch.Generator().manual_seed(seed))
        *_, (weights, slope) = descend(loss, weights, 0.3, before)
        size = sum(g.square().sum().item() for g in slope)
        for reach, rate in itertools.product(reaches, rates):
            there = teleport(loss, weights, reach) if reach > 1 else weights
            path = list(descend(loss, there, rate, steps))
            larger = sum(g.square().sum().item() for g in path[0][1]) / size
            for k, (each, _) in enumerate(path):
                if k % every == 0:
                    rows.append([seed, reach, rate, k, loss(each).item(), larger])
    table = pd.DataFrame(rows, columns=["trial", "reach", "rate", "step", "loss", "gradient"])
    return table.fillna({"loss": math.inf})
