"""Are two networks the same function? Yes with the symmetry between them, or no with an input as witness."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Shaped
from torch import Tensor, nn

from intertwine.shallow.arrangement import Arrangement, arrangement
from intertwine.shallow.canonical_form import Invariants, invariants
from intertwine.shallow.exact import ROUNDING, TOLERANCE, Numbers, largest, negligible, reciprocal, sums
from intertwine.shallow.minimal import Merged, merged
from intertwine.shallow.moves import difference, monomial_matrix, moved
from intertwine.shallow.relu_network import ShallowReLU, as_shallow


@dataclass(frozen=True, eq=False)
class Symmetry:
    """How one network becomes another with the same function: reduce, transfer, then an element of H_n.

    1. Reduce: 0-factors are left out.
    2. Transfer: a part δ ∈ R^k of an output weight moves from σ(u) to σ(−u). Since σ(u) = σ(−u) + u, this
       leaves the function unchanged iff Σ δ wᵀ = 0 over all transfers, and c absorbs Σ δ b. A transfer of a
       neuron's whole weight is a flip. A weight may be 0 before or after, so that an opposite pair can leave
       one hyperplane for a parallel one.
    3. An element of H_n permutes and scales the neurons.
    """

    p: ShallowReLU
    """The first network without its 0-factors, with order and scales as given."""
    q: ShallowReLU
    """The second, likewise."""
    flips: tuple[int, ...]
    """Neurons of `p` that change sides as a whole."""
    normals: Shaped[np.ndarray, "t m1"]
    """(w, b) of the hyperplanes where output weight moves, flips included."""
    transfers: Shaped[np.ndarray, "k t"]
    """Output weight that moves from σ(w·x + b) to σ(−w·x − b)."""
    permutation: Int[np.ndarray, " n"]
    scales: Shaped[np.ndarray, " n"]
    """Neuron i of `q` is scales[i] times neuron permutation[i] of `p` after the transfers."""
    tolerance: float
    """That `same_function` compared with."""

    @property
    def element(self) -> Numbers | Tensor:
        """The matrix that acts last: `act(transferred p, element)` is `q`."""
        return monomial_matrix(self.permutation, self.scales)

    def image(self) -> ShallowReLU:
        """`q`, computed from `p` by the symmetry: equal for exact networks, up to rounding for floats."""
        r = transferred(self.p, self.normals, self.transfers, self.tolerance)
        return replace(moved(r, self.permutation, self.scales), tolerance=self.q.tolerance)


class Witness(NamedTuple):
    """An input with both outputs."""

    x: Shaped[np.ndarray, " m"]
    p: Shaped[np.ndarray, " k"]
    q: Shaped[np.ndarray, " k"]


@dataclass(frozen=True, eq=False)
class Equality:
    """The answer of `same_function`."""

    equal: bool | None
    """None: undecided at this tolerance."""
    tolerance: float
    """0 for exact networks."""
    discrepancy: float
    """The largest part of the difference's canonical form, relative to the terms that it is a sum of."""
    symmetry: Symmetry | None = None
    """From the one to the other, if they are equal."""
    witness: Witness | None = None
    """An input where they differ, and both outputs, if they are not."""

    def __bool__(self) -> bool:
        raise TypeError("Expected a use of `.equal`, which is True, False or None, not of the whole answer.")


