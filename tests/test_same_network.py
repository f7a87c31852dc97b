"""Two checkpoints are one network up to symmetry exactly where an element was acted with."""

import copy
from functools import partial
from types import MethodType

import pytest
import torch
from helpers import generator
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.same_network import same_network
from intertwine.shallow import ShallowReLU
from intertwine.weightspace import equivalent, find_symmetries, relative_error

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
@settings(max_examples=4, deadline=None)
def test_a_moved_network_is_the_same_and_the_element_moves_it_back(seed):
    net = convolutional(seed)
    space = find_symmetries(net, INPUTS[:2])
    moved = space.act(net, space.sample(generator(seed)))
    answer = same_network(net, moved, INPUTS)
    assert answer.same, answer.reason
    back = space.act(moved, answer.element)
    for x, y in zip(net.state_dict().values(), back.state_dict().values(), strict=True):
        assert not x.is_floating_point() or relative_error(y, x) < 1e-4


@pytest.mark.parametrize("size", [1e-5, 1, 1e5])
@given(SEEDS, st.integers(0, 4))
@settings(max_examples=4, deadline=None)
def test_the_unit_that_was_changed_is_the_first_that_differs_however_large_weights_are(size, seed, unit):
    net = convolutional(seed)
    with torch.no_grad():
        for x, factor in ((net[3].weight, size), (net[3].bias, size), (net[7].weight, 1 / size)):
            x *= factor
    space = find_symmetries(net, INPUTS[:2])
    changed = space.act(net, space.identity())
    with torch.no_grad():
        changed[3].weight[unit] += 0.5 * changed[3].weight[unit].abs().max() * torch.randn(6, 3, 3)
    moved = space.act(changed, space.sample(generator(seed)))
    answer = same_network(net, moved, INPUTS)
    assert answer.same is False and f"unit {unit} of '3.weight' of the first network" in answer.reason, (
        answer.reason
    )


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
    assert "permutation" not in answer.reason  # which was not asked for
    with pytest.raises(TypeError, match=r"use of `\.same`"):
        bool(answer)


def test_networks_of_other_shapes_differ_where_their_outputs_do():
    one, other = (nn.Sequential(nn.Linear(3, n), nn.GELU(), nn.Linear(n, 2)).eval() for n in (4, 5))
    answer = same_network(one, other, torch.ones(2, 3))
    assert answer.same is False and answer.reason.startswith("outputs differ by"), answer.reason
    assert "'0.weight' with the shape (4, 3)" in answer.reason and "shape (5, 3)" in answer.reason


def test_networks_with_outputs_of_other_shapes_are_not_the_same():
    one, other = (nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, n)).eval() for n in (2, 5))
    answer = same_network(one, other, torch.ones(2, 3))
    assert answer[:2] == (False, "outputs have the shape (2, 2) in the first, (2, 5) in the second")


def with_dropout(net: nn.Sequential) -> nn.Module:
    return nn.Sequential(*net[:2], nn.Dropout(), *net[2:])


def with_a_dead_unit(net: nn.Sequential) -> nn.Module:
    other = copy.deepcopy(net)
    other[0].weight, other[0].bias = (nn.Parameter(torch.cat([x, 0 * x[:1]])) for x in net[0].parameters())
    other[2].weight = nn.Parameter(torch.cat([net[2].weight, net[2].weight[:, :1]], 1))
    return other


def with_folded_norm(net: nn.Sequential) -> nn.Module:
    return nn.Sequential(torch.nn.utils.fusion.fuse_linear_bn_eval(net[0], net[1]), *net[2:])


def with_weight_norm(net: nn.Sequential) -> nn.Module:
    other = copy.deepcopy(net)
    nn.utils.parametrizations.weight_norm(other[2])
    return other


@pytest.mark.parametrize(
    ("change", "same", "reason"),
    [
        (with_dropout, True, "the element moves the second to the first"),
        (with_a_dead_unit, None, "'0.weight' with the shape (5, 3)"),
        (with_folded_norm, None, "'1.running_mean' with the shape (4,)"),
        (with_weight_norm, None, "'2.parametrizations.weight.original0'"),
    ],
)
def test_equal_outputs_of_networks_whose_names_or_shapes_differ_are_never_a_no(change, same, reason):
    net = perceptron(nn.ReLU(), nn.ReLU())
    if change is with_folded_norm:
        net = nn.Sequential(net[0], nn.BatchNorm1d(4), *net[1:])
        net(torch.randn(50, 3))
    x, other = torch.randn(50, 3, generator=generator(0)), change(net.eval()).eval()
    assert relative_error(other(x), net(x)) < 1e-5
    for answer in (same_network(net, other, x), same_network(other, net, x)):
        assert answer.same is same and reason in answer.reason, answer.reason


