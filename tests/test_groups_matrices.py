"""Laws of the groups of matrices: products, inverses, φ, the nearest element, and what is refused."""

import itertools
import math
from collections import Counter
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from intertwine.groups import (
    CentredOrthogonal,
    ComplexDiagonal,
    GeneralLinear,
    GReLU,
    InterleavedComplexDiagonal,
    MatrixGroup,
    Monomial,
    NonzeroMonomial,
    Orthogonal,
    Permutations,
    ScalarGroup,
    SignedPermutations,
    StabilizerOfOnes,
    intertwiner_group,
    intertwining_error,
)
from intertwine.groups.base import smaller


def classes(of: type[MatrixGroup] = MatrixGroup) -> list[type[MatrixGroup]]:
    """Every class of groups: a new one is under these laws by itself."""
    found = [each for sub in of.__subclasses__() for each in (sub, *classes(sub))]
    return [each for each in found if each is not Monomial and each.__module__.startswith("intertwine.")]


def of_width(group: type[MatrixGroup], n: int) -> MatrixGroup:
    """The group of this width, or of twice as many units where they come in pairs."""
    try:
        return group(n)
    except ValueError:
        return group(2 * n)


NAMED = {
    "permutations": Permutations,
    "signed permutations": SignedPermutations,
    "G_ReLU": GReLU,
    "non-zero monomial": NonzeroMonomial,
    "powers of -3": lambda n: Monomial(n, ScalarGroup("discrete", -3.0)),
    "±powers of 2": lambda n: Monomial(n, ScalarGroup("discrete", 2.0, signed=True)),
    **{each.__name__: partial(of_width, each) for each in classes()},
}
OF_ACTIVATIONS = {
    name: lambda n, a=activation: intertwiner_group(a, n)
    for name, activation in {
        "sigmoid": "sigmoid",
        "cos": "cos",
        "cube": lambda x: x**3,
        "leaky relu squared": lambda x: torch.nn.functional.leaky_relu(x, 0.5) ** 2,
        "softshrink(1)": torch.nn.Softshrink(1.0),
        "affine": lambda x: 2 * x + 1,
    }.items()
}
ALL = {**NAMED, **OF_ACTIVATIONS}
names, widths = st.sampled_from(list(ALL)), st.integers(1, 9)
seeds = st.integers(0, 2**31)


def close(A: Tensor, B: Tensor) -> bool:
    return bool((A - B).abs().max() <= 1e-9 * max(A.abs().max(), B.abs().max()))


@settings(max_examples=12, deadline=None)
@given(names, widths, seeds)
def test_it_is_a_group_and_phi_a_homomorphism(name, n, seed):
    group, generator = ALL[name](n), torch.Generator().manual_seed(seed)
    A, B = group.sample(generator), group.sample(generator)
    one = torch.eye(group.n, dtype=torch.float64)
    for element in (one, A, A @ B, group.inverse(A)):
        assert group.contains(element)
    assert close(A @ group.inverse(A), one)
    assert close(group.phi(one), one)
    assert close(group.phi(A @ B), group.phi(A) @ group.phi(B))
    assert close(group.phi(group.inverse(A)), torch.linalg.inv(group.phi(A)))


