"""(C^*)^{n/2}: a complex number for each pair of units."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear
from intertwine.groups.matrices import gaussian, generic
from intertwine.groups.scalar import NONZERO, POSITIVE, ScalarGroup


@dataclass(frozen=True)
class ComplexDiagonal(MatrixGroup):
    """The matrices that multiply pairs of units, as real and imaginary parts, by complex numbers.

    Example:
        >>> A = torch.tensor([[1.0, -2.0], [2.0, 1.0]])
        >>> (
        ...     ComplexDiagonal(2).contains(A),
        ...     ComplexDiagonal(2).contains(A.abs()),
        ...     ComplexDiagonal(6).dimension,
        ... )
        (True, False, 6)

    Rotary positions turn pairs of queries and keys, so these are the matrices that commute with them. The
    pairs are units i and i + n/2.
    """

    within = (GeneralLinear,)
    permutes = False
    interleaved: ClassVar[bool] = False  # units 2i and 2i + 1 are the pairs
    components = 1
    scalars: ScalarGroup = NONZERO

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n % 2:
            raise ValueError(f"Expected an even number of units, which come in pairs, was given {self.n}.")

    @property
    def dimension(self) -> int:
        return self.n

    def pairs(self, W: Float[Tensor, "n k"]) -> Complex[Tensor, "m k"]:
        """The two rows of each pair as one row of complex numbers."""
        real, imaginary = (W[0::2], W[1::2]) if self.interleaved else W.chunk(2)
        return torch.complex(real.double(), imaginary.double())

    def matrix(self, z: Complex[Tensor, " m"]) -> Float[Tensor, "n n"]:
        """The matrix that multiplies the pairs by these numbers."""
        a, b = z.real.diag(), z.imag.diag()
        # first with all real parts, then all imaginary ones; then in the order in which the units are
        A = torch.cat([torch.cat([a, -b], 1), torch.cat([b, a], 1)])  # (a + ib)(x + iy)
        order = torch.arange(self.n).view(2, -1)
        order = (order.T if self.interleaved else order).flatten()
        return A[order][:, order]

    @property
    def symbol(self) -> str:
        return f"(C^*)^{self.n // 2}"

    def determined(self, width: int) -> bool:
        return width >= 1

    def _best(
        self, X: Float[Tensor, "n k"], Y: Float[Tensor, "n k"], rounding: float
    ) -> Float[Tensor, "n n"]:
        """Least squares of one complex number for each pair."""
        # min |x − zy|² has z = <x, y>/|y|²; 0 and 0/0 are no elements, and leave the pair as it is
        x, y = self.pairs(X), self.pairs(Y)
        z = (x * y.conj()).sum(1) / y.norm(dim=1).square()
        return self.matrix(torch.where(z.isfinite() & (z != 0), z, 1))

    def _normal(self, W: Float[Tensor, "n k"], rounding: float) -> Float[Tensor, "n n"]:
        """Each pair gets length 1, and a phase for which its sum with fixed numbers is positive."""
        w = self.pairs(W)
        z = (w @ generic(W.shape[1], 1).to(w))[:, 0].sgn().conj() / w.norm(dim=1)
        return self.matrix(torch.where(z.isfinite() & (z != 0), z, 1))

    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        phases = torch.complex(*gaussian(generator, 2, self.n // 2)).sgn()
        return self.matrix(phases * POSITIVE.sample(generator, self.n // 2, scale))

    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        size = A.norm(dim=1)
        return bool(((A - self._nearest(A)).norm(dim=1) <= tol * size).all() and (size > 0).all())

    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        # of each block [[p, q], [r, s]] the nearest [[a, −b], [b, a]] has a = (p + s)/2 and b = (r − q)/2
        rows = self.pairs(M)  # p + ir and q + is
        real, imaginary = (self.pairs(part.T).diagonal().conj() for part in (rows.real, rows.imag))
        return self.matrix((real + 1j * imaginary) / 2)


@dataclass(frozen=True)
class InterleavedComplexDiagonal(ComplexDiagonal):
    """The same, where the pairs are units 2i and 2i + 1.

    Example:
        >>> A = InterleavedComplexDiagonal(4).sample(torch.Generator().manual_seed(0))
        >>> bool((A[:2, 2:] == 0).all()), ComplexDiagonal(4).contains(A)
        (True, False)
    """

    interleaved = True
