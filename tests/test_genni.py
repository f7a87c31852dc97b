"""Laws of search, plane and grid: any network, brute force, known solutions, closed forms."""

import copy
from contextlib import nullcontext
from unittest import mock

import closed_form
import numpy as np
import pytest
import torch
from helpers import generator, normal64
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils import prune

from intertwine import genni
from intertwine.genni import Problem
from intertwine.genni.grid import Maxima
from intertwine_book import models

seeds = st.integers(0, 2**31)
laws = settings(max_examples=12, deadline=None)
FCN = models.fcn((1, 2, 1)).eval()
LIVE = torch.tensor([1.0, -1.0, 0.8, 0.5], dtype=torch.float64)  # slopes 0.8 and −0.5


def live(x: Tensor) -> Tensor:
    return genni.outputs(FCN, LIVE.to(x)[None], x)[0]


def one_by_one(network: nn.Module, points: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """J as anyone would compute it: a copy of the network for every point."""
    losses = []
    with torch.no_grad():
        for theta in points:
            twin = copy.deepcopy(network).to(x.dtype)
            nn.utils.vector_to_parameters(theta.to(x), twin.parameters())
            losses.append((twin(x) - y).square().flatten(1).sum(1).mean())
    return torch.stack(losses)


class Residual(nn.Module):
    """A network that is no chain."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(x + self.inner(x).tanh())


class Minima(nn.MaxPool2d):
    def forward(self, x: Tensor) -> Tensor:
        return -super().forward(-x)


def conv(*after: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), *after, nn.Flatten())


SHARED, BENT, SCALED, CLIPPED = nn.Linear(3, 3), conv(), conv(), conv(nn.MaxPool2d(2))
BENT[0].register_forward_hook(lambda module, inputs, output: output.tanh())
SCALED.register_forward_pre_hook(lambda module, inputs: (3 * inputs[0],))
CLIPPED[2].register_forward_hook(lambda module, inputs, output: output.clamp(max=0.5))
NETWORKS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "fcn": (FCN, (1,)),
    "deep, with biases, two outputs": (models.fcn((3, 4, 5, 2), bias=True, activation="tanh"), (3,)),
    "one linear layer": (nn.Linear(3, 2), (3,)),
    "an activation first, a negative slope": (nn.Sequential(nn.LeakyReLU(-1.0), nn.Linear(3, 1)), (3,)),
    "shared weights": (nn.Sequential(SHARED, nn.ReLU(), SHARED), (3,)),
    "no chain": (Residual(), (3,)),
    "lenet": (models.lenet(1, size=16, output_relu=False), (1, 16, 16)),
    "batch norm": (nn.Sequential(nn.BatchNorm2d(2), nn.Conv2d(2, 3, 3), nn.Flatten()), (2, 5, 6)),
    "a hook of the first layer": (BENT, (2, 5, 6)),
    "a hook of the chain": (SCALED, (2, 5, 6)),
    "a hook of a pooling": (CLIPPED, (2, 6, 6)),
    "another pooling": (conv(Minima(2)), (2, 6, 6)),
    "convolution, odd pooling": (
        nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.MaxPool2d((2, 1)), nn.ReLU(True), nn.Flatten()),
        (2, 5, 6),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds, m=st.integers(1, 3), double=st.booleans(), memory=st.sampled_from([2**22, 1, 5000]))
def test_the_loss_of_any_network_is_that_of_a_copy_at_every_point(name, seed, m, double, memory):
    dtype = torch.float64 if double else torch.float32
    network, shape = NETWORKS[name][0].to(dtype).eval(), NETWORKS[name][1]
    x = normal64(50, *shape, seed=seed).to(dtype)
    theta = genni.random_starts(network, 1, generator=generator(seed))[0]
    flat = genni.random_plane(genni.parameter_vector(network), m, generator=generator(seed))

    def target(x: Tensor) -> Tensor:
        return genni.outputs(network, theta[None].to(x), x)[0] + x.flatten(1)[:, :1]

    n = 3
    with mock.patch.multiple("intertwine.genni.grid", TOGETHER=memory, IN_TURN=memory):
        grid = genni.grid_loss(Problem(network, target, x), flat, (-1, 2), n)
    points = flat.at(grid.coordinates())
    expected = one_by_one(network, points, x, target(x))
    tol = 1e-10 if double else 1e-4
    assert grid.loss.shape == (n,) * m and grid.axis.tolist() == [-1.0, 0.5, 2.0]
    torch.testing.assert_close(grid.loss.flatten(), expected, rtol=tol, atol=tol)
    with mock.patch.multiple("intertwine.genni.grid", TOGETHER=memory, IN_TURN=memory):
        at = genni.loss_at(Problem(network, target, x), points)
    torch.testing.assert_close(at, expected, rtol=tol, atol=tol)
    assert grid.energy == pytest.approx(target(x).square().flatten(1).sum(1).mean().item(), rel=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_are_the_network_s_own_and_so_are_their_gradients(name):
    network, shape = NETWORKS[name][0].double().eval(), NETWORKS[name][1]
    x, points = (
        normal64(7, *shape, seed=0),
        genni.random_starts(network, 2, generator=generator(0)).double().requires_grad_(),
    )
    made = genni.outputs(network, points, x)
    twin = copy.deepcopy(network)
    nn.utils.vector_to_parameters(points[1].detach(), twin.parameters())
    torch.testing.assert_close(made[1], twin(x))
    (slope,) = torch.autograd.grad(made[1].square().sum(), points)
    expected = torch.autograd.grad(twin(x).square().sum(), tuple(twin.parameters()))
    torch.testing.assert_close(slope[1], torch.cat([each.flatten() for each in expected]))
    assert not slope[0].any()
    assert all(isinstance(each, nn.Parameter) for each in network.parameters())  # it has its own again


def test_running_statistics_take_the_dtype_of_the_inputs():
    network = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten()).eval()
    network[1].running_mean.fill_(0.25)
    x, flat = (
        normal64(9, 2, 5, 6, seed=0),
        genni.random_plane(genni.parameter_vector(network), 2, generator=generator(0)),
    )
    grid = genni.grid_loss(
        Problem(network, lambda x: copy.deepcopy(network).double()(x) + 1, x), flat, (0, 1), 3
    )
    expected = one_by_one(network, flat.at(grid.coordinates()), x, copy.deepcopy(network).double()(x) + 1)
    torch.testing.assert_close(grid.loss.flatten(), expected)
    assert network[1].running_mean.dtype == torch.float32 and network[1].running_mean[0] == 0.25
    theta, x = genni.parameter_vector(network), normal64(30, 2, 5, 6, seed=1)
    found = genni.functional_dimension(network, theta, x)
    # a channel's scale multiplies its weights, and its shift adds to its bias: two directions change nothing
    assert found.fibre == 6


def test_a_large_grid_of_the_fcn_agrees_point_by_point_and_with_the_gaussian_closed_form():
    x = normal64(500, 1, seed=0)
    flat = genni.plane(torch.cat([LIVE[None], normal64(3, 4, seed=1)]))
    grid = genni.grid_loss(Problem(FCN, live, x), flat, (-2, 2), 50)
    some = torch.randint(50**3, (200,), generator=generator(2))
    points = flat.at(grid.coordinates()[some])
    torch.testing.assert_close(
        grid.loss.flatten()[some], one_by_one(FCN, points, x, live(x)), rtol=1e-6, atol=0
    )
    # the sample has its own second moments on either side of 0; with them the closed form is exact
    moments = torch.stack([(x.relu() ** 2).mean(), ((-x).relu() ** 2).mean()])
    everywhere = flat.at(grid.coordinates())
    gaps = (closed_form.slopes(everywhere) - closed_form.slopes(LIVE)).square()
    torch.testing.assert_close(grid.loss.flatten(), gaps @ moments, rtol=1e-9, atol=1e-12)
    sampling = 5 * (1.25 / 500) ** 0.5  # var(x²·1[x > 0]) = 3/2 − 1/4
    closed = closed_form.gaussian_loss(everywhere, closed_form.slopes(LIVE))
    assert ((grid.loss.flatten() - closed).abs() <= 2 * sampling * closed + 1e-12).all()


@laws
@given(st.integers(1, 3), st.integers(1, 3), st.integers(3, 8), st.integers(3, 8), seeds)
def test_maxima_are_torch_s_max_pooling(a, b, height, width, seed):
    x = normal64(2, 3, height, width, seed=seed)
    assert torch.equal(Maxima((a, b))(x), nn.MaxPool2d((a, b))(x))


@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2d(3, 1),
        nn.MaxPool2d(2, padding=1),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.MaxPool2d(2, dilation=2),
    ],
)
def test_other_pooling_is_left_to_torch(pool):
    network = nn.Sequential(nn.Conv2d(1, 2, 2), pool, nn.Flatten()).eval().double()
    x, flat = normal64(5, 1, 8, 8, seed=0), genni.random_plane(torch.zeros(10), 2, generator=generator(0))
    points = flat.at(torch.tensor([[0.3, 0.4]]))
    y = network(x).detach()
    torch.testing.assert_close(
        genni.loss_at(Problem(network, network, x), points), one_by_one(network, points, x, y)
    )


# --- search ---


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_solutions_compute_the_target_on_inputs_never_seen(seed, m):
    x = normal64(600, 1, seed=seed)
    before = torch.random.get_rng_state()
    found = genni.search(Problem(FCN, live, x), m, seed=seed, steps=400, starts=24)
    assert torch.equal(torch.random.get_rng_state(), before)
    fresh = normal64(1000, 1, seed=seed + 1)
    loss = genni.loss_at(Problem(FCN, live, fresh), found.points)
    assert found.points.shape == (m + 1, 4) and (loss < 1e-3 * live(fresh).square().mean()).all()
    torch.testing.assert_close(
        closed_form.slopes(found.points), closed_form.slopes(LIVE).expand(m + 1, 2), atol=0.05, rtol=0
    )
    accepted = found.tried[found.tried["verdict"] == "accepted"]
    assert accepted["relative_loss"].tolist() == found.relative_loss.tolist()
    assert (found.tried.query("verdict == 'refused'")["relative_loss"] > 1e-4).all()
    again = genni.search(Problem(FCN, live, x), m, seed=seed, steps=400, starts=24)
    assert torch.equal(again.points, found.points)


def test_copies_and_dependent_solutions_are_passed_over():
    x, one = normal64(200, 1, seed=0), LIVE + 0.01
    on_the_line = 2 * normal64(1, 4, seed=3) - one
    starts = torch.stack([one, one, one + 1, one + 2, on_the_line[0]])
    found = genni.search(Problem(FCN, live, x), 2, seed=0, starts=starts, steps=0, accept=1e9)
    assert found.tried["verdict"].tolist() == ["accepted", "dependent", "accepted", "dependent", "accepted"]
    assert torch.equal(found.points, starts[[0, 2, 4]].to(x))


def test_held_out_inputs_decide():
    # nothing to learn s₋ from
    x = torch.cat([normal64(300, 1, seed=0).abs(), -normal64(100, 1, seed=1).abs()])
    with pytest.raises(RuntimeError, match=r"found 0: of 8 starts 8 have a relative loss above 0\.0001"):
        genni.search(Problem(FCN, live, x), 1, seed=0, steps=200)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_starts_descend_as_if_each_were_alone(dtype):
    x = normal64(512, 1, seed=0).to(dtype)
    starts = genni.random_starts(FCN, 3, generator=generator(1)).to(dtype)
    asked = {"steps": 30, "lr": 0.05, "batch_size": 100}
    together = genni.descend(Problem(FCN, live, x), starts, **asked)
    alone = torch.cat([genni.descend(Problem(FCN, live, x), each[None], **asked) for each in starts])
    torch.testing.assert_close(together, alone)


def test_sgd_takes_the_steps_of_torch_s_own():
    x = normal64(300, 1, seed=0)
    y, theta = live(x), genni.random_starts(FCN, 1, generator=generator(1)).double()
    energy = y.square().mean().item()
    ours = genni.descend(
        Problem(FCN, live, x), theta, steps=5, lr=0.1 * energy, batch_size=100, optimizer="sgd"
    )
    network = copy.deepcopy(FCN).double()
    nn.utils.vector_to_parameters(theta[0], network.parameters())
    stepper = torch.optim.SGD(network.parameters(), lr=0.1)
    for step in range(5):
        batch = slice(100 * (step % 3), 100 * (step % 3 + 1))
        stepper.zero_grad()
        (network(x[batch]) - y[batch]).square().mean().backward()
        stepper.step()
    torch.testing.assert_close(ours[0], genni.parameter_vector(network))


@laws
@given(seeds, st.floats(0.1, 3))
def test_starts_are_the_modules_own(seed, gain):
    network = models.lenet(1, size=16).eval()
    starts = gain * genni.random_starts(network, 2, generator=generator(seed))
    torch.manual_seed(seed)
    twin = nn.Conv2d(1, 3, 5)
    assert torch.equal(starts[0][: 3 * 25], gain * twin.weight.detach().flatten())
    assert not torch.equal(starts[0], starts[1])


# --- plane ---


@laws
@given(seeds, st.integers(1, 4), st.integers(4, 30))
def test_a_plane_holds_its_points_in_an_orthonormal_basis(seed, m, p):
    points = normal64(m + 1, p, seed=seed)
    flat = genni.plane(points)
    torch.testing.assert_close(flat.basis @ flat.basis.T, torch.eye(m, dtype=torch.float64))
    torch.testing.assert_close(flat.at(flat.coordinates), points)
    assert (flat.coordinates[1:].diagonal() > 0).all() and not flat.coordinates[0].any()
    assert flat.coordinates[1:].triu(1).abs().max() < 1e-12  # Gram and Schmidt: each adds a direction
    assert flat.condition == pytest.approx(np.linalg.cond(points[1:] - points[0]), rel=1e-6)
    coordinates, distance = flat.project(points.float())
    torch.testing.assert_close(coordinates, flat.coordinates, atol=1e-5, rtol=1e-5)
    assert distance.max() < 1e-5
    off = normal64(1, p, seed=seed + 1)
    coordinates, distance = flat.project(off)
    assert torch.linalg.norm(off - flat.at(coordinates)) == pytest.approx(distance.item())
    assert (flat.basis @ (off - flat.at(coordinates))[0]).abs().max() < 1e-10


@pytest.mark.parametrize("height", [1e-5, 1e-7])
def test_a_flat_triangle_is_a_plane_up_to_the_condition_that_is_called_singular(height):
    points = torch.tensor([[3, 1, 0], [4, 1, 0], [4, 1 + height, 0]], dtype=torch.float64)
    with nullcontext() if height > 1e-6 else pytest.raises(ValueError, match=r"span fewer than 2 directions"):
        flat = genni.plane(points)
        assert flat.condition == pytest.approx(2 / height, rel=1e-3)
        torch.testing.assert_close(flat.basis, torch.eye(2, 3, dtype=torch.float64), atol=1e-9, rtol=0)


def test_a_plane_of_as_many_dimensions_as_parameters_holds_every_point():
    points = normal64(5, 3, seed=0)
    flat = genni.plane(points[:4])
    coordinates, distance = flat.project(points)
    assert distance.max() < 1e-12
    torch.testing.assert_close(flat.at(coordinates), points)


def test_directions_of_random_planes_are_uniform():
    many = [genni.random_plane(LIVE, 2, generator=generator(seed)) for seed in range(200)]
    assert all(torch.equal(each.centre, LIVE) and each.coordinates.tolist() == [[0, 0]] for each in many)
    projections = sum(each.basis.T @ each.basis for each in many) / len(many)
    assert (projections - torch.eye(4).double() / 2).abs().max() < 0.11


# --- bad input ---


X, FLAT = normal64(20, 1, seed=0), genni.plane(torch.eye(4)[:2])


def test_pruned_weights_count_as_they_act_and_shared_ones_once():
    net, x = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)).eval().double(), normal64(100, 4)
    prune.custom_from_mask(
        net[0], "weight", torch.tensor([1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1]).view(4, 4)
    )
    theta = genni.parameter_vector(net)
    torch.testing.assert_close(genni.outputs(net, theta[None], x)[0], net(x))
    assert genni.functional_dimension(net, theta, x).rank == len(theta) - 8
    tied = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)).eval().double()
    tied[2].weight = tied[0].weight
    torch.testing.assert_close(genni.outputs(tied, genni.parameter_vector(tied)[None], x)[0], tied(x))


def test_the_functional_dimension_of_an_embedding_has_tokens_for_inputs():
    net = nn.Sequential(nn.Embedding(5, 1), nn.Linear(1, 2, bias=False)).eval()
    found = genni.functional_dimension(net, genni.parameter_vector(net), torch.arange(5))
    assert found.rank == 5 + 2 - 1  # the dimension of matrices (5, 2) of rank 1


def test_parameters_of_a_network_of_tokens_are_not_rounded_to_whole_numbers():
    net = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 1)).eval()
    tokens = torch.arange(40) % 5
    solution = torch.randn(net[0].weight.numel() + 4, generator=generator())
    for target in (solution, lambda x: genni.outputs(net, solution[None], x)[0]):
        problem = Problem(net, target, tokens)
        assert genni.loss_at(problem, solution[None]).item() < 1e-12
        found = genni.search(problem, 1, seed=0)
        torch.testing.assert_close(genni.outputs(net, found.points, tokens)[0], problem.y, atol=1e-2, rtol=0)
        line = genni.plane(found.points)
        grid = genni.grid_loss(problem, line, (-1, 1), 3)
        by_hand = genni.outputs(net, line.at(grid.coordinates()), tokens) - problem.y
        torch.testing.assert_close(grid.loss, by_hand.square().flatten(1).mean(1), check_dtype=False)
