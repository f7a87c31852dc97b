"""Measures from linear regression between the features: CCA, SVCCA, PWCCA and R²."""

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.similarity import inputs
from intertwine.similarity.inputs import Spatial, arranged, check_varies, narrowed, pair, scaled


def cca(X: Tensor, Y: Tensor, *, spatial: Spatial | None = None) -> Float[Tensor, ""]:
    """The mean canonical correlation: a similarity in [0, 1], higher is more similar.

    Example:
        >>> X, A = torch.randn(50, 3, dtype=torch.float64), torch.tensor([[1.0, 2, 0], [0, 1, 0], [5, 0, 1]])
        >>> round(cca(X, X @ A.double()).item(), 6)
        1.0

    The mean is over the smaller of the two ranks. With n − 1 ≤ c samples every correlation is 1, whatever the
    features: it takes many times more samples than features to say anything, and a null to see it.

    Args:
        X: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w).
        Y: of the same inputs; widths may differ.
        spatial: "samples", "features" or "mean", as in `cka`.

    Returns:
        A float64 scalar on the device of X.

    Raises:
        ValueError: bad features, or constant ones.
    """
    return _correlations(*_bases(X, Y, spatial)).mean()


def svcca(
    X: Tensor,
    Y: Tensor,
    *,
    kept: float = 0.99,
    spatial: Spatial | None = None,
) -> Float[Tensor, ""]:
    """CCA between the leading principal components (Raghu et al. 2017): in [0, 1], higher is more similar.

    Example:
        >>> X = torch.randn(50, 3)
        >>> round(svcca(X, 2 * X).item(), 6)
        1.0

    As `cca`, of as many components as it takes to keep this share of the variance.

    Args:
        X: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w).
        Y: of the same inputs; widths may differ.
        kept: share of the variance, in (0, 1]; their number jumps when a component passes it.
        spatial: "samples", "features" or "mean", as in `cka`.

    Raises:
        ValueError: bad features, constant ones, or `kept` not in (0, 1].
    """
    if not 0 < kept <= 1:
        raise ValueError(f"Expected to keep a share of the variance in (0, 1], was given {kept}.")
    return _correlations(*_bases(X, Y, spatial, kept)).mean()


def pwcca(X: Tensor, Y: Tensor, *, spatial: Spatial | None = None) -> Float[Tensor, ""]:
    """Canonical correlations, each weighted by how much of X it accounts for (Morcos et al. 2018).

    Example:
        >>> X = torch.randn(50, 3)
        >>> round(pwcca(X, 2 * X).item(), 6)
        1.0

    A similarity in [0, 1], higher is more similar, and not symmetric: the weight of correlation i is
    the sum of the sizes of h·x over the columns x of X, with h its canonical variate on the side of X.

    Args:
        X: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w).
        Y: of the same inputs; widths may differ.
        spatial: "samples", "features" or "mean", as in `cka`.

    Raises:
        ValueError: bad features, or constant ones.
    """
    basis, other = _bases(X, Y, spatial)
    U, correlations, _ = torch.linalg.svd(basis.T @ other, full_matrices=False)
    weights = ((basis @ U).T @ scaled(inputs.centred(arranged(X, spatial)))).abs().sum(1)
    return (weights * correlations.clamp(max=1)).sum() / weights.sum()


def r2(
    X: Tensor,
    Y: Tensor,
    *,
    centred: bool = True,
    spatial: Spatial | None = None,
) -> Float[Tensor, ""]:
    """R²_LR(X, Y) = 1 − min over M of ‖XM − Y‖²/‖Y‖² (csiszarik2021 Definition 6.1): higher is more similar.

    Example:
        >>> X = torch.randn(50, 3)
        >>> round(r2(X, X[:, :2]).item(), 6), r2(X[:, :2], X).item() < 0.9
        (1.0, True)

    In [0, 1]: the share of Y that a linear map finds in X. Not symmetric, and the same for X and XA with A
    invertible, so that R²_LR(XA, Y) cannot tell what a stitch A does; R²_LR(Y, XA) can.

    Args:
        X: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w).
        Y: of the same inputs; widths may differ.
        centred: whether columns are centred first, which is to fit a bias; the print does not.
        spatial: "samples", "features" or "mean", as in `cka`.

    Raises:
        ValueError: bad features, or constant ones (0, where they are not centred).
    """
    basis, _ = _bases(X, Y, spatial, centre=centred)
    Y = _prepared(pair(X, Y, spatial)[1], centred)
    return 1 - (Y - basis @ (basis.T @ Y)).square().sum() / Y.square().sum()


def _prepared(X: Float[Tensor, "n c"], centre: bool) -> Float[Tensor, "n c"]:
    X = scaled(inputs.centred(X) if centre else X)
    check_varies(given=X)
    return X


def _bases(
    X: Tensor, Y: Tensor, spatial: Spatial | None, kept: float = 1.0, centre: bool = True
) -> list[Float[Tensor, "n _"]]:
    """Orthonormal bases of the column spaces, or of their leading principal components.

    Directions count as rounding below 4 units in the last place of the features as they were given, means
    included, and below 64 of float64 relative to the largest direction.
    """
    bases = []
    for Z, rows in zip((X, Y), pair(X, Y, spatial), strict=True):
        U, S, _ = torch.linalg.svd(narrowed(_prepared(rows, centre)), full_matrices=False)
        unit = S.norm() / (inputs.centred(rows) if centre else rows).norm()  # what `scaled` multiplied by
        rounding = 4 * torch.finfo(Z.dtype).eps * rows.norm() * unit
        directions = torch.maximum(rounding, 64 * torch.finfo(S.dtype).eps * S[0]) < S
        shares = S.square().cumsum(0) / S.square().sum()
        before = torch.cat([shares.new_zeros(1), shares[:-1]])
        if kept < 1:
            directions &= before < kept
        bases.append(U[:, directions])
    return bases


def _correlations(A: Float[Tensor, "n p"], B: Float[Tensor, "n q"]) -> Float[Tensor, " k"]:
    return torch.linalg.svdvals(A.T @ B).clamp(max=1)
