"""Chapter 6: the classes of networks x ↦ Σ c_i ReLU(w_i x) in closed form, and GENNI's conjecture tried.

Such a network is s₊x for x > 0 and s₋x for x < 0. So a class is {θ : s₊, s₋ fixed}, and the two slopes are
coordinates of the quotient by functional equivalence.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.genni import Plane, Problem, epsilon_set, grid_loss, parameter_vector, random_plane
from intertwine.genni.grid import Bounds
from intertwine.groups import GReLU
from intertwine_book.experiments.rows import Row, tabled


def slopes(points: Float[Tensor, "*k p"]) -> Float[Tensor, "*k 2"]:
    """(s₊, s₋) of parameters (w_1, …, w_h, c_1, …, c_h), as `intertwine.models.fcn` has them.

    Example:
        >>> slopes(torch.tensor([1.0, -2.0, 3.0, 5.0])).tolist()
        [3.0, -10.0]
    """
    w, c = points.unflatten(-1, (2, -1)).unbind(-2)
    return torch.stack([(c * w.relu()).sum(-1), -(c * (-w).relu()).sum(-1)], -1)


def gaussian_loss(points: Float[Tensor, "*k p"], target: Float[Tensor, " 2"]) -> Float[Tensor, "*k"]:
    """J for x ~ N(0, 1), exactly: ((Δs₊)² + (Δs₋)²)/2, with the slopes (s₊, s₋) of the target."""
    return (slopes(points) - target).square().sum(-1) / 2


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


def authors_draws(
    build: Callable[..., nn.Module], shape: Sequence[int], samples: int, number: int, *, seed: int
) -> tuple[Float[Tensor, " p"], Float[Tensor, "n ..."], Float[Tensor, "k p"]]:
    """Target, inputs and starts from one stream of random numbers, as lengyel2020's code draws them.

    Example:
        >>> from intertwine import models
        >>> target, inputs, starts = authors_draws(models.fcn, (1,), 100, 2, seed=10)
        >>> (target * 1e4).round().tolist(), inputs.shape, starts.shape
        ([-838.0, -343.0, -2652.0, 1627.0], torch.Size([100, 1]), torch.Size([2, 4]))

    The starts depend on how many inputs of this shape there are, standard normal. The paper's small network
    has the seed 10 and 16,384 inputs, its LeNet 0 and 8,192. The keyword `seed` of `build` takes a generator.
    """
    generator = torch.Generator().manual_seed(seed)
    target = parameter_vector(build(seed=generator))
    inputs = torch.randn(samples, *shape, generator=generator)
    return target, inputs, torch.stack([parameter_vector(build(seed=generator)) for _ in range(number)])


@tabled
def conjecture(
    problem: Problem,
    plane: Plane,
    bounds: Bounds,
    n: int,
    *,
    epsilons: Sequence[float],
    planes: int = 20,
    generator: torch.Generator,
) -> Iterator[Row]:
    """The share of grid points under ε in the plane of the solutions and in random planes through θ_0.

    The grid is that of `grid_loss`, ε are thresholds of J/E[y²], and the generator draws the directions of
    the random planes. Columns plane (solutions, random), trial, epsilon, share (of the grid's points).
    """
    size = len(plane.basis)
    drawn = [random_plane(plane.centre, size, generator=generator) for _ in range(planes)]
    for name, trial, each in [("solutions", 0, plane), *(("random", k, p) for k, p in enumerate(drawn))]:
        grid = grid_loss(problem, each, bounds, n)
        for epsilon in epsilons:
            share = epsilon_set(grid, epsilon).double().mean().item()
            yield {"plane": name, "trial": trial, "epsilon": epsilon, "share": share}
