"""What needs what: the chapters as boxes, an arrow from each to those that ask for it."""

from collections.abc import Mapping
from textwrap import fill

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from intertwine_book.figures.style import COLOURS, PAPER, new_figure

_WIDTH = 0.84  # of a box, in columns


def chapter_map(needs: Mapping[str, tuple[str, list[str]]]) -> Figure:
    """A column for each step from the first chapter, and a row for each chapter that starts a path.

    Args:
        needs: number → title, and the numbers of the chapters that it asks for; in reading order.
    """
    place: dict[str, tuple[int, float]] = {}
    taken: dict[int, float] = {}
    for number, (_, before) in needs.items():
        column = 1 + max((place[name][0] for name in before), default=-1)
        asked = max((place[name][1] for name in before if place[name][0] == column - 1), default=0.0)
        row = max(taken.get(column, -1.0) + 1, asked)
        place[number], taken[column] = (column, row), row
    rows = max(taken.values())
    figure, axis = new_figure(width=7.4, height=0.62 * (rows + 1))
    arrow = {"arrowstyle": "->", "color": COLOURS["grey"]}
    for number, (_, before) in needs.items():
        x, y = place[number]
        for name in before:
            if name != next(iter(needs)) or x == 1:
                axis.annotate("", (x, y), (place[name][0] + _WIDTH, place[name][1]), arrowprops=arrow)
    for number, (title, _) in needs.items():
        x, y = place[number]
        axis.add_patch(Rectangle((x, y - 0.38), _WIDTH, 0.76, fc=PAPER, ec=COLOURS["blue"], zorder=2))
        axis.text(x + 0.03, y, fill(f"{number} · {title}", 21), va="center", fontsize=8.5)
    axis.set(xlim=(-0.02, max(x for x, _ in place.values()) + 1), ylim=(rows + 0.5, -0.5))
    axis.axis("off")
    return figure
