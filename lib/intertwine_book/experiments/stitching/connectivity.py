"""The line between two networks, as trained and matched by a symmetry; accuracies in percent."""

import copy
from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd
from torch import nn

from intertwine import devices
from intertwine.data import Dataset
from intertwine.stitching import line
from intertwine.weightspace import find_symmetries, match
from intertwine_book.experiments.rows import Row
from intertwine_book.experiments.stitching.stitches import Pairs, looped

WAYS = ("as trained", "matched by weights", "matched by activations")


def connectivity(
    pairs: Pairs,
    train: Dataset,
    test: Dataset,
    *,
    fractions: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    steps: Callable[..., pd.DataFrame] = looped,
) -> pd.DataFrame:
    """Linear mode connectivity of pairs of networks, as they are, and with the second matched to the first.

    A matched network computes the same function as before, so that the ends of a line keep their accuracy.
    Its activations are compared on 500 training images; `steps` are as in `stitch_many`. Columns pair, way,
    and those of `intertwine.stitching.line`, with accuracy in percent.
    """
    cases: list[Row] = [
        {"pair": k, "way": way, "networks": pair} for k, pair in enumerate(pairs) for way in WAYS
    ]
    return steps(cases, partial(_connected, train, test, fractions))


def _connected(
    train: Dataset,
    test: Dataset,
    fractions: Sequence[float],
    *,
    pair: int,
    way: str,
    networks: Sequence[nn.Module],
) -> list[Row]:
    one, two = (copy.deepcopy(model).eval() for model in networks)
    if way != "as trained":
        images = train.images[:500].to(devices.like(one).device)
        space = find_symmetries(one, images[:1])
        two = match(space, one, two, inputs=images if way.endswith("activations") else None).model
    table = line(one, two, train, test, fractions)
    return table.assign(accuracy=100 * table["accuracy"]).to_dict("records")
