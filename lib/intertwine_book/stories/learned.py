"""What we learned: small figures, for pages that are no chapters, drawn from the chapters' stories."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.penalties import draw_bars
from intertwine_book.figures.style import COLOURS, new_figure
from intertwine_book.intervals import interval
from intertwine_book.record import kept_folder, on_record
from intertwine_book.slopes import added
from intertwine_book.stories import (
    genni,
    shallow_relu,
    widths,
)
from intertwine_book.stories.told import span
from intertwine_book.tidy import of
from intertwine_book.told import read_told

_SINGLE: dict[str, Any] = {"ms": 3, "ls": "", "marker": "o", "alpha": 0.5, "mew": 0}


def figures() -> dict[str, Figure]:
    """The figures by name."""
    drawn = {}
    before = (rotation, shortcut, found, stitches, norms, line, width)
    for draw in (*before, fits, index, basis, threshold, hidden):
        drawn[draw.__name__], axis = new_figure(width=3.6, height=2.3)
        draw(axis)
    return drawn


def facts() -> dict[str, float]:
    """The numbers of pages that are no chapters and that no chapter states, in percent or points.

    Example:
        >>> f"frozen, {facts()['frozen-low']:.0f} to {facts()['frozen-high']:.0f}"
        'frozen, 0 to 24'
    """
    lost = _least_squares()
    return span(again=lost["re-estimated"], frozen=lost["frozen"])


def _least_squares() -> pd.DataFrame:
    """Mean penalty at width 64: a row a layer, columns frozen and re-estimated."""
    rows = of(on_record("03_stitching", "closed_forms"), width=64, family="full")
    return rows.pivot_table("penalty", "layer", "batch_norm").drop(14)  # no batch norm behind layer 14


def rotation(axis: Axes) -> None:
    """Orthogonal matrices before a ReLU cost accuracy, its own group none, by layer."""
    rows = of(on_record("02_sanity_rotations", "linear_maps"), activation="relu", width=64)
    draw_bars(axis, rows, ("positive scalings", "orthogonal"))


def shortcut(axis: Axes) -> None:
    """By the printed rule networks with |x| change their function, by the corrected one none does."""
    rules = by_rule()
    for k, (name, activation) in enumerate({"ReLU": "ReLU", "|x|": "abs", "tanh": "tanh"}.items()):
        for rule, shift, colour in (("printed", -0.15, "red"), ("exact", 0.15, "blue")):
            errors = rules[(rules["activation"] == activation) & (rules["rule"] == rule)]["error"]
            axis.plot(errors, [k + shift] * len(errors), **_SINGLE, color=COLOURS[colour])
        axis.text(3e-13, k, name, va="center")
    axis.text(1e-7, 0.55, "printed rule", ha="center", color=COLOURS["red"])
    axis.text(1e-7, 1.45, "corrected rule", ha="center", color=COLOURS["blue"])
    axis.set_yticks([])
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set(xlabel="change of the function, relative", xlim=(1e-17, 10))


def by_rule() -> pd.DataFrame:
    """How far both rules move networks in which an output is added to a pre-activation."""
    return of(on_record("01c_any_network", "remark_3_6"), joins="output to pre-activation")


def found(axis: Axes) -> None:
    """An element of the group that was found moves hidden values far and outputs not at all."""
    table = on_record("01c_any_network", "verified")
    table["representations"] /= 100  # from percent
    names = {"resnet18": "ResNet-18", "mobilenet_v3_small": "MobileNetV3"}
    names["a vision transformer"] = "transformer"
    for row, network in enumerate(names):
        of = table[table["network"] == network]
        for column, colour in (("outputs", "blue"), ("representations", "orange")):
            axis.plot(of[column], [row] * len(of), **_SINGLE, color=COLOURS[colour])
    axis.text(1e-15, -0.4, "outputs", ha="center", color=COLOURS["blue"])
    axis.text(1e3, -0.4, "hidden values", ha="right", color=COLOURS["orange"])
    axis.set_yticks(range(3), list(names.values()))
    axis.set_xscale("log")
    axis.set(
        xlabel="change, relative", xlim=(1e-17, 1e4), xticks=[1e-16, 1e-12, 1e-8, 1e-4, 1], ylim=(2.5, -0.8)
    )


def stitches(axis: Axes) -> None:
    """Without a map nearly all is lost, with a permutation and scalings little; open marks are printed."""
    rows = of(on_record("03_stitching", "stitches"), dataset="cifar10", width=64, epochs=20)
    found = rows[rows["search"] != "relaxation"].pivot_table("penalty", ["family", "layer"], "pair")
    claims = {claim.id: claim for claim, _ in read_told(kept_folder() / "03_stitching/told.json")[0]}
    layers = [*found.loc["G_ReLU"].index]
    maps = {"identity": ("no map", "grey"), "G_ReLU": ("permutation with scalings", "blue")}
    for family, (name, colour) in maps.items():
        lost = found.loc[family]
        axis.plot(range(len(layers)), lost, **_SINGLE, color=COLOURS[colour])
        axis.plot(lost.mean(axis=1).to_numpy(), "o-", color=COLOURS[colour])
        above = -14 if family == "identity" else 16
        axis.text(1.5, lost.mean().mean() + above, name, ha="center", color=COLOURS[colour])
    printed = [claims[f"godfrey-figure-1-grelu-value-{layer}"].printed for layer in layers]
    axis.plot(np.array(printed, dtype=float), "o", mfc="none", mec=COLOURS["blue"], ms=8)
    axis.set_xticks(range(len(layers)), [str(layer) for layer in layers])
    axis.set(xlabel="layer of the cut", ylabel="accuracy lost, points", ylim=(0, 100))


def norms(axis: Axes) -> None:
    """The same maps lose less with batch norm re-estimated, where a batch norm follows."""
    lost = _least_squares()
    again, frozen, rows = lost["re-estimated"], lost["frozen"], np.arange(len(lost))
    axis.hlines(rows, again, frozen, color=COLOURS["grey"])
    axis.plot(frozen, rows, "o", mfc="none", mec=COLOURS["red"])
    axis.plot(again, rows, "o", color=COLOURS["red"])
    axis.text(0, 0.65, "re-estimated", ha="left", color=COLOURS["red"])
    axis.text(frozen.iloc[1], 0.65, "frozen", ha="center", color=COLOURS["red"])
    axis.set_yticks(rows, [f"layer {layer}" for layer in lost.index])
    axis.set(xlabel="accuracy lost, points", xlim=(-1, 1.1 * frozen.max()))
    axis.invert_yaxis()


def line(axis: Axes) -> None:
    """The line between two networks is nearly flat after matching; thin lines are pairs."""
    found = of(on_record("03_stitching", "lines"), width=64, batch_norm="re-estimated")
    for way, colour in (("as trained", "grey"), ("matched by activations", "blue")):
        wide = found[found["way"] == way].pivot(index="fraction", columns="pair", values="accuracy")
        axis.plot(wide, color=COLOURS[colour], lw=0.8, alpha=0.6)
        axis.plot(wide.mean(axis=1), "o-", color=COLOURS[colour])
        below = -18 if way == "as trained" else 16
        axis.text(0.5, wide.loc[0.5].mean() + below, way, ha="center", color=COLOURS[colour])
    axis.set(xlabel="fraction of the way", ylabel="accuracy, %", ylim=(0, 100))


def width(axis: Axes) -> None:
    """What fitted maps lose, the barrier that is left, and what training adds, by width; dots are pairs."""
    found = widths.by_width()
    names = {"rank-4": ("rank 4", "pink"), "assignment": ("scaled permutation", "blue")}
    names |= {"gain": ("added CKA × 100", "green"), "barrier": ("barrier left", "grey")}
    names["least-squares"] = ("full map", "red")
    places = sorted(found["width"].unique())
    for quantity, (name, colour) in names.items():
        own = found[found["quantity"] == quantity]
        axis.plot(own["width"].map(places.index), own["value"], **_SINGLE, color=COLOURS[colour])
        mean = own.groupby("width")["value"].mean()
        axis.plot(range(len(places)), mean, color=COLOURS[colour])
        below = 1.5 if quantity == "least-squares" else 0.0  # else it touches the label above
        axis.text(-0.08, mean.iloc[0] - below, name, ha="right", va="center", color=COLOURS[colour])
    axis.set_xticks(range(len(places)), [str(each) for each in places])
    axis.set(xlabel="width of the networks", ylabel="points", xlim=(-1.8, 2.2), ylim=(0, None))


def fits(axis: Axes) -> None:
    """Maps trained for the task keep more accuracy than maps that fit; dots are pairs."""
    rows = of(on_record("03b_matching", "stitches"), networks="Tiny-10", front="trained", test_images=3_000)
    rows = of(rows, cut="before the ReLU", batch_norm="frozen")
    ways = {"task loss": ("trained for the task", "green"), "least squares": ("fitted", "grey")}
    for way, (name, colour) in ways.items():
        found = 100 * of(rows, stitch=way).pivot(index="layer", columns="pair", values="relative_accuracy")
        axis.plot(found, **_SINGLE, color=COLOURS[colour])
        axis.plot(found.mean(axis=1), color=COLOURS[colour])
        axis.text(5, 76 if name == "fitted" else 101, name, ha="center", color=COLOURS[colour])
    axis.set(xlabel="layer", ylabel="accuracy kept, %", ylim=(74, 104))


def index(axis: Axes) -> None:
    """CKA stays 1 after an orthogonal matrix on activations, accuracy does not; dots are draws."""
    found = of(on_record("04b_similarity_and_function", "inserted"), group="orthogonal matrices")
    shown = {"CKA × 100": 100 * found["cka"], "accuracy\nbefore, %": found["base_accuracy"]}
    shown["accuracy\nafter, %"] = found["accuracy"]
    for (name, values), colour in zip(shown.items(), ("orange", "grey", "orange"), strict=True):
        axis.bar(name, values.mean(), 0.55, color=COLOURS[colour], alpha=0.6)
        axis.plot([name] * len(values), values, **_SINGLE, color=COLOURS["ink"])
    axis.set(ylim=(0, 110))
    axis.grid(axis="x", visible=False)


def basis(axis: Axes) -> None:
    """What training adds to the fall of interpretability under rotation: networks and 95 % intervals."""
    rows = of(
        on_record("05_interpretability", "dissected"), dataset="concepts", layer="output", training="first"
    )
    found = added(of(rows, quantile=0.02), ["kind", "number"])
    names = ["GELU", "tanh", "ReLU", "no ReLU"]
    for row, name in enumerate(names):
        values = found[found["kind"] == name]["points"]
        axis.plot(values, [row + 0.22] * len(values), **_SINGLE, color=COLOURS["ink"])
        axis.plot(interval(values), [row, row], color=COLOURS["blue"])
        axis.plot(values.mean(), row, "o", color=COLOURS["blue"])
    axis.set_yticks(range(4), names)
    axis.axvline(0, color=COLOURS["ink"], lw=0.8)
    axis.invert_yaxis()
    axis.set(xlabel="added by training, points of IoU")


def threshold(axis: Axes) -> None:
    """The second surface is there only where the threshold exceeds the loss of the zero function."""
    shares = genni.record("crossing").query("target == 'a slope 0'").sort_values("epsilon")
    axis.plot(shares["epsilon"], 100 * shares["second_surface"], "o-", color=COLOURS["blue"])
    axis.axvline(1, color=COLOURS["ink"], lw=0.8, ls="--")
    axis.text(0.85, 12, "loss of the\nzero function", ha="right", color=COLOURS["ink"])
    axis.set_xscale("log")
    axis.set(xlabel="threshold ÷ loss of the zero function", ylabel="second surface, %")


def hidden(axis: Axes) -> None:
    """Small integer weights leave sets to flip, large ones hardly any: networks, and their median."""
    found = shallow_relu.integers()
    spread = np.exp(0.1 * np.random.default_rng(0).uniform(-1, 1, len(found)))
    axis.plot(found["size"] * spread, found["hidden"], rasterized=True, **_SINGLE, color=COLOURS["blue"])
    axis.plot(found.groupby("size")["hidden"].median(), "o-", color=COLOURS["red"])
    axis.set_xscale("log", base=2)
    axis.set_yscale("symlog", linthresh=1)
    axis.set(xlabel="largest integer m", ylabel="sets to flip", ylim=(-0.4, 200))
