"""A function that a network is to compute, and the inputs that decide whether it does."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.genni.parametric import call, outputs, parameter_vector
from intertwine.genni.target import describe_target


@dataclass(frozen=True, eq=False)
class Problem:
    """The loss J(θ), the mean over inputs of |φ(x, θ) − target(x)|², of a network φ.

    Example:
        >>> line, x = nn.Linear(1, 1), torch.tensor([[1.0], [3.0]])
        >>> Problem(line, lambda x: 2 * x, x).y.flatten().tolist()
        [2.0, 6.0]
        >>> Problem(line, torch.tensor([2.0, 1.0]), x).y.flatten().tolist()  # weight 2, bias 1
        [3.0, 7.0]
    """

    network: nn.Module
    """Any; its own parameters play no part."""
    target: Callable[[Tensor], Tensor] | Float[Tensor, " p"]
    """A function of inputs, or parameters of the network."""
    inputs: Float[Tensor, "n ..."]
    """They decide on dtype and device. In float64 J is exact to about 10⁻¹² of E[y²], in float32 to 10⁻⁷."""

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
        if target.verdict in ("dead", "constant"):
            raise ValueError(
                f"Expected a live target. {target.sentence} Every network with a dead layer computes it: "
                "choose other weights, or other inputs."
            )
        return target.energy

    def on(self, inputs: Float[Tensor, "_ ..."]) -> "Problem":
        """The same network and target on other inputs."""
        return replace(self, inputs=inputs)
