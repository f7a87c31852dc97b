"""Targets that a search can tell from a constant: every network with an inactive output fits a constant."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

CONSTANT = 1e-6  # a target is constant if its variance is below this share of its mean square


class Target(NamedTuple):
    """The result of `describe_target`."""

    verdict: str
    """"live"; "dead": 0 everywhere; "constant"; "nearly zero": no further from 0 than ε."""
    energy: float
    """E[y²] over the inputs, summed over outputs: the loss of the zero function."""
    variance: float
    """The part of it that varies over the inputs."""
    alive: float
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
    alive = flat.any(1).double().mean().item()
    if energy == 0:
        verdict, sentence = "dead", "The target is dead: it returns 0 on every input."
    elif variance <= CONSTANT * energy:
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
        verdict = "live"
        sentence = (
            f"The target is live: E[y²] = {energy:.3g}, of which {variance:.3g} varies over the inputs."
        )
    return Target(verdict, energy, variance, alive, sentence)
