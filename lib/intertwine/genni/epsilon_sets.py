"""The ε-set on a grid: which points, in how many pieces, and which pieces last as ε grows."""

import itertools

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from intertwine.checks import check_tensor, kind
from intertwine.genni.grid import Grid

# Components and Betti numbers by hand, though gudhi 3.13 has both with the same numbers: on one core its
# Betti numbers took 8 to 130 times as long (100³ points: 16 s against 0.6 s), its components 0.6 times (40²
# points) to 1.4 times (50³) as long.


def epsilon_set(grid: Grid, epsilon: float) -> Bool[Tensor, "*n"]:
    """Where J/E[y²] < ε.

    Example:
        >>> grid = Grid(
        ...     torch.tensor([0.0, 1.0]), torch.tensor([0.125, 0.25]), energy=0.5
        ... )
        >>> epsilon_set(grid, 0.5).tolist()
        [True, False]

    lengyel2020 has J itself, for which ε ≥ E[y²] admits the zero function: that is `grid.loss < epsilon`.

    Args:
        grid: losses and the energy E[y²] of the target, as `grid_loss` returns them.
        epsilon: a share of E[y²], the loss of the zero function; so ε < 1 leaves that out.
    """
    if not isinstance(grid, Grid):
        raise ValueError(f"Expected the Grid that `grid_loss` returns, was given {kind(grid)}.")
    return grid.relative < epsilon


def components(mask: Bool[Tensor, "*n"]) -> Int[Tensor, "*n"]:
    """The connected component of each point, numbered from 1; 0 outside the set.

    Example:
        >>> components(
        ...     torch.tensor(
        ...         [[True, False, False], [False, True, False], [False, False, False]]
        ...     )
        ... )
        tensor([[1, 0, 0],
                [0, 1, 0],
                [0, 0, 0]], dtype=torch.int32)

    Neighbours differ by at most 1 in every coordinate, diagonals included.

    Args:
        mask: True where a grid point belongs to the set, on a grid of any dimension.

    Raises:
        ValueError: numbers instead of a mask.
    """
    from scipy import ndimage  # slow to import

    _check_mask(mask)
    labels, _ = ndimage.label(mask.numpy(force=True), np.ones([3] * mask.ndim))
    return torch.from_numpy(labels).to(mask.device)


def _check_mask(mask: object) -> None:
    check_tensor(mask, "mask")
    if (dtype := getattr(mask, "dtype", None)) != torch.bool:
        raise ValueError(f"Expected a mask, was given {dtype}: make one by epsilon_set(grid, epsilon).")


def betti(mask: Bool[Tensor, "*n"]) -> tuple[int, ...]:
    """Betti numbers of a set of grid points as closed cubes: pieces, tunnels, cavities.

    Example:
        >>> ring = torch.tensor(
        ...     [[True, True, True], [True, False, True], [True, True, True]]
        ... )
        >>> betti(ring), betti(ring[None].expand(3, 3, 3))
        ((1, 1), (1, 1, 0))

    One number for each dimension of the grid: b_0, the components; b_1, independent
    loops around a hole; b_2, cavities. Narrow parts of a set fall between the points of a coarse grid: count
    again with twice the points.

    Args:
        mask: True where a grid point belongs to the set, on a grid of 1, 2 or 3 dimensions.

    Raises:
        ValueError: a grid of another number of dimensions, or numbers instead of a mask.
    """
    from scipy import ndimage  # slow to import

    _check_mask(mask)
    m = mask.ndim
    if not 0 < m < 4:
        raise ValueError(f"Expected a grid of 1, 2 or 3 dimensions, was given {m}: take a slice of it.")
    cubes = np.pad(mask.numpy(force=True), 1)
    pieces = int(ndimage.label(cubes, np.ones([3] * m))[1])
    cavities = int(ndimage.label(~cubes)[1]) - 1  # outside, neighbours share a face; one part is unbounded
    if m < 3:
        return (pieces, cavities)[:m]
    cells = np.zeros([2 * n + 1 for n in cubes.shape], dtype=bool)  # of all dimensions: odd places are open
    cells[1::2, 1::2, 1::2] = cubes
    cells = ndimage.binary_dilation(cells, np.ones([3] * m))
    # of a cell: how many coordinates are odd
    dimensions = sum(np.ix_(*[np.arange(n) % 2 for n in cells.shape]))
    euler = int(np.where(dimensions % 2, -1, 1)[cells].sum())
    # Euler and Poincaré: χ = b_0 − b_1 + b_2
    return pieces, pieces + cavities - euler, cavities


