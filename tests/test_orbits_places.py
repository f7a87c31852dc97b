"""Rounding costs less where a move leads that keeps the function; and what else an orbit tells."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.weightspace import find_symmetries, hadamard, relative_error, verify
from intertwine_book import models
from intertwine_book.experiments.orbits import models as networks
from intertwine_book.experiments.orbits import places
from intertwine_book.experiments.orbits import rounding as q

IMAGES = torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
LABELS = torch.arange(20) % 10
CHAIN = ["conv1", "conv2", "conv3", "conv4", "fc"]


def transformer(outlier: float) -> networks.PatchTransformer:
    torch.manual_seed(0)
    model = networks.PatchTransformer().double().eval()
    model.positions.data[:, 0] += outlier
    return model


@given(st.integers(0, 2**31), st.integers(2, 9))
@settings(max_examples=12, deadline=None)
def test_rounding_errs_by_half_a_step_and_leaves_what_is_rounded(seed, bits):
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    once = q.rounded(x, bits, 1)
    step = x.abs().amax(1, keepdim=True) / (2 ** (bits - 1) - 1)
    assert ((once - x).abs() <= step / 2 + 1e-12).all()
    torch.testing.assert_close(q.rounded(once, bits, 1), once)
    assert (torch.unique(once[0] / step[0]).round(decimals=6) % 1 == 0).all()


@pytest.mark.parametrize("n", [1, 2, 32])
def test_hadamard_is_orthogonal_and_spreads_one_channel_over_all(n):
    H = hadamard(n, torch.Generator().manual_seed(1))
    torch.testing.assert_close(H @ H.T, torch.eye(n, dtype=torch.float64))
    assert torch.allclose(H.abs(), torch.full((n, n), n**-0.5, dtype=torch.float64))


def test_a_width_that_is_no_power_of_two_is_refused():
    with pytest.raises(ValueError, match="Expected a power of 2, was given 12: pad the width"):
        hadamard(12, torch.Generator())


def test_a_rotation_of_the_stream_keeps_the_function():
    model, generator = transformer(20.0), torch.Generator().manual_seed(3)
    space = find_symmetries(model, IMAGES[:1])
    assert space["block1.norm1"].group == "O(32)"
    assert verify(space, model, space.sample(generator, scale=0.3), IMAGES).output < 1e-9
    turned = space.act(model, {"block1.norm1": hadamard(32, generator)})
    with torch.no_grad():
        assert relative_error(turned(IMAGES), model(IMAGES)) < 1e-12


@given(st.integers(0, 2**31), st.integers(4, 8))  # at 3 bits 18 of 2,000 rotations do not win
@settings(max_examples=12, deadline=None)
def test_a_known_outlier_costs_less_than_half_behind_a_rotation(seed, bits):
    generator = torch.Generator().manual_seed(seed)
    y = torch.randn(50, 64, generator=generator, dtype=torch.float64)
    y[:, 3] += 60
    H = hadamard(64, generator)
    direct = (q.rounded(y, bits, 1) - y).norm()
    turned = (q.rounded(y @ H.T, bits, 1) @ H - y).norm()
    assert turned < 0.5 * direct


def test_principal_axes_are_orthogonal_and_sort_the_stream_by_size():
    model = transformer(5.0)
    axes = q.principal_axes(model, IMAGES, "norm")
    torch.testing.assert_close(axes @ axes.T, torch.eye(32, dtype=torch.float64))
    space = find_symmetries(model, IMAGES[:1])
    moved = space.act(model, {"block1.norm1": axes})
    again = q.principal_axes(moved, IMAGES, "norm")
    torch.testing.assert_close(again.abs(), torch.eye(32, dtype=torch.float64), atol=1e-5, rtol=0)


@given(st.integers(0, 2**31))
@settings(max_examples=3, deadline=None)
def test_equalising_leaves_no_trace_of_where_on_the_orbit_it_began(seed):
    model = models.myrtle(4, in_channels=1, norm=False, seed=seed).double().eval()
    space = find_symmetries(model, IMAGES[:1])
    scales = {f"relu{k}": torch.randn(4 * 2 ** (k - 1)).exp().double().diag() for k in (1, 2, 3, 4)}
    scaled = space.act(model, scales)
    even, again = (q.equalised(space, each, CHAIN, sweeps=200) for each in (model, scaled))
    with torch.no_grad():
        assert relative_error(again(IMAGES), model(IMAGES)) < 1e-9
    for first, second in zip(even.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-6)
    found = q.errors({"scaled": scaled, "even": again}, IMAGES, LABELS, [8], inputs=False, by_row=False)
    assert found[1]["error"] < found[0]["error"]


def test_a_channel_that_is_never_read_is_left_as_it_is():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).double().eval()
    model[2].weight.data[:, 1] = 0
    even = q.equalised(find_symmetries(model, torch.zeros(1, 2).double()), model, ["0", "2"])
    torch.testing.assert_close(even[0].weight[1], model[0].weight[1])


@pytest.mark.parametrize("kept", [4, 32])
def test_a_sliced_transformer_reads_the_first_channels_alone(kept):
    model = transformer(0.0)
    with torch.no_grad():
        apart = relative_error(q.sliced(model, kept)(IMAGES), model(IMAGES))
    assert (apart < 1e-12) == (kept == 32)


def perceptron() -> nn.Sequential:
    return models.fcn([6, 8, 8, 3], bias=True, seed=0).double().eval()


INPUTS = torch.randn(30, 6, generator=torch.Generator().manual_seed(1)).double()


def test_without_noise_a_known_element_is_found():
    space, generator = find_symmetries(perceptron(), INPUTS[:1]), torch.Generator().manual_seed(3)
    table = places.through_noise(space, perceptron(), space.sample(generator), INPUTS, generator)
    assert (table.query("noise == 0")["units"] == 100).all() and len(table) == 10
