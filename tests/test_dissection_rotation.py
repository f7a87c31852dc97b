"""Rotations: Haar measure on SO(n), and geodesics that are groups, minimal and exact at both ends."""

import math

import numpy as np
import pytest
import torch
from helpers import generator
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine.dissection import geodesic, haar_rotation, rotation_planes

SIZES = pytest.mark.parametrize("n", [2, 3, 64])


def planted(n: int, halves: int, seed: int) -> torch.Tensor:
    """A rotation with 2·halves eigenvalues -1, in general position."""
    angles = 0.9 * math.pi * torch.rand(n // 2, dtype=torch.float64, generator=generator(seed))
    angles[:halves] = math.pi
    basis = haar_rotation(n, generator(seed))
    blocks = [[[a.cos(), -a.sin()], [a.sin(), a.cos()]] for a in angles]
    T = torch.block_diag(*map(torch.tensor, blocks), *([torch.ones(1, 1)] * (n % 2))).double()
    T[: 2 * halves, : 2 * halves] = -torch.eye(2 * halves)
    return basis @ T @ basis.T


def close(A: torch.Tensor, B: torch.Tensor, tolerance: float = 1e-10) -> bool:
    return bool((A - B).abs().max() < tolerance)


@SIZES
@pytest.mark.parametrize("halves", [0, 1])
def test_a_geodesic_is_a_group_of_rotations_from_the_identity_to_q(n, halves):
    Q = planted(n, halves, seed=n) if halves else haar_rotation(n, generator(n))
    split, one = rotation_planes(Q), torch.eye(n, dtype=torch.float64)
    start, some, more, both, end = split.power(torch.tensor([0.0, 0.3, 0.45, 0.75, 1.0]))
    assert close(start, one) and close(end, Q)
    assert close(some @ more, both)
    for power in (some, more, end):
        assert close(power @ power.T, one)
        assert abs(torch.linalg.det(power).item() - 1) < 1e-10


@SIZES
def test_a_geodesic_is_as_long_as_the_principal_logarithm(n):
    for Q in (haar_rotation(n, generator(n)), planted(n, n // 2, seed=1)):
        angles = np.angle(np.linalg.eigvals(Q.numpy()))  # the logarithm's eigenvalues, over i
        assert abs(rotation_planes(Q).length - np.linalg.norm(angles)) < 1e-6 * n
        assert (rotation_planes(Q).angles.abs() <= math.pi + 1e-12).all()


def test_the_logarithm_of_a_geodesic_is_one_matrix():
    from scipy.linalg import logm

    Q = haar_rotation(7, generator(3))
    log = torch.from_numpy(logm(Q.numpy()).real)
    assert abs(log.norm().item() - rotation_planes(Q).length) < 1e-10
    assert close(torch.matrix_exp(0.37 * log), geodesic(Q, 0.37), 1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 99), st.floats(-1, 2), st.floats(-1, 2))
def test_powers_add_up_however_many_angles_are_pi(n, halves, seed, alpha, beta):
    split = rotation_planes(planted(n, min(halves, n // 2), seed))
    assert close(split.power(alpha) @ split.power(beta), split.power(alpha + beta))
    assert close(split.power(-alpha), split.power(alpha).T)


def test_batches_of_alpha_and_dtypes():
    Q = haar_rotation(5, generator(0))
    alphas = torch.tensor([[0.0, 0.5], [0.25, 1.0]])
    path = geodesic(Q, alphas)
    assert path.shape == (2, 2, 5, 5)
    assert torch.equal(path[1, 0], geodesic(Q, 0.25))
    single = geodesic(Q.float(), 0.5)
    assert single.dtype == torch.float32 and close(single.double(), geodesic(Q, 0.5), 1e-6)


def test_haar_is_on_so_n_and_moves_vectors_everywhere_alike():
    many = torch.stack([haar_rotation(3, g) for g in [generator(5)] for _ in range(4000)])
    assert (torch.linalg.det(many) - 1).abs().max() < 1e-12
    # moments of Haar measure: no mean, and variance 1/n in every entry; the trace has second moment 1
    assert many.mean(0).abs().max() < 0.04
    assert ((many**2).mean(0) - 1 / 3).abs().max() < 0.03
    trace = many.diagonal(dim1=1, dim2=2).sum(1)
    assert abs(trace.mean()) < 0.06 and abs((trace**2).mean() - 1) < 0.1
    assert torch.equal(haar_rotation(6, generator(1)), haar_rotation(6, generator(1)))
    assert haar_rotation(1, generator(0)).item() == 1
