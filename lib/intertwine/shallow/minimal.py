"""Minimal forms, without parallel, constant and dead neurons (ramakrishnan2026, Definitions 3–5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.canonical_form import lexicographic
from intertwine.shallow.exact import TOLERANCE, largest, negligible, reciprocal, sums
from intertwine.shallow.relu_network import ShallowReLU, from_rows


class Merged(NamedTuple):
    """A network without 0-factors, and where its neurons lie: hyperplane and side."""

    network: ShallowReLU
    arrangement: Arrangement


def merged(p: ShallowReLU, found: Arrangement, tolerance: float) -> Merged:
    """Constants into c, parallel neurons into the first of them, whose scale stays; zeros dropped."""
    active = np.flatnonzero(found.labels >= 0)
    labels, scales = found.labels[active], found.scales[active]
    _, first, ray = np.unique(2 * labels + (scales < 0), return_index=True, return_inverse=True)
    V = p.V[:, active] * np.abs(scales)
    total = sums(V, ray, len(first))
    rays = np.flatnonzero(~negligible(largest(total), sums(largest(V)[None], ray, len(first))[0], tolerance))
    rays = rays[np.argsort(first[rays])]
    chosen = active[first[rays]]
    columns = total[:, rays] * reciprocal(np.abs(found.scales[chosen]))
    constant = np.flatnonzero(found.labels < 0)
    c = p.c + p.V[:, constant] @ np.maximum(p.b[constant], 0)
    return Merged(ShallowReLU(p.W[chosen], p.b[chosen], columns, c), found.part(chosen))


def zero_factor_rank(p: ShallowReLU, tolerance: float = TOLERANCE) -> int:
    """How many neurons are 0-factors, which the minimal form drops (Definition 4).

    Example:
        >>> zero_factor_rank(ShallowReLU([[1], [2], [3]], [1, 2, 1], [[1, 2, 0]], [0]))  # parallel, dead
        2
    """
    return p.n - merged(p, arrangement(p, tolerance), tolerance).network.n


def zero_factor_reduction(p: ShallowReLU, tolerance: float = TOLERANCE) -> ShallowReLU:
    """The minimal form without its 0-factors (Definition-Lemma 5): the same function, p.n − rank neurons.

    Example:
        >>> q = zero_factor_reduction(ShallowReLU([[1], [2], [0]], [1, 2, 1], [[1, 2, 3]], [0]))
        >>> q.rows.tolist(), q.V.tolist() == [[5]], q.c.tolist()
        ([[1, 1]], True, [3])

    Rows (w, b) are coprime integers, or of 1-norm 1 in floats, in lexicographic order. Of exact networks the
    result depends on the class of Definition 3 alone. In floats it does up to rounding, which may also swap
    rows whose first entries differ by rounding only.
    """
    network, found = merged(p, arrangement(p, tolerance), tolerance)
    normals = found.normals[found.labels] * np.where(found.scales < 0, -1, 1)[:, None]
    order = lexicographic(normals)
    return from_rows(normals[order], (network.V * np.abs(found.scales))[:, order], network.c)


def minimal_form(p: ShallowReLU, tolerance: float = TOLERANCE) -> ShallowReLU:
    """The minimal form (Definition 3): the 0-factor reduction, filled up with zero neurons to p's width.

    Example:
        >>> minimal_form(ShallowReLU([[1], [2]], [1, 2], [[1, 2]], [0])).rows.tolist()
        [[1, 1], [0, 0]]
    """
    q = zero_factor_reduction(p, tolerance)
    rows, V = np.zeros_like(p.rows), np.zeros_like(p.V)
    rows[: q.n], V[:, : q.n] = q.rows, q.V
    return from_rows(rows, V, q.c)
