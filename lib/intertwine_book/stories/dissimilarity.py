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
from intertwine_book.record import on_record
from intertwine_book.stories.told import WIDTH_ENDINGS, apart, number, span
from intertwine_book.tidy import of

record = partial(results.on_record, "04_dissimilarity")
NAMED = ["3", "16*", "32*", "43", "56*", "67", "75"]  # of the nineteen layers of ResNet-20
PLACES = ["panel", "group", "what", "layer"]


def printed() -> pd.DataFrame:
    """Table 2 of godfrey2022, and figure 5, as read off: columns panel, layer, group, value."""
    table_2 = {"G_ReLU": [0.6208, 0.5106, 0.4432, 0.4899], "orthogonal": [0.7724, 0.5743, 0.5087, 0.5825]}
    figure_5 = {"G_ReLU": [0.84, 0.61, 0.45, 0.43], "orthogonal": [0.98, 0.97, 0.92, 0.93]}
    panels = {PROCRUSTES: table_2, CKA: figure_5}
    layers = [3, 6, 10, 14]  # the ReLUs, as the paper counts
    parts = [pd.DataFrame(values).assign(panel=panel, layer=layers) for panel, values in panels.items()]
    return pd.concat(parts).melt(["panel", "layer"], var_name="group")


def recorded(width: str = "width 64") -> pd.DataFrame:
    """The recorded similarities of networks of a width, as `beside_nulls`."""
    names = ("table_2", "figure_5_diagonal", "untrained", "table_2_untrained")
    tables = [record(f"{name}{WIDTH_ENDINGS[width]}") for name in names]
    shared = set.intersection(*(set(table["pair"]) for table in tables))
    return beside_nulls(*(table[table["pair"].isin(shared)] for table in tables))


def means(width: str = "width 64") -> pd.Series:
    """Mean similarities by panel, group, what is compared, and layer."""
    return recorded(width).groupby(PLACES)["value"].mean()


def above(panel: str, null: str, width: str = "width 64") -> pd.DataFrame:
    """Mean similarity of trained networks minus a null: a row for each group, a column for each layer."""
    found = means(width)[panel].unstack("what")
    return (found[TRAINED] - found[null]).unstack("layer")


def rise(width: str = "width 64", *, above_null: bool = False) -> pd.Series:
    """By how much G_ReLU-Procrustes rises from layer 10 to 14, pair by pair."""
    table = record(f"table_2{WIDTH_ENDINGS[width]}")
    table["grelu"] -= table["grelu_null"] * above_null
    wide = table.pivot(index="pair", columns="layer", values="grelu")
    return wide[14] - wide[10]


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
    """Rank correlation of similarity with penalty over layers, but for some, of stitched wide pairs."""
    table = record("table_2_stitched").query("layer not in @without")
    return rank_correlation(table, group_penalties())["rank_correlation"]


def group_penalties() -> pd.DataFrame:
    """What stitches in the group lose, from activations, at width 64: columns pair, layer, g_relu."""
    rows = of(on_record("03_stitching", "stitches"), epochs=20, family="G_ReLU", search="straight through")
    return rows[["pair", "layer", "penalty"]].rename(columns={"penalty": "g_relu"})


def table_2() -> Figure:
    """Trained networks score more than shuffled images, and from layer 6 on less than untrained ones in three
    of four measures."""
    rings = {"printed": printed(), "width 16": recorded("width 16").query("what == @TRAINED")}
    return drawn.compared(recorded(), beside=rings, filled="width 64", intervals=True)


def live(*tables: pd.DataFrame) -> Figure:
    """The same of a run."""
    return drawn.compared(beside_nulls(*tables))


def gains(width: str = "width 64") -> pd.DataFrame:
    """Trained minus untrained, in Procrustes above their own nulls: columns panel, group, layer, pair, value.

    The null of CKA is 0. Untrained pairs have the initial weights of the trained pair of the same number.
    """
    tables = {PROCRUSTES: ("table_2", "table_2_untrained"), CKA: ("figure_5_diagonal", "untrained")}
    parts = []
    for panel, names in tables.items():
        trained, fresh = (
            record(f"{name}{WIDTH_ENDINGS[width]}").set_index(["pair", "layer"]) for name in names
        )
        for group, title in drawn.GROUP_TITLES.items():
            own, base = (
                table[group] - (table[f"{group}_null"] if panel == PROCRUSTES else 0)
                for table in (trained, fresh)
            )
            difference = (own - base).dropna().rename("value")
            parts.append(difference.reset_index().assign(panel=panel, group=title))
    return pd.concat(parts, ignore_index=True)


def added(width: str, group: str = "orthogonal") -> pd.DataFrame:
    """What training adds to CKA: a row for each pair, a column for each layer."""
    table = gains(width).set_index(["panel", "group"]).loc[(CKA, group)]
    return table.pivot(index="pair", columns="layer", values="value")


