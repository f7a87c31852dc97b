"""Figures of chapter 4: similarity by layer beside its null, between all layers, and along a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, check_columns, new_figure
from intertwine_book.results import interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GROUPS = {"grelu": ("G_ReLU", "$G_{\\mathrm{ReLU}}$", "o"), "orthogonal": ("orthogonal", "orthogonal", "s")}


def similarity_by_layer(
    table: pd.DataFrame, floor: float | None = None, *, panels: str | None = None
) -> Figure:
    """The similarity of corresponding layers under two groups, pair by pair, beside the null of each.

    Args:
        table: columns `pair`, `layer` (in order), `grelu`, `orthogonal`, `grelu_null`, `orthogonal_null`, and
            `panels`; similarities, higher is more similar.
        floor: the least value there can be, drawn as a line.
        panels: the column whose values get a panel each.
    """
    check_columns(table, "layer", *_GROUPS, *(f"{group}_null" for group in _GROUPS), panels)
    names = list(dict.fromkeys(table[panels])) if panels else [None]
    figure, axes = new_figure(1, len(names), height=3.2, squeeze=False, sharey=True)
    for axis, name in zip(axes[0], names, strict=True):
        _by_layer(axis, table if name is None else table[table[panels] == name])
        if floor is not None:
            axis.axhline(floor, color=COLOURS["ink"], lw=0.8, label="least possible value")
        if len(names) > 1:
            axis.set_title(name)
    axes[0, 0].set(ylabel="similarity", ylim=(0, 1.02))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _by_layer(axis: Axes, table: pd.DataFrame) -> None:
    """One panel: lines of means over dots of pairs, for each group and its null."""
    layers = list(dict.fromkeys(table["layer"]))
    positions = np.arange(len(layers))
    for column, (group, label, marker) in _GROUPS.items():
        colour = GROUP_COLOURS[group]
        means = [table.loc[table["layer"] == layer, column].mean() for layer in layers]
        nulls = [table.loc[table["layer"] == layer, f"{column}_null"].mean() for layer in layers]
        axis.plot(positions, means, color=colour, marker=marker, ms=5, label=label)
        axis.plot(positions, nulls, color=colour, ls=":", lw=1.6, label=f"{label}, null")
        for position, layer in zip(positions, layers, strict=True):
            values = table.loc[table["layer"] == layer, column]
            axis.scatter(np.full(len(values), position), values, s=6, color=colour, alpha=0.5, linewidths=0)
            if len(values) > 1:
                axis.plot([position] * 2, interval(values), color=colour, lw=1)
    axis.set_xticks(positions, layers, rotation=90 if len(layers) > 10 else 0)
    starred = any("*" in str(layer) for layer in layers)
    axis.set_xlabel("layer (with a star: inside a residual block)" if starred else "layer")


def layer_matrices(table: pd.DataFrame) -> Figure:
    """A matrix of similarities between all layers of two networks for each measure, on one scale.

    Args:
        table: columns `measure`, `row`, `column` (layers in order), `value`, one row for each pair of
            networks and layers; the mean over pairs is shown. Higher is more similar. Or what
            `intertwine.similarity.compare` returns, for one measure.
    """
    if not {"measure", "row", "column", "value"} & set(table.columns):
        long = table.rename_axis("row").reset_index().melt("row", var_name="column")
        table = long.assign(measure="")
    check_columns(table, "measure", "row", "column", "value")
    measures = list(dict.fromkeys(table["measure"]))
    rows, columns = (list(dict.fromkeys(table[side])) for side in ("row", "column"))
    size = 8 if max(len(rows), len(columns)) <= 6 else 6
    figure, axes = new_figure(1, len(measures), height=3.1, squeeze=False)
    for axis, measure in zip(axes[0], measures, strict=True):
        part = table[table["measure"] == measure]
        matrix = part.pivot_table(index="row", columns="column", values="value", sort=False)
        values = matrix.loc[rows, columns].to_numpy()
        image = axis.imshow(values, cmap="cividis", vmin=0, vmax=1)
        if size == 8:
            for (i, j), value in np.ndenumerate(values):
                shade = COLOURS["ink"] if value > 0.55 else "white"
                axis.text(j, i, f"{value:.2f}", ha="center", va="center", color=shade, fontsize=9)
        axis.set_xticks(range(len(columns)), columns, rotation=0 if size == 8 else 90, fontsize=size)
        axis.set_yticks(range(len(rows)), rows, fontsize=size)
        axis.set(title=measure, xlabel="layer of network 2")
        axis.grid(False)
    axes[0][0].set_ylabel("layer of network 1")
    figure.colorbar(image, ax=list(axes[0]), label="similarity", shrink=0.75)
    return figure
