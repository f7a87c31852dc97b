"""Small figures of what we learned, drawn from recorded tables while the pages are made."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.claims import Claim
from intertwine_book.figures.penalties import COLOUR_OF
from intertwine_book.figures.style import COLOURS, new_figure
from intertwine_book.results import interval, on_record

_SINGLE: dict[str, Any] = {"ms": 3, "ls": "", "marker": "o", "alpha": 0.5, "mew": 0}


def headlines(ledger: Sequence[Claim]) -> dict[str, Figure]:
    """Figures by name; `stitches` has the values that a paper prints, from the ledger."""
    figures = {}
    for draw in (rotation, stitches, norms, line, fits, index, basis, hidden):
        figures[draw.__name__], axis = new_figure(width=3.6, height=2.3)
        draw(axis, *[ledger] * (draw is stitches))
    return figures


def rotation(axis: Axes) -> None:
    """Accuracy lost when activations before a ReLU are transformed, by group; means of layers and trials."""
    found = on_record("02_sanity_rotations", "best_linear_map_width_16").query("activation == 'relu'")
    groups = ["permutations", "positive scalings", "nonzero scalings", "orthogonal"]
    cost = found.groupby("group")["penalty"].mean()[groups]
    names = ["permutations", "positive\nscalings", "scalings of\neither sign", "rotations"]
    axis.barh(names, cost, color=[COLOUR_OF[group] for group in groups], height=0.6)
    for row, points in enumerate(cost):
        axis.text(points + 0.3, row, f"{points:.1f}", va="center")
    axis.invert_yaxis()
    axis.set(xlabel="accuracy lost, points", xlim=(0, 18.5))
    axis.grid(axis="y", visible=False)


def stitches(axis: Axes, ledger: Sequence[Claim]) -> None:
    """Penalty of stitches by layer at the paper's width: measured filled, printed values as open markers."""
    found = on_record("03_stitching", "stitched")
    layers = [3, 6, 10, 14]  # as the paper counts
    names = {"full": ("full", "red"), "G_ReLU": ("$G_{\\mathrm{ReLU}}$", "blue")}
    names |= {"rank 4": ("rank four", "orange"), "rank 1": ("rank one", "pink")}
    below = -8.0  # the label below, which the next one must not touch
    for shift, (stitch, (name, colour)) in zip((0.3, 0.1, -0.1, -0.3), names.items(), strict=True):
        style: dict[str, Any] = {"color": COLOURS[colour]}
        mean = found[found["stitch"] == stitch].groupby("layer1")["penalty"].mean()
        axis.plot(np.arange(4) + shift, mean, "o", ms=6, **style)
        column = stitch.lower().replace(" ", "_")
        for claim in ledger:
            if (claim.table, claim.kind, claim.columns) == ("figure_1", "number", [column]):
                at = layers.index(int((claim.where or "").removeprefix("layer == "))) + shift
                axis.plot(at, float(claim.printed or 0), "o", mfc="none", mec=COLOURS[colour], ms=8)
        below = max(mean.iloc[-1], below + 8)
        axis.text(3.5, below, name, va="center", **style)
    axis.set_xticks(range(4), [str(layer) for layer in layers])
    axis.set(xlabel="layer of the cut", ylabel="accuracy lost, points", xlim=(-0.5, 4.7), ylim=(0, None))


def norms(axis: Axes) -> None:
    """Penalty of the same maps with frozen and with re-estimated batch norm, where a batch norm follows."""
    found = on_record("03_stitching", "norms").query("layer1 != 'relu4'")
    found = found.pivot_table(index="layer1", columns="stitch", values="penalty")
    again, frozen = (found[f"least squares, {way}"] for way in ("re-estimated", "frozen"))
    rows = np.arange(len(found))
    axis.hlines(rows, again, frozen, color=COLOURS["grey"])
    axis.plot(frozen, rows, "o", mfc="none", mec=COLOURS["red"])
    axis.plot(again, rows, "o", color=COLOURS["red"])
    axis.text(again.iloc[1], 0.65, "re-estimated", ha="center", color=COLOURS["red"])
    axis.text(frozen.iloc[1], 0.65, "frozen", ha="center", color=COLOURS["red"])
    axis.set_yticks(rows, [f"layer {layer}" for layer in (3, 6, 10)])
    axis.set(xlabel="accuracy lost, points", xlim=(0, 19))
    axis.invert_yaxis()


