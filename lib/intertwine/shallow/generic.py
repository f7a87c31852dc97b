"""When the symmetries of H_n are all there are, and the dimension of the fibre otherwise."""

from math import factorial
from typing import NamedTuple

import numpy as np
from torch import nn

from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.canonical_form import CanonicalForm, canonical_in
from intertwine.shallow.configurations import EXHAUSTIVE, configurations
from intertwine.shallow.exact import outer, row_reduce
from intertwine.shallow.hidden_symmetries import hidden_symmetries
from intertwine.shallow.minimal import merged
from intertwine.shallow.relu_network import ShallowReLU, as_shallow


class Genericity(NamedTuple):
    """Whether all networks of this function and width are one free H_n-orbit, and why."""

    generic: bool | None
    """None: undecided."""
    reason: str
    distance: float | None = None
    """σ_min of the matrices λ_i w_iᵀ, where they are independent: ‖Σ_S λ_i w_iᵀ‖ is no less for any S ≠ ∅."""


def is_generic(p: ShallowReLU | nn.Module) -> Genericity:
    """Whether the fibre of p, at its width, is one free H_n-orbit (Theorems 1 and 5, Proposition 24).

    Example:
        >>> is_generic(ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 1]], [0]))
        Genericity(generic=True, reason='the matrices λ_i w_iᵀ are linearly independent', distance=1.0)
        >>> is_generic(
        ...     ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
        ... ).reason
        'hidden symmetries, such as the flip of neurons 0, 1, 2'

    - With 0-factors it is not: their weights can move freely.
    - With every neuron on a hyperplane of its own, it is iff no non-empty S has $Σ_S λ_i w_iᵀ = 0$. If these
      matrices are linearly independent, that is certain, in polynomial time. Otherwise all sets are searched,
      for n ≤ 40.
    - With opposite pairs of neurons all configurations are searched, for up to 7 hyperplanes. For example,
      σ(x) + 2σ(−x) is generic.

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    p = as_shallow(p)
    found = arrangement(p, p.tolerance)
    q = merged(p, found, p.tolerance)
    if q.network.n < p.n:
        return Genericity(False, f"0-factors of rank {p.n - q.network.n}: their weights can move freely")
    form, _ = canonical_in(p, found, p.tolerance)
    # no 0-factors are left, so fewer hyperplanes than neurons means opposite pairs
    if len(form.normals) < p.n:
        return _with_pairs(p, form, q.arrangement)
    hidden = hidden_symmetries(p)
    if hidden.count == 0:
        sums = hidden.sums is not None  # all sets were searched, for the matrices are dependent
        vectors = outer(p.V, p.W).astype(float)
        distance = None if sums else float(np.linalg.svd(vectors, compute_uv=False).min(initial=np.inf))
        return Genericity(True, "none of " + hidden.reason if sums else hidden.reason, distance)
    if hidden.count is None:
        return Genericity(None, hidden.reason)
    S = ", ".join(map(str, next(iter(hidden))))
    return Genericity(False, f"hidden symmetries, such as the flip of neurons {S}")


def _with_pairs(p: ShallowReLU, form: CanonicalForm, at: Arrangement) -> Genericity:
    """No 0-factors, and on some hyperplanes two neurons, on opposite sides."""
    pairs = np.flatnonzero(np.bincount(at.labels, minlength=len(at.normals)) == 2)
    h = len(form.normals)
    # a pair λσ(u) − λσ(−u) = λu is linear, and stays so when u gets another offset
    if h + len(pairs) < p.n:
        reason = "opposite pairs where the function does not bend: their offsets can move freely"
        return Genericity(False, reason)
    if len(row_reduce(at.normals[pairs, :-1], p.tolerance).pivots) < len(pairs):
        reason = "opposite pairs with dependent normals: output weights can move between them"
        return Genericity(False, reason)
    if h > EXHAUSTIVE:
        return Genericity(None, f"opposite pairs among {h} > {EXHAUSTIVE} hyperplanes: undecided")
    known = [each for each in configurations(form, p.tolerance) if each.width <= p.n]
    smallest = min(each.width for each in known)  # p's own configuration is among them
    if smallest < p.n:
        return Genericity(False, f"{smallest} neurons suffice: the others' weights can move freely")
    if len(known) > 1 or len(known[0].left) or known[0].free:
        return Genericity(False, f"{len(known)} configurations of neurons on the same hyperplanes")
    return Genericity(True, f"the only one of {3**h} configurations that has {p.n} neurons")


class Fibre(NamedTuple):
    """All networks of one function and width, as far as known."""

    dimension: int
    components: int | None
    """None: not known."""
    exact: bool
    """Whether the dimension is that of the whole fibre; otherwise a lower bound, of a family through p."""
    reason: str


def fibre(p: ShallowReLU | nn.Module) -> Fibre:
    """Dimension and components of the set of networks with p's function and width.

    Example:
        >>> found = fibre(
        ...     ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])
        ... )
        >>> # two orbits of six components each
        >>> found.dimension, found.components, found.exact
        (3, 12, True)

    If every hyperplane has one neuron, the fibre is made of free H_n-orbits of n! components each: one for p,
    and one for each hidden symmetry. Otherwise the dimension is that of a family through p, a lower bound. In
    it move positive scales, output weights between parallel neurons and between opposite pairs, and weights
    of dead or constant neurons.

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    p = as_shallow(p)
    known = is_generic(p)
    if known.generic:
        return Fibre(p.n, factorial(p.n), True, "one free orbit: " + known.reason)
    found = arrangement(p, p.tolerance)
    q = merged(p, found, p.tolerance)
    if len(np.unique(q.arrangement.labels)) == p.n:
        count = hidden_symmetries(p).count
        orbits = None if count is None else (1 + count) * factorial(p.n)
        return Fibre(p.n, orbits, True, "one free orbit for the empty set and each hidden symmetry")
    return Fibre(_moving(p, found), None, False, known.reason)


def _moving(p: ShallowReLU, found: Arrangement) -> int:
    """The dimension of the family through p."""
    dead = (p.V == 0).all(0)
    constant = (found.labels < 0) & ~dead
    active = ~dead & ~constant
    rays = np.unique(np.stack([found.labels[active], found.scales[active] > 0]), axis=1)
    sides = np.bincount(rays[0], minlength=len(found.normals))
    pairs = np.flatnonzero(sides == 2)
    rank = len(row_reduce(found.normals[pairs, :-1], p.tolerance).pivots)
    # neurons beyond the first of each ray, and dependencies between the normals of pairs
    parallel = int(active.sum()) - rays.shape[1] + len(pairs) - rank
    # a scale of each active neuron; a dead one has λ = 0 and all else free, a constant one w = 0
    return int(active.sum() + dead.sum() * (p.m + 1) + constant.sum() * (p.k + 1) + p.k * parallel)
