"""Tables that claims about chapter 3 read."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import nn

from intertwine.data import Dataset
from intertwine.groups import GReLU
from intertwine.stitching import StitchRecipe, barriers, stitch
from intertwine.weightspace import find_symmetries, relative_error
from intertwine_book.experiments.stitching.connectivity import connectivity
from intertwine_book.experiments.stitching.protocols import (
    beside_closed_forms,
    closed_forms,
    on_equal_terms,
    plain_sgd,
    protocols,
    recipes,
    relaxation,
)
from intertwine_book.experiments.stitching.residual import residual
from intertwine_book.experiments.stitching.stitches import Pairs, stitch_many
from intertwine_book.results import Run
from intertwine_book.stories.stitching import LAYER_NUMBERS
from intertwine_book.zoo import Spec

USES = ["dataset", "width", "epochs", "stitch_epochs", "stitch_images"]


def steps(run: Run, name: str) -> Callable[..., pd.DataFrame]:
    """For `stitch_many`: each stitch is stored when it is done, and found by the next run."""
    return partial(run.steps, name, uses=USES)


def known_elements(
    model: nn.Module, train: Dataset, image: torch.Tensor, seed: int, device: Any
) -> pd.DataFrame:
    """Stitches of a network to itself, moved by a known element of the group at one of three layers.

    Columns layer (number of the convolution), trial, channels, and error: the largest relative difference of
    the outputs of the stitched network and of the network.
    """
    space, images, rows = find_symmetries(model, image), train.images[:500], []
    for k in (1, 2, 3):
        for trial in range(5):
            n = int(model.get_parameter(f"conv{k}.weight").shape[0])
            A = GReLU(n).sample(torch.Generator().manual_seed(100 * seed + trial))
            twin = space.act(model, {f"relu{k}": A})
            joined = stitch(model, twin, at=f"relu{k}", kind="G_ReLU", train=train, device=device)
            with torch.no_grad():
                error = relative_error(joined(images), model(images))
            rows.append({"layer": k, "trial": trial, "channels": n, "error": error})
    return pd.DataFrame(rows)


def of_this_page(live: pd.DataFrame, curves: pd.DataFrame) -> dict[str, float]:
    """Numbers of the page's own run in its sentences, from the tables of which it draws its figures."""
    lost, first = live.groupby("stitch")["penalty"].mean(), live.iloc[0]
    cosines = curves.groupby(["front", "layer"])["cosine"].mean()
    return {
        **{"f-alone": first["accuracy1"], "g-alone": first["accuracy2"]},
        **{"live-full": lost["full"], "live-group": lost["G_ReLU"], "live-rank": lost["rank 1"]},
        **{f"cosine-{front}-{at.split()[1]}": value for (front, at), value in cosines.items()},
    }


def tables(
    run: Run,
    spec: Spec,
    pairs: Pairs,
    live: pd.DataFrame,
    planted: pd.DataFrame,
    *,
    recipe: StitchRecipe,
    **sets: Any,
) -> None:
    """Write what claims read beside the run's own stitches `live`; sets are keywords of `stitch_many`."""
    given = run.parameters
    names = [f"relu{k}" for k in given["layers"]]

    def stitched(name: str, pairs: Pairs, layers: Sequence[Any], kinds: dict[str, Any]) -> pd.DataFrame:
        return stitch_many(pairs, layers, kinds, steps=steps(run, name), **sets)

    stitched("norms", pairs, names, closed_forms(given["compared_ranks"]))
    stitched("fits", pairs, names, beside_closed_forms(given["compared_ranks"][:1]))
    kinds = on_equal_terms(recipe, given["compared_ranks"])
    places = [f"relu{k}" for k in given["compared_layers"]]
    equal = stitched("equal", pairs[: given["compared"]], places, kinds)
    relaxed = stitched("relaxed", pairs[: given["compared"]], places, relaxation(recipe.epochs))
    equal = pd.concat([equal, relaxed], ignore_index=True)
    stitched("recipes", pairs[: given["compared"]], places[-1:], recipes(recipe.epochs))
    slow = plain_sgd(recipe.epochs, len(sets["train"]), given["compared_ranks"][:2])
    stitched("plain_sgd", pairs[: given["compared"]], places[-1:], slow)
    compared = protocols(equal)
    lines = connectivity(pairs, sets["train"], sets["test"], steps=steps(run, "connectivity"))
    run.write(
        **_of_stitches(live),
        protocols=compared.assign(layer=compared["layer1"].map(LAYER_NUMBERS)),
        **({"equal_trend": trend(equal)} if len(places) == len(LAYER_NUMBERS) else {}),  # of all layers
        barriers=barriers(lines, ["pair", "way", "batch_norm"]),
        planted=planted,
        dimensions=_dimensions(pairs[0][0]),
        **residual(run, spec, kinds["G_ReLU, closed form, reestimated"], **sets),
    )


def _of_stitches(live: pd.DataFrame) -> dict[str, pd.DataFrame]:
    wide = live.pivot(index=["layer1", "pair"], columns="stitch", values="penalty")
    columns = {"rank 1": "rank_1", "rank 2": "rank_2", "rank 4": "rank_4", "G_ReLU": "g_relu"}
    figure_1 = wide.rename(columns=columns).reset_index()
    figure_1 = figure_1.rename(columns={"layer1": "layer"}).drop(columns=["no stitch", "random permutation"])
    above = (wide["G_ReLU"] > 10).groupby("pair").sum().rename("layers")
    alone = live.groupby("pair")[["accuracy1", "accuracy2"]].first().stack().reset_index(name="accuracy")
    return {
        "figure_1": figure_1.assign(layer=figure_1["layer"].map(LAYER_NUMBERS)),
        "trend": trend(live),
        "above_ten": above.reset_index(),
        # networks 2k and 2k + 1 are pair k
        "networks": alone[["accuracy"]].rename_axis("network").reset_index(),
    }


def trend(stitches: pd.DataFrame) -> pd.DataFrame:
    """Penalties, one row for each kind of stitch and pair, and one column for each layer.

    Example:
        >>> table = pd.DataFrame({"pair": 0, "layer1": ["relu1", "relu4"], "stitch": "full"})
        >>> trend(table.assign(penalty=[0.5, 2.5])).iloc[0].to_dict()
        {'stitch': 'full', 'pair': 0, 'layer_3': 0.5, 'layer_14': 2.5}
    """
    wide = stitches.pivot(index=["stitch", "pair"], columns="layer1", values="penalty")
    numbered = wide.rename(columns={name: f"layer_{k}" for name, k in LAYER_NUMBERS.items()})
    return numbered.rename_axis(columns=None).reset_index()


def _dimensions(model: nn.Module) -> pd.DataFrame:
    sizes = [*(model.get_parameter(f"conv{k}.weight").shape[0] for k in (1, 2, 3, 4)), 64, 512]
    return pd.DataFrame(
        {"n": n, "rank": r, "larger": 2 * n * r - r * r > n} for n in sizes for r in (1, 2, 4)
    )
