"""The Hilbert-Schmidt independence criterion: its unbiased and its biased estimator."""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.similarity.inputs import check_choice

Estimator = Literal["unbiased", "biased"]


def u_centred(K: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """K with diagonal 0 and every row sum 0, nearest to K's off-diagonal entries (Székely and Rizzo 2014).

    Example:
        >>> K = u_centred(torch.rand(5, 5, dtype=torch.float64).cov())
        >>> bool(K.sum(0).abs().max() < 1e-12), K.diagonal().any().item()
        (True, False)

    K is symmetric with n ≥ 3; its diagonal is not used.
    """
    n = len(K)
    K = K - torch.diag(K.diagonal())
    rows = K.sum(1) / (n - 2)
    U = K - rows[:, None] - rows + rows.sum() / (n - 1)
    return U - torch.diag(U.diagonal())


def hsic(
    K: Float[Tensor, "n n"], L: Float[Tensor, "n n"], estimator: Estimator = "unbiased"
) -> Float[Tensor, ""]:
    """HSIC of two Gram matrices; 0 in expectation for independent features by the unbiased estimator alone.

    Example:
        >>> K = torch.rand(6, 3, dtype=torch.float64)
        >>> (hsic(K @ K.T, K @ K.T) >= 0).item()  # a sum of squares
        True

    The unbiased one is HSIC_1 of godfrey2022 (5.4), (1/n(n−3))·ΣU_ij·V_ij with U and V the U-centred Grams,
    which is the printed formula without its cancellation. The biased one is tr(KHLH)/(n−1)², ≥ 0 for positive
    kernels. K and L are symmetric; "unbiased" needs n ≥ 4.
    """
    check_choice("estimator", estimator, get_args(Estimator))
    n = len(K)
    if estimator == "unbiased":
        U = u_centred(K)
        return (U * (U if L is K else u_centred(L))).sum() / (n * (n - 3))
    K, L = (Z - Z.mean(0) - Z.mean(1)[:, None] + Z.mean() for Z in (K, L))
    return (K * L).sum() / (n - 1) ** 2


def linear_hsic(X: Float[Tensor, "n p"], Y: Float[Tensor, "n q"], estimator: Estimator) -> Float[Tensor, ""]:
    """`hsic` of the linear Grams of centred X and Y, from the p×q matrix XᵀY: no n×n matrix is formed."""
    n = len(X)
    cross = (X.T @ Y).square().sum()
    if estimator == "biased":
        return cross / (n - 1) ** 2
    x, y = X.square().sum(1), Y.square().sum(1)  # as X is centred, −x are the row sums without diagonal
    return (cross - x @ y * (n / (n - 2)) + x.sum() * y.sum() / ((n - 1) * (n - 2))) / (n * (n - 3))
