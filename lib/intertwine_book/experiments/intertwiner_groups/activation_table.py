"""Table 1 of godfrey2022, computed, for any activations."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from intertwine.groups import Activation, MatrixGroup, intertwiner_group
from intertwine.groups.probe import Probe
from intertwine_book.experiments.rows import Row, tabled


def _alternating(x: Tensor) -> Tensor:
    return x * (2 + x.sign() * torch.sin(math.pi * x.abs().clamp(min=1e-300).log() / math.log(3)))


TABLE_1_ACTIVATIONS: dict[str, str | Callable[[Tensor], Tensor]] = {
    "identity": "Identity",
    "sigmoid": "sigmoid",
    "ReLU": "ReLU",
    "LeakyReLU(0.01)": "LeakyReLU",
    "RBF": lambda x: torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
    "x²": lambda x: x**2,
    "x³": lambda x: x**3,
}
"""The six activations of the paper's Table 1, with two degrees of its polynomial."""

EXTENDED: dict[str, str | Callable[[Tensor], Tensor]] = {
    **TABLE_1_ACTIVATIONS,
    **{name: name for name in ("GELU", "SiLU", "Mish", "Softplus", "ELU", "SELU", "CELU")},
    **{name: name for name in ("LogSigmoid", "Hardswish", "Hardsigmoid", "ReLU6", "exp")},
    **{name: name for name in ("tanh", "erf", "sin", "cos", "Softsign", "Hardtanh")},
    **{name: name for name in ("Softshrink", "Hardshrink", "Tanhshrink")},
    "LeakyReLU(-1)": nn.LeakyReLU(-1.0),
    "LeakyReLU(-2)": nn.LeakyReLU(-2.0),
    "LeakyReLU(1)": nn.LeakyReLU(1.0),
    "ReLU²": lambda x: torch.relu(x) ** 2,
    "abs": "abs",
    "√|x|·sign(x)": lambda x: x.sign() * x.abs().sqrt(),
    "sign": "sign",
    "Heaviside": lambda x: (x > 0).to(x.dtype),
    "x·cos(log|x|)": lambda x: x * torch.cos(x.abs().clamp(min=1e-300).log()),
    "x·(2 ± sin(π·log₃|x|))": _alternating,
    "2x + 1": lambda x: 2 * x + 1,
    "3": lambda x: torch.full_like(x, 3.0),
}
"""The paper's, the rest of torch.nn, and one of every other kind."""

_GROUPS = {
    "trivial": "P",
    "signs": "PD, d_i = ±1",
    "positive": "PD, d_i > 0",
    "nonzero": "PD, d_i ≠ 0",
    "linear": "GL(n)",
    "constant": "GL(n)",
    "affine": "A·1 = 1",
}


@tabled
def activation_table(
    activations: Mapping[str, str | Callable[[Tensor], Tensor] | Activation] = EXTENDED, n: int = 2
) -> Iterator[Row]:
    """One row for each activation: its scalar group, G_σ, φ, and how surely that was decided.

    Example:
        >>> activation_table({"x²": torch.square}, n=3).loc[0, "scalars":"components"].to_dict()
        {'scalars': 'nonzero', 'group': 'PD, d_i ≠ 0', 'phi': 'A⊙2', 'dimension': 3, 'components': 48}

    Columns activation, scalars, group, phi, dimension, components, and the certificate of the scalar group:
    accepted and refused, the largest and smallest relative residuals. In `phi`, ⊙ is the entrywise power, and
    b(d) the factor of σ(dx) = b(d)σ(x).
    """
    for name, activation in activations.items():
        group = intertwiner_group(activation, n)
        certificate = group.scalars.certificate
        assert certificate is not None
        shown = _GROUPS.get(group.scalars.kind, f"PD, d_i in {group.scalars.elements}")
        row = {"activation": name, "scalars": str(group.scalars), "group": shown, "phi": describe_phi(group)}
        facts = {"dimension": group.dimension, "components": group.components}
        yield row | facts | {"accepted": certificate.accepted, "refused": certificate.refused}


