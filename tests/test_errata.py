"""The counterexamples and proofs behind the errata, those of our own first draft among them."""

import math

import pytest
import torch
from closed_form import gaussian_loss
from helpers import generator, normal64
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine import genni
from intertwine.alignment import Statistics, lasso
from intertwine.groups import intertwiner_group, scalar_group
from intertwine_book.models import fcn

seeds = st.integers(0, 2**31)


@given(seeds, st.floats(-3, 3))
def test_a_further_group_keeps_the_function_where_both_neurons_are_off_on_one_side(seed, t):
    """lengyel2020 §4: neither a swap nor a scaling, which keep the products w_i c_i up to their order."""
    w, c = -normal64(2, seed=seed).abs() - 0.1, normal64(2, seed=seed + 1)
    moved = c + t * torch.stack([w[1], -w[0]])
    network = fcn().double().eval()
    x = normal64(50, 1, seed=seed + 2)
    outputs = []
    for output_weights in (c, moved):
        torch.nn.utils.vector_to_parameters(torch.cat([w, output_weights]), network.parameters())
        outputs.append(network(x).detach())
    torch.testing.assert_close(*outputs, rtol=1e-9, atol=1e-9)
    if abs(t) > 1e-3:
        assert not torch.allclose((w * c).sort().values, (w * moved).sort().values, atol=1e-6)


@given(seeds, st.floats(1, 1e6))
def test_the_metric_of_genni_is_infinite_on_the_line_and_its_loss_is_a_square(seed, radius):
    """lengyel2020 §2: of ReLU(x) and 2 ReLU(x) d² over [−R, R] is R³/3; J of half the difference is J/4."""
    theta, move = torch.tensor([1.0, 0, 1, 0]).double(), torch.tensor([0, 0, 1.0, 0]).double()
    for r in (radius, 2 * radius):
        x = torch.linspace(-r, r, 2001, dtype=torch.float64)[:, None]
        network = fcn().double().eval()
        f, g = (genni.outputs(network, at[None], x).flatten() for at in (theta, theta + move))
        assert torch.trapezoid((f - g).square(), x.flatten()).item() == pytest.approx(r**3 / 3, rel=1e-5)
    problem = genni.Problem(fcn().eval(), theta, normal64(100, 1, seed=seed))
    whole, half = genni.loss_at(problem, torch.stack([theta + move, theta + move / 2])).tolist()
    assert half == pytest.approx(whole / 4)


@given(seeds)
def test_the_second_surface_of_figure_2_is_a_threshold_away_from_the_class(seed):
    """lengyel2020 §4: where both w > 0 the left slope is 0, so J is at least s₋²/2; the swap stays there."""
    theta, target = normal64(4, seed=seed), normal64(2, seed=seed + 1)
    theta[:2] = theta[:2].abs()
    for at in (theta, theta.view(2, 2).flip(1).flatten()):
        assert (at[:2] > 0).all()
        assert gaussian_loss(at, target) >= target[1] ** 2 / 2


@settings(max_examples=3)
@given(seeds, st.floats(0.05, 0.3))
def test_the_printed_loss_and_the_lasso_trace_one_path(seed, alpha):
    """csiszarik2021 eq. (3): a minimiser with residual r > 0 is the lasso's at α r."""
    A, B = normal64(30, 4, seed=seed), normal64(30, 3, seed=seed + 1)
    statistics, residual = Statistics.of(A, B), B.norm()
    for _ in range(40):  # the minimiser of the printed loss is a fixed point of r ↦ ‖A·lasso(α r) − B‖
        M = lasso(statistics, (alpha * residual).item()).weight.T
        residual = (A @ M - B).norm()
    slope = A.T @ (A @ M - B) / residual  # of the printed loss without its penalty
    assert (slope.abs() <= alpha + 1e-6).all()
    active = M.abs() > 1e-9
    torch.testing.assert_close(slope[active], -alpha * M[active].sign(), rtol=0, atol=1e-6)

    def printed(N):
        return (A @ N - B).norm() + alpha * N.abs().sum()

    for k in range(5):
        assert printed(M) <= printed(M + 0.01 * normal64(*M.shape, seed=seed + 2 + k)) + 1e-9


@pytest.mark.parametrize("t", [0.1, 1.0, -2.0, 7.0])
def test_lemma_3_1_needs_continuity_for_a_formula_with_t(t):
    """For sign with σ(0) = 1 and n = 2, σ(t I) is singular for every t; the group exists all the same."""
    sigma = lambda x: torch.where(x == 0, 1.0, x.sign())  # noqa: E731
    assert torch.linalg.matrix_rank(sigma(t * torch.eye(2, dtype=torch.float64))) == 1


def test_where_outputs_are_added_to_pre_activations_phi_must_lie_in_the_group():
    """godfrey2022 Remark 3.6: for √|x|(2 + sin 2π log₂|x|), a = 2 has φ(a) = √2, which is no element."""

    def sigma(x):
        size = x.abs().clamp(min=1e-300)
        return size.sqrt() * (2 + torch.sin(2 * math.pi * size.log2())) * (x != 0)

    scalars = scalar_group(sigma)
    assert scalars.contains(torch.tensor([2.0, 0.25])) and not scalars.contains(torch.tensor([math.sqrt(2)]))
    group = intertwiner_group(sigma, 2)
    double = 2 * torch.eye(2, dtype=torch.float64)
    torch.testing.assert_close(group.phi(double), double / math.sqrt(2), rtol=1e-6, atol=0)


@given(seeds)
def test_what_keeps_the_max_kernel_permutes_the_cube(seed):
    """godfrey2022 Lemma E.44: with x₁ = x₂ the kernel is ‖x‖∞², whose linear isometries have rows ±e_j."""
    A = normal64(3, 3, seed=seed)
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 3)
    kept = torch.allclose((corners @ A.T).abs().amax(1), torch.ones(8, dtype=torch.float64))
    edges = torch.eye(3, dtype=torch.float64)
    kept = kept and torch.allclose((edges @ A.T).abs().amax(1), torch.ones(3, dtype=torch.float64))
    signed = torch.eye(3, dtype=torch.float64)[torch.randperm(3, generator=generator(seed))]
    signed = signed * normal64(3, seed=seed + 1).sign()
    for B, expected in ((A, kept), (signed, True)):
        x = normal64(20, 3, seed=seed + 2)
        same = torch.allclose((x @ B.T).abs().amax(1), x.abs().amax(1))
        assert same == expected


def test_max_kernel_index_and_threshold_examples_of_the_errata():
    gram = lambda X: (X[:, None] * X[None]).amax(2)  # noqa: E731
    points = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    assert torch.linalg.eigvalsh(gram(points))[0].item() == pytest.approx(1 - math.sqrt(2))
