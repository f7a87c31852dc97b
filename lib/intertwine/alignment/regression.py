"""Direct matching: the best map of all, of a rank, with an L1 penalty, or orthogonal (csiszarik2021 §4.2).

All take A (n×p) and B (n×q) by their statistics. With `affine` a bias is fitted too, without penalty, which
is the same as to fit M to centred features.

Both enter by the triangular factor of [A, B], so that nothing is squared: a solution is as good as that of
`torch.linalg.lstsq`, with a relative error of about 10⁻¹⁶κ for an exact one, κ the condition number of A.

Where A's columns are linearly dependent many M give the same AM; that of least norm is returned, A⁺B. The
dependence is decided in channels of unit deviation (of unit root mean square without bias), so that no unit
of measurement matters: directions with less than 10⁻¹³ of the deviation of the largest count as rounding, and
so do directions along which the rounding of the features' own dtype may be all that varies, and those up to
ten times that where all others vary a thousand times more. Without such a cliff the data cannot decide, R²
does not show it, and a UserWarning says so. One real direction behind a cliff cannot be told from rounding.
"""

import warnings
from numbers import Integral

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment.channel_statistics import Statistics
from intertwine.alignment.linear_map import LinearMap
from intertwine.checks import warn

CUTOFF = 1e-13  # of the largest singular value of channels of unit deviation: less is rounding
DECIDED = 10  # times the rounding: M is known to a tenth or better along a direction that varies so much
CLIFF = 1000  # times less than every other direction, or ε^-½ where that is less: an exact dependence


def least_squares(statistics: Statistics, *, affine: bool = False) -> LinearMap:
    """The M of least $‖AM − B‖_F$, and of those the one of least norm: $A⁺B$.

    Example:
        >>> A, M = torch.randn(20, 3), torch.randn(3, 2)
        >>> torch.allclose(
        ...     least_squares(Statistics.of(A, A @ M)).weight.T.float(), M, atol=1e-4
        ... )
        True

    Args:
        statistics: of A (n×p) and B (n×q).
        affine: whether a bias is fitted as well.

    Warns:
        UserWarning: directions of A that vary by little more than the rounding of its entries, along which
            M is hardly known.
    """
    whiten, B = _whitened(statistics, affine)
    return LinearMap.of(whiten @ B, statistics, affine)


def reduced_rank(statistics: Statistics, rank: int, *, affine: bool = False) -> LinearMap:
    """The M of rank at most k and least $‖AM − B‖_F$: $M_LS V_k V_kᵀ$, where $A·M_LS = USVᵀ$ (Izenman 1975).

    Example:
        >>> A, B = torch.randn(20, 4), torch.randn(20, 3)
        >>> torch.linalg.matrix_rank(reduced_rank(Statistics.of(A, B), 2).weight)
        tensor(2)

    Args:
        statistics: of A (n×p) and B (n×q).
        rank: k, from 1 to the smaller width, where it is least squares.
        affine: whether a bias is fitted as well.
    """
    check_rank(rank, statistics.widths)
    whiten, B = _whitened(statistics, affine)
    # in an orthonormal basis of A's columns the best map of a rank is the best approximation of B
    U, S, Vh = torch.linalg.svd(B, full_matrices=False)
    return LinearMap.of(whiten @ (U[:, :rank] * S[:rank]) @ Vh[:rank], statistics, affine)


