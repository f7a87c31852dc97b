"""On the line between the weights of two networks, before and after one is matched to the other."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import torch
from torch import nn

from intertwine import devices
from intertwine.data import Dataset
from intertwine.stitching.epochs import reestimate, tracked
from intertwine.stitching.junction import BATCH
from intertwine.training import evaluate
from intertwine.weightspace import find_symmetries, match

WAYS = ("as trained", "matched by weights", "matched by activations")


def between(model1: nn.Module, model2: nn.Module, fraction: float) -> nn.Module:
    """The network with the weights (1 - t)·W1 + t·W2, statistics of batch norm included.

    Example:
        >>> one, two = nn.Linear(1, 1), nn.Linear(1, 1)
        >>> middle = between(one, two, 0.5)
        >>> torch.allclose(middle.weight, (one.weight + two.weight) / 2)
        True

    Args:
        model1, model2: of the same shapes; they are not changed.
        fraction: t, of the way from model 1 to model 2.
    """
    network = copy.deepcopy(model1)
    others = model2.state_dict()
    for name, x in network.state_dict().items():
        if x.is_floating_point():
            x.copy_(torch.lerp(x, others[name], fraction))
    return network


def line_rows(
    model1: nn.Module, model2: nn.Module, train: Dataset, test: Dataset, fractions: Sequence[float]
) -> list[dict[str, Any]]:
    """Accuracy on the line between two networks, with interpolated and re-estimated batch-norm statistics.

    Example:
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> a, b = (myrtle(2, in_channels=1, seed=seed) for seed in (0, 1))
        >>> rows = line_rows(a, b, data.load("digits", "train"), data.load("digits", "test"), [0.5])
        >>> [row["batch_norm"] for row in rows]
        ['interpolated', 're-estimated']

    Args:
        model1, model2: of the same shapes.
        train: images whose statistics batch norm takes.
        test: what accuracies are measured on.
        fractions: of the way.

    Returns:
        batch_norm, fraction, accuracy (in percent).
    """
    rows = []
    for fraction in fractions:
        network = between(model1, model2, fraction)
        device = devices.like(network).device
        dtype = devices.precision(network, device)

        def judged(batch_norm: str, at: float = fraction, network: nn.Module = network) -> dict[str, Any]:
            accuracy = 100 * evaluate(network, test.images, test.labels)
            return {"batch_norm": batch_norm, "fraction": at, "accuracy": accuracy}

        rows.append(judged("interpolated"))
        batches = (batch.to(device) for batch in train.images.split(BATCH))
        reestimate(network, tracked(network), batches, device, dtype)
        rows.append(judged("re-estimated"))
    return rows


def connectivity(
    pairs: Sequence[tuple[nn.Module, nn.Module]],
    train: Dataset,
    test: Dataset,
    *,
    fractions: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    match_images: int = 500,
    steps: Callable[..., pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Linear mode connectivity of pairs of networks, as they are, and with the second matched to the first.

    Example:
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> train, test = data.load("digits", "train"), data.load("digits", "test")
        >>> a, b = (myrtle(2, in_channels=1, seed=seed) for seed in (0, 1))
        >>> table = connectivity([(a, b)], train, test, fractions=[0.0, 1.0])
        >>> table["way"].unique().tolist()
        ['as trained', 'matched by weights', 'matched by activations']

    A matched network computes the same function as before, so that the ends of a line keep their accuracy.

    Args:
        pairs: model 1 and model 2, of the same shapes.
        train: images to match activations on, and to take statistics of.
        test: what accuracies are measured on.
        fractions: of the way from model 1 to model 2.
        match_images: training images that activations are compared on.
        steps: what runs the cases, as in `stitch_many`; a case is a pair and a way.

    Returns:
        pair, way, and what `line_rows` says.
    """
    cases: list[dict[str, Any]] = [{"pair": k, "way": way} for k in range(len(pairs)) for way in WAYS]

    def compute(pair: int, way: str) -> list[dict[str, Any]]:
        one, two = (copy.deepcopy(model).eval() for model in pairs[pair])
        if way != "as trained":
            images = train.images[:match_images].to(devices.like(one).device)
            space = find_symmetries(one, images[:1])
            two = match(space, one, two, inputs=images if way.endswith("activations") else None).model
        return line_rows(one, two, train, test, fractions)

    if steps is not None:
        return steps(cases, compute)
    return pd.DataFrame([{**case, **row} for case in cases for row in compute(**case)])


def barriers(lines: pd.DataFrame) -> pd.DataFrame:
    """How far accuracy on a line falls below the line between its ends: the most, in points; lower is better.

    Example:
        >>> table = pd.DataFrame({"fraction": [0.0, 0.5, 1.0], "accuracy": [90.0, 40.0, 80.0]})
        >>> table = table.assign(pair=0, way="as trained", batch_norm="interpolated")
        >>> barriers(table)["barrier"].tolist()
        [45.0]

    Args:
        lines: as `connectivity` gives them, with the fractions 0 and 1.

    Returns:
        pair, way, batch_norm, barrier (0 where accuracy never falls).
    """
    key = ["pair", "way", "batch_norm"]
    rows = []
    for names, line in lines.groupby(key, sort=False):
        at, accuracy = line["fraction"], line["accuracy"]
        start, end = (accuracy[at == t].item() for t in (0, 1))
        fall = (1 - at) * start + at * end - accuracy
        rows.append({**dict(zip(key, names, strict=True)), "barrier": fall.max()})
    return pd.DataFrame(rows)