def same_function(p: ShallowReLU | nn.Module, q: ShallowReLU | nn.Module) -> Equality:
    """Whether two networks, of any widths, are the same function (ramakrishnan2026, Theorems 3 and 4).

    Example:
        >>> p = ShallowReLU([[1], [-1]], [0, 0], [[1, 1]], [0])
        >>> same_function(
        ...     p, ShallowReLU([[-1], [3], [1]], [0, 0, 0], [[1, 1, -2]], [0])
        ... ).equal
        True
        >>> # |x| is not σ(x)
        >>> no = same_function(p, ShallowReLU([[1]], [0], [[1]], [0]))
        >>> no.equal, no.witness.x < 0
        (False, array([ True]))

    Exact networks get an exact answer. For floats the canonical form of the difference decides:

    - Equal: γ_H of every hyperplane is zero to within the tolerance of the output weights that it sums, and L
      and e are zero to within the tolerance of all. The tolerance is the smaller of both networks' own:
      10⁻⁹, and 10⁻⁶ for two float32 modules, whose numbers are known no better; 0.008 for float16 and 0.06
      for bfloat16, so that changes of some per cent of the outputs count as equal.
    - Not equal: they differ by more, and an input was found where the outputs differ beyond the rounding of
      evaluation.
    - Undecided: anything else.

    Inputs are taken to be of order 1.

    Args:
        p, q: networks, or modules that `ShallowReLU.from_module` takes, with the same inputs and outputs.

    Returns:
        `equal` is True, with the `symmetry` between the networks; False, with a `witness`, an input where
        they differ; or None where it is undecided at this tolerance.

    See Also:
        `canonical_form`, where many networks are compared; `same_network` for networks that are not shallow.
    """
    p, q = as_shallow(p), as_shallow(q)
    tolerance = min(p.tolerance, q.tolerance)
    d = difference(p, q)
    found = arrangement(d, tolerance)
    parts = invariants(d, found)
    size = np.asarray(parts.size)
    # p = q iff the difference has γ = 0, L = 0 and e = 0
    zero = [
        negligible(largest(parts.gamma), parts.gamma_size, tolerance),
        negligible(parts.L, size, tolerance),
        negligible(parts.e, size, tolerance),
    ]
    facts = (0.0 if d.exact else tolerance, parts.discrepancy())
    if all(each.all() for each in zero):
        p, q = (p, q) if d.exact else (p.float(), q.float())
        first = merged(p, found.part(slice(p.n)), tolerance)
        # in the arrangement of the difference, where a hyperplane has one number for both networks
        second = merged(q, found.part(slice(p.n, None)), tolerance)
        symmetry = _symmetry(first, second, tolerance)
        return Equality(True if symmetry else None, *facts, symmetry=symmetry)
    x = _nonzero_at(d, found, parts, np.abs(p.c) + np.abs(q.c))
    if x is None:
        return Equality(None, *facts)
    return Equality(False, *facts, witness=Witness(x, p(x), q(x)))


def transferred(
    p: ShallowReLU,
    normals: Shaped[np.ndarray, "t m1"],
    transfers: Shaped[np.ndarray, "k t"],
    tolerance: float = TOLERANCE,
) -> ShallowReLU:
    """Output weight δ moved from σ(u) to σ(−u), and Σ δ b into c: the same function iff Σ δ wᵀ = 0.

    The rows of `normals` are (w, b) of hyperplanes, the columns of `transfers` δ of each. The result has no
    0-factors.
    """
    if not len(normals):
        return merged(p, arrangement(p, tolerance), tolerance).network
    V = np.hstack([-transfers, transfers])
    r = p.extended(np.vstack([normals, -normals]), V, p.c + transfers @ normals[:, -1])
    return merged(r, arrangement(r, tolerance), tolerance).network


def _symmetry(first: Merged, second: Merged, tolerance: float) -> Symmetry | None:
    """The symmetry between reductions in one arrangement; None if rounding hides it."""
    h = len(first.arrangement.normals)
    ups, sizes = [], []  # weights of σ(u), without σ(−u), on each hyperplane, and their sizes
    for net, at in (first, second):
        V = net.V * np.abs(at.scales)
        ups.append(sums(V * (at.scales > 0), at.labels, h))
        sizes.append(sums(largest(V)[None], at.labels, h)[0])
    delta = ups[0] - ups[1]  # γ agrees, so what one has more on σ(u) it has less on σ(−u)
    moves = ~negligible(largest(delta), sizes[0] + sizes[1], tolerance)
    alone = [np.bincount(at.labels, minlength=h) == 1 for _, at in (first, second)]
    (p, at_r), (q, at_q) = first, second
    flips = tuple(np.flatnonzero((moves & alone[0] & alone[1])[at_r.labels]).tolist())
    normals, transfers = at_r.normals[moves], delta[:, moves]
    r = p
    if moves.any():  # the transfers may add hyperplanes' other sides, so neurons are arranged anew
        r = transferred(p, normals, transfers, tolerance)
        both = arrangement(difference(r, q), tolerance)
        at_r, at_q = both.part(slice(r.n)), both.part(slice(r.n, None))
    # a hyperplane has two sides: a number for each
    rays = [2 * at.labels + (at.scales < 0) for at in (at_r, at_q)]
    order = [np.argsort(ray) for ray in rays]
    if not np.array_equal(rays[0][order[0]], rays[1][order[1]]):
        return None
    permutation = np.empty(q.n, dtype=np.int64)
    # neurons with the same rank among the rays correspond
    permutation[order[1]] = order[0]
    scales = np.abs(at_q.scales) * reciprocal(np.abs(at_r.scales[permutation]))
    return Symmetry(p, q, flips, normals, transfers, permutation, scales, tolerance)


