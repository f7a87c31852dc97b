"""The same layer of two networks, beside its nulls: Table 2 and figures 2, 5 and 9 of godfrey2022."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.alignment import Statistics
from intertwine.features import activations, features
from intertwine.similarity import compare, gram, max_gram, procrustes
from intertwine.similarity.cka import aligned, grelu_normalised
from intertwine.similarity.inputs import arranged, centred
from intertwine.similarity.moments import compressed
from intertwine.stitching.batch_norm import reestimate
from intertwine_book.experiments.rows import Row, tabled

PROCRUSTES_BY_GROUP = {
    "grelu": partial(procrustes, group="grelu", centred=False),
    "orthogonal": partial(procrustes, group="orthogonal", centred=False),
}
"""Table 2: not centred; units that are zero on all inputs are left out."""
GRAMS_BY_GROUP: dict[str, Callable[[Tensor], Tensor]] = {
    "grelu": lambda X: max_gram(grelu_normalised(arranged(X, "sum"), corrected=True)),
    "orthogonal": lambda X: gram(centred(arranged(X, "features")), "linear"),
    "normalised": lambda X: gram(grelu_normalised(arranged(X, "sum"), corrected=True), "linear"),
}
"""Figure 5: G_ReLU-CKA; linear CKA; and linear CKA as the authors' code has it, with every channel divided by
its norm, which no rotation respects."""


def used_to(images: Float[Tensor, "n ..."], network: nn.Module) -> nn.Module:
    """An untrained network whose batch norms have the statistics of images, as those of trained ones do.

    With the statistics that it starts with, a batch norm does nothing, and channels that are large by chance
    decide on every similarity.
    """
    reestimate(network, images.split(500))
    return network


def moments(
    model1: nn.Module,
    model2: nn.Module,
    layers: Sequence[str],
    images: Float[Tensor, "n ..."],
    *,
    nulls: int = 0,
    generator: torch.Generator | None = None,
) -> list[dict[str, Statistics]]:
    """Second moments of every layer of one network with the same layer of another, positions being samples.

    First those of the images as they are, then nulls: the second network sees the images of each batch of 500
    in another order, which the generator draws. So every image goes through the networks once.
    """
    found: list[dict[str, Statistics]] = [{} for _ in range(1 + nulls)]
    streams = (features(model, list(layers), images, batch_size=500) for model in (model1, model2))
    for first, second in zip(*streams, strict=True):
        size = len(first[layers[0]])
        orders = (torch.randperm(size, generator=generator) for _ in range(nulls))
        for totals, order in zip(found, (slice(None), *orders), strict=True):
            for layer in layers:
                new = Statistics.of(first[layer], second[layer][order])
                totals[layer] = totals[layer] + new if layer in totals else new
    return found


@tabled
def procrustes_by_layer(
    model1: nn.Module,
    model2: nn.Module,
    layers: Mapping[str, str | int],
    images: Float[Tensor, "n ..."],
    *,
    nulls: int = 1,
    generator: torch.Generator,
) -> Iterator[Row]:
    """Both Procrustes similarities of Table 2, layer by layer, with those of shuffled images.

    The layers are name → number in the paper; the null is averaged over `nulls` orders of the images, 0 for
    none. Columns layer (the number), channels, and similarities, of which higher is more similar: grelu,
    orthogonal, grelu_null, orthogonal_null.
    """
    whole, *shuffled = moments(model1, model2, list(layers), images, nulls=nulls, generator=generator)
    for name, number in layers.items():
        row: Row = {"layer": number, "channels": whole[name].p}
        row |= {
            group: measure(*compressed(whole[name])).item() for group, measure in PROCRUSTES_BY_GROUP.items()
        }
        for group, measure in PROCRUSTES_BY_GROUP.items() if shuffled else ():
            values = [measure(*compressed(draw[name])).item() for draw in shuffled]
            row[f"{group}_null"] = sum(values) / len(values)
        yield row


@tabled
def cka_by_layer(
    model1: nn.Module,
    model2: nn.Module,
    layers: Mapping[str, str | int],
    images: Float[Tensor, "n ..."],
    *,
    nulls: int = 20,
    generator: torch.Generator,
) -> Iterator[Row]:
    """Both CKAs of figure 5 on its diagonal, with the 97.5 % quantile of those of shuffled images.

    The features of a layer of all images have to fit into memory; a small sample widens the null. Columns
    layer and, for grelu, orthogonal and normalised, the similarity, its null in `<name>_null`.
    """
    orders = [torch.randperm(len(images), generator=generator).to(images.device) for _ in range(nulls)]
    for name, number in layers.items():
        X, Y = (activations(model, [name], images)[name] for model in (model1, model2))
        row: Row = {"layer": number}
        for group, kernel in GRAMS_BY_GROUP.items():
            K, L = kernel(X), kernel(Y)
            row[group] = aligned(K, L, "unbiased").item()
            values = torch.stack([aligned(K, L[order][:, order], "unbiased") for order in orders])
            row[f"{group}_null"] = torch.quantile(values, 0.975).item()
        yield row


def between_all_layers(
    model1: nn.Module,
    model2: nn.Module,
    layers: Mapping[str, str | int],
    images: Float[Tensor, "n ..."],
    measures: Mapping[str, str],
    *,
    memory: int = 2**30,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """`compare` for several measures, one row for each pair of layers (figures 2 and 5).

    The measures are title → name in the registry. Columns measure (the title), row, column (the numbers of
    the layers in the paper), value.
    """
    parts = []
    for title, measure in measures.items():
        table = compare(model1, model2, list(layers), images, measure, memory=memory, device=device)
        long = table.rename(index=layers, columns=layers).rename_axis("row").reset_index()
        parts.append(long.melt("row", var_name="column", value_name="value").assign(measure=title))
    return pd.concat(parts, ignore_index=True)[["measure", "row", "column", "value"]]
