"""Table 1 of godfrey2022, computed, for any activations."""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from intertwine.groups import Activation, MatrixGroup, intertwiner_group
from intertwine.groups.probe import Probe


def _alternating(x: Tensor) -> Tensor:
    return x * (2 + x.sign() * torch.sin(math.pi * x.abs().clamp(min=1e-300).log() / math.log(3)))


PAPER: dict[str, str | Callable[[Tensor], Tensor]] = {
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
    **PAPER,
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


def table(
    activations: Mapping[str, str | Callable[[Tensor], Tensor] | Activation] = EXTENDED, n: int = 2
) -> list[dict[str, str | int | float]]:
    """One row for each activation: its scalar group, G_σ, φ, and how surely that was decided.

    Example:
        >>> row = table({"x²": torch.square}, n=3)[0]
        >>> row["activation"], row["scalars"], row["group"], row["phi"], row["dimension"], row["components"]
        ('x²', 'nonzero', 'PD, d_i ≠ 0', 'A⊙2', 3, 48)

    Rows have activation, scalars, group, phi, dimension, components, and the certificate of the scalar group:
    accepted and refused, the largest and smallest relative residuals. In `phi`, ⊙ is the entrywise power, and
    b(d) the factor of σ(dx) = b(d)σ(x).
    """
    rows: list[dict[str, str | int | float]] = []
    for name, activation in activations.items():
        group = intertwiner_group(activation, n)
        certificate = group.scalars.certificate
        assert certificate is not None
        shown = _GROUPS.get(group.scalars.kind, f"PD, d_i in {group.scalars.elements}")
        row = {"activation": name, "scalars": str(group.scalars), "group": shown, "phi": describe_phi(group)}
        facts = {"dimension": group.dimension, "components": group.components}
        rows.append(row | facts | {"accepted": certificate.accepted, "refused": certificate.refused})
    return rows


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
