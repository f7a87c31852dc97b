"""The conjecture of lengyel2020 §3 as a statistic: the plane through solutions against random planes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.genni.grid import Bounds, grid_loss
from intertwine.genni.plane import Plane, random_plane
from intertwine.genni.sets import epsilon_set


def conjecture(
    model: nn.Module,
    target: Callable[[Tensor], Tensor],
    plane: Plane,
    bounds: Bounds,
    n: int,
    inputs: Float[Tensor, "samples ..."],
    *,
    epsilons: Sequence[float],
    planes: int = 20,
    generator: torch.Generator,
) -> pd.DataFrame:
    """The share of grid points under ε in the plane of the solutions and in random planes through θ_0.

    Example:
        >>> from intertwine import genni, models
        >>> x = torch.randn(200, 1, generator=torch.Generator().manual_seed(0))
        >>> network, target = models.fcn(), lambda x: x.relu() + 0.2 * x
        >>> flat = genni.plane(genni.search(network, target, x, m=2, seed=0).points)
        >>> asked = {"epsilons": [0.1], "planes": 2, "generator": torch.Generator().manual_seed(0)}
        >>> conjecture(network, target, flat, (-2, 2), 9, x, **asked)["plane"].tolist()
        ['solutions', 'random', 'random']

    Args:
        model, target, plane, bounds, n, inputs: as for `grid_loss`.
        epsilons: thresholds of J/E[y²].
        planes: how many random ones.
        generator: of their directions.

    Returns:
        Columns plane (solutions, random), trial, epsilon, share (higher says that more of the plane is good).
    """
    planes_by_name = [("solutions", 0, plane)] + [
        ("random", trial, random_plane(plane.centre, len(plane.basis), generator)) for trial in range(planes)
    ]
    rows = []
    for name, trial, each in planes_by_name:
        grid = grid_loss(model, target, each, bounds, n, inputs)
        for epsilon in epsilons:
            share = epsilon_set(grid, epsilon).double().mean().item()
            rows.append({"plane": name, "trial": trial, "epsilon": epsilon, "share": share})
    return pd.DataFrame(rows)
