"""The statements on weights of swap-and-scale-2022 and godfrey2022 §3.2 as experiments that return tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups import GReLU, Permutations, as_activation, intertwiner_group
from intertwine.weightspace.mlp import Layers, forward, move, random_layers
from intertwine_book.experiments.intertwiner_groups import relative

TOLERANCE = 1e-9


def swap(widths: Iterable[int], trials: int, generator: torch.Generator) -> pd.DataFrame:
    """Swap: a permutation of the hidden neurons of a random ReLU network leaves its function.

    Example:
        >>> bool(swap([2, 8], 3, torch.Generator().manual_seed(0))["holds"].all())
        True

    Returns:
        Columns n, trial, error (relative), holds.
    """
    rows = []
    for n, trial in itertools.product(widths, range(trials)):
        net, x = random_layers([5, n, 3], generator), _normal(generator, 50, 5)
        other = move(net, [Permutations(n).sample(generator)], Permutations)
        rows.append({"n": n, "trial": trial, "error": relative(forward(other, x)[-1], forward(net, x)[-1])})
    return pd.DataFrame(rows).assign(holds=lambda table: table["error"] < TOLERANCE)


def swap_count(widths: Iterable[int], generator: torch.Generator) -> pd.DataFrame:
    """How many different weights the permutations of n hidden neurons give; holds where it is n!.

    Example:
        >>> swap_count([1, 2, 3], torch.Generator().manual_seed(0))["found"].tolist()
        [1, 2, 6]
    """
    rows = []
    for n in widths:
        W = random_layers([5, n, 3], generator)[0][0]
        found = {tuple(W[list(order)].flatten().tolist()) for order in itertools.permutations(range(n))}
        rows.append({"n": n, "found": len(found), "holds": len(found) == math.factorial(n)})
    return pd.DataFrame(rows)


def relu_linearity(trials: int, generator: torch.Generator) -> pd.DataFrame:
    """Is ReLU linear? Additive, homogeneous, and positively homogeneous, each on random vectors.

    Example:
        >>> relu_linearity(3, torch.Generator().manual_seed(0)).groupby("law")["holds"].all().to_dict()
        {'additive': False, 'homogeneous': False, 'positively homogeneous': True}

    Returns:
        Columns law, trial, error (relative), holds.
    """
    rows = []
    for trial in range(trials):
        u, v = _normal(generator, 2, 100)
        a = -_normal(generator, 1).abs()
        laws = {
            "additive": (torch.relu(u + v), torch.relu(u) + torch.relu(v)),
            "homogeneous": (torch.relu(a * u), a * torch.relu(u)),
            "positively homogeneous": (torch.relu(-a * u), -a * torch.relu(u)),
        }
        rows += [{"law": law, "trial": trial, "error": relative(*sides)} for law, sides in laws.items()]
    return pd.DataFrame(rows).assign(holds=lambda table: table["error"] < TOLERANCE)


def proposition_3_4(
    activations: Iterable[str],
    sizes: list[int],
    trials: int,
    generator: torch.Generator,
    *,
    scale: float = 1.0,
) -> pd.DataFrame:
    """Proposition 3.4, its three equations at every hidden layer of a random network.

    Example:
        >>> table = proposition_3_4(["ReLU", "abs"], [5, 8, 8, 3], 2, torch.Generator().manual_seed(0))
        >>> len(table), bool(table["holds"].all()), bool((table["representation_changed"] > 0.1).all())
        (8, True, True)

    Returns:
        Columns activation, trial, m (the hidden layer, from 1); relative front_error of
        f_{≤m}(x, W') = φ(A_m) f_{≤m}(x, W), back_error of f_{>m}(φ(A_m) h, W') = f_{>m}(h, W), and
        function_error;
        weights_moved and representation_changed, relative; holds.
    """
    rows = []
    for activation, trial in itertools.product(activations, range(trials)):
        sigma = as_activation(activation)
        group_of = {n: intertwiner_group(sigma, n) for n in sizes[1:-1]}.__getitem__
        net, x = random_layers(sizes, generator), _normal(generator, 50, sizes[0])
        A = [group_of(n).sample(generator, scale=scale) for n in sizes[1:-1]]
        other = move(net, A, group_of)
        old, new = forward(net, x, sigma), forward(other, x, sigma)
        for m, element in enumerate(A):
            expected = old[m] @ group_of(len(element)).phi(element).T
            rows.append(
                {
                    "activation": activation,
                    "trial": trial,
                    "m": m + 1,
                    "front_error": relative(new[m], expected),
                    "back_error": relative(forward(other[m + 1 :], expected, sigma)[-1], old[-1]),
                    "function_error": relative(new[-1], old[-1]),
                    "weights_moved": relative(other[m][0], net[m][0]),
                    "representation_changed": relative(new[m], old[m]),
                }
            )
    table = pd.DataFrame(rows)
    return table.assign(holds=table[["front_error", "back_error", "function_error"]].max(axis=1) < TOLERANCE)


def theorem_4_2(trials: int, generator: torch.Generator) -> pd.DataFrame:
    """Theorem 4.2 prints the last weight as W_k φ(A_k^{-1}), Proposition 3.4 as W_k φ(A_{k−1}^{-1}).

    Example:
        >>> table = theorem_4_2(3, torch.Generator().manual_seed(0))
        >>> (table.groupby("rule")["error"].max() < 1e-12).to_dict()
        {'exact': True, 'printed': False}

    Returns:
        Columns rule ("exact" or "printed"), trial, error of the function (relative). The output is as wide as
        the hidden layer, so that the printed product exists.
    """
    rows = []
    for trial in range(trials):
        net, x = random_layers([5, 8, 8], generator), _normal(generator, 50, 5)
        A, A_k = GReLU(8).sample(generator), GReLU(8).sample(generator)
        (W, b), (V, c) = net
        for rule, element in {"exact": A, "printed": A_k}.items():
            other = [(A @ W, A @ b), (V @ GReLU(8).inverse(element), c)]
            error = relative(forward(other, x)[-1], forward(net, x)[-1])
            rows.append({"rule": rule, "trial": trial, "error": error})
    return pd.DataFrame(rows)


def residual_network(
    layers: Layers, x: Float[Tensor, "samples n_0"], activation: Callable[[Tensor], Tensor]
) -> Float[Tensor, "samples n_4"]:
    """Three hidden layers, the first of which is added to the pre-activation of the third.

    Example:
        >>> layers = random_layers([5, 8, 8, 8, 3], torch.Generator().manual_seed(0))
        >>> residual_network(layers, torch.zeros(10, 5, dtype=torch.float64), torch.relu).shape
        torch.Size([10, 3])
    """
    (W1, b1), (W2, b2), (W3, b3), (W4, b4) = layers
    h1 = activation(x @ W1.T + b1)
    h2 = activation(h1 @ W2.T + b2)
    return activation(h2 @ W3.T + b3 + h1) @ W4.T + b4


def remark_3_6(activations: Iterable[str], n: int, trials: int, generator: torch.Generator) -> pd.DataFrame:
    """Remark 3.6: the condition of a residual connection on the elements on either side of it.

    Example:
        >>> table = remark_3_6(["ReLU", "abs"], 8, 3, torch.Generator().manual_seed(0))
        >>> table[table["activation"] == "abs"].groupby("rule")["holds"].all().to_dict()
        {'exact': True, 'printed': False, 'untied': False}

    Returns:
        Columns rule ("exact" A_3 = φ(A_1), "printed" A_3 = A_1, "untied" A_3 independent), activation, trial,
        error of the function (relative), holds. The layer inside the block moves independently throughout.
    """
    rows = []
    for activation, trial in itertools.product(activations, range(trials)):
        G, sigma = intertwiner_group(activation, n), as_activation(activation)
        A1, A2, free = (G.sample(generator) for _ in range(3))
        net, x = random_layers([5, n, n, n, 3], generator), _normal(generator, 50, 5)
        for rule, A3 in {"exact": G.phi(A1), "printed": A1, "untied": free}.items():
            other = move(net, [A1, A2, A3], {n: G}.__getitem__)
            error = relative(residual_network(other, x, sigma), residual_network(net, x, sigma))
            rows.append({"rule": rule, "activation": activation, "trial": trial, "error": error})
    return pd.DataFrame(rows).assign(holds=lambda table: table["error"] < TOLERANCE)


def _normal(generator: torch.Generator, *shape: int) -> Float[Tensor, ...]:
    return torch.randn(shape, generator=generator, dtype=torch.float64)
