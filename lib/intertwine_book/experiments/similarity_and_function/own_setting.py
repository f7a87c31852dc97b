"""Experiment 3 of csiszarik2021 in its own setting: its recipe, and all images, flipped and shifted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from torch import nn

from intertwine.stitching import STITCH_RECIPES, Junction
from intertwine_book import data
from intertwine_book.experiments.matching.networks import cuts
from intertwine_book.experiments.published import published_pairs
from intertwine_book.experiments.similarity_and_function.indices import along, start_and_end
from intertwine_book.experiments.similarity_and_function.products import from_products
from intertwine_book.results import Run


def write(run: Run, pairs: Sequence[tuple[nn.Module, nn.Module]], uses: Sequence[str]) -> None:
    """Compute and write figure_4, the indices after every epoch, and experiment_3, their start and end.

    A stitch before the ReLU is trained as long as `longer_epochs` says, to give the answers of model 2; in
    figure_4_after one that is behind it. The parameters beside the tables are those of these stitches.

    Args:
        uses: the names of the parameters that decide on the networks.
    """
    given = run.parameters
    train, test = (data.load(given["dataset"], part, device=run.device) for part in ("train", "test"))
    if given["networks"] == "tiny10":
        _, (train, test) = published_pairs("tiny10", 1, train, test)
    recipe = replace(STITCH_RECIPES["csiszarik2021"], epochs=given["longer_epochs"], targets="soft")
    used = {"train_images": len(train), "test_images": len(test), "stitch_epochs": recipe.epochs}
    run = replace(run, parameters={**given, **used})
    sets: dict[str, Any] = {"train": train, "test": test, "fit_images": len(train)}
    uses = [*uses, "layer", "stitch_epochs"]

    def curves(pair: int, layer: str, couple: tuple[nn.Module, nn.Module]) -> pd.DataFrame:
        place = Junction(*couple, layer, **sets, dtype="float32", device=run.device)
        return along(place, recipe, from_products, seed=run.seed + pair)

    for name, after in {"figure_4": False, "figure_4_after": True}.items():
        cases = [
            {"pair": k, "layer": cuts(couple[1], [given["layer"]], after=after)[0], "couple": couple}
            for k, couple in enumerate(pairs)
        ]
        table = run.table(cases=cases, uses=uses, data=train, name=name)(curves)
        if not after:
            run.write(uses=uses, data=train, experiment_3=start_and_end(table))