@settings(max_examples=12, deadline=None)
@given(names, widths, seeds)
def test_projection_fixes_elements_and_is_no_farther_than_any(name, n, seed):
    group, generator = ALL[name](n), torch.Generator().manual_seed(seed)
    A = group.sample(generator)
    assert close(group.project(A), A)
    M = A + 0.3 * torch.randn(group.n, group.n, generator=generator, dtype=torch.float64)
    try:
        nearest = group.project(M)
    except ValueError:
        assert group.scalars.kind in ("positive", "discrete")
        return
    assert group.contains(nearest)
    assert close(group.project(nearest), nearest)
    for _ in range(20):
        noise = 1e-3 * torch.randn(group.n, group.n, generator=generator, dtype=torch.float64)
        for other in (group.sample(generator), group.project(nearest + noise * (nearest != 0))):
            assert (M - nearest).norm() <= (M - other).norm() + 1e-9


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([name for name in NAMED if isinstance(NAMED[name](1), Monomial)]),
    st.integers(1, 5),
    seeds,
)
def test_projection_agrees_with_brute_force_over_permutations(name, n, seed):
    group = NAMED[name](n)
    M = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    entries = group.scalars.nearest(M)
    best = min(
        (
            (M.square().sum() - M[range(n), p].square().sum()) + (M - entries)[range(n), p].square().sum()
        ).item()
        for p in itertools.permutations(range(n))
    )
    try:
        assert (M - group.project(M)).square().sum().item() == pytest.approx(best)
    except ValueError:  # then the best limit of elements has a zero on the diagonal of D
        assert any(
            (entries[range(n), p] == 0).any()
            and (M.square().sum() - (2 * M * entries - entries**2)[range(n), p].sum()).item()
            == pytest.approx(best)
            for p in itertools.permutations(range(n))
        )


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [2, 5])
def test_near_misses_are_refused(name, n):
    group = ALL[name](n)
    n, generator = group.n, torch.Generator().manual_seed(0)
    A = group.sample(generator, scale=0.1)
    assert group.contains(A)
    assert not group.contains(A * torch.arange(n)[:, None]), "singular: a zero row"
    assert not group.contains(A[:, [0, *range(n - 1)]]), "singular: a column twice"
    assert not group.contains(A[[0, *range(n - 1)]]), "singular: a row twice"
    if isinstance(group, GeneralLinear):
        return
    row, column = (0, 0) if not isinstance(group, Monomial) else (A == 0).nonzero()[0].tolist()
    leak = A.clone()
    leak[row, column] += 1e-3
    assert not group.contains(leak) and not group.contains(leak.float())
    row, column = A.abs().argmax().item() // n, A.abs().argmax().item() % n
    scaled, turned = A.clone(), A.clone()
    scaled[row, column] *= 1.001
    turned[row, column] *= -1
    for near_miss in (scaled, scaled.float()):
        assert group.contains(near_miss) == (group.dimension > 0 and isinstance(group, Monomial))
    if isinstance(group, Monomial) and group.scalars.generator != -3:
        assert group.contains(turned) == group.scalars.has_minus_one
        assert group.contains(turned.float()) == group.scalars.has_minus_one


@pytest.mark.parametrize("name", ALL)
def test_float32_comes_back_as_float32_and_close(name):
    group = ALL[name](8)
    A = group.sample(torch.Generator().manual_seed(3), scale=0.5).float()
    for result in (group.project(A), group.inverse(A), group.phi(A)):
        assert result.dtype == torch.float32
        assert result.isfinite().all()
    assert group.contains(A)
    assert group.contains(group.inverse(A))
    assert torch.allclose(group.inverse(A) @ A, torch.eye(8), atol=1e-4)
    assert intertwining_error(group, A, torch.Generator().manual_seed(0)) < 1e-4


def test_dimensions_and_components():
    sizes = {name: (group(3).dimension, group(3).components) for name, group in NAMED.items()}
    assert sizes == {
        "permutations": (0, 6),
        "signed permutations": (0, 48),
        "G_ReLU": (3, 6),
        "non-zero monomial": (3, 48),
        "powers of -3": (0, math.inf),
        "±powers of 2": (0, math.inf),
        "Orthogonal": (3, 2),
        "GeneralLinear": (9, 2),
        "StabilizerOfOnes": (6, 2),
        "CentredOrthogonal": (1, 4),
        "ComplexDiagonal": (6, 1),  # of six units
        "InterleavedComplexDiagonal": (6, 1),
    }
    assert SignedPermutations(64).components == math.factorial(64) * 2**64
    assert [StabilizerOfOnes(1).dimension, StabilizerOfOnes(1).components] == [0, 1]


def test_the_dimension_counts_the_directions_in_which_elements_differ():
    generator = torch.Generator().manual_seed(0)
    for group in (GReLU(4), NonzeroMonomial(4), *(each(4) for each in classes())):
        A = group.sample(generator)
        noise = 1e-7 * torch.randn(60, 4, 4, generator=generator, dtype=torch.float64)
        if isinstance(group, Monomial):
            noise = noise * (A != 0)
        steps = torch.stack([group.project(A + e) - A for e in noise]).flatten(1)
        singular_values = torch.linalg.svdvals(steps)
        assert int((singular_values > 1e-3 * singular_values[0]).sum()) == group.dimension


def test_samples_fill_the_linear_groups():
    generator = torch.Generator().manual_seed(0)
    for group in (GeneralLinear(4), StabilizerOfOnes(4)):
        A = torch.stack([group.sample(generator) for _ in range(40)]).flatten(1)
        assert torch.linalg.matrix_rank(A - A.mean(0)) == group.dimension


