"""What we learned: a small picture for each finding, drawn from the rows on record."""

import json
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.style import COLOURS, new_figure
from intertwine_book.record import kept_folder, on_record
from intertwine_book.tidy import of

_EACH: dict[str, Any] = {"ms": 3, "ls": "", "marker": "o", "alpha": 0.5, "mew": 0}  # one network or pair


def figures() -> dict[str, Figure]:
    """The pictures by name."""
    drawn, weights = {}, (rotation, shortcut, found, stitches, norms, line, width)
    for draw in (*weights, fits, index, basis, threshold, hidden):
        drawn[draw.__name__], axis = new_figure(width=3.6, height=2.3)
        draw(axis)
    return drawn


def rotation(axis: Axes) -> None:
    """An orthogonal matrix before a ReLU costs accuracy, its own group none, by layer."""
    rows = of(on_record("02_sanity_rotations", "linear_maps"), activation="relu", width=64)
    lost = rows.pivot_table("penalty", "layer", ["group", "network"])
    kinds = {"positive scalings": ("permutation with positive scalings", "blue", -2.2)}
    kinds["orthogonal"] = ("orthogonal matrix", "orange", 9)
    for group, (name, colour, height) in kinds.items():
        axis.plot(range(len(lost)), lost[group], **_EACH, color=COLOURS[colour])
        axis.plot(range(len(lost)), lost[group].mean(axis=1), "o-", color=COLOURS[colour])
        axis.text(0.9, height, name, ha="center", color=COLOURS[colour])
    axis.set_xticks(range(len(lost)), ["first", "second", "third"])
    axis.set(xlabel="convolution", ylabel="accuracy lost, points", ylim=(-3.5, None))


def shortcut(axis: Axes) -> None:
    """By the printed rule networks with |x| change their function, by the corrected one none does."""
    rules = of(on_record("01c_any_network", "remark_3_6"), joins="output to pre-activation")
    for k, (name, activation) in enumerate({"ReLU": "ReLU", "|x|": "abs", "tanh": "tanh"}.items()):
        for rule, shift, colour in (("printed", -0.15, "red"), ("exact", 0.15, "blue")):
            errors = of(rules, activation=activation, rule=rule)["error"]
            axis.plot(errors, [k + shift] * len(errors), **_EACH, color=COLOURS[colour])
        axis.text(3e-13, k, name, va="center")
    axis.text(1e-7, 0.55, "printed rule", ha="center", color=COLOURS["red"])
    axis.text(1e-7, 1.45, "corrected rule", ha="center", color=COLOURS["blue"])
    axis.set_yticks([])
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="change of the function, relative", xlim=(1e-17, 10))


def found(axis: Axes) -> None:
    """An element of the group that was found moves hidden values far and outputs not at all."""
    table = on_record("01c_any_network", "verified")
    names = {"resnet18": "ResNet-18", "mobilenet_v3_small": "MobileNetV3"}
    names["a vision transformer"] = "transformer"
    for row, network in enumerate(names):
        own = of(table, network=network)
        axis.plot(own["outputs"], [row] * len(own), **_EACH, color=COLOURS["blue"])
        hidden = own["representations"] / 100  # from percent
        axis.plot(hidden, [row] * len(own), **_EACH, color=COLOURS["orange"])
    axis.text(1e-15, -0.4, "outputs", ha="center", color=COLOURS["blue"])
    axis.text(1e3, -0.4, "hidden values", ha="right", color=COLOURS["orange"])
    axis.set_yticks(range(3), list(names.values()))
    axis.set(xscale="log", xticks=[1e-16, 1e-12, 1e-8, 1e-4, 1], xlabel="change, relative")
    axis.set(xlim=(1e-17, 1e4), ylim=(2.5, -0.8))


