"""What is refused as an activation, and why; what is accepted under which name."""

import copy

import pytest
import torch
from torch import nn

from intertwine.groups import ActivationError, as_activation

REFUSED = {
    "not elementwise": [
        nn.GLU(),
        nn.Softmax(),
        nn.Softmax(-1),
        nn.Softmin(0),
        nn.LogSoftmax(1),
        nn.Softmax2d(),
        nn.LayerNorm(4),
        nn.BatchNorm1d(4),
        nn.MultiheadAttention(4, 2),
        "softmax",
        "logsumexp",
        lambda x: x - x.mean(),
        lambda x: x.cumsum(-1),
        lambda x: x / x.abs().max(),
        lambda x: x + torch.arange(x.numel()).view(x.shape),
        lambda x: max(x, 0),
        lambda x: x.sort(-1).values,
        lambda x: x.flatten().cummax(0).values.view(x.shape),
    ],
    "each has its own function": [nn.PReLU(3)],
    "not deterministic": [
        nn.RReLU(),
        nn.Dropout(),
        nn.AlphaDropout(),
        "dropout",
        lambda x: x + torch.randn_like(x),
    ],
    "not finite": ["log", "sqrt", lambda x: 1 / x, lambda x: 1 / (x - 3), "erfinv"],
    "not real-valued": [lambda x: x + 1j],
    "computes in torch.float32": [lambda x: x.float().tanh()],
    "in place of a tensor": [lambda x: x.tolist()],
    "makes a module: write": [nn.ReLU],
    "needs arguments": ["Threshold", "MultiheadAttention"],
    "such as": ["rellu", "LeakyRelu"],
}


@pytest.mark.parametrize(
    ("reason", "activation"),
    [
        pytest.param(reason, activation, id=f"{reason} {i}")  # the same names on every worker
        for reason, given in REFUSED.items()
        for i, activation in enumerate(given)
    ],
)
def test_refused_in_one_sentence_with_the_reason(reason, activation):
    with pytest.raises(ActivationError, match=reason) as refusal:
        as_activation(activation)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("module", [nn.RReLU(), nn.Dropout(), nn.AlphaDropout()])
def test_random_modules_are_accepted_in_evaluation_mode(module):
    as_activation(copy.deepcopy(module).eval())


def test_a_module_is_copied_and_its_input_left_alone():
    module, x = nn.ReLU(inplace=True), torch.tensor([-1.0, 2.0], dtype=torch.float64)
    assert as_activation(module)(x).tolist() == [0, 2]
    assert x.tolist() == [-1, 2]
    prelu = nn.PReLU()
    y = as_activation(prelu)(torch.tensor([-1.0], requires_grad=True))
    assert y.item() == -0.25 and not y.requires_grad
    assert prelu.weight.dtype == torch.float32


@pytest.mark.parametrize("name", ["ReLU", "relu", "gelu", "erf", "expit", "sin", "leaky_relu", "hardtanh"])
def test_names_come_from_torch(name):
    sigma = as_activation(name)
    assert str(sigma) == name
    assert as_activation(sigma) is sigma
