"""Similarity of layers drawn: beside nulls, beside penalties, between all layers, and along a ResNet."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS

PROCRUSTES, CKA = "Procrustes (table 2)", "CKA (figure 5)"
TRAINED, SHUFFLED, UNTRAINED = "trained networks", "shuffled images", "untrained networks"
GROUP_TITLES = {"grelu": "G_ReLU", "orthogonal": "orthogonal"}
"""Group by its column → by its name."""


def beside_nulls(procrustes: pd.DataFrame, cka: pd.DataFrame, untrained: pd.DataFrame) -> pd.DataFrame:
    """The tables of `procrustes_by_layer` and `cka_by_layer` in long form, for a figure.

    Example:
        >>> values = dict.fromkeys(["grelu", "orthogonal", "grelu_null", "orthogonal_null"], 0.5)
        >>> table = beside_nulls(*[pd.DataFrame({"layer": [3]} | values)] * 3)
        >>> table.groupby("panel", sort=False)["what"].unique().map(list)["CKA (figure 5)"]
        ['trained networks', 'shuffled images', 'untrained networks']

    The third table is CKA of networks that were never trained. Columns panel, layer, group, what, value.
    """
    rows = []
    for panel, table in {PROCRUSTES: procrustes, CKA: cka}.items():
        for group, title in GROUP_TITLES.items():
            values = {TRAINED: table[group], SHUFFLED: table[f"{group}_null"]}
            if panel == CKA:
                values[UNTRAINED] = untrained[group]
            for what, column in values.items():
                layers = (untrained if what == UNTRAINED else table)["layer"]
                place = {"panel": panel, "layer": layers, "group": title, "what": what, "value": column}
                rows.append(pd.DataFrame(place))
    return pd.concat(rows, ignore_index=True)


def compared(table: pd.DataFrame, **options: Any) -> Figure:
    """A table of `beside_nulls`: trained networks, and marks for nulls; options are those of `dots`."""
    nulls = dict(list(table.groupby("what", sort=False)))
    words: dict[str, Any] = {"xlabel": "layer", "ylabel": "similarity", "panels": "panel"}
    words["colours"] = {name: GROUP_COLOURS[name] for name in GROUP_TITLES.values()}
    return dots(nulls.pop(TRAINED), "layer", "value", "group", nulls=nulls, **words | options)


def beside_penalties(ours: pd.DataFrame, printed: pd.DataFrame) -> Figure:
    """Penalty of a stitch against similarity, a panel for each width and a colour for each layer."""
    shades = {3: "ink", 6: "grey", 10: "pink", 14: "green"}
    names = {k: f"layer {k}" for k in shades}
    words: dict[str, Any] = {"colours": {names[k]: COLOURS[shade] for k, shade in shades.items()}}
    words |= {"xlabel": "$G_{\\mathrm{ReLU}}$-Procrustes similarity", "panels": "width"}
    words |= {"ylabel": "penalty of a stitch, points", "printed": printed.replace({"layer": names})}
    return scatter(ours.replace({"layer": names}), "similarity", "penalty", "layer", **words)


def between_layers(table: pd.DataFrame) -> Figure:
    """Similarity of every layer of a network with every layer of another, a panel for each measure."""
    words: dict[str, Any] = {"xlabel": "layer of network 2", "ylabel": "layer of network 1", "digits": ".2f"}
    words |= {"panels": "measure", "limits": (0.0, 1.0), "label": "similarity"}
    return heatmap(table, "row", "column", "value", **words)


def by_stage(blocks: pd.DataFrame) -> Figure:
    """Similarity minus its null along a ResNet, at the ends of blocks and inside; a panel for each group."""
    short = {"grelu": "$G_{ReLU}$"}  # a title is wrapped
    groups = [short["grelu"], "orthogonal"]
    shown = blocks.rename(columns=short).melt(["pair", "stage", "place"], groups, var_name="group")
    words: dict[str, Any] = {"xlabel": "stage of the network", "ylabel": "similarity minus null"}
    return single_curves(shown, "stage", "value", "place", "pair", panels="group", **words)
