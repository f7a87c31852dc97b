"""The explicit case: a multilayer perceptron as a list of pairs (W, b), and Proposition 3.4 on it."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

Layers = list[tuple[Float[Tensor, "_ _"], Float[Tensor, " _"]]]


def random_layers(sizes: Sequence[int], generator: torch.Generator) -> Layers:
    """Gaussian weights of variance 2 / fan-in and biases of standard deviation 0.1, in float64.

    Example:
        >>> [tuple(W.shape) for W, _ in random_layers([5, 8, 3], torch.Generator().manual_seed(0))]
        [(8, 5), (3, 8)]

    Args:
        sizes: widths n_0, …, n_k from the input to the output.
    """

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device)

    return [(normal(n, m) * (2 / m) ** 0.5, 0.1 * normal(n)) for m, n in pairwise(sizes)]


def forward(
    layers: Layers, x: Float[Tensor, "samples n_0"], activation: Callable[[Tensor], Tensor] = torch.relu
) -> list[Float[Tensor, "samples _"]]:
    """The outputs of all layers, f_{≤1}(x), …, f_{≤k}(x); the last layer has no activation.

    Example:
        >>> layers = random_layers([5, 8, 3], torch.Generator().manual_seed(0))
        >>> [tuple(out.shape) for out in forward(layers, torch.zeros(10, 5, dtype=torch.float64))]
        [(10, 8), (10, 3)]
    """
    outputs = []
    for W, b in layers[:-1]:
        x = activation(x @ W.T + b)
        outputs.append(x)
    W, b = layers[-1]
    return [*outputs, x @ W.T + b]


def move(layers: Layers, elements: Sequence[Float[Tensor, "_ _"]], group_of: Callable[[int], Any]) -> Layers:
    """Act with one group element on every hidden layer (godfrey2022, Proposition 3.4):

    W_i' = A_i W_i φ(A_{i−1}^{-1}), b_i' = A_i b_i. The moved network computes the same function.

    Example:
        >>> from intertwine.groups import GReLU
        >>> generator = torch.Generator().manual_seed(0)
        >>> layers, x = random_layers([5, 8, 3], generator), torch.ones(1, 5, dtype=torch.float64)
        >>> moved = move(layers, [GReLU(8).sample(generator)], GReLU)
        >>> torch.allclose(forward(moved, x)[-1], forward(layers, x)[-1])
        True

    Args:
        layers: k pairs (W, b).
        elements: A_1, …, A_{k−1}, each as wide as its layer.
        group_of: width → the group, for its φ and inverse.
    """
    if len(elements) != len(layers) - 1:
        raise ValueError(
            f"Expected one element for each of the {len(layers) - 1} hidden layers, "
            f"was given {len(elements)}."
        )
    moved, behind = [], None
    for (W, b), A in zip(layers, [*elements, None], strict=True):
        if behind is not None:
            G = group_of(len(behind))
            W = W @ G.phi(G.inverse(behind))
        moved.append((W, b) if A is None else (A @ W, A @ b))
        behind = A
    return moved
