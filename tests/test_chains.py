"""A sequence with a forward of its own is nowhere taken for a plain chain."""

import pytest
import torch
from helpers import normal
from torch import nn

from intertwine import genni
from intertwine.data import Dataset
from intertwine.same_network import same_network
from intertwine.shallow import compress
from intertwine.stitching import split
from intertwine.training import Recipe, train


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


def test_it_is_no_shallow_network_and_cannot_be_frozen_in_part():
    with pytest.raises(ValueError, match=r"Expected nn.Sequential of the layers .*, was given Residual"):
        compress(RESIDUAL)
    data = Dataset.of(X, torch.arange(9) % 4)
    with pytest.raises(ValueError, match=r"Expected to freeze a layer of a torch.nn.Sequential"):
        train(RESIDUAL, data, Recipe(epochs=1, batch_size=3, lr=0.1), seed=0, freeze="0", device="cpu")


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
