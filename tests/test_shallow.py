"""Shallow ReLU networks: every structure against its definition, brute force and evaluation."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, factorial

import numpy as np
import pytest
import torch
from helpers import generator
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine import shallow
from intertwine.groups import GReLU
from intertwine.shallow import ShallowReLU, random_network, same_function
from intertwine.shallow.exact import numbers
from intertwine.shallow.hidden_symmetries import linearly_independent
from intertwine.shallow.moves import difference, random_scales
from intertwine.shallow.relu_network import random_integers
from intertwine.shallow.subsets import subset_sums
from intertwine_book import models
from intertwine_book.known_pairs import PAIR_KINDS, known_pair

SEEDS = st.integers(0, 2**32 - 1)
FOLDED = ShallowReLU([[1, 0], [0, 1], [-1, -1]], [0, 0, 1], [[1, 1, 1]], [0])  # σ(x) + σ(y) + σ(1−x−y)


def small_network(seed: int, most: int = 6, size: int = 2) -> ShallowReLU:
    """A network of small integers, in which coincidences are common."""
    draw = torch.Generator().manual_seed(seed)
    n, m, k = (integer(1, largest, draw) for largest in (most, 3, 2))
    return random_network(n, m, k, size, generator=draw)


def integer(low: int, high: int, draw: torch.Generator) -> int:
    return random_integers(low, high, (), draw).item()


def inputs(p: ShallowReLU, seed: int = 0) -> np.ndarray:
    return random_integers(-5, 5, (5, p.m), generator(seed))


# networks


@pytest.mark.parametrize("size", [1, 2])
def test_random_networks_have_all_integers_up_to_the_size_and_no_neuron_of_zeros(size):
    drawn = [random_network(4, 1, 1, size, generator=generator(seed)) for seed in range(60)]
    for name in ("W", "b", "V", "c"):
        found = {*np.concatenate([getattr(p, name).ravel() for p in drawn]).tolist()}
        assert found == {*range(-size, size + 1)} - ({0} if name in "WV" else set())
    wide = [random_network(4, 2, 2, size, generator=generator(seed)) for seed in range(60)]
    assert all(p.exact and p.W.any(1).all() and p.V.any(0).all() for p in wide)
    # one of two numbers may be 0, whichever it is
    assert all(any((p.W[:, i] == 0).any() for p in wide) for i in (0, 1))
    assert all(any((p.V[i] == 0).any() for p in wide) for i in (0, 1))


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_module_and_back(seed):
    p = small_network(seed).float()
    module = p.to_module()
    x = inputs(p, seed).astype(float)
    np.testing.assert_allclose(module(torch.from_numpy(x)).detach().numpy(), p(x), atol=1e-12)
    again = ShallowReLU.from_module(module)
    assert all(np.array_equal(getattr(again, name), getattr(p, name)) for name in ("W", "b", "V", "c"))


def test_sums_are_0_up_to_the_rounding_of_float64_unless_the_numbers_are_known_less_well():
    numbers = FOLDED.W, FOLDED.b, FOLDED.V, FOLDED.c
    for p in (FOLDED, FOLDED.float(), ShallowReLU(*numbers, tolerance=1e-12)):
        assert p.rounding < 1e-12
    assert ShallowReLU(*numbers, tolerance=1e-4).rounding == 1e-4
    assert ShallowReLU.from_module(FOLDED.to_module().float()).rounding == 2**-20


def test_a_module_without_biases_is_taken_as_it_is_now():
    bare = nn.Sequential(nn.Flatten(), nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2, bias=False))
    p = ShallowReLU.from_module(bare)
    assert not p.b.any() and not p.c.any()
    kept = p.W.copy()
    with torch.no_grad():
        bare[1].weight += 1
    np.testing.assert_array_equal(p.W, kept)  # training goes on, the network stays


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_every_question_takes_a_module(seed):
    p = small_network(seed).float()
    q = p.to_module()
    assert shallow.stabilizer(q).blocks == shallow.stabilizer(p).blocks
    assert shallow.is_affine(q) == shallow.is_affine(p)
    assert shallow.is_generic(q) == shallow.is_generic(p) and shallow.fibre(q) == shallow.fibre(p)
    assert shallow.hidden_symmetries(q).count == shallow.hidden_symmetries(p).count
    np.testing.assert_array_equal(shallow.canonical_form(q).gamma, shallow.canonical_form(p).gamma)


def test_modules_are_compared_as_they_are():
    first, other = (models.fcn((3, 5, 2), bias=True, seed=seed).double() for seed in (0, 1))
    wrapped = ShallowReLU.from_module(first)
    A = GReLU(5).sample(generator(0))
    moved = nn.Sequential(nn.Flatten(), shallow.act(wrapped, A).to_module())
    for pair in ((first, moved), (wrapped, moved), (first, wrapped)):
        assert same_function(*pair).equal
    found = same_function(first, moved).symmetry.element
    torch.testing.assert_close(found, A)  # the element that acted is found
    assert GReLU(5).contains(found)
    answer = same_function(first, other)
    x = torch.from_numpy(answer.witness.x)
    assert answer.equal is False and not torch.allclose(first(x[None]), other(x[None]))
    assert shallow.compress(first).network.n == 5


def test_exact_and_float_do_not_mix():
    exact = ShallowReLU([[3]], [0], [[Fraction(1, 3)]], [0])
    assert exact([[1]]).tolist() == [[1]] and exact([1]).tolist() == [1]
    assert exact([[1.0]]).dtype == np.float64 and exact.float()([[1]]).dtype == np.float64
    assert not ShallowReLU([[1]], [0.5], [[1]], [0]).exact
    # whole numbers of a tensor stay exact, also those that float64 cannot hold
    assert numbers(torch.tensor([2**53 + 1])).tolist() == [2**53 + 1]
    assert same_function(exact, exact.float()).tolerance > 0


def test_numpy_s_integers_beside_fractions_do_not_overflow():
    given, large = [np.int64(2**62), np.int8(100), Fraction(np.int8(100), 3)], [2**62, 100, Fraction(100, 3)]
    exact = numbers(np.array(given, dtype=object))
    assert (exact * exact).tolist() == [x * x for x in large]
    p = ShallowReLU([[Fraction(1, 2), np.int8(100)]], [0], [[np.int8(100)]], [0])
    assert p([[0, 1]]).tolist() == [[10**4]]


def test_a_set_of_neurons_is_flipped_however_it_is_named():
    twice, once = (shallow.flip(FOLDED, S) for S in ([2, 0, 1, 2], {0, 1, 2}))
    x = inputs(FOLDED)
    assert twice.c.tolist() == once.c.tolist() == [1] and (twice(x) == FOLDED(x)).all()
    assert shallow.flip(FOLDED, []).c.tolist() == [0]


# minimal and canonical forms


@given(SEEDS, SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_minimal_form_keeps_the_function_and_is_unique_in_its_class(seed, other):
    draw = generator(other)
    p, q, _ = known_pair(PAIR_KINDS[integer(0, 3, draw)], generator=draw)  # Definition 3 identifies them
    x = inputs(p, seed)
    for network in (p, q):
        form, reduction = shallow.minimal_form(network), shallow.zero_factor_reduction(network)
        assert form.n == network.n and reduction.n == network.n - shallow.zero_factor_rank(network)
        assert (form(x) == p(x)).all() and (reduction(x) == p(x)).all()
        rows = reduction.rows.tolist()
        rays = {tuple(Fraction(e, sum(map(abs, row))) for e in row) for row in rows}
        assert len(rays) == reduction.n  # pairwise linearly semi-independent: Lemma 13
        assert all(any(row[:-1]) for row in rows) and (reduction.V != 0).any(0).all()
        assert rows == sorted(rows)
    first, second = (shallow.zero_factor_reduction(network) for network in (p, q))
    assert all(np.array_equal(getattr(first, s), getattr(second, s)) for s in ("W", "b", "V", "c"))


def test_what_is_small_beside_other_neurons_is_no_zero_factor_but_what_cancels_is():
    W, b = [[1.0], [1.0], [-1.0], [-2.0]], [0.0, 1.0, 0.0, 0.0]
    for last, rank in ((-0.5e-12, 2), (0.5e-12, 1)):  # of two neurons on one ray, −x and −2x
        assert shallow.zero_factor_rank(ShallowReLU(W, b, [[1.0, 1e-12, 1e-12, last]], [0.0])) == rank


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_canonical_form_is_the_function(seed):
    p = small_network(seed)
    form = shallow.canonical_form(p)
    assert (form(inputs(p, seed)) == p(inputs(p, seed))).all()
    np.testing.assert_allclose(
        shallow.canonical_form(p.float())(inputs(p, seed).astype(float)),
        p(inputs(p, seed)).astype(float),
        atol=1e-9,
    )
    assert (form.gamma != 0).any(0).all()
    leading = [next(e for e in row if e) for row in form.normals.tolist()]
    assert all(e > 0 for e in leading) and len({tuple(row) for row in form.normals}) == len(form.normals)


@given(st.sampled_from(PAIR_KINDS), SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_canonical_form_is_a_complete_invariant(kind, seed):
    p, q, _ = known_pair(kind, generator=generator(seed))
    first, second = shallow.canonical_form(p), shallow.canonical_form(q)
    for name in ("normals", "gamma", "L", "e"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


@given(SEEDS)
@example(20)  # where the first entries of two normals differ by their rounding
@settings(max_examples=20, deadline=None)
def test_in_floats_the_forms_of_a_rescaled_network_agree_up_to_rounding(seed):
    p = small_network(seed, size=1).float()
    q = shallow.random_orbit(p, generator=generator(seed))
    for first, second in (
        (shallow.canonical_form(p), shallow.canonical_form(q)),
        (shallow.zero_factor_reduction(p), shallow.zero_factor_reduction(q)),
    ):
        for name in vars(first):
            np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-9)


def test_a_form_says_of_inputs_of_another_width_which_it_expects():
    with pytest.raises(ValueError, match=r"Expected inputs \(..., 2\), was given \(1, 3\)"):
        shallow.canonical_form(FOLDED)([[1, 2, 3]])


def pairs_up(p: ShallowReLU) -> bool:
    """Proposition 14, word for word, on a minimal network without 0-factors."""
    rows, V = p.rows, p.V
    for i in range(p.n):
        partners = []
        for j in range(p.n):
            ratios = {Fraction(b) / a for a, b in zip(rows[i], rows[j], strict=True) if a}
            parallel = all(bool(a) == bool(b) for a, b in zip(rows[i], rows[j], strict=True))
            if parallel and len(ratios) == 1 and (t := -ratios.pop()) > 0:
                partners.append((t * V[:, j] == -V[:, i]).all())
        if partners != [True]:
            return False
    return True


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_proposition_14(seed):
    draw = generator(seed)
    n, m, k = (integer(1, most, draw) for most in (3, 3, 2))
    half, t = random_network(n, m, k, 2, generator=draw), random_scales(n, draw)
    partner = -half.V * (Fraction(1) / t)
    partner[0, 0] += integer(0, 1, draw)  # every second time it is not affine
    V, W = np.hstack([half.V, partner]), np.vstack([half.W, -half.W * t[:, None]])
    p = ShallowReLU(W, np.concatenate([half.b, -half.b * t]), V, half.c)
    reduction = shallow.zero_factor_reduction(p)
    assert shallow.is_affine(p) == pairs_up(reduction)
    origin = np.zeros(m, dtype=object)
    x = random_integers(-99, 98, (20, m), draw)
    affine = (p(x) + p(-x) == 2 * p(origin)).all()
    assert not shallow.is_affine(p) or affine
    assert shallow.is_affine(p.float()) == shallow.is_affine(p)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_corollary_15(seed):
    """A network without opposite pairs has as many 0-factors as any of its function and width."""
    draw = generator(seed)
    p = known_pair(PAIR_KINDS[integer(0, 5, draw)], generator=draw).p
    reduction = shallow.zero_factor_reduction(p)
    if len(np.unique(shallow.arrangement(reduction).labels)) == reduction.n:
        assert reduction.n == len(shallow.canonical_form(p).normals)
        for other in shallow.configurations(shallow.canonical_form(p)) if reduction.n <= 4 else ():
            assert other.width >= reduction.n


# the stabiliser


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_stabiliser_is_what_brute_force_finds(seed):
    p, draw = small_network(seed, most=3), generator(seed)
    copies = random_integers(0, p.n - 1, (2,), draw)
    p = p.with_neurons([*range(p.n), *copies])
    p = shallow.random_orbit(p, generator=draw)
    found = shallow.stabilizer(p)
    assert found.dimension == 0
    # a permutation stabilises, with the scales that it needs, iff each neuron becomes one like it
    rows, V = p.rows.tolist(), p.V.T.tolist()

    def scale(i: int, j: int) -> Fraction | None:
        ratios = {Fraction(b) / a for a, b in zip(rows[i], rows[j], strict=True) if a}
        ratios |= {Fraction(a) / b for a, b in zip(V[i], V[j], strict=True) if b}
        zeros = [bool(a) == bool(b) for a, b in zip(rows[i] + V[i], rows[j] + V[j], strict=True)]
        return ratios.pop() if all(zeros) and len(ratios) == 1 and min(ratios) > 0 else None

    alike = [[scale(i, j) is not None for j in range(p.n)] for i in range(p.n)]
    assert found.order == permanent(alike)
    assert shallow.stabilizer(p.float()).blocks == found.blocks
    for A in found.generators():
        moved = shallow.act(p, A)
        assert (moved.rows == p.rows).all() and (moved.V == p.V).all()
    for A in shallow.stabilizer(p.float()).generators():
        np.testing.assert_allclose(shallow.act(p.float(), A).rows, p.float().rows, atol=1e-12)


def permanent(matrix: list[list[bool]]) -> int:
    """How many permutations a 0-1 matrix allows."""
    if not matrix:
        return 1
    return sum(
        permanent([row[:j] + row[j + 1 :] for row in matrix[1:]]) for j, e in enumerate(matrix[0]) if e
    )


def test_the_stabiliser_of_zero_neurons_and_three_pairs():
    zeros = ShallowReLU([[0], [0], [1]], [0, 0, 1], [[0, 0, 1]], [0])
    found = shallow.stabilizer(zeros)
    assert (found.dimension, found.order, found.zeros, found.trivial) == (2, 2, (0, 1), False)
    pairs = ShallowReLU([[1], [1], [2], [2], [3], [3]], [1] * 6, [[1, 1, 1, 1, 1, 1]], [0])
    found = shallow.stabilizer(pairs)  # (Z/2)³, which two cycles do not generate
    assert (found.order, len(found.transpositions)) == (8, 3)
    silent = ShallowReLU([[0], [0], [0]], [0, 0, 0], [[2, 6, 5]], [0])  # rows zero, λ not: all alike
    found = shallow.stabilizer(silent)
    assert (found.dimension, found.order) == (0, 6)
    assert all((shallow.act(silent, A).V == silent.V).all() for A in found.generators())
    assert shallow.stabilizer(FOLDED).trivial


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_neurons_are_compared_relative_to_their_own_size(size):
    row, t = np.array([0.3, 0.7]), 3.3
    rows = np.array([row, t * row, row, [1, 2]])  # the third is the first with twice its output weight
    p = ShallowReLU(rows[:, :1], rows[:, 1], [[0.7 * size, 0.7 * size / t, 1.4 * size, 1]], [0.0])
    assert shallow.stabilizer(p).blocks == ((0, 1),)


def test_neurons_without_input_weights_are_compared_whatever_the_others_sizes():
    p = ShallowReLU([[0, 0], [0, 0], [10**6, 0]], [0, 0, 0], [[1, 0, 10**6], [0, 1, 0]], [0, 0])
    assert all(shallow.stabilizer(each).trivial for each in (p, p.float()))


# hidden symmetries


def brute_force(vectors: np.ndarray, target: np.ndarray) -> list[tuple[int, ...]]:
    every = (S for size in range(len(vectors) + 1) for S in combinations(range(len(vectors)), size))
    return sorted(S for S in every if (sum((vectors[i] for i in S), 0 * target) == target).all())


@given(SEEDS, st.integers(0, 9), st.integers(1, 3), st.booleans())
@settings(max_examples=20, deadline=None)
@example(0, 0, 1, True)
def test_subset_sums_are_those_of_brute_force(seed, n, d, fractions):
    draw = generator(seed)
    vectors = random_integers(-3, 3, (n, d), draw) * (Fraction(1, 6) if fractions else 1)
    chosen = random_integers(0, 1, (n,), draw).astype(bool)
    target = vectors[chosen].sum(0) if n else np.zeros(d, dtype=object)
    expected = brute_force(vectors, target)
    for sums in (
        subset_sums(vectors, target),
        subset_sums(vectors.astype(float), target.astype(float)),
    ):
        assert sums.count == len(expected) and sorted(sums) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rounded_weights_have_the_hidden_symmetries_that_were_planted_and_no_others(dtype):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W, b, V, c = rng.normal(size=(10, 3)), rng.normal(size=10), rng.normal(size=(2, 10)), np.zeros(2)
        V[1] = 0.7 * V[0]  # one direction of outputs, in which two neurons make up for a third
        W[2] = -(V[0, 0] * W[0] + V[0, 1] * W[1]) / V[0, 2]
        V[:, 3:] = rng.normal(size=(2, 7))
        planted, plain = (
            ShallowReLU(W, b, V, c),
            ShallowReLU(rng.normal(size=(10, 3)), b, rng.normal(size=(2, 10)), c),
        )
        assert (0, 1, 2) in [*shallow.hidden_symmetries(planted.to_module().to(dtype))]
        assert shallow.hidden_symmetries(plain.to_module().to(dtype)).count == 0


@pytest.mark.parametrize("k", [1, 2])
def test_hidden_symmetries_of_14_neurons_by_brute_force(k):
    n = 14
    p = random_network(n, 2, k, 2, generator=generator(n + k))
    vectors = (p.V.T[:, :, None] * p.W[:, None]).reshape(n, -1).astype(np.int64)
    masks = np.arange(1, 2**n)
    sums = (masks[:, None] >> np.arange(n) & 1) @ vectors
    found = shallow.hidden_symmetries(p)
    assert found.count == (~sums.any(1)).sum() and (k > 1 or found.count > 0)
    assert len(found.list(10)) == min(10, found.count)
    x = inputs(p)
    assert all((shallow.flip(p, S)(x) == p(x)).all() for S in found.list(20))
    assert shallow.hidden_symmetries(p.float()).count == found.count


@pytest.mark.parametrize("n", [1, 4, 7])
def test_a_network_has_as_many_orbits_as_the_middle_binomial(n):
    p = ShallowReLU([[1]] * n, range(n), [[(-1) ** i for i in range(n)]], [0])
    sets = brute_force(p.V[0][:, None] * p.W, np.zeros(1, int))
    assert len(sets) == 1 + shallow.hidden_symmetries(p).count == comb(n, n // 2)
    fibre = shallow.fibre(p)
    assert (fibre.dimension, fibre.components, fibre.exact) == (n, factorial(n) * len(sets), True)
    assert all((shallow.flip(p, S)(inputs(p)) == p(inputs(p))).all() for S in sets)


def test_huge_numbers_are_counted_exactly():
    large = 2**70
    p = ShallowReLU([[large], [1], [-large], [-1 - large]], [0] * 4, [[1, 1, 1, 1]], [0])
    assert sorted(shallow.hidden_symmetries(p)) == [(0, 1, 3), (0, 2)]


def test_independence_of_no_vector_of_one_and_of_zeros():
    for of in (np.float64, np.int64):
        kind = object if of is np.int64 else of  # whole numbers are exact
        assert linearly_independent(np.zeros((0, 3), of).astype(kind))
        assert linearly_independent(np.eye(1, 3, dtype=of).astype(kind))
        assert not linearly_independent(np.zeros((1, 3), of).astype(kind))


def test_equal_generators_draw_equal_members_of_an_orbit():
    p = random_network(4, 2, 1, generator=generator(0))
    for exact in (p, p.float()):
        one, other = (shallow.random_orbit(exact, generator=generator(1)) for _ in range(2))
        assert all(np.array_equal(x, y) for x, y in zip((one.W, one.V), (other.W, other.V), strict=True))


def test_many_neurons_are_decided_by_independence_or_not_at_all():
    normal = np.random.default_rng(0).normal
    wide = ShallowReLU(normal(size=(60, 40)), normal(size=60), normal(size=(2, 60)), normal(size=2))
    assert shallow.hidden_symmetries(wide).count == 0
    narrow = ShallowReLU(normal(size=(60, 4)), normal(size=60), normal(size=(1, 60)), normal(size=1))
    assert shallow.hidden_symmetries(narrow).count is None
    assert shallow.hidden_symmetries(narrow).list() == []
    assert shallow.is_generic(narrow).generic is None and shallow.fibre(narrow).components is None
    with pytest.raises(ValueError, match="Expected at most 40 vectors, was given 60"):
        subset_sums(narrow.W, narrow.W[0])
    integers = np.ones((40, 1))
    with pytest.raises(ValueError, match="give them as such"):
        subset_sums(integers, integers[0] * 20)


# genericity and fibres


@given(SEEDS)
@settings(max_examples=12, deadline=None)
def test_generic_networks_have_one_configuration(seed):
    """Theorems 1 and 5 against all configurations of neurons on the function's hyperplanes."""
    p = small_network(seed, most=4)
    form, found = shallow.canonical_form(p), shallow.is_generic(p)
    known = [each for each in shallow.configurations(form) if each.width <= p.n]
    single = len(known) == 1 and known[0].width == p.n and not len(known[0].left) and not known[0].free
    # what the search over configurations cannot see: with fewer hyperplanes, room for dead neurons
    assert found.generic == single
    assert shallow.is_generic(p.float()).generic == found.generic
    for each in known:
        q = shallow.realised(form, each)
        assert q.n <= p.n + 0 and same_function(p, q).equal
    fibre = shallow.fibre(p)
    if found.generic:
        assert (fibre.dimension, fibre.components, fibre.exact) == (p.n, factorial(p.n), True)