def line(axis: Axes) -> None:
    """Accuracy on the line between two networks, before and after matching; thin lines are pairs."""
    found = on_record("03_stitching", "connectivity").query("batch_norm == 're-estimated'")
    for way, colour in (("as trained", "grey"), ("matched by activations", "blue")):
        wide = found[found["way"] == way].pivot(index="fraction", columns="pair", values="accuracy")
        axis.plot(wide, color=COLOURS[colour], lw=0.8, alpha=0.6)
        axis.plot(wide.mean(axis=1), "o-", color=COLOURS[colour])
        below = -18 if way == "as trained" else 16
        axis.text(0.5, wide.loc[0.5].mean() + below, way, ha="center", color=COLOURS[colour])
    axis.set(xlabel="fraction of the way", ylabel="accuracy, %", ylim=(0, 100))


def fits(axis: Axes) -> None:
    """Share of the accuracy that a stitched pair keeps, by layer; dots are pairs."""
    found = on_record("03b_matching", "experiment_1")
    layer = found["layer1"].str.removeprefix("bn").astype(int)
    ways = {"task_loss": ("trained for the task", "green"), "least_squares": ("fitted", "grey")}
    for column, (name, colour) in ways.items():
        axis.plot(layer, 100 * found[column], **_SINGLE, color=COLOURS[colour])
        mean = 100 * found.groupby(layer)[column].mean()
        axis.plot(mean, color=COLOURS[colour])
        axis.text(5, 76 if name == "fitted" else 101, name, ha="center", color=COLOURS[colour])
    axis.set(xlabel="layer", ylabel="accuracy kept, %", ylim=(74, 104))


def index(axis: Axes) -> None:
    """CKA and accuracy after rotations of one layer's activations; dots are rotations."""
    found = on_record("04b_similarity_and_function", "section_6_4").query("group == 'orthogonal'")
    shown = {"CKA × 100": 100 * found["cka"], "accuracy\nbefore, %": found["base_accuracy"]}
    shown["accuracy\nafter, %"] = found["accuracy"]
    for (name, values), colour in zip(shown.items(), ("orange", "grey", "orange"), strict=True):
        axis.bar(name, values.mean(), 0.55, color=COLOURS[colour], alpha=0.6)
        axis.plot([name] * len(values), values, **_SINGLE, color=COLOURS["ink"])
    axis.set(ylim=(0, 110))
    axis.grid(axis="x", visible=False)


def basis(axis: Axes) -> None:
    """What training adds to the fall of interpretability under rotation: networks and their 95 % interval."""
    asked = "dataset == 'concepts' and layer == 'output' and quantile == 0.02 and statistic == 'mean_iou'"
    found = on_record("05_interpretability", "slopes").query(asked)
    names = ["GELU", "tanh", "ReLU", "no ReLU"]
    for row, name in enumerate(names):
        values = 100 * found[found["kind"] == name]["difference"]
        axis.plot(values, [row + 0.22] * len(values), **_SINGLE, color=COLOURS["ink"])
        axis.plot(interval(values), [row, row], color=COLOURS["blue"])
        axis.plot(values.mean(), row, "o", color=COLOURS["blue"])
    axis.set_yticks(range(4), names)
    axis.axvline(0, color=COLOURS["ink"], lw=0.8)
    axis.invert_yaxis()
    axis.set(xlabel="change of IoU, percentage points")


def hidden(axis: Axes) -> None:
    """Hidden symmetries of shallow networks with integer weights: networks, and their median."""
    found = on_record("07_shallow_relu", "density").query("size > 0")
    spread = np.exp(0.1 * np.random.default_rng(0).uniform(-1, 1, len(found)))
    axis.plot(found["size"] * spread, found["hidden"], rasterized=True, **_SINGLE, color=COLOURS["blue"])
    axis.plot(found.groupby("size")["hidden"].median(), "o-", color=COLOURS["red"])
    axis.set_xscale("log", base=2)
    axis.set_yscale("symlog", linthresh=1)
    axis.set(xlabel="largest integer m", ylabel="hidden symmetries", ylim=(-0.4, 200))
