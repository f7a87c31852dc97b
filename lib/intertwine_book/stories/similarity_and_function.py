"""What the recorded runs say of similarity and function: tables, figures and facts of chapter 4b."""

from functools import partial
from math import ceil, floor
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from intertwine_book.figures.curves import single_curves
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.similarity_and_function import STACKED, accuracy_and_cka
from intertwine_book.figures.style import COLOURS
from intertwine_book.results import on_record
from intertwine_book.stories.told import said, span

record = partial(on_record, "04b_similarity_and_function")

INDEX_TITLES = {
    "cka": "CKA",
    "cca": "CCA",
    "r2_from_model2": "R²(B, AM)",
    "svcca": "SVCCA",
    "r2_as_it_is": "nearness",
}
"""The indices of experiment 3, as figures call them."""

# tables


def stitches() -> pd.DataFrame:
    """Every recorded stitch behind the ReLU of layer 3: columns way, cka and accuracy."""
    groups = {"orthogonal": "orthogonal", "G_ReLU": "elements of $G_{ReLU}$"}
    tables = [record("section_6_4").rename(columns={"group": "way"}).replace({"way": groups})]
    tables.append(last().query("weight > 0").assign(way="trained to lower CKA"))
    tuned = record("curves_3").groupby("pair", as_index=False).last()
    tables.append(tuned.assign(way="trained for the task"))
    for way, kind in {"trained for CKA": "chosen", "least squares": "fitted"}.items():
        names = {f"{column}_{kind}": column for column in ("cka", "accuracy")}
        tables.append(record("objective").rename(columns=names).assign(way=way))
    return pd.concat([table[["way", "cka", "accuracy"]] for table in tables])


def own() -> float:
    """Mean accuracy of the networks alone, in percent."""
    return float(record("curves_4").query("epoch == 0")["accuracy"].mean())


def gained() -> pd.DataFrame:
    """By how much accuracy and each index rise in experiment 3: a row for each pair."""
    told, indices = record("experiment_3"), ("accuracy", *INDEX_TITLES, "r2_flattened")
    rises = {name: told[f"{name}_end"] - told[f"{name}_start"] for name in indices}
    return pd.DataFrame(rises).round({"accuracy": 2})  # of 10,000 images, so that this is exact


def changed(name: str) -> pd.DataFrame:
    """By how much accuracy and the indices rise along the curves of a table: a row for each pair."""
    curves = record(name).drop(columns=["layer", "epoch"], errors="ignore").groupby("pair")
    return curves.last() - curves.first()


def strayed(name: str) -> float:
    """By how much CKA is off its start at most, after any epoch of any pair."""
    cka = record(name).groupby("pair")["cka"]
    return float((cka.transform("first") - record(name)["cka"]).abs().max())


def last() -> pd.DataFrame:
    """Experiment 4 at its last epoch: a row for each network and weight of the penalty."""
    return record("curves_4").groupby(["weight", "pair"], as_index=False).last()


def cost(epoch: int = 12) -> pd.Series:
    """By how many points a pressed network is below its control after an epoch, the last one, by network."""
    then = record("curves_4").query("epoch == @epoch")
    accuracy = then.pivot(index="pair", columns="weight", values="accuracy")
    return accuracy[0.0] - accuracy[2.0]


def by_epoch() -> pd.DataFrame:
    """Experiment 4: mean accuracy and CKA, a row for each epoch and columns for both weights."""
    return record("curves_4").pivot_table(["accuracy", "cka"], "epoch", "weight")


def finds(measure: str) -> float:
    """In how many percent of the cases a layer is most similar to the same layer of another network."""
    hits, layers = [], record("layers")
    for mine, theirs in (("row", "column"), ("column", "row")):
        square = layers.pivot(index=["pair", mine], columns=theirs, values=measure)
        hits.append(square.idxmax(axis=1) == square.index.get_level_values(mine))
    return float(100 * pd.concat(hits).mean())