def test_samples_are_uniform_on_permutations_and_haar_on_the_orthogonal_group():
    generator = torch.Generator().manual_seed(0)
    counts = Counter(tuple(Permutations(3).sample(generator).argmax(1).tolist()) for _ in range(600))
    assert len(counts) == 6 and min(counts.values()) > 60
    Q = torch.stack([Orthogonal(3).sample(generator) for _ in range(500)])
    assert (Q.mean(0).abs() < 0.1).all()  # by raw LAPACK, the first diagonal entry has mean −1/2
    assert 210 < (torch.linalg.det(Q) > 0).sum() < 290
    signs = torch.stack([SignedPermutations(2).sample(generator).sum(1) for _ in range(1000)])
    assert (signs.mean(0).abs() < 0.1).all()
    logs = torch.stack([GReLU(2).sample(generator, scale=0.3).sum(1) for _ in range(1000)]).log()
    assert logs.std().item() == pytest.approx(0.3, rel=0.1)


def test_a_badly_scaled_element_is_an_element():
    assert GReLU(2).contains(torch.diag(torch.tensor([1e-20, 1e20])))
    assert GeneralLinear(2).contains(torch.diag(torch.tensor([1e-20, 1e20])))


@pytest.mark.parametrize("kind", [ComplexDiagonal, InterleavedComplexDiagonal])
def test_complex_numbers_for_pairs_of_units_multiply_and_commute(kind):
    group, draw = kind(6), torch.Generator().manual_seed(0)
    A, B = group.sample(draw), group.sample(draw)
    M = torch.randn(6, 6, generator=draw, dtype=torch.float64)
    assert close(A @ B, B @ A) and group.contains(A @ B) and group.contains(torch.linalg.inv(A).T)
    z = torch.randn(3, generator=draw, dtype=torch.complex128)
    assert torch.allclose(group.pairs(group.matrix(z) @ M), z[:, None] * group.pairs(M))
    assert close(group.project(A), A) and not group.contains(M)
    D = group.project(M) - M
    assert abs((D * A).sum()) < 1e-9  # the nearest element of a linear space
    with pytest.raises(ValueError, match="even number of units"):
        kind(3)


CLASSES = pytest.mark.parametrize("kind", classes())


def generic(n: int, k: int, generator: torch.Generator) -> Tensor:
    return torch.randn(n, k, generator=generator, dtype=torch.float64)


