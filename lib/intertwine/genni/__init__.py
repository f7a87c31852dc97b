"""The set of weights that compute one function: search for some, span a plane, evaluate it (lengyel2020).

Example:
    >>> import torch
    >>> from torch import nn
    >>> x = torch.randn(
    ...     256, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    ... )
    >>> model = nn.Sequential(
    ...     nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
    ... ).eval()
    >>> problem = Problem(model, lambda x: 0.8 * x.relu() - 0.5 * (-x).relu(), x)
    >>> found = search(problem, m=2, seed=0)
    >>> grid = grid_loss(problem, plane(found.points), (-2, 2), 21)
    >>> # the middle is the first solution
    >>> grid.loss.shape, bool(grid.relative[10, 10] < 1e-4)
    (torch.Size([21, 21]), True)
"""

from intertwine.genni.epsilon_sets import betti, components, epsilon_set, persistence
from intertwine.genni.grid import Grid, grid_loss, loss_at
from intertwine.genni.parametric import (
    FunctionalDimension,
    functional_dimension,
    outputs,
    parameter_vector,
)
from intertwine.genni.plane import Plane, plane, random_plane
from intertwine.genni.problem import Problem, Target, describe_target
from intertwine.genni.search import Solutions, descend, random_starts, search

__all__ = [
    "FunctionalDimension",
    "Grid",
    "Plane",
    "Problem",
    "Solutions",
    "Target",
    "betti",
    "components",
    "descend",
    "describe_target",
    "epsilon_set",
    "functional_dimension",
    "grid_loss",
    "loss_at",
    "outputs",
    "parameter_vector",
    "persistence",
    "plane",
    "random_plane",
    "random_starts",
    "search",
]
