"""Centred kernel alignment, and the G_ReLU-CKA of godfrey2022."""

from typing import get_args

from jaxtyping import Float
from torch import Tensor

from intertwine.checks import warn
from intertwine.features import rows
from intertwine.similarity.grams import Kernel, gram, max_gram
from intertwine.similarity.hsic import Estimator, hsic_centred, inner, linear_hsic
from intertwine.similarity.inputs import Spatial, centred, check_choice, check_varies, pair, scaled


def cka(
    X: Tensor,
    Y: Tensor,
    *,
    kernel: Kernel = "linear",
    estimator: Estimator = "unbiased",
    spatial: Spatial | None = None,
) -> Float[Tensor, ""]:
    """Centred kernel alignment: a similarity, 1 for equal Gram matrices, higher is more similar.

    Example:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> X, noise = (torch.randn(50, 8, generator=generator) for _ in range(2))
        >>> round(cka(X, -2 * X + 1).item(), 6), cka(X, noise).item() < 0.5
        (1.0, True)

    It is $HSIC(K, L)/√{HSIC(K, K)·HSIC(L, L)}$ of the Gram matrices K and L. The unbiased estimator is about
    0 for independent features, and may be negative; the biased one lies in [0, 1] for positive kernels, and
    is near 1 for any features with n much smaller than c (Kornblith et al. 2019; Nguyen et al. 2021). For the
    linear kernel features are centred first, which only reduces rounding; Gram matrices are formed only where
    n is small against c, or the kernel needs them. With the linear and the Gaussian kernel it can be
    differentiated.

    Args:
        X: features (n, p), tokens (n, t, p) or feature maps (n, p, h, w). Maps (n, p, length) of an
            `nn.Conv1d` would be taken for tokens: give X.mT, as `compare` does by itself.
        Y: of the same inputs; widths may differ.
        kernel: as in `gram`; "max" is the raw max kernel, `grelu_cka` has the one of the paper.
        estimator: of HSIC; the ratio of two unbiased estimates is consistent, not unbiased.
        spatial: "samples" takes positions for samples, "features" positions for features, "mean" averages
            features over space, "sum" sums kernels over space ("max": before the maximum).

    Returns:
        A float64 scalar on the device of X.

    Raises:
        ValueError: bad features, constant ones, fewer than 4 samples (biased: 2).

    Warns:
        UserWarning: two samples, of which biased CKA is 1 whatever the features.
    """
    check_choice("estimator", estimator, get_args(Estimator))
    X, Y = pair(X, Y, spatial, least=4 if estimator == "unbiased" else 2, kernel=True)
    if len(X) == 2:
        warn(
            "Expected 3 samples or more, was given 2, which have one centred Gram matrix up to scale: biased "
            "CKA is 1 whatever the features; use more samples."
        )
    if kernel == "linear":
        # linear kernels summed over positions are one of all entries, side by side
        X, Y = (scaled(centred(Z.flatten(1))) for Z in (X, Y))
        check_varies(X=X, Y=Y)
        n, p, q = len(X), X.shape[1], Y.shape[1]
        # products of channels take less arithmetic here than n×n Gram matrices, and give the same
        if p * p + p * q + q * q < n * (p + q):
            # the unbiased value is a difference of sums: below 10⁻¹² of the biased one, it is rounding
            parts = (linear_hsic(A, B, estimator) for A, B in ((X, Y), (X, X), (Y, Y)))
            return _ratio(*parts, *(1e-12 * linear_hsic(A, A, "biased").detach() for A in (X, Y)))
    elif not callable(kernel):
        # a kernel of the caller's may depend on the size of features
        X, Y = scaled(X), scaled(Y)
    if kernel == "max":
        return aligned(_max_gram(X), _max_gram(Y), estimator)
    return aligned(gram(X, kernel), gram(Y, kernel), estimator)


def grelu_cka(
    X: Tensor, Y: Tensor, *, corrected: bool = True, spatial: Spatial | None = None
) -> Float[Tensor, ""]:
    """G_ReLU-CKA (godfrey2022 Definition 5.3): a similarity in [−1, 1], higher is more similar.

    Example:
        >>> import torch
        >>> X, scales = torch.rand(20, 3), torch.tensor([1.0, 2.0, 5.0])
        >>> round(grelu_cka(X, scales * X.flip(1)).item(), 6)
        1.0

    Columns are centred and divided by their norms; then K_ij = max_c x_ic·x_jc, and CKA of K and L with the
    unbiased HSIC_1. The paper prints X − (1/d)11ᵀX for the centring, which subtracts n/d means and leaves
    translations visible; the corrected definition subtracts one. The range is not [0, 1], as is printed
    there: neither the kernel nor the estimator is positive. For feature maps the paper has spatial="sum":
    norms over samples and positions, products summed over positions before the maximum.

    Args:
        X, Y, spatial: as in `cka`.
        corrected: centre by 1/n, and leave out constant units, which have no norm to divide by; False is the
            definition as printed.
    """
    X, Y = pair(X, Y, spatial, least=4, kernel=True)
    X, Y = grelu_normalised(X, corrected), grelu_normalised(Y, corrected)
    return aligned(_max_gram(X), _max_gram(Y), "unbiased")


def grelu_normalised(X: Float[Tensor, "n ... c"], corrected: bool) -> Float[Tensor, "n ... varying"]:
    """Channels centred over samples and positions and divided by their norms."""
    Z = rows(X)
    Z = centred(Z) if corrected else Z - len(Z) / Z.shape[1] * Z.mean(0)
    if corrected:
        Z = Z[:, Z.any(0)]
    if not Z.any(0).all() or not Z.numel():
        raise ValueError(
            "Expected units with a positive norm, was given dead ones, which have no direction: "
            + ("leave out a layer in which nothing varies." if corrected else "use corrected=True.")
        )
    Z = Z / Z.abs().amax(0)  # so that no square overflows or vanishes
    Z = Z / Z.norm(dim=0)
    return Z.view(*X.shape[:-1], -1)


def _max_gram(X: Float[Tensor, "n ..."]) -> Float[Tensor, "n n"]:
    """`max_gram` up to an added constant, which leaves every HSIC unchanged."""
    return max_gram(X, around=rows(X).mean(0))


def aligned(K: Float[Tensor, "n n"], L: Float[Tensor, "n n"], estimator: Estimator) -> Float[Tensor, ""]:
    """CKA of two Gram matrices."""
    U, V = (hsic_centred(Z, estimator) for Z in (K, L))
    parts = (inner(A, B) for A, B in ((U, V), (U, U), (V, V)))
    floor = [1e-26 * A.detach().square().mean() for A in (K, L)]  # rounding leaves less
    return _ratio(*parts, *floor)


def _ratio(xy: Tensor, xx: Tensor, yy: Tensor, floor_x: Tensor, floor_y: Tensor) -> Float[Tensor, ""]:
    if not (xx > floor_x and yy > floor_y):
        raise ValueError(
            "Expected features whose kernel varies between pairs of samples, was given constant ones, or "
            "samples that are all equally similar: CKA is 0/0."
        )
    return xy / (xx.sqrt() * yy.sqrt())
