"""Chapter 4b: similarity against function (csiszarik2021, experiments 3 and 4, §6.4); tests of measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from intertwine.groups import GReLU, MatrixGroup, Orthogonal, Permutations
from intertwine.similarity import cca, cka, r2, svcca
from intertwine.stitching import Junction, Stitched, StitchRecipe, stitch_at

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


def along_training(junction: Junction, *, epochs: int, lr: float = 1e-3, seed: int) -> pd.DataFrame:
    """Experiment 3: similarity indices while a stitch, begun at least squares, is trained by the task loss.

    Example:
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> networks = [myrtle(2, in_channels=1, seed=seed).eval() for seed in (0, 1)]
        >>> test = data.load("digits", "test")
        >>> junction = Junction(*networks, "relu2", test, test=test, device="cpu")
        >>> along_training(junction, epochs=1, seed=0)["epoch"].tolist()
        [0, 1]

    Returns:
        Columns epoch, accuracy (percent), cross_entropy, cka (biased, of flattened maps, as in the paper),
        r2_to_model2 = R²_LR(AM, B), which no invertible M moves, r2_from_model2 = R²_LR(B, AM), r2_as_it_is
        = 1 − ‖AM − B‖²/‖B − mean‖², cca and svcca, all of the test images; positions are samples but for CKA.
    """
    first, second = junction.activations("test")
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

    recipe = _adam(junction, epochs, lr)
    return _curves(stitch_at(junction, "least squares", recipe=recipe, measure=indices, seed=seed))


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


def cka_after_training(junction: Junction, *, epochs: int, lr: float = 1e-3, seed: int) -> float:
    """CKA (biased, flattened) of a trained stitch's activations with model 2's: the baseline of §6.3."""
    first, second = junction.activations("test")
    network = stitch_at(junction, "least squares", recipe=_adam(junction, epochs, lr), seed=seed)
    with torch.no_grad():
        return flat_cka(network.stitch(first), second).item()


def pressed(junction: Junction, *, penalty: float, epochs: int, lr: float = 1e-3, seed: int) -> pd.DataFrame:
    """Experiment 4: a stitch of a network with itself, from the identity, with its CKA as a penalty.

    Example:
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> network, test = myrtle(2, in_channels=1).eval(), data.load("digits", "test")
        >>> junction = Junction(network, network, "relu2", test, test=test, device="cpu")
        >>> pressed(junction, penalty=1.0, epochs=1, seed=0)["cka"].round(6)[0].item()
        1.0

    Returns:
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


def moved_by_groups(
    junction: Junction, trials: int, *, groups: Sequence[str] = ("orthogonal",), generator: torch.Generator
) -> pd.DataFrame:
    """§6.4: maps that leave a measure unchanged, inserted into a network.

    Example:
        >>> from intertwine import data
        >>> from intertwine.models import myrtle
        >>> network, test = myrtle(2, in_channels=1).eval(), data.load("digits", "test")
        >>> junction = Junction(network, network, "relu2", test, test=test, device="cpu")
        >>> table = moved_by_groups(junction, 1, generator=torch.Generator().manual_seed(0))
        >>> table["cka"].round(6).tolist()
        [1.0]

    Args:
        trials: draws from each group.
        groups: out of "orthogonal", "permutations" and "G_ReLU".

    Returns:
        Columns group, trial, accuracy (percent), cross_entropy, cka (biased, flattened), base_accuracy.
    """
    makers: dict[str, Callable[[int], MatrixGroup]] = {
        "orthogonal": Orthogonal,
        "permutations": Permutations,
        "G_ReLU": GReLU,
    }
    first, second = junction.activations("test")
    base = 100 * junction.judge(stitch_at(junction, "identity")).accuracy
    rows = []
    for group in groups:
        for trial in range(trials):
            network = stitch_at(junction, makers[group](junction.widths[0]).sample(generator))
            judged = junction.judge(network)
            with torch.no_grad():
                value = flat_cka(network.stitch(first), second).item()
            row = {"group": group, "trial": trial, "accuracy": 100 * judged.accuracy}
            rows.append(row | {"cross_entropy": judged.loss, "cka": value, "base_accuracy": base})
    return pd.DataFrame(rows)


def flat_cka(X: Tensor, Y: Tensor) -> Tensor:
    """CKA as csiszarik2021 has it: biased, of flattened maps."""
    return cka(X, Y, estimator="biased", spatial="features")


def _adam(junction: Junction, epochs: int, lr: float) -> StitchRecipe:
    n, size = len(junction.labels("train")), 128
    return StitchRecipe(epochs, size, lr, optimizer="adam", drop_last=n > size and n % size == 1)


def _curves(network: Stitched) -> pd.DataFrame:
    table = network.history.drop(columns=["lr", "loss", "accuracy", "seconds"], errors="ignore")
    table["test_accuracy"] *= 100
    return table.rename(columns={"test_accuracy": "accuracy", "test_loss": "cross_entropy"})