def test_sigma_min_bounds_every_subset():
    generator = np.random.default_rng(0)
    p = ShallowReLU(generator.normal(size=(9, 6)), np.ones(9), generator.normal(size=(2, 9)), np.zeros(2))
    found = shallow.is_generic(p)
    vectors = (p.V.T[:, :, None] * p.W[:, None]).reshape(9, -1)
    sums = [np.linalg.norm(np.array(S) @ vectors) for S in product((0, 1), repeat=9) if any(S)]
    assert found.generic and 0 < found.distance <= min(sums)


@pytest.mark.parametrize(
    ("network", "generic", "reason"),
    [
        (FOLDED, False, "flip of neurons 0, 1, 2"),
        (ShallowReLU([[1], [-1]], [0, 0], [[1, 2]], [0]), True, "only one of 3 configurations"),
        (ShallowReLU([[1], [-1]], [0, 0], [[1, 1]], [0]), True, "only one of 3 configurations"),
        (ShallowReLU([[1], [-1]], [0, 0], [[1, -1]], [0]), False, "does not bend"),
        (ShallowReLU([[1], [-1]], [0, 0], [[1, 0]], [0]), False, "0-factors of rank 1"),
        (ShallowReLU([[1], [-1], [1], [-1]], [0, 0, -1, 1], [[1] * 4], [0]), False, "dependent normals"),
        (ShallowReLU([[1, 0], [0, 1]], [0, 0], [[1, 1]], [0]), True, "linearly independent"),
    ],
)
def test_the_reason_is_given(network, generic, reason):
    found = shallow.is_generic(network)
    assert found.generic is generic and reason in found.reason


