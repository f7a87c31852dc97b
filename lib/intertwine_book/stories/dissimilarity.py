"""Chapter 4, as recorded: similarities of networks beside their nulls, drawn and in numbers for sentences."""

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book import results
from intertwine_book.figures import dissimilarity as drawn
from intertwine_book.figures import style
from intertwine_book.figures.curves import mean_curves
from intertwine_book.figures.dissimilarity import (
    CKA,
    PROCRUSTES,
    SHUFFLED,
    TRAINED,
    UNTRAINED,
    beside_nulls,
)
from intertwine_book.stories import stitching
from intertwine_book.stories.told import span

record = partial(results.on_record, "04_dissimilarity")
WIDTH_ENDINGS = {"width 64": "", "width 16": "_width_16"}
"""Width of networks → end of the names of their tables."""
PLACES = ["panel", "group", "what", "layer"]


def printed() -> pd.DataFrame:
    """Table 2 of godfrey2022, and figure 5, as read off: columns panel, layer, group, value."""
    table_2 = {"G_ReLU": [0.6208, 0.5106, 0.4432, 0.4899], "orthogonal": [0.7724, 0.5743, 0.5087, 0.5825]}
    figure_5 = {"G_ReLU": [0.84, 0.61, 0.45, 0.43], "orthogonal": [0.98, 0.97, 0.92, 0.93]}
    panels = {PROCRUSTES: table_2, CKA: figure_5}
    layers = [*stitching.LAYER_NUMBERS.values()]
    parts = [pd.DataFrame(values).assign(panel=panel, layer=layers) for panel, values in panels.items()]
    return pd.concat(parts).melt(["panel", "layer"], var_name="group")


def recorded(width: str = "width 64") -> pd.DataFrame:
    """The recorded similarities of networks of a width, as `beside_nulls`."""
    names = ("table_2", "figure_5_diagonal", "untrained", "table_2_untrained")
    return beside_nulls(*(record(f"{name}{WIDTH_ENDINGS[width]}") for name in names))


def means(width: str = "width 64") -> pd.Series:
    """Mean similarities by panel, group, what is compared, and layer."""
    return recorded(width).groupby(PLACES)["value"].mean()


def above(panel: str, null: str, width: str = "width 64") -> pd.DataFrame:
    """Mean similarity of trained networks minus a null: a row for each group, a column for each layer."""
    found = means(width)[panel].unstack("what")
    return (found[TRAINED] - found[null]).unstack("layer")


def rise(width: str = "width 64") -> pd.Series:
    """By how much G_ReLU-Procrustes rises from layer 10 to 14, pair by pair."""
    table = record(f"table_2{WIDTH_ENDINGS[width]}").pivot(index="pair", columns="layer", values="grelu")
    return table[14] - table[10]


def rank_correlation(similarity: pd.DataFrame, penalties: pd.DataFrame) -> pd.DataFrame:
    """Spearman's rank correlation over layers of G_ReLU similarities with G_ReLU penalties, pair by pair.

    Example:
        >>> alike = pd.DataFrame({"pair": 0, "layer": [3, 6, 10], "grelu": [0.6, 0.5, 0.4]})
        >>> lost = pd.DataFrame({"pair": 0, "layer": [3, 6, 10], "g_relu": [5.0, 9.0, 20.0]})
        >>> rank_correlation(alike, lost).values.tolist()
        [[0.0, -1.0]]
    """
    both = similarity.merge(penalties, on=["pair", "layer"]).groupby("pair")
    rows = [[pair, part["grelu"].rank().corr(part["g_relu"].rank())] for pair, part in both]
    return pd.DataFrame(rows, columns=["pair", "rank_correlation"])


def correlations(*without: int) -> pd.Series:
    """Rank correlation of similarity with penalty over layers, but for some, at width 64, by pair."""
    table = record("table_2").query("layer not in @without")
    return rank_correlation(table, stitching.record("figure_1"))["rank_correlation"]


def table_2() -> Figure:
    """Trained networks are more alike than shuffled images, and from layer 6 on less than untrained ones,
    but for linear CKA."""
    rings = {"printed": printed(), "width 16": recorded("width 16").query("what == @TRAINED")}
    return drawn.compared(recorded(), beside=rings, filled="width 64", intervals=True)


def live(*tables: pd.DataFrame) -> Figure:
    """The same of a run."""
    return drawn.compared(beside_nulls(*tables))


def above_untrained() -> Figure:
    """Training adds little to any similarity; at layers 6, 10 and 14 it lowers all but linear CKA."""
    means_by, left = means().unstack("what"), []
    for panel, part in recorded().query("what == @TRAINED").groupby("panel", sort=False):
        base = means_by.loc[pd.MultiIndex.from_frame(part[["panel", "group", "layer"]]), UNTRAINED]
        left.append(part.assign(value=part["value"] - base.to_numpy(), panel=panel))
    words = {"ylabel": "similarity minus untrained", "height": 2.6, "intervals": True}
    return drawn.compared(pd.concat(left), **words)


def figure_5() -> Figure:
    """In both kinds of CKA the largest value of every row and column stands on the diagonal."""
    return drawn.between_layers(record("figure_5"))


