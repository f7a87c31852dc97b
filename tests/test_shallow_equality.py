"""Same function or not: known pairs and near misses, exact and in floats, certificates evaluated."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from intertwine import shallow
from intertwine.groups import GReLU
from intertwine.shallow import ShallowReLU, act, minimal_form, reduce_difference, same_function
from intertwine.shallow.canonical_form import lexicographic
from intertwine.shallow.relu_network import random_integers, random_network
from intertwine_book.known_pairs import PAIR_KINDS, known_pair

SEEDS = st.integers(0, 2**32 - 1)
CASES = [(kind, near_miss) for kind in PAIR_KINDS for near_miss in (False, True)]


def same(p: ShallowReLU, q: ShallowReLU) -> bool:
    return all(np.array_equal(getattr(p, name), getattr(q, name)) for name in ("W", "b", "V", "c"))


def certified(p: ShallowReLU, q: ShallowReLU, x: np.ndarray) -> bool | None:
    """The verdict, after its certificate was evaluated: on inputs x, or at the witness."""
    answer = same_function(p, q)
    if answer.equal:
        symmetry = answer.symmetry
        image = symmetry.image()
        values = [network(x) for network in (p, symmetry.p, image, q)]
        if p.exact:
            assert same(image, symmetry.q)
            assert all(np.array_equal(value, values[0]) for value in values)
        else:
            assert all(np.allclose(value, values[0], rtol=1e-9, atol=1e-7) for value in values)
    elif answer.equal is False:
        x, at_p, at_q = answer.witness
        assert np.array_equal(p(x), at_p) and np.array_equal(q(x), at_q)
        assert (at_p != at_q).any()
    return answer.equal


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), max_size=20))
def test_rows_are_sorted_by_the_first_entry_then_the_second_and_so_on(rows):
    table = np.array(rows, dtype=float).reshape(-1, 3)
    order = lexicographic(table)
    assert sorted(order) == [*range(len(rows))] and table[order].tolist() == sorted(rows)
    rounded = table + 1e-12 * np.random.default_rng(0).normal(size=table.shape)
    assert table[lexicographic(rounded, tolerance=1e-9)].tolist() == sorted(rows)


def test_a_neuron_that_moves_a_part_of_its_weight_to_the_other_side_is_no_flip():
    p = ShallowReLU([[1], [2]], [0, 1], [[2, 1]], [0])
    form = shallow.canonical_form(p)
    pairs = next(each for each in shallow.configurations(form) if not each.signs.any())
    q = shallow.realised(form, pairs)  # with neurons on both sides of both hyperplanes
    for answer in (same_function(p, q), same_function(q, p)):
        assert answer.equal and answer.symmetry.flips == () and answer.symmetry.transfers.any()


@pytest.mark.parametrize(("kind", "near_miss"), CASES)
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_verdict_is_right_and_certified(kind, near_miss, seed):
    generator = torch.Generator().manual_seed(seed)
    p, q, equal = known_pair(kind, near_miss=near_miss, generator=generator)
    x = random_integers(-5, 5, (4, p.m), generator)
    assert certified(p, q, x) is equal
    assert same_function(p.float(), q.float()).equal is equal  # ε = 1/1000 is far from 1e-9


@given(first=SEEDS, second=SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_reduction_of_the_difference_agrees_with_the_canonical_form(first, second):
    """Theorems 3 and 4 against (eq-canonical), on networks so small that many are the same function."""
    p, q = (
        random_network(2, 1, 1, 1, generator=torch.Generator().manual_seed(seed)) for seed in (first, second)
    )
    q = ShallowReLU(q.W, q.b, q.V, q.c + p([[0]])[0] - q([[0]])[0])
    left = reduce_difference(p, q)
    assert left.vanishes is same_function(p, q).equal
    assert left.empty is same(minimal_form(p), minimal_form(q))


@pytest.mark.parametrize(("kind", "near_miss"), CASES)
@given(seed=SEEDS)
@example(seed=110494)  # where the outputs' constants cancel, and a difference below their rounding is left
@settings(max_examples=6, deadline=None)
def test_the_verdict_is_right_in_floats(kind, near_miss, seed):
    generator = torch.Generator().manual_seed(seed)
    p, q, equal = known_pair(kind, near_miss=near_miss, generator=generator)
    assert certified(p.float(), q.float(), torch.randn(4, p.m, generator=generator).numpy()) is equal


@pytest.mark.parametrize(("kind", "near_miss"), CASES)
@given(seed=SEEDS)
@settings(max_examples=6, deadline=None)
def test_the_verdict_is_right_of_modules_in_float32(kind, near_miss, seed):
    generator = torch.Generator().manual_seed(seed)
    p, q, equal = known_pair(kind, near_miss=near_miss, generator=generator)
    first, second = (ShallowReLU.from_module(each.to_module().float()) for each in (p, q))
    answer = same_function(first, second)
    assert answer.equal is equal and answer.tolerance == 2**-20
    if equal:
        x, size = (
            torch.randn(4, p.m, generator=generator).numpy(),
            np.abs(second.V).sum() * np.abs(second.rows).max(),
        )
        assert np.abs(answer.symmetry.image()(x) - second(x)).max() <= 1e-5 * size


def test_the_tolerance_is_that_of_the_rounding():
    p = ShallowReLU([[1.0, 3.0], [0.1, 0.2]], [0, 1], [[1, 2]], [0])
    off = ShallowReLU(p.W, p.b, p.V * (1 + 1e-8), p.c)
    assert same_function(p, off).equal is False
    single = ShallowReLU.from_module(off.to_module().float())
    assert same_function(p, single).equal is False  # the other one is known better
    assert same_function(single, single).tolerance == 2**-20
    computed = act(single, torch.eye(2))
    assert ShallowReLU.from_module(off.to_module()).tolerance == computed.tolerance == 1e-9


@given(seed=SEEDS)
@settings(max_examples=6, deadline=None)
def test_forms_of_a_module_in_float32_are_the_same_function_as_it(seed):
    generator = torch.Generator().manual_seed(seed)
    W, b, V = (torch.randn(shape, generator=generator) for shape in ((3, 3), (3,), (2, 6)))
    # a neuron and a multiple of it, which is rounded
    twice = ShallowReLU(torch.cat([W, 3.3 * W]), torch.cat([b, 3.3 * b]), V, torch.zeros(2))
    module = twice.to_module().float()
    forms = shallow.zero_factor_reduction(module), shallow.compress(module).network
    assert all(form.n == 3 and same_function(module, form).equal for form in forms)
    assert same_function(module, minimal_form(module)).equal
    assert same_function(module, same_function(module, forms[0]).symmetry.image()).equal


@pytest.mark.parametrize("kind", PAIR_KINDS)
@given(seed=SEEDS, power=st.integers(9, 60))
@settings(max_examples=6, deadline=None)
def test_exact_numbers_have_no_tolerance(kind, seed, power):
    epsilon = Fraction(1, 10**power)
    p, q, _ = known_pair(kind, near_miss=True, epsilon=epsilon, generator=torch.Generator().manual_seed(seed))
    x = np.zeros((1, p.m), dtype=object)
    assert certified(p, q, x) is False
    # in floats the same is equal, different, or undecided, but never beyond the tolerance
    answer = same_function(p.float(), q.float())
    assert answer.equal is not True or answer.discrepancy <= answer.tolerance


@pytest.mark.parametrize("n", [1, 5, 50, 1000])
@pytest.mark.parametrize("seed", [0])
def test_float_networks_of_many_neurons(n, seed):
    normal = np.random.default_rng(seed).normal
    p = ShallowReLU(normal(size=(n, 8)), normal(size=n), normal(size=(3, n)), normal(size=3))
    A = GReLU(n).sample(torch.Generator().manual_seed(seed), scale=3.0)
    q = act(p, A)
    x = normal(size=(5, 8))
    assert certified(p, q, x)
    torch.testing.assert_close(same_function(p, q).symmetry.element, A, rtol=1e-12, atol=0)
    changed = p.V.copy()
    changed[0, -1] *= 1 + 1e-6
    assert certified(p, ShallowReLU(p.W, p.b, changed, p.c), x) is False
