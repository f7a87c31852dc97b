"""Theorem 2 of ramakrishnan2026: the stabiliser of a network, known by construction, and searched."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from math import factorial, prod

import numpy as np
import torch

from intertwine.shallow import ShallowReLU, act, random_network, random_orbit, stabilizer, zero_factor_rank
from intertwine.shallow.random_networks import random_integers
from intertwine_book.experiments.rows import Row, tabled


@tabled
def stabilizers(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Theorem 2 and its lemmas on networks with known blocks of equal neurons and known zero neurons.

    Example:
        >>> table = stabilizers(3, generator=torch.Generator().manual_seed(0))
        >>> bool(table["holds"].all()), bool(table["two_cycles"].all())
        (True, False)

    Columns trial, zeros, blocks (sizes), dimension, order, holds; cycles (how many generate the finite part:
    one for a block of two, two for a larger one), two_cycles (whether two do, as printed).
    """
    for trial in range(trials):
        n, zeros = random_integers(1, 5, (), generator).item(), random_integers(0, 2, (), generator).item()
        sizes = random_integers(1, 3, (n,), generator).tolist()
        while True:  # different rays, so that only the copies are alike
            p = random_network(n, 3, 2, 9, generator=generator)
            if zero_factor_rank(p) == 0:
                break
        p = p.with_neurons(np.repeat(np.arange(n), sizes))
        p = p.extended(np.zeros((zeros, 4), dtype=object), np.zeros((2, zeros), dtype=object))
        p = random_orbit(p, generator=generator)
        found = stabilizer(p)
        images = [act(p, A) for A in found.generators()]
        fixed = all((q.rows == p.rows).all() and (q.V == p.V).all() for q in images)
        order = prod(map(factorial, sizes)) * factorial(zeros)
        cycles = sum(min(size - 1, 2) for size in [*sizes, max(zeros, 1)])
        blocks = " ".join(str(size) for size in sizes if size > 1)
        holds = (found.dimension, found.order) == (zeros, order) and fixed
        row = {"trial": trial, "zeros": zeros, "blocks": blocks, "dimension": found.dimension}
        yield row | {"order": found.order, "holds": holds, "cycles": cycles, "two_cycles": cycles <= 2}


@tabled
def searched(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Theorem 2 by brute force: all permutations that fix a network with some scaling, and those generated.

    Example:
        >>> bool(searched(4, generator=torch.Generator().manual_seed(0))["generated"].all())
        True

    Columns trial, neurons, order (how many permutations were found), generated (they are the products of the
    transpositions that `stabilizer` returns).
    """
    for trial in range(trials):
        p = random_network(2, 2, 1, 2, generator=generator).with_neurons([0, 1, 0, 1, 1][: 2 + trial % 4])
        zeros = np.zeros((trial % 2, 4), dtype=object)
        p = random_orbit(p.extended(zeros[:, :3], zeros[:, 3:].T), generator=generator)
        every = itertools.permutations(range(p.n))
        found = {pi for pi in every if all(_alike(p, i, j) for i, j in enumerate(pi))}
        row = {"trial": trial, "neurons": p.n, "order": len(found)}
        yield row | {"generated": found == _generated(p)}


def _alike(p: ShallowReLU, i: int, j: int) -> bool:
    """Whether neuron j is neuron i: (w, b) scaled by some d > 0, λ by 1/d."""
    pairs = [*zip([*p.rows[i], *p.V[:, j]], [*p.rows[j], *p.V[:, i]], strict=True)]
    d = next((Fraction(v, u) for u, v in pairs if u != 0), Fraction(1))
    return d > 0 and all(v == d * u for u, v in pairs)


def _generated(p: ShallowReLU) -> set[tuple[int, ...]]:
    """All products of the transpositions in the stabiliser."""
    swaps = [each[:2] for each in stabilizer(p).transpositions]
    group = new = {tuple(range(p.n))}
    while new:
        turned = [{i: j, j: i} for i, j in swaps]
        new = {tuple(t.get(k, k) for k in pi) for pi in new for t in turned} - group
        group = group | new
    return group
