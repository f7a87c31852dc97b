"""Laws of the closed forms: optimal, equivariant, known maps recovered, streamed as in one piece."""

import itertools
import math
import sys
import warnings
import weakref
from collections.abc import Callable
from functools import partial, reduce
from operator import add

import numpy as np
import pytest
import torch
from helpers import generator
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from intertwine.alignment import (
    LinearMap,
    Statistics,
    assignment,
    fit,
    g_relu,
    lasso,
    least_squares,
    monomial,
    orthogonal,
    permutation,
    reduced_rank,
    statistics,
    unit_assignment,
    variance_restored,
)
from intertwine.alignment.assignment import solver
from intertwine.features import rows as rows_of
from intertwine.groups import GeneralLinear, GReLU, Monomial, Orthogonal, ScalarGroup

SCALARS = {
    "trivial": ScalarGroup("trivial"),
    "signs": ScalarGroup("signs"),
    "positive": ScalarGroup("positive"),
    "nonzero": ScalarGroup("nonzero"),
    "powers of -3": ScalarGroup("discrete", -3.0),
    "±powers of 2": ScalarGroup("discrete", 2.0, signed=True),
}
METHODS: dict[str, Callable[..., LinearMap]] = {
    "least squares": least_squares,
    "reduced rank": lambda s, **options: reduced_rank(s, (min(s.widths) + 1) // 2, **options),
    "orthogonal": orthogonal,
    "lasso": lambda s, **options: lasso(s, share(s, 0.3, **options), **options),
    "permutation": permutation,
    "G_ReLU": g_relu,
    "signs": lambda s, **options: monomial(s, SCALARS["signs"], **options),
}
seeds, affines, widths = st.integers(0, 2**31), st.booleans(), st.integers(1, 6)
methods = st.sampled_from(list(METHODS))
laws = settings(max_examples=20, deadline=None)


def share(s: Statistics, share: float, affine: bool = False) -> float:
    """An α that is this share of the least one with M = 0."""
    return share * s.products(centred=affine).AB.abs().max().item() + 1e-9


def normal(*shape: int, seed: int, stream: int = 0) -> Tensor:
    return torch.randn(shape, generator=generator(3 * seed + stream), dtype=torch.float64)


def close(x: Tensor, y: Tensor, tol: float = 1e-8) -> bool:
    return bool((x - y).abs().max() <= tol * max(1e-300, x.abs().max(), y.abs().max()))


def scatter(s: Statistics) -> Tensor:
    return s.root.T @ s.root


def same(s: Statistics, t: Statistics) -> bool:
    size = 1 + scatter(s).abs().max() + s.mean.abs().max()  # of what is rounded
    return (
        s.n == t.n
        and s.p == t.p
        and bool(
            ((s.mean - t.mean).abs() <= 1e-12 * size).all()
            and ((scatter(s) - scatter(t)).abs() <= 1e-12 * size).all()
        )
    )


@st.composite
def pairs(draw, same_width: bool = False, wide: bool = False) -> tuple[Tensor, Tensor]:
    """A and B: n < p, n = p, n > p; constant, dead, repeated and dependent channels; means far from 0."""
    seed, p = draw(seeds), draw(widths)
    q = p if same_width else draw(st.integers(p, 6) if wide else widths)
    n = draw(st.sampled_from([1, 2, p, p + 1, 50]))
    A, B = normal(n, p, seed=seed), normal(n, q, seed=seed, stream=1)
    match draw(st.sampled_from(["full", "full", "constant", "dead", "repeated", "dependent", "shifted"])):
        case "constant":
            A[:, 0], B[:, -1] = 0.1, 7.3
        case "dead":
            A[:, 0] = 0
        case "repeated":
            A[:, -1] = 3 * A[:, 0]
        case "dependent":
            A = A[:, : (p + 1) // 2] @ normal((p + 1) // 2, p, seed=seed, stream=2)
        case "shifted":
            A, B = A + 10, B - 5
    return A, B


# --- statistics ---


@laws
@given(pairs(), st.lists(st.integers(1, 20), min_size=1, max_size=5), affines)
def test_streamed_statistics_are_those_of_all_rows(pair, sizes, centred):
    A, B = pair
    cuts = [size for size in sizes if size < len(A)]
    parts = [X.tensor_split(sorted(set(cuts))) for X in pair]
    total = statistics(zip(*parts, strict=True))
    assert same(total, Statistics.of(A, B)) and total.widths == (A.shape[1], B.shape[1])
    if centred:
        A, B = A - A.mean(0), B - B.mean(0)
    for product, reference in zip(total.products(centred=centred), (A.T @ A, A.T @ B, B.T @ B), strict=True):
        assert (product - reference).abs().max() <= 1e-12 * max(1, A.square().sum(), B.square().sum())


@laws
@given(seeds, widths, widths, st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_merging_is_associative_and_commutative(seed, p, q, sizes):
    parts = [
        Statistics.of(normal(n, p, seed=seed + k) + 100 * k, normal(n, q, seed=seed, stream=1))
        for k, n in enumerate(sizes)
    ]
    a, b, c = parts
    assert same((a + b) + c, a + (b + c)) and same(a + b, b + a)


@laws
@given(seeds, st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16]), widths)
def test_any_dtype_is_accumulated_in_float64_without_loss(seed, dtype, p):
    A, B = normal(40, p, seed=seed).to(dtype), normal(40, 2, seed=seed, stream=1).to(dtype)
    total = statistics(zip(A.split(7), B.split(7), strict=True))
    assert total.root.dtype == total.mean.dtype == torch.float64
    assert same(total, Statistics.of(A.double(), B.double()))
    found, wanted = (Statistics.of(*pair, within=False) for pair in ((A, B), (A.double(), B.double())))
    assert all(map(torch.equal, found.crossed(), wanted.crossed()))


@laws
@given(seeds, widths, widths, st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_positions_of_feature_maps_are_rows(seed, p, q, space):
    A, B = normal(3, p, *space, seed=seed), normal(3, q, *space, seed=seed, stream=1)
    rows = [X.movedim(1, -1).reshape(-1, X.shape[1]) for X in (A, B)]
    if len(space) == 1:  # tokens, whose channels come last
        A, B = A.mT, B.mT
    maps = Statistics.of(A, B)
    assert maps.n == 3 * math.prod(space) and same(maps, Statistics.of(*rows))
    if len(space) == 2:
        M = least_squares(maps, affine=True)
        assert close(rows_of(M(A)), M(rows[0]))
        A = A.contiguous(memory_format=torch.channels_last)
        assert same(maps, Statistics.of(A, B))


@pytest.mark.parametrize("within", [True, False])
def test_more_rows_than_fit_a_block(within):
    A, B = normal(40_000, 3, seed=0), normal(40_000, 2, seed=1)
    A -= A.mean(0)
    total = Statistics.of(A + 3, B, within=within)
    for found, wanted in zip(
        total.crossed(centred=True),
        (A.square().sum(0), A.T @ B, (B - B.mean(0)).square().sum(0)),
        strict=True,
    ):
        assert close(found, wanted, 1e-12)


@pytest.mark.parametrize("mean", [0.0, 1.5, 1e3, 1e4, 1e6])
def test_a_large_mean_costs_no_digits(mean):
    A, B = normal(5000, 6, seed=0), normal(5000, 4, seed=1)
    a, b = mean * torch.arange(6).sign(), -mean * torch.arange(4).sign()  # the first channels stay near 0
    A, B = (A + a) - a, (B + b) - b  # rounded as the shifted ones are
    batches = [*zip((A + a).split(64), (B + b).split(64), strict=True)]
    shifted, expected = statistics(batches), Statistics.of(A, B)
    assert close(scatter(shifted), scatter(expected), 1e-12 + 1e-16 * mean)
    crossing = partial(Statistics.of, within=False)
    for total in (crossing(A + a, B + b), reduce(add, itertools.starmap(crossing, batches))):
        for found, wanted in zip(total.crossed(centred=True), expected.crossed(centred=True), strict=True):
            # small means are taken off after the products, whose last bits they enlarge by 1 + mean²
            raw = 1 + mean**2 if mean < 2 else 1
            assert (found - wanted).abs().max() <= (raw * 1e-14 + 1e-16 * mean) * len(A)
    fitted = least_squares(shifted, affine=True)
    assert close(fitted.weight, least_squares(expected, affine=True).weight, 1e-11 + 1e-15 * mean)
    assert fitted.residual == pytest.approx(least_squares(expected, affine=True).residual, rel=1e-9)


def test_batches_are_not_kept():
    alive: weakref.WeakSet[Tensor] = weakref.WeakSet()

    def batches():
        for k in range(9):
            A = normal(20, 3, seed=k)
            alive.add(A)
            assert len(alive) <= 2
            yield A, A

    assert statistics(batches()).n == 180


def test_statistics_keep_nothing_of_the_graph():
    A = normal(5, 2, seed=0).requires_grad_()
    assert not Statistics.of(A, A).root.requires_grad


# --- every method ---


@laws
@given(methods, pairs(wide=True), affines)
def test_the_residual_is_that_of_the_features(method, pair, affine):
    A, B = pair
    fitted = METHODS[method](Statistics.of(A, B), affine=affine)
    M, bias = fitted.weight.T, 0 if fitted.bias is None else fitted.bias
    assert (fitted.bias is not None) == affine and fitted.residual >= 0
    rounding = 1e-12 * (A.square().sum() * M.square().sum() + B.square().sum()).item()
    assert fitted.residual == pytest.approx((A @ M + bias - B).square().sum().item(), abs=rounding, rel=1e-9)
    constant = B.mean(0) if affine else 0
    assert fitted.total == pytest.approx((B - constant).square().sum().item(), abs=rounding, rel=1e-9)
    if fitted.total:
        assert fitted.r2 == 1 - fitted.residual / fitted.total


@laws
@given(methods, pairs(wide=True), seeds)
def test_a_bias_makes_shifts_of_the_features_irrelevant(method, pair, seed):
    A, B = pair
    before = METHODS[method](Statistics.of(A, B), affine=True)
    a, b = normal(A.shape[1], seed=seed), normal(B.shape[1], seed=seed, stream=1)
    after = METHODS[method](Statistics.of(A + a, B + b), affine=True)
    assert after.residual == pytest.approx(before.residual, rel=1e-6, abs=1e-8)
    if method != "orthogonal" and len(A) > 2:  # where the optimum may not be unique
        assert close(after(A + a), before(A) + b, 1e-6)


# what may act on A and on B, and commute with the method: on unit matrices from these groups
ACTING = {
    "least squares": (GeneralLinear, GeneralLinear),
    "reduced rank": (GeneralLinear, Orthogonal),
    "orthogonal": (Orthogonal, Orthogonal),
    "lasso": (lambda n: Monomial(n, SCALARS["signs"]),) * 2,
    "permutation": (lambda n: Monomial(n, SCALARS["trivial"]),) * 2,
    "G_ReLU": (GReLU, lambda n: Monomial(n, SCALARS["trivial"])),
    "signs": (lambda n: Monomial(n, SCALARS["signs"]),) * 2,
}


@laws
@given(methods, seeds, widths, affines)
def test_equivariance(method, seed, p, affine):
    A, B = normal(50, p, seed=seed), normal(50, p, seed=seed, stream=1)
    A, B = A + 1, A.flip(1) + 0.5 * B
    G, H = (group(p).sample(generator(seed), scale=0.5) for group in ACTING[method])
    before = METHODS[method](Statistics.of(A, B), affine=affine)
    after = METHODS[method](Statistics.of(A @ G, B @ H), affine=affine)
    assert close(after(A @ G), before(A) @ H, 1e-6)


# --- least squares ---


@settings(max_examples=40, deadline=None)
@given(pairs(), affines)
def test_least_squares_is_the_pseudo_inverse_of_the_features(pair, affine):
    A, B = pair
    fitted = least_squares(Statistics.of(A, B), affine=affine)
    if affine:
        assert close(fitted(A.mean(0)), B.mean(0))
        A, B = A - A.mean(0), B - B.mean(0)
        A[:, A.abs().amax(0) < 1e-12] = 0  # the rounding of a constant channel
    values = torch.linalg.svdvals(A)
    values = values[values > 1e-9 * values[0]]
    M = torch.linalg.pinv(A, rtol=1e-9) @ B
    if not len(values):
        assert not fitted.weight.any()
        return
    condition = values[0] / values[-1]
    assert (fitted.weight.T - M).norm() <= 1e-12 * condition**2 * (M.norm() + B.norm() / values[0])


@laws
@given(seeds, st.integers(2, 8), affines)
def test_features_of_very_different_units(seed, p, affine):
    A, B = normal(50, p, seed=seed), normal(50, 3, seed=seed, stream=1)
    units = torch.logspace(-9, 9, p, dtype=torch.float64)
    plain, scaled = (least_squares(Statistics.of(X, B), affine=affine) for X in (A, A * units))
    assert close(scaled.weight * units, plain.weight)


@pytest.mark.parametrize("affine", [False, True])
def test_a_direction_of_a_ten_thousandth_is_kept(affine):
    A, M = normal(500, 5, seed=0), normal(5, 3, seed=1)
    A[:, 4] = A[:, 0] + 1e-4 * A[:, 4]
    assert close(least_squares(Statistics.of(A, A @ M), affine=affine).weight.T, M, 1e-5)


# --- reduced rank ---


@laws
@given(pairs(), affines)
def test_reduced_rank_has_its_rank_and_ends_in_least_squares(pair, affine):
    total = Statistics.of(*pair)
    residuals = []
    for rank in range(1, min(total.widths) + 1):
        fitted = reduced_rank(total, rank, affine=affine)
        assert torch.linalg.matrix_rank(fitted.weight, rtol=1e-9) <= rank
        residuals.append(fitted.residual)
    slack = 1e-9 * max(1.0, residuals[0])
    assert all(low <= high + slack for high, low in itertools.pairwise(residuals))
    assert close(fitted.weight, least_squares(total, affine=affine).weight, 1e-6)


@pytest.mark.parametrize(("p", "q", "rank"), [(5, 4, 1), (5, 4, 2), (4, 6, 3)])
def test_reduced_rank_agrees_with_gradient_descent_on_two_factors(p, q, rank):
    seed = rank
    A, B = normal(30, p, seed=seed), normal(30, q, seed=seed, stream=1)
    B = B + A @ normal(p, q, seed=seed, stream=2)
    fitted = reduced_rank(Statistics.of(A, B), rank)
    factors = [normal(*shape, seed=seed).requires_grad_() for shape in ((p, rank), (rank, q))]
    optimiser = torch.optim.LBFGS(
        factors, max_iter=5000, tolerance_grad=1e-11, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = (A @ factors[0] @ factors[1] - B).square().mean()
        value.backward()
        return value

    optimiser.step(loss)
    M = (factors[0] @ factors[1]).detach()
    assert (A @ M - B).square().sum().item() == pytest.approx(fitted.residual, rel=1e-6)
    assert close(fitted.weight.T, M, 1e-6)


# --- orthogonal ---


@laws
@given(pairs(same_width=True), affines)
def test_orthogonal_is_scipy_s_procrustes(pair, affine):
    from scipy.linalg import orthogonal_procrustes

    A, B = pair
    fitted = orthogonal(Statistics.of(A, B), affine=affine)
    assert Orthogonal(A.shape[1]).contains(fitted.weight)
    if affine:
        A, B = A - A.mean(0), B - B.mean(0)
    Q = torch.as_tensor(orthogonal_procrustes(A.numpy(), B.numpy())[0])
    assert fitted.residual == pytest.approx((A @ Q - B).square().sum().item(), rel=1e-9, abs=1e-9)
    if torch.linalg.cond(A.T @ B) < 1e6:
        assert close(fitted.weight.T, Q)


@laws
@given(seeds, widths, st.integers(0, 3))
def test_an_isometry_into_more_channels_is_recovered(seed, p, more):
    Q = Orthogonal(p + more).sample(generator(seed))[:p]
    A = normal(30, p, seed=seed)
    fitted = orthogonal(Statistics.of(A, A @ Q))
    assert close(fitted.weight.T, Q) and fitted.r2 == pytest.approx(1)


# --- lasso ---


@laws
@given(pairs(), affines, st.floats(0.001, 1.5))
def test_lasso_has_a_subgradient_that_is_zero(pair, affine, part):
    total = Statistics.of(*pair)
    AA, AB, _ = total.products(centred=affine)
    alpha = share(total, part, affine)
    M = lasso(total, alpha, affine=affine).weight.T
    slope = (AA @ M - AB) / alpha
    assert slope.abs().max() <= 1 + 1e-4
    assert (slope + M.sign())[M != 0].abs().sum() <= 1e-4 * M.numel()
    assert part < 1 or not M.any()


@pytest.mark.parametrize("alpha", [0.1, 10.0])
@pytest.mark.parametrize(("n", "p", "q"), [(60, 8, 5), (20, 20, 1), (10, 15, 4)])
def test_lasso_agrees_with_scikit_learn_on_the_features(n, p, q, alpha):
    from sklearn.linear_model import Lasso

    A, B = normal(n, p, seed=n) + 2, normal(n, q, seed=n, stream=1) - 1
    B = B + A[:, :q]
    for affine in (False, True):
        fitted = lasso(Statistics.of(A, B), alpha, affine=affine)
        # its objective is ours divided by n
        peer = Lasso(alpha / n, fit_intercept=affine, tol=1e-13, max_iter=10**6).fit(A.numpy(), B.numpy())
        assert close(fitted.weight, torch.as_tensor(peer.coef_.reshape(q, p)), 1e-6)
        if fitted.bias is not None:
            assert np.allclose(fitted.bias.numpy(), peer.intercept_, atol=1e-6)


# --- permutations with scalars ---


@pytest.mark.parametrize("width", [8, 64])
def test_a_planted_element_of_g_relu_is_recovered(width):
    G = GReLU(width).sample(generator(width))
    before = normal(width + 20, width, seed=width)  # ReLU(before·Gᵀ) = ReLU(before)·Gᵀ
    A, B = before.relu().float(), (before @ G.T).relu().float()
    fitted = g_relu(Statistics.of(A, B))
    assert torch.equal(fitted.weight != 0, G != 0)
    assert ((fitted.weight - G).abs() <= 1e-6 * G).all()
    assert 0 <= fitted.residual <= 1e-12 * fitted.total
    P = (G != 0).double()
    assert torch.equal(permutation(Statistics.of(A, A @ P.T.float())).weight, P)


@pytest.mark.parametrize("scalars", SCALARS.values(), ids=SCALARS)
@settings(max_examples=10, deadline=None)
@given(pair=pairs(), affine=affines)
def test_monomial_maps_agree_with_brute_force(scalars, pair, affine):
    A, B = pair
    fitted = monomial(Statistics.of(A, B), scalars, affine=affine)
    p, q = A.shape[1], B.shape[1]
    if affine:
        A, B = A - A.mean(0), B - B.mean(0)
    power = A.square().sum(0)
    d = scalars.nearest((A.T @ B) / torch.where(power > 1e-20, power, 1)[:, None])
    cost = (d[:, :, None] * A.T[:, None] - B.T).square().sum(-1) - B.square().sum(0)
    if p <= q:
        best = min(cost[range(p), list(c)].sum() for c in itertools.permutations(range(q), p))
    else:
        best = min(cost[list(c), range(q)].sum() for c in itertools.permutations(range(p), q))
    expected = (best + B.square().sum()).item()
    assert fitted.residual == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1 + B.square().sum().item()))
    assert ((fitted.weight != 0).sum(0) <= 1).all() and ((fitted.weight != 0).sum(1) <= 1).all()


@pytest.mark.parametrize("scalars", SCALARS.values(), ids=SCALARS)
@settings(max_examples=10, deadline=None)
@given(width=st.integers(1, 12), seed=seeds)
def test_planted_monomial_matrices_are_recovered(scalars, width, seed):
    M = Monomial(width, scalars).sample(generator(seed))
    A = normal(40, width, seed=seed)
    assert close(monomial(Statistics.of(A, A @ M.T), scalars).weight, M)
    inputs, outputs, d = unit_assignment(Statistics.of(A, A @ M.T), scalars)
    assert outputs.tolist() == list(range(width)) and close(M[outputs, inputs], d)


def test_units_that_match_nothing_get_scalar_0_and_stay_in_the_assignment():
    A = torch.eye(6, 4)
    B = A[:, [2, 0, 3, 1]]
    A[:, 3] = 0  # dead
    fitted, (inputs, outputs, d) = (
        g_relu(Statistics.of(A, B)),
        unit_assignment(Statistics.of(A, B), SCALARS["positive"]),
    )
    assert inputs.tolist() == [2, 0, 3, 1] and outputs.tolist() == [0, 1, 2, 3]
    assert torch.allclose(d, torch.tensor([1, 1, 0, 1.0]).double()) and not fitted.weight[:, 3].any()
    assert permutation(Statistics.of(A, B)).weight[2, 3] == 1


def test_a_forbidden_pair_is_not_matched_and_types_do_not_matter():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        cost = torch.tensor([[0, math.inf], [5, 6]], dtype=dtype)
        assert assignment(cost)[1].tolist() == [0, 1] == assignment(-cost, maximize=True)[1].tolist()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1, 1), (7, 7), (40, 25), (25, 40)])
