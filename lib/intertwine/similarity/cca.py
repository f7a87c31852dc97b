"""Canonical correlations (CCA, and SVCCA and PWCCA, which choose or weight them), and R² of linear maps."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import warn
from intertwine.similarity import inputs
from intertwine.similarity.inputs import Spatial, arranged, check_varies, narrowed, pair, scaled

Rounding = tuple[float, float]
"""ε of the first and of the second features, in the type in which they were computed."""

MORE = "use more samples, or fewer directions: svcca with a smaller variance=, or spatial='mean' for maps"


def cca(
    X: Tensor, Y: Tensor, *, spatial: Spatial | None = None, rounding: Rounding | None = None
) -> Float[Tensor, ""]:
    """The mean canonical correlation: a similarity in [0, 1], higher is more similar.

    Example:
        >>> X, A = (
        ...     torch.randn(50, 3, dtype=torch.float64),
        ...     torch.tensor([[1.0, 2, 0], [0, 1, 0], [5, 0, 1]]),
        ... )
        >>> round(cca(X, X @ A.double()).item(), 6)
        1.0

    The mean is over the smaller of the two ranks. Centred columns lie in n − 1 dimensions, where spaces of r
    and s dimensions, the ranks, share r + s − (n − 1) or more: as many correlations are 1, whatever the
    features, and all of them where a rank is n − 1. So n ≤ r + s warns, and unrelated features come near 1
    for larger n, too: use many times more samples than features, and a null.

    Args:
        X: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w); of an `nn.Conv1d` give X.mT.
        Y: of the same inputs; widths may differ.
        spatial: "samples", "features" or "mean", as in `cka`.
        rounding: ε of the types in which X and Y were computed, where they were converted since, as
            `(2**-23, 2**-23)` for float32: directions as small as rounding count in no rank.

    Returns:
        A float64 scalar on the device of X.

    Raises:
        ValueError: bad features, ones that are constant up to rounding, or a rounding of one side alone.

    Warns:
        UserWarning: n ≤ r + s, so that correlations are 1 whatever the features.
    """
    return svcca(X, Y, variance=1.0, spatial=spatial, rounding=rounding)


def svcca(
    X: Tensor,
    Y: Tensor,
    *,
    variance: float = 0.99,
    spatial: Spatial | None = None,
    rounding: Rounding | None = None,
) -> Float[Tensor, ""]:
    """CCA between the leading principal components (Raghu et al. 2017): in [0, 1], higher is more similar.

    Example:
        >>> X = torch.randn(50, 3)
        >>> round(svcca(X, 2 * X).item(), 6)
        1.0

    As `cca`, of as many components as explain a share of the variance; their number jumps with that share.
    The ranks r and s are then the numbers of components that are kept.

    Args:
        X, Y, spatial, rounding: as in `cca`.
        variance: the share of each set's variance, in (0, 1], that the components explain.

    Raises:
        ValueError: as of `cca`, or a share outside of (0, 1].
    """
    if not 0 < variance <= 1:
        raise ValueError(f"Expected a share of the variance in (0, 1], was given {variance}.")
    basis, other = _bases(X, Y, spatial, rounding, variance)
    _warn_of_forced(basis, other)
    # cosines of the angles between the spaces (Björck and Golub 1973); rounding can exceed 1
    return torch.linalg.svdvals(basis.T @ other).clamp(max=1).mean()


def pwcca(
    X: Tensor, Y: Tensor, *, spatial: Spatial | None = None, rounding: Rounding | None = None
) -> Float[Tensor, ""]:
    """Canonical correlations, each weighted by how much of X it accounts for (Morcos et al. 2018).

    Example:
        >>> X = torch.randn(50, 3)
        >>> round(pwcca(X, 2 * X).item(), 6)
        1.0

    As `cca`, with its condition on n, a similarity in [0, 1], higher is more similar, but not symmetric: the
    weight of correlation i is the sum of the sizes of h·x over the columns x of X, with h its canonical
    variate on the side of X. Where correlations coincide, as those of units that both sets share, variates
    are any basis of their space, and the value depends on which: in the third digit, say.

    Args:
        X, Y, spatial, rounding: as in `cca`. The columns of X weight the correlations.
    """
    basis, other = _bases(X, Y, spatial, rounding)
    _warn_of_forced(basis, other)
    U, correlations, _ = torch.linalg.svd(basis.T @ other, full_matrices=False)
    # the columns of basis @ U are the canonical variates on the side of X
    weights = ((basis @ U).T @ scaled(inputs.centred(arranged(X, spatial)))).abs().sum(1)
    return (weights * correlations.clamp(max=1)).sum() / weights.sum()


def r2(
    X: Tensor,
    Y: Tensor,
    *,
    centred: bool = True,
    spatial: Spatial | None = None,
    rounding: Rounding | None = None,
) -> Float[Tensor, ""]:
    """R²_LR(X, Y) = 1 − min over M of ‖XM − Y‖²/‖Y‖² (csiszarik2021 Definition 6.1): higher is more similar.

    Example:
        >>> X = torch.randn(50, 3)
        >>> round(r2(X, X[:, :2]).item(), 6), r2(X[:, :2], X).item() < 0.9
        (1.0, True)

    In [0, 1]: the share of Y that a linear map finds in X. Not symmetric, and the same for X and XA with A
    invertible, so that R²_LR(XA, Y) does not depend on a stitch A; R²_LR(Y, XA) does.

    Where X has rank n − 1, or n if not centred, it is 1 whatever Y is, which warns; unrelated features reach
    about rank/n: use many times more samples than X has features.

    Args:
        X, Y, spatial, rounding: as in `cca`.
        centred: whether columns are centred first, which is to fit a bias; the print does not.
    """
    basis, _ = _bases(X, Y, spatial, rounding, centre=centred)
    n, rank = basis.shape
    if rank >= n - centred:
        warn(
            f"Expected more than {rank + centred} samples of first features with {rank} directions, was "
            f"given {n}: R² is 1 whatever the second are; {MORE}."
        )
    # what the projection onto X leaves of Y, so that no M is solved for where columns depend on each other
    Y = _prepared(pair(X, Y, spatial)[1], centred)
    return 1 - (Y - basis @ (basis.T @ Y)).square().sum() / Y.square().sum()


def forced(
    X: Float[Tensor, "m p"], Y: Float[Tensor, "m q"], n: int, rounding: Rounding, *, variance: float = 1.0
) -> bool:
    """Whether n samples with the second moments of these rows have canonical correlations that must be 1."""
    # widths bound ranks: for most layers no singular values are needed
    return X.shape[1] + Y.shape[1] >= n and _forced(n, *_bases(X, Y, None, rounding, variance)) > 0


def r2_forced(X: Float[Tensor, "m p"], Y: Float[Tensor, "m q"], n: int, rounding: Rounding) -> bool:
    """Whether `r2` of n samples with the second moments of these rows must be 1."""
    return X.shape[1] >= n - 1 and _bases(X, Y, None, rounding)[0].shape[1] >= n - 1


def _forced(n: int, basis: Float[Tensor, "m r"], other: Float[Tensor, "m s"]) -> int:
    r, s = basis.shape[1], other.shape[1]
    return max(0, min(r, s, r + s - (n - 1)))


def _warn_of_forced(basis: Float[Tensor, "n r"], other: Float[Tensor, "n s"]) -> None:
    n, (r, s) = len(basis), (basis.shape[1], other.shape[1])
    if k := _forced(n, basis, other):
        warn(
            f"Expected more than {r + s} samples of features with {r} and {s} directions, was given {n}: {k} "
            f"of {min(r, s)} canonical correlations are 1 whatever the features; {MORE}."
        )


def _prepared(X: Float[Tensor, "n c"], centre: bool) -> Float[Tensor, "n c"]:
    """Centred or not, and scaled by a power of 2; ValueError for constant features."""
    X = scaled(inputs.centred(X) if centre else X)
    check_varies(given=X)
    return X


def _bases(
    X: Tensor,
    Y: Tensor,
    spatial: Spatial | None,
    rounding: Rounding | None = None,
    variance: float = 1.0,
    centre: bool = True,
) -> list[Float[Tensor, "n _"]]:
    """Orthonormal bases of the column spaces, or of their leading principal components.

    A direction counts as rounding below 64ε of a type of 32 bits or more, in which layers sum, below 4ε of
    one of 16, and below 64 of float64's relative to the largest, where each column has length 1, its mean
    included. What a batch norm makes larger of rounding may count in types of 16 bits.
    """
    if rounding is not None and not (isinstance(rounding, tuple) and len(rounding) == 2):
        raise ValueError(f"Expected rounding= of X and of Y, as (2**-23, 2**-23), was given {rounding!r}.")
    bases, both = [], pair(X, Y, spatial)
    given = [torch.finfo(Z.dtype).eps for Z in (X, Y)]
    for rows, epsilon in zip(map(scaled, both), rounding or given, strict=True):
        columns = inputs.centred(rows) if centre else rows
        check_varies(given=columns)
        # in units of its length each column is rounded alike, however large the others are
        size = rows.abs().amax(0).clamp(min=torch.finfo(rows.dtype).tiny)  # whose squares may underflow
        relative = columns / size / (rows / size).norm(dim=0).clamp(min=1)
        U, S, _ = torch.linalg.svd(narrowed(relative), full_matrices=False)
        summed = 64 * min(epsilon, torch.finfo(torch.float32).eps)  # of many terms, in float32 at least
        varying = max(4 * epsilon, summed, 64 * torch.finfo(S.dtype).eps * S[0].item()) < S
        if not varying.any():
            raise ValueError(
                f"Expected features that vary by more than their rounding, {epsilon:.1g} of their size, was "
                f"given ones that do not: compute them in float64, or leave them out."
            )
        basis = U[:, varying]
        if variance < 1:
            U, S, _ = torch.linalg.svd(narrowed(basis.T @ columns), full_matrices=False)
            shares = S.square().cumsum(0) / S.square().sum()
            # the component that passes the share is kept: what counts is the variance before it
            before = torch.cat([shares.new_zeros(1), shares[:-1]])
            basis = basis @ U[:, before < variance]
        bases.append(basis)
    return bases
