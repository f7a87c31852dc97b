"""The diagrams of the book, and the visual language that they share.

A box is a layer, in the colour of its network, a green one a map that is inserted, a faint one is not used;
an arrow carries activations, and a bent one is a residual connection.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from intertwine_book.figures.style import COLOURS, PAPER, new_figure

NETWORKS = (COLOURS["blue"], COLOURS["orange"])
"""The colours of a first and a second network."""
MAP = COLOURS["green"]
"""The colour of a map that is inserted."""


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Axes of so many units, 1.55 to the inch, on which nothing but a diagram is seen.

    Example:
        >>> figure, axis = canvas(9.0, 3.0)
        >>> [*map(float, axis.get_xlim())]
        [0.0, 9.0]
    """
    figure, axis = new_figure(height=height * 5.8 / width)
    axis.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axis.axis("off")
    return figure, axis


def box(
    axis: Axes,
    at: tuple[float, float],
    text: str,
    colour: str,
    *,
    width: float = 1.0,
    height: float = 0.6,
    faint: bool = False,
) -> None:
    """A layer or a map, centred at a point; `faint` where it is not used."""
    corner = (at[0] - width / 2, at[1] - height / 2)
    style, alpha = "round,pad=0,rounding_size=0.12", 0.12 if faint else 0.35
    axis.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, fc=colour, ec=colour, alpha=alpha))
    axis.text(*at, text, ha="center", va="center", alpha=0.45 if faint else 1)


def arrow(
    axis: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    *,
    bend: float = 0.0,
    colour: str = COLOURS["ink"],
) -> None:
    """Activations pass from a point to another; a label stands above the middle."""
    style = {"arrowstyle": "->", "color": colour, "lw": 1.4, "connectionstyle": f"arc3,rad={bend}"}
    axis.annotate("", end, start, arrowprops=style)
    if text:
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - bend * length / 2 + 0.1)
        axis.text(*middle, text, ha="center", va="bottom", color=colour)


def chain(
    axis: Axes, at: tuple[float, float], layers: Sequence[str], colour: str, *, faint: Sequence[int] = ()
) -> list[tuple[float, float]]:
    """A network as a row of layers from the centre of the first on, with arrows between those that are used.

    Returns the centres; `faint` are the layers that are not used, from 0.
    """
    centres = [(at[0] + 1.5 * k, at[1]) for k in range(len(layers))]
    for k, ((x, y), text) in enumerate(zip(centres, layers, strict=True)):
        box(axis, (x, y), text, colour, faint=k in faint)
        if k and not {k - 1, k} & set(faint):
            arrow(axis, (x - 1.0, y), (x - 0.5, y))
    return centres


def pull_through() -> Figure:
    """A matrix is inserted before an activation, undone behind it, and absorbed by the weights around it."""
    figure, axis = canvas(9.0, 4.6)
    inserted = ["$A$", "$B^{-1}$"]
    rows = {
        "as trained": ["$W_1$", "$\\sigma$", "$W_2$"],
        "insert, undo": ["$W_1$", "$A$", "$\\sigma$", "$B^{-1}$", "$W_2$"],
        "absorb": ["$A\\,W_1$", "$\\sigma$", "$W_2\\,B^{-1}$"],
    }
    for y, (name, layers) in zip((4.1, 2.4, 0.7), rows.items(), strict=True):
        axis.text(0, y, name, va="center")
        gap, width = (1.5, 1.15) if len(layers) == 5 else (2.7, 1.75)
        for k, text in enumerate(layers):
            x = 5.4 + (k - (len(layers) - 1) / 2) * gap
            colour = NETWORKS[name == "absorb"] if "W" in text else COLOURS["grey"]
            box(axis, (x, y), text, MAP if text in inserted else colour, width=width)
            if k:
                arrow(axis, (x - gap + width / 2, y), (x - width / 2, y))
    why = "equal, because $\\sigma\\circ A=B\\circ\\sigma$"
    for y, text in ((3.25, why), (1.55, "equal, with other weights")):
        axis.text(5.4, y, text, ha="center", va="center")
    return figure


def insertion_diagram() -> Figure:
    """A layer with its activation; with A before and R after it; and with A in its weights, finetuned."""
    figure, axis = canvas(9.6, 5.0)
    blue, orange = NETWORKS
    rows = {
        4.3: ("the network", ["$W, b$", "", "$\\sigma$", "", "rest"], blue),
        2.7: ("fitted linear map", ["$W, b$", "$A$", "$\\sigma$", "$R$", "rest"], blue),
        1.0: ("the paper", ["$AW, Ab$", "", "$\\sigma$", "", "rest"], orange),
    }
    for y, (title, boxes, colour) in rows.items():
        axis.text(0.1, y, title.replace(" linear", "\nlinear"), va="center")
        last = 0.0
        for k, text in enumerate(boxes):
            if not text:
                continue
            x, width = 2.7 + 1.45 * k, 1.25 if "AW" in text else 0.95
            box(axis, (x, y), text, MAP if text in "$A$ $R$" else colour if k == 4 else blue, width=width)
            if last:
                arrow(axis, (last, y), (x - width / 2, y))
            last = x + width / 2
    small: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
    axis.text(4.15, 3.25, "inserted", color=MAP, **small)
    axis.text(7.05, 3.25, "fitted", color=MAP, **small)
    exact = "$A$ in the group of $\\sigma$: $R=\\varphi(A)^{-1}$ undoes it"
    axis.text(4.15, 2.0, exact, ha="left", fontsize=9)
    axis.text(2.7, 0.35, "frozen", color=blue, **small)
    axis.text(8.5, 0.35, "finetuned", color=orange, **small)
    return figure


