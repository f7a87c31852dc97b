"""The intertwiner group of an activation."""

from collections.abc import Callable

from torch import Tensor

from intertwine.groups.activations import Activation, as_activation
from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear
from intertwine.groups.monomial import Monomial
from intertwine.groups.scalar_group import scalar_group
from intertwine.groups.stabilizer_of_ones import StabilizerOfOnes


def intertwiner_group(activation: str | Callable[[Tensor], Tensor] | Activation, n: int) -> MatrixGroup:
    """The matrices A for which some B has $σ(Ax) = Bσ(x)$ for all x: G_σ (godfrey2022 §3.1, Table 1).

    Example:
        >>> import torch
        >>> # the absolute value
        >>> group = intertwiner_group(torch.nn.LeakyReLU(-1.0), 2)
        >>> A = torch.tensor([[0.0, -2.0], [3.0, 0.0]])
        >>> group.contains(A), group.phi(A)
        (True, tensor([[0., 2.],
                [3., 0.]]))

    For σ affine it is $GL(n)$ or ${A : A·1 = 1}$. For any other measurable σ and n ≥ 2, a row of A with two
    non-zero entries would give $σ(u + v) = p(u) + q(v)$, Pexider's equation, whose measurable solutions are
    affine. So the elements are PD, P a permutation, with the d_i in the scalar group of σ; n = 1 is that
    group.

    Args:
        activation: as `scalar_group` takes it.
        n: the width.

    Returns:
        The group, which contains, samples and projects matrices, and has the map φ with $σ(Ax) = φ(A)σ(x)$.

    See Also:
        `scalar_group` is the case of one unit, `find_symmetries` finds the groups of a whole network.

    Raises:
        ActivationError: σ is not elementwise, not deterministic or not finite.
    """
    sigma = as_activation(activation)
    scalars = scalar_group(sigma)
    group = {"linear": GeneralLinear, "constant": GeneralLinear, "affine": StabilizerOfOnes}
    return group.get(scalars.kind, Monomial)(n, scalars, sigma)
