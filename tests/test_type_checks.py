"""The type checker of the tests finds what is wrong: kinds, sizes that must agree, names defined later."""

from dataclasses import dataclass

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


@check
def later(x: "Later") -> "Later | None":
    return x if x.n else 5


@check
@dataclass
class Later:
    n: int


def test_sizes_agree_between_arguments_and_with_the_value():
    A, B = torch.ones(3, 2), torch.ones(3, 4)
    assert columns(A, B).shape == (3, 6) and columns(A[:1], B[:1]).shape == (1, 6)
    for wrong in (lambda: columns(A, B[:2]), lambda: columns(A, B[0]), lambda: columns(A, B, wrong=1)):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()


def test_kinds_are_checked_where_there_are_no_sizes_and_of_fields_and_of_names_defined_later():
    assert later(Later(1)) == Later(1)
    for wrong in (lambda: later(1), lambda: later(Later(0)), lambda: Later("1")):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()


def test_what_a_user_meets_is_not_checked(unchecked):
    assert later(Later(0)) == 5 and Later("1").n == "1"


def test_the_library_is_checked():
    from intertwine.training import evaluate

    with pytest.raises(BeartypeCallHintViolation):
        evaluate("a network", torch.ones(1, 2), torch.zeros(1))
