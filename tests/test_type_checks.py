"""The run-time type checker of the tests is on: sizes that must agree, and kinds."""

import pytest
import torch
from beartype.roar import BeartypeCallHintViolation

from intertwine.similarity import cka
from intertwine.training import evaluate


def test_the_library_is_checked_in_tests_alone(unchecked):
    with pytest.raises(Exception) as plain:  # as a user meets it
        evaluate("a network", torch.ones(1, 2), torch.zeros(1))
    assert not isinstance(plain.value, BeartypeCallHintViolation)


def test_kinds_and_sizes_are_checked():
    for wrong in (
        lambda: evaluate("a network", torch.ones(1, 2), torch.zeros(1)),
        lambda: cka(torch.ones(3), "not features"),
    ):
        with pytest.raises(BeartypeCallHintViolation):
            wrong()
