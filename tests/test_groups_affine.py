"""σ(ax + t) = bσ(x) + s: the families of the theory, known shifts, and none where there is none."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.groups import affine_intertwiners, as_activation

REFLECTIONS = {  # activation, t, s of σ(t − x) = s − σ(x)
    "sigmoid": ("sigmoid", 0, 1),
    "hardsigmoid": (nn.Hardsigmoid(), 0, 1),
    "ReLU6": (nn.ReLU6(), 6, 6),
    "Hardtanh(-2, 5)": (nn.Hardtanh(-2.0, 5.0), 3, 3),
    "Heaviside, H(0) = ½": (lambda x: torch.heaviside(x, torch.tensor(0.5, dtype=x.dtype)), 0, 1),
    "sigmoid(10x - 50)": (lambda x: torch.sigmoid(10 * x - 50), 10, 1),
}


@pytest.mark.parametrize("name", REFLECTIONS)
def test_reflections(name):
    activation, t, s = REFLECTIONS[name]
    (found,) = affine_intertwiners(activation)
    assert (found.a, found.t, found.every_t) == (-1, t, False)
    assert (found.b, found.s) == pytest.approx((-1, s), abs=1e-9)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sin_and_cos_have_every_multiple_of_pi(name):
    found = affine_intertwiners(name)
    multiples = [k for k in range(-3, 4) if k]  # 0 is in the scalar group
    for a in (1, -1):
        assert [f.t / math.pi for f in found if f.a == a] == pytest.approx(multiples, abs=1e-12)
    for f in found:
        parity = (-1) ** round(f.t / math.pi) * (f.a if name == "sin" else 1)
        assert (f.b, f.s) == pytest.approx((parity, 0), abs=1e-12)


def test_exp_has_every_shift_and_affine_maps_have_both():
    (found,) = affine_intertwiners("exp")
    assert (found.a, found.t, found.every_t) == (1, 1, True)
    assert (found.b, found.s) == pytest.approx((math.e, 0), abs=1e-12)
    assert [(f.a, f.every_t) for f in affine_intertwiners(lambda x: 2 * x + 1)] == [(1, True), (-1, True)]


def test_steps_and_short_periods_have_all_their_shifts():
    found = affine_intertwiners("ceil")
    assert [(f.a, f.t, f.b, f.s) for f in found] == [(1, k, 1, k) for k in range(-10, 11) if k]
    found = affine_intertwiners(lambda x: torch.cos(2 * math.pi * x))
    for a in (1, -1):
        assert [2 * f.t for f in found if f.a == a] == pytest.approx([k for k in range(-20, 21) if k])


@pytest.mark.parametrize(
    "activation",
    [
        *(
            "tanh",
            "ReLU",
            "GELU",
            "Softplus",
            "square",
            "ELU",
            "SiLU",
            "abs",
            "Hardtanh",
            "Mish",
            "Hardswish",
        ),
        lambda x: torch.exp(x) + torch.sin(x),
        lambda x: F.relu(x - 25),
        lambda x: (x > 0).double(),  # H(−x) = 1 − H(x) but for x = 0
        torch.zeros_like,
    ],
)
def test_none_where_there_is_none(activation):
    assert affine_intertwiners(activation) == []


@settings(max_examples=4, deadline=None)
@given(
    st.sampled_from(["sinc", "tanh", "atan", "Hardtanh"]),
    st.floats(-4.9, 4.9).filter(lambda c: abs(c) > 0.01),
    st.floats(-3, 3),
)
def test_a_planted_centre_is_found(name, centre, height):
    sigma = as_activation(name)
    (found,) = affine_intertwiners(lambda x: sigma(x - centre) + height)
    b, s = (1, 0) if name == "sinc" else (-1, 2 * height)
    assert found[:4] == pytest.approx((-1, 2 * centre, b, s), abs=1e-8)
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    left, right = sigma(found.t - x - centre) + height, found.b * (sigma(x - centre) + height) + found.s
    assert torch.allclose(left, right, atol=1e-8)
