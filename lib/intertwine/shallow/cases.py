"""Pairs of networks of which one knows, by construction, whether they are the same function."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from intertwine.shallow.network import ShallowReLU, act, flip

KINDS = ("orbit", "merge", "dead", "constant", "opposite pairs", "hidden flips")
SCALES = np.array([Fraction(1, 3), Fraction(1, 2), 1, 2, 3, 5], dtype=object)


class Case(NamedTuple):
    """Two exact networks, and whether they are the same function."""

    p: ShallowReLU
    q: ShallowReLU
    equal: bool


def random_network(generator: np.random.Generator, n: int, m: int, k: int, size: int = 3) -> ShallowReLU:
    """An exact network of integers in [−size, size], with w_i ≠ 0 and λ_i ≠ 0.

    Example:
        >>> random_network(np.random.default_rng(0), n=4, m=2, k=1).rows.shape
        (4, 3)

    Small integers make coincidences likely: parallel neurons, opposite pairs, hidden flips.
    """
    A1, A2 = _integers(generator, (n, m), size), _integers(generator, (n, k), size)
    for matrix in (A1, A2):
        zero = ~(matrix != 0).any(1)
        matrix[zero, 0] = 1
    return ShallowReLU(A2.T, A1, _integers(generator, (n,), size), _integers(generator, (k,), size))


def planted(
    kind: str,
    generator: np.random.Generator,
    *,
    near_miss: bool = False,
    epsilon: Fraction = Fraction(1, 1000),
) -> Case:
    """Two networks that are the same function, or differ by a function that is known not to be zero.

    Example:
        >>> p, q, equal = planted("hidden flips", np.random.default_rng(0))
        >>> equal, (p([[7] * p.m]) == q([[7] * p.m])).all()
        (True, np.True_)

    Args:
        kind: one of `KINDS`, what the second has done to the first, before a random element of H_n.
        generator: of everything random; one to three inputs and outputs.
        near_miss: whether the difference is not zero but εσ(w·x + b), ε w·x, or the constant ε.
        epsilon: ε.

    Raises:
        ValueError: another kind.
    """
    n, m, k = (int(x) for x in generator.integers(1, (5, 4, 4)))
    p = random_network(generator, n, m, k)
    miss = (epsilon if near_miss else 0) * np.eye(k, 1, dtype=object)  # for one output
    other = random_network(generator, 1, m, k)
    match kind:
        case "orbit":
            q = _replaced(p, p.A2 + miss * np.eye(1, n, dtype=object))
        case "merge":
            t, part, i = generator.choice(SCALES), _integers(generator, (k, 1), 3), int(generator.integers(n))
            split = p.A2 - part * np.eye(1, n, i, dtype=object)
            q = _extended(_replaced(p, split), p.rows[[i]] * t, (part + miss) * (Fraction(1) / t))
        case "dead":
            q = _extended(p, other.rows, miss)
        case "constant":
            b = generator.integers(-3, 4)
            q = _extended(p, np.array([[0] * m + [int(b)]], dtype=object), other.A2)
            q = _replaced(q, q.A2, q.b2 - other.A2[:, 0] * max(int(b), 0) + miss[:, 0])
        case "opposite pairs":
            rows = np.vstack([other.rows, random_network(generator, 1, m, k).rows])
            rows = np.vstack([rows, -rows.sum(0)])
            rows[2, -1] = int(generator.integers(-3, 4))  # the weights of the three add up to 0
            A2 = np.hstack([other.A2] * 3 + [-other.A2] * 3) + miss * np.eye(1, 6, dtype=object)
            q = _extended(p, np.vstack([rows, -rows]), A2, p.b2 - other.A2[:, 0] * rows[:, -1].sum())
        case "hidden flips":
            three = random_network(generator, 3, m, 1)
            A2 = other.A2 * three.A2  # all output weights are multiples of one
            last = np.column_stack([-(three.A2 @ three.A1), [[int(generator.integers(-3, 4))]]])
            p = _extended(p, np.vstack([three.rows, last]), np.hstack([A2, other.A2]))
            p = _replaced(p, p.A2 + miss * np.eye(1, p.n, n, dtype=object))
            q = flip(p, range(n, n + 4))
        case _:
            raise ValueError(f"Expected a kind out of {', '.join(KINDS)}, was given {kind!r}.")
    return Case(p, random_orbit(q, generator), not near_miss)


def random_orbit(p: ShallowReLU, generator: np.random.Generator) -> ShallowReLU:
    """p moved by a random element of H_n, exact if p is.

    Example:
        >>> p = random_network(np.random.default_rng(0), 3, 2, 1)
        >>> (random_orbit(p, np.random.default_rng(1))([[1, 2]]) == p([[1, 2]])).all()
        np.True_
    """
    scales = generator.choice(SCALES, p.n)
    return act(p, generator.permutation(p.n), scales if p.exact else scales.astype(np.float64))


def _integers(generator: np.random.Generator, shape: tuple[int, ...], size: int) -> np.ndarray:
    return generator.integers(-size, size + 1, shape).astype(object)


def _replaced(p: ShallowReLU, A2: np.ndarray, b2: np.ndarray | None = None) -> ShallowReLU:
    return ShallowReLU(A2, p.A1, p.b1, p.b2 if b2 is None else b2)


def _extended(p: ShallowReLU, rows: np.ndarray, A2: np.ndarray, b2: np.ndarray | None = None) -> ShallowReLU:
    """p with further neurons."""
    b1 = np.concatenate([p.b1, rows[:, -1]])
    return ShallowReLU(np.hstack([p.A2, A2]), np.vstack([p.A1, rows[:, :-1]]), b1, p.b2 if b2 is None else b2)
