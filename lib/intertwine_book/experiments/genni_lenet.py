"""Chapter 6b: pieces of ε-sets on a grid and in UMAP (lengyel2020, figures 3 and 6), and planes of LeNets."""

import itertools
import warnings
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from intertwine import genni
from intertwine.genni import Grid, Plane, Problem
from intertwine_book import models
from intertwine_book.genni_authors import authors_draws
from intertwine_book.experiments.rows import Row, tabled

Start = Literal["random", "spectral"]
"""Where UMAP starts: at random places, or at its default, the spectral embedding of the graph."""


def umap_embedding(
    points: Float[Tensor, "k m"], *, seed: int, start: Start = "spectral", epochs: int = 500
) -> Float[Tensor, "k 2"]:
    """UMAP to two dimensions with the settings of the authors, who set no seed and leave the default start.

    Coordinates in a plane and the parameters themselves give the same picture: the basis is orthonormal, and
    UMAP depends on distances only. Needs the package umap-learn, whose import takes some ten seconds.
    """
    if len(points) < 22:
        raise ValueError(f"Expected 22 points or more, was given {len(points)}: raise ε, or refine the grid.")
    with warnings.catch_warnings():  # of packages that it imports
        warnings.simplefilter("ignore")
        from umap import UMAP  # slow to import

        # n_jobs: with a seed there is one
        settings = {"random_state": seed, "n_jobs": 1, "init": start, "n_epochs": epochs}
        flat = UMAP(n_neighbors=20, min_dist=0.5, **settings).fit_transform(points.numpy(force=True))
    return torch.from_numpy(flat).to(points)


def pieces(points: Float[Tensor, "k d"], *, neighbours: int = 10) -> int:
    """How many components the graph has in which each point is joined to its nearest neighbours.

    Example:
        >>> line = torch.arange(20.0)[:, None]
        >>> pieces(torch.cat([line, line + 1000]), neighbours=3)
        2

    Few neighbours split sets into pieces, many join pieces that are apart.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import
    from sklearn.neighbors import kneighbors_graph

    if len(points) < 2:
        return len(points)
    graph = kneighbors_graph(points.numpy(force=True), min(neighbours, len(points) - 1))
    return int(connected_components(graph, directed=False)[0])


def small_sets(live: Problem, solutions: Float[Tensor, "4 4"], n: int) -> dict[str, tuple[Grid, float]]:
    """The paper's figures 3a and 3b, and sets of a target with both slopes: name → grid, ε of J/E[y²]."""
    theirs, inputs, starts = authors_draws(models.fcn, (1,), 16384, 10, seed=10)
    problem = Problem(live.network, theirs, inputs)
    nets = genni.descend(problem, starts[:5], lr=0.015 * problem.energy, optimizer="sgd", steps=1000)
    aim, space = problem.on(live.inputs), genni.plane(torch.cat([torch.zeros(1, 4), torch.eye(4)]))
    return {
        "figure 3a": (genni.grid_loss(aim, genni.plane(nets[:4]), (-2, 2), n), 0.005 / aim.energy),
        "figure 3b": (genni.grid_loss(aim, genni.plane(nets), (-1, 1), 20), 0.1 / aim.energy),
        "live, 3D": (genni.grid_loss(live, genni.plane(solutions), (-2, 2), n), 0.1),
        "live, 4D": (genni.grid_loss(live, space, (-2, 2), 20), 0.1),
    }


def umap(
    sets: Mapping[str, tuple[Grid, float]], *, seeds: int, points: int, start: Start
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How many pieces sets have on the grid, in a sample and in its picture by UMAP; and two of the pictures.

    Each seed draws a sample of so many points; without seeds a picture has the first two coordinates.
    """
    rows, drawn = [], []
    for (name, (grid, epsilon)), seed in itertools.product(sets.items(), range(max(1, seeds))):
        labels = genni.components(genni.epsilon_set(grid, epsilon)).flatten().cpu()
        inside = labels.nonzero()[:, 0]
        order = torch.randperm(len(inside), generator=torch.Generator().manual_seed(seed))
        some = inside[order[:points]]
        cloud = grid.coordinates().cpu()[some]
        flat = umap_embedding(cloud, seed=seed, start=start) if seeds else cloud[:, :2]
        if name in ("figure 3a", "live, 3D"):
            picture = pd.DataFrame(flat.numpy(), columns=["x", "y"]).assign(set=name, seed=seed)
            drawn.append(picture.assign(component=labels[some].numpy())[:300].round(2))
        row = {"set": name, "seed": seed, "on_the_grid": int(labels.max())}
        rows.append(row | {"sampled": pieces(cloud), "drawn": pieces(flat)})
    counted = pd.DataFrame(rows).eval("agrees = on_the_grid == drawn")
    return counted.eval("connected = on_the_grid == 1"), pd.concat(drawn)


def returns_zero(grid: Grid) -> Bool[Tensor, "*n"]:
    """Where the loss is that of the zero function to 1e-6, from which we infer that all outputs are 0."""
    return (grid.relative - 1).abs() < 1e-6


@tabled
def lenet(problem: Problem, grid: Grid) -> Iterator[Row]:
    """The paper's LeNet: how many parameters, where it returns 0 in a plane, and its printed ε."""
    count = sum(parameter.numel() for parameter in problem.network.parameters())
    row: Row = {"parameters": count, "difference": abs(count - 60_000)}
    row |= {"still": returns_zero(grid).double().mean().item()}
    yield row | {"relative_threshold": 0.0025 / problem.energy}


@tabled
def planes(grids: Mapping[str, Grid]) -> Iterator[Row]:
    """The relative loss at every point of planes, and where the network returns 0 on all of its inputs."""
    for name, grid in grids.items():
        for (i, j), zero in np.ndenumerate(returns_zero(grid).numpy(force=True)):
            loss = float(f"{grid.relative[i, j]:.4g}")
            yield {"plane": name, "i": i, "j": j, "relative": loss, "zero": int(zero)}


@tabled
def plane_solutions(flats: Mapping[str, Plane]) -> Iterator[Row]:
    """Where the three networks lie that span each plane."""
    for name, flat in flats.items():
        for t1, t2 in flat.coordinates.tolist():
            yield {"plane": name, "t1": round(t1, 3), "t2": round(t2, 3)}
