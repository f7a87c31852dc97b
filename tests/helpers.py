"""What several test modules draw and read."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=generator(seed))


def sentence(call: Callable[[], object]) -> str:
    with pytest.raises(ValueError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)
