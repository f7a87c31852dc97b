"""Procrustes measures: how near one set of features comes to the other when a group may act."""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.alignment import assignment
from intertwine.checks import check_choice, warn
from intertwine.similarity import inputs
from intertwine.similarity.inputs import Spatial, check_varies, narrowed, pair, scaled

ProcrustesGroup = Literal["orthogonal", "rotation", "permutation", "grelu"]
Form = Literal["similarity", "angular"]
FAR = 0.1  # from a similarity of 1 on δ² = 2 − 2·similarity loses one digit at most
TINY = 2.0**-40  # a norm from here to its inverse has squares in the range of float32
CHORD_ROUNDING = 4  # units of rounding, which alone may have made such a distance between vectors of norm 1


def procrustes(
    X: Tensor,
    Y: Tensor,
    group: ProcrustesGroup = "orthogonal",
    *,
    form: Form = "similarity",
    centred: bool = True,
    spatial: Spatial | None = None,
    dtype: torch.dtype = torch.float64,
) -> Float[Tensor, ""]:
    """How near an element Q of a group brings Y to X: a similarity, or the angle between X and YQ.

    Example:
        >>> X = torch.randn(20, 3, dtype=torch.float64)
        >>> round(procrustes(X, 5 * X.flip(1), "permutation").item(), 6)
        1.0
        >>> procrustes(X, X, form="angular").item() < 1e-7
        True

    The similarity is $1 − δ/2$, where δ is the least $‖X − YQ‖$ for X and Y of norm 1. It is in [0, 1],
    higher is more similar; at 0.293 = 1 − 1/√2 X and YQ are orthogonal, the least for orthogonal, and for
    non-negative features that are not centred. The angle is a distance in [0, π], lower is more similar, and
    a metric between orbits (Williams et al. 2021), as δ is.

    Features are divided by their Frobenius norm; for "grelu" by the norm of each column first, and units that
    are 0 are left out. The narrower features get columns of zeros. δ² is ‖X‖² + ‖Y‖² less twice the nuclear
    norm of XᵀY; where that would lose digits, as δ is small, δ is computed as the residual ‖XQ − Y‖.

    Under rotations δ is a distance of the Gram matrices XXᵀ and YYᵀ, of which two centred samples have only
    one, up to scale: the value is 1 whatever the features, which warns. Q itself is determined by more than
    c samples; with fewer, unrelated features are near to each other: compare with a null.

    Args:
        X, Y, spatial: as in `cca`.
        group: "orthogonal" O(c), "rotation" SO(c), "permutation", or "grelu", permutations with positive
            scalings; godfrey2022 Table 2 has "orthogonal" and "grelu" with centred=False, spatial="samples".
        form: "similarity" or "angular".
        centred: whether columns are centred first.
        dtype: of the products and the decomposition: torch.float32 is faster, and has some 6 digits.

    Raises:
        ValueError: bad features, another dtype, or constant features (0, where they are not centred).

    Warns:
        UserWarning: two samples, centred, under rotations.
    """
    check_choice("group", group, get_args(ProcrustesGroup))
    check_choice("form", form, get_args(Form))
    check_choice("dtype", dtype, (torch.float64, torch.float32))
    X, Y = pair(X, Y, spatial, dtype=dtype)
    (X, one), (Y, other) = (_prepared(Z, group, centred, dtype) for Z in (X, Y))
    if group in ("permutation", "grelu"):
        chord = _matched_residual(X, Y, one, other)
    else:
        # where widths differ or samples are few a direction is free: its sign makes any Q a rotation
        proper = group == "rotation" and X.shape[1] == Y.shape[1] <= len(X)
        if centred and len(X) == 2 and (group == "orthogonal" or max(X.shape[1], Y.shape[1]) > 1):
            warn(
                "Expected 3 samples or more, was given 2: centred, they are a rotation of any other 2, up to "
                "scale, so that Procrustes finds no difference whatever the features; use more samples."
            )
        chord = _rotated_residual(narrowed(X), narrowed(Y), one, other, proper)
    if chord <= CHORD_ROUNDING * torch.finfo(dtype).eps:
        chord = 0.0
    half = min(chord / 2, 1)
    value = 2 * math.asin(half) if form == "angular" else 1 - half
    return torch.tensor(value, dtype=torch.float64, device=X.device)