@pytest.mark.parametrize(("h", "generic"), [(2, True), (3, True), (4, None)])
def test_up_to_the_limit_of_hyperplanes_all_configurations_are_searched(h, generic, monkeypatch):
    monkeypatch.setattr("intertwine.shallow.generic.EXHAUSTIVE", 3)  # for seven it takes seconds
    W = np.vstack([np.eye(h, dtype=int), -np.eye(h, dtype=int)[:1]])
    p = ShallowReLU(W, np.zeros(h + 1, dtype=int), [[*[1] * h, 2]], [0])
    assert shallow.is_generic(p).generic is generic


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.1])
def test_turned_by_an_angle_a_function_has_the_same_configurations_but_for_rounding(angle):
    W, b, V = np.array([[3, 4], [5, -12], [-8, 8]]), np.array([1, 2, 3]), np.array([[1, 1, 1]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    exact = shallow.canonical_form(ShallowReLU(W, b, V, [0]))  # its W add up to 0, as of a fold: L is 0
    turned = shallow.canonical_form(ShallowReLU(W @ turn.T / 7, b / 7, V, [0.0]))
    widths = [sorted(each.width for each in shallow.configurations(form)) for form in (exact, turned)]
    assert widths[0] == widths[1] and widths[0].count(3) == 2


@pytest.mark.parametrize("s", [Fraction(0), Fraction(1, 2), Fraction(-7, 3)])
def test_a_continuous_family_of_opposite_pairs(s):
    """(1+s)σ(x) + (1−s)σ(−x) + (1−s)σ(x−1) + (1+s)σ(1−x) − s is one function for all s."""
    W, b = [[1], [-1], [1], [-1]], [0, 0, -1, 1]
    p = ShallowReLU(W, b, [[1, 1, 1, 1]], [0])
    q = ShallowReLU(W, b, [[1 + s, 1 - s, 1 - s, 1 + s]], [-s])
    assert same_function(p, q).equal and shallow.fibre(p).dimension == 5


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_a_dead_a_constant_and_a_parallel_neuron_add_to_the_fibre_what_they_leave_free(seed):
    p, draw = small_network(seed), np.random.default_rng(seed)
    active = np.flatnonzero(p.V.any(0) & p.W.any(1))
    dimension = shallow.fibre(p).dimension
    zeros, ones, w = np.zeros((p.k, 1), int), np.ones((p.k, 1), int), np.zeros((1, p.m), int)
    # λ = 0: its row is free, on whatever hyperplane it lies
    for row in (
        draw.integers(1, 9, (1, p.m + 1)),
        p.rows[:1],
        -p.rows[active[:1]],
        np.zeros((1, p.m + 1), int),
    ):
        if len(row):
            assert shallow.fibre(p.extended(row, zeros)).dimension == dimension + p.m + 1
    # w = 0: its bias and its output weights are free, since c makes up for them
    for bias in (-2, 3):
        constant = np.hstack([w, [[bias]]])
        assert shallow.fibre(p.extended(constant, ones)).dimension == dimension + p.k + 1
    # on the ray of another: its scale is free, and how the output weights are shared
    if len(active):
        assert shallow.fibre(p.extended(2 * p.rows[active[:1]], ones)).dimension == dimension + 1 + p.k


# compression


@given(SEEDS)
@settings(max_examples=12, deadline=None)
def test_compression_reaches_the_least_of_all_configurations(seed):
    p = small_network(seed, most=5)
    small, form = shallow.compress(p), shallow.canonical_form(p)
    least = min(each.width for each in shallow.configurations(form))
    assert small.network.n == least and small.optimal
    assert same_function(p, small.network).equal
    if p.k == 1:
        h = len(form.normals)
        assert least in ({h, h + 1, h + 2} if h else {0, 2})
    rounded = shallow.compress(p.float())
    assert rounded.network.n == least and same_function(p, rounded.network).equal


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_a_rounded_network_is_compressed_up_to_the_tolerance_that_it_is_given(seed):
    draw = np.random.default_rng(seed)
    W, b, V = (draw.normal(size=size) for size in ((6, 5), 6, (2, 6)))
    twice = np.repeat(np.arange(6), 2)
    arrays = W[twice], b[twice], V[:, twice], np.zeros(2)
    rounded = [each * (1 + 1e-6 * draw.normal(size=each.shape)) for each in arrays]
    least = [
        shallow.compress(ShallowReLU(*rounded, tolerance=tolerance)).network.n for tolerance in (1e-9, 1e-4)
    ]
    assert least == [12, 6]


@given(SEEDS, st.integers(1, 12), st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_known_minima_are_reached(seed, n, k):
    draw = generator(seed)
    minimum = random_network(n, 6, k, 1000, generator=draw)
    if len(shallow.canonical_form(minimum).normals) < n:
        return
    p = minimum
    for _ in range(4):
        i, t = integer(0, n - 1, draw), random_scales(1, draw)
        part, b = random_integers(-9, 9, (k, 1), draw), integer(-9, 9, draw)
        z = random_network(2, 6, 1, 9, generator=draw).rows
        constant = np.array([[0] * 6 + [b]], dtype=object)
        opposite = np.vstack([z[0], -z[0], -z[0], z[0]])
        opposite[2:, -1] += (-1, 1)  # σ(u) − σ(−u) + σ(−u−1) − σ(u+1) = −1
        rows = np.vstack([p.rows[[i]] * t, z[[1]], constant, opposite])
        V = np.hstack([part, 0 * part, part, part, -part, part, -part])
        p = p.extended(rows, V, p.c - part[:, 0] * max(b, 0) + part[:, 0])
        p.V[:, [i]] -= part * t
    p = p.with_neurons(torch.randperm(p.n, generator=draw).tolist())
    for large in (p, p.float()):
        small = shallow.compress(large)
        assert small.network.n == n and small.optimal
        assert same_function(large, small.network).equal


def test_the_partition_problem():
    """Σ a_i |x − t_i| has width h iff {a_i} splits into halves of equal sum, and h + 1 otherwise."""
    for weights, splits in (((3, 1, 1, 2, 2, 1), True), ((3, 1, 1, 2, 2, 2), False)):
        h = len(weights)
        V = [[a for a in weights for _ in range(2)]]
        W, b = [[1], [-1]] * h, [s * t for t in range(h) for s in (-1, 1)]
        small = shallow.compress(ShallowReLU(W, b, V, [0]))
        assert small.optimal and small.network.n == h + (not splits)


def test_near_misses_are_reported_and_not_merged():
    p = ShallowReLU([[1.0, 0.0], [1.0, 1e-7], [0.0, 1.0]], np.zeros(3), [[1.0, 1.0, 1e-7]], [0.0])
    small = shallow.compress(p)
    assert small.network.n == 3
    assert small.degeneracy.pair == (0, 1)
    np.testing.assert_allclose(small.degeneracy.parallel, 1e-7, rtol=1e-6)
    np.testing.assert_allclose(small.degeneracy.silent, 1e-7, rtol=1e-6)
    empty = shallow.degeneracy(ShallowReLU([[1]], [0], [[0]], [0]))
    assert empty.pair == () and np.isnan(empty.parallel)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_distances_from_degeneracy_do_not_depend_on_the_scales_of_neurons(scale):
    normal = np.random.default_rng(0).normal
    W, b, V = normal(size=(4, 3)), normal(size=4), normal(size=(2, 4))
    plain, scaled = (shallow.degeneracy(ShallowReLU(W * s, b * s, V / s, np.zeros(2))) for s in (1.0, scale))
    assert plain.pair == scaled.pair
    np.testing.assert_allclose([*plain[:1], *plain[2:]], [*scaled[:1], *scaled[2:]])


@pytest.mark.parametrize(("h", "optimal"), [(3, True), (4, False)])
def test_compression_searches_all_configurations_up_to_the_limit(h, optimal, monkeypatch):
    monkeypatch.setattr("intertwine.shallow.compression.EXHAUSTIVE", 3)  # for seven it takes seconds
    W = np.vstack([np.eye(h, dtype=int), -np.eye(h, dtype=int)])
    V = [range(1, 2 * h + 1), [(-2) ** i for i in range(2 * h)]]  # no hyperplane does with one side
    small = shallow.compress(ShallowReLU(W, [0] * 2 * h, V, [0, 0]))
    assert small.network.n == 2 * h and small.optimal is optimal


def test_beyond_forty_hyperplanes_the_gap_is_stated():
    generator = np.random.default_rng(0)
    normal = generator.normal
    p = ShallowReLU(normal(size=(100, 5)), normal(size=100), normal(size=(1, 100)), normal(size=1))
    assert shallow.compress(p).optimal and shallow.compress(p).network.n == 100
    both = ShallowReLU(np.vstack([p.W, -p.W]), [*p.b, *-p.b], np.hstack([p.V, normal(size=(1, 100))]), p.c)
    small = shallow.compress(both)
    assert (small.hyperplanes, small.lower_bound, small.network.n) == (100, 100, 102)
    assert not small.optimal and same_function(both, small.network).equal


# beyond ReLU


@pytest.mark.parametrize(
    ("activation", "slope"),
    [
        ("ReLU", 1.0),
        (nn.LeakyReLU(0.1), 1.1),
        (nn.LeakyReLU(-1.0), 0.0),
        (nn.Softplus(), 1.0),
        (nn.Softplus(beta=3.0), 1.0),
        ("SiLU", 1.0),
        ("GELU", 1.0),
        (nn.GELU("tanh"), 1.0),
        ("Hardswish", 1.0),
        ("LogSigmoid", 1.0),
        ("cos", 0.0),
        *[(name, None) for name in ("ELU", "SELU", "CELU", "Mish", "ReLU6", "Sigmoid", "tanh")],
        (lambda x: torch.relu(x) ** 2, None),
    ],
)
def test_odd_slopes(activation, slope):
    found = shallow.odd_slope(activation)
    assert (found is None) == (slope is None)
    p = ShallowReLU([[1.0, 0.5], [0.3, -1.0], [-1.3, 0.5]], [0.1, -0.2, 0.4], np.ones((1, 3)), [0.0])
    x = 5 * np.random.default_rng(0).normal(size=(20, 2))
    flipped = shallow.flip(p, [0, 1, 2], kappa=1.0 if slope is None else slope)
    change = np.abs(flipped(x, activation) - p(x, activation)).max()
    if slope is None:
        assert change > 1e-3
    else:
        assert (
            found == pytest.approx(slope, abs=1e-9) and change < 1e-8
        )  # softplus is rounded to linear from 20 on


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_difference_of_a_network_with_itself_needs_no_neuron(seed):
    rng = np.random.default_rng(seed)
    p = ShallowReLU(rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(3, 4)), np.zeros(3))
    small = shallow.compress(difference(p, p))
    assert (small.network.n, small.lower_bound, small.optimal) == (0, 0, True)


@given(st.integers(0, 2**20))
@settings(max_examples=10, deadline=None)
def test_a_hidden_symmetry_is_found_in_a_module_of_float32_as_in_float64(seed):
    rng = np.random.default_rng(seed)
    W, V = rng.normal(size=(5, 3)), rng.uniform(0.5, 2, size=(1, 5))
    W[2] = -(V[:, :2] @ W[:2]) / V[0, 2]
    p = ShallowReLU(W, rng.normal(size=5), V, np.zeros(1))
    for module in (p.to_module(), p.to_module().float()):
        assert [*shallow.hidden_symmetries(module)] == [(0, 1, 2)]
        assert shallow.is_generic(module).generic is False
