"""Layers that return a tuple: recorded, compared and stitched by their first tensor."""

import pytest
import torch
from helpers import normal
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from intertwine.data import Dataset
from intertwine.features import activations, record
from intertwine.layer_outputs import first_tensor
from intertwine.similarity import compare
from intertwine.stitching import stitch
from intertwine.weightspace import find_symmetries

X = normal(60, 7, 5)
DATA = Dataset.of(X, torch.arange(60) % 10)


class Recurrent(nn.Module):
    """Sequences of 7 steps of 5 numbers, to 10 classes."""

    def __init__(self, rnn: nn.RNNBase, *, last: bool = False) -> None:
        super().__init__()
        both = 2 if rnn.bidirectional else 1
        self.rnn, self.fc, self.last = rnn, nn.Linear(both * rnn.hidden_size, 10), last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs, state = self.rnn(x)
        return self.fc(state[-1] if self.last else outputs[:, -1])


class Branching(Recurrent):
    """The same, which torch.fx cannot trace."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x if x.sum() > 0 else x + 0)


class First(nn.Module):
    def forward(self, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return pair[0]


def network(cls: type[nn.RNNBase] = nn.GRU, wrapper: type[Recurrent] = Recurrent, **options) -> nn.Module:
    torch.manual_seed(0)
    return wrapper(cls(5, 8, batch_first=True, **options)).eval()


def chain() -> nn.Module:
    return nn.Sequential(network().rnn, First(), nn.Flatten(), nn.Linear(56, 10)).eval()


KINDS = {
    "gru": (network, "rnn"),
    "lstm": (lambda: network(nn.LSTM), "rnn"),
    "both directions": (lambda: network(nn.LSTM, num_layers=2, bidirectional=True), "rnn"),
    "by hooks": (lambda: network(wrapper=Branching), "rnn"),
    "chain": (chain, "0"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_recurrent_network_stitched_to_itself_is_itself(name):
    make, at = KINDS[name]
    model = make()
    width = activations(model, [at], X[:1])[at].shape[-1]
    for kind in (torch.eye(width), "permutation"):
        stitched = stitch(model, model, at=at, kind=kind, train=DATA, device="cpu")
        torch.testing.assert_close(stitched(X), model(X))


def test_a_cut_without_images_passes_the_first_tensor_on():
    for model, at in ((network(), "rnn"), (chain(), "0")):
        torch.testing.assert_close(stitch(model, model, at=at, kind=torch.eye(8))(X), model(X))


@pytest.mark.parametrize("cls", [nn.GRU, nn.LSTM])
def test_moved_hidden_units_are_found_by_comparison_and_stitch(cls):
    model = network(cls)
    space = find_symmetries(model, X[:1])
    order = torch.randperm(8, generator=torch.Generator().manual_seed(1))
    P = torch.eye(8)[order]
    moved = space.act(model, {0: P})
    before, after = (activations(each, ["rnn"], X)["rnn"] for each in (model, moved))
    torch.testing.assert_close(after, before @ P.T)
    assert not torch.allclose(after, before, atol=0.01)
    stitched = stitch(model, moved, at="rnn", kind="permutation", train=DATA, device="cpu")
    assert torch.equal(stitched.stitch(torch.eye(8)).T, P)
    torch.testing.assert_close(stitched(X), model(X))
    for spatial in ("features", "mean"):
        table = compare(model, moved, ["rnn"], X, "cka", spatial=spatial, device="cpu")
        assert table.loc["rnn", "rnn"] == pytest.approx(1, abs=1e-6)


def test_attention_and_dictionaries_are_recorded_by_their_first_real_tensor():
    attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).train()
    with record(attention, ["self_attn"]) as found:
        attention(X.new_ones(2, 3, 8))
    assert found["self_attn"].shape == (2, 3, 8)
    mask = torch.tensor([True])
    assert first_tensor({"mask": mask, "inside": (None, [X])}, "block") is X


def test_what_has_no_first_tensor_or_uses_another_is_refused():
    last = Recurrent(nn.GRU(5, 8, batch_first=True), last=True)
    with pytest.raises(ValueError, match=r"only the first tensor that 'rnn' returns to be used"):
        stitch(last, last, at="rnn", kind=torch.eye(8))
    hooked = Branching(nn.GRU(5, 8, batch_first=True), last=True)
    with pytest.raises(ValueError, match=r"alone to cross the cut, of a tuple its first"):
        stitch(hooked, hooked, at="rnn", kind="permutation", train=DATA, device="cpu")
    with pytest.raises(ValueError, match=r"returned a tuple with a packed sequence first"):
        first_tensor((pack_sequence([X[0]]), X), "rnn")
    with pytest.raises(ValueError, match=r"returned a dict without a floating-point one"):
        first_tensor({"ids": torch.arange(3)}, "block")
