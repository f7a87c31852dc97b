"""Figures of shortcuts: which matrices, and which axes, belong to the edges of a block."""

import itertools
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.style import COLOURS


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
