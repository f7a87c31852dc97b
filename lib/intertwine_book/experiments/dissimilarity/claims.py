"""Tables of chapter 4 for claims and recorded figures: all layers, ResNets, statements, and what follows."""

from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from torch import Tensor, nn

from intertwine.data import Dataset
from intertwine.features import activations
from intertwine.similarity import gram
from intertwine_book.experiments.dissimilarity import by_layer, statements
from intertwine_book.experiments.dissimilarity.blocks import COMPARED, blocks, cases
from intertwine_book.results import Run
from intertwine_book.stories.dissimilarity import group_penalties, rank_correlation
from intertwine_book.zoo import Spec


def write(
    run: Run,
    pairs: Sequence[tuple[nn.Module, nn.Module]],
    spec: Spec,
    numbers: Mapping[str, int],
    train: Dataset,
    test: Dataset,
    table_2: pd.DataFrame,
    figure_5_diagonal: pd.DataFrame,
) -> None:
    """Compute and write all tables of the chapter but those of its live figure.

    Args:
        pairs, spec: networks, of which the layers have these numbers, and the spec by which they are trained.
        test: the images that they look at.
        table_2, figure_5_diagonal: of these pairs, on these images.
    """
    asked = run.parameters
    options = {"memory": asked["memory_gb"] * 2**30, "device": run.device}

    few = test.images[: asked["null_images"]]

    @run.table(cases=cases(pairs), uses=["dataset", "width", "epochs", "null_images"])
    def figure_5(pair, networks):
        return by_layer.between_all_layers(*networks, numbers, few, COMPARED, **options)

    blocks(run, spec, train, test, **options)
    if asked["dataset"] == "cifar10" and asked["width"] == 64:  # the same networks were stitched
        stitched = group_penalties()
        run.write(table_2_with_figure_1=rank_correlation(table_2, stitched))
    run.write(
        figure_5_depth=_by_depth(figure_5),
        figure_5_ends=_first_and_last(figure_5_diagonal),
        table_2_trend=_wide(table_2).add_prefix("layer_").rename_axis(columns=None).reset_index(),
    )
    _write_statements(run, pairs[0][0], numbers, few)


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    return table.pivot(index="pair", columns="layer", values="grelu")


def _first_and_last(diagonal: pd.DataFrame) -> pd.DataFrame:
    ends = _wide(diagonal)
    return pd.DataFrame({"first_layer": ends.iloc[:, 0], "last_layer": ends.iloc[:, -1]}).reset_index()


def _by_depth(figure_5: pd.DataFrame) -> pd.DataFrame:
    found = figure_5[figure_5["measure"] == "G_ReLU-CKA"]
    same = found["row"] == found["column"]
    parts = {"same_depth": found[same], "other_depth": found[~same]}
    return pd.DataFrame({name: t.groupby("pair")["value"].mean() for name, t in parts.items()}).reset_index()


def _write_statements(run: Run, network: nn.Module, numbers: Mapping[str, int], images: Tensor) -> None:
    generator, trials = run.generator(), run.parameters["trials"]
    points = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    grams = [("by hand", gram(points, "max"))]
    for name, number in numbers.items():
        grams.append(
            (f"layer {number}", by_layer.GRAMS_BY_GROUP["grelu"](activations(network, [name], images)[name]))
        )
    run.write(  # one after another from one generator
        lemma_5_1=statements.invariance(6, 40, trials, generator=generator),
        property_ii=statements.alignment_property(6, 40, trials, generator=generator),
        definition_5_3=statements.range_of_cka(8, 2, 4 * trials, generator=generator),
        survives_5_5=statements.pairs_of_the_max_kernel(6, trials, generator=generator),
        lemma_5_5=statements.smallest_eigenvalues(grams),
        lemma_e44=statements.kernel_symmetries(6, trials, generator=generator),
        order_of_groups=statements.order_of_groups(6, 40, trials, generator=generator),
    )
