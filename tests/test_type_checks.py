"""The type checker of the tests finds sizes that do not agree, and the library is under it."""

import pytest
import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float
from torch import Tensor
from type_checks import decorator

check = decorator(typechecker=beartype)


@check
def columns(A: Float[Tensor, "n p"], B: Float[Tensor, "n q"], *, wrong: int = 0) -> Float[Tensor, "n p+q"]:
    return torch.cat([A, B], 1)[wrong:]


def test_sizes_agree_between_arguments_and_with_the_value():
    A, B = torch.ones(3, 2), torch.ones(3, 4)
    assert columns(A, B).shape == (3, 6) and columns(A[:1], B[:1]).shape == (1, 6)
    for wrong in (lambda: columns(A, B[:2]), lambda: columns(A, B[0]), lambda: columns(A, B, wrong=1)):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()


def test_the_library_is_checked():
    from intertwine.training import evaluate

    with pytest.raises(BeartypeCallHintViolation):
        evaluate("a network", torch.ones(1, 2), torch.zeros(1))
