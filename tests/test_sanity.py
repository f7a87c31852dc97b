"""Sanity rotations: a group's own elements are undone exactly, and what is rotated is the layer meant."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine import data, models
from intertwine.groups import intertwiner_group
from intertwine.training import RECIPES
from intertwine_book.experiments import sanity_rotations as sanity

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


@given(st.integers(0, 2**31), st.sampled_from(list(sanity.TRANSFORMS)))
@settings(max_examples=15, deadline=None)
def test_transforming_a_layer_is_a_matrix_behind_it(seed, name):
    net = network("relu").double()
    A = sanity.draw(name, 4, torch.Generator().manual_seed(seed))
    x = IMAGES.double()
    expected = torch.einsum("ij,njhw->nihw", A, net.conv1(x))
    torch.testing.assert_close(sanity.transformed(net, "conv1", A).conv1(x), expected)
    torch.testing.assert_close(net.conv1(x), network("relu").double().conv1(x))  # the original stays


LAYERS = {
    "linear": (nn.Linear(3, 4), (5, 3)),
    "one dimension": (nn.Conv1d(3, 4, 2), (5, 3, 6)),
    "three dimensions": (nn.Conv3d(3, 4, 2, bias=False), (5, 3, 4, 4, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_that_is_taken_is_mixed_in_its_outputs(name):
    layer, shape = LAYERS[name]
    x, A = torch.randn(shape), torch.randn(4, 4)
    expected = torch.einsum("ij,nj...->ni...", A, layer(x))
    torch.testing.assert_close(sanity.transformed(nn.Sequential(layer), "0", A)(x), expected)


REFUSED = {
    r"'0' is ConvTranspose2d": (nn.ConvTranspose2d(4, 4, 2), 4),
    r"one group, '0' is Conv2d\(.*groups=2": (nn.Conv2d(4, 4, 2, groups=2), 4),
    r"'0' is BatchNorm2d": (nn.BatchNorm2d(4), 4),
    r"'0' is ReLU\(\)": (nn.ReLU(), 4),
    r"matrix \(4, 4\), as wide as '0', was given \(3, 3\)": (nn.Linear(3, 4), 3),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_other_layers_and_widths_are_refused_in_one_sentence(sentence):
    layer, n = REFUSED[sentence]
    with pytest.raises(ValueError, match=sentence) as caught:
        sanity.transformed(nn.Sequential(layer), "0", torch.eye(n))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="name of a layer, was given 'conv'"):
        sanity.transformed(nn.Sequential(layer), "conv", torch.eye(n))


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
