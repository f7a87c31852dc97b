"""The numbered statements of ramakrishnan2026 as experiments that return tables, one row per trial."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from math import factorial, prod

import numpy as np
import pandas as pd

from intertwine.shallow.arrangement import arrangement
from intertwine.shallow.canonical import canonical_form, is_affine
from intertwine.shallow.cases import KINDS, SCALES, planted, random_network
from intertwine.shallow.configurations import configurations, realised
from intertwine.shallow.equality import same_function
from intertwine.shallow.generic import is_generic
from intertwine.shallow.hidden import hidden_symmetries
from intertwine.shallow.minimal import zero_factor_rank, zero_factor_reduction
from intertwine.shallow.network import ShallowReLU, act
from intertwine.shallow.stabilizer import stabilizer


def verdicts(trials: int, generator: np.random.Generator) -> pd.DataFrame:
    """Theorems 3 and 4: the verdict on planted pairs and near misses, and its certificate evaluated.

    Example:
        >>> bool(verdicts(2, np.random.default_rng(0))["holds"].all())
        True

    Returns:
        Columns kind, near_miss, outputs, trial, equal (the truth), verdict, certified, holds.
    """
    rows = []
    for kind, near_miss, trial in itertools.product(KINDS, (False, True), range(trials)):
        p, q, equal = planted(kind, generator, near_miss=near_miss)
        answer = same_function(p, q)
        x = generator.integers(-9, 10, (5, p.m)).astype(object)
        if answer.symmetry:
            certified = (answer.symmetry.image()(x) == q(x)).all()
        else:
            certified = answer.witness is not None and (answer.witness.p != answer.witness.q).any()
        row = {"kind": kind, "near_miss": near_miss, "outputs": p.k, "trial": trial, "equal": equal}
        holds = answer.equal is equal and bool(certified)
        rows.append(row | {"verdict": answer.equal, "certified": bool(certified), "holds": holds})
    return pd.DataFrame(rows)


def reductions(trials: int, generator: np.random.Generator) -> pd.DataFrame:
    """Definition 3 with Lemmas 10–13 and Definition-Lemma 5, on what merges, constants and dead neurons make.

    Example:
        >>> table = reductions(2, np.random.default_rng(0))
        >>> bool(table[["function", "unique", "independent", "holds"]].all(axis=None))
        True

    Returns:
        Columns kind, trial, function (the reduction keeps it), unique (both of a pair have the same one),
        independent (its rows are pairwise linearly semi-independent), holds.
    """
    rows = []
    for kind, trial in itertools.product(KINDS[:4], range(trials)):
        p, q, _ = planted(kind, generator)
        x = generator.integers(-9, 10, (5, p.m)).astype(object)
        first, second = zero_factor_reduction(p), zero_factor_reduction(q)
        found = arrangement(first)
        rays = set(zip(found.labels.tolist(), (found.scales > 0).tolist(), strict=True))
        row = {
            "function": bool((first(x) == p(x)).all() and (second(x) == q(x)).all()),
            "unique": all(
                np.array_equal(getattr(first, a), getattr(second, a)) for a in ("A2", "A1", "b1", "b2")
            ),
            "independent": len(rays) == first.n,
        }
        rows.append({"kind": kind, "trial": trial, **row, "holds": all(row.values())})
    return pd.DataFrame(rows)


def stabilizers(trials: int, generator: np.random.Generator) -> pd.DataFrame:
    """Theorem 2 and its lemmas: planted blocks of neurons alike, and zero neurons, are what is found.

    Example:
        >>> table = stabilizers(3, np.random.default_rng(0))
        >>> bool(table["holds"].all()), bool(table["two_cycles"].all())
        (True, False)

    Returns:
        Columns trial, zeros, blocks (sizes), dimension, order, holds; cycles (how many generate the finite
        part: one for a block of two, two for a larger one), two_cycles (whether two do, as printed).
    """
    rows = []
    for trial in range(trials):
        sizes = generator.integers(1, 4, int(generator.integers(1, 6))).tolist()
        zeros = int(generator.integers(3))
        n = len(sizes)
        while True:  # different rays, so that only the planted copies are alike
            p = random_network(generator, n, 3, 2, 9)
            if zero_factor_rank(p) == 0:
                break
        p = p.with_neurons(np.repeat(np.arange(n), sizes))
        none = np.zeros((zeros, 4), dtype=object)
        A2 = np.hstack([p.A2, np.zeros((2, zeros), dtype=object)])
        rows_ = np.vstack([p.rows, none])
        p = ShallowReLU(A2, rows_[:, :-1], rows_[:, -1], p.b2)
        p = act(p, generator.permutation(p.n), generator.choice(SCALES, p.n))
        found = stabilizer(p)
        fixed = all(
            (act(p, *element).rows == p.rows).all() and (act(p, *element).A2 == p.A2).all()
            for element in found.generators()
        )
        order = prod(map(factorial, sizes)) * factorial(zeros)
        cycles = sum(min(size - 1, 2) for size in [*sizes, max(zeros, 1)])
        rows.append(
            {
                "trial": trial,
                "zeros": zeros,
                "blocks": " ".join(str(size) for size in sizes if size > 1),
                "dimension": found.dimension,
                "order": found.order,
                "holds": (found.dimension, found.order) == (zeros, order) and fixed,
                "cycles": cycles,
                "two_cycles": cycles <= 2,
            }
        )
    return pd.DataFrame(rows)


def affine(trials: int, generator: np.random.Generator) -> pd.DataFrame:
    """Proposition 14: pairs σ(z), −σ(−z) are affine; with one output weight off by 1/1000 they are not.

    Example:
        >>> bool(affine(3, np.random.default_rng(0))["holds"].all())
        True

    Returns:
        Columns pairs, trial, near_miss, affine (the verdict), holds.
    """
    rows = []
    for near_miss, trial in itertools.product((False, True), range(trials)):
        n, m = (int(x) for x in generator.integers(1, 5, 2))
        half, t = random_network(generator, n, m, 1), generator.choice(SCALES, n)
        A2 = np.hstack([half.A2, -half.A2 * (Fraction(1) / t)])
        A2[0, 0] += Fraction(int(near_miss), 1000)
        A1 = np.vstack([half.A1, -half.A1 * t[:, None]])
        p = ShallowReLU(A2, A1, np.concatenate([half.b1, -half.b1 * t]), half.b2)
        verdict = is_affine(p)
        rows.append({"pairs": n, "trial": trial, "near_miss": near_miss, "affine": verdict})
    return pd.DataFrame(rows).assign(holds=lambda table: table["affine"] != table["near_miss"])


def fibres(trials: int, generator: np.random.Generator) -> pd.DataFrame:
    """Proposition 24 and Corollaries 9, 15 and 16, against all networks on the hyperplanes of small ones.

    Example:
        >>> bool(fibres(10, np.random.default_rng(0))["holds"].all())
        True

    Returns:
        Columns trial, neurons; stabilizer_trivial, zero_factors, generic (the verdict), no_pairs (no two
        neurons on one hyperplane), configurations (of at most as many neurons); proposition_24, corollary_9,
        corollary_15, corollary_16, hierarchy (each statement, on this network), holds (all).
    """
    rows = []
    for trial in range(trials):
        n, m, k = (int(x) for x in generator.integers(1, (5, 4, 3)))
        p = random_network(generator, n, m, k, 2)
        form, rank, trivial = canonical_form(p), zero_factor_rank(p), stabilizer(p).trivial
        reduction = zero_factor_reduction(p)
        no_pairs = len(form.normals) == reduction.n
        known = [each for each in configurations(form) if each.width <= p.n]
        generic, hidden = is_generic(p).generic, hidden_symmetries(p).count
        others = [zero_factor_rank(realised(form, each)) + p.n - each.width for each in known]
        sufficient = rank == 0 and no_pairs and hidden == 0
        laws = {
            "proposition_24": not sufficient or (len(known) == 1 and known[0].width == p.n),
            "corollary_9": trivial or not generic,
            "corollary_15": not no_pairs or max(others) <= rank,
            "corollary_16": not (no_pairs and rank == 0) or all((each.signs != 0).all() for each in known),
            "hierarchy": (not generic or rank == 0) and (rank > 0 or trivial),
        }
        facts = {"trial": trial, "neurons": n, "stabilizer_trivial": trivial, "zero_factors": rank}
        facts |= {"generic": bool(generic), "no_pairs": no_pairs, "configurations": len(known)}
        rows.append(facts | laws | {"holds": all(laws.values())})
    return pd.DataFrame(rows)


def density(sizes: Iterable[int], trials: int, generator: np.random.Generator) -> pd.DataFrame:
    """Theorems 1 and 5: how many networks with integers in [−size, size] are generic; size 0 means Gaussian.

    Example:
        >>> table = density([1, 0], 5, np.random.default_rng(0))
        >>> table[table["size"] == 0]["generic"].all()
        np.True_

    Returns:
        Columns size, trial, generic, hidden (the number of hidden symmetries of 12 neurons with 3 inputs).
    """
    rows = []
    for size, trial in itertools.product(sizes, range(trials)):
        p = random_network(generator, 12, 3, 1, size or 1)
        if not size:
            arrays = (generator.normal(size=array.shape) for array in (p.A2, p.A1, p.b1, p.b2))
            p = ShallowReLU(*arrays)
        rows.append(
            {
                "size": size,
                "trial": trial,
                "generic": is_generic(p).generic is True,
                "hidden": hidden_symmetries(p).count,
            }
        )
    return pd.DataFrame(rows)
