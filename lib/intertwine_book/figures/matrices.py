"""Matrices in coloured cells: stitching between layers, similarities, and maps of channels."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn as sns
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from intertwine_book.figures.style import (
    COLOURS,
    check_columns,
    facets,
    in_mathematics,
    new_figure,
    picture_in,
)


def heatmap(
    table: pd.DataFrame,
    rows: str,
    columns: str,
    values: str,
    *,
    xlabel: str | None = None,
    ylabel: str | None = None,
    panels: str | None = None,
    label: str | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    outlined: str | None = None,
    digits: str = ".3g",
) -> Figure:
    """Mean of `values` for every pair of `rows` and `columns` in coloured cells, written into them if few.

    A single table that `intertwine.similarity.compare` returns is drawn by `seaborn.heatmap` as it is.

    Args:
        panels: the column whose values get a panel each, with square cells, on one scale.
        label: of the colours; say in it whether more is better.
        limits: of the colours, which several panels need to have in common.
        outlined: a column of truth values; cells whose trials are all true get a frame.
        digits: the format of a value.
    """
    check_columns(table, rows, columns, panels, outlined)
    down, right = (list(dict.fromkeys(table[side])) for side in (rows, columns))
    single = panels is None
    height = 0.42 * len(down) + 1.3 if panels is None else 1.2 + 3.8 / table[panels].nunique()
    figure, parts = facets(table, panels, values, height=height, sharey=True)
    style: dict[str, Any] = {"cmap": "cividis", "vmin": limits[0], "vmax": limits[1], "cbar": False}
    style |= {"annot": len(parts) * len(right) <= 10, "fmt": digits, "annot_kws": {"size": 8}}
    style |= {"linewidths": 0.2, "linecolor": "face", "square": not single}
    every = 1 if single or len(right) < 9 else 3  # so many labels have room
    for axis, part in parts:
        means = part.pivot_table(index=rows, columns=columns, values=values).loc[down, right]
        sns.heatmap(means, ax=axis, xticklabels=every, yticklabels=every, **style)
        axis.tick_params(axis="y", rotation=0)
        axis.grid(visible=False)
        if outlined is not None:
            framed = part.groupby([rows, columns])[outlined].all()
            for row, column in framed.index[framed]:
                corner = (right.index(column) + 0.05, down.index(row) + 0.06)
                frame: dict[str, Any] = {"fill": False, "ec": COLOURS["red"], "lw": 2.2, "clip_on": False}
                axis.add_patch(Rectangle(corner, 0.9, 0.88, **frame))
        axis.set(xlabel="", ylabel="")
    parts[0][0].set_ylabel(ylabel or rows)
    figure.supxlabel(xlabel or columns, fontsize="medium")
    axes = [axis for axis, _ in parts]
    figure.colorbar(axes[0].collections[0], ax=axes, label=label or values, shrink=1 if single else 0.75)
    return figure


def map_pictures(maps: Mapping[str, Float[Tensor, "q p"]]) -> Figure:
    """The matrices of maps side by side, each on its own scale: blue is negative, red positive, white 0."""
    figure, axes = new_figure(1, len(maps), height=1.9, squeeze=False)
    for axis, (name, weight) in zip(axes[0], maps.items(), strict=True):
        bound = weight.abs().max().item() or 1.0
        shades = {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}
        picture_in(axis, weight.numpy(force=True), in_mathematics(name), **shades)
    axes[0, 0].set_ylabel("channel of $\\tilde f$")
    axes[0, len(maps) // 2].set_xlabel("channel of $f$")
    return figure
