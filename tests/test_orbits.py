"""Orbits under gradient descent: exact laws of what drifts, and teleportation against brute force."""

import itertools

import pytest
import torch

from intertwine.weightspace import find_symmetries
from intertwine_book import models
from intertwine_book.experiments.weight_space import decay, orbits

draw = torch.Generator().manual_seed(1)
x = torch.randn(30, 4, generator=draw, dtype=torch.float64)
y = torch.randint(3, (30,), generator=draw)
weights = orbits.start((4, 5, 3), draw)


@pytest.mark.parametrize(("sigma", "part"), [(torch.clone, torch.clone), (torch.relu, torch.diagonal)])
def test_a_step_adds_the_square_of_the_rate_times_the_same_form_of_the_gradient(sigma, part):
    path = list(orbits.descend(orbits.cross_entropy(x, y, sigma), weights, 0.5, 9))
    for (old, gradient), (new, _) in itertools.pairwise(path):
        expected = orbits.conserved(old) + 0.25 * orbits.conserved(gradient)
        assert torch.allclose(part(orbits.conserved(new)), part(expected), atol=1e-12)


def test_drift_is_proportional_to_the_rate():
    found = orbits.drift(x, y, [0.02, 0.01], 1.0, [0], width=5)
    ends = found[found["time"] > 0.99].pivot(index="quantity", columns="rate", values="drift")
    ratio = ends[0.02] / ends[0.01]
    assert ratio[["linear, whole matrix", "ReLU, diagonal"]].between(1.9, 2.1).all()
    assert abs(ratio["ReLU, off the diagonal"] - 1) < 0.1


def test_teleporting_keeps_the_loss_and_finds_the_largest_gradient_of_all_corners():
    loss = orbits.cross_entropy(x, y)

    def size(point):
        return sum(g.square().sum().item() for g in torch.func.grad(loss)(point))

    W1, b1, W2, b2 = weights
    corners = [torch.tensor(a, dtype=torch.float64) for a in itertools.product((0.5, 2.0), repeat=5)]
    best = max(size([a[:, None] * W1, a * b1, W2 / a, b2]) for a in corners)
    there = orbits.teleport(loss, weights, 2.0)
    assert torch.allclose(loss(there), loss(weights)) and abs(size(there) / best - 1) < 1e-9


def test_teleportation_has_a_row_for_every_step_and_starts_at_one_loss():
    found = orbits.teleportation(x, y, [1.0, 2.0], [0.1], [0, 1], width=5, before=2, steps=3, every=1)
    assert len(found) == 16 and found.query("reach == 1")["gradient"].eq(1).all()
    first = found[found["step"] == 0].pivot(index="trial", columns="reach", values="loss")
    assert torch.allclose(*(torch.tensor(first[reach].to_numpy()) for reach in (1.0, 2.0)))
    assert (found.query("reach == 2")["gradient"] > 1).all()


def test_gradient_descent_forgets_the_imbalance_as_gradient_flow_does():
    inputs = torch.randn(30, 6, generator=torch.Generator().manual_seed(1)).double()
    perceptron = models.fcn([6, 8, 8, 3], bias=True, seed=0).double().eval()
    space = find_symmetries(perceptron, inputs[:1])
    start = space.act(perceptron, space.sample(torch.Generator().manual_seed(2), scale=0.5))
    table = decay.descent(space, start, [0.0, 0.1], 200, inputs, torch.arange(30) % 3)
    assert table.groupby("weight_decay").size().tolist() == [11, 11]
    assert (table["imbalance"] / table["predicted"] - 1).abs().max() < 0.05
    assert (table["excess"] >= 1 - 1e-9).all()
