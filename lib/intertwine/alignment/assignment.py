"""The best permutation with scalars from a group, by linear assignment: which unit of A is which of B."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.alignment.channel_statistics import Statistics
from intertwine.alignment.linear_map import LinearMap
from intertwine.checks import check_tensor
from intertwine.groups.scalar import POSITIVE, TRIVIAL, ScalarGroup


def assignment(
    cost: Float[Tensor, "p q"], *, maximize: bool = False
) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"]]:
    """Rows and columns, each used once, whose entries have the least sum: linear assignment.

    Example:
        >>> assignment(torch.tensor([[2.0, 1.0, 5.0], [1.0, 3.0, 5.0]]))
        (tensor([0, 1]), tensor([1, 0]))

    The smaller number k of both is matched. The solver is lapx where that is installed, by the extra `fast`,
    else scipy: the sum is the same, and where several matchings have it either may find another.

    Args:
        cost: real numbers; ∞, or −∞ to maximise, forbids a pair.
        maximize: whether to take the largest sum instead.

    Returns:
        The k rows in order, and the column of each, on the device of `cost`.

    Raises:
        ValueError: no matrix of real numbers, NaN, an infinite cost that no sum is better than, or so many
            forbidden pairs that no matching is left.
    """
    check_tensor(cost, "costs")
    if cost.ndim != 2 or cost.is_complex():
        raise ValueError(f"Expected costs (p, q), real, was given {tuple(cost.shape)} of {cost.dtype}.")
    costs = cost.detach().double().numpy(force=True)
    costs = -costs if maximize else costs
    least = costs.min(initial=0)  # NaN where one is
    if np.isnan(least) or least == -math.inf:
        forbidden = -math.inf if maximize else math.inf
        bad = int((np.isnan(costs) | (costs == -math.inf)).sum())
        raise ValueError(
            f"Expected finite costs, or {forbidden} where a pair is forbidden, was given NaN or {-forbidden} "
            f"in {bad} of {costs.size}: look for NaN in what they are computed from."
        )
    try:
        rows, columns = solver()(costs)
    except ValueError as error:  # no matching without a forbidden pair
        raise ValueError(
            f"Expected costs that allow a matching of {min(costs.shape)} pairs, was given "
            f"{-math.inf if maximize else math.inf} in {int((costs == math.inf).sum())} of {costs.size}: "
            f"forbid fewer."
        ) from error
    return torch.as_tensor(rows, device=cost.device), torch.as_tensor(columns, device=cost.device)


@cache
def solver() -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """lapx, where it is installed, which finds the same least sum in 0.05 to 0.8 of the time, or scipy."""
    try:
        from lap import lapjvr
    except ImportError:
        from scipy.optimize import linear_sum_assignment  # slow to import

        return linear_sum_assignment
    return lambda costs: lapjvr(costs, extend_cost=True, return_cost=False)


def unit_assignment(
    statistics: Statistics, scalars: ScalarGroup, *, affine: bool = False
) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"], Float[Tensor, " k"]]:
    """Columns of A, the columns of B that `monomial` matches them with, and the scalars, also if these are 0.

    Example:
        >>> from intertwine.groups import ScalarGroup
        >>> A = torch.rand(20, 3)
        >>> inputs, outputs, d = unit_assignment(
        ...     Statistics.of(A, A[:, [1, 2, 0]]), ScalarGroup("trivial")
        ... )
        >>> inputs, d
        (tensor([1, 2, 0]), tensor([1., 1., 1.], dtype=torch.float64))

    Args:
        statistics, scalars, affine: as `monomial` takes them.

    Returns:
        k = min(p, q) columns of A, those of B in order, and a scalar for each pair.
    """
    power, AB = (product.cpu() for product in statistics.crossed(centred=affine)[:2])
    power = power[:, None]
    # ‖d·a − b‖² is quadratic in d: the best d in the group is the one nearest to the best of all
    one = scalars == TRIVIAL  # which is known without a look at all pairs
    d = torch.ones_like(power) if one else scalars.nearest(AB / torch.where(power > 0, power, 1))
    # power·d² − 2d·AB; ‖b‖² is left out: it counts once in every matching, with a partner or without
    cost = power.sub(AB, alpha=2) if one else (power * d).sub_(AB, alpha=2).mul_(d)
    inputs, outputs = assignment(cost)
    order = outputs.argsort()
    inputs, outputs = inputs[order], outputs[order]
    return inputs, outputs, d.expand_as(AB)[inputs, outputs]


def monomial(statistics: Statistics, scalars: ScalarGroup, *, affine: bool = False) -> LinearMap:
    """The M of least ‖AM − B‖_F with one entry from `scalars` in every row and column, and 0 elsewhere.

    Example:
        >>> from intertwine.groups import ScalarGroup
        >>> A = torch.randn(20, 2)
        >>> monomial(Statistics.of(A, -A), ScalarGroup("signs")).weight
        tensor([[-1.,  0.],
                [ 0., -1.]], dtype=torch.float64)

    Widths p ≠ q match the smaller number of channels. Where elements of the group come nearer without end to
    the scalar 0, it is 0: so in G_ReLU for a unit that never fires, or one matched with a negative product.

    Args:
        statistics: of A (n×p) and B (n×q); within=False is enough.
        scalars: as `intertwine.groups.scalar_group` decides them for an activation.
        affine: whether a bias is fitted as well, by taking means off first.
    """
    inputs, outputs, d = unit_assignment(statistics, scalars, affine=affine)
    weight = torch.zeros(statistics.widths[::-1], dtype=d.dtype)
    weight[outputs, inputs] = d
    return LinearMap.of(weight.T, statistics, affine)


def permutation(statistics: Statistics, *, affine: bool = False) -> LinearMap:
    """The permutation M of least ‖AM − B‖_F, which also has the largest tr(MᵀAᵀB).

    Example:
        >>> A = torch.randn(20, 2)
        >>> permutation(Statistics.of(A, A.flip(1))).weight
        tensor([[0., 1.],
                [1., 0.]], dtype=torch.float64)

    Args:
        statistics: of A (n×p) and B (n×q); within=False is enough.
        affine: whether a bias is fitted as well, by taking means off first.
    """
    return monomial(statistics, TRIVIAL, affine=affine)


def g_relu(statistics: Statistics, *, affine: bool = False) -> LinearMap:
    """The M = PD in G_ReLU, P a permutation and D positive and diagonal, of least $‖AM − B‖_F$.

    Example:
        >>> A = torch.rand(20, 2)
        >>> g_relu(Statistics.of(A, 3 * A.flip(1))).weight
        tensor([[0.0000, 3.0000],
                [3.0000, 0.0000]], dtype=torch.float64)

    A known element is recovered exactly. Units that match badly get small scales, as in every regression.

    Args:
        statistics: of A (n×p) and B (n×q); within=False is enough.
        affine: whether a bias is fitted as well, by taking means off first.
    """
    return monomial(statistics, POSITIVE, affine=affine)