def mean_of_pairs() -> pd.DataFrame:
    """CKA of trained stitches, the mean over layers: columns network (tiny or deep), pair and cka."""
    others = record("baseline_6_3_resnet_others")  # after the authors' pair
    deep = pd.concat([record("baseline_6_3_resnet"), others.assign(pair=others["pair"] + 1)])
    both = pd.concat([record("baseline_6_3").assign(network="tiny"), deep.assign(network="deep")])
    return both.groupby(["network", "pair"], sort=False, as_index=False)["cka"].mean()


# figures


def no_relation() -> Figure:
    """Accuracy of every stitch at layer 3 against its CKA."""
    places = {
        "orthogonal": (1.075, 6.0, "orange"),
        "permutations": (1.08, 17.0, "sky"),
        "elements of $G_{ReLU}$": (0.68, 20.0, "blue"),
        "trained for CKA": (0.89, 27.0, "pink"),
        "least squares": (0.9, 75.0, "red"),
        "trained for the task": (0.88, 93.0, "green"),
        "trained to lower CKA": (0.66, 75.0, "grey"),
    }
    words: dict[str, Any] = {"colours": {way: COLOURS[tone] for way, (*_, tone) in places.items()}}
    words |= {"places": {way: (x, y) for way, (x, y, _) in places.items()}, "level": own(), "height": 3.9}
    words |= {"xlabel": "CKA with the second network's activations, after the ReLU"}
    words |= {"ylabel": "accuracy of the stitched network, %", "ylim": (0, 100)}
    words |= {"xlim": (0.44, 1.15), "xticks": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]}
    return scatter(stitches(), "cka", "accuracy", "way", **words)


def along() -> Figure:
    """Experiment 3: accuracy and CKA along a training, and the change of four other indices."""
    curves = record("figure_4")
    first = curves.groupby("pair").transform("first")
    shown = [curves.assign(name="accuracy", value=curves["accuracy"], of="accuracy, %")]
    for column, name in INDEX_TITLES.items():
        change = curves.assign(name=name, value=curves[column] - first[column], of="change of the index")
        shown.append(change.assign(value=curves["cka"], of="CKA") if column == "cka" else change)
    colours = dict(zip([*INDEX_TITLES.values(), "accuracy"], COLOURS.values(), strict=False))
    words = STACKED | {"xlabel": "epoch of the stitch, before the ReLU", "height": 1.9}
    return single_curves(pd.concat(shown), "epoch", "value", "name", "pair", colours=colours, **words)


def pressed() -> Figure:
    """Experiment 4: accuracy and CKA of a network stitched to itself, beside its control."""
    curves = record("curves_4")
    curves = curves.assign(name=curves["weight"].map({0.0: "control", 2.0: "λ = 2"}))
    colours = {"control": COLOURS["grey"], "λ = 2": COLOURS["red"]}
    return accuracy_and_cka(curves, colours, level={"CKA": 0.7})


def specificity() -> Figure:
    """Similarity of every layer with every layer of another network; the largest of a row has a frame."""
    measures = {"cca": "CCA", "cca_16": "CCA of 16", "cka": "CKA"}
    shown = record("layers").replace("relu", "", regex=True)
    shown = shown.melt(["pair", "row", "column"], list(measures), "measure").replace({"measure": measures})
    shown = shown.groupby(["measure", "row", "column"], sort=False, as_index=False)["value"].mean()
    most = shown.groupby(["measure", "row"])["value"].transform("max")
    words: dict[str, Any] = {"panels": "measure", "limits": (0.0, 1.0), "label": "similarity"}
    words |= {
        "xlabel": "layer of the other network, after its ReLU",
        "ylabel": "layer",
        "outlined": "largest",
    }
    return heatmap(shown.assign(largest=shown["value"] == most), "row", "column", "value", **words)


