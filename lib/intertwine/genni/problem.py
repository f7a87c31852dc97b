"""A network, a target that it is to compute, and inputs on which the target is not constant."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from intertwine.checks import check_evaluation_mode, check_model, check_tensor, kind
from intertwine.genni.parametric import call, is_perceptron, like_inputs, outputs, parameter_vector

CONSTANT_TARGET = 1e-6  # a target is constant if its variance is below this share of its mean square


class Target(NamedTuple):
    """How large a target is, and how much of it varies."""

    verdict: str
    """One of "varies", "zero" (on every input), "constant" and "nearly zero" (E[y²] is at most ε)."""
    energy: float
    """E[y²] over the inputs, summed over outputs: the loss of the zero function."""
    variance: float
    """The part of it that varies over the inputs."""
    active: float
    """The share of inputs on which any output is not 0."""
    sentence: str


def check_problem(given: object) -> None:
    """Raise ValueError, in one sentence, unless this is a `Problem`."""
    if not isinstance(given, Problem):
        raise ValueError(
            f"Expected a Problem, was given {kind(given)}: make one by Problem(network, target, inputs)."
        )


def describe_target(y: Float[Tensor, "n ..."], epsilon: float | None = None) -> Target:
    """How large a target is, and whether it differs from a constant, which many dead networks compute.

    Example:
        >>> y = torch.tensor([[0.01], [-0.01]])
        >>> print(describe_target(y, epsilon=0.0025).sentence)
        The target is nearly zero: E[y²] = 0.0001, so ε = 0.0025 (25 times that) admits the zero function.

    Args:
        y: the target's outputs, of a network or any other function.
        epsilon: an absolute threshold of J. Where it is at least E[y²], the zero function passes it.
    """
    check_tensor(y, "target")
    if not y.numel() or not torch.isfinite(y).all():
        given = "some that are inf or nan" if y.numel() else f"none, {tuple(y.shape)}"
        raise ValueError(f"Expected a target with finite outputs, was given {given}: choose other inputs.")
    flat = y.double().reshape(len(y), -1)
    energy = flat.square().sum(1).mean().item()  # the loss of the zero function
    variance = (flat - flat.mean(0)).square().sum(1).mean().item()
    # dead layers make outputs that are 0 on most inputs
    active = flat.any(1).double().mean().item()
    # in this order: a zero target is constant, too, and a constant one may be nearly zero
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
    inputs: Shaped[Tensor, "n ..."]
    """They decide on dtype and device, tokens on the device alone. In float64 J is exact to about 10⁻¹² of
    E[y²], in float32 to 10⁻⁷."""

    def __post_init__(self) -> None:
        check_model(self.network)
        check_tensor(self.inputs, "inputs")
        # a function of inputs may be a module; one in training mode may be random
        for model in (self.network, self.target):
            if isinstance(model, nn.Module):
                check_evaluation_mode(model)
        if not callable(self.target):
            check_tensor(self.target, "target")
        p = sum(each.numel() for each in self.network.parameters())
        if isinstance(self.target, Tensor) and self.target.shape != (p,):
            raise ValueError(
                f"Expected a target with the network's {p} parameters, or a function of inputs, was given a "
                f"tensor {tuple(self.target.shape)}."
            )
        if is_perceptron(self.network, self.inputs) and not self.inputs.is_floating_point():
            raise ValueError(
                f"Expected floats as inputs of a network of linear layers, was given {self.inputs.dtype}: "
                f"use inputs.float()."
            )
        if self.inputs.ndim == 1:  # tokens may come like this; n numbers for one feature may not
            try:
                with torch.no_grad():
                    call(self.network, like_inputs(parameter_vector(self.network), self.inputs), self.inputs)
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
                return outputs(self.network, like_inputs(self.target, x)[None], x)[0]
            y = self.target(x)
            check_tensor(y, "target's outputs")
            # two inputs show the shape of one output
            own = call(self.network, like_inputs(parameter_vector(self.network), x), x[:2]).shape[1:]
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

    def on(self, inputs: Shaped[Tensor, "_ ..."]) -> "Problem":
        """The same network and target on other inputs."""
        return replace(self, inputs=inputs)
