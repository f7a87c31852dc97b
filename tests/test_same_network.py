"""Two checkpoints are one network up to symmetry exactly where an element was acted with."""

import copy

import pytest
import torch
from helpers import generator
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.same_network import same_network
from intertwine.weightspace import find_symmetries, relative_error

SEEDS = st.integers(0, 2**32 - 1)
INPUTS = torch.randn(40, 3, 8, 8, generator=generator(0))


def convolutional(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    layers = [nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 5, 3), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 4))
    for _ in range(2):
        net(INPUTS)  # for running statistics
    return net.eval()


@given(SEEDS)
@settings(max_examples=8, deadline=None)
def test_a_moved_network_is_the_same_and_the_element_moves_it_back(seed):
    net = convolutional(seed)
    space = find_symmetries(net, INPUTS[:2])
    moved = space.act(net, space.sample(generator(seed)))
    answer = same_network(net, moved, INPUTS)
    assert answer.same, answer.reason
    back = space.act(moved, answer.element)
    for x, y in zip(net.state_dict().values(), back.state_dict().values(), strict=True):
        assert not x.is_floating_point() or relative_error(y, x) < 1e-4


@given(SEEDS, st.integers(0, 4))
@settings(max_examples=8, deadline=None)
def test_the_unit_that_was_changed_is_the_first_that_differs(seed, unit):
    net = convolutional(seed)
    space = find_symmetries(net, INPUTS[:2])
    changed = space.act(net, space.identity())
    with torch.no_grad():
        changed[3].weight[unit] += 0.5 * changed[3].weight[unit].abs().max() * torch.randn(6, 3, 3)
    moved = space.act(changed, space.sample(generator(seed)))
    answer = same_network(net, moved, INPUTS)
    assert answer.same is False and f"unit {unit} of '3.weight'" in answer.reason, answer.reason


def test_what_has_no_element_and_yet_the_same_outputs_is_undecided():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)).eval()
    with torch.no_grad():
        net[2].weight[:, 1] = 0  # what the unit computes is not read
        other = find_symmetries(net, torch.zeros(1, 3)).act(net, {})
        other[0].weight[1] += 1
    answer = same_network(net, other, torch.randn(50, 3))
    assert (
        answer.same is None and "outputs agree" in answer.reason and "unit 1 of '0.weight'" in answer.reason
    )
    with pytest.raises(TypeError, match=r"use of `\.same`"):
        bool(answer)


def test_networks_of_other_shapes_are_not_the_same():
    one, other = (nn.Sequential(nn.Linear(3, n), nn.GELU(), nn.Linear(n, 2)).eval() for n in (4, 5))
    answer = same_network(one, other, torch.zeros(2, 3))
    assert answer.same is False and "'0.weight' has the shape (4, 3) in the first, (5, 3)" in answer.reason


def test_shallow_networks_are_one_function_at_any_width_or_differ_at_an_input_that_is_named():
    one, other = (nn.Sequential(nn.Linear(1, n), nn.ReLU(), nn.Linear(n, 1)).double() for n in (1, 2))
    with torch.no_grad():
        for net in (one, other):
            net[0].weight[:], net[0].bias[:] = 1.0, 0.5
            net[2].weight[:], net[2].bias[:] = 1.0 / len(net[0].bias), 0.0
    assert same_network(one, other, torch.zeros(1, 1)).same  # a neuron split into two halves
    with torch.no_grad():
        other[2].bias += 1
    answer = same_network(one, other, torch.zeros(1, 1))
    assert answer.same is False and "differ at the input [" in answer.reason


class WithFeatures(nn.Module):
    """Logits, and the hidden features that they are read from."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x):
        features = self.net[:-1](x)
        return {"logits": self.net[-1](features), "features": features}


def test_only_the_outputs_that_are_named_have_to_stay():
    net = convolutional(0)
    space = find_symmetries(net, INPUTS[:2])
    moved = space.act(net, space.sample(generator(0)))
    one, other = WithFeatures(net).eval(), WithFeatures(moved).eval()
    assert same_network(one, other, INPUTS, outputs="logits").same
    assert same_network(one, other, INPUTS).same is False


def perceptron(*activations: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    one, two = activations
    return nn.Sequential(nn.Linear(3, 4), one, nn.Linear(4, 5), two, nn.Linear(5, 2)).eval()


def test_networks_of_equal_weights_and_other_steps_are_not_the_same():
    net, other = perceptron(nn.ReLU(), nn.ReLU()), perceptron(nn.ReLU(), nn.Tanh())
    answer = same_network(net, other, torch.randn(50, 3, generator=generator(0)))
    assert answer.same is False and "their weights agree" in answer.reason


def test_a_large_weight_hides_no_change_of_a_small_one():
    net = perceptron(nn.Tanh(), nn.Tanh())
    net[0].weight.data[0] *= 1e5
    other = copy.deepcopy(net)
    other[0].weight.data[1:] += 0.3
    assert same_network(net, other, torch.randn(50, 3, generator=generator(0))).same is False


def test_a_compiled_network_is_the_one_that_it_was_made_from():
    net = perceptron(nn.ReLU(), nn.ReLU())
    assert same_network(torch.compile(net), net, torch.randn(50, 3, generator=generator(0))).same


def test_shallow_networks_may_be_in_bfloat16():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).bfloat16().eval()
    assert same_network(net, copy.deepcopy(net), torch.randn(5, 3).bfloat16()).same
