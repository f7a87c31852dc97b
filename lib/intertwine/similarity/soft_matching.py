"""Soft matching: the distance between two populations of units, of any two widths."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import assignment
from intertwine.similarity.inputs import Spatial, centred, check_varies, pair, scaled


def soft_matching(X: Tensor, Y: Tensor, *, spatial: Spatial | None = None) -> Float[Tensor, ""]:
    """√(min over P of Σ P_ij‖x_i − y_j‖²): a distance in [0, 2], lower is more similar (Khosla & Williams).

    Example:
        >>> X = torch.randn(20, 3, dtype=torch.float64)
        >>> round(soft_matching(X, X.flip(1)).item(), 6)
        0.0
        >>> round(soft_matching(X, X.repeat(1, 2)).item(), 6)  # every unit split into two
        0.0

    x_i and y_j are the columns, centred and divided by their root mean square norm over units. P moves mass
    1/p from every unit of X and mass 1/q to every unit of Y; for p = q it is a permutation over p. A metric,
    up to permutations and repetitions of units (Khosla and Williams 2024); arguments as in `cca`.
    """
    X, Y = (scaled(centred(Z)) for Z in pair(X, Y, spatial))
    check_varies(X=X, Y=Y)
    X, Y = (Z / Z.norm() * Z.shape[1] ** 0.5 for Z in (X, Y))
    p, q = X.shape[1], Y.shape[1]
    if p == q:
        rows, columns = assignment(X.T @ Y, maximize=True)
        return ((X[:, rows] - Y[:, columns]).square().sum() / p).sqrt()
    plan = _transport(X, Y)
    rows, columns = plan.nonzero(as_tuple=True)
    return (plan[rows, columns] * (X[:, rows] - Y[:, columns]).square().sum(0)).sum().sqrt()


def _transport(X: Float[Tensor, "n p"], Y: Float[Tensor, "n q"]) -> Float[Tensor, "p q"]:
    """The plan of least cost: a vertex of the transport polytope, with at most p + q − 1 entries."""
    from scipy import sparse
    from scipy.optimize import linprog  # slow to import

    p, q = X.shape[1], Y.shape[1]
    cost = X.square().sum(0)[:, None] + Y.square().sum(0) - 2 * X.T @ Y
    sums = sparse.vstack(
        [sparse.kron(sparse.eye(p), [[1.0] * q]), sparse.kron([[1.0] * p], sparse.eye(q))], format="csr"
    )
    masses = [1 / p] * p + [1 / q] * q
    solution = linprog(cost.numpy(force=True).ravel(), A_eq=sums, b_eq=masses, method="highs-ds")
    if solution.x is None:
        raise RuntimeError(f"The transport plan was not found: {solution.message}")
    return torch.as_tensor(solution.x).to(X).view(p, q)
