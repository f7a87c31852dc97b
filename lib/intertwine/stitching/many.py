"""Many stitches in one table: pairs of networks, pairs of layers, kinds of stitches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd
import torch
from torch import nn

from intertwine.data import Dataset
from intertwine.stitching.junction import Junction
from intertwine.stitching.plans import STILL, Plan
from intertwine.stitching.train import train_stitch
from intertwine.training import evaluate

Row = dict[str, Any]


def stitch_rows(
    junction: Junction,
    plans: Mapping[str, Plan],
    *,
    seed: int,
    accuracies: tuple[float, float],
) -> list[Row]:
    """Make every planned stitch at one junction: one row each.

    Example:
        >>> from intertwine import data
        >>> from intertwine.stitching.plans import Plan, identity
        >>> from intertwine.models import myrtle
        >>> network, test = myrtle(4, in_channels=1).eval(), data.load("digits", "test")
        >>> junction = Junction(network, "relu1", network, "relu1", test, test=test, device="cpu")
        >>> alone = 100 * evaluate(network, test.images, test.labels)
        >>> row, = stitch_rows(junction, {"no stitch": Plan(identity)}, seed=0, accuracies=(alone, alone))
        >>> row["stitch"], round(row["penalty"], 6)
        ('no stitch', 0.0)

    Args:
        junction: with a test set.
        plans: by the name in the table's column stitch.
        seed: of random starts and of the order of the data; every plan has the same.
        accuracies: of model 1 and model 2 on the test set, in percent.

    Returns:
        stitch, accuracy, penalty (points, (4.3) of godfrey2022: the mean of accuracy1 and accuracy2 minus
        accuracy; lower is better), relative_accuracy (accuracy / accuracy2, csiszarik2021), loss and distance
        as in `Judged`, epoch (the chosen one), best_test_accuracy and best_test_penalty (of the epoch that is
        best on the test set, as the authors of godfrey2022 took it; nan where nothing is trained),
        sparsity (the share of entries below 10⁻⁴), accuracy1, accuracy2, batch_norm, targets, seconds.
    """
    one, two = accuracies
    rows = []
    for name, plan in plans.items():
        start = time.perf_counter()
        generator = torch.Generator().manual_seed(seed)
        recipe = plan.recipe or STILL
        trained = train_stitch(junction, plan.build(junction, generator), recipe, seed=seed)
        assert trained.test is not None
        best = trained.best_test_accuracy
        weight = getattr(trained.network.stitch, "weight", None)
        rows.append(
            {
                "stitch": name,
                "accuracy": trained.test.accuracy,
                "penalty": (one + two) / 2 - trained.test.accuracy,
                "relative_accuracy": trained.test.accuracy / two if two else float("nan"),
                "loss": trained.test.loss,
                "distance": trained.test.distance,
                "epoch": trained.epoch,
                "best_test_accuracy": float("nan") if best is None else best,
                "best_test_penalty": float("nan") if best is None else (one + two) / 2 - best,
                "sparsity": float("nan") if weight is None else (weight.abs() < 1e-4).double().mean().item(),
                "accuracy1": one,
                "accuracy2": two,
                "batch_norm": recipe.batch_norm,
                "targets": recipe.targets if recipe.epochs else "none",
                "seconds": time.perf_counter() - start,
            }
        )
    return rows


def stitch_many(
    pairs: Sequence[tuple[nn.Module, nn.Module]],
    layers: Sequence[str | tuple[str, str]],
    plans: Mapping[str, Plan],
    train: Dataset,
    *,
    test: Dataset,
    validation: Dataset | None = None,
    seed: int,
    steps: Callable[..., pd.DataFrame] | None = None,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Every plan, at every layer, of every pair: one table.

    Example:
        >>> from intertwine import data
        >>> from intertwine.alignment import least_squares
        >>> from intertwine.stitching.plans import Plan, closed, identity
        >>> from intertwine.models import myrtle
        >>> a, b = (myrtle(4, in_channels=1, seed=seed).eval() for seed in (0, 1))
        >>> train, test = data.load("digits", "train"), data.load("digits", "test")
        >>> plans = {"no stitch": Plan(identity), "least squares": Plan(closed(least_squares))}
        >>> table = stitch_many([(a, b)], ["relu1", "relu2"], plans, train, test=test, seed=0, device="cpu")
        >>> table[["pair", "layer1", "stitch"]].values.tolist()[:2]
        [[0, 'relu1', 'no stitch'], [0, 'relu1', 'least squares']]

    A step is a pair with two layers. To go on after an interruption, give `steps` a function that keeps each,
    such as ``partial(results.steps, "name", parameters=…, seed=…)``: it is called with a list of cases, the
    keywords pair, layer1 and layer2, and the function that makes rows of one.

    Args:
        pairs: model 1 and model 2.
        layers: a layer's name in both, or a pair of names; all pairs make the matrix of all layers.
        plans: as in `stitch_rows`.
        train, test, validation: as in `Junction`.
        seed: pair k has the seed `seed` + k.
        steps: what runs the cases; by default one after another.
        progress: whether to show a bar, where `steps` is not given.
        **options: of `Junction`.

    Returns:
        pair, layer1, layer2, and what `stitch_rows` says.
    """
    places = [(layer, layer) if isinstance(layer, str) else layer for layer in layers]
    cases = [{"pair": k, "layer1": a, "layer2": b} for k in range(len(pairs)) for a, b in places]
    alone = cache(lambda model: 100 * evaluate(model, test.images, test.labels))  # once for each network

    def compute(pair: int, layer1: str, layer2: str) -> list[Row]:
        one, two = pairs[pair]
        junction = Junction(one, layer1, two, layer2, train, test=test, validation=validation, **options)
        return stitch_rows(junction, plans, seed=seed + pair, accuracies=(alone(one), alone(two)))

    if steps is not None:
        return steps(cases, compute)
    from tqdm import tqdm

    bar = tqdm(cases, unit="step", disable=not progress)
    return pd.DataFrame([{**case, **row} for case in bar for row in compute(**case)])
