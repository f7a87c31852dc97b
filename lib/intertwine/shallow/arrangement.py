"""Which neurons bend along the same hyperplane: exactly, or in floats by rows that agree to a tolerance.

In floats a neuron stands for the unit vector (w, b)/‖(w, b)‖₁, up to sign. Two neurons have one hyperplane
when their unit vectors differ by at most `tolerance` in ‖·‖₁. Not all pairs are compared: unit vectors that
agree have projections on a fixed direction that agree. So projections are sorted, and neighbours compared.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from intertwine.shallow.exact import Numbers, is_exact, primitive
from intertwine.shallow.relu_network import ShallowReLU, as_shallow

BLOCK = 4096  # rows at a time, which fit into a processor's cache
DIRECTIONS = 3  # the second and third separate rows that agree by chance in the first


class Arrangement(NamedTuple):
    """Row i is scales[i] · normals[labels[i]]; constant neurons, w = 0, have label −1 and scale 0.

    Example:
        >>> p = ShallowReLU([[2], [-3], [0]], [4, -6, 1], [[1, 1, 1]], [0])
        >>> found = arrangement(p)
        >>> found.normals.tolist(), found.labels.tolist(), found.scales.tolist()
        ([[1, 2]], [0, 0, -1], [2, -3, 0])
    """

    normals: Shaped[np.ndarray, "h m1"]
    """(w, b): coprime integers, or floats of 1-norm 1; the first entry that is not zero is positive."""
    labels: Int[np.ndarray, " n"]
    scales: Shaped[np.ndarray, " n"]

    def part(self, chosen: slice | Int[np.ndarray, " _"]) -> "Arrangement":
        """Some of the neurons, among the same hyperplanes."""
        return Arrangement(self.normals, self.labels[chosen], self.scales[chosen])


def arrangement(p: ShallowReLU, tolerance: float = 1e-9) -> Arrangement:
    """The hyperplanes {w·x + b = 0} of a network's neurons, numbered in order of appearance.

    In floats a neuron with ‖w‖₁ ≤ tolerance · ‖(w, b)‖₁ counts as constant.

    Args:
        p: the network, or a module like it.
        tolerance: how far the unit vectors of neurons on one hyperplane may differ in 1-norm; exact networks
            need none.
    """
    rows = as_shallow(p).rows
    return _exact(rows) if is_exact(rows) else _float(rows, tolerance)


def _exact(rows: Numbers) -> Arrangement:
    index: dict[tuple[int, ...], int] = {}
    labels, scales = np.full(len(rows), -1), np.zeros(len(rows), dtype=object)
    for i, row in enumerate(rows.tolist()):
        if any(row[:-1]):
            normal, scales[i] = primitive(row)
            labels[i] = index.setdefault(normal, len(index))
    normals = np.array(list(index), dtype=object).reshape(len(index), rows.shape[1])
    return Arrangement(normals, labels, scales)


def _float(rows: Float[np.ndarray, "n m1"], tolerance: float) -> Arrangement:
    norms = np.concatenate([np.abs(rows[block]).sum(1) for block in _blocks(len(rows))])
    bent = np.flatnonzero(norms - np.abs(rows[:, -1]) > tolerance * norms)
    unit = rows if len(bent) == len(rows) else rows[bent]
    unit /= norms[bent, None]  # the rows are a copy
    groups, first, sign = clusters(unit, tolerance, signed=False)
    normals = unit[first]
    turn = _sign(normals, tolerance)
    normals *= turn[:, None]
    labels, scales = np.full(len(norms), -1), np.zeros(len(norms))
    # a row is norm · sign times the first of its group, and that is turn times the normal
    labels[bent], scales[bent] = groups, norms[bent] * sign * turn[groups]
    return Arrangement(normals, labels, scales)


def _sign(normals: Float[np.ndarray, "h m1"], tolerance: float) -> Float[np.ndarray, " h"]:
    """Signs that make the first entry above the tolerance positive."""
    leading = normals[:, 0].copy()
    small = np.flatnonzero(np.abs(leading) <= tolerance)
    leading[small] = normals[small, (np.abs(normals[small]) > tolerance).argmax(1)]
    return np.where(leading < 0, -1.0, 1.0)


def clusters(
    points: Float[np.ndarray, "n d"], tolerance: float, *, signed: bool = True
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " g"], Float[np.ndarray, " n"]]:
    """Groups of points within `tolerance`, in 1-norm, of the first of their group."""
    n, d = points.shape
    # |x·d| ≤ ‖x‖₁ as |d_j| ≤ 1: what is within the tolerance stays so along every direction
    directions = np.random.default_rng(0).uniform(-1, 1, (d, DIRECTIONS))
    keys = points @ directions
    if not signed:
        keys = np.abs(keys)  # x and −x lie on one hyperplane
    labels = np.zeros(n, dtype=np.int64)
    for key in keys.T:  # a group ends where a neighbour's projection is further off than the tolerance
        order = np.lexsort((key, labels))
        starts = (np.diff(key[order]) > tolerance) | (np.diff(labels[order]) > 0)
        labels[order] = np.concatenate([[0], np.cumsum(starts)]) if n else []
    sign, leaders = np.ones(n), np.full(n, -1)
    while (leaders < 0).any():  # a point too far from the first of its chain starts a group of its own
        left = np.flatnonzero(leaders < 0)
        _, first, inverse = np.unique(labels[left], return_index=True, return_inverse=True)
        leader = left[first][inverse]
        leaders[left[first]] = left[first]
        others = leader != left
        left, leader = left[others], leader[others]
        near = _distance(points, left, leader, 1) <= tolerance
        if not signed:
            turned = np.flatnonzero(~near)
            turned = turned[_distance(points, left[turned], leader[turned], -1) <= tolerance]
            sign[left[turned]], near[turned] = -1.0, True
        leaders[left[near]] = leader[near]
    first, labels = np.unique(leaders, return_inverse=True)
    return labels, first, sign


def _blocks(n: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, max(n, 1), BLOCK)]


def _distance(
    points: Float[np.ndarray, "n d"], i: Int[np.ndarray, " g"], j: Int[np.ndarray, " g"], sign: int
) -> Float[np.ndarray, " g"]:
    """‖x_i − sign · x_j‖₁."""
    blocks = ((points[i[block]], points[j[block]]) for block in _blocks(len(i)))
    return np.concatenate([np.abs(x - y if sign > 0 else x + y).sum(1) for x, y in blocks])
