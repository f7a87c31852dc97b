"""`MatrixGroup`, the base of all groups, and the verbs that each of them has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.activations import Activation
from intertwine.groups.probe import Probe
from intertwine.groups.scalar import TRIVIAL, ScalarGroup
from intertwine.rounding import unit

UnitRows = Float[Tensor, "n k"]


@dataclass(frozen=True)
class MatrixGroup(ABC):
    """A group G of invertible n×n matrices with the map $φ : G → GL(n)$ for which $σ(Ax) = φ(A)σ(x)$.

    Example:
        >>> from intertwine.groups import intertwiner_group
        >>> group = intertwiner_group("ReLU", 3)
        >>> A = group.sample(torch.Generator().manual_seed(0))
        >>> (
        ...     group.contains(A),
        ...     group.contains(-A),
        ...     group.lemma_applies,
        ...     group.dimension,
        ...     group.components,
        ... )
        (True, False, True, 3, 6)
        >>> print(group)
        Σ_3 ⋉ (R_{>0})^3

    Attributes:
        n: the width.
        scalars: the a for which a·1 is in the group.
        activation: σ; None stands for the identity, and then φ(A) = A.
        within: of a class, larger classes of groups: for each n, its group lies in theirs.
        self_dual: of a class, whether the inverse transpose of each element is the element itself.
        permutes: of a class, whether permutation matrices are elements.

    Matrices (n, n) come in any real floating-point dtype and on any device; decisions are made in float64 on
    the CPU, and results go back to the dtype and device of the argument. A matrix of another shape or dtype,
    or with entries that are not finite, raises a ValueError.
    """

    within: ClassVar[tuple[type["MatrixGroup"], ...]] = ()
    self_dual: ClassVar[bool] = False
    permutes: ClassVar[bool] = True

    n: int
    scalars: ScalarGroup = TRIVIAL
    activation: Activation | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or self.n < 1:
            raise ValueError(
                f"The width n of a group of n×n matrices must be an integer of at least 1; got {self.n!r}."
            )

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension as a manifold."""

    @property
    @abstractmethod
    def components(self) -> int | float:
        """Number of connected components, exactly; math.inf for a discrete infinite group of scalars."""

    @abstractmethod
    def sample(self, generator: torch.Generator, *, scale: float = 1.0) -> Float[Tensor, "n n"]:
        """A random element in float64: uniform permutations, Haar in O(n), lognormal scalars, fair signs.

        Args:
            generator: of random numbers; the element lies on its device.
            scale: standard deviation of the logarithms of scalars and singular values.
        """

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The group in symbols, such as GL(4)."""

    def __str__(self) -> str:
        return self.symbol

    @abstractmethod
    def determined(self, width: int) -> bool:
        """Whether A is known from W and AW, where W is a matrix of so many columns in general position."""

    @abstractmethod
    def _best(self, X: UnitRows, Y: UnitRows, rounding: float) -> Float[Tensor, "n n"]:
        """`best` for checked float64 matrices, known up to this relative rounding."""

    @abstractmethod
    def _normal(self, W: UnitRows, rounding: float) -> Float[Tensor, "n n"]:
        """`normal` for a checked float64 matrix, known up to this relative rounding."""

    @abstractmethod
    def _contains(self, A: Float[Tensor, "n n"], tol: float) -> bool:
        """`contains` for a checked float64 matrix."""

    @abstractmethod
    def _nearest(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """`project` for a checked float64 matrix; it may leave the group where no element is nearest."""

    def contains(self, A: Float[Tensor, "n n"], *, tol: float | None = None) -> bool:
        """Whether A is an element, up to relative errors of `tol`.

        Example:
            >>> from intertwine.groups import Permutations
            >>> Permutations(2).contains(torch.tensor([[0.0, 1.0], [1.0, 0.001]]))
            False

        Args:
            A: any matrix.
            tol: relative to the matched entry of each row for monomial matrices, to 1 for the others. By
                default ε^(2/3), ε the rounding unit of A's dtype: 4e-11 in float64, 2e-5 in float32.
        """
        return self._contains(self._checked(A), torch.finfo(A.dtype).eps ** (2 / 3) if tol is None else tol)

    def project(self, M: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """The element nearest to M in the Frobenius norm.

        Example:
            >>> from intertwine.groups import GReLU
            >>> GReLU(2).project(torch.tensor([[0.1, 2.0], [3.0, -4.0]]))
            tensor([[0., 2.],
                    [3., 0.]])

        Raises:
            ValueError: no element is nearest, because elements come nearer without end to a singular matrix
                (in R_{>0}, no number is nearest to −1).
        """
        nearest = self._nearest(self._checked(M)).to(M)
        if not self.contains(nearest):
            raise ValueError(
                "No element of the group is nearest to M, as the nearest limit of elements is singular: "
                "leave out the rows and columns of M that match nothing."
            )
        return nearest

    def best(self, X: UnitRows, Y: UnitRows, *, rounding: float | None = None) -> Float[Tensor, "n n"]:
        """The element A for which AY is nearest to X in the Frobenius norm.

        Example:
            >>> from intertwine.groups import Orthogonal
            >>> Y = torch.eye(2)
            >>> Orthogonal(2).best(torch.tensor([[0.0, -3.0], [3.0, 0.0]]), Y).round()
            tensor([[ 0., -1.],
                    [ 1.,  0.]])

        Where X and Y leave more than the sign of one direction open, the identity matrix, and of a monomial
        group scalars of 1; where they leave a sign open, that which is nearer to it. `rounding` is how well
        entries are known, relative: by default the rounding unit of their dtype.
        """
        rounding = unit([X, Y]) if rounding is None else rounding
        return self._best(self._rows(X), self._rows(Y), rounding).to(X)

    def normal(self, W: UnitRows, *, rounding: float | None = None) -> Float[Tensor, "n n"]:
        """The element A for which AW is the representative of all matrices that elements make of W.

        Example:
            >>> from intertwine.groups import GReLU
            >>> W = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
            >>> moved = GReLU(2).project(torch.tensor([[0.0, 2.0], [3.0, 0.0]])) @ W
            >>> one, other = (GReLU(2).normal(x) @ x for x in (W, moved))
            >>> torch.allclose(one, other)
            True

        The identity matrix where W does not determine an element; of a monomial group, scalars of 1 there.
        `rounding` as in `best`.
        """
        return self._normal(self._rows(W), unit([W]) if rounding is None else rounding).to(W)

    def inverse(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """The inverse of an element A, an element again.

        Example:
            >>> from intertwine.groups import GReLU
            >>> GReLU(2).inverse(torch.tensor([[0.0, 2.0], [4.0, 0.0]]))
            tensor([[0.0000, 0.2500],
                    [0.5000, 0.0000]])

        Raises:
            ValueError: A is not an element.
        """
        if not self.contains(A):
            raise ValueError("A is not an element of the group, nor is its inverse: use torch.linalg.inv.")
        return torch.linalg.inv(self._checked(A)).to(A)

    def phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """φ(A), the matrix with σ(Ax) = φ(A)σ(x) for all x; without activation, A itself.

        Example:
            >>> from intertwine.groups import intertwiner_group
            >>> intertwiner_group(torch.square, 2).phi(
            ...     torch.tensor([[0.0, 2.0], [3.0, 0.0]])
            ... )
            tensor([[0., 4.],
                    [9., 0.]])

        Where `lemma_applies`, a monomial A gets σ(A)σ(I_n)^{-1} (godfrey2022 Lemma 3.1): for a matrix outside
        the group the only candidate, and `intertwining_error` measures its failure. Where σ(I_n) is singular,
        A = PD gets P·diag(b(d_i)) with σ(d_i x) = b(d_i)σ(x), and A must be an element. Linear and affine
        activations have φ(A) = A. For a constant one φ is not unique, and this is the identity matrix.
        """
        return self._phi(self._checked(A)).to(A)

    def _phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return A

    @cached_property
    def lemma_applies(self) -> bool:
        """Whether σ(I_n) is invertible up to rounding, which Lemma 3.1 of godfrey2022 assumes.

        Its eigenvalues are σ(1) + (n−1)σ(0) and, for n > 1, σ(1) − σ(0); they count as zero below 1e-6 of the
        largest |σ| on [-1, 1].
        """
        if self.activation is None:
            return True
        at_0, at_1 = self.activation(torch.tensor([0.0, 1.0])).tolist()
        eigenvalues = [at_1 + (self.n - 1) * at_0, at_1 - at_0][: self.n]
        return min(map(abs, eigenvalues)) > 1e-6 * Probe.of(self.activation).floor

    def _rows(self, W: Tensor) -> UnitRows:
        """W in float64 on the CPU."""
        if W.ndim != 2 or len(W) != self.n or not W.is_floating_point() or not W.isfinite().all():
            raise ValueError(
                f"A real matrix with {self.n} rows of finite numbers is expected, as the width of this group "
                f"is {self.n}; got shape {tuple(W.shape)} of {W.dtype}."
            )
        return W.detach().to("cpu", torch.float64)

    def _checked(self, A: Tensor) -> Float[Tensor, "n n"]:
        """A in float64 on the CPU."""
        if not (isinstance(A, Tensor) and A.is_floating_point()):
            given = A.dtype if isinstance(A, Tensor) else type(A).__name__
            raise ValueError(f"A real floating-point tensor is expected, got {given}: use torch.float64.")
        if A.shape != (self.n, self.n):
            raise ValueError(
                f"A {self.n}×{self.n} matrix is expected, as the width of this group is {self.n}; "
                f"got shape {tuple(A.shape)}."
            )
        if not A.isfinite().all():
            raise ValueError("The matrix has entries that are NaN or infinite: no group element has.")
        return A.detach().to("cpu", torch.float64)
