"""Same function or not: planted pairs and near misses, exact and in floats, certificates evaluated."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine.shallow import KINDS, ShallowReLU, act, planted, same_function

SEEDS = st.integers(0, 2**32 - 1)
CASES = [(kind, near_miss) for kind in KINDS for near_miss in (False, True)]


def same(p: ShallowReLU, q: ShallowReLU) -> bool:
    return all(np.array_equal(getattr(p, name), getattr(q, name)) for name in ("A2", "A1", "b1", "b2"))


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


@pytest.mark.parametrize(("kind", "near_miss"), CASES)
@given(seed=SEEDS)
@settings(max_examples=300, deadline=None)
def test_the_verdict_is_right_and_certified(kind, near_miss, seed):
    generator = np.random.default_rng(seed)
    p, q, equal = planted(kind, generator, near_miss=near_miss)
    x = generator.integers(-5, 6, (4, p.m)).astype(object)
    assert certified(p, q, x) is equal
    assert same_function(p.float(), q.float()).equal is equal  # ε = 1/1000 is far from 1e-9


@pytest.mark.parametrize(("kind", "near_miss"), CASES)
@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_so_it_is_in_floats(kind, near_miss, seed):
    generator = np.random.default_rng(seed)
    p, q, equal = planted(kind, generator, near_miss=near_miss)
    assert certified(p.float(), q.float(), generator.normal(size=(4, p.m))) is equal


@pytest.mark.parametrize(("kind", "near_miss"), CASES)
@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_so_it_is_of_modules_in_float32(kind, near_miss, seed):
    generator = np.random.default_rng(seed)
    p, q, equal = planted(kind, generator, near_miss=near_miss)
    first, second = (ShallowReLU.from_module(each.to_module().float()) for each in (p, q))
    answer = same_function(first, second)
    assert answer.equal is equal and answer.tolerance == 2**-20
    if equal:
        x, size = generator.normal(size=(4, p.m)), np.abs(second.A2).sum() * np.abs(second.rows).max()
        assert np.abs(answer.symmetry.image()(x) - second(x)).max() <= 1e-5 * size


def test_only_what_was_rounded_is_forgiven():
    p = ShallowReLU([[1, 2]], [[1.0, 3.0], [0.1, 0.2]], [0, 1], [0])
    off = ShallowReLU(p.A2 * (1 + 1e-8), p.A1, p.b1, p.b2)
    assert same_function(p, off).equal is False
    single = ShallowReLU.from_module(off.to_module().float())
    assert same_function(p, single).equal is False  # the other one is known better
    assert same_function(single, single).tolerance == 2**-20
    assert same_function(single, single, 1e-9).tolerance == 1e-9
    computed = act(single, np.array([0, 1]), p.b1 + 1)
    assert ShallowReLU.from_module(off.to_module()).tolerance == computed.tolerance == 1e-9


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS, power=st.integers(9, 60))
@settings(max_examples=20, deadline=None)
def test_exact_numbers_have_no_tolerance(kind, seed, power):
    epsilon = Fraction(1, 10**power)
    p, q, _ = planted(kind, np.random.default_rng(seed), near_miss=True, epsilon=epsilon)
    x = np.zeros((1, p.m), dtype=object)
    assert certified(p, q, x) is False
    # in floats the same is equal, different, or undecided, but never beyond the tolerance
    answer = same_function(p.float(), q.float())
    assert answer.equal is not True or answer.discrepancy <= answer.tolerance


@pytest.mark.parametrize("n", [1, 5, 50, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_float_networks_of_many_neurons(n, seed):
    generator = np.random.default_rng(seed)
    normal = generator.normal
    p = ShallowReLU(normal(size=(3, n)), normal(size=(n, 8)), normal(size=n), normal(size=3))
    permutation, scales = generator.permutation(n), np.exp(3 * normal(size=n))
    q = act(p, permutation, scales)
    x = normal(size=(5, 8))
    assert certified(p, q, x)
    answer = same_function(p, q).symmetry
    np.testing.assert_array_equal(answer.permutation, permutation)
    np.testing.assert_allclose(answer.scales, scales, rtol=1e-12)
    changed = p.A2.copy()
    changed[0, -1] *= 1 + 1e-6
    assert certified(p, ShallowReLU(changed, p.A1, p.b1, p.b2), x) is False
