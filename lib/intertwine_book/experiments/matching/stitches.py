"""Experiments 5, 6 and 7 of csiszarik2021: low rank, paths between stitches, and sparsity; in percent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from intertwine.alignment import LinearMap, Statistics, lasso, least_squares
from intertwine.data import Dataset
from intertwine.stitching import STITCH_RECIPES, Junction, StitchRecipe, stitch_at
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitches import stitch_rows


def recipe_for(train: Dataset, epochs: int) -> StitchRecipe:
    """The training of a stitch by the task: for model 2's probabilities, as long as the data set needs.

    Example:
        >>> from intertwine_book import data
        >>> recipe_for(data.load("digits", "train"), 3).targets
        'soft'
    """
    return replace(
        STITCH_RECIPES["digits" if train.name == "digits" else "fast"], epochs=epochs, targets="soft"
    )


def low_rank_kinds(ranks: Sequence[int], recipe: StitchRecipe) -> dict[str, Row]:
    """Stitches of low rank, direct and by task loss, all with a bias (csiszarik2021 §7), for `stitch_rows`.

    Example:
        >>> from intertwine.stitching import STITCH_RECIPES
        >>> list(low_rank_kinds([4], STITCH_RECIPES["fast"]))
        ['direct, rank 4', 'task loss, rank 4', 'task loss from direct, rank 4']

    Training starts from orthogonal factors, as in the paper, or from the direct map.
    """
    task: Row = {"recipe": recipe}
    ways = {"direct": {}, "task loss": task | {"start": "random"}, "task loss from direct": task}
    return {
        f"{way}, rank {rank}": {"kind": "low rank", "rank": rank, **options}
        for rank in ranks
        for way, options in ways.items()
    }


def path_rows(
    junction: Junction,
    options: Mapping[str, Any],
    *,
    seeds: Sequence[int],
    accuracies: tuple[float, float],
    fractions: Sequence[float],
) -> list[Row]:
    """Train stitches, and judge all on the lines between them, two by two (csiszarik2021, experiment 6).

    The options, with a recipe, are those of `stitch_at`. Every two seeds make a path, so that no stitch is on
    two; fractions are λ in λM₁ + (1 − λ)M₂, biases likewise. Columns path, fraction, accuracy (percent),
    relative_accuracy (accuracy / accuracy2), loss and distance as in `Judged`, and apart: ‖M₁ − M₂‖_F as a
    share of their mean norm.
    """
    if len(seeds) % 2:
        raise ValueError(f"Expected an even number of seeds, was given {len(seeds)}: add one.")
    if options.get("recipe") is None:
        raise ValueError("Expected options of a stitch that is trained, was given none: add a recipe.")
    rows = []
    for path, pair in enumerate(zip(seeds[::2], seeds[1::2], strict=True)):
        ends: list[Any] = [stitch_at(junction, **options, seed=seed).stitch for seed in pair]
        a, b = (each.weight.detach() for each in ends)
        apart = ((a - b).norm() / (a.norm() + b.norm()) * 2).item()
        for fraction in fractions:
            judged = junction.judge(stitch_at(junction, _between(ends, fraction)))
            accuracy = 100 * judged.accuracy
            row = {"path": path, "fraction": fraction, "accuracy": accuracy, "loss": judged.loss}
            row |= {"distance": judged.distance, "relative_accuracy": accuracy / accuracies[1]}
            rows.append(row | {"apart": apart})
    return rows


def sparse_rows(junction: Junction, alphas: Sequence[float], recipe: StitchRecipe, **known: Any) -> list[Row]:
    """Sparse stitches by task loss, and for each the lasso with as many zeros (csiszarik2021, experiment 7).

    The penalty alpha·Σ|m_ij| is added to the task loss; training starts from least squares. Two rows for each
    alpha, which is in the column alpha; the others are those of `stitch_rows`, and so are the options.
    """
    trained = {str(alpha): {"kind": "sparse", "alpha": alpha, "recipe": recipe} for alpha in alphas}
    rows = []
    for alpha, row in zip(alphas, stitch_rows(junction, trained, **known), strict=True):
        direct = {"kind": partial(lasso_with, sparsity=row["sparsity"], affine=True)}
        (other,) = stitch_rows(junction, {"direct": direct}, **known)
        rows += [{"alpha": alpha, **row, "stitch": "task loss"}, {"alpha": alpha, **other}]
    return rows


def refitted_rows(
    junction: Junction, alphas: Sequence[float], zeros: Sequence[float], **known: Any
) -> list[Row]:
    """The refitted lasso with each share of zeros, for `sparse_rows` of these alphas; a row for each."""
    each = zip(alphas, zeros, strict=True)
    kinds = {str(alpha): {"kind": partial(refitted, sparsity=share)} for alpha, share in each}
    made = zip(alphas, stitch_rows(junction, kinds, **known), strict=True)
    return [{"alpha": alpha, **row, "stitch": "refitted"} for alpha, row in made]


def direct_rows(junction: Junction, shares: Sequence[float], **known: Any) -> list[Row]:
    """The lasso and the refitted lasso with fixed shares of zeros: two rows for each, which is in zeros."""
    rows = []
    for share in shares:
        kinds: dict[str, Row] = {"direct": {"kind": partial(lasso_with, sparsity=share, affine=True)}}
        kinds["refitted"] = {"kind": partial(refitted, sparsity=share)}
        rows += [{"zeros": share, **row} for row in stitch_rows(junction, kinds, **known)]
    return rows


def lasso_with(statistics: Statistics, sparsity: float, *, affine: bool = False) -> LinearMap:
    """The lasso that has a given share of zeros, as nearly as bisection in log α finds it.

    Example:
        >>> import torch
        >>> A = torch.randn(500, 8, generator=torch.Generator().manual_seed(0))
        >>> fitted = lasso_with(Statistics.of(A, A.cumsum(1)), 0.5)
        >>> round((fitted.weight == 0).double().mean().item(), 1)
        0.5

    The share goes from 0 (least squares) to 1 (the map 0); α from 10⁻⁶ times to that from which the map is 0.
    """
    if not 0 <= sparsity <= 1:
        raise ValueError(f"Expected a sparsity from 0 to 1, was given {sparsity}.")
    largest = statistics.products(centred=affine).AB.abs().max().item()
    if sparsity == 0 or largest == 0:
        return least_squares(statistics, affine=affine)
    best = lasso(statistics, largest, affine=affine)
    low, high = -6.0, 0.0  # log10 of α / largest
    for _ in range(16):
        middle = (low + high) / 2
        fitted = lasso(statistics, largest * 10**middle, affine=affine)
        best = min(best, fitted, key=lambda each: abs(_zeros(each) - sparsity))
        low, high = (middle, high) if _zeros(fitted) < sparsity else (low, middle)
    return best


def refitted(statistics: Statistics, sparsity: float) -> LinearMap:
    """Least squares on the entries that the lasso with this share of zeros keeps, and shrinks.

    Example:
        >>> import torch
        >>> A = torch.randn(500, 8, generator=torch.Generator().manual_seed(0))
        >>> both = Statistics.of(A, A.cumsum(1))
        >>> refitted(both, 0.5).residual < lasso_with(both, 0.5, affine=True).residual
        True

    With a bias, as the lasso there.
    """
    kept = (lasso_with(statistics, sparsity, affine=True).weight != 0).T
    AA, AB, _ = statistics.products(centred=True)
    M = AB.new_zeros(AB.shape)
    for j, rows in enumerate(kept.T):
        M[rows, j] = torch.linalg.lstsq(AA[rows][:, rows], AB[rows, j]).solution
    return LinearMap.of(M, statistics, affine=True)


def _zeros(fitted: LinearMap) -> float:
    return (fitted.weight == 0).double().mean().item()


def _between(ends: list[Any], fraction: float) -> LinearMap:
    one, two = ends
    weight = fraction * one.weight + (1 - fraction) * two.weight
    bias = None if one.bias is None else (fraction * one.bias + (1 - fraction) * two.bias).detach()
    return LinearMap(weight.detach(), bias)