Features = Mapping[str, Float[Tensor, "n ..."]]
"""Layer → features, of one network."""
Measures = Mapping[str, Callable[[Tensor, Tensor], Tensor]]
"""Name → similarity, higher is more similar."""


def probe(
    X: Float[Tensor, "n c"],
    labels: Int[Tensor, " n"],
    X_test: Float[Tensor, "m c"],
    labels_test: Int[Tensor, " m"],
    *,
    ridge: float = 1e-3,
) -> float:
    """Accuracy in per cent of a linear classifier, fitted to the classes by ridge regression.

    Example:
        >>> X, labels = torch.eye(3).repeat(4, 1), torch.arange(3).repeat(4)
        >>> probe(X, labels, X, labels)
        100.0

    Args:
        ridge: times the mean variance of the channels.
    """
    X, X_test = X.double(), X_test.double()
    mean = X.mean(0)
    centred, targets = X - mean, torch.nn.functional.one_hot(labels).double()
    scatter = centred.T @ centred
    scale = ridge * scatter.diagonal().mean().clamp(min=1e-300)
    weight = torch.linalg.solve(scatter + scale * torch.eye(len(scatter)).to(scatter), centred.T @ targets)
    guesses = ((X_test - mean) @ weight + targets.mean(0)).argmax(1)
    return 100 * (guesses == labels_test).double().mean().item()


def specificity(networks: Sequence[Features], measures: Measures) -> pd.DataFrame:
    """Is a layer of one network most similar to the same layer of another, trained from another seed?

    Example:
        >>> from intertwine.similarity import cka
        >>> first = {"a": torch.randn(20, 3), "b": torch.randn(20, 3)}
        >>> bool(specificity([first, first], {"cka": cka})["found"].all())
        True

    Args:
        networks: the features of all layers, of networks alike.
        measures: by name.

    Returns:
        Columns measure, pair, layer, same (similarity with the same layer of the other network), best_other
        (with the most similar other layer), found (whether same is larger); in both directions.
    """
    rows = []
    for name, measure in measures.items():
        for pair, (first, second) in enumerate(combinations(networks, 2)):
            values = {(a, b): measure(first[a], second[b]).item() for a in first for b in second}
            for layer in first:
                for side in (0, 1):
                    line = {key[1 - side]: v for key, v in values.items() if key[side] == layer}
                    same = line.pop(layer)
                    row = {"measure": name, "pair": pair, "layer": layer, "same": same}
                    rows.append(row | {"best_other": max(line.values()), "found": same > max(line.values())})
    return pd.DataFrame(rows)


def sensitivity(
    networks: Sequence[Float[Tensor, "n c"]],
    labels: Int[Tensor, " n"],
    test: Sequence[Float[Tensor, "m c"]],
    test_labels: Int[Tensor, " m"],
    measures: Measures,
    kept: Sequence[float],
) -> pd.DataFrame:
    """Principal components are taken away: does a measure notice before a linear probe does?

    Example:
        >>> from intertwine.similarity import cka
        >>> X, labels = torch.randn(30, 4), torch.arange(30) % 3
        >>> table = sensitivity([X, -X], labels, [X, -X], labels, {"cka": cka}, [1.0, 0.5])
        >>> abs(table["dissimilarity"].round(6).tolist()[0])
        0.0

    Args:
        networks: one layer of several networks, on the training images.
        labels: of them.
        test: the same layer on test images.
        test_labels: of them.
        measures: by name.
        kept: shares of the components, those of largest variance, that remain.

    Returns:
        Columns measure, network, kept, dissimilarity (1 minus the measure of the whole test features with
        the rest), between_seeds (1 minus the mean measure between the networks), detected (whether the
        first is larger: only then does the measure tell a reduced layer from a seed), accuracy (of a
        probe of the rest, percent), lost (points of accuracy).
    """
    between = {
        name: 1 - sum(m(A, B).item() for A, B in combinations(test, 2)) / len(list(combinations(test, 2)))
        for name, m in measures.items()
    }
    rows = []
    for network, (X, X_test) in enumerate(zip(networks, test, strict=True)):
        X, X_test = X.double(), X_test.double()
        mean = X.mean(0)
        _, _, Vh = torch.linalg.svd(X - mean, full_matrices=False)
        whole = probe(X, labels, X_test, test_labels)
        for share in kept:
            V = Vh[: max(1, round(share * len(Vh)))]
            left, left_test = ((Z - mean) @ V.T @ V + mean for Z in (X, X_test))
            accuracy = probe(left, labels, left_test, test_labels)
            for name, measure in measures.items():
                value = 1 - measure(X_test, left_test).item()
                row = {"measure": name, "network": network, "kept": share, "dissimilarity": value}
                row |= {"between_seeds": between[name], "detected": value > between[name]}
                rows.append(row | {"accuracy": accuracy, "lost": whole - accuracy})
    return pd.DataFrame(rows)
