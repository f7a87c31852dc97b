"""The Hilbert-Schmidt independence criterion: its unbiased and its biased estimator."""

from typing import Literal, get_args

from jaxtyping import Float
from torch import Tensor

from intertwine.checks import check_choice, check_tensor

Estimator = Literal["unbiased", "biased"]


def check_grams(*grams: Tensor, least: int) -> None:
    """Raise, in one sentence, unless these are Gram matrices of the same samples, and of so many at least."""
    for K in grams:
        check_tensor(K, "Gram matrix")
    shapes = [tuple(K.shape) for K in grams]
    n = shapes[0][0] if shapes[0] else 0
    if {*shapes} != {(n, n)} or n < least or not all(K.is_floating_point() for K in grams):
        given = " and ".join(f"{shape} of {K.dtype}" for shape, K in zip(shapes, grams, strict=True))
        raise ValueError(
            f"Expected Gram matrices (n, n) of floats, of the same n ≥ {least} samples, was given {given}: "
            f"make them of features with `gram`."
        )


def u_centred(K: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """K with diagonal 0 and every row sum 0, nearest to K's off-diagonal entries (Székely and Rizzo 2014).

    Example:
        >>> import torch
        >>> K = u_centred(torch.rand(5, 5, dtype=torch.float64).cov())
        >>> bool(K.sum(0).abs().max() < 1e-12), K.diagonal().any().item()
        (True, False)

    Args:
        K: a Gram matrix of n ≥ 3 samples, symmetric; its diagonal is not used.

    Raises:
        ValueError: a matrix that is not square, of integers, or of fewer samples.
    """
    check_grams(K, least=3)
    n = len(K)
    U = K.clone().fill_diagonal_(0)
    # with n − 1 entries in a row, not n, these are the numbers with which every row sum becomes 0
    means = U.sum(1) / (n - 2)
    return U.sub_(means - means.sum() / (n - 1)).sub_(means[:, None]).fill_diagonal_(0)


def hsic_centred(K: Float[Tensor, "n n"], estimator: Estimator) -> Float[Tensor, "n n"]:
    """K with the row sums that make HSIC an inner product: that of two of these is HSIC of the two Grams."""
    n = len(K)
    if estimator == "unbiased":
        # the root of HSIC's denominator, in both factors of an inner product
        return u_centred(K).div_((n * (n - 3)) ** 0.5)
    means = K.mean(0)
    return (K - (means - means.mean())).sub_(K.mean(1)[:, None]).div_(n - 1)


def hsic(
    K: Float[Tensor, "n n"], L: Float[Tensor, "n n"], estimator: Estimator = "unbiased"
) -> Float[Tensor, ""]:
    """HSIC of two Gram matrices; 0 in expectation for independent features by the unbiased estimator alone.

    Example:
        >>> import torch
        >>> K = torch.rand(6, 3, dtype=torch.float64)
        >>> (hsic(K @ K.T, K @ K.T) >= 0).item()  # a sum of squares
        True

    The unbiased one is HSIC_1 of godfrey2022 (5.4), (1/n(n−3))·ΣU_ij·V_ij with U and V the U-centred Grams,
    which is the printed formula without its cancellation. The biased one is tr(KHLH)/(n−1)², ≥ 0 for positive
    kernels.

    Args:
        K, L: symmetric Gram matrices of the same n samples, in the same order, as `gram` makes them.
        estimator: "unbiased" needs n ≥ 4, "biased" n ≥ 2.

    Raises:
        ValueError: matrices of unlike or other shapes, of integers, or of too few samples.
    """
    check_choice("estimator", estimator, get_args(Estimator))
    check_grams(K, L, least=4 if estimator == "unbiased" else 2)
    U = hsic_centred(K, estimator)
    return inner(U, U if L is K else hsic_centred(L, estimator))


def inner(U: Float[Tensor, "n n"], V: Float[Tensor, "n n"]) -> Float[Tensor, ""]:
    """The sum of all products of entries."""
    return U.flatten() @ V.flatten()


def linear_hsic(X: Float[Tensor, "n p"], Y: Float[Tensor, "n q"], estimator: Estimator) -> Float[Tensor, ""]:
    """`hsic` of the linear Grams of centred X and Y, from the p×q matrix XᵀY: no n×n matrix is formed."""
    n = len(X)
    # tr(XXᵀ·YYᵀ), of which the unbiased estimator leaves out the diagonals
    cross = (X.T @ Y).square().sum()
    if estimator == "biased":
        return cross / (n - 1) ** 2
    x, y = X.square().sum(1), Y.square().sum(1)  # as X is centred, −x are the row sums without diagonal
    return (cross - x @ y * (n / (n - 2)) + x.sum() * y.sum() / ((n - 1) * (n - 2))) / (n * (n - 3))