def test_lapx_and_scipy_find_one_least_sum(p, q, maximize, monkeypatch):
    pytest.importorskip("lap", reason="lapx is not installed")
    cost = normal(p, q, seed=p)
    cost[0, 1:] = -math.inf if maximize else math.inf
    found = assignment(cost, maximize=maximize)
    monkeypatch.setitem(sys.modules, "lap", None)
    solver.cache_clear()
    wanted = assignment(cost, maximize=maximize)
    solver.cache_clear()
    assert all(torch.equal(*pair) for pair in zip(found, wanted, strict=True))  # no two sums are equal
    with pytest.raises(ValueError, match="forbid fewer"):
        assignment(torch.full((p, q), math.inf))


# --- the map ---


@laws
@given(seeds, widths, widths, affines, st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_a_map_its_module_and_its_convolution_are_the_same(seed, p, q, affine, dtype):
    A, B = normal(50, p, seed=seed), normal(50, q, seed=seed, stream=1)
    fitted = least_squares(Statistics.of(A, B), affine=affine)
    x = A.to(dtype)
    y = fitted(x)
    rounding = 100 * torch.finfo(dtype).eps
    assert y.dtype == dtype and close(y.double(), fitted(x.double()), rounding)
    assert close(fitted(x.expand(2, *x.shape)), y.expand(2, *y.shape), rounding)
    layer, conv = fitted.as_module(), fitted.as_module(convolution=True)
    assert isinstance(layer, nn.Linear) and isinstance(conv, nn.Conv2d)
    assert all(parameter.requires_grad for parameter in conv.parameters())
    maps = x.T.reshape(1, A.shape[1], len(A), 1)
    assert close(fitted(maps)[0, :, :, 0].T, y, rounding)
    rounding = max(rounding, 1e-5)  # the weights of a module are in float32
    assert close(layer.to(dtype)(x), y, rounding)
    assert close(conv.to(dtype)(maps)[0, :, :, 0].T, y, rounding)


OWN: dict[Callable[..., LinearMap], dict[str, object]] = {
    **{least_squares: {}, reduced_rank: {"rank": 1}, orthogonal: {}, lasso: {"alpha": 1.0}},
    **{monomial: {"scalars": SCALARS["signs"]}, permutation: {}, g_relu: {}},
}


@laws
@given(st.sampled_from(list(OWN)), pairs(wide=True), affines)
def test_one_call_fits_and_scores_as_the_closed_form_does(closed_form, pair, affine):
    A, B = pair
    options = {**OWN[closed_form], "affine": affine}
    within = closed_form in (least_squares, reduced_rank, lasso)
    found, expected = (
        fit(A, B, closed_form, **options),
        closed_form(Statistics.of(A, B, within=within), **options),
    )
    assert torch.equal(found.weight, expected.weight)
    assert found.score(A, B) == pytest.approx(expected.r2, nan_ok=True)
    half = len(A) // 2 + 1
    B, guess = B[:half], found(A[:half])
    total = (B - (B.mean(0) if affine else 0)).square().sum()
    if total > 1e-6 * B.square().sum():
        score = (1 - (guess - B).square().sum() / total).item()
        assert found.score(A[:half], B) == pytest.approx(score, rel=1e-5, abs=1e-6)


def test_as_module_leaves_the_global_generator_alone():
    before = torch.random.get_rng_state()
    least_squares(Statistics.of(normal(9, 3, seed=0), normal(9, 2, seed=1))).as_module()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_constant_target_leaves_nothing_to_explain():
    B = torch.full((10, 1), 0.1)
    fitted = least_squares(Statistics.of(normal(10, 2, seed=0), B), affine=True)
    assert not fitted.weight.any() and math.isnan(fitted.r2) and close(fitted.bias, B[0].double())


# --- least squares where features are nearly dependent ---


def conditioned(n: int, p: int, kappa: float, seed: int) -> Tensor:
    """Features with singular values from 1 to 1/κ, rotated, so that no channel shows it."""
    shapes = enumerate([(n, p), (p, p)])
    U, V = (torch.linalg.qr(normal(*shape, seed=seed, stream=k)).Q for k, shape in shapes)
    return U * torch.logspace(0, -math.log10(kappa), p, dtype=torch.float64) @ V.T


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("kappa", [1e3, 1e5, 1e7, 1e9, 1e11])
def test_least_squares_lose_no_more_digits_than_lstsq(kappa, affine):
    A, M = conditioned(400, 12, kappa, seed=0) + 0.1 * affine, normal(12, 5, seed=1)
    for B, slack in ((A @ M, 1e-14), (A @ M + 1e-3 * normal(400, 5, seed=2), 1e-14 * (1 + 1e-3 * kappa))):
        stream = reversed([*zip(A.split(37), B.split(37), strict=True)])
        fitted = least_squares(statistics(stream), affine=affine)
        X, Y = (Z - Z.mean(0) for Z in (A, B)) if affine else (A, B)
        wanted = torch.linalg.lstsq(X, Y, driver="gelsd").solution
        assert (fitted.weight.T - wanted).norm() <= 10 * kappa * slack * wanted.norm()
        # of an exact solution nothing is left, which sums of squares could not tell from 10⁻¹⁵ of B
        left = (X @ wanted - Y).square().sum().item()
        assert fitted.residual == pytest.approx(left, rel=1e-9, abs=1e-26 * kappa**2 * left + 1e-24)


@laws
@given(seeds, st.lists(st.integers(1, 30), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_statistics_merged_in_any_order_have_one_map(seed, sizes, random):
    parts = [
        (conditioned(n + 6, 6, 1e6, seed + k), normal(n + 6, 2, seed=seed + k, stream=2))
        for k, n in enumerate(sizes)
    ]
    wanted = least_squares(Statistics.of(*(torch.cat(Z) for Z in zip(*parts, strict=True)))).weight
    found = [Statistics.of(*part) for part in parts]
    while len(found) > 1:  # any tree
        random.shuffle(found)
        found.append(found.pop() + found.pop())
    assert close(least_squares(found[0]).weight, wanted, 1e-3)
    assert torch.equal(found[0].root, found[0].root.triu()) and len(found[0].root) <= 8


@pytest.mark.parametrize("n", [4, 12, 13, 40])
@pytest.mark.parametrize("rank", [3, 12])
def test_dependent_features_have_the_map_of_least_norm(n, rank):
    A = normal(n, rank, seed=n) @ normal(rank, 12, seed=n, stream=1)
    B = normal(n, 3, seed=n, stream=2)
    fitted = least_squares(Statistics.of(A, B))
    scale = A.norm(
        dim=0
    )  # the dependence is decided in channels of one length, the least norm is of M itself
    values = torch.linalg.svdvals(A / scale)
    wanted = torch.linalg.pinv(A, rtol=1e-10) @ B
    assert close(fitted.weight.T, wanted, 1e-13 * float((values[0] / values[min(n, rank) - 1]) ** 2) + 1e-11)


def test_float32_features_have_the_map_of_their_float64_copies():
    A = conditioned(400, 12, 1e4, seed=3).float()
    B = (A.double() @ normal(12, 4, seed=4)).float()
    wanted = torch.linalg.lstsq(A.double(), B.double(), driver="gelsd").solution
    assert close(least_squares(Statistics.of(A, B)).weight.T, wanted, 1e-11)


@pytest.mark.parametrize(
    ("dtype", "kappa", "warns"),
    [
        (torch.float64, 1e9, 0),
        (torch.float64, 2e12, 1),
        (torch.float32, 1e4, 0),
        (torch.float32, 5e6, 1),
        (torch.float32, 1e7, 1),
        (torch.float32, 1e8, 1),
        (torch.float32, 1e10, 1),
    ],
)
def test_where_rounding_may_be_all_that_varies_a_fit_warns(dtype, kappa, warns):
    A = conditioned(400, 6, kappa, seed=5).to(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit(A, A @ normal(6, 6, seed=6).to(dtype))
    assert len(caught) == warns and all("the map is not known" in str(each.message) for each in caught)
    assert fitted.r2 > 1 - 1e-9  # which does not show it


LAYERS: dict[str, Callable[[], list[nn.Module]]] = {
    "wider than its inputs": lambda: [nn.Linear(8, 64)],
    "layer norm": lambda: [nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32)],
    "batch norm": lambda: [nn.Linear(8, 32), nn.BatchNorm1d(32)],
    "ReLU": lambda: [nn.Linear(8, 16), nn.ReLU()],
    "softmax": lambda: [nn.Softmax(-1)],
}


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_dependences_that_a_layer_has_are_decided_without_a_warning(name, affine):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.Sequential(*LAYERS[name]())
    x = normal(1000, 8, seed=0)
    with torch.no_grad():
        A = layer(x.float()), layer.double()(x)
    B = x[:, :2] + 0.1 * normal(1000, 2, seed=1)
    fitted = fit(A[0], B, affine=affine)  # warnings are errors
    X, Y = (Z - Z.mean(0) for Z in (A[1], B)) if affine else (A[1], B)
    wanted = torch.linalg.pinv(X, rtol=1e-5) @ Y
    assert (fitted.weight.T - wanted).norm() < 0.01 * wanted.norm()


@pytest.mark.parametrize("closed_form", [least_squares, reduced_rank, lasso, orthogonal, permutation])
def test_fit_has_a_bias_where_the_stitch_of_its_kind_has_one(closed_form):
    from intertwine.stitching import KINDS
    from intertwine.stitching.maps import options_of

    kind = {least_squares: "least squares", reduced_rank: "low rank", lasso: "sparse"}
    name = kind.get(closed_form, closed_form.__name__)
    A = normal(30, 4, seed=7) + 1
    found = fit(A, A.flip(1) + 1, closed_form, **OWN[closed_form])
    assert (found.bias is not None) == options_of(KINDS[name])["affine"]


# --- bad input ---


def test_a_lasso_that_does_not_converge_says_so():
    A = normal(40, 30, seed=0) * 1e-4 + normal(40, 1, seed=1)
    with pytest.raises(RuntimeError, match="did not converge at alpha=1e-07"):
        lasso(Statistics.of(A, normal(40, 1, seed=2)), 1e-7)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("closed_form", [orthogonal, permutation, g_relu])
def test_maps_with_a_diagonal_product_need_only_the_diagonals(closed_form, affine):
    A, B = torch.randn(2, 30, 4, generator=torch.Generator().manual_seed(0)) + 3
    whole = Statistics.of(A, B)
    part = Statistics.of(A[:10], B[:10], within=False) + Statistics.of(A[10:], B[10:], within=False)
    one, other = (closed_form(given, affine=affine) for given in (whole, part))
    torch.testing.assert_close(one.weight, other.weight)
    assert (one.residual, one.total) == pytest.approx((other.residual, other.total))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("dtype", "mean"), [(torch.float32, 1000.0), (torch.bfloat16, 0.0)])
def test_channels_that_are_dependent_but_for_rounding_have_the_least_map(dtype, mean, affine):
    A = mean + torch.randn(2000, 6, generator=generator(0), dtype=torch.float64)
    A[:, 5] = A[:, 0] + A[:, 1]
    B = A @ torch.randn(6, 4, generator=generator(1), dtype=torch.float64)
    B += 0.1 * torch.randn(2000, 4, generator=generator(2), dtype=torch.float64)
    wanted = least_squares(Statistics.of(A, B), affine=affine).weight
    found = least_squares(Statistics.of(A.to(dtype), B.to(dtype)), affine=affine).weight
    assert (found - wanted).norm() < 0.01 * wanted.norm()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_channel_that_only_rounding_moves_is_constant(dtype):
    draw = torch.randn(50, 2, generator=generator(0), dtype=torch.float64)
    A = torch.stack([0.3 * (1 + 0.3 * torch.finfo(dtype).eps * draw[:, 0]), 1 + draw[:, 1] / 10], 1).to(dtype)
    assert (Statistics.of(A, A).products(centred=True).AA.diagonal() > 0).tolist() == [False, True]


@laws
@given(st.integers(0, 10**6), st.sampled_from([0.5, 2.0, 8.0]))
def test_restored_outputs_vary_as_much_as_their_targets(seed, noise):
    generator = torch.Generator().manual_seed(seed)
    A, M, N = (torch.randn(*shape, generator=generator) for shape in ((300, 5), (5, 4), (300, 4)))
    B = A @ M + noise * N + 3
    S = Statistics.of(A, B)
    fitted, plain = variance_restored(S), least_squares(S, affine=True)
    torch.testing.assert_close(fitted(A).var(0), B.var(0), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(fitted(A).mean(0), B.mean(0), rtol=1e-3, atol=1e-3)
    assert fitted.residual > plain.residual and (plain(A).var(0) < B.var(0)).all()


def test_a_channel_that_no_map_explains_stays_constant():
    A = (torch.arange(64)[:, None] >> torch.arange(6) & 1).double() * 0.2 + 0.1  # all 64 settings of six
    B = (A[:, 1:2] - 0.2) * (A[:, 2:3] - 0.2)
    assert variance_restored(Statistics.of(A, B)).weight.abs().max() < 1e-12
