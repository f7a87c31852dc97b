"""The intertwiner group of an activation, and how far σ(Ax) = φ(A)σ(x) fails for a matrix."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.groups.activations import Activation, as_activation
from intertwine.groups.base import MatrixGroup
from intertwine.groups.general_linear import GeneralLinear, StabilizerOfOnes
from intertwine.groups.matrices import gaussian
from intertwine.groups.monomial import Monomial
from intertwine.groups.scalar_group import scalar_group


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

    For linear and constant σ it is $GL(n)$, for other affine σ it is ${A : A·1 = 1}$. For all other σ the
    elements are PD, P a permutation and D diagonal with entries in the scalar group of σ. The reason: a row
    of A with two non-zero entries would give $σ(u + v) = p(u) + q(v)$. That is Pexider's equation, whose
    measurable solutions are affine.

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
    # the proof above as code: three kinds of affine σ, and monomial matrices for all others
    group = {"linear": GeneralLinear, "constant": GeneralLinear, "affine": StabilizerOfOnes}
    return group.get(scalars.kind, Monomial)(n, scalars, sigma)


def intertwining_error(group: MatrixGroup, A: Float[Tensor, "n n"], generator: torch.Generator) -> float:
    """How far σ(Ax) = φ(A)σ(x) fails, at most, for random x: relative to the larger side, in |·|∞.

    Example:
        >>> from intertwine.groups import intertwiner_group
        >>> generator = torch.Generator().manual_seed(0)
        >>> group = intertwiner_group("tanh", 8)
        >>> intertwining_error(group, group.sample(generator), generator) < 1e-12
        True

    Args:
        group: it has the activation σ and the map φ.
        A: an element, or a matrix outside the group, whose error is large.
        generator: it draws 256 Gaussian x, whose standard deviations are between 0.1 and 100. Those where σ
            overflows are left out; NaN if all are.
    """
    A, image = (each.to("cpu", torch.float64) for each in (A, group.phi(A)))
    # of several sizes, for σ may look linear on one of them
    x = gaussian(generator, 256, group.n).cpu() * torch.logspace(-1, 2, 256)[:, None]
    sigma = group.activation or torch.clone
    left, right = sigma(x @ A.T), sigma(x) @ image.T
    size = torch.maximum(left.abs().amax(1), right.abs().amax(1))
    error = torch.where(size == 0, 0, (left - right).abs().amax(1) / size)[size.isfinite()]
    return error.max().item() if len(error) else math.nan
