"""Direct matching: the best map of all, of a rank, with an L1 penalty, or orthogonal (csiszarik2021 §4.2).

All take A (n×p) and B (n×q) by their statistics. With `affine` a bias is fitted too, without penalty, which
is the same as to fit M to centred features.

Where A's columns are linearly dependent many M give the same AM; that of least norm is returned, A⁺B. The
dependence is decided in channels of unit deviation (of unit root mean square without bias), so that no unit
of measurement matters: directions with less than 10⁻¹² of the variance of the largest count as
rounding, as the float64 statistics cannot resolve smaller ones, and so do directions along which the rounding
of the features' own dtype may be all that varies. With κ the condition number of those channels, M has a
relative error of about 10⁻¹⁵κ².
"""

import warnings
from numbers import Integral

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment.channel_statistics import Statistics
from intertwine.alignment.linear_map import LinearMap

CUTOFF = 1e-12  # of the largest eigenvalue of the correlations: less is rounding


def least_squares(statistics: Statistics, *, affine: bool = False) -> LinearMap:
    """The M of least $‖AM − B‖_F$, and of those the one of least norm: $A⁺B$.

    Example:
        >>> A, M = torch.randn(20, 3), torch.randn(3, 2)
        >>> torch.allclose(
        ...     least_squares(Statistics.of(A, A @ M)).weight.T.float(), M, atol=1e-4
        ... )
        True
    """
    AA, AB, _ = statistics.products(centred=affine)
    root = _inverse_root(AA, statistics.noise(centred=affine))
    return LinearMap.of(root @ (root.T @ AB), statistics, affine)


def reduced_rank(statistics: Statistics, rank: int, *, affine: bool = False) -> LinearMap:
    """The M of rank at most k and least $‖AM − B‖_F$: $M_LS V_k V_kᵀ$, where $A·M_LS = USVᵀ$ (Izenman 1975).

    Example:
        >>> A, B = torch.randn(20, 4), torch.randn(20, 3)
        >>> torch.linalg.matrix_rank(reduced_rank(Statistics.of(A, B), 2).weight)
        tensor(2)

    The rank is k, from 1 to the smaller width, where it is least squares.
    """
    check_rank(rank, statistics.widths)
    AA, AB, _ = statistics.products(centred=affine)
    root = _inverse_root(AA, statistics.noise(centred=affine))
    U, S, Vh = torch.linalg.svd(root.T @ AB, full_matrices=False)  # of B in the orthonormal basis A·root
    return LinearMap.of(root @ (U[:, :rank] * S[:rank]) @ Vh[:rank], statistics, affine)


def variance_restored(statistics: Statistics, t: float = 1.0) -> LinearMap:
    """Least squares whose outputs are stretched, channel by channel, until they vary as much as B does.

    Example:
        >>> A, noise = torch.randn(2, 500, 3)
        >>> fitted = variance_restored(Statistics.of(A, A + 2 * noise))
        >>> torch.allclose(fitted(A).var(0), (A + 2 * noise).var(0), rtol=1e-3)
        True

    The stretch is taken to the power t, so that t = 0 is least squares. Channels that least squares maps to
    a constant stay as they are.
    """
    weight = least_squares(statistics, affine=True).weight
    AA, _, BB = statistics.products(centred=True)
    explained = (weight @ AA * weight).sum(1)
    stretch = torch.where(explained > 0, BB.diagonal() / explained, 1) ** (t / 2)
    return LinearMap.of((stretch[:, None] * weight).T, statistics, affine=True)


def check_rank(rank: object, shape: tuple[int, ...]) -> None:
    """Raise ValueError, in one sentence, unless a matrix of that shape can have that rank."""
    whole = isinstance(rank, Integral) or (isinstance(rank, Tensor) and rank.dtype == torch.int64)
    if not (whole and 1 <= rank <= min(shape)):  # type: ignore[operator]
        raise ValueError(f"Expected a whole rank from 1 to {min(shape)}, was given {rank!r}.")


