"""A sequence with a forward or a hook of its own is no plain chain anywhere; one with an `__init__` is."""

import copy
from types import MethodType

import pytest
import torch
from helpers import normal, same
from torch import nn

from intertwine import genni
from intertwine.chains import pooled_first, subchain
from intertwine.data import Dataset
from intertwine.same_network import same_network
from intertwine.shallow import compress
from intertwine.stitching import split, stitch
from intertwine.stitching.batch_norm import frozen
from intertwine.training import Recipe, evaluate, train
from intertwine.weightspace import find_symmetries
from intertwine_book.sanity import best_linear_map


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


X = normal(9, 4)
RESIDUAL = Residual(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).eval()
PLAIN = nn.Sequential(*RESIDUAL).eval()


def test_it_is_another_network_than_the_chain_of_its_layers():
    answer = same_network(RESIDUAL, PLAIN, X)
    assert answer.same is False
    assert answer.reason.startswith("outputs differ by") and "their weights agree" in answer.reason


def test_it_is_cut_with_its_shortcut():
    front, back = split(RESIDUAL, "1", shortcuts=True)
    torch.testing.assert_close(back(front(X)), RESIDUAL(X))


def test_genni_evaluates_it_and_not_the_chain():
    found = genni.outputs(RESIDUAL, genni.parameter_vector(RESIDUAL)[None], X)[0]
    torch.testing.assert_close(found, RESIDUAL(X))


def test_its_loss_on_a_grid_is_its_own_behind_a_convolution_too():
    net = Residual(nn.Conv1d(2, 2, 3, padding=1), nn.Tanh()).eval()
    x, theta = normal(5, 2, 4), genni.parameter_vector(net)
    flat = genni.plane(torch.stack([theta, theta + 1]))
    loss = genni.grid_loss(genni.Problem(net, lambda x: x, x), flat, (0, 1), 2).loss
    torch.testing.assert_close(loss[0], (net(x) - x).square().flatten(1).sum(1).mean(), check_dtype=False)


# --- an __init__ of its own ---


class Perceptron(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 4))


class Named(nn.Sequential):
    def __init__(self, width):
        super().__init__()
        self.read, self.act, self.write = nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 4)


OWN, WIDE = Perceptron(6).eval(), Perceptron(8).eval()
DATA = Dataset.of(X, torch.arange(9) % 4)


def alike(own):
    """The plain chain of the same modules and names."""
    return subchain(own).eval()


def test_parts_of_a_chain_keep_names_and_share_modules():
    net = Named(3)
    front, back = split(net, "act")
    assert [*front._modules] == ["read", "act"] and [*back._modules] == ["write"]
    assert type(front) is type(back) is nn.Sequential and back.write is net.write
    torch.testing.assert_close(back(front(X)), net(X))


@pytest.mark.parametrize("training", [False, True])
def test_parts_of_a_chain_and_its_pooled_form_are_in_its_mode(training):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2)).train(training)
    net[2].train(not training)
    for other in (subchain(net), subchain(net, 1), pooled_first(net)):
        assert other.training == training and net[2].training != training


def test_it_is_stitched_and_its_parts_are_judged():
    found = stitch(OWN, WIDE, at=("1", "0"), train=DATA, device="cpu")
    plain = stitch(alike(OWN), alike(WIDE), at=("1", "0"), train=DATA, device="cpu")
    torch.testing.assert_close(found(X), plain(X))
    front, back = split(OWN, "1")
    assert evaluate(nn.Sequential(front, back), X, DATA.labels) == evaluate(OWN, X, DATA.labels)
    torch.testing.assert_close(stitch(OWN, OWN, at="1", kind=torch.eye(6))(X), OWN(X))


def test_it_is_trained_with_its_first_layers_frozen():
    recipe = Recipe(epochs=2, batch_size=3, lr=0.1)
    one, other = (
        train(net, DATA, recipe, seed=0, freeze="1", device="cpu").network for net in (OWN, alike(OWN))
    )
    torch.testing.assert_close(one(X), other(X))
    assert torch.equal(one[0].weight, OWN[0].weight) and not torch.equal(one[2].weight, OWN[2].weight)


def test_the_best_linear_map_of_chapter_2_takes_it_and_refuses_another_forward():
    asked = {"layer": "0", "activation": nn.ReLU(), "transforms": {"reversed": [torch.eye(6).flip(0)]}}
    asked |= {"images": X, "test_images": X, "test_labels": DATA.labels}
    assert best_linear_map(OWN, **asked).equals(best_linear_map(alike(OWN), **asked))
    assert best_linear_map(OWN, **asked)["penalty"].tolist() == [0]
    first, middle, last = nn.Linear(4, 4), nn.Linear(4, 6), nn.Linear(6, 4)
    alone, shared = [nn.ReLU() for _ in range(3)], [nn.ReLU()] * 3
    one, other = (nn.Sequential(first, a, nn.Linear(4, 4), b, middle, c, last) for a, b, c in (alone, shared))
    other[2] = one[2]
    asked["layer"] = "4"
    assert best_linear_map(one, **asked).equals(best_linear_map(other, **asked))
    with pytest.raises(ValueError, match="without a forward of its own, was given a Residual: write it as"):
        best_linear_map(RESIDUAL, **asked)


