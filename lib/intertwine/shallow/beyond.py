"""Activations other than ReLU: Remark 1, and flips wherever the odd part is linear."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from intertwine.groups import Activation, as_activation, intertwiner_group
from intertwine.shallow.arithmetic import Numbers
from intertwine.shallow.network import ShallowReLU, flip

LINEAR = 1e-9


def odd_slope(activation: str | Callable[[Tensor], Tensor] | Activation) -> float | None:
    """κ with σ(x) − σ(−x) = κx for all x, or None if the odd part is not linear.

    Example:
        >>> [round(odd_slope(name), 9) for name in ("ReLU", "GELU", "SiLU", "Softplus", "abs")]
        [1.0, 1.0, 1.0, 1.0, 0.0]
        >>> odd_slope("ELU") is None
        True

    κ is what `flip` takes: flipping S keeps the function iff κ Σ_S λ_i w_iᵀ = 0, and where κ = 0 always.

    Args:
        activation: as `intertwine.groups.as_activation` takes it.
    """
    sigma = as_activation(activation)
    x = torch.logspace(-3, 3, 601, dtype=torch.float64)  # compared at every scale with what σ is there
    odd, size = sigma(x) - sigma(-x), torch.maximum(sigma(x).abs(), x)
    kappa = float(x @ odd / (x @ x))
    return kappa if ((odd - kappa * x).abs() <= LINEAR * size).all() else None


def pointwise(activation: str | Callable[[Tensor], Tensor] | Activation) -> Callable[[Numbers], Numbers]:
    """The activation on float64 arrays, as calling a `ShallowReLU` takes it.

    Example:
        >>> pointwise("tanh")(np.zeros(2))
        array([0., 0.])
    """
    sigma = as_activation(activation)
    return lambda u: sigma(torch.from_numpy(np.ascontiguousarray(u))).numpy(force=True)


def remark_1(activations: Iterable[str], trials: int, generator: torch.Generator) -> pd.DataFrame:
    """Remark 1: for any σ with G_σ in place of H_n, the moves and the three relations keep the function.

    Example:
        >>> table = remark_1(["tanh", "abs", "GELU"], 2, torch.Generator().manual_seed(0))
        >>> bool((table["error"] < 1e-12).all())
        True

    Returns:
        Columns activation, relation (orbit, parallel, constant, dead), trial, error (relative).
    """
    rows = []
    for name, trial in itertools.product(activations, range(trials)):
        sigma, G = pointwise(name), intertwiner_group(as_activation(name), 4)
        normal = np.random.default_rng(int(torch.randint(2**31, (), generator=generator))).normal
        A2, W, c, x = (normal(size=s) for s in ((2, 4), (4, 4), 2, (50, 3)))  # rows of W are (w, b)
        A = G.sample(generator)
        moved = G.phi(G.inverse(A)).numpy(force=True)
        scaling = torch.eye(4, dtype=torch.float64)
        scaling[0, 0] = a = G.scalars.sample(generator, 1).item()
        b = G.phi(scaling)[0, 0].item()  # σ(au) = bσ(u)
        constant = np.array([[0.0, 0.0, 0.0, 0.7]])
        networks = {
            "orbit": (A2 @ moved, A.numpy(force=True) @ W, c),
            "parallel": (
                np.hstack([A2 - b * A2[:, :1] * [[1, 0, 0, 0]], A2[:, :1]]),
                np.vstack([W, a * W[0]]),
                c,
            ),
            "constant": (
                np.hstack([A2, A2[:, :1]]),
                np.vstack([W, constant]),
                c - A2[:, 0] * sigma(constant)[0, 3],
            ),
            "dead": (np.hstack([A2, np.zeros((2, 1))]), np.vstack([W, normal(size=(1, 4))]), c),
        }
        y = ShallowReLU(A2, W[:, :3], W[:, 3], c)(x, sigma)
        for relation, (V, rows_, d) in networks.items():
            z = ShallowReLU(V, rows_[:, :3], rows_[:, 3], d)(x, sigma)
            error = float(np.abs(z - y).max() / np.abs(y).max())
            rows.append({"activation": name, "relation": relation, "trial": trial, "error": error})
    return pd.DataFrame(rows)


def flips(activations: Iterable[str], generator: np.random.Generator) -> pd.DataFrame:
    """Beyond the paper: hidden flips hold wherever the odd part of σ is linear.

    Example:
        >>> flips(["SiLU", "ELU"], np.random.default_rng(0))["holds"].tolist()
        [True, False]

    Returns:
        Columns activation, kappa (nan where the odd part is not linear), error (relative, of flipping
        S = {1, 2, 3} with Σ_S λ_i w_iᵀ = 0), holds.
    """
    w = generator.normal(size=(2, 2))
    p = ShallowReLU(np.ones((1, 3)), np.vstack([w, -w.sum(0)]), generator.normal(size=3), [0.0])
    x, rows = 5 * generator.normal(size=(200, 2)), []
    for name in activations:
        sigma, kappa = pointwise(name), odd_slope(name)
        y, z = p(x, sigma), flip(p, range(3), 1.0 if kappa is None else kappa)(x, sigma)
        error = float(np.abs(z - y).max() / np.abs(y).max())
        rows.append({"activation": name, "kappa": np.nan if kappa is None else kappa, "error": error})
    return pd.DataFrame(rows).assign(holds=lambda table: table["error"] < 1e-8)
