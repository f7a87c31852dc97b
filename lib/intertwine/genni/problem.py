"""A function that a network is to compute, on inputs that tell it from a constant."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.checks import check_evaluation_mode
from intertwine.genni.parametric import call, outputs, parameter_vector

CONSTANT_TARGET = 1e-6  # a target is constant if its variance is below this share of its mean square


class Target(NamedTuple):
    """The result of `describe_target`."""

    verdict: str
    """One of: "varies"; "zero", on every input; "constant"; "nearly zero", no further from 0 than ε."""
    energy: float
    """E[y²] over the inputs, summed over outputs: the loss of the zero function."""
    variance: float
    """The part of it that varies over the inputs."""
    active: float
    """The share of inputs on which any output is not 0."""
    sentence: str


def describe_target(y: Float[Tensor, "n ..."], epsilon: float | None = None) -> Target:
    """Mean square and variance of a target's outputs, and whether its class differs from that of a constant.

    Example:
        >>> y = torch.tensor([[0.01], [-0.01]])
        >>> print(describe_target(y, epsilon=0.0025).sentence)
        The target is nearly zero: E[y²] = 0.0001, so ε = 0.0025 (25 times that) admits the zero function.

    The outputs y are not necessarily of a network; `epsilon` is an absolute threshold of J to be judged.
    """
    if not y.numel() or not torch.isfinite(y).all():
        given = "some that are inf or nan" if y.numel() else f"none, {tuple(y.shape)}"
        raise ValueError(f"Expected a target with finite outputs, was given {given}: choose other inputs.")
    flat = y.double().reshape(len(y), -1)
    energy = flat.square().sum(1).mean().item()
    variance = (flat - flat.mean(0)).square().sum(1).mean().item()
    active = flat.any(1).double().mean().item()
    if energy == 0:
        verdict, sentence = "zero", "The target is zero on every input."
    elif variance <= CONSTANT_TARGET * energy:
        verdict = "constant"
        sentence = (
            f"The target is constant: of E[y²] = {energy:.3g} only {variance:.1g} varies over the inputs."
        )
    elif epsilon is not None and epsilon >= energy:
        verdict = "nearly zero"
        sentence = (
            f"The target is nearly zero: E[y²] = {energy:.3g}, so ε = {epsilon:g} ({epsilon / energy:.0f} "
            f"times that) admits the zero function."
        )
    else:
        verdict = "varies"
        sentence = (
            f"The target varies: E[y²] = {energy:.3g}, of which {variance:.3g} is variance over the inputs."
        )
    return Target(verdict, energy, variance, active, sentence)


@dataclass(frozen=True, eq=False)
class Problem:
    """A network φ, a target and inputs: the loss $J(θ)$ is the mean over inputs of $|φ(x, θ) − target(x)|²$.

    Example:
        >>> line, x = nn.Linear(1, 1).eval(), torch.tensor([[1.0], [3.0]])
        >>> Problem(line, lambda x: 2 * x, x).y.flatten().tolist()
        [2.0, 6.0]
        >>> # weight 2, bias 1
        >>> Problem(line, torch.tensor([2.0, 1.0]), x).y.flatten().tolist()
        [3.0, 7.0]
    """

    network: nn.Module
    """Any, in evaluation mode; its own parameters play no part."""
    target: Callable[[Tensor], Tensor] | Float[Tensor, " p"]
    """A function of inputs, or parameters of the network."""
    inputs: Float[Tensor, "n ..."]
    """They decide on dtype and device. In float64 J is exact to about 10⁻¹² of E[y²], in float32 to 10⁻⁷."""

    def __post_init__(self) -> None:
        for model in (self.network, self.target):
            if isinstance(model, nn.Module):
                check_evaluation_mode(model)
        p = sum(each.numel() for each in self.network.parameters())
        if isinstance(self.target, Tensor) and self.target.shape != (p,):
            raise ValueError(
                f"Expected a target with the network's {p} parameters, or a function of inputs, was given a "
                f"tensor {tuple(self.target.shape)}."
            )
        if self.inputs.ndim == 1:
            try:
                with torch.no_grad():
                    call(self.network, parameter_vector(self.network).to(self.inputs), self.inputs)
            except RuntimeError as error:
                raise ValueError(
                    f"Expected inputs (n, features), was given {tuple(self.inputs.shape)}: of n numbers make "
                    f"n rows, as inputs[:, None]."
                ) from error

    @cached_property
    def y(self) -> Float[Tensor, "n ..."]:
        """The target's outputs; ValueError if their shape is not the network's, as they would broadcast."""
        x = self.inputs
        with torch.no_grad():
            if isinstance(self.target, Tensor):
                return outputs(self.network, self.target.to(x)[None], x)[0]
            y = self.target(x)
            own = call(self.network, parameter_vector(self.network).to(x), x[:2]).shape[1:]
        if y.shape != (len(x), *own):
            raise ValueError(
                f"Expected a target with outputs {(len(x), *own)}, as the network has them, was given "
                f"{tuple(y.shape)}: reshape them, or take another network."
            )
        return y

    @cached_property
    def energy(self) -> float:
        """E[y²], summed over outputs: the loss of the zero function; ValueError for a constant target."""
        target = describe_target(self.y)
        if target.verdict in ("zero", "constant"):
            raise ValueError(
                f"Expected a target that varies. {target.sentence} Every network with an inactive layer "
                "computes it: choose other weights, or other inputs."
            )
        return target.energy

    def on(self, inputs: Float[Tensor, "_ ..."]) -> "Problem":
        """The same network and target on other inputs."""
        return replace(self, inputs=inputs)
