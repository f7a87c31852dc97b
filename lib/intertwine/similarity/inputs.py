"""The first steps of every measure: check two sets of features, choose the samples, and centre."""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import interpolate

from intertwine.alignment.channel_statistics import CONSTANT
from intertwine.checks import check_choice, check_tensor
from intertwine.features import channel_axis, rows

Spatial = Literal["samples", "features", "sum", "mean"]
LARGE_MEAN = 2.0**-10  # of a mean: where deviations are larger, its rounding is lost in that of the features


def pair(
    X: Tensor,
    Y: Tensor,
    spatial: Spatial | None,
    *,
    least: int = 2,
    kernel: bool = False,
    dtype: torch.dtype = torch.float64,
) -> tuple[Float[Tensor, "n ..."], Float[Tensor, "n ..."]]:
    """X and Y with one row a sample, or as (n, positions, c) where kernels are summed over space.

    Features (n, c) have one position, and need no `spatial`; `least` is the number of samples that the
    measure needs, and "sum" takes a measure with a `kernel`. They are in `dtype`, or as they were given where
    that is more exact, as digits that a mean takes away are gone once features are rounded.
    """
    for Z in (X, Y):
        check_tensor(Z)
    check_spatial(spatial, kernel=kernel)
    shapes = f"{tuple(X.shape)} and {tuple(Y.shape)}"
    if not (X.is_floating_point() and Y.is_floating_point()):
        raise ValueError(f"Expected floating-point features, was given {X.dtype} and {Y.dtype}.")
    if min(X.ndim, Y.ndim) < 2 or not X.numel() or not Y.numel():
        raise ValueError(f"Expected features (n, c), tokens (n, t, c) or maps (n, c, …), was given {shapes}.")
    if len(X) != len(Y):
        raise ValueError(f"Expected features of the same inputs, was given {len(X)} and {len(Y)} of them.")
    if max(X.ndim, Y.ndim) > 2 and spatial is None:
        choices = "'samples', 'features', 'mean'" + kernel * " or 'sum'"
        raise ValueError(f"Expected spatial= to say what positions are, for {shapes}: choose {choices}.")
    samples = len(X)
    if spatial == "samples":
        first, second = (Z.movedim(channel_axis(Z), 1).shape[2:] for Z in (X, Y))
        if first != second:
            raise ValueError(
                f"Expected feature maps of one size for spatial='samples', was given {shapes}: resample one, "
                f"or choose 'features' or 'mean'."
            )
        samples *= first.numel()
    if samples < least:
        raise ValueError(f"Expected at least {least} samples, was given {samples}: use more inputs.")
    for Z in (X, Y):
        # a sum keeps every NaN and infinity, and needs no array of flags
        if not math.isfinite(Z.detach().sum(dtype=torch.float64).item()):
            raise ValueError("Expected finite features, was given NaN, infinite or huge ones: find where.")
    return arranged(X, spatial, dtype), arranged(Y, spatial, dtype)


def check_spatial(spatial: object, *, kernel: bool) -> None:
    """Raise ValueError unless a measure, with a kernel or without, knows what positions are to be."""
    check_choice("spatial", spatial, (None, *get_args(Spatial)))
    if spatial == "sum" and not kernel:
        raise ValueError(
            "Expected a measure with a kernel for spatial='sum', which sums kernels over space: choose "
            "'samples', 'features' or 'mean'."
        )


def arranged(
    X: Tensor, spatial: Spatial | None, dtype: torch.dtype = torch.float64
) -> Float[Tensor, "n ..."]:
    """The rows of one set of features, in `dtype` or their own, which is more exact."""
    X = X.to(torch.promote_types(X.dtype, dtype))
    return rows(X) if spatial == "samples" else flat(X, spatial)


def flat(
    X: Float[Tensor, "n ..."], spatial: Spatial | None, dtype: torch.dtype | None = None
) -> Float[Tensor, "n ..."]:
    """Features (n, c) as they are; others by image, "features" or "mean", or else as (n, positions, c).

    Means are taken in `dtype`, that of X by default.
    """
    if X.ndim == 2:
        return X
    if spatial == "features":
        return X.flatten(1)
    X = X if X.ndim == 3 else X.flatten(2).mT  # a view: kernels read the channels one by one
    return X.mean(1, dtype=dtype) if spatial == "mean" else X


def of_one_size(X: Float[Tensor, "n ..."], Y: Float[Tensor, "n ..."]) -> tuple[Tensor, Tensor]:
    """Feature maps resampled to the larger of both sizes by nearest neighbours."""
    if X.ndim != Y.ndim or (X.ndim == 3 and X.shape[1] != Y.shape[1]):
        raise ValueError(
            f"Expected layers with the same kind of positions for spatial='samples', was given features "
            f"{tuple(X.shape)} and {tuple(Y.shape)}: choose spatial='mean' or 'features'."
        )
    if X.ndim <= 3 or X.shape[2:] == Y.shape[2:]:
        return X, Y
    size = [max(sides) for sides in zip(X.shape[2:], Y.shape[2:], strict=True)]
    # nearest neighbours by default: a linear interpolation would make new values
    return interpolate(X, size), interpolate(Y, size)


def centred(X: Float[Tensor, "n ..."]) -> Float[Tensor, "n ..."]:
    """X minus its mean over samples; a column that is constant up to rounding becomes exactly 0."""
    mean = X.mean(0)
    Z = X - mean
    size = mean.detach().abs()
    # one sample mostly tells, without a pass over all, that no mean is large beside the deviations; a column
    # that is 0 everywhere has neither
    if not (Z.detach()[0].abs() < LARGE_MEAN * size).any():
        return Z
    Z -= Z.mean(0)  # the rounding of a large mean
    limit = CONSTANT * size
    if not (Z.detach()[0].abs() < limit).any():
        return Z
    return Z.masked_fill(Z.detach().abs().amax(0) <= limit, 0)


def scaled(X: Float[Tensor, "n ..."]) -> Float[Tensor, "n ..."]:
    """X, or where products of four entries might over- or underflow X times a power of 2, which is exact."""
    exponent = torch.frexp(torch.stack(X.detach().aminmax()).abs().amax()).exponent
    limit = math.frexp(torch.finfo(X.dtype).max)[1] - 24
    # four entries multiplied, and summed over all samples, are far from both ends of the range
    if exponent.abs() < limit / 10:
        return X
    most = exponent.clamp(-limit, limit)  # 2^-exponent itself may be too large
    X = X * torch.exp2(-most.double())
    return X if most == exponent else X * torch.exp2((most - exponent).double())


def narrowed(X: Float[Tensor, "n c"]) -> Float[Tensor, "n m"]:
    """X, or where c > n its coordinates in an orthonormal basis of its rows: n columns, the same XXᵀ."""
    # columns beyond the number of samples add nothing but arithmetic
    return X if X.shape[1] <= len(X) else torch.linalg.qr(X.T).R.T


def check_varies(**features: Tensor) -> None:
    """Raise ValueError where features are 0 everywhere, as constant ones are after centring."""
    for name, X in features.items():
        if not X.norm():
            raise ValueError(
                f"Expected features {name} that vary over the samples, was given constant ones (0, where the "
                f"measure does not centre), which are similar to nothing: leave them out."
            )