def describe_phi(group: MatrixGroup) -> str:
    """φ in the words of Table 1, from the factors b(−1) and b(2)."""
    kind = group.scalars.kind
    if group.activation is None or kind in ("trivial", "linear", "affine"):
        return "A"
    if kind == "constant":
        return "1 (not unique)"
    if kind == "discrete":
        return "σ(A)/σ(1)" if group.lemma_applies and group.activation(torch.zeros(1)) == 0 else "P·b(D)"
    factors = Probe.of(group.activation).multiplier(torch.tensor([-1.0, 2.0], dtype=torch.float64))
    at_minus_1, at_2 = factors.tolist()
    power = round(math.log2(at_2), 9) if group.scalars.continuous else 1
    even = group.scalars.has_minus_one and at_minus_1 > 0
    if power == 0:
        return "sign(A)" if kind == "nonzero" and not even else "P"
    if kind == "positive" or power % 2 == (0 if even else 1):
        return "A" if power == 1 else f"A⊙{power:g}"
    absolute = "abs(A)" if power == 1 else f"abs(A)⊙{power:g}"
    return absolute if even else f"sign(A)·{absolute}"


PROVED = {
    "trivial": "sigmoid GELU SiLU Mish Softplus ELU SELU CELU LogSigmoid Hardswish Hardsigmoid ReLU6 exp",
    "signs": "RBF tanh erf sin cos Softsign Hardtanh Softshrink Hardshrink Tanhshrink",
    "positive": "ReLU LeakyReLU(0.01) LeakyReLU(-2) ReLU² Heaviside",
    "nonzero": "x² x³ abs LeakyReLU(-1) sign √|x|·sign(x)",
    "linear": "identity LeakyReLU(1)",
    "discrete": "x·cos(log|x|) x·(2±sin(π·log₃|x|))",
    "affine": "2x+1",
    "constant": "3",
}
"""The kind of scalars of each activation of `EXTENDED`, derived by hand from its formula."""


def beside_proved(computed: pd.DataFrame) -> pd.DataFrame:
    """The kinds of scalars of an `activation_table` of `EXTENDED`, beside those that were derived by hand.

    Example:
        >>> beside_proved(activation_table({"tanh": "tanh"}))
          activation computed proved  holds
        0       tanh    signs  signs   True
    """
    kind_of = {name: kind for kind, names in PROVED.items() for name in names.split()}
    checked = computed[["activation", "scalars"]].rename(columns={"scalars": "computed"})
    checked["proved"] = [kind_of[name.replace(" ", "")] for name in checked["activation"]]
    return checked.assign(holds=checked["computed"] == checked["proved"])


GALLERY: dict[str, Callable[[Tensor], Tensor]] = {
    "GELU": nn.GELU(),
    "softplus": nn.Softplus(),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "sin": torch.sin,
    "Gaussian": lambda x: torch.exp(-x * x / 2),
    "ReLU": torch.relu,
    "LeakyReLU(0.1)": nn.LeakyReLU(0.1),
    "squared ReLU": lambda x: torch.relu(x) ** 2,
    "|x|": torch.abs,
    "x³": lambda x: x**3,
    "x cos log|x|": lambda x: x * torch.cos(x.abs().clamp(min=1e-300).log()),
}
"""Twelve activations, with every kind of scalars."""


@tabled
def residuals(residual: Callable[[Callable[[Tensor], Tensor], float], float]) -> Iterator[Row]:
    """A page's own residual r(a) for each activation of `GALLERY`: columns activation, a, residual."""
    logs = [*np.linspace(-4, 4, 41), -np.pi, np.pi]
    tried = sorted(sign * math.exp(t) for t in logs for sign in (-1, 1))
    for name, sigma in GALLERY.items():
        for a in tried:
            yield {"activation": name, "a": a, "residual": residual(sigma, a)}
