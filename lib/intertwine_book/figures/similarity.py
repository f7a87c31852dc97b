"""Similarity layer by layer beside its null."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, facets
from intertwine_book.results import interval

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
    columns = [*_GROUPS, *(f"{column}_null" for column in _GROUPS)]
    figure, parts = facets(table, panels, "layer", *columns, height=3.2, sharey=True)
    for axis, rows in parts:
        shown = rows.assign(layer=rows["layer"].astype(str))
        for column, (group, label, marker) in _GROUPS.items():
            shared = {"data": shown, "x": "layer", "color": GROUP_COLOURS[group], "legend": False, "ax": axis}
            means = {"marker": marker, "markersize": 5, "markeredgewidth": 0, "label": label}
            sns.lineplot(**shared, y=column, **means, errorbar=interval, err_style="bars", err_kws={"lw": 1})
            sns.lineplot(**shared, y=f"{column}_null", ls=":", label=f"{label}, null", errorbar=None)
            sns.scatterplot(**shared, y=column, s=6, alpha=0.5, linewidth=0)
        if floor is not None:
            axis.axhline(floor, color=COLOURS["ink"], lw=0.8, label="least possible value")
        starred = shown["layer"].str.contains("*", regex=False).any()
        axis.set_xlabel("layer (with a star: inside a residual block)" if starred else "layer")
        axis.tick_params(axis="x", rotation=90 if shown["layer"].nunique() > 10 else 0)
    first = parts[0][0]
    first.set(ylabel="similarity", ylim=(0, 1.02))
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    return figure