def persistence(values: Float[Tensor, "*n"], *, below: float = float("inf")) -> pd.DataFrame:
    """When components of the sets {values < ε} are born and when they merge into an older one, as ε grows.

    Example:
        >>> persistence(torch.tensor([0.1, 0.5, 0.2, 0.9]))
           birth  death
        0    0.1    inf
        1    0.2    0.5

    The set at ε has as many components as there are rows with birth < ε ≤ death. This is persistent homology
    in degree 0, of the grid with its diagonals. A component that lasts over decades of ε is a piece of the
    class. One that does not is an artefact of the grid.

    Args:
        values: J or J/E[y²] on a grid.
        below: points of this value or more are left out; components that remain then last up to `inf`.

    Returns:
        A table with a row for each component that lives at any ε, and columns birth and death. The
        longest-lived come first, by the ratio of death to birth.
    """
    check_tensor(values, "values")
    array = values.double().numpy(force=True)
    flat = array.ravel()
    # of the (3^m − 1)/2 edges of a point the forest keeps about one, and the loop below is slow Python
    heads, tails = _tree(flat, *_edges(array < below))
    heights = np.maximum(flat[heads], flat[tails])
    parent = list(range(len(flat)))  # the root of a component is its oldest, that is lowest, point

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]  # halves the path for the next who asks
        return k

    rows = []
    births = flat.tolist()
    for u, v, height in zip(heads.tolist(), tails.tolist(), heights.tolist(), strict=True):
        old, young = sorted((root(u), root(v)), key=births.__getitem__)
        parent[young] = old
        if births[young] < height:
            rows.append((births[young], height))
    rows += [(births[k], np.inf) for k in np.flatnonzero(flat < below).tolist() if parent[k] == k]
    rows.sort(key=lambda row: (-row[1] / max(row[0], np.finfo(float).tiny), row[0]))
    return pd.DataFrame(rows, columns=["birth", "death"], dtype=float)


def _tree(flat: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges of a minimum spanning forest, lowest first: all others join points that are joined already."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import minimum_spanning_tree

    rank = np.empty(len(flat))
    rank[np.argsort(flat, kind="stable")] = np.arange(1.0, len(flat) + 1)  # from 1, as a 0 would be no edge
    later = np.maximum(rank[heads], rank[tails])
    ends = heads.astype(np.int32), tails.astype(np.int32)  # scipy before 1.17.1 takes no others
    tree = minimum_spanning_tree(coo_array((later, ends), shape=(len(flat),) * 2).tocsr()).tocoo()
    order = np.argsort(tree.data, kind="stable")
    return tree.row[order], tree.col[order]


def _edges(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of neighbours in the set, by their places in the flattened grid, each pair once."""
    places = np.arange(mask.size).reshape(mask.shape)
    heads, tails = [], []
    for offset in itertools.product((-1, 0, 1), repeat=mask.ndim):
        if offset > (0,) * mask.ndim:  # one of the two directions
            # the grid without what the offset would move out of it, and the same moved
            here = tuple(slice(max(0, -k), min(0, -k) or None) for k in offset)
            there = tuple(slice(max(0, k), min(0, k) or None) for k in offset)
            both = mask[here] & mask[there]
            heads.append(places[here][both])
            tails.append(places[there][both])
    return np.concatenate(heads), np.concatenate(tails)
