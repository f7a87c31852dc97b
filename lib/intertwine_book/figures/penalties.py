"""Sanity rotations drawn: where the matrices stand, and the colours of their groups."""

from typing import Any

from matplotlib.figure import Figure

from intertwine_book.figures.schematics import MAP, NETWORKS, arrow, box, canvas
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS

INSERTED_COLOURS = {
    "control": COLOURS["grey"],
    "permutations": GROUP_COLOURS["permutations"],
    "signed permutations": GROUP_COLOURS["signed permutations"],
    "positive scalings": GROUP_COLOURS["G_ReLU"],
    "nonzero scalings": GROUP_COLOURS["nonzero monomial"],
    "orthogonal": GROUP_COLOURS["orthogonal"],
}
"""Group of transformations → its colour in the whole book; scalings come with a permutation."""


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