def sensitivity() -> Figure:
    """Points that a probe loses, and what five measures say, while principal components are taken away."""
    taken, ratio = record("sensitivity"), "dissimilarity ÷\nthat of two seeds"
    tones = {
        "grelu cka": ("$G_{ReLU}$-CKA", "blue"),
        "cka": ("CKA", "orange"),
        "cca": ("CCA", "grey"),
        "grelu procrustes": ("$G_{ReLU}$-Procrustes", "green"),
        "procrustes": ("Procrustes", "red"),
    }
    names = taken["measure"].map({measure: name for measure, (name, _) in tones.items()})
    colours = {name: COLOURS[tone] for name, tone in tones.values()} | {"probe": COLOURS["ink"]}
    upper = taken.query("measure == 'cka'").assign(name="probe", value=taken["lost"], of="points lost")
    both = pd.concat([upper, taken.assign(name=names, value=taken["ratio"], of=ratio)])
    words = STACKED | {"xlabel": "components taken away after the ReLU, %", "level": {ratio: 1.0}}
    return single_curves(both, "share", "value", "name", "network", colours=colours, **words)


# facts


def facts() -> dict[str, Any]:
    """The numbers in sentences and captions, by name.

    Example:
        >>> f"CKA 1, accuracy {facts()['rotated']:.0f} %"
        'CKA 1, accuracy 10 %'
    """
    return _of_stitches() | _of_experiment_3() | _of_experiment_4() | _of_measures() | _of_baseline()


def _of_stitches() -> dict[str, float]:
    mean = stitches().groupby("way")[["cka", "accuracy"]].mean()
    moved = dict(tuple(record("section_6_4").groupby("group")["accuracy"]))
    told = {"own": own()}
    told |= {"rotated": moved["orthogonal"].mean(), "permuted": moved["permutations"].mean()}
    told |= span(rotated=moved["orthogonal"], permuted=moved["permutations"])
    told["unrotated"] = record("section_6_4")["base_accuracy"].mean()
    ways = {"chosen": "trained for CKA", "fitted": "least squares", "pressed": "trained to lower CKA"}
    for name, way in ways.items():
        told |= {name: mean["accuracy"][way], f"{name}-cka": mean["cka"][way]}
    return told


def _of_experiment_3() -> dict[str, Any]:
    told, rises = record("experiment_3"), gained()
    first = record("figure_4").query("epoch == 1")["accuracy"].to_numpy() - told["accuracy_start"]
    ends = {"gained": rises["accuracy"], "at-once": 100 * first / rises["accuracy"]}
    ends |= {"cka-begins": told["cka_start"], "cka-falls": -rises["cka"]}
    after, short = changed("figure_4_after"), changed("curves_3")
    side = (after["cka"] - rises["cka"]).sort_values()
    ends |= {"after-gained": after["accuracy"], "side": side.iloc[1:]}
    ends |= {"r2-falls": -rises["r2_from_model2"]}
    return {
        **span(**ends),
        "flat-low": floor(100 * record("figure_4")["r2_flattened"].min()) / 100,
        "flat-moves": ceil(1000 * rises["r2_flattened"].abs().max()) / 1000,
        "cka-falls": -rises["cka"].mean(),
        "after-bound": ceil(1000 * strayed("figure_4_after")) / 1000,
        "side-least": -side.iloc[0],
        "after-above": int((after["cka"] > 0).sum()),
        "after-pairs": len(after),
        "cka-bound": ceil(1000 * short["cka"].abs().max()) / 1000,
    }


def _of_experiment_4() -> dict[str, Any]:
    early = {"early-cka": by_epoch().loc[3]["cka", 2.0], "early-cost": said(cost(epoch=3))}
    return span(cost=cost(), beyond=record("experiment_4")["beyond_control"]) | early


def _of_measures() -> dict[str, float]:
    shares = 100 * record("specificity").groupby("measure")["found"].mean()
    measures = ("cka", "cca", "grelu cka", "procrustes")
    named = {f"found-{measure.replace(' ', '-')}": shares[measure] for measure in measures}
    taken = record("sensitivity")
    probe = taken.query("kept == 0.25").groupby("network")["lost"].mean().mean()
    whole = taken.query("kept == 1").groupby("network")["accuracy"].mean().mean()
    return named | {"found-cca-16": finds("cca_16"), "probe": probe, "probe-whole": whole}


def _of_baseline() -> dict[str, float]:
    mean = mean_of_pairs().groupby("network")["cka"].mean()
    return {"baseline-tiny": mean["tiny"], "baseline-deep": mean["deep"]}