def test_a_network_moved_and_renamed_is_matched_in_the_order_of_the_run():
    net = convolutional(0)
    space = find_symmetries(net, INPUTS[:2])
    element = space.sample(generator(1))
    other = with_dropout(space.act(net, element)).eval()
    answer = same_network(net, other, INPUTS)
    assert answer.same, answer.reason
    found = space.compose(answer.element, element)  # of the second as the first is named
    assert all(torch.equal(move.order, space.identity()[name].order) for name, move in found.items())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_networks_of_16_bits_agree_to_their_rounding(dtype):
    net, x = perceptron(nn.ReLU(), nn.ReLU()).to(dtype), torch.randn(50, 3, generator=generator(0)).to(dtype)
    space = find_symmetries(net, x)
    for seed in range(3):
        moved = space.act(net, space.sample(generator(seed)))
        assert equivalent(net, moved, x) and same_network(net, moved, x).same
    with torch.no_grad():
        moved[2].weight[1] *= -1
    answer, rounded = same_network(net, moved, x), {torch.bfloat16: 0.04, torch.float16: 0.01}[dtype]
    assert not equivalent(net, moved, x) and answer.same is False
    assert f", at a tolerance of {rounded};" in answer.reason


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
    assert answer.reason.endswith(", at a tolerance of 1e-09")


@pytest.mark.parametrize("sizes", [(4, 3), (3, 2)])
def test_shallow_networks_of_other_numbers_of_inputs_or_outputs_are_not_the_same(sizes):
    one, other = (nn.Sequential(nn.Linear(m, 5), nn.ReLU(), nn.Linear(5, k)) for m, k in ((4, 2), sizes))
    answer = same_network(one, other, torch.ones(2, 4))
    expected = f"inputs and outputs are 4 and 2 in the first, {sizes[0]} and {sizes[1]} in the second"
    assert answer[:2] == (False, expected)


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
    assert same_network(
        torch.compile(net, backend="eager"), net, torch.randn(50, 3, generator=generator(0))
    ).same


@pytest.mark.parametrize("hidden", [1, 2])
def test_a_permutation_that_is_asked_for_is_found_and_a_scale_is_then_a_difference(hidden):
    torch.manual_seed(0)
    layers = [layer for _ in range(hidden) for layer in (nn.Linear(4, 4), nn.ReLU())]
    net, x = nn.Sequential(*layers, nn.Linear(4, 2)).eval(), torch.randn(50, 4, generator=generator(0))
    space = find_symmetries(net, x, group="permutation")
    permuted = space.act(net, space.sample(generator(0)))
    answer = same_network(net, permuted, x, group="permutation")
    assert answer.same, answer.reason
    for y, z in zip(net.parameters(), space.act(permuted, answer.element).parameters(), strict=True):
        assert torch.equal(y, z)
    unit = answer.element["1"].order[0].tolist().index(1)  # which it is in the first network
    with torch.no_grad():
        for y in permuted[0].parameters():
            y[1] *= 1.2
        permuted[2].weight[:, 1] /= 1.2
    assert same_network(net, permuted, x).same
    answer = same_network(net, permuted, x, group="permutation")
    assert answer.same is None, answer.reason
    assert f"once matched by a permutation, they first differ in unit {unit} of '0.weight'" in answer.reason


class Linear(nn.Linear):
    def forward(self, x):
        return super().forward(x).abs()


class ReLU(nn.ReLU):
    def forward(self, x):
        return x.tanh()


def shallow(first=nn.Linear, middle=nn.ReLU, *more: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(first(3, 4), middle(), nn.Linear(4, 2), *more).eval()


def patched() -> nn.Module:
    net = shallow()
    net[1].forward = MethodType(lambda self, x: x.sin(), net[1])
    return net


@pytest.mark.parametrize(
    "build",
    [
        partial(shallow, Linear),
        partial(shallow, middle=ReLU),
        patched,
        lambda: shallow(nn.Linear, nn.ReLU, nn.Flatten(0)),
        lambda: nn.Sequential(nn.Flatten(0, 0), *shallow(Linear)).eval(),
    ],
)
def test_a_layer_that_only_looks_as_one_of_a_shallow_network_is_compared_by_what_it_computes(build):
    x = torch.randn(50, 3, generator=generator(0))
    assert not torch.equal(build()(x), shallow()(x))
    assert same_network(shallow(), build(), x).same is False
    with pytest.raises(ValueError, match=r"Expected (nn\.Sequential of|layers that compute)"):
        ShallowReLU.from_module(build())


def test_shallow_networks_may_be_in_bfloat16():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).bfloat16().eval()
    assert same_network(net, copy.deepcopy(net), torch.randn(5, 3).bfloat16()).same
