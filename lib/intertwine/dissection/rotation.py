"""Random rotations of a basis, and the shortest way from the identity to one of them."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_tensor
from intertwine.groups import Orthogonal

ORTHOGONAL_TOLERANCE = 1e-5  # of QQᵀ = I, so that float32 rotations pass


def haar_rotation(n: int, generator: torch.Generator) -> Float[Tensor, "n n"]:
    """A rotation by Haar measure on SO(n), in float64 on the generator's device.

    Example:
        >>> Q = haar_rotation(5, torch.Generator().manual_seed(0))
        >>> round(torch.linalg.det(Q).item(), 10)
        1.0

    Gram-Schmidt on a Gaussian matrix gives Haar measure on O(n), half of it with determinant -1 (godfrey2022
    §6 takes that for SO(n)). Where the determinant is -1, one fixed column is negated.

    Args:
        n: rows and columns.
        generator: of the draw.
    """
    Q = Orthogonal(n).sample(generator)
    Q[:, 0] *= torch.linalg.slogdet(Q).sign
    return Q


def turned(
    maps: Float[Tensor, "n units h w"], rotation: Float[Tensor, "k k"]
) -> Float[Tensor, "n units h w"]:
    """The rotation times the units, at every position.

    Raises:
        ValueError: a rotation of other units.
    """
    if len(rotation) != maps.shape[1]:
        raise ValueError(f"Expected a rotation of {maps.shape[1]} units, was given one of {len(rotation)}.")
    return (rotation.to(maps) @ maps.flatten(2)).view(maps.shape)


class RotationPlanes(NamedTuple):
    """A rotation as its planes and angles: the real Schur form of an orthogonal matrix.

    Example:
        >>> import math
        >>> quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        >>> split = rotation_planes(quarter)
        >>> (
        ...     round(split.angles.abs().item() / math.pi, 10),
        ...     round(split.length / math.pi, 4),
        ... )
        (0.5, 0.7071)
    """

    basis: Float[Tensor, "n n"]
    """Orthonormal columns: those of plane k are 2k and 2k + 1; the last ones, if any, stay where they are."""
    angles: Float[Tensor, " planes"]
    """In (-π, π], one for each plane."""

    @property
    def length(self) -> float:
        """Of the geodesic: the Frobenius norm of the principal logarithm."""
        return math.sqrt(2) * self.angles.norm().item()

    def power(self, alpha: float | Float[Tensor, "*batch"]) -> Float[Tensor, "*batch n n"]:
        """Rotate in the same planes by `alpha` times the angles.

        Example:
            >>> quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]]).double()
            >>> half = rotation_planes(quarter).power(0.5)
            >>> torch.allclose(half @ half, quarter)
            True
        """
        alpha = torch.as_tensor(alpha, dtype=torch.float64, device=self.angles.device)
        turned = alpha[..., None] * self.angles
        moving = self.basis[:, : 2 * len(self.angles)].unflatten(1, (-1, 2))
        first, second = moving[..., 0], moving[..., 1]
        cos, sin = turned.cos()[..., None, :], turned.sin()[..., None, :]
        ends = torch.stack([cos * first + sin * second, cos * second - sin * first], -1).flatten(-2)
        still = self.basis[:, 2 * len(self.angles) :]
        return ends @ moving.flatten(1).mT + still @ still.mT


def rotation_planes(Q: Float[Tensor, "n n"]) -> RotationPlanes:
    """The planes that a rotation turns, and by how much, in float64.

    Example:
        >>> import math
        >>> rotation_planes(-torch.eye(4)).angles / math.pi
        tensor([1., 1.], dtype=torch.float64)

    Eigenvalues -1 come in pairs, which are rotations by π. The planes of these are a choice, made here once.
    LAPACK's Schur form needs the CPU: seconds for n = 512, a minute or more for 2048.

    Args:
        Q: orthogonal with determinant 1, in any dtype and on any device, which the result shares.
    """
    from scipy.linalg import schur

    off = off_orthogonal(Q)
    matrix = Q.detach().to("cpu", torch.float64)
    if not off <= ORTHOGONAL_TOLERANCE or torch.linalg.slogdet(matrix).sign != 1:
        raise ValueError(
            f"Expected an orthogonal matrix with determinant 1, was given one of shape {tuple(Q.shape)} with "
            f"|QQᵀ - I| up to {off:.1e}: draw it with `haar_rotation`, or negate one column if that is small."
        )
    T, Z = map(torch.from_numpy, schur(matrix.numpy(), output="real"))
    low, cosines, high = (T.diagonal(k) for k in (-1, 0, 1))
    k = low.nonzero()[:, 0]  # where blocks of 2 begin
    # both entries: the cosine alone would lose the direction
    angles = torch.atan2((low[k] - high[k]) / 2, (cosines[k] + cosines[k + 1]) / 2)
    # what is in no block is a real eigenvalue, 1 or −1
    turning = torch.stack([k, k + 1], 1).flatten()
    alone = torch.ones(len(T), dtype=torch.bool).index_fill(0, turning, False)
    halves, still = ((alone & sign).nonzero()[:, 0] for sign in (cosines <= 0, cosines > 0))
    angles = torch.cat([angles, angles.new_full((len(halves) // 2,), math.pi)])
    return RotationPlanes(Z[:, torch.cat([turning, halves, still])].to(Q.device), angles.to(Q.device))


def off_orthogonal(Q: Float[Tensor, "n m"]) -> float:
    """The largest entry of |QQᵀ − 1|, in float64; infinite where Q is not square."""
    check_tensor(Q)
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1]:
        return math.inf
    matrix = Q.detach().double()
    return (matrix @ matrix.mT - torch.eye(len(Q)).to(matrix)).abs().max().item()


def geodesic(Q: Float[Tensor, "n n"], alpha: float | Float[Tensor, "*batch"]) -> Float[Tensor, "*batch n n"]:
    """Qᵅ on the shortest path from the identity (α = 0) to the rotation Q (α = 1) (godfrey2022 §6).

    Example:
        >>> Q = haar_rotation(6, torch.Generator().manual_seed(0))
        >>> path = geodesic(Q, torch.tensor([0.0, 0.25, 1.0]))
        >>> torch.allclose(path[0], torch.eye(6).double()), torch.allclose(path[2], Q)
        (True, True)

    Every Qᵅ is a rotation, and QᵅQᵝ = Qᵅ⁺ᵝ. There is one matrix for every α, in Q's dtype, computed in
    float64. `rotation_planes(Q)` takes most of the time, so give many α together.

    Args:
        Q: a rotation, as `rotation_planes` takes it.
        alpha: one α or a tensor of many, any real numbers; beyond [0, 1] the path goes on.

    Raises:
        ValueError: Q is not orthogonal with determinant 1.
    """
    return rotation_planes(Q).power(alpha).to(Q.dtype)
