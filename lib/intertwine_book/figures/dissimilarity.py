"""Similarity of layers drawn: beside nulls, and between all layers."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.dots import dots
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.style import GROUP_COLOURS

PROCRUSTES, CKA = "Procrustes (table 2 of the paper)", "CKA (figure 5 of the paper)"
TRAINED, SHUFFLED, UNTRAINED = "trained networks", "shuffled images", "untrained networks"
GROUP_TITLES = {"grelu": "G_ReLU", "orthogonal": "orthogonal"}
"""Group by its column → by its name."""


def beside_nulls(
    procrustes: pd.DataFrame, cka: pd.DataFrame, untrained: pd.DataFrame, untrained_procrustes: pd.DataFrame
) -> pd.DataFrame:
    """The tables of `procrustes_by_layer` and `cka_by_layer` in long form, for a figure.

    Example:
        >>> values = dict.fromkeys(["grelu", "orthogonal", "grelu_null", "orthogonal_null"], 0.5)
        >>> table = beside_nulls(*[pd.DataFrame({"layer": [3]} | values)] * 4)
        >>> table.groupby("panel", sort=False)["what"].unique().map(list)[CKA]
        ['trained networks', 'shuffled images', 'untrained networks']

    The third and fourth table are CKA and Procrustes of networks that were never trained. Columns panel,
    layer, group, what, value.
    """
    rows = []
    for panel, table, fresh in ((PROCRUSTES, procrustes, untrained_procrustes), (CKA, cka, untrained)):
        for group, title in GROUP_TITLES.items():
            shown = {TRAINED: table[group], SHUFFLED: table[f"{group}_null"], UNTRAINED: fresh[group]}
            for what, column in shown.items():
                layers = (fresh if what == UNTRAINED else table)["layer"]
                place = {"panel": panel, "layer": layers, "group": title, "what": what, "value": column}
                rows.append(pd.DataFrame(place))
    return pd.concat(rows, ignore_index=True)


def compared(table: pd.DataFrame, **options: Any) -> Figure:
    """A table of `beside_nulls`: trained networks, and marks for nulls; options are those of `dots`."""
    nulls = dict(list(table.groupby("what", sort=False)))
    words: dict[str, Any] = {"xlabel": "layer", "ylabel": "similarity", "panels": "panel"}
    words["colours"] = {name: GROUP_COLOURS[name] for name in GROUP_TITLES.values()}
    return dots(nulls.pop(TRAINED), "layer", "value", "group", nulls=nulls, **words | options)


def between_layers(table: pd.DataFrame) -> Figure:
    """Similarity of every layer of a network with every layer of another, a panel for each measure."""
    words: dict[str, Any] = {"xlabel": "layer of network 2", "ylabel": "layer of network 1", "digits": ".2f"}
    words |= {"panels": "measure", "limits": (0.0, 1.0), "label": "similarity"}
    return heatmap(table, "row", "column", "value", **words)