def same_layers() -> pd.DataFrame:
    """Similarities of the same ReLU of two ResNet-20s, trained and not: one row a pair, measure and layer."""
    parts = {TRAINED: record("figure_2_all").query("row == column"), UNTRAINED: record("figure_2_untrained")}
    table = pd.concat([part.assign(what=what) for what, part in parts.items()])
    place = table["row"].str.endswith("*").map({True: "inside", False: "at-ends"})
    return table.rename(columns={"row": "layer"}).assign(place=place)


def figure_2() -> Figure:
    """Ends of residual blocks are more alike than layers inside, and hardly so before training."""
    colours = {TRAINED: style.COLOURS["blue"], UNTRAINED: style.COLOURS["grey"]}
    options: dict[str, Any] = {"panels": "measure", "ylabel": "similarity", "colours": colours}
    figure = mean_curves(same_layers(), "layer", "value", "what", **options)
    for axis in figure.axes:  # every third of nineteen names
        axis.set_xticks(axis.get_xticks()[::3], [tick.get_text() for tick in axis.get_xticklabels()[::3]])
    return figure


def facts() -> dict[str, Any]:
    """The numbers in sentences of chapter 4.

    Example:
        >>> found = facts()
        >>> f"{found['null-low']:.2f} to {found['null-high']:.2f}"
        '0.33 to 0.50'
    """
    return _settings() | _beside_nulls() | _statements() | _between()


def _settings() -> dict[str, Any]:
    *_, (table, wide) = results.recorded("04_dissimilarity", "table_2").values()
    found = {name: wide["parameters"][name] for name in ("width", "epochs", "images")}
    *_, (_, narrow) = results.recorded("04_dissimilarity", "table_2_width_16").values()
    return found | {"pairs": table["pair"].nunique(), "narrow-epochs": narrow["parameters"]["epochs"]}


def _beside_nulls() -> dict[str, Any]:
    found = span(
        null=means()[PROCRUSTES].xs(SHUFFLED, level="what"), over=above(PROCRUSTES, SHUFFLED).stack()
    )
    low, high = results.interval(rise("width 64"))
    fresh, fresh_narrow = (above(PROCRUSTES, UNTRAINED, width) for width in ("width 64", "width 16"))
    found |= span(lost=-fresh[[6, 10, 14]].stack())
    found |= {"first-group": fresh.loc["G_ReLU", 3], "first-orthogonal": fresh.loc["orthogonal", 3]}
    found["narrow-procrustes-gain"] = fresh_narrow.max(axis=None)
    found["narrow-procrustes-rest"] = fresh_narrow[[10, 14]].abs().max(axis=None)
    found |= {"rise": rise("width 64").mean(), "rise-low": low, "rise-high": high}
    gain, narrow = (above(CKA, UNTRAINED, width) for width in ("width 64", "width 16"))
    found |= {"linear-gain": gain.loc["orthogonal"].max(), "group-loss": -gain.loc["G_ReLU"].min()}
    found |= {f"group-loss-{layer}": -gain.loc["G_ReLU", layer] for layer in (6, 14)}
    found["gain-most"] = max(gain.max(axis=None), fresh.max(axis=None))
    found["linear-fresh-low"] = means()[CKA, "orthogonal", UNTRAINED].min()
    found |= {
        "narrow-linear-gain": narrow.loc["orthogonal"].max(),
        "narrow-group-gain": narrow.loc["G_ReLU"].max(),
    }
    found["as-started"] = record("untrained_as_started").query("layer == 14")["grelu"].item()
    found["gain-as-started"] = means()[CKA, "G_ReLU", TRAINED, 14] - found["as-started"]
    for name, what in {"linear-10": TRAINED, "linear-fresh-10": UNTRAINED}.items():
        found[name] = means()[CKA, "orthogonal", what, 10]
    return found


def _statements() -> dict[str, Any]:
    moved = record("lemma_5_1").query("version == 'as printed' and action == 'translations'")
    short = record("property_ii").query("version == 'as printed' and v == 'random'")
    gaussian = record("definition_5_3").query("features == 'Gaussian'")["value"]
    found = {
        "drawn": len(gaussian),
        "negative": 100 * (gaussian < 0).mean(),
        "share": 100 * record("lemma_5_5").query("features != 'by hand'")["energy"].max(),
    }
    for key, measure in {"cka": "G_ReLU-CKA", "procrustes": "G_ReLU-Procrustes"}.items():
        found[f"moves-{key}"] = moved.loc[moved["measure"] == measure, "change"].max()
        found[f"short-{key}"] = short.loc[short["measure"] == measure, "short_of_1"].max()
    return found


def _between() -> dict[str, Any]:
    depths, layers = record("figure_5_depth"), same_layers()
    found = {"same-depth": depths["same_depth"].mean(), "other-depth": depths["other_depth"].mean()}
    means_by = layers.query("measure == 'G_ReLU-CKA'").groupby(["what", "place"])["value"].mean()
    for what, ending in {TRAINED: "", UNTRAINED: "-fresh"}.items():
        found |= {f"{place}{ending}": value for place, value in means_by[what].items()}
    linear = layers.query("measure == 'linear CKA'").groupby(["what", "layer"])["value"].mean()
    gain = (linear[TRAINED] - linear[UNTRAINED]).max()
    return found | {"resnet-pairs": layers["pair"].nunique(), "resnet-gain": gain}
