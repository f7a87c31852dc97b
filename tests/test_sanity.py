"""Sanity rotations: a group's own elements are undone exactly, and what is rotated is the layer meant."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.groups import intertwiner_group
from intertwine.weightspace import find_symmetries, transform_outputs
from intertwine_book import data, models, sanity
from intertwine_book.zoo import RECIPES

IMAGES = torch.randn(40, 1, 8, 8, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(40) % 10
OWN = {
    "relu": {"permutations", "positive scalings"},
    "tanh": {"permutations", "signed permutations"},
    "gelu": {"permutations"},
    "abs": {"permutations", "signed permutations", "positive scalings", "nonzero scalings"},
    "identity": set(sanity.TRANSFORMS),
}


def network(activation: str) -> nn.Sequential:
    return models.myrtle(4, norm=False, activation=activation, in_channels=1, seed=1)


@pytest.mark.parametrize("activation", OWN)
@pytest.mark.parametrize("layer", [1, 2])
def test_the_own_group_costs_nothing_and_is_recognised(activation, layer):
    net, generator = network(activation), torch.Generator().manual_seed(layer)
    draws = {name: [sanity.draw(name, 4 * layer, generator) for _ in range(2)] for name in sanity.TRANSFORMS}
    table = sanity.best_linear_map(
        net, f"conv{layer}", net.get_submodule(f"{activation}{layer}"), draws, IMAGES, IMAGES, LABELS
    )
    assert set(table[table["own"]]["group"]) == OWN[activation]
    own = table[table["own"]]
    assert (own["penalty_images"] == 0).all() and (own["unexplained"] < 1e-20).all()
    assert (table[~table["own"]]["unexplained"] > 1e-6).all()


def test_features_are_turned_like_feature_maps():
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 3))
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(50, 3, 4, generator=draw)
    kinds = {name: [sanity.draw(name, 6, draw)] for name in ("positive scalings", "orthogonal")}
    labels = network.double()(x.double()).argmax(1)
    found = sanity.best_linear_map(network, "1", nn.ReLU(), kinds, x, x, labels).set_index("group")
    assert found["unexplained"]["positive scalings"] < 1e-12 < 0.01 < found["unexplained"]["orthogonal"]
    assert found["penalty"]["positive scalings"] == 0 and found["base_accuracy"].eq(100).all()
    with pytest.raises(ValueError, match=r"Expected an nn\.Sequential without .*, was given a Linear: write"):
        sanity.best_linear_map(network[1], "1", nn.ReLU(), kinds, x, x, labels)


def behind(layer: nn.Module, shape: tuple[int, ...], A: torch.Tensor) -> nn.Module:
    """The layer as it is when its weights are multiplied by A, with an activation and a reader behind it."""
    reader = nn.Flatten(), nn.LazyLinear(2, dtype=torch.float64)
    network = nn.Sequential(layer, nn.ReLU(), *reader).double().eval()
    network(torch.zeros(shape).double())
    space = find_symmetries(network, torch.zeros(shape).double())
    return transform_outputs(space, network, {"1": A})


LAYERS = {
    "linear": (nn.Linear(3, 4), (5, 3)),
    "one dimension": (nn.Conv1d(3, 4, 2), (5, 3, 6)),
    "two dimensions": (nn.Conv2d(3, 4, 3, padding=1), (5, 3, 6, 6)),
    "transposed": (nn.ConvTranspose2d(3, 4, 2), (5, 3, 6, 6)),
    "three dimensions": (nn.Conv3d(3, 4, 2, bias=False), (5, 3, 4, 4, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
@given(st.integers(0, 2**31), st.sampled_from([*sanity.TRANSFORMS, "any matrix"]))
@settings(max_examples=5, deadline=None)
def test_transforming_the_writers_is_a_matrix_behind_the_layer(name, seed, group):
    layer, shape = LAYERS[name]
    draw = torch.Generator().manual_seed(seed)
    x, A = torch.randn(shape, dtype=torch.float64), torch.randn(4, 4, generator=draw, dtype=torch.float64)
    A = A if group == "any matrix" else sanity.draw(group, 4, draw)
    expected = torch.einsum("ij,nj...->ni...", A, layer.double()(x))
    torch.testing.assert_close(behind(layer, shape, A)[0](x), expected)


@given(st.integers(0, 2**31), st.floats(0.1, 2.0))
@settings(max_examples=15, deadline=None)
def test_draws_are_elements_and_scalings_have_mean_one(seed, scale):
    generator = torch.Generator().manual_seed(seed)
    for name, group_of in sanity.TRANSFORMS.items():
        assert group_of(5).contains(sanity.draw(name, 5, generator, scale=scale))
    assert torch.equal(sanity.draw("identity", 3, generator), torch.eye(3, dtype=torch.float64))


def test_the_mean_of_scalings_is_one():
    A = sanity.draw("positive scalings", 20_000 // 100, torch.Generator().manual_seed(0))
    many = [sanity.draw("positive scalings", 200, torch.Generator().manual_seed(s)).sum() for s in range(50)]
    assert A.shape == (200, 200)
    assert abs(torch.stack(many).mean() / 200 - 1) < 0.05


def test_finetuning_undoes_nothing_in_front_and_learns_behind():
    train_set, test_set = data.load("digits", "train"), data.load("digits", "test")
    net = network("relu")
    recipe = replace(RECIPES["digits"], epochs=2)
    one = torch.eye(4, dtype=torch.float64)
    rows = [
        sanity.finetuned(net, "conv1", one, train_set, test_set, recipe, seed=seed, device="cpu")
        for seed in (0, 1)
    ]
    for row in rows:
        assert row["accuracy"] > row["base_accuracy"]  # the base was never trained
        assert row["penalty"] == row["base_accuracy"] - row["accuracy"]
    assert rows[0]["accuracy"] != rows[1]["accuracy"]  # another order of the data


def test_the_last_epoch_of_a_repair_is_the_finetuned_network():
    train_set, test_set = data.load("digits", "train"), data.load("digits", "test")
    recipe, A = replace(RECIPES["digits"], epochs=2), sanity.draw("orthogonal", 4, torch.Generator())
    arguments = network("relu"), "conv1", A, train_set, test_set, recipe
    path = sanity.repair(*arguments, seed=3, device="cpu")
    assert [row["epoch"] for row in path] == [1, 2]
    last = sanity.finetuned(*arguments, seed=3, device="cpu")["penalty"]
    assert math.isclose(path[-1]["penalty"], last, abs_tol=1e-9)


def test_the_least_squares_map_is_phi_inverse():
    net, generator = network("tanh").double(), torch.Generator().manual_seed(0)
    G = intertwiner_group("tanh", 4)
    A = G.sample(generator)
    h = torch.tanh(net.conv1(IMAGES.double())).movedim(1, -1).flatten(0, -2)
    mixed = (
        torch.tanh(torch.einsum("ij,njhw->nihw", A, net.conv1(IMAGES.double()))).movedim(1, -1).flatten(0, -2)
    )
    B = torch.linalg.lstsq(mixed, h).solution.T
    torch.testing.assert_close(B, G.phi(G.inverse(A)))


def test_what_follows_the_layer_is_the_activation():
    network = nn.Sequential()
    network.add_module("mix", nn.Conv2d(1, 4, 3))
    network.add_module("norm", nn.BatchNorm2d(4))
    network.add_module("bend", nn.ReLU())
    network.add_module("flat", nn.Flatten())
    network[1].bias.data += 1
    images, labels = torch.randn(3, 1, 3, 3), torch.zeros(3, dtype=torch.long)
    given = network.bend, {"any": [torch.eye(4).double()]}, images, images, labels
    with pytest.raises(ValueError, match=r"directly after mix, in the network 'norm'\s+follows"):
        list(sanity.best_linear_map(network, "mix", *given))
    with pytest.raises(ValueError, match="one of the layers mix, norm, bend, flat, was given 'conv'"):
        list(sanity.best_linear_map(network, "conv", *given))
