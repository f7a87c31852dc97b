"""In how many directions can parameters move the function? The rank of its Jacobian."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import jacrev

from intertwine.genni.parametric import check_points, evaluated


class FunctionalDimension(NamedTuple):
    """The result of `functional_dimension`."""

    rank: int
    """Directions in which the function changes; never more than outputs · inputs."""
    fibre: int
    """All other directions: the dimension of the class, where the rank is constant in a neighbourhood."""
    singular_values: Float[Tensor, " k"]


def functional_dimension(
    model: nn.Module, theta: Float[Tensor, " p"], inputs: Shaped[Tensor, "n ..."]
) -> FunctionalDimension:
    """The rank of the Jacobian of the outputs on all inputs with respect to the parameters, at θ.

    Example:
        >>> model = nn.Sequential(
        ...     nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
        ... ).eval()
        >>> x, theta = torch.randn(50, 1), torch.tensor([1.0, -2.0, 3.0, 5.0])
        >>> functional_dimension(model, theta, x)[:2]  # two slopes and two scalings
        (2, 2)

    Singular values below a millionth of the largest count as 0. With fewer inputs than parameters, their
    number may bound the rank. All is computed in float64.
    """
    check_points(model, theta[None], inputs)
    x = inputs.double() if inputs.is_floating_point() else inputs  # or tokens
    jacobian = jacrev(lambda at: evaluated(model, at[None], x)[0].flatten(), chunk_size=256)(
        theta.to(x.device, torch.float64)
    )
    values = torch.linalg.svdvals(jacobian)
    rank = int((values > 1e-6 * values[0]).sum())
    return FunctionalDimension(rank, len(theta) - rank, values)