def orthogonal(statistics: Statistics, *, affine: bool = False) -> LinearMap:
    """The M with $MMᵀ = 1$ and least $‖AM − B‖_F$: $UVᵀ$, where $AᵀB = USVᵀ$; not unique if that is singular.

    Example:
        >>> A = torch.randn(20, 3)
        >>> orthogonal(Statistics.of(A, -2 * A)).weight.round()
        tensor([[-1., ...0., ...0.],
                [...0., -1., ...0.],
                [...0., ...0., -1.]], dtype=torch.float64)

    scipy's orthogonal_procrustes finds UVᵀ in 0.5 to 0.8 of the time; the rest is the residual, the check for
    finite features, and the float64 that features in float32 need.

    Raises:
        ValueError: p > q, where no such M exists.
    """
    p, q = statistics.widths
    if p > q:
        raise ValueError(
            f"Expected no more than the {q} channels of B in A, was given {p}, which have no isometry "
            f"into fewer: fit B to A, or use reduced_rank."
        )
    U, _, Vh = torch.linalg.svd(statistics.crossed(centred=affine)[1], full_matrices=False)
    return LinearMap.of(U @ Vh, statistics, affine)


def lasso(statistics: Statistics, alpha: float, *, affine: bool = False) -> LinearMap:
    """The M of least $½‖AM − B‖²_F + α‖M‖_1$, with $‖M‖_1$ the sum of all $|m_ij|$.

    Example:
        >>> A = torch.eye(3)
        >>> torch.allclose(
        ...     lasso(Statistics.of(A, 3 * A), alpha=1.0).weight, 2 * A.double()
        ... )
        True

    csiszarik2021 eq. (3) prints the norm without its square, whose minimiser for A = B = 1 jumps from 1 to 0
    at α = 1. The solver is scikit-learn's coordinate descent; its own α is this one divided by n. It stops at
    a duality gap of 10⁻¹²‖b‖² for every column b of B.

    α is positive; from max|AᵀB| on, M is 0.

    Raises:
        RuntimeError: a million sweeps did not suffice, as may happen for small α and dependent features.
    """
    if not 0 < alpha < float("inf"):
        raise ValueError(f"Expected a positive alpha, was given {alpha}: alpha = 0 is least_squares.")
    AA, AB, _ = statistics.products(centred=affine)
    M = torch.zeros_like(AB)
    active = AB.abs().amax(0) > alpha  # the other columns of M are 0
    if active.any():
        root = _inverse_root(AA, statistics.noise(centred=affine))
        # in the basis A·root, A and B have at most p rows, and ‖AM − B‖² is the same but for a constant
        M[:, active] = _lasso(root.T @ AA, root.T @ AB[:, active], alpha)
    return LinearMap.of(M, statistics, affine)


def _lasso(A: Float[Tensor, "r p"], B: Float[Tensor, "r q"], alpha: float) -> Float[Tensor, "p q"]:
    from sklearn.exceptions import ConvergenceWarning  # slow to import
    from sklearn.linear_model import Lasso

    solver = Lasso(alpha / len(A), fit_intercept=False, precompute=True, tol=1e-12, max_iter=1_000_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            solver.fit(A.numpy(force=True), B.numpy(force=True))
        except ConvergenceWarning:
            raise RuntimeError(f"Lasso did not converge at alpha={alpha}: choose a larger one.") from None
    return torch.as_tensor(solver.coef_).to(A).view(B.shape[1], A.shape[1]).T


def _inverse_root(S: Float[Tensor, "p p"], noise: Float[Tensor, " p"]) -> Float[Tensor, "p r"]:
    """R with RᵀSR = 1, whose columns are orthogonal to the null space of S, decided as above."""
    deviation = S.diagonal().sqrt()
    # of correlations, not covariances: no unit of a channel decides what is rounding
    scale = torch.where(deviation > 0, deviation, 1)
    values, vectors = torch.linalg.eigh(S / scale / scale[:, None])
    kept = values > (noise @ vectors.square()).clamp(min=CUTOFF * values[-1])
    root = vectors[:, kept] / scale[:, None] / values[kept].sqrt()
    # scaled back, the eigenvectors are no longer orthogonal to the null space, as the least M must be
    null = torch.linalg.qr(vectors[:, ~kept] / scale[:, None]).Q
    return root - null @ (null.T @ root)
