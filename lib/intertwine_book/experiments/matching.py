"""Experiments of csiszarik2021 with stitches: paths between them, and sparsity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch

from intertwine.alignment import LinearMap, Statistics, lasso, least_squares, reduced_rank
from intertwine.stitching.junction import Junction
from intertwine.stitching.many import Row, stitch_rows
from intertwine.stitching.plans import Build, Plan, closed, low_rank, sparse
from intertwine.stitching.recipes import StitchRecipe
from intertwine.stitching.stitched import Rest, as_module
from intertwine.stitching.train import train_stitch

LEAST_SQUARES: Build = closed(least_squares, affine=True)


def low_rank_plans(ranks: Sequence[int], recipe: StitchRecipe) -> dict[str, Plan]:
    """Stitches of low rank, direct and by task loss, all with a bias (csiszarik2021 §7).

    Example:
        >>> from intertwine.stitching.recipes import STITCH_RECIPES
        >>> list(low_rank_plans([4], STITCH_RECIPES["fast"]))
        ['direct, rank 4', 'task loss, rank 4', 'task loss from direct, rank 4']

    Args:
        ranks: of the stitches.
        recipe: of the training, from orthogonal factors on, as in the paper, or from the direct map on.
    """
    made = {}
    for rank in ranks:
        direct = closed(reduced_rank, rank, affine=True)
        made[f"direct, rank {rank}"] = Plan(direct)
        made[f"task loss, rank {rank}"] = Plan(low_rank(rank, affine=True), recipe)
        made[f"task loss from direct, rank {rank}"] = Plan(low_rank(rank, affine=True, start=direct), recipe)
    return made


def path_rows(
    junction: Junction,
    plan: Plan,
    *,
    seeds: Sequence[int],
    accuracies: tuple[float, float],
    fractions: Sequence[float],
) -> list[Row]:
    """Train stitches, and judge all on the lines between them, two by two (csiszarik2021, experiment 6).

    Example:
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> from dataclasses import replace
        >>> from intertwine.stitching.plans import full
        >>> from intertwine.stitching.recipes import STITCH_RECIPES
        >>> network, test = myrtle(4, in_channels=1).eval(), data.load("digits", "test")
        >>> junction = Junction(network, "relu1", network, "relu1", test, test=test, device="cpu")
        >>> plan = Plan(full(), replace(STITCH_RECIPES["digits"], epochs=1))
        >>> asked = {"seeds": (0, 1), "accuracies": (10.0, 10.0), "fractions": [0.0, 0.5, 1.0]}
        >>> [(row["path"], row["fraction"]) for row in path_rows(junction, plan, **asked)]
        [(0, 0.0), (0, 0.5), (0, 1.0)]

    Args:
        junction: with a test set.
        plan: one that trains; its random start and the order of its data come from a seed.
        seeds: an even number of them; every two make a path, so that no stitch is on two paths.
        accuracies: of model 1 and model 2 on the test set, in percent.
        fractions: λ in λM₁ + (1 − λ)M₂, biases likewise.

    Returns:
        For each path and fraction: path, fraction, accuracy (percent), relative_accuracy (accuracy /
        accuracy2), loss and distance as in `Judged`, and apart: ‖M₁ − M₂‖_F as a share of their mean norm.

    Raises:
        ValueError: an odd number of seeds, or a plan without a recipe.
    """
    if len(seeds) % 2:
        raise ValueError(f"Expected an even number of seeds, was given {len(seeds)}: add one.")
    rows = []
    for path, pair in enumerate(zip(seeds[::2], seeds[1::2], strict=True)):
        one, two = (_trained(junction, plan, seed) for seed in pair)
        apart = ((one.weight - two.weight).norm() / (one.weight.norm() + two.weight.norm()) * 2).item()
        for fraction in fractions:
            stitch = as_module(_between(one, two, fraction), next(junction.back.parameters()))
            judged = junction.judge(Rest(stitch, junction.back, junction.shortcut), "test")
            relative = judged.accuracy / accuracies[1]
            facts = judged._asdict() | {"relative_accuracy": relative, "apart": apart}
            rows.append({"path": path, "fraction": fraction} | facts)
    return rows


def sparse_rows(
    junction: Junction,
    alphas: Sequence[float],
    recipe: StitchRecipe,
    *,
    seed: int,
    accuracies: tuple[float, float],
) -> list[Row]:
    """Sparse stitches by task loss, and for each the lasso with as many zeros (csiszarik2021, experiment 7).

    Example:
        >>> from dataclasses import replace
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> from intertwine.stitching.recipes import STITCH_RECIPES
        >>> a, b = (myrtle(4, in_channels=1, seed=seed).eval() for seed in (0, 1))
        >>> test = data.load("digits", "test")
        >>> junction = Junction(a, "relu2", b, "relu2", test, test=test, device="cpu")
        >>> short = replace(STITCH_RECIPES["digits"], epochs=1)
        >>> rows = sparse_rows(junction, [0.1], short, seed=0, accuracies=(10.0, 10.0))
        >>> [(row["stitch"], row["alpha"]) for row in rows]
        [('task loss', 0.1), ('direct', 0.1)]

    Args:
        junction: with a test set.
        alphas: of the penalty alpha·Σ|m_ij| that is added to the task loss.
        recipe: of the training, which starts from least squares.
        seed: of the order of the data.
        accuracies: of model 1 and model 2 on the test set, in percent.

    Returns:
        Two rows for each alpha, which is in the column alpha; the others are those of `stitch_rows`.
    """
    rows = []
    for alpha in alphas:
        trained = {"task loss": Plan(sparse(alpha, start=LEAST_SQUARES), recipe)}
        (row,) = stitch_rows(junction, trained, seed=seed, accuracies=accuracies)
        direct = {"direct": Plan(closed(lasso_with, row["sparsity"], affine=True))}
        (other,) = stitch_rows(junction, direct, seed=seed, accuracies=accuracies)
        rows += [{"alpha": alpha, **row}, {"alpha": alpha, **other}]
    return rows


def lasso_with(
    statistics: Statistics, sparsity: float, *, affine: bool = False, sweeps: int = 16
) -> LinearMap:
    """The lasso that has a given share of zeros, as nearly as bisection in log α finds it.

    Example:
        >>> from intertwine.alignment import Statistics
        >>> A = torch.randn(500, 8, generator=torch.Generator().manual_seed(0))
        >>> fitted = lasso_with(Statistics.of(A, A.cumsum(1)), 0.5)
        >>> round((fitted.weight == 0).double().mean().item(), 1)
        0.5

    Args:
        statistics: of two layers' activations.
        sparsity: the share of zeros wanted, from 0 (least squares) to 1 (the map 0).
        affine: whether a bias is fitted as well.
        sweeps: steps of the bisection, between 10⁻⁶ and 1 times the α from which on the map is 0.

    Raises:
        ValueError: a share that is none.
    """
    if not 0 <= sparsity <= 1:
        raise ValueError(f"Expected a sparsity from 0 to 1, was given {sparsity}.")
    largest = statistics.products(centred=affine).AB.abs().max().item()
    if sparsity == 0 or largest == 0:
        return least_squares(statistics, affine=affine)
    best = lasso(statistics, largest, affine=affine)
    low, high = -6.0, 0.0  # log10 of α / largest
    for _ in range(sweeps):
        middle = (low + high) / 2
        fitted = lasso(statistics, largest * 10**middle, affine=affine)
        best = min(best, fitted, key=lambda each: abs(_zeros(each) - sparsity))
        low, high = (middle, high) if _zeros(fitted) < sparsity else (low, middle)
    return best


def barriers(paths: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """How deep accuracy falls between two stitches: one row for each path of `path_rows`.

    Example:
        >>> path = pd.DataFrame({"fraction": [0.0, 0.5, 1.0], "relative_accuracy": [0.9, 0.7, 1.0]})
        >>> round(barriers(path.assign(path=0), ["path"])["barrier"].item(), 3)
        0.25

    Args:
        paths: rows of `path_rows`, with 0 and 1 among the fractions.
        by: the columns that tell paths apart.

    Returns:
        The columns `by`, one and two (relative accuracies at the fractions 1 and 0), worse (the lower one),
        and barrier: the largest fall below the straight line from one to the other, at least 0; lower means
        better connected.
    """
    rows = []
    for key, path in paths.groupby(list(by), sort=False):
        fraction, accuracy = path["fraction"], path["relative_accuracy"]
        one, two = accuracy[fraction == 1].item(), accuracy[fraction == 0].item()
        barrier = (fraction * one + (1 - fraction) * two - accuracy).max()
        rows.append([*key, one, two, min(one, two), barrier])
    return pd.DataFrame(rows, columns=[*by, "one", "two", "worse", "barrier"])


def _zeros(fitted: LinearMap) -> float:
    return (fitted.weight == 0).double().mean().item()


def _trained(junction: Junction, plan: Plan, seed: int) -> LinearMap:
    if plan.recipe is None:
        raise ValueError("Expected a plan that trains, was given one without a recipe: give it one.")
    start = plan.build(junction, torch.Generator().manual_seed(seed))
    stitch: Any = train_stitch(junction, start, plan.recipe, seed=seed).network.stitch
    bias = None if stitch.bias is None else stitch.bias.detach()
    return LinearMap(stitch.weight.detach(), bias, residual=float("nan"), total=float("nan"))


def _between(one: LinearMap, two: LinearMap, fraction: float) -> LinearMap:
    weight = fraction * one.weight + (1 - fraction) * two.weight
    bias = None if one.bias is None or two.bias is None else fraction * one.bias + (1 - fraction) * two.bias
    return LinearMap(weight, bias, residual=float("nan"), total=float("nan"))