def share_gains() -> pd.Series:
    """Trained minus untrained Procrustes, as shares of what lies between null and 1, by group and layer."""
    shares = []
    for name in ("table_2", "table_2_untrained"):
        table = record(name).set_index(["pair", "layer"])
        of = {
            group: (table[group] - table[f"{group}_null"]) / (1 - table[f"{group}_null"])
            for group in drawn.GROUP_TITLES
        }
        shares.append(pd.concat(of, names=["group"]))
    return (shares[0] - shares[1]).dropna().groupby(["group", "layer"]).mean()


def trained_minus_untrained() -> Figure:
    """Above its own null each Procrustes measure is nearly as high without training; G_ReLU-CKA is higher."""
    words = {"ylabel": "trained minus untrained", "height": 2.6, "intervals": True, "filled": "width 64"}
    narrower = {width: gains(width).assign(what=TRAINED) for width in WIDTH_ENDINGS}
    wide = narrower.pop("width 64")
    return drawn.compared(wide, level=0.0, beside=narrower, **words)


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
    for axis in figure.axes:
        names = [tick.get_text() for tick in axis.get_xticklabels()]
        axis.set_xticks([names.index(name) for name in NAMED], NAMED)
    return figure


def facts() -> dict[str, Any]:
    """The numbers in sentences of chapter 4.

    Example:
        >>> found = facts()
        >>> f"{found['null-low']:.2f} to {found['null-high']:.2f}"
        '0.33 to 0.51'
    """
    return _settings() | _beside_nulls() | _statements() | _between()


def _settings() -> dict[str, Any]:
    *_, (table, wide) = results.recorded("04_dissimilarity", "table_2").values()
    found = {name: wide["parameters"][name] for name in ("width", "epochs", "images")}
    *_, (_, grams) = results.recorded("04_dissimilarity", "figure_5_diagonal").values()
    found["gram-images"] = grams["parameters"]["null_images"]
    return found | {"pairs": table["pair"].nunique()}


def _beside_nulls() -> dict[str, Any]:
    found: dict[str, Any] = span(
        null=means()[PROCRUSTES].xs(SHUFFLED, level="what"), over=above(PROCRUSTES, SHUFFLED).stack()
    )
    low, high = results.interval(rise("width 64"))
    fresh_nulls = record("table_2_untrained")[["grelu_null", "orthogonal_null"]]
    found |= span(**{"fresh-null": fresh_nulls.stack()})
    by = {width: gains(width).pivot_table("value", ["panel", "group"], "layer") for width in WIDTH_ENDINGS}
    narrow, half, gain = (above(CKA, UNTRAINED, width) for width in WIDTH_ENDINGS)
    found["procrustes-most"] = by["width 64"].loc[PROCRUSTES].abs().max(axis=None)
    left, later = above(PROCRUSTES, SHUFFLED), by["width 16"].loc[PROCRUSTES, [6, 10, 14]]
    found["over-14"] = left.loc["G_ReLU", 14]
    found["over-fresh-14"] = found["over-14"] - by["width 64"].loc[(PROCRUSTES, "G_ReLU"), 14]
    found["over-10"] = left.loc["orthogonal", 10]
    found["over-fresh-10"] = found["over-10"] - by["width 64"].loc[(PROCRUSTES, "orthogonal"), 10]
    found["narrow-procrustes-gain-low"] = later.min(axis=None)
    found["narrow-procrustes-gain"] = later.max(axis=None)
    found |= {"rise": rise().mean(), "rise-low": low, "rise-high": high}
    found["rise-above"] = rise(above_null=True).mean()
    found |= span(**{"fall": -rise("width 16"), "fall-above": -rise("width 16", above_null=True)})
    found["gain-apart"] = apart(*(added(width).mean(axis=1) for width in WIDTH_ENDINGS))
    found |= {"linear-gain": gain.loc["orthogonal"].max(), "group-loss": -gain.loc["G_ReLU"].min()}
    found |= {f"group-loss-{layer}": -gain.loc["G_ReLU", layer] for layer in (6, 14)}
    found["linear-fresh-low"] = means()[CKA, "orthogonal", UNTRAINED].min()
    for name, above_fresh in {"narrow": narrow, "half": half}.items():
        found[f"{name}-linear-gain-low"] = above_fresh.loc["orthogonal"].min()
        found[f"{name}-linear-gain"] = above_fresh.loc["orthogonal"].max()
    as_started = record("untrained_as_started").set_index("layer")["grelu"]
    for layer, ending in {6: "-6", 14: ""}.items():
        found[f"gain-as-started{ending}"] = means()[CKA, "G_ReLU", TRAINED, layer] - as_started[layer]
    found |= span(room=1 - means()[CKA, "orthogonal", UNTRAINED])
    found |= {name: number(value, 1) for name, value in span(correlation=correlations()).items()}
    found["share-loss"] = -share_gains().min()
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
        "share-by-hand": 100 * record("lemma_5_5").query("features == 'by hand'")["energy"].item(),
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
