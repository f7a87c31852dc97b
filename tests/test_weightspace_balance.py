"""The norm along an orbit: its derivative, its smallest point, and what training with weight decay does."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from intertwine.weightspace import balance, find_symmetries, imbalance
from intertwine_book import models

X = torch.randn(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LAWS = settings(max_examples=10, deadline=None)


def perceptron(seed: int, *widths: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    torch.manual_seed(seed)
    layers, before = [], 3
    for n in widths:
        layers += [nn.Linear(before, n), activation()]
        before = n
    return nn.Sequential(*layers, nn.Linear(before, 2)).double().eval()


def squared_norm(model: nn.Module) -> float:
    return sum(p.detach().abs().square().sum().item() for p in model.parameters())


class Pieces(nn.Module):
    """A layer that is cut within blocks, and a norm whose gain is 1 + w."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.both, self.out = nn.Linear(3, 24), nn.Linear(12, 2)
        self.norm, self.last = nn.RMSNorm(4), nn.Linear(4, 2)
        self.enter = nn.Linear(3, 4)

    def forward(self, x):
        one, two = self.both(x).view(-1, 3, 2, 4).unbind(2)
        gain = nn.functional.rms_norm(self.enter(x), (4,)) * (1 + self.norm.weight)
        return self.out((one.relu() * two).flatten(1)) + self.last(gain.relu())


@given(st.integers(0, 2**20), st.lists(st.integers(2, 6), max_size=3))
@LAWS
def test_imbalance_is_the_derivative_of_the_norm_along_the_orbit(seed, widths):
    model = perceptron(seed, *widths) if widths else Pieces().double().eval()
    space, draw = find_symmetries(model, X), torch.Generator().manual_seed(seed)
    found, slope, norms = imbalance(space, model), 0.0, {1e-4: 0.0, -1e-4: 0.0}
    direction = {k: torch.randn(log.shape, generator=draw, dtype=log.dtype) for k, log in found.items()}
    for h in norms:
        element = {k: space.identity()[k]._replace(log=h * v) for k, v in direction.items()}
        norms[h] = squared_norm(space.act(model, element)) / 2
    slope = sum((direction[k] * found[k]).sum().item() for k in found)
    assert (norms[1e-4] - norms[-1e-4]) / 2e-4 == pytest.approx(slope, rel=1e-4, abs=1e-6)


@given(st.integers(0, 2**20), st.integers(2, 8))
@LAWS
def test_the_smallest_norm_of_one_hidden_layer_is_that_of_paper_and_pencil(seed, n):
    model = perceptron(seed, n)
    space = find_symmetries(model, X)
    enter = torch.cat([model[0].weight, model[0].bias[:, None]], 1).norm(dim=1)
    expected = (2 * enter * model[2].weight.norm(dim=0)).sum() + model[2].bias.square().sum()
    smallest = balance(space, model).model
    assert squared_norm(smallest) == pytest.approx(expected.item(), rel=1e-9)
    torch.testing.assert_close(smallest(X), model(X))


def test_every_point_of_an_orbit_has_the_same_balanced_norm():
    model = models.myrtle(3, norm=False, in_channels=1).double().eval()
    x = torch.zeros(1, 1, 8, 8, dtype=torch.float64)
    space, norms = find_symmetries(model, x), []
    for seed in range(3):
        other = space.act(model, space.sample(torch.Generator().manual_seed(seed), scale=1.0))
        smallest = balance(space, other).model
        assert squared_norm(smallest) < squared_norm(other)
        assert all(log.abs().max() < 1e-5 for log in imbalance(space, smallest).values())
        norms.append(squared_norm(smallest))
    assert norms == pytest.approx([norms[0]] * 3, rel=1e-9)


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("norm", [False, True])
def test_a_small_step_of_training_changes_imbalance_by_weight_decay_alone(decay, norm):
    model = perceptron(0, 5, 4)
    if norm:
        model.insert(1, nn.BatchNorm1d(5, eps=1e-12, dtype=torch.float64).eval())
    space = find_symmetries(model, X)
    before = imbalance(space, model)
    model.train()(X).logsumexp(1).mean().backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 1e-6 * (p.grad + decay * p)
    for k, after in imbalance(space, model.eval()).items():
        torch.testing.assert_close((after - before[k]) / 1e-6, -2 * decay * before[k], rtol=1e-3, atol=1e-4)


def test_without_scalings_nothing_moves():
    model = perceptron(0, 4, activation=nn.GELU)
    space = find_symmetries(model, X)
    assert imbalance(space, model) == {}
    assert torch.equal(balance(space, model).element["1"].order, space.identity()["1"].order)


def test_spaces_whose_matrices_are_left_alone_are_undetermined():
    model = perceptron(0, 4, 5, activation=nn.Identity)
    model[1] = nn.ReLU().eval()  # the second space stays linear
    space = find_symmetries(model, X)
    assert balance(space, model).undetermined == ("2",) == tuple(x.name for x in space.spaces if x.matrices)
    assert balance(find_symmetries(perceptron(0, 4), X), perceptron(0, 4)).undetermined == ()


class OneSided(nn.Module):
    """A weight of which only the directions of its rows count, or their signs."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.W, self.last = way, nn.Parameter(torch.randn(4, 3)), nn.Linear(4, 2)

    def forward(self, x):
        if self.way == "sign of values":
            return self.last(nn.functional.linear(x, self.W).sign())
        sizes = self.W.abs().amax(1, keepdim=True)
        return self.last(nn.functional.linear(x, self.W / sizes).relu())


@pytest.mark.parametrize("way", ["weight norm", "sign of values", "largest of weights"])
def test_without_a_smallest_norm_one_sentence_says_so(way):
    layers = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.ReLU(), nn.Linear(4, 2)
    model = (nn.Sequential(*layers) if way == "weight norm" else OneSided(way)).double().eval()
    space = find_symmetries(model, X)
    assert space.dimension >= 4
    with pytest.raises(ValueError, match=r"given .*(original1|W), which can be arbitrarily small"):
        balance(space, model)
    smaller = imbalance(space, model)[space.spaces[0].name]
    assert (smaller != 0).any()  # along a scaling the norm changes, but it has no smallest value


def test_gradients_are_taken_whatever_the_mode_is_and_complex_parameters_count_by_their_size():
    class Complex(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.factor = perceptron(0, 4), nn.Parameter(torch.ones(2, dtype=torch.complex128))

        def forward(self, x):
            return self.net(x) * self.factor

    for model in (perceptron(0, 4), Complex().eval()):
        space = find_symmetries(model, X)
        expected, smallest = imbalance(space, model), squared_norm(balance(space, model).model)
        for mode in (torch.no_grad(), torch.inference_mode()):
            with mode:
                for each in (
                    model,
                    space.act(model, {}),
                ):  # of which inference mode makes tensors of its kind
                    torch.testing.assert_close(imbalance(space, each), expected)
                    found = balance(space, each).model
            assert squared_norm(found) == pytest.approx(smallest)