def variance_restored(statistics: Statistics, t: float = 1.0) -> LinearMap:
    """Least squares whose outputs are stretched, channel by channel, until they vary as much as B does.

    Example:
        >>> A, noise = torch.randn(2, 500, 3)
        >>> fitted = variance_restored(Statistics.of(A, A + 2 * noise))
        >>> torch.allclose(fitted(A).var(0), (A + 2 * noise).var(0), rtol=1e-3)
        True

    Channels that least squares maps to a constant stay as they are. A bias is always fitted.

    Args:
        statistics: of A (n×p) and B (n×q).
        t: the power to which the stretch is taken: 0 is least squares, 1 restores all of the variance.
    """
    weight = least_squares(statistics, affine=True).weight
    AA, _, BB = statistics.products(centred=True)
    explained = (weight @ AA * weight).sum(1)
    # a share of 1e-26 is the square of what rounding leaves in float64 of no correlation at all
    stretch = torch.where(explained > 1e-26 * BB.diagonal(), BB.diagonal() / explained, 1) ** (t / 2)
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

    scipy's orthogonal_procrustes finds UVᵀ alone. Means, the residual and, for features in float32, float64
    are arithmetic on top of that.

    Args:
        statistics: of A (n×p) and B (n×q), p ≤ q; within=False is enough.
        affine: whether a bias is fitted as well.

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

    Args:
        statistics: of A (n×p) and B (n×q).
        alpha: α > 0, to be compared with AᵀB, which grows with n; from max|AᵀB| on, M is 0.
        affine: whether a bias is fitted as well.

    Raises:
        RuntimeError: a million sweeps did not suffice, as may happen for small α and dependent features.
    """
    if not 0 < alpha < float("inf"):
        raise ValueError(f"Expected a positive alpha, was given {alpha}: alpha = 0 is least_squares.")
    A, B = statistics.roots(centred=affine)
    M = B.new_zeros(statistics.widths)
    active = (A.T @ B).abs().amax(0) > alpha  # the other columns of M are 0
    if active.any():
        # A and B themselves are these times a matrix with orthonormal columns, which changes no norm; as A is
        # triangular, its rows past the p-th are 0
        p = statistics.p
        M[:, active] = _lasso(A[:p], B[:p, active], alpha)
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


def _whitened(statistics: Statistics, affine: bool) -> tuple[Float[Tensor, "p k"], Float[Tensor, "k q"]]:
    """W for which A·W is an orthonormal basis of A's columns, and (A·W)ᵀB: so W(A·W)ᵀB is least squares.

    W's columns are orthogonal to the null space of A, which is decided as the module says.
    """
    A, B = (each[: statistics.p] for each in statistics.roots(centred=affine))  # A is triangular
    deviation = A.square().sum(0).sqrt()
    # columns of one length: no unit of a channel decides what is rounding
    scale = torch.where(deviation > 0, deviation, 1)
    A, noise = A / scale, statistics.noise(centred=affine)
    if A.shape[0] == A.shape[1] and deviation.all():
        inverse = torch.linalg.solve_triangular(A, torch.eye(len(A)).to(A), upper=True)
        # 1/‖A⁻¹‖_F is at most the least singular value: mostly all are far from rounding, and none is needed
        least = 1 / inverse.norm() ** 2
        if least > DECIDED**2 * noise.max().clamp(min=len(A) * CUTOFF**2):
            return inverse / scale[:, None], B
    U, values, Vh = torch.linalg.svd(A)
    values, V = F.pad(values, (0, len(Vh) - len(values))), Vh.T
    entries = (noise @ V.square()).sqrt()  # what their rounding alone makes of a direction
    limit = entries.clamp(min=CUTOFF * values[0])
    kept, rounded = values > limit, values < DECIDED * entries
    doubtful = kept & (values < DECIDED * limit)
    if rounded.any():
        # an exact dependence, as of channels behind a layer norm, which rounds more than once, is a cliff: no
        # harm. Where values fall step by step, none of them tells whether it is the last one that is real
        cliff = min(CLIFF, statistics.rounding**-0.5)
        if (values[kept & ~rounded] > cliff * values[rounded].amax()).all():
            kept, doubtful = kept & ~rounded, doubtful & ~rounded
        else:
            doubtful |= rounded
    if k := int(doubtful.sum()):
        warn(
            f"Expected features that vary by more than their rounding, was given {k} of {len(V)} directions "
            f"that hardly do: along these the map is not known, whatever its R²; leave out channels that "
            f"others determine, or compute the features in float64."
        )
    whiten = V[:, kept] / scale[:, None] / values[kept]
    # scaled back, these are no longer orthogonal to the null space, as the least M must be
    null = torch.linalg.qr(V[:, ~kept] / scale[:, None]).Q
    return whiten - null @ (null.T @ whiten), U[:, kept[: len(U)]].T @ B
