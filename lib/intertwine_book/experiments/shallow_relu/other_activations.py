"""Activations other than ReLU: Remark 1 of ramakrishnan2026, and flips where the odd part is linear."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import torch

from intertwine.groups import as_activation, intertwiner_group
from intertwine.shallow import ShallowReLU, flip, numbers, odd_slope
from intertwine.shallow.relu_network import from_rows
from intertwine_book.experiments.rows import Row, tabled


@tabled
def remark_1(activations: Iterable[str], trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Remark 1: for any σ with G_σ in place of H_n, the moves and the three relations keep the function.

    Example:
        >>> table = remark_1(["tanh", "abs", "GELU"], 2, generator=torch.Generator().manual_seed(0))
        >>> bool((table["error"] < 1e-12).all())
        True
    """
    for name, trial in itertools.product(activations, range(trials)):
        G = intertwiner_group(as_activation(name), 4)
        V, W, c, x = (_normal(generator, *shape) for shape in ((2, 4), (4, 4), (2,), (50, 3)))
        A = G.sample(generator)  # it acts on W, whose rows are (w, b)
        scaling = torch.eye(4, dtype=torch.float64)
        scaling[0, 0] = a = G.scalars.sample(generator, 1).item()
        b = G.phi(scaling)[0, 0].item()  # σ(au) = bσ(u)
        constant = np.array([[0.0, 0.0, 0.0, 0.7]])
        value = ShallowReLU(constant[:, :3], [0.7], [[1.0]], [0.0])(x[0], name)
        p = from_rows(W, V, c)
        first = V[:, :1]
        networks = {
            "orbit": from_rows(numbers(A) @ W, V @ numbers(G.phi(G.inverse(A))), c),
            "parallel": from_rows(W, V - b * first * [[1, 0, 0, 0]], c).extended(a * W[:1], first),
            "constant": p.extended(constant, first, c - first[:, 0] * value),
            "dead": p.extended(_normal(generator, 1, 4), np.zeros((2, 1))),
        }
        y = p(x, name)
        for relation, q in networks.items():
            error = float(np.abs(q(x, name) - y).max() / np.abs(y).max())
            yield {"activation": name, "relation": relation, "trial": trial, "error": error}


@tabled
def flips(activations: Iterable[str], *, generator: torch.Generator) -> Iterator[Row]:
    """Beyond the paper: hidden flips hold wherever the odd part of σ is linear.

    Example:
        >>> flips(["SiLU", "ELU"], generator=torch.Generator().manual_seed(0))["holds"].tolist()
        [True, False]

    Columns activation, kappa (nan where the odd part is not linear), error (relative, of flipping S = {1, 2,
    3} with Σ_S λ_i w_iᵀ = 0), holds.
    """
    w, b, x = (_normal(generator, *shape) for shape in ((2, 2), (3,), (200, 2)))
    p = ShallowReLU(np.vstack([w, -w.sum(0)]), b, np.ones((1, 3)), [0.0])
    for name in activations:
        kappa = odd_slope(name)
        y, z = (q(5 * x, name) for q in (p, flip(p, range(3), 1.0 if kappa is None else kappa)))
        error = float(np.abs(z - y).max() / np.abs(y).max())
        row = {"activation": name, "kappa": np.nan if kappa is None else kappa}
        yield row | {"error": error, "holds": error < 1e-8}


def _normal(generator: torch.Generator, *shape: int) -> np.ndarray:
    return torch.randn(shape, dtype=torch.float64, generator=generator).numpy()
