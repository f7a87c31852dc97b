"""Soft matching: the distance between two populations of units, of any two widths."""

import math
from importlib.util import find_spec

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from intertwine.alignment import assignment
from intertwine.checks import check_choice
from intertwine.similarity.inputs import Spatial, centred, check_varies, pair, scaled

POT = find_spec("ot") is not None
FEW = 128  # parts, with which the assignment is solved sooner than anything else begins
COST_ROUNDING = 1e-10  # of a cost, which is 4 at most
Plan = tuple[Int[Tensor, " k"], Int[Tensor, " k"], Float[Tensor, " k"]]
EXACT = {
    "presolve": False,
    "primal_feasibility_tolerance": COST_ROUNDING,
    "dual_feasibility_tolerance": COST_ROUNDING,
}


def soft_matching(
    X: Tensor, Y: Tensor, *, spatial: Spatial | None = None, dtype: torch.dtype = torch.float64
) -> Float[Tensor, ""]:
    """Soft matching of units: a distance in [0, 2], lower is more similar (Khosla & Williams).

    Example:
        >>> X = torch.randn(20, 3, dtype=torch.float64)
        >>> round(soft_matching(X, X.flip(1)).item(), 6)
        0.0
        >>> # every unit split into two
        >>> round(soft_matching(X, X.repeat(1, 2)).item(), 6)
        0.0

    It is the root of the least $Σ_ij P_ij ‖x_i − y_j‖²$ over plans P. The columns x_i and y_j are centred and
    divided by their root mean square norm over units. P moves mass 1/p from every unit of X and mass 1/q to
    every unit of Y; for p = q it is a permutation over p. A metric, up to permutations and repetitions of
    units (Khosla and Williams 2024).

    Widths of which one divides the other are an assignment problem. Others are solved by the network simplex
    of POT where that is installed, and by scipy's linear program where it is not: the same to rounding, in
    2 to 5 times POT's seconds for 100 to 500 units.

    Args:
        X, Y, spatial: as in `cca`.
        dtype: float64, or float32, in which costs and distances are computed as POT does for such features:
            faster, with some 6 digits.

    Raises:
        ValueError: bad features, constant ones, or another dtype.
    """
    check_choice("dtype", dtype, (torch.float64, torch.float32))
    X, Y = (centred(scaled(Z)) for Z in pair(X, Y, spatial, dtype=dtype))
    check_varies(X=X, Y=Y)
    X, Y = ((Z * (Z.shape[1] ** 0.5 / Z.norm())).to(dtype) for Z in (X, Y))
    cost = X.square().sum(0)[:, None] + Y.square().sum(0) - 2 * X.T @ Y
    rows, columns, masses = _transport(cost)
    moves = X.T.contiguous()[rows] - Y.T.contiguous()[columns]  # units are read fastest one after the other
    return (masses @ moves.square().sum(1)).sqrt().double()


def _transport(cost: Float[Tensor, "p q"]) -> Plan:
    """The plan of least cost: rows, columns, and the masses that are moved between them."""
    widths = cost.shape
    parts = math.lcm(*widths)
    if parts <= max(FEW, (2 - POT) * max(widths)):  # units cut into equal parts
        p, q = (parts // width for width in widths)
        rows, columns = assignment(cost.repeat_interleave(p, 0).repeat_interleave(q, 1))
        return rows // p, columns // q, cost.new_full((parts,), 1 / parts)
    solve = _network_simplex if POT else _linear_program
    plan = torch.as_tensor(solve(cost.numpy(force=True))).to(cost)
    rows, columns = plan.nonzero(as_tuple=True)
    return rows, columns, plan[rows, columns]


def _network_simplex(cost: np.ndarray) -> np.ndarray:
    from ot import emd  # slow to import

    return emd([], [], cost, numItermax=10**9)


def _linear_program(cost: np.ndarray) -> np.ndarray:
    """By HiGHS, for the cheapest pairs of units, to which those are added that would lower the cost."""
    from scipy.optimize import linprog  # slow to import
    from scipy.sparse import csc_array

    p, q = cost.shape
    masses = np.repeat([1 / p, 1 / q], [p, q])
    kept = np.zeros((p, q), dtype=bool)
    # a plan that is possible: both masses are laid along [0, pq), cut at multiples of q and of p
    starts = np.union1d(np.arange(p) * q, np.arange(q) * p)
    kept[starts // q, starts // p] = True
    # means for prices, which are not known yet
    new = _cheapest(cost - cost.mean(1, keepdims=True) - cost.mean(0))
    while new.any():
        kept |= new
        rows, columns = kept.nonzero()
        ends = np.stack([rows, p + columns], 1)
        sums = csc_array((np.ones(ends.size), ends.ravel(), 2 * np.arange(len(ends) + 1)))
        found = linprog(cost[kept], A_eq=sums, b_eq=masses, method="highs-ds", options=EXACT)
        if found.x is None:
            raise RuntimeError(f"The transport plan was not found: {found.message}")
        prices = found.eqlin.marginals
        # a pair that is cheaper than its prices would improve the plan; where none is, the plan is optimal
        reduced = cost - prices[:p, None] - prices[p:]
        new = _cheapest(reduced) & (reduced < -COST_ROUNDING) & ~kept
    plan = np.zeros((p, q))
    plan[kept] = found.x
    return plan


def _cheapest(cost: np.ndarray) -> np.ndarray:
    """Whether an entry is among the four least of its row or of its column."""
    return (cost <= np.sort(cost, 0)[:4][-1]) | (cost <= np.sort(cost, 1)[:, :4][:, -1:])
