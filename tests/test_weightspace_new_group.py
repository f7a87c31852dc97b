"""A group of one's own: a class and a rule, and every algorithm takes it."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from intertwine.groups import GeneralLinear, MatrixGroup
from intertwine.groups.matrices import gaussian, generic
from intertwine.weightspace import canonicalise, find_symmetries, match, relative_error
from intertwine.weightspace.rules.axes import single
from intertwine.weightspace.rules.infer import RULES, bind


@dataclass(frozen=True)
class Circulant(MatrixGroup):
    """Invertible circulant matrices, which commute with shifts in a circle."""

    within = (GeneralLinear,)
    permutes = False

    @property
    def dimension(self) -> int:
        return self.n

    @property
    def components(self) -> int:
        return 2 ** (1 + (self.n % 2 == 0))  # signs of the real frequencies

    @property
    def symbol(self) -> str:
        return f"circulant({self.n})"

    def determined(self, width: int) -> bool:
        return width >= 1

    def _of(self, spectrum):
        column = torch.fft.ifft(spectrum).real
        return torch.stack([column.roll(k) for k in range(self.n)], 1)

    def sample(self, generator, *, scale=1.0):
        return torch.eye(self.n, dtype=torch.float64) + 0.3 * scale * self._of(
            torch.fft.fft(gaussian(generator, self.n))
        )

    def _contains(self, A, tol):
        return bool((A - self._nearest(A)).abs().max() <= tol * A.abs().max())

    def _nearest(self, M):
        column = torch.stack([M[:, k].roll(-k) for k in range(self.n)]).mean(0)
        return self._of(torch.fft.fft(column))

    def _best(self, X, Y, rounding):
        x, y = torch.fft.fft(X, dim=0), torch.fft.fft(Y, dim=0)
        return self._of((x * y.conj()).sum(1) / y.norm(dim=1).square())

    def _normal(self, W, rounding):
        return self._of(1 / torch.fft.fft((W @ generic(W.shape[1], 1))[:, 0]))


def shifted(state, call):
    """The units are shifted in a circle."""
    a = bind(call, "input shifts dims")
    x = state.of(a["input"])
    state.within(single(x[-1]).space, Circulant, "shifts")
    return x


class Shifts(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 6), nn.Linear(6, 2)

    def forward(self, x):
        y = self.first(x)
        return self.second(y + 0.5 * torch.roll(y, 1, -1))


def test_a_class_and_a_rule_are_enough_to_find_act_match_and_normalise(monkeypatch):
    monkeypatch.setitem(RULES, "roll", shifted)
    torch.manual_seed(0)
    model, x = Shifts().double().eval(), torch.randn(4, 3, dtype=torch.float64)
    space = find_symmetries(model, x)
    (hidden,) = space.spaces
    assert (hidden.group, space.dimension, space.components) == ("circulant(6)", 6, 4)
    assert hidden.why == ["shifts"]
    element = space.sample(torch.Generator().manual_seed(1))
    moved = space.act(model, element)
    assert relative_error(moved(x), model(x)) < 1e-10
    assert not torch.allclose(moved.first.weight, model.first.weight)
    found = match(space, moved, model).element[hidden.name]
    assert torch.allclose(found.matrix(), element[hidden.name].matrix())
    one, other = (canonicalise(space, each).model for each in (model, moved))
    assert torch.allclose(one.first.weight, other.first.weight)
    with pytest.raises(ValueError, match="a matrix outside of it"):
        space.act(model, {hidden.name: math.pi * torch.eye(6).roll(1, 0).triu()})
