"""A generator of random numbers is asked for in one sentence, wherever one is needed."""

import pytest
import torch
from torch import nn

from intertwine.genni import random_plane, random_starts
from intertwine.groups import GeneralLinear, GReLU, Orthogonal, ScalarGroup, StabilizerOfOnes
from intertwine.similarity import cka, null
from intertwine.weightspace import find_symmetries

SPACE = find_symmetries(nn.Linear(3, 2).eval(), torch.zeros(1, 3))
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
