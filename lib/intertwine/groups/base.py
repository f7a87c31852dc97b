"""`MatrixGroup`, the base of all groups, and the verbs that each of them has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.devices import rounding_unit
from intertwine.groups.activations import Activation
from intertwine.groups.matrices import checked_matrix, checked_rows
from intertwine.groups.probe import Probe
from intertwine.groups.scalar import TRIVIAL, ScalarGroup

UnitRows = Float[Tensor, "n k"]  # a row for each unit, such as the weights that enter it


@dataclass(frozen=True)
class MatrixGroup(ABC):
    """A group G of invertible n×n matrices with the map $φ : G → GL(n)$ for which $σ(Ax) = φ(A)σ(x)$.

    Example:
        >>> from intertwine.groups import intertwiner_group
        >>> group = intertwiner_group("ReLU", 3)
        >>> A = group.sample(torch.Generator().manual_seed(0))
        >>> group.contains(A), group.contains(-A), group.dimension, group.components
        (True, False, 3, 6)
        >>> print(group)
        Σ_3 ⋉ (R_{>0})^3

    Attributes:
        n: the width.
        scalars: the a for which a·1 is in the group.
        activation: σ; None stands for the identity, and then φ(A) = A.
        within: larger classes; for each n the group of this class lies in the group of each of them.
        self_dual: whether the inverse transpose of each element is the element itself.
        permutes: whether permutation matrices are elements.

    Matrices (n, n) come in any real floating-point dtype and on any device. Decisions are made in float64 on
    the CPU. Results have the dtype and device of the argument.

    A group of your own defines the abstract members. The public verbs check their arguments, and then call
    the methods with an underscore.

    Raises:
        ValueError: a matrix of another shape or dtype, or with entries that are not finite.
    """

    # what a class of groups is, whatever its n
    within: ClassVar[tuple[type["MatrixGroup"], ...]] = ()
    self_dual: ClassVar[bool] = False
    permutes: ClassVar[bool] = True

    n: int
    scalars: ScalarGroup = TRIVIAL
    activation: Activation | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or self.n < 1:
            raise ValueError(
                f"Expected the width n of a group of n×n matrices, a whole number of at least 1, was given "
                f"{self.n!r}."
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
        """Whether W and AW determine A, if W has `width` columns in general position."""

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
        matrix = checked_matrix(A, self.n)
        # between ε, which products of a few elements exceed, and √ε, which hides a wrong entry
        return self._contains(matrix, torch.finfo(A.dtype).eps ** (2 / 3) if tol is None else tol)

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
        nearest = self._nearest(checked_matrix(M, self.n)).to(M)
        # the group is not closed in all matrices: the nearest limit of its elements may be singular
        if not self.contains(nearest):
            raise ValueError(
                "Expected M to have a nearest element of the group, but the nearest limit of elements is "
                "singular: leave out the rows and columns of M that match nothing."
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

        X and Y may not determine A. If they leave the sign of one direction open, the sign nearer to the
        identity matrix is taken. If they leave more open, A is the identity matrix; in a monomial group only
        the open scalars are 1. So are those that would come nearer to 0 without end, as of opposite rows if
        scalars are positive: no element is nearest then, and this is the nearest of those with 1 there.

        Args:
            X, Y: matrices of n rows and equally many columns.
            rounding: the relative error of their entries, by default the rounding unit of their dtype.
        """
        wanted, given = checked_rows(X, self.n), checked_rows(Y, self.n)
        # what is smaller than the rounding of the entries determines nothing
        return self._best(wanted, given, rounding_unit([X, Y]) if rounding is None else rounding).to(X)

    def normal(self, W: UnitRows, *, rounding: float | None = None) -> Float[Tensor, "n n"]:
        """The element A that moves W to its normal form AW, which is one for all matrices of W's orbit.

        Example:
            >>> from intertwine.groups import GReLU
            >>> W = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
            >>> moved = GReLU(2).project(torch.tensor([[0.0, 2.0], [3.0, 0.0]])) @ W
            >>> one, other = (GReLU(2).normal(x) @ x for x in (W, moved))
            >>> torch.allclose(one, other)
            True

        Where W determines no element, A is the identity matrix; in a monomial group only the open scalars
        are 1. `rounding` is as in `best`.
        """
        rows = checked_rows(W, self.n)
        return self._normal(rows, rounding_unit([W]) if rounding is None else rounding).to(W)

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
            raise ValueError(
                "Expected an element of the group, was given another matrix: use torch.linalg.inv."
            )
        # solved in float64 and rounded once, so that the inverse of a float32 element is an element as well
        return torch.linalg.inv(checked_matrix(A, self.n)).to(A)

    def phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """φ(A), the matrix with σ(Ax) = φ(A)σ(x) for all x; without activation, A itself.

        Example:
            >>> from intertwine.groups import intertwiner_group
            >>> intertwiner_group(torch.square, 2).phi(
            ...     torch.tensor([[0.0, 2.0], [3.0, 0.0]])
            ... )
            tensor([[0., 4.],
                    [9., 0.]])

        How φ(A) is found depends on σ:

        - Where `lemma_applies`, it is σ(A)σ(I_n)^{-1} (godfrey2022 Lemma 3.1). For a matrix outside the group
          that is the only candidate, and `intertwining_error` measures its failure.
        - Where σ(I_n) is singular, A = PD gets P·diag(b(d_i)) with σ(d_i x) = b(d_i)σ(x). Then A must be an
          element.
        - Linear and affine activations have φ(A) = A.
        - For a constant one φ is not unique, and this is the identity matrix.
        """
        return self._phi(checked_matrix(A, self.n)).to(A)

    def _phi(self, A: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """`phi` for a checked float64 matrix."""
        return A

    @cached_property
    def lemma_applies(self) -> bool:
        """Whether σ(I_n) is invertible up to rounding, which Lemma 3.1 of godfrey2022 assumes.

        Its eigenvalues are σ(1) + (n−1)σ(0) and, for n > 1, σ(1) − σ(0). An eigenvalue counts as zero below
        1e-6 of the largest |σ| on [-1, 1].
        """
        # σ(I_n) has σ(1) on its diagonal and σ(0) elsewhere, so two numbers of σ give all eigenvalues
        if self.activation is None:
            return True
        at_0, at_1 = self.activation(torch.tensor([0.0, 1.0])).tolist()
        eigenvalues = [at_1 + (self.n - 1) * at_0, at_1 - at_0][: self.n]
        return min(map(abs, eigenvalues)) > 1e-6 * Probe.of(self.activation).floor


def smaller(first: type[MatrixGroup], second: type[MatrixGroup]) -> type[MatrixGroup] | None:
    """The one of two classes of groups that lies in the other; None if neither does.

    Example:
        >>> from intertwine.groups import ComplexDiagonal, GeneralLinear, Orthogonal
        >>> smaller(GeneralLinear, Orthogonal).__name__
        'Orthogonal'
        >>> smaller(Orthogonal, ComplexDiagonal) is None
        True
    """
    if first is second or second in first.within:  # `within` names all larger classes, not the next ones only
        return first
    return second if first in second.within else None
