"""The form that decides equality without a search: f = Σ_H γ_H |u_H| + Lx + e, over H with γ_H ≠ 0.

λσ(u) = λ(|u| + u)/2. The |u_H| of distinct hyperplanes are linearly independent modulo affine functions, so
two networks are the same function iff their γ, L and e agree.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, Shaped
from torch import nn

from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.exact import Numbers, half, largest, negligible, numbers, sums
from intertwine.shallow.relu_network import ShallowReLU, as_shallow


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """γ, L and e: a function has one such form. Hyperplanes are in lexicographic order of their normals."""

    normals: Shaped[np.ndarray, "h m1"]
    """(w, b) of each hyperplane, as `Arrangement.normals`."""
    gamma: Shaped[np.ndarray, "k h"]
    L: Shaped[np.ndarray, "k m"]
    e: Shaped[np.ndarray, " k"]

    def __call__(self, x: object) -> Numbers:
        """The outputs, (..., k), for inputs (..., m)."""
        x = numbers(x, "inputs")
        if x.shape[-1:] != self.L.shape[1:]:
            raise ValueError(f"Expected inputs (..., {self.L.shape[1]}), was given {x.shape}.")
        u = np.abs(x @ self.normals[:, :-1].T + self.normals[:, -1])
        return u @ self.gamma.T + x @ self.L.T + self.e


class Invariants(NamedTuple):
    """γ, L and e of a network in a given arrangement, zeros included, and sizes to measure rounding by."""

    gamma: Shaped[np.ndarray, "k h"]
    gamma_size: Shaped[np.ndarray, " h"]
    L: Shaped[np.ndarray, "k m"]
    e: Shaped[np.ndarray, " k"]
    size: Any
    """Σ ‖λ_i‖ ‖(w_i, b_i)‖ + ‖c‖: the size of the function's terms, where inputs are of order 1."""

    def discrepancy(self) -> float:
        """How far from zero the function is: 0 for exact zero, else relative to the sizes."""
        with np.errstate(invalid="ignore", divide="ignore"):
            bends = largest(self.gamma).astype(float) / self.gamma_size.astype(float)
            rest = [float(np.abs(part).max(initial=0)) / float(self.size or 1) for part in (self.L, self.e)]
        return max(float(np.nan_to_num(bends).max(initial=0)), *rest)


def invariants(p: ShallowReLU, found: Arrangement) -> Invariants:
    """γ, L and e of p, and their sizes, in an arrangement that contains p's hyperplanes."""
    # constant neurons, with label −1, bend nowhere: they count for e alone
    active = found.labels >= 0
    labels, h, V = found.labels[active], len(found.normals), p.V[:, active]
    scales = np.abs(found.scales[active])
    sizes = half(largest(V) * scales)
    gamma_size = sums(sizes[None], labels, h)[0]
    if p.exact:  # in floats normals have norm 1
        sizes = sizes * np.abs(found.normals).sum(1)[labels]
    # λσ(u) = λ|u|/2 + λu/2: the first half makes γ, the second L and e
    bending = np.where(active, p.V, 0)
    constant = p.c + p.V[:, ~active] @ np.maximum(p.b[~active], 0)  # w = 0: λσ(b)
    rest = (largest(p.V[:, ~active]) * np.abs(p.b[~active])).sum()
    return Invariants(
        gamma=half(sums(V * scales, labels, h)),
        gamma_size=gamma_size,
        L=half(bending @ p.W),
        e=constant + half(bending @ p.b),
        size=sizes.sum() + largest(p.c[:, None])[0] + rest,
    )


def canonical_form(p: ShallowReLU | nn.Module) -> CanonicalForm:
    """The canonical form of a network's function: equal functions have equal forms, and only they.

    Example:
        >>> form = canonical_form(
        ...     ShallowReLU([[1], [-1], [1]], [0, 0, 1], [[1, -1, 2]], [0])
        ... )
        >>> form.normals.tolist()  # σ(x) − σ(−x) = x bends nowhere
        [[1, 1]]
        >>> (
        ...     form.gamma.tolist() == [[1]],
        ...     form.L.tolist() == [[2]],
        ...     form.e.tolist() == [1],
        ... )
        (True, True, True)

    The function is $f = Σ_H γ_H |u_H| + Lx + e$ over hyperplanes H, with $u_H = n_H·x + b_H$. In floats,
    forms of equal functions agree up to rounding.

    Source: beyond ramakrishnan2026; it decides their Theorems 3 and 4 in time O(nm(k + log n)).

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.

    See Also:
        `same_function` compares two functions, `compress` makes a small network of a form.
    """
    p = as_shallow(p)
    return canonical_in(p, arrangement(p, p.tolerance), p.tolerance)[0]


def canonical_in(
    p: ShallowReLU, found: Arrangement, tolerance: float
) -> tuple[CanonicalForm, Int[np.ndarray, " h"]]:
    """The canonical form, and the labels of its hyperplanes in p's arrangement."""
    parts = invariants(p, found)
    # hyperplanes where the neurons' weights cancel are none of the function
    bent = np.flatnonzero(~negligible(largest(parts.gamma), parts.gamma_size, tolerance))
    bent = bent[lexicographic(found.normals[bent], tolerance)]
    terms = half(np.abs(np.where(found.labels >= 0, p.V, 0)) @ np.abs(p.W))  # L sums these, with signs
    L = np.where(negligible(parts.L, terms, tolerance), 0 * parts.L, parts.L)
    return CanonicalForm(found.normals[bent], parts.gamma[:, bent], L, parts.e), bent


def lexicographic(rows: Shaped[np.ndarray, "n d"], tolerance: float = 0.0) -> Int[np.ndarray, " n"]:
    """The order that sorts rows by their first entry, then the second, and so on.

    Floats whose neighbours differ by at most `tolerance` are ties, so that the next entry decides.
    """
    if rows.dtype == object:
        return np.array(sorted(range(len(rows)), key=lambda i: tuple(rows[i])), dtype=np.int64)
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(rows[:, 0])  # decides nearly all: d keys for the rest only
    equal = np.diff(rows[order, 0]) <= tolerance
    ties = np.r_[False, equal] | np.r_[equal, False]
    tied = rows[order[ties]]
    ranks = np.zeros(tied.shape, dtype=np.int64)
    for column, rank in zip(tied.T, ranks.T, strict=True):
        ascending = np.argsort(column)
        rank[ascending[1:]] = np.cumsum(np.diff(column[ascending]) > tolerance)
    # the entries themselves come last, for rows that tie in all ranks
    order[ties] = order[ties][np.lexsort(np.hstack([ranks, tied]).T[::-1])]
    return order


def is_affine(p: ShallowReLU | nn.Module) -> bool:
    """Whether the function is affine (Proposition 14): all neurons cancel or pair up to σ(z) − σ(−z) = z.

    Example:
        >>> is_affine(ShallowReLU([[2], [-1]], [2, -1], [[1, -2]], [0]))
        True

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    return canonical_form(p).gamma.shape[1] == 0
