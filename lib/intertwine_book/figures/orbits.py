"""Figures of orbits: the loss and its derivatives along one, and a shortcut."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.style import COLOURS, PAPER, check_columns, new_figure


def along_orbit(table: pd.DataFrame) -> Figure:
    """Quantities along a one-parameter orbit, relative to the values at t = 0, named beside their curves."""
    curves = {
        "loss": ("loss", "green", "top"),
        "relative_eigenvalue": ("relative sharpness", "orange", "bottom"),
        "squared_norm": ("squared norm of\nthe weights", "grey", "bottom"),
        "gradient_norm": ("norm of\nthe gradient", "blue", "center"),
        "largest_eigenvalue": ("largest eigenvalue\nof the Hessian", "red", "center"),
    }
    check_columns(table, "t", *curves)
    figure, axis = new_figure(height=3.4)
    centre = table.iloc[table["t"].abs().argmin()]
    for column, (label, colour, side) in curves.items():
        relative = table[column] / centre[column]
        dashed = "--" if column == "relative_eigenvalue" else "-"
        axis.plot(table["t"], relative, dashed, marker="o", ms=3, color=COLOURS[colour])
        place: dict[str, Any] = {"xytext": (8, 0), "textcoords": "offset points", "annotation_clip": False}
        end = (table["t"].iloc[-1], relative.iloc[-1])
        axis.annotate(label, end, va=side, color=COLOURS[colour], **place)
    axis.set(xlabel="position t on the orbit", ylabel="relative to t = 0", yscale="log")
    return figure


def level_curve(losses: pd.DataFrame, marks: Mapping[str, float], cuts: pd.DataFrame) -> Figure:
    """Level curves of a loss over the scales of two layers, the orbit pq = 1 on them, and cuts through it.

    The losses have a row for each factor p of what enters the hidden neurons, and a column for the same
    factors q of what leaves them; marks are name → p of a point on the orbit; cuts have columns `at` (a
    name), `distance`, `loss`.
    """
    figure, (plane, section) = new_figure(1, 2, height=3.1)
    p, heights = losses.index.to_numpy(), losses.to_numpy()
    levels = np.geomspace(heights.min() * 1.02, heights.max() * 0.9, 9)
    plane.contour(p, p, heights.T, levels=levels, colors=COLOURS["grey"], linewidths=0.8)
    orbit = np.geomspace(1 / p.max(), p.max())
    plane.plot(orbit, 1 / orbit, color=COLOURS["green"], lw=2.5)
    plane.set(xlabel="$p$: scale of $W_1, b_1$", ylabel="$q$: scale of $W_2$", aspect="equal")
    for (name, at), colour in zip(marks.items(), (COLOURS["blue"], COLOURS["red"]), strict=True):
        plane.plot(at, 1 / at, "o", ms=8, color=colour)
        side: dict[str, Any] = {"ha": "right" if at > 0.7 * p.max() else "left"}  # inside the panel
        side["bbox"] = {"fc": PAPER, "ec": "none", "pad": 1}
        plane.annotate(name, (at, 1 / at), (4, 7), textcoords="offset points", color=colour, **side)
        rows = cuts[cuts["at"] == name]
        section.plot(rows["distance"], rows["loss"], color=colour, lw=2)
        end = (rows["distance"].iloc[-1], rows["loss"].iloc[-1])
        place = {"textcoords": "offset points", "annotation_clip": False, "va": "center"}
        section.annotate(name, end, (8, 0), color=colour, **place)
    section.set(xlabel="distance in weight space", ylabel="loss")
    return figure


def residual_block() -> Figure:
    """The output of one layer is added to the pre-activation of another; every edge has its matrix."""
    figure, axis = canvas(9.0, 3.0)
    boxes = {0.5: "$\\sigma$", 2.3: "$W_2$", 4.05: "$\\sigma$", 5.8: "$W_3$", 7.3: "+", 8.6: "$\\sigma$"}
    _layers(axis, boxes, ["$\\varphi(A_1)$", "$A_2$", "$\\varphi(A_2)$", "$A_3$", "$A_3$"], y=1.0, width=0.7)
    arrow(axis, (0.5, 1.3), (7.3, 1.3), "$\\varphi(A_1)$", bend=-0.3, colour=NETWORKS[1])
    axis.text(7.3, 0.3, "both must agree:\n$A_3=\\varphi(A_1)$", ha="center", va="center", color=MAP)
    return figure


def traced_shortcut() -> Figure:
    """Two layers and a shortcut, with a letter on every edge for the axis of the values that pass there."""
    figure, axis = canvas(10.4, 2.6)
    boxes = {0.9: "$W_1$", 2.5: "ReLU", 4.1: "$W_2$", 5.7: "ReLU", 7.3: "+", 9.2: "$W_3$"}
    _layers(axis, boxes, ["$a$", "$a$", "$b$", "$b$", "$b=a$"], y=0.9, width=0.8)
    for start, label in {0.0: "$x$", 9.6: "$f(x)$"}.items():
        arrow(axis, (start, 0.9), (start + 0.5, 0.9), label, colour=COLOURS["grey"])
    arrow(axis, (2.5, 1.2), (7.3, 1.2), "$a$", bend=-0.25, colour=NETWORKS[1])
    return figure


def _layers(axis: Axes, boxes: Mapping[float, str], edges: Sequence[str], *, y: float, width: float) -> None:
    """Boxes at these places, in the colour of what they are, and what passes between them."""
    for x, text in boxes.items():
        colour = NETWORKS[0] if "W" in text else MAP if text == "+" else COLOURS["grey"]
        box(axis, (x, y), text, colour, width=width)
    for (x, end), label in zip(itertools.pairwise(boxes), edges, strict=True):
        arrow(axis, (x + width / 2, y), (end - width / 2, y), label)