def test_it_is_a_shallow_network_and_has_symmetries():
    own, x = copy.deepcopy(OWN).double(), X.double()
    torch.testing.assert_close(compress(own).network.to_module()(x), own(x))
    assert [hidden.size for hidden in find_symmetries(OWN, X[:1]).spaces] == [6]
    assert same_network(OWN, alike(OWN), X).same
    torch.testing.assert_close(genni.outputs(OWN, genni.parameter_vector(OWN)[None], X)[0], OWN(X))


class Convolutional(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Conv1d(1, width, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * width, 1))


def test_the_loss_on_a_grid_is_that_of_the_plain_chain():
    own, x = Convolutional(2).eval(), X[:, None]
    at = genni.plane(genni.parameter_vector(own) + torch.eye(13)[:3])
    one, other = (
        genni.grid_loss(genni.Problem(net, lambda v: v.mean((1, 2))[:, None], x), at, (0, 1), 3).loss
        for net in (own, alike(own))
    )
    torch.testing.assert_close(one, other)


# --- hooks ---


def hooked(kind: str) -> nn.Module:
    """A chain with a hook that normalises its inputs or scales its outputs."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4)).eval()
    if kind == "pre":
        net.register_forward_pre_hook(lambda _, inputs: (3 * inputs[0] + 1,))
    elif kind == "post":
        net.register_forward_hook(lambda _, inputs, output: 3 * output)
    return net


@pytest.mark.parametrize("kind", ["pre", "post"])
def test_a_chain_with_a_hook_is_cut_and_compared_with_it_or_not_at_all(kind):
    net = hooked(kind)
    with pytest.raises(ValueError, match="without hooks of its own, this Sequential has some"):
        split(net, "1")
    itself = stitch(net, net, at="1", kind="identity", train=DATA, device="cpu")
    torch.testing.assert_close(itself(X), net(X))
    assert not same_network(net, hooked(""), X).same
    found = genni.outputs(net, genni.parameter_vector(net)[None], X)[0]
    torch.testing.assert_close(found, net(X))
    with pytest.raises(ValueError, match="was given a hook"):
        compress(net)


def test_a_chain_with_a_hook_is_trained_on_what_the_hook_makes_of_its_images():
    recipe, seen = Recipe(epochs=2, batch_size=3, lr=0.1), Dataset.of(3 * X + 1, DATA.labels)
    one, other = (
        train(net, data, recipe, seed=0, device="cpu").network
        for net, data in ((hooked("pre"), DATA), (hooked(""), seen))
    )
    assert same(one, other)


class Nested(nn.Module):
    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part, self.last = part, nn.Linear(4, 4)

    def forward(self, x):
        return self.last(self.part(x))


@pytest.mark.parametrize("kind", ["pre", "post"])
@pytest.mark.parametrize("layer", ["part.1", "part"])
def test_hooks_of_a_part_stay_with_it(kind, layer):
    net = Nested(hooked(kind)).eval()
    front, back = split(net, layer)
    torch.testing.assert_close(back(front(X)), net(X))


def test_a_forward_set_on_one_instance_counts_as_a_hook():
    net = hooked("")
    net.forward = MethodType(lambda self, x: x - nn.Sequential.forward(self, x), net)
    assert not same_network(net, hooked(""), X).same
    found = genni.outputs(net, genni.parameter_vector(net)[None], X)[0]
    torch.testing.assert_close(found, net(X))
    with pytest.raises(
        ValueError, match="without hooks of its own, this Sequential has some, or a forward set"
    ):
        split(net, "1")
    layers = nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2)
    layers[1].forward = MethodType(lambda self, x: -x, layers[1])
    net, x = nn.Sequential(*layers).eval(), normal(3, 1, 8, 8)
    torch.testing.assert_close(pooled_first(net)(x), net(x))


def test_layers_with_hooks_are_neither_moved_nor_fused():
    layers = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2)
    net, x = nn.Sequential(*layers).eval(), normal(3, 1, 8, 8)
    layers[0].register_forward_hook(lambda _, inputs, output: output.abs() - 1)
    layers[2].register_forward_hook(lambda _, inputs, output: -output)
    for other in (pooled_first(net), frozen(copy.deepcopy(net), set())):
        torch.testing.assert_close(other(x), net(x))
