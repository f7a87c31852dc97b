"""Minimal forms, without parallel, constant and dead neurons (ramakrishnan2026, Definitions 3–5)."""

from typing import NamedTuple

import numpy as np
from torch import nn

from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.canonical_form import lexicographic
from intertwine.shallow.exact import largest, negligible, reciprocal, sums
from intertwine.shallow.moves import difference
from intertwine.shallow.relu_network import ShallowReLU, as_shallow, from_rows


class Merged(NamedTuple):
    """A network without 0-factors, and where its neurons lie: hyperplane and side."""

    network: ShallowReLU
    arrangement: Arrangement


def merged(p: ShallowReLU, found: Arrangement, tolerance: float) -> Merged:
    """The network without its 0-factors, and its neurons in the arrangement.

    Constant neurons go into c. Parallel neurons on one side of a hyperplane become the first of them, with
    its scale. Neurons whose output weight is then zero are left out.
    """
    active = np.flatnonzero(found.labels >= 0)
    labels, scales = found.labels[active], found.scales[active]
    # a ray is one side of one hyperplane: neurons on it are positive multiples of each other
    _, first, ray = np.unique(2 * labels + (scales < 0), return_index=True, return_inverse=True)
    V = p.V[:, active] * np.abs(scales)  # as if all rows had the scale 1, so that weights can be added
    total = sums(V, ray, len(first))
    rays = np.flatnonzero(~negligible(largest(total), sums(largest(V)[None], ray, len(first))[0], tolerance))
    rays = rays[np.argsort(first[rays])]  # in the order of the network
    chosen = active[first[rays]]
    columns = total[:, rays] * reciprocal(np.abs(found.scales[chosen]))
    constant = np.flatnonzero(found.labels < 0)  # λσ(b) for all x
    c = p.c + p.V[:, constant] @ np.maximum(p.b[constant], 0)
    # what is merged was equal up to the tolerance of p
    network = ShallowReLU(p.W[chosen], p.b[chosen], columns, c, tolerance=p.tolerance)
    return Merged(network, found.part(chosen))


def zero_factor_rank(p: ShallowReLU | nn.Module) -> int:
    """How many neurons are 0-factors, which the minimal form drops (Definition 4).

    Example:
        >>> # parallel, dead
        >>> zero_factor_rank(ShallowReLU([[1], [2], [3]], [1, 2, 1], [[1, 2, 0]], [0]))
        2

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    p = as_shallow(p)
    return p.n - merged(p, arrangement(p, p.tolerance), p.tolerance).network.n


def zero_factor_reduction(p: ShallowReLU | nn.Module) -> ShallowReLU:
    """The minimal form without its 0-factors (Definition-Lemma 5): the same function, p.n − rank neurons.

    Example:
        >>> q = zero_factor_reduction(
        ...     ShallowReLU([[1], [2], [0]], [1, 2, 1], [[1, 2, 3]], [0])
        ... )
        >>> q.rows.tolist(), q.V.tolist() == [[5]], q.c.tolist()
        ([[1, 1]], True, [3])

    Rows (w, b) are coprime integers, or of 1-norm 1 in floats, in lexicographic order. So the result depends
    on the class of Definition 3 alone, in floats up to rounding.

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    p = as_shallow(p)
    network, found = merged(p, arrangement(p, p.tolerance), p.tolerance)
    # the scale of each row goes into its output weight
    normals = found.normals[found.labels] * np.where(found.scales < 0, -1, 1)[:, None]
    order = lexicographic(normals, p.tolerance)
    return from_rows(normals[order], (network.V * np.abs(found.scales))[:, order], network.c, p.tolerance)


def minimal_form(p: ShallowReLU | nn.Module) -> ShallowReLU:
    """The minimal form (Definition 3): the 0-factor reduction, filled up with zero neurons to p's width.

    Example:
        >>> minimal_form(ShallowReLU([[1], [2]], [1, 2], [[1, 2]], [0])).rows.tolist()
        [[1, 1], [0, 0]]

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    p = as_shallow(p)
    q = zero_factor_reduction(p)
    rows, V = np.zeros_like(p.rows), np.zeros_like(p.V)
    rows[: q.n], V[:, : q.n] = q.rows, q.V
    return from_rows(rows, V, q.c, p.tolerance)


class DifferenceReduction(NamedTuple):
    """What is left of θ ⊖ θ' when it is reduced."""

    empty: bool
    """No neuron, and the constant 0, for every output: the minimal forms agree (Lemma 17)."""
    vanishes: bool
    """Empty, or pairs λσ(z), −λσ(−z) whose terms λz add up to 0 with the constant (Theorems 3 and 4)."""


def reduce_difference(p: ShallowReLU, q: ShallowReLU) -> DifferenceReduction:
    """Lemma 17, Theorems 3 and 4 as they are written, for exact networks; `same_function` needs no pairs.

    Example:
        >>> p = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
        >>> q = ShallowReLU([[-1, 0], [0, -1], [1, 1]], [0, 0, -1], [[1, 1, 1]], [1])
        >>> reduce_difference(p, q)
        DifferenceReduction(empty=False, vanishes=True)

    Args:
        p, q: exact networks, of integers and fractions, with the same inputs and outputs; widths may differ.

    Raises:
        ValueError: a network of floats.
    """
    d = difference(p, q)
    if not d.exact:
        raise ValueError("Expected integers and fractions, was given floats: use `same_function`.")
    # the theorems are on one output, so each is reduced by itself
    left = [zero_factor_reduction(ShallowReLU(d.W, d.b, d.V[[j]], d.c[[j]])) for j in range(d.k)]
    return DifferenceReduction(all(r.n == 0 and r.c[0] == 0 for r in left), all(map(_vanishes, left)))


def _vanishes(r: ShallowReLU) -> bool:
    """Whether a reduction is 0 as a function: all neurons in pairs λσ(z) − λσ(−z), whose λz cancel."""
    # rows are coprime integers: the other neuron of a pair has the row −z itself, not a multiple
    weights = {tuple(row): weight for row, weight in zip(r.rows.tolist(), r.V[0], strict=True)}
    paired = all(weights.get(tuple(-x for x in row)) == -weight for row, weight in weights.items())
    twice = r.V[0] @ r.rows  # λz, from either neuron of a pair
    return bool(paired and (twice[:-1] == 0).all() and twice[-1] + 2 * r.c[0] == 0)
