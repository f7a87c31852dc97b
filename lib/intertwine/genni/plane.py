"""The plane through parameter vectors, with an orthonormal basis, and random planes to compare it with."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_generator, check_tensor, kind

SINGULAR = 1e6  # condition from which directions of a plane are called dependent


class Plane(NamedTuple):
    """A point θ_0 and the span of an orthonormal basis, in float64.

    Example:
        >>> flat = plane(
        ...     torch.tensor([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, -3.0, 1.0]])
        ... )
        >>> flat.coordinates.tolist(), round(flat.condition, 6)
        ([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]], 1.5)
    """

    centre: Float[Tensor, " p"]
    basis: Float[Tensor, "m p"]
    """Rows are orthonormal."""
    coordinates: Float[Tensor, "k m"]
    """Of the vectors that it was made from; the first is 0."""
    condition: float
    """Largest by smallest singular value of their differences from the first. It is large where they nearly
    lie in a plane of fewer dimensions: then a picture shows the noise of the search along one axis."""

    def at(self, coordinates: Float[Tensor, "k m"]) -> Float[Tensor, "k p"]:
        """The parameter vectors at some coordinates."""
        return self.centre + coordinates.to(self.basis) @ self.basis

    def project(self, points: Float[Tensor, "k p"]) -> tuple[Float[Tensor, "k m"], Float[Tensor, " k"]]:
        """Coordinates of the nearest point of the plane, and the distance from it, of parameter vectors."""
        gap = points.to(self.centre) - self.centre
        # the basis is orthonormal, so products are coordinates
        coordinates = gap @ self.basis.T
        return coordinates, (gap - coordinates @ self.basis).norm(dim=1)


def plane(solutions: Float[Tensor, "m1 p"]) -> Plane:
    """The plane through m+1 parameter vectors, centred at the first (lengyel2020 §3).

    Example:
        >>> three = torch.tensor([[0.0, 0, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1]])
        >>> plane(three).basis.abs().tolist()
        [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]

    The basis is that of Gram and Schmidt: every vector has a positive coordinate along the direction that it
    adds.

    Args:
        solutions: m + 1 parameter vectors of p numbers each, as `search` finds them; the first becomes the
            centre.

    Raises:
        ValueError: affinely dependent vectors. Linear independence, as in the paper, does not suffice.
    """
    if hasattr(solutions, "points"):
        raise ValueError(f"Expected parameter vectors, was given {kind(solutions)}: use its .points.")
    check_tensor(solutions, "solutions")
    if solutions.ndim != 2 or not len(solutions) or not solutions.isfinite().all():
        raise ValueError(
            f"Expected parameter vectors (k, p) of finite numbers, was given {tuple(solutions.shape)}: stack "
            f"them with torch.stack, and leave out those that diverged."
        )
    solutions = solutions.double()  # before the difference, which would be rounded
    gaps = solutions[1:] - solutions[0]
    m, p = gaps.shape
    values = torch.linalg.svdvals(gaps) if m else gaps.new_zeros(1)
    condition = (values[0] / values[-1]).item()
    if m < 1 or m > p or not condition < SINGULAR:
        raise ValueError(
            f"Expected 2 or more affinely independent vectors, was given {m + 1} of length {p} that span "
            f"fewer than {m} directions (condition {condition:.1g}): leave some out."
        )
    # by QR rather than step by step, which loses orthogonality where vectors are nearly dependent
    Q, R = torch.linalg.qr(gaps.T)
    basis = (Q * R.diagonal().sign()).T
    return Plane(solutions[0], basis, torch.cat([gaps.new_zeros(1, m), gaps @ basis.T]), condition)


def random_plane(centre: Float[Tensor, " p"], m: int, *, generator: torch.Generator) -> Plane:
    """A plane of m dimensions through a parameter vector, in directions that are uniformly distributed.

    Example:
        >>> flat = random_plane(
        ...     torch.ones(5), 2, generator=torch.Generator().manual_seed(0)
        ... )
        >>> torch.allclose(
        ...     flat.basis @ flat.basis.T, torch.eye(2, dtype=torch.float64)
        ... )
        True

    Args:
        centre: the parameter vector that gets the coordinates 0.
        m: dimensions of the plane, at most the number of parameters.
        generator: of the directions.
    """
    check_tensor(centre, "centre")
    check_generator(generator)
    # Gaussian vectors have no preferred direction, so their span has none
    directions = torch.randn(
        m, len(centre), generator=generator, dtype=torch.float64, device=generator.device
    )
    centre = centre.double()
    made = plane(torch.cat([centre[None], centre + directions.to(centre.device)]))
    return made._replace(coordinates=made.coordinates[:1])  # the random vectors are nobody's solutions
