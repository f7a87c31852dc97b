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
    """G_σ = {A ∈ GL(n) : there is B ∈ GL(n) with σ(Ax) = Bσ(x) for all x} (godfrey2022 §3.1, Table 1).

    Example:
        >>> import torch
        >>> group = intertwiner_group(torch.nn.LeakyReLU(-1.0), 2)  # the absolute value
        >>> A = torch.tensor([[0.0, -2.0], [3.0, 0.0]])
        >>> group.contains(A), group.phi(A)
        (True, tensor([[0., 2.],
                [3., 0.]]))

    For σ affine it is GL(n) or {A : A·1 = 1}. For any other measurable σ and n ≥ 2, a row of A with two
    non-zero entries would give σ(u + v) = p(u) + q(v), Pexider's equation, whose measurable solutions are
    affine: so the elements are PD, P a permutation, with the d_i in the scalar group of σ; and n = 1 is that
    group.

    Args:
        activation: as `scalar_group` takes it.
        n: the width.

    Raises:
        ActivationError: σ is not elementwise, not deterministic or not finite.
    """
    sigma = as_activation(activation)
    scalars = scalar_group(sigma)
    group = {"linear": GeneralLinear, "constant": GeneralLinear, "affine": StabilizerOfOnes}
    return group.get(scalars.kind, Monomial)(n, scalars, sigma)
