"""Matrices of numbers in coloured cells: stitching between layers, similarities."""

import itertools
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from intertwine_book.figures.style import COLOURS, check_columns, facets, new_figure


def heatmap(
    table: pd.DataFrame,
    rows: str,
    columns: str,
    values: str,
    *,
    label: str | None = None,
    outlined: str | None = None,
) -> Figure:
    """Mean of `values` for every pair of `rows` and `columns`, written into coloured cells.

    Args:
        table: one row a trial, with the three columns.
        label: of the colours; say in it whether more is better.
        outlined: a column of truth values; cells whose trials are all true get a frame.
    """
    check_columns(table, rows, columns, values, outlined)
    wide = table.pivot_table(index=rows, columns=columns, values=values, sort=False)
    figure, axis = new_figure(height=0.42 * len(wide) + 1.3)
    figure.colorbar(_cells(axis, wide, fmt=".3g"), label=label or values)
    framed: Any = table.groupby([rows, columns])[outlined].all() if outlined else {}
    for r, c in itertools.product(range(len(wide)), range(len(wide.columns))):
        if framed.get((wide.index[r], wide.columns[c]), False):
            style: dict[str, Any] = {"fill": False, "ec": COLOURS["red"], "lw": 2.2, "clip_on": False}
            axis.add_patch(Rectangle((c + 0.05, r + 0.06), 0.9, 0.88, **style))
    return figure


def layer_matrices(table: pd.DataFrame) -> Figure:
    """A matrix of similarities between all layers of two networks for each measure, on one scale.

    Args:
        table: columns `measure`, `row`, `column` (layers in order), `value`, one row for each pair of
            networks and layers; the mean over pairs is shown. Higher is more similar. Or the table of one
            measure that `intertwine.similarity.compare` returns.
    """
    if not {"measure", "row", "column", "value"} & set(table.columns):
        table = table.rename_axis("row").reset_index().melt("row", var_name="column").assign(measure="")
    figure, parts = facets(table, "measure", "row", "column", "value", height=3.1)
    rows, columns = (list(dict.fromkeys(table[side])) for side in ("row", "column"))
    few = max(len(rows), len(columns)) <= 6
    for axis, part in parts:
        wide = part.pivot_table(index="row", columns="column", values="value", sort=False)
        style: dict[str, Any] = {"vmin": 0, "vmax": 1, "square": True, "annot": few, "fmt": ".2f"}
        if not few:  # every third layer is named
            style |= {"xticklabels": 3, "yticklabels": 3}
        mesh = _cells(axis, wide.loc[rows, columns], **style)
        axis.tick_params(axis="x", rotation=0 if few else 90)
        axis.set(xlabel="layer of network 2", ylabel="")
    axes = [axis for axis, _ in parts]
    axes[0].set_ylabel("layer of network 1")
    figure.colorbar(mesh, ax=axes, label="similarity", shrink=0.75)
    return figure


def _cells(axis: Axes, values: pd.DataFrame, *, annot: bool = True, **options: Any) -> Any:
    """Draw cells with their values written into them; returns the mappable for a colour bar."""
    labels = {"xticklabels": True, "yticklabels": True, "cbar": False, "annot_kws": {"size": 8}}
    options = {"cmap": "cividis", "linewidths": 0.2, "linecolor": "face"} | labels | options
    sns.heatmap(values, ax=axis, annot=annot, **options)
    axis.tick_params(axis="y", rotation=0)
    axis.grid(visible=False)
    return axis.collections[0]
