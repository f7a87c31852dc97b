"""The numbered statements of ramakrishnan2026 as experiments that return tables, one row per trial."""

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
import torch

from intertwine.shallow import (
    ShallowReLU,
    arrangement,
    canonical_form,
    configurations,
    hidden_symmetries,
    is_affine,
    is_generic,
    random_network,
    realised,
    reduce_difference,
    same_function,
    stabilizer,
    zero_factor_rank,
    zero_factor_reduction,
)
from intertwine.shallow.random_networks import random_integers, random_scales
from intertwine_book.experiments.rows import Row, tabled
from intertwine_book.experiments.known_pairs import PAIR_KINDS, known_pair


@tabled
def verdicts(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Our canonical form decides equality: its verdict on known pairs and near misses, certificate evaluated.

    Example:
        >>> bool(verdicts(2, generator=torch.Generator().manual_seed(0))["holds"].all())
        True

    Columns kind, near_miss, outputs, trial, equal (the truth), verdict, certified, holds.
    """
    for kind, near_miss, trial in itertools.product(PAIR_KINDS, (False, True), range(trials)):
        p, q, equal = known_pair(kind, near_miss=near_miss, generator=generator)
        answer = same_function(p, q)
        x = random_integers(-9, 9, (5, p.m), generator)
        if answer.symmetry:
            certified = (answer.symmetry.image()(x) == q(x)).all()
        else:
            certified = answer.witness is not None and (answer.witness.p != answer.witness.q).any()
        row = {"kind": kind, "near_miss": near_miss, "outputs": p.k, "trial": trial, "equal": equal}
        holds = answer.equal is equal and bool(certified)
        yield row | {"verdict": answer.equal, "certified": bool(certified), "holds": holds}


@tabled
def differences(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Lemma 17, Theorems 3 and 4 as they are written: what is left of θ ⊖ θ', on known pairs and near misses.

    Example:
        >>> table = differences(2, generator=torch.Generator().manual_seed(0))
        >>> table[["lemma_17", "theorems_3_4"]].all().tolist(), table["empty"].nunique()
        ([True, True], 2)

    Columns kind, near_miss, outputs, trial, equal (the truth), same_form (the 0-factor reductions agree),
    empty, vanishes (of `reduce_difference`), lemma_17 (same_form iff empty), theorems_3_4 (equal iff
    vanishes).
    """
    for kind, near_miss, trial in itertools.product(PAIR_KINDS, (False, True), range(trials)):
        p, q, equal = known_pair(kind, near_miss=near_miss, generator=generator)
        same = _alike(zero_factor_reduction(p), zero_factor_reduction(q))
        left = reduce_difference(p, q)
        row = {"kind": kind, "near_miss": near_miss, "outputs": p.k, "trial": trial, "equal": equal}
        row |= {"same_form": same, **left._asdict(), "lemma_17": same == left.empty}
        yield row | {"theorems_3_4": equal == left.vanishes}


def _alike(p: ShallowReLU, q: ShallowReLU) -> bool:
    return all(np.array_equal(getattr(p, name), getattr(q, name)) for name in "WbVc")


@tabled
def reductions(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Definition 3 with Lemmas 10–13 and Definition-Lemma 5, on networks with redundant neurons.

    Example:
        >>> table = reductions(2, generator=torch.Generator().manual_seed(0))
        >>> bool(table[["function", "unique", "independent", "holds"]].all(axis=None))
        True

    Columns kind, trial, function (the reduction keeps it), unique (both of a pair have the same one),
    independent (its rows are pairwise linearly semi-independent), holds.
    """
    for kind, trial in itertools.product(PAIR_KINDS[:4], range(trials)):
        p, q, _ = known_pair(kind, generator=generator)
        x = random_integers(-9, 9, (5, p.m), generator)
        first, second = zero_factor_reduction(p), zero_factor_reduction(q)
        found = arrangement(first)
        rays = set(zip(found.labels.tolist(), (found.scales > 0).tolist(), strict=True))
        row = {
            "function": bool((first(x) == p(x)).all() and (second(x) == q(x)).all()),
            "unique": _alike(first, second),
            "independent": len(rays) == first.n,
        }
        yield {"kind": kind, "trial": trial, **row, "holds": all(row.values())}


@tabled
def affine(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Proposition 14: pairs σ(z), −σ(−z) are affine; with one output weight off by 1/1000 they are not.

    Example:
        >>> bool(affine(3, generator=torch.Generator().manual_seed(0))["holds"].all())
        True
    """
    for near_miss, trial in itertools.product((False, True), range(trials)):
        n, m = random_integers(1, 4, (2,), generator)
        half, t = random_network(n, m, 1, generator=generator), random_scales(n, generator)
        p = half.extended(-half.rows * t[:, None], -half.V * (Fraction(1) / t))
        p.V[0, 0] += Fraction(int(near_miss), 1000)
        row = {"pairs": n, "trial": trial, "near_miss": near_miss, "affine": is_affine(p)}
        yield row | {"holds": row["affine"] != near_miss}


@tabled
def fibres(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Proposition 24 and Corollaries 9, 15 and 16, against all networks on the hyperplanes of small ones.

    Example:
        >>> bool(fibres(10, generator=torch.Generator().manual_seed(0))["holds"].all())
        True

    Columns trial, neurons; stabilizer_trivial, zero_factors, generic (the verdict), no_pairs (no two neurons
    on one hyperplane), configurations (of at most as many neurons); each statement on this network, holds
    (all).
    """
    for trial in range(trials):
        n, m, k = (random_integers(1, most, (), generator).item() for most in (4, 3, 2))
        p = random_network(n, m, k, 2, generator=generator)
        form, rank = canonical_form(p), zero_factor_rank(p)
        trivial = stabilizer(p).trivial
        no_pairs = len(form.normals) == zero_factor_reduction(p).n
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
        yield facts | laws | {"holds": all(laws.values())}


@tabled
def minors(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Lemmas 22 and 23, on networks of four neurons and two inputs.

    Example:
        >>> table = minors(5, generator=torch.Generator().manual_seed(0))
        >>> bool(table[["lemma_22", "lemma_23"]].all(axis=None))
        True

    Columns trial, dependent (pairs of rows), lemma_22 (these are the pairs whose 2×2 minors vanish), lemma_23
    (where none vanish, no two neurons have one ray).
    """
    for trial in range(trials):
        p = random_network(4, 2, 1, 2, generator=generator)
        found, duos = arrangement(p), [*itertools.combinations(p.rows, 2)]
        vanish = [
            all(u[i] * v[j] == u[j] * v[i] for i, j in itertools.combinations(range(3), 2)) for u, v in duos
        ]
        dependent = [np.linalg.matrix_rank(np.stack(duo).astype(float)) < 2 for duo in duos]
        rays = set(zip(found.labels.tolist(), (found.scales > 0).tolist(), strict=True))
        row = {"trial": trial, "dependent": sum(dependent), "lemma_22": vanish == dependent}
        yield row | {"lemma_23": any(vanish) or len(rays) == p.n}


@tabled
def density(sizes: Iterable[int], trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Theorems 1 and 5: how many networks with integers in [−size, size] are generic; size 0 means Gaussian.

    Example:
        >>> table = density([1, 0], 5, generator=torch.Generator().manual_seed(0))
        >>> all(table[table["size"] == 0]["generic"])
        True

    Columns size, trial, generic, hidden (the number of hidden symmetries of 12 neurons with 3 inputs).
    """
    for size, trial in itertools.product(sizes, range(trials)):
        p = random_network(12, 3, 1, size or 1, generator=generator)
        if not size:
            shapes = (p.W.shape, p.b.shape, p.V.shape, p.c.shape)
            p = ShallowReLU(*(torch.randn(shape, generator=generator) for shape in shapes))
        row = {"size": size, "trial": trial, "generic": is_generic(p).generic is True}
        yield row | {"hidden": hidden_symmetries(p).count}


@tabled
def apart(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Of networks as in `density` with weights −1, 0 and 1, those whose sets to flip are further symmetries.

    Example:
        >>> table = apart(20, generator=torch.Generator().manual_seed(0))
        >>> bool((table["reduced_neurons"] < 12)[table["apart"] < table["reduced_apart"]].all())
        True

    Columns trial, neurons, hidden (sets to flip), apart (no two neurons share a hyperplane, so that each set
    is a further symmetry), and the same of the 0-factor reduction, which merges neurons and keeps the
    function: reduced_neurons, reduced_hidden, reduced_apart.
    """
    for trial in range(trials):
        p = random_network(12, 3, 1, 1, generator=generator)
        row: Row = {"trial": trial}
        for of, network in {"": p, "reduced_": zero_factor_reduction(p)}.items():
            lines = len(np.unique(arrangement(network).labels))
            row |= {f"{of}neurons": network.n, f"{of}hidden": hidden_symmetries(network).count}
            row[f"{of}apart"] = lines == network.n
        yield row
