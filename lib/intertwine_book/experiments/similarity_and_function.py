"""Similarity against function: experiments 3 and 4 and §6.4 of csiszarik2021."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import torch

from intertwine.groups import GReLU, MatrixGroup, Orthogonal, Permutations
from intertwine.similarity import cca, cka, r2, svcca
from intertwine_book.experiments.join import Join, from_identity, from_least_squares, trained

INDICES = {
    "accuracy": "accuracy, %",
    "cka": "CKA(AM, B)",
    "r2_to_model2": "R²(AM, B)",
    "r2_from_model2": "R²(B, AM)",
    "r2_as_it_is": "1 − |AM − B|²/|B|²",
    "cca": "CCA",
    "svcca": "SVCCA",
}
"""Columns of `along_training`, as figures call them."""


def along_training(
    train: Join, test: Join, *, epochs: int, lr: float = 1e-3, generator: torch.Generator
) -> pd.DataFrame:
    """Experiment 3: similarity indices while a stitch, begun at least squares, is trained by the task loss.

    Example:
        >>> from intertwine.models import myrtle
        >>> networks = [myrtle(2, in_channels=1, seed=seed).eval() for seed in (0, 1)]
        >>> images, labels = torch.randn(30, 1, 8, 8), torch.arange(30) % 10
        >>> join = Join.of(*networks, "relu2", images, labels)
        >>> table = along_training(join, join, epochs=1, generator=torch.Generator().manual_seed(0))
        >>> table["epoch"].tolist()
        [0, 1]

    Returns:
        Columns epoch, accuracy (percent), cross_entropy, cka (biased, of flattened maps, as in the paper),
        r2_to_model2 = R²_LR(AM, B), which no invertible M moves, r2_from_model2 = R²_LR(B, AM), r2_as_it_is
        = 1 − ‖AM − B‖²/‖B − mean‖², cca and svcca, all of the test images; positions are samples but for CKA.
    """
    stitch, rows = from_least_squares(train), []
    for epoch, now in enumerate(trained(train, stitch, epochs, lr=lr, generator=generator)):
        with torch.no_grad():
            moved = now(test.first)
            residual = (moved - test.second).square().sum()
            total = (test.second - test.second.mean((0, 2, 3), keepdim=True)).square().sum()
            row = {
                "cka": cka(moved, test.second, estimator="biased", spatial="features"),
                "r2_to_model2": r2(moved, test.second, spatial="samples"),
                "r2_from_model2": r2(test.second, moved, spatial="samples"),
                "r2_as_it_is": 1 - residual / total,
                "cca": cca(moved, test.second, spatial="samples"),
                "svcca": svcca(moved, test.second, spatial="samples"),
            }
        values = {name: value.item() for name, value in row.items()}
        rows.append({"epoch": epoch, **test.judge(now), **values})
    return pd.DataFrame(rows)


def start_and_end(table: pd.DataFrame) -> pd.DataFrame:
    """Start and end of `along_training`, one row for each pair.

    Example:
        >>> curve = {"pair": 0, "epoch": [0, 1], **{name: [0.5, 0.75] for name in INDICES}}
        >>> start_and_end(pd.DataFrame(curve))["cka_end"].tolist()
        [0.75]

    Args:
        table: its tables one below the other, with a column pair.

    Returns:
        Columns pair and, for each of `INDICES`, <name>_start, <name>_end and <name>_moved (the largest minus
        the smallest value).
    """
    by_pair = table.sort_values("epoch").groupby("pair")
    columns = {}
    for name in INDICES:
        columns[f"{name}_start"], columns[f"{name}_end"] = by_pair[name].first(), by_pair[name].last()
        columns[f"{name}_moved"] = by_pair[name].max() - by_pair[name].min()
    return pd.DataFrame(columns).reset_index()


def cka_after_training(
    train: Join, test: Join, *, epochs: int, lr: float = 1e-3, generator: torch.Generator
) -> float:
    """CKA (biased, flattened) of a trained stitch's activations with model 2's: the baseline of §6.3.

    Example:
        >>> from intertwine.models import myrtle
        >>> networks = [myrtle(2, in_channels=1, seed=seed).eval() for seed in (0, 1)]
        >>> join = Join.of(*networks, "relu2", torch.randn(30, 1, 8, 8), torch.arange(30) % 10)
        >>> 0 < cka_after_training(join, join, epochs=1, generator=torch.Generator().manual_seed(0)) < 1
        True
    """
    *_, last = trained(train, from_least_squares(train), epochs, lr=lr, generator=generator)
    with torch.no_grad():
        return cka(last(test.first), test.second, estimator="biased", spatial="features").item()


def pressed(
    train: Join, test: Join, *, penalty: float, epochs: int, lr: float = 1e-3, generator: torch.Generator
) -> pd.DataFrame:
    """Experiment 4: a stitch of a network with itself, from the identity, with its CKA as a penalty.

    Example:
        >>> from intertwine.models import myrtle
        >>> network = myrtle(2, in_channels=1).eval()
        >>> images, labels = torch.randn(30, 1, 8, 8), torch.arange(30) % 10
        >>> join, draw = Join.of(network, network, "relu2", images, labels), torch.Generator().manual_seed(0)
        >>> pressed(join, join, penalty=1.0, epochs=1, generator=draw)["cka"].round(6)[0].item()
        1.0

    Returns:
        Columns epoch, accuracy (percent), cross_entropy, cka (biased, flattened) of the test images.
    """
    stitch = from_identity(train)
    rows = []
    steps = trained(train, stitch, epochs, lr=lr, penalty=penalty, generator=generator)
    for epoch, now in enumerate(steps):
        with torch.no_grad():
            value = cka(now(test.first), test.second, estimator="biased", spatial="features")
        rows.append({"epoch": epoch, **test.judge(now), "cka": value.item()})
    return pd.DataFrame(rows)


def moved_by_groups(
    test: Join, trials: int, *, generator: torch.Generator, groups: Sequence[str] = ("orthogonal",)
) -> pd.DataFrame:
    """§6.4: maps that leave a measure unchanged, inserted into a network.

    Example:
        >>> from intertwine.models import myrtle
        >>> network = myrtle(2, in_channels=1).eval()
        >>> join = Join.of(network, network, "relu2", torch.randn(30, 1, 8, 8), torch.arange(30) % 10)
        >>> table = moved_by_groups(join, 1, generator=torch.Generator().manual_seed(0))
        >>> table["cka"].round(6).tolist()
        [1.0]

    Args:
        trials: draws from each group.
        groups: out of "orthogonal", "permutations" and "G_ReLU".

    Returns:
        Columns group, trial, accuracy, cross_entropy, cka (biased, flattened), base_accuracy.
    """
    makers: dict[str, Callable[[int], MatrixGroup]] = {
        "orthogonal": Orthogonal,
        "permutations": Permutations,
        "G_ReLU": GReLU,
    }
    stitch, rows = from_identity(test), []
    base = test.judge(stitch)["accuracy"]
    for group in groups:
        for trial in range(trials):
            A = makers[group](test.first.shape[1]).sample(generator)
            with torch.no_grad():
                stitch.weight.copy_(A[..., None, None])
                value = cka(stitch(test.first), test.second, estimator="biased", spatial="features")
            row = {"group": group, "trial": trial, **test.judge(stitch)}
            rows.append(row | {"cka": value.item(), "base_accuracy": base})
    return pd.DataFrame(rows)
