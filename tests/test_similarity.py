"""The measures against references from their definitions, brute force, known elements, and bad inputs."""

import importlib
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial.distance
import torch
from helpers import FEW, generator, sentence
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from intertwine.alignment import assignment
from intertwine.groups import GReLU
from intertwine.similarity import (
    MEASURES,
    cca,
    cka,
    gram,
    grams,
    grelu_cka,
    grelu_procrustes,
    hsic,
    max_gram,
    mutual_knn,
    procrustes,
    pwcca,
    r2,
    soft_matching,
    svcca,
    u_centred,
)
from intertwine.similarity.inputs import scaled

seeds = st.integers(0, 2**31)
laws = settings(max_examples=20, deadline=None)


def normal(*shape: int, seed: int, stream: int = 0) -> Tensor:
    return torch.randn(shape, generator=generator(3 * seed + stream), dtype=torch.float64)


@st.composite
def pairs(draw, dtype: torch.dtype = torch.float64, same_width: bool = False) -> tuple[Tensor, Tensor]:
    """Correlated features with n < c, n = c, n > c, dependent columns, and means of up to 10⁴ deviations."""
    seed, p = draw(seeds), draw(st.integers(2, 8))
    q = p if same_width else draw(st.integers(2, 8))
    n = draw(st.sampled_from([5, max(p, 4), 12, 40]))
    X, Y = normal(n, p, seed=seed), normal(n, q, seed=seed, stream=1)
    Y[:, : min(p, q)] += X[:, : min(p, q)]
    if draw(st.booleans()):
        rank = draw(st.integers(1, p))
        X = X[:, :rank] @ normal(rank, p, seed=seed, stream=2)
    mean = draw(st.sampled_from([0.0, 1.0, 100.0, 1e4]))
    return (X + mean).to(dtype), (Y - mean).to(dtype)


# --- references, from the definitions; HSIC in long doubles or fractions, as its textbook form cancels ---


def long(X: Tensor) -> np.ndarray:
    return X.numpy().astype(np.longdouble)


def fractions(X: Tensor) -> np.ndarray:
    """Exact: far from 0 the max kernel loses more digits than 64 bits have."""
    return np.vectorize(Fraction, otypes=[object])(X.double().numpy())


def textbook_hsic(K: np.ndarray, L: np.ndarray, estimator: str) -> float:
    n, K, L = len(K), K - K.mean(), L - L.mean()  # a constant changes nothing but the rounding
    if estimator == "biased":
        HKH = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        return float((HKH * L).sum() / (n - 1) ** 2)  # the trace of KHLH
    for A in (K, L):
        np.fill_diagonal(A, 0)
    middle = K.sum() * L.sum() / ((n - 1) * (n - 2))
    return float(((K * L).sum() + middle - 2 * (K.sum(0) @ L.sum(0)) / (n - 2)) / (n * (n - 3)))


