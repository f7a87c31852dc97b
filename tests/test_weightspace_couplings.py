"""Networks that open issues of Torch-Pruning report as coupled wrongly, each with its right couplings."""

import torch
from torch import Tensor, nn
from torch.nn.functional import softmax

from intertwine.weightspace import find_symmetries, verify
from intertwine.weightspace.act.space import WeightSpace

draw = torch.Generator().manual_seed(0)


def found(model: nn.Module, x: Tensor) -> tuple[WeightSpace, list[set[tuple[str, int]]]]:
    """The space, and the axes of each coupling; a random element leaves the outputs as they are."""
    model = model.double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3, generator=draw)
    space = find_symmetries(model, x)
    assert verify(space, model, space.sample(draw), x).output < 1e-9
    return space, [set(axes) for axes in space.spec.values()]


def test_two_copies_of_a_tensor_side_by_side_are_one_coupling():
    """Issue 146: cat([x, x]) is read by twice as many columns, which move with the units that were copied."""

    class Doubled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.out = nn.Linear(3, 4), nn.Linear(8, 5), nn.Linear(5, 2)

        def forward(self, x: Tensor) -> Tensor:
            x = self.one(x).relu()
            return self.out(self.two(torch.cat([x, x], dim=1)).relu())

    space, axes = found(Doubled(), torch.randn(2, 3).double())
    assert {("one.weight", 0), ("one.bias", 0), ("two.weight", 1)} in axes and len(axes) == 2
    copied, _ = space.spaces
    assert copied.size == 4  # and not the 8 columns that read them


def test_two_branches_side_by_side_are_two_couplings():
    """Issue 481: units of different branches do not depend on each other, although one layer reads both."""

    class WideAndDeep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.deep = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 2))
            self.wide, self.out = nn.Linear(5, 3), nn.Linear(5, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(torch.concat([self.wide(x), self.deep(x)], dim=-1)).sigmoid()

    _, axes = found(WideAndDeep(), torch.randn(4, 5).double())
    (wide,) = [each for each in axes if ("wide.weight", 0) in each]
    (deep,) = [each for each in axes if ("deep.3.weight", 0) in each]
    assert wide is not deep and not wide & {("deep.3.weight", 0), ("deep.0.weight", 0)}
    assert ("out.weight", 1) in wide and ("out.weight", 1) in deep
    assert any({("deep.0.weight", 0), ("deep.3.weight", 1)} <= each for each in axes)


def test_queries_and_keys_that_are_normalised_after_unbind_keep_their_heads():
    """Issue 524: qkv.unbind(0) gives three tensors; a norm within the heads moves queries and keys alike."""

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)
            self.q_norm, self.k_norm = nn.RMSNorm(3, eps=1e-6), nn.RMSNorm(3, eps=1e-6)

        def forward(self, x: Tensor) -> Tensor:
            n, length, width = x.shape
            q, k, v = self.qkv(x).reshape(n, length, 3, 4, 3).permute(2, 0, 3, 1, 4).unbind(0)
            weights = softmax(self.q_norm(q) @ self.k_norm(k).transpose(-2, -1), dim=-1)
            return self.proj((weights @ v).transpose(1, 2).reshape(n, length, width))

    space, axes = found(Attention(), torch.randn(2, 5, 12).double())
    heads = [hidden for hidden in space.spaces if hidden.size == 4]
    assert len(heads) == 1  # four heads, which queries, keys and values share
    coupled = [each for each in axes if ("qkv.weight", 0) in each]
    assert any(("proj.weight", 1) in each for each in coupled)
    assert any({("q_norm.weight", 0), ("k_norm.weight", 0)} <= each for each in coupled)


def test_layers_without_gradients_are_coupled_as_others():
    """Issues 188 and 211: a graph of gradients misses them, a run of the functions does not."""
    x = torch.randn(2, 3).double()
    layers = nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)
    trained = nn.Sequential(*layers)
    _, before = found(trained, x)
    _, after = found(trained.requires_grad_(False), x)
    assert before == after and len(after) == 2
