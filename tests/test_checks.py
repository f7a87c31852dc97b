"""Models and generators of random numbers are asked for in one sentence, wherever one is needed."""

import pytest
import torch
from torch import nn

from intertwine.data import Dataset
from intertwine.features import activations
from intertwine.genni import random_plane, random_starts
from intertwine.groups import GeneralLinear, GReLU, Orthogonal, ScalarGroup, StabilizerOfOnes
from intertwine.same_network import same_network
from intertwine.similarity import cka, null
from intertwine.stitching import split, stitch
from intertwine.training import Recipe, evaluate, train
from intertwine.weightspace import find_symmetries

NET = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
SPACE = find_symmetries(NET, torch.zeros(1, 3))
X = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
CALLS = {
    "permutations": lambda seed: GReLU(3).sample(seed),
    "matrices": lambda seed: GeneralLinear(3).sample(seed),
    "rotations": lambda seed: Orthogonal(3).sample(seed),
    "softmax": lambda seed: StabilizerOfOnes(3).sample(seed),
    "scalars": lambda seed: ScalarGroup("positive").sample(seed, 3),
    "elements": lambda seed: SPACE.sample(seed),
    "null": lambda seed: null(cka, X, X, generator=seed),
    "plane": lambda seed: random_plane(torch.ones(5), 2, generator=seed),
    "starts": lambda seed: random_starts(nn.Linear(3, 1), 2, generator=seed),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_seed_is_no_generator(call):
    with pytest.raises(TypeError, match=r"was given 7: make one with torch.Generator\(\).manual_seed\(7\)"):
        call(7)
    call(torch.Generator().manual_seed(7))


DATA = Dataset.of(X, torch.arange(20) % 2)
OF_MODELS = {
    "activations": lambda model: activations(model, ["1"], X),
    "evaluate": lambda model: evaluate(model, X, DATA.labels),
    "find_symmetries": lambda model: find_symmetries(model, X),
    "same_network": lambda model: same_network(NET, model, X),
    "split": lambda model: split(model, "1"),
    "stitch": lambda model: stitch(model, NET, at="1", train=DATA),
    "train": lambda model: train(model, DATA, Recipe(epochs=1, batch_size=4, lr=0.1), seed=0),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("call", OF_MODELS.values(), ids=OF_MODELS)
def test_a_state_dict_is_no_model(call):
    with pytest.raises(ValueError, match=r"Expected a model, an nn.Module, was given .*: weights do"):
        call(NET.state_dict())
    call(NET)


@pytest.mark.parametrize("call", OF_MODELS.values(), ids=OF_MODELS)
def test_a_lazy_model_has_no_weights_yet(call):
    with pytest.raises(ValueError, match=r"Expected a model whose weights have shapes, was given lazy ones"):
        call(nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2)).eval())