def _nonzero_at(
    d: ShallowReLU, found: Arrangement, parts: Invariants, c: Shaped[np.ndarray, " k"]
) -> Numbers | None:
    """An input where d, with its arrangement and invariants, is not zero beyond rounding, if one is found.

    Of an exact network, with invariants that are not all zero, there always is one. In floats the bound on
    the rounding of both networks' values is rigorous: (m + 8) ε (Σ |λ_i| ‖(w_i, b_i)‖₁ max(1, ‖x‖_∞) + c);
    c, the sum of their |c|, does not cancel as d's own may.
    """
    candidates = _candidates(d, found, parts)
    if d.exact:
        return next((x for x in candidates if any(d(x))), None)
    lengths = np.where(found.labels < 0, 2 * np.abs(d.b), np.abs(found.scales))  # ‖(w, b)‖₁ at most
    scale = np.abs(d.V) @ lengths
    for x in candidates:
        terms = np.column_stack([d.V * np.maximum(d.W @ x + d.b, 0), d.c])
        values = np.abs([fsum(row) for row in terms.tolist()])  # fsum does not round
        reach = max(1.0, float(np.abs(x).max(initial=0)))
        if (values > (d.m + 8) * np.finfo(np.float64).eps * (scale * reach + c)).any():
            return x
    return None


def _candidates(d: ShallowReLU, found: Arrangement, parts: Invariants) -> Iterator[Numbers]:
    """Points around a hyperplane where d bends, on either side and on it: d cannot vanish on all three."""
    random = np.random.default_rng(0)
    bends = largest(parts.gamma)
    if not d.exact:  # relative to the terms of the sum; rounding counts as 0
        bends = bends / np.where(parts.gamma_size > 0, parts.gamma_size, 1)
        bends = np.where(bends > ROUNDING, bends, 0)
    if bends.any():
        H = int(np.argmax(bends))
        normals, offsets = found.normals[:, :-1], found.normals[:, -1]
        w = normals[H]
        others = np.arange(len(normals)) != H
        side = 1 if found.scales[found.labels == H][0] > 0 else -1  # where its first neuron is active
        for attempt in range(20):
            # in exact numbers from an ever larger box: some z lies on no other hyperplane
            z = random.integers(-3 - attempt, 4 + attempt, d.m) if d.exact else random.normal(size=d.m)
            z = z.astype(normals.dtype)
            # the foot of z on H
            x = z - w * ((z @ w + offsets[H]) * (Fraction(1, w @ w) if d.exact else 1 / (w @ w)))
            away, slope = np.abs(normals @ x + offsets)[others], np.abs(normals @ w)[others]
            crossed = slope > 0
            if not away.all():
                continue  # on another hyperplane as well
            step = min(away[crossed] / (2 * slope[crossed]), default=1)  # halfway to the next hyperplane
            # in floats, far from H first: there the difference stands out of the rounding
            steps = [min(step, 1)] if d.exact else [1.0, 10 * step, step]
            yield from (x + s * t * w for s in steps for t in (side, -side, 0))
            if not d.exact and attempt >= 3:
                break
    zero = np.zeros(d.m, dtype=d.W.dtype)
    yield zero
    for j in range(d.m):
        unit = zero.copy()
        unit[j] = 1
        yield unit
    if not d.exact:
        yield from random.normal(size=(8, d.m))
