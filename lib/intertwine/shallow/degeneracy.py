"""How far a network is from having neurons to merge or to drop."""

from typing import NamedTuple

import numpy as np

from intertwine.shallow.arrangement import arrangement
from intertwine.shallow.minimal import merged
from intertwine.shallow.relu_network import ShallowReLU

ROWS_AT_ONCE = 1024  # of the n×n matrix of cosines


class Degeneracy(NamedTuple):
    """Distances of the network without its 0-factors, and the neurons that attain them; nan where none do."""

    parallel: float
    """The least sine of an angle between two (w_i, b_i): 0 for neurons on one hyperplane."""
    pair: tuple[int, ...]
    silent: float
    """The least ‖λ_i‖ ‖(w_i, b_i)‖, relative to the largest: 0 for a dead neuron."""
    silent_neuron: int
    constant: float
    """The least ‖w_i‖ / ‖(w_i, b_i)‖: 0 for a constant neuron."""
    constant_neuron: int


def degeneracy(p: ShallowReLU) -> Degeneracy:
    """How near neurons are to merging, to silence and to a constant, in time $O(n²m)$.

    Neurons are numbered as in the network without 0-factors.

    Example:
        >>> p = ShallowReLU([[1.0, 0.0], [0.0, 1.0]], [0.0, 1e-6], [[1, 1e-3]], [0])
        >>> found = degeneracy(p)
        >>> (
        ...     round(found.parallel, 6),
        ...     found.pair,
        ...     round(found.silent, 6),
        ...     found.silent_neuron,
        ... )
        (1.0, (0, 1), 0.001, 1)
    """
    q = merged(p, arrangement(p, p.tolerance), p.tolerance).network.float()
    if not q.n:
        return Degeneracy(np.nan, (), np.nan, -1, np.nan, -1)
    rows = q.rows
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows / lengths[:, None]
    strength = np.linalg.norm(q.V, axis=0) * lengths
    flat = np.linalg.norm(unit[:, :-1], axis=1)
    pair: tuple[int, ...] = ()
    best = -1.0
    for start in range(0, q.n, ROWS_AT_ONCE):
        cosine = np.abs(unit[start : start + ROWS_AT_ONCE] @ unit.T)
        cosine[np.arange(len(cosine)), np.arange(start, start + len(cosine))] = -1.0  # with itself
        i, j = np.unravel_index(cosine.argmax(), cosine.shape)
        if q.n > 1 and cosine[i, j] > best:
            best, pair = cosine[i, j], (int(start + i), int(j))
    parallel = sine(*unit[list(pair)]) if pair else np.nan
    silent, constant = float(strength.min() / strength.max()), float(flat.min())
    weakest, flattest = int(strength.argmin()), int(flat.argmin())
    return Degeneracy(parallel, tuple(sorted(pair)), silent, weakest, constant, flattest)


def sine(u: np.ndarray, v: np.ndarray) -> float:
    """The sine of the angle between the lines of two unit vectors."""
    return float(np.linalg.norm(v - (u @ v) * u))  # not from the cosine, which loses half the digits
