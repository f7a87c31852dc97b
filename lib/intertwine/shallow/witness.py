"""A witness that a function is not zero: an input at which it is not."""

from collections.abc import Iterator
from fractions import Fraction
from math import fsum
from typing import NamedTuple

import numpy as np
from jaxtyping import Shaped

from intertwine.shallow.arrangement import Arrangement
from intertwine.shallow.canonical_form import Invariants
from intertwine.shallow.exact import ROUNDING, Numbers, largest
from intertwine.shallow.relu_network import ShallowReLU


class Witness(NamedTuple):
    """An input with both outputs."""

    x: Shaped[np.ndarray, " m"]
    p: Shaped[np.ndarray, " k"]
    q: Shaped[np.ndarray, " k"]


def nonzero_at(d: ShallowReLU, found: Arrangement, parts: Invariants) -> Numbers | None:
    """An input where d, with its arrangement and invariants, is not zero beyond rounding, if one is found.

    Of an exact network, with invariants that are not all zero, there always is one. In floats the bound on
    the rounding of d's value is rigorous: (m + 8) ε Σ |λ_i| ‖(w_i, b_i)‖₁ max(1, ‖x‖_∞).
    """
    candidates = _candidates(d, found, parts)
    if d.exact:
        return next((x for x in candidates if any(d(x))), None)
    lengths = np.where(found.labels < 0, 2 * np.abs(d.b), np.abs(found.scales))  # ‖(w, b)‖₁ at most
    scale, c = np.abs(d.V) @ lengths, np.abs(d.c)
    for x in candidates:
        terms = np.column_stack([d.V * np.maximum(d.W @ x + d.b, 0), d.c])
        values = np.abs([fsum(row) for row in terms.tolist()])  # fsum does not round
        reach = max(1.0, float(np.abs(x).max(initial=0)))
        if (values > (d.m + 8) * np.finfo(np.float64).eps * (scale * reach + c)).any():
            return x
    return None


def _candidates(d: ShallowReLU, found: Arrangement, parts: Invariants) -> Iterator[Numbers]:
    """Points beside a hyperplane where d bends: an affine function cannot vanish on all three of them."""
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
            z = random.integers(-3 - attempt, 4 + attempt, d.m) if d.exact else random.normal(size=d.m)
            z = z.astype(normals.dtype)
            x = z - w * ((z @ w + offsets[H]) * (Fraction(1, w @ w) if d.exact else 1 / (w @ w)))
            away, slope = np.abs(normals @ x + offsets)[others], np.abs(normals @ w)[others]
            crossed = slope > 0
            if not away.all():
                continue  # on another hyperplane as well
            step = min(away[crossed] / (2 * slope[crossed]), default=1)
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