def stitches(axis: Axes) -> None:
    """Without a map nearly all is lost, with a permutation and scalings little; open marks are printed."""
    rows = of(on_record("03_stitching", "stitches"), dataset="cifar10", width=64, epochs=20)
    lost = rows[rows["search"] != "relaxation"].pivot_table("penalty", "layer", ["family", "pair"])
    told = json.loads((kept_folder() / "03_stitching/told.json").read_text())
    claims = {each["claim"]["id"]: each["claim"] for each in told["claims"]}
    maps = {"identity": ("no map", "grey", -14), "G_ReLU": ("permutation with scalings", "blue", 16)}
    for family, (name, colour, above) in maps.items():
        axis.plot(range(len(lost)), lost[family], **_EACH, color=COLOURS[colour])
        means = lost[family].mean(axis=1).to_numpy()
        axis.plot(range(len(lost)), means, "o-", color=COLOURS[colour])
        axis.text(1.5, means.mean() + above, name, ha="center", color=COLOURS[colour])
    printed = [claims[f"godfrey-figure-1-grelu-value-{layer}"]["printed"] for layer in lost.index]
    axis.plot(np.array(printed, dtype=float), "o", mfc="none", mec=COLOURS["blue"], ms=8)
    axis.set_xticks(range(len(lost)), [str(layer) for layer in lost.index])
    axis.set(xlabel="layer of the cut", ylabel="accuracy lost, points", ylim=(0, 100))


def norms(axis: Axes) -> None:
    """The same maps lose less with batch norm re-estimated, where a batch norm follows."""
    rows = of(on_record("03_stitching", "closed_forms"), width=64, family="full")
    lost = rows.pivot_table("penalty", "layer", "batch_norm").drop(14)  # no batch norm after layer 14
    again, frozen, places = lost["re-estimated"], lost["frozen"], np.arange(len(lost))
    axis.hlines(places, again, frozen, color=COLOURS["grey"])
    axis.plot(frozen, places, "o", mfc="none", mec=COLOURS["red"])
    axis.plot(again, places, "o", color=COLOURS["red"])
    axis.text(0, 0.65, "re-estimated", ha="left", color=COLOURS["red"])
    axis.text(frozen.iloc[1], 0.65, "frozen", ha="center", color=COLOURS["red"])
    axis.set_yticks(places, [f"layer {layer}" for layer in lost.index])
    axis.set(xlabel="accuracy lost, points", xlim=(-1, 1.1 * frozen.max()))
    axis.invert_yaxis()


def line(axis: Axes) -> None:
    """The line between two networks is nearly flat after matching; thin lines are pairs."""
    rows = of(on_record("03_stitching", "lines"), width=64, batch_norm="re-estimated")
    for way, colour, above in (("as trained", "grey", -18), ("matched by activations", "blue", 16)):
        course = of(rows, way=way).pivot(index="fraction", columns="pair", values="accuracy")
        axis.plot(course, color=COLOURS[colour], lw=0.8, alpha=0.6)
        axis.plot(course.mean(axis=1), "o-", color=COLOURS[colour])
        axis.text(0.5, course.loc[0.5].mean() + above, way, ha="center", color=COLOURS[colour])
    axis.set(xlabel="fraction of the way", ylabel="accuracy, %", ylim=(0, 100))


def width(axis: Axes) -> None:
    """What fitted maps lose, and on a line between matched networks, by width; dots are pairs."""
    for name, (values, colour) in by_width().items():
        axis.plot(range(len(values)), values, **_EACH, color=COLOURS[colour])
        means = values.mean(axis=1)
        axis.plot(range(len(values)), means, color=COLOURS[colour])
        lower = 2 * (name == "full map")  # else it touches the name above
        axis.text(-0.08, means.iloc[0] - lower, name, ha="right", va="center", color=COLOURS[colour])
    axis.set_xticks(range(len(values)), [str(each) for each in values.index])
    axis.set(xlabel="width of the networks", ylabel="points", xlim=(-2.2, 2.2), ylim=(0, None))


def by_width() -> dict[str, tuple[pd.DataFrame, str]]:
    """Points lost for each width and pair, by what loses them, each with its colour."""
    from intertwine.stitching import barriers  # torch is slow to import

    forms = of(on_record("03_stitching", "closed_forms"), batch_norm="re-estimated")
    forms = of(forms, fit=["regression", "assignment"])  # not of channels alike
    lost = forms.pivot_table("penalty", "width", ["family", "pair"])
    lines = of(on_record("03_stitching", "lines"), batch_norm="re-estimated", way="matched by activations")
    left = barriers(lines, ["width", "pair"]).pivot_table("barrier", "width", "pair")
    maps = {"rank 4": (lost["rank 4"], "pink"), "scaled permutation": (lost["G_ReLU"], "blue")}
    return maps | {"full map": (lost["full"], "red"), "line, matched": (left, "grey")}