def stitch_diagram() -> Figure:
    """Two networks as rows of layers, cut behind the same layer, and the map that joins front to back."""
    figure, axis = canvas(9.0, 3.6)
    layers = [f"$\\ell_{k}$" for k in range(1, 6)]
    chain(axis, (1.1, 2.6), layers, NETWORKS[0], faint=(2, 3, 4))
    chain(axis, (1.1, 1.0), layers, NETWORKS[1], faint=(0, 1))
    for y, name, colour in ((2.6, "$f$", NETWORKS[0]), (1.0, "$\\tilde f$", NETWORKS[1])):
        axis.text(0.3, y, name, ha="center", va="center", fontsize=13, color=colour)
    box(axis, (3.35, 1.8), "$\\psi$", MAP, width=0.7)
    arrow(axis, (3.1, 2.6), (3.35, 2.1))
    arrow(axis, (3.35, 1.5), (3.6, 1.0))
    arrow(axis, (7.6, 1.0), (8.1, 1.0))
    axis.text(1.85, 3.2, "front, frozen", ha="center", color=NETWORKS[0])
    axis.text(5.6, 0.2, "back, frozen", ha="center", color=NETWORKS[1])
    axis.text(3.85, 1.8, "one map of channels,\nat every pixel alike", va="center", color=MAP)
    axis.text(8.2, 1.0, "class", va="center")
    return figure


def two_ways_diagram(
    at_the_cut: str = "direct: compare\nactivations here",
    behind: str = "by the task: compare\noutputs here",
    name: str = "$S$",
) -> Figure:
    """Two networks, the map between them, and the two places where its values may be compared."""
    figure, axis = canvas(9.0, 4.0)
    for y, model, colour in ((3.3, "model\n1", NETWORKS[0]), (1.5, "model\n2", NETWORKS[1])):
        chain(axis, (1.7, y), ["", "", "", ""], colour, faint=(2, 3) if y > 2 else ())
        axis.text(0.55, y, model, ha="center", va="center", color=colour)
    box(axis, (3.95, 2.4), name, MAP, width=0.7)
    arrow(axis, (3.7, 3.3), (3.95, 2.7))
    arrow(axis, (3.95, 2.1), (3.95, 1.55))
    arrow(axis, (6.7, 1.5), (7.5, 1.5))
    axis.text(7.6, 1.5, "class", va="center")
    for x, text in ((3.95, at_the_cut), (7.1, behind)):
        axis.plot([x, x], [0.75, 1.4], color=COLOURS["red"], lw=1.4, ls=":")
        axis.text(x, 0.65, text, color=COLOURS["red"], ha="center", va="top")
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


def neuron_diagram(networks: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw networks with one hidden layer side by side, every weight written on its edge.

    They are title → `W1` (hidden, in), `b1` (hidden,), `W2` (out, hidden), and perhaps `colours` of hidden
    neurons.
    """
    figure, axes = new_figure(1, len(networks), height=2.6, squeeze=False)
    for axis, (title, network) in zip(axes[0], networks.items(), strict=True):
        _draw_neurons(axis, network)
        axis.set_title(title)
    return figure


_LABEL: dict[str, Any] = {"bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}, "fontsize": 11}


def _draw_neurons(axis: Axes, network: Mapping[str, Any]) -> None:
    W1, b1, W2 = (np.asarray(network[key], dtype=float) for key in ("W1", "b1", "W2"))
    colours = network.get("colours", [COLOURS["blue"], COLOURS["red"]] * len(b1))
    sizes = (W1.shape[1], len(b1), W2.shape[0])
    layers = [[(float(k), y) for y in _spread(size)] for k, size in enumerate(sizes)]
    for source, target, weights in ((0, 1, W1), (1, 2, W2)):
        for i, end in enumerate(layers[target]):
            for j, start in enumerate(layers[source]):
                colour = colours[i if target == 1 else j]
                axis.plot(*zip(start, end, strict=True), color=colour, lw=1.8, zorder=1)
                x, y = 0.5 * (np.array(start) + np.array(end))
                axis.text(x, y, f"{weights[i, j]:g}", ha="center", va="center", zorder=2, **_LABEL)
    names = [[["x"]], [["ReLU", f"{b:+g}"] for b in b1], [["f(x)"]]]
    for points, labels, fills in zip(layers, names, ([PAPER], colours, [PAPER]), strict=True):
        for (x, y), label, fill in zip(points, labels, fills, strict=False):
            axis.scatter(x, y, s=1150, color=fill, edgecolors=COLOURS["ink"], zorder=3)
            ink = COLOURS["ink"] if fill == PAPER else "#ffffff"
            for line, side in zip(label, ("bottom", "top") if label[1:] else ("center",), strict=True):
                axis.text(x, y, line, ha="center", va=side, zorder=4, fontsize=10, color=ink)
    axis.set(xlim=(-0.35, 2.35), ylim=(-1.0, 1.0))
    axis.axis("off")


def _spread(count: int) -> np.ndarray:
    """Heights of `count` neurons drawn above each other, the first on top."""
    return np.linspace(0.55, -0.55, count) if count > 1 else np.zeros(1)
