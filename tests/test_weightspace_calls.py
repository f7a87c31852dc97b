"""Models and spaces as users hand them over: saved, compiled, without memory, of low precision, quantised."""

import copy
import pickle
from functools import partial

import pytest
import torch
import weightspace_models as zoo
from helpers import generator, normal
from torch import nn

from intertwine.weightspace import find_symmetries

TOKENS = torch.tensor([[1, 4, 0, 10, 3], [2, 2, 7, 5, 6]])


def perceptron() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).eval()


def convolutions() -> nn.Sequential:
    torch.manual_seed(0)
    front = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 1), nn.PReLU()
    return nn.Sequential(*front, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2)).eval()


def equal(one: nn.Module, other: nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return [*first] == [*second] and all(torch.equal(x, second[name]) for name, x in first.items())


@pytest.mark.parametrize(
    "build, inputs",
    [(perceptron, normal(2, 3)), (convolutions, normal(2, 3, 9, 9)), (partial(zoo.GPT, tied=True), TOKENS)],
)
@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_saved_space_draws_acts_and_is_drawn_as_before(build, inputs, again):
    model = build().eval()
    space = find_symmetries(model, inputs)
    saved = again(space)
    element, same = (each.sample(generator()) for each in (space, saved))
    assert equal(space.act(model, element), saved.act(model, same))
    assert (str(saved), saved.spec, saved.draw()) == (str(space), space.spec, space.draw())