@settings(max_examples=12, deadline=None)
@given(names, widths, seeds)
def test_the_best_element_is_the_one_that_moved_the_rows_where_they_determine_it(name, n, seed):
    group, generator = ALL[name](n), torch.Generator().manual_seed(seed)
    k = next(k for k in range(20) if group.determined(k)) or 1
    A, Y = group.sample(generator, scale=0.3), generic(group.n, k, generator)
    assert torch.allclose(group.best(A @ Y, Y), A, rtol=1e-5, atol=1e-6)
    assert group.determined(k + 1) and group.contains(group.best(generic(group.n, k, generator), Y), tol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("name", NAMED)
def test_with_one_column_less_than_determines_an_element_there_are_others(name, n):
    group, generator = NAMED[name](n), torch.Generator().manual_seed(n)
    k = next(k for k in range(20) if group.determined(k))
    elements = [group.sample(generator) for _ in range(20)]
    if k > 1:
        Y = generic(group.n, k - 1, generator)
        assert not all(close(group.best(A @ Y, Y), A) for A in elements)
    else:  # without a column every element fits: that determines it only where there is one
        assert all(close(A, elements[0]) for A in elements) == (k == 0)


@pytest.mark.parametrize("kind", [Orthogonal, GeneralLinear, CentredOrthogonal, StabilizerOfOnes])
def test_rounding_of_either_rows_determines_nothing(kind):
    group, generator = kind(4), torch.Generator().manual_seed(0)
    A, Y = group.sample(generator), generic(4, 1, generator) @ generic(1, 6, generator)
    rough = Y.bfloat16()
    assert torch.linalg.matrix_rank(rough.double()) == 4  # by its rounding alone
    one = torch.eye(4, dtype=torch.float64)
    assert close(group.best(A @ rough.double(), rough), one)
    assert close(group.best(rough, A @ rough.double()).double(), one)


@settings(max_examples=12, deadline=None)
@given(names, widths, seeds)
def test_no_element_brings_rows_nearer_than_the_best(name, n, seed):
    group, generator = ALL[name](n), torch.Generator().manual_seed(seed)
    X, Y = generic(group.n, 3 * n + 2, generator), generic(group.n, 3 * n + 2, generator)
    best = group.best(X, Y)
    if group.scalars.kind in ("positive", "discrete") and isinstance(group, Monomial):
        Y = Y.abs()  # for rows at obtuse angles no scalar is best
        best = group.best(X := X.abs(), Y)
    for _ in range(20):
        other = group.sample(generator, scale=0.3)
        assert (X - best @ Y).norm() <= (X - other @ Y).norm() * (1 + 1e-9)


@settings(max_examples=12, deadline=None)
@given(names, widths, seeds)
def test_rows_that_elements_make_of_others_have_one_normal_form(name, n, seed):
    group, generator = ALL[name](n), torch.Generator().manual_seed(seed)
    A, W = group.sample(generator, scale=0.3), generic(group.n, group.n + 2, generator)
    assert group.contains(group.normal(W), tol=1e-6)
    assert torch.allclose(group.normal(A @ W) @ A @ W, group.normal(W) @ W, rtol=1e-5, atol=1e-6)


@CLASSES
def test_a_class_says_truly_in_which_it_lies_and_what_it_holds(kind):
    generator, n = torch.Generator().manual_seed(0), 4
    A = kind(n).sample(generator)
    swap = torch.eye(n)[[0, 2, 1, 3]].double()
    assert all(larger(n).contains(A) for larger in kind.within)
    assert kind.self_dual == close(torch.linalg.inv(A).T, A)
    assert kind.permutes == kind(n).contains(swap)
    assert smaller(kind, GeneralLinear) is kind


@given(st.integers(2, 6), st.integers(1, 7), st.integers(0, 2**20))
@settings(max_examples=20, deadline=None)
def test_procrustes_recovers_a_matrix_but_for_the_sign_of_one_direction(n, columns, seed):
    draw = torch.Generator().manual_seed(seed)
    W = torch.randn(n, columns, generator=draw, dtype=torch.float64)
    Q = torch.linalg.qr(torch.randn(n, n, generator=draw, dtype=torch.float64)).Q
    found = Orthogonal(n).best(Q @ W, W)
    torch.testing.assert_close(found @ found.T, torch.eye(n, dtype=torch.float64))
    if columns >= n - 1:
        torch.testing.assert_close(found @ W, Q @ W)
    else:
        torch.testing.assert_close(found, torch.eye(n, dtype=torch.float64))


@pytest.mark.parametrize("kind", [GeneralLinear, Orthogonal, CentredOrthogonal, StabilizerOfOnes])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_an_element_brings_equal_rows_into_normal_form(kind, n):
    for seed in range(4):
        W = torch.randn(1, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        assert kind(n).contains(kind(n).normal(W.expand(n, 5).contiguous()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", [GeneralLinear, Orthogonal, CentredOrthogonal, StabilizerOfOnes])
def test_rows_that_are_dependent_but_for_rounding_leave_open_what_they_do_in_float64(kind, dtype):
    draw = torch.Generator().manual_seed(0)
    W = generic(5, 2, draw) @ generic(2, 9, draw)
    precise = [kind(5).sample(draw, scale=0.1) @ W for _ in range(2)]
    rounded = [x.to(dtype) for x in precise]
    for verb, count in ((kind(5).normal, 1), (kind(5).best, 2)):
        one, other = verb(*rounded[:count]).double(), verb(*precise[:count])
        assert torch.allclose(one, other, atol=4 * torch.finfo(dtype).eps)


def test_a_scalar_is_an_element_up_to_the_rounding_of_its_dtype():
    group = ScalarGroup("discrete", generator=23.140692632779267)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        powers = (group.generator ** torch.arange(-3, 4, dtype=torch.float64)).to(dtype)
        assert group.contains(powers) and not group.contains(powers * 1.2)
    assert group.contains(group.generator**2) and not group.contains(group.generator**2 * (1 + 1e-6))


@pytest.mark.parametrize("group", [GReLU(3), Monomial(3, ScalarGroup("discrete", generator=2.0))])
def test_where_scalars_would_tend_to_0_rows_are_assigned_by_the_scalar_1_that_they_get(group):
    """Of opposite rows no scalar is nearest; a pair of them costs what it costs with the scalar 1."""
    for seed in range(20):
        X, Y = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(seed)).double()
        size, inner = Y.square().sum(1), X @ Y.T
        d = group.scalars.nearest(inner / size)
        d = torch.where(d == 0, 1.0, d)
        costs = (X[:, None] - d[:, :, None] * Y).square().sum(2)
        orders = itertools.permutations(range(3))
        least = min(sum(costs[i, j] for i, j in enumerate(order)) for order in orders)
        torch.testing.assert_close((X - group.best(X, Y) @ Y).square().sum(), least)
    assert GReLU(1).best(-torch.ones(1, 1), torch.ones(1, 1)) == 1