def reference_gram(X: np.ndarray, kernel: str) -> np.ndarray:
    if kernel == "linear":
        return (X - X.mean(0)) @ (X - X.mean(0)).T
    if kernel == "max":
        return np.max(X[:, None, :] * X[None, :, :], axis=2)
    distances = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(2))
    ordered = np.sort(distances[np.triu_indices(len(X), 1)])
    return np.exp(-(distances**2) / (2 * ordered[(len(ordered) - 1) // 2] ** 2))


def reference_alignment(K: np.ndarray, L: np.ndarray, estimator: str) -> float:
    parts = [textbook_hsic(A, B, estimator) for A, B in ((K, L), (K, K), (L, L))]
    return parts[0] / math.sqrt(parts[1] * parts[2]) if min(parts[1:]) > 0 else math.nan


def reference_grelu_cka(X: np.ndarray, Y: np.ndarray, corrected: bool) -> float:
    grams = []
    for Z in (X, Y):
        n, d = Z.shape
        Z = Z - Z.sum(0) / (n if corrected else d)
        Z = Z / np.sqrt((Z**2).sum(0))
        grams.append(reference_gram(Z, "max"))
    return reference_alignment(*grams, "unbiased")


def reference_procrustes(X: np.ndarray, Y: np.ndarray, group: str, centred: bool) -> float:
    X, Y = (Z - Z.mean(0) if centred else Z for Z in (X, Y))
    if group == "grelu":
        X, Y = (Z / np.linalg.norm(Z, axis=0) for Z in (X, Y))
    width = max(X.shape[1], Y.shape[1])
    X, Y = (np.pad(Z, ((0, 0), (0, width - Z.shape[1]))) / np.linalg.norm(Z) for Z in (X, Y))
    C = X.T @ Y
    if group in ("permutation", "grelu"):
        chosen = linear_sum_assignment(C, maximize=True)
        inner = C[chosen].sum()
    else:
        U, S, Vh = np.linalg.svd(C)
        reflected = group == "rotation" and np.linalg.det(U @ Vh) < 0
        inner = S.sum() - 2 * S[-1] * reflected
    return 1 - np.sqrt(max(0.0, 2 - 2 * inner)) / 2


def reference_basis(X: Tensor, kept: float = 1.0, centre: bool = True) -> np.ndarray:
    Z = X.double().numpy()
    rounding = 4 * torch.finfo(X.dtype).eps * np.linalg.norm(Z)
    U, S, _ = np.linalg.svd(Z - Z.mean(0) if centre else Z, full_matrices=False)
    threshold = max(rounding, 64 * np.finfo(float).eps * S[0])
    assume(not ((threshold / 20 < S) & (threshold * 20 > S)).any())  # no rank that is a matter of taste
    count = (threshold < S).sum()
    if kept < 1:
        shares = np.cumsum(S**2) / np.sum(S**2)
        assume(np.abs(shares - kept).min() > 1e-6)
        count = min(count, np.searchsorted(shares, kept) + 1)
    return U[:, :count]


def reference_pwcca(X: Tensor, Y: Tensor) -> float:
    A, B = reference_basis(X), reference_basis(Y)
    U, S, _ = scipy.linalg.svd(A.T @ B, full_matrices=False)
    assume(len(S) == 1 or np.diff(np.append(S, 0.0)).max() < -1e-3)  # ties leave the variates open
    Z = X.double().numpy()
    weights = np.abs((A @ U).T @ (Z - Z.mean(0))).sum(1)
    return float((weights * S).sum() / weights.sum())


def reference_r2(X: Tensor, Y: Tensor, centre: bool) -> float:
    basis, Z = reference_basis(X, centre=centre), Y.double().numpy()
    Z = Z - Z.mean(0) if centre else Z
    residual = Z - basis @ np.linalg.lstsq(basis, Z, rcond=None)[0]
    return float(1 - (residual**2).sum() / (Z**2).sum())


def reference_soft_matching(X: np.ndarray, Y: np.ndarray) -> float:
    """By splitting every unit until both have as many: then the best plan is a permutation (Birkhoff)."""
    X, Y = ((Z - Z.mean(0)) / np.linalg.norm(Z - Z.mean(0)) * Z.shape[1] ** 0.5 for Z in (X, Y))
    count = math.lcm(X.shape[1], Y.shape[1])
    X, Y = (np.repeat(Z, count // Z.shape[1], axis=1) for Z in (X, Y))
    costs = scipy.spatial.distance.cdist(X.T, Y.T, "sqeuclidean")
    return math.sqrt(costs[linear_sum_assignment(costs)].sum() / count)


REFERENCES: dict[str, tuple[Callable, Callable]] = {
    f"cka {kernel} {estimator}": (
        lambda X, Y, k=kernel, e=estimator: cka(X, Y, kernel=k, estimator=e),
        lambda X, Y, k=kernel, e=estimator: reference_alignment(
            *(reference_gram((fractions if k == "max" else long)(Z), k) for Z in (X, Y)), e
        ),
    )
    for kernel in ("linear", "rbf", "max")
    for estimator in ("unbiased", "biased")
}
for corrected in (False, True):
    REFERENCES[f"grelu cka {corrected}"] = (
        lambda X, Y, c=corrected: grelu_cka(X, Y, corrected=c),
        lambda X, Y, c=corrected: reference_grelu_cka(long(X), long(Y), c),
    )
    REFERENCES[f"grelu procrustes {corrected}"] = (
        lambda X, Y, c=corrected: grelu_procrustes(X, Y, corrected=c),
        lambda X, Y, c=corrected: reference_procrustes(
            *(Z.double().numpy() for Z in (X, Y)), "grelu", centred=c
        ),
    )
for group in ("orthogonal", "rotation", "permutation"):
    for centre in (True, False):
        REFERENCES[f"{group} {centre}"] = (
            lambda X, Y, g=group, c=centre: procrustes(X, Y, g, centred=c),
            lambda X, Y, g=group, c=centre: reference_procrustes(
                *(Z.double().numpy() for Z in (X, Y)), g, centred=c
            ),
        )
for centre in (True, False):
    REFERENCES[f"r2 {centre}"] = (
        lambda X, Y, c=centre: r2(X, Y, centred=c),
        lambda X, Y, c=centre: reference_r2(X, Y, c),
    )
REFERENCES["cca"] = (
    cca,
    lambda X, Y: np.linalg.svd(reference_basis(X).T @ reference_basis(Y), compute_uv=False).mean(),
)
REFERENCES["svcca"] = (
    svcca,
    lambda X, Y: np.linalg.svd(
        reference_basis(X, 0.99).T @ reference_basis(Y, 0.99), compute_uv=False
    ).mean(),
)
REFERENCES["pwcca"] = (pwcca, reference_pwcca)
REFERENCES["soft matching"] = (
    soft_matching,
    lambda X, Y: reference_soft_matching(*(Z.double().numpy() for Z in (X, Y))),
)


@FEW
@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), dtype=st.sampled_from([torch.float64, torch.float32]))
def test_agreement_with_the_reference(name, data, dtype):
    ours, reference = REFERENCES[name]
    X, Y = data.draw(pairs(dtype))
    expected = reference(X, Y)
    assume(np.isfinite(expected))
    # a chord d near 0 has an error of 1e-16/d in the reference, whose cosine form cancels
    slack = 3e-8 if "False" in name and X.mean() > 50 and "cka" not in name else 0
    assert abs(float(ours(X, Y)) - expected) <= (1e-10 if dtype == torch.float64 else 1e-5) + slack


# --- brute force and known elements ---


@pytest.mark.parametrize("width", [2, 4, 7])
@pytest.mark.parametrize("normalised", ["permutation", "grelu"])
def test_the_matching_is_the_best_of_all_permutations(width, normalised):
    for seed in range(3):
        X, Y = normal(20, width, seed=seed) + 1, normal(20, width, seed=seed, stream=1) + 1
        A, B = ((Z / Z.norm(dim=0) if normalised == "grelu" else Z) for Z in (X, Y))
        A, B = A / A.norm(), B / B.norm()
        distances = torch.cdist(A.T, B.T).square()
        orders = torch.tensor(list(itertools.permutations(range(width))))
        best = distances[torch.arange(width), orders].sum(1).min().sqrt()
        assert abs(procrustes(X, Y, normalised, centred=False) - (1 - best / 2)) < 1e-12


def test_rotations_in_the_plane_by_trying_every_angle():
    angles = torch.linspace(0, 2 * math.pi, 20001, dtype=torch.float64)
    turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], 1).view(-1, 2, 2)
    for seed in range(5):
        X, Y = normal(10, 2, seed=seed), normal(10, 2, seed=seed, stream=1)
        A, B = ((Z - Z.mean(0)) / (Z - Z.mean(0)).norm() for Z in (X, Y))
        best = (A @ turns - B).flatten(1).norm(dim=1).min()
        assert abs(procrustes(X, Y, "rotation") - (1 - best / 2)) < 1e-6
        assert abs(procrustes(X, Y, "rotation", form="angular") - 2 * (best / 2).asin()) < 1e-6


def test_a_reflection_of_as_many_samples_as_columns_is_no_rotation():
    X = normal(3, 3, seed=0)
    mirrored = X * torch.tensor([1.0, 1.0, -1.0])
    same, other = (procrustes(X, mirrored, group, centred=False) for group in ("orthogonal", "rotation"))
    least = torch.linalg.svdvals(X / X.norm())[-1]  # what has to be turned over, of all of X
    assert abs(same - 1) < 1e-9 and abs(other - (1 - least)) < 1e-9


@pytest.mark.parametrize("solver", ["_linear_program", "_network_simplex"])
@pytest.mark.parametrize("widths", [(2, 3), (9, 7), (24, 36)])
def test_both_solvers_find_the_transport_plan_of_least_cost(widths, solver):
    if solver == "_network_simplex":
        pytest.importorskip("ot")
    X, Y = (normal(20, width, seed=0, stream=width) for width in widths)
    cost = scipy.spatial.distance.cdist(X.T.numpy(), Y.T.numpy(), "sqeuclidean")
    plan = getattr(importlib.import_module("intertwine.similarity.soft_matching"), solver)(cost)
    assert plan.sum(1) == pytest.approx(1 / widths[0]) and plan.sum(0) == pytest.approx(1 / widths[1])
    parts = math.lcm(*widths)
    equal = cost.repeat(parts // widths[0], 0).repeat(parts // widths[1], 1)
    assert (plan * cost).sum() == pytest.approx(equal[linear_sum_assignment(equal)].mean(), rel=1e-12)


@pytest.mark.parametrize("corrected", [False, True])
def test_a_planted_element_of_g_relu_gives_exactly_1(corrected):
    X, A = normal(200, 128, seed=0).relu(), GReLU(128).sample(generator(1))
    Y = X @ A
    assert grelu_procrustes(X, Y, corrected=corrected) == 1
    assert abs(grelu_cka(X, Y, corrected=corrected) - 1) < 1e-12
    rows, columns = assignment((X / X.norm(dim=0)).T @ (Y / Y.norm(dim=0)), maximize=True)
    assert torch.equal(A[rows, columns] > 0, torch.ones(128, dtype=torch.bool))
    halves = A * torch.where(A > 0, torch.exp2(A.clamp(min=1e-9).log2().round()) / A.clamp(min=1e-9), 0)
    assert grelu_procrustes(X, X @ halves, corrected=False) == 1  # powers of 2, where nothing is rounded


def test_an_exact_copy_has_no_distance_where_the_cosine_form_has():
    X = normal(200, 32, seed=0)
    Q = torch.linalg.qr(normal(32, 32, seed=1)).Q
    assert procrustes(X, X @ Q, form="angular") < 1e-14
    cosines = []
    for seed in range(10):
        X = normal(200, 32, seed=seed)
        A, B = ((Z / Z.norm()).float() for Z in (X, X @ Q))
        cosines.append((2 - 2 * torch.linalg.svdvals(A.T @ B).sum()).abs().sqrt())
        assert procrustes(A, B, form="angular") < 1e-6
    assert max(cosines) > 1e-4


@settings(max_examples=15)
@given(
    st.floats(-16, 1) | st.floats(-0.9, -0.6),
    st.sampled_from(["orthogonal", "rotation"]),
    st.sampled_from([6, 250]),
    seeds,
)
def test_procrustes_has_all_digits_of_the_residual_at_every_distance(exponent, group, c, seed):
    X, noise = normal(500, c, seed=seed), normal(500, c, seed=seed, stream=2)
    Y = X @ torch.linalg.qr(normal(c, c, seed=seed, stream=1)).Q + 10**exponent * noise
    A, B = ((Z - Z.mean(0)).numpy() for Z in (X, Y))
    A, B = A / np.linalg.norm(A), B / np.linalg.norm(B)
    U, _, Vh = np.linalg.svd(A.T @ B)
    U[:, -1] *= np.linalg.det(U @ Vh) if group == "rotation" else 1
    residual = np.linalg.norm(A @ (U @ Vh) - B)
    assert abs(2 * (1 - procrustes(X, Y, group)) - residual) < 1e-14
    assert abs(2 * (1 - procrustes(X, Y, group, dtype=torch.float32)) - residual) < 4e-6


def test_widths_that_differ_get_zeros_and_dead_units_are_left_out():
    X, Y = normal(20, 3, seed=0), normal(20, 5, seed=0, stream=1)
    wide = torch.cat([X, torch.zeros(20, 2)], 1)
    for group in ("orthogonal", "permutation"):
        assert abs(procrustes(X, Y, group) - procrustes(wide, Y, group)) < 1e-12
        assert abs(procrustes(X, Y, group) - procrustes(Y, X, group)) < 1e-12
    # also where what has no partner is small beside what has one
    small = normal(20, 1, seed=1)
    small = 1e-6 * (small - small.mean()) / small.std()
    distance = 2 * (1 - procrustes(X, torch.cat([X, small], 1), "permutation"))
    assert distance == pytest.approx((small.norm() / (X - X.mean(0)).norm()).item(), rel=1e-3)
    dead = torch.cat([X, torch.full((20, 1), 0.1)], 1)
    assert abs(grelu_procrustes(dead, Y, corrected=True) - grelu_procrustes(X, Y, corrected=True)) < 1e-12
    assert abs(grelu_cka(dead, Y, corrected=True) - grelu_cka(X, Y, corrected=True)) < 1e-12


# --- what the papers print and a calculation refutes ---


def test_the_max_kernel_is_not_positive_and_grelu_cka_not_in_0_1():
    K = gram(torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), "max")
    assert torch.equal(K, torch.tensor([[1.0, 1, 1], [1, 1, 0], [1, 0, 1]]))
    assert abs(torch.linalg.eigvalsh(K)[0] - (1 - 2**0.5)) < 1e-6
    X = torch.tensor([[0.0, 0], [1, 1], [-1, 0], [1, -1]])
    Y = torch.tensor([[0.0, 1], [0, 0], [1, 0], [1, 1]])
    assert abs(grelu_cka(X, Y, corrected=True) + 1) < 1e-12


def test_grelu_and_orthogonal_procrustes_are_not_ordered():
    X, Y = torch.eye(2), torch.diag(torch.tensor([1.0, 10.0]))
    assert grelu_procrustes(X, Y, corrected=False) == 1
    assert abs(procrustes(X, Y, centred=False) - 0.664) < 5e-4


def test_definition_5_2_sees_translations_and_its_correction_does_not():
    X = normal(50, 4, seed=0).relu()
    Y = X @ GReLU(4).sample(generator(0)) + torch.tensor([1.0, 2, 3, 4])
    assert grelu_procrustes(X, Y, corrected=False) < 0.8 and grelu_procrustes(X, Y) > 1 - 1e-12
    assert grelu_cka(X, Y, corrected=False) < 0.999 and abs(grelu_cka(X, Y) - 1) < 1e-12


# --- laws of the parts ---


@laws
@given(seeds, st.integers(4, 12), st.integers(1, 5), st.integers(1, 4), st.integers(1, 5))
def test_the_max_gram_in_tiles_with_positions_and_around_means(seed, n, c, positions, tile):
    X, Y = normal(n, positions, c, seed=seed), normal(3, positions, c, seed=seed, stream=1)
    whole = (X[:, None] * X[None]).sum(2).amax(2)
    means = normal(c, seed=seed, stream=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grams, "TILE", tile)
        assert torch.allclose(max_gram(X), whole, atol=1e-12)
        assert torch.allclose(max_gram(X, Y), (X[:, None] * Y[None]).sum(2).amax(2), atol=1e-12)
        shifted = max_gram(X, around=means) + positions * means.abs().max() ** 2
    assert torch.allclose(shifted, whole, atol=1e-12)


@laws
@given(seeds, st.integers(4, 12))
def test_u_centring_and_hsic(seed, n):
    K, L = (gram(normal(n, 3, seed=seed, stream=k), "linear") for k in range(2))
    U = u_centred(K)
    assert U.sum(0).abs().max() < 1e-10 and not U.diagonal().any()
    assert torch.allclose(u_centred(U), U)  # a projection
    assert torch.allclose(hsic(K, L), hsic(L, K)) and hsic(K, K) >= 0 and hsic(K, L, "biased") >= 0
    assert torch.allclose(hsic(K + 7, L), hsic(K, L))


def test_the_unbiased_estimator_is_unbiased_and_the_biased_is_not():
    values = {estimator: [] for estimator in ("unbiased", "biased")}
    for seed in range(150):
        K, L = (gram(normal(8, 2, seed=seed, stream=k), "linear") for k in range(2))
        for estimator in values:
            values[estimator].append(float(hsic(K, L, estimator)))
    unbiased, biased = (np.array(v) for v in values.values())
    assert (
        abs(unbiased.mean()) < 3 * unbiased.std() / 150**0.5 and biased.mean() > 10 * biased.std() / 150**0.5
    )


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_feature_and_gram_side_agree(estimator):
    X, Y = normal(40, 4, seed=0), normal(40, 5, seed=0, stream=1)
    grams = cka(X, Y, kernel=lambda Z: gram(Z, "linear"), estimator=estimator)
    assert abs(cka(X, Y, estimator=estimator) - grams) < 1e-12


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_cka_can_be_differentiated(kernel):
    X, Y = normal(10, 3, seed=0).requires_grad_(), normal(10, 3, seed=0, stream=1)
    assert torch.autograd.gradcheck(lambda Z: cka(Z, Y, kernel=kernel), X)


def test_maps_have_the_positions_that_one_asks_for():
    X, Y = normal(12, 3, 2, 2, seed=0), normal(12, 4, 2, 2, seed=0, stream=1)
    rows = [Z.movedim(1, -1).reshape(-1, Z.shape[1]) for Z in (X, Y)]
    assert abs(cka(X, Y, spatial="samples") - cka(*rows)) < 1e-12
    assert abs(cka(X, Y, spatial="features") - cka(X.flatten(1), Y.flatten(1))) < 1e-12
    assert abs(cka(X, Y, spatial="sum") - cka(X, Y, spatial="features")) < 1e-12
    assert abs(cka(X, Y, spatial="mean") - cka(X.mean((2, 3)), Y.mean((2, 3)))) < 1e-12
    summed = sum(gram(X[:, :, i, j], lambda Z: Z @ Z.T) for i in range(2) for j in range(2))
    assert torch.allclose(gram(X.flatten(2).mT, "linear"), summed)
    K = (X[:, None] * X[None]).sum((3, 4)).amax(2)
    assert abs(cka(X, X * 2, kernel="max", spatial="sum") - 1) < 1e-12
    assert torch.allclose(gram(X.flatten(2).mT, "max"), K)
    tilde = [(Z - Z.mean((0, 2, 3), keepdim=True)) for Z in (X, Y)]
    tilde = [Z / Z.square().sum((0, 2, 3), keepdim=True).sqrt() for Z in tilde]
    grams = [long((Z[:, None] * Z[None]).sum((3, 4)).amax(2)) for Z in tilde]
    expected = reference_alignment(*grams, "unbiased")
    assert abs(grelu_cka(X, Y, corrected=True, spatial="sum") - expected) < 1e-10


# --- neighbours, by sorting all distances ---


@FEW
@pytest.mark.parametrize("k", [None, 1, 5])
@pytest.mark.parametrize("n", [12, 1100])
def test_mutual_neighbours_are_those_of_sorted_distances(n, k):
    X, Y = normal(n, 4, seed=0), normal(n, 3, seed=0, stream=1)
    Y[:, :2] += X[:, :2]
    sets = []
    for Z in (X.numpy(), Y.numpy()):
        order = scipy.spatial.distance.cdist(Z, Z).argsort(axis=1)
        sets.append([set(row[1 : 1 + (k or min(10, (n - 1) // 2))]) for row in order])
    shared = np.mean([len(a & b) / len(a) for a, b in zip(*sets, strict=True)])
    assert abs(mutual_knn(X, Y, k) - shared) < 1e-12


@pytest.mark.parametrize("n", [12, 40, 200])
def test_of_neighbours_at_one_distance_those_count_that_come_first(n):
    grid = torch.randint(0, 4, (n, 4), generator=torch.Generator().manual_seed(n)).double()
    X, Y = grid + torch.tensor([100.0, 0, 0, 0]), grid[:, :2] * 2
    order = [scipy.spatial.distance.cdist(Z, Z, "sqeuclidean") for Z in (X.numpy(), Y.numpy())]
    for each in order:
        np.fill_diagonal(each, np.inf)
    k = min(10, (n - 1) // 2)
    one, two = (each.argsort(axis=1, kind="stable")[:, :k] for each in order)
    shared = np.mean([len({*a} & {*b}) / k for a, b in zip(one, two, strict=True)])
    assert abs(mutual_knn(X, Y) - shared) < 1e-12
    assert mutual_knn(X, 3 * X.flip(1)) == 1  # no order among equals that rounding decides


@pytest.mark.parametrize("deviation", [1e-3, 1e-7])
def test_neighbours_in_narrow_clusters_are_told_apart(deviation):
    X = deviation * normal(60, 3, seed=0) + torch.tensor([[1.0], [-1.0]]).double().repeat(30, 1)
    assert mutual_knn(X, X.flip(1)) == 1


# --- features of few digits: a direction is rounding beside the columns that it combines ---

NARROW = {
    "bfloat16, means of 5 deviations": (torch.bfloat16, 1.0, 5.0),
    "float16, means of 80 deviations": (torch.float16, 1.0, 80.0),
    "float32, means of 100,000 deviations": (torch.float32, 1.0, 1e5),
    "bfloat16, one column 100 times larger": (torch.bfloat16, 100.0, 0.0),
    "float32, one column a million times larger": (torch.float32, 1e6, 0.0),
}


@pytest.mark.parametrize("case", NARROW)
@pytest.mark.parametrize("measure", [cca, pwcca, r2])
def test_directions_of_features_of_few_digits_are_those_of_the_same_numbers_in_float64(measure, case):
    dtype, large, mean = NARROW[case]
    X = normal(800, 32, seed=0)
    X[:, 0] *= large
    X, Y = (X + mean).to(dtype), normal(800, 32, seed=0)[:, 1:] @ normal(31, 8, seed=1)
    # no rounding counts in float64 features, and all of these directions are there
    assert abs(measure(X, Y) - measure(X.double(), Y)) < 1e-6


@pytest.mark.parametrize("inner", [8, 64, 1024])
@pytest.mark.parametrize("bias", [0.0, 3.0])
def test_rounding_of_long_sums_is_no_direction(inner, bias):
    """Features of rank 8 that a real network computes in float32, behind a batch norm, too."""
    widths = [(64, 8), (8, inner), (inner, 128)]
    layers = [torch.nn.Linear(a, b, bias=False) for a, b in widths]
    for k, layer in enumerate(layers):
        layer.weight.data = (normal(*layer.weight.shape, seed=k) / layer.in_features**0.5).float()
    norm = torch.nn.BatchNorm1d(128)
    norm.bias.data.fill_(bias)
    X = torch.nn.Sequential(*layers, norm)(normal(600, 64, seed=9).float()).detach()
    basis, _ = importlib.import_module("intertwine.similarity.cca")._bases(X, X, None)
    assert basis.shape[1] == 8


def test_a_column_may_be_as_small_as_numbers_are():
    X = normal(50, 4, seed=0)
    Y = X * torch.tensor([1e-170, 1, 1, 1], dtype=torch.float64)
    assert abs(r2(Y, X) - 1) < 1e-9


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_column_that_others_give_up_to_rounding_is_no_direction(dtype):
    X = normal(800, 15, seed=0)
    X = torch.cat([X, X.sum(1, keepdim=True)], 1) + 3
    basis, _ = importlib.import_module("intertwine.similarity.cca")._bases(X.to(dtype), X, None)
    assert basis.shape[1] == 15


# --- bad input: one sentence, or a defined value, never NaN ---


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("name", MEASURES)
def test_tiny_and_huge_features_are_measured_all_the_same(name, scale):
    measure, X, Y = MEASURES[name], normal(10, 3, seed=0), normal(10, 3, seed=0, stream=1)
    assert abs(measure(X * scale, Y) - measure(X, Y)) < 1e-10


@pytest.mark.parametrize(
    ("dtype", "exponents"),
    [(torch.float64, (-1070, -1001, 999, 1001, 1020)), (torch.float32, (-144, -106, 106, 120))],
)
def test_sizes_at_either_end_of_the_range_become_1_by_an_exact_power_of_2(dtype, exponents):
    X = torch.tensor([[3.0, -5.0], [1.0, 0.0]], dtype=torch.float64)
    for exponent in exponents:
        assert torch.equal(scaled((X * 2.0**exponent).to(dtype)), (X / 8).to(dtype)), exponent
    assert torch.equal(scaled(X.to(dtype)), X.to(dtype))  # which no product of four entries takes there


@FEW
@pytest.mark.parametrize("name", MEASURES)
def test_tokens_have_their_channels_last(name):
    measure = MEASURES[name]
    X, Y = normal(12, 5, 3, seed=0).exp(), normal(12, 5, 4, seed=0, stream=1).exp()  # no dead unit
    maps = [Z.mT[..., None] for Z in (X, Y)]
    for spatial in ("samples", "features", "mean", "sum"):
        if spatial != "sum" or "cka" in name:
            assert abs(measure(X, Y, spatial=spatial) - measure(*maps, spatial=spatial)) < 1e-12, spatial
    rows = [Z.flatten(0, 1) for Z in (X, Y)]
    assert abs(measure(X, Y, spatial="samples") - measure(*rows)) < 1e-12
    assert "of one size" in sentence(lambda: procrustes(X, Y[:, :4], spatial="samples"))


@pytest.mark.parametrize("exponent", [-140, 0, 123])
@pytest.mark.parametrize("given", [torch.float32, torch.float64])
def test_float32_arithmetic_stands_large_means_and_sizes_at_the_ends_of_its_range(given, exponent):
    X, Y = (normal(40, 5, seed=seed) + torch.tensor([0.0, 10, 1, 5, 3]) for seed in (0, 1))
    moved = (X * 2.0**exponent).to(given)
    few = given == torch.float32 and exponent == -140  # such numbers have three digits
    for measure in (procrustes, soft_matching, partial(procrustes, group="grelu")):
        found = measure(moved, Y.to(given), dtype=torch.float32)
        tolerance = 1e-3 if few else 1e-5
        assert abs(found - measure(X, Y)) < tolerance


@pytest.mark.parametrize("widths", [(5, 8), (60, 30)])
def test_float32_arithmetic_has_six_digits_where_it_is_asked_for(widths):
    X, Y = (torch.randn(40, c, generator=generator(c), dtype=torch.float64) for c in widths)
    measures = [soft_matching]
    measures += [
        partial(procrustes, group=group) for group in ("orthogonal", "rotation", "permutation", "grelu")
    ]
    for measure in measures:
        exact, found = measure(X, Y), measure(X, Y, dtype=torch.float32)
        assert found.dtype == exact.dtype and abs(found - exact) < 2e-6
        assert torch.equal(exact, measure(X, Y, dtype=torch.float64))
    assert procrustes(X, X, "permutation", dtype=torch.float32) == 1
    for measure in measures:
        with pytest.raises(ValueError, match=r"Expected dtype to be one of torch\.float64, torch\.float32"):
            measure(X, Y, dtype=torch.bfloat16)
