"""The classes of networks x ↦ Σ c_i ReLU(w_i x) in closed form.

Such a network is s₊x for x > 0 and s₋x for x < 0. So a class is {θ : s₊, s₋ fixed}, and the two slopes are
coordinates of the quotient by functional equivalence.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.genni import Plane
from intertwine.groups import GReLU


def slopes(points: Float[Tensor, "*k p"]) -> Float[Tensor, "*k 2"]:
    """(s₊, s₋) of parameters (w_1, …, w_h, c_1, …, c_h), as `intertwine_book.models.fcn` has them.

    Example:
        >>> slopes(torch.tensor([1.0, -2.0, 3.0, 5.0])).tolist()
        [3.0, -10.0]
    """
    w, c = points.unflatten(-1, (2, -1)).unbind(-2)
    return torch.stack([(c * w.relu()).sum(-1), -(c * (-w).relu()).sum(-1)], -1)


def gaussian_loss(points: Float[Tensor, "*k p"], target: Float[Tensor, " 2"]) -> Float[Tensor, "*k"]:
    """J for x ~ N(0, 1), exactly: ((Δs₊)² + (Δs₋)²)/2, with the slopes (s₊, s₋) of the target."""
    return (slopes(points) - target).square().sum(-1) / 2


def merging(target: Float[Tensor, " 2"]) -> float:
    """Above which ε of J/E[y²] the two pieces of a class of two neurons, with slopes (s₊, s₋), are one.

    Example:
        >>> merging(torch.tensor([1.0, -1.0]))
        0.5
    """
    squares = target.square()
    return (squares.min() / squares.sum()).item()


class Quadric(NamedTuple):
    """The surface Σ c_i w_i = level in a plane, as Σ λ_k y_k² = t in coordinates y of its own."""

    squares: Float[Tensor, " m"]
    """λ, growing."""
    t: float
    middle: Float[Tensor, " m"]
    """Where y = 0, in coordinates of the plane."""
    axes: Float[Tensor, "m m"]
    """Columns: the directions of y."""

    def one_sheet(self, reach: float, n: int) -> Float[Tensor, "n n2 3"]:
        """Points of a hyperboloid of one sheet, in coordinates of the plane, up to `reach` along its axis."""
        across = self.squares * self.t > 0
        if len(across) != 3 or across.sum() != 2:
            raise ValueError(f"Expected a hyperboloid of one sheet, was given {self.squares} and {self.t}.")
        radii = (self.t / self.squares).abs().sqrt()
        u = torch.linspace(-1, 1, n).to(radii) * torch.asinh(reach / radii[~across])
        v = torch.linspace(0, 2 * torch.pi, 2 * n).to(radii)
        y = radii.new_zeros(n, 2 * n, 3)
        y[..., across] = u.cosh()[:, None, None] * torch.stack([v.cos(), v.sin()], 1)
        y[..., ~across] = u.sinh()[:, None, None]
        return self.middle + (radii * y) @ self.axes.T

    def axis(self, reach: float, n: int) -> Float[Tensor, "n m"]:
        """Points of the line that a hyperboloid of one sheet goes around, with coordinates up to `reach`."""
        (along,) = self.axes[:, self.squares * self.t < 0].T
        ends = ((reach * side - self.middle) / along for side in (-1, 1))
        low, high = torch.stack([*ends]).sort(0).values  # where each coordinate is within reach
        return self.middle + torch.linspace(low.max(), high.min(), n)[:, None].to(along) * along


def quadric(plane: Plane, level: float) -> Quadric:
    """The surface Σ c_i w_i = level in a plane.

    Example:
        >>> from intertwine.genni import plane
        >>> axes = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # of a single neuron, (w, c)
        >>> quadric(plane(axes), 2.0).squares.tolist()
        [-0.5, 0.5]

    Where all w_i are negative, the class with s₊ = 0 and s₋ = level is this surface, and nothing else. In all
    of R⁴ its form has two positive and two negative squares, so that in a generic plane of three dimensions
    it has one of one sign and two of the other: a hyperboloid. If the two λ have the sign of t, it is of one
    sheet, around a hole.
    """
    h = len(plane.centre) // 2
    pairing = torch.zeros(2 * h, 2 * h).to(plane.centre)
    pairing[:h, h:] = pairing[h:, :h] = torch.eye(h).to(pairing) / 2
    form, slope = plane.basis @ pairing @ plane.basis.T, plane.basis @ pairing @ plane.centre
    middle = -torch.linalg.solve(form, slope)  # where the form has no linear part
    at = plane.at(middle[None])[0]
    squares, axes = torch.linalg.eigh(form)
    return Quadric(squares, level - (at @ pairing @ at).item(), middle, axes)


def negative_sheet(
    plane: Plane, level: float, *, reach: float = 2.0, n: int = 24, turns: int = 120
) -> tuple[Float[Tensor, "n turns1 3"], Float[Tensor, "n turns1"]]:
    """The class with s₊ = 0 and s₋ = level in a plane, where both w_i are negative, and c_1 w_1 on it.

    In coordinates of the plane, up to `reach`, with n points across the strip at each of the angles around
    the axis, the first of which is repeated; nan where a point belongs to no such network.
    """
    fine = 4 * turns
    sheet = quadric(plane, level).one_sheet(reach, fine)[:, :: 2 * fine // turns]
    sheet = torch.cat([sheet, sheet[:, :1]], 1)
    w1, w2, c1, _ = plane.at(sheet.flatten(0, 1)).view(*sheet.shape[:2], 4).unbind(-1)
    inside = (w1 < 0) & (w2 < 0) & (sheet.abs() <= reach).all(2)
    along = torch.arange(fine, device=inside.device)[:, None]
    low, high = along.where(inside, fine - 1).amin(0), along.where(inside, 0).amax(0)
    across = torch.linspace(0, 1, n, device=inside.device)[:, None]
    at = (low + (high - low) * across).round().long()  # from border to border, so that borders are smooth
    sheet, inside, shade = (each[at, torch.arange(turns + 1)] for each in (sheet, inside, w1 * c1))
    return torch.where(inside[..., None], sheet, torch.nan).cpu(), shade.cpu()


def orbit(
    theta: Float[Tensor, " p"], number: int, *, scale: float = 1.0, generator: torch.Generator
) -> Float[Tensor, "k p"]:
    """Random elements A of G_ReLU act on θ = (w, c) of a network with one hidden layer: w → Aw, c → cA⁻¹.

    Example:
        >>> theta = torch.tensor([1.0, -2.0, 3.0, 5.0])
        >>> points = orbit(theta, 4, generator=torch.Generator().manual_seed(0))
        >>> torch.allclose(slopes(points), slopes(theta).expand(4, 2))
        True

    The scale is that of `GReLU.sample`.
    """
    w, c = theta.unflatten(0, (2, -1))
    elements = [GReLU(len(w)).sample(generator, scale=scale) for _ in range(number)]
    A = torch.stack(elements).to(theta)
    return torch.cat([A @ w, c @ torch.linalg.inv(A)], 1)
