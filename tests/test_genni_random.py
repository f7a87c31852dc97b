"""What is no function of parameters and one input alone is refused, and nothing changes the network."""

import pytest
import torch
from helpers import generator, normal, sentence
from torch import nn
from torch.nn import functional as F

from intertwine import genni


class Always(nn.Module):
    """Dropout that does not ask for the mode, as in Monte-Carlo dropout; with `mode` one that does."""

    def __init__(self, mode: bool = False) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, x):
        return F.dropout(x, 0.5, self.training or not self.mode)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)

    def forward(self, x):
        return self.inner(x[:, None], x[:, None], x[:, None])[0][:, 0]


class Mean(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Counting(nn.Module):
    """A running mean in whatever mode, and how often it ran."""

    mean: torch.Tensor
    times: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("times", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        y = x + self.mean
        self.times.add_(1)
        self.mean.mul_(0.5).add_(x.detach().mean(0))
        return y


class Maps(nn.Module):
    """A norm of maps, within a network of vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(2, track_running_stats=True)

    def forward(self, x):
        return self.norm(x.view(-1, 2, 2)).flatten(1)


def dropped_branches() -> nn.Module:
    from torchvision.ops import StochasticDepth  # slow to import

    return StochasticDepth(0.5, "row")


MODES = {
    "a function": lambda: Always(mode=True),
    "whole branches": dropped_branches,
    "attention": Attention,
    "rrelu": nn.RReLU,
    "a module": nn.Dropout,
    "batch norm": lambda: nn.BatchNorm1d(4),
    "instance norm": Maps,
}
RANDOM = {
    "dropout in every mode": Always,
    "a mean over inputs": Mean,
    "batches": lambda: nn.BatchNorm1d(4, track_running_stats=False),
}


def network(module: nn.Module) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)  # weights of other tests' numbers may be too small to see a mean over inputs
        return nn.Sequential(nn.Linear(2, 4), module, nn.Linear(4, 1))


def calls(net: nn.Module):
    """Everything that evaluates a network, by name."""
    x, theta = normal(50, 2), genni.parameter_vector(net)
    points = theta + normal(3, len(theta), seed=1)

    def problem() -> genni.Problem:
        return genni.Problem(net, lambda v: v[:, :1] ** 2, x)

    return {
        "outputs": lambda: genni.outputs(net, points, x),
        "loss": lambda: genni.loss_at(problem(), points),
        "grid": lambda: genni.grid_loss(problem(), genni.plane(points), (-1, 1), 3).loss,
        "search": lambda: genni.search(problem(), 1, seed=0, starts=points, steps=2, accept=1e9).points,
        "descend": lambda: genni.descend(problem(), points, steps=2, lr=0.1),
        "dimension": lambda: torch.tensor(genni.functional_dimension(net, theta, x)[:2]),
        "energy": lambda: torch.tensor(genni.Problem(net, theta, x).energy),
    }


@pytest.mark.parametrize("name", MODES)
def test_a_network_in_training_mode_is_refused_by_every_function_and_never_changed(name):
    net = network(MODES[name]())
    before = {k: x.clone() for k, x in net.state_dict().items()}
    for call in calls(net).values():
        assert sentence(call) == (
            "Expected a model in evaluation mode, but it is training: call model.eval() first."
        )
    net.eval()
    for name in ("outputs", "loss", "grid"):
        torch.testing.assert_close(calls(net)[name](), calls(net)[name]())
    assert all(torch.equal(x, before[k]) for k, x in net.state_dict().items())


def test_a_target_in_training_mode_is_refused_as_well():
    teacher = network(nn.Dropout())
    assert "but it is training" in sentence(
        lambda: genni.Problem(network(nn.ReLU()).eval(), teacher, normal(9, 2))
    )


@pytest.mark.parametrize("name", RANDOM)
def test_a_network_that_is_random_or_mixes_inputs_in_evaluation_mode_is_refused_too(name):
    net = network(RANDOM[name]()).eval()
    for call in calls(net).values():
        assert sentence(call).startswith("Expected a function of the parameters and the input alone")


def test_what_a_module_writes_into_its_buffers_reaches_neither_the_network_nor_the_next_point():
    net = network(Counting()).eval()
    points = genni.parameter_vector(net) + normal(3, 17, seed=1)
    x = normal(50, 2)
    found = genni.outputs(net, points, x)
    assert net[1].times == 0 and not net[1].mean.any()
    torch.testing.assert_close(genni.outputs(net, points[2:], x)[0], found[2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_no_network_without_randomness_is_refused_for_its_rounding(dtype):
    net = network(nn.Sequential(nn.Linear(4, 300), nn.LayerNorm(300), nn.GELU(), nn.Linear(300, 4))).eval()
    points = genni.random_starts(net, 2, generator=generator()).to(dtype)
    assert genni.outputs(net, points, normal(77, 2).to(dtype)).isfinite().all()
