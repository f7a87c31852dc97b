"""The tables that claims and sentences read, beside the curves that chapter 4b computes on its page."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd
import torch

from intertwine.data import Dataset
from intertwine.features import activations
from intertwine.similarity import MEASURES
from intertwine.stitching import Junction
from intertwine_book import data
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.published import resnet20_groups
from intertwine_book.experiments.similarity_and_function import indices, own_setting, sensitivity
from intertwine_book.models import Network
from intertwine_book.results import Run

NETWORK_PARAMETERS = ("dataset", "networks", "width", "epochs", "train_images", "test_images")
"""Parameters that decide on networks and images."""
NetworkPair = tuple[Network, Network]
PARTS = ("train", "test")


def write(
    run: Run,
    pairs: Sequence[NetworkPair],
    junction: Callable[..., Junction],
    sets: tuple[Dataset, Dataset],
    generator: torch.Generator,
    *,
    curves_4: pd.DataFrame,
) -> None:
    """Write them: experiment 3 in the paper's own setting, the end of 4, §6.3, §6.4, two tests of measures.

    `junction(one, other, layer)` is where two networks are joined, by default at the layer of the chapter.
    """
    words: dict[str, Any] = {"groups": ("orthogonal", "permutations", "G_ReLU"), "generator": generator}
    drawn = (
        indices.moved_by_groups(junction(one, one), run.parameters["trials"], **words).assign(pair=k)
        for k, (one, _) in enumerate(pairs)
    )
    moved = pd.concat(drawn, ignore_index=True)
    run.write(
        experiment_4=indices.trade_off(curves_4),
        section_6_4=moved.assign(cka_short_of_1=1 - moved["cka"]),
    )
    own_setting.write(run, pairs, NETWORK_PARAMETERS)
    _objective(run, pairs, junction)
    _baseline(run, pairs, junction)
    if run.parameters["networks"] == "tiny10":
        _baseline_of_resnet(run, sets[0].images.device)
    _tests_of_measures(run, [*chain(*pairs[:3])], sets)


def _objective(run: Run, pairs: Sequence[NetworkPair], junction: Callable[..., Junction]) -> None:
    epochs, lr, seed = run.parameters["stitch_epochs"] // 2, run.parameters["penalty_lr"], run.seed

    @run.table(
        cases=[{"pair": k, "couple": two} for k, two in enumerate(pairs)],
        uses=[*NETWORK_PARAMETERS, "layer", "stitch_epochs", "penalty_lr"],
    )
    def objective(pair: int, couple: NetworkPair) -> dict[str, float]:
        return indices.cka_as_objective(junction(*couple), epochs=epochs, lr=lr, seed=seed + pair)


def _baseline(run: Run, pairs: Sequence[NetworkPair], junction: Callable[..., Junction]) -> None:
    networks, seed = run.parameters["networks"], run.seed
    epochs, lr = run.parameters["stitch_epochs"], run.parameters["stitch_lr"]

    @run.table(
        cases=[
            {"pair": k, "couple": two, "number": n}
            for k, two in enumerate(pairs)
            for n in run.parameters["baseline_layers"]
        ],
        uses=[*NETWORK_PARAMETERS, "stitch_epochs", "stitch_lr"],
    )
    def baseline_6_3(pair: int, number: int, couple: NetworkPair) -> dict[str, float | str]:
        at = junction(*couple, f"relu{number}")
        value = indices.cka_after_training(at, epochs=epochs, lr=lr, seed=seed + pair)
        return {"cka": value, "networks": networks}


def _baseline_of_resnet(run: Run, device: torch.device) -> None:
    """Published pairs of ResNet-20, whose stitches are trained for fewer epochs."""
    whole = [data.load(run.parameters["dataset"], split, device=device) for split in PARTS]
    epochs, lr, seed = run.parameters["stitch_epochs"] // 5, run.parameters["stitch_lr"], run.seed

    def baseline(pair: int, layer: str, couple: NetworkPair, sets: Mapping[str, Any]) -> dict[str, float]:
        at = Junction(*couple, layer, **sets, device=device)
        return {"cka": indices.cka_after_training(at, epochs=epochs, lr=lr, seed=seed + pair)}

    at_most = {part: run.parameters[f"{part}_images"] for part in PARTS}
    for end, (pairs, sets) in resnet20_groups(whole, at_most).items():
        cases = [
            {"pair": k, "layer": layer, "couple": two, "sets": sets}
            for k, two in enumerate(pairs)
            for layer in cuts(two[1])
        ]
        uses = [*NETWORK_PARAMETERS, "stitch_epochs", "stitch_lr"]
        run.table(cases=cases, uses=uses, name=f"baseline_6_3_resnet{end}")(baseline)


def _tests_of_measures(run: Run, networks: Sequence[Network], sets: tuple[Dataset, Dataset]) -> None:
    train, test = sets
    chosen = ("grelu cka", "cka", "grelu procrustes", "procrustes", "cca")
    measures = {measure: MEASURES[measure] for measure in chosen}
    known, seen = ([_pooled(network, each) for network in networks] for each in sets)
    at = f"relu{run.parameters['layer']}"
    inputs, tests = ([features[at] for features in each] for each in (known, seen))
    kept = [1.0, 0.9, 0.75, 0.5, 0.25, 0.1, 0.05]
    taken = sensitivity.sensitivity(inputs, train.labels, tests, test.labels, measures, kept)
    taken["ratio"] = taken["dissimilarity"] / taken["between_seeds"]
    run.write(
        layers=sensitivity.between_layers(seen),
        specificity=sensitivity.specificity(seen, measures),
        sensitivity=taken.assign(share=100 * (1 - taken["kept"])),
    )


def _pooled(network: Network, images: Dataset) -> dict[str, torch.Tensor]:
    """Every layer's features, averaged over space."""
    found = activations(network, [layer.name for layer in network.hidden_layers()], images.images)
    return {layer: features.flatten(2).mean(2) for layer, features in found.items()}