def fits(axis: Axes) -> None:
    """Maps trained for the task keep more accuracy than maps that fit; dots are pairs."""
    rows = on_record("03b_matching", "stitches")
    rows = of(rows, networks="Tiny-10", front="trained", test_images=3_000)
    rows = of(rows, cut="before the ReLU", batch_norm="frozen")
    ways = {"task loss": ("trained for the task", "green", 101), "least squares": ("fitted", "grey", 76)}
    for way, (name, colour, height) in ways.items():
        kept = 100 * of(rows, stitch=way).pivot(index="layer", columns="pair", values="relative_accuracy")
        axis.plot(kept, **_EACH, color=COLOURS[colour])
        axis.plot(kept.mean(axis=1), color=COLOURS[colour])
        axis.text(5, height, name, ha="center", color=COLOURS[colour])
    axis.set(xlabel="layer", ylabel="accuracy kept, %", ylim=(74, 104))


def index(axis: Axes) -> None:
    """CKA stays 1 after an orthogonal matrix on activations, accuracy does not; dots are draws."""
    rows = of(on_record("04b_similarity_and_function", "inserted"), group="orthogonal matrices")
    shown = {"CKA × 100": 100 * rows["cka"], "accuracy\nbefore, %": rows["base_accuracy"]}
    shown["accuracy\nafter, %"] = rows["accuracy"]
    for (name, values), colour in zip(shown.items(), ("orange", "grey", "orange"), strict=True):
        axis.bar(name, values.mean(), 0.55, color=COLOURS[colour], alpha=0.6)
        axis.plot([name] * len(values), values, **_EACH, color=COLOURS["ink"])
    axis.set(ylim=(0, 110))
    axis.grid(axis="x", visible=False)


def basis(axis: Axes) -> None:
    """What training adds to the fall of interpretability under rotation; dots are networks."""
    rows = of(on_record("05_interpretability", "dissected"), dataset="concepts", layer="output")
    rows = of(rows, training="first", levels="usual", quantile=0.02)
    overlap = rows.pivot_table("mean_iou", "alpha", ["kind", "number", "weights"])
    slopes = pd.Series(np.polyfit(overlap.index, overlap, 1)[0], overlap.columns).unstack("weights")
    added = 100 * (slopes["untrained"] - slopes["trained"])
    names = ["GELU", "tanh", "ReLU", "no ReLU"]
    for row, name in enumerate(names):
        axis.plot(added[name], [row] * len(added[name]), **_EACH, color=COLOURS["blue"])
        axis.plot(added[name].mean(), row, "o", color=COLOURS["blue"])
    axis.set_yticks(range(4), names)
    axis.axvline(0, color=COLOURS["ink"], lw=0.8)
    axis.invert_yaxis()
    axis.set(xlabel="added by training, points of IoU")


def threshold(axis: Axes) -> None:
    """The second surface is there only where the threshold exceeds the loss of the zero function."""
    rows = of(on_record("06_genni", "crossing"), target="a slope 0").sort_values("epsilon")
    axis.plot(rows["epsilon"], 100 * rows["second_surface"], "o-", color=COLOURS["blue"])
    axis.axvline(1, color=COLOURS["ink"], lw=0.8, ls="--")
    axis.text(0.85, 12, "loss of the\nzero function", ha="right", color=COLOURS["ink"])
    axis.set(xscale="log", xlabel="threshold ÷ loss of the zero function", ylabel="second surface, %")


def hidden(axis: Axes) -> None:
    """Small integer weights leave sets to flip, large ones hardly any: networks, and their median."""
    rows = on_record("07_shallow_relu", "integers").query("size > 0")
    spread = np.exp(0.1 * np.random.default_rng(0).uniform(-1, 1, len(rows)))
    axis.plot(rows["size"] * spread, rows["hidden"], rasterized=True, **_EACH, color=COLOURS["blue"])
    axis.plot(rows.groupby("size")["hidden"].median(), "o-", color=COLOURS["red"])
    axis.set_xscale("log", base=2)
    axis.set_yscale("symlog", linthresh=1)
    axis.set(xlabel="largest integer m", ylabel="sets to flip", ylim=(-0.4, 200))
