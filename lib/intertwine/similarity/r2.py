"""R² of the best linear map from one set of features to the other."""

from jaxtyping import Float
from torch import Tensor

from intertwine.similarity.cca import bases, prepared
from intertwine.similarity.inputs import Spatial, pair


def r2(X: Tensor, Y: Tensor, *, centred: bool = True, spatial: Spatial | None = None) -> Float[Tensor, ""]:
    """R²_LR(X, Y) = 1 − min over M of ‖XM − Y‖²/‖Y‖² (csiszarik2021 Definition 6.1): higher is more similar.

    Example:
        >>> import torch
        >>> X = torch.randn(50, 3)
        >>> round(r2(X, X[:, :2]).item(), 6), r2(X[:, :2], X).item() < 0.9
        (1.0, True)

    In [0, 1]: the share of Y that a linear map finds in X. Not symmetric, and the same for X and XA with A
    invertible, so that R²_LR(XA, Y) does not depend on a stitch A; R²_LR(Y, XA) does.

    Args:
        X, Y, spatial: as in `cca`.
        centred: whether columns are centred first, which is to fit a bias; the print does not.
    """
    basis, _ = bases(X, Y, spatial, centre=centred)
    Y = prepared(pair(X, Y, spatial)[1], centred)
    return 1 - (Y - basis @ (basis.T @ Y)).square().sum() / Y.square().sum()
