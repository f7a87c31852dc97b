"""The classes of networks x ↦ Σ c_i ReLU(w_i x) in closed form: what a picture of them has to show.

Such a network is s₊x for x > 0 and s₋x for x < 0. So a class is {θ : s₊, s₋ fixed}, and the two slopes are
coordinates of the quotient by functional equivalence.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.genni.plane import Plane


def slopes(points: Float[Tensor, "*k p"]) -> Float[Tensor, "*k 2"]:
    """(s₊, s₋) of parameters (w_1, …, w_h, c_1, …, c_h), as `intertwine.models.fcn` has them.

    Example:
        >>> slopes(torch.tensor([1.0, -2.0, 3.0, 5.0])).tolist()
        [3.0, -10.0]
    """
    w, c = points.unflatten(-1, (2, -1)).unbind(-2)
    return torch.stack([(c * w.relu()).sum(-1), -(c * (-w).relu()).sum(-1)], -1)


def gaussian_loss(points: Float[Tensor, "*k p"], target: Float[Tensor, " 2"]) -> Float[Tensor, "*k"]:
    """J for x ~ N(0, 1), exactly: ((Δs₊)² + (Δs₋)²)/2.

    Example:
        >>> gaussian_loss(torch.tensor([1.0, -2.0, 3.0, 5.0]), torch.tensor([3.0, -9.0])).item()
        0.5

    Args:
        points: parameters as for `slopes`.
        target: its slopes (s₊, s₋).
    """
    return (slopes(points) - target).square().sum(-1) / 2


def quadric(plane: Plane, level: float) -> tuple[Float[Tensor, " m"], float]:
    """The surface Σ c_i w_i = level in a plane, as Σ λ_k y_k² = t in coordinates y of its own.

    Example:
        >>> from intertwine.genni.plane import plane
        >>> axes = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # of a single neuron, (w, c)
        >>> quadric(plane(axes), 2.0)[0].tolist()
        [-0.5, 0.5]

    Where all w_i are negative, the class with s₊ = 0 and s₋ = level is this surface, and nothing else. In all
    of R⁴ its form has two positive and two negative squares, so that in a generic plane of three dimensions
    it has one of one sign and two of the other: a hyperboloid. If the two λ have the sign of t, it is of one
    sheet, around a hole.

    Returns:
        λ, growing, and t.
    """
    h = len(plane.centre) // 2
    pairing = torch.zeros(2 * h, 2 * h).to(plane.centre)
    pairing[:h, h:] = pairing[h:, :h] = torch.eye(h).to(pairing) / 2
    form, slope = plane.basis @ pairing @ plane.basis.T, plane.basis @ pairing @ plane.centre
    middle = -torch.linalg.solve(form, slope)  # where the form has no linear part
    at = plane.at(middle[None])[0]
    return torch.linalg.eigvalsh(form), level - (at @ pairing @ at).item()


def swap_and_scale(
    theta: Float[Tensor, " p"], number: int, generator: torch.Generator, *, scale: float = 1.0
) -> Float[Tensor, "k p"]:
    """Random points of the orbit of a bias-free network with one input, one hidden ReLU layer and one output.

    Example:
        >>> theta = torch.tensor([1.0, -2.0, 3.0, 5.0])
        >>> orbit = swap_and_scale(theta, 4, torch.Generator().manual_seed(0))
        >>> torch.allclose(slopes(orbit), slopes(theta).expand(4, 2))
        True

    Args:
        theta: w_1, …, w_h, c_1, …, c_h.
        scale: standard deviation of the logarithms of the factors α in (w_i, c_i) → (αw_i, c_i/α).
    """
    w, c = theta.unflatten(0, (2, -1))
    like = torch.empty(number, len(w), device=generator.device)
    order = like.uniform_(generator=generator).argsort(1).to(theta.device)
    alpha = like.log_normal_(0, scale, generator=generator).to(theta)
    return torch.cat([alpha * w[order], c[order] / alpha], 1)
