"""Figure 3 on networks trained on ImageNet: EfficientNet-Lite, behind ReLU6 and at linear outputs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import torch
from torch.optim.swa_utils import update_bn

from intertwine.features import activations
from intertwine_book import models
from intertwine_book.data import Segmented
from intertwine_book.experiments.interpretability.against_rotation import (
    STATISTICS,
    differences,
    interpretability,
)
from intertwine_book.experiments.interpretability.networks import camvid
from intertwine_book.results import Run

LAYER_ENDINGS = {"behind the first ReLU6": ".relu1", "behind the second ReLU6": ".relu2", "linear output": ""}
STAGE_ENDS = ((16, 15, 11, 8, 5), (21, 20, 15, 11, 7), (21, 20, 15, 11, 7))  # of the stages of Lite0, 1, 2
MOST_UNITS = 256  # units; of more, so many are drawn


@cache
def frames(split: str, limit: int | None = None) -> Segmented:
    """Frames of CamVid as large as they are, normalised as the networks take them."""
    return camvid(split, limit=limit, mean=models.LITE_MEAN, std=models.LITE_STD, device="cpu")


@cache
def lite(number: int, weights: str) -> models.Network:
    """EfficientNet-Lite, trained, or untrained with batch norm's statistics of 50 training frames."""
    if weights == "trained":
        return models.efficientnet_lite(number)
    fresh = models.efficientnet_lite(number, pretrained=False, seed=number)
    update_bn(frames("train", 50).data.images.split(10), fresh)
    return fresh.eval()


def cases(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """The last blocks of the five deepest of seven stages, trained and untrained, the deepest first.

    Example:
        >>> len(cases([0, 1, 2])), cases([0])[0]
        (30, {'network': 0, 'block': 16, 'weights': 'trained'})
    """
    return [
        {"network": number, "block": STAGE_ENDS[number][stage], "weights": weights}
        for stage in range(5)
        for weights in ("trained", "untrained")
        for number in numbers
    ]


def dissected(
    masked: Segmented,
    network: models.Network,
    *,
    block: int,
    seed: int,
    rotations: int,
    alphas: Sequence[float],
    quantiles: Sequence[float],
    equal_area: bool = False,
) -> pd.DataFrame:
    """One block at its `LAYER_ENDINGS`: a row for each layer, quantile and α, with means over rotations.

    The seed decides on the units that are drawn, on the rotations and on the shuffled masks.
    """
    layers = {k: f"block{block}{end}" for k, end in LAYER_ENDINGS.items()}
    begin = network[: [*dict(network.named_children())].index(f"block{block}") + 1]
    found, tables = activations(begin, [*layers.values()], masked.data.images, batch_size=10), []
    asked: dict[str, Any] = {"rotations": rotations, "alphas": alphas, "quantiles": quantiles, "seed": seed}
    asked["equal_area"] = equal_area
    for layer, name in layers.items():
        units = found.pop(name)
        draw = torch.randperm(units.shape[1], generator=torch.Generator().manual_seed(seed))
        units = units[:, draw[:MOST_UNITS].sort().values]
        table = interpretability(units, masked.masks, width=units.shape[1], **asked)
        means = table.drop(columns="rotation").groupby(["quantile", "alpha"], as_index=False).mean()
        tables.append(means.assign(layer=layer, units=units.shape[1]))
    return pd.concat(tables, ignore_index=True).round(6)


def every_third_pixel(masked: Segmented) -> Segmented:
    """The same images, with masks of the pixels in the middle of each 3 × 3: maps upsampled to them agree.

    Example:
        >>> from intertwine_book.data import scenes
        >>> masked = scenes(2, seed=0, device="cpu")
        >>> masked.masks.codes.shape, every_third_pixel(masked).masks.codes.shape
        (torch.Size([2, 32, 32]), torch.Size([2, 11, 11]))
    """
    return Segmented(masked.data, replace(masked.masks, codes=masked.masks.codes[:, 1::3, 1::3]))


def areas(run: Run) -> pd.DataFrame:
    """Own and random bases with the level of the map and with that of the pixels, which fixes the area."""
    limit, rotations = (run.parameters[name] for name in ("lite_frames", "lite_rotations"))
    blocks = cases(run.parameters["lite_networks"])

    def one(network: int, block: int, weights: str, equal_area: bool) -> pd.DataFrame:
        asked: dict[str, Any] = {"block": block, "seed": 1000 * network + block, "rotations": rotations}
        asked |= {"alphas": [0.0, 1.0], "quantiles": [0.005], "equal_area": equal_area}
        return dissected(every_third_pixel(frames("test", limit)), lite(network, weights), **asked)

    return run.steps(
        "imagenet_areas",
        [block | {"equal_area": each} for block in blocks for each in (True, False)],
        one,
        uses=["lite_frames", "lite_rotations"],
        data=frames("test", limit).data,
    )


def own_and_random(table: pd.DataFrame) -> pd.DataFrame:
    """IoU, selected area and share of units without a pixel, in both bases, as means over blocks.

    Example:
        >>> rows = [{"alpha": alpha, "mean_iou": 0.1, "area": 0.005, "empty": 0.0} for alpha in (0.0, 1.0)]
        >>> case = {"layer": "linear output", "network": 0, "weights": "trained", "equal_area": True}
        >>> found = own_and_random(pd.DataFrame(rows).assign(**case))
        >>> found[["own_mean_iou", "random_mean_iou"]].values.tolist()
        [[0.1, 0.1]]
    """
    by = ["layer", "network", "weights", "equal_area"]
    wide = table.pivot_table(["mean_iou", "area", "empty"], by, "alpha")
    names = {0.0: "own", 1.0: "random"}
    return wide.set_axis([f"{names[alpha]}_{value}" for value, alpha in wide], axis=1).reset_index()


def write(run: Run) -> None:
    """Write what a run finds: every block, the slopes of each layer, and the tables that claims read."""
    limit, rotations = (run.parameters[name] for name in ("lite_frames", "lite_rotations"))

    def one(network: int, block: int, weights: str) -> pd.DataFrame:
        asked: dict[str, Any] = {"block": block, "seed": 1000 * network + block, "rotations": rotations}
        asked |= {"alphas": [0.0, 0.5, 1.0], "quantiles": [0.005]}
        return dissected(frames("test", limit), lite(network, weights), **asked)

    facts: dict[str, Any] = {"uses": ["lite_frames", "lite_rotations"], "data": frames("test", limit).data}
    table = run.steps("imagenet", cases(run.parameters["lite_networks"]), one, **facts)
    slopes = differences(table, ["layer", "quantile", "network"], STATISTICS)
    # the two ReLU6 are one kind of layer
    table["kind"] = table["layer"].where(table["layer"] == "linear output", "behind ReLU6")
    falls = differences(table, ["kind", "network"], STATISTICS)
    falls["fall"] = -falls["difference"]
    own = table.query("alpha == 0 and weights == 'trained'")
    run.write(
        **facts,
        imagenet_equal_area=own_and_random(areas(run)),
        imagenet_slopes=slopes,
        imagenet_falls=falls.pivot_table("fall", ["statistic", "network"], "kind").reset_index(),
        imagenet_own=own.pivot_table("above_0.04", "network", "kind").reset_index(),
    )
