"""On the line between the weights of two networks."""

import copy
from collections.abc import Sequence

import pandas as pd
import torch
from torch import nn

from intertwine import devices
from intertwine.data import Dataset
from intertwine.stitching.batch_norm import reestimate
from intertwine.training import evaluate


def between(model1: nn.Module, model2: nn.Module, fraction: float) -> nn.Module:
    """The network with the weights (1 - t)·W1 + t·W2, statistics of batch norm included.

    Example:
        >>> one, two = nn.Linear(1, 1), nn.Linear(1, 1)
        >>> torch.allclose(
        ...     between(one, two, 0.5).weight, (one.weight + two.weight) / 2
        ... )
        True

    Args:
        model1, model2: of the same names and shapes; they are not changed.
        fraction: t, of the way from model 1 (0) to model 2 (1).

    Raises:
        ValueError: networks of unlike names or shapes, or of unlike buffers of whole numbers, such as an
            order of channels. Counts of batches stay those of model 1.
    """
    network = copy.deepcopy(model1)
    first, others = model1.state_dict(), model2.state_dict()
    for name in [*first, *others]:
        shapes = [tuple(each[name].shape) if name in each else "nothing" for each in (first, others)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"Expected networks of the same names and shapes, was given as {name!r} {shapes[0]} and "
                f"{shapes[1]}: build both alike."
            )
    for name, x in network.state_dict().items():
        if x.is_floating_point() or x.is_complex():
            # from `first`, not from x: a tied weight has two names and would be moved twice
            x.copy_(torch.lerp(first[name], others[name].to(x), fraction))
        elif not (name.endswith("num_batches_tracked") or torch.equal(x, others[name].to(x))):
            raise ValueError(
                f"Expected networks of equal {name!r}, as nothing lies between whole numbers, was given two: "
                f"give both networks the same."
            )
    return network


def line(
    model1: nn.Module, model2: nn.Module, train: Dataset, test: Dataset, fractions: Sequence[float]
) -> pd.DataFrame:
    """Accuracy on the line between two networks, with interpolated and re-estimated batch-norm statistics.

    Example:
        >>> from intertwine.data import Dataset
        >>> a, b = (
        ...     nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)) for _ in range(2)
        ... )
        >>> data = Dataset.of(torch.randn(20, 3), torch.arange(20) % 2)
        >>> line(a, b, data, data, [0.5])["batch_norm"].tolist()
        ['interpolated', 're-estimated']

    Args:
        model1, model2: of the same shapes; they are not changed.
        train: its images re-estimate the statistics of batch norm.
        test: images and labels of which accuracy is measured.
        fractions: of the way from model 1 (0) to model 2 (1).

    Returns:
        The columns batch_norm, fraction, and accuracy (a share of `test`), with two rows for each fraction.

    See Also:
        `match` of `intertwine.weightspace` before it; `barriers` of the table after it.
    """
    for model in (model1, model2):
        if not isinstance(model, nn.Module):
            kind = type(model).__name__
            raise TypeError(f"Expected two networks, was given a {kind}: of a match, give its .model.")
    if isinstance(fractions, int | float):
        raise TypeError(f"Expected a list of fractions, was given {fractions}: write [{fractions}].")
    rows = []
    for fraction in fractions:
        network = between(model1, model2, fraction)
        device = devices.like(network).device
        rows.append(["interpolated", fraction, evaluate(network, test.images, test.labels)])
        # averaged weights have activations of too little variance, which their statistics do not show
        # copies, as a first step in place would change the caller's images
        batches = (batch.to(device, copy=True) for batch in train.images.split(200))
        reestimate(network, batches)
        rows.append(["re-estimated", fraction, evaluate(network, test.images, test.labels)])
    return pd.DataFrame(rows, columns=["batch_norm", "fraction", "accuracy"])


def barriers(lines: pd.DataFrame, by: Sequence[str], accuracy: str = "accuracy") -> pd.DataFrame:
    """How far accuracy on a line falls below the chord between its ends, at most; lower is better connected.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame(
        ...     {"fraction": [0.0, 0.5, 1.0], "accuracy": [0.9, 0.4, 0.8], "pair": 0}
        ... )
        >>> round(barriers(table, ["pair"])["barrier"].item(), 2)
        0.45

    Args:
        lines: with the columns fraction, with 0 and 1 among its values, and `accuracy`, in any unit.
        by: columns whose values differ from line to line.
        accuracy: the name of the column.

    Returns:
        The columns `by`, worse (the lower accuracy of both ends), and barrier (0 where accuracy never falls).
    """
    if gaps := [name for name in ("fraction", accuracy) if lines[name].isna().any()]:
        raise ValueError(f"Expected numbers in {gaps[0]!r}, was given NaN: measure anew, or drop these rows.")
    rows = []
    for key, part in lines.groupby(list(by), sort=False, dropna=False):
        fraction, value = part["fraction"], part[accuracy]
        if not (ends := sum(fraction == 0)) == sum(fraction == 1) == 1:
            raise ValueError(
                f"Expected one row at the fractions 0 and 1 each, found {ends} and {sum(fraction == 1)} at "
                f"{dict(zip(by, key, strict=True))}: name in `by` all columns that tell lines apart, such as "
                "batch_norm."
            )
        begin, end = (value[fraction == at].item() for at in (0, 1))
        # the chord: what accuracy would be if it changed in proportion
        chord = (1 - fraction) * begin + fraction * end
        rows.append([*key, min(begin, end), (chord - value).max()])
    return pd.DataFrame(rows, columns=[*by, "worse", "barrier"])