def grelu_procrustes(
    X: Tensor, Y: Tensor, *, corrected: bool = True, spatial: Spatial | None = None
) -> Float[Tensor, ""]:
    """G_ReLU-Procrustes 1 − δ/(2√d) (godfrey2022 Definition 5.2): in [0, 1], higher is more similar.

    Example:
        >>> X, scales = torch.rand(20, 3), torch.tensor([1.0, 2.0, 5.0])
        >>> round(grelu_procrustes(X, scales * X.flip(1)).item(), 6)
        1.0

    Columns are centred and divided by their norms, δ = min over permutations P of ‖X − YP‖_F. As printed
    columns are not centred, so that the measure is not invariant under translations, contrary to the
    paper's (i); for features ≥ 0 it is then at least 1 − 1/√2, about 0.293: compare it with a null.

    Args:
        X, Y, spatial: as in `cca`; the paper has "samples". Where widths differ, each is
            divided by the root of its own.
        corrected: centre the columns first, and leave out columns of norm 0; False is the definition as
            printed, which takes no such columns.
    """
    if not corrected:
        for Z in pair(X, Y, spatial):
            if not Z.any(0).all():
                raise ValueError(
                    f"Expected units that fire, was given {int((~Z.any(0)).sum())} dead ones, which leave D "
                    f"in Definition 5.2 singular: use corrected=True, or leave them out."
                )
    return procrustes(X, Y, "grelu", centred=corrected, spatial=spatial)


def _prepared(
    X: Float[Tensor, "n c"], group: str, centre: bool, dtype: torch.dtype
) -> tuple[Float[Tensor, "n m"], float]:
    """X in this dtype, centred if `centre`, and its norm; scaled before, where squares would vanish."""
    Z = inputs.centred(X) if centre else X
    norm = torch.linalg.vector_norm(Z).item()
    if not TINY < norm < 1 / TINY:
        X = scaled(X)  # X first, as even the sum of large numbers may have been infinite
        Z = inputs.centred(X) if centre else X
        check_varies(given=Z)
        norm = torch.linalg.vector_norm(Z).item()
    if group == "grelu":
        Z = Z[:, Z.any(0)]
        Z = Z / Z.abs().amax(0)  # first, as squares of small columns would vanish
        Z = Z / Z.norm(dim=0)
        norm = math.sqrt(Z.shape[1])
    return Z.to(dtype), norm


def _matched_residual(X: Float[Tensor, "n p"], Y: Float[Tensor, "n q"], one: float, other: float) -> float:
    """‖X − YP‖ of X and Y divided by their norms, `one` and `other`."""
    product = (X.T @ Y).div_(one * other)
    rows, columns = assignment(product, maximize=True)
    if (gain := product[rows, columns].sum().item()) < 1 - FAR:
        return math.sqrt(2 - 2 * gain)
    X, Y = X / one, Y / other
    squares = X.square().sum() - X[:, rows].square().sum()  # of unmatched columns
    squares = squares + Y.square().sum() - Y[:, columns].square().sum()
    squares = squares.clamp(min=0) * (X.shape[1] != Y.shape[1])  # there are none otherwise
    return math.sqrt((squares + (X[:, rows] - Y[:, columns]).square().sum()).item())


def _rotated_residual(
    X: Float[Tensor, "n p"], Y: Float[Tensor, "n q"], one: float, other: float, proper: bool
) -> float:
    """‖XQ − Y‖ of X and Y divided by their norms, `one` and `other`."""
    product = (X.T @ Y).div_(one * other)
    # the singular values alone take less than half of the time; SO(c) needs the vectors' signs, too
    if not proper and (gain := torch.linalg.svdvals(product).sum().item()) < 1 - FAR:
        return math.sqrt(2 - 2 * gain)
    X, Y = X / one, Y / other
    width = max(X.shape[1], Y.shape[1])
    X, Y = (torch.nn.functional.pad(Z, (0, width - Z.shape[1])) for Z in (X, Y))
    U, _, Vh = torch.linalg.svd(X.T @ Y)
    if proper and torch.det(U) * torch.det(Vh) < 0:
        U = torch.cat([U[:, :-1], -U[:, -1:]], 1)  # costs the least singular value
    return torch.linalg.vector_norm(X @ (U @ Vh) - Y).item()
