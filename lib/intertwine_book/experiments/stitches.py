"""Tables of stitches; accuracies in percent."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import pandas as pd
from torch import nn

from intertwine.data import Dataset
from intertwine.stitching import Junction, stitch_all
from intertwine.training import evaluate
from intertwine_book.experiments.rows import Row
from intertwine_book.results.keys import columns

Kinds = Mapping[str, Mapping[str, Any]]
"""The keywords of `stitch_at`, by the name in a table's column stitch."""
Pairs = Sequence[tuple[nn.Module, nn.Module]]


def stitch_rows(junction: Junction, kinds: Kinds, *, seed: int, accuracies: tuple[float, float]) -> list[Row]:
    """Make stitches of several kinds at one junction with a test set: one row each.

    Accuracies are those of model 1 and model 2 on the test set, in percent. Columns stitch, accuracy
    (percent), penalty (points, (4.3) of godfrey2022: the mean of accuracy1 and accuracy2 minus accuracy),
    relative_accuracy (accuracy / accuracy2, csiszarik2021), loss and distance as in `Judged`, epoch (the
    chosen one), where the junction tests each epoch best_test_accuracy and best_test_penalty (of the epoch
    that is best on the test set, which the authors of godfrey2022 report; nan without training), sparsity
    (the share of entries below 10⁻⁴), accuracy1, accuracy2, batch_norm, targets, seconds (a kind's share).
    """
    (one, two), start, rows = accuracies, time.perf_counter(), []
    for name, network in stitch_all(junction, kinds, seed=seed).items():
        judged = junction.judge(network)
        accuracy = 100 * judged.accuracy
        weight = getattr(network.stitch, "weight", None)
        row = {"stitch": name, "accuracy": accuracy, "penalty": (one + two) / 2 - accuracy}
        row["relative_accuracy"] = accuracy / two if two else float("nan")
        row |= {"loss": judged.loss, "distance": judged.distance, "epoch": network.epoch}
        if junction.test_each_epoch:
            trained = network.history.loc[1:]  # a map that is not trained is tested once, below
            best = 100 * trained["test_accuracy"].max() if len(trained) else float("nan")
            row |= {"best_test_accuracy": best, "best_test_penalty": (one + two) / 2 - best}
        row["sparsity"] = float("nan") if weight is None else (weight.abs() < 1e-4).double().mean().item()
        row |= {"accuracy1": one, "accuracy2": two, "batch_norm": network.recipe.batch_norm}
        row["targets"] = network.recipe.targets if network.recipe.epochs else "none"
        rows.append(row)
    seconds = (time.perf_counter() - start) / len(kinds)
    return [row | {"seconds": seconds} for row in rows]


def looped(cases: Sequence[Row], compute: Callable[..., list[Row]]) -> pd.DataFrame:
    """The rows of all cases, one case after another."""
    return pd.DataFrame([{**columns(case), **row} for case in cases for row in compute(**case)])


def stitch_many(
    pairs: Pairs,
    layers: Sequence[str | tuple[str, str]],
    kinds: Kinds,
    train: Dataset,
    *,
    test: Dataset,
    validation: Dataset | None = None,
    seed: int,
    steps: Callable[..., pd.DataFrame] = looped,
    **options: Any,
) -> pd.DataFrame:
    """Every kind of stitch, at every layer, of every pair: one table.

    Args:
        layers: a layer's name in both, or a pair of names.
        seed: pair k has the seed `seed` + k.
        steps: runs the cases, as `results.Run.steps` does once its name is given, or `looped`.
            One more kind, layer or pair leaves those valid that it did before.
        **options: of `Junction`, as the data sets are.

    Columns pair, layer1, layer2, and those of `stitch_rows`.
    """
    places = [(layer, layer) if isinstance(layer, str) else layer for layer in layers]
    cases: list[Row] = [
        {"pair": k, "layer1": a, "layer2": b, "stitch": name, "networks": pairs[k], "options": kinds[name]}
        for k in range(len(pairs))
        for a, b in places
        for name in kinds  # innermost, so that a junction is made once
    ]
    made = partial(Junction, train=train, test=test, validation=validation, **options)
    joined = lru_cache(maxsize=1)(made)  # that of the last place
    return steps(cases, partial(_stitched, joined, cache(_accuracy), seed))


def _stitched(
    joined: Callable[..., Junction],
    alone: Callable[..., float],
    seed: int,
    *,
    pair: int,
    layer1: str,
    layer2: str,
    stitch: str,
    networks: Sequence[nn.Module],
    options: Row,
) -> list[Row]:
    junction = joined(*networks, (layer1, layer2))
    one, two = (alone(each, junction.data("test")) for each in networks)
    return stitch_rows(junction, {stitch: options}, seed=seed + pair, accuracies=(one, two))


def _accuracy(model: nn.Module, test: Dataset) -> float:
    return 100 * evaluate(model, test.images, test.labels)
