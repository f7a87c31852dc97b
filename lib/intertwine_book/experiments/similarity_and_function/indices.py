"""Similarity indices against function: experiments 3 and 4 and §6.4 of csiszarik2021."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import pandas as pd
import torch
from torch import Tensor, nn

from intertwine.groups import GReLU, MatrixGroup, Orthogonal, Permutations
from intertwine.similarity import cca, cka, r2, svcca
from intertwine.stitching import Junction, Stitched, StitchRecipe, stitch_at
from intertwine_book.experiments.rows import Row, tabled
from intertwine_book.experiments.similarity_and_function.products import Indices

INDICES = ("accuracy", "cka", "r2_to_model2", "r2_from_model2", "r2_as_it_is", "cca", "svcca")
"""Columns of `along_training`; `along` may have r2_flattened as well."""
Comparison = Callable[[Tensor, Tensor], Indices]
GROUPS: dict[str, Callable[[int], MatrixGroup]]
GROUPS = {"orthogonal": Orthogonal, "permutations": Permutations, "G_ReLU": GReLU}


def along_training(junction: Junction, *, epochs: int, lr: float = 1e-3, seed: int) -> pd.DataFrame:
    """Experiment 3: similarity indices while a stitch, begun at least squares, is trained by the task loss.

    Columns epoch, accuracy (percent), cross_entropy, and those of `compared`, all of the test images.
    """
    return along(junction, _adam(junction, epochs, lr), compared, seed=seed)


def along(junction: Junction, recipe: StitchRecipe, indices: Comparison, *, seed: int) -> pd.DataFrame:
    """Experiment 3 by another recipe, or with other indices: `compared`, or `products.from_products`."""
    measure = indices(*junction.activations("test"))
    return _curves(stitch_at(junction, "least squares", recipe=recipe, measure=measure, seed=seed))


def compared(first: Tensor, second: Tensor) -> Indices:
    """Indices of what a stitch makes of model 1's activations A, AM, with those of model 2, B.

    They are cka (biased, of flattened maps, as in the paper), r2_to_model2 = R²_LR(AM, B), which no
    invertible M moves, r2_from_model2 = R²_LR(B, AM), r2_as_it_is = 1 − ‖AM − B‖²/‖B − mean‖², cca and svcca.
    Positions are samples but for CKA.
    """
    total = (second - second.mean((0, 2, 3), keepdim=True)).square().sum()

    def indices(stitch: nn.Module) -> dict[str, float]:
        moved = stitch(first)
        row = {
            "cka": flat_cka(moved, second),
            "r2_to_model2": r2(moved, second, spatial="samples"),
            "r2_from_model2": r2(second, moved, spatial="samples"),
            "r2_as_it_is": 1 - (moved - second).square().sum() / total,
            "cca": cca(moved, second, spatial="samples"),
            "svcca": svcca(moved, second, spatial="samples"),
        }
        return {name: value.item() for name, value in row.items()}

    return indices


def start_and_end(table: pd.DataFrame) -> pd.DataFrame:
    """Start and end of tables of `along_training`, one below the other; one row for each pair.

    Example:
        >>> curve = {"pair": 0, "epoch": [0, 1], **{name: [0.5, 0.75] for name in INDICES}}
        >>> start_and_end(pd.DataFrame(curve))["cka_end"].tolist()
        [0.75]

    Columns pair and, for each of `INDICES` and for r2_flattened if it is there, <name>_start, <name>_end,
    <name>_moved (the largest minus the smallest value), <name>_jump (the largest change from one epoch to the
    next), <name>_apart (how far the first epoch's value is from its mean over pairs), <name>_with_accuracy
    (correlation over epochs).
    """
    by_pair = table.sort_values("epoch").groupby("pair")
    first, columns = table[table["epoch"] == 1].set_index("pair"), {}
    for name in [name for name in (*INDICES, "r2_flattened") if name in table]:
        columns[f"{name}_start"], columns[f"{name}_end"] = by_pair[name].first(), by_pair[name].last()
        columns[f"{name}_moved"] = by_pair[name].max() - by_pair[name].min()
        columns[f"{name}_jump"] = by_pair[name].agg(lambda curve: curve.diff().abs().max())
        columns[f"{name}_apart"] = (first[name] - first[name].mean()).abs()
        columns[f"{name}_with_accuracy"] = [part["accuracy"].corr(part[name]) for _, part in by_pair]
    return pd.DataFrame(columns).reset_index()


def cka_after_training(junction: Junction, *, epochs: int, lr: float = 1e-3, seed: int) -> float:
    """CKA (biased, flattened) of a trained stitch's activations with model 2's: the baseline of §6.3."""
    recipe = _adam(junction, epochs, lr)
    return _cka(junction, stitch_at(junction, "least squares", recipe=recipe, seed=seed))


def pressed(junction: Junction, *, penalty: float, epochs: int, lr: float = 1e-3, seed: int) -> pd.DataFrame:
    """Experiment 4: a stitch of a network with itself, from the identity, with its CKA as a penalty.

    Columns epoch, accuracy (percent), cross_entropy, cka (biased, flattened) of the test images.
    """
    first, second = junction.activations("test")
    network = stitch_at(
        junction,
        "full",
        start="identity",
        recipe=_adam(junction, epochs, lr),
        penalty=lambda moved, theirs: penalty * flat_cka(moved, theirs),
        measure=lambda stitch: {"cka": flat_cka(stitch(first), second).item()},
        seed=seed,
    )
    return _curves(network)


def trade_off(curves: pd.DataFrame, level: float = 0.75) -> pd.DataFrame:
    """Experiment 4 at all epochs, beside its control: tables of `pressed`, one row for each network.

    Example:
        >>> curves = pd.DataFrame({"pair": 0, "weight": [0.0, 0.0, 2.0, 2.0], "epoch": [0, 1, 0, 1]})
        >>> curves = curves.assign(accuracy=[90.0, 88.5, 90.0, 88.0], cka=[1.0, 1.0, 1.0, 0.5])
        >>> trade_off(curves)[["lowest", "lost", "control", "beyond_control"]].values.tolist()
        [[0.5, 2.0, 1.5, 0.5]]

    The weight 0 is the control. Columns pair; lowest, of the CKA of all epochs; lost, points of accuracy
    since epoch 0, mean over the epochs with a CKA below `level`; control, the same of the control at the same
    epochs; beyond_control, their difference.
    """
    curves = curves.sort_values(["weight", "epoch"])
    curves["lost"] = curves.groupby("pair")["accuracy"].transform("first") - curves["accuracy"]
    wide = curves.pivot(index=["pair", "epoch"], columns="weight", values=["lost", "cka"])
    columns = [wide["cka"].iloc[:, -1], wide["lost"].iloc[:, -1], wide["lost"][0.0]]
    every = pd.concat(columns, axis=1, keys=["cka", "lost", "control"])
    low = every[every["cka"] < level]
    found = every.groupby("pair")[["cka"]].min().rename(columns={"cka": "lowest"})
    found = found.join(low.groupby("pair")[["lost", "control"]].mean())
    return found.assign(beyond_control=found["lost"] - found["control"]).reset_index()


def cka_as_objective(junction: Junction, *, epochs: int, lr: float = 1e-3, seed: int) -> dict[str, float]:
    """§6.4: the stitch that CKA alone chooses, from the identity, beside least squares, the usual direct one.

    Of both, cka (biased, flattened) and accuracy (percent) on test images: <name>_chosen, <name>_fitted.
    """
    curves = pressed(junction, penalty=-1e4, epochs=epochs, lr=lr, seed=seed)  # the task does not count
    fitted = stitch_at(junction, "least squares")
    row = {"cka_chosen": curves["cka"].iloc[-1], "accuracy_chosen": curves["accuracy"].iloc[-1]}
    return row | {
        "cka_fitted": _cka(junction, fitted),
        "accuracy_fitted": 100 * junction.judge(fitted).accuracy,
    }


@tabled
def moved_by_groups(
    junction: Junction, trials: int, *, groups: Sequence[str] = ("orthogonal",), generator: torch.Generator
) -> Iterator[Row]:
    """§6.4: maps that leave a measure unchanged, inserted into a network; groups are keys of `GROUPS`.

    Columns group, trial, accuracy (percent), cross_entropy, cka (biased, flattened), base_accuracy.
    """
    base = 100 * junction.judge(stitch_at(junction, "identity")).accuracy
    for group, trial in itertools.product(groups, range(trials)):
        network = stitch_at(junction, GROUPS[group](junction.widths[0]).sample(generator))
        judged, value = junction.judge(network), _cka(junction, network)
        row = {"group": group, "trial": trial, "accuracy": 100 * judged.accuracy}
        yield row | {"cross_entropy": judged.loss, "cka": value, "base_accuracy": base}


def flat_cka(X: Tensor, Y: Tensor) -> Tensor:
    """CKA as csiszarik2021 has it: biased, of flattened maps."""
    return cka(X, Y, estimator="biased", spatial="features")


@torch.no_grad()
def _cka(junction: Junction, network: Stitched) -> float:
    """Of a stitch's activations with model 2's, on test images."""
    first, second = junction.activations("test")
    return flat_cka(network.stitch(first), second).item()


def _adam(junction: Junction, epochs: int, lr: float) -> StitchRecipe:
    n, size = len(junction.labels("train")), 128
    return StitchRecipe(epochs, size, lr, optimizer="adam", drop_last=n > size and n % size == 1)


def _curves(network: Stitched) -> pd.DataFrame:
    table = network.history.drop(columns=["lr", "loss", "accuracy", "seconds"], errors="ignore")
    table["test_accuracy"] *= 100
    return table.rename(columns={"test_accuracy": "accuracy", "test_loss": "cross_entropy"})
