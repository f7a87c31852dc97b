"""The same function with fewer neurons, how few there can be, and how near a network is to having fewer."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from torch import nn

from intertwine.shallow.arrangement import arrangement
from intertwine.shallow.canonical_form import CanonicalForm, canonical_in
from intertwine.shallow.configurations import EXHAUSTIVE, configuration, configurations, realised
from intertwine.shallow.exact import Numbers, half, largest, outer, reciprocal
from intertwine.shallow.minimal import merged
from intertwine.shallow.relu_network import ShallowReLU, as_shallow
from intertwine.shallow.subsets import MOST_VECTORS, subset_sums

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


class Compression(NamedTuple):
    """A network of the same function, and bounds of the smallest width."""

    network: ShallowReLU
    hyperplanes: int
    """h: where the function bends; no network of it has fewer neurons."""
    lower_bound: int
    reason: str
    """Why no network can have fewer neurons than that."""
    degeneracy: Degeneracy
    """How near the network is to smaller ones with nearly its function."""

    @property
    def optimal(self) -> bool:
        """Whether no network of this function is smaller."""
        return self.network.n == self.lower_bound


def compress(p: ShallowReLU | nn.Module) -> Compression:
    """The same function with as few neurons as can be found, and a lower bound.

    Example:
        >>> p = ShallowReLU(
        ...     [[1], [2], [5], [3], [-3]], [1, 2, 0, 0, 0], [[1, 2, 0, 1, -1]], [0]
        ... )
        >>> small = compress(p)  # 5σ(x+1) + 3x
        >>> small.network.n, small.hyperplanes, small.optimal, small.reason
        (2, 1, True, 'no choice of sides does with 1')

    Let the function bend at h hyperplanes. Each needs a neuron, so h is a lower bound.

    - Whether h or h + 1 neurons suffice is a partition problem. It is solved for h ≤ 40, where h + 1 takes up
      to a minute.
    - With one output, h + 2 always suffice (2 if h = 0).
    - With several outputs all configurations are searched for h ≤ 7. For more hyperplanes the gap between
      both bounds remains open if h + 1 do not suffice.

    Nearly parallel neurons are not merged.

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.

    See Also:
        `degeneracy` says how near to smaller a network is; `canonical_form` counts the hyperplanes.
    """
    p = as_shallow(p)
    tolerance = p.tolerance
    found = arrangement(p, tolerance)
    form, bent = canonical_in(p, found, tolerance)
    h, k = len(form.normals), p.k
    at = merged(p, found, tolerance).arrangement
    # the sides on which p itself has neurons are a good first choice
    up, down = (np.isin(bent, at.labels[side]) for side in (at.scales > 0, at.scales < 0))
    hint = up.astype(np.int64) - down  # the side that carries a neuron, 0 where both do
    options = [np.where(hint == 0, 1, hint), hint]
    best = min((configuration(form, signs, tolerance) for signs in options), key=lambda each: each.width)
    # where nothing bends there is one configuration: two neurons for each rank of L
    bound, reason = h + 2 * len(best.left) * (h == 0), "the function bends at as many hyperplanes"
    if bound < best.width and h <= EXHAUSTIVE and k > 1:
        best = min(configurations(form, tolerance), key=lambda each: each.width)
        bound, reason = best.width, f"all {3**h} configurations have as many"
    for pairs in (0, 1):  # hyperplanes with a neuron on both sides
        if bound == best.width or h + pairs < bound:
            continue
        signs, complete = _one_pair(form, p.rounding) if pairs else _no_pair(form, hint, p.rounding)
        if signs is not None:
            best = min(best, configuration(form, signs, tolerance), key=lambda each: each.width)
        if not complete:
            break
        if best.width > h + pairs:
            bound, reason = h + pairs + 1, f"no choice of sides does with {h + pairs}"
    small = replace(realised(form, best), tolerance=tolerance)  # neurons were merged up to it
    return Compression(small, h, bound, reason, degeneracy(p))


Signs = Int[np.ndarray, " h"] | None


def _no_pair(form: CanonicalForm, hint: Int[np.ndarray, " h"], rounding: float) -> tuple[Signs, bool]:
    """Signs for which no linear part remains, and whether the search was complete."""
    # of more, only those of which the given network has neurons on both sides
    free = np.ones(len(hint), dtype=bool) if len(hint) <= MOST_VECTORS else hint == 0
    if free.sum() > MOST_VECTORS:
        return None, False
    vectors, target = _partition(form, np.ones(len(hint), dtype=bool), form.normals[:, :-1], form.L)
    left = target - vectors[~free & (hint > 0)].sum(0)
    S = next(iter(subset_sums(vectors[free], left, rounding)), None)
    if S is None:
        return None, bool(free.all())
    signs = hint.copy()
    signs[free] = -1
    signs[np.flatnonzero(free)[list(S)]] = 1
    return signs, True


def _one_pair(form: CanonicalForm, rounding: float) -> tuple[Signs, bool]:
    """The same with a pair on one hyperplane: no linear part may remain modulo its normal."""
    h = len(form.normals)
    if h > MOST_VECTORS:
        return None, False
    for pair in range(h):
        w = form.normals[pair, :-1]
        j = int(np.argmax(np.abs(w)))

        def modulo(rows: Numbers, w: Numbers = w, j: int = j) -> Numbers:
            # coordinates of the rows modulo w: a multiple of w makes entry j 0, and entry j is left out
            return np.delete(rows - rows[:, [j]] * (w * reciprocal(w[[j]])), j, axis=1)

        others = np.arange(h) != pair
        signs = -others.astype(np.int64)  # 0 for the pair; others change sides below
        vectors, target = _partition(form, others, modulo(form.normals[:, :-1]), modulo(form.L))
        S = next(iter(subset_sums(vectors, target, rounding)), None) if vectors.size else ()
        if S is not None:
            signs[np.flatnonzero(others)[list(S)]] = 1
            return signs, True
    return None, True


def _partition(
    form: CanonicalForm, chosen: Bool[np.ndarray, " h"], w: Numbers, L: Numbers
) -> tuple[Numbers, Numbers]:
    """Vectors and a target: signs + on S and − off S leave nothing of L iff Σ_S v_H = target."""
    vectors = outer(2 * form.gamma[:, chosen], w[chosen])
    return vectors, L.reshape(-1) + half(vectors).sum(0)


def degeneracy(p: ShallowReLU | nn.Module) -> Degeneracy:
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

    Args:
        p: the network, or `nn.Sequential(Linear, ReLU, Linear)`.
    """
    p = as_shallow(p)
    q = merged(p, arrangement(p, p.tolerance), p.tolerance).network.float()
    if not q.n:
        return Degeneracy(np.nan, (), np.nan, -1, np.nan, -1)
    sizes = largest(q.rows.T)  # of which no power under- or overflows below
    rows, V = q.rows / sizes[:, None], q.V * sizes
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows / lengths[:, None]
    strength = np.linalg.norm(V, axis=0) * lengths
    flat = np.linalg.norm(unit[:, :-1], axis=1)
    pair: tuple[int, ...] = ()
    best = -1.0
    for start in range(0, q.n, ROWS_AT_ONCE):  # the largest cosine of all pairs, block by block
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
