"""Minimal forms: what is left without parallel, constant and dead neurons (ramakrishnan2026, Defs. 3–5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intertwine.shallow.arithmetic import TOLERANCE, largest, negligible, reciprocal, sums
from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.canonical import lexicographic
from intertwine.shallow.network import ShallowReLU


class Merged(NamedTuple):
    """A network without 0-factors, and where its neurons lie: hyperplane and side."""

    network: ShallowReLU
    arrangement: Arrangement


def merged(p: ShallowReLU, found: Arrangement, tolerance: float) -> Merged:
    """Constants into c, parallel neurons into the first of them, whose scale stays; zeros dropped."""
    live = np.flatnonzero(found.labels >= 0)
    labels, scales = found.labels[live], found.scales[live]
    _, first, ray = np.unique(2 * labels + (scales < 0), return_index=True, return_inverse=True)
    A2 = p.A2[:, live] * np.abs(scales)
    total = sums(A2, ray, len(first))
    kept = np.flatnonzero(~negligible(largest(total), sums(largest(A2)[None], ray, len(first))[0], tolerance))
    kept = kept[np.argsort(first[kept])]
    chosen = live[first[kept]]
    columns = total[:, kept] * reciprocal(np.abs(found.scales[chosen]))
    constant = np.flatnonzero(found.labels < 0)
    b2 = p.b2 + p.A2[:, constant] @ np.maximum(p.b1[constant], 0)
    network = ShallowReLU(columns, p.A1[chosen], p.b1[chosen], b2)
    return Merged(network, found.part(chosen))


def zero_factor_rank(p: ShallowReLU, tolerance: float = TOLERANCE) -> int:
    """How many neurons are 0-factors, which the minimal form does without (Definition 4).

    Example:
        >>> zero_factor_rank(ShallowReLU([[1, 2, 0]], [[1], [2], [3]], [1, 2, 1], [0]))  # parallel, dead
        2

    Args:
        p: a network.
        tolerance: in floats, when neurons are parallel, constant or dead.
    """
    return p.n - merged(p, arrangement(p, tolerance), tolerance).network.n


def zero_factor_reduction(p: ShallowReLU, tolerance: float = TOLERANCE) -> ShallowReLU:
    """The minimal form without its 0-factors (Definition-Lemma 5): the same function, p.n − rank neurons.

    Example:
        >>> q = zero_factor_reduction(ShallowReLU([[1, 2, 3]], [[1], [2], [0]], [1, 2, 1], [0]))
        >>> q.rows.tolist(), q.A2.tolist() == [[5]], q.b2.tolist()
        ([[1, 1]], True, [3])

    Rows (w, b) are coprime integers, or of 1-norm 1 in floats, in lexicographic order. Of exact networks the
    result depends on the class of Definition 3 alone. In floats it does up to rounding, which may also swap
    rows whose first entries differ by rounding only.

    Args:
        p: a network; of several outputs, λ_i is a vector.
        tolerance: in floats, when neurons are parallel, constant or dead.
    """
    network, found = merged(p, arrangement(p, tolerance), tolerance)
    normals = found.normals[found.labels] * np.where(found.scales < 0, -1, 1)[:, None]
    order = lexicographic(normals)
    rows, A2 = normals[order], (network.A2 * np.abs(found.scales))[:, order]
    return ShallowReLU(A2, rows[:, :-1], rows[:, -1], network.b2)


def minimal_form(p: ShallowReLU, tolerance: float = TOLERANCE) -> ShallowReLU:
    """The minimal form (Definition 3): the 0-factor reduction, filled up with zero neurons to p's width.

    Example:
        >>> minimal_form(ShallowReLU([[1, 2]], [[1], [2]], [1, 2], [0])).rows.tolist()
        [[1, 1], [0, 0]]

    Args:
        p: a network.
        tolerance: as in `zero_factor_reduction`.
    """
    q = zero_factor_reduction(p, tolerance)
    A2, A1, b1 = (np.zeros_like(array) for array in (p.A2, p.A1, p.b1))
    A2[:, : q.n], A1[: q.n], b1[: q.n] = q.A2, q.A1, q.b1
    return ShallowReLU(A2, A1, b1, q.b2)
